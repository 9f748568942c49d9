//! The deadlock watchdog: who holds what and waits for what, when nothing moves.

use topology::{ChannelSource, Endpoint, Topology};
use units::cycle::find_cycle;
use units::{NodeId, PortId, RouterId};

use crate::partition::Partition;
use crate::routers::Routers;
use crate::traffic::Traffic;

/// A packet at the front of a queue: the buffer that it holds, and the channel that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingPacket {
    /// The router that it is in.
    pub router: RouterId,
    /// The input port whose buffer it holds.
    pub in_port: PortId,
    /// The virtual channel of that buffer.
    pub vc: u8,
    /// The output port that it waits for.
    pub out_port: PortId,
    /// The class of virtual channels on which it will leave.
    pub class: u8,
    /// Virtual channels of a class on that channel.
    pub vcs_per_class: u8,
    /// The node that sent it.
    pub src: NodeId,
    /// The node that it is for.
    pub dst: NodeId,
}

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Every packet at the front of a queue of this partition, but those whose credit is promised: they wait for a link, not
    /// for a buffer.
    pub fn waiting_packets(&self) -> Vec<WaitingPacket> {
        let fabric = self.fabric();
        let vc_shift = fabric.plan.vc_shift;
        let port = |index: u32| match fabric.source(index as usize) {
            // What waits for a combine unit waits for nothing else.
            _ if !fabric.is_channel(index as usize) => None,
            ChannelSource::Router(router, port) => Some((router, port)),
            ChannelSource::Node(_) => None,
        };
        let describe = |waiting: crate::routers::Waiting| {
            let packet = &fabric.pool[waiting.packet];
            let (router, in_port) = port(waiting.input >> vc_shift)?;
            let (_, out_port) = port(waiting.output)?;
            Some(WaitingPacket {
                router,
                in_port,
                vc: (waiting.input & ((1 << vc_shift) - 1)) as u8,
                out_port,
                class: fabric.pool[waiting.packet].class(),
                vcs_per_class: fabric.vcs_per_class(waiting.output as usize),
                src: self.source_of(packet.flow_id),
                // Of several nodes the first.
                dst: fabric.members_of(waiting.packet).first().map_or(packet.dst(), |member| member.node),
            })
        };
        let waiting = crate::routers::waiting(self.routers(), fabric).into_iter();
        waiting.filter(|waiting| !fabric.is_promised(waiting.packet)).filter_map(describe).collect()
    }
}

/// A cycle of packets each of which waits for a buffer that the next one holds; empty if there is none.
///
/// Waits are taken as they are: a packet has chosen its output.
pub fn waiting_cycle(topology: &dyn Topology, mut packets: Vec<WaitingPacket>) -> Vec<WaitingPacket> {
    packets.sort_unstable();
    let holders = |packet: &WaitingPacket| {
        let end = match topology.endpoint(packet.router, packet.out_port) {
            Endpoint::Router(router, port) => Some((router, port)),
            _ => None,
        };
        let vcs = packet.class * packet.vcs_per_class..(packet.class + 1) * packet.vcs_per_class;
        let held = |other: &WaitingPacket| Some((other.router, other.in_port)) == end && vcs.contains(&other.vc);
        // Sorted by (router, in_port): the holders lie together.
        let from = end.map_or(packets.len(), |end| packets.partition_point(|p| (p.router, p.in_port) < end));
        (from..packets.len())
            .take_while(|&i| end == Some((packets[i].router, packets[i].in_port)))
            .filter(|&i| held(&packets[i]))
            .collect::<Vec<_>>()
    };
    let next: Vec<Vec<usize>> = packets.iter().map(holders).collect();
    let cycle = find_cycle(next.len(), |i| next[i].iter().copied()).unwrap_or_default();
    cycle.into_iter().map(|i| packets[i]).collect()
}

impl std::fmt::Display for WaitingPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { router, in_port, vc, out_port, class, src, dst, .. } = self;
        write!(
            f,
            "the packet from node {src} to node {dst} holds the buffer of router {router}, input {in_port}, virtual \
             channel {vc}, and waits for output {out_port}, class {class}"
        )
    }
}
