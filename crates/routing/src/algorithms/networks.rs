//! Routing of several networks, or of several planes: the routing of an island, in each.
//!
//! Packets stay in their island. Each network has a routing, which knows the routers and nodes of one island: freedom
//! from deadlock and loads are properties of an island, which the analyses follow ([`crate::islands`]).

use std::sync::Arc;

use topology::families::networks::{Networks, Position};
use topology::{ChannelClass, Channels};
use units::{ChannelId, Draw, KeyError, NodeId, PlaneId, PortId, RouterId, Time, VcClass};

use crate::{Hop, PathOption, Probe, Route, RouteState, Routing};

/// Routing in every island of every network.
#[derive(Clone, Debug)]
pub struct NetworksRouting {
    networks: Networks,
    /// Routing of each network.
    parts: Arc<[Arc<dyn Routing>]>,
    /// First port list of each network.
    lists: Arc<[u32]>,
    /// Port lists of all networks.
    ports: Arc<[PortId]>,
    /// Number of output channels of an island, by network.
    channels: Arc<[u32]>,
    /// First output channel of each plane.
    first: Arc<[u32]>,
    /// Network in which packets start. `None`: the first that joins their ends.
    chosen: Option<usize>,
}

impl NetworksRouting {
    /// Creates the routing of all networks from that of an island of each.
    ///
    /// # Errors
    /// At `routing`, if networks keep packets off channels without room by different classes (`Routing::escape`).
    pub fn new(networks: &Networks, parts: Vec<Arc<dyn Routing>>) -> Result<Self, KeyError> {
        let mut classes = parts.iter().map(|own| own.adaptive_class());
        let first = classes.next().flatten();
        if classes.any(|class| class != first) {
            let message = "either all networks or none have a routing whose packets wait for escape channels only";
            return Err(KeyError::new("routing", message));
        }
        let (mut ports, mut lists) = (Vec::new(), Vec::new());
        for own in &parts {
            lists.push(ports.len() as u32);
            ports.extend_from_slice(own.port_lists());
        }
        if ports.len() > Route::MAX_LISTED {
            return Err(KeyError::new("routing", "the networks' tables of ports are too large together"));
        }
        let channels: Vec<u32> = networks.parts().iter().map(|part| Channels::new(&*part.island).ports()).collect();
        let (mut first, mut before) = (Vec::new(), 0);
        for plane in (0..networks.planes() as u8).map(PlaneId) {
            let part = networks.part_of(plane);
            first.push(before);
            before += networks.parts()[part].places.islands() * channels[part];
        }
        Ok(Self {
            networks: networks.clone(),
            parts: parts.into(),
            lists: lists.into(),
            ports: ports.into(),
            channels: channels.into(),
            first: first.into(),
            chosen: None,
        })
    }

    /// Returns the position of a router, and its network.
    #[inline]
    fn at(&self, router: RouterId) -> (usize, Position) {
        let at = self.networks.position(router);
        (self.networks.part_of(at.plane), at)
    }

    /// Calls a function with a packet as its island sees it.
    #[inline]
    fn within<T>(&self, part: usize, hop: &mut Hop, call: impl FnOnce(&dyn Routing, &mut Hop) -> T) -> T {
        let dst = hop.dst;
        hop.dst = self.networks.parts()[part].places.place(dst).map_or(dst, |(_, own)| own);
        let made = call(&*self.parts[part], hop);
        hop.dst = dst;
        made
    }

    /// Returns the first output channel of a position's island.
    fn first_channel(&self, part: usize, at: &Position) -> u32 {
        self.first[usize::from(at.plane.0)] + at.island * self.channels[part]
    }

    /// Returns a node as a network numbers it.
    fn own(&self, part: usize, node: NodeId) -> NodeId {
        self.networks.parts()[part].places.place(node).map_or(node, |(_, own)| own)
    }

    /// Returns this routing with that of one network replaced.
    fn with_part(&self, part: usize, routing: Arc<dyn Routing>) -> Arc<dyn Routing> {
        let mut parts = self.parts.to_vec();
        parts[part] = routing;
        Arc::new(Self { parts: parts.into(), ..self.clone() })
    }

    /// Returns the number of the network in which a packet starts that no plane is given for.
    fn joining(&self, src: NodeId, dst: NodeId) -> usize {
        if let Some(chosen) = self.chosen {
            return chosen;
        }
        self.networks.parts().iter().position(|part| part.places.joins(src, dst)).unwrap_or(0)
    }
}

