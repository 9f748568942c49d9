//! Deadlock watchdog: reports which packets hold and wait for which buffers when nothing moves.

use topology::{ChannelSource, Endpoint, Topology};
use units::cycle::find_cycle;
use units::{NodeId, PortId, RouterId};

use crate::partition::Partition;
use crate::routers::Routers;
use crate::traffic::Traffic;

/// Packet at the front of a queue, with the buffer that it holds and the channel that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingPacket {
    /// Router that the packet is in.
    pub router: RouterId,
    /// Input port whose buffer it holds.
    pub in_port: PortId,
    /// Virtual channel of that buffer.
    pub vc: u8,
    /// Output port that it waits for.
    pub out_port: PortId,
    /// Class of virtual channels on which it will leave.
    pub class: u8,
    /// Virtual channels in each VC class on that channel.
    pub vcs_per_class: u8,
    /// Node that sent the packet.
    pub src: NodeId,
    /// Destination node.
    pub dst: NodeId,
}

units::record!(WaitingPacket { router, in_port, vc, out_port, class, vcs_per_class, src, dst });

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Returns every packet at the front of a queue of this partition, except those with reserved credit: they wait for
    /// a link, not for a buffer.
    pub fn waiting_packets(&self) -> Vec<WaitingPacket> {
        let fabric = self.fabric();
        let vc_shift = fabric.plan.vc_shift;
        let port = |index: u32| match fabric.source(index as usize) {
            // Packets that wait for a combine unit wait for nothing else.
            _ if !fabric.is_channel(index as usize) => None,
            ChannelSource::Router(router, port) => Some((router, port)),
            ChannelSource::Node(..) => None,
        };
        let describe = |waiting: crate::routers::Waiting| {
            let packet = &fabric.pool[waiting.packet];
            let (router, in_port) = port(waiting.input.port(vc_shift) as u32)?;
            let (_, out_port) = port(waiting.output)?;
            Some(WaitingPacket {
                router,
                in_port,
                vc: waiting.input.vc(vc_shift) as u8,
                out_port,
                class: fabric.pool[waiting.packet].class(),
                vcs_per_class: fabric.vcs_per_class(waiting.output as usize),
                src: self.source_of(packet.flow_id),
                // For a multicast packet, the first destination.
                dst: fabric.members_of(waiting.packet).first().map_or(packet.dst(), |member| member.node),
            })
        };
        let waiting = crate::routers::waiting(self.routers(), fabric).into_iter();
        waiting.filter(|waiting| !fabric.has_reservation(waiting.packet)).filter_map(describe).collect()
    }
}

/// Returns a cycle of packets, each of which waits for a buffer that the next one holds. Empty if there is none.
///
/// Each packet waits for the one output that it has chosen.
pub fn waiting_cycle(topology: &dyn Topology, mut packets: Vec<WaitingPacket>) -> Vec<WaitingPacket> {
    packets.sort_unstable();
    let holders = |packet: &WaitingPacket| {
        let end = match topology.endpoint(packet.router, packet.out_port) {
            Endpoint::Router(router, port) => Some((router, port)),
            _ => None,
        };
        let vcs = packet.class * packet.vcs_per_class..(packet.class + 1) * packet.vcs_per_class;
        let held = |other: &WaitingPacket| Some((other.router, other.in_port)) == end && vcs.contains(&other.vc);
        // Sorted by (router, in_port): the holders are adjacent.
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
