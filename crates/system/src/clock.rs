//! Wall clock, read only here: it reports the duration of a run and decides when checkpoints are written. Results do
//! not depend on it.

use std::time::Instant;

/// Running stopwatch.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the stopwatch.
    #[allow(clippy::disallowed_methods, reason = "reported beside the results, which do not depend on it")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the seconds since the start.
    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
