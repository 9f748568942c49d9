//! Recognition of grids: whether a graph is a grid of tasks, however its tasks are numbered (paper, section 4.3).
//!
//! A grid is a product of paths and rings. At an inner task the directions are distinguished by squares: two neighbours
//! in different dimensions have exactly one other neighbour in common, two in one dimension have none (or are
//! neighbours, in a ring of three). The directions of one task then fix those of its neighbours: the neighbour b in
//! direction e of v + d is the corner that completes the square of v + d and v + e. One pass over the tasks labels all,
//! or finds that the graph is not a grid. A ring of four is a product of two paths of two, and is treated as that.
//!
//! Real applications send much over the edges of their grid and little over others (diagonals, reductions). The search
//! is therefore repeated without the light edges, if weights have a gap.

use units::{Boundary, Direction};

use super::affinity::Affinity;

/// Maximum number of dimensions of a recognized grid; rings of four count twice.
pub(crate) const MAX_DIMS: usize = 8;
/// Maximum number of gaps between weights that are tried.
const MAX_GAPS: usize = 8;
/// Ratio of successive weights from which on they belong to different kinds of edges.
const GAP: f32 = 1.5;
const NONE: u32 = u32::MAX;

/// Graph as a grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GridShape {
    /// Extents of the grid.
    pub(crate) dims: Vec<u32>,
    /// Whether a dimension is a ring or a path, by dimension.
    pub(crate) boundaries: Vec<Boundary>,
    /// Mean weight of the edges of a dimension, by dimension.
    pub(crate) weights: Vec<f64>,
    /// Coordinates of the tasks: `dims.len()` numbers for each task.
    pub(crate) coordinates: Vec<u32>,
}

impl GridShape {
    /// Returns the coordinates of a task.
    pub(crate) fn of(&self, task: u32) -> &[u32] {
        let dims = self.dims.len();
        &self.coordinates[task as usize * dims..(task as usize + 1) * dims]
    }
}

impl GridShape {
    /// Returns the shape with pairs of extents of 2 as rings of 4, if their edges have equal weights; `None` without
    /// such a pair. A product of two paths of two is a ring of four, and only its use determines which of the two is
    /// meant.
    pub(crate) fn with_rings_of_four(&self) -> Option<Self> {
        let dims = self.dims.len();
        let mut twos: Vec<usize> = (0..dims).filter(|&dim| self.dims[dim] == 2).collect();
        twos.sort_by(|&a, &b| self.weights[a].total_cmp(&self.weights[b]).then(a.cmp(&b)));
        let equal =
            |pair: &[usize]| (self.weights[pair[0]] - self.weights[pair[1]]).abs() <= 1e-6 * self.weights[pair[1]];
        let pairs: Vec<(usize, usize)> =
            twos.chunks_exact(2).filter(|pair| equal(pair)).map(|pair| (pair[0], pair[1])).collect();
        if pairs.is_empty() {
            return None;
        }
        let second = |dim: usize| pairs.iter().any(|&(_, other)| other == dim);
        let kept: Vec<usize> = (0..dims).filter(|&dim| !second(dim)).collect();
        let partner = |dim: usize| pairs.iter().find(|&&(one, _)| one == dim).map(|&(_, other)| other);
        let mut ring = Self { dims: Vec::new(), boundaries: Vec::new(), weights: Vec::new(), coordinates: Vec::new() };
        for &dim in &kept {
            let four = partner(dim).is_some();
            ring.dims.push(if four { 4 } else { self.dims[dim] });
            ring.boundaries.push(if four { Boundary::Periodic } else { self.boundaries[dim] });
            ring.weights.push(self.weights[dim]);
        }
        for task in 0..(self.coordinates.len() / dims) as u32 {
            let at = self.of(task);
            // Around the square: (0, 0), (1, 0), (1, 1), (0, 1).
            let around = |dim: usize, other: usize| if at[other] == 0 { at[dim] } else { 3 - at[dim] };
            ring.coordinates.extend(kept.iter().map(|&dim| partner(dim).map_or(at[dim], |other| around(dim, other))));
        }
        Some(ring)
    }
}

/// Returns the grid that a graph is, or that its heavy edges are.
pub(crate) fn recognize(affinity: &Affinity) -> Option<GridShape> {
    let tasks = affinity.tasks() as usize;
    if tasks < 2 {
        return None;
    }
    for lightest in thresholds(affinity) {
        let backbone = affinity.at_least(lightest);
        if backbone.ends() >= 2 * (tasks - 1)
            && let Some(shape) = Labels::new(&backbone).and_then(|labels| labels.shape())
        {
            return Some(shape);
        }
    }
    None
}

