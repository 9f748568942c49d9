//! Options of the replay of a trace.

use mpi::collectives::CollectiveBackend;

/// Largest factor on calculation times.
pub const LARGEST_SCALE: f64 = 1e6;

/// Options of the replay of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replay {
    /// Whether wildcard receives and probes stay wildcards. Otherwise they accept only the messages that they matched
    /// in the recorded run.
    pub wildcards: bool,
    /// Factor on calculation times, from 0 to `LARGEST_SCALE`.
    pub compute_scale: f64,
    /// Component that carries out collective operations.
    pub backend: Option<CollectiveBackend>,
}

impl Default for Replay {
    fn default() -> Self {
        Self { wildcards: false, compute_scale: 1.0, backend: None }
    }
}

impl Replay {
    /// Returns the picoseconds of a calculation that was recorded with `nanoseconds`.
    pub fn time(&self, nanoseconds: u64) -> u64 {
        match self.compute_scale == 1.0 {
            true => nanoseconds.saturating_mul(1000),
            // Saturates at the range of 64 bits.
            false => (nanoseconds as f64 * 1000.0 * self.compute_scale).round() as u64,
        }
    }
}
