//! How far each source's traffic comes, to recognise which of them the network holds back.

use engine::statistics;

/// Below this share of its offered load a source counts as held back.
pub const SATURATED_BELOW: f64 = 0.97;

/// The progress of the sources: the bytes delivered of each, and how fast each advances in what it generates.
///
/// A source that is not held back advances in its generated messages as fast as time does; one whose queue grows falls
/// behind. The ratio of the two is its accepted load over the load that it has in fact offered, so the randomness of its
/// generation does not blur it. (A backlogged source has no clock of its own: it is judged by its bytes.)
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
    /// Bytes of a node: its weight, its progress, its sums, and the lists that an observation takes.
    pub(crate) const BYTES_A_NODE: u64 = 8 * size_of::<u64>() as u64;

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

    /// The least accepted load of a source that sends, for its weight, given the offered load and the mean accepted load. None before the
    /// first observation.
    pub fn least(&self, load: f64, accepted: f64) -> Option<f64> {
        let count = f64::from(self.observations);
        let share = |node: usize| if self.backlogged { self.sums[node] / self.weights[node] } else { self.sums[node] };
        let senders = (0..self.weights.len()).filter(|&node| self.weights[node] > 0.0);
        let progress = senders.map(|node| (self.weights[node], share(node) / count * load));
        if self.observations == 0 { None } else { least_accepted(progress, accepted) }
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

/// The least accepted load of some sources, given the weight of each and the load at which it has advanced in what it has generated, and the
/// mean accepted load.
///
/// Progress is free of what chance has made a source generate. It is of packets that enter the network, however: while buffers fill, more
/// enter than arrive. Then the progress of all is scaled so that its mean is the mean accepted load, of which the least is a part.
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
        // Would catch a count of random packets, a weight that is left out, and a source that never sends. Of three sources
        // at loads 0.5, 0.25 and 0 in two spans of 100 ticks, the second proceeds at nine tenths of time's pace.
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
    fn the_worst_source_stays_below_the_mean_while_buffers_fill() {
        // Would catch a least load that is cut at the mean: of two sources of weights 1 and 3 at loads 0.6 and 0.9 a mean of 0.825 enters,
        // and 0.55 arrives.
        let sources = [(1.0, 0.6), (3.0, 0.9)];
        assert!((least_accepted(sources.into_iter(), 0.55).unwrap() - 0.4).abs() < 1e-12);
        // What chance has made all generate beyond their loads is nobody's.
        assert_eq!(least_accepted(sources.into_iter(), 0.9), Some(0.6));
        assert_eq!(least_accepted(std::iter::empty(), 0.9), None);
    }
}
