//! Which input sends to which output: the matching of one instant.

use super::inputs::each_port;
use super::{Crossing, Switched};
use crate::catalogue::Arbitration;
use crate::fabric::{Fabric, LocalRouter};
use crate::packet::NONE;
use crate::routers::arbiter::{self, Bits, Turn, in_turn};

/// How inputs are matched to outputs.
#[derive(Debug)]
pub(super) struct Allocator {
    rule: Rule,
    /// The requests for each output of the router that is being matched: by output, a mask of inputs.
    requests: Vec<u64>,
    /// The grants to each input of that router: by input, a mask of outputs. iSLIP only.
    grants: Vec<u64>,
    /// Words of a mask.
    words: usize,
    /// Outputs that are asked for, in ascending order.
    asked: Vec<u16>,
}

#[derive(Debug)]
enum Rule {
    /// Each output picks one of the inputs whose head wants it; outputs take turns in picking first.
    Separable {
        arbitration: Arbitration,
        /// The output that picks first, by router.
        first: Vec<u16>,
    },
    /// iSLIP (McKeown 1999): request, grant, accept, with pointers that desynchronise.
    Islip {
        /// Rounds, or as many as find a maximal matching.
        iterations: Option<u8>,
        /// By output port, the input that was served last.
        granted: Vec<u16>,
        /// By input port, the output that was served last.
        accepted: Vec<u16>,
    },
}

impl Allocator {
    /// Output by output, with a rule for each output's choice.
    pub fn separable(fabric: &Fabric, arbitration: Arbitration) -> Self {
        let inputs = usize::from(fabric.plan.max_ports) << fabric.plan.vc_shift;
        Self::new(fabric, inputs, Rule::Separable { arbitration, first: vec![0; fabric.routers.len()] })
    }

    /// iSLIP.
    pub fn islip(fabric: &Fabric, iterations: Option<u8>) -> Self {
        let ports = fabric.ports();
        // No pointer may start where a first grant would have put it: the last port, so that port 0 comes first.
        let last = vec![u16::MAX; ports];
        let rule = Rule::Islip { iterations, granted: last.clone(), accepted: last };
        Self::new(fabric, usize::from(fabric.plan.max_ports), rule)
    }

    fn new(fabric: &Fabric, candidates: usize, rule: Rule) -> Self {
        let (outputs, words) = (usize::from(fabric.plan.max_ports), candidates.div_ceil(64).max(1));
        Self {
            rule,
            requests: vec![0; outputs * words],
            grants: vec![0; outputs * words],
            words,
            asked: Vec::with_capacity(outputs),
        }
    }

    fn request(&mut self, out: usize, candidate: usize) {
        let row = out * self.words;
        if self.requests[row..row + self.words].iter().all(|&word| word == 0) {
            self.asked.push(out as u16);
        }
        self.requests[row + (candidate >> 6)] |= 1 << (candidate & 63);
    }

    fn clear(&mut self) {
        for out in self.asked.drain(..) {
            let row = usize::from(out) * self.words;
            self.requests[row..row + self.words].fill(0);
        }
    }
}

impl Switched {
    /// Matches what can be matched at a router, and takes it over the crossbar.
    pub(super) fn allocate(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        if matches!(self.allocator.rule, Rule::Islip { .. }) {
            self.allocate_islip(fabric, router, now);
        } else {
            self.allocate_separable(fabric, router, now);
        }
        self.allocator.clear();
    }

    // --- output by output -----------------------------------------------------------------------------------------

    fn allocate_separable(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        self.request_heads(fabric, router, now);
        let mut asked = std::mem::take(&mut self.allocator.asked);
        asked.sort_unstable();
        let Rule::Separable { arbitration, first } = &mut self.allocator.rule else { return };
        let (rule, start) = (*arbitration, first[router]);
        // The turn to pick first goes round; it matters only where an input has several virtual channels.
        first[router] = if start + 1 >= fabric.routers[router].ports { 0 } else { start + 1 };
        let split = asked.partition_point(|&out| out < start);
        for &out in asked[split..].iter().chain(&asked[..split]) {
            self.grant(fabric, router, usize::from(out), rule, now);
        }
        self.allocator.asked = asked;
    }

