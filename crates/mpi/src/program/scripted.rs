//! Execution of a script by one rank: completion of its requests, and the condition that the script waits for.

use std::collections::VecDeque;

use super::burst::Burst;
use super::deferred::{Begin, Deferred};
use super::posts::Posts;
use super::running::Running;
use super::script::{Request, Script, ScriptCall, Seen};
use super::{Action, Ended, Interval, Matched, Notify, Op, ProgramError, RankProgram};
use crate::collectives::{Collective, CollectiveError};
use crate::communicator::Communicator;

/// Operation numbers of actions that are not requests: a calculation or a poll, a test, and a probe.
const CALCULATION: u32 = u32::MAX;
const TEST: u32 = u32::MAX - 1;
const PROBE: u32 = u32::MAX - 2;

/// Operation number of the combination of messages that have arrived.
const COMBINING: u32 = u32::MAX - 3;

/// Largest number of consecutive unsuccessful tests and probes of a rank at one instant.
const MOST_TESTS: u32 = 1 << 16;

/// Condition that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    /// None: the rank has not begun, or can continue.
    No,
    /// The end of an action that is not a request: a calculation, a poll, a test or a probe.
    Call,
    On(Request),
    OnAll,
    OnAny,
    /// None any more: the script has returned `ScriptCall::End`.
    Over,
}

/// Rank that runs a script.
#[derive(Debug)]
pub struct ScriptedRank<S> {
    script: S,
    rank: u32,
    ranks: u32,
    blocked: Blocked,
    seen: Seen,
    /// Outstanding operations of each request, from request `first` on.
    left: VecDeque<u32>,
    /// Request of the first entry of `left`.
    first: Request,
    /// Outstanding operations of all requests.
    open: u64,
    /// Requests that have ended and have not been waited for, in order of completion.
    done: VecDeque<(Request, Option<Matched>)>,
    /// Unsuccessful tests and probes at the current instant.
    tests: u32,
    /// Communicators that the script has named by number, each with its count of begun operations.
    communicators: Vec<(u32, Communicator, u32)>,
    /// Collective operations in progress.
    running: Vec<(Request, Running)>,
    /// Request whose arrived messages are being combined, and their number.
    combining: Option<(Request, u32)>,
    /// Requests that begin after others, and calculations on units. `None` until the script uses either.
    deferred: Option<Box<Deferred>>,
}

impl<S: Script> ScriptedRank<S> {
    /// Creates rank `rank` of `ranks`, which has not begun.
    pub fn new(script: S, rank: u32, ranks: u32) -> Self {
        Self {
            script,
            rank,
            ranks,
            blocked: Blocked::No,
            seen: Seen::default(),
            left: VecDeque::new(),
            first: 0,
            open: 0,
            done: VecDeque::new(),
            tests: 0,
            communicators: Vec::new(),
            running: Vec::new(),
            combining: None,
            deferred: None,
        }
    }

    /// Makes calls until the rank waits. Not to be called again after an error.
    fn go_on(&mut self, starts: &mut Vec<Op>) -> Result<(), ProgramError> {
        let gone = self.call(starts);
        if let Some(deferred) = &mut self.deferred {
            deferred.dispatch(starts);
        }
        if gone.is_err() {
            self.blocked = Blocked::Over;
        }
        gone
    }

    fn call(&mut self, starts: &mut Vec<Op>) -> Result<(), ProgramError> {
        while self.blocked == Blocked::No {
            match self.script.next(&self.seen) {
                ScriptCall::Do(action @ (Action::Calc { .. } | Action::Poll)) => {
                    self.block(CALCULATION, action, starts)
                }
                ScriptCall::Do(action @ Action::Probe { .. }) => self.block(PROBE, action, starts),
                ScriptCall::Do(first) => self.request(Burst { first, count: 1, stride: 0 }, starts)?,
                ScriptCall::Burst(burst) => self.request(burst, starts)?,
                ScriptCall::StartCollective(call) => drop(self.begin_collective(call, starts)?),
                ScriptCall::Collective(call) => {
                    let request = self.begin_collective(call, starts)?;
                    self.wait(Blocked::On(request));
                }
                ScriptCall::StartCalc { time, unit } => self.make(Begin::Calc { time, unit }, starts),
                ScriptCall::After(request) if request < self.made() => {
                    if !self.has_ended(request) {
                        self.deferred.get_or_insert_default().after(request);
                    }
                }
                ScriptCall::Wait(request) if request < self.made() => self.wait(Blocked::On(request)),
                ScriptCall::Wait(request) | ScriptCall::After(request) => {
                    return Err(ProgramError::NoSuchRequest { request, made: self.made() });
                }
                ScriptCall::WaitAll => self.wait(Blocked::OnAll),
                ScriptCall::WaitAny if self.done.is_empty() && self.open == 0 => {
                    return Err(ProgramError::NothingToWaitFor);
                }
                ScriptCall::WaitAny => self.wait(Blocked::OnAny),
                ScriptCall::Test => self.block(TEST, Action::Poll, starts),
                ScriptCall::End => self.blocked = Blocked::Over,
                ScriptCall::Fail => return Err(ProgramError::Failed),
            }
        }
        Ok(())
    }

