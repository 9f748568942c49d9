//! Naive calls of a rank: a list of requests, searched from its beginning.

use mpi::program::{Action, Burst, Matched, Script, ScriptCall, Seen};

/// Identifier of a calculation in the program.
pub const CALCULATION: u32 = u32::MAX;

/// Identifier of a test in the program.
const TEST: u32 = u32::MAX - 1;

/// Identifier of a probe in the program.
const PROBE: u32 = u32::MAX - 2;

/// Number of units of a rank: its processor and streams of accelerators.
pub const UNITS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    ForNothing,
    ForCalculation,
    ForTest,
    ForProbe,
    For(u32),
    ForAll,
    ForAny,
    /// The rank has made its last call.
    Over,
}

/// Work of a request.
#[derive(Clone, Copy, Debug)]
enum Work {
    Messages(Burst),
    /// A calculation: time in picoseconds, and unit.
    Calc(u64, u32),
}

/// A send, a receive, a burst or a calculation on a unit.
#[derive(Clone, Debug)]
struct Request {
    work: Work,
    /// Number of operations that have not ended.
    left: u32,
    /// Requests that must end before this one begins.
    behind: Vec<u32>,
    has_begun: bool,
    /// Whether its unit carries out the calculation.
    is_busy: bool,
    matched: Option<Matched>,
}

/// Rank that makes calls.
pub struct Caller {
    script: Box<dyn Script>,
    ranks: u32,
    requests: Vec<Request>,
    /// Requests that have ended and have not been waited for, in the order of their ends.
    ended: Vec<u32>,
    /// Requests that must end before the next one begins.
    after: Vec<u32>,
    waits: Waits,
    seen: Seen,
}

impl Caller {
    pub fn new(script: Box<dyn Script>, ranks: u32) -> Self {
        let (requests, ended, after) = (Vec::new(), Vec::new(), Vec::new());
        Self { script, ranks, requests, ended, after, waits: Waits::ForNothing, seen: Seen::default() }
    }

    /// Makes calls until the rank waits. Returns operations to start, with their requests.
    pub fn call(&mut self, now: u64) -> Vec<(u32, Action)> {
        self.seen.now = now;
        let mut starts = Vec::new();
        while self.go_on() {
            match self.script.next(&self.seen) {
                ScriptCall::Do(calc @ Action::Calc { .. }) => {
                    starts.push((CALCULATION, calc));
                    self.waits = Waits::ForCalculation;
                }
                ScriptCall::Do(probe @ Action::Probe { .. }) => {
                    starts.push((PROBE, probe));
                    self.waits = Waits::ForProbe;
                }
                ScriptCall::Do(first) => {
                    self.request(Work::Messages(Burst { first, count: 1, stride: 0 }), &mut starts)
                }
                ScriptCall::Burst(burst) => self.request(Work::Messages(burst), &mut starts),
                ScriptCall::StartCalc { time, unit } => self.request(Work::Calc(time, unit), &mut starts),
                ScriptCall::After(request) => self.after.push(request),
                ScriptCall::Wait(request) => self.waits = Waits::For(request),
                ScriptCall::WaitAll => self.waits = Waits::ForAll,
                ScriptCall::WaitAny => self.waits = Waits::ForAny,
                ScriptCall::Test => {
                    starts.push((TEST, Action::Poll));
                    self.waits = Waits::ForTest;
                }
                // Collective operations consist of these calls; they and failures have separate tests.
                ScriptCall::Collective(_) | ScriptCall::StartCollective(_) | ScriptCall::Fail => {
                    unreachable!("random ranks do not call it")
                }
                ScriptCall::End => self.waits = Waits::Over,
            }
        }
        self.start_calculations(&mut starts);
        starts
    }

    /// Notes the end of an operation. Returns the operations that start then.
    pub fn ended(&mut self, id: u32, at: u64, matched: Option<Matched>) -> Vec<(u32, Action)> {
        let mut starts = Vec::new();
        if id == CALCULATION {
            self.waits = Waits::ForNothing;
            self.see(None);
        } else if id == PROBE {
            self.waits = Waits::ForNothing;
            self.see(None);
            self.seen.matched = matched;
        } else if id == TEST {
            self.waits = Waits::ForNothing;
            self.see(self.ended.first().copied());
        } else {
            let request = &mut self.requests[id as usize];
            request.left -= 1;
            request.matched = matched;
            if request.left == 0 {
                request.is_busy = false;
                self.ended.push(id);
                self.begin_followers(id, &mut starts);
            }
        }
        starts.extend(self.call(at));
        starts
    }

