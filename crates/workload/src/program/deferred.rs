//! Requests of a rank that begin behind others, and the calculations of its units.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::burst::Burst;
use super::running::Running;
use super::script::Request;
use super::{Action, Op};
use crate::communicator::Context;

/// The unit that is the rank's processor.
const PROCESSOR: u32 = 0;

/// A request that has not begun.
#[derive(Clone, Debug)]
pub(super) enum Begin {
    /// Sends or receives of one shape.
    Burst(Burst),
    /// A calculation on a unit, in picoseconds.
    Calc {
        /// Duration in picoseconds.
        time: u64,
        /// The unit.
        unit: u32,
    },
    /// A collective operation.
    Collective(Box<Running>),
}

/// A unit: the calculation that it carries out, and those that are ready, by the order of their calls.
#[derive(Debug, Default)]
struct Unit {
    busy: Option<Request>,
    ready: BinaryHeap<Reverse<(Request, u64)>>,
}

/// Requests of a rank that have been made and have not begun.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Requests that the next one begins behind, and that have not ended.
    next: BTreeSet<Request>,
    /// By request that has not begun: how many it waits for.
    waiting: BTreeMap<Request, (u32, Begin)>,
    /// By request that has not ended, those that wait for it.
    behind: BTreeMap<Request, Vec<Request>>,
    /// Operations of `waiting` that have something for the switches: communicator and place among its operations.
    unposted: BTreeSet<(Context, u32)>,
    units: BTreeMap<u32, Unit>,
    /// By calculation that is under way, its unit.
    under_way: BTreeMap<Request, u32>,
    /// Units that may begin a calculation.
    free: BTreeSet<u32>,
    /// Requests that have ended, until what waits for them has been released.
    ended: Vec<Request>,
}

impl Deferred {
    /// Has the next request begin behind a request that has not ended.
    pub fn after(&mut self, request: Request) {
        self.next.insert(request);
    }

    /// Whether the next request begins behind others.
    pub fn holds_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// Takes a request that begins behind others; returns one that begins now.
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

    /// A collective operation begins that may have waited.
    pub fn begins(&mut self, running: &Running) {
        if let Some(posts) = running.unposted() {
            self.unposted.remove(&posts);
        }
    }

    /// Whether an operation waits that posts to the switches before another of its communicator.
    pub fn holds_before(&self, (context, number): (Context, u32)) -> bool {
        self.unposted.range((context, 0)..(context, number)).next().is_some()
    }

    /// A request has ended.
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

    /// Requests that begin now, in the order of their calls; none when all that have ended have been considered.
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

    /// A calculation is ready for a unit.
    pub fn queue(&mut self, unit: u32, request: Request, time: u64) {
        let own = self.units.entry(unit).or_default();
        own.ready.push(Reverse((request, time)));
        if own.busy.is_none() {
            self.free.insert(unit);
        }
    }

    /// Begins calculations on the units that are free.
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
