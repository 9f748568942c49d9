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

use super::fill::{Fill, Sharing};
use super::paths::PathSet;

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
    /// Time in ticks from which on it has a packet left at most.
    pub ends_from: u64,
    /// Settlement in which the flow was last included, and its index there.
    epoch: u32,
    pub index: u32,
}

/// Path of a share of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strand {
    pub flow: u32,
    /// Number of channels.
    pub len: u32,
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

/// Channel from which strands come to another channel.
#[derive(Clone, Copy, Debug)]
struct Input {
    channel: u32,
    strands: u32,
    next: u32,
}

/// Channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelState {
    /// Capacity, in bytes per picosecond.
    pub capacity: f64,
    /// First crossing.
    pub crossings: u32,
    /// First input, and the number of inputs. Each strand of a node counts as an input of its injection channel.
    first_input: u32,
    inputs: u32,
    /// Whether the channel limits flows at present.
    full: bool,
    /// Settlements in which the channel was last listed, and in which all of its flows were included.
    listed: u32,
    expanded: u32,
}

/// Flows in a network, and their rates.
#[derive(Debug)]
pub(super) struct Rates {
    pub channels: Vec<ChannelState>,
    pub flows: Vec<FlowState>,
    pub strands: Vec<Strand>,
    /// Distance from a channel of a node to the channel that stands for it in paths which leave it out.
    beside: u32,
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
}

impl Rates {
    /// Creates a network without flows, of channels with the given capacities in bytes per picosecond. `ports` of them
    /// leave routers, and the others nodes. A path has at most `stride` channels.
    /// `takes_turns`: the messages of a node have one rate.
    pub fn new(
        (ports, capacities): (u32, impl Iterator<Item = f64>),
        stride: usize,
        (sharing, takes_turns): (Sharing, bool),
    ) -> Self {
        let channel = |capacity| ChannelState {
            capacity,
            crossings: NONE,
            first_input: NONE,
            inputs: 0,
            full: false,
            listed: 0,
            expanded: 0,
        };
        let mut channels: Vec<ChannelState> = capacities.map(channel).collect();
        let beside = channels.len() as u32 - ports;
        channels.extend((0..beside).map(|_| channel(UNLIMITED)));
        Self {
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
            fill: Fill::new(sharing, takes_turns),
        }
    }

    /// Starts a flow on a part of the paths of a set. Its rate is 0 until the next settlement.
    pub fn start(&mut self, flow: u32, paths: &PathSet, part: PathPart) {
        let (mut first, mut bound) = (NONE, paths.bound);
        for (channels, share) in paths.strands() {
            let (len, share) = if part == PathPart::Node { (1, 1.0) } else { (channels.len(), share) };
            let strand = self.new_strand();
            self.strands[strand as usize] = Strand { flow, len: len as u32, share, next: first };
            first = strand;
            let mut input = NONE;
            for (hop, &channel) in channels[..len].iter().enumerate() {
                let channel = if hop == 0 && part == PathPart::Network { channel + self.beside } else { channel };
                self.insert(strand as usize * self.stride + hop, channel);
                self.add_input(channel, input);
                input = channel;
            }
            if part == PathPart::Node {
                bound = self.channels[channels[0] as usize].capacity;
                break;
            }
        }
        let state = FlowState { first, bound, rate: 0.0, ends_from: u64::MAX, epoch: 0, index: 0 };
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
            let Strand { len, next, .. } = self.strands[strand as usize];
            let mut input = NONE;
            for hop in 0..len as usize {
                let channel = self.remove(strand as usize * self.stride + hop);
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
            let Strand { len, share, next, .. } = self.strands[strand as usize];
            let first = strand as usize * self.stride;
            self.crossings[first..first + len as usize].iter().for_each(|own| visit(own.channel, share));
            strand = next;
        }
    }

    fn new_strand(&mut self) -> u32 {
        match self.free_strand {
            NONE => {
                self.strands.push(Strand { flow: NONE, len: 0, share: 0.0, next: NONE });
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
            input.capacity > channel.capacity && (input.capacity < UNLIMITED || input.inputs > 1)
        };
        channel.capacity < UNLIMITED && channel.inputs > 1
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
        for (place, &channel) in self.contended.iter().enumerate() {
            self.channels[channel as usize].full = fill.is_full(place);
        }
        for (index, &flow) in self.included.iter().enumerate() {
            let state = &mut self.flows[flow as usize];
            let least = if now >= state.ends_from { state.rate } else { 0.0 };
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

    /// Includes a flow in the settlement.
    fn include(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        if state.epoch != self.epoch && state.first != NONE {
            (state.epoch, state.index) = (self.epoch, self.included.len() as u32);
            self.included.push(flow);
        }
    }

    /// Includes all flows of a channel.
    fn expand(&mut self, channel: u32) {
        let state = &mut self.channels[channel as usize];
        if state.expanded == self.epoch {
            return;
        }
        (state.expanded, state.full) = (self.epoch, false);
        let mut place = state.crossings;
        while place != NONE {
            self.include(self.strands[place as usize / self.stride].flow);
            place = self.crossings[place as usize].next;
        }
    }

    /// Lists the contended channels of a flow, and includes all flows of its full channels.
    fn follow(&mut self, flow: u32) {
        let mut strand = self.flows[flow as usize].first;
        while strand != NONE {
            let Strand { len, next, .. } = self.strands[strand as usize];
            for hop in 0..len as usize {
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
