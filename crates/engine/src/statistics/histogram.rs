//! Histogram of integers that answers percentiles without keeping the samples.
//!
//! Buckets are log-linear: each value below 128 has a bucket, and every octave above is cut into 64, so that a bucket
//! is at most 1/64 as wide as its smallest value. Recording is a count of leading zeros, a shift and four additions;
//! the whole range of `u64` takes 3776 buckets, 30 kB. Count, sum, minimum and maximum are exact.

/// Binary logarithm of the number of buckets of an octave.
const SUB_BITS: u32 = 6;
/// Number of buckets: the index of `u64::MAX`, plus one.
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// Log-linear histogram of `u64` values of any unit.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Number of values by bucket; empty before the first value.
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

units::record!(Histogram { counts, count, sum, min, max });

/// Bucket that has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value of the bucket's range.
    pub low: u64,
    /// The largest value of the bucket's range.
    pub high: u64,
    /// The number of values in the bucket.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.buckets()).finish()
    }
}

/// Returns the bucket of a value.
#[inline]
fn index(value: u64) -> usize {
    // With bit 6 set all values below 128 share shift 0, which needs no branch.
    let shift = 63 - SUB_BITS - (value | 1 << SUB_BITS).leading_zeros();
    ((shift << SUB_BITS) as usize) + (value >> shift) as usize
}

/// Returns the smallest and the largest value of a bucket.
fn bounds(index: usize) -> (u64, u64) {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    let low = ((index - (shift << SUB_BITS)) as u64) << shift;
    (low, low + ((1 << shift) - 1))
}

impl Histogram {
    /// Creates a histogram without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if self.counts.is_empty() {
            self.grow();
        }
        self.counts[index(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds a value `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.record(value);
        self.counts[index(value)] += times - 1;
        self.count += times - 1;
        self.sum += u128::from(value) * u128::from(times - 1);
    }

    #[cold]
    fn grow(&mut self) {
        self.counts = vec![0; BUCKETS];
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.count > 0 && self.counts.is_empty() {
            self.grow();
        }
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.counts.clear();
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// Returns the number of values.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of the values.
    #[inline]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the smallest value; `None` without values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value; `None` without values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean of the values, from their exact sum; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the value that a fraction `q` of all values does not exceed (nearest rank; `q` is clamped to 0..=1);
    /// `None` without values. Exact below 128 and at both ends. Elsewhere the values of a bucket count as evenly spread
    /// over it; the error is less than 1/64 of the value.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = (libm::ceil(q.clamp(0.0, 1.0) * self.count as f64) as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(self.max as f64);
        }
        let mut before = 0;
        for Bucket { low, high, count } in self.buckets() {
            if before + count >= rank {
                let place = ((rank - before) as f64 - 0.5) / count as f64;
                let value = low as f64 + (high - low) as f64 * place;
                return Some(if rank == 1 { self.min as f64 } else { value.clamp(self.min as f64, self.max as f64) });
            }
            before += count;
        }
        Some(self.max as f64)
    }

    /// Iterates over the buckets that have values, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(index, &count)| {
            let (low, high) = bounds(index);
            Bucket { low, high, count }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_tile_all_values() {
        // Would catch a gap or an overlap between buckets, and a bucket wider than 1/64 of its smallest value.
        let mut next = 0_u64;
        for place in 0..BUCKETS {
            let (low, high) = bounds(place);
            assert_eq!(low, next);
            assert_eq!((index(low), index(high)), (place, place));
            assert!(high - low <= low / 64);
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the largest value");
    }

    #[test]
    fn a_ramp_has_its_percentiles() {
        // Would catch a rank that is off by one: of 0..=99 the 50 % are at 49 (nearest rank), the 99 % at 98.
        let mut histogram = Histogram::new();
        (0..100).for_each(|value| histogram.record(value));
        let at = |q| histogram.quantile(q).unwrap();
        assert_eq!([at(0.0), at(0.01), at(0.5), at(0.99), at(1.0)], [0.0, 0.0, 49.0, 98.0, 99.0]);
        assert_eq!((histogram.mean(), histogram.min(), histogram.max()), (Some(49.5), Some(0), Some(99)));
    }

    #[test]
    fn nothing_has_no_statistics() {
        // Would catch a mean of 0 / 0, or the sentinel of the minimum, that leaks into a result.
        let empty = Histogram::new();
        assert_eq!((empty.mean(), empty.quantile(0.5), empty.min(), empty.max()), (None, None, None, None));
        let mut merged = Histogram::new();
        merged.record(5);
        merged.merge(&empty);
        assert_eq!((merged.min(), merged.max()), (Some(5), Some(5)));
        merged.clear();
        assert_eq!(merged, empty);
    }

    #[test]
    fn the_sum_does_not_overflow() {
        // Would catch a sum in 64 bits.
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        histogram.record(u64::MAX);
        assert_eq!(histogram.sum(), 2 * u128::from(u64::MAX));
        assert_eq!(histogram.quantile(0.5), Some(u64::MAX as f64));
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec((0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift), 1..300)
    }

    proptest! {
        #[test]
        fn quantiles_are_near_the_sorted_samples(mut values in values(), q in 0.0..=1.0_f64) {
            // Would catch an interpolation that leaves its bucket, or a cumulative count that skips one.
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, answer) = (values[rank - 1] as f64, histogram.quantile(q).unwrap());
            prop_assert!((answer - exact).abs() <= exact / 64.0, "{answer} for {exact}");
            prop_assert_eq!(histogram.sum(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
        }

        #[test]
        fn merging_is_recording_all(left in values(), right in values()) {
            // Would catch anything that merging forgets: partitions of a run record separately and merge.
            let record = |values: &mut dyn Iterator<Item = &u64>| {
                let mut histogram = Histogram::new();
                values.for_each(|&value| histogram.record(value));
                histogram
            };
            let mut merged = record(&mut left.iter());
            merged.merge(&record(&mut right.iter()));
            prop_assert_eq!(merged, record(&mut left.iter().chain(&right)));
        }
    }
}
