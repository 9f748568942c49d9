//! Interface of routing algorithms.

use std::fmt::Debug;

use std::sync::Arc;

use topology::ChannelClass;
use units::{ChannelId, Draw, NodeId, PlaneId, PortId, RouterId, Time, VcClass};

use crate::traffic::{OutputLoads, Symmetry};

/// Routing state of a packet: drawn at the source, or written on the way. Its meaning depends on the algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteState(pub u32);

units::record!(RouteState { 0 });

/// Packet at a router, as a routing algorithm sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Destination node.
    pub dst: NodeId,
    /// Routing state, which the algorithm may write.
    pub state: RouteState,
    /// Input port. For a packet just injected: the port of its node.
    pub in_port: PortId,
    /// Class of virtual channels on which the packet came in. 0 for a packet just injected.
    pub vc_class: VcClass,
}

/// Rule by which one of a route's ports is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// Uniformly at random, from the router's stream: oblivious.
    Random,
    /// In turn: the router counts the packets for which it has had this choice, whatever their destinations and ports,
    /// and takes port (count + the router's number) modulo the number of ports: oblivious. The number keeps routers from
    /// taking their turns in step. If credits are counted per crosspoint, each upstream output counts for itself.
    RoundRobin,
    /// The least congested port, ties at random: adaptive.
    LeastLoaded,
    /// The candidate of `Routing::candidate` with the lowest cost, the first of equal ones. `Route::count` bounds the
    /// numbers of candidates. The chosen candidate gives ports and class; those of the route have no meaning.
    Weighed,
    /// As `Weighed`, but of candidates with equal cost the shortest, and one of these at random.
    WeighedAny,
    /// The least congested port with room for a packet that is not reserved for another, ties at random. If there is
    /// none, the channel of `Routing::escape`. Adaptive; packets wait for escape channels only.
    Escape,
}

impl Choice {
    /// Returns whether the choice does not depend on congestion.
    #[inline]
    pub const fn is_oblivious(self) -> bool {
        matches!(self, Self::Random | Self::RoundRobin)
    }

    /// Returns whether a router weighs candidates, whose ports and classes the route does not have.
    #[inline]
    pub const fn is_weighed(self) -> bool {
        matches!(self, Self::Weighed | Self::WeighedAny)
    }
}

/// One of the candidates between which a router chooses if a route says `Choice::Weighed` or `Choice::WeighedAny`.
///
/// Its cost is a congestion in bytes, plus its bias. The congestion is that of one channel or of the first two, times
/// the path's length, or the sum over all its channels (`Probe`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOption {
    /// Routing state of a packet that takes the path: see `Routing::take`.
    pub state: RouteState,
    /// Number of channels from this router to the destination's.
    pub channels: u32,
    /// Bias that is added to the cost, in packets of the largest size.
    pub bias: u32,
    /// Channels whose congestion counts.
    pub probe: Probe,
}

/// Channels of a path whose congestion counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// First channel, as of now.
    First,
    /// First channel, as of now, without the packets on other classes of virtual channels whose far end is full: they
    /// do not hold this packet up.
    Ahead,
    /// One channel, as of the last snapshot.
    Channel(ChannelId),
    /// First two channels: the first as of now, the second as of the last snapshot (`Routing::congestion_behind`).
    Next,
    /// All channels: the first as of now, the others as of the last snapshot (`Routing::congestion_behind`).
    Path,
}

/// Ports by which a packet may leave, all on class `vc_class`: `count` consecutive ones, or, if the candidates are not
/// consecutive, `count` entries of `Routing::port_lists`.
///
/// Classes of virtual channels serve deadlock freedom. If a link has more virtual channels than the algorithm has
/// classes, a class has several virtual channels, and the router picks one.
///
/// Its eight bytes are returned in a register. Read back from the stack, fields that were written separately would
/// stall until they have left the store buffer, longer than it takes to find the whole route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// First port, or `LISTED` and the begin of the ports in `Routing::port_lists`.
    place: u32,
    /// Number of ports, at least 1.
    pub count: u16,
    /// Class of virtual channels, below `Routing::classes`.
    pub vc_class: VcClass,
    /// Rule by which one of several ports is chosen. If `count` is 1, it matters for `Choice::Escape` only.
    pub choice: Choice,
}

