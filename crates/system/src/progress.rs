//! Progress and cancellation of a run, shared between the run and its observer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Not started.
    Waiting,
    /// Builds and checks the network.
    Setup,
    /// Waits for the transient to pass.
    WarmUp,
    /// Measures.
    Measuring,
    /// Waits for measured packets to arrive.
    Draining,
    /// Finished.
    Done,
}

const PHASES: [Phase; 6] =
    [Phase::Waiting, Phase::Setup, Phase::WarmUp, Phase::Measuring, Phase::Draining, Phase::Done];

impl Phase {
    /// Returns the name of the phase.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Setup => "set-up",
            Self::WarmUp => "warm-up",
            Self::Measuring => "measuring",
            Self::Draining => "draining",
            Self::Done => "done",
        }
    }
}

/// Part of the progress that the building of a system takes.
const BUILD: f64 = 0.1;

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    phase: AtomicU8,
    millionths: AtomicU32,
    /// Index of the current run, from 0, and number of runs that follow. For a point that takes several runs.
    run: AtomicU32,
    to_come: AtomicU32,
}

/// Handle on the progress of one run. Clones refer to this run.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Shared>);

impl Progress {
    /// Creates the progress of a run that has not started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the finished share, 0 to 1: an estimate that never decreases.
    pub fn fraction(&self) -> f64 {
        f64::from(self.0.millionths.load(Ordering::Relaxed)) / 1e6
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.0.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    /// Cancels the run: it ends soon, without a result.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Begins run `run` of `runs`, counted from 0. Progress set from now on belongs to this run.
    pub fn begin_run(&self, run: u32, runs: u32) {
        self.0.run.store(run, Ordering::Relaxed);
        self.0.to_come.store(runs.saturating_sub(run + 1), Ordering::Relaxed);
    }

    /// Records the finished share of a search that the building of a system needs. Returns whether to continue.
    pub fn built(&self, part: f64) -> bool {
        self.analyzed(part * BUILD)
    }

    /// Records the finished share of an analysis. Returns whether to continue.
    pub fn analyzed(&self, part: f64) -> bool {
        self.set(Phase::Setup, part);
        !self.is_cancelled()
    }

    /// Records the phase, and the share of it that is done.
    pub fn set(&self, phase: Phase, fraction: f64) {
        let (run, to_come) = (self.0.run.load(Ordering::Relaxed), self.0.to_come.load(Ordering::Relaxed));
        // Only the last run ends in `Done`.
        let phase = if phase == Phase::Done && to_come > 0 { Phase::Setup } else { phase };
        self.0.phase.store(phase as u8, Ordering::Relaxed);
        let whole = (f64::from(run) + fraction.clamp(0.0, 1.0)) / f64::from(run + 1 + to_come);
        self.0.millionths.fetch_max((whole * 1e6) as u32, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_point_share_its_progress() {
        // Would catch a search that is done after the first of its runs, and a share that falls.
        let progress = Progress::new();
        let mut seen = vec![];
        for run in 0..4 {
            progress.begin_run(run, 4);
            for fraction in [0.0, 0.5, 1.0] {
                progress.set(if fraction < 1.0 { Phase::Measuring } else { Phase::Done }, fraction);
                seen.push((progress.fraction() * 8.0).round() as u32);
            }
            assert_eq!(progress.phase() == Phase::Done, run == 3);
        }
        assert_eq!(seen, [0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8]);
    }
}
