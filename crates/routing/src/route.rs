//! The questions that every routing algorithm answers.

use std::fmt::Debug;

use std::sync::Arc;

use topology::ChannelClass;
use units::{ChannelId, Draw, NodeId, PortId, RouterId, Time, VcClass};

use crate::traffic::{OutputLoads, Symmetry};

/// What a packet carries for its routing: drawn at the source, or written on the way. Its meaning is the algorithm's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteState(pub u32);

/// A packet at a router, as a routing algorithm sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The node that the packet is for.
    pub dst: NodeId,
    /// What the packet carries; the algorithm may write it.
    pub state: RouteState,
    /// The port by which the packet came in (that of its node for a packet just injected).
    pub in_port: PortId,
    /// The class of virtual channels on which it came in (0 for a packet just injected).
    pub vc_class: VcClass,
}

/// How one of a route's ports is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// Uniformly at random, from the router's stream: oblivious.
    Random,
    /// The least congested, ties at random: adaptive.
    LeastLoaded,
    /// One of the two of `Routing::candidates`, by their cost; ports and class are those of the path that is chosen,
    /// and what stands in the route is of no consequence.
    Ugal,
    /// The least congested port with room for a packet that is promised to no other, ties at random; if there is none,
    /// the channel of `Routing::escape`: adaptive, and packets wait for escape channels only.
    Escape,
}

/// One of the two paths between which a router chooses where a route says `Choice::Ugal`.
///
/// Its cost is the congestion that it meets, in bytes, times its length, and a bias. The first of two paths is taken
/// unless the second costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOption {
    /// What a packet that takes it carries: with it `Routing::route` says where it leads, and does not ask again.
    pub state: RouteState,
    /// Channels from this router to the destination's.
    pub channels: u32,
    /// Added to the cost: so many packets of the largest size.
    pub bias: u32,
    /// The channel whose congestion counts, as the last snapshot has it; without it, that of the path's first port now.
    pub probe: Option<ChannelId>,
}

/// The ports by which a packet may leave, all on class `vc_class`: `count` consecutive ones, or, where the candidates
/// are not consecutive, `count` entries of `Routing::port_lists`.
///
/// A class of virtual channels is what deadlock freedom needs; where a link has more virtual channels than the
/// algorithm has classes, a class has several virtual channels, and the router picks one.
///
/// Eight bytes, which are returned in a register: read back from the stack, fields that have been written apart are
/// waited for until they have left the store buffer, longer than the whole route takes to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The first port, or `LISTED` and where the ports begin in `Routing::port_lists`.
    place: u32,
    /// The number of ports, at least 1.
    pub count: u16,
    /// The class of virtual channels, below `Routing::classes`.
    pub vc_class: VcClass,
    /// How one of several ports is chosen; if `count` is 1, it matters for `Choice::Escape` only.
    pub choice: Choice,
}

/// The ports of a route are listed.
const LISTED: u32 = 1 << 31;

const _: () = assert!(size_of::<Route>() == 8);

impl Route {
    /// The most entries that `Routing::port_lists` may have.
    pub const MAX_LISTED: usize = LISTED as usize;

    /// A route by one port.
    #[inline]
    pub const fn only(port: PortId, vc_class: VcClass) -> Self {
        Self::range(port, 1, vc_class, Choice::Random)
    }

    /// A route by one of `count` consecutive ports.
    #[inline]
    pub const fn range(first: PortId, count: u16, vc_class: VcClass, choice: Choice) -> Self {
        Self { place: first.0 as u32, count, vc_class, choice }
    }

    /// A route by one of `count` ports that are listed from a place on in `Routing::port_lists`, below `MAX_LISTED`.
    #[inline]
    pub const fn listed(place: u32, count: u16, vc_class: VcClass, choice: Choice) -> Self {
        Self { place: place | LISTED, count, vc_class, choice }
    }

    /// A route by one of the two of `Routing::candidates`.
    pub const UGAL: Self = Self::range(PortId(0), 2, VcClass(0), Choice::Ugal);

    /// The first of consecutive ports; it means nothing if they are listed.
    #[inline]
    pub const fn first(&self) -> PortId {
        PortId(self.place as u16)
    }

    /// Whether the ports are listed.
    #[inline]
    pub const fn is_listed(&self) -> bool {
        self.place & LISTED != 0
    }

    /// Candidate `i`, below `count`; `lists` are those of the routing that gave the route.
    #[inline]
    pub fn port(&self, i: u16, lists: &[PortId]) -> PortId {
        if self.is_listed() {
            lists[(self.place & !LISTED) as usize + usize::from(i)]
        } else {
            PortId(self.first().0 + i)
        }
    }

    /// All candidates.
    pub fn ports(self, lists: &[PortId]) -> impl Iterator<Item = PortId> {
        (0..self.count).map(move |i| self.port(i, lists))
    }
}

/// A packet at a router that stands for others there: see `Routing::representatives`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representative {
    /// Its destination.
    pub dst: NodeId,
    /// What it carries.
    pub state: RouteState,
    /// The next router at which it stands for others, if it may go by several and does so at one only.
    pub next: Option<RouterId>,
}

impl Representative {
    /// A packet that stands for others wherever it goes next.
    pub fn new(dst: NodeId, state: RouteState) -> Self {
        Self { dst, state, next: None }
    }
}