/// Flag of a route with listed ports.
const LISTED: u32 = 1 << 31;

const _: () = assert!(size_of::<Route>() == 8);

impl Route {
    /// Largest number of entries of `Routing::port_lists`.
    pub const MAX_LISTED: usize = LISTED as usize;

    /// Returns a route by one port.
    #[inline]
    pub const fn only(port: PortId, vc_class: VcClass) -> Self {
        Self::range(port, 1, vc_class, Choice::Random)
    }

    /// Returns a route by one of `count` consecutive ports.
    #[inline]
    pub const fn range(first: PortId, count: u16, vc_class: VcClass, choice: Choice) -> Self {
        Self { place: first.0 as u32, count, vc_class, choice }
    }

    /// Returns a route by one of `count` ports that are listed from `place` on in `Routing::port_lists`. `place` is
    /// below `MAX_LISTED`.
    #[inline]
    pub const fn listed(place: u32, count: u16, vc_class: VcClass, choice: Choice) -> Self {
        Self { place: place | LISTED, count, vc_class, choice }
    }

    /// Returns the route if the ports of all lists come `by` places later.
    #[must_use]
    pub const fn shifted(self, by: u32) -> Self {
        if self.is_listed() { Self { place: self.place + by, ..self } } else { self }
    }

    /// Returns a route by one of the candidates with numbers below `count`, which is at least 2.
    #[inline]
    pub const fn weighed(count: u16, choice: Choice) -> Self {
        Self::range(PortId(0), count, VcClass(0), choice)
    }

    /// Returns the first of consecutive ports. Meaningless for listed ports.
    #[inline]
    pub const fn first(&self) -> PortId {
        PortId(self.place as u16)
    }

    /// Returns whether the ports are listed.
    #[inline]
    pub const fn is_listed(&self) -> bool {
        self.place & LISTED != 0
    }

    /// Returns candidate `i`, below `count`. `lists` are the port lists of the routing that returned the route.
    #[inline]
    pub fn port(&self, i: u16, lists: &[PortId]) -> PortId {
        if self.is_listed() {
            lists[(self.place & !LISTED) as usize + usize::from(i)]
        } else {
            PortId(self.first().0 + i)
        }
    }

    /// Iterates over all candidates.
    pub fn ports(self, lists: &[PortId]) -> impl Iterator<Item = PortId> {
        (0..self.count).map(move |i| self.port(i, lists))
    }
}

/// Packet at a router that represents others there: see `Routing::representatives`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representative {
    /// Destination of the packet.
    pub dst: NodeId,
    /// Routing state of the packet.
    pub state: RouteState,
    /// Next router at which it represents others, if it may go to several and represents others at one only.
    pub next: Option<RouterId>,
}

impl Representative {
    /// Returns a packet that represents others wherever it goes next.
    pub fn new(dst: NodeId, state: RouteState) -> Self {
        Self { dst, state, next: None }
    }
}

