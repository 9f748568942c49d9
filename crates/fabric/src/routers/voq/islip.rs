//! iSLIP (McKeown 1999): request, grant, accept, with pointers that desynchronise.

use engine::Bits;

use super::{Crossing, VirtualOutputQueued};
use crate::fabric::{Fabric, LocalRouter};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::profile::Profile;
use crate::routers::Arbiter;
use crate::routers::arbiter::in_turn;

/// Matching of inputs to outputs.
#[derive(Clone, Debug)]
pub(super) struct Islip {
    /// Number of rounds. `None`: until the matching is maximal.
    iterations: Option<u8>,
    /// Grant pointers: by output port, the input that was served last.
    granted: Vec<u16>,
    /// Accept pointers: by input port, the output that was served last.
    accepted: Vec<u16>,
    /// Requests at the router that is being matched: by output, a mask of inputs.
    requests: Vec<u64>,
    /// Grants at the router that is being matched: by input, a mask of outputs.
    grants: Vec<u64>,
    /// Words of a mask.
    words: usize,
    /// Requested outputs, in ascending order.
    asked: Vec<u16>,
    /// List of ports, kept to avoid allocation.
    scratch: Vec<u16>,
}
units::state!(Islip { granted, accepted, requests, grants, asked, scratch; rebuilt iterations, words });

impl Islip {
    /// Creates the state with initial pointers.
    pub fn new(fabric: &Fabric, iterations: Option<u8>) -> Self {
        // No pointer may start where a first grant would have put it. It starts at the last port, so that port 0 comes
        // first.
        let last = vec![u16::MAX; fabric.ports()];
        let (outputs, words) = (usize::from(fabric.plan.max_ports), fabric.params.words);
        Self {
            iterations,
            granted: last.clone(),
            accepted: last,
            requests: vec![0; outputs * words],
            grants: vec![0; outputs * words],
            words,
            asked: Vec::with_capacity(outputs),
            scratch: Vec::new(),
        }
    }

    /// Returns the port that an arbiter has served last. `None`: its pointer has not moved since it was set.
    pub fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        let last = match arbiter {
            Arbiter::Output(output) => self.granted[output],
            Arbiter::Input(port) => self.accepted[port],
            Arbiter::Router(_) => return None,
        };
        Some(usize::from(last)).filter(|&last| last < self.words * 64)
    }

    /// Lets an arbiter continue behind a port. `None`: at the lowest.
    pub fn set_last_served(&mut self, arbiter: Arbiter, port: Option<usize>) {
        // A turn further, so that a pointer that has not moved differs from one that has moved to this port.
        let last = port.map_or(u16::MAX, |port| (port + self.words * 64) as u16);
        match arbiter {
            Arbiter::Output(output) => self.granted[output] = last,
            Arbiter::Input(port) => self.accepted[port] = last,
            Arbiter::Router(_) => {}
        }
    }

    fn request(&mut self, out: usize, port: usize) {
        let row = out * self.words;
        if self.requests[row..row + self.words].iter().all(|&word| word == 0) {
            self.asked.push(out as u16);
        }
        self.requests[row + (port >> 6)] |= 1 << (port & 63);
    }

    fn clear(&mut self) {
        for out in self.asked.drain(..) {
            let row = usize::from(out) * self.words;
            self.requests[row..row + self.words].fill(0);
        }
    }
}

