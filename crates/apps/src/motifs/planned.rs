//! Programs made of a plan, which all ranks share and which determines the calls of each.

use std::fmt::Debug;
use std::sync::Arc;

use mpi::collectives::{Fastest, ProgramGroup};
use mpi::program::{GroupCall, Measure, Messages, Programs, RankProgram, Script, ScriptedRank};

/// Plan that all ranks share. It knows the calls of each rank beforehand. No rank probes for messages.
pub(super) trait Plan: Debug + Send + Sync + 'static {
    /// Returns the number of ranks.
    fn ranks(&self) -> u32;
    /// Visits the messages that a rank sends.
    fn each_message(&self, rank: u32, visit: &mut dyn FnMut(Messages));
    /// Returns the groups of ranks with in-switch calls.
    fn in_switch(&self) -> Vec<ProgramGroup>;
    /// Visits the in-switch calls: the index of the group, the call, and how often all members make it.
    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64));
    /// Returns the measured quantities. Their bounds hold on any machine that is no faster than `fastest`.
    fn measures(&self, fastest: &Fastest) -> Vec<Measure>;

    /// Returns the number of in-switch calls of all ranks. An operation counts once for each member.
    fn in_switch_operations(&self) -> u64 {
        let members: Vec<u64> = self.in_switch().iter().map(|group| group.ranks.len() as u64).collect();
        let mut posted = 0_u64;
        self.each_group_call(&mut |place, _, often| {
            posted = posted.saturating_add(often.saturating_mul(members[place]));
        });
        posted
    }
}

/// Program of ranks that follow a plan.
#[derive(Debug)]
pub(super) struct Planned<P, S> {
    plan: Arc<P>,
    /// Function that creates the script of a rank.
    script: fn(Arc<P>, u32) -> S,
    /// Messages of all ranks, and in-switch calls of all ranks.
    messages: u64,
    in_switch: u64,
}

impl<P: Plan, S: Script> Planned<P, S> {
    /// Creates the program of a plan. `script` creates the script of a rank.
    pub fn new(plan: P, script: fn(Arc<P>, u32) -> S) -> Self {
        let mut messages = 0_u64;
        let mut count = |of_shape: Messages| messages = messages.saturating_add(of_shape.count);
        (0..plan.ranks()).for_each(|rank| plan.each_message(rank, &mut count));
        Self { in_switch: plan.in_switch_operations(), plan: Arc::new(plan), script, messages }
    }
}

impl<P: Plan, S: Script + 'static> Programs for Planned<P, S> {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.plan.ranks()
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(ScriptedRank::new((self.script)(Arc::clone(&self.plan), rank), rank, self.plan.ranks()))
    }

    fn operations(&self) -> u64 {
        self.messages.saturating_mul(2).saturating_add(self.in_switch)
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        self.plan.each_message(rank, visit);
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.plan.in_switch()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.plan.each_group_call(visit);
    }

    fn measures(&self, fastest: &Fastest) -> Vec<Measure> {
        self.plan.measures(fastest)
    }
}
