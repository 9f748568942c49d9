//! Programs that are written out beforehand as the sequence of calls of each rank.
//!
//! A [`crate::schedule::Schedule`] is a graph of operations. Calls are a sequence instead, and so can wait for any
//! request, test for completion and post bursts. They run like any other [`Script`].

mod backend;
mod in_switch;
mod line;
mod schedule;
mod tags;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use units::{Bytes, Time};

use super::posts::Posts;
use super::running::Running;
use super::{
    Action, Burst, Communicator, Context, GroupCall, Messages, Op, ProgramError, ProgramGroup, Programs, RankProgram,
    Request, Script, ScriptCall, ScriptedRank, Seen,
};
use crate::collectives::{Collective, CollectiveError};
use crate::communicator::{Group, NodeGroups};
use crate::schedule::{LONGEST_CALC, ScheduleError};

pub use line::ANY_SIZE;
pub use schedule::NoSchedule;

/// Largest number of ranks.
pub const MOST_RANKS: u32 = 1 << 24;

/// Largest number of calls of all ranks together.
pub const MOST_CALLS: usize = 1 << 27;

/// Largest message in bytes.
const LARGEST: u64 = 1 << 40;

/// Largest number of operations of a program that is checked before it runs. The check takes memory for each.
const MOST_CHECKED: u64 = 1 << 20;

/// Reason why a call of a rank is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The rank does not exist.
    #[error("there is no rank {rank}: 0 to {last} are allowed")]
    NoSuchRank {
        /// Rank.
        rank: u32,
        /// Last rank.
        last: u32,
    },
    /// The peer of a message is not a member of the message's communicator.
    #[error("rank {rank} is no member of communicator {communicator}")]
    NoMember {
        /// Rank.
        rank: u32,
        /// Communicator number, from 1.
        communicator: u32,
    },
    /// A rank occurs twice in the list of a communicator's members.
    #[error("rank {rank} is there twice; each member of a communicator is listed once")]
    MemberTwice {
        /// Rank.
        rank: u32,
    },
    /// The message is too large.
    #[error("{0} is too large: a message has at most 1 TiB")]
    TooLarge(Bytes),
    /// The calculation is too long.
    #[error("{0} is too long: a calculation takes at most 1000 s")]
    TooLong(Time),
    /// The request has not been made before.
    #[error("it waits for request {request}, and has made {made} before")]
    NoSuchRequest {
        /// Request number, from 0.
        request: Request,
        /// Requests made so far.
        made: Request,
    },
    /// The burst is empty, or its action is neither a send nor a receive.
    #[error("a burst is of at least one send or receive")]
    EmptyBurst,
    /// The collective operation is invalid.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    /// The number of calls exceeds the limit.
    #[error("there are more than {MOST_CALLS} calls")]
    TooMany,
}

/// Calls of all ranks, in flat arrays: first those of rank 0, then those of rank 1, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Index of the first call of each rank, and the end of the last rank's calls.
    first: Vec<usize>,
    steps: Vec<ScriptCall>,
    /// Ranks of each communicator, by communicator number from 1.
    groups: Vec<Group>,
    /// Nodes of the members of each communicator, by communicator number from 0. Only for communicators with in-switch
    /// operations. Empty if nodes are unknown.
    nodes: Vec<Option<Arc<NodeGroups>>>,
    /// Number of operations of all ranks that communicate.
    operations: u64,
    /// Omissions and assumptions of the reader of the file, one sentence each.
    notes: Vec<String>,
}

/// Builder of [`Calls`].
#[derive(Clone, Debug)]
pub struct CallsBuilder {
    steps: Vec<Vec<ScriptCall>>,
    /// Number of requests made by each rank.
    made: Vec<Request>,
    calls: usize,
    groups: Vec<Group>,
}

impl CallsBuilder {
    /// Creates a builder for `ranks` ranks without calls.
    pub fn new(ranks: u32) -> Self {
        let count = ranks as usize;
        Self { steps: vec![Vec::new(); count], made: vec![0; count], calls: 0, groups: Vec::new() }
    }

