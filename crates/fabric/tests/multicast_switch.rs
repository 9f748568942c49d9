//! Saturated multicast switch: a single switch whose nodes always have another multicast to send, compared with exact
//! numbers and with a slotted model of each policy that is written from the policy's definition alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use engine::{Owner, Stream};
use units::Draw;

use crate::saturated::{self, SLOTS};

/// Returns the mean number of copies that an output receives in a slot.
fn throughput(ports: usize, fanout: usize, router: &str) -> f64 {
    saturated::throughput(16, ports, fanout, router)
}

/// Keys of routers with FIFOs, or with a queue for multicasts, and their policy.
const POLICIES: [(&str, Policy); 10] = [
    ("kind = \"input-queued\"", Policy::InTurn),
    ("kind = \"input-queued\"\narbitration = \"random\"", Policy::Random),
    ("kind = \"input-output-queued\"\nspeedup = 1\noutput_buffer = \"1 packets\"", Policy::InTurn),
    ("kind = \"input-queued\"\nmulticast = { policy = \"concentrating-residue\" }", Policy::Concentrate),
    ("kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { policy = \"tatra\" }", Policy::Tatra),
    ("kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { policy = \"wba\" }", Policy::Wba),
    ("kind = \"input-queued\"\nmulticast = { fanout = \"no-splitting\" }", Policy::WholeInTurn),
    (
        "kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { fanout = \"no-splitting\" }",
        Policy::WholeRandom,
    ),
    (
        "kind = \"input-queued\"\narbitration = \"random\"\nmulticast = { fanout = \"no-splitting\", policy = \"wba\" }",
        Policy::WholeByWeight,
    ),
    ("kind = \"virtual-output-queued\"\nmulticast = \"queue\"", Policy::SharedPointer),
];

#[test]
fn without_choice_all_policies_carry_the_same() {
    // Would catch an output that idles although a head requests it. With packets for one node there is the head-of-line
    // blocking of Karol, Hluchyj and Morgan, whatever head an output serves first. With packets for all nodes every
    // output is busy in every slot.
    for (router, policy) in POLICIES {
        if policy != Policy::SharedPointer {
            let one = throughput(8, 1, router);
            assert!((one - 0.618_390).abs() < 0.004, "{router}: {one}");
        }
        let all = throughput(4, 4, router);
        assert!(all > 0.999, "{router}: {all}");
    }
}

#[test]
fn queues_in_a_memory_carry_what_a_slotted_model_of_them_carries() {
    // Would catch packets for one node that wait for something other than a packet before them, and another matching.
    // Queues without bounds would carry everything. In a memory of a fixed number of packets, which may all be for one
    // output, some queues are empty.
    let [copies, queue, sets] = ["copies", "queue", "queue-per-set"]
        .map(|word| format!("kind = \"virtual-output-queued\"\nmulticast = \"{word}\""));
    let cases = [
        (&copies, Matching::Islip, 8, 16),
        (&queue, Matching::Islip, 8, 16),
        (&queue, Matching::Islip, 4, 4),
        (&sets, Matching::LargestWeight, 4, 4),
        (&sets, Matching::LargestWeight, 4, 16),
    ];
    for (router, matching, ports, packets) in cases {
        let expected = QueuedModel::new(ports, packets, matching).throughput(SLOTS);
        let found = saturated::throughput(packets, ports, 1, router);
        assert!((found - expected).abs() < 0.004, "{router}, {ports}x{packets}: {found} instead of {expected}");
    }
}

#[test]
fn policies_carry_what_a_slotted_model_of_them_carries() {
    // Would catch another policy, because the input that keeps the residue affects the throughput; an input that is
    // free before its slot has ended; and a residue that loses its place at the head.
    for (router, policy) in POLICIES {
        let expected = Model::new(8, 4, policy).throughput(SLOTS as i64);
        let found = throughput(8, 4, router);
        assert!((found - expected).abs() < 0.004, "{policy:?}: {found} instead of {expected}");
    }
}

