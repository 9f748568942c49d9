//! Benchmarks that time repeated iterations of an exercise, size by size, as IMB and the OSU benchmarks do.
//!
//! For each size, the participating ranks synchronize in a barrier, run the unmeasured warm-up iterations, synchronize
//! again, and time the measured iterations together. The interval lasts from before the first to after the last
//! measured iteration, and its key is the index of the size. The barriers consist of empty messages, whatever backend
//! carries out the measured operation. A pause after each barrier keeps its after-effects in the interfaces (gaps,
//! credits) out of the measurement. If ranks may end before what they have sent has arrived, a pause before the
//! barrier of the next size, as long as the measured iterations, keeps its messages from taking turns with those.
//!
//! Warm-up iterations make the connections and register the memory that the measured iterations use. An operation whose
//! root rotates has a warm-up iteration for each measured root, so that no measured root does so for the first time.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use units::Time;

use super::table::TableRow;
use mpi::collectives::{Algorithm, Collective, GroupCall, GroupNumbers, Operation, ProgramGroup};
use mpi::communicator::{Communicator, Context, Group};
use mpi::program::{Action, FanOut, Interval, Messages, Programs, RankProgram, Script, ScriptCall, ScriptedRank, Seen};

/// Communicator in which the participating ranks synchronize. Measured operations use communicator 0.
const MEETING: u32 = 1;

/// Context of a call: the rank, the size of messages and the iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Rank that makes the call.
    pub rank: u32,
    /// Number of ranks of the program.
    pub ranks: u32,
    /// Size of a message, in bytes.
    pub bytes: u64,
    /// Number of the iteration among the measured iterations, or among the warm-up iterations, from 0.
    pub iteration: u32,
}

/// Exercise: the calls that ranks repeat in each iteration.
pub(super) trait Exercise: Debug + Send + Sync {
    /// Returns call `number` of an iteration, from 0. `None`: the iteration is over.
    fn call(&self, at: At, number: u32) -> Option<ScriptCall>;
    /// Visits the messages that a rank sends in an iteration: the destination, the size in bytes, and the number of
    /// messages.
    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64));
    /// Returns whether a rank measures the time.
    fn measures(&self, rank: u32) -> bool;
    /// Returns whether a rank may end the last iteration long before its last messages have arrived. Where all ranks
    /// wait for one another, a pause of each as long as its own time would keep them apart.
    fn is_one_way(&self) -> bool {
        false
    }
    /// Returns the collective operation of an iteration. `None` if the iteration is not a collective operation.
    fn operation(&self, _at: At) -> Option<Collective> {
        None
    }
    /// Returns assumptions of the exercise, one sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Returns the communicator of a rank's collective operations.
    fn communicator(&self, rank: u32, ranks: u32) -> Communicator {
        Communicator::world(rank, ranks)
    }
}

/// Operations in which a rank sends messages.
#[derive(Clone, Copy, Debug)]
enum Sending<'a> {
    /// Collective operation on a communicator.
    Collective(Collective, &'a Communicator),
    /// Messages of an iteration without a collective operation.
    Messages(At),
}

/// Sizes and numbers of iterations.
#[derive(Clone, Debug)]
pub(super) struct Repetition {
    /// Sizes of messages in bytes, in the order in which they are run.
    pub sizes: Vec<u64>,
    /// Number of measured iterations of each size.
    pub measured: u32,
    /// Number of unmeasured warm-up iterations of each size. There are more if the root rotates, unless it is 0.
    pub warm_up: u32,
    /// Pause after each barrier, in which interfaces become idle.
    pub settle: Time,
}

impl Repetition {
    const fn iterations(&self) -> u32 {
        self.measured + self.warm_up
    }
}

/// Benchmark that times an exercise of some ranks, size by size.
#[derive(Debug)]
pub(super) struct Timed {
    exercise: Arc<dyn Exercise>,
    ranks: u32,
    /// Participating ranks.
    group: Group,
    repetition: Repetition,
    /// Number of iterations after which the messages repeat: that of the ranks if the root rotates, otherwise 1.
    period: u32,
    operations: u64,
}

