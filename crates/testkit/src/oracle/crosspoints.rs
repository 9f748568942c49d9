//! Input-crosspoint-queued routers: queues at the inputs, then a buffer for each input, virtual channel and output.

use std::collections::{BTreeMap, VecDeque};

use super::arbitration::{Candidate, Place};
use super::packet::Packet;
use super::{Arbitration, Simulator};

/// Crosspoints of a router.
#[derive(Debug, Default)]
pub(super) struct Crosspoints {
    queues: BTreeMap<Place, VecDeque<Packet>>,
    /// Occupancy of each crosspoint in bytes, including packets whose tails have not left.
    held: BTreeMap<Place, u64>,
    /// Output and virtual channel of the queue that an input served last, by input. The output is 0 of a FIFO.
    /// Initially (0, 0), as if the first queue had been served.
    crossed: BTreeMap<u16, (u16, u8)>,
}

/// Parameters of the choice of packets that cross and packets that leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub arbitration: Arbitration,
    /// Depth of a crosspoint in bytes.
    pub depth: u64,
}

impl Crosspoints {
    pub fn free(&mut self, place: Place, bytes: u64) {
        *self.held.entry(place).or_insert(0) -= bytes;
    }

    fn has_room(&self, place: Place, bytes: u64, depth: u64) -> bool {
        self.held.get(&place).copied().unwrap_or(0) + bytes <= depth
    }

    /// Returns the first packet of each crosspoint of an output, in the order of inputs and virtual channels.
    fn heads(&self, out: u16) -> Vec<(Place, Packet)> {
        let head = |(&place, queue): (&Place, &VecDeque<Packet>)| Some((place, queue.front()?.clone()));
        self.queues.iter().filter(|(place, _)| place.2 == out).filter_map(head).collect()
    }
}

impl Simulator<'_> {
    /// Lets every input send to a crosspoint, then every output send from one.
    pub(super) fn serve_crosspoints(&mut self, now: u64, router: usize, rules: Rules) {
        for input in 0..self.routers[router].ports() {
            self.send_to_crosspoint(now, router, input, rules);
        }
        for out in 0..self.routers[router].ports() {
            self.send_from_crosspoint(now, router, out, rules);
        }
    }

    /// Frees room in a crosspoint.
    pub(super) fn free_crosspoint(&mut self, now: u64, router: usize, place: Place, bytes: u64) {
        self.routers[router].crosspoints.free(place, bytes);
        self.events.visit_router(now, router);
    }

    /// Sends a head of a free input whose crosspoint has room.
    fn send_to_crosspoint(&mut self, now: u64, router: usize, input: u16, Rules { arbitration, depth }: Rules) {
        let state = &mut self.routers[router];
        if state.input_free_at[usize::from(input)] > now {
            return;
        }
        let mut candidates = Vec::new();
        for (&(_, vc, number), queue) in state.queues.range((input, 0, 0)..=(input, u8::MAX, u16::MAX)) {
            let head = queue.front().map(|packet| packet.run);
            let mut copies = queue.iter().take_while(|packet| Some(packet.run) == head);
            if let Some(packet) =
                copies.find(|packet| state.crosspoints.has_room((input, vc, packet.out), packet.bytes, depth))
            {
                let place = (number, vc, packet.out);
                candidates.push(Candidate { place, copy: 0, generated: packet.generated, bytes: packet.bytes, vc: 0 });
            }
        }
        candidates.sort_by_key(|candidate| (candidate.place.0, candidate.place.1));
        let last = state.crosspoints.crossed.get(&input).copied().unwrap_or((0, 0));
        let Some(Candidate { place: (number, vc, _), .. }) = arbitration.first(&candidates, last) else { return };
        state.crosspoints.crossed.insert(input, (number, vc));
        self.send_copies(now, router, (input, vc, number), depth);
    }

    /// Sends the head of a queue, or its copies that have room, to crosspoints. The input is busy for the slowest.
    fn send_copies(&mut self, now: u64, router: usize, queue: Place, depth: u64) {
        let (input, vc, _) = queue;
        let run = self.routers[router].queues[&queue].front().map(|packet| packet.run);
        let mut at = 0;
        while let Some(packet) = self.routers[router].queues.get(&queue).and_then(|own| own.get(at))
            && Some(packet.run) == run
        {
            let place = (input, vc, packet.out);
            if !self.routers[router].crosspoints.has_room(place, packet.bytes, depth) {
                at += 1;
                continue;
            }
            let Some(packet) = self.routers[router].take(queue, at) else { return };
            let crosspoints = &mut self.routers[router].crosspoints;
            *crosspoints.held.entry(place).or_insert(0) += packet.bytes;
            crosspoints.queues.entry(place).or_default().push_back(packet.clone());
            let class = self.senders[self.output(router, packet.out)].class;
            let time = self.serialization(class, packet.bytes);
            let free_at = &mut self.routers[router].input_free_at[usize::from(input)];
            *free_at = (now + time).max(*free_at);
            self.leave(now, router, &packet, (time, packet.tail.max(now + time)));
        }
    }

    /// Sends the head of one of an output's crosspoints on its link.
    fn send_from_crosspoint(&mut self, now: u64, router: usize, out: u16, rules: Rules) {
        let channel = self.output(router, out);
        if self.senders[channel].free_at > now {
            return;
        }
        let heads = self.routers[router].crosspoints.heads(out);
        let mut candidates = Vec::new();
        for (place, packet) in &heads {
            let vc = self.vc_with_room(channel, packet);
            let (place, generated, bytes) = (*place, packet.generated, packet.bytes);
            candidates.extend(vc.map(|vc| Candidate { place, copy: 0, generated, bytes, vc }));
        }
        let last = self.routers[router].served[usize::from(out)];
        let Some(Candidate { place, vc, .. }) = rules.arbitration.first(&candidates, last) else {
            self.senders[channel].starved |= !heads.is_empty();
            return;
        };
        self.routers[router].served[usize::from(out)] = (place.0, place.1);
        let queue = self.routers[router].crosspoints.queues.get_mut(&place);
        let Some(packet) = queue.and_then(VecDeque::pop_front) else { return };
        let bytes = packet.bytes;
        let tail = self.transmit(now, channel, vc, packet);
        // This event also makes the router act again.
        self.events.free_crosspoint(tail, router, place, bytes);
    }
}
