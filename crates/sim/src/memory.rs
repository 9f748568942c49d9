//! How much memory a run will take, before it takes it.

use fabric::FabricSpec;
use fabric::catalogue::RouterSpec;
use topology::Topology;
use units::RouterId;

use crate::error::SystemError;
use crate::network::Network;

/// What the memory of a run depends on.
struct Size<'a> {
    topology: &'a dyn Topology,
    classes: u8,
    /// Routers on the longest way.
    longest: u32,
    router: &'a RouterSpec,
}

/// Bytes that a run of a fabric needs at about load 1, without the topology's and the routing's own tables.
fn estimate(size: &Size<'_>) -> u64 {
    let topology = size.topology;
    let widest = (0..topology.routers()).map(|r| u64::from(topology.ports(RouterId(r)))).max().unwrap_or(0);
    let ports: u64 = (0..topology.routers()).map(|r| u64::from(topology.ports(RouterId(r)))).sum();
    let nodes = u64::from(topology.nodes());
    let vcs = u64::from(size.router.common().vcs.unwrap_or(size.classes)).next_power_of_two();
    // Per port: sender, receiver, marks; per virtual channel: credits and queues; per crosspoint its queue.
    let queues = match size.router {
        RouterSpec::OutputQueued(_) => ports * vcs * widest * 12,
        RouterSpec::VirtualOutputQueued(_) => ports * vcs * widest * 8,
        _ => ports * vcs * 24,
    };
    ports * (160 + 80 * vcs) + queues + nodes * 320 + packets_in_flight(nodes, size) * 60
}

/// A guess at the packets in flight near saturation: some for each router on the way.
fn packets_in_flight(nodes: u64, size: &Size<'_>) -> u64 {
    nodes * u64::from(size.longest.min(64)) * 4
}

/// The same of a system that is built.
pub(crate) fn of_network(network: &Network, router: &RouterSpec) -> u64 {
    let (topology, routing) = (&*network.topology, &*network.routing);
    estimate(&Size { topology, classes: routing.classes(), longest: routing.max_routers(), router })
}

/// Refuses a system that this machine has no memory for.
///
/// # Errors
/// At `topology`, with what is needed and what is free.
pub(crate) fn check(spec: &FabricSpec) -> Result<(), SystemError> {
    let (topology, routing) = (&*spec.topology, &*spec.routing);
    let size = Size { topology, classes: routing.classes(), longest: routing.max_routers(), router: &spec.router };
    let (needed, free) = (estimate(&size), available());
    match free {
        Some(free) if needed > free => Err(SystemError::new(
            "topology",
            format!(
                "this network needs about {:.1} GiB of memory, and {:.1} GiB are free; make it smaller, or give its \
                 routers fewer ports or virtual channels",
                needed as f64 / f64::from(1 << 30),
                free as f64 / f64::from(1 << 30),
            ),
        )),
        _ => Ok(()),
    }
}

/// Free memory in bytes, where the system reports it.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