#[test]
fn the_numbers_of_independent_simulations_are_met() {
    // Reference values from simulations independent of this test, with a 90 % half-width of 0.002. Would catch an error
    // that the model shares.
    let [splitting, whole] = [POLICIES[1].0, POLICIES[7].0];
    for (router, fanout, expected) in
        [(splitting, 2, 0.743), (splitting, 4, 0.851), (whole, 2, 0.662), (whole, 4, 0.548)]
    {
        let found = throughput(8, fanout, router);
        assert!((found - expected).abs() < 0.004, "{router}, F = {fanout}: {found} instead of {expected}");
    }
}

#[test]
fn a_queue_for_each_set_carries_more_than_any_fifo() {
    // Would catch heads that block packets behind them, and a matching that is not the largest.
    let router = "kind = \"virtual-output-queued\"\nmulticast = \"queue-per-set\"";
    assert!(throughput(4, 4, router) > 0.999);
    let (ideal, fifo) = (throughput(4, 2, router), throughput(4, 2, POLICIES[3].0));
    assert!(ideal > 0.97 && ideal > fifo + 0.05, "{ideal}, {fifo}");
}

/// Policy by which an output is assigned to inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    InTurn,
    Random,
    Concentrate,
    Tatra,
    Wba,
    WholeInTurn,
    WholeRandom,
    WholeByWeight,
    SharedPointer,
}

/// Slotted model of a switch whose inputs always have another packet behind the head.
struct Model {
    ports: usize,
    fanout: usize,
    policy: Policy,
    stream: Stream,
    slot: i64,
    /// Outputs that an input's head has not reached, by input.
    heads: Vec<Vec<usize>>,
    /// Slot in which an input's head came to the front, by input. `order` is the order in which heads came.
    since: Vec<i64>,
    order: Vec<Option<u64>>,
    ordered: u64,
    /// Input that an output served last, by output. `first` is the input that goes first.
    last: Vec<usize>,
    first: usize,
}

impl Model {
    fn new(ports: usize, fanout: usize, policy: Policy) -> Self {
        let stream = Stream::new(11, Owner::Node(3));
        let (heads, since, order) = (vec![Vec::new(); ports], vec![0; ports], vec![None; ports]);
        Self { ports, fanout, policy, stream, slot: 0, heads, since, order, ordered: 0, last: vec![0; ports], first: 0 }
    }

    /// Returns the number of copies that an output receives in a slot, on average over `slots` slots.
    fn throughput(&mut self, slots: i64) -> f64 {
        let mut copies = 0;
        for slot in -1000..slots {
            self.slot = slot;
            self.refill();
            let served = self.serve();
            copies += if slot < 0 { 0 } else { served.len() };
            for (input, output) in served {
                self.heads[input].retain(|&other| other != output);
            }
        }
        copies as f64 / slots as f64 / self.ports as f64
    }

    /// Brings new packets to the front.
    fn refill(&mut self) {
        for input in 0..self.ports {
            if self.heads[input].is_empty() {
                let mut all: Vec<usize> = (0..self.ports).collect();
                let draw = |_| all.swap_remove(self.stream.below(all.len() as u32) as usize);
                self.heads[input] = (0..self.fanout).map(draw).collect();
                (self.since[input], self.order[input]) = (self.slot, None);
            }
        }
    }

    /// Draws a number below `count`; 0 if `count` is 0.
    fn below(&mut self, count: usize) -> usize {
        self.stream.below((count as u32).max(1)) as usize
    }

    /// Returns the inputs whose heads request an output.
    fn askers(&self, output: usize) -> Vec<usize> {
        (0..self.ports).filter(|&input| self.heads[input].contains(&output)).collect()
    }

    /// Returns the input and the output of each copy that leaves.
    fn serve(&mut self) -> Vec<(usize, usize)> {
        match self.policy {
            Policy::InTurn | Policy::Random | Policy::Wba | Policy::Tatra => {
                self.order_new_heads();
                (0..self.ports).filter_map(|output| Some((self.pick(output)?, output))).collect()
            }
            Policy::Concentrate => self.concentrate(),
            _ => self.serve_inputs(),
        }
    }

