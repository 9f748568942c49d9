//! Architectures that queue by input: their queues and arbitration.

use std::collections::{BTreeMap, VecDeque};

use routing::Hop;
use units::{PortId, RouterId};

use super::crosspoints::{self, Crosspoints};
use super::packet::Packet;
use super::shared::{Memory, Rules};
use super::{Arbitration, Architecture, Credits, Simulator, most_room};

/// Queue: input, virtual channel, and output (0 of a FIFO, which serves all outputs).
pub(super) type Place = (u16, u8, u16);

/// State of a router. An architecture uses only its part of it.
#[derive(Debug)]
pub(super) struct Router {
    pub queues: BTreeMap<Place, VecDeque<Packet>>,
    /// Occupancy of each crosspoint, in bytes.
    filled: BTreeMap<Place, u64>,
    /// Time until which an input sends over the crossbar, by input.
    pub input_free_at: Vec<u64>,
    /// Time until which an output receives a packet over the crossbar, by output.
    output_free_at: Vec<u64>,
    /// Input and virtual channel that an output served last, by output. Initially (0, 0), as if the first queue had
    /// been served.
    pub served: Vec<(u16, u8)>,
    /// The output that picks first.
    first: u16,
    /// Virtual channel served last, by input and output.
    served_vc: BTreeMap<(u16, u16), u8>,
    /// Round-robin pointers of iSLIP: the input of highest priority by output. `accept` has the output of highest
    /// priority by input.
    grant: Vec<u16>,
    accept: Vec<u16>,
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

/// Packet that an output may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub place: Place,
    pub generated: u64,
    pub bytes: u64,
    /// Virtual channel on the next link.
    pub vc: u8,
}

