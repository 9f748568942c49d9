//! Progressive filling of a set of flows, by the arbitration of routers.
//!
//! A router that serves its inputs in turn gives each input of a channel an equal share, and an input divides its share
//! among the channels that come to it, back to the sources: of three flows on a channel, two of which come by one
//! input, these get a quarter each and the third a half. An input that has less to send leaves the rest to the others.
//! So each channel has a tree of its flows by the channels from which they have come, and each node of the tree divides
//! its share evenly. Routers that serve the oldest packet first give each flow an equal share: the tree has one level.
//!
//! The filling works in rounds. In each round every channel divides its capacity among its flows. Flows that it has
//! fixed in earlier rounds keep their rates. A flow can have no more than its least share. A channel whose flows all
//! have their least share there is full: no later round can change that, and these flows are fixed. So are flows that
//! reach their bounds. If there is no full channel since channels limit one another in a cycle, their shares are
//! balanced ([`balance`]). (With one level this is max-min fairness; Bertsekas and Gallager, "Data networks", 1992,
//! section 6.5.)
//!
//! A node sends a packet of each of its messages in turn, and a packet that waits for credit holds up those behind it.
//! So all messages of a node that waits have one rate, that of the slowest (`ChannelState::takes_turns`). The buffers
//! on the way of the flow for which the node waits are full. Channels between routers hold up packets there in the same
//! way: if the flow has less than its share of a channel, the rate of the channel is lowered until this is its share.

mod balance;
mod loss;

use balance::Statement;
pub(super) use loss::Waiting;

use super::rates::{FlowState, NONE, Rates, Strand};

/// Rule by which routers divide a channel among flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Inputs have equal shares.
    #[default]
    ByInput,
    /// Flows have equal shares.
    ByFlow,
}

/// Rules by which routers divide channels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arbiters {
    pub sharing: Sharing,
    pub waiting: Waiting,
    /// Size of the largest packet, in bytes.
    pub packet: f64,
    /// Whether all channels have one virtual channel.
    pub is_one_vc: bool,
}

/// Relative difference between shares that are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// Bits of a rate that rounding errors may change. Equal flows must have equal rates, so that they end together.
const NOISE_BITS: u32 = 6;

/// Node of the tree of a channel's flows.
#[derive(Clone, Copy, Debug)]
struct TreeNode {
    parent: u32,
    /// Number of children below which some flow is not fixed.
    open: u32,
    /// Rate of all other children, in bytes per picosecond.
    fixed: f64,
    /// Share of each open child, in bytes per picosecond.
    each: f64,
    /// Its children: leaves and nodes.
    leaves: (u32, u32),
    nodes: (u32, u32),
}

impl TreeNode {
    fn new(parent: u32) -> Self {
        Self { parent, open: 0, fixed: 0.0, each: 0.0, leaves: (0, 0), nodes: (0, 0) }
    }
}

/// Flow in the tree of a channel.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    node: u32,
    /// Index of the flow among the included ones. `NONE`: it is not included.
    flow: u32,
    /// Share of the flow that comes this way.
    share: f64,
    /// Index of its channel among the contended ones, and the number of channels before that on its path.
    channel: u32,
    hop: u32,
}

/// Channel that is filled.
#[derive(Clone, Copy, Debug)]
struct Filled {
    /// Capacity, or less if a message of the node waits, in bytes per picosecond.
    capacity: f64,
    takes_turns: bool,
    /// Round in which the capacity has fallen last.
    fell: u32,
    /// Nodes, the root first, and leaves of its tree.
    nodes: (u32, u32),
    leaves: (u32, u32),
    is_full: bool,
}

/// Included flow.
#[derive(Clone, Copy, Debug)]
struct Filling {
    bound: f64,
    rate: f64,
    /// Whether its packets hold up others at routers: in FIFOs, and where its buffers are full, since its node waits.
    holds_up: bool,
    is_fixed: bool,
    /// Begin of its leaves in the list of leaves by flow.
    leaves: u32,
}

/// Strands of a channel that are to be divided among the children of a node: `level` channels back, they have come
/// by different inputs or are of different flows.
#[derive(Clone, Copy, Debug)]
struct Division {
    parent: u32,
    begin: u32,
    end: u32,
    level: u32,
}