/// A routing algorithm bound to a topology. Pure: it holds tables, no state that changes during a run.
pub trait Routing: Debug + Send + Sync {
    /// The algorithm's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// The number of classes of virtual channels that the algorithm needs: the most of any class of channels.
    fn classes(&self) -> u8;
    /// The number that it needs on a class of channels: classes of virtual channels are counted for each class of
    /// channels on its own. Packets are injected on class 0.
    fn classes_on(&self, _class: ChannelClass) -> u8 {
        self.classes()
    }
    /// Whether its choices depend on congestion (any choice but `Choice::Random` occurs).
    fn adaptive(&self) -> bool;
    /// What a packet carries from its source, drawn from the source's stream.
    fn start(&self, _src: NodeId, _dst: NodeId, _draw: &mut dyn Draw) -> RouteState {
        RouteState::default()
    }
    /// The exact distribution of `start`: each state and its probability, which sum to 1. It is the same for all nodes
    /// of one router.
    fn initial_distribution(&self, _src: NodeId, _dst: NodeId) -> Vec<(RouteState, f64)> {
        vec![(RouteState::default(), 1.0)]
    }
    /// The next hop from a router. At the destination's router it is the destination's port.
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route;
    /// The two candidate paths of a packet whose route says `Choice::Ugal`.
    fn candidates(&self, _at: RouterId, hop: &Hop) -> [PathOption; 2] {
        [PathOption { state: hop.state, channels: 0, bias: 0, probe: None }; 2]
    }
    /// The states alone of `candidates`, which analyses ask for: they need no lengths.
    fn candidate_states(&self, at: RouterId, hop: &Hop) -> [RouteState; 2] {
        self.candidates(at, hop).map(|option| option.state)
    }
    /// The port and class of a packet whose route says `Choice::Escape` and whose ports have no room. It is a function
    /// of the router and the destination, and leads to the destination if a packet never takes anything else.
    fn escape(&self, _at: RouterId, hop: &Hop) -> (PortId, VcClass) {
        (hop.in_port, VcClass(0))
    }
    /// The class of the routes that say `Choice::Escape`: packets take it only where they need not wait for credit.
    fn adaptive_class(&self) -> Option<VcClass> {
        None
    }
    /// How often the snapshot of all channels' congestion is taken that `PathOption::probe` reads; none if nothing
    /// reads it.
    fn snapshot_period(&self) -> Option<Time> {
        None
    }
    /// The ports of the routes that are not consecutive.
    fn port_lists(&self) -> &[PortId] {
        &[]
    }
    /// Whether `route` reads `Hop::in_port` or `Hop::vc_class`. If not, the analyses take together what arrives at a
    /// router with the same destination and state by any port.
    fn uses_input_port(&self) -> bool {
        true
    }
    /// Whether packets for the nodes of one router fare alike until their last channel. Then the analyses follow one
    /// node for all of them.
    fn same_for_router(&self) -> bool {
        false
    }

    // --- waypoints ------------------------------------------------------------------------------------------------
    // Where packets first go to one of many waypoints, the deadlock check does not follow every source by way of every
    // waypoint to every destination, but first all packets for a waypoint, whatever their destination, and then all
    // for a destination, wherever they come from.

    /// The number of waypoints by which a packet may be sent; 0 if there are none.
    fn waypoints(&self) -> u32 {
        0
    }
    /// The waypoint that a packet at a router is on its way to, while its next hops do not depend on its destination.
    fn current_waypoint(&self, _at: RouterId, _state: RouteState) -> Option<u32> {
        None
    }
    /// A state with another waypoint in the place of its own.
    fn with_waypoint(&self, state: RouteState, _waypoint: u32) -> RouteState {
        state
    }
    /// The states in which packets start, waypoints apart.
    fn initial_states(&self) -> Vec<RouteState> {
        vec![RouteState::default()]
    }

    // --- representatives -------------------------------------------------------------------------------------------
    // Large networks have too many pairs of routers and destinations to follow them all. A routing may state which
    // packets stand for all others at a router; the deadlock check is then linear in routers. What a routing states
    // is not trusted: see `dependency_cycle`.

    /// Packets at a router that stand for all in what they do next; none if the routing does not know.
    ///
    /// The promise: whatever packet can be at the router, one of these goes on by the same ports and class (or more),
    /// and from each router that it comes to next by the same ports and class again. More may be listed, even packets
    /// that cannot be there, as long as the check finds no cycle. Only for routings without `uses_input_port`.
    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        None
    }

    // --- analysis -------------------------------------------------------------------------------------------------

    /// The algorithm's own method for its exact channel loads, if it has one.
    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        None
    }
    /// Flows that stand for all where every node sends as much to each of the others; none if the routing has no such
    /// symmetry.
    fn symmetry(&self) -> Option<Symmetry<'_>> {
        None
    }
    /// The oblivious routings between which an adaptive one chooses for each packet, if it does.
    fn options(&self) -> Vec<Arc<dyn Routing>> {
        Vec::new()
    }

    /// The channels that a packet crosses between two routers, where that may be more than `Topology::distance`; the
    /// fewest, where there are paths of several lengths. Answered by routings that may be a topology's default.
    fn path_channels(&self, _from: RouterId, _to: RouterId) -> Option<u32> {
        None
    }
    /// Of several planes the routing of one; none if there is one.
    fn plane(&self) -> Option<&Arc<dyn Routing>> {
        None
    }
    /// The bytes of its own tables, where they are the user's and may be large.
    fn table_bytes(&self) -> u64 {
        0
    }
    /// Whether every packet takes a shortest path.
    fn minimal(&self) -> bool;
    /// The largest number of routers that a packet can traverse.
    fn max_routers(&self) -> u32;
}

/// Why a routing cannot be built. `key` is the key under `[routing]` that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RoutingError {
    /// The key under `[routing]`.
    pub key: &'static str,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl RoutingError {
    /// An error at a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}