    fn weight(&self, input: usize) -> i64 {
        self.slot - self.since[input] - self.heads[input].len() as i64
    }

    fn pick(&mut self, output: usize) -> Option<usize> {
        let mut askers = self.askers(output);
        let chosen = match self.policy {
            Policy::Tatra => askers.into_iter().min_by_key(|&input| self.order[input])?,
            Policy::Wba => {
                let most = askers.iter().map(|&input| self.weight(input)).max()?;
                askers.retain(|&input| self.weight(input) == most);
                askers[self.below(askers.len())]
            }
            Policy::Random => *askers.get(self.below(askers.len()))?,
            _ => {
                let distance = |input: usize| (input + self.ports - self.last[output] - 1) % self.ports;
                askers.into_iter().min_by_key(|&input| distance(input))?
            }
        };
        self.last[output] = chosen;
        Some(chosen)
    }

    /// Orders new heads by Tetris: the head that will have left first comes first.
    fn order_new_heads(&mut self) {
        loop {
            let height = |output: usize| {
                let in_column = |&&input: &&usize| self.order[input].is_some();
                self.askers(output).iter().filter(in_column).count()
            };
            let departure = |input: usize| self.heads[input].iter().map(|&output| height(output) + 1).max();
            let mut new: Vec<_> =
                (0..self.ports).filter(|&input| self.order[input].is_none()).map(|i| (departure(i), i)).collect();
            let Some(least) = new.iter().map(|&(departure, _)| departure).min() else { return };
            new.retain(|&(departure, _)| departure == least);
            let (_, input) = new[self.below(new.len())];
            self.ordered += 1;
            self.order[input] = Some(self.ordered);
        }
    }

    /// Leaves the copies that cannot leave to the fewest possible inputs.
    fn concentrate(&mut self) -> Vec<(usize, usize)> {
        let mut residue: Vec<usize> = (0..self.ports).map(|o| self.askers(o).len().saturating_sub(1)).collect();
        let mut kept: Vec<(usize, usize)> = Vec::new();
        let mut left: Vec<usize> = (0..self.ports).collect();
        while residue.iter().any(|&copies| copies > 0) {
            let common = |input: usize| self.heads[input].iter().filter(|&&output| residue[output] > 0).count();
            let rank = |&input: &usize| (common(input), self.since[input], (input + self.first) % self.ports);
            let keeper = left.iter().copied().max_by_key(rank).unwrap();
            left.retain(|&input| input != keeper);
            for &output in self.heads[keeper].iter().filter(|&&output| residue[output] > 0) {
                kept.push((keeper, output));
            }
            for &(_, output) in kept.iter().filter(|&&(input, _)| input == keeper) {
                residue[output] -= 1;
            }
        }
        self.first += 1;
        let all = (0..self.ports).flat_map(|input| self.heads[input].iter().map(move |&output| (input, output)));
        all.filter(|copy| !kept.contains(copy)).collect()
    }

    /// Serves inputs round-robin or by weight, each whole or as far as outputs are left.
    fn serve_inputs(&mut self) -> Vec<(usize, usize)> {
        let mut inputs: Vec<(i64, u32, usize)> = (0..self.ports)
            .map(|turn| match self.policy {
                Policy::WholeByWeight => (-self.weight(turn), self.stream.below(1 << 30), turn),
                Policy::WholeRandom => (0, self.stream.below(1 << 30), turn),
                _ => (0, turn as u32, (self.first + turn) % self.ports),
            })
            .collect();
        inputs.sort_unstable();
        let mut served: Vec<(usize, usize)> = Vec::new();
        let mut next = None;
        for (.., input) in inputs {
            let is_free = |output: &&usize| served.iter().all(|(_, other)| other != *output);
            let free: Vec<usize> = self.heads[input].iter().filter(is_free).copied().collect();
            let is_whole = free.len() == self.heads[input].len();
            if is_whole && next.is_none() {
                next = Some(input + 1);
            }
            if is_whole || self.policy == Policy::SharedPointer {
                served.extend(free.into_iter().map(|output| (input, output)));
            }
        }
        self.first = next.unwrap_or(self.first) % self.ports;
        served
    }
}

