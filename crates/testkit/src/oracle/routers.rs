//! Architectures that queue by input: their queues and arbitration.

use std::collections::{BTreeMap, VecDeque};

use units::{PortId, RouterId};

use super::arbitration::{Candidate, Place, most_room};
use super::crosspoints::{self, Crosspoints};
use super::packet::Packet;
use super::shared::{Memory, Rules};
use super::{Arbitration, Architecture, Credits, FarEnd, Mutant, Simulator};

/// State of a router. An architecture uses only its part of it.
#[derive(Debug)]
pub(super) struct Router {
    pub queues: BTreeMap<Place, VecDeque<Packet>>,
    /// Occupancy of each crosspoint, in bytes.
    filled: BTreeMap<Place, u64>,
    /// Time until which an input sends over the crossbar, by input.
    pub input_free_at: Vec<u64>,
    /// Packet that an input has begun to send in this instant, by input: its run, and the outputs that have taken a
    /// copy.
    sending: BTreeMap<u16, (u64, Vec<u16>)>,
    /// Time until which an output receives a packet over the crossbar, by output.
    output_free_at: Vec<u64>,
    /// Input and virtual channel that an output served last, by output. Initially (0, 0), as if the first queue had
    /// been served.
    pub served: Vec<(u16, u8)>,
    /// The output that picks first.
    first: u16,
    /// Number of packets whose output was chosen in turn.
    pub turn: u64,
    /// Virtual channel served last, by input and output.
    pub served_vc: BTreeMap<(u16, u16), u8>,
    /// Round-robin pointers of iSLIP: the input of highest priority by output. `accept` has the output of highest
    /// priority by input.
    pub grant: Vec<u16>,
    pub accept: Vec<u16>,
    /// Packets behind the crossbar, by output and virtual channel. `output_room` is the space left for more, in bytes.
    outputs: BTreeMap<(u16, u8), VecDeque<Packet>>,
    output_room: BTreeMap<(u16, u8), u64>,
    /// Virtual channel from which an output's link took a packet last, by output.
    left: Vec<(u16, u8)>,
    /// Shared memory and its queues. Shared-buffer routers only.
    pub memory: Memory,
    /// Crosspoints behind the input queues. Input-crosspoint-queued routers only.
    pub crosspoints: Crosspoints,
}

impl Router {
    pub fn new(ports: usize) -> Self {
        Self {
            queues: BTreeMap::new(),
            filled: BTreeMap::new(),
            input_free_at: vec![0; ports],
            sending: BTreeMap::new(),
            output_free_at: vec![0; ports],
            served: vec![(0, 0); ports],
            first: 0,
            turn: 0,
            served_vc: BTreeMap::new(),
            grant: vec![0; ports],
            accept: vec![0; ports],
            outputs: BTreeMap::new(),
            output_room: BTreeMap::new(),
            left: vec![(0, 0); ports],
            memory: Memory::default(),
            crosspoints: Crosspoints::default(),
        }
    }

    pub fn ports(&self) -> u16 {
        self.served.len() as u16
    }

    /// Returns the packets at the heads of queues that are for an output, by input and virtual channel. The copies of a
    /// head are heads too. Each packet comes with its place in the queue.
    pub fn heads(&self, out: u16) -> Vec<(Place, usize, Packet)> {
        let mut heads = Vec::new();
        for (&place, queue) in &self.queues {
            let run = queue.front().map(|packet| packet.run);
            let copies = queue.iter().enumerate().take_while(|(_, packet)| Some(packet.run) == run);
            heads
                .extend(copies.filter(|(_, packet)| packet.out == out).map(|(at, packet)| (place, at, packet.clone())));
        }
        heads
    }

    /// Returns whether an input may send a packet now: it is free, or has begun to send other copies of the packet in
    /// this instant.
    pub fn may_send(&self, input: u16, packet: &Packet, now: u64) -> bool {
        match self.sending.get(&input) {
            Some((run, outs)) => *run == packet.run && !outs.contains(&packet.out),
            None => self.input_free_at[usize::from(input)] <= now,
        }
    }

    /// Notes that an input sends a packet until `until`.
    pub fn occupy_input(&mut self, input: u16, packet: &Packet, until: u64) {
        self.sending.entry(input).or_insert((packet.run, Vec::new())).1.push(packet.out);
        let free_at = &mut self.input_free_at[usize::from(input)];
        *free_at = until.max(*free_at);
    }

    /// Returns whether an input has packets.
    fn holds_packets(&self, input: u16) -> bool {
        self.queues.range((input, 0, 0)..=(input, u8::MAX, u16::MAX)).next().is_some()
    }

    /// Returns whether a packet waits for an output and its input is free.
    pub fn is_asked(&self, out: u16, now: u64) -> bool {
        self.heads(out).iter().any(|(place, _, packet)| self.may_send(place.0, packet, now))
    }