/// Returns lower limits of the weights that may belong to the grid's edges: the least of all weights, and the weights
/// above a gap, the widest gaps first.
fn thresholds(affinity: &Affinity) -> Vec<f32> {
    let ends = (0..affinity.tasks()).flat_map(|task| affinity.of(task).iter().map(|edge| edge.weight));
    let mut weights: Vec<f32> = ends.collect();
    weights.sort_unstable_by(f32::total_cmp);
    weights.dedup();
    let Some(&least) = weights.first() else { return Vec::new() };
    let mut gaps: Vec<(f32, f32)> = weights.windows(2).map(|pair| (pair[1] / pair[0], pair[1])).collect();
    gaps.retain(|&(ratio, _)| ratio >= GAP);
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    std::iter::once(least).chain(gaps.into_iter().take(MAX_GAPS).map(|(_, weight)| weight)).collect()
}

/// Extent of a dimension.
#[derive(Clone, Copy, Debug)]
struct Extent {
    size: u32,
    boundary: Boundary,
    /// Coordinate of the seed.
    seed: u32,
}

/// Neighbour of every task in every direction: 2d is up in dimension d, 2d + 1 down.
struct Labels<'a> {
    graph: &'a Affinity,
    dims: usize,
    seed: u32,
    towards: Vec<u32>,
}

impl<'a> Labels<'a> {
    /// Labels every task, from one with the most neighbours. Returns `None` if the graph is not a grid.
    fn new(graph: &'a Affinity) -> Option<Self> {
        let degree = |task: u32| graph.of(task).len();
        let seed = (0..graph.tasks()).max_by_key(|&task| (degree(task), std::cmp::Reverse(task)))?;
        let first = seed_directions(graph, seed)?;
        let dims = first.len() / 2;
        let mut labels = Self { graph, dims, seed, towards: vec![NONE; graph.tasks() as usize * 2 * dims] };
        labels.row_mut(seed).copy_from_slice(&first);
        labels.spread()?;
        Some(labels)
    }

    fn row(&self, task: u32) -> &[u32] {
        let width = 2 * self.dims;
        &self.towards[task as usize * width..(task as usize + 1) * width]
    }

    fn row_mut(&mut self, task: u32) -> &mut [u32] {
        let width = 2 * self.dims;
        &mut self.towards[task as usize * width..(task as usize + 1) * width]
    }

    /// Labels the neighbours of labelled tasks until all tasks are labelled.
    fn spread(&mut self) -> Option<()> {
        let tasks = self.graph.tasks() as usize;
        let mut known = vec![false; tasks];
        let mut queue = Vec::with_capacity(tasks);
        known[self.seed as usize] = true;
        queue.push(self.seed);
        let mut done = 0;
        while done < queue.len() {
            let task = queue[done];
            done += 1;
            for direction in 0..2 * self.dims {
                let next = self.row(task)[direction];
                if next == NONE {
                    continue;
                }
                if !known[next as usize] {
                    self.label(task, direction, next)?;
                    known[next as usize] = true;
                    queue.push(next);
                } else if self.row(next)[direction ^ 1] != task {
                    return None;
                }
            }
        }
        (queue.len() == tasks).then_some(())
    }

    /// Labels the neighbour of a labelled task in a direction.
    fn label(&mut self, task: u32, direction: usize, next: u32) -> Option<()> {
        let mut row = [NONE; 2 * MAX_DIMS];
        row[direction ^ 1] = task;
        let mut labelled = 1;
        for across in (0..2 * self.dims).filter(|across| across / 2 != direction / 2) {
            let side = self.row(task)[across];
            if side != NONE {
                row[across] = corner(self.graph, next, side, task)?;
                labelled += 1;
            }
        }
        let neighbours = self.graph.of(next);
        if neighbours.len() > labelled {
            // One neighbour is left, and it continues in this direction.
            let used = &row[..2 * self.dims];
            let mut left = neighbours.iter().map(|edge| edge.target).filter(|target| !used.contains(target));
            let ahead = left.next()?;
            if left.next().is_some() {
                return None;
            }
            row[direction] = ahead;
        } else if neighbours.len() < labelled {
            return None;
        }
        let width = 2 * self.dims;
        self.row_mut(next).copy_from_slice(&row[..width]);
        Some(())
    }