impl VirtualOutputQueued {
    /// Matches inputs and outputs of a router, and sends the matched packets.
    pub(super) fn allocate<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let multicasts_first = self.multicasts.as_mut().map(|own| own.take_turn(router));
        if multicasts_first == Some(true) {
            self.send_multicasts::<P>(fabric, router, now);
        }
        self.request_queues(fabric, router, now);
        let LocalRouter { base, ports, .. } = fabric.routers[router];
        let base = base as usize;
        let rounds = self.islip.iterations.map_or(u32::from(ports), u32::from);
        for round in 0..rounds {
            if !self.round::<P>(fabric, base, round == 0, now) {
                break;
            }
        }
        if multicasts_first == Some(false) {
            self.send_multicasts::<P>(fabric, router, now);
        }
        for index in 0..self.islip.asked.len() {
            let out = usize::from(self.islip.asked[index]);
            if self.wanted[base + out] > 0 && self.output_free(fabric, base + out, now) {
                // It could have been served, but for missing credit or busy inputs.
                fabric.block(base + out);
            }
        }
        self.islip.clear();
    }

    /// Lets every free input request the outputs for which it has packets and that could take one.
    fn request_queues(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        for port_word in 0..self.queues.port_words {
            for bit in Bits(self.queues.ports(router, port_word)) {
                let port = port_word * 64 + bit;
                if self.input_free(fabric, base + port, now) {
                    self.request_for(fabric, base, port, now);
                }
            }
        }
        self.islip.asked.sort_unstable();
    }

    fn request_for(&mut self, fabric: &mut Fabric, base: usize, port: usize, now: u64) {
        for vc in 0..usize::from(fabric.plan.vcs) {
            let input = InputId::new(base + port, vc, self.vc_shift);
            for word in 0..self.queues.words {
                for bit in Bits(self.queues.filled(input, word)) {
                    let out = word * 64 + bit;
                    if self.output_free(fabric, base + out, now) {
                        self.islip.request(out, port);
                    }
                }
            }
        }
    }

    /// Runs one round of grant and accept. Returns whether it has matched anything.
    fn round<P: Profile>(&mut self, fabric: &mut Fabric, base: usize, first: bool, now: u64) -> bool {
        self.grant(fabric, base, now);
        let mut matched = false;
        let mut granted = std::mem::take(&mut self.islip.scratch);
        granted.sort_unstable();
        granted.dedup();
        for &port in &granted {
            matched |= self.accept::<P>(fabric, base, usize::from(port), first, now);
        }
        granted.clear();
        self.islip.scratch = granted;
        matched
    }

    /// Lets every free output grant the first requesting input after its pointer.
    fn grant(&mut self, fabric: &mut Fabric, base: usize, now: u64) {
        let words = self.islip.words;
        for index in 0..self.islip.asked.len() {
            let out = usize::from(self.islip.asked[index]);
            // Matched in an earlier round. `ask_again` has scheduled a visit of the router for inputs that still wait
            // for it.
            if fabric.outputs[base + out].free_at > now {
                continue;
            }
            let from = usize::from(self.islip.granted[base + out].wrapping_add(1)) % (words * 64);
            let row = &self.islip.requests[out * words..(out + 1) * words];
            let chosen = in_turn(row, from).find(|&port| {
                self.input_sides[base + port].free_at <= now && self.ready_queue(fabric, base, port, out).is_some()
            });
            if let Some(port) = chosen {
                self.islip.grants[port * words + (out >> 6)] |= 1 << (out & 63);
                self.islip.scratch.push(port as u16);
            }
        }
    }

    /// Lets an input accept the first of its grants after its pointer.
    fn accept<P: Profile>(&mut self, fabric: &mut Fabric, base: usize, port: usize, first: bool, now: u64) -> bool {
        let words = self.islip.words;
        let from = usize::from(self.islip.accepted[base + port].wrapping_add(1)) % (words * 64);
        let row = port * words..(port + 1) * words;
        let Some(out) = in_turn(&self.islip.grants[row.clone()], from).next() else { return false };
        if first {
            // Only the first round moves the pointers, so that no input starves.
            self.islip.granted[base + out] = port as u16;
            self.islip.accepted[base + port] = out as u16;
        }
        self.islip.grants[row].fill(0);
        let Some((input, vc)) = self.ready_queue(fabric, base, port, out) else { return false };
        self.cross::<P>(fabric, Crossing { base, input, out, vc }, now);
        self.ask_again(fabric, base, input, out, now);
        true
    }

    /// Schedules visits after a crossing, for packets that still wait for this input or output.
    fn ask_again(&mut self, fabric: &mut Fabric, base: usize, input: InputId, out: usize, now: u64) {
        if self.queues.has_packets(input.port(self.vc_shift)) {
            self.input_free(fabric, input.port(self.vc_shift), now);
        }
        if self.wanted[base + out] > 0 {
            self.output_free(fabric, base + out, now);
        }
    }

    /// Returns the next virtual channel, round robin, of an input that has a packet for an output that could leave now.
    fn ready_queue(&self, fabric: &mut Fabric, base: usize, port: usize, out: usize) -> Option<(InputId, u8)> {
        let first = InputId::new(base + port, 0, self.vc_shift);
        self.queues.turns(base + port, out, fabric.plan.vcs).find_map(|turn| {
            let input = first.plus(usize::from(turn));
            let packet = self.queues.head(input, out);
            if packet == PacketSlot::NONE {
                return None;
            }
            let waiting = &fabric.pool[packet];
            let vc = fabric.ready_vc(base + out, packet, (waiting.class(), waiting.bytes));
            vc.map(|vc| (input, vc))
        })
    }
}

impl Islip {
    /// Returns the bytes of the pointers of a network, two for each port, and of the requests and grants of the router
    /// that is being matched.
    pub fn bytes(size: &NetworkSize) -> u64 {
        bytes_of::<[u16; 2]>(size.ports) + bytes_of::<[u64; 2]>(size.max_ports * size.port_words())
    }
}