/// Scratch memory of fillings.
#[derive(Debug, Default)]
pub(super) struct Fill {
    pub arbiters: Arbiters,
    nodes: Vec<TreeNode>,
    leaves: Vec<Leaf>,
    channels: Vec<Filled>,
    flows: Vec<Filling>,
    /// Leaves by flow.
    by_flow: Vec<u32>,
    /// Flows that are not fixed, and channels with such flows.
    open_flows: Vec<u32>,
    open_channels: Vec<u32>,
    /// Crossings of a channel, with their keys at a level.
    keyed: Vec<(u64, u32)>,
    divisions: Vec<Division>,
    /// Number of the present round, and its full channels with the least rate of their flows.
    round: u32,
    full: Vec<(f64, u32)>,
    /// By leaf, the rate that its flow can use of the channel, in bytes per picosecond: if it is fixed, its rate.
    usable: Vec<f64>,
    /// By leaf, the largest rate of the flows that take turns with its flow, if shares are balanced.
    waits: Vec<f64>,
    /// By node.
    statements: Vec<Statement>,
}

impl Fill {
    /// Creates the memory for routers that divide channels by some rules.
    pub fn new(arbiters: Arbiters) -> Self {
        Self { arbiters, ..Self::default() }
    }

    /// Returns the rate of a flow, by its index among the included ones.
    pub fn rate(&self, index: usize) -> f64 {
        self.flows[index].rate
    }

    /// Whether packets wait in FIFOs of one virtual channel, whose outputs serve inputs in turn: flows may then be slower
    /// than bandwidth allows.
    pub fn has_fifos(&self) -> bool {
        let Arbiters { sharing, waiting, is_one_vc, .. } = self.arbiters;
        sharing == Sharing::ByInput && waiting == Waiting::Fifos && is_one_vc
    }

    /// Whether some channel limits flows.
    pub fn is_limited(&self) -> bool {
        self.channels.iter().any(|own| own.is_full)
    }

    /// Multiplies the rate of a flow by a factor, up to its bound.
    pub fn scale(&mut self, index: usize, factor: f64) {
        let own = &mut self.flows[index];
        own.rate = (own.rate * factor).min(own.bound);
    }

    /// Returns whether a channel limits flows, by its index among the contended ones.
    pub fn is_full(&self, place: usize) -> bool {
        self.channels[place].is_full
    }

    /// Computes the rates of the flows `included`, on the channels `contended`. Other flows keep their rates.
    pub fn run(&mut self, rates: &Rates, included: &[u32], contended: &[u32]) {
        self.clear();
        let is_fifo = self.arbiters.waiting == Waiting::Fifos;
        let filling = |&flow: &u32| {
            // Strands of one flow would hold up one another in a cycle.
            let &FlowState { bound, waits, is_single, .. } = &rates.flows[flow as usize];
            let holds_up = is_single && (waits || is_fifo);
            Filling { bound, rate: bound, holds_up, is_fixed: false, leaves: 0 }
        };
        self.flows.extend(included.iter().map(filling));
        for &channel in contended {
            self.plant(rates, channel);
        }
        self.list_leaves();
        self.usable.clear();
        self.usable.resize(self.leaves.len(), 0.0);
        self.fix_others(rates);
        self.open_flows.extend(0..included.len() as u32);
        self.open_channels.extend(0..contended.len() as u32);
        self.round = 0;
        while !self.open_flows.is_empty() {
            self.round += 1;
            self.divide_capacities();
            self.fix_round();
        }
        self.mark_overload();
    }

    /// Marks channels as full that flows which are not included leave too little.
    fn mark_overload(&mut self) {
        for own in &mut self.channels {
            let leaves = own.leaves.0 as usize..own.leaves.1 as usize;
            let load: f64 = self.usable[leaves].iter().sum();
            own.is_full |= load > own.capacity * (1.0 + ROUNDING);
        }
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.leaves.clear();
        self.channels.clear();
        self.flows.clear();
        self.by_flow.clear();
        self.open_channels.clear();
    }

