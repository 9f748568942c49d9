//! Multicast queue at each input and virtual channel, beside the queues for outputs.
//!
//! The head of such a queue leaves by all outputs that are free and have room beyond them at once. The residue stays at
//! the head until the input is free again (fanout splitting). As in ESLIP (McKeown 1997) all outputs of a router share
//! one pointer to the input that is served first. It moves on behind an input only when all copies of its head have
//! left, so that outputs pick the same packet. Multicast and unicast packets alternate in going first: at one visit of
//! the router all inputs' multicast heads are served before iSLIP matches the rest, at the next visit after it. The
//! virtual channels of an input are served round robin; one of them sends.

use super::VirtualOutputQueued;
use crate::fabric::{Arrival, Fabric, LocalRouter, Outgoing};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::profile::Profile;

/// Multicast queues of a partition.
#[derive(Clone, Debug)]
pub(super) struct MulticastQueues {
    /// Queues, by input (port, virtual channel).
    queues: Vec<Queue>,
    /// By port, the virtual channel that was served last.
    last_vc: Vec<u8>,
    /// Turns, by router.
    turns: Vec<RoundRobinState>,
}
units::state!(MulticastQueues { queues, last_vc, turns });

/// Round-robin state of a router.
#[derive(Clone, Copy, Debug, Default)]
struct RoundRobinState {
    /// Port that is served first.
    first: u16,
    /// Whether multicast packets go first at the next visit.
    multicasts_next: bool,
}
units::record!(RoundRobinState { first, multicasts_next });

impl MulticastQueues {
    /// Creates empty queues.
    pub fn new(fabric: &Fabric) -> Self {
        Self {
            queues: vec![Queue::default(); fabric.ports() << fabric.plan.vc_shift],
            last_vc: vec![u8::MAX; fabric.ports()],
            turns: vec![RoundRobinState { first: 0, multicasts_next: true }; fabric.routers.len()],
        }
    }

    /// Returns whether multicast packets go first at this visit of a router. At the next visit it is the other way
    /// round.
    pub fn take_turn(&mut self, router: usize) -> bool {
        let next = &mut self.turns[router].multicasts_next;
        std::mem::replace(next, !*next)
    }

    /// Returns the packet at the head of an input's queue, or `NONE`.
    pub fn head(&self, input: InputId) -> PacketSlot {
        self.queues[input.index()].head()
    }

    /// Returns the bytes of the queues of a network, without packets.
    pub fn bytes(size: &NetworkSize) -> u64 {
        bytes_of::<Queue>(size.inputs()) + bytes_of::<u8>(size.ports) + bytes_of::<RoundRobinState>(size.routers)
    }
}

impl VirtualOutputQueued {
    /// Queues the copies of a packet, which share its space, as one run.
    pub(super) fn push_run(&mut self, fabric: &mut Fabric, input: InputId, copies: &[Arrival]) {
        let Some(own) = &mut self.multicasts else { return };
        for copy in copies {
            own.queues[input.index()].push(&mut fabric.pool, copy.packet);
            self.wanted[copy.output()] += 1;
            self.queues.count_in(fabric, input.port(self.vc_shift));
        }
    }

    /// Sends the copies at the heads of a router's multicast queues that can leave now.
    pub(super) fn send_multicasts<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let LocalRouter { base, ports, .. } = fabric.routers[router];
        let first = self.multicasts.as_ref().map_or(0, |own| own.turns[router].first);
        let mut next = None;
        for port in (first..ports).chain(0..first) {
            let is_whole = self.send_from::<P>(fabric, base as usize, base as usize + usize::from(port), now);
            if is_whole && next.is_none() {
                next = Some(if port + 1 < ports { port + 1 } else { 0 });
            }
        }
        if let (Some(next), Some(own)) = (next, &mut self.multicasts) {
            own.turns[router].first = next;
        }
    }

    /// Sends the copies at the head of one of a port's queues that can leave now. Returns whether all copies of a
    /// packet have left.
    fn send_from<P: Profile>(&mut self, fabric: &mut Fabric, base: usize, port: usize, now: u64) -> bool {
        let vcs = fabric.plan.vcs;
        let Some(own) = &self.multicasts else { return false };
        let first = match own.last_vc[port].wrapping_add(1) {
            next if next < vcs => next,
            _ => 0,
        };
        for vc in (first..vcs).chain(0..first) {
            let input = InputId::new(port, usize::from(vc), self.vc_shift);
            if self.multicasts.as_ref().is_none_or(|own| own.head(input) == PacketSlot::NONE) {
                continue;
            }
            if !self.input_free(fabric, port, now) {
                return false;
            }
            let (sent, left) = self.send_run::<P>(fabric, base, input, now);
            if sent > 0 {
                if let Some(own) = &mut self.multicasts {
                    own.last_vc[port] = vc;
                }
                if self.queues.has_packets(port) {
                    self.input_free(fabric, port, now);
                }
                return left == 0;
            }
        }
        false
    }

    /// Sends the copies at the head of an input's queue that can leave now. Returns the number of copies sent, and of
    /// those left.
    fn send_run<P: Profile>(&mut self, fabric: &mut Fabric, base: usize, input: InputId, now: u64) -> (usize, usize) {
        let mut packet = self.multicasts.as_ref().map_or(PacketSlot::NONE, |own| own.head(input));
        let all = fabric.run(packet).count();
        let mut sent = 0;
        for _ in 0..all {
            let copy = fabric.pool[packet];
            let output = base + usize::from(copy.out);
            if self.output_free(fabric, output, now) {
                match fabric.ready_vc(output, packet, (copy.class(), copy.bytes)) {
                    Some(vc) => {
                        let outgoing = Outgoing { packet, bytes: copy.bytes, vc };
                        if let Some(own) = &mut self.multicasts {
                            own.queues[input.index()].remove(&mut fabric.pool, packet);
                        }
                        self.send_copy::<P>(fabric, (input, output), outgoing, now);
                        sent += 1;
                    }
                    None => fabric.block(output),
                }
            }
            packet = copy.next;
        }
        (sent, all - sent)
    }
}