    /// Adds a communicator of some ranks. Returns its number: communicators are numbered from 1 in order.
    ///
    /// # Errors
    /// A rank that does not exist.
    pub fn communicator(&mut self, ranks: Vec<u32>) -> Result<u32, CallError> {
        let count = self.steps.len() as u32;
        ranks.iter().try_for_each(|&rank| check_rank(rank, count))?;
        let mut seen = BTreeSet::new();
        if let Some(&rank) = ranks.iter().find(|&&rank| !seen.insert(rank)) {
            return Err(CallError::MemberTwice { rank });
        }
        self.groups.push(Group::list(ranks));
        Ok(self.groups.len() as u32)
    }

    /// Appends the next call of a rank. Ignores `ScriptCall::End`, which need not be written.
    ///
    /// # Errors
    /// A call that is refused.
    pub fn push(&mut self, rank: u32, step: ScriptCall) -> Result<(), CallError> {
        let ranks = self.steps.len() as u32;
        check_rank(rank, ranks)?;
        let made = &mut self.made[rank as usize];
        match step {
            // In-switch calls and steps on the interface are parts of a collective operation. They are not calls.
            ScriptCall::Do(Action::Group(_) | Action::OnNic(_) | Action::Kernel { .. }) => {
                return Err(CallError::EmptyBurst);
            }
            ScriptCall::Do(action) => {
                check_action(action, ranks)?;
                check_context(action, &self.groups, (rank, ranks))?;
                *made += u32::from(action.is_message());
            }
            ScriptCall::Burst(Burst { first, count, .. }) => {
                if count == 0 || !first.is_message() {
                    return Err(CallError::EmptyBurst);
                }
                check_action(first, ranks)?;
                check_context(first, &self.groups, (rank, ranks))?;
                *made += 1;
            }
            ScriptCall::Collective(call) | ScriptCall::StartCollective(call) => {
                let communicator = communicator_of(&self.groups, call.communicator, (rank, ranks));
                let communicator =
                    communicator.ok_or(CollectiveError::Communicator { communicator: call.communicator })?;
                if call.bytes > LARGEST {
                    return Err(CallError::TooLarge(Bytes(call.bytes)));
                }
                // Islands are known with the nodes ([`Calls::check_islands`]).
                call.check_values(&communicator)?;
                *made += 1;
            }
            ScriptCall::StartCalc { time, .. } => {
                check_action(Action::Calc { time }, ranks)?;
                *made += 1;
            }
            ScriptCall::Wait(request) | ScriptCall::After(request) if request >= *made => {
                return Err(CallError::NoSuchRequest { request, made: *made });
            }
            ScriptCall::End | ScriptCall::Fail => return Ok(()),
            _ => {}
        }
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(CallError::TooMany);
        }
        self.steps[rank as usize].push(step);
        Ok(())
    }

    /// Returns the program.
    pub fn build(self) -> Calls {
        let mut first = vec![0];
        let mut steps = Vec::with_capacity(self.calls);
        for own in self.steps {
            steps.extend(own);
            first.push(steps.len());
        }
        let mut calls =
            Calls { first, steps, groups: self.groups, nodes: Vec::new(), operations: 0, notes: Vec::new() };
        calls.operations = calls.count();
        calls
    }
}

/// Returns the communicator of a number as seen by `rank` of `ranks`. `None` if the rank is not a member.
fn communicator_of(groups: &[Group], number: u32, (rank, ranks): (u32, u32)) -> Option<Communicator> {
    if number == 0 {
        return Some(Communicator::world(rank, ranks));
    }
    let group = groups.get(number as usize - 1)?;
    Communicator::new(Context::new(number)?, group.clone(), rank)
}

fn check_rank(rank: u32, ranks: u32) -> Result<(), CallError> {
    if rank < ranks { Ok(()) } else { Err(CallError::NoSuchRank { rank, last: ranks.saturating_sub(1) }) }
}

/// Refuses messages in a communicator that does not include both the rank and its peer.
fn check_context(action: Action, groups: &[Group], (rank, ranks): (u32, u32)) -> Result<(), CallError> {
    let Some(context) = action.context().filter(|&context| context != Context::WORLD) else { return Ok(()) };
    let communicator = context.number();
    let is_member = |rank: u32| communicator_of(groups, communicator, (rank, ranks)).is_some();
    let other = match action {
        Action::Send { to, .. } => Some(to),
        Action::Recv { from, .. } | Action::Probe { from, .. } => from,
        _ => None,
    };
    if !is_member(rank) {
        return Err(CollectiveError::Communicator { communicator }.into());
    }
    match other.filter(|&other| !is_member(other)) {
        Some(other) => Err(CallError::NoMember { rank: other, communicator }),
        None => Ok(()),
    }
}

