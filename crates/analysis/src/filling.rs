//! Notes on networks whose islands or switches the nodes of a machine do not fill evenly.
//!
//! Endpoints take the nodes of a topology in runs: the endpoints of a node, or with `order = "by-rail"` those of a
//! rail. A run that ends within a switch or an island continues in the next one, which then has parts of several runs.
//! This is rarely meant. A machine of the catalogue may have such switches, and gets no note.

use std::collections::BTreeMap;

use ::experiment::{EndpointOrder, JoinedNetworkSpec};
use topology::families::networks::Part;
use units::{NodeId, counted};

use ::system::System;

/// Returns notes on networks that endpoints do not fill evenly, one sentence each.
pub(crate) fn notes(system: &System) -> Vec<String> {
    let spec = &system.spec;
    let Some(networks) = system.network.topology.views().networks.filter(|_| spec.machine.is_none()) else {
        return Vec::new();
    };
    let per_node = spec.node.endpoints.unwrap_or(1);
    let of = |(own, part)| {
        let groups = groups((own, per_node), part);
        [free(part, &groups), mixed((own, per_node), part, &groups)]
    };
    spec.networks.iter().zip(networks.parts()).flat_map(of).flatten().collect()
}

/// Endpoints that share an island or a switch.
struct Group {
    /// Number of endpoints that fit.
    room: u32,
    /// Number of its endpoints in each run.
    runs: BTreeMap<u32, u32>,
}

/// Returns the endpoints of each island, or of each switch with nodes of the only island.
fn groups((own, per_node): (&JoinedNetworkSpec, u32), part: &Part) -> Vec<Group> {
    let (places, mut groups) = (&part.places, BTreeMap::new());
    for island in 0..places.islands() {
        for node in (0..places.island_nodes()).map(NodeId) {
            let switch = if places.islands() > 1 { 0 } else { part.island.attachment(node).0.0 };
            let group = groups.entry((island, switch)).or_insert(Group { room: 0, runs: BTreeMap::new() });
            group.room += 1;
            if let Some(NodeId(endpoint)) = places.node(island, node) {
                *group.runs.entry(run_of((own, per_node), endpoint)).or_insert(0) += 1;
            }
        }
    }
    groups.into_values().collect()
}

/// Returns the number of the run that an endpoint belongs to.
fn run_of((own, per_node): (&JoinedNetworkSpec, u32), endpoint: u32) -> u32 {
    let (node, member) = (endpoint / per_node, endpoint % per_node);
    match own.order {
        EndpointOrder::ByNode => node,
        EndpointOrder::ByRail => own.rail_nodes.map_or(0, |nodes| node / nodes) * per_node + member,
    }
}

/// Notes that endpoints leave nodes of a topology free.
fn free(part: &Part, groups: &[Group]) -> Option<String> {
    let (taken, room) = (part.places.ports(), groups.iter().map(|group| group.room).sum::<u32>());
    let taken_of = |group: &Group| group.runs.values().sum::<u32>();
    let partly = groups.iter().filter(|group| (1..group.room).contains(&taken_of(group))).count();
    let empty = groups.iter().filter(|group| group.runs.is_empty()).count();
    (taken < room).then(|| {
        format!(
            "network `{}` has room for {room} endpoints and gets {taken} ({} with nodes: {partly} partly filled, {empty} empty)",
            part.name,
            counted(groups.len() as u64, ["switch", "switches"]),
        )
    })
}

/// Notes that islands have endpoints of several nodes or rails, or switches of several rails, and not all of each.
fn mixed((own, per_node): (&JoinedNetworkSpec, u32), part: &Part, groups: &[Group]) -> Option<String> {
    let (is_island, is_rail) = (part.places.islands() > 1, own.order == EndpointOrder::ByRail);
    let mut whole: BTreeMap<u32, u32> = BTreeMap::new();
    for (&run, &count) in groups.iter().flat_map(|group| &group.runs) {
        *whole.entry(run).or_insert(0) += count;
    }
    let is_mixed = |group: &&Group| {
        group.runs.len() > 1 && group.runs.iter().any(|(run, count)| whole.get(run).is_some_and(|whole| count < whole))
    };
    let found = groups.iter().filter(is_mixed).count();
    let longest = whole.values().max().copied().unwrap_or(0);
    (found > 0 && (is_island || is_rail)).then(|| {
        format!(
            "network `{}`: {found} of {} of {} have endpoints of several {}, not all of each: {}",
            part.name,
            counted(groups.len() as u64, if is_island { ["island", "islands"] } else { ["switch", "switches"] }),
            groups.iter().map(|group| group.room).max().unwrap_or(0),
            if is_rail { "rails" } else { "nodes" },
            if is_rail {
                format!("a rail has {longest} endpoints")
            } else {
                format!("a node has {longest} of its {per_node} endpoints there")
            },
        )
    })
}
