//! Means of correlated observations with confidence intervals, by the method of batch means.
//!
//! A run is cut into batches of equal time. Consecutive latencies are correlated; the means of batches are less so the
//! longer the batches are. Adjacent batches are merged until the correlation left could be chance. Their means then
//! count as independent (Law and Kelton, section 9.5.3; Fishman 1978).
//!
//! A batch carries a sum and a weight, not a mean: batches of equal time hold unequal numbers of packets, possibly
//! none. The estimate is the ratio of the two sums, and its variance comes from the residuals of the batches (the
//! classical ratio estimator, Law and Kelton, section 9.5.3). With equal weights this is the mean of the means and
//! Student's interval.

use super::student_quantile;

/// Fewest batches that merging may leave.
const FEWEST_BATCHES: usize = 16;

/// One batch: the sum of its observations and their number (or any weight).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Batch {
    /// The sum of the observations.
    pub sum: f64,
    /// The number of observations (or their weight). A batch without observations weighs 0.
    pub weight: f64,
}
units::record!(Batch { sum, weight });

impl Batch {
    /// Creates a batch of weight 1 from its mean.
    pub const fn of_mean(mean: f64) -> Self {
        Self { sum: mean, weight: 1.0 }
    }
}

/// Mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean; NaN if nothing was observed.
    pub mean: f64,
    /// Half of the confidence interval; infinite with fewer than two batches.
    pub half_width: f64,
    /// The number of batches that count as independent.
    pub batches: usize,
    /// Whether the correlation left between adjacent batches could be chance. If false, the run was too short for
    /// batches of sufficient length, and the interval is too narrow.
    pub independent: bool,
}

impl Estimate {
    /// Returns the half-width of the confidence interval as a fraction of the mean.
    pub fn relative_half_width(&self) -> f64 {
        self.half_width / self.mean.abs()
    }
}

/// Estimates a mean and its interval at `confidence`, in (0, 1), from batches in the order of time. Merges adjacent
/// batches until they count as independent, or until there are fewer than 32.
pub fn estimate(batches: &[Batch], confidence: f64) -> Estimate {
    let mut merged = batches.to_vec();
    while !looks_independent(&merged) && merged.len() >= 2 * FEWEST_BATCHES {
        merge_pairs(&mut merged);
    }
    interval(&merged, confidence)
}

/// Estimates a mean from batches that already count as independent. Merges nothing.
pub fn interval(batches: &[Batch], confidence: f64) -> Estimate {
    let (count, weight) = (batches.len(), total_weight(batches));
    let mean = batches.iter().map(|batch| batch.sum).sum::<f64>() / weight;
    let mut half_width = f64::INFINITY;
    if count >= 2 && weight > 0.0 {
        let freedom = (count - 1) as f64;
        let variance = residuals(batches).map(|residual| residual * residual).sum::<f64>() / freedom;
        let error = libm::sqrt(variance * count as f64) / weight;
        half_width = student_quantile(0.5 * (1.0 - confidence), freedom) * error;
    }
    Estimate { mean, half_width, batches: count, independent: looks_independent(batches) }
}

/// Returns the correlation of adjacent batches, between -1 and 1; 0 if the batches are equal.
pub fn autocorrelation(batches: &[Batch]) -> f64 {
    let residuals: Vec<f64> = residuals(batches).collect();
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    if squares == 0.0 || squares.is_nan() {
        return 0.0;
    }
    residuals.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares
}

/// Returns whether independent batches would be this correlated in one of ten cases. The estimate of a correlation of 0
/// from n batches is normal, with mean -1/n and variance 1/n. The test is stricter than usual, because merging loses
/// little.
fn looks_independent(batches: &[Batch]) -> bool {
    const ONE_OF_TEN: f64 = 1.281_551_565_544_6;
    let count = batches.len() as f64;
    batches.len() >= 2 && autocorrelation(batches) <= ONE_OF_TEN / libm::sqrt(count) - 1.0 / count
}

/// Returns each batch's residual: its sum minus its weight times the overall mean.
fn residuals(batches: &[Batch]) -> impl Iterator<Item = f64> + '_ {
    let mean = batches.iter().map(|batch| batch.sum).sum::<f64>() / total_weight(batches);
    batches.iter().map(move |batch| batch.sum - mean * batch.weight)
}

fn total_weight(batches: &[Batch]) -> f64 {
    batches.iter().map(|batch| batch.weight).sum()
}

