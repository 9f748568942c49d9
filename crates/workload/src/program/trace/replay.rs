//! How a trace is replayed.

use crate::collectives::Carrier;

/// The most that times of calculations are multiplied by.
pub const LARGEST_SCALE: f64 = 1e6;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replay {
    /// Whether receives and probes that took messages from any rank or under any tag do so again, instead of those that they met.
    pub wildcards: bool,
    /// What times of calculations are multiplied by, from 0 to `LARGEST_SCALE`.
    pub compute_scale: f64,
    /// Who carries collective operations out.
    pub carrier: Option<Carrier>,
}

impl Default for Replay {
    fn default() -> Self {
        Self { wildcards: false, compute_scale: 1.0, carrier: None }
    }
}

impl Replay {
    /// Picoseconds of a calculation that has taken so many nanoseconds.
    pub fn time(&self, nanoseconds: u64) -> u64 {
        match self.compute_scale == 1.0 {
            true => nanoseconds.saturating_mul(1000),
            // What is too large for 64 bits is the largest number of them.
            false => (nanoseconds as f64 * 1000.0 * self.compute_scale).round() as u64,
        }
    }
}
