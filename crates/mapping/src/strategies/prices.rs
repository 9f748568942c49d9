//! Table of the cost of every task at every place, kept up to date. For small problems, in which most proposals are
//! refused and reading a table is several times cheaper than a sum.

use super::affinity::Affinity;
use crate::Metric;

/// Maximum number of entries of a table: 8 MiB.
pub(crate) const MOST: usize = 1 << 21;

/// Table of costs. Rows are tasks, columns places. Single precision suffices, since the table only guides the search:
/// it is recomputed at intervals, and results are judged by exact sums.
pub(crate) struct Prices {
    places: usize,
    price: Vec<f32>,
    /// Hops by pair of places.
    hops: Vec<u8>,
}

impl Prices {
    /// Computes the prices of a mapping; `None` if there are too many, or if hops do not fit a byte.
    pub(crate) fn new(affinity: &Affinity, metric: &impl Metric, places: usize, place_of: &[u32]) -> Option<Self> {
        if places * places.max(affinity.tasks() as usize) > MOST {
            return None;
        }
        let pairs = (0..places as u32).flat_map(|from| (0..places as u32).map(move |to| (from, to)));
        let hops: Option<Vec<u8>> = pairs.map(|(from, to)| u8::try_from(metric.hops(from, to)).ok()).collect();
        let mut prices = Self { places, price: Vec::new(), hops: hops? };
        prices.renew(affinity, place_of);
        Some(prices)
    }

    /// Recomputes all sums.
    pub(crate) fn renew(&mut self, affinity: &Affinity, place_of: &[u32]) {
        self.price.clear();
        self.price.resize(affinity.tasks() as usize * self.places, 0.0);
        for (task, row) in (0..affinity.tasks()).zip(self.price.chunks_exact_mut(self.places)) {
            for edge in affinity.of(task) {
                let from = place_of[edge.target as usize] as usize * self.places;
                let hops = &self.hops[from..from + self.places];
                row.iter_mut().zip(hops).for_each(|(price, &hops)| *price += edge.weight * f32::from(hops));
            }
        }
    }

    /// Returns the cost of a task at a place.
    #[inline]
    pub(crate) fn of(&self, task: u32, place: u32) -> f64 {
        f64::from(self.price[task as usize * self.places + place as usize])
    }

    /// Notes that a task has moved from a place to another: its partners' prices change everywhere.
    pub(crate) fn moved(&mut self, affinity: &Affinity, task: u32, from: u32, to: u32) {
        let row = |place: u32| place as usize * self.places..(place as usize + 1) * self.places;
        let (old, new) = (&self.hops[row(from)], &self.hops[row(to)]);
        for edge in affinity.of(task) {
            let prices = &mut self.price[edge.target as usize * self.places..][..self.places];
            for ((price, &old), &new) in prices.iter_mut().zip(old).zip(new) {
                *price += edge.weight * f32::from(i16::from(new) - i16::from(old));
            }
        }
    }
}