fn check_action(action: Action, ranks: u32) -> Result<(), CallError> {
    match action {
        Action::Calc { time } if time > LONGEST_CALC => Err(CallError::TooLong(Time(time))),
        Action::Send { bytes, .. } if bytes > LARGEST => Err(CallError::TooLarge(Bytes(bytes))),
        Action::Recv { bytes, .. } if bytes > LARGEST && bytes != ANY_SIZE => Err(CallError::TooLarge(Bytes(bytes))),
        Action::Send { to: rank, .. }
        | Action::Recv { from: Some(rank), .. }
        | Action::Probe { from: Some(rank), .. } => check_rank(rank, ranks),
        Action::Calc { .. }
        | Action::Kernel { .. }
        | Action::Poll
        | Action::Group(_)
        | Action::OnNic(_)
        | Action::Recv { from: None, .. }
        | Action::Probe { from: None, .. } => Ok(()),
    }
}

impl Calls {
    /// Adds notes of the reader of the file.
    #[must_use]
    pub fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Returns the calls of a rank.
    pub fn of(&self, rank: u32) -> &[ScriptCall] {
        &self.steps[self.first[rank as usize]..self.first[rank as usize + 1]]
    }

    /// Declares the node of each rank. Ranks of one node then combine in-switch contributions within the node. By
    /// default, each rank has a separate node.
    #[must_use]
    pub fn on_nodes(mut self, node_of: &[u32]) -> Self {
        let used = self.in_switch();
        if used.is_empty() {
            return self;
        }
        self.nodes = vec![None; self.groups.len() + 1];
        for (number, rank) in used {
            let own = communicator_of(&self.groups, number, (rank, self.ranks()));
            self.nodes[number as usize] = own.map(|own| Arc::new(NodeGroups::new(own.group(), node_of)));
        }
        self.operations = self.count();
        self
    }

    /// Returns the communicators with in-switch operations in ascending order, each with the first rank that calls one.
    fn in_switch(&self) -> BTreeMap<u32, u32> {
        self.used_by(&|call| call.algorithm.is_of_switches())
    }

    /// The communicators that have some collective operations, in ascending order, and the first rank that calls one.
    fn used_by(&self, is_meant: &dyn Fn(&Collective) -> bool) -> BTreeMap<u32, u32> {
        let mut used = BTreeMap::new();
        for rank in 0..self.ranks() {
            for call in self.of(rank).iter().filter_map(collective_of).filter(|call| is_meant(call)) {
                used.entry(call.communicator).or_insert(rank);
            }
        }
        used
    }

    /// Returns a communicator as seen by `rank`. Number 0 is the communicator of all ranks. `None` if the rank is not a
    /// member.
    pub fn communicator(&self, number: u32, rank: u32) -> Option<Communicator> {
        let own = communicator_of(&self.groups, number, (rank, self.ranks()))?;
        match self.nodes.get(number as usize) {
            Some(Some(nodes)) => Some(own.on_nodes(Arc::clone(nodes))),
            _ => Some(own),
        }
    }

    /// Visits each operation of a rank with its number of repetitions. Includes the operations of collective
    /// operations.
    fn each_operation(&self, rank: u32, visit: &mut dyn FnMut(Action, u64)) {
        let ranks = self.ranks();
        for step in self.of(rank) {
            match *step {
                ScriptCall::Collective(call) | ScriptCall::StartCollective(call) => {
                    let mut each =
                        |burst: Burst| each_action(&ScriptCall::Burst(burst), ranks, &mut |action| visit(action, 1));
                    // Invalid calls have been refused already.
                    let _ = self.each_round(call, rank, 0, &mut |bursts| bursts.iter().for_each(|&burst| each(burst)));
                }
                ScriptCall::StartCalc { time, .. } => visit(Action::Calc { time }, 1),
                // A test enters the progress engine.
                ScriptCall::Test => visit(Action::Poll, 1),
                ScriptCall::Burst(burst) if burst.stride == 0 => visit(burst.first, u64::from(burst.count)),
                _ => each_action(step, ranks, &mut |action| visit(action, 1)),
            }
        }
    }