    /// Starts an action that is not a request, and waits for its end.
    fn block(&mut self, id: u32, action: Action, starts: &mut Vec<Op>) {
        starts.push(Op::one(id, action));
        self.blocked = Blocked::Call;
    }

    /// Returns the number of requests made so far.
    fn made(&self) -> Request {
        self.first + self.left.len() as u32
    }

    /// Makes a request of the sends or receives of a burst.
    fn request(&mut self, burst: Burst, starts: &mut Vec<Op>) -> Result<(), ProgramError> {
        if burst.count == 0 || !burst.first.is_message() {
            return Err(ProgramError::EmptyBurst);
        }
        if self.defers() {
            self.make(Begin::Burst(burst), starts);
            return Ok(());
        }
        let Burst { first, count, stride } = burst;
        Posts::new(self.made(), self.ranks, starts).post(first, count, stride);
        self.left.push_back(burst.count);
        self.open += u64::from(burst.count);
        Ok(())
    }

    /// Whether the next request begins after others.
    #[inline]
    fn defers(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.holds_next())
    }

    /// Makes a request that begins now, or after the requests that it depends on. A request that has not begun counts
    /// as one outstanding operation.
    fn make(&mut self, begin: Begin, starts: &mut Vec<Op>) {
        let request = self.made();
        self.left.push_back(1);
        self.open += 1;
        if let Some(begin) = self.deferred.get_or_insert_default().hold(request, begin) {
            self.begin_request(request, begin, starts);
        }
    }

    /// Begins a request that has been made.
    fn begin_request(&mut self, request: Request, begin: Begin, starts: &mut Vec<Op>) {
        let place = (request - self.first) as usize;
        match begin {
            Begin::Burst(Burst { first, count, stride }) => {
                Posts::new(request, self.ranks, starts).post(first, count, stride);
                self.left[place] = count;
                self.open += u64::from(count) - 1;
            }
            Begin::Calc { time: 0, .. } => {
                self.left[place] = 0;
                self.open -= 1;
                self.request_ended(request, None);
            }
            Begin::Calc { time, unit } => self.deferred.get_or_insert_default().queue(unit, request, time),
            Begin::Collective(running) => {
                self.left[place] = 0;
                self.open -= 1;
                self.deferred.get_or_insert_default().begins(&running);
                self.running.push((request, *running));
                self.continue_collective(self.running.len() - 1, starts);
            }
        }
    }

    /// Begins the requests whose predecessors have all ended.
    fn settle(&mut self, starts: &mut Vec<Op>) {
        while let Some(released) = self.deferred.as_mut().and_then(|deferred| deferred.released()) {
            released.into_iter().for_each(|(request, begin)| self.begin_request(request, begin, starts));
        }
    }

    /// Makes a request of a collective operation. Returns its number.
    fn begin_collective(&mut self, call: Collective, starts: &mut Vec<Op>) -> Result<Request, ProgramError> {
        let (rank, ranks, script) = (self.rank, self.ranks, &self.script);
        let number = call.communicator;
        let known = self.communicators.iter().position(|known| known.0 == number);
        let place = match known {
            Some(place) => place,
            None => {
                let world = || (number == 0).then(|| Communicator::world(rank, ranks));
                let own = script.communicator(number).or_else(world);
                let own = own.ok_or(CollectiveError::Communicator { communicator: number })?;
                self.communicators.push((number, own, 0));
                self.communicators.len() - 1
            }
        };
        let (_, communicator, begun) = &mut self.communicators[place];
        let running = Running::new(call, communicator.clone(), *begun)?;
        *begun = begun.wrapping_add(1);
        let request = self.made();
        if self.defers() {
            self.make(Begin::Collective(Box::new(running)), starts);
            return Ok(request);
        }
        self.running.push((request, running));
        self.left.push_back(0);
        self.continue_collective(self.running.len() - 1, starts);
        Ok(request)
    }

    /// Continues a collective operation without outstanding operations, and then the operations held back behind it.
    /// Returns whether any has ended.
    fn continue_collective(&mut self, place: usize, starts: &mut Vec<Op>) -> bool {
        if !self.has_turn(place) {
            self.hold(place);
            return false;
        }
        let mut ended = self.advance_collective(place, starts);
        while let Some(place) =
            (0..self.running.len()).find(|&place| self.running[place].1.held && self.has_turn(place))
        {
            let (request, running) = &mut self.running[place];
            running.held = false;
            self.left[(*request - self.first) as usize] = 0;
            self.open -= 1;
            ended |= self.advance_collective(place, starts);
        }
        ended
    }

    /// Whether a collective operation may continue. Within a communicator, in-switch calls are posted in the order of
    /// the operations, which all members share, although stages within nodes may end in a different order.
    fn has_turn(&mut self, place: usize) -> bool {
        let Some(turn) = self.running[place].1.turn() else { return true };
        !self.deferred.as_ref().is_some_and(|deferred| deferred.holds_before(turn))
            && self
                .running
                .iter()
                .all(|(_, other)| other.unposted().is_none_or(|own| own.0 != turn.0 || own.1 >= turn.1))
    }

    /// Holds back a collective operation until its turn. It then counts as one outstanding operation.
    fn hold(&mut self, place: usize) {
        let (request, running) = &mut self.running[place];
        running.held = true;
        self.left[(*request - self.first) as usize] = 1;
        self.open += 1;
    }

    /// Continues a collective operation whose turn it is. Returns whether it has ended.
    fn advance_collective(&mut self, place: usize, starts: &mut Vec<Op>) -> bool {
        let (request, running) = &mut self.running[place];
        let id = *request;
        let mut posts = Posts::new(id, self.ranks, starts);
        running.go_on(&mut posts);
        let posted = posts.count();
        self.open += u64::from(posted);
        self.left[(id - self.first) as usize] = posted;
        if posted == 0 {
            self.running.swap_remove(place);
            self.request_ended(id, None);
        }
        posted == 0
    }

    /// Waits, unless the condition already holds.
    fn wait(&mut self, blocked: Blocked) {
        self.blocked = blocked;
        self.wake();
    }

    /// Unblocks the rank if the condition that it waits for holds.
    fn wake(&mut self) {
        let place = match self.blocked {
            Blocked::On(request) if self.has_ended(request) => self.done.iter().position(|done| done.0 == request),
            Blocked::OnAll if self.open == 0 => {
                self.done.clear();
                None
            }
            Blocked::OnAny if !self.done.is_empty() => Some(0),
            _ => return,
        };
        self.blocked = Blocked::No;
        self.see(place);
    }

    /// Removes the completed request at `place` of `done` and shows it to the script.
    fn see(&mut self, place: Option<usize>) {
        let done = place.and_then(|place| self.done.remove(place));
        self.seen.request = done.map(|done| done.0);
        self.seen.matched = done.and_then(|done| done.1);
    }

    /// Handles the end of an action that is not a request. `matched` is the message that a probe has found.
    fn call_ended(&mut self, id: u32, matched: Option<Matched>) -> Result<(), ProgramError> {
        self.blocked = Blocked::No;
        let has_found = match id {
            TEST => !self.done.is_empty(),
            PROBE => matched.is_some(),
            _ => {
                self.see(None);
                return Ok(());
            }
        };
        self.tests = if has_found { 0 } else { self.tests + 1 };
        if self.tests > MOST_TESTS {
            self.blocked = Blocked::Over;
            return Err(ProgramError::Spins { times: self.tests });
        }
        self.see((id == TEST && has_found).then_some(0));
        self.seen.matched = self.seen.matched.or(matched);
        Ok(())
    }

    /// Whether a request that has been made has ended.
    fn has_ended(&self, request: Request) -> bool {
        request.checked_sub(self.first).is_none_or(|place| self.left.get(place as usize) == Some(&0))
    }

    /// Returns which completions the rank needs. The last one suffices if the rank waits for everything outstanding and
    /// the script does not handle single completions.
    #[inline]
    fn notify(&self) -> Notify {
        let notes_arrivals = || self.running.iter().any(|(_, running)| running.notes_arrivals());
        let waits_for_all = match self.blocked {
            _ if self.open < 2 || self.deferred.is_some() || notes_arrivals() => false,
            Blocked::On(request) => {
                let left = request.checked_sub(self.first).and_then(|place| self.left.get(place as usize));
                left.is_some_and(|&left| u64::from(left) == self.open)
            }
            Blocked::OnAll => self.running.is_empty() && !self.script.notes_ends(),
            _ => false,
        };
        if waits_for_all { Notify::Last } else { Notify::Each }
    }

    /// Accounts for the end of all `count` outstanding operations except the last, which belongs to `request`.
    fn leave_last(&mut self, request: Request, count: u32) {
        debug_assert_eq!(u64::from(count), self.open, "notified of several ends without having asked for the last");
        if self.blocked == Blocked::OnAll {
            self.left.iter_mut().for_each(|left| *left = 0);
        }
        if let Some(left) = request.checked_sub(self.first).and_then(|place| self.left.get_mut(place as usize)) {
            *left = 1;
        }
        self.open = 1;
    }

    /// Handles the end of an operation of a request. Returns whether any request has ended, so that the rank may
    /// continue.
    fn operation_ended(&mut self, request: Request, matched: Option<Matched>, starts: &mut Vec<Op>) -> bool {
        let Some(left) = request.checked_sub(self.first).and_then(|place| self.left.get_mut(place as usize)) else {
            debug_assert!(false, "an operation of a request that has ended");
            return false;
        };
        if let Some(matched) = matched
            && let Some((_, running)) = self.running.iter_mut().find(|own| own.0 == request)
            && running.notes_arrivals()
        {
            // The message stays outstanding until it is combined.
            running.arrive(matched.bytes);
            self.combine_arrivals(starts);
            return false;
        }
        *left -= 1;
        self.open -= 1;
        if *left > 0 {
            return false;
        }
        let ended = match self.running.iter().position(|running| running.0 == request) {
            Some(place) => self.continue_collective(place, starts),
            None => {
                self.request_ended(request, matched);
                true
            }
        };
        self.settle(starts);
        ended
    }

    /// Begins to combine messages that have arrived, if the rank combines none.
    fn combine_arrivals(&mut self, starts: &mut Vec<Op>) {
        if self.combining.is_some() {
            return;
        }
        let waiting = self.running.iter_mut().find_map(|(request, running)| Some((*request, running.take_arrivals()?)));
        if let Some((request, (messages, work))) = waiting {
            starts.push(Op::one(COMBINING, work));
            self.combining = Some((request, messages));
        }
    }

    /// Handles the end of the combination of messages. Returns whether any request has ended.
    fn combined(&mut self, starts: &mut Vec<Op>) -> bool {
        let Some((request, messages)) = self.combining.take() else { return false };
        if let Some(left) = request.checked_sub(self.first).and_then(|place| self.left.get_mut(place as usize)) {
            // The last message ends here, like one that is not combined.
            *left -= messages - 1;
            self.open -= u64::from(messages - 1);
        }
        self.combine_arrivals(starts);
        self.operation_ended(request, None, starts)
    }

    /// Handles the end of a request without outstanding operations.
    fn request_ended(&mut self, request: Request, matched: Option<Matched>) {
        if let Some(deferred) = &mut self.deferred {
            deferred.ended(request);
        }
        if !self.script.ended(request, self.seen.now) {
            self.done.push_back((request, matched));
        }
        while self.left.front() == Some(&0) {
            self.left.pop_front();
            self.first += 1;
        }
    }
}

impl<S: Script> RankProgram for ScriptedRank<S> {
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        self.seen.now = now;
        self.go_on(starts)?;
        Ok(self.notify())
    }

    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        if ended.at > self.seen.now {
            self.tests = 0;
        }
        self.seen.now = ended.at;
        if ended.count > 1 {
            self.leave_last(ended.id, ended.count);
        }
        if ended.id >= PROBE {
            self.call_ended(ended.id, ended.matched)?;
        } else if ended.id == COMBINING {
            if !self.combined(starts) {
                return Ok(self.notify());
            }
            self.wake();
        } else if self.operation_ended(ended.id, ended.matched, starts) {
            self.wake();
        } else {
            return Ok(self.notify());
        }
        self.go_on(starts)?;
        Ok(self.notify())
    }

    fn intervals(&self) -> &[Interval] {
        self.script.intervals()
    }

    fn forget_intervals(&mut self) {
        self.script.forget_intervals();
    }
}
