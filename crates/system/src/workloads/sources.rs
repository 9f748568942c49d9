//! Progress of each source, to recognise sources that the network holds back.

use engine::statistics::{self, Estimate};

/// Share of its offered load below which a source counts as held back.
pub const SATURATED_BELOW: f64 = 0.97;

/// Packets or operations that have to arrive in the later half of a warm-up, for it to say whether a job is saturated:
/// with fewer, random arrivals look like saturation once in 200 cases.
pub(crate) const FEWEST_ARRIVALS: u64 = 400;

/// Whether an accepted load is below the offered one, by more than its confidence interval.
pub(crate) fn is_below(accepted: &Estimate, load: f64) -> bool {
    accepted.mean + accepted.half_width < SATURATED_BELOW * load
}

/// Delivered share of the bytes that enter, of all sources together, below which the network counts as filling. Closer
/// to 1, the packets under way at the ends of the interval would blur the share of a single source.
const FILLING_BELOW: f64 = 0.99;

/// Progress of the sources: the bytes delivered of each, and the pace at which each advances in its generated traffic.
///
/// A source that is not held back advances in its generated messages as fast as time does; a source whose queue grows
/// falls behind. The ratio is its accepted load over the load that it has actually offered, so the randomness of
/// generation does not blur it. A backlogged source has no generation times, and is judged by its bytes.
pub(crate) struct Sources {
    weights: Vec<f64>,
    backlogged: bool,
    /// Bytes of a source at load 1.0 in one observation.
    bytes: f64,
    /// Bytes delivered since the measured interval began, by source.
    delivered: Vec<u64>,
    /// Progress of each source at the last observation, in ticks.
    before: Vec<u64>,
    at: u64,
    /// Accepted shares of the offered load: sums and sums of squares over observations, by source.
    sums: Vec<f64>,
    squares: Vec<f64>,
    observations: u32,
    /// Delivered share of the bytes of each source that entered the network. Empty unless the network fills.
    delivered_shares: Vec<f64>,
}
units::state!(Sources {
    delivered, before, at, sums, squares, observations, delivered_shares;
    rebuilt weights, backlogged, bytes
});

impl Sources {
    /// Memory of a node, in bytes: its weight, its progress, its sums, and the lists of an observation.
    pub(crate) const BYTES_A_NODE: u64 = 8 * size_of::<u64>() as u64;

    /// Creates the state before the first observation. `bytes` is the traffic of a source of load 1.0 in an
    /// observation.
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
            delivered_shares: Vec::new(),
            weights,
        }
    }

    /// Begins at `now` with the given progress of the sources.
    pub fn begin(&mut self, progress: Vec<u64>, now: u64) {
        (self.before, self.at) = (progress, now);
    }

    /// Adds an observation: the bytes delivered so far, and the progress, by source.
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

    /// Ends the measured interval, in which the bytes `entered` of each source entered the network and the bytes
    /// `delivered` arrived. Bytes that entered count at each of their destinations.
    pub fn end(&mut self, entered: &[f64], delivered: &[u64]) {
        let all: f64 = delivered.iter().map(|&bytes| bytes as f64).sum();
        if !self.backlogged && all < FILLING_BELOW * entered.iter().sum::<f64>() {
            let share = |(&entered, &delivered): (&f64, &u64)| match entered {
                0.0 => 1.0,
                _ => delivered as f64 / entered,
            };
            self.delivered_shares = entered.iter().zip(delivered).map(share).collect();
        }
    }

    /// Returns the least accepted load of a source that sends, relative to its weight. `load` is the offered load and
    /// `accepted` the mean accepted load. None before the first observation.
    ///
    /// Progress counts packets that enter the network. While buffers fill, more enter than arrive: the progress of each
    /// source then counts by its delivered share.
    pub fn least(&self, load: f64, accepted: f64) -> Option<f64> {
        let count = f64::from(self.observations);
        let share = |node: usize| {
            let own = if self.backlogged { self.sums[node] / self.weights[node] } else { self.sums[node] };
            own * self.delivered_shares.get(node).unwrap_or(&1.0)
        };
        let senders = (0..self.weights.len()).filter(|&node| self.weights[node] > 0.0);
        let progress = senders.map(|node| (self.weights[node], share(node) / count * load));
        if self.observations == 0 { None } else { least_accepted(progress, accepted) }
    }

    /// Whether some source is held back, with statistical confidence.
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

