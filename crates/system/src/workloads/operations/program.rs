//! Operations that groups begin at given times, as a program of ranks.
//!
//! The times of a group's operations are a random stream of the group. Each member draws them again, so no member has
//! to send them. A rank may be in any number of groups. It waits for the next time at which one of them begins an
//! operation, starts it, and goes on; earlier operations finish concurrently. A group with a given number of unfinished
//! operations begins no more until one of them ends. The network cannot tell the difference, since the limit exceeds
//! the number of operations under way. So saturation costs no memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use engine::{Owner, Stream};
use mpi::collectives::{Collective, GroupCall, ProgramGroup};
use mpi::communicator::{Communicator, Context, Group, NodeGroups};
use mpi::program::{
    Action, Interval, Messages, Programs, RankProgram, Request, Script, ScriptCall, ScriptedRank, Seen,
};
use traffic::{Injection, InjectionState};
use units::{Draw, NodeId};

use ::experiment::{LateLaw, LateSpec};

/// Bit in an interval's key that marks the time at which a member begins an operation. The other bits are the number of
/// the group.
pub(super) const BEGINS: u32 = 1 << 31;

/// Groups with their collective operation.
#[derive(Debug)]
pub(super) struct GroupSet {
    /// Operation of all groups. Its root is replaced by the root of each group.
    pub call: Collective,
    /// Number of ranks.
    pub ranks: u32,
    pub groups: Vec<TimedGroup>,
    /// Groups of each rank, in ascending order.
    pub of_rank: Vec<Vec<u32>>,
}

/// Group that begins operations.
#[derive(Debug)]
pub(super) struct TimedGroup {
    /// Node that the group belongs to.
    pub sender: NodeId,
    /// Member that is the root.
    pub root: u32,
    pub members: Group,
    pub nodes: Arc<NodeGroups>,
}

impl GroupSet {
    fn communicator(&self, number: u32, rank: u32) -> Option<Communicator> {
        let own = self.groups.get(number as usize)?;
        let communicator = Communicator::new(Context::new(number)?, own.members.clone(), rank)?;
        Some(communicator.on_nodes(Arc::clone(&own.nodes)))
    }

    fn call_of(&self, number: u32) -> Collective {
        let root = self.groups.get(number as usize).map_or(0, |own| own.root);
        Collective { communicator: number, root: if self.call.operation.has_root() { root } else { 0 }, ..self.call }
    }

    /// Whether a rank gets a result in an operation of a group.
    pub fn gets(&self, number: u32, rank: u32) -> bool {
        let own = &self.groups[number as usize];
        self.call.operation.gets(own.members.rank(own.root) == rank)
    }
}

/// Times at which groups begin operations.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub seed: u64,
    /// Law of the times between operations, in picoseconds.
    pub injection: Injection,
    /// Period in which operations begin, in picoseconds.
    pub span: (u64, u64),
    pub late: Option<LateSpec>,
    /// Largest number of unfinished operations of a group that a rank has begun.
    pub most: usize,
}

/// Sequence of a group's operations in time.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    stream: Stream,
    state: InjectionState,
    last: Option<u64>,
}

/// Begin of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// Time in picoseconds.
    pub at: u64,
    /// Seed from which late members are drawn.
    draws: u64,
}

impl Clock {
    pub fn new(timing: &Timing, group: &TimedGroup) -> Self {
        let stream = Stream::new(timing.seed, Owner::Operations(group.sender.0));
        Self { stream, state: InjectionState::default(), last: None }
    }

    /// Returns the next operation, if there is one.
    pub fn next(&mut self, timing: &Timing) -> Option<Begin> {
        let at = match self.last {
            None => timing.injection.first(&mut self.state, &mut self.stream)?.checked_add(timing.span.0)?,
            Some(last) => timing.injection.next(&mut self.state, last, &mut self.stream)?,
        };
        self.last = Some(at);
        let draws = if timing.late.is_some() { self.stream.bits() } else { 0 };
        (at < timing.span.1).then_some(Begin { at, draws })
    }
}

impl Begin {
    /// Returns the delay of a member, in picoseconds. `member` is its index among `members`.
    fn late(&self, timing: &Timing, (member, members): (u32, u32)) -> u64 {
        let Some(late) = &timing.late else { return 0 };
        if !late.members.is_none_or(|count| self.is_chosen(count, (member, members))) {
            return 0;
        }
        let stream = &mut Stream::new(self.draws, Owner::Late(member));
        match late.law {
            LateLaw::Fixed => late.time.0,
            LateLaw::Uniform => (2.0 * late.time.0 as f64 * stream.unit()) as u64,
            LateLaw::Exponential => {
                let gaps = Injection::Poisson { mean: late.time.0 as f64 };
                gaps.next(&mut InjectionState::default(), 0, stream).unwrap_or(u64::MAX >> 1)
            }
        }
    }

    /// Whether `member` is among `count` members that are drawn. All sets of this size are equally likely (Floyd's
    /// algorithm).
    fn is_chosen(&self, count: u32, (member, members): (u32, u32)) -> bool {
        let stream = &mut Stream::new(self.draws, Owner::Late(u32::MAX));
        let mut chosen = Vec::with_capacity(count.min(members) as usize);
        for last in members.saturating_sub(count)..members {
            let drawn = stream.below(last + 1);
            chosen.push(if chosen.contains(&drawn) { last } else { drawn });
        }
        chosen.contains(&member)
    }
}

