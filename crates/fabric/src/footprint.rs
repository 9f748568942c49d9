//! How much memory the state of a network takes, from its sizes alone: what a check needs before anything is built.
//!
//! Each part of the state answers for its own arrays, beside where it allocates them: `Fabric::bytes` for what all
//! architectures share, and each architecture for its queues.

use engine::Event;
use topology::Topology;
use units::RouterId;

use crate::packet::Packet;

/// The sizes of a network that its state depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSize {
    /// Routers.
    pub routers: u64,
    /// Injection channels: nodes, each as often as there are planes.
    pub nodes: u64,
    /// Ports of all routers together.
    pub ports: u64,
    /// The most ports of a router.
    pub max_ports: u64,
    /// Bits of a virtual channel in a number of (port, virtual channel).
    pub vc_shift: u32,
}

impl NetworkSize {
    /// The sizes of a topology whose links have so many virtual channels.
    pub fn new(topology: &dyn Topology, vcs: u8) -> Self {
        let ports = || (0..topology.routers()).map(|router| u64::from(topology.ports(RouterId(router))));
        Self {
            routers: u64::from(topology.routers()),
            nodes: u64::from(topology.nodes()) * u64::from(topology.planes()),
            ports: ports().sum(),
            max_ports: ports().max().unwrap_or(0),
            vc_shift: u32::from(vcs).next_power_of_two().trailing_zeros(),
        }
    }

    /// Inputs by (port, virtual channel).
    pub fn inputs(&self) -> u64 {
        self.ports << self.vc_shift
    }

    /// Words of a mask of a router's ports.
    pub fn port_words(&self) -> u64 {
        self.max_ports.div_ceil(64).max(1)
    }

    /// Words of a mask of a router's inputs by (port, virtual channel).
    pub fn input_words(&self) -> u64 {
        (self.max_ports << self.vc_shift).div_ceil(64).max(1)
    }

    /// Bytes of so many packets in the network: their places in the pool, and an event or two for each.
    pub fn packet_bytes(packets: u64) -> u64 {
        // A list that has grown has room for half as much again, on average.
        (bytes_of::<Packet>(packets) + bytes_of::<u32>(packets)) * 3 / 2 + bytes_of::<[Event; 2]>(packets)
    }
}

/// Bytes of a number of values of a type.
pub(crate) fn bytes_of<T>(count: u64) -> u64 {
    count * size_of::<T>() as u64
}
