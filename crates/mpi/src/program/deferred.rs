//! Requests of a rank that begin after other requests, and the calculations on its units.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::burst::Burst;
use super::running::Running;
use super::script::Request;
use super::{Action, Op};
use crate::communicator::Context;

/// Unit number of the rank's processor.
const PROCESSOR: u32 = 0;

/// Request that has not begun.
#[derive(Clone, Debug)]
pub(super) enum Begin {
    /// Sends or receives with peers at a fixed stride.
    Burst(Burst),
    /// Calculation on a unit.
    Calc {
        /// Duration in picoseconds.
        time: u64,
        /// Unit number.
        unit: u32,
    },
    /// A collective operation.
    Collective(Box<Running>),
}

/// Unit of a rank: its current calculation and its queue of ready calculations, in order of their calls.
#[derive(Debug, Default)]
struct Unit {
    busy: Option<Request>,
    ready: BinaryHeap<Reverse<(Request, u64)>>,
}

/// Requests of a rank that have been made and have not begun.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Unfinished requests that the next request begins after.
    next: BTreeSet<Request>,
    /// Requests that have not begun, each with the number of requests that it still waits for.
    waiting: BTreeMap<Request, (u32, Begin)>,
    /// Unfinished requests, each with the requests that begin after it.
    behind: BTreeMap<Request, Vec<Request>>,
    /// In-switch calls of the collective operations in `waiting`: communicator, and index among its operations.
    unposted: BTreeSet<(Context, u32)>,
    units: BTreeMap<u32, Unit>,
    /// Calculations in progress, each with its unit.
    under_way: BTreeMap<Request, u32>,
    /// Units that may begin a calculation.
    free: BTreeSet<u32>,
    /// Requests that have ended and whose successors have not been released yet.
    ended: Vec<Request>,
}

impl Deferred {
    /// Makes the next request begin after `request`, which has not ended.
    pub fn after(&mut self, request: Request) {
        self.next.insert(request);
    }

    /// Whether the next request begins after others.
    pub fn holds_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// Stores a request that begins after others. Returns `begin` if the request may begin now.
    pub fn hold(&mut self, request: Request, begin: Begin) -> Option<Begin> {
        if self.next.is_empty() {
            return Some(begin);
        }
        if let Begin::Collective(running) = &begin {
            self.unposted.extend(running.unposted());
        }
        self.waiting.insert(request, (self.next.len() as u32, begin));
        while let Some(before) = self.next.pop_first() {
            self.behind.entry(before).or_default().push(request);
        }
        None
    }

    /// Notes that a collective operation begins, which may have waited.
    pub fn begins(&mut self, running: &Running) {
        if let Some(posts) = running.unposted() {
            self.unposted.remove(&posts);
        }
    }

    /// Whether a waiting operation precedes operation `number` of its communicator with an in-switch call.
    pub fn holds_before(&self, (context, number): (Context, u32)) -> bool {
        self.unposted.range((context, 0)..(context, number)).next().is_some()
    }

    /// Notes that a request has ended.
    pub fn ended(&mut self, request: Request) {
        self.next.remove(&request);
        if let Some(unit) = self.under_way.remove(&request) {
            self.units.entry(unit).or_default().busy = None;
            self.free.insert(unit);
        }
        if self.behind.contains_key(&request) {
            self.ended.push(request);
        }
    }

    /// Returns requests that may begin now, in order of their calls. Returns `None` when all ended requests have been
    /// processed.
    pub fn released(&mut self) -> Option<Vec<(Request, Begin)>> {
        let mut released = Vec::new();
        while released.is_empty() {
            let behind = self.behind.remove(&self.ended.pop()?).unwrap_or_default();
            for request in behind {
                let Some((left, _)) = self.waiting.get_mut(&request) else { continue };
                *left -= 1;
                if *left > 0 {
                    continue;
                }
                if let Some((_, begin)) = self.waiting.remove(&request) {
                    released.push((request, begin));
                }
            }
        }
        Some(released)
    }

    /// Queues a calculation that is ready to run on a unit.
    pub fn queue(&mut self, unit: u32, request: Request, time: u64) {
        let own = self.units.entry(unit).or_default();
        own.ready.push(Reverse((request, time)));
        if own.busy.is_none() {
            self.free.insert(unit);
        }
    }

    /// Begins calculations on the idle units.
    pub fn dispatch(&mut self, starts: &mut Vec<Op>) {
        while let Some(number) = self.free.pop_first() {
            let Some(unit) = self.units.get_mut(&number) else { continue };
            let Some(Reverse((request, time))) = unit.ready.pop() else { continue };
            unit.busy = Some(request);
            self.under_way.insert(request, number);
            let action = if number == PROCESSOR { Action::Calc { time } } else { Action::Kernel { time } };
            starts.push(Op::one(request, action));
        }
    }
}
