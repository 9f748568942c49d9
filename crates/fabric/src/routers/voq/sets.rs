//! A queue for each set of outputs at each input and virtual channel: 2^K - 1 queues with K ports, so that no packet
//! waits behind one for other outputs. The ideal that real routers are compared with, for up to 8 ports.
//!
//! Unicast packets are in the queues of the one-element sets. Inputs and outputs are matched by maximum weight (Ajmone
//! Marsan et al. 2003): the head of a queue may leave by some of its outputs, and its residue goes to the end of the
//! queue of the remaining outputs. The weight of that is the length of the first queue less the length of the second.
//! The matching with the largest sum is sought among all, output set by output set. Ties go to the matching with more
//! copies; further ties are broken by rotating the port that is considered last. Only free inputs and outputs with room
//! beyond them take part.

use super::VirtualOutputQueued;
use crate::catalogue::MOST_PORTS_WITH_SETS;
use crate::fabric::{Arrival, Fabric, LocalRouter, Outgoing};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::profile::Profile;

/// Unit of weights. The number of copies, added below it, breaks ties.
const WEIGHT: i64 = 1 << 8;

/// Weight of a set of outputs that cannot be given.
const NEVER: i64 = i64::MIN / 2;

/// Choice of a port: the set of outputs by which it leaves, and the queue that it serves.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetChoice {
    set: u32,
    queue: u32,
}

/// Queues of a partition, and the working memory of the matching.
#[derive(Clone, Debug)]
pub(super) struct SetQueues {
    /// Number of sets of outputs, including the empty one.
    sets: usize,
    /// Queues, by input (port, virtual channel), then by set.
    queues: Vec<Queue>,
    /// Number of packets in each queue.
    lengths: Vec<u32>,
    /// By router, the port that is considered first.
    first: Vec<u16>,
    /// By set, the gain of a port that leaves by it, and the queue that it then serves.
    gains: Vec<(i64, u32)>,
    /// Ports that could send.
    ports: Vec<u32>,
    /// Largest sum of a port and the previous ones, by port and set of available outputs.
    sums: Vec<i64>,
    /// Choice of a port at the largest sum, by port and set of available outputs.
    choices: Vec<SetChoice>,
}
units::state!(SetQueues { queues, lengths, first; rebuilt sets, gains, ports, sums, choices });

impl SetQueues {
    /// Creates empty queues.
    pub fn new(fabric: &Fabric) -> Self {
        let sets = 1 << fabric.plan.max_ports;
        let queues = (fabric.ports() << fabric.plan.vc_shift) * sets;
        Self {
            sets,
            queues: vec![Queue::default(); queues],
            lengths: vec![0; queues],
            first: vec![0; fabric.routers.len()],
            gains: vec![(NEVER, 0); sets],
            ports: Vec::new(),
            sums: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Iterates over the packets at the fronts of an input's queues.
    pub fn heads(&self, input: InputId) -> impl Iterator<Item = PacketSlot> + '_ {
        self.queues[input.row(self.sets)].iter().map(Queue::head).filter(|&head| head != PacketSlot::NONE)
    }

    /// Returns the bytes of the queues of a network, without packets.
    pub fn bytes(size: &NetworkSize) -> u64 {
        let queues = size.inputs() << size.max_ports.min(u64::from(MOST_PORTS_WITH_SETS));
        bytes_of::<(Queue, u32)>(queues) + bytes_of::<u16>(size.routers)
    }

    /// Notes the gain of serving a queue, for each subset of the outputs by which its head could leave.
    fn note_gains(&mut self, input: InputId, set: usize, could_leave: usize) {
        let first = input.index() * self.sets;
        let length = |set: usize| if set == 0 { 0 } else { i64::from(self.lengths[first + set]) };
        let mut part = could_leave;
        while part > 0 {
            let gain = (length(set) - length(set & !part)) * WEIGHT + i64::from(part.count_ones());
            if gain > self.gains[part].0 {
                self.gains[part] = (gain, (first + set) as u32);
            }
            part = (part - 1) & could_leave;
        }
    }

    /// Adds a port with the gains noted so far.
    fn add_port(&mut self, port: usize) {
        self.ports.push(port as u32);
        let before = self.sums.len();
        for all in 0..self.sets {
            let sum = |outputs: usize| if before == 0 { 0 } else { self.sums[before - self.sets + outputs] };
            let mut best = (sum(all), SetChoice { set: 0, queue: 0 });
            let mut part = all;
            while part > 0 {
                let (gain, queue) = self.gains[part];
                let found = sum(all & !part) + gain;
                if found > best.0 {
                    best = (found, SetChoice { set: part as u32, queue });
                }
                part = (part - 1) & all;
            }
            self.sums.push(best.0);
            self.choices.push(best.1);
        }
        self.gains.fill((NEVER, 0));
    }

    /// Extracts the matching: the next port, from the last on, with its choice.
    fn next_choice(&mut self, left: &mut usize) -> Option<(usize, SetChoice)> {
        let port = self.ports.pop()?;
        let choice = self.choices[self.ports.len() * self.sets + *left];
        *left &= !(choice.set as usize);
        Some((port as usize, choice))
    }
}

impl VirtualOutputQueued {
    /// Queues a packet, or the copies of a packet that share its space, as one run.
    pub(super) fn push_to_set(&mut self, fabric: &mut Fabric, input: InputId, copies: &[Arrival]) {
        let Some(own) = &mut self.sets else { return };
        let set = copies.iter().fold(0, |set, copy| set | 1 << copy.out);
        let queue = input.index() * own.sets + set;
        own.lengths[queue] += 1;
        for copy in copies {
            own.queues[queue].push(&mut fabric.pool, copy.packet);
            self.wanted[copy.output()] += 1;
            self.queues.count_in(fabric, input.port(self.vc_shift));
        }
    }