/// Matching of inputs to outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Matching {
    /// Request, grant and accept until nothing more is matched.
    Islip,
    /// Matching with the largest sum of queue lengths; of equals one with the most packets.
    LargestWeight,
}

/// Slotted model of a switch with packets for one output each, whose inputs have a queue for each output in a memory
/// that is always full.
struct QueuedModel {
    ports: usize,
    matching: Matching,
    stream: Stream,
    /// Number of packets, by input and output.
    lengths: Vec<Vec<u32>>,
    /// Round-robin pointers: the input of highest priority, by output. `accept` is the output of highest priority, by
    /// input.
    grant: Vec<usize>,
    accept: Vec<usize>,
}

impl QueuedModel {
    fn new(ports: usize, packets: u32, matching: Matching) -> Self {
        let (stream, lengths) = (Stream::new(17, Owner::Node(5)), vec![vec![0; ports]; ports]);
        let mut model = Self { ports, matching, stream, lengths, grant: vec![0; ports], accept: vec![0; ports] };
        (0..packets).for_each(|_| (0..ports).for_each(|input| model.arrive(input)));
        model
    }

    /// Adds a packet for a random output to an input.
    fn arrive(&mut self, input: usize) {
        let output = self.stream.below(self.ports as u32) as usize;
        self.lengths[input][output] += 1;
    }

    /// Returns the number of packets that an output receives in a slot, on average over `slots` slots.
    fn throughput(&mut self, slots: u64) -> f64 {
        let mut sent = 0;
        for slot in 0..1000 + slots {
            let matched = match self.matching {
                Matching::Islip => self.islip(),
                Matching::LargestWeight => largest(&self.lengths, &mut self.stream, &mut vec![None; self.ports]).1,
            };
            for (output, input) in matched.into_iter().enumerate().filter_map(|(out, input)| Some((out, input?))) {
                self.lengths[input][output] -= 1;
                self.arrive(input);
                sent += u64::from(slot >= 1000);
            }
        }
        sent as f64 / slots as f64 / self.ports as f64
    }

    /// Returns the matched input by output.
    fn islip(&mut self) -> Vec<Option<usize>> {
        let ports = self.ports;
        let mut matched = vec![None; ports];
        for round in 0..ports {
            let is_free = |input: usize| !matched.contains(&Some(input));
            let wants = |input: usize, output: usize| is_free(input) && self.lengths[input][output] > 0;
            let granted = |output: usize| {
                let inputs = (0..ports).map(|step| (self.grant[output] + step) % ports);
                inputs.into_iter().find(|&input| matched[output].is_none() && wants(input, output))
            };
            let grants: Vec<Option<usize>> = (0..ports).map(granted).collect();
            for input in 0..ports {
                let mut outputs = (0..ports).map(|step| (self.accept[input] + step) % ports);
                let Some(output) = outputs.find(|&output| grants[output] == Some(input)) else { continue };
                matched[output] = Some(input);
                if round == 0 {
                    (self.accept[input], self.grant[output]) = ((output + 1) % ports, (input + 1) % ports);
                }
            }
        }
        matched
    }
}

/// Returns the largest sum of sent packets for the inputs of `rows`, and the matched input by output. `taken` marks
/// outputs that are taken.
fn largest(rows: &[Vec<u32>], stream: &mut Stream, taken: &mut Vec<Option<usize>>) -> (u32, Vec<Option<usize>>) {
    let mut best = (0, taken.clone());
    let Some((lengths, rest)) = rows.split_first() else { return best };
    let input = taken.len() - rows.len();
    for (output, &length) in lengths.iter().enumerate() {
        if taken[output].is_some() {
            continue;
        }
        let weight = if length > 0 { 256 * length + 1 } else { 0 };
        taken[output] = (length > 0).then_some(input);
        let (sum, matched) = largest(rest, stream, taken);
        taken[output] = None;
        if weight + sum > best.0 || (weight + sum == best.0 && stream.below(2) == 0) {
            best = (weight + sum, matched);
        }
    }
    best
}
