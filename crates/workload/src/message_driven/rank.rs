//! One rank of a message-driven program: its scheduler.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entries::{Kind, MessageDriven, NONE, POSTED, Sent, sizes};
use crate::program::{Action, Ended, Interval, Notify, Op, ProgramError, RankProgram};

/// The numbers of operations: a receive, a send, a calculation, an operation in the switches to which the rank gives; and of those from
/// which it gets something the first, each by its place among the rank's.
const RECEIVE: u32 = 0;
const SEND: u32 = 1;
const COMPUTE: u32 = 2;
const GIVE: u32 = 3;
const RESULT: u32 = 4;

/// An entry of the rank, by its number there, and the iteration of which it is.
type Turn = (u32, u32);

/// A rank's scheduler. What it has measured is, by iteration, from the end of the one before on this rank to its own.
#[derive(Debug)]
pub(super) struct DrivenRank {
    program: Arc<MessageDriven>,
    rank: u32,
    /// The rank's first entry, and how many it has.
    first: u32,
    count: u32,
    /// Receives that have not been posted.
    to_post: u64,
    /// By group that gives the rank something, by its place among them, the iterations of which it has.
    results: Vec<u32>,
    gathered: Gathered,
    /// What is to be done without a turn, and what waits for one, in the order in which it has become ready.
    at_once: VecDeque<Turn>,
    ready: VecDeque<Turn>,
    computing: Option<Turn>,
    /// By iteration from the first that has not ended, how many entries have.
    ended: VecDeque<u32>,
    /// When the rank has begun.
    begun: u64,
    steps: Vec<Interval>,
}

/// What has been delivered to the entries of a rank.
#[derive(Debug)]
struct Gathered {
    /// By entry, the iteration that it gathers for.
    iteration: Vec<u32>,
    /// Iterations of an entry that are counted apart, a power of two.
    depth: u32,
    /// By iteration modulo `depth`, then by entry, deliveries.
    counts: Vec<u32>,
}

impl Gathered {
    fn new(entries: usize) -> Self {
        Self { iteration: vec![0; entries], depth: 2, counts: vec![0; 2 * entries] }
    }

    fn slot(&self, entry: u32, iteration: u32) -> usize {
        (iteration & (self.depth - 1)) as usize * self.iteration.len() + entry as usize
    }

    /// Something is delivered to an entry that needs so much of an iteration. Returns whether it has all of the iteration that it
    /// gathers for, and goes on to the next. That one is not complete yet: an entry needs something of an entry of its own rank, which
    /// runs once an iteration, in their order.
    fn deliver(&mut self, (entry, iteration): Turn, need: u32) -> bool {
        while iteration - self.iteration[entry as usize] >= self.depth {
            self.deepen();
        }
        let slot = self.slot(entry, iteration);
        self.counts[slot] += 1;
        let is_complete = self.counts[slot] == need && iteration == self.iteration[entry as usize];
        if is_complete {
            self.counts[slot] = 0;
            self.iteration[entry as usize] += 1;
        }
        is_complete
    }

    /// Makes room for twice as many iterations.
    fn deepen(&mut self) {
        let entries = self.iteration.len();
        let mut deeper =
            Self { iteration: self.iteration.clone(), depth: 2 * self.depth, counts: vec![0; 2 * self.counts.len()] };
        for entry in 0..entries as u32 {
            let begin = self.iteration[entry as usize];
            for iteration in begin..begin.saturating_add(self.depth) {
                let slot = deeper.slot(entry, iteration);
                deeper.counts[slot] = self.counts[self.slot(entry, iteration)];
            }
        }
        *self = deeper;
    }
}

impl DrivenRank {
    pub fn new(program: Arc<MessageDriven>, rank: u32) -> Self {
        let entries = program.entries_of(rank);
        Self {
            rank,
            first: entries.start,
            count: entries.len() as u32,
            to_post: program.coming[rank as usize].saturating_mul(u64::from(program.iterations)),
            results: vec![0; program.served.sources.of(rank).len()],
            gathered: Gathered::new(entries.len()),
            at_once: VecDeque::new(),
            ready: VecDeque::new(),
            computing: None,
            ended: VecDeque::new(),
            begun: 0,
            steps: Vec::new(),
            program,
        }
    }

    /// Posts a receive of any message, if more are to come than there are receives.
    fn post(&mut self, starts: &mut Vec<Op>) {
        if self.to_post > 0 {
            self.to_post -= 1;
            starts.push(Op::one(RECEIVE, Action::recv(None, self.program.largest, None)));
        }
    }

    /// Something is delivered to an entry, by its number here.
    fn deliver(&mut self, entry: u32, iteration: u32) {
        let of = self.program.entries[(self.first + entry) as usize];
        if self.gathered.deliver((entry, iteration), of.need) {
            let queue = if of.is_at_once() { &mut self.at_once } else { &mut self.ready };
            queue.push_back((entry, iteration));
        }
    }

