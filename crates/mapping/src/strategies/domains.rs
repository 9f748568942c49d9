//! Bisection of a machine, for recursive strategies.

use crate::{GridHops, Hops, Machine};

/// Cuts places into two parts of about equal size that are each close together: a box across its longest extent, the
/// nodes of a hierarchy between the neighbours in its order that are farthest apart.
pub(crate) fn halve(machine: &Machine, places: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    match machine.hops() {
        Hops::Grid(grid) => cut_box(grid, places, 0.5),
        Hops::Table(table) => {
            let mut ordered = places;
            ordered.sort_by_key(|&place| (table.row(place), place));
            let at = widest_gap(machine.hops(), &ordered);
            let second = ordered.split_off(at);
            (ordered, second)
        }
    }
}

/// Cuts places as [`halve`] does, with a fraction `share` of the places in the first part.
pub(crate) fn halve_at(machine: &Machine, places: Vec<u32>, share: f64) -> (Vec<u32>, Vec<u32>) {
    match machine.hops() {
        Hops::Grid(grid) => cut_box(grid, places, share),
        Hops::Table(table) => {
            let mut ordered = places;
            ordered.sort_by_key(|&place| (table.row(place), place));
            let at = ((ordered.len() as f64 * share) as usize).clamp(1, ordered.len() - 1);
            let second = ordered.split_off(at);
            (ordered, second)
        }
    }
}

fn cut_box(grid: &GridHops, places: Vec<u32>, share: f64) -> (Vec<u32>, Vec<u32>) {
    let bounds = |dim: usize| {
        let along = places.iter().map(|&place| grid.of(place)[dim]);
        (along.clone().min().unwrap_or(0), along.max().unwrap_or(0))
    };
    let spans = (0..grid.dims.len()).map(|dim| (bounds(dim), dim));
    let longest = spans.max_by_key(|&((low, high), dim)| (high - low, dim));
    let Some(((low, high), dim)) = longest else { return (places, Vec::new()) };
    if low == high {
        let mut first = places;
        let second = first.split_off(first.len() / 2);
        return (first, second);
    }
    let mut count = vec![0_usize; usize::from(high - low) + 1];
    places.iter().for_each(|&place| count[usize::from(grid.of(place)[dim] - low)] += 1);
    let wanted = (places.len() as f64 * share) as usize;
    let (mut sum, mut best) = (0_usize, (usize::MAX, low + 1));
    for (at, &here) in (low + 1..=high).zip(&count) {
        sum += here;
        best = best.min((sum.abs_diff(wanted), at));
    }
    places.into_iter().partition(|&place| grid.of(place)[dim] < best.1)
}

/// Returns the best cut of an order of places: at the longest distance between neighbours, near the middle.
fn widest_gap(hops: &Hops, ordered: &[u32]) -> usize {
    let count = ordered.len();
    let (from, to) = ((count / 3).max(1), count - count / 3);
    let value = |at: usize| (hops.hops(ordered[at - 1], ordered[at]), std::cmp::Reverse((2 * at).abs_diff(count)));
    (from..=to.min(count - 1)).max_by_key(|&at| (value(at), std::cmp::Reverse(at))).unwrap_or(count / 2)
}

/// Returns the place in the middle of a part, which represents the part.
pub(crate) fn middle(machine: &Machine, places: &[u32]) -> u32 {
    let Hops::Grid(grid) = machine.hops() else { return places[places.len() / 2] };
    let dims = grid.dims.len();
    let mut sums = vec![0_u64; dims];
    for &place in places {
        sums.iter_mut().zip(grid.of(place)).for_each(|(sum, &at)| *sum += u64::from(at));
    }
    let centre: Vec<f64> = sums.iter().map(|&sum| sum as f64 / places.len() as f64).collect();
    let off = |place: u32| {
        grid.of(place).iter().zip(&centre).map(|(&at, &centre)| (f64::from(at) - centre).abs()).sum::<f64>()
    };
    let nearest = places.iter().copied().min_by(|&a, &b| off(a).total_cmp(&off(b)).then(a.cmp(&b)));
    nearest.unwrap_or(places[0])
}
