//! Racks of a floor plan, and the lengths of cables between them.

use ::experiment::LayoutSpec;
use topology::Topology;
use topology::families::networks::Networks;
use units::{Length, NodeId, PlaneId, RouterId};

/// Racks of routers and nodes. Rack r is number `r mod racks_per_row` of row `r / racks_per_row`.
#[derive(Debug)]
pub struct Floor {
    layout: LayoutSpec,
    routers: Vec<u32>,
    nodes: Vec<u32>,
    /// Number of racks.
    pub racks: u32,
}

impl Floor {
    /// Puts routers into racks in the order of locality, then of numbers. Racks of nodes follow the rack of their
    /// routers. With several networks, `per_node` is the number of endpoints of a node.
    pub fn new(topology: &dyn Topology, layout: LayoutSpec, per_node: u32) -> Self {
        if let Some(networks) = topology.views().networks.filter(|networks| networks.only().is_none()) {
            return Self::of_networks(networks, layout, per_node);
        }
        let mut order: Vec<RouterId> = (0..topology.routers()).map(RouterId).collect();
        order.sort_by_key(|&router| (topology.locality(router), router));
        let mut places = vec![0_u32; order.len()];
        for (place, router) in (0..).zip(&order) {
            places[router.index()] = place;
        }
        // Nodes in the order of their ports.
        let mut nodes: Vec<(u32, u16, NodeId)> = (0..topology.nodes())
            .map(NodeId)
            .map(|node| {
                let (router, port) = topology.attachment(node);
                (places[router.index()], port.0, node)
            })
            .collect();
        nodes.sort_unstable();
        let mut floor = Self { layout, routers: vec![0; order.len()], nodes: vec![0; nodes.len()], racks: 0 };
        let mut rest = &nodes[..];
        let mut end = 0_u32;
        for routers in order.chunks(layout.routers_per_rack as usize) {
            end += routers.len() as u32;
            let count = rest.partition_point(|&(place, ..)| place < end);
            let (own, later) = rest.split_at(count);
            rest = later;
            floor.fill(routers, own);
        }
        floor
    }

    /// Puts nodes into racks in the order of their numbers. Routers of islands within a rack are in this rack. Others fill
    /// racks after those of nodes, network by network, and island by island in the order of locality.
    fn of_networks(networks: &Networks, layout: LayoutSpec, per_node: u32) -> Self {
        let endpoints = per_node.max(1) * layout.nodes_per_rack.unwrap_or(1);
        let nodes = (0..networks.nodes()).map(|node| node / endpoints).collect();
        let racks = networks.nodes().div_ceil(endpoints);
        let mut floor = Self { layout, routers: vec![0; networks.routers() as usize], nodes, racks };
        for (number, part) in networks.parts().iter().enumerate() {
            let mut outside = Vec::new();
            let first = networks.first_plane(number).0;
            for island in 0..part.places.islands() {
                let own = (0..part.places.island_nodes()).filter_map(|own| part.places.node(island, NodeId(own)));
                let mut racks = own.map(|node| floor.of_node(node));
                let rack = racks.next().filter(|&rack| racks.all(|other| other == rack));
                for (router, plane) in
                    (0..part.island.routers()).flat_map(|own| (0..part.planes).map(move |p| (own, p)))
                {
                    let joint = networks.first_router(PlaneId(first + plane as u8), island) + router;
                    match rack {
                        Some(rack) => floor.routers[joint as usize] = rack,
                        None => outside.push((island, part.island.locality(RouterId(router)), router, plane, joint)),
                    }
                }
            }
            outside.sort_unstable();
            for filled in outside.chunks(layout.routers_per_rack as usize) {
                filled.iter().for_each(|&(.., joint)| floor.routers[joint as usize] = floor.racks);
                floor.racks += 1;
            }
        }
        floor
    }

    /// Adds a rack of routers, and places the nodes of these routers.
    fn fill(&mut self, routers: &[RouterId], nodes: &[(u32, u16, NodeId)]) {
        let rack = self.racks;
        routers.iter().for_each(|router| self.routers[router.index()] = rack);
        self.racks += 1;
        let Some(capacity) = self.layout.nodes_per_rack else {
            nodes.iter().for_each(|&(.., node)| self.nodes[node.index()] = rack);
            return;
        };
        for filled in nodes.chunks(capacity as usize) {
            filled.iter().for_each(|&(.., node)| self.nodes[node.index()] = self.racks);
            self.racks += 1;
        }
    }

    /// Returns the rack of a router.
    pub fn of_router(&self, router: RouterId) -> u32 {
        self.routers[router.index()]
    }

    /// Returns the rack of a node.
    pub fn of_node(&self, node: NodeId) -> u32 {
        self.nodes[node.index()]
    }

    /// Returns the length of a cable between two racks, or inside one.
    pub fn length(&self, one: u32, other: u32) -> Length {
        let LayoutSpec { racks_per_row, rack_width, row_pitch, slack, within_rack, .. } = self.layout;
        if one == other {
            return within_rack;
        }
        let across = (one % racks_per_row).abs_diff(other % racks_per_row);
        let rows = (one / racks_per_row).abs_diff(other / racks_per_row);
        Length(u64::from(across) * rack_width.0 + u64::from(rows) * row_pitch.0 + slack.0)
    }
}
