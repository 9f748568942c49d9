//! The architectures that queue by input: who waits where, and who goes first.

use std::collections::{BTreeMap, VecDeque};

use routing::Hop;
use units::{PortId, RouterId};

use super::crosspoints::{self, Crosspoints};
use super::packet::Packet;
use super::shared::{Memory, Rules};
use super::{Arbitration, Architecture, Credits, Simulator, most_room};

/// Input, virtual channel, and the output of a queue that is for one output; 0 of a FIFO.
pub(super) type Place = (u16, u8, u16);

/// The state of a router; an architecture uses what it has.
#[derive(Debug)]
pub(super) struct Router {
    pub queues: BTreeMap<Place, VecDeque<Packet>>,
    /// Bytes in each crosspoint.
    filled: BTreeMap<Place, u64>,
    /// By input, until when it sends over the crossbar.
    pub input_free_at: Vec<u64>,
    /// By output, until when it takes a packet over the crossbar.
    output_free_at: Vec<u64>,
    /// By output, the input and virtual channel that it served last; at first as if those had been the first of all.
    pub served: Vec<(u16, u8)>,
    /// The output that picks first.
    first: u16,
    /// By input and output, the virtual channel that was served last.
    served_vc: BTreeMap<(u16, u16), u8>,
    /// iSLIP's pointers: by output the input, by input the output that has the highest priority.
    grant: Vec<u16>,
    accept: Vec<u16>,
    /// By output and virtual channel, the packets behind the crossbar and the room that is left for more.
    outputs: BTreeMap<(u16, u8), VecDeque<Packet>>,
    output_room: BTreeMap<(u16, u8), u64>,
    /// By output, the virtual channel from which its link took a packet last.
    left: Vec<(u16, u8)>,
    /// The queues of a shared-buffer router.
    pub memory: Memory,
    /// What is behind the queues of an input-crosspoint-queued router.
    pub crosspoints: Crosspoints,
}

/// A packet that an output may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub place: Place,
    pub generated: u64,
    pub bytes: u64,
    /// The virtual channel on which it would go on.
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

    /// The packets at the heads of the queues for an output, by input and virtual channel.
    fn heads(&self, out: u16) -> Vec<(Place, Packet)> {
        let head = |(&place, queue): (&Place, &VecDeque<Packet>)| queue.front().map(|packet| (place, packet.clone()));
        self.queues.iter().filter_map(head).filter(|(_, packet)| packet.out == out).collect()
    }

    /// Whether an input has packets.
    fn holds_packets(&self, input: u16) -> bool {
        self.queues.range((input, 0, 0)..=(input, u8::MAX, u16::MAX)).next().is_some()
    }

    /// Whether a packet waits for an output that nothing keeps at its input.
    fn is_asked(&self, out: u16, now: u64) -> bool {
        self.heads(out).iter().any(|(place, _)| self.input_free_at[usize::from(place.0)] <= now)
    }

    /// Takes the head out of a queue; a queue that is empty is forgotten.
    pub fn take(&mut self, place: Place) -> Option<Packet> {
        let queue = self.queues.get_mut(&place)?;
        let packet = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&place);
        }
        packet
    }

    /// The bytes in the fullest crosspoint of a row.
    fn fullest(&self, input: u16, vc: u8) -> u64 {
        self.filled.range((input, vc, 0)..=(input, vc, u16::MAX)).map(|(_, &bytes)| bytes).max().unwrap_or(0)
    }
}

impl Arbitration {
    /// The one that goes first of candidates that are in the order of inputs and virtual channels.
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
    /// A packet's head is ready: its queue depends on the path that it takes.
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

    /// Gives the credit of a packet back that has left its buffer.
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

    /// A packet's head leaves its buffer: it goes for so long, and its tail leaves at another time.
    pub(super) fn leave(&mut self, now: u64, router: usize, packet: &Packet, times: (u64, u64)) {
        let at = self.freed_at(now, packet, times);
        self.events.free(at, router, packet.clone());
    }

    /// When the buffer of a packet falls free that leaves now: it goes for so long, and its tail leaves at another
    /// time.
    pub(super) fn freed_at(&self, now: u64, packet: &Packet, (time, tail): (u64, u64)) -> u64 {
        if self.network.frees_at_tail { tail } else { now + time.saturating_sub(packet.time_in) }
    }

    /// Lets whatever can go go.
    pub(super) fn arbitrate(&mut self, now: u64, router: usize) {
        let state = &mut self.routers[router];
        let (ports, first) = (state.ports(), state.first);
        // The outputs take turns in picking first: where an input has packets on several virtual channels, whoever
        // picks first gets it.
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

    /// Has a router arbitrate again when an input falls free that has packets.
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

    /// Whether inputs send one packet at a time.
    fn has_crossbar(&self) -> bool {
        !matches!(self.network.architecture, Architecture::OutputQueued(..))
    }

    /// The packets that an output's link could take now.
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

    /// An output's link takes a packet from where it came in.
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

    /// An output takes a packet over the crossbar into its buffer.
    fn cross(&mut self, now: u64, router: usize, out: u16, (arbitration, speedup): (Arbitration, u64)) {
        let asked = self.routers[router].is_asked(out, now);
        if asked && self.routers[router].output_free_at[usize::from(out)] <= now {
            let candidates = self.crossing_candidates(now, router, out);
            let last = self.routers[router].served[usize::from(out)];
            let link_free_at = self.senders[self.output(router, out)].free_at;
            match arbitration.first(&candidates, last) {
                Some(chosen) => self.take_across(now, router, (out, chosen), speedup),
                // Room comes as the packet on the link leaves.
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

    /// The packets for which an output's buffer has room.
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

    /// An output's link takes a packet from the output's buffer: the virtual channels in turn.
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
        // As the link falls free the next packet goes on, and a head that has waited for room may cross. (A packet that
        // found everything empty has kept nobody waiting.)
        let waits = !self.buffered(router, out).is_empty() || (waited && self.routers[router].is_asked(out, now));
        if waits {
            self.events.visit_router(self.senders[channel].free_at, router);
        }
    }

    /// The heads of an output's buffers.
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

    /// Matches inputs to outputs (McKeown 1999) and sends what is matched.
    fn islip(&mut self, now: u64, router: usize, rounds: u8) {
        let asked = (0..self.routers[router].ports()).filter(|&out| self.routers[router].is_asked(out, now));
        let (free, busy): (Vec<u16>, Vec<u16>) =
            asked.partition(|&out| self.senders[self.output(router, out)].free_at <= now);
        // By output, the inputs that have something for it, as long as both are free.
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

    /// What each input would send to an output: its virtual channels take turns.
    fn of_each_input(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let candidates = self.candidates(now, router, out);
        let of_one = candidates.chunk_by(|one, other| one.place.0 == other.place.0);
        let choose = |of: &[Candidate]| {
            let input = of[0].place.0;
            // At first the lowest goes first.
            let last = self.routers[router].served_vc.get(&(input, out)).copied().unwrap_or(u8::MAX);
            Arbitration::RoundRobin.first(of, (input, last))
        };
        of_one.filter_map(choose).collect()
    }

    /// One round of grant and accept. Pointers move only in the first, and only past what is accepted.
    fn match_once(&mut self, router: usize, requests: &BTreeMap<u16, Vec<Candidate>>, first: bool) -> Vec<Candidate> {
        let state = &mut self.routers[router];
        let ports = state.ports();
        // By input, what outputs grant it, in ascending order of outputs.
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
