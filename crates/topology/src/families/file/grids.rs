//! Grids of a file: tori, meshes and HyperX that its lines state, or that are found in its wires.
//!
//! A network takes the numbers of the grid that it is. Its routers may have any numbers in the file: `at` lines state
//! their coordinates, and `recognise` finds these. Routers then have the numbers of the grid, first dimension fastest,
//! and nodes are numbered router by router, with a note.
//!
//! Model choices of `recognise`: numbers of the file that are those of a grid stay. Otherwise dimensions are ordered by
//! the lowest router beside the first on its line, and two dimensions of two routers are a ring of four.

use std::collections::BTreeMap;
use std::sync::Arc;

use units::{Boundary, RouterId};

use super::product::{Factor, Line, factors};
use super::{FileTopology, router};
use crate::families::hyperx::{HyperX, HyperXSpec};
use crate::network::Topology;
use crate::shorthand::{Settings, short};
use crate::views::Grid;
use crate::wired::{Difference, difference, neighbours};
use crate::wires::MAX_PORTS;

/// Lines of a file about the grid of its routers.
#[derive(Debug, Default)]
pub(super) struct GridLines {
    sizes: Vec<u64>,
    kind: Option<Kind>,
    /// Coordinates by the router's number in the file.
    at: BTreeMap<u32, Vec<u64>>,
}

/// Kind of grid.
#[derive(Clone, Debug)]
enum Kind {
    /// Torus or mesh, by whether each dimension wraps.
    Grid(Vec<bool>),
    /// HyperX.
    Cliques,
}

