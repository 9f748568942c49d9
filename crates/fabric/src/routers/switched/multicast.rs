//! Multicast packets at the input FIFOs: the crossbar copies them.
//!
//! The copies of a packet are adjacent in the queue and share its space in the buffer. At the head of the FIFO such a
//! *run* requests all its outputs at once (`Fabric::run`). Copies that cannot leave in an instant, the residue, request
//! again when the input is free. The input is busy as long as the slowest of the copies that have crossed at once. It
//! reads one packet at a time, so that the first copy that crosses makes the input's other virtual channels wait.
//! Unicast packets are runs of one.
//!
//! Outputs are granted by the router's arbitration or by a policy (Prabhakar, McKeown and Ahuja 1997), which considers
//! only the copies that could leave now: their outputs are free and have room beyond them.
//! - `order`: policies by which outputs pick independently (TATRA, WBA).
//! - `residue`: a matching that concentrates the residue.
//! - `whole`: packets that are not split.
//!
//! All of this runs only in networks with multicasts, or with a policy (`Multicast::is_on`), which are not plain.

use engine::Bits;
use units::Draw;

use super::Switched;
use super::allocator::{Crossing, Place};
use super::order::Tetris;
use super::runs::Runs;
use crate::catalogue::{Arbitration, FanoutSplitting, FifoMulticast, MulticastPolicy};
use crate::event_kind;
use crate::fabric::{Arrival, Fabric, Leaving};
use crate::index::InputId;
use crate::profile::General;
use crate::routers::arbiter::{ArbitrationContext, in_turn};

/// State for serving runs, beyond that for single packets.
#[derive(Clone, Debug)]
pub(super) struct Multicast {
    /// Rule by which runs are served. `None`: there are no runs.
    pub spec: Option<FifoMulticast>,
    /// By input, the time since which the run at the head requests, in ticks. Empty without runs.
    pub since: Vec<u64>,
    /// By port, the remaining copies of the run that has begun to cross. Empty without runs.
    left: Vec<u16>,
    /// Inputs of which a packet crosses in this instant.
    sending: Vec<InputId>,
    /// Blocks of the heads under TATRA. Empty under other policies.
    pub tetris: Tetris,
    /// Matching of the heads and outputs of a router.
    pub matching: Matching,
}
units::state!(Multicast { since, left, sending, tetris, matching; rebuilt spec });

/// Candidate with its sort keys: `rank` first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RankedCandidate {
    pub rank: u64,
    pub tie: u64,
    pub candidate: u32,
}

/// Copy that could leave now.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadyCopy {
    /// Output of the router.
    pub out: u32,
    pub candidate: u32,
}

/// Matching of one instant, for policies under which outputs do not pick independently.
#[derive(Clone, Debug, Default)]
pub(super) struct Matching {
    /// By output of the router, the candidate that gets it. Empty if outputs pick independently.
    pub given: Vec<Option<u32>>,
    /// Candidates in the order in which they are considered.
    pub order: Vec<RankedCandidate>,
    /// Copies that could leave now.
    pub ready: Vec<ReadyCopy>,
    /// By output of the router, the number of copies for it that stay.
    pub residue: Vec<u32>,
    /// Ports of which a candidate has been chosen.
    pub ports: Vec<u32>,
    /// By router, the candidate that comes first.
    pub first: Vec<u32>,
}
units::state!(Matching { first; rebuilt given, order, ready, residue, ports });

impl Multicast {
    /// Creates the state of a partition.
    pub fn new(fabric: &Fabric, spec: FifoMulticast) -> Self {
        let is_on = fabric.plan.multicasts || !spec.is_default();
        let ports = if is_on { fabric.ports() } else { 0 };
        let matches =
            spec.fanout == FanoutSplitting::NoSplitting || spec.policy == MulticastPolicy::ConcentratingResidue;
        let width = if matches { usize::from(fabric.plan.max_ports) } else { 0 };
        let matching = Matching {
            given: vec![None; width],
            residue: vec![0; width],
            first: vec![0; if matches { fabric.routers.len() } else { 0 }],
            ..Matching::default()
        };
        Self {
            spec: is_on.then_some(spec),
            since: vec![0; ports << fabric.plan.vc_shift],
            left: vec![0; ports],
            sending: Vec::new(),
            tetris: Tetris::new(fabric, spec.policy == MulticastPolicy::Tatra),
            matching,
        }
    }

    /// Returns whether heads may be runs of several copies, or are served by a policy.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.spec.is_some()
    }

    /// Returns whether a packet that is not blocked may leave without being queued. A policy that keeps state about
    /// heads forbids it.
    #[inline(always)]
    pub fn allows_bypass(&self) -> bool {
        self.spec.is_none_or(|spec| spec.is_default())
    }

    /// Notes that a packet comes to the head of an input, and requests its outputs from tick `since` on.
    pub fn comes_first(&mut self, input: InputId, since: u64) {
        self.since[input.index()] = since;
        self.tetris.comes_first(input);
    }
}

