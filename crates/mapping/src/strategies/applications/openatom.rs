//! OpenAtom (paper, section 3.3.1): the torus is divided into prisms along one of its dimensions, one for each plane of
//! GSpace, and the states of a plane are laid out along its prism. The states of RealSpace go to the slabs across,
//! which hold all planes of a state of GSpace; the PairCalculators of a plane go near the centroid of their blocks of
//! states, in the plane's prism.
//!
//! Decisions that the paper leaves open: each dimension is tried as the prisms' axis, and the one with the fewest
//! hop-bytes (counting a multicast once a node) is taken, the longest of equals. A prism's cross section is the most
//! compact box of its size (consecutive columns in a winding order, if there is none). Several planes share a column if
//! there are more planes than columns. Among the processors that qualify the least loaded is taken.

use tasks::TaskArray;

use super::super::repair::repair;
use super::array;
use crate::{Hops, Mapping, MappingError, Problem, measure};

/// Strategy `prisms`.
pub(crate) fn prisms(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let graph = problem.graph;
    let (gspace, real) = (array(graph, "gspace", "prisms")?, array(graph, "realspace", "prisms")?);
    let pairs = array(graph, "paircalculators", "prisms")?;
    let room = problem.room()?;
    let mut best: Option<(f64, Mapping)> = None;
    for axis in Shape::axes(problem)? {
        let shape = Shape::along(problem, axis, gspace.dims[1])?;
        let mut mapping = along(problem, &shape, (gspace, real, pairs));
        repair(problem, room, &mut mapping);
        let cost = measure(graph, problem.machine, &mapping).multicast_hop_bytes;
        if best.as_ref().is_none_or(|&(least, _)| cost < least) {
            best = Some((cost, mapping));
        }
    }
    best.map(|(_, mapping)| mapping).ok_or_else(refused)
}

/// Returns the mapping with prisms along an axis.
fn along(problem: &Problem<'_>, shape: &Shape, (gspace, real, pairs): (&TaskArray, &TaskArray, &TaskArray)) -> Mapping {
    let graph = problem.graph;
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
    put_real(shape, real, &mut filling);
    put_pairs(shape, pairs, planes, &mut filling);
    Mapping { place_of: filling.place_of }
}

fn refused() -> MappingError {
    let message = "`prisms` is for tori and meshes, with an allocation that is a box (`auto` is for any)";
    MappingError::unfit("strategy", message)
}

/// Places RealSpace: the planes of a state over the slab of that state.
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

/// Places PairCalculators in the prism of their plane, in the order of the middles of their two blocks of states. More
/// middles lie near the middle of the prism than at its ends, so each level takes an equal share of that order.
fn put_pairs(shape: &Shape, pairs: &TaskArray, planes: u32, filling: &mut Filling<'_>) {
    let blocks = pairs.dims[0];
    for plane in 0..pairs.dims[2] {
        let columns = shape.prism(plane, planes);
        let mut order: Vec<u32> = (0..blocks * blocks).collect();
        order.sort_by_key(|number| number % blocks + number / blocks);
        for (rank, number) in (0..).zip(order) {
            let level = shape.level(rank, blocks * blocks);
            let task = pairs.first + number + blocks * blocks * plane;
            filling.put(task, columns.clone().map(|column| shape.place(column, level)));
        }
    }
}

struct Filling<'a> {
    loads: &'a [f64],
    load: Vec<f64>,
    place_of: Vec<u32>,
}

impl Filling<'_> {
    /// Places a task on the least loaded of `places`; ties go to the first.
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

/// Box of a torus or mesh as columns along one of its dimensions.
struct Shape {
    /// Extent of the dimension of the columns.
    long: u32,
    /// Columns; the columns of a prism are consecutive.
    columns: Vec<Vec<u32>>,
}

