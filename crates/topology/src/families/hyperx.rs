//! HyperX: a grid of routers in which the routers of every line of every dimension are a clique (Ahn, Binkert, Davis,
//! McLaren and Schreiber, "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009).
//!
//! Numbering, for L dimensions of S_d routers, K_d parallel wires between two routers of a line of dimension d, and n
//! nodes on each router:
//!
//! - Router r has the coordinates (c_0, c_1, ...) with `r = c_0 + S_0 * (c_1 + S_1 * (c_2 + ...))`: first dimension
//!   fastest.
//! - Node x is attached to port `x mod n` of router `x / n`.
//! - The ports of dimension d follow those of the nodes and of the dimensions below d. They are ordered by the peer's
//!   coordinate (the router's coordinate is left out), then by wire. Wire k of a router is wire k of its peer.
//!
//! A router has `n + sum of (S_d - 1) K_d` ports. The distance between two routers is the number of coordinates that
//! differ. There are no tables: an endpoint costs a search among the dimensions.
//!
//! The bisection cuts the dimensions in ascending order of `K_d * ceil(S_d / 2)`, the order that cuts least.
//! A dimension of even size is cut in the middle, which ends the cut: `R S_d K_d / 4` wires of R routers. One of odd
//! size is cut on both sides of its middle slab, which the next dimension cuts. Both separate `floor(S_d^2 / 4)` pairs
//! of routers in each line. With odd sizes only, one half has one router more, and there is no closed form unless all
//! `K_d` are equal: with sizes 3 and 5 and 3 and 2 wires, slabs cut 42 wires, and the least cut has 40.
//!
//! Limits: 8 dimensions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::shorthand::Settings;
use crate::views::{Cliques, Grid, Line};
use crate::wires::{ChannelClass, Endpoint, MAX_ALL_PORTS, MAX_NODES, MAX_PORTS, MAX_ROUTERS, product};

/// Names of the channel classes, and of the coordinates from the third on.
const NAMES: [&str; 10] = ["injection", "ejection", "dim0", "dim1", "dim2", "dim3", "dim4", "dim5", "dim6", "dim7"];

/// Maximum number of dimensions.
const MAX_DIMS: usize = NAMES.len() - 2;

/// HyperX: a grid of routers with wires between any two routers of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HyperXSpec {
    /// Number of routers in each dimension, at least 2 each. The first dimension is numbered fastest.
    #[schemars(length(min = 1, max = 8), inner(range(min = 2, max = 32768)), extend("x-example" = "[4, 4]"))]
    pub dims: Vec<u64>,
    /// Number of parallel wires between two routers of a line, for each dimension. One number is for all dimensions.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1, max = 65534)))]
    #[serde(default = "single_wires")]
    pub wires: Vec<u64>,
    /// Number of nodes on each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65534))]
    pub nodes_per_router: u64,
}

fn single_wires() -> Vec<u64> {
    vec![1]
}

fn one() -> u64 {
    1
}

impl HyperXSpec {
    /// Reads the shorthand `8x8x8,nodes_per_router=8` or `8x8,wires=1x2`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["dims", "wires", "nodes_per_router"])?;
        let wires = settings.text("wires").map_or_else(|| Ok(single_wires()), |_| settings.numbers("wires"))?;
        let nodes_per_router = settings.number_or("nodes_per_router", one())?;
        Ok(Self { dims: settings.numbers("dims")?, wires, nodes_per_router })
    }

    /// Returns the number of parallel wires of each dimension.
    fn wires_by_dim(&self) -> Result<Vec<u64>, KeyError> {
        let wires = match self.wires[..] {
            [wires] => vec![wires; self.dims.len()],
            _ => self.wires.clone(),
        };
        if wires.len() != self.dims.len() {
            let message = format!("`wires` has {} numbers for {} `dims`", wires.len(), self.dims.len());
            return Err(KeyError::new("wires", message));
        }
        match wires.iter().find(|wires| !(1..u64::from(MAX_PORTS)).contains(*wires)) {
            Some(wrong) => {
                Err(KeyError::new("wires", format!("`wires` is {wrong}; 1 to {} are allowed", MAX_PORTS - 1)))
            }
            None => Ok(wires),
        }
    }
}

/// HyperX of checked sizes.
#[derive(Clone, Debug)]
pub struct HyperX {
    cliques: Cliques,
}

