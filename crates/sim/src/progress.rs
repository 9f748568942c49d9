//! How far a run is, and a way to end it early: shared between a run and whoever watches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Not begun.
    Waiting,
    /// Building the network and checking it.
    Setup,
    /// Waiting for the transient to pass.
    WarmUp,
    /// Measuring.
    Measuring,
    /// Waiting for measured packets to arrive.
    Draining,
    /// Done.
    Done,
}

const PHASES: [Phase; 6] =
    [Phase::Waiting, Phase::Setup, Phase::WarmUp, Phase::Measuring, Phase::Draining, Phase::Done];

impl Phase {
    /// The phase in words.
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

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    phase: AtomicU8,
    millionths: AtomicU32,
    /// Of a point that takes several runs, the number of the present one, from 0, and how many follow it.
    run: AtomicU32,
    to_come: AtomicU32,
}

/// A handle on the progress of one run. Clones are handles on the same run.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Shared>);

impl Progress {
    /// A run that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The part that is done, 0 to 1: an estimate that never falls.
    pub fn fraction(&self) -> f64 {
        f64::from(self.0.millionths.load(Ordering::Relaxed)) / 1e6
    }

    /// What is under way.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.0.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    /// Asks the run to end soon, without a result.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run has been asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Begins one of so many runs, by its number from 0: what is set from now on is a part of that one.
    pub(crate) fn begin_run(&self, run: u32, runs: u32) {
        self.0.run.store(run, Ordering::Relaxed);
        self.0.to_come.store(runs.saturating_sub(run + 1), Ordering::Relaxed);
    }

    /// Notes the part of an analysis that is done; returns whether it goes on.
    pub(crate) fn analyzed(&self, part: f64) -> bool {
        self.set(Phase::Setup, part);
        !self.is_cancelled()
    }

    pub(crate) fn set(&self, phase: Phase, fraction: f64) {
        let (run, to_come) = (self.0.run.load(Ordering::Relaxed), self.0.to_come.load(Ordering::Relaxed));
        // Done is what the last run is.
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
