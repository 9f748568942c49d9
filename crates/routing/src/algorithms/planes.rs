//! Routing of several planes: the routing of one plane, in each.
//!
//! Packets stay in their plane, and know nothing of it: their routing state is equal in all planes. So freedom from
//! deadlock and loads are properties of one plane, and the analyses follow the first (`one_plane`).

use std::sync::Arc;

use topology::{ChannelClass, Channels, Topology};
use units::{ChannelId, Draw, NodeId, PortId, RouterId, Time, VcClass};

use crate::{Hop, PathOption, Probe, Route, RouteState, Routing};

/// Routing in every plane of a network.
#[derive(Clone, Debug)]
pub struct PlanesRouting {
    plane: Arc<dyn Routing>,
    /// Number of routers of a plane.
    routers: u32,
    /// Number of output channels of all routers of a plane.
    channels: u32,
}

impl PlanesRouting {
    /// Creates the routing of all planes from the routing of one. All planes of the topology are copies of `plane`.
    pub fn new(routing: Arc<dyn Routing>, plane: &dyn Topology) -> Self {
        Self { plane: routing, routers: plane.routers(), channels: Channels::new(plane).ports() }
    }

    /// Returns a router as the plane numbers it.
    #[inline]
    fn within(&self, router: RouterId) -> RouterId {
        RouterId(router.0 % self.routers)
    }
}

impl Routing for PlanesRouting {
    fn kind(&self) -> &'static str {
        self.plane.kind()
    }

    fn classes(&self) -> u8 {
        self.plane.classes()
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        self.plane.classes_on(class)
    }

    fn adaptive(&self) -> bool {
        self.plane.adaptive()
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        self.plane.start(src, dst, draw)
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        self.plane.initial_distribution(src, dst)
    }

    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        self.plane.route(self.within(at), hop)
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        let first = at.0 / self.routers * self.channels;
        let here = |probe| match probe {
            Probe::Channel(ChannelId(channel)) => Probe::Channel(ChannelId(channel + first)),
            Probe::First | Probe::Ahead | Probe::Next | Probe::Path => probe,
        };
        let option = self.plane.candidate(self.within(at), hop, number)?;
        Some(PathOption { probe: here(option.probe), ..option })
    }

    fn congestion_behind(&self, (at, port): (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64 {
        let of_plane = snapshot.get((at.0 / self.routers * self.channels) as usize..).unwrap_or_default();
        self.plane.congestion_behind((self.within(at), port), hop, of_plane)
    }

    fn candidate_state(&self, at: RouterId, hop: &Hop, number: u16) -> Option<RouteState> {
        self.plane.candidate_state(self.within(at), hop, number)
    }

    fn take(&self, at: RouterId, candidate: (u16, RouteState), hop: &mut Hop) -> Route {
        self.plane.take(self.within(at), candidate, hop)
    }

    fn escape(&self, at: RouterId, hop: &Hop) -> (PortId, VcClass) {
        self.plane.escape(self.within(at), hop)
    }

    fn adaptive_class(&self) -> Option<VcClass> {
        self.plane.adaptive_class()
    }

    fn reads_classes(&self) -> bool {
        self.plane.reads_classes()
    }

    fn snapshot_period(&self) -> Option<Time> {
        self.plane.snapshot_period()
    }

    fn port_lists(&self) -> &[PortId] {
        self.plane.port_lists()
    }

    fn uses_input_port(&self) -> bool {
        self.plane.uses_input_port()
    }

    fn remembers_source(&self) -> bool {
        self.plane.remembers_source()
    }

    fn same_for_router(&self) -> bool {
        self.plane.same_for_router()
    }

    fn fixed_by_flow(&self) -> bool {
        self.plane.fixed_by_flow()
    }

    fn covering(&self) -> Option<Arc<dyn Routing>> {
        let plane = self.plane.covering()?;
        Some(Arc::new(Self { plane, ..self.clone() }))
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        let here = |plane: Arc<dyn Routing>| Arc::new(Self { plane, ..self.clone() }) as Arc<dyn Routing>;
        self.plane.options().into_iter().map(here).collect()
    }

    fn path_channels(&self, from: RouterId, to: RouterId) -> Option<u32> {
        self.plane.path_channels(self.within(from), self.within(to))
    }

    fn table_bytes(&self) -> u64 {
        self.plane.table_bytes()
    }

    fn minimal(&self) -> bool {
        self.plane.minimal()
    }

    fn max_routers(&self) -> u32 {
        self.plane.max_routers()
    }

    fn plane(&self) -> Option<&Arc<dyn Routing>> {
        Some(&self.plane)
    }
}

/// Returns the network and the routing of the first plane, of which the others are copies. Without planes, returns both
/// unchanged.
pub(crate) fn one_plane<'a>(
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
) -> (&'a dyn Topology, &'a dyn Routing) {
    match (topology.views().planes, routing.plane()) {
        (Some((topology, _)), Some(routing)) => (&**topology, &**routing),
        _ => (topology, routing),
    }
}