/// Program of groups that begin operations at given times. Without times it only describes the groups.
#[derive(Clone, Debug)]
pub(super) struct TimedGroups {
    pub set: Arc<GroupSet>,
    pub timing: Option<Timing>,
}

impl TimedGroups {
    /// Returns the groups that switches serve, with their numbers.
    fn served(&self) -> impl Iterator<Item = (u32, ProgramGroup)> + '_ {
        (0..).zip(&self.set.groups).filter_map(|(number, own)| {
            let communicator = self.set.communicator(number, own.members.rank(0))?;
            Some((number, ProgramGroup::of(&self.set.call_of(number), &communicator)?))
        })
    }
}

impl Programs for TimedGroups {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.set.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let ranks = self.set.ranks;
        Box::new(ScriptedRank::new(TimedRank::new(self, rank), rank, ranks))
    }

    fn operations(&self) -> u64 {
        u64::MAX
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.served().map(|(_, group)| group).collect()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        for (place, (number, group)) in self.served().enumerate() {
            visit(place, &group.call(&self.set.call_of(number)), 1);
        }
    }

    /// Visits the messages of one operation of each group.
    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        for &number in &self.set.of_rank[from as usize] {
            let Some(communicator) = self.set.communicator(number, from) else { continue };
            self.set.call_of(number).each_message(&communicator, &mut |to, bytes, count| {
                visit(Messages { from, to, bytes, count });
            });
        }
    }
}

/// Group that a rank is in.
#[derive(Debug)]
struct Own {
    number: u32,
    /// Index of the rank among the members, and number of members.
    member: (u32, u32),
    clock: Clock,
    /// Time of the group's next operation, and time at which this rank begins it, in picoseconds.
    next: Option<(u64, u64)>,
    /// Number of unfinished operations, and whether the next operation waits for one of them to end.
    open: usize,
    waits: bool,
}

impl Own {
    fn advance(&mut self, timing: &Timing) {
        let before = self.next.map_or(0, |next| next.1);
        let begin = |own: Begin| (own.at, own.at.saturating_add(own.late(timing, self.member)).max(before));
        self.next = self.clock.next(timing).map(begin);
    }
}

/// State of a rank.
#[derive(Debug)]
struct TimedRank {
    program: Arc<TimedGroups>,
    rank: u32,
    groups: Vec<Own>,
    /// Times at which the rank begins the next operation of each group, in picoseconds, with the group's index in
    /// `groups`.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Unfinished operations: request, index in `groups`, and begin for the group in picoseconds.
    open: VecDeque<(Request, u32, u64)>,
    requests: Request,
    /// Intervals that ended since the last batch. The run collects them after each batch, so that a long run needs
    /// no more memory than a short one.
    intervals: Vec<Interval>,
}

impl TimedRank {
    fn new(program: Arc<TimedGroups>, rank: u32) -> Self {
        let (mut groups, mut due) = (Vec::new(), BinaryHeap::new());
        if let Some(timing) = &program.timing {
            for (place, &number) in (0..).zip(&program.set.of_rank[rank as usize]) {
                let group = &program.set.groups[number as usize];
                let member = (group.members.member(rank).unwrap_or(0), group.members.len());
                let clock = Clock::new(timing, group);
                let mut own = Own { number, member, clock, next: None, open: 0, waits: false };
                own.advance(timing);
                due.extend(own.next.map(|next| Reverse((next.1, place))));
                groups.push(own);
            }
        }
        Self { program, rank, groups, due, open: VecDeque::new(), requests: 0, intervals: Vec::new() }
    }

    /// Starts the next operation of a group, given by its index in `groups`.
    fn start(&mut self, place: u32) -> Option<ScriptCall> {
        let timing = self.program.timing.as_ref()?;
        let own = &mut self.groups[place as usize];
        let (at, begins) = own.next?;
        own.advance(timing);
        own.open += 1;
        own.waits = own.open >= timing.most;
        if !own.waits {
            self.due.extend(own.next.map(|next| Reverse((next.1, place))));
        }
        if timing.late.is_some() {
            self.intervals.push(Interval { key: own.number | BEGINS, start: at, end: begins });
        }
        self.open.push_back((self.requests, place, at));
        self.requests += 1;
        Some(ScriptCall::StartCollective(self.program.set.call_of(own.number)))
    }
}

impl Script for TimedRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        match self.due.peek() {
            Some(&Reverse((at, _))) if at > seen.now => ScriptCall::Do(Action::Calc { time: at - seen.now }),
            Some(&Reverse((_, place))) => {
                self.due.pop();
                self.start(place).unwrap_or(ScriptCall::End)
            }
            // Every group waits for an unfinished operation, or begins no more.
            None => self.open.front().map_or(ScriptCall::End, |first| ScriptCall::Wait(first.0)),
        }
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        self.program.set.communicator(number, self.rank)
    }

    fn notes_ends(&self) -> bool {
        true
    }

    fn ended(&mut self, request: Request, at: u64) -> bool {
        let Some(found) = self.open.iter().position(|own| own.0 == request) else { return false };
        let Some((_, place, start)) = self.open.remove(found) else { return false };
        let own = &mut self.groups[place as usize];
        self.intervals.push(Interval { key: own.number, start, end: at });
        own.open -= 1;
        if std::mem::take(&mut own.waits) {
            self.due.extend(own.next.map(|next| Reverse((next.1, place))));
        }
        true
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    fn forget_intervals(&mut self) {
        self.intervals.clear();
    }
}