    /// Makes the tree of a channel's flows.
    fn plant(&mut self, rates: &Rates, channel: u32) {
        let state = &rates.channels[channel as usize];
        let (first_node, first_leaf) = (self.nodes.len() as u32, self.leaves.len() as u32);
        self.nodes.push(TreeNode::new(NONE));
        self.keyed.clear();
        let mut place = state.crossings;
        while place != NONE {
            self.keyed.push((0, place));
            place = rates.crossings[place as usize].next;
        }
        let level = if self.arbiters.sharing == Sharing::ByFlow { rates.stride as u32 } else { 1 };
        self.divisions.push(Division { parent: first_node, begin: 0, end: self.keyed.len() as u32, level });
        while let Some(division) = self.divisions.pop() {
            self.divide(rates, division);
        }
        self.channels.push(Filled {
            capacity: state.limits.capacity,
            takes_turns: state.takes_turns,
            fell: 0,
            nodes: (first_node, self.nodes.len() as u32),
            leaves: (first_leaf, self.leaves.len() as u32),
            is_full: false,
        });
    }

    /// Divides strands among the children of a node.
    fn divide(&mut self, rates: &Rates, Division { parent, begin, end, mut level }: Division) {
        let (begin, end) = (begin as usize, end as usize);
        loop {
            for (key, place) in &mut self.keyed[begin..end] {
                *key = key_of(rates, *place, level);
            }
            self.keyed[begin..end].sort_unstable();
            let (first, last) = (self.keyed[begin].0, self.keyed[end - 1].0);
            if first != last || first >= FLOW || end - begin == 1 {
                break;
            }
            level += 1;
        }
        let (first_leaf, first_node) = (self.leaves.len() as u32, self.nodes.len() as u32);
        let mut from = begin;
        while from < end {
            let key = self.keyed[from].0;
            let len = self.keyed[from..end].partition_point(|own| own.0 == key);
            self.nodes[parent as usize].open += 1;
            if len == 1 || key >= FLOW {
                self.add_leaf(rates, parent, from..from + len);
            } else {
                let node = self.nodes.len() as u32;
                self.nodes.push(TreeNode::new(parent));
                let (begin, end) = (from as u32, (from + len) as u32);
                self.divisions.push(Division { parent: node, begin, end, level: level + 1 });
            }
            from += len;
        }
        let (leaves, nodes) = (self.leaves.len() as u32, self.nodes.len() as u32);
        let own = &mut self.nodes[parent as usize];
        (own.leaves, own.nodes) = ((first_leaf, leaves), (first_node, nodes));
    }

    /// Adds a leaf for the strands of a flow.
    fn add_leaf(&mut self, rates: &Rates, node: u32, strands: std::ops::Range<usize>) {
        let strand = |&(_, place): &(u64, u32)| rates.strands[place as usize / rates.stride];
        let mut share: f64 = self.keyed[strands.clone()].iter().map(|own| strand(own).share).sum();
        let place = self.keyed[strands.start].1;
        let Strand { flow, .. } = strand(&self.keyed[strands.start]);
        if rates.flows[flow as usize].is_random && !(place as usize).is_multiple_of(rates.stride) {
            let [own, input] = [place, place - 1].map(|place| rates.crossings[place as usize].channel);
            let depth = rates.channels[input as usize].limits.room / self.arbiters.packet.max(1.0);
            let inputs = rates.channels[own as usize].inputs;
            share /= loss::usable_part(self.arbiters.waiting, rates.share_on(flow, own), inputs, depth);
        }
        let flow = if rates.is_included(flow) { rates.flows[flow as usize].index } else { flow | OTHER };
        let channel = self.channels.len() as u32;
        let hop = (self.keyed[strands.start].1 as usize % rates.stride) as u32;
        self.leaves.push(Leaf { node, flow, share, channel, hop });
    }

    /// Lists the leaves of each flow.
    fn list_leaves(&mut self) {
        for leaf in self.leaves.iter().filter(|leaf| leaf.flow & OTHER == 0) {
            self.flows[leaf.flow as usize].leaves += 1;
        }
        let mut end = 0;
        for flow in &mut self.flows {
            end += flow.leaves;
            flow.leaves = end;
        }
        self.by_flow.resize(end as usize, NONE);
        for (number, leaf) in self.leaves.iter().enumerate().filter(|(_, leaf)| leaf.flow & OTHER == 0) {
            let flow = &mut self.flows[leaf.flow as usize];
            flow.leaves -= 1;
            self.by_flow[flow.leaves as usize] = number as u32;
        }
        for flow in 0..self.flows.len() as u32 {
            let range = self.leaves_of(flow);
            self.by_flow[range].sort_unstable_by_key(|&leaf| self.leaves[leaf as usize].hop);
        }
    }

