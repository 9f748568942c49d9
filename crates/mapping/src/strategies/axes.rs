//! Machine as a product of axes, on which grids of tasks are folded.

use crate::{GridHops, Hops, Machine, Metric, TableHops};

/// Kind of axis, which determines the cost of a step along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Cores of a node: a step costs nothing.
    Core,
    /// Nodes of a router: any two have an equal distance.
    Shared,
    /// Along a dimension of a grid.
    Line {
        /// Whether the dimension is a ring.
        wraps: bool,
    },
    /// Parts of a level of a hierarchy: any two have an equal distance, whatever changes below the level.
    Level,
}

/// Factor of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Extent of the axis.
    pub(crate) size: u32,
    /// Kind of the axis.
    pub(crate) kind: Kind,
    /// Hops of a step, besides those along a line.
    pub(crate) hops: f64,
}

/// Machine as axes, finest first, with the place of each point.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// Axes of the machine.
    pub(crate) axes: Vec<Axis>,
    /// Place of each point; the first axis that is not of cores is the fastest.
    places: Vec<u32>,
}

impl Axes {
    /// Returns the axes of a machine whose nodes take `per_node` tasks each; `None` if its nodes are not a product of
    /// axes.
    pub(crate) fn of(machine: &Machine, per_node: u32) -> Option<Self> {
        let mut axes = match machine.hops() {
            Hops::Grid(grid) => Self::grid(grid, machine.places())?,
            Hops::Table(table) => Self::hierarchy(machine, table)?,
        };
        axes.axes.insert(0, Axis { size: per_node, kind: Kind::Core, hops: 0.0 });
        Some(axes)
    }

    /// Returns the number of points, cores included.
    pub(crate) fn points(&self) -> u64 {
        self.axes.iter().map(|axis| u64::from(axis.size)).product()
    }

    /// Returns the place of a point, given by its position on each axis.
    pub(crate) fn place(&self, at: &[u32]) -> u32 {
        let point =
            self.axes.iter().zip(at).skip(1).rev().fold(0, |sum, (axis, &at)| sum * axis.size as usize + at as usize);
        self.places[point]
    }

    /// Returns the axes of a box of a grid that is wholly allocated.
    fn grid(grid: &GridHops, places: u32) -> Option<Self> {
        let dims = grid.dims.len();
        let (mut low, mut high) = (vec![u16::MAX; dims], vec![0; dims]);
        for place in 0..places {
            for (dim, &at) in grid.of(place).iter().enumerate() {
                low[dim] = low[dim].min(at);
                high[dim] = high[dim].max(at);
            }
        }
        let extents: Vec<u32> = low.iter().zip(&high).map(|(&low, &high)| u32::from(high - low) + 1).collect();
        let points: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
        let shared = (u64::from(places) / points) as u32;
        if shared == 0 || points * u64::from(shared) != u64::from(places) {
            return None;
        }
        let mut table = vec![u32::MAX; places as usize];
        for place in 0..places {
            let at = grid.of(place).iter().zip(&low).map(|(&at, &low)| usize::from(at - low));
            let point = at.zip(&extents).rev().fold(0, |sum, (at, &extent)| sum * extent as usize + at);
            let row = &mut table[point * shared as usize..(point + 1) * shared as usize];
            *row.iter_mut().find(|slot| **slot == u32::MAX)? = place;
        }
        let ends = f64::from(grid.ends);
        let mut axes = vec![Axis { size: shared, kind: Kind::Shared, hops: ends }];
        for (dim, &size) in extents.iter().enumerate() {
            let wraps = grid.wraps[dim] && size == grid.dims[dim];
            axes.push(Axis { size, kind: Kind::Line { wraps }, hops: ends });
        }
        Some(Self { axes, places: table })
    }

    /// Returns the axes of a hierarchy of equal parts: the levels of a tree, or the routers and groups of a dragonfly.
    fn hierarchy(machine: &Machine, table: &TableHops) -> Option<Self> {
        let mut order: Vec<u32> = (0..machine.places()).collect();
        order.sort_by_key(|&place| machine.nodes()[place as usize]);
        let sizes = match machine.topology().views().node_groups {
            Some(groups) if machine.places() == machine.topology().nodes() => {
                let routers = table.rows() as u32;
                vec![machine.places() / routers, routers / groups.max(1), groups]
            }
            _ => parts(table, &order)?,
        };
        if sizes.iter().product::<u32>() != machine.places() {
            return None;
        }
        let mut axes = Vec::with_capacity(sizes.len());
        let mut inner = 1;
        for size in sizes {
            let outer = inner * size;
            axes.push(Axis { size, kind: Kind::Level, hops: mean_hops(table, &order[..outer as usize], inner) });
            inner = outer;
        }
        Some(Self { axes, places: order })
    }
}

/// Returns the sizes of the levels of a tree, from the number of places within each distance of the first place.
fn parts(table: &TableHops, order: &[u32]) -> Option<Vec<u32>> {
    let mut within: Vec<u32> = Vec::new();
    for &place in order {
        let hops = table.hops(order[0], place) as usize;
        if within.len() <= hops {
            within.resize(hops + 1, 0);
        }
        within[hops] += 1;
    }
    let (mut sizes, mut inner, mut sum) = (Vec::new(), 1, 0);
    for count in within {
        sum += count;
        if sum > inner {
            if !sum.is_multiple_of(inner) {
                return None;
            }
            sizes.push(sum / inner);
            inner = sum;
        }
    }
    Some(sizes)
}

/// Returns the mean hops from the first part of a block to the others. `inner` places are a part.
fn mean_hops(table: &TableHops, block: &[u32], inner: u32) -> f64 {
    let others = &block[inner as usize..];
    // A sample suffices: parts are equal, and embeddings are judged by exact hops at the end.
    let step = (others.len() / 4096).max(1);
    let sample = others.iter().step_by(step);
    let (sum, count) =
        sample.fold((0.0, 0.0), |(sum, count), &place| (sum + f64::from(table.hops(block[0], place)), count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
