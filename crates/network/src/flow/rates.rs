//! Rates of the flows in a network: which flows cross which channels, and which rates change when flows start and end.
//!
//! A *flow* has a rate. It takes one path, or it is spread over several *strands* in fixed shares. A channel is
//! *contended* if flows come to it by several inputs, or by one that is faster. Only contended channels limit flows:
//! along all others a flow is limited by its own bound, the least capacity on its path.
//!
//! A start or an end changes the rates of a connected set of flows. The set begins with the flows that have started and
//! all flows of full channels that a flow has left, and grows along full channels. The rates of all other flows are
//! fixed while the set is filled ([`super::fill`]). If a channel with other flows becomes full, they join the set, and
//! it is filled again. So a change costs no more than the flows that it can reach.

use super::channels::Input;
pub(super) use super::channels::{Behind, ChannelLimits, ChannelState};
use super::fill::{Arbiters, Fill, Waiting};
use super::paths::{PathSet, PathStrand};
use super::trial::FifoTrial;

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// Part of the paths of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathPart {
    /// All channels.
    Whole,
    /// Channel of the node.
    Node,
    /// All channels but that of the node.
    Network,
}

/// Least rate of a flow, as a part of its bound: flows that hold up one another in a cycle go on.
const LEAST_PART: f64 = 1e-4;

/// Capacity of a channel that limits no flow, in bytes per picosecond.
const UNLIMITED: f64 = 1e9;

/// Flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowState {
    /// First strand.
    pub first: u32,
    /// Largest rate, in bytes per picosecond: the least capacity on its path.
    pub bound: f64,
    /// Present rate, in bytes per picosecond.
    pub rate: f64,
    /// Whether packets draw their paths.
    pub is_random: bool,
    /// Whether all packets take one path to one node.
    pub is_single: bool,
    /// Whether its node waits for it, since the buffers on its way are full.
    pub waits: bool,
    /// Number of its message in the order in which nodes send packets in turn.
    pub number: u32,
    /// Time in ticks from which on it has a packet left at most.
    pub ends_from: u64,
    /// Settlement in which the flow was last included, and its index there.
    epoch: u32,
    pub index: u32,
}

/// Path of a share of a flow. A strand of a tree begins where it leaves the strands before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strand {
    pub flow: u32,
    /// Number of channels, and the number of leading channels that strands before this one cross for it.
    pub len: u32,
    pub begin: u32,
    /// Part of the flow that crosses a limit beyond the path. None for a path.
    pub limit: Option<PathPart>,
    /// Share of the flow.
    pub share: f64,
    /// Next strand of the flow, or next free strand.
    pub next: u32,
}

/// Crossing of a channel by a strand, in the list of the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    pub channel: u32,
    pub next: u32,
    before: u32,
}

/// Flows in a network, and their rates.
#[derive(Debug)]
pub(super) struct Rates {
    pub channels: Vec<ChannelState>,
    /// By router, the number of its outputs that limit flows.
    full: Vec<u32>,
    pub flows: Vec<FlowState>,
    pub strands: Vec<Strand>,
    /// Distance from a channel of a node to the channel that stands for it in paths which leave it out.
    beside: u32,
    /// First channel beyond all paths.
    limits: u32,
    /// Crossings by strand, `stride` for each.
    pub crossings: Vec<Crossing>,
    pub stride: usize,
    free_strand: u32,
    inputs: Vec<Input>,
    free_input: u32,
    /// Flows that have started, and full channels that flows have left, since the last settlement.
    started: Vec<u32>,
    left: Vec<u32>,
    epoch: u32,
    /// Flows of the settlement, and its contended channels.
    included: Vec<u32>,
    contended: Vec<u32>,
    fill: Fill,
    trial: FifoTrial,
    /// Time in ticks at which flows have to be settled again, if the last settlement has kept factors of a trial.
    pub retry: Option<u64>,
    /// Flows whose factors have been kept.
    kept: Vec<u32>,
}

