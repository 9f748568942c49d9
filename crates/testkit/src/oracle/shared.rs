//! Shared-buffer routers: one memory for the queues of all outputs, with dynamic thresholds, and space reserved at the
//! inputs.

use std::collections::{BTreeMap, VecDeque};

use super::packet::Packet;
use super::routers::Candidate;
use super::{Arbitration, Simulator};

/// Queue of an output for a class of virtual channels.
pub(super) type Queue = (u16, u8);

/// Shared memory of a router and the queues in it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    queues: BTreeMap<Queue, VecDeque<Held>>,
    /// Occupancy of the shared memory by queue in bytes, including packets whose tails have not left.
    shared: BTreeMap<Queue, u64>,
    /// Queue to which a packet was last admitted from reserved space. Initially (0, 0), as if the first queue had been
    /// served.
    last: Queue,
    /// Packet that arrives at this instant, by input.
    arrived: BTreeMap<u16, Packet>,
}

/// Packet in a queue. It lies in the shared memory or in its input's reserved space.
#[derive(Debug)]
struct Held {
    packet: Packet,
    is_shared: bool,
}

/// Parameters of admission to a router's memory and of arbitration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub arbitration: Arbitration,
    /// Size of the shared memory in bytes.
    pub memory: u64,
    pub alpha: f64,
}

impl Memory {
    pub fn free(&mut self, queue: Queue, bytes: u64) {
        *self.shared.entry(queue).or_insert(0) -= bytes;
    }

    /// Returns whether a packet may join the packets of its queue in the shared memory.
    fn admits(&self, rules: Rules, queue: Queue, bytes: u64) -> bool {
        let free = rules.memory - self.shared.values().sum::<u64>();
        let length = self.shared.get(&queue).copied().unwrap_or(0) + bytes;
        bytes <= free && length as f64 <= rules.alpha * free as f64
    }

    fn admit(&mut self, queue: Queue, bytes: u64) {
        *self.shared.entry(queue).or_insert(0) += bytes;
    }

    /// Admits the head of one queue from reserved space, if any may be admitted. The queues take turns.
    fn admit_next(&mut self, rules: Rules) -> Option<Packet> {
        let first = |held: &VecDeque<Held>| held.iter().position(|held| !held.is_shared);
        let waiting = self.queues.iter().filter_map(|(&queue, held)| Some((queue, first(held)?)));
        let admitted =
            |&(queue, place): &(Queue, usize)| self.admits(rules, queue, self.queues[&queue][place].packet.bytes);
        let allowed: Vec<(Queue, usize)> = waiting.filter(admitted).collect();
        let &(queue, place) = allowed.iter().find(|(queue, _)| *queue > self.last).or(allowed.first())?;
        let held = &mut self.queues.get_mut(&queue)?[place];
        held.is_shared = true;
        let packet = held.packet.clone();
        self.admit(queue, packet.bytes);
        self.last = queue;
        Some(packet)
    }

    /// Returns the first packet of each queue of an output, by class.
    fn heads(&self, out: u16) -> Vec<(u8, Packet)> {
        let head = |(&(_, class), held): (&Queue, &VecDeque<Held>)| Some((class, held.front()?.packet.clone()));
        self.queues.range((out, 0)..=(out, u8::MAX)).filter_map(head).collect()
    }
}

impl Simulator<'_> {
    /// Notes the arrival of a packet. The packets of one instant are queued in the order of inputs.
    pub(super) fn arrive_at_memory(&mut self, now: u64, router: usize, packet: Packet) {
        self.routers[router].memory.arrived.insert(packet.hop.in_port.0, packet);
        self.events.visit_router(now, router);
    }

    /// Frees shared memory of a queue.
    pub(super) fn free_memory(&mut self, now: u64, router: usize, queue: Queue, bytes: u64) {
        self.routers[router].memory.free(queue, bytes);
        self.events.visit_router(now, router);
    }

    /// Serves the packets that wait for freed memory, then arriving packets, then the outputs.
    pub(super) fn serve_memory(&mut self, now: u64, router: usize, rules: Rules) {
        self.admit_waiting(now, router, rules);
        for packet in std::mem::take(&mut self.routers[router].memory.arrived).into_values() {
            self.enqueue(now, router, rules, packet);
        }
        for out in 0..self.routers[router].ports() {
            self.serve_queues(now, router, out, rules);
        }
    }

    fn admit_waiting(&mut self, now: u64, router: usize, rules: Rules) {
        while let Some(packet) = self.routers[router].memory.admit_next(rules) {
            self.give_credit(now, router, packet.hop.in_port, (0, packet.vc), packet.bytes);
        }
    }

    fn enqueue(&mut self, now: u64, router: usize, rules: Rules, packet: Packet) {
        let memory = &mut self.routers[router].memory;
        let queue = (packet.out, packet.class.0);
        let is_behind = memory.queues.get(&queue).is_some_and(|held| held.iter().any(|held| !held.is_shared));
        let is_shared = !is_behind && memory.admits(rules, queue, packet.bytes);
        memory.queues.entry(queue).or_default().push_back(Held { packet: packet.clone(), is_shared });
        if is_shared {
            memory.admit(queue, packet.bytes);
            self.give_credit(now, router, packet.hop.in_port, (0, packet.vc), packet.bytes);
        }
    }

    /// Sends the first packet of one of an output's queues on its link.
    fn serve_queues(&mut self, now: u64, router: usize, out: u16, rules: Rules) {
        let heads = self.routers[router].memory.heads(out);
        let channel = self.output(router, out);
        if heads.is_empty() {
            return;
        }
        if self.senders[channel].free_at <= now {
            let mut candidates = Vec::new();
            for (class, packet) in heads {
                let place = (u16::from(class), 0, out);
                let candidate = |vc| Candidate { place, generated: packet.generated, bytes: packet.bytes, vc };
                candidates.extend(self.vc_with_room(channel, &packet).map(candidate));
            }
            let last = self.routers[router].served[usize::from(out)];
            match rules.arbitration.first(&candidates, last) {
                Some(chosen) => self.send_queued(now, router, chosen, rules),
                None => return self.senders[channel].starved = true,
            }
        }
        if !self.routers[router].memory.heads(out).is_empty() {
            self.events.visit_router(self.senders[channel].free_at, router);
        }
    }

    fn send_queued(&mut self, now: u64, router: usize, Candidate { place, vc, .. }: Candidate, rules: Rules) {
        let queue = (place.2, place.0 as u8);
        self.routers[router].served[usize::from(place.2)] = (place.0, 0);
        let held = self.routers[router].memory.queues.get_mut(&queue).and_then(VecDeque::pop_front);
        let Some(Held { packet, is_shared }) = held else { return };
        let tail = self.transmit(now, self.output(router, place.2), vc, packet.clone());
        if is_shared {
            match self.freed_at(now, &packet, (tail - now, tail)) {
                at if at == now => self.routers[router].memory.free(queue, packet.bytes),
                at => self.events.free_memory(at, router, queue, packet.bytes),
            }
        } else {
            self.leave(now, router, &packet, (tail - now, tail));
        }
        self.admit_waiting(now, router, rules);
    }
}