impl HyperX {
    /// Builds a HyperX. Fails if there are not 1 to 8 dimensions of at least 2 routers, or if it would have more than
    /// `MAX_ROUTERS` routers, `MAX_NODES` nodes, `MAX_PORTS` ports on a router or `MAX_ALL_PORTS` ports.
    pub fn new(spec: &HyperXSpec) -> Result<Self, KeyError> {
        if !(1..=MAX_DIMS).contains(&spec.dims.len()) || spec.dims.iter().any(|&size| size < 2) {
            let message = format!("`dims` is {:?}; 1 to {MAX_DIMS} sizes of at least 2 are allowed", spec.dims);
            return Err(KeyError::new("dims", message));
        }
        let Some(routers) = product(spec.dims.iter().copied(), MAX_ROUTERS) else {
            let message = format!("`dims` is {:?}; at most {MAX_ROUTERS} (2^24) routers are allowed", spec.dims);
            return Err(KeyError::new("dims", message));
        };
        let wires = spec.wires_by_dim()?;
        let nodes = spec.nodes_per_router;
        let links: u64 = spec.dims.iter().zip(&wires).map(|(size, wires)| (size - 1) * wires).sum();
        if nodes == 0 || product([u64::from(routers), nodes], MAX_NODES).is_none() {
            let most = u64::from(MAX_NODES / routers).min(u64::from(MAX_PORTS).saturating_sub(links));
            let message = format!("`nodes_per_router` is {nodes}; 1 to {most} are allowed on {routers} routers");
            return Err(KeyError::new("nodes_per_router", message));
        }
        let most = u64::from(MAX_PORTS).min(MAX_ALL_PORTS / u64::from(routers));
        if links + nodes > most {
            let key = match (nodes > links, wires.iter().all(|&wires| wires == 1)) {
                (true, _) => "nodes_per_router",
                (false, true) => "dims",
                (false, false) => "wires",
            };
            let message = format!(
                "`{key}` makes routers of {} ports ({nodes} of nodes); at most {most} are allowed on {routers} routers",
                links + nodes
            );
            return Err(KeyError::new(key, message));
        }
        let sizes = spec.dims.iter().map(|&size| size as u32).collect();
        Ok(Self { cliques: Cliques::of("hyperx", sizes, &wires, nodes as u16) })
    }
}

impl Topology for HyperX {
    fn kind(&self) -> &'static str {
        "hyperx"
    }

    fn routers(&self) -> u32 {
        self.cliques.grid.routers
    }

    fn nodes(&self) -> u32 {
        self.routers() * u32::from(self.cliques.nodes_per_router())
    }

    fn ports(&self, _router: RouterId) -> u16 {
        self.cliques.ports()
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let Some(dim) = self.cliques.dim_of(port) else {
            let first = router.0 * u32::from(self.cliques.nodes_per_router());
            return Endpoint::Node(NodeId(first + u32::from(port.0)));
        };
        let (line, own) = (self.cliques.lines[dim], self.cliques.coordinate(router, dim));
        let peer = line.peer(own, port);
        let next = router.0 - own * line.stride + peer * line.stride;
        let wire = (port.0 - line.first_port) % line.wires;
        Endpoint::Router(RouterId(next), PortId(line.port_to(peer, own).0 + wire))
    }

    #[inline]
    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        self.cliques.home(node)
    }

    fn class_names(&self) -> Vec<&str> {
        NAMES[..2 + self.cliques.lines.len()].to_vec()
    }

    fn class(&self, _router: RouterId, port: PortId) -> ChannelClass {
        self.cliques.dim_of(port).map_or(ChannelClass::EJECTION, Grid::dim_class)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let differs = |&dim: &usize| self.cliques.coordinate(from, dim) != self.cliques.coordinate(to, dim);
        (0..self.cliques.lines.len()).filter(differs).count() as u32
    }

    fn diameter(&self) -> u32 {
        self.cliques.lines.len() as u32
    }

    fn bisection_channels(&self) -> Option<u64> {
        let mut dims = self.cliques.lines.clone();
        let is_even = dims.iter().any(|dim| dim.size.is_multiple_of(2));
        if !is_even && dims.iter().any(|dim| dim.wires != dims[0].wires) {
            return None;
        }
        dims.sort_by_key(|dim| u64::from(dim.wires) * u64::from(dim.size.div_ceil(2)));
        let (mut lines, mut cut) = (u64::from(self.routers()), 0);
        for Line { size, wires, .. } in dims {
            lines /= u64::from(size);
            cut += lines * u64::from(wires) * (u64::from(size).pow(2) / 4);
            if size.is_multiple_of(2) {
                break;
            }
        }
        Some(cut)
    }

    fn coordinate_names(&self) -> Vec<String> {
        NAMES[2..2 + self.cliques.lines.len()].iter().map(ToString::to_string).collect()
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        (0..self.cliques.lines.len()).map(|dim| self.cliques.coordinate(router, dim)).collect()
    }

    fn views(&self) -> Views<'_> {
        Views { cliques: Some(&self.cliques), ..Views::default() }
    }
}
