//! How closed workloads move on: from look to look, until they have ended, time is up, or nothing moves.

use fabric::Batch;

use crate::machine::Machine;
use crate::progress::Progress;
use crate::run::{RunError, STANDSTILL, deadlock};
use crate::system::System;

/// Slots between looks at a run, at least: nothing may take longer than a look from one end of the network to the other.
const LOOK: u64 = 256;

/// A run under way.
pub(crate) struct Looks<'a> {
    system: &'a System,
    progress: &'a Progress,
    step: u64,
    /// When the run ends in any case, in ticks.
    longest: u64,
    now: u64,
    still: u32,
    /// All that has been delivered.
    pub counts: Batch,
}

impl<'a> Looks<'a> {
    /// A run at time 0.
    pub fn new(system: &'a System, longest: u64, progress: &'a Progress) -> Self {
        let step = (LOOK * system.slot().max(1)).max(system.zero_load_latency(system.routing.max_routers()));
        Self { system, progress, step, longest, now: 0, still: 0, counts: Batch::default() }
    }

    /// Whether time is up.
    pub fn is_over(&self) -> bool {
        self.now >= self.longest
    }

    /// Moves on to the next look.
    ///
    /// # Errors
    /// The watcher's wish, or packets in the network of which none has moved for many looks.
    pub fn next(&mut self, machine: &mut dyn Machine) -> Result<(), RunError> {
        if self.progress.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.now = self.longest.min(self.now.saturating_add(self.step));
        let mut counts = Batch::default();
        machine.advance(self.now, u64::MAX).iter().for_each(|batch| counts.add(batch));
        self.still = if counts.packets == 0 && machine.in_flight() > 0 { self.still + 1 } else { 0 };
        if self.still > STANDSTILL {
            return Err(deadlock(self.system, machine, self.now));
        }
        self.counts.add(&counts);
        Ok(())
    }
}