impl GridLines {
    /// Reads a line `grid`, `cliques` or `at`. Returns whether it is one.
    pub(super) fn read(&mut self, first: &str, words: &[&str]) -> Result<bool, String> {
        match (first, words) {
            ("grid", [sizes, wraps @ ..]) if wraps.len() <= 1 => self.state(sizes, Some(wraps.first().copied()))?,
            ("grid", _) => return Err("a grid is written `grid SIZES [wrap=WRAPS]`, as `grid 4x4 wrap=1x0`".into()),
            ("cliques", [sizes]) => self.state(sizes, None)?,
            ("cliques", _) => return Err("a grid of cliques is written `cliques SIZES`, as `cliques 4x4`".into()),
            ("at", [coordinates, word]) => {
                let coordinates = Settings::read(coordinates, &["at"]).and_then(|settings| settings.numbers("at"));
                let own = router(word)?;
                if self.at.insert(own.0, coordinates.map_err(|error| error.message)?).is_some() {
                    return Err(format!("router {own} has coordinates already"));
                }
            }
            ("at", _) => return Err("the place of a router is written `at COORDINATES ROUTER`, as `at 2x0 5`".into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Notes the sizes of a grid, and the text of its wraps; `None` of a grid of cliques.
    fn state(&mut self, sizes: &str, wraps: Option<Option<&str>>) -> Result<(), String> {
        if self.kind.is_some() {
            return Err("this is the second grid of the file".into());
        }
        let text = wraps.flatten().map_or_else(|| sizes.to_owned(), |wraps| format!("{sizes},{wraps}"));
        let settings = Settings::read(&text, &["sizes", "wrap"]).map_err(|error| error.message)?;
        self.sizes = settings.numbers("sizes").map_err(|error| error.message)?;
        let wraps = match (wraps, settings.text("wrap")) {
            (None, _) => None,
            (Some(_), None) => Some(vec![false; self.sizes.len()]),
            (Some(_), Some(_)) => Some(settings.truths("wrap").map_err(|error| error.message)?),
        };
        if let Some(wraps) = wraps.as_ref().filter(|wraps| wraps.len() != self.sizes.len()) {
            return Err(format!("`wrap` has {} numbers for {} sizes", wraps.len(), self.sizes.len()));
        }
        self.kind = Some(wraps.map_or(Kind::Cliques, Kind::Grid));
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kind.is_none() && self.at.is_empty()
    }

    /// Gives a network the grid that the lines state.
    pub(super) fn apply(&self, made: &mut FileTopology) -> Result<(), String> {
        let Some(kind) = &self.kind else {
            return match self.at.is_empty() {
                true => Ok(()),
                false => Err("has coordinates of routers, but no line `grid` or `cliques`".into()),
            };
        };
        let sizes = checked_sizes(made, &self.sizes)?;
        if !self.at.is_empty() {
            let order = self.order(made, &sizes)?;
            renumber(made, &order);
        }
        let text = written(&self.sizes);
        let (grid, what): (Arc<dyn Topology>, _) = match kind {
            Kind::Grid(wraps) => (Arc::new(grid(made, &self.sizes, wraps)?), "routers with these wraps"),
            Kind::Cliques => (cliques(made, &self.sizes)?, "cliques"),
        };
        match difference(made, &*grid) {
            Some(found) => Err(format!("is no grid of {text} {what}: {}", told(made, found))),
            None => {
                take(made, grid);
                Ok(())
            }
        }
    }

    /// Returns the router at each place of the grid.
    fn order(&self, made: &FileTopology, sizes: &[u32]) -> Result<Vec<RouterId>, String> {
        let mut order = vec![None; made.routers() as usize];
        let mut placed = 0;
        for own in (0..made.routers()).map(RouterId) {
            let number = made.shape.number(own);
            let at = self.at.get(&number).ok_or_else(|| format!("has no coordinates of router {number}"))?;
            let is_inside = at.len() == sizes.len() && at.iter().zip(sizes).all(|(&at, &size)| at < u64::from(size));
            if !is_inside {
                return Err(format!("has router {number} at {}, which is no place of the grid", written(at)));
            }
            let place = at.iter().zip(sizes).rev().fold(0, |place, (&at, &size)| place * size as usize + at as usize);
            if let Some(other) = order[place].replace(own) {
                let other = made.shape.number(other);
                return Err(format!("has the routers {other} and {number} at one place, {}", written(at)));
            }
            placed += 1;
        }
        match self.at.len() > placed {
            true => Err("has coordinates of a router that has neither wires nor nodes".into()),
            // All places are taken: there are as many as routers.
            false => Ok(order.into_iter().flatten().collect()),
        }
    }
}

/// Finds the torus or mesh that a network is.
pub(super) fn find_grid(made: &mut FileTopology) -> Result<(), String> {
    let found = match as_numbered(made) {
        Some(grid) => Some((made.clone(), grid)),
        None => factors(made).and_then(|factors| {
            let factors = with_rings(factors);
            let wraps: Option<Vec<bool>> = factors.iter().map(wraps).collect();
            let (renumbered, sizes) = in_order(made, &factors);
            let grid = grid(&renumbered, &sizes, &wraps?).ok()?;
            difference(&renumbered, &grid).is_none().then_some((renumbered, grid))
        }),
    };
    let (mut found, grid) = found.ok_or("is no torus and no mesh with equally many nodes on each router")?;
    take(&mut found, Arc::new(grid));
    *made = found;
    Ok(())
}

/// Finds the HyperX that a network is.
pub(super) fn find_cliques(made: &mut FileTopology) -> Result<(), String> {
    let found = factors(made).and_then(|factors| {
        let is_clique = |factor: &Factor| factor.shape == Line::Clique || factor.size <= 3;
        let (renumbered, sizes) = in_order(made, &factors);
        let family = cliques(&renumbered, &sizes).ok()?;
        let fits = factors.iter().all(is_clique) && difference(&renumbered, &*family).is_none();
        fits.then_some((renumbered, family))
    });
    let (mut found, family) = found.ok_or("is no HyperX with equally many nodes on each router")?;
    take(&mut found, family);
    *made = found;
    Ok(())
}

/// Joins the dimensions of two routers and one wire to rings of four, in pairs.
fn with_rings(factors: Vec<Factor>) -> Vec<Factor> {
    let mut joined: Vec<Factor> = Vec::new();
    let mut open = None;
    for factor in factors {
        if factor.size != 2 || factor.wires != 1 {
            joined.push(factor);
        } else if let Some(place) = open.take() {
            let one: &mut Factor = &mut joined[place];
            let second = factor.coordinates;
            // The ring passes (0, 0), (1, 0), (1, 1) and (0, 1).
            one.coordinates
                .iter_mut()
                .zip(second)
                .for_each(|(own, second)| *own = [[0, 3], [1, 2]][*own as usize][second as usize]);
            (one.size, one.shape) = (4, Line::Ring);
        } else {
            open = Some(joined.len());
            joined.push(factor);
        }
    }
    joined
}

/// Returns whether a dimension wraps; `None` if it is none of a torus or a mesh.
fn wraps(factor: &Factor) -> Option<bool> {
    match (factor.shape, factor.size, factor.wires) {
        // The two wires of a ring of two routers are parallel.
        (Line::Path, 2, 2) | (Line::Ring, _, 1) => Some(true),
        (Line::Path, _, 1) => Some(false),
        _ => None,
    }
}

/// Returns a network with the numbers of the grid of some dimensions, and the sizes of that grid.
fn in_order(made: &FileTopology, factors: &[Factor]) -> (FileTopology, Vec<u64>) {
    let place = |own: RouterId| {
        factors
            .iter()
            .rev()
            .fold(0, |place, factor| place * u64::from(factor.size) + u64::from(factor.coordinates[own.index()]))
    };
    let mut order: Vec<RouterId> = (0..made.routers()).map(RouterId).collect();
    order.sort_by_key(|&own| place(own));
    let mut renumbered = made.clone();
    renumber(&mut renumbered, &order);
    (renumbered, factors.iter().map(|factor| u64::from(factor.size)).collect())
}

/// Renumbers the routers, given the present number of each, and the nodes router by router.
fn renumber(made: &mut FileTopology, order: &[RouterId]) {
    let homes =
        |made: &FileTopology| (0..made.nodes()).map(|node| made.attachment(units::NodeId(node)).0).collect::<Vec<_>>();
    let (numbers, before) = (order.iter().map(|&own| made.shape.number(own)).collect(), homes(made));
    let is_other = order.iter().enumerate().any(|(place, own)| own.index() != place);
    made.renumber(order);
    if is_other || homes(made) != before {
        let first = made.shape.number(order[0]);
        (made.shape.numbers, made.shape.renumbered) = (numbers, true);
        made.shape.notes.push(format!(
            "routers are numbered by their places in the grid, and nodes router by router: router 0 has the number {first} in the \
             file"
        ));
    }
}

/// Returns the sizes of a grid of all routers.
fn checked_sizes(made: &FileTopology, sizes: &[u64]) -> Result<Vec<u32>, String> {
    let routers = sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
    if routers != Some(made.routers().into()) || sizes.is_empty() || sizes.iter().any(|&size| size < 2) {
        let text = written(sizes);
        return Err(format!("has {} routers, which are no grid of {text}, of sizes of at least 2", made.routers()));
    }
    Ok(sizes.iter().map(|&size| size as u32).collect())
}

/// Returns the number of nodes on each router.
fn nodes_on_each(made: &FileTopology) -> Result<u32, String> {
    let nodes = made.nodes() / made.routers();
    match nodes == 0 || nodes * made.routers() != made.nodes() {
        true => {
            let (nodes, routers) = (made.nodes(), made.routers());
            Err(format!("has {nodes} nodes on {routers} routers; a grid has equally many on each"))
        }
        false => Ok(nodes),
    }
}

/// Creates the torus or mesh of a network, with equally many nodes on each router.
fn grid(made: &FileTopology, sizes: &[u64], wraps: &[bool]) -> Result<Grid, String> {
    let (sizes, nodes) = (checked_sizes(made, sizes)?, nodes_on_each(made)?);
    // Below 2^12 routers have at most 12 dimensions.
    if nodes + 2 * sizes.len() as u32 > u32::from(MAX_PORTS) {
        return Err(format!("has too many nodes on each router of a grid: {nodes}"));
    }
    Ok(Grid::of("file", sizes, nodes as u16, wraps.iter().copied().map(Boundary::of)))
}

/// Creates the HyperX of a network, with equally many nodes on each router and the parallel wires of the first router.
fn cliques(made: &FileTopology, sizes: &[u64]) -> Result<Arc<dyn Topology>, String> {
    checked_sizes(made, sizes)?;
    let nodes_per_router = u64::from(nodes_on_each(made)?);
    let mut stride = 1;
    let count = |&size: &u64| {
        let next = stride;
        stride *= size;
        neighbours(made, RouterId(0)).filter(|&(_, other)| u64::from(other.0) == next).count().max(1) as u64
    };
    let wires = sizes.iter().map(count).collect();
    let family = HyperX::new(&HyperXSpec { dims: sizes.to_vec(), wires, nodes_per_router });
    family
        .map(|family| Arc::new(family) as Arc<dyn Topology>)
        .map_err(|error| format!("is no HyperX: {}", error.message))
}

/// Gives a network the ports and views of a family's network that it equals.
pub(super) fn take(made: &mut FileTopology, family: Arc<dyn Topology>) {
    made.take_ports(&*family);
    made.shape.family = Some(family);
}

fn written(numbers: &[u64]) -> String {
    short(&numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("x"))
}

/// Describes a difference between a network and a grid.
fn told(made: &FileTopology, difference: Difference) -> String {
    match difference {
        Difference::Sizes => "it has another number of routers or nodes".into(),
        Difference::Wires(router) => format!("router {} is wired to other routers", made.shape.number(router)),
        Difference::Node(node) => format!("node {node} is on another router; nodes are numbered router by router"),
    }
}

/// Finds a torus or mesh that a network is with its numbers, apart from the order of ports, with the fewest dimensions.
fn as_numbered(made: &FileTopology) -> Option<Grid> {
    let first: Vec<u32> = neighbours(made, RouterId(0)).map(|(_, next)| next.0).collect();
    let wires_to = |router: u64| first.iter().filter(|&&next| u64::from(next) == router).count();
    let mut lists = factorizations(made.routers().into());
    lists.sort_by_key(Vec::len);
    lists.into_iter().find_map(|sizes| {
        let mut stride = 1;
        // The wires of the first router tell which dimensions wrap.
        let wraps = |&size: &u64| {
            let last = (size - 1) * stride;
            stride *= size;
            wires_to(last) > usize::from(size == 2)
        };
        let wraps: Vec<bool> = sizes.iter().map(wraps).collect();
        let degree = sizes.len() + wraps.iter().filter(|&&wraps| wraps).count();
        if degree != first.len() {
            return None;
        }
        grid(made, &sizes, &wraps).ok().filter(|grid| difference(made, grid).is_none())
    })
}

/// Returns the lists of numbers from 2 on, in any order, whose product is a number.
fn factorizations(number: u64) -> Vec<Vec<u64>> {
    if number == 1 {
        return vec![Vec::new()];
    }
    let first = (2..=number).filter(|first| number.is_multiple_of(*first));
    first
        .flat_map(|first| {
            factorizations(number / first).into_iter().map(move |mut rest| {
                rest.insert(0, first);
                rest
            })
        })
        .collect()
}
