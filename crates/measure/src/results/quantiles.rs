//! Quantiles of values that results do not list one by one.

use schemars::JsonSchema;
use serde::Serialize;

/// Distribution of the values of channels or ranks. A quantile is the smallest value that the given share of all values
/// does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Quantile of 10 %.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// Quantile of 90 %.
    pub p90: f64,
    /// Quantile of 99 %.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Quantiles {
    /// Returns the distribution of some values, which are sorted. None without values.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100) - 1];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let [p10, p50, p90, p99] = [10, 50, 90, 99].map(at);
        // The sum is rounded: the mean of equal values may miss them by a bit.
        Some(Self { count: values.len() as u64, mean: mean.clamp(min, max), min, p10, p50, p90, p99, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_smallest_value_that_its_share_does_not_exceed() {
        // Would catch quantiles that are off by one place, and values that are not sorted.
        let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let Some(found) = Quantiles::of(&mut values) else { panic!("no values") };
        assert_eq!((found.count, found.mean, found.min, found.max), (200, 100.5, 1.0, 200.0));
        assert_eq!([found.p10, found.p50, found.p90, found.p99], [20.0, 100.0, 180.0, 198.0]);
        assert_eq!(Quantiles::of(&mut [3.0]).map(|one| (one.min, one.p10, one.p99)), Some((3.0, 3.0, 3.0)));
        assert_eq!(Quantiles::of(&mut []), None);
    }
}
