//! Motifs: the communication patterns of parallel applications, as programs. The selection follows Ember (Hammond et
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
mod nccl;
mod planned;
mod program_context;
mod ranks;
mod recorded;
mod sweep;
mod training;

use std::fmt::Debug;
use std::sync::Arc;

use mpi::program::{Action, Messages, Programs, RankProgram, Script, ScriptCall, ScriptedRank, Seen};

pub use catalogue::{CalledBackSpec, CallsSpec, GoalSpec, ProgramSpec};
pub use chakra::ChakraSpec;
pub use collective::CollectiveSpec;
pub(crate) use collective::key_of;
pub use fft::FftSpec;
pub use halo::HaloSpec;
pub use incast::IncastSpec;
pub use lammps::spec::{LammpsDeck, LammpsSpec, LammpsVersion};
pub use limits::{check_byte_times, check_room};
pub use nccl::NcclSpec;
pub use program_context::ProgramContext;
pub use recorded::TraceSpec;
pub use sweep::SweepSpec;
pub use training::spec::TrainingSpec;

/// Calls of ranks in rounds, independent of what the ranks receive.
trait Motif: Debug + Send + Sync {
    /// Returns the number of rounds.
    fn rounds(&self) -> u32;
    /// Whether all rounds are identical.
    fn repeats(&self) -> bool;
    /// Appends the calls of a rank in a round.
    fn round(&self, rank: u32, round: u32, calls: &mut Vec<ScriptCall>);
}

/// Program of `ranks` ranks that follow a motif.
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
                if let ScriptCall::Do(Action::Send { to, bytes, .. }) = call {
                    visit(Messages { from: rank, to, bytes, count });
                }
            }
        }
    }
}

/// Rank that follows a motif.
#[derive(Debug)]
struct MotifRank {
    motif: Arc<dyn Motif>,
    rank: u32,
    /// Rounds begun.
    rounds: u32,
    /// Remaining calls of the current round, in reverse order.
    calls: Vec<ScriptCall>,
}

impl Script for MotifRank {
    fn next(&mut self, _seen: &Seen) -> ScriptCall {
        while self.calls.is_empty() {
            if self.rounds == self.motif.rounds() {
                return ScriptCall::End;
            }
            self.motif.round(self.rank, self.rounds, &mut self.calls);
            self.calls.reverse();
            self.rounds += 1;
        }
        self.calls.pop().unwrap_or(ScriptCall::End)
    }
}

/// Returns a nonblocking send.
fn send(to: u32, bytes: u64, tag: u32) -> ScriptCall {
    ScriptCall::Do(Action::send(to, bytes, tag))
}

/// Returns a nonblocking receive.
fn recv(from: u32, bytes: u64, tag: u32) -> ScriptCall {
    ScriptCall::Do(Action::recv(Some(from), bytes, Some(tag)))
}

/// Appends a calculation, if its duration is not 0.
fn calc(time: u64, calls: &mut Vec<ScriptCall>) {
    if time > 0 {
        calls.push(ScriptCall::Do(Action::Calc { time }));
    }
}