    /// Returns the extent of a dimension.
    fn extent(&self, dim: usize) -> Extent {
        let (mut up, mut at) = (0, self.seed);
        while self.row(at)[2 * dim] != NONE {
            at = self.row(at)[2 * dim];
            up += 1;
            if at == self.seed || up > self.graph.tasks() {
                return Extent { size: up, boundary: Boundary::Periodic, seed: 0 };
            }
        }
        let (mut down, mut at) = (0, self.seed);
        while self.row(at)[2 * dim + 1] != NONE && down <= self.graph.tasks() {
            at = self.row(at)[2 * dim + 1];
            down += 1;
        }
        Extent { size: up + down + 1, boundary: Boundary::Open, seed: down }
    }

    /// Returns the coordinates that follow from the labels, if they are those of a grid.
    fn shape(&self) -> Option<GridShape> {
        let extents: Vec<Extent> = (0..self.dims).map(|dim| self.extent(dim)).collect();
        let tasks = u64::from(self.graph.tasks());
        if extents.iter().try_fold(1_u64, |all, extent| all.checked_mul(u64::from(extent.size)))? != tasks {
            return None;
        }
        let coordinates = self.coordinates(&extents)?;
        Some(GridShape {
            dims: extents.iter().map(|extent| extent.size).collect(),
            boundaries: extents.iter().map(|extent| extent.boundary).collect(),
            weights: (0..self.dims).map(|dim| self.weight(dim)).collect(),
            coordinates,
        })
    }

    fn coordinates(&self, extents: &[Extent]) -> Option<Vec<u32>> {
        let dims = self.dims;
        let mut coordinates = vec![NONE; self.graph.tasks() as usize * dims];
        let start = self.seed as usize * dims;
        for (dim, extent) in extents.iter().enumerate() {
            coordinates[start + dim] = extent.seed;
        }
        let mut queue = vec![self.seed];
        let mut taken = vec![false; self.graph.tasks() as usize];
        while let Some(task) = queue.pop() {
            let here = task as usize * dims;
            let point =
                (0..dims).rev().fold(0, |sum, dim| sum * extents[dim].size as usize + coordinates[here + dim] as usize);
            if std::mem::replace(taken.get_mut(point)?, true) {
                return None;
            }
            for direction in 0..2 * dims {
                let next = self.row(task)[direction];
                if next == NONE || coordinates[next as usize * dims] != NONE {
                    continue;
                }
                let Extent { size, boundary, .. } = extents[direction / 2];
                let moved = way(direction).step(coordinates[here + direction / 2], size, boundary)?;
                coordinates.copy_within(here..here + dims, next as usize * dims);
                coordinates[next as usize * dims + direction / 2] = moved;
                queue.push(next);
            }
        }
        Some(coordinates)
    }