    /// Fixes the flows that are not included at their present rates.
    fn fix_others(&mut self, rates: &Rates) {
        for number in 0..self.leaves.len() {
            let leaf = self.leaves[number];
            if leaf.flow & OTHER != 0 {
                let rate = rates.flows[(leaf.flow & !OTHER) as usize].rate;
                self.fix_leaf(number, rate);
            }
        }
    }

    /// Fixes a leaf whose flow has a rate.
    fn fix_leaf(&mut self, number: usize, rate: f64) {
        let Leaf { mut node, share, .. } = self.leaves[number];
        let mut fixed = rate * share;
        self.usable[number] = fixed;
        while let Some(own) = self.nodes.get_mut(node as usize) {
            own.open -= 1;
            own.fixed += fixed;
            if own.open > 0 {
                return;
            }
            (node, fixed) = (own.parent, own.fixed);
        }
    }

    /// Divides the capacity of each channel among its flows, and gives each flow its least share.
    fn divide_capacities(&mut self) {
        for &flow in &self.open_flows {
            let own = &mut self.flows[flow as usize];
            own.rate = own.bound;
        }
        let Self { nodes, leaves, channels, flows, open_channels, .. } = self;
        open_channels.retain(|&channel| {
            let Filled { capacity, nodes: (first, end), leaves: (begin, last), .. } = channels[channel as usize];
            for node in first..end {
                let TreeNode { parent, open, fixed, .. } = nodes[node as usize];
                let share = nodes.get(parent as usize).map_or(capacity, |parent| parent.each);
                nodes[node as usize].each = (share - fixed).max(0.0) / f64::from(open.max(1));
            }
            for leaf in &leaves[begin as usize..last as usize] {
                if let Some(flow) = flows.get_mut(leaf.flow as usize).filter(|flow| !flow.is_fixed) {
                    flow.rate = flow.rate.min(nodes[leaf.node as usize].each / leaf.share);
                }
            }
            nodes[first as usize].open > 0
        });
    }

    /// Fixes the flows of full channels, and flows that have reached their bounds. If there are none, fixes the flows
    /// with the least share.
    fn fix_round(&mut self) {
        let known = self.open_flows.len();
        let mut full = std::mem::take(&mut self.full);
        full.clear();
        let is_full = |&channel: &u32| self.has_least_shares(channel);
        full.extend(
            self.open_channels.iter().copied().filter(is_full).map(|channel| (self.least_rate(channel), channel)),
        );
        full.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        for &(_, channel) in &full {
            if self.is_still_full(channel) {
                self.fix_channel(channel);
            }
        }
        self.full = full;
        let mut open = std::mem::take(&mut self.open_flows);
        for &flow in &open {
            let Filling { rate, bound, .. } = self.flows[flow as usize];
            if rate >= bound && self.allows(flow) {
                self.hold_up(flow, 1);
                self.fix(flow);
            }
        }
        open.retain(|&flow| !self.flows[flow as usize].is_fixed);
        let is_stuck = open.len() == known;
        self.open_flows = open;
        if is_stuck {
            self.balance();
        }
    }