impl Shape {
    /// Returns the dimensions of a machine, the longest first.
    fn axes(problem: &Problem<'_>) -> Result<Vec<usize>, MappingError> {
        let machine = problem.machine;
        if !matches!(machine.hops(), Hops::Grid(_)) {
            return Err(refused());
        }
        let bounds = machine.bounds();
        let points: u64 = bounds.iter().map(|&(_, extent)| u64::from(extent)).product();
        if points != u64::from(machine.places()) {
            return Err(refused());
        }
        let mut axes: Vec<usize> = (0..bounds.len()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(bounds[axis].1));
        Ok(axes)
    }

    /// Creates the columns along an axis, for `prisms` prisms.
    fn along(problem: &Problem<'_>, axis: usize, prisms: u32) -> Result<Self, MappingError> {
        let machine = problem.machine;
        let Hops::Grid(grid) = machine.hops() else { return Err(refused()) };
        let bounds = machine.bounds();
        let long = bounds[axis].1;
        let across: Vec<(usize, (u32, u32))> =
            bounds.iter().copied().enumerate().filter(|&(dim, _)| dim != axis).collect();
        let extents: Vec<u32> = across.iter().map(|&(_, (_, extent))| extent).collect();
        let count: u32 = extents.iter().product();
        let section = section(&extents, if count.is_multiple_of(prisms) { count / prisms } else { 1 });
        let sections: Vec<u32> = extents.iter().zip(&section).map(|(extent, side)| extent / side).collect();
        let mut columns: Vec<Vec<u32>> = vec![vec![0; long as usize]; count as usize];
        for place in 0..machine.places() {
            let at = |&(dim, (low, _)): &(usize, (u32, u32))| u32::from(grid.of(place)[dim]) - low;
            let at: Vec<u32> = across.iter().map(at).collect();
            let part = |rest: bool| -> Vec<u32> {
                at.iter().zip(&section).map(|(at, side)| if rest { at % side } else { at / side }).collect()
            };
            let size: u32 = section.iter().product();
            let column = winding(&part(false), &sections) * size as usize + winding(&part(true), &section);
            columns[column][(u32::from(grid.of(place)[axis]) - bounds[axis].0) as usize] = place;
        }
        Ok(Self { long, columns })
    }

    /// Returns the columns of a plane's prism: several consecutive columns, or one column that is shared.
    fn prism(&self, plane: u32, planes: u32) -> std::ops::Range<usize> {
        let all = self.columns.len() as u64;
        let edge = |plane: u32| (u64::from(plane) * all / u64::from(planes.max(1))) as usize;
        let first = edge(plane).min(self.columns.len() - 1);
        first..edge(plane + 1).max(first + 1).min(self.columns.len())
    }

    /// Returns the position along the axis of point `number` of `count`.
    fn level(&self, number: u32, count: u32) -> u32 {
        (u64::from(number) * u64::from(self.long) / u64::from(count.max(1))).min(u64::from(self.long) - 1) as u32
    }

    fn place(&self, column: usize, level: u32) -> u32 {
        self.columns[column][level as usize]
    }
}

/// Returns the most compact box of a size whose sides divide some extents; sides of 1 if there is none.
fn section(extents: &[u32], size: u32) -> Vec<u32> {
    let mut best: Option<Vec<u32>> = None;
    let mut open = vec![(Vec::new(), size)];
    while let Some((sides, rest)) = open.pop() {
        let Some(&extent) = extents.get(sides.len()) else {
            let sum = |sides: &Vec<u32>| sides.iter().sum::<u32>();
            if rest == 1 && best.as_ref().is_none_or(|kept| sum(&sides) < sum(kept)) {
                best = Some(sides);
            }
            continue;
        };
        for side in (1..=extent).filter(|&side| extent.is_multiple_of(side) && rest.is_multiple_of(side)) {
            open.push(([sides.as_slice(), &[side]].concat(), rest / side));
        }
    }
    best.unwrap_or_else(|| vec![1; extents.len()])
}

/// Returns the number of a point in a winding order: dimension by dimension from the last, every other row backwards.
fn winding(at: &[u32], extents: &[u32]) -> usize {
    let mut number = 0_usize;
    for (&at, &extent) in at.iter().zip(extents).rev() {
        let turned = if number.is_multiple_of(2) { at } else { extent - 1 - at };
        number = number * extent as usize + turned as usize;
    }
    number
}
