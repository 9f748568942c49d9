//! Benchmarks that time what ranks do again and again, one size of messages after the other, as IMB and the OSU benchmarks do.
//!
//! For each size, the ranks that take part meet at a barrier, go through the iterations that are not measured, meet again, and time the
//! others together: an interval from before the first to after the last, whose key is the number of the size. The barriers are made of
//! messages of no bytes, whoever carries out the operation that is measured; a pause behind each keeps what they leave in the interfaces
//! (gaps, credits) out of what is measured.

use std::fmt::Debug;
use std::sync::Arc;

use units::Time;

use super::table::TableRow;
use crate::collectives::{Algorithm, Collective, GroupCall, Operation, ProgramGroup};
use crate::communicator::{Communicator, Context, Group};
use crate::program::{Action, Interval, Messages, Programs, RankProgram, Script, ScriptedRank, Seen, Step};

/// The communicator of the ranks that take part, in which they meet; that of an operation that is measured is number 0.
const MEETING: u32 = 1;

/// Where a call is made: a rank, of so many that take part, and the bytes of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// The rank.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// Bytes of a message.
    pub bytes: u64,
    /// The number of the iteration, from 0, those that are not measured included.
    pub iteration: u32,
}

/// What ranks do again and again.
pub(super) trait Exercise: Debug + Send + Sync {
    /// The call with a number, from 0, of an iteration; none: the iteration is over.
    fn call(&self, at: At, number: u32) -> Option<Step>;
    /// Visits what a rank sends in an iteration: to whom, how many bytes, and how often.
    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64));
    /// Whether a rank takes the time.
    fn measures(&self, rank: u32) -> bool;
    /// The collective operation of an iteration, if it is one.
    fn operation(&self, _at: At) -> Option<Collective> {
        None
    }
    /// The communicator of a rank's collective operations.
    fn communicator(&self, rank: u32, ranks: u32) -> Communicator {
        Communicator::world(rank, ranks)
    }
}

/// How often, and with what.
#[derive(Clone, Debug)]
pub(super) struct Repetition {
    /// Bytes of a message, one size after the other.
    pub sizes: Vec<u64>,
    /// Iterations that are measured, of each size.
    pub measured: u32,
    /// Iterations before them.
    pub warm_up: u32,
    /// Pause after each barrier, in which interfaces come to rest.
    pub settle: Time,
}

impl Repetition {
    const fn iterations(&self) -> u32 {
        self.measured + self.warm_up
    }
}

/// Ranks that take part in an exercise, of each size so often.
#[derive(Debug)]
pub(super) struct Timed {
    exercise: Arc<dyn Exercise>,
    ranks: u32,
    /// Those that take part.
    group: Group,
    repetition: Repetition,
    operations: u64,
}

impl Timed {
    /// The benchmark of a group, among so many ranks.
    pub fn new(exercise: impl Exercise + 'static, (ranks, group): (u32, Group), repetition: Repetition) -> Self {
        let mut timed = Self { exercise: Arc::new(exercise), ranks, group, repetition, operations: 0 };
        let mut operations = 0_u64;
        timed.each_message(&mut |messages| operations = operations.saturating_add(2 * messages.count));
        let calls = u64::from(ranks) * timed.repetition.sizes.len() as u64 * u64::from(timed.repetition.iterations());
        timed.operations = if timed.groups().is_empty() { operations } else { operations.saturating_add(calls) };
        timed
    }

    /// How the members meet.
    const fn meeting(&self) -> Collective {
        Collective { communicator: MEETING, ..Collective::new(Operation::Barrier, Algorithm::Dissemination, 0) }
    }

    /// The communicator in which a member meets the others; none of a rank that does not take part.
    fn members(&self, rank: u32) -> Option<Communicator> {
        Communicator::new(Context::new(MEETING)?, self.group.clone(), rank)
    }

    /// How often the members meet for each size.
    const fn meetings(&self) -> u32 {
        if self.repetition.warm_up > 0 { 2 } else { 1 }
    }

    fn at(&self, rank: u32, bytes: u64, iteration: u32) -> At {
        At { rank, ranks: self.ranks, bytes, iteration }
    }

    /// The rows of a table of the sizes, each iteration of which takes a message there and back, or one, so often.
    pub fn rows(sizes: &[u64], repetitions: u32, of: impl Fn(u64) -> TableRow) -> Vec<TableRow> {
        sizes.iter().map(|&bytes| TableRow { bytes, repetitions, ..of(bytes) }).collect()
    }
}