    /// Visits each round of a collective operation of a rank: the bursts that start together once the previous round
    /// has ended.
    fn each_round(
        &self,
        call: Collective,
        rank: u32,
        tag: u32,
        visit: &mut dyn FnMut(&[Burst]),
    ) -> Result<(), ProgramError> {
        let unknown = CollectiveError::Communicator { communicator: call.communicator };
        let communicator = self.communicator(call.communicator, rank).ok_or(unknown)?;
        let mut running = Running::new(call, communicator, tag)?;
        let (mut ops, mut round) = (Vec::new(), Vec::new());
        loop {
            running.go_on(&mut Posts::new(0, self.ranks(), &mut ops));
            if ops.is_empty() {
                return Ok(());
            }
            round.clear();
            round.extend(ops.drain(..).map(|Op { action: first, count, stride, .. }| Burst { first, count, stride }));
            visit(&round);
        }
    }

    /// Returns the number of operations of all ranks that communicate.
    fn count(&self) -> u64 {
        let mut operations = 0_u64;
        (0..self.ranks()).for_each(|rank| {
            self.each_operation(rank, &mut |action, count| {
                operations = operations.saturating_add(if action.communicates() { count } else { 0 });
            });
        });
        operations
    }

    /// Checks that every message has a receive and that every operation ends. Messages of more than `eager_limit` bytes
    /// wait for their receivers (rendezvous); with `None`, no message does. Programs whose progress is unknown before
    /// they run, and very large programs, pass unchecked.
    ///
    /// # Errors
    /// A message without a receive or the reverse, or an operation that never ends.
    pub fn check(&self, eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        if self.operations().saturating_add(self.steps.len() as u64) > MOST_CHECKED {
            return Ok(());
        }
        self.check_shared()?;
        match self.schedule_for_check() {
            Ok(schedule) => schedule.check_progress(eager_limit),
            Err(NoSchedule::Wrong(error)) => Err(error),
            // Deadlocks that cannot be predicted show when the program runs.
            Err(_) => Ok(()),
        }
    }
}

/// Returns the collective operation of a call, if it is one.
fn collective_of(step: &ScriptCall) -> Option<&Collective> {
    match step {
        ScriptCall::Collective(call) | ScriptCall::StartCollective(call) => Some(call),
        _ => None,
    }
}

/// Visits each send, receive or other action of a call. Expands bursts, in a program of `ranks` ranks.
fn each_action(step: &ScriptCall, ranks: u32, visit: &mut dyn FnMut(Action)) {
    match *step {
        ScriptCall::Do(action) => visit(action),
        ScriptCall::Burst(burst) => (0..burst.count).for_each(|number| visit(burst.action(number, ranks))),
        _ => {}
    }
}

impl Programs for Calls {
    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn may_probe(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, ScriptCall::Do(Action::Probe { .. })))
    }

    fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let (ranks, places) = (self.ranks(), self.first[rank as usize]..self.first[rank as usize + 1]);
        Box::new(ScriptedRank::new(CallingRank { calls: self, rank, places }, rank, ranks))
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        self.each_operation(from, &mut |action, count| {
            if let Action::Send { to, bytes, .. } = action {
                visit(Messages { from, to, bytes, count });
            }
        });
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.each_served(&mut |_, _| {})
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.each_served(&mut |place, call| visit(place, call, 1));
    }

    fn check_progress(&self, eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        self.check(eager_limit)
    }
}

/// Rank whose calls are written out.
#[derive(Debug)]
struct CallingRank {
    calls: Arc<Calls>,
    rank: u32,
    /// Range of the calls that it has not made yet.
    places: std::ops::Range<usize>,
}

impl Script for CallingRank {
    fn next(&mut self, _seen: &Seen) -> ScriptCall {
        self.places.next().map_or(ScriptCall::End, |place| self.calls.steps[place])
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        self.calls.communicator(number, self.rank)
    }
}
