//! Dimension-order routing on tori and meshes: one dimension at a time, each the shorter way round. (On HyperX:
//! `cliques`.)
//!
//! A mesh needs one class of virtual channels, since the order of the dimensions orders its channels. A ring (a
//! dimension that wraps) is a cycle by itself and has two classes (Dally and Seitz 1987): its *dateline* is the link
//! between the last router and router 0, in either direction. A packet uses class 0 as long as the dateline is ahead of
//! it in the current dimension, including the dateline's own link, and class 1 otherwise, so from the start if it never
//! crosses it. So class 1 never uses the dateline's link, and class 0 leads to class 1 and never the reverse.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::views::{Cliques, Grid};
use units::{Direction, Draw, KeyError, NodeId, PortId, RouterId, VcClass};

use super::cliques::CliqueOrder;
use crate::{Choice, FlowSet, Hop, Representative, Route, RouteState, Routing, Symmetry};

/// Tori, meshes and HyperX: dimension-order routing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DimensionOrderSpec {
    /// Order in which the dimensions are travelled. Must name each dimension once. Default: ascending.
    pub order: Option<Vec<u32>>,
    /// Direction on an even ring to the router just opposite. Tori only.
    pub ties: RingTies,
}

/// Direction on an even ring to the router just opposite, which is equally far both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RingTies {
    /// Either direction with equal probability, drawn at the source for each packet.
    #[default]
    Split,
    /// Always towards higher coordinates.
    Positive,
}

/// Dimension, with the data of the hot path.
#[derive(Clone, Copy, Debug, Default)]
struct Leg {
    size: u32,
    wraps: bool,
    /// First bit of its coordinate in a place. `mask` selects the bits of the coordinate.
    shift: u32,
    mask: u32,
    /// Port in the direction of rising coordinates.
    plus: u16,
    /// Position in the order of travel.
    number: u16,
}

/// Coordinates of a router in the order of travel, the first in the lowest bits, each in as many bits as its dimension
/// needs. 64 bits suffice: a network has at most 2^32 routers, so at most 32 dimensions that need bits, and each wastes
/// less than one.
type Place = u64;

#[derive(Debug)]
pub(super) struct DimensionOrder {
    pub(super) torus: Grid,
    split: bool,
    /// Dimensions in the order of travel.
    order: Vec<usize>,
    /// Legs in the order of travel.
    legs: Vec<Leg>,
    /// Leg that each bit of a place belongs to.
    leg_of_bit: [Leg; 64],
    /// Place of each router.
    routers: Vec<Place>,
    /// Place of each node's router.
    nodes: Vec<Place>,
}

impl DimensionOrderSpec {
    /// Builds the routing on a torus or mesh.
    ///
    /// # Errors
    /// If `order` does not name each dimension once.
    pub fn build(&self, torus: &Grid) -> Result<impl Routing + 'static, KeyError> {
        self.bind(torus)
    }

    /// Builds the routing on a grid of cliques: one hop in each dimension.
    ///
    /// # Errors
    /// If `order` does not name each dimension once, or if `ties` is given: there are no rings.
    pub fn build_on_cliques(&self, cliques: &Cliques) -> Result<impl Routing + 'static, KeyError> {
        if self.ties != RingTies::default() {
            let message = "`ties` is \"positive\", but a hyperx has no rings: leave `ties` out";
            return Err(KeyError::new("ties", message));
        }
        let order = self.order_for(cliques.lines().len() as u32)?;
        Ok(CliqueOrder::new(cliques, order.iter().map(|&dim| dim as usize).collect()))
    }

    /// Binds to a torus or mesh, for the routings that build on this one.
    pub(super) fn bind(&self, torus: &Grid) -> Result<DimensionOrder, KeyError> {
        let order = self.order_for(torus.dims().len() as u32)?;
        let legs = legs(torus, &order);
        let mut leg_of_bit = [Leg::default(); 64];
        for leg in &legs {
            leg_of_bit[leg.shift as usize..][..leg.mask.count_ones() as usize].fill(*leg);
        }
        let place = |router: RouterId| {
            let coordinate =
                |(leg, &dim): (&Leg, &u32)| Place::from(torus.coordinate(router, dim as usize)) << leg.shift;
            legs.iter().zip(order.iter()).filter(|(leg, _)| leg.mask != 0).map(coordinate).sum()
        };
        Ok(DimensionOrder {
            split: torus.has_rings() && self.ties == RingTies::Split,
            leg_of_bit,
            routers: (0..torus.routers()).map(|router| place(RouterId(router))).collect(),
            nodes: (0..torus.nodes()).map(|node| place(torus.attachment(NodeId(node)).0)).collect(),
            torus: torus.clone(),
            order: order.iter().map(|&dim| dim as usize).collect(),
            legs,
        })
    }

    fn order_for(&self, dims: u32) -> Result<Cow<'_, [u32]>, KeyError> {
        let Some(order) = &self.order else { return Ok((0..dims).collect()) };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted.iter().copied().eq(0..dims) {
            return Ok(Cow::Borrowed(order));
        }
        let message = format!("`order` is {order:?}; it names each of the dimensions 0 to {} once", dims - 1);
        Err(KeyError::new("order", message))
    }
}

