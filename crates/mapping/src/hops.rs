//! Hops between the nodes of a machine: the distance that strategies use.
//!
//! The hops of a message are the channels that it crosses between nodes under the machine's default routing. On a torus
//! or mesh with one node on each router, these are the channels between routers. Elsewhere the channels into and out of
//! the network count too: 2, 4, 6 in a tree by the level of the nearest common switch, and the channels of the minimal
//! path between routers + 2 in a dragonfly. Hops within a node are 0.
//!
//! With several networks, a message's hops are those of each network on its way, as that network counts them, times the
//! network's cost of a hop: of the first network that joins the ends, or of the legs to relays and from them. Networks
//! that take messages of some sizes only are refused.
//!
//! Places are indices into the machine's allocation. A torus or mesh computes hops from coordinates. Other topologies
//! use a table of the hops between the routers that have allocated nodes.

use routing::PathLengths;
use topology::families::networks::Networks;
use topology::views::Grid;
use topology::{NO_PATH, Topology};
use units::{LocatedError, NodeId, RouterId};

/// Largest size of a table of hops, in bytes. An entry takes one, two or four bytes, by the largest number of hops, for
/// each pair of routers with allocated nodes.
const MAX_TABLE_BYTES: usize = 24_000 * 24_000;

/// Hops between places.
pub trait Metric: Sync {
    /// Returns the hops from one place to another; 0 to itself. Symmetric, except for dragonflies with several wires
    /// between groups that are flattened butterflies, and for relays of several networks.
    fn hops(&self, from: u32, to: u32) -> u32;

    /// Returns whether two places have equal hops to all others. Tasks on separate nodes can then change places at no
    /// cost.
    fn alike(&self, _one: u32, _other: u32) -> bool {
        false
    }
}

/// Metric of a torus or mesh, possibly with several nodes on a router, computed from coordinates.
#[derive(Clone, Debug)]
pub struct GridHops {
    /// Extents of the whole machine.
    pub dims: Vec<u32>,
    /// Whether each dimension wraps.
    pub wraps: Vec<bool>,
    /// Coordinates of the places: `dims.len()` numbers for each place.
    pub coordinates: Vec<u16>,
    /// Hops from a node to its router and back, added between different nodes: 0 or 2.
    pub ends: u32,
}

impl GridHops {
    /// Returns the coordinates of a place.
    #[inline]
    pub fn of(&self, place: u32) -> &[u16] {
        let dims = self.dims.len();
        &self.coordinates[place as usize * dims..(place as usize + 1) * dims]
    }
}

impl Metric for GridHops {
    #[inline]
    fn hops(&self, from: u32, to: u32) -> u32 {
        if from == to {
            return 0;
        }
        let mut sum = self.ends;
        for (axis, (&a, &b)) in self.of(from).iter().zip(self.of(to)).enumerate() {
            let apart = u32::from(a.abs_diff(b));
            sum += if self.wraps[axis] { apart.min(self.dims[axis] - apart) } else { apart };
        }
        sum
    }
}

/// Hops of a grid of D dimensions, without a branch: for the inner loops of strategies.
#[derive(Clone, Debug)]
pub struct FixedGrid<const D: usize> {
    coordinates: Vec<[u16; D]>,
    /// Extent of each dimension that wraps. For a dimension without a wrap, a number so large that the way around is
    /// never shorter.
    around: [u32; D],
    ends: u32,
}

impl<const D: usize> FixedGrid<D> {
    fn new(grid: &GridHops) -> Self {
        let mut around = [1 << 20; D];
        for (around, (&size, &wraps)) in around.iter_mut().zip(grid.dims.iter().zip(&grid.wraps)) {
            if wraps {
                *around = size;
            }
        }
        let row = |place: &[u16]| std::array::from_fn(|axis| place[axis]);
        Self { coordinates: grid.coordinates.chunks_exact(D).map(row).collect(), around, ends: grid.ends }
    }
}

impl<const D: usize> Metric for FixedGrid<D> {
    #[inline]
    fn hops(&self, from: u32, to: u32) -> u32 {
        let (a, b) = (&self.coordinates[from as usize], &self.coordinates[to as usize]);
        let mut sum = 0;
        for axis in 0..D {
            let apart = u32::from(a[axis].abs_diff(b[axis]));
            sum += apart.min(self.around[axis] - apart);
        }
        if self.ends == 0 || from == to { sum } else { sum + self.ends }
    }
}

/// Metric of any other machine, looked up in a table.
#[derive(Clone, Debug)]
pub struct TableHops {
    /// Row of each place.
    row: Vec<u32>,
    rows: usize,
    /// Hops between two nodes, by pair of rows.
    table: Cells,
}

/// Whole numbers in the fewest bytes that hold the largest.
#[derive(Clone, Debug)]
enum Cells {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

impl Cells {
    /// Stores values in the narrowest type that holds them.
    fn of(values: &[u32]) -> Self {
        match values.iter().copied().max().unwrap_or(0) {
            0..=0xff => Self::One(values.iter().map(|&value| value as u8).collect()),
            0x100..=0xffff => Self::Two(values.iter().map(|&value| value as u16).collect()),
            _ => Self::Four(values.to_vec()),
        }
    }