    fn request(&mut self, work: Work, starts: &mut Vec<(u32, Action)>) {
        let left = match work {
            Work::Messages(burst) => burst.count,
            Work::Calc(..) => 1,
        };
        let behind = std::mem::take(&mut self.after);
        let (has_begun, is_busy) = (false, false);
        self.requests.push(Request { work, left, behind, has_begun, is_busy, matched: None });
        self.begin_if_free(self.requests.len() as u32 - 1, starts);
    }

    /// Begins a request if all requests that it depends on have ended.
    fn begin_if_free(&mut self, id: u32, starts: &mut Vec<(u32, Action)>) -> bool {
        let Request { work, has_begun, ref behind, .. } = self.requests[id as usize];
        if has_begun || behind.iter().any(|&other| self.requests[other as usize].left > 0) {
            return false;
        }
        self.requests[id as usize].has_begun = true;
        match work {
            Work::Messages(burst) => self.post(id, burst, starts),
            Work::Calc(0, _) => {
                self.requests[id as usize].left = 0;
                self.ended.push(id);
            }
            // Its unit takes the calculation when the rank has made its calls.
            Work::Calc(..) => {}
        }
        true
    }

    /// Begins requests whose last dependency has ended, then requests that depended on calculations of no time among
    /// them.
    fn begin_followers(&mut self, id: u32, starts: &mut Vec<(u32, Action)>) {
        let mut ended = vec![id];
        while let Some(id) = ended.pop() {
            for follower in 0..self.requests.len() as u32 {
                let follows = self.requests[follower as usize].behind.contains(&id);
                if follows && self.begin_if_free(follower, starts) && self.requests[follower as usize].left == 0 {
                    ended.push(follower);
                }
            }
        }
    }

    /// Starts calculations: each free unit takes the begun calculation that was called first.
    fn start_calculations(&mut self, starts: &mut Vec<(u32, Action)>) {
        for unit in 0..UNITS {
            let of_unit = |request: &Request| matches!(request.work, Work::Calc(_, own) if own == unit);
            if self.requests.iter().any(|request| of_unit(request) && request.is_busy) {
                continue;
            }
            let is_ready = |request: &Request| of_unit(request) && request.has_begun && request.left > 0;
            let next = self.requests.iter().position(is_ready);
            let Some(id) = next else { continue };
            self.requests[id].is_busy = true;
            let Work::Calc(time, _) = self.requests[id].work else { continue };
            starts.push((id as u32, if unit == 0 { Action::Calc { time } } else { Action::Kernel { time } }));
        }
    }

    fn post(&self, id: u32, burst: Burst, starts: &mut Vec<(u32, Action)>) {
        for number in 0..burst.count {
            let other = |rank: u32| (rank + burst.stride * number) % self.ranks;
            let action = match burst.first {
                Action::Send { to, bytes, tag, context } => Action::Send { to: other(to), bytes, tag, context },
                Action::Recv { from, bytes, tag, context } => {
                    Action::Recv { from: from.map(other), bytes, tag, context }
                }
                other => other,
            };
            starts.push((id, action));
        }
    }

    /// Returns whether the rank can continue, now that something may have ended.
    fn go_on(&mut self) -> bool {
        match self.waits {
            Waits::ForNothing => return true,
            Waits::For(request) if self.requests[request as usize].left == 0 => {
                let found = self.ended.contains(&request).then_some(request);
                self.see(found);
            }
            Waits::ForAll if self.requests.iter().all(|request| request.left == 0) => {
                self.ended.clear();
                self.see(None);
            }
            Waits::ForAny if !self.ended.is_empty() => self.see(Some(self.ended[0])),
            _ => return false,
        }
        self.waits = Waits::ForNothing;
        true
    }

    fn see(&mut self, request: Option<u32>) {
        self.ended.retain(|&ended| Some(ended) != request);
        self.seen.request = request;
        self.seen.matched = request.and_then(|request| self.requests[request as usize].matched);
    }
}