    /// Takes the head of a queue, or one of its copies; removes an empty queue.
    pub fn take(&mut self, place: Place, copy: usize) -> Option<Packet> {
        let queue = self.queues.get_mut(&place)?;
        let packet = queue.remove(copy);
        if queue.is_empty() {
            self.queues.remove(&place);
        }
        packet
    }

    /// Returns the occupancy of the fullest crosspoint of a row, in bytes.
    fn fullest(&self, input: u16, vc: u8) -> u64 {
        self.filled.range((input, vc, 0)..=(input, vc, u16::MAX)).map(|(_, &bytes)| bytes).max().unwrap_or(0)
    }
}

impl Simulator<'_> {
    /// Queues a packet whose head is ready, or its copies; the architecture determines the queue.
    pub(super) fn arrive(&mut self, now: u64, router: usize, packet: Packet) {
        let mut copies = self.split(router, &packet);
        if copies.len() > 1 && self.network.mutant == Some(Mutant::LostCopy) {
            copies.pop();
        }
        if let Architecture::SharedBuffer { .. } = self.architecture(router) {
            return self.arrive_at_memory(now, router, copies);
        }
        if let Architecture::OutputQueued(Credits::RowMinimum, _) = self.architecture(router) {
            self.enter_row(now, router, &mut copies);
        } else if copies.len() > 1 {
            self.shares.share(copies.iter_mut());
        }
        let whole = copies[0].run;
        let mut before: Option<(u16, u64)> = None;
        for copy in copies {
            // Copies for one output on several classes are neighbours.
            let of_output = before.filter(|&(out, _)| out == copy.out).map_or(copy.run, |(_, run)| run);
            before = Some((copy.out, of_output));
            let (queue, run) = match self.architecture(router) {
                Architecture::InputQueued(_)
                | Architecture::InputOutputQueued { .. }
                | Architecture::InputCrosspointQueued { fifo: true, .. } => (0, whole),
                Architecture::InputCrosspointQueued { fifo: false, .. } => (copy.out, of_output),
                _ => (copy.out, copy.run),
            };
            let place = (packet.in_port.0, packet.vc, queue);
            self.routers[router].queues.entry(place).or_default().push_back(Packet { run, ..copy });
        }
        self.events.visit_router(now, router);
    }

    /// Counts a packet in the crosspoints of its outputs, and returns the credit that it does not need. Copies for one
    /// output on several classes are in its crosspoint once.
    fn enter_row(&mut self, now: u64, router: usize, copies: &mut [Packet]) {
        let Packet { in_port, vc, bytes, .. } = copies[0];
        let state = &mut self.routers[router];
        let before = state.fullest(in_port.0, vc);
        for alike in copies.chunk_by_mut(|one, other| one.out == other.out) {
            *state.filled.entry((in_port.0, vc, alike[0].out)).or_insert(0) += bytes;
            if alike.len() > 1 {
                self.shares.share(alike.iter_mut());
            }
        }
        let rise = state.fullest(in_port.0, vc) - before;
        self.give_credit(now, router, in_port, (0, vc), bytes - rise);
    }

    /// Returns the credit of a packet that has left its buffer.
    pub(super) fn give_back(&mut self, now: u64, router: usize, packet: &Packet) {
        let Packet { vc, out, bytes, in_port, .. } = *packet;
        let architecture = self.architecture(router);
        let state = &mut self.routers[router];
        let (place, bytes) = match architecture {
            Architecture::OutputQueued(Credits::RowMinimum, _) => {
                let before = state.fullest(in_port.0, vc);
                *state.filled.entry((in_port.0, vc, out)).or_insert(0) -= bytes;
                ((0, vc), before - state.fullest(in_port.0, vc))
            }
            Architecture::OutputQueued(Credits::PerCrosspoint, _) => ((out, vc), bytes),
            _ => ((0, vc), bytes),
        };
        self.give_credit(now, router, in_port, place, bytes);
    }

    /// Removes a packet's head from its buffer. `times` are the duration of sending and the time at which the tail
    /// leaves.
    pub(super) fn leave(&mut self, now: u64, router: usize, packet: &Packet, times: (u64, u64)) {
        let at = self.freed_at(now, packet, times);
        if let Some(at) = self.shares.leave(packet, at) {
            self.events.free(at, router, packet.clone());
        }
    }

    /// Returns the time at which the buffer of a packet that leaves now becomes free. `time` is the duration of
    /// sending, and `tail` the time at which its tail leaves.
    pub(super) fn freed_at(&self, now: u64, packet: &Packet, (time, tail): (u64, u64)) -> u64 {
        if self.network.frees_at_tail { tail } else { now + time.saturating_sub(packet.time_in) }
    }

    /// Sends every packet of a router that can leave now.
    pub(super) fn arbitrate(&mut self, now: u64, router: usize) {
        let state = &mut self.routers[router];
        let (ports, first) = (state.ports(), state.first);
        // The outputs take turns in picking first: where an input has packets on several virtual channels, the output
        // that picks first gets the input.
        state.first = (first + 1) % ports;
        let outputs = (first..ports).chain(0..first);
        match self.architecture(router) {
            Architecture::OutputQueued(_, arbitration) | Architecture::InputQueued(arbitration) => {
                outputs.for_each(|out| self.serve(now, router, out, arbitration));
            }
            Architecture::SharedBuffer { arbitration, memory, alpha } => {
                self.serve_memory(now, router, Rules { arbitration, memory, alpha });
            }
            Architecture::InputCrosspointQueued { arbitration, crosspoint, .. } => {
                self.serve_crosspoints(now, router, crosspoints::Rules { arbitration, depth: crosspoint });
            }
            Architecture::VirtualOutputQueued(rounds) => self.islip(now, router, rounds.unwrap_or(u8::MAX)),
            Architecture::InputOutputQueued { arbitration, speedup, .. } => {
                for out in outputs {
                    let waited = !self.buffered(router, out).is_empty();
                    self.cross(now, router, out, (arbitration, speedup));
                    self.serve_buffer(now, router, out, waited);
                }
            }
        }
        self.routers[router].sending.clear();
        self.visit_with_inputs(now, router);
    }

    /// Schedules another arbitration of a router when an input with packets becomes free.
    fn visit_with_inputs(&mut self, now: u64, router: usize) {
        let state = &self.routers[router];
        for input in (0..state.ports()).filter(|&input| state.holds_packets(input)) {
            let at = state.input_free_at[usize::from(input)];
            if at > now {
                self.events.visit_router(at, router);
            }
        }
    }

    pub(super) fn output(&self, router: usize, out: u16) -> usize {
        if out == self.network.topology.ports(RouterId(router as u32)) {
            return self.to_unit(router);
        }
        self.channels.output(RouterId(router as u32), PortId(out)).index()
    }

    /// Returns whether inputs send one packet at a time.
    fn has_crossbar(&self) -> bool {
        !matches!(self.architecture(0), Architecture::OutputQueued(..))
    }

    /// Returns the packets that an output's link could take now, one of each queue.
    pub(super) fn candidates(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let channel = self.output(router, out);
        let mut found = Vec::new();
        for (place, copy, packet) in self.routers[router].heads(out) {
            let free = self.routers[router].may_send(place.0, &packet, now);
            if free && let Some(vc) = self.vc_with_room(channel, &packet) {
                found.push(Candidate { place, copy, generated: packet.generated, bytes: packet.bytes, vc });
            }
        }
        found.dedup_by_key(|candidate| candidate.place);
        found
    }

    /// Sends a packet from an input queue on an output's link.
    fn serve(&mut self, now: u64, router: usize, out: u16, arbitration: Arbitration) {
        let channel = self.output(router, out);
        if self.routers[router].is_asked(out, now) && self.senders[channel].free_at <= now {
            let candidates = self.candidates(now, router, out);
            let last = self.routers[router].served[usize::from(out)];
            if let Some(chosen) = arbitration.first(&candidates, last) {
                self.routers[router].served[usize::from(out)] = (chosen.place.0, chosen.place.1);
                self.send(now, router, chosen);
            } else {
                self.senders[channel].starved = true;
            }
        }
        let free_at = self.senders[channel].free_at;
        if self.routers[router].is_asked(out, now) && free_at > now {
            self.events.visit_router(free_at, router);
        }
    }

    /// Sends a packet from its input's queue.
    pub(super) fn send(&mut self, now: u64, router: usize, Candidate { place, copy, vc, .. }: Candidate) {
        let Some(packet) = self.routers[router].take(place, copy) else { return };
        let channel = self.output(router, packet.out);
        let tail = self.transmit(now, channel, vc, packet.clone());
        self.leave(now, router, &packet, (tail - now, tail));
        if self.has_crossbar() {
            self.routers[router].occupy_input(place.0, &packet, tail);
        }
    }

    // --- input-output-queued --------------------------------------------------------------------------------------

    pub(super) fn output_room(&mut self, router: usize, out: u16, vc: u8) -> &mut u64 {
        let Architecture::InputOutputQueued { output_buffer, .. } = self.architecture(router) else {
            unreachable!("only these routers have buffers at their outputs")
        };
        self.routers[router].output_room.entry((out, vc)).or_insert(output_buffer)
    }

    /// Transfers a packet over the crossbar into an output's buffer.
    fn cross(&mut self, now: u64, router: usize, out: u16, (arbitration, speedup): (Arbitration, u64)) {
        let asked = self.routers[router].is_asked(out, now);
        if asked && self.routers[router].output_free_at[usize::from(out)] <= now {
            let candidates = self.crossing_candidates(now, router, out);
            let last = self.routers[router].served[usize::from(out)];
            let link_free_at = self.senders[self.output(router, out)].free_at;
            match arbitration.first(&candidates, last) {
                Some(chosen) => self.take_across(now, router, (out, chosen), speedup),
                // Room becomes free as the packet on the link leaves.
                None if link_free_at > now => self.events.visit_router(link_free_at, router),
                None => {}
            }
        }
        let state = &self.routers[router];
        let free_at = state.output_free_at[usize::from(out)];
        if state.is_asked(out, now) && free_at > now {
            self.events.visit_router(free_at, router);
        }
    }

    /// Returns the packets for which an output's buffer has room.
    fn crossing_candidates(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let class = self.senders[self.output(router, out)].class;
        let mut candidates = Vec::new();
        for (place, copy, packet) in self.routers[router].heads(out) {
            let vcs = self.vcs(class, packet.class);
            let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.output_room(router, out, vc), vc)).collect();
            let vc = most_room(&room, packet.bytes);
            let free = self.routers[router].may_send(place.0, &packet, now);
            candidates.extend(vc.filter(|_| free).map(|vc| Candidate {
                place,
                copy,
                generated: packet.generated,
                bytes: packet.bytes,
                vc,
            }));
        }
        candidates.dedup_by_key(|candidate| candidate.place);
        candidates
    }

    fn take_across(&mut self, now: u64, router: usize, (out, chosen): (u16, Candidate), speedup: u64) {
        let Some(packet) = self.routers[router].take(chosen.place, chosen.copy) else { return };
        let class = self.senders[self.output(router, out)].class;
        let time = self.serialization(class, packet.bytes).div_ceil(speedup);
        self.leave(now, router, &packet, (time, packet.tail.max(now + time)));
        *self.output_room(router, out, chosen.vc) -= packet.bytes;
        let state = &mut self.routers[router];
        state.served[usize::from(out)] = (chosen.place.0, chosen.place.1);
        state.output_free_at[usize::from(out)] = now + time;
        state.occupy_input(chosen.place.0, &packet, now + time);
        state.outputs.entry((out, chosen.vc)).or_default().push_back(packet);
    }

    /// Sends a packet from an output's buffer on its link. The virtual channels take turns.
    fn serve_buffer(&mut self, now: u64, router: usize, out: u16, waited: bool) {
        let channel = self.output(router, out);
        let waiting = self.buffered(router, out);
        if waiting.is_empty() {
            return;
        }
        if self.senders[channel].free_at <= now {
            let ends = matches!(self.senders[channel].to, FarEnd::Node(_));
            // A node has one buffer for all virtual channels.
            let counter = |vc| if ends { (0, 0) } else { (0, vc) };
            let can_go = |candidate: &&Candidate| *self.room(channel, counter(candidate.vc)) >= candidate.bytes;
            let candidates: Vec<Candidate> = waiting.iter().filter(can_go).copied().collect();
            match Arbitration::RoundRobin.first(&candidates, self.routers[router].left[usize::from(out)]) {
                Some(chosen) => self.send_buffered(now, router, out, chosen.vc),
                None => return self.senders[channel].starved = true,
            }
        }
        // When the link becomes free, the next packet leaves, and a head that has waited for room may cross. (A packet
        // that found everything empty has kept no other packet waiting.)
        let waits = !self.buffered(router, out).is_empty() || (waited && self.routers[router].is_asked(out, now));
        if waits {
            self.events.visit_router(self.senders[channel].free_at, router);
        }
    }

    /// Returns the heads of an output's buffers.
    fn buffered(&self, router: usize, out: u16) -> Vec<Candidate> {
        let head = |(&(_, vc), queue): (&(u16, u8), &VecDeque<Packet>)| {
            let of = |packet: &Packet| Candidate {
                place: (0, vc, out),
                copy: 0,
                generated: packet.generated,
                bytes: packet.bytes,
                vc,
            };
            queue.front().map(of)
        };
        self.routers[router].outputs.range((out, 0)..=(out, u8::MAX)).filter_map(head).collect()
    }

    fn send_buffered(&mut self, now: u64, router: usize, out: u16, vc: u8) {
        let state = &mut self.routers[router];
        state.left[usize::from(out)] = (0, vc);
        let Some(packet) = state.outputs.get_mut(&(out, vc)).and_then(VecDeque::pop_front) else { return };
        let (channel, bytes) = (self.output(router, out), packet.bytes);
        let tail = self.transmit(now, channel, vc, packet);
        self.events.free_output(tail, router, (out, vc), bytes);
    }
}
