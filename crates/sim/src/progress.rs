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

    pub(crate) fn set(&self, phase: Phase, fraction: f64) {
        self.0.phase.store(phase as u8, Ordering::Relaxed);
        self.0.millionths.fetch_max((fraction.clamp(0.0, 1.0) * 1e6) as u32, Ordering::Relaxed);
    }
}