impl Switched {
    /// Queues the copies of a packet as one run.
    pub(super) fn take_in_run(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64) {
        let Some(first @ &Arrival { base, vc, bytes, .. }) = copies.first() else { return };
        fabric.share_space(copies.iter().map(|copy| copy.packet));
        let (port, input) = (first.in_port(), first.input(self.vc_shift));
        let fifo = &mut self.fifos[input.index()];
        fifo.held += bytes;
        copies.iter().for_each(|copy| fifo.queue.push(&mut fabric.pool, copy.packet));
        let side = &mut self.input_sides[port];
        let (before, free_at) = (side.filled, side.free_at);
        side.filled |= 1 << vc;
        if before >> vc & 1 == 1 {
            return;
        }
        self.note_run(fabric, input, free_at.max(now));
        if free_at <= now {
            self.ask_for_run(fabric, base as usize, input);
        } else if before == 0 {
            fabric.wake_side(port, event_kind::INPUT_SIDE, free_at);
        }
    }

    /// Notes that a run has come to the head of an input, and requests from tick `since` on.
    fn note_run(&mut self, fabric: &Fabric, input: InputId, since: u64) {
        let fifo = &mut self.fifos[input.index()];
        fifo.note_head(fabric);
        if let (Some(age), Some(head)) = (self.ages.get_mut(input.index()), fabric.pool.get(fifo.queue.head())) {
            *age = head.generated_at;
        }
        self.multicast.comes_first(input, since);
    }

    /// Lets the heads of a free port request all their outputs.
    pub(super) fn ask_for_runs(&mut self, fabric: &mut Fabric, base: usize, port: usize) {
        fabric.mark_router(fabric.inputs[port].router as usize);
        for vc in Bits(self.input_sides[port].filled) {
            self.ask_for_run(fabric, base, InputId::new(port, vc, self.vc_shift));
        }
    }

    /// Lets the head of an input request all its outputs.
    fn ask_for_run(&mut self, fabric: &mut Fabric, base: usize, input: InputId) {
        let candidate = input.candidate(base, self.vc_shift);
        let router = fabric.inputs[input.port(self.vc_shift)].router as usize;
        let mut packet = self.fifos[input.index()].queue.head();
        let mut copies = fabric.run(packet).count();
        while copies > 0 {
            let out = usize::from(fabric.pool[packet].out);
            self.requests.add(base + out, candidate);
            fabric.activate::<General>(router, out);
            (packet, copies) = (fabric.pool[packet].next, copies - 1);
        }
    }

    /// Withdraws all requests of the head of an input.
    fn withdraw(&mut self, fabric: &Fabric, base: usize, input: InputId) {
        let candidate = input.candidate(base, self.vc_shift);
        for packet in fabric.run(self.fifos[input.index()].queue.head()) {
            self.requests.remove(base + usize::from(fabric.pool[packet].out), candidate);
        }
    }

    /// Serves the active outputs of a router, from `first` on.
    #[inline(never)]
    pub(super) fn serve_runs(&mut self, fabric: &mut Fabric, router: usize, first: usize, now: u64) {
        let Some(FifoMulticast { fanout, policy }) = self.multicast.spec else { return };
        let base = fabric.routers[router].base as usize;
        let mut active = std::mem::take(&mut self.active);
        for (word, bits) in active.iter_mut().enumerate() {
            *bits = fabric.take_active::<General>(router, word);
        }
        match (fanout, policy) {
            (FanoutSplitting::NoSplitting, _) => self.match_whole(fabric, (router, base), &mut active, now),
            (_, MulticastPolicy::ConcentratingResidue) => self.concentrate(fabric, (router, base), &active, now),
            (_, MulticastPolicy::Tatra) => self.drop_blocks(fabric, (router, base), &active),
            (_, MulticastPolicy::Arbitration | MulticastPolicy::Wba) => {}
        }
        for out in in_turn(&active, first) {
            self.serve_output_of_runs(fabric, Place { router, base, output: base + out }, policy, now);
        }
        self.active = active;
        self.end_instant(fabric, base);
    }

    /// Takes a copy over the crossbar to an output, and sends a packet from the output's buffers, if possible.
    fn serve_output_of_runs(&mut self, fabric: &mut Fabric, place: Place, policy: MulticastPolicy, now: u64) {
        let (side, is_asked) = self.requests.side(place.output);
        if is_asked && side.free_at > now {
            self.wake_output(fabric, place.output);
        } else if is_asked {
            match self.pick_run(fabric, place, policy, now) {
                Some(candidate) => self.cross_copy(fabric, place, candidate, now),
                None => self.no_grant(fabric, place.output, now),
            }
        }
        if self.requests.side(place.output).0.has_packets {
            self.send_buffered::<General>(fabric, place.output, now);
        }
    }

