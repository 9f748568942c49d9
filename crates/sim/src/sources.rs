//! What becomes of each source's traffic, to tell which of them the network holds back.

use engine::statistics;

use crate::run::SATURATED_BELOW;

/// What the sources get rid of: the bytes delivered of each, and how fast each gets on in what it generates.
///
/// A source that is not held back gets on in its generated messages as fast as time goes by; one whose queue grows falls
/// behind. The ratio of the two is its accepted load over the load that it has in fact offered, so the randomness of its
/// generation does not blur it. (A backlogged source has no clock of its own: of those the bytes tell.)
pub(crate) struct Sources {
    weights: Vec<f64>,
    backlogged: bool,
    /// Bytes of a source at load 1.0 in one observation.
    bytes: f64,
    /// Bytes delivered since the measured interval began.
    delivered: Vec<u64>,
    /// How far each source had come at the last observation.
    before: Vec<u64>,
    at: u64,
    /// Shares of what was offered that were accepted, over observations: sums and sums of squares.
    sums: Vec<f64>,
    squares: Vec<f64>,
    observations: u32,
}

impl Sources {
    /// Nothing observed yet, of sources of given weights; `bytes` is what one of load 1.0 sends in an observation.
    pub fn new(weights: Vec<f64>, backlogged: bool, bytes: f64) -> Self {
        let zeros = || vec![0.0; weights.len()];
        Self {
            backlogged,
            bytes,
            delivered: vec![0; weights.len()],
            before: vec![0; weights.len()],
            at: 0,
            sums: zeros(),
            squares: zeros(),
            observations: 0,
            weights,
        }
    }

    /// Begins at a time, given how far the sources have come.
    pub fn begin(&mut self, progress: Vec<u64>, now: u64) {
        (self.before, self.at) = (progress, now);
    }

    /// Takes in the bytes delivered so far and how far the sources have come, by source.
    pub fn observe(&mut self, delivered: Vec<u64>, progress: Vec<u64>, now: u64) {
        let span = (now - self.at) as f64;
        for node in 0..self.weights.len() {
            let share = if self.backlogged {
                (delivered[node] - self.delivered[node]) as f64 / self.bytes
            } else {
                (progress[node] - self.before[node]) as f64 / span
            };
            self.sums[node] += share;
            self.squares[node] += share * share;
        }
        self.delivered = delivered;
        self.begin(progress, now);
        self.observations += 1;
    }

    /// The least accepted load of a source that sends, for its weight; none before the first observation.
    pub fn least(&self) -> Option<f64> {
        let bytes = self.bytes * f64::from(self.observations);
        let loads = self.delivered.iter().zip(&self.weights).filter(|&(_, &weight)| weight > 0.0);
        let least = loads.map(|(&sum, weight)| sum as f64 / bytes / weight).fold(f64::INFINITY, f64::min);
        (self.observations > 0 && least.is_finite()).then_some(least)
    }

    /// Whether some source is surely held back.
    pub fn held_back(&self, confidence: f64) -> bool {
        if self.observations < 3 {
            return false;
        }
        let senders = self.weights.iter().filter(|&&weight| weight > 0.0).count().max(1);
        let count = f64::from(self.observations);
        let quantile = statistics::student_quantile((1.0 - confidence) / senders as f64, count - 1.0);
        (0..self.weights.len()).filter(|&node| self.weights[node] > 0.0).any(|node| {
            let mean = self.sums[node] / count;
            let variance = ((self.squares[node] - self.sums[node] * mean) / (count - 1.0)).max(0.0);
            mean + quantile * (variance / count).sqrt() < SATURATED_BELOW
        })
    }
}