impl Rates {
    /// Creates a network without flows. `ports` of its channels leave routers, and the others nodes. A path has at most
    /// `stride` channels.
    /// `speedup`: bandwidth at which messages leave the buffer behind the channel of a node, over that of the channel.
    /// `holds_up`: a packet that waits at a router holds up the packets behind it.
    pub fn new(
        (ports, channels): (u32, impl Iterator<Item = ChannelLimits>),
        stride: usize,
        (arbiters, speedup, holds_up): (Arbiters, f64, bool),
    ) -> Self {
        let mut channels: Vec<ChannelState> = channels.map(ChannelState::new).collect();
        let beside = channels.len() as u32 - ports;
        channels[..ports as usize].iter_mut().for_each(|own| own.takes_turns = holds_up);
        for place in ports as usize..channels.len() {
            let limits = channels[place].limits;
            let capacity = (limits.capacity * speedup).min(UNLIMITED);
            channels.push(ChannelState::new(ChannelLimits { capacity, ..limits }));
        }
        let routers = channels.iter().filter(|own| own.limits.from != NONE).map(|own| own.limits.from + 1).max();
        Self {
            full: vec![0; routers.unwrap_or(0) as usize],
            limits: channels.len() as u32,
            channels,
            beside,
            flows: Vec::new(),
            strands: Vec::new(),
            crossings: Vec::new(),
            stride: stride.max(1),
            free_strand: NONE,
            inputs: Vec::new(),
            free_input: NONE,
            started: Vec::new(),
            left: Vec::new(),
            epoch: 0,
            included: Vec::new(),
            contended: Vec::new(),
            fill: Fill::new(arbiters),
            trial: FifoTrial::default(),
            retry: None,
            kept: Vec::new(),
        }
    }

