//! The four architectures: who waits where, and who goes first.

use std::collections::{BTreeMap, VecDeque};

use routing::Hop;
use units::{PortId, RouterId};

use super::{Arbitration, Architecture, Credits, Packet, Simulator, most_room};

/// Input, virtual channel, and the output of a queue that is for one output; 0 of a FIFO.
type Place = (u16, u8, u16);

/// The state of a router; an architecture uses what it has.
#[derive(Debug)]
pub(super) struct Router {
    queues: BTreeMap<Place, VecDeque<Packet>>,
    /// Bytes in each crosspoint.
    filled: BTreeMap<Place, u64>,
    /// By input, until when it sends over the crossbar.
    input_free_at: Vec<u64>,
    /// By output, until when it takes a packet over the crossbar.
    output_free_at: Vec<u64>,
    /// By output, the input and virtual channel that it served last.
    served: Vec<Option<(u16, u8)>>,
    /// By input and output, the virtual channel that was served last.
    served_vc: BTreeMap<(u16, u16), u8>,
    /// iSLIP's pointers: by output the input, by input the output that has the highest priority.
    grant: Vec<u16>,
    accept: Vec<u16>,
    /// By output and virtual channel, the packets behind the crossbar and the room that is left for more.
    outputs: BTreeMap<(u16, u8), VecDeque<Packet>>,
    output_room: BTreeMap<(u16, u8), u64>,
    /// By output, the virtual channel from which its link took a packet last.
    left: Vec<Option<(u16, u8)>>,
}

/// A packet that an output may take.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    place: Place,
    generated: u64,
    /// The virtual channel on which it would go on.
    vc: u8,
}

impl Router {
    pub fn new(ports: usize) -> Self {
        Self {
            queues: BTreeMap::new(),
            filled: BTreeMap::new(),
            input_free_at: vec![0; ports],
            output_free_at: vec![0; ports],
            served: vec![None; ports],
            served_vc: BTreeMap::new(),
            grant: vec![0; ports],
            accept: vec![0; ports],
            outputs: BTreeMap::new(),
            output_room: BTreeMap::new(),
            left: vec![None; ports],
        }
    }

    fn ports(&self) -> u16 {
        self.served.len() as u16
    }

    /// The packets at the heads of the queues for an output, by input and virtual channel.
    fn heads(&self, out: u16) -> Vec<(Place, Packet)> {
        let head = |(&place, queue): (&Place, &VecDeque<Packet>)| queue.front().map(|packet| (place, packet.clone()));
        self.queues.iter().filter_map(head).filter(|(_, packet)| packet.out == out).collect()
    }

    fn take(&mut self, place: Place) -> Option<Packet> {
        self.queues.get_mut(&place)?.pop_front()
    }

    /// The bytes in the fullest crosspoint of a row.
    fn fullest(&self, input: u16, vc: u8) -> u64 {
        self.filled.range((input, vc, 0)..=(input, vc, u16::MAX)).map(|(_, &bytes)| bytes).max().unwrap_or(0)
    }
}

impl Arbitration {
    /// The one that goes first of candidates that are in the order of inputs and virtual channels.
    fn first(self, candidates: &[Candidate], last: Option<(u16, u8)>) -> Option<Candidate> {
        let number = |candidate: &&Candidate| (candidate.place.0, candidate.place.1);
        let next = candidates.iter().find(|candidate| last.is_some_and(|last| number(candidate) > last));
        match self {
            Self::RoundRobin => next.or(candidates.first()).copied(),
            Self::OldestFirst => candidates.iter().min_by_key(|one| (one.generated, number(one))).copied(),
        }
    }
}