/// Merges pairs of neighbours; with an odd number the last three, so that nothing is lost.
fn merge_pairs(batches: &mut Vec<Batch>) {
    let pairs = batches.len() / 2;
    for place in 0..batches.len() {
        let batch = batches[place];
        let into = (place / 2).min(pairs - 1);
        if place == 2 * into {
            batches[into] = batch;
        } else {
            batches[into].sum += batch.sum;
            batches[into].weight += batch.weight;
        }
    }
    batches.truncate(pairs);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Draw;

    use super::*;
    use crate::statistics::normal_quantile;
    use crate::{Owner, Stream};

    fn of_means(means: impl IntoIterator<Item = f64>) -> Vec<Batch> {
        means.into_iter().map(Batch::of_mean).collect()
    }

    /// Returns a stationary first-order autoregressive process of mean 10: x' = phi x + normal noise.
    fn autoregressive(phi: f64, run: u32, count: usize) -> Vec<Batch> {
        let mut stream = Stream::new(7, Owner::Node(run));
        let mut normal = move || normal_quantile(stream.unit());
        let mut x = normal() / (1.0 - phi * phi).sqrt();
        of_means((0..count).map(|_| {
            x = phi * x + normal();
            10.0 + x
        }))
    }

    #[test]
    fn students_interval_by_hand() {
        // Would catch a variance divided by n instead of n - 1, and a quantile of the wrong tail. Means 1, 2, 3, 4, 5:
        // s = sqrt(2.5), half-width t(0.025, 4) s / sqrt(5) = 2.776445 * 0.707107.
        let estimate = interval(&of_means([3.0, 1.0, 5.0, 2.0, 4.0]), 0.95);
        assert_eq!((estimate.mean, estimate.batches), (3.0, 5));
        assert!((estimate.half_width - 1.963_243).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn weights_count() {
        // Would catch the mean of means, which gives the batch of 1 packet the weight of the batch of 3.
        let batches = [(30.0, 3.0), (0.0, 0.0), (20.0, 1.0)].map(|(sum, weight)| Batch { sum, weight });
        let estimate = interval(&batches, 0.9);
        assert_eq!(estimate.mean, 12.5);
        // Residuals -7.5, 0, 7.5: error sqrt(56.25 * 3) / 4 with two degrees of freedom, t(0.05, 2) = 2.919986.
        assert!((estimate.half_width - 2.919_986 * (56.25_f64 * 3.0).sqrt() / 4.0).abs() < 1e-5, "{estimate:?}");
    }

    #[test]
    fn too_little_is_said_to_be() {
        // Would catch a half-width of 0, which would end a run, where there are too few data for an estimate.
        for batches in [vec![], of_means([4.0]), vec![Batch::default(); 40]] {
            let estimate = estimate(&batches, 0.95);
            assert_eq!(estimate.half_width, f64::INFINITY, "{batches:?}");
        }
        assert!(estimate(&[], 0.95).mean.is_nan());
    }

    #[test]
    fn autocorrelation_by_hand() {
        // Would catch a lag other than 1: alternating values have -(n - 1)/n.
        let alternating = of_means((0..100).map(|place| f64::from(place % 2)));
        assert!((autocorrelation(&alternating) + 0.99).abs() < 1e-12);
        assert_eq!(autocorrelation(&of_means([2.0; 10])), 0.0);
        let correlated = autocorrelation(&autoregressive(0.8, 0, 20_000));
        assert!((correlated - 0.8).abs() < 0.02, "{correlated}");
    }

    #[test]
    fn the_interval_covers_the_mean_of_correlated_series() {
        // Would catch batches that are not merged although they are correlated: 95 % intervals of unmerged batches
        // cover the mean of this series with phi = 0.9 in 35 % of the cases. 1000 runs leave 2 % of chance.
        for (phi, count) in [(0.0, 1024), (0.5, 1024), (0.9, 4096)] {
            let covers = |run: &u32| {
                let estimate = estimate(&autoregressive(phi, *run, count), 0.95);
                (estimate.mean - 10.0).abs() <= estimate.half_width
            };
            let covered = (0..1000).filter(covers).count();
            assert!((920..=970).contains(&covered), "phi {phi}: {covered} of 1000");
        }
    }

    #[test]
    fn a_trend_is_not_independent() {
        // Would catch a verdict of independence on a run that is far too short.
        let estimate = estimate(&of_means((0..64).map(f64::from)), 0.95);
        assert!(!estimate.independent && estimate.batches >= FEWEST_BATCHES);
    }

    proptest! {
        #[test]
        fn merging_keeps_all_observations(means in prop::collection::vec(0.0..100.0_f64, 2..200)) {
            // Would catch an odd batch that is dropped or counted twice.
            let mut batches = of_means(means.iter().copied());
            let sum: f64 = means.iter().sum();
            while batches.len() >= 4 {
                merge_pairs(&mut batches);
                prop_assert_eq!(total_weight(&batches), means.len() as f64);
                prop_assert!((batches.iter().map(|batch| batch.sum).sum::<f64>() - sum).abs() < 1e-9 * sum.max(1.0));
                prop_assert!(batches.iter().all(|batch| batch.weight > 0.0));
            }
        }
    }
}