    /// Returns the least rate of the flows of a channel that are not fixed.
    fn least_rate(&self, channel: u32) -> f64 {
        let rates = self.open_leaves(channel).map(|leaf| self.flows[leaf.flow as usize].rate);
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Iterates over the leaves of a channel whose flows are not fixed.
    fn open_leaves(&self, channel: u32) -> impl Iterator<Item = &Leaf> {
        let (first, end) = self.channels[channel as usize].leaves;
        let is_open = |leaf: &&Leaf| self.flows.get(leaf.flow as usize).is_some_and(|flow| !flow.is_fixed);
        self.leaves[first as usize..end as usize].iter().filter(is_open)
    }

    /// Whether channels whose capacity has fallen in this round still allow the flows of a channel their rates.
    fn is_still_full(&self, channel: u32) -> bool {
        self.open_leaves(channel).all(|leaf| self.allows(leaf.flow))
    }

    /// Whether channels whose capacity has fallen in this round still allow a flow its rate.
    fn allows(&self, flow: u32) -> bool {
        let rate = self.flows[flow as usize].rate;
        self.leaves_of(flow).all(|place| {
            let leaf = &self.leaves[self.by_flow[place] as usize];
            let Filled { capacity, fell, .. } = self.channels[leaf.channel as usize];
            fell != self.round || self.needed(leaf, rate) <= capacity * (1.0 + ROUNDING)
        })
    }

    /// Returns the range of a flow in the list of leaves by flow.
    fn leaves_of(&self, flow: u32) -> std::ops::Range<usize> {
        let end = self.flows.get(flow as usize + 1).map_or(self.by_flow.len(), |next| next.leaves as usize);
        self.flows[flow as usize].leaves as usize..end
    }

    /// Returns the capacity at which a channel gives the flow of a leaf a rate.
    fn needed(&self, leaf: &Leaf, rate: f64) -> f64 {
        let (mut needed, mut node) = (rate * leaf.share, leaf.node);
        while let Some(own) = self.nodes.get(node as usize) {
            needed = needed * f64::from(own.open) + own.fixed;
            node = own.parent;
        }
        needed
    }

    /// Fixes the flows of a full channel.
    fn fix_channel(&mut self, channel: u32) {
        self.channels[channel as usize].is_full = true;
        let (first, end) = self.channels[channel as usize].leaves;
        for number in first as usize..end as usize {
            let leaf = self.leaves[number];
            if self.flows.get(leaf.flow as usize).is_some_and(|flow| !flow.is_fixed) {
                self.hold_up(leaf.flow, leaf.hop);
            }
        }
        for number in first as usize..end as usize {
            self.fix(self.leaves[number].flow);
        }
    }

    /// Lowers the capacities of the channels before hop `end` of a flow that has less than its share there, if a packet
    /// that waits holds up those behind it.
    fn hold_up(&mut self, flow: u32, end: u32) {
        let Filling { rate, holds_up, .. } = self.flows[flow as usize];
        for place in self.leaves_of(flow) {
            let leaf = self.leaves[self.by_flow[place] as usize];
            let takes_turns = self.channels[leaf.channel as usize].takes_turns && (holds_up || leaf.hop == 0);
            if leaf.hop < end && takes_turns {
                let needed = self.needed(&leaf, rate);
                let filled = &mut self.channels[leaf.channel as usize];
                if needed < filled.capacity * (1.0 - ROUNDING) {
                    (filled.capacity, filled.fell, filled.is_full) = (needed, self.round, true);
                }
            }
        }
    }

    /// Whether the flows of a channel that are not fixed have no smaller share elsewhere.
    fn has_least_shares(&self, channel: u32) -> bool {
        self.open_leaves(channel)
            .all(|leaf| self.share_of(leaf) <= self.flows[leaf.flow as usize].rate * (1.0 + ROUNDING))
    }

    /// Returns the rate that the channel of a leaf allows its flow.
    fn share_of(&self, leaf: &Leaf) -> f64 {
        self.nodes[leaf.node as usize].each / leaf.share
    }

    /// Fixes a flow at its rate, by its index among the included ones.
    fn fix(&mut self, flow: u32) {
        let Some(own) = self.flows.get_mut(flow as usize).filter(|own| !own.is_fixed) else { return };
        own.is_fixed = true;
        own.rate = without_noise(own.rate);
        let rate = own.rate;
        for place in self.leaves_of(flow) {
            self.fix_leaf(self.by_flow[place] as usize, rate);
        }
    }
}

/// Flag of a flow that is not included.
const OTHER: u32 = 1 << 31;

/// Flag of a key that is a flow.
const FLOW: u64 = 1 << 32;

/// Returns the channel that a strand crosses `level` channels before the one of a crossing, or else its flow.
fn key_of(rates: &Rates, place: u32, level: u32) -> u64 {
    let strand = place as usize / rates.stride;
    match (place as usize % rates.stride).checked_sub(level as usize) {
        Some(hop) => u64::from(rates.whole(rates.crossings[strand * rates.stride + hop].channel)),
        None => FLOW | u64::from(rates.strands[strand].flow),
    }
}

/// Rounds a rate to the bits that rounding errors do not change.
fn without_noise(rate: f64) -> f64 {
    let half = 1_u64 << (NOISE_BITS - 1);
    f64::from_bits((rate.to_bits() + half) >> NOISE_BITS << NOISE_BITS)
}
