//! k-ary n-cubes: tori and meshes of any number of dimensions, whose sizes may differ.
//!
//! Numbering:
//!
//! - Router r has the coordinates (c_0, c_1, ...) with `r = c_0 + s_0 * (c_1 + s_1 * (c_2 + ...))`: first dimension
//!   fastest; s_d is the size of dimension d.
//! - Port `2d` leads in the plus direction of dimension d, to c_d + 1, and port `2d + 1` in the minus direction. A plus
//!   port leads to a minus port. At the edge of a mesh they are unconnected; in a torus they wrap.
//! - With p nodes on each router and D dimensions, node x is attached to port `2D + x mod p` of router `x / p`.
//!
//! A dimension of size 2 that wraps has two parallel wires between its two routers, each from one router's plus port to
//! the other's minus port; without a wrap it has one wire. A dimension of size 1 would have channels from a router to
//! itself and is refused.
//!
//! The bisection separates the routers into halves (one has one router more if their number is odd) and cuts the wires
//! between them. With sizes in falling order, of which the e-th is the first even one (or the last), it cuts `sum over
//! i <= e of s_(i+1) * ... * s_D` wires of a mesh, and twice that number of a torus (Arjona Aroca & Fernandez Anta,
//! "Bisection (band)width of product networks", IEEE TPDS 2014). There is no closed form if some dimensions wrap and
//! others do not.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Boundary, KeyError, NodeId, PortId, RouterId, counted};

use super::twisted::TwistedTorus;
use crate::network::{Topology, Views};
use crate::shorthand::Settings;
use crate::views::Grid;
use crate::wires::{ChannelClass, Endpoint, MAX_NODES, MAX_PORTS, product};

/// Names of the channel classes, and of the coordinates from the third on. `MAX_NODES` leaves room for 24 dimensions.
#[rustfmt::skip]
pub(super) const NAMES: [&str; 26] = [
    "injection", "ejection", "dim0", "dim1", "dim2", "dim3", "dim4", "dim5", "dim6", "dim7", "dim8", "dim9", "dim10",
    "dim11", "dim12", "dim13", "dim14", "dim15", "dim16", "dim17", "dim18", "dim19", "dim20", "dim21", "dim22",
    "dim23",
];

/// Torus or mesh: a grid of routers with wires to the neighbours in each dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridSpec {
    /// Number of routers in each dimension, at least 2 each. The first dimension is numbered fastest.
    #[schemars(length(min = 1, max = 24), inner(range(min = 2, max = 16777216)), extend("x-example" = "[4, 4]"))]
    pub dims: Vec<u64>,
    /// Number of nodes on each router.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65533))]
    pub nodes_per_router: u64,
    /// Whether each dimension wraps. Default: all dimensions of a torus, none of a mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 24), extend("x-example" = "[true, false]"))]
    pub wrap: Option<Vec<bool>>,
    /// Shifts of each dimension by the wrap of each: row d has, for each dimension, how much larger a coordinate becomes
    /// at the wrap of dimension d. A dimension that is shifted shifts none itself. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 24),
        inner(length(min = 1, max = 24), inner(range(min = 0, max = 4095))),
        extend("x-example" = "[[0, 0, 4], [0, 0, 4], [0, 0, 0]]")
    )]
    pub twist: Option<Vec<Vec<u64>>>,
}

fn one() -> u64 {
    1
}

impl GridSpec {
    /// Creates the spec of a grid with the default wraps of its kind.
    pub fn new(dims: &[u64], nodes_per_router: u64) -> Self {
        Self { dims: dims.to_vec(), nodes_per_router, wrap: None, twist: None }
    }

    /// Reads the shorthand `8x8x8`, `8x8x8,nodes_per_router=2`, `8x8x2,wrap=1x1x0` or `8x4,twist=0x0/4x0`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["dims", "nodes_per_router", "wrap", "twist"])?;
        Ok(Self {
            dims: settings.numbers("dims")?,
            nodes_per_router: settings.number_or("nodes_per_router", one())?,
            twist: settings.text("twist").map(|_| settings.rows("twist")).transpose()?,
            wrap: settings.text("wrap").map(|_| settings.truths("wrap")).transpose()?,
        })
    }
}

/// k-ary n-cube: a torus or a mesh.
pub type Torus = Grid;

impl Torus {
    /// Builds a torus, which may be twisted.
    ///
    /// # Errors
    /// As [`Self::new`], and if the twist does not fit the grid.
    pub fn network(spec: &GridSpec) -> Result<Arc<dyn Topology>, KeyError> {
        let plain = Self::new(spec)?;
        match &spec.twist {
            Some(twist) => Ok(Arc::new(TwistedTorus::twisted(&plain, twist)?)),
            None => Ok(Arc::new(plain)),
        }
    }

    /// Builds a torus without its `twist`. Fails if a dimension has fewer than 2 routers, if `wrap` does not have a value
    /// for each, or if the torus would have more than `MAX_NODES` nodes or `MAX_PORTS` ports.
    pub fn new(spec: &GridSpec) -> Result<Self, KeyError> {
        Self::build("torus", spec, Boundary::Periodic)
    }

