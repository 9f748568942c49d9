//! Traces: the calls of the ranks of a real program, recorded during its execution.
//!
//! The recorder writes a file for each rank (`part`). [`join()`] joins them to one file, of which a run reads a
//! window per rank at a time. `docs/concepts/traces.md` describes both formats.

mod calls;
mod error;
mod in_switch;
mod index;
mod join;
mod limits;
mod members;
mod part;
mod rank;
mod record;
mod replay;
mod source;
mod steps;
#[cfg(test)]
mod tests;
mod totals;

use std::path::Path;
use std::sync::{Arc, Mutex};

use in_switch::{Called, InSwitch};
use index::{Index, open};
use mpi::program::{
    Action, Communicator, GroupCall, Messages, ProgramGroup, Programs, RankProgram, Script, ScriptCall, ScriptedRank,
    Seen,
};
use rank::RankReader;
use source::{FilePart, Reader, SharedFile};
use steps::Steps;
use totals::Totals;

use mpi::communicator::Interconnect;

pub use calls::NoCalls;
pub use error::TraceError;
pub use index::RankSummary;
pub use join::{Joined, join};
pub use limits::MOST_RANKS;
pub use replay::{LARGEST_SCALE, Replay};

/// Total bytes of the windows of all ranks, if that leaves each at least `SMALLEST_WINDOW`.
const ALL_WINDOWS: usize = 64 << 20;
const SMALLEST_WINDOW: usize = 1 << 9;
const LARGEST_WINDOW: usize = 1 << 16;

/// Trace, which is a program: its calls are read while it runs.
#[derive(Debug)]
pub struct Trace {
    file: SharedFile,
    index: Arc<Index>,
    replay: Replay,
    /// Number of operations of all ranks, and whether they include probes. Known since the trace was opened.
    operations: u64,
    probes: bool,
    /// Whether there are collective operations with parts of different sizes. Their messages have separate contexts.
    exchanges: bool,
    /// In-switch operations.
    in_switch: Arc<InSwitch>,
}

impl Trace {
    /// Opens a trace and reads it once as a whole, which checks its content.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a valid trace.
    pub fn open(path: &Path, replay: Replay) -> Result<Self, TraceError> {
        let (file, index) = open(path)?;
        let (file, index) = (Arc::new(Mutex::new(file)), Arc::new(index));
        let in_switch = Arc::default();
        let mut trace = Self { file, index, replay, operations: 0, probes: false, exchanges: false, in_switch };
        let mut in_switch = InSwitch::default();
        for rank in 0..trace.ranks() {
            let (mut totals, mut called) = (Totals::default(), Called::default());
            let mut steps = trace.steps(rank);
            while let Some(step) = steps.next_step()? {
                trace.probes |= matches!(step, ScriptCall::Do(Action::Probe { .. }));
                totals.add(&step);
                called.add(&step);
            }
            trace.exchanges |= steps.has_exchanges();
            in_switch.add(rank, &called, &totals)?;
            trace.operations += trace.count(rank, &totals);
        }
        in_switch.check(&trace.index)?;
        trace.in_switch = Arc::new(in_switch);
        Ok(trace)
    }

    /// Declares the node of each rank. Ranks of one node then combine in-switch contributions within the node. By
    /// default, each rank has a separate node. `interconnect` joins the nodes.
    #[must_use]
    pub fn on_nodes(mut self, node_of: &[u32], interconnect: &Interconnect) -> Self {
        let Some(in_switch) = Arc::get_mut(&mut self.in_switch).filter(|own| !own.is_empty()) else { return self };
        in_switch.place(&self.index, node_of, interconnect);
        self.operations = (0..self.ranks()).map(|rank| self.count(rank, &self.totals(rank))).sum();
        self
    }

    /// Returns the totals of a rank's calls. If the file has changed meanwhile, they end there; the run then fails at
    /// that point.
    fn totals(&self, rank: u32) -> Totals {
        let (mut totals, mut steps) = (Totals::default(), self.steps(rank));
        while let Ok(Some(step)) = steps.next_step() {
            totals.add(&step);
        }
        totals
    }

    /// Returns the number of operations of a rank, from its totals.
    fn count(&self, rank: u32, totals: &Totals) -> u64 {
        let mut messages = 0_u64;
        let known = |number| self.in_switch.communicator(&self.index, number, rank);
        totals.collectives(known, rank, &mut |own| messages = messages.saturating_add(own.count));
        totals.operations.saturating_add(messages.saturating_mul(2))
    }

    /// Returns the facts about a rank besides its calls.
    pub fn summary(&self, rank: u32) -> &RankSummary {
        &self.index.ranks[rank as usize]
    }

    /// Returns the names of calls that were made and not recorded, each with its number of calls.
    pub fn unsupported(&self) -> &[(String, u64)] {
        &self.index.unsupported
    }

    /// Returns the calls of a rank, from its start.
    fn steps(&self, rank: u32) -> Steps {
        let window = (ALL_WINDOWS / self.index.ranks.len()).clamp(SMALLEST_WINDOW, LARGEST_WINDOW);
        let own = self.summary(rank);
        let part = FilePart::new(Arc::clone(&self.file), (own.begin, own.bytes));
        let window = usize::try_from(own.bytes).map_or(window, |bytes| window.min(bytes));
        Steps::new(RankReader::new(Reader::new(part, window), Arc::clone(&self.index), rank), self.replay)
    }
}

impl Programs for Trace {
    fn ranks(&self) -> u32 {
        self.index.ranks.len() as u32
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let (steps, ranks) = (self.steps(rank), self.ranks());
        let (index, in_switch) = (Arc::clone(&self.index), Arc::clone(&self.in_switch));
        Box::new(ScriptedRank::new(RecordedRank { index, in_switch, steps, rank }, rank, ranks))
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn may_probe(&self) -> bool {
        self.probes
    }

    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        let (mut totals, mut steps) = (Totals::default(), self.steps(from));
        // A file that has changed meanwhile ends the run when it is read there.
        while let Ok(Some(step)) = steps.next_step() {
            totals.add(&step);
            if let ScriptCall::Do(Action::Send { to, bytes, .. }) = step {
                visit(Messages { from, to, bytes, count: 1 });
            }
        }
        totals.collectives(|number| self.in_switch.communicator(&self.index, number, from), from, visit);
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.in_switch.groups(&self.index)
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.in_switch.each_call(&self.index, visit);
    }
}

/// Rank whose calls are read from a trace.
#[derive(Debug)]
struct RecordedRank {
    index: Arc<Index>,
    in_switch: Arc<InSwitch>,
    steps: Steps,
    rank: u32,
}

impl Script for RecordedRank {
    #[inline]
    fn next(&mut self, _seen: &Seen) -> ScriptCall {
        // The whole trace has been read before. An error here means that the file has changed.
        self.steps.next_step().map_or(ScriptCall::Fail, |step| step.unwrap_or(ScriptCall::End))
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        self.in_switch.communicator(&self.index, number, self.rank)
    }
}
