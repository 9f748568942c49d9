//! Molecular dynamics as LAMMPS has it (Plimpton, "Fast parallel algorithms for short-range molecular dynamics", J. Comput. Phys. 117, 1995):
//! its spatial decomposition, and the messages of a step.
//!
//! A rank has the atoms in its part of a periodic box. Forces and neighbour lists reach `cutoff` + `skin`, so that it needs the atoms of
//! others in a layer of that thickness around its part (ghosts). They come in six exchanges, down and up in each dimension, one after the
//! other; what has come in one goes on in the next, so that corners take no messages of their own. A step is
//!
//! 1. positions of ghosts by these exchanges; or, where lists are rebuilt, atoms to the ranks that have them now (numbers, then atoms), and
//!    ghosts anew (numbers, then atoms); before that, if the deck checks, a sum over all ranks;
//! 2. the calculation;
//! 3. forces on ghosts back, by the same exchanges in the opposite order and direction;
//! 4. where temperature and pressure are wanted, their sums over all ranks.
//!
//! Left out: that atoms are not evenly spread, long-range forces, output, and the setting up before the first step. A rank that is its own
//! neighbour sends nothing.

mod plan;
mod rank;
pub(super) mod spec;

use std::sync::Arc;

use super::site::ProgramSite;
use crate::PatternError;
use crate::collectives::{Fastest, ProgramGroup};
use crate::program::{GroupCall, Measure, Messages, Programs, RankProgram, ScriptedRank};
use plan::Plan;
use rank::LammpsRank;
use spec::LammpsSpec;

/// The run of so many ranks.
#[derive(Debug)]
pub(super) struct Lammps {
    plan: Arc<Plan>,
    /// Messages, and what ranks post to the switches, of all steps.
    messages: u64,
    in_switch: u64,
}

impl Lammps {
    /// The run of ranks on a site.
    ///
    /// # Errors
    /// Keys that do not go together, a grid that is none, parts that are too small, and messages or times that are too large.
    pub fn new(spec: &LammpsSpec, site: &ProgramSite<'_>) -> Result<Self, PatternError> {
        spec.check()?;
        let mut run = Self { plan: Arc::new(Plan::new(spec, site)?), messages: 0, in_switch: 0 };
        let mut messages = 0_u64;
        run.each_message(&mut |of_shape| messages = messages.saturating_add(of_shape.count));
        let groups = run.plan.in_switch();
        let mut posted = 0_u64;
        run.plan.each_group_call(&mut |place, _, often| {
            posted = posted.saturating_add(often.saturating_mul(groups[place].ranks.len() as u64));
        });
        (run.messages, run.in_switch) = (messages, posted);
        Ok(run)
    }
}

impl Programs for Lammps {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.plan.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(ScriptedRank::new(LammpsRank::new(Arc::clone(&self.plan), rank), rank, self.plan.ranks))
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

    fn measures(&self, _fastest: &Fastest) -> Vec<Measure> {
        self.plan.kinds.iter().map(|kind| Measure { name: kind.name().to_owned(), bound: None }).collect()
    }
}
