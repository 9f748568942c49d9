//! Shared-buffer routers: one memory for the queues of all outputs, with dynamic thresholds, and space reserved at the
//! inputs.

use std::collections::{BTreeMap, VecDeque};

use super::arbitration::Candidate;
use super::packet::Packet;
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
    /// Bytes of the shared memory in use. Copies of a packet are there once.
    used: u64,
    /// Packet that arrives at this instant, by input: its copies.
    arrived: BTreeMap<u16, Vec<Packet>>,
}

/// Packet in a queue. It lies in the shared memory or in its input's reserved space.
#[derive(Debug)]
struct Held {
    packet: Packet,
    is_shared: bool,
    /// Whether it is a copy that keeps its reserved space until it leaves.
    stays: bool,
}

impl Held {
    /// Returns whether the packet is to be admitted to the shared memory when there is room.
    fn waits(&self) -> bool {
        !self.is_shared && !self.stays
    }
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
        self.used -= bytes;
        self.shorten(queue, bytes);
    }

    /// Removes a packet from a queue's occupancy.
    fn shorten(&mut self, queue: Queue, bytes: u64) {
        *self.shared.entry(queue).or_insert(0) -= bytes;
    }

    /// Returns whether a packet may join the packets of its queue in the shared memory.
    fn admits(&self, rules: Rules, queue: Queue, bytes: u64) -> bool {
        let free = rules.memory - self.used;
        let length = self.shared.get(&queue).copied().unwrap_or(0) + bytes;
        bytes <= free && length as f64 <= rules.alpha * free as f64
    }

    fn admit(&mut self, queues: &[Queue], bytes: u64) {
        self.used += bytes;
        queues.iter().for_each(|&queue| *self.shared.entry(queue).or_insert(0) += bytes);
    }

    /// Admits the head of one queue from reserved space, if any may be admitted. The queues take turns.
    fn admit_next(&mut self, rules: Rules) -> Option<Packet> {
        let first = |held: &VecDeque<Held>| held.iter().position(Held::waits);
        let waiting = self.queues.iter().filter_map(|(&queue, held)| Some((queue, first(held)?)));
        let admitted =
            |&(queue, place): &(Queue, usize)| self.admits(rules, queue, self.queues[&queue][place].packet.bytes);
        let allowed: Vec<(Queue, usize)> = waiting.filter(admitted).collect();
        let &(queue, place) = allowed.iter().find(|(queue, _)| *queue > self.last).or(allowed.first())?;
        let held = &mut self.queues.get_mut(&queue)?[place];
        held.is_shared = true;
        let packet = held.packet.clone();
        self.admit(&[queue], packet.bytes);
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
    /// Notes the arrival of a packet's copies. The packets of one instant are queued in the order of inputs.
    pub(super) fn arrive_at_memory(&mut self, now: u64, router: usize, mut copies: Vec<Packet>) {
        if copies.len() > 1 {
            self.shares.share(copies.iter_mut());
        }
        self.routers[router].memory.arrived.insert(copies[0].in_port.0, copies);
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
        for copies in std::mem::take(&mut self.routers[router].memory.arrived).into_values() {
            self.enqueue(now, router, rules, copies);
        }
        for out in 0..self.routers[router].ports() {
            self.serve_queues(now, router, out, rules);
        }
    }

    fn admit_waiting(&mut self, now: u64, router: usize, rules: Rules) {
        while let Some(packet) = self.routers[router].memory.admit_next(rules) {
            self.give_credit(now, router, packet.in_port, (0, packet.vc), packet.bytes);
        }
    }

    /// Queues the copies of a packet. They are admitted to the shared memory together or not at all.
    fn enqueue(&mut self, now: u64, router: usize, rules: Rules, copies: Vec<Packet>) {
        let memory = &mut self.routers[router].memory;
        let queues: Vec<Queue> = copies.iter().map(|copy| (copy.out, copy.class.0)).collect();
        let Packet { in_port, vc, bytes, .. } = copies[0];
        let is_behind = |queue: &Queue| memory.queues.get(queue).is_some_and(|held| held.iter().any(Held::waits));
        let is_shared = queues.iter().all(|queue| !is_behind(queue) && memory.admits(rules, *queue, bytes));
        let stays = copies.len() > 1;
        for (queue, packet) in queues.iter().zip(copies) {
            memory.queues.entry(*queue).or_default().push_back(Held { packet, is_shared, stays });
        }
        if is_shared {
            memory.admit(&queues, bytes);
            self.give_credit(now, router, in_port, (0, vc), bytes);
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
                let candidate = |vc| Candidate { place, copy: 0, generated: packet.generated, bytes: packet.bytes, vc };
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
        let Some(Held { packet, is_shared, .. }) = held else { return };
        let tail = self.transmit(now, self.output(router, place.2), vc, packet.clone());
        if is_shared {
            let at = self.freed_at(now, &packet, (tail - now, tail));
            match self.shares.leave(&packet, at) {
                // Other copies are in the memory.
                None => self.routers[router].memory.shorten(queue, packet.bytes),
                Some(at) if at == now => self.routers[router].memory.free(queue, packet.bytes),
                Some(at) => self.events.free_memory(at, router, queue, packet.bytes),
            }
        } else {
            self.leave(now, router, &packet, (tail - now, tail));
        }
        self.admit_waiting(now, router, rules);
    }
}