    /// Picks the candidate from which a free output gets a copy.
    fn pick_run(&mut self, fabric: &mut Fabric, place: Place, policy: MulticastPolicy, now: u64) -> Option<usize> {
        let Place { router, base, output } = place;
        if let Some(given) = self.multicast.matching.given.get_mut(output - base) {
            return given.take().map(|candidate| candidate as usize);
        }
        let heads = Runs { routers: self, output, first: InputId::new(base, 0, self.vc_shift), now };
        if policy == MulticastPolicy::Arbitration {
            let turn = ArbitrationContext { rule: self.arbitration, router, output };
            return self.requests.pick(fabric, turn, &heads).map(|(candidate, _)| candidate);
        }
        self.pick_by_order(fabric, place, &heads, policy)
    }

    /// Takes a candidate's copy for an output over the crossbar.
    fn cross_copy(&mut self, fabric: &mut Fabric, place: Place, candidate: usize, now: u64) {
        let Place { base, output, .. } = place;
        let input = InputId::new(base, candidate, self.vc_shift);
        let Some((packet, vc)) = self.ready_copy(fabric, output, input, now) else { return };
        let bytes = fabric.pool[packet].bytes;
        let tail_in = fabric.tail_in::<General>(packet, now);
        let time = self.crossing_time(fabric, output, bytes, tail_in);
        let port = input.port(self.vc_shift);
        if self.input_sides[port].free_at <= now {
            self.begin_crossing(fabric, base, input);
        }
        let side = &mut self.input_sides[port];
        side.free_at = side.free_at.max(now + time);
        self.multicast.left[port] -= 1;
        self.multicast.tetris.leaves(input, output);
        self.fifos[input.index()].queue.remove(&mut fabric.pool, packet);
        let may_go = self.may_go_on::<General>(fabric, output, (vc, bytes), now);
        let crossing = Crossing { input, candidate, output, vc, may_go };
        self.go_over::<General>(fabric, crossing, Leaving { packet, bytes, time, tail_in }, now);
    }

    /// Begins to send the head of an input: the port's other heads withdraw their requests.
    fn begin_crossing(&mut self, fabric: &Fabric, base: usize, input: InputId) {
        let port = input.port(self.vc_shift);
        for vc in Bits(self.input_sides[port].filled & !(1 << input.vc(self.vc_shift))) {
            self.withdraw(fabric, base, InputId::new(port, vc, self.vc_shift));
        }
        self.multicast.left[port] = fabric.run(self.fifos[input.index()].queue.head()).count() as u16;
        self.multicast.sending.push(input);
    }

    /// Makes the ports that have sent in this instant busy. A head with remaining copies stays.
    fn end_instant(&mut self, fabric: &mut Fabric, base: usize) {
        let mut sending = std::mem::take(&mut self.multicast.sending);
        for input in sending.drain(..) {
            let port = input.port(self.vc_shift);
            let free_at = self.input_sides[port].free_at;
            if self.multicast.left[port] > 0 {
                self.withdraw(fabric, base, input);
                self.fifos[input.index()].note_head(fabric);
            } else if self.fifos[input.index()].queue.is_empty() {
                self.input_sides[port].filled &= !(1 << input.vc(self.vc_shift));
            } else {
                self.note_run(fabric, input, free_at);
            }
            fabric.wake_side_if(self.input_sides[port].filled != 0, port, event_kind::INPUT_SIDE, free_at);
        }
        self.multicast.sending = sending;
    }

    /// Returns the key by which the router's arbitration breaks a policy's ties. The smallest comes first.
    pub(super) fn tie(&self, fabric: &mut Fabric, (router, base): (usize, usize), candidate: usize) -> u64 {
        // Round robin, from the port at which the outputs' turn begins.
        let all = usize::from(fabric.routers[router].ports) << self.vc_shift;
        let first = usize::from(self.first[router]) << self.vc_shift;
        let in_turn = ((candidate + all - first) % all) as u64;
        match self.arbitration {
            Arbitration::RoundRobin => in_turn,
            Arbitration::OldestFirst => self.ages[InputId::new(base, candidate, self.vc_shift).index()],
            Arbitration::Random => u64::from(fabric.stream(router).below(u32::MAX)),
            Arbitration::GroupsFirst => {
                u64::from(!self.leads_group(fabric, InputId::new(base, candidate, self.vc_shift))) << 32 | in_turn
            }
        }
    }
}