    /// The head of every FIFO of a free input asks for its output.
    fn request_heads(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        for word in 0..self.inputs.port_words {
            for bit in Bits(self.inputs.ports(router, word)) {
                let port = word * 64 + bit;
                if !self.input_free(fabric, base + port, now) {
                    continue;
                }
                for vc in Bits(self.inputs.filled_vcs(base + port)) {
                    let input = (base + port) << self.vc_shift | vc;
                    let out = fabric.pool[self.inputs.head(input, 0)].out;
                    if self.output_free(fabric, base + usize::from(out), now) {
                        self.allocator.request(usize::from(out), port << self.vc_shift | vc);
                    }
                }
            }
        }
    }

    /// An output picks one of the inputs that ask for it.
    fn grant(&mut self, fabric: &mut Fabric, router: usize, out: usize, rule: Arbitration, now: u64) {
        let base = fabric.routers[router].base as usize;
        let (sender, first) = (base + out, base << self.vc_shift);
        let turn = Turn { rule, router, last: self.last_of(fabric, sender) };
        let row = out * self.allocator.words;
        let this = &*self;
        let picked = arbiter::pick(
            fabric,
            turn,
            &this.allocator.requests[row..row + this.allocator.words],
            |fabric, candidate| {
                let input = first + candidate;
                // Another output may have taken this input a moment ago.
                let free = this.in_free[input >> this.vc_shift] <= now;
                if free { this.ready(fabric, sender, this.inputs.head(input, 0)) } else { None }
            },
            |fabric, candidate| fabric.pool[this.inputs.head(first + candidate, 0)].birth,
        );
        match picked {
            Some((candidate, vc)) => {
                self.served(fabric, sender, candidate as u16);
                self.cross(fabric, Crossing { base, input: first + candidate, out, vc }, now);
                self.ask_again(fabric, base, first + candidate, out, now);
            }
            None => fabric.block(sender),
        }
    }

    /// The candidate that an output served last. With buffers at the outputs the sender's own note is the link's.
    fn last_of(&self, fabric: &Fabric, sender: usize) -> u16 {
        match &self.outputs {
            None => fabric.senders[sender].last,
            Some(_) => self.last_crossed[sender],
        }
    }

    fn served(&mut self, fabric: &mut Fabric, sender: usize, candidate: u16) {
        match &self.outputs {
            None => fabric.senders[sender].last = candidate,
            Some(_) => self.last_crossed[sender] = candidate,
        }
    }

    /// After a crossing: whoever still waits for this input or output is served when it falls free.
    fn ask_again(&mut self, fabric: &mut Fabric, base: usize, input: usize, out: usize, now: u64) {
        if self.inputs.has_packets(input >> self.vc_shift) {
            self.input_free(fabric, input >> self.vc_shift, now);
        }
        if self.wanted[base + out] > 0 {
            self.output_free(fabric, base + out, now);
        }
    }

    // --- iSLIP ----------------------------------------------------------------------------------------------------

    fn allocate_islip(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        self.request_queues(fabric, router, now);
        let LocalRouter { base, ports, .. } = fabric.routers[router];
        let base = base as usize;
        let Rule::Islip { iterations, .. } = &self.allocator.rule else { return };
        let rounds = iterations.map_or(u32::from(ports), u32::from);
        for round in 0..rounds {
            if !self.islip_round(fabric, base, round == 0, now) {
                break;
            }
        }
        for index in 0..self.allocator.asked.len() {
            let out = usize::from(self.allocator.asked[index]);
            if self.wanted[base + out] > 0 && self.output_free(fabric, base + out, now) {
                // It could have been served, but for credit or for inputs that are busy.
                fabric.block(base + out);
            }
        }
    }