    /// A message has come: by its tag one of the rank's, of an iteration.
    fn take(&mut self, tag: u32) {
        let program = Arc::clone(&self.program);
        let messages = program.messages_of(self.rank);
        let (iteration, number) = (tag / messages, tag % messages);
        for &entry in program.delivered.of(program.first_message[self.rank as usize] + number) {
            self.deliver(entry - self.first, iteration);
        }
    }

    /// Posts the rank's part of the next operation of a group that gives it something, by its place, if there is one.
    fn post_result(&mut self, place: u32, starts: &mut Vec<Op>) {
        if self.results[place as usize] < self.program.iterations {
            let served = &self.program.served;
            let group = served.sources.of(self.rank)[place as usize];
            starts.push(Op::one(RESULT + place, Action::Group(served.calls[group as usize])));
        }
    }

    /// A group, by its place, has given what it gives in an iteration.
    fn take_result(&mut self, place: u32, starts: &mut Vec<Op>) {
        let program = Arc::clone(&self.program);
        let iteration = self.results[place as usize];
        self.results[place as usize] += 1;
        self.post_result(place, starts);
        let first = program.served.sources.range(self.rank).start as u32;
        for &entry in program.served.delivered.of(first + place) {
            self.deliver(entry - self.first, iteration);
        }
    }

    /// Runs what is ready until the processor computes.
    fn go_on(&mut self, now: u64, starts: &mut Vec<Op>) {
        loop {
            if let Some(turn) = self.at_once.pop_front() {
                self.end(turn, now, starts);
            } else if self.computing.is_some() {
                return;
            } else if let Some(turn) = self.ready.pop_front() {
                match self.program.entries[(self.first + turn.0) as usize].time {
                    0 => self.end(turn, now, starts),
                    time => {
                        self.computing = Some(turn);
                        starts.push(Op::one(COMPUTE, Action::Calc { time }));
                    }
                }
            } else {
                return;
            }
        }
    }

    /// An entry has computed: it sends.
    fn end(&mut self, (entry, iteration): Turn, now: u64, starts: &mut Vec<Op>) {
        let program = Arc::clone(&self.program);
        let at = self.first + entry;
        for sent in program.sent.of(at) {
            match *sent {
                Sent::Messages { to, number, count, bytes } => {
                    let tag = iteration * program.messages_of(to) + number;
                    for (bytes, count) in sizes(count, bytes) {
                        let send = Op::one(SEND, Action::send(to, bytes, tag));
                        starts.extend((0..count).map(|_| send));
                    }
                }
                Sent::Operation(group) => {
                    starts.push(Op::one(GIVE, Action::Group(program.served.calls[group as usize])));
                }
            }
        }
        for &other in program.local.of(at) {
            self.deliver(other - self.first, iteration);
        }
        let again = program.entries[at as usize].again;
        if again != NONE && iteration + 1 < program.iterations {
            self.deliver(again - self.first, iteration + 1);
        }
        self.count_end(iteration, now);
    }

    /// Another entry of an iteration has ended.
    fn count_end(&mut self, iteration: u32, now: u64) {
        let place = iteration as usize - self.steps.len();
        if self.ended.len() <= place {
            self.ended.resize(place + 1, 0);
        }
        self.ended[place] += 1;
        while self.ended.front() == Some(&self.count) {
            self.ended.pop_front();
            let (key, start) = (self.steps.len() as u32, self.steps.last().map_or(self.begun, |step| step.end));
            self.steps.push(Interval { key, start, end: now });
        }
    }
}

impl RankProgram for DrivenRank {
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        self.begun = now;
        (0..self.to_post.min(POSTED)).for_each(|_| self.post(starts));
        (0..self.results.len() as u32).for_each(|place| self.post_result(place, starts));
        for entry in 0..self.count {
            if self.program.entries[(self.first + entry) as usize].kind == Kind::Begin {
                self.deliver(entry, 0);
            }
        }
        self.go_on(now, starts);
        Ok(Notify::Each)
    }

    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        match (ended.id, ended.matched) {
            (RECEIVE, Some(matched)) => {
                self.post(starts);
                self.take(matched.tag);
            }
            (COMPUTE, _) => {
                if let Some(turn) = self.computing.take() {
                    self.end(turn, ended.at, starts);
                }
            }
            (RESULT.., _) => self.take_result(ended.id - RESULT, starts),
            _ => return Ok(Notify::Each),
        }
        self.go_on(ended.at, starts);
        Ok(Notify::Each)
    }

    fn intervals(&self) -> &[Interval] {
        &self.steps
    }
}
