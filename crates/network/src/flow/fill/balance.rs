//! Shares of channels that limit one another in a cycle.
//!
//! Every channel states the share that each of its flows may have, given the rates that the others can use. The rate
//! that a flow can use is its least share on other channels. Repeated statements approach rates with which all channels
//! agree (for shares by flow: Charny, Clark and Jain, "Congestion control with explicit rate indication", 1995).

use super::{Fill, Filled, Leaf, ROUNDING, TreeNode};

/// Largest number of statements of each channel.
const MOST_STATEMENTS: u32 = 128;

/// Number of statements from which on each is the mean of the last one and a new one, so that none alternates.
const UNDAMPED: u32 = 24;

/// Number of statements from which on smaller and smaller parts of changes are made, if changes are still larger than
/// `CHATTER`: nodes that wait for one another let shares jump back and forth for ever.
const PATIENCE: u32 = 40;
const CHATTER: f64 = 0.1;

/// Number of statements with equal parts, and the least part.
const PERIOD: u32 = 6;
const LEAST_PART: f64 = 1.0 / 32.0;

/// Relative change below which shares are settled.
const SETTLED: f64 = 1e-7;

/// Statement of a node of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statement {
    /// Largest rate of a child, in bytes per picosecond.
    level: f64,
    /// Rates that all children can use.
    used: f64,
    /// Largest rate that a child can use.
    most: f64,
    /// Largest rate of a child if children take turns.
    turn: f64,
}

/// Returns the largest rate of a child of a node that divides a share evenly, if some children use less. `rates` are
/// the rates that the children can use.
fn level(share: f64, rates: impl Iterator<Item = f64> + Clone) -> f64 {
    let (count, used, most) =
        rates.clone().fold((0_u32, 0.0, 0.0_f64), |(count, used, most), rate| (count + 1, used + rate, most.max(rate)));
    if used <= share {
        return most + share - used;
    }
    let mut level = share / f64::from(count.max(1));
    loop {
        let below = |(satisfied, wanting), rate| {
            if rate < level { (satisfied + rate, wanting) } else { (satisfied, wanting + 1) }
        };
        let (satisfied, wanting) = rates.clone().fold((0.0, 0_u32), below);
        let next = (share - satisfied) / f64::from(wanting.max(1));
        if wanting == 0 || next <= level * (1.0 + f64::EPSILON) {
            return level;
        }
        level = next;
    }
}

impl Fill {
    /// Fixes all flows that are not fixed, on channels that limit one another.
    pub(super) fn balance(&mut self) {
        self.statements.clear();
        let first = |node: &TreeNode| Statement { level: node.each, used: 0.0, most: 0.0, turn: f64::INFINITY };
        self.statements.extend(self.nodes.iter().map(first));
        self.waits.clear();
        self.waits.resize(self.leaves.len(), f64::INFINITY);
        let (mut part, mut chatters) = (1.0, false);
        for number in 1..=MOST_STATEMENTS {
            self.state_rates();
            let change = self.state_shares(part);
            if change < SETTLED || chatters && part < LEAST_PART {
                break;
            }
            chatters |= number == PATIENCE && change > CHATTER;
            if number == UNDAMPED || chatters && (number - PATIENCE).is_multiple_of(PERIOD) {
                part /= 2.0;
            }
        }
        self.state_rates();
        for place in 0..self.open_channels.len() {
            let channel = self.open_channels[place];
            let is_limit = |leaf: &Leaf| self.stated(leaf) <= self.flows[leaf.flow as usize].rate * (1.0 + ROUNDING);
            let is_full = self.open_leaves(channel).any(is_limit);
            self.channels[channel as usize].is_full |= is_full;
        }
        let mut open = std::mem::take(&mut self.open_flows);
        open.drain(..).for_each(|flow| self.fix(flow));
        self.open_flows = open;
    }

    /// Returns the rate that the channel of a leaf states for its flow.
    fn stated(&self, leaf: &Leaf) -> f64 {
        self.statements[leaf.node as usize].level / leaf.share
    }

    /// Computes the rate of each flow, and what it can use of each of its channels.
    fn state_rates(&mut self) {
        for place in 0..self.open_flows.len() {
            let flow = self.open_flows[place];
            let range = self.leaves_of(flow);
            let bound = self.flows[flow as usize].bound;
            let mut least = bound;
            for place in range.clone() {
                let leaf = self.by_flow[place] as usize;
                self.usable[leaf] = least;
                least = least.min(self.stated(&self.leaves[leaf]));
            }
            self.flows[flow as usize].rate = least;
            let mut behind = f64::INFINITY;
            for place in range.rev() {
                let leaf = self.by_flow[place] as usize;
                let Leaf { share, hop, channel, .. } = self.leaves[leaf];
                let before = self.usable[leaf];
                self.usable[leaf] = self.usable[leaf].min(behind) * share;
                // A flow that is slower since it comes by a slower channel holds up nobody.
                let is_slow = hop == 0 || self.flows[flow as usize].holds_up && behind < before;
                let holds_up = self.channels[channel as usize].takes_turns && is_slow;
                self.waits[leaf] = if holds_up { self.usable[leaf] } else { f64::INFINITY };
                behind = behind.min(self.stated(&self.leaves[leaf]));
            }
        }
    }

    /// Divides each channel among its flows by the rates that they can use, and makes `part` of the changes. Returns the
    /// largest relative change of a share.
    fn state_shares(&mut self, part: f64) -> f64 {
        let Self { channels, nodes, usable, waits, statements, open_channels, .. } = self;
        let mut change = 0.0_f64;
        for &channel in &*open_channels {
            let Filled { capacity, nodes: (first, end), .. } = channels[channel as usize];
            for node in (first as usize..end as usize).rev() {
                let TreeNode { leaves: (begin, last), nodes: (from, to), .. } = nodes[node];
                let below = &statements[from as usize..to as usize];
                let rates =
                    usable[begin as usize..last as usize].iter().copied().chain(below.iter().map(|own| own.used));
                // Children that are held up hold up the others: all of them take turns.
                let held = below.iter().filter(|own| own.turn < own.most).map(|own| own.used);
                let turn =
                    waits[begin as usize..last as usize].iter().copied().chain(held).fold(f64::INFINITY, f64::min);
                let (used, most) =
                    rates.fold((0.0, 0.0_f64), |(sum, most), rate| (sum + rate.min(turn), most.max(rate)));
                statements[node] = Statement { used, most, turn, ..statements[node] };
            }
            for node in first as usize..end as usize {
                let TreeNode { parent, leaves: (begin, last), nodes: (from, to), .. } = nodes[node];
                let share = statements.get(parent as usize).map_or(capacity, |parent| parent.level);
                let of_nodes = statements[from as usize..to as usize].iter().map(|below| below.used);
                let new = level(share, usable[begin as usize..last as usize].iter().copied().chain(of_nodes))
                    .min(statements[node].turn);
                let before = statements[node].level;
                let stated = before + part * (new - before);
                statements[node].level = stated;
                change = change.max((stated - before).abs() / before.max(f64::MIN_POSITIVE));
            }
        }
        change
    }
}