/// Returns coordinates in a dimension that represent all but a router's own, whatever their number. A hop, and the
/// next, depend on the way round, on whether the dateline is ahead, and on whether they end the dimension. So the next
/// two each way represent the coordinates before the dateline, and the two on each side of it those behind.
fn others(torus: &Grid, at: RouterId, dim: usize) -> Vec<u32> {
    let (here, size) = (torus.coordinate(at, dim), torus.dims()[dim]);
    let around = |from: u32| [from + 1, from + 2, from + size - 1, from + size - 2].map(|there| there % size);
    let mut all: Vec<u32> = [around(here), [0, 1, size - 1, size.saturating_sub(2)]].concat();
    all.sort_unstable();
    all.dedup();
    all.retain(|&there| there != here && there < size);
    all
}

/// Returns the dimensions in the order of travel.
fn legs(torus: &Grid, order: &[u32]) -> Vec<Leg> {
    let mut shift = 0;
    let leg = |(number, &dim): (usize, &u32)| {
        let size = torus.dims()[dim as usize];
        let bits = u32::BITS - (size - 1).leading_zeros();
        let leg = Leg {
            size,
            wraps: torus.wraps(dim as usize),
            shift,
            mask: ((1_u64 << bits) - 1) as u32,
            plus: Grid::plus_port(dim as usize).0,
            number: number as u16,
        };
        shift += bits;
        leg
    };
    order.iter().enumerate().map(leg).collect()
}

impl DimensionOrder {
    /// Returns the legs on which a packet has to choose its way round, as bits.
    fn tied(&self, src: NodeId, dst: NodeId) -> u32 {
        if !self.split {
            return 0;
        }
        let (from, to) = (self.nodes[src.index()], self.nodes[dst.index()]);
        let tied = |leg: &&Leg| leg.wraps && 2 * leg.coordinate(from).abs_diff(leg.coordinate(to)) == leg.size;
        self.legs.iter().filter(tied).fold(0, |bits, leg| bits | 1 << leg.number)
    }

    /// Iterates over the initial states of packets: all combinations of tie breaks.
    fn tie_breaks(&self, src: NodeId, dst: NodeId) -> impl Iterator<Item = RouteState> + use<> {
        let tied = self.tied(src, dst);
        // Counts through the subsets of the bits.
        let next = move |&bits: &u32| (bits != tied).then(|| (bits | !tied).wrapping_add(1) & tied);
        std::iter::successors(Some(0), next).map(RouteState)
    }

    /// Returns the next hop to another router. Where both directions are equally far, the router draws one, so that the
    /// packet carries no tie breaks.
    ///
    /// Both directions then use class 0, although only one of them leads past the dateline. The other packets leave
    /// class 0 with the next hop, so that their hop adds no dependency between channels of class 0.
    #[inline]
    pub(super) fn toward(&self, at: RouterId, target: RouterId) -> Route {
        let (here, there) = (self.routers[at.index()], self.routers[target.index()]);
        let leg = &self.leg_of_bit[(here ^ there).trailing_zeros() as usize & 63];
        let (here, there) = (leg.coordinate(here), leg.coordinate(there));
        if leg.wraps && 2 * here.abs_diff(there) == leg.size {
            return Route::range(PortId(leg.plus), 2, VcClass(0), Choice::Random);
        }
        leg.step(here, there, Direction::Plus)
    }

    /// Returns the directions that lead nearer, two bits for each dimension: plus, and minus. Both are set if they are
    /// equally far.
    #[inline]
    pub fn directions(&self, at: RouterId, dst: NodeId) -> u32 {
        let (here, there) = (self.routers[at.index()], self.nodes[dst.index()]);
        let nearer = |leg: &Leg| leg.nearer(leg.coordinate(here), leg.coordinate(there)) << leg.plus;
        self.legs.iter().fold(0, |directions, leg| directions | nearer(leg))
    }

    /// Returns whether two coordinates of a dimension are neighbours.
    fn is_next(&self, dim: usize, one: u32, other: u32) -> bool {
        let straight = one.abs_diff(other);
        straight == 1 || self.torus.wraps(dim) && straight + 1 == self.torus.dims()[dim]
    }
}

