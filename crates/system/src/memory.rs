//! Estimated memory of a run, before it starts.

use fabric::catalogue::RouterSpec;
use fabric::{FabricSpec, GroupsSpec, NetworkSize};
use topology::Topology;
use units::KeyError;

use crate::workloads::Sources;
use ::network::traffic::OpenTraffic;
use ::network::{DelayModel, Feature, Network, NetworkModel};

/// Sizes that the memory of a run depends on.
struct Size<'a> {
    network: NetworkSize,
    /// Number of routers on the longest path.
    longest: u32,
    router: &'a RouterSpec,
    /// Memory of tables, in bytes: a user's routing table, and the tables of groups with the partial sums of their
    /// units.
    tables: u64,
}

/// Returns the memory of the tables of groups and of their units' partial sums, in bytes.
fn of_groups(groups: Option<&GroupsSpec>, topology: &dyn Topology) -> u64 {
    groups.map_or(0, |groups| groups.bytes(topology))
}

/// Returns the memory of a run at about load 1, in bytes.
fn estimate(size: &Size<'_>) -> u64 {
    let network = &size.network;
    let sources = network.nodes * (OpenTraffic::BYTES_A_NODE + Sources::BYTES_A_NODE);
    let packets = packets_in_flight(network, size.longest);
    network.state_bytes(size.router) + sources + NetworkSize::packet_bytes(packets) + size.tables
}

/// Estimates the packets in flight near saturation, as measured on all families and architectures. Each busy channel
/// has one packet that is being sent, the packets that the channel and the pipeline behind it hold, and one that waits
/// on each virtual channel.
fn packets_in_flight(network: &NetworkSize, longest: u32) -> u64 {
    let busy = network.ports.min(network.nodes * u64::from(longest));
    let under_way = u128::from(network.under_way) * u128::from(busy) / u128::from(network.ports.max(1));
    (busy * (1 + u64::from(network.vcs))).saturating_add(u64::try_from(under_way).unwrap_or(u64::MAX))
}

/// Approximate memory of a node with a rank that has some outstanding operations, in bytes.
const BYTES_A_NODE: u64 = 1 << 10;

/// Returns the memory of a run that carries messages whole, in bytes: state of nodes, and kept delays of paths.
/// Channels between routers have no state.
fn of_whole_messages(topology: &dyn Topology) -> u64 {
    let (nodes, routers) = (u64::from(topology.nodes()), u64::from(topology.routers()));
    nodes * BYTES_A_NODE + DelayModel::most_path_bytes(nodes * routers)
}

/// Returns the memory of a run on a network that is built, in bytes.
pub fn of_network(network: &Network, router: &RouterSpec) -> u64 {
    if !network.has(Feature::Packets) {
        return of_whole_messages(&*network.topology);
    }
    let (topology, routing) = (&*network.topology, &*network.routing);
    let tables = routing.table_bytes() + of_groups(network.plan.groups(), topology);
    let size = NetworkSize::of_plan(&network.plan);
    estimate(&Size { network: size, longest: routing.max_routers(), router, tables })
}

/// Refuses a system that does not fit into the free memory of this computer. A flat network always fits: most of its
/// nodes may be idle.
///
/// # Errors
/// If memory is too small. The error is at `topology`, with the needed and the free memory.
pub(crate) fn check(spec: &FabricSpec, model: &dyn NetworkModel) -> Result<(), KeyError> {
    match (model.has(Feature::Packets), model.has(Feature::Routers)) {
        (true, _) => {
            let hint = ", or give its routers fewer ports or virtual channels, or fewer groups or a smaller \
                        `in_switch.combine.window`";
            refuse(of_packets(spec), hint)
        }
        (false, true) => refuse(of_whole_messages(&*spec.topology), ""),
        (false, false) => Ok(()),
    }
}

/// Returns the memory of a run of packets on a network that is not yet built, in bytes.
fn of_packets(spec: &FabricSpec) -> u64 {
    let (topology, routing) = (&*spec.topology, &*spec.routing);
    let tables = routing.table_bytes() + of_groups(spec.groups.as_ref(), topology);
    let network = NetworkSize::of_spec(spec);
    estimate(&Size { network, longest: routing.max_routers(), router: &spec.router, tables })
}

/// Refuses to take more bytes than are free. `hint` is what else makes the network smaller.
fn refuse(needed: u64, hint: &str) -> Result<(), KeyError> {
    match available() {
        Some(free) if needed > free => Err(KeyError::new(
            "topology",
            format!(
                "this network needs about {:.1} GiB of memory, and {:.1} GiB are free; make it smaller{hint}",
                needed as f64 / f64::from(1 << 30),
                free as f64 / f64::from(1 << 30),
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the free memory in bytes. None if the operating system does not report it.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