    /// Matches inputs and outputs of a router, and sends the matched packets.
    pub(super) fn match_sets<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let LocalRouter { base, ports, .. } = fabric.routers[router];
        let base = base as usize;
        let is_free = |this: &mut Self, fabric: &mut Fabric, &out: &usize| {
            this.wanted[base + out] > 0 && this.output_free(fabric, base + out, now)
        };
        let mut free = 0;
        for out in 0..usize::from(ports) {
            free |= usize::from(is_free(self, fabric, &out)) << out;
        }
        let Some(own) = &mut self.sets else { return };
        let first = own.first[router];
        own.first[router] = if first + 1 < ports { first + 1 } else { 0 };
        for port in (first..ports).chain(0..first).map(|port| base + usize::from(port)) {
            if self.queues.has_packets(port) && self.input_free(fabric, port, now) {
                self.consider(fabric, base, port, free);
            }
        }
        let mut left = free;
        while let Some((port, choice)) = self.sets.as_mut().and_then(|own| own.next_choice(&mut left)) {
            if choice.set > 0 {
                self.serve_queue::<P>(fabric, (base, port), choice, now);
            }
        }
        if let Some(own) = &mut self.sets {
            own.sums.clear();
            own.choices.clear();
        }
        for output in (0..usize::from(ports)).map(|out| base + out) {
            if self.wanted[output] > 0 && self.output_free(fabric, output, now) {
                // It could have been served, but for missing credit or busy inputs.
                fabric.block(output);
            }
        }
    }

    /// Considers the packets of a free port that could leave by free outputs.
    fn consider(&mut self, fabric: &mut Fabric, base: usize, port: usize, free: usize) {
        let Some(own) = &mut self.sets else { return };
        for input in (0..usize::from(fabric.plan.vcs)).map(|vc| InputId::new(port, vc, self.vc_shift)) {
            for set in (1..own.sets).filter(|set| set & free != 0) {
                let mut packet = own.queues[input.index() * own.sets + set].head();
                if packet == PacketSlot::NONE {
                    continue;
                }
                let mut could_leave = 0;
                for _ in 0..fabric.run(packet).count() {
                    let copy = fabric.pool[packet];
                    let is_free = free >> copy.out & 1 == 1;
                    if is_free
                        && fabric.ready_vc(base + usize::from(copy.out), packet, (copy.class(), copy.bytes)).is_some()
                    {
                        could_leave |= 1 << copy.out;
                    }
                    packet = copy.next;
                }
                own.note_gains(input, set, could_leave);
            }
        }
        own.add_port(port);
    }

    /// Sends the head of a queue by some of its outputs. Its residue goes to the end of the queue of the others.
    fn serve_queue<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        (base, port): (usize, usize),
        SetChoice { set: mut part, queue }: SetChoice,
        now: u64,
    ) {
        let queue = queue as usize;
        let Some(own) = &mut self.sets else { return };
        let (input, sets) = (InputId((queue / own.sets) as u32), own.sets);
        let copies = fabric.run(own.queues[queue].head()).count();
        own.lengths[queue] -= 1;
        let (mut rest, mut rest_set) = (Queue::default(), 0);
        for _ in 0..copies {
            let Some(own) = &mut self.sets else { return };
            let packet = own.queues[queue].pop(&fabric.pool);
            let copy = fabric.pool[packet];
            let output = base + usize::from(copy.out);
            let vc = if part >> copy.out & 1 == 1 {
                fabric.ready_vc(output, packet, (copy.class(), copy.bytes))
            } else {
                None
            };
            let Some(vc) = vc else {
                fabric.pool[packet].next = PacketSlot::NONE;
                rest.push(&mut fabric.pool, packet);
                rest_set |= 1 << copy.out;
                continue;
            };
            // If there are copies on several classes, one leaves.
            part &= !(1 << copy.out);
            self.send_copy::<P>(fabric, (input, output), Outgoing { packet, bytes: copy.bytes, vc }, now);
        }
        if let Some(own) = &mut self.sets
            && rest_set > 0
        {
            let queue = input.index() * sets + rest_set;
            own.lengths[queue] += 1;
            while !rest.is_empty() {
                let packet = rest.pop(&fabric.pool);
                fabric.pool[packet].next = PacketSlot::NONE;
                own.queues[queue].push(&mut fabric.pool, packet);
            }
        }
        if self.queues.has_packets(port) {
            self.input_free(fabric, port, now);
        }
    }
}
