//! The deadlock watchdog: who holds what and waits for what, when nothing moves.

use topology::{ChannelSource, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use crate::partition::{Partition, Traffic};
use crate::routers::Routers;

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
    /// Every packet at the front of a queue of this partition.
    pub fn waiting_packets(&self) -> Vec<WaitingPacket> {
        let fabric = self.fabric();
        let vc_shift = fabric.plan.vc_shift;
        let port = |index: u32| match fabric.source(index as usize) {
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
                class: fabric.pool.entry(waiting.packet).class,
                vcs_per_class: fabric.vcs_per_class(waiting.output as usize),
                src: self.source_of(packet.flow_id),
                dst: NodeId(packet.dst),
            })
        };
        crate::routers::waiting(self.routers(), fabric).into_iter().filter_map(describe).collect()
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
    find_cycle(&next).into_iter().map(|i| packets[i]).collect()
}

/// A cycle of a directed graph, by depth-first search; empty if there is none.
fn find_cycle(next: &[Vec<usize>]) -> Vec<usize> {
    /// How far the search is with a vertex.
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let mut state = vec![State::New; next.len()];
    for start in 0..next.len() {
        if state[start] != State::New {
            continue;
        }
        let mut path = vec![(start, 0)];
        state[start] = State::OnPath;
        while let Some((vertex, edge)) = path.last_mut() {
            let Some(&to) = next[*vertex].get(*edge) else {
                state[*vertex] = State::Done;
                path.pop();
                continue;
            };
            *edge += 1;
            if state[to] == State::OnPath {
                let from = path.iter().position(|&(v, _)| v == to).unwrap_or(0);
                return path[from..].iter().map(|&(v, _)| v).collect();
            }
            if state[to] == State::New {
                state[to] = State::OnPath;
                path.push((to, 0));
            }
        }
    }
    Vec::new()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_behind_a_tail_and_a_tree_has_none() {
        // Would catch a search that stops at the first dead end, or that takes a diamond for a cycle.
        assert_eq!(find_cycle(&[vec![1], vec![2, 3], vec![], vec![4], vec![1]]), [1, 3, 4]);
        assert!(find_cycle(&[vec![1, 2], vec![3], vec![3], vec![]]).is_empty());
        assert_eq!(find_cycle(&[vec![0]]), [0]);
    }
}