    /// Every free input asks for the outputs that it has packets for and that could take one.
    fn request_queues(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        let mut ports = std::mem::take(&mut self.scratch);
        each_port(&self.inputs, router, |port| ports.push(port as u16));
        for &port in &ports {
            let port = usize::from(port);
            if !self.input_free(fabric, base + port, now) {
                continue;
            }
            for vc in 0..usize::from(fabric.plan.vcs) {
                let input = (base + port) << self.vc_shift | vc;
                for word in 0..self.inputs.words {
                    for bit in Bits(self.inputs.filled_outputs(input, word)) {
                        let out = word * 64 + bit;
                        if self.output_free(fabric, base + out, now) {
                            self.allocator.request(out, port);
                        }
                    }
                }
            }
        }
        ports.clear();
        self.scratch = ports;
        self.allocator.asked.sort_unstable();
    }

    /// One round of grant and accept; whether it has matched anything.
    fn islip_round(&mut self, fabric: &mut Fabric, base: usize, first: bool, now: u64) -> bool {
        self.islip_grants(fabric, base, now);
        let mut matched = false;
        let mut granted = std::mem::take(&mut self.scratch);
        granted.sort_unstable();
        granted.dedup();
        for &port in &granted {
            matched |= self.islip_accept(fabric, base, usize::from(port), first, now);
        }
        granted.clear();
        self.scratch = granted;
        matched
    }

    /// Every free output grants the first of the inputs that ask for it, from the one after that it served last.
    fn islip_grants(&mut self, fabric: &mut Fabric, base: usize, now: u64) {
        let words = self.allocator.words;
        for index in 0..self.allocator.asked.len() {
            let out = usize::from(self.allocator.asked[index]);
            if !self.output_free(fabric, base + out, now) {
                continue;
            }
            let Rule::Islip { granted, .. } = &self.allocator.rule else { return };
            let from = usize::from(granted[base + out].wrapping_add(1)) % (words * 64);
            let row = &self.allocator.requests[out * words..(out + 1) * words];
            let chosen = in_turn(row, from)
                .find(|&port| self.in_free[base + port] <= now && self.ready_queue(fabric, base, port, out).is_some());
            if let Some(port) = chosen {
                self.allocator.grants[port * words + (out >> 6)] |= 1 << (out & 63);
                self.scratch.push(port as u16);
            }
        }
    }

    /// An input accepts the first of its grants, from the output after the one that it accepted last.
    fn islip_accept(&mut self, fabric: &mut Fabric, base: usize, port: usize, first: bool, now: u64) -> bool {
        let words = self.allocator.words;
        let Rule::Islip { granted, accepted, .. } = &mut self.allocator.rule else { return false };
        let from = usize::from(accepted[base + port].wrapping_add(1)) % (words * 64);
        let row = port * words..(port + 1) * words;
        let Some(out) = in_turn(&self.allocator.grants[row.clone()], from).next() else { return false };
        if first {
            // Only the first round moves the pointers: that keeps a starved input from being passed over for ever.
            granted[base + out] = port as u16;
            accepted[base + port] = out as u16;
        }
        self.allocator.grants[row].fill(0);
        let Some((input, vc)) = self.ready_queue(fabric, base, port, out) else { return false };
        self.cross(fabric, Crossing { base, input, out, vc }, now);
        self.ask_again(fabric, base, input, out, now);
        true
    }

    /// The first virtual channel of an input that has a packet for an output that could leave now.
    fn ready_queue(&self, fabric: &mut Fabric, base: usize, port: usize, out: usize) -> Option<(usize, u8)> {
        let first = (base + port) << self.vc_shift;
        (first..first + usize::from(fabric.plan.vcs)).find_map(|input| {
            let packet = self.inputs.head(input, out);
            let vc = if packet == NONE { None } else { fabric.ready_vc(base + out, packet) };
            vc.map(|vc| (input, vc))
        })
    }
}
