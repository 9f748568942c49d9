//! What the calls of a rank mean, plainly: a list of requests, searched from its beginning.

use workload::program::{Action, Burst, Matched, Script, Seen, Step};

/// What the program of a calculation knows it by.
pub const CALCULATION: u32 = u32::MAX;

/// What it knows a test by.
const TEST: u32 = u32::MAX - 1;

/// What it knows a probe by.
const PROBE: u32 = u32::MAX - 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    ForNothing,
    ForCalculation,
    ForTest,
    ForProbe,
    For(u32),
    ForAll,
    ForAny,
    /// It calls nothing any more.
    Over,
}

/// A send, a receive or a burst.
#[derive(Clone, Debug)]
struct Request {
    left: u32,
    matched: Option<Matched>,
}

/// A rank that calls.
pub struct Caller {
    script: Box<dyn Script>,
    ranks: u32,
    requests: Vec<Request>,
    /// Requests that have ended and not been waited for, in the order in which they ended.
    ended: Vec<u32>,
    waits: Waits,
    seen: Seen,
}

impl Caller {
    pub fn new(script: Box<dyn Script>, ranks: u32) -> Self {
        let (requests, ended) = (Vec::new(), Vec::new());
        Self { script, ranks, requests, ended, waits: Waits::ForNothing, seen: Seen::default() }
    }

    /// Calls until it waits; returns operations to start, with their requests.
    pub fn call(&mut self, now: u64) -> Vec<(u32, Action)> {
        self.seen.now = now;
        let mut starts = Vec::new();
        while self.go_on() {
            match self.script.next(&self.seen) {
                Step::Do(calc @ Action::Calc { .. }) => {
                    starts.push((CALCULATION, calc));
                    self.waits = Waits::ForCalculation;
                }
                Step::Do(probe @ Action::Probe { .. }) => {
                    starts.push((PROBE, probe));
                    self.waits = Waits::ForProbe;
                }
                Step::Do(first) => self.request(Burst { first, count: 1, stride: 0 }, &mut starts),
                Step::Burst(burst) => self.request(burst, &mut starts),
                Step::Wait(request) => self.waits = Waits::For(request),
                Step::WaitAll => self.waits = Waits::ForAll,
                Step::WaitAny => self.waits = Waits::ForAny,
                Step::Test => {
                    starts.push((TEST, Action::Poll));
                    self.waits = Waits::ForTest;
                }
                // Collective operations are made of these, and have tests of their own, as failures have.
                Step::Collective(_) | Step::StartCollective(_) | Step::Fail => {
                    unreachable!("random ranks do not call it")
                }
                Step::End => self.waits = Waits::Over,
            }
        }
        starts
    }

    /// An operation has ended; returns what starts then.
    pub fn ended(&mut self, id: u32, at: u64, matched: Option<Matched>) -> Vec<(u32, Action)> {
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
                self.ended.push(id);
            }
        }
        self.call(at)
    }

    fn request(&mut self, burst: Burst, starts: &mut Vec<(u32, Action)>) {
        let id = self.requests.len() as u32;
        self.requests.push(Request { left: burst.count, matched: None });
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

    /// Whether it waits for nothing, now that something may have ended.
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
