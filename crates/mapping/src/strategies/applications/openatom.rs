//! OpenAtom (paper, section 3.3.1): the torus is divided into prisms along its longest dimension, one for each plane of
//! GSpace, and the states of a plane are laid out along its prism. The states of RealSpace go to the slabs across, which
//! hold all planes of a state of GSpace; the PairCalculators of a plane go near the centroid of their blocks of states, in
//! the plane's prism.
//!
//! What the paper leaves open: prisms take consecutive columns in a winding order of the cross section, several planes share
//! a column where there are more planes than columns, and among the processors that qualify the least loaded is taken.

use workload::tasks::TaskArray;

use super::super::repair::repair;
use super::array;
use crate::{GridHops, Hops, Mapping, MappingError, Problem};

/// `prisms`.
pub(crate) fn prisms(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let graph = problem.graph;
    let (gspace, real) = (array(graph, "gspace", "prisms")?, array(graph, "realspace", "prisms")?);
    let pairs = array(graph, "paircalculators", "prisms")?;
    let shape = Shape::of(problem)?;
    let room = problem.room()?;
    let mut filling = Filling {
        loads: &graph.loads,
        load: vec![0.0; problem.machine.places() as usize],
        place_of: vec![0; graph.loads.len()],
    };
    let (states, planes) = (gspace.dims[0], gspace.dims[1]);
    for plane in 0..planes {
        let columns = shape.prism(plane, planes);
        for state in 0..states {
            let level = shape.level(state, states);
            filling
                .put(gspace.first + state + states * plane, columns.clone().map(|column| shape.place(column, level)));
        }
    }
    put_real(&shape, real, &mut filling);
    put_pairs(&shape, pairs, planes, &mut filling);
    let mut mapping = Mapping { place_of: filling.place_of };
    repair(problem, room, &mut mapping);
    Ok(mapping)
}

/// RealSpace: the planes of a state over the slab of that state.
fn put_real(shape: &Shape, real: &TaskArray, filling: &mut Filling<'_>) {
    let (states, planes) = (real.dims[0], real.dims[1]);
    for state in 0..states {
        let level = shape.level(state, states);
        for plane in 0..planes {
            let task = real.first + state + states * plane;
            filling.put(task, shape.prism(plane, planes).map(|column| shape.place(column, level)));
        }
    }
}

/// PairCalculators: between their two blocks of states, in the prism of their plane.
fn put_pairs(shape: &Shape, pairs: &TaskArray, planes: u32, filling: &mut Filling<'_>) {
    let blocks = pairs.dims[0];
    for plane in 0..pairs.dims[2] {
        let columns = shape.prism(plane, planes);
        for number in 0..blocks * blocks {
            let (one, other) = (number % blocks, number / blocks);
            // The middle of a block b of B is at (2 b + 1) / (2 B) of the axis; that of two blocks between them.
            let level = shape.level(one + other + 1, 2 * blocks).min(shape.long - 1);
            let near = [level, (level + 1) % shape.long, (level + shape.long - 1) % shape.long];
            let task = pairs.first + number + blocks * blocks * plane;
            filling.put(task, columns.clone().flat_map(|column| near.map(|level| shape.place(column, level))));
        }
    }
}

struct Filling<'a> {
    loads: &'a [f64],
    load: Vec<f64>,
    place_of: Vec<u32>,
}

impl Filling<'_> {
    /// Puts a task on the least loaded of some places; ties go to the first.
    fn put(&mut self, task: u32, places: impl Iterator<Item = u32>) {
        let mut best: Option<u32> = None;
        for place in places {
            if best.is_none_or(|kept| self.load[place as usize] < self.load[kept as usize]) {
                best = Some(place);
            }
        }
        if let Some(place) = best {
            self.place_of[task as usize] = place;
            self.load[place as usize] += self.loads[task as usize];
        }
    }
}

/// A box of a torus or mesh as columns along its longest dimension.
struct Shape {
    /// The extent of the longest dimension.
    long: u32,
    /// The columns, neighbours in the cross section after one another.
    columns: Vec<Vec<u32>>,
}

impl Shape {
    fn of(problem: &Problem<'_>) -> Result<Self, MappingError> {
        let machine = problem.machine;
        let refused = || {
            let message = "`prisms` is for tori and meshes, with an allocation that is a box (`auto` is for any)";
            MappingError::unfit("strategy", message)
        };
        let Hops::Grid(grid) = machine.hops() else { return Err(refused()) };
        let bounds = machine.bounds();
        let points: u64 = bounds.iter().map(|&(_, extent)| u64::from(extent)).product();
        if points != u64::from(machine.places()) {
            return Err(refused());
        }
        let axis = (0..bounds.len()).max_by_key(|&dim| (bounds[dim].1, std::cmp::Reverse(dim))).unwrap_or(0);
        let long = bounds[axis].1;
        let mut columns: Vec<Vec<u32>> = vec![vec![0; long as usize]; (points / u64::from(long)) as usize];
        for place in 0..machine.places() {
            let at = (u32::from(grid.of(place)[axis]) - bounds[axis].0) as usize;
            columns[winding(grid, place, &bounds, axis)][at] = place;
        }
        Ok(Self { long, columns })
    }

    /// The columns of a plane's prism: consecutive ones, or one that is shared.
    fn prism(&self, plane: u32, planes: u32) -> std::ops::Range<usize> {
        let all = self.columns.len() as u64;
        let edge = |plane: u32| (u64::from(plane) * all / u64::from(planes.max(1))) as usize;
        let first = edge(plane).min(self.columns.len() - 1);
        first..edge(plane + 1).max(first + 1).min(self.columns.len())
    }

    /// Where along the axis one of so many is.
    fn level(&self, number: u32, count: u32) -> u32 {
        (u64::from(number) * u64::from(self.long) / u64::from(count.max(1))).min(u64::from(self.long) - 1) as u32
    }

    fn place(&self, column: usize, level: u32) -> u32 {
        self.columns[column][level as usize]
    }
}

/// The number of a place's column: dimension by dimension, every other row backwards.
fn winding(grid: &GridHops, place: u32, bounds: &[(u32, u32)], axis: usize) -> usize {
    let mut number = 0_usize;
    for dim in (0..bounds.len()).rev().filter(|&dim| dim != axis) {
        let (low, extent) = bounds[dim];
        let at = u32::from(grid.of(place)[dim]) - low;
        let turned = if number.is_multiple_of(2) { at } else { extent - 1 - at };
        number = number * extent as usize + turned as usize;
    }
    number
}