impl Routing for DimensionOrder {
    fn kind(&self) -> &'static str {
        "dimension-order"
    }

    fn classes(&self) -> u8 {
        if self.torus.has_rings() { 2 } else { 1 }
    }

    fn adaptive(&self) -> bool {
        false
    }

    /// Bit i of the state is set if the packet goes in the minus direction on its i-th leg although both are equally
    /// far.
    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        let tied = self.tied(src, dst);
        // No draw without need, so that a stream is read as little as possible.
        RouteState(if tied == 0 { 0 } else { tied & (draw.bits() >> 32) as u32 })
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        let probability = 1.0 / f64::from(1_u32 << self.tied(src, dst).count_ones());
        self.tie_breaks(src, dst).map(|state| (state, probability)).collect()
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let (here, there) = (self.routers[at.index()], self.nodes[hop.dst.index()]);
        let differing = here ^ there;
        if differing == 0 {
            return Route::only(self.torus.attachment(hop.dst).1, VcClass(0));
        }
        let leg = &self.leg_of_bit[differing.trailing_zeros() as usize & 63];
        let bit = 1 << leg.number;
        let at_tie = if hop.state.0 & bit != 0 { Direction::Minus } else { Direction::Plus };
        // A distance of half the ring is shorter one way after this hop.
        hop.state.0 &= !bit;
        leg.step(leg.coordinate(here), leg.coordinate(there), at_tie)
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    /// A hop depends on the first dimension in which the packet is not at its destination, and on its coordinate there
    /// (`others`). So does the next, in this dimension, or in a later one if the hop ends this one.
    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let (torus, from) = (&self.torus, NodeId(at.0 * u32::from(self.torus.nodes_per_router())));
        let mut place = torus.coordinates(at);
        let mut packets = Vec::new();
        let mut list = |place: &[u32]| {
            let Some(router) = torus.router_at(place) else { return };
            let dst = NodeId(router.0 * u32::from(torus.nodes_per_router()));
            packets.extend(self.tie_breaks(from, dst).map(|state| Representative::new(dst, state)));
        };
        for (number, &dim) in self.order.iter().enumerate() {
            for there in others(torus, at, dim) {
                place[dim] = there;
                list(&place);
                if !self.is_next(dim, torus.coordinate(at, dim), there) {
                    continue;
                }
                for &later in &self.order[number + 1..] {
                    for beyond in others(torus, at, later) {
                        place[later] = beyond;
                        list(&place);
                    }
                    place[later] = torus.coordinate(at, later);
                }
            }
            place[dim] = torus.coordinate(at, dim);
        }
        Some(packets)
    }

    /// The packets that pass along a line of routers have sources and destinations with the line's coordinates in the
    /// dimensions travelled later and earlier: equally many from each router of the line to each other, for every line.
    /// Packets within the line take these paths too.
    fn symmetry(&self) -> Option<Symmetry<'_>> {
        let torus = &self.torus;
        let line = |dim: usize| {
            let size = torus.dims()[dim];
            let at = |place: u32| {
                let mut coordinates = vec![0; torus.dims().len()];
                coordinates[dim] = place;
                torus.router_at(&coordinates)
            };
            let routers: Vec<RouterId> = (0..size).filter_map(at).collect();
            let lines = f64::from(torus.routers() / size);
            FlowSet { from: Some(routers.clone()), to: routers, copies: lines * lines }
        };
        let longest = torus.dims().iter().copied().max().unwrap_or(1);
        let orbit =
            move |router, port: PortId| u32::from(port.0) * longest + torus.coordinate(router, usize::from(port.0) / 2);
        Some(Symmetry { flows: (0..torus.dims().len()).map(line).collect(), orbit: Box::new(orbit) })
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.torus.diameter() + 1
    }
}

impl Leg {
    /// Returns the coordinate of a place in this dimension.
    #[inline]
    fn coordinate(&self, place: Place) -> u32 {
        (place >> self.shift) as u32 & self.mask
    }

    /// Returns the directions that lead nearer: bit 0 for plus, bit 1 for minus.
    #[inline]
    fn nearer(&self, here: u32, there: u32) -> u32 {
        if here == there {
            return 0;
        }
        if !self.wraps {
            return if there > here { 1 } else { 2 };
        }
        let ahead = if there > here { there - here } else { there + self.size - here };
        u32::from(2 * ahead <= self.size) | u32::from(2 * ahead >= self.size) << 1
    }

    /// Returns the next hop within a dimension, between two different coordinates. Goes in direction
    /// `at_tie` where both are equally far.
    #[inline]
    fn step(&self, here: u32, there: u32, at_tie: Direction) -> Route {
        let beyond = there > here;
        let ahead = if beyond { there - here } else { there + self.size - here };
        let nearer = 2 * ahead < self.size + u32::from(at_tie == Direction::Plus);
        let plus = if self.wraps { nearer } else { beyond };
        // The dateline is ahead if the way round leads past it.
        let class = self.wraps && plus == beyond;
        Route::only(PortId(self.plus + u16::from(!plus)), VcClass(u8::from(class)))
    }
}