impl Simulator<'_> {
    /// A packet's head is ready: its queue depends on the way that it goes.
    pub(super) fn arrive(&mut self, now: u64, router: usize, packet: Packet) {
        let mut hop = packet.hop;
        let route = self.network.routing.route(RouterId(router as u32), &mut hop);
        let packet = Packet { hop, out: route.first.0, class: route.vc_class, hops: packet.hops + 1, ..packet };
        let input = packet.hop.in_port.0;
        let place = match self.network.architecture {
            Architecture::InputQueued(_) | Architecture::InputOutputQueued { .. } => (input, packet.vc, 0),
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

    /// A packet's head leaves its buffer; it takes so long, and its tail goes at another time.
    fn leave(&mut self, now: u64, router: usize, packet: &Packet, (time, tail): (u64, u64)) {
        let at = match self.network.frees_at_tail {
            true => tail,
            false => now + time.saturating_sub(packet.time_in),
        };
        self.events.free(at, router, packet.clone());
    }

    /// Lets whatever can go go.
    pub(super) fn arbitrate(&mut self, now: u64, router: usize) {
        let ports = self.routers[router].ports();
        match self.network.architecture {
            Architecture::OutputQueued(_, arbitration) | Architecture::InputQueued(arbitration) => {
                (0..ports).for_each(|out| self.serve(now, router, out, arbitration));
            }
            Architecture::VirtualOutputQueued(rounds) => self.islip(now, router, rounds.unwrap_or(u8::MAX)),
            Architecture::InputOutputQueued { arbitration, speedup, .. } => {
                (0..ports).for_each(|out| self.cross(now, router, out, (arbitration, speedup)));
                (0..ports).for_each(|out| self.serve_buffer(now, router, out, arbitration));
            }
        }
    }

    fn output(&self, router: usize, out: u16) -> usize {
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
            let free = !self.has_crossbar() || self.routers[router].input_free_at[usize::from(place.0)] <= now;
            if free && let Some(vc) = self.vc_with_room(channel, &packet) {
                found.push(Candidate { place, generated: packet.generated, vc });
            }
        }
        found
    }

    /// An output's link takes a packet from where it came in.
    fn serve(&mut self, now: u64, router: usize, out: u16, arbitration: Arbitration) {
        if self.senders[self.output(router, out)].free_at > now {
            return;
        }
        let candidates = self.candidates(now, router, out);
        let last = self.routers[router].served[usize::from(out)];
        if let Some(chosen) = arbitration.first(&candidates, last) {
            self.routers[router].served[usize::from(out)] = Some((chosen.place.0, chosen.place.1));
            self.send(now, router, chosen);
        }
    }

    /// Sends a packet from its input's queue.
    fn send(&mut self, now: u64, router: usize, Candidate { place, vc, .. }: Candidate) {
        let Some(packet) = self.routers[router].take(place) else { return };
        let channel = self.output(router, packet.out);
        let time = self.serialization(self.senders[channel].class, packet.bytes);
        let tail = self.transmit(now, channel, vc, packet.clone());
        self.leave(now, router, &packet, (time, tail));
        self.routers[router].input_free_at[usize::from(place.0)] = tail;
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
        if self.routers[router].output_free_at[usize::from(out)] > now {
            return;
        }
        let class = self.senders[self.output(router, out)].class;
        let mut candidates = Vec::new();
        for (place, packet) in self.routers[router].heads(out) {
            let vcs = self.vcs(class, packet.class);
            let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.output_room(router, out, vc), vc)).collect();
            let vc = most_room(&room, packet.bytes);
            let free = self.routers[router].input_free_at[usize::from(place.0)] <= now;
            candidates.extend(vc.filter(|_| free).map(|vc| Candidate { place, generated: packet.generated, vc }));
        }
        let Some(chosen) = arbitration.first(&candidates, self.routers[router].served[usize::from(out)]) else {
            return;
        };
        let Some(packet) = self.routers[router].take(chosen.place) else { return };
        let time = self.serialization(class, packet.bytes).div_ceil(speedup);
        self.leave(now, router, &packet, (time, packet.tail.max(now + time)));
        *self.output_room(router, out, chosen.vc) -= packet.bytes;
        let state = &mut self.routers[router];
        state.served[usize::from(out)] = Some((chosen.place.0, chosen.place.1));
        state.output_free_at[usize::from(out)] = now + time;
        state.input_free_at[usize::from(chosen.place.0)] = now + time;
        state.outputs.entry((out, chosen.vc)).or_default().push_back(packet);
        self.events.visit_router(now + time, router);
    }

    /// An output's link takes a packet from the output's buffer.
    fn serve_buffer(&mut self, now: u64, router: usize, out: u16, arbitration: Arbitration) {
        let channel = self.output(router, out);
        if self.senders[channel].free_at > now {
            return;
        }
        let of_output = self.routers[router].outputs.range((out, 0)..=(out, u8::MAX));
        let heads: Vec<(u8, Packet)> =
            of_output.filter_map(|(&(_, vc), queue)| queue.front().map(|packet| (vc, packet.clone()))).collect();
        let mut candidates = Vec::new();
        for (vc, packet) in heads {
            let ends = matches!(self.senders[channel].to, topology::Endpoint::Node(_));
            if ends || *self.room(channel, (0, vc)) >= packet.bytes {
                candidates.push(Candidate { place: (0, vc, out), generated: packet.generated, vc });
            }
        }
        let Some(chosen) = arbitration.first(&candidates, self.routers[router].left[usize::from(out)]) else { return };
        let state = &mut self.routers[router];
        state.left[usize::from(out)] = Some((0, chosen.vc));
        let Some(packet) = state.outputs.get_mut(&(out, chosen.vc)).and_then(VecDeque::pop_front) else { return };
        let bytes = packet.bytes;
        let tail = self.transmit(now, channel, chosen.vc, packet);
        self.events.free_output(tail, router, (out, chosen.vc), bytes);
    }

    // --- virtual-output-queued ------------------------------------------------------------------------------------

    /// Matches inputs to outputs (McKeown 1999) and sends what is matched.
    fn islip(&mut self, now: u64, router: usize, rounds: u8) {
        let ports = self.routers[router].ports();
        // By output, the inputs that have something for it, as long as both are free.
        let mut requests: BTreeMap<u16, Vec<Candidate>> = BTreeMap::new();
        for out in 0..ports {
            if self.senders[self.output(router, out)].free_at <= now {
                requests.insert(out, self.of_each_input(now, router, out));
            }
        }
        let mut matched = Vec::new();
        for round in 0..rounds {
            let accepted = self.match_once(router, &requests, round == 0);
            if accepted.is_empty() {
                break;
            }
            for chosen in accepted {
                requests.remove(&chosen.place.2);
                requests.values_mut().for_each(|of| of.retain(|other| other.place.0 != chosen.place.0));
                matched.push(chosen);
            }
        }
        for chosen in matched {
            let (input, vc, out) = chosen.place;
            self.routers[router].served_vc.insert((input, out), vc);
            self.send(now, router, chosen);
        }
    }

    /// What each input would send to an output: its virtual channels take turns.
    fn of_each_input(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let candidates = self.candidates(now, router, out);
        let of_one = candidates.chunk_by(|one, other| one.place.0 == other.place.0);
        let choose = |of: &[Candidate]| {
            let input = of[0].place.0;
            let last = self.routers[router].served_vc.get(&(input, out)).map(|&vc| (input, vc));
            Arbitration::RoundRobin.first(of, last)
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
