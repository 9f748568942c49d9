//! Detection of the end of the warm-up: MSER-5.
//!
//! Observations are averaged in groups of 5. MSER truncates where the estimated error of the mean of the rest is
//! smallest: the sum of squared deviations of the rest, divided by the square of its number (White 1997; White, Cobb
//! and Spratt 2000). Cutting a long transient reduces the deviations; a cut that only loses observations costs more
//! than it gains.
//!
//! If the best cut lies in the second half, the rest is too short to trust: the run has to go on.

/// Observations in a group.
const GROUP: usize = 5;
/// Groups at the end that are never a cut: a few neighbours that happen to be alike would win.
const LAST_GROUPS: usize = 5;

/// Truncation point of a series of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// The number of observations to leave out.
    pub observations: usize,
    /// Whether the series has settled: at most half of it is left out.
    pub settled: bool,
}

/// Returns the truncation of a series of equally spaced observations. Fewer than 50 are never settled; an incomplete
/// group at the end is ignored. Takes one pass.
pub fn mser5(observations: &[f64]) -> Truncation {
    let groups = observations.len() / GROUP;
    let (mut mean, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (0, f64::INFINITY);
    // Backwards, so that each group adds to the mean and the squared deviations of the groups after it (Welford).
    for group in (0..groups).rev() {
        let group_mean = observations[GROUP * group..GROUP * (group + 1)].iter().sum::<f64>() / GROUP as f64;
        let left = (groups - group) as f64;
        let deviation = group_mean - mean;
        mean += deviation / left;
        squares += deviation * (group_mean - mean);
        let error = squares / (left * left);
        if groups - group >= LAST_GROUPS && error <= least {
            (best, least) = (group, error);
        }
    }
    Truncation { observations: GROUP * best, settled: groups >= 2 * LAST_GROUPS && 2 * best <= groups }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Draw;

    use super::*;
    use crate::{Owner, Stream};

    /// Returns white noise of variance 1/12.
    fn noise(number: u32, count: usize) -> Vec<f64> {
        let mut stream = Stream::new(1, Owner::Node(number));
        (0..count).map(|_| stream.unit() - 0.5).collect()
    }

    #[test]
    fn a_step_is_cut_where_it_is() {
        // Would catch a cut that is off by a group: the step is three times as high as the noise is wide.
        for step in [0, 5, 50, 250] {
            let mut series = noise(3, 1000);
            series[..step].iter_mut().for_each(|value| *value += 3.0);
            let Truncation { observations, settled } = mser5(&series);
            assert!(settled && (step..=step + 20).contains(&observations), "{step}: {observations}");
        }
    }

    #[test]
    fn a_decay_is_cut_when_it_is_below_the_noise() {
        // Would catch a cut in the steep part. At observation t the transient is 5 exp(-t / 100).
        let series: Vec<f64> =
            noise(4, 4000).iter().enumerate().map(|(t, value)| value + 5.0 * (-(t as f64) / 100.0).exp()).collect();
        let Truncation { observations, settled } = mser5(&series);
        assert!(settled && (200..1000).contains(&observations), "{observations}");
    }

    #[test]
    fn what_never_settles_is_said_to() {
        // Would catch a saturated network, whose latencies grow without bound, that is taken for a warm one.
        let ramp: Vec<f64> = noise(5, 2000).iter().enumerate().map(|(t, value)| value + 0.01 * t as f64).collect();
        assert!(!mser5(&ramp).settled);
        let mut late = noise(6, 1000);
        late[..700].iter_mut().for_each(|value| *value += 3.0);
        let Truncation { observations, settled } = mser5(&late);
        assert!(!settled && (700..720).contains(&observations), "{observations}");
    }

    #[test]
    fn constants_need_no_warm_up_and_short_series_say_nothing() {
        // Would catch rounding that truncates a constant series, and a verdict from a handful of observations.
        assert_eq!(mser5(&[0.1; 100]), Truncation { observations: 0, settled: true });
        assert_eq!(mser5(&[]), Truncation { observations: 0, settled: false });
        assert!(!mser5(&[0.1; 49]).settled);
    }

    proptest! {
        #[test]
        fn the_single_pass_agrees_with_the_definition(values in prop::collection::vec(-1e3..1e3_f64, 0..200)) {
            // Would catch an error in the update of the squared deviations.
            let groups: Vec<f64> = values.chunks_exact(5).map(|group| group.iter().sum::<f64>() / 5.0).collect();
            let error = |cut: usize| {
                let left = &groups[cut..];
                let mean = left.iter().sum::<f64>() / left.len() as f64;
                left.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (left.len() as f64).powi(2)
            };
            let cut = mser5(&values).observations / 5;
            for other in 0..(groups.len() + 1).saturating_sub(5) {
                prop_assert!(error(cut) <= error(other) * (1.0 + 1e-9) + 1e-12, "{cut} {other}");
            }
        }
    }
}