    /// Builds a mesh. Fails as [`Self::new`] does, and if there is a `twist`.
    pub fn mesh(spec: &GridSpec) -> Result<Self, KeyError> {
        if spec.twist.is_some() {
            return Err(KeyError::new("twist", "`twist` shifts at the wraps of a torus; a mesh is not twisted"));
        }
        Self::build("mesh", spec, Boundary::Open)
    }

    fn build(kind: &'static str, spec: &GridSpec, default: Boundary) -> Result<Self, KeyError> {
        let (sizes, nodes_per_router) = check(spec)?;
        let wraps = spec.wrap.clone().unwrap_or_else(|| vec![default.is_periodic(); sizes.len()]);
        if wraps.len() != sizes.len() {
            let message =
                format!("`wrap` has {} for {} `dims`", counted(wraps.len() as u64, ["value", "values"]), sizes.len());
            return Err(KeyError::new("wrap", message));
        }
        Ok(Self::of(kind, sizes, nodes_per_router, wraps.into_iter().map(Boundary::of)))
    }
}

/// Checks a spec. Returns the sizes and the number of nodes on a router.
fn check(spec: &GridSpec) -> Result<(Vec<u32>, u16), KeyError> {
    if spec.dims.is_empty() {
        return Err(KeyError::new("dims", "`dims` is empty; give at least one size, such as [8, 8, 8]"));
    }
    if let Some(size) = spec.dims.iter().find(|&&size| size < 2) {
        let message = format!("`dims` has a size of {size}; each is at least 2 (leave out a dimension of size 1)");
        return Err(KeyError::new("dims", message));
    }
    if product(spec.dims.iter().copied(), MAX_NODES).is_none() {
        let sizes = spec.dims.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        let message = format!("`dims` makes {sizes} routers; at most {MAX_NODES} (2^24) nodes are allowed");
        return Err(KeyError::new("dims", message));
    }
    let per_router = spec.nodes_per_router;
    let most = MAX_PORTS - 2 * spec.dims.len() as u16;
    if !(1..=u64::from(most)).contains(&per_router) {
        let message = format!("`nodes_per_router` is {per_router}; from 1 to {most} are allowed");
        return Err(KeyError::new("nodes_per_router", message));
    }
    if product(spec.dims.iter().copied().chain([per_router]), MAX_NODES).is_none() {
        let message = format!(
            "`nodes_per_router` is {per_router}; with these `dims` that is too many nodes, at most {MAX_NODES} (2^24) are \
             allowed"
        );
        return Err(KeyError::new("nodes_per_router", message));
    }
    Ok((spec.dims.iter().map(|&size| size as u32).collect(), per_router as u16))
}

impl Topology for Torus {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn routers(&self) -> u32 {
        self.routers
    }

    fn nodes(&self) -> u32 {
        self.routers * u32::from(self.nodes_per_router)
    }

    fn ports(&self, _router: RouterId) -> u16 {
        self.link_ports() + self.nodes_per_router
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let Some(&axis) = self.axes.get(port.index() / 2) else {
            let node = router.0 * u32::from(self.nodes_per_router) + u32::from(port.0 - self.link_ports());
            return Endpoint::Node(NodeId(node));
        };
        // A plus port leads to a minus port and vice versa; they differ in the lowest bit.
        match self.neighbour(router, axis, Self::direction_of(port)) {
            Some(neighbour) => Endpoint::Router(neighbour, PortId(port.0 ^ 1)),
            None => Endpoint::Unconnected,
        }
    }

    #[inline]
    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        let (router, place) = self.by_nodes.split(node.0);
        (RouterId(router), PortId(self.link_ports() + place as u16))
    }

    fn class_names(&self) -> Vec<&str> {
        NAMES[..2 + self.axes.len()].to_vec()
    }

    fn class(&self, _router: RouterId, port: PortId) -> ChannelClass {
        if port.0 < self.link_ports() { Grid::dim_class(port.index() / 2) } else { ChannelClass::EJECTION }
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let along = |dim: usize| {
            let straight = self.coordinate(from, dim).abs_diff(self.coordinate(to, dim));
            if self.wraps(dim) { straight.min(self.sizes[dim] - straight) } else { straight }
        };
        (0..self.axes.len()).map(along).sum()
    }

    fn diameter(&self) -> u32 {
        let longest = |(dim, &size): (usize, &u32)| if self.wraps(dim) { size / 2 } else { size - 1 };
        self.sizes.iter().enumerate().map(longest).sum()
    }

    fn bisection_channels(&self) -> Option<u64> {
        if self.has_rings() && !self.is_torus() {
            return None;
        }
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let mut slice = u64::from(self.routers);
        let mut wires = 0;
        for size in sizes {
            slice /= u64::from(size);
            wires += slice;
            if size.is_multiple_of(2) {
                break;
            }
        }
        Some(if self.has_rings() { 2 * wires } else { wires })
    }

    fn coordinate_names(&self) -> Vec<String> {
        NAMES[2..2 + self.axes.len()].iter().map(ToString::to_string).collect()
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        (0..self.axes.len()).map(|dim| self.coordinate(router, dim)).collect()
    }

    fn views(&self) -> Views<'_> {
        Views { grid: Some(self), ..Views::default() }
    }
}