/// Routing algorithm bound to a topology. Pure: it holds tables, and no state that changes during a run.
pub trait Routing: Debug + Send + Sync {
    /// Returns the algorithm's name in the experiment file.
    fn kind(&self) -> &'static str;
    /// Returns the number of VC classes that the algorithm needs: the maximum over all classes of channels.
    fn classes(&self) -> u8;
    /// Returns the number of VC classes that the algorithm needs on a class of channels. They are counted separately
    /// for each class of channels. Packets are injected on class 0.
    fn classes_on(&self, _class: ChannelClass) -> u8 {
        self.classes()
    }
    /// Returns whether choices depend on congestion (`Choice::Random` and `Choice::RoundRobin` do not).
    fn adaptive(&self) -> bool;
    /// Returns the initial routing state of a packet, drawn from the source's stream.
    fn start(&self, _src: NodeId, _dst: NodeId, _draw: &mut dyn Draw) -> RouteState {
        RouteState::default()
    }
    /// Returns the initial routing state of a packet from the first node to the second, in a plane that joins them.
    fn start_on(&self, _plane: PlaneId, (src, dst): (NodeId, NodeId), draw: &mut dyn Draw) -> RouteState {
        self.start(src, dst, draw)
    }
    /// Returns the exact distribution of `start`: each state with its probability. Probabilities sum to 1. The
    /// distribution is equal for all nodes of one router, unless `fixed_by_flow`.
    fn initial_distribution(&self, _src: NodeId, _dst: NodeId) -> Vec<(RouteState, f64)> {
        vec![(RouteState::default(), 1.0)]
    }
    /// Returns the next hop from a router. At the destination's router it is the destination's port.
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route;
    /// Returns the candidate with a number below `Route::count` of a packet whose route is weighed. `None`: the packet
    /// does not have it. Every such packet has at least one candidate.
    fn candidate(&self, _at: RouterId, _hop: &Hop, _number: u16) -> Option<PathOption> {
        None
    }
    /// Returns the state of a candidate, for analyses, which need no lengths.
    fn candidate_state(&self, at: RouterId, hop: &Hop, number: u16) -> Option<RouteState> {
        self.candidate(at, hop, number).map(|option| option.state)
    }
    /// Returns the next hop of a packet that takes a candidate: its number and its state. It is not weighed again. The
    /// default reads the state by `route`.
    fn take(&self, at: RouterId, (_, state): (u16, RouteState), hop: &mut Hop) -> Route {
        hop.state = state;
        self.route(at, hop)
    }
    /// Returns the port and class of a packet whose route says `Choice::Escape` and whose ports have no room. They
    /// depend on the router and the destination only, and lead to the destination if a packet never takes anything
    /// else.
    fn escape(&self, _at: RouterId, hop: &Hop) -> (PortId, VcClass) {
        (hop.in_port, VcClass(0))
    }
    /// Returns the class of the routes that say `Choice::Escape`: packets take it only if they need not wait for credit
    /// there.
    fn adaptive_class(&self) -> Option<VcClass> {
        None
    }
    /// Returns the sum of the congestion of the channels behind a path's first that the probe counts. The first leaves a
    /// router by a port. `snapshot` has the congestion of all channels. `hop` is the packet on the first channel.
    fn congestion_behind(&self, _first: (RouterId, PortId), _hop: &Hop, _snapshot: &[u64]) -> u64 {
        0
    }
    /// Returns whether the congestion of the channels of a class estimates a packet's delay. If so, it has the packet
    /// itself and the bytes that the channel sends in the delay of itself and the next router, busy or not. In return,
    /// bytes in flight do not count: those for which a busy channel without a queue behind it lacks credit.
    fn estimates_delay(&self, _class: ChannelClass) -> bool {
        false
    }
    /// Returns whether routers count the bytes that wait for a port by class of virtual channels: see `Probe::Ahead`.
    fn reads_classes(&self) -> bool {
        false
    }

    /// Returns the period of the snapshots of all channels' congestion that a `Probe` reads. `None`: nothing reads them.
    fn snapshot_period(&self) -> Option<Time> {
        None
    }
    /// Returns the lists of ports for routes whose ports are not consecutive.
    fn port_lists(&self) -> &[PortId] {
        &[]
    }
    /// Returns whether `route` reads `Hop::in_port` or `Hop::vc_class`. If not, the analyses merge packets at a router
    /// that share destination and state, whatever their input ports.
    fn uses_input_port(&self) -> bool {
        true
    }
    /// Returns whether the nodes of one router have equal routes to them up to the last channel. The analyses then
    /// follow one node for all of them.
    fn same_for_router(&self) -> bool {
        false
    }

    /// Returns whether a packet's path follows from its source, destination and initial state: every route has one port.
    /// Nodes of one router may then start in different states. Analyses follow each pair of nodes.
    fn fixed_by_flow(&self) -> bool {
        false
    }

