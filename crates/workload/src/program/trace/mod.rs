//! Traces: what the ranks of a real program have called, recorded as it ran.
//!
//! The recorder writes a file for each rank ([`part`]); [`join()`] makes one file of them, which a run reads while it goes on, a window of each
//! rank at a time. `docs/concepts/traces.md` describes both.

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

use super::{
    Action, Communicator, GroupCall, Messages, ProgramGroup, Programs, RankProgram, Script, ScriptedRank, Seen, Step,
};
use in_switch::{Called, InSwitch};
use index::{Index, open};
use rank::RankReader;
use source::{FilePart, Reader, SharedFile};
use steps::Steps;
use totals::Totals;

use crate::communicator::Unserved;

pub use calls::NoCalls;
pub use error::TraceError;
pub use index::RankSummary;
pub use join::{Joined, join};
pub use limits::MOST_RANKS;
pub use replay::{LARGEST_SCALE, Replay};

/// Bytes that the windows of all ranks have together, if that leaves each `SMALLEST_WINDOW`.
const ALL_WINDOWS: usize = 64 << 20;
const SMALLEST_WINDOW: usize = 1 << 9;
const LARGEST_WINDOW: usize = 1 << 16;

/// A trace, which is a program: what its ranks called is read while it runs.
#[derive(Debug)]
pub struct Trace {
    file: SharedFile,
    index: Arc<Index>,
    replay: Replay,
    /// Operations of all ranks, and whether there are probes among them, known since it was opened.
    operations: u64,
    probes: bool,
    /// Whether there are collective operations of parts of different sizes, whose messages have contexts of their own.
    exchanges: bool,
    /// Operations that switches carry out.
    in_switch: Arc<InSwitch>,
}

impl Trace {
    /// Opens a trace, and reads all of it once: what is in it is known to be right then.
    ///
    /// # Errors
    /// A file that cannot be read, or is no trace.
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
                trace.probes |= matches!(step, Step::Do(Action::Probe { .. }));
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

    /// The same on some nodes, by rank, where switches may not carry out all operations of groups: ranks of a node combine within it what
    /// goes to the switches. Without it, each rank has a node of its own.
    #[must_use]
    pub fn on_nodes(mut self, node_of: &[u32], unserved: &Unserved) -> Self {
        let Some(in_switch) = Arc::get_mut(&mut self.in_switch).filter(|own| !own.is_empty()) else { return self };
        in_switch.place(&self.index, node_of, unserved);
        self.operations = (0..self.ranks()).map(|rank| self.count(rank, &self.totals(rank))).sum();
        self
    }

    /// How much a rank calls; of a file that is no longer what it was, up to there: the run ends where it is read.
    fn totals(&self, rank: u32) -> Totals {
        let (mut totals, mut steps) = (Totals::default(), self.steps(rank));
        while let Ok(Some(step)) = steps.next_step() {
            totals.add(&step);
        }
        totals
    }

    /// The operations of a rank that calls so much.
    fn count(&self, rank: u32, totals: &Totals) -> u64 {
        let mut messages = 0_u64;
        let known = |number| self.in_switch.communicator(&self.index, number, rank);
        totals.collectives(known, rank, &mut |own| messages = messages.saturating_add(own.count));
        totals.operations.saturating_add(messages.saturating_mul(2))
    }

    /// What is known of a rank beside what it called.
    pub fn summary(&self, rank: u32) -> &RankSummary {
        &self.index.ranks[rank as usize]
    }

    /// Calls that were made and not recorded, by name, and how many of each.
    pub fn unsupported(&self) -> &[(String, u64)] {
        &self.index.unsupported
    }

    /// What a rank calls, from its begin on.
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
        // A file that is no longer what it was ends the run when it is read there.
        while let Ok(Some(step)) = steps.next_step() {
            totals.add(&step);
            if let Step::Do(Action::Send { to, bytes, .. }) = step {
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

/// A rank whose calls are read.
#[derive(Debug)]
struct RecordedRank {
    index: Arc<Index>,
    in_switch: Arc<InSwitch>,
    steps: Steps,
    rank: u32,
}

impl Script for RecordedRank {
    #[inline]
    fn next(&mut self, _seen: &Seen) -> Step {
        // All of it has been read before: only a file that is no longer what it was is wrong now.
        self.steps.next_step().map_or(Step::Fail, |step| step.unwrap_or(Step::End))
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        self.in_switch.communicator(&self.index, number, self.rank)
    }
}
