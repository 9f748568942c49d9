//! Estimated memory of a run, before it starts.

use fabric::catalogue::RouterSpec;
use fabric::{FabricSpec, GroupsSpec, NetworkSize};
use topology::Topology;
use units::KeyError;

use crate::workloads::Sources;
use ::network::Network;
use ::network::traffic::OpenTraffic;

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

/// Returns the memory of a run on a network that is built, in bytes.
pub fn of_network(network: &Network, router: &RouterSpec) -> u64 {
    let (topology, routing) = (&*network.topology, &*network.routing);
    let tables = routing.table_bytes() + of_groups(network.plan.groups(), topology);
    let size = NetworkSize::of_plan(&network.plan);
    estimate(&Size { network: size, longest: routing.max_routers(), router, tables })
}

/// Refuses a system that does not fit into the free memory of this computer.
///
/// # Errors
/// If memory is too small. The error is at `topology`, with the needed and the free memory.
pub(crate) fn check(spec: &FabricSpec) -> Result<(), KeyError> {
    let (topology, routing) = (&*spec.topology, &*spec.routing);
    let tables = routing.table_bytes() + of_groups(spec.groups.as_ref(), topology);
    let network = NetworkSize::of_spec(spec);
    let size = Size { network, longest: routing.max_routers(), router: &spec.router, tables };
    let (needed, free) = (estimate(&size), available());
    match free {
        Some(free) if needed > free => Err(KeyError::new(
            "topology",
            format!(
                "this network needs about {:.1} GiB of memory, and {:.1} GiB are free; make it smaller, or give its \
                 routers fewer ports or virtual channels, or fewer groups or a smaller `in_switch.combine.window`",
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