/// Returns the least accepted load of some sources. `sources` holds the weight of each and the load by its progress in
/// its generated traffic; `accepted` is the mean accepted load.
///
/// Progress is free of the randomness of generation, which the mean accepted load is not: progress that is higher on
/// its mean is scaled down to that mean.
pub(crate) fn least_accepted(sources: impl Iterator<Item = (f64, f64)>, accepted: f64) -> Option<f64> {
    let (mut least, mut sum, mut weights) = (f64::INFINITY, 0.0, 0.0);
    for (weight, load) in sources {
        least = least.min(load);
        sum += weight * load;
        weights += weight;
    }
    if !least.is_finite() {
        return None;
    }
    let mean = sum / weights;
    Some(if mean > accepted { least * accepted / mean } else { least })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_load_is_that_of_the_source_that_falls_behind_whatever_it_has_generated() {
        // Would catch a count of random packets, a weight that is left out, and a source that never sends. Of three
        // sources at loads 0.5, 0.25 and 0 in two spans of 100 ticks, the second proceeds at nine tenths of time's
        // pace.
        let mut sources = Sources::new(vec![1.0, 0.5, 0.0], false, 100.0);
        assert_eq!(sources.least(0.5, 0.5), None);
        sources.begin(vec![0, 0, 0], 0);
        sources.observe(vec![70, 5, 0], vec![100, 90, 100], 100);
        sources.observe(vec![90, 50, 0], vec![200, 180, 200], 200);
        assert!((sources.least(0.5, 0.5).unwrap() - 0.45).abs() < 1e-12);
        let mut backlogged = Sources::new(vec![1.0, 1.0], true, 100.0);
        backlogged.begin(vec![0, 0], 0);
        backlogged.observe(vec![100, 80], vec![100, 100], 100);
        assert!((backlogged.least(1.0, 0.9).unwrap() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn bytes_that_stay_in_the_network_are_not_accepted() {
        // Would catch a least load that equals the mean although buffers keep more of one source's packets than of
        // another's. Both enter at the pace of time; 0.9 and 0.6 of their bytes arrive.
        let mut sources = Sources::new(vec![1.0, 1.0], false, 100.0);
        sources.begin(vec![0, 0], 0);
        sources.observe(vec![45, 30], vec![100, 100], 100);
        sources.end(&[50.0, 50.0], &[45, 30]);
        assert!((sources.least(0.5, 0.375).unwrap() - 0.3).abs() < 1e-12);
        // Packets under way are no loss.
        let mut steady = Sources::new(vec![1.0, 1.0], false, 100.0);
        steady.begin(vec![0, 0], 0);
        steady.observe(vec![4990, 4960], vec![10_000, 10_000], 10_000);
        steady.end(&[5000.0, 5000.0], &[4990, 4960]);
        assert!((steady.least(0.5, 0.5).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_worst_source_stays_below_the_mean_while_buffers_fill() {
        // Would catch a least load that is cut at the mean: of two sources of weights 1 and 3 at loads 0.6 and 0.9 a
        // mean of 0.825 enters, and 0.55 arrives.
        let sources = [(1.0, 0.6), (3.0, 0.9)];
        assert!((least_accepted(sources.into_iter(), 0.55).unwrap() - 0.4).abs() < 1e-12);
        // Random generation above the loads of all sources is no source's progress.
        assert_eq!(least_accepted(sources.into_iter(), 0.9), Some(0.6));
        assert_eq!(least_accepted(std::iter::empty(), 0.9), None);
    }
}