impl Timed {
    /// Creates the benchmark of the ranks in `group`, in a program of `ranks` ranks.
    pub fn new(exercise: impl Exercise + 'static, (ranks, group): (u32, Group), mut repetition: Repetition) -> Self {
        let bytes = repetition.sizes.first().copied().unwrap_or(0);
        let root = |iteration| exercise.operation(At { rank: 0, ranks, bytes, iteration }).map(|call| call.root);
        let period = if root(0) == root(1) { 1 } else { ranks };
        if repetition.warm_up > 0 && period > 1 {
            repetition.warm_up = repetition.warm_up.max(repetition.measured.min(period));
        }
        let mut timed = Self { exercise: Arc::new(exercise), ranks, group, repetition, period, operations: 0 };
        let mut operations = 0_u64;
        timed.each_size(&mut |_, count| operations = operations.saturating_add(count.saturating_mul(2)));
        let calls = u64::from(ranks) * timed.repetition.sizes.len() as u64 * u64::from(timed.repetition.iterations());
        timed.operations = if timed.groups().is_empty() { operations } else { operations.saturating_add(calls) };
        timed
    }

    /// Returns the barrier by which the members synchronize.
    const fn meeting(&self) -> Collective {
        Collective { communicator: MEETING, ..Collective::new(Operation::Barrier, Algorithm::Dissemination, 0) }
    }

    /// Returns the communicator in which `rank` synchronizes with the others. `None` if it does not take part.
    fn members(&self, rank: u32) -> Option<Communicator> {
        Communicator::new(Context::new(MEETING)?, self.group.clone(), rank)
    }

    /// Returns the number of barriers for each size.
    const fn meetings(&self) -> u32 {
        if self.repetition.warm_up > 0 { 2 } else { 1 }
    }

    fn at(&self, rank: u32, bytes: u64, iteration: u32) -> At {
        At { rank, ranks: self.ranks, bytes, iteration }
    }

    /// Visits the barriers and the iterations of a rank, each with the number of its repetitions.
    fn each_sending(&self, rank: u32, visit: &mut dyn FnMut(Sending<'_>, u64)) {
        let Some(members) = self.members(rank) else { return };
        let meetings = u64::from(self.meetings()) * self.repetition.sizes.len() as u64;
        visit(Sending::Collective(self.meeting(), &members), meetings);
        let own = self.exercise.communicator(rank, self.ranks);
        for &bytes in &self.repetition.sizes {
            for (iteration, times) in self.different() {
                let at = self.at(rank, bytes, iteration);
                let call = self.exercise.operation(at);
                let sending = call.map_or(Sending::Messages(at), |call| Sending::Collective(call, &own));
                visit(sending, u64::from(times));
            }
        }
    }

    /// Returns one table row for each size. `of` gives all columns but the size and the number of repetitions.
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

    fn notes(&self) -> &[String] {
        self.exercise.notes()
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        self.each_sending(from, &mut |sending, times| {
            let mut of = |to: u32, bytes: u64, count: u64| visit(Messages { from, to, bytes, count: count * times });
            match sending {
                Sending::Collective(call, own) => call.each_message(own, &mut of),
                Sending::Messages(at) => self.exercise.messages(at, &mut of),
            }
        });
    }

    fn fan_outs_of(&self, rank: u32, visit: &mut dyn FnMut(FanOut)) {
        self.each_sending(rank, &mut |sending, times| {
            let mut of = |to: Range<u32>, bytes: u64, count: u64| visit(FanOut { to, bytes, count: count * times });
            match sending {
                Sending::Collective(call, own) => call.each_fan_out(own, &mut of),
                Sending::Messages(at) => {
                    self.exercise.messages(at, &mut |to, bytes, count| of(to..to + 1, bytes, count))
                }
            }
        });
    }

    fn sizes_of(&self, rank: u32, visit: &mut dyn FnMut(u64, u64)) {
        self.each_sending(rank, &mut |sending, times| self.sizes_in(&sending, &mut |bytes, n| visit(bytes, n * times)));
    }

    fn each_size(&self, visit: &mut dyn FnMut(u64, u64)) {
        let symmetric = self.symmetric();
        let last = if self.is_symmetric() { 1 } else { self.ranks };
        for rank in 0..last {
            let mut own = symmetric.iter();
            self.each_sending(rank, &mut |sending, times| {
                // The first rank stands for all ranks that send alike.
                let ranks = match (own.next(), rank) {
                    (Some(true), 0) => self.ranks,
                    (Some(true), _) => return,
                    _ => 1,
                };
                let times = times.saturating_mul(u64::from(ranks));
                self.sizes_in(&sending, &mut |bytes, n| visit(bytes, n.saturating_mul(times)));
            });
        }
    }

    fn is_symmetric(&self) -> bool {
        let symmetric = self.symmetric();
        !symmetric.is_empty() && !symmetric.contains(&false)
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.each_in_switch(&mut |_, _| {})
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.each_in_switch(&mut |place, call| visit(place, call, u64::from(self.repetition.iterations())));
    }
}

impl Timed {
    /// Visits the in-switch calls of an iteration of each size. Returns the groups.
    fn each_in_switch(&self, visit: &mut dyn FnMut(usize, &GroupCall)) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        let own = self.exercise.communicator(0, self.ranks);
        for &bytes in &self.repetition.sizes {
            if let Some(call) = self.exercise.operation(self.at(0, bytes, 0)) {
                numbers.add(&call, &own, visit);
            }
        }
        numbers.groups()
    }

