//! Programs made of a plan: what all ranks share, from which each rank's calls follow.

use std::fmt::Debug;
use std::sync::Arc;

use crate::collectives::{Fastest, ProgramGroup};
use crate::program::{GroupCall, Measure, Messages, Programs, RankProgram, Script, ScriptedRank};

/// What all ranks share, and know of each other's calls beforehand. No rank probes for messages.
pub(super) trait Plan: Debug + Send + Sync + 'static {
    /// The number of ranks.
    fn ranks(&self) -> u32;
    /// Visits the messages that a rank sends.
    fn each_message(&self, rank: u32, visit: &mut dyn FnMut(Messages));
    /// The groups of ranks that carry calls out in the switches.
    fn in_switch(&self) -> Vec<ProgramGroup>;
    /// Visits what these groups call, with how often all members do.
    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64));
    /// What ranks measure, on a machine of which nothing is faster than this.
    fn measures(&self, fastest: &Fastest) -> Vec<Measure>;

    /// What ranks post to the switches, of all ranks: a call counts once for each member.
    fn in_switch_operations(&self) -> u64 {
        let members: Vec<u64> = self.in_switch().iter().map(|group| group.ranks.len() as u64).collect();
        let mut posted = 0_u64;
        self.each_group_call(&mut |place, _, often| {
            posted = posted.saturating_add(often.saturating_mul(members[place]));
        });
        posted
    }
}

/// The program of ranks that follow a plan.
#[derive(Debug)]
pub(super) struct Planned<P, S> {
    plan: Arc<P>,
    /// A rank, before it begins.
    script: fn(Arc<P>, u32) -> S,
    /// Messages of all ranks, and what they post to the switches.
    messages: u64,
    in_switch: u64,
}

impl<P: Plan, S: Script> Planned<P, S> {
    /// The program of a plan, given what a rank of it calls.
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