impl Programs for Timed {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let (ranks, place) = (self.ranks, Place::before(&self, rank));
        let state = TimedRank { timed: self, rank, size: 0, iteration: 0, place, begin: 0, intervals: Vec::new() };
        Box::new(ScriptedRank::new(state, rank, ranks))
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        let Some(members) = self.members(from) else { return };
        let meetings = u64::from(self.meetings()) * self.repetition.sizes.len() as u64;
        self.meeting().each_message(&members, &mut |to, bytes| visit(Messages { from, to, bytes, count: meetings }));
        let own = self.exercise.communicator(from, self.ranks);
        for &bytes in &self.repetition.sizes {
            for (iteration, times) in self.different(bytes) {
                let at = self.at(from, bytes, iteration);
                let mut of = |to: u32, bytes: u64, count: u64| {
                    visit(Messages { from, to, bytes, count: count * u64::from(times) });
                };
                match self.exercise.operation(at) {
                    Some(call) => call.each_message(&own, &mut |to, bytes| of(to, bytes, 1)),
                    None => self.exercise.messages(at, &mut of),
                }
            }
        }
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        let call = self.repetition.sizes.iter().find_map(|&bytes| self.exercise.operation(self.at(0, bytes, 0)));
        let own = || self.exercise.communicator(0, self.ranks);
        call.and_then(|call| ProgramGroup::of(&call, &own())).into_iter().collect()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        let Some(group) = self.groups().pop() else { return };
        for &bytes in &self.repetition.sizes {
            if let Some(call) = self.exercise.operation(self.at(0, bytes, 0)) {
                visit(0, &group.call(&call), u64::from(self.repetition.iterations()));
            }
        }
    }
}

impl Timed {
    /// The iterations of a size that differ in what is sent, and how often each comes: operations whose root changes are as many as there
    /// are roots.
    fn different(&self, bytes: u64) -> impl Iterator<Item = (u32, u32)> + '_ {
        let all = self.repetition.iterations();
        let root = |iteration| self.exercise.operation(self.at(0, bytes, iteration)).map_or(0, |call| call.root);
        let kinds = if all > 1 && root(0) != root(1) { all.min(self.ranks) } else { 1 };
        (0..kinds).map(move |first| (first, (all - first).div_ceil(kinds)))
    }
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It does not take part, or has ended.
    Over,
    /// It is about to meet the others, before the iterations that are not measured.
    First,
    /// It is about to meet them before those that are.
    Second,
    /// It has met the others, and its interface comes to rest.
    Met,
    /// It is in an iteration, before the call with a number.
    Within(u32),
}

impl Place {
    fn before(timed: &Timed, rank: u32) -> Self {
        if timed.group.member(rank).is_some() && !timed.repetition.sizes.is_empty() { Self::First } else { Self::Over }
    }
}

/// A rank of a benchmark.
#[derive(Debug)]
struct TimedRank {
    timed: Arc<Timed>,
    rank: u32,
    /// Sizes and, of the present one, iterations that are over.
    size: u32,
    iteration: u32,
    place: Place,
    /// When the measured iterations began, in picoseconds.
    begin: u64,
    intervals: Vec<Interval>,
}

impl TimedRank {
    /// An iteration is over.
    fn end_iteration(&mut self, now: u64) {
        let repetition = &self.timed.repetition;
        self.iteration += 1;
        self.place = Place::Within(0);
        if self.iteration == repetition.warm_up {
            self.place = Place::Second;
        } else if self.iteration == repetition.iterations() {
            if self.timed.exercise.measures(self.rank) {
                self.intervals.push(Interval { key: self.size, start: self.begin, end: now });
            }
            (self.size, self.iteration) = (self.size + 1, 0);
            let more = (self.size as usize) < repetition.sizes.len();
            self.place = if more { Place::First } else { Place::Over };
        }
    }
}

impl Script for TimedRank {
    fn next(&mut self, seen: &Seen) -> Step {
        loop {
            match self.place {
                Place::Over => return Step::End,
                Place::First | Place::Second => {
                    self.place = Place::Met;
                    return Step::Collective(self.timed.meeting());
                }
                Place::Met => {
                    self.place = Place::Within(0);
                    let settle = self.timed.repetition.settle;
                    if settle > Time(0) {
                        return Step::Do(Action::Calc { time: settle.0 });
                    }
                }
                Place::Within(number) => {
                    let Timed { exercise, repetition, .. } = &*self.timed;
                    if number == 0 && self.iteration == repetition.warm_up {
                        self.begin = seen.now;
                    }
                    let at = self.timed.at(self.rank, repetition.sizes[self.size as usize], self.iteration);
                    match exercise.call(at, number) {
                        Some(step) => {
                            self.place = Place::Within(number + 1);
                            return step;
                        }
                        None => self.end_iteration(seen.now),
                    }
                }
            }
        }
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        match number {
            MEETING => self.timed.members(self.rank),
            _ => Some(self.timed.exercise.communicator(self.rank, self.timed.ranks)),
        }
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