    /// Joins rows of numbers.
    fn joined(rows: &[Self]) -> Self {
        let narrow: Option<Vec<&[u8]>> =
            rows.iter().map(|row| if let Self::One(cells) = row { Some(&cells[..]) } else { None }).collect();
        if let Some(narrow) = narrow {
            return Self::One(narrow.concat());
        }
        let values = rows.iter().flat_map(|row| (0..row.len()).map(|at| row.get(at)));
        if rows.iter().all(|row| row.width() <= 2) {
            Self::Two(values.map(|value| value as u16).collect())
        } else {
            Self::Four(values.collect())
        }
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        match self {
            Self::One(cells) => u32::from(cells[at]),
            Self::Two(cells) => u32::from(cells[at]),
            Self::Four(cells) => cells[at],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(cells) => cells.len(),
            Self::Two(cells) => cells.len(),
            Self::Four(cells) => cells.len(),
        }
    }

    /// Returns the bytes of a number.
    fn width(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Two(_) => 2,
            Self::Four(_) => 4,
        }
    }
}

impl TableHops {
    /// Returns the row of a place. Places in one row are alike.
    pub fn row(&self, place: u32) -> u32 {
        self.row[place as usize]
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the hops between different nodes of two rows.
    #[inline]
    pub fn between(&self, one: u32, other: u32) -> u32 {
        self.table.get(one as usize * self.rows + other as usize)
    }
}

impl Metric for TableHops {
    #[inline]
    fn hops(&self, from: u32, to: u32) -> u32 {
        if from == to { 0 } else { self.between(self.row[from as usize], self.row[to as usize]) }
    }

    #[inline]
    fn alike(&self, one: u32, other: u32) -> bool {
        self.row[one as usize] == self.row[other as usize]
    }
}

/// Hops of a machine.
#[derive(Clone, Debug)]
pub enum Hops {
    /// Computed from coordinates.
    Grid(GridHops),
    /// Looked up in a table.
    Table(TableHops),
}

/// Generic function that runs with the machine's concrete metric, so that inner loops are compiled for it.
pub trait HopsView {
    /// Result of the function.
    type Output;
    /// Runs the function.
    fn run<M: Metric>(self, metric: &M) -> Self::Output;
}

/// Calls a view with the metric.
pub fn with_metric<V: HopsView>(hops: &Hops, view: V) -> V::Output {
    match hops {
        Hops::Grid(grid) => match grid.dims.len() {
            1 => view.run(&FixedGrid::<1>::new(grid)),
            2 => view.run(&FixedGrid::<2>::new(grid)),
            3 => view.run(&FixedGrid::<3>::new(grid)),
            4 => view.run(&FixedGrid::<4>::new(grid)),
            5 => view.run(&FixedGrid::<5>::new(grid)),
            _ => view.run(grid),
        },
        Hops::Table(table) => view.run(table),
    }
}

/// Hops between any two nodes of a machine, as `Hops` counts them.
#[derive(Debug)]
pub struct NodeHops<'a>(Paths<'a>);

#[derive(Debug)]
enum Paths<'a> {
    /// In one network.
    One(&'a dyn Topology, PathLengths<'a>),
    /// Over several networks, with the hops in an island of each.
    Several(&'a Networks, Vec<NodeHops<'a>>),
}

impl<'a> NodeHops<'a> {
    /// Creates the hops of a topology.
    ///
    /// # Errors
    /// If the topology's default routing cannot be built.
    pub fn new(topology: &'a dyn Topology) -> Result<Self, LocatedError> {
        if let Some(networks) = several(topology) {
            let islands = networks.parts().iter().map(|part| Self::new(&*part.island)).collect::<Result<_, _>>()?;
            return Ok(Self(Paths::Several(networks, islands)));
        }
        Ok(Self(Paths::One(topology, path_lengths(topology)?)))
    }

    /// Returns the hops from one node to another. `NO_PATH` if several networks do not join them.
    pub fn between(&self, from: NodeId, to: NodeId) -> u32 {
        if from == to {
            return 0;
        }
        match &self.0 {
            Paths::One(topology, lengths) => {
                let router = |node| topology.attachment(node).0;
                let ends = grid(*topology).map_or(2, |_| ends(*topology));
                lengths.channels(router(from), router(to)) + ends
            }
            Paths::Several(networks, islands) => over_legs(networks, islands, (from, to)).unwrap_or(NO_PATH),
        }
    }
}

