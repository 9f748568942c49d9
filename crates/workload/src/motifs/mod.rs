//! Motifs: the patterns of communication that parallel applications are made of, as programs. Their choice follows Ember (Hammond et
//! al., "Ember: reference communication patterns for exascale", Sandia National Laboratories).

mod catalogue;
mod chakra;
mod collective;
mod fft;
mod grid;
mod halo;
mod incast;
mod lammps;
mod limits;
mod planned;
mod ranks;
mod recorded;
mod site;
mod sweep;
mod training;

use std::fmt::Debug;
use std::sync::Arc;

use crate::program::{Action, Messages, Programs, RankProgram, Script, ScriptedRank, Seen, Step};

pub use catalogue::{CalledBackSpec, CallsSpec, GoalSpec, ProgramSpec};
pub use chakra::ChakraSpec;
pub use collective::CollectiveSpec;
pub use fft::FftSpec;
pub use halo::HaloSpec;
pub use incast::IncastSpec;
pub use lammps::spec::{LammpsDeck, LammpsSpec, LammpsVersion};
pub use limits::check_room;
pub use recorded::TraceSpec;
pub use site::ProgramSite;
pub use sweep::SweepSpec;
pub use training::spec::TrainingSpec;

/// What ranks do, round after round, whatever they see.
trait Motif: Debug + Send + Sync {
    /// The number of rounds.
    fn rounds(&self) -> u32;
    /// Whether all rounds are the same.
    fn repeats(&self) -> bool;
    /// Adds what a rank calls in a round.
    fn round(&self, rank: u32, round: u32, calls: &mut Vec<Step>);
}

/// The program of so many ranks that follow a motif.
#[derive(Debug)]
struct MotifPrograms {
    motif: Arc<dyn Motif>,
    ranks: u32,
}

impl Programs for MotifPrograms {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let script = MotifRank { motif: Arc::clone(&self.motif), rank, rounds: 0, calls: Vec::new() };
        Box::new(ScriptedRank::new(script, rank, self.ranks))
    }

    fn operations(&self) -> u64 {
        let mut messages = 0;
        self.each_message(&mut |of_shape| messages += of_shape.count);
        2 * messages
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        let (rounds, count) = match self.motif.repeats() {
            true => (self.motif.rounds().min(1), u64::from(self.motif.rounds())),
            false => (self.motif.rounds(), 1),
        };
        let mut calls = Vec::new();
        for round in 0..rounds {
            self.motif.round(rank, round, &mut calls);
            for call in calls.drain(..) {
                if let Step::Do(Action::Send { to, bytes, .. }) = call {
                    visit(Messages { from: rank, to, bytes, count });
                }
            }
        }
    }
}

/// A rank that follows a motif.
#[derive(Debug)]
struct MotifRank {
    motif: Arc<dyn Motif>,
    rank: u32,
    /// Rounds that have begun.
    rounds: u32,
    /// The rest of the present one, the next call last.
    calls: Vec<Step>,
}

impl Script for MotifRank {
    fn next(&mut self, _seen: &Seen) -> Step {
        while self.calls.is_empty() {
            if self.rounds == self.motif.rounds() {
                return Step::End;
            }
            self.motif.round(self.rank, self.rounds, &mut self.calls);
            self.calls.reverse();
            self.rounds += 1;
        }
        self.calls.pop().unwrap_or(Step::End)
    }
}

/// A send that does not block.
fn send(to: u32, bytes: u64, tag: u32) -> Step {
    Step::Do(Action::send(to, bytes, tag))
}

/// A receive that does not block.
fn recv(from: u32, bytes: u64, tag: u32) -> Step {
    Step::Do(Action::recv(Some(from), bytes, Some(tag)))
}

/// Adds a calculation, if it takes any time.
fn calc(time: u64, calls: &mut Vec<Step>) {
    if time > 0 {
        calls.push(Step::Do(Action::Calc { time }));
    }
}
