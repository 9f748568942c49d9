//! Buffer memory of routers, as in hardware.

use std::collections::{BTreeMap, BTreeSet};

use fabric::catalogue::BufferCounts;
use serde::Serialize;
use topology::{ChannelClass, Endpoint};
use units::{PortId, RouterId};

use ::system::{System, connected_ports};

/// Buffer memory of equal routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RouterMemory {
    /// Number of connected ports.
    pub ports: u16,
    /// Number of these routers.
    pub routers: u32,
    /// Memory of all buffers of one router, in bytes.
    pub bytes: u64,
}

/// Depth of the buffers at the ends of a class of channels, compared with the content of the cable. A switch needs at
/// least the bytes under way in a round trip at each crosspoint; two or four times as much is usual (Kumar, Kalé and
/// Stunkel, section 2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferSpan {
    /// Class of channels.
    pub class: String,
    /// Depth of the buffer that credits count, for each virtual channel, in bytes. If routers differ, the deepest.
    pub buffer_bytes: u32,
    /// Bytes at the bandwidth of the channel in twice its delay. Excludes the other parts of a credit round trip: the
    /// router's delay and the packet itself.
    pub cable_round_trip_bytes: u64,
}

/// Returns the buffers of all classes of channels with credits.
pub(crate) fn spans(system: &System) -> Vec<BufferSpan> {
    let classes = (0..).map(ChannelClass).zip(system.network.topology.class_names());
    let with_credits = classes.filter(|&(class, _)| !system.network.topology.is_ejection(class));
    let of = |(class, name): (ChannelClass, &str)| {
        let link = system.spec.link.parameters(name);
        let bits = u128::from(link.bandwidth.0) * 2 * u128::from(link.delay.0) / PICOSECONDS;
        BufferSpan {
            class: name.into(),
            buffer_bytes: deepest(system, class),
            cable_round_trip_bytes: u64::try_from(bits / 8).unwrap_or(u64::MAX),
        }
    };
    with_credits.map(of).collect()
}

/// Returns the depth in bytes of the deepest buffers at the ends of the channels of a class.
fn deepest(system: &System, class: ChannelClass) -> u32 {
    let plan = &system.network.plan;
    entered(system, class).into_iter().map(|set| plan.buffer_bytes(class, set)).max().unwrap_or(0)
}

/// Returns the sets of equal routers that channels of a class lead to. All, if no channel of the class does.
pub(crate) fn entered(system: &System, class: ChannelClass) -> Vec<usize> {
    let (topology, sets) = (&*system.network.topology, system.network.plan.router_sets());
    if sets.count() == 1 {
        return vec![0];
    }
    let by_channels = (0..topology.routers()).map(RouterId).filter(|&router| {
        connected_ports(topology, router).any(|port| match topology.endpoint(router, port) {
            Endpoint::Router(from, port) => topology.class(from, port) == class,
            _ => topology.injection_class(topology.plane_of(router)) == class,
        })
    });
    let entered: BTreeSet<usize> = by_channels.map(|router| sets.number(router)).collect();
    if entered.is_empty() { (0..sets.count()).collect() } else { entered.into_iter().collect() }
}

/// Number of picoseconds in a second.
const PICOSECONDS: u128 = 1_000_000_000_000;

/// Returns the buffer memory of all routers, in the order of ports and bytes. Equal routers are one entry.
pub(crate) fn of(system: &System) -> Vec<RouterMemory> {
    let topology = &*system.network.topology;
    let mut alike: BTreeMap<(u16, u64), u32> = BTreeMap::new();
    for router in (0..topology.routers()).map(RouterId) {
        let ports = connected_ports(topology, router).count() as u16;
        *alike.entry((ports, of_router(system, router))).or_insert(0) += 1;
    }
    alike.into_iter().map(|((ports, bytes), routers)| RouterMemory { ports, routers, bytes }).collect()
}

/// Returns the memory of a router's buffers, in bytes: of each virtual channel that packets use, at inputs, crosspoints
/// or outputs.
fn of_router(system: &System, router: RouterId) -> u64 {
    let (topology, plan) = (&*system.network.topology, &system.network.plan);
    let outputs = |port: PortId| u64::from(plan.vcs_on(topology.class(router, port)).max(1));
    let class_into = |port: PortId| match topology.endpoint(router, port) {
        Endpoint::Router(from, port) => topology.class(from, port),
        _ => topology.injection_class(topology.plane_of(router)),
    };
    let vcs_into = |port: PortId| u64::from(plan.vcs_on(class_into(port)));
    let set = plan.router_sets().number(router);
    let inputs = |port: PortId| vcs_into(port) * u64::from(plan.buffer_bytes(class_into(port), set));
    system.spec.router.memory(&BufferCounts {
        ports: connected_ports(topology, router).count() as u64,
        input_bytes: connected_ports(topology, router).map(inputs).sum(),
        input_vcs: connected_ports(topology, router).map(vcs_into).sum(),
        output_vcs: connected_ports(topology, router).map(outputs).sum(),
        inner_bytes: u64::from(plan.inner_buffer_bytes(set)),
    })
}
