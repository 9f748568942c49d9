//! Parts of a network: switches, ports and cables, the lengths of cables on a floor, and what all of it costs.
//!
//! A cable is a wire between two routers or between a node and a router. It has both directions, and each of parallel
//! wires counts. All planes count.

mod cost;

use std::collections::BTreeMap;

use fabric::RouterSets;
use serde::Serialize;
use topology::{ChannelClass, Topology};
use units::{Length, NodeId, PlaneId, RouterId};

use ::system::{Floor, System, connected_ports, each_cable};
pub use cost::CostSums;

/// Parts of a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Design {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of network interfaces: one for each node and plane.
    pub interfaces: u64,
    /// Number of switches.
    pub switches: u32,
    /// Switches by number of ports and of connected ports.
    pub switches_by_ports: Vec<SwitchCount>,
    /// Number of ports without a cable.
    pub free_ports: u64,
    /// Number of cables.
    pub cables: u64,
    /// Cables by class.
    pub cables_by_class: Vec<CableCount>,
    /// Lengths of all cables. Requires `[layout]`.
    #[serde(flatten)]
    pub lengths: Option<CableLengths>,
    /// Number of racks. Requires `[layout]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub racks: Option<u32>,
    /// Prices and powers. Requires `[cost]`.
    #[serde(flatten)]
    pub cost: Option<CostSums>,
}

/// Switches with equal numbers of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchCount {
    /// Number of ports of a switch: `router.ports`, else the ports that the topology gives the router.
    pub ports: u16,
    /// Number of ports with a cable.
    pub connected: u16,
    /// Number of these switches.
    pub switches: u32,
}

/// Cables of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CableCount {
    /// Classes of the two directions, such as `injection/ejection`. One name if they are equal.
    pub class: String,
    /// Number of cables.
    pub cables: u64,
    /// Lengths of the cables. Requires `[layout]`.
    #[serde(flatten)]
    pub lengths: Option<CableLengths>,
}

/// Lengths of cables, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CableLengths {
    /// Length of all cables together.
    pub length_m: f64,
    /// Mean length.
    pub length_mean_m: f64,
    /// Length of the longest cable.
    pub length_max_m: f64,
    /// Number of cables longer than `cost.copper_reach`.
    pub optical: u64,
}

/// Count and lengths of cables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    cables: u64,
    /// Sum of the lengths, in millimetres.
    total: u128,
    longest: Length,
}

impl Tally {
    fn add(&mut self, length: Length) {
        self.cables += 1;
        self.total += u128::from(length.0);
        self.longest = self.longest.max(length);
    }

    fn and(self, other: Self) -> Self {
        let (cables, total) = (self.cables + other.cables, self.total + other.total);
        Self { cables, total, longest: self.longest.max(other.longest) }
    }

    fn metres(self) -> f64 {
        metres(self.total)
    }
}

/// Cables of a class: copper cables and optical cables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kinds {
    copper: Tally,
    optical: Tally,
}

impl Kinds {
    fn and(self, other: Self) -> Self {
        Self { copper: self.copper.and(other.copper), optical: self.optical.and(other.optical) }
    }

    fn all(self) -> Tally {
        self.copper.and(self.optical)
    }

    fn lengths(self) -> CableLengths {
        let all = self.all();
        CableLengths {
            length_m: all.metres(),
            length_mean_m: all.metres() / all.cables.max(1) as f64,
            length_max_m: metres(u128::from(all.longest.0)),
            optical: self.optical.cables,
        }
    }
}

fn metres(millimetres: u128) -> f64 {
    millimetres as f64 / 1e3
}

/// Returns the parts of a system's network, and their cost. `bound` is the offered load at which the network saturates.
pub(crate) fn of(system: &System, bound: f64) -> Design {
    let topology = &*system.network.topology;
    let per_node = system.spec.node.endpoints.unwrap_or(1);
    let floor = system.spec.layout.map(|layout| Floor::new(topology, layout, per_node));
    let by_class = cables(system, floor.as_ref());
    let total = by_class.values().copied().fold(Kinds::default(), Kinds::and);
    let lengths = |kinds: &Kinds| floor.as_ref().map(|_| kinds.lengths());
    let names = topology.class_names();
    let count = |(&classes, kinds): (&(ChannelClass, ChannelClass), &Kinds)| CableCount {
        class: class_name(classes, &names),
        cables: kinds.all().cables,
        lengths: lengths(kinds),
    };
    let switches_by_ports = switches(topology, system.network.plan.router_sets());
    let mut design = Design {
        nodes: topology.nodes(),
        interfaces: topology.all_planes().map(|plane| attached(topology, plane)).sum(),
        switches: topology.routers(),
        free_ports: switches_by_ports.iter().map(SwitchCount::free).sum(),
        switches_by_ports,
        cables: total.all().cables,
        cables_by_class: by_class.iter().map(count).collect(),
        lengths: lengths(&total),
        racks: floor.as_ref().map(|floor| floor.racks),
        cost: None,
    };
    design.cost = (!system.spec.cost.is_default()).then(|| cost::of(system, &design, &total, bound));
    design
}

/// Returns the number of nodes that have a port in a plane.
pub(crate) fn attached(topology: &dyn Topology, plane: PlaneId) -> u64 {
    let nodes = (0..topology.nodes()).map(NodeId);
    nodes.filter(|&node| topology.attachment_on(node, plane).is_some()).count() as u64
}

impl SwitchCount {
    /// Returns the number of free ports of these switches together.
    fn free(&self) -> u64 {
        u64::from(self.ports - self.connected.min(self.ports)) * u64::from(self.switches)
    }
}

/// Returns the number of free ports of all routers, whose keys are in sets.
pub(crate) fn free_ports(topology: &dyn Topology, sets: &RouterSets) -> u64 {
    switches(topology, sets).iter().map(SwitchCount::free).sum()
}

/// Counts routers by number of ports and of connected ports. Without the key `ports`, the topology gives the number of
/// ports.
fn switches(topology: &dyn Topology, sets: &RouterSets) -> Vec<SwitchCount> {
    let mut alike: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    for router in (0..topology.routers()).map(RouterId) {
        let own = sets.keys(router).common().ports.unwrap_or_else(|| topology.ports(router));
        let connected = connected_ports(topology, router).count() as u16;
        *alike.entry((own, connected)).or_insert(0) += 1;
    }
    alike.into_iter().map(|((ports, connected), switches)| SwitchCount { ports, connected, switches }).collect()
}

/// Tallies cables by the classes of their two directions, the lower class first. Without a floor, lengths are 0.
fn cables(system: &System, floor: Option<&Floor>) -> BTreeMap<(ChannelClass, ChannelClass), Kinds> {
    let topology = &*system.network.topology;
    let mut found: BTreeMap<_, Kinds> = BTreeMap::new();
    each_cable(topology, floor, &mut |classes, length| {
        let kinds = found.entry(classes).or_default();
        let is_optical = length.is_some_and(|length| length > system.spec.cost.copper_reach);
        let length = length.unwrap_or_default();
        if is_optical { kinds.optical.add(length) } else { kinds.copper.add(length) }
    });
    found
}

/// Returns the name of the classes of the two directions of a cable: one name if they are equal.
pub(crate) fn class_name((one, other): (ChannelClass, ChannelClass), names: &[&str]) -> String {
    let name = |class: ChannelClass| names.get(usize::from(class.0)).copied().unwrap_or_default();
    if one == other { name(one).to_owned() } else { format!("{}/{}", name(one), name(other)) }
}