    /// Starts a flow on a part of the paths of a set. Its rate is 0 until the next settlement.
    pub fn start(&mut self, flow: u32, paths: &PathSet, part: PathPart) {
        let (mut first, mut bound) = (NONE, paths.bound);
        for &(channel, of, share) in &paths.limits {
            if part == of || part == PathPart::Whole {
                let strand = self.new_strand();
                let own = Strand { flow, len: 2, begin: 1, limit: Some(of), share, next: first };
                self.strands[strand as usize] = own;
                first = strand;
                let place = strand as usize * self.stride;
                self.crossings[place] = Crossing { channel: NONE, next: NONE, before: NONE };
                self.insert(place + 1, channel);
                self.add_input(channel, NONE);
            }
        }
        for PathStrand { channels, begin, share } in paths.strands() {
            let (len, share) = if part == PathPart::Node { (1, 1.0) } else { (channels.len(), share) };
            let strand = self.new_strand();
            self.strands[strand as usize] =
                Strand { flow, len: len as u32, begin: begin as u32, limit: None, share, next: first };
            first = strand;
            let mut input = NONE;
            for (hop, &channel) in channels[..len].iter().enumerate() {
                let channel = if hop == 0 && part == PathPart::Network { channel + self.beside } else { channel };
                let place = strand as usize * self.stride + hop;
                if hop < begin {
                    self.crossings[place] = Crossing { channel, next: NONE, before: NONE };
                } else {
                    self.insert(place, channel);
                    self.add_input(channel, input);
                }
                input = channel;
            }
            if part == PathPart::Node {
                bound = self.channels[channels[0] as usize].limits.capacity;
                break;
            }
        }
        let state = FlowState {
            first,
            bound,
            rate: 0.0,
            is_random: paths.is_random,
            is_single: !paths.is_tree && paths.strands().count() == 1,
            waits: false,
            number: self.flows.get(flow as usize).map_or(0, |own| own.number),
            ends_from: u64::MAX,
            epoch: 0,
            index: 0,
        };
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, FlowState { first: NONE, ..state });
        }
        self.flows[flow as usize] = state;
        self.started.push(flow);
    }

    /// Ends a flow.
    pub fn end(&mut self, flow: u32) {
        let mut strand = std::mem::replace(&mut self.flows[flow as usize].first, NONE);
        while strand != NONE {
            let Strand { len, begin, next, .. } = self.strands[strand as usize];
            let first = strand as usize * self.stride;
            let mut input = if begin == 0 { NONE } else { self.crossings[first + begin as usize - 1].channel };
            for hop in begin as usize..len as usize {
                let channel = self.remove(first + hop);
                if self.channels[channel as usize].full {
                    self.left.push(channel);
                }
                self.remove_input(channel, input);
                input = channel;
            }
            self.strands[strand as usize].next = std::mem::replace(&mut self.free_strand, strand);
            strand = next;
        }
    }

    /// Visits the channels of a flow, each with the share of the flow that crosses it.
    pub fn visit(&self, flow: u32, visit: &mut dyn FnMut(u32, f64)) {
        let mut strand = self.flows[flow as usize].first;
        while strand != NONE {
            let Strand { len, begin, share, next, .. } = self.strands[strand as usize];
            let first = strand as usize * self.stride;
            self.crossings[first + begin as usize..first + len as usize]
                .iter()
                .for_each(|own| visit(own.channel, share));
            strand = next;
        }
    }

    /// Reads the paths of a flow that is not of part `Node`. Channels of nodes are whole again.
    pub fn read(&self, flow: u32, paths: &mut PathSet) {
        paths.clear();
        let FlowState { mut first, bound, is_random, .. } = self.flows[flow as usize];
        (paths.bound, paths.is_random) = (bound, is_random);
        while first != NONE {
            let Strand { len, share, next, limit, .. } = self.strands[first as usize];
            let begin = first as usize * self.stride;
            if let Some(of) = limit {
                paths.limits.push((self.crossings[begin + 1].channel, of, share));
                first = next;
                continue;
            }
            let channels = self.crossings[begin..begin + len as usize].iter().map(|own| self.whole(own.channel));
            paths.push(channels, share);
            first = next;
        }
    }

    /// Reads the limits of a flow of part `Node`.
    pub fn read_limits(&self, flow: u32, paths: &mut PathSet) {
        let mut place = self.flows[flow as usize].first;
        while let Some(&Strand { limit, next, .. }) = self.strands.get(place as usize) {
            let channel = self.crossings[place as usize * self.stride + 1].channel;
            paths.limits.extend(limit.map(|of| (channel, of, 1.0)));
            place = next;
        }
    }

    /// Adds a channel that limits flows beyond their paths: the flows that cross it have equal shares.
    pub fn add_limit(&mut self, capacity: f64) -> u32 {
        let (room, behind) = (0.0, Behind::Crosspoint(0.0));
        self.channels.push(ChannelState::new(ChannelLimits { capacity, room, behind, from: NONE, to: NONE }));
        self.channels.len() as u32 - 1
    }

    /// Returns the channel of a node for the one that stands for it, and any other itself.
    pub fn whole(&self, channel: u32) -> u32 {
        let nodes = self.limits - self.beside;
        if (nodes..self.limits).contains(&channel) { channel - self.beside } else { channel }
    }

    /// Iterates over the flows that leave a node by a channel.
    pub fn flows_of(&self, channel: u32) -> impl Iterator<Item = u32> {
        let mut place = self.channels[channel as usize].crossings;
        std::iter::from_fn(move || {
            let own = self.crossings.get(place as usize)?;
            let strand = &self.strands[place as usize / self.stride];
            place = own.next;
            Some(strand.flow)
        })
    }

    /// Sets whether a node waits for a flow, and all of its messages have one rate.
    pub fn set_waiting(&mut self, channel: u32, flow: u32, waits: bool) {
        self.channels[channel as usize].takes_turns = waits;
        self.flows[flow as usize].waits = waits;
        self.left.push(channel);
    }

    /// Returns the bytes of a flow that can wait at routers before the first channel that limits flows: its part of the
    /// buffers.
    pub fn room(&self, flow: u32) -> f64 {
        let Some(&Strand { len, .. }) = self.strands.get(self.flows[flow as usize].first as usize) else { return 0.0 };
        let begin = self.flows[flow as usize].first as usize * self.stride;
        let mut all = 0.0;
        for (hop, pair) in self.crossings[begin..begin + len as usize].windows(2).enumerate() {
            let (own, next) = (&self.channels[pair[0].channel as usize], &self.channels[pair[1].channel as usize]);
            // Flows that come by one channel share its buffer, and its inputs share an output's.
            let sharing = match hop {
                0 if self.fill.arbiters.waiting == Waiting::Queues => self.split_at(pair[0].channel),
                _ => self.strands_from(&pair[1], pair[0].channel),
            };
            all += own.limits.room / f64::from(sharing);
            let full = self.full.get(own.limits.to as usize).map_or(1.0, |&full| f64::from(full.max(1)));
            let inputs = f64::from(next.inputs.max(1));
            all += match own.limits.behind {
                Behind::Crosspoint(bytes) => bytes,
                Behind::Output { bytes, .. } => bytes / inputs,
                Behind::Memory { bytes, alpha } => alpha * bytes / (1.0 + alpha * full) / inputs,
            };
            if next.full {
                break;
            }
        }
        all
    }

    /// Returns the number of messages that share the buffer of a node's input, with the one that crosses `channel`.
    fn split_at(&self, channel: u32) -> u32 {
        let whole = self.whole(channel);
        let others = self.channels.get((whole + self.beside) as usize).map_or(0, |own| own.inputs);
        if whole == channel { others + 1 } else { others.max(1) }
    }

    /// Returns the number of strands that come to a crossed channel by an input.
    fn strands_from(&self, crossing: &Crossing, input: u32) -> u32 {
        let mut place = self.channels[crossing.channel as usize].first_input;
        while let Some(known) = self.inputs.get(place as usize) {
            if known.channel == input {
                return known.strands.max(1);
            }
            place = known.next;
        }
        1
    }

    /// Returns the share of a flow that crosses a channel.
    pub fn share_on(&self, flow: u32, channel: u32) -> f64 {
        let mut all = 0.0;
        self.visit(flow, &mut |own, share| all += if own == channel { share } else { 0.0 });
        all
    }

    fn new_strand(&mut self) -> u32 {
        match self.free_strand {
            NONE => {
                self.strands.push(Strand { flow: NONE, len: 0, begin: 0, limit: None, share: 0.0, next: NONE });
                let free = Crossing { channel: NONE, next: NONE, before: NONE };
                self.crossings.resize(self.strands.len() * self.stride, free);
                self.strands.len() as u32 - 1
            }
            free => {
                self.free_strand = self.strands[free as usize].next;
                free
            }
        }
    }

    /// Adds a crossing to the list of a channel.
    fn insert(&mut self, place: usize, channel: u32) {
        let first = std::mem::replace(&mut self.channels[channel as usize].crossings, place as u32);
        self.crossings[place] = Crossing { channel, next: first, before: NONE };
        if first != NONE {
            self.crossings[first as usize].before = place as u32;
        }
    }

    /// Removes a crossing from the list of its channel, which it returns.
    fn remove(&mut self, place: usize) -> u32 {
        let Crossing { channel, next, before } = self.crossings[place];
        match before {
            NONE => self.channels[channel as usize].crossings = next,
            before => self.crossings[before as usize].next = next,
        }
        if next != NONE {
            self.crossings[next as usize].before = before;
        }
        channel
    }

    fn add_input(&mut self, channel: u32, input: u32) {
        let state = &mut self.channels[channel as usize];
        if input == NONE {
            state.inputs += 1;
            return;
        }
        let mut place = state.first_input;
        while place != NONE {
            let known = &mut self.inputs[place as usize];
            if known.channel == input {
                known.strands += 1;
                return;
            }
            place = known.next;
        }
        let new = Input { channel: input, strands: 1, next: state.first_input };
        state.inputs += 1;
        state.first_input = match self.free_input {
            NONE => {
                self.inputs.push(new);
                self.inputs.len() as u32 - 1
            }
            free => {
                self.free_input = self.inputs[free as usize].next;
                self.inputs[free as usize] = new;
                free
            }
        };
    }

    fn remove_input(&mut self, channel: u32, input: u32) {
        let state = &mut self.channels[channel as usize];
        if input == NONE {
            state.inputs -= 1;
            return;
        }
        let (mut before, mut place) = (NONE, state.first_input);
        while place != NONE && self.inputs[place as usize].channel != input {
            (before, place) = (place, self.inputs[place as usize].next);
        }
        let Some(known) = self.inputs.get_mut(place as usize) else { return };
        known.strands -= 1;
        if known.strands > 0 {
            return;
        }
        let next = std::mem::replace(&mut known.next, self.free_input);
        self.free_input = place;
        state.inputs -= 1;
        match before {
            NONE => state.first_input = next,
            before => self.inputs[before as usize].next = next,
        }
    }

    /// Whether a channel may limit its flows: several inputs share it, or one that is faster.
    fn is_contended(&self, channel: &ChannelState) -> bool {
        let is_faster = |input: &Input| {
            let input = &self.channels[input.channel as usize];
            input.limits.capacity > channel.limits.capacity && (input.limits.capacity < UNLIMITED || input.inputs > 1)
        };
        channel.limits.capacity < UNLIMITED && channel.inputs > 1
            || self.inputs.get(channel.first_input as usize).is_some_and(is_faster)
    }

    /// Computes the rates at `now`, in ticks, after all starts and ends since the last call. Adds the flows whose rates
    /// have changed to `changed`, each with its former rate. The last packet of a flow does not become slower: no other
    /// goes between its parts.
    pub fn settle(&mut self, now: u64, changed: &mut Vec<(u32, f64)>) {
        if self.started.is_empty() && self.left.is_empty() {
            return;
        }
        self.epoch += 1;
        self.included.clear();
        self.contended.clear();
        while let Some(channel) = self.left.pop() {
            self.expand(channel);
        }
        for place in 0..self.started.len() {
            self.include(self.started[place]);
        }
        self.started.clear();
        let mut fill = std::mem::take(&mut self.fill);
        let mut followed = 0;
        loop {
            while let Some(&flow) = self.included.get(followed) {
                followed += 1;
                self.follow(flow);
            }
            fill.run(self, &self.included, &self.contended);
            let known = self.included.len();
            for place in 0..self.contended.len() {
                if fill.is_full(place) {
                    self.expand(self.contended[place]);
                }
            }
            if self.included.len() == known {
                break;
            }
        }
        for place in 0..self.contended.len() {
            self.set_full(self.contended[place], fill.is_full(place));
        }
        if fill.has_fifos() {
            let (mut trial, included) = (std::mem::take(&mut self.trial), std::mem::take(&mut self.included));
            self.retry = trial.run(self, (&included, now), &mut fill);
            if self.retry.is_some() {
                self.kept.extend(&included);
            }
            (self.trial, self.included) = (trial, included);
        }
        for (index, &flow) in self.included.iter().enumerate() {
            let state = &mut self.flows[flow as usize];
            let least = if now >= state.ends_from { state.rate } else { LEAST_PART * state.bound };
            let former = std::mem::replace(&mut state.rate, fill.rate(index).max(least));
            if former != state.rate {
                changed.push((flow, former));
            }
        }
        self.fill = fill;
    }

    /// Returns whether a flow is included in the settlement.
    pub fn is_included(&self, flow: u32) -> bool {
        self.flows[flow as usize].epoch == self.epoch
    }

    /// Includes the flows whose factors have been kept in the next settlement.
    pub fn settle_again(&mut self) {
        self.started.append(&mut self.kept);
    }

    /// Includes a flow in the settlement.
    fn include(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        if state.epoch != self.epoch && state.first != NONE {
            (state.epoch, state.index) = (self.epoch, self.included.len() as u32);
            self.included.push(flow);
        }
    }

    /// Sets whether a channel limits flows.
    fn set_full(&mut self, channel: u32, is_full: bool) {
        let state = &mut self.channels[channel as usize];
        if std::mem::replace(&mut state.full, is_full) != is_full
            && let Some(full) = self.full.get_mut(state.limits.from as usize)
        {
            *full = if is_full { *full + 1 } else { *full - 1 };
        }
    }

    /// Includes all flows of a channel.
    fn expand(&mut self, channel: u32) {
        let state = &mut self.channels[channel as usize];
        if state.expanded == self.epoch {
            return;
        }
        state.expanded = self.epoch;
        let mut place = state.crossings;
        self.set_full(channel, false);
        while place != NONE {
            self.include(self.strands[place as usize / self.stride].flow);
            place = self.crossings[place as usize].next;
        }
    }

    /// Lists the contended channels of a flow, and includes all flows of its full channels.
    fn follow(&mut self, flow: u32) {
        let mut strand = self.flows[flow as usize].first;
        while strand != NONE {
            let Strand { len, begin, next, .. } = self.strands[strand as usize];
            for hop in begin as usize..len as usize {
                let channel = self.crossings[strand as usize * self.stride + hop].channel;
                let state = &self.channels[channel as usize];
                if state.listed != self.epoch && self.is_contended(state) {
                    self.channels[channel as usize].listed = self.epoch;
                    self.contended.push(channel);
                }
                if self.channels[channel as usize].full {
                    self.expand(channel);
                }
            }
            strand = next;
        }
    }
}
