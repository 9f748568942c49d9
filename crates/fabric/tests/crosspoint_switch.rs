//! Saturated input-crosspoint-queued switch, compared with slotted models that are written from its rules alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use engine::{Owner, Stream};
use units::Draw;

use crate::saturated::{self, SLOTS};

/// Returns the keys of a router with crosspoints of `crosspoint` packets.
fn router(queueing: &str, crosspoint: u32, arbitration: &str) -> String {
    format!(
        "kind = \"input-crosspoint-queued\"\nqueueing = \"{queueing}\"\ncrosspoint_buffer = \"{crosspoint} packets\"\n\
         arbitration = \"{arbitration}\""
    )
}

#[test]
fn fifos_before_crosspoints_carry_what_a_slotted_model_of_them_carries() {
    // Would catch a head that blocks while its crosspoint has room, room that is freed before the tail has left or a
    // slot later, copies that cross in sequence, a residue that loses its place, and a round-robin pointer that is not
    // kept.
    for (fanout, crosspoint, arbitration) in [
        (1, 1, "random"),
        (1, 1, "round-robin"),
        (1, 2, "random"),
        (1, 4, "round-robin"),
        (4, 1, "random"),
        (4, 2, "round-robin"),
    ] {
        let model = Model::new(8, fanout, crosspoint);
        let expected = Model { by_turns: arbitration == "round-robin", ..model }.throughput();
        let found = saturated::throughput(16, 8, fanout, &router("fifo", crosspoint, arbitration));
        assert!(
            (found - expected).abs() < 0.004,
            "F = {fanout}, {crosspoint} packets, {arbitration}: {found} instead of {expected}"
        );
    }
}

#[test]
fn queues_before_crosspoints_carry_what_a_slotted_model_of_them_carries() {
    // Would catch a queue that waits for another queue's crosspoint, an input that sends two packets at once, and
    // round-robin pointers shared by inputs and outputs.
    for (ports, memory, crosspoint, arbitration) in
        [(8, 16, 1, "round-robin"), (8, 16, 1, "random"), (8, 16, 2, "round-robin"), (4, 4, 1, "random")]
    {
        let model = Model { by_turns: arbitration == "round-robin", ..Model::new(ports, 1, crosspoint) };
        let expected = model.with_memory(memory).throughput();
        let found = saturated::throughput(memory, ports, 1, &router("virtual-output", crosspoint, arbitration));
        assert!(
            (found - expected).abs() < 0.004,
            "{ports}x{memory}, {crosspoint} packets, {arbitration}: {found} instead of {expected}"
        );
    }
}

#[test]
fn a_crosspoint_takes_head_of_line_blocking_away_as_it_grows_and_queues_do_at_once() {
    // Would catch crosspoints whose depth is not used. One FIFO an input and no crosspoints carries 0.618 (Karol,
    // Hluchyj and Morgan).
    let found = [1, 2, 8, 32].map(|crosspoint| saturated::throughput(16, 8, 1, &router("fifo", crosspoint, "random")));
    assert!(found[0] > 0.618_390 + 0.01 && found.is_sorted() && found[3] > 0.98, "{found:?}");
    let queues = saturated::throughput(256, 8, 1, &router("virtual-output", 1, "round-robin"));
    assert!(queues > 0.99 && queues > found[1], "{queues}, {found:?}");
}

/// Slotted model of a switch whose inputs always have more packets.
struct Model {
    ports: usize,
    fanout: usize,
    crosspoint: u32,
    /// Whether inputs and outputs serve round-robin, rather than at random.
    by_turns: bool,
    stream: Stream,
    /// Outputs that the head of an input's FIFO has not reached, by input.
    heads: Vec<Vec<usize>>,
    /// Number of packets in a queue, by input and output. Empty with FIFOs.
    queues: Vec<Vec<u32>>,
    /// Number of packets in the crosspoint, by input and output.
    held: Vec<Vec<u32>>,
    /// Output that an input served last, by input. `served` is the input that an output served last, by output.
    crossed: Vec<usize>,
    served: Vec<usize>,
}

impl Model {
    fn new(ports: usize, fanout: usize, crosspoint: u32) -> Self {
        let stream = Stream::new(23, Owner::Node(7));
        let (heads, held) = (vec![Vec::new(); ports], vec![vec![0; ports]; ports]);
        let (crossed, served) = (vec![0; ports], vec![0; ports]);
        Self { ports, fanout, crosspoint, by_turns: false, stream, heads, queues: Vec::new(), held, crossed, served }
    }

    /// Adds queues for each output, in a memory that is always full.
    fn with_memory(mut self, packets: u32) -> Self {
        self.queues = vec![vec![0; self.ports]; self.ports];
        (0..packets).for_each(|_| (0..self.ports).for_each(|input| self.arrive(input)));
        self
    }

    fn arrive(&mut self, input: usize) {
        let output = self.stream.below(self.ports as u32) as usize;
        self.queues[input][output] += 1;
    }

    /// Returns the mean number of copies that an output receives in a slot.
    fn throughput(mut self) -> f64 {
        let mut copies = 0;
        for slot in 0..1000 + SLOTS {
            let arrivals: Vec<bool> = (0..self.ports).map(|input| self.send_to_crosspoints(input)).collect();
            let sent = (0..self.ports).filter(|&output| self.send_from_crosspoint(output)).count();
            copies += if slot < 1000 { 0 } else { sent as u64 };
            (0..self.ports).filter(|&input| arrivals[input]).for_each(|input| self.arrive(input));
        }
        copies as f64 / SLOTS as f64 / self.ports as f64
    }

    /// Sends packets of an input to crosspoints with room. Returns whether a packet of its memory has left.
    fn send_to_crosspoints(&mut self, input: usize) -> bool {
        let has_room = |held: &[u32], output: usize| held[output] < self.crosspoint;
        if self.queues.is_empty() {
            if self.heads[input].is_empty() {
                let mut all: Vec<usize> = (0..self.ports).collect();
                let draw = |_| all.swap_remove(self.stream.below(all.len() as u32) as usize);
                self.heads[input] = (0..self.fanout).map(draw).collect();
            }
            let held = &mut self.held[input];
            let (crossing, residue) = self.heads[input].iter().partition(|&&output| has_room(held, output));
            self.heads[input] = residue;
            Vec::into_iter(crossing).for_each(|output: usize| held[output] += 1);
            return false;
        }
        let ready =
            (0..self.ports).filter(|&output| self.queues[input][output] > 0 && has_room(&self.held[input], output));
        let ready: Vec<usize> = ready.collect();
        let Some(output) = self.choose(&ready, self.crossed[input]) else { return false };
        self.crossed[input] = output;
        self.queues[input][output] -= 1;
        self.held[input][output] += 1;
        true
    }

    /// Sends a packet from an output's crosspoints. Returns whether there was one.
    fn send_from_crosspoint(&mut self, output: usize) -> bool {
        let ready: Vec<usize> = (0..self.ports).filter(|&input| self.held[input][output] > 0).collect();
        let Some(input) = self.choose(&ready, self.served[output]) else { return false };
        self.served[output] = input;
        self.held[input][output] -= 1;
        true
    }

    fn choose(&mut self, ready: &[usize], last: usize) -> Option<usize> {
        if self.by_turns {
            return ready.iter().find(|&&one| one > last).or(ready.first()).copied();
        }
        let drawn = self.stream.below((ready.len() as u32).max(1));
        ready.get(drawn as usize).copied()
    }
}