/// Returns the hops of the legs of a message, weighted by the costs of their networks. `None`: no way leads there.
fn over_legs(networks: &Networks, islands: &[NodeHops<'_>], (from, to): (NodeId, NodeId)) -> Option<u32> {
    let (mut at, mut sum) = (from, 0);
    while at != to {
        let leg = networks.next(at, to, 0)?;
        let part = &networks.parts()[leg.network];
        let own = |node| part.places.place(node).map(|(_, own)| own);
        sum += part.hop_cost * islands[leg.network].between(own(at)?, own(leg.to)?);
        at = leg.to;
    }
    Some(sum)
}

/// Returns the hops between places over several networks: a row for each place.
fn table_over(networks: &Networks, places: &[NodeId]) -> Result<TableHops, LocatedError> {
    if networks.rule().sizes.iter().any(|sizes| *sizes != (None, None)) {
        let message =
            "a mapping has one way for messages of all sizes, and `up_to` or `above` of a network limits them";
        return Err(LocatedError::key("machine", message));
    }
    fits(places.len(), 1)?;
    let hops = NodeHops::new(networks)?;
    let row = |&from: &NodeId| {
        let row: Vec<u32> = places.iter().map(|&to| hops.between(from, to)).collect();
        match row.iter().zip(places).find(|(hops, _)| **hops == NO_PATH) {
            Some((_, to)) => {
                Err(format!("no network joins endpoints {from} and {to}, and no relay; name one in [relay]"))
            }
            None => Ok(Cells::of(&row)),
        }
    };
    let rows: Result<Vec<Cells>, String> = workers::map(places, row).into_iter().collect();
    let rows = rows.map_err(|message| LocatedError::key("machine", message))?;
    fits(rows.len(), rows.iter().map(Cells::width).max().unwrap_or(1))?;
    Ok(TableHops { row: (0..places.len() as u32).collect(), rows: places.len(), table: Cells::joined(&rows) })
}

fn path_lengths(topology: &dyn Topology) -> Result<PathLengths<'_>, LocatedError> {
    PathLengths::new(topology).map_err(|error| LocatedError::key("machine", error.message))
}

/// Returns the extents of a machine whose hops follow from coordinates. None for other machines.
fn grid(topology: &dyn Topology) -> Option<&Grid> {
    topology.views().grid.filter(|grid| grid.dims().iter().all(|&size| size <= u32::from(u16::MAX)))
}

/// Returns the hops from a node of a grid to its router and back. 0 if each router has one node.
fn ends(topology: &dyn Topology) -> u32 {
    if topology.nodes() == topology.routers() / topology.planes() { 0 } else { 2 }
}

impl Hops {
    /// Returns the hops from one place to another.
    #[inline]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match self {
            Self::Grid(grid) => grid.hops(from, to),
            Self::Table(table) => table.hops(from, to),
        }
    }

    /// Prepares the hops between allocated nodes.
    ///
    /// # Errors
    /// If the machine is not a grid, and the table of hops would be larger than `MAX_TABLE_BYTES`.
    pub fn new(topology: &dyn Topology, places: &[NodeId]) -> Result<Self, LocatedError> {
        if let Some(networks) = several(topology) {
            return table_over(networks, places).map(Self::Table);
        }
        let home: Vec<RouterId> = places.iter().map(|&node| topology.attachment(node).0).collect();
        match grid(topology) {
            Some(grid) => {
                let dims = grid.dims().to_vec();
                // With several planes, the last coordinate is the plane.
                let place = |&router: &RouterId| topology.coordinates(router).into_iter().take(dims.len());
                let coordinates: Vec<u16> = home.iter().flat_map(place).map(|c| c as u16).collect();
                let wraps = (0..dims.len()).map(|dim| grid.wraps(dim)).collect();
                Ok(Self::Grid(GridHops { dims, wraps, coordinates, ends: ends(topology) }))
            }
            None => table(topology, &home).map(Self::Table),
        }
    }
}

/// Returns the networks of a machine that has several.
pub(crate) fn several(topology: &dyn Topology) -> Option<&Networks> {
    topology.views().networks.filter(|networks| networks.only().is_none())
}

fn table(topology: &dyn Topology, home: &[RouterId]) -> Result<TableHops, LocatedError> {
    let mut routers = home.to_vec();
    routers.sort_unstable();
    routers.dedup();
    fits(routers.len(), 1)?;
    let lengths = path_lengths(topology)?;
    let row = |from: RouterId| {
        let hops: Vec<u32> = routers.iter().map(|&to| lengths.channels(from, to) + 2).collect();
        Cells::of(&hops)
    };
    // No row has more than twice the hops of any other, so its width is a fair guess of the table's.
    if let Some(&first) = routers.first() {
        fits(routers.len(), row(first).width())?;
    }
    let rows = workers::map(&routers, |&from| row(from));
    fits(routers.len(), rows.iter().map(Cells::width).max().unwrap_or(1))?;
    let row_of = |router: &RouterId| routers.partition_point(|other| other < router) as u32;
    let of_place = home.iter().map(row_of).collect();
    Ok(TableHops { row: of_place, rows: routers.len(), table: Cells::joined(&rows) })
}

/// Refuses a table larger than `MAX_TABLE_BYTES`. `width` is the number of bytes for a pair of routers.
fn fits(routers: usize, width: usize) -> Result<(), LocatedError> {
    let most = (MAX_TABLE_BYTES / width).isqrt();
    if routers <= most {
        return Ok(());
    }
    let reason = if width == 1 { "" } else { " and as far apart as these" };
    let message = format!(
        "the allocation is spread over {routers} routers; up to {most} are supported where routers do not form a \
         grid{reason}"
    );
    Err(LocatedError::key("machine", message))
}