    /// Visits the sizes of the messages of a barrier or an iteration.
    fn sizes_in(&self, sending: &Sending<'_>, visit: &mut dyn FnMut(u64, u64)) {
        match *sending {
            Sending::Collective(call, own) => call.each_size(own, visit),
            Sending::Messages(at) => self.exercise.messages(at, &mut |_, bytes, count| visit(bytes, count)),
        }
    }

    /// Returns whether all ranks send alike, for each barrier and iteration that `each_sending` visits. Empty if some
    /// ranks do not take part.
    fn symmetric(&self) -> Vec<bool> {
        let mut found = Vec::new();
        if self.group.len() == self.ranks {
            self.each_sending(0, &mut |sending, _| {
                found.push(match sending {
                    Sending::Collective(call, own) => own.len() == self.ranks && call.is_symmetric(own),
                    Sending::Messages(_) => false,
                });
            });
        }
        found
    }

    /// Returns the iterations of a size whose messages differ, each with the number of its occurrences. If the root of
    /// an operation rotates, there is one kind for each root.
    fn different(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let Repetition { measured, warm_up, .. } = self.repetition;
        let among = |iterations: u32, kind: u32| iterations.saturating_sub(kind).div_ceil(self.period);
        let kinds = measured.max(warm_up).min(self.period);
        (0..kinds).map(move |kind| (kind, among(warm_up, kind) + among(measured, kind)))
    }
}

/// State of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Does not take part, or has finished.
    Over,
    /// About to enter the barrier before the warm-up iterations. Without warm-up: before the measured iterations.
    First,
    /// About to enter the barrier between the warm-up and the measured iterations.
    Second,
    /// Has left the barrier; its interface becomes idle.
    Met,
    /// In an iteration, before the call with this number.
    Within(u32),
    /// Has ended the iterations of a size, and waits.
    Parting,
}

impl Place {
    fn before(timed: &Timed, rank: u32) -> Self {
        if timed.group.member(rank).is_some() && !timed.repetition.sizes.is_empty() { Self::First } else { Self::Over }
    }
}

/// Rank of a benchmark.
#[derive(Debug)]
struct TimedRank {
    timed: Arc<Timed>,
    rank: u32,
    /// Number of completed sizes.
    size: u32,
    /// Number of completed iterations of the current size.
    iteration: u32,
    place: Place,
    /// Begin of the measured iterations, in picoseconds.
    begin: u64,
    intervals: Vec<Interval>,
}

impl TimedRank {
    /// Records the end of an iteration and moves to the next state.
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
            self.place = if more { Place::Parting } else { Place::Over };
        }
    }
}

impl Script for TimedRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        loop {
            match self.place {
                Place::Over => return ScriptCall::End,
                Place::First | Place::Second => {
                    self.place = Place::Met;
                    return ScriptCall::Collective(self.timed.meeting());
                }
                Place::Parting => {
                    self.place = Place::First;
                    let time = if self.timed.exercise.is_one_way() { seen.now - self.begin } else { 0 };
                    if time > 0 {
                        return ScriptCall::Do(Action::Calc { time });
                    }
                }
                Place::Met => {
                    self.place = Place::Within(0);
                    let settle = self.timed.repetition.settle;
                    if settle > Time(0) {
                        return ScriptCall::Do(Action::Calc { time: settle.0 });
                    }
                }
                Place::Within(number) => {
                    let Timed { exercise, repetition, .. } = &*self.timed;
                    if number == 0 && self.iteration == repetition.warm_up {
                        self.begin = seen.now;
                    }
                    let iteration = self.iteration.checked_sub(repetition.warm_up).unwrap_or(self.iteration);
                    let at = self.timed.at(self.rank, repetition.sizes[self.size as usize], iteration);
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