impl Router {
    pub fn new(ports: usize) -> Self {
        Self {
            queues: BTreeMap::new(),
            filled: BTreeMap::new(),
            input_free_at: vec![0; ports],
            output_free_at: vec![0; ports],
            served: vec![(0, 0); ports],
            first: 0,
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

    /// Returns the heads of the queues for an output, by input and virtual channel.
    fn heads(&self, out: u16) -> Vec<(Place, Packet)> {
        let head = |(&place, queue): (&Place, &VecDeque<Packet>)| queue.front().map(|packet| (place, packet.clone()));
        self.queues.iter().filter_map(head).filter(|(_, packet)| packet.out == out).collect()
    }

    /// Returns whether an input has packets.
    fn holds_packets(&self, input: u16) -> bool {
        self.queues.range((input, 0, 0)..=(input, u8::MAX, u16::MAX)).next().is_some()
    }

    /// Returns whether a packet waits for an output and its input is free.
    fn is_asked(&self, out: u16, now: u64) -> bool {
        self.heads(out).iter().any(|(place, _)| self.input_free_at[usize::from(place.0)] <= now)
    }

    /// Takes the head of a queue; removes an empty queue.
    pub fn take(&mut self, place: Place) -> Option<Packet> {
        let queue = self.queues.get_mut(&place)?;
        let packet = queue.pop_front();
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

impl Arbitration {
    /// Returns the candidate served first. Candidates are in the order of inputs and virtual channels; `last` was
    /// served last.
    pub(super) fn first(self, candidates: &[Candidate], last: (u16, u8)) -> Option<Candidate> {
        let number = |candidate: &&Candidate| (candidate.place.0, candidate.place.1);
        let next = candidates.iter().find(|candidate| number(candidate) > last);
        match self {
            Self::RoundRobin => next.or(candidates.first()).copied(),
            Self::OldestFirst => candidates.iter().min_by_key(|one| (one.generated, number(one))).copied(),
        }
    }
}

impl Simulator<'_> {
    /// Queues a packet whose head is ready; the architecture determines the queue.
    pub(super) fn arrive(&mut self, now: u64, router: usize, packet: Packet) {
        let mut hop = packet.hop;
        let route = self.network.routing.route(RouterId(router as u32), &mut hop);
        let packet = Packet { hop, out: route.first().0, class: route.vc_class, hops: packet.hops + 1, ..packet };
        if let Architecture::SharedBuffer { .. } = self.network.architecture {
            return self.arrive_at_memory(now, router, packet);
        }
        let input = packet.hop.in_port.0;
        let place = match self.network.architecture {
            Architecture::InputQueued(_)
            | Architecture::InputOutputQueued { .. }
            | Architecture::InputCrosspointQueued { fifo: true, .. } => (input, packet.vc, 0),
            _ => (input, packet.vc, packet.out),
        };
        if let Architecture::OutputQueued(Credits::RowMinimum, _) = self.network.architecture {
            let state = &mut self.routers[router];
            let before = state.fullest(input, packet.vc);
            *state.filled.entry(place).or_insert(0) += packet.bytes;
            let rise = state.fullest(input, packet.vc) - before;
            self.give_credit(now, router, packet.hop.in_port, (0, packet.vc), packet.bytes - rise);
        }
        self.routers[router].queues.entry(place).or_default().push_back(packet);
        self.events.visit_router(now, router);
    }

    /// Returns the credit of a packet that has left its buffer.
    pub(super) fn give_back(&mut self, now: u64, router: usize, packet: &Packet) {
        let Packet { vc, out, bytes, hop: Hop { in_port, .. }, .. } = *packet;
        let state = &mut self.routers[router];
        let (place, bytes) = match self.network.architecture {
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
        self.events.free(at, router, packet.clone());
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
        match self.network.architecture {
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
        self.channels.output(RouterId(router as u32), PortId(out)).index()
    }

    /// Returns whether inputs send one packet at a time.
    fn has_crossbar(&self) -> bool {
        !matches!(self.network.architecture, Architecture::OutputQueued(..))
    }

    /// Returns the packets that an output's link could take now.
    fn candidates(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let channel = self.output(router, out);
        let mut found = Vec::new();
        for (place, packet) in self.routers[router].heads(out) {
            let free = self.routers[router].input_free_at[usize::from(place.0)] <= now;
            if free && let Some(vc) = self.vc_with_room(channel, &packet) {
                found.push(Candidate { place, generated: packet.generated, bytes: packet.bytes, vc });
            }
        }
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
    fn send(&mut self, now: u64, router: usize, Candidate { place, vc, .. }: Candidate) {
        let Some(packet) = self.routers[router].take(place) else { return };
        let channel = self.output(router, packet.out);
        let tail = self.transmit(now, channel, vc, packet.clone());
        self.leave(now, router, &packet, (tail - now, tail));
        if self.has_crossbar() {
            self.routers[router].input_free_at[usize::from(place.0)] = tail;
        }
    }

    // --- input-output-queued --------------------------------------------------------------------------------------

    pub(super) fn output_room(&mut self, router: usize, out: u16, vc: u8) -> &mut u64 {
        let Architecture::InputOutputQueued { output_buffer, .. } = self.network.architecture else {
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
        for (place, packet) in self.routers[router].heads(out) {
            let vcs = self.vcs(class, packet.class);
            let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.output_room(router, out, vc), vc)).collect();
            let vc = most_room(&room, packet.bytes);
            let free = self.routers[router].input_free_at[usize::from(place.0)] <= now;
            candidates.extend(vc.filter(|_| free).map(|vc| Candidate {
                place,
                generated: packet.generated,
                bytes: packet.bytes,
                vc,
            }));
        }
        candidates
    }

    fn take_across(&mut self, now: u64, router: usize, (out, chosen): (u16, Candidate), speedup: u64) {
        let Some(packet) = self.routers[router].take(chosen.place) else { return };
        let class = self.senders[self.output(router, out)].class;
        let time = self.serialization(class, packet.bytes).div_ceil(speedup);
        self.leave(now, router, &packet, (time, packet.tail.max(now + time)));
        *self.output_room(router, out, chosen.vc) -= packet.bytes;
        let state = &mut self.routers[router];
        state.served[usize::from(out)] = (chosen.place.0, chosen.place.1);
        state.output_free_at[usize::from(out)] = now + time;
        state.input_free_at[usize::from(chosen.place.0)] = now + time;
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
            let ends = matches!(self.senders[channel].to, topology::Endpoint::Node(_));
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

    // --- virtual-output-queued ------------------------------------------------------------------------------------

    /// Matches inputs to outputs (McKeown 1999) and sends the matched packets.
    fn islip(&mut self, now: u64, router: usize, rounds: u8) {
        let asked = (0..self.routers[router].ports()).filter(|&out| self.routers[router].is_asked(out, now));
        let (free, busy): (Vec<u16>, Vec<u16>) =
            asked.partition(|&out| self.senders[self.output(router, out)].free_at <= now);
        // Requests: the inputs with a packet for an output, by output, while both are free.
        let mut requests = BTreeMap::new();
        for &out in &free {
            requests.insert(out, self.of_each_input(now, router, out));
        }
        for round in 0..rounds {
            let accepted = self.match_once(router, &requests, round == 0);
            if accepted.is_empty() {
                break;
            }
            for chosen in accepted {
                let (input, vc, out) = chosen.place;
                requests.remove(&out);
                requests.values_mut().for_each(|of: &mut Vec<Candidate>| of.retain(|other| other.place.0 != input));
                self.routers[router].served_vc.insert((input, out), vc);
                self.send(now, router, chosen);
            }
        }
        let still_wanted = free.into_iter().filter(|&out| !self.routers[router].heads(out).is_empty());
        for out in still_wanted.chain(busy).collect::<Vec<u16>>() {
            let sender = &mut self.senders[self.channels.output(RouterId(router as u32), PortId(out)).index()];
            match sender.free_at > now {
                true => self.events.visit_router(sender.free_at, router),
                false => sender.starved = true,
            }
        }
    }

    /// Returns the packet that each input would send to an output. The virtual channels of an input take turns.
    fn of_each_input(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let candidates = self.candidates(now, router, out);
        let of_one = candidates.chunk_by(|one, other| one.place.0 == other.place.0);
        let choose = |of: &[Candidate]| {
            let input = of[0].place.0;
            // Initially the lowest virtual channel goes first.
            let last = self.routers[router].served_vc.get(&(input, out)).copied().unwrap_or(u8::MAX);
            Arbitration::RoundRobin.first(of, (input, last))
        };
        of_one.filter_map(choose).collect()
    }

    /// Performs one round of grant and accept. Pointers move only in the first round, and only past accepted grants.
    fn match_once(&mut self, router: usize, requests: &BTreeMap<u16, Vec<Candidate>>, first: bool) -> Vec<Candidate> {
        let state = &mut self.routers[router];
        let ports = state.ports();
        // Grants by input, in ascending order of outputs.
        let mut grants: BTreeMap<u16, Vec<Candidate>> = BTreeMap::new();
        for (&out, of) in requests {
            let from = state.grant[usize::from(out)];
            let granted = of.iter().find(|one| one.place.0 >= from).or(of.first());
            if let Some(&granted) = granted {
                grants.entry(granted.place.0).or_default().push(granted);
            }
        }
        let mut accepted = Vec::new();
        for (input, granted) in grants {
            let from = state.accept[usize::from(input)];
            let Some(&chosen) = granted.iter().find(|one| one.place.2 >= from).or(granted.first()) else { continue };
            if first {
                state.accept[usize::from(input)] = (chosen.place.2 + 1) % ports;
                state.grant[usize::from(chosen.place.2)] = (input + 1) % ports;
            }
            accepted.push(chosen);
        }
        accepted
    }
}