    /// Returns the mean weight of the edges of a dimension.
    fn weight(&self, dim: usize) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for task in 0..self.graph.tasks() {
            let up = self.row(task)[2 * dim];
            if let Some(edge) = self.graph.of(task).iter().find(|edge| edge.target == up) {
                sum += f64::from(edge.weight);
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

/// Returns the direction along its dimension of a direction of [`Labels`].
fn way(direction: usize) -> Direction {
    if direction.is_multiple_of(2) { Direction::Plus } else { Direction::Minus }
}

fn adjacent(graph: &Affinity, one: u32, other: u32) -> bool {
    graph.of(one).iter().any(|edge| edge.target == other)
}

/// Iterates over the common neighbours of two tasks except `but`.
fn common<'a>(graph: &'a Affinity, one: u32, other: u32, but: u32) -> impl Iterator<Item = u32> + 'a {
    let targets = graph.of(one).iter().map(|edge| edge.target);
    targets.filter(move |&target| target != but && adjacent(graph, other, target))
}

/// Returns the fourth corner of a square, if there is exactly one.
fn corner(graph: &Affinity, one: u32, other: u32, but: u32) -> Option<u32> {
    let mut corners = common(graph, one, other, but);
    let first = corners.next()?;
    corners.next().is_none().then_some(first)
}

/// Returns the neighbours of the seed by direction: opposite directions belong to one dimension.
fn seed_directions(graph: &Affinity, seed: u32) -> Option<Vec<u32>> {
    let neighbours: Vec<u32> = graph.of(seed).iter().map(|edge| edge.target).collect();
    if neighbours.is_empty() || neighbours.len() > 2 * MAX_DIMS {
        return None;
    }
    let opposite =
        |one: u32, other: u32| adjacent(graph, one, other) || common(graph, one, other, seed).next().is_none();
    let mut directions = Vec::new();
    let mut used = vec![false; neighbours.len()];
    for one in 0..neighbours.len() {
        if used[one] {
            continue;
        }
        let partner =
            (one + 1..neighbours.len()).find(|&other| !used[other] && opposite(neighbours[one], neighbours[other]));
        directions.push(neighbours[one]);
        directions.push(partner.map_or(NONE, |other| neighbours[other]));
        used[one] = true;
        if let Some(other) = partner {
            used[other] = true;
        }
    }
    (directions.len() <= 2 * MAX_DIMS).then_some(directions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tasks::{ArcList, TaskGraph};
    use units::Draw;
    use units::NamedStream;

    use super::{GridShape, recognize};
    use crate::strategies::affinity::Affinity;

    /// Returns a shuffled grid. The weight of an edge depends on its dimension.
    fn grid(dims: &[(u32, bool)], seed: u64) -> TaskGraph {
        let tasks: u32 = dims.iter().map(|dim| dim.0).product();
        let mut arcs = ArcList::new(tasks);
        for task in 0..tasks {
            let mut stride = 1;
            for (place, &(size, ring)) in dims.iter().enumerate() {
                let at = task / stride % size;
                if at + 1 < size || (ring && size > 2) {
                    arcs.add_both(task, task - at * stride + (at + 1) % size * stride, 10 + place as u64, 1);
                }
                stride *= size;
            }
        }
        let mut order: Vec<u32> = (0..tasks).collect();
        let mut draw = NamedStream::new(seed, "shuffle");
        for last in (1..order.len()).rev() {
            order.swap(last, draw.below(last as u32 + 1) as usize);
        }
        TaskGraph::new("grid", arcs.build()).renumbered(&order)
    }

    /// Checks that every edge of the graph joins neighbours of the shape, and that the shape has no further edges.
    fn check(graph: &TaskGraph, shape: &GridShape) {
        let neighbours = |one: u32, other: u32| {
            let apart = |dim: usize| {
                let (a, b) = (shape.of(one)[dim], shape.of(other)[dim]);
                let straight = a.abs_diff(b);
                if shape.boundaries[dim].is_periodic() { straight.min(shape.dims[dim] - straight) } else { straight }
            };
            (0..shape.dims.len()).map(apart).sum::<u32>() == 1
        };
        assert!(graph.phases[0].arcs.iter().all(|(from, to, ..)| neighbours(from, to)));
        let tasks: u64 = shape.dims.iter().map(|&size| u64::from(size)).product();
        let edges = |dim: usize| {
            let size = u64::from(shape.dims[dim]);
            tasks / size * (size - u64::from(!shape.boundaries[dim].is_periodic()))
        };
        let all: u64 = (0..shape.dims.len()).map(edges).sum();
        assert_eq!(all * 2, graph.phases[0].arcs.len() as u64);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_grid_is_recognized_whatever_its_numbering(
            dims in prop::collection::vec((2_u32..7, any::<bool>()), 1..5), seed in any::<u64>()
        ) {
            // Would catch directions that are mixed up, a ring of 3 or 4 that is not recognized, and an edge of a mesh
            // that is lost.
            let graph = grid(&dims, seed);
            let shape = recognize(&Affinity::new(&graph));
            prop_assert!(shape.is_some());
            if let Some(shape) = shape {
                check(&graph, &shape);
            }
        }
    }

    #[test]
    fn what_is_no_grid_is_not_taken_for_one() {
        // Would catch a labelling that does not check whether it is complete: a grid with one edge moved, and a tree.
        let mut arcs = ArcList::new(64);
        for task in 0..64_u32 {
            let (x, y) = (task % 8, task / 8);
            arcs.add_both(task, (x + 1) % 8 + 8 * y, 5, 1);
            arcs.add_both(task, x + 8 * ((y + 1) % 8), 5, 1);
        }
        arcs.add_both(0, 27, 5, 1);
        assert_eq!(recognize(&Affinity::new(&TaskGraph::new("spoilt", arcs.build()))), None);
        let mut tree = ArcList::new(15);
        (1..15).for_each(|task| tree.add_both(task, (task - 1) / 2, 5, 1));
        assert_eq!(recognize(&Affinity::new(&TaskGraph::new("tree", tree.build()))), None);
    }

    #[test]
    fn light_edges_do_not_hide_a_grid() {
        // Would catch a search that stops at the first diagonal or reduction.
        let graph = grid(&[(6, false), (5, false)], 3);
        let mut arcs = ArcList::new(30);
        graph.phases[0].arcs.iter().for_each(|(from, to, bytes, _)| arcs.add(from, to, 100 * bytes, 1));
        (1..30).for_each(|task| arcs.add_both(0, task, 1, 1));
        let shape = recognize(&Affinity::new(&TaskGraph::new("noisy", arcs.build())));
        let mut dims = shape.map(|shape| shape.dims).unwrap_or_default();
        dims.sort_unstable();
        assert_eq!(dims, [5, 6]);
    }
}