    /// Returns whether the state of a packet tells its source, so that an analysis of one destination follows the packets
    /// of each source apart.
    fn remembers_source(&self) -> bool {
        false
    }

    // --- waypoints ------------------------------------------------------------------------------------------------
    // If packets first go to one of many waypoints, the deadlock check does not follow every source by way of every
    // waypoint to every destination. It follows first all packets for a waypoint, whatever their destination, and then
    // all packets for a destination, whatever their source.

    /// Returns the number of waypoints by which a packet may be sent. 0: there are none.
    fn waypoints(&self) -> u32 {
        0
    }
    /// Returns the waypoint of a packet at a router, while its next hops do not depend on its destination.
    fn current_waypoint(&self, _at: RouterId, _state: RouteState) -> Option<u32> {
        None
    }
    /// Returns a state with its waypoint replaced.
    fn with_waypoint(&self, state: RouteState, _waypoint: u32) -> RouteState {
        state
    }
    /// Returns a state in which a packet that has reached its waypoint goes on as it does in its own: one for all
    /// waypoints, so that the check need not follow the packets of each apart.
    fn behind_waypoint(&self, state: RouteState) -> RouteState {
        state
    }
    /// Returns the states in which packets start, apart from waypoints.
    fn initial_states(&self) -> Vec<RouteState> {
        vec![RouteState::default()]
    }

    // --- representatives -------------------------------------------------------------------------------------------
    // Large networks have too many pairs of routers and destinations to follow them all. A routing may state which
    // packets represent all others at a router, or that classes fall; the deadlock check is then linear in routers. The
    // statement is not trusted: see `dependency_cycle`.

    /// Returns packets at a router that represent all others in their next hops. `None`: the routing does not know.
    ///
    /// The promise: for any packet that can be at the router, one of these packets goes on by the ports and class of
    /// that packet (or more), and does so again from each router that the packet comes to next. Further packets may be
    /// listed, even impossible ones, as long as the check finds no cycle. Only for routings without `uses_input_port`.
    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        None
    }

    /// Whether packets take a lower class at each hop between routers than at the one before. They then cannot wait in a
    /// cycle.
    fn classes_fall(&self) -> bool {
        false
    }

    /// Returns a routing whose packets can do everything that packets of this one can do, on equal classes, and that is
    /// cheaper to follow. The deadlock check follows it instead, and may then refuse more than necessary.
    fn covering(&self) -> Option<Arc<dyn Routing>> {
        None
    }

    // --- analysis -------------------------------------------------------------------------------------------------

    /// Returns the algorithm's own method for its exact channel loads, if it has one.
    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        None
    }
    /// Returns flows that represent all flows if every node sends equally to each of the others. `None`: the routing
    /// has no such symmetry.
    fn symmetry(&self) -> Option<Symmetry<'_>> {
        None
    }
    /// Returns the oblivious routings between which an adaptive one chooses for each packet, if it does. The direct one
    /// is first.
    fn options(&self) -> Vec<Arc<dyn Routing>> {
        Vec::new()
    }

    /// Returns the number of channels that a packet crosses between two routers, if that may exceed
    /// `Topology::distance`. If there are paths of several lengths it is the fewest. Implemented by routings that may
    /// be a topology's default.
    fn path_channels(&self, _from: RouterId, _to: RouterId) -> Option<u32> {
        None
    }
    /// Returns the routing of packets that stay in one of several networks. `None`: there is one.
    fn in_network(&self, _network: usize) -> Option<Arc<dyn Routing>> {
        None
    }
    /// Returns the routing of an island of each network, if there are several networks or planes.
    fn parts(&self) -> &[Arc<dyn Routing>] {
        &[]
    }
    /// Returns the bytes of tables that the user provides and that may be large.
    fn table_bytes(&self) -> u64 {
        0
    }
    /// Returns whether every packet takes a shortest path.
    fn minimal(&self) -> bool;
    /// Returns the largest number of routers that a packet can traverse.
    fn max_routers(&self) -> u32;
}