impl Routing for NetworksRouting {
    fn kind(&self) -> &'static str {
        match &self.parts[..] {
            [own] => own.kind(),
            _ => "networks",
        }
    }

    fn classes(&self) -> u8 {
        self.parts.iter().map(|own| own.classes()).max().unwrap_or(1)
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        let part = self.networks.part_of_class(class);
        self.parts[part].classes_on(ChannelClass(class.0 - self.networks.first_class(part).0))
    }

    fn estimates_delay(&self, class: ChannelClass) -> bool {
        let part = self.networks.part_of_class(class);
        self.parts[part].estimates_delay(ChannelClass(class.0 - self.networks.first_class(part).0))
    }

    fn adaptive(&self) -> bool {
        self.parts.iter().any(|own| own.adaptive())
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        let part = self.joining(src, dst);
        self.parts[part].start(self.own(part, src), self.own(part, dst), draw)
    }

    fn start_on(&self, plane: PlaneId, ends: (NodeId, NodeId), draw: &mut dyn Draw) -> RouteState {
        let part = self.networks.part_of(plane);
        self.parts[part].start(self.own(part, ends.0), self.own(part, ends.1), draw)
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        let part = self.joining(src, dst);
        self.parts[part].initial_distribution(self.own(part, src), self.own(part, dst))
    }

    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let (part, at) = self.at(at);
        self.within(part, hop, |own, hop| own.route(at.router, hop)).shifted(self.lists[part])
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        let (part, at) = self.at(at);
        let first = self.first_channel(part, &at);
        let here = |probe| match probe {
            Probe::Channel(ChannelId(channel)) => Probe::Channel(ChannelId(channel + first)),
            Probe::First | Probe::Ahead | Probe::Next | Probe::Path => probe,
        };
        let option = self.within(part, &mut { *hop }, |own, hop| own.candidate(at.router, hop, number))?;
        Some(PathOption { probe: here(option.probe), ..option })
    }

    fn congestion_behind(&self, (at, port): (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64 {
        let (part, at) = self.at(at);
        let of_island = snapshot.get(self.first_channel(part, &at) as usize..).unwrap_or_default();
        self.within(part, &mut { *hop }, |own, hop| own.congestion_behind((at.router, port), hop, of_island))
    }

    fn candidate_state(&self, at: RouterId, hop: &Hop, number: u16) -> Option<RouteState> {
        let (part, at) = self.at(at);
        self.within(part, &mut { *hop }, |own, hop| own.candidate_state(at.router, hop, number))
    }

    fn take(&self, at: RouterId, candidate: (u16, RouteState), hop: &mut Hop) -> Route {
        let (part, at) = self.at(at);
        self.within(part, hop, |own, hop| own.take(at.router, candidate, hop)).shifted(self.lists[part])
    }

    fn escape(&self, at: RouterId, hop: &Hop) -> (PortId, VcClass) {
        let (part, at) = self.at(at);
        self.within(part, &mut { *hop }, |own, hop| own.escape(at.router, hop))
    }

    fn adaptive_class(&self) -> Option<VcClass> {
        self.parts.first()?.adaptive_class()
    }

    fn reads_classes(&self) -> bool {
        self.parts.iter().any(|own| own.reads_classes())
    }

    fn snapshot_period(&self) -> Option<Time> {
        self.parts.iter().filter_map(|own| own.snapshot_period()).min()
    }

    fn port_lists(&self) -> &[PortId] {
        &self.ports
    }

    fn uses_input_port(&self) -> bool {
        self.parts.iter().any(|own| own.uses_input_port())
    }

    fn remembers_source(&self) -> bool {
        self.parts.iter().any(|own| own.remembers_source())
    }

    fn same_for_router(&self) -> bool {
        self.parts.iter().all(|own| own.same_for_router())
    }

    fn fixed_by_flow(&self) -> bool {
        self.parts.iter().all(|own| own.fixed_by_flow())
    }

    fn covering(&self) -> Option<Arc<dyn Routing>> {
        let covering = |own: &Arc<dyn Routing>| own.covering().unwrap_or_else(|| Arc::clone(own));
        let is_covered = self.parts.iter().any(|own| own.covering().is_some());
        is_covered.then(|| Arc::new(Self { parts: self.parts.iter().map(covering).collect(), ..self.clone() }) as _)
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        let all = self.parts.iter().map(|own| own.options()).enumerate();
        let Some((part, most)) = all.max_by_key(|(part, own)| (own.len(), std::cmp::Reverse(*part))) else {
            return Vec::new();
        };
        most.into_iter().map(|own| self.with_part(part, own)).collect()
    }

    fn path_channels(&self, from: RouterId, to: RouterId) -> Option<u32> {
        let ((part, from), (_, to)) = (self.at(from), self.at(to));
        self.parts[part].path_channels(from.router, to.router)
    }

    fn table_bytes(&self) -> u64 {
        self.parts.iter().map(|own| own.table_bytes()).sum()
    }

    fn minimal(&self) -> bool {
        self.parts.iter().all(|own| own.minimal())
    }

    fn max_routers(&self) -> u32 {
        self.parts.iter().map(|own| own.max_routers()).max().unwrap_or(1)
    }

    fn in_network(&self, network: usize) -> Option<Arc<dyn Routing>> {
        Some(Arc::new(Self { chosen: Some(network), ..self.clone() }))
    }

    fn parts(&self) -> &[Arc<dyn Routing>] {
        &self.parts
    }
}
