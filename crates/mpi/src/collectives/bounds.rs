//! Lower bounds of the times of collective operations, after Chan, Heimlich, Purkayastha and van de Geijn ("Collective
//! communication: theory, practice, and experience", CCPE 19(13), 2007) and, for allreduce, Patarasuk and Yuan
//! ("Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009).
//!
//! A bound is the latency of the shortest message plus the time of the bytes that some node has to send or receive.
//! Assumptions:
//!
//! - A node sends and receives at most at the bandwidth of its link, by the rails that the policy assigns to its ranks.
//!   With the delay model the receive rate is not limited, and only sent bytes count.
//! - In an operation of several nodes, data exchanged between ranks of one node cost nothing. In an operation within
//!   one node, the node's memory copies all data from rank to rank. An allreduce of P ranks then takes at least 2(P-1)
//!   messages of the size of the buffer, as many as one-way gossip takes (Harary and Schwenk, "The communication
//!   problem on graphs and digraphs", Journal of the Franklin Institute 297, 1974).
//! - Successive messages of a rank cost no additional overhead: that is a property of the interface.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::call::Collective;
use super::table::{Algorithm, Operation};
use crate::communicator::{Communicator, Islands};

/// Parameters of the fastest possible message of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Fastest {
    /// Time of an empty message between two nodes, in picoseconds: overheads and the shortest path.
    pub latency: u64,
    /// Time of a byte on the links of a node, all rails together, in picoseconds.
    pub per_byte: f64,
    /// Rails that messages may take.
    pub rails: RailUse,
    /// Whether the receive rate of a node is limited to that of its link. Not with the delay model.
    pub limits_receivers: bool,
    /// Messages between ranks of one node.
    pub within: FastestWithin,
    /// Networks of a node, in the order in which messages choose them, if there are several.
    pub networks: Vec<FastestNetwork>,
}

/// One of several networks of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct FastestNetwork {
    /// Bytes that the links of a node carry in a picosecond, all planes together.
    pub rate: f64,
    /// Island of each rank. Ranks of an island can exchange messages. `None`: the rank has no port.
    pub islands: Arc<[Option<u32>]>,
    /// Whether it takes messages of all sizes.
    pub takes_all: bool,
}

impl FastestNetwork {
    /// Returns whether it joins two members, and whether it joins all.
    fn joins(&self, communicator: &Communicator) -> (bool, bool) {
        let island = |member: u32| self.islands.get(communicator.rank(member) as usize).copied().flatten();
        let mut islands: Vec<Option<u32>> = (0..communicator.len()).map(island).collect();
        islands.sort_unstable();
        let some = islands.windows(2).any(|pair| pair[0].is_some() && pair[0] == pair[1]);
        (some, islands.first() == islands.last() && islands.iter().all(Option::is_some))
    }
}

/// Parameters of the fastest possible message between ranks of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FastestWithin {
    /// Time of an empty message, in picoseconds.
    pub latency: u64,
    /// Time of a byte in the memory of the node, all its copies together, in picoseconds. 0 if copies take no time.
    pub per_byte: f64,
}

impl Fastest {
    /// Returns the parameters for the members of a communicator, which may not use all networks. Relays may: if no network
    /// joins all members, messages of some may take any. The trees of operations in the switches are in the first
    /// network that joins all members.
    fn among(&self, communicator: &Communicator, in_switches: bool) -> Self {
        let joining = self.networks.iter().find(|network| in_switches && network.joins(communicator).1);
        if let Some(network) = joining {
            return Self { per_byte: 1.0 / network.rate, ..self.clone() };
        }
        let (mut rate, mut joined) = (0.0, false);
        for network in &self.networks {
            let (some, all) = network.joins(communicator);
            rate += if some { network.rate } else { 0.0 };
            joined |= all;
            if all && network.takes_all && self.rails.striped_above.is_none() {
                break;
            }
        }
        let rate = if joined { rate } else { self.networks.iter().map(|network| network.rate).sum() };
        Self { per_byte: if rate > 0.0 { 1.0 / rate } else { self.per_byte }, ..self.clone() }
    }

    /// Returns the minimum time of `island` bytes in the first network and then of `rail` bytes in others, in picoseconds.
    /// In a pipeline both may be under way at once.
    fn in_sequence(&self, (island, rail): (f64, f64), is_pipeline: bool) -> u64 {
        let rate = |networks: &[FastestNetwork]| networks.iter().map(|network| network.rate).sum::<f64>();
        let (first, others) = self.networks.split_at(self.networks.len().min(1));
        let time = |bytes: f64, rate: f64| if rate > 0.0 { bytes / rate } else { 0.0 };
        let (island, rail) = (time(island, rate(first)), time(rail, rate(others)));
        (if is_pipeline { island.max(rail) } else { island + rail }) as u64
    }

    /// Returns the bytes that links of a member carry in a picosecond at most, for messages within islands of the first
    /// network, and for messages between islands. `None` if relays may pass on messages between islands.
    fn rates(&self, islands: &Islands) -> Option<[f64; 2]> {
        let (first, others) = self.networks.split_first()?;
        let is_sure = |network: &FastestNetwork| network.takes_all && self.rails.striped_above.is_none();
        let joins_rail = |network: &FastestNetwork, rail: u32| {
            let rail = islands.rail(rail);
            let island = |member: u32| network.islands.get(rail.rank(member) as usize).copied().flatten();
            island(0).is_some() && (1..rail.len()).all(|member| island(member) == island(0))
        };
        let joins = |network: &FastestNetwork| (0..islands.size()).all(|rail| joins_rail(network, rail));
        if !(0..islands.size()).all(|rail| others.iter().any(|network| joins_rail(network, rail))) {
            return None;
        }
        let last = others.iter().position(|network| is_sure(network) && joins(network));
        let between = &others[..last.map_or(others.len(), |last| last + 1)];
        let sum = |networks: &[FastestNetwork]| networks.iter().map(|network| network.rate).sum::<f64>();
        Some([if is_sure(first) { first.rate } else { sum(&self.networks) }, sum(between)])
    }

    /// Returns the minimum time of an operation by islands that messages carry out, in picoseconds. 0 for others.
    fn by_islands(&self, call: &Collective, communicator: &Communicator) -> u64 {
        let call = call.within(communicator);
        let Some(islands) = super::islands::islands_of(&call, communicator).filter(|_| self.limits_receivers) else {
            return 0;
        };
        let least = super::islands::least_of_messages(&call, islands);
        let (Some(least), Some([inside, between])) = (least, self.rates(islands)) else { return 0 };
        let (island, rail) = (least.island / inside, least.rail / between);
        // A member begins on its rail when it has its slice, and the islands gather what rails have ended.
        let one = least.before / inside + rail + least.after_one / inside;
        let each = least.before_each / inside + least.rail_each / between + least.after_each / inside;
        self.latency + island.max(one).max(each) as u64
    }

    /// Returns the minimum time of a message of `bytes` bytes, in picoseconds.
    pub fn message(&self, bytes: u64) -> u64 {
        let rails = if self.rails.stripes(bytes as f64) { self.rails.count } else { 1 };
        self.latency + self.of_bytes(bytes as f64, rails)
    }

    /// Returns the time of `bytes` bytes on `rails` of the rails of a node, in picoseconds, rounded down.
    fn of_bytes(&self, bytes: f64, rails: u32) -> u64 {
        (bytes * self.per_byte * f64::from(self.rails.count) / f64::from(rails.max(1))) as u64
    }
}

/// Rails that messages between nodes may take.
#[derive(Clone, Debug, PartialEq)]
pub struct RailUse {
    /// Number of rails of a node; at least 1.
    pub count: u32,
    /// Size in bytes above which messages are striped over all rails. `None`: no message is striped.
    pub striped_above: Option<u64>,
    /// Rail by which the messages of each rank leave. `None` if the policy assigns all rails to each rank.
    pub from: Option<Arc<[u32]>>,
    /// Rail by which messages for each rank arrive. `None` if the policy does not determine it.
    pub to: Option<Arc<[u32]>>,
}

impl RailUse {
    /// Single rail.
    pub const ONE: Self = Self { count: 1, striped_above: None, from: None, to: None };

    /// Returns whether a message of `bytes` bytes may be striped.
    fn stripes(&self, bytes: f64) -> bool {
        self.striped_above.is_some_and(|limit| bytes > limit as f64)
    }

    /// Returns the maximum number of rails by which a node of `communicator` sends, and by which a node receives, if
    /// messages have at most `bytes` bytes.
    fn most(&self, communicator: &Communicator, bytes: f64) -> (u32, u32) {
        let all = || (0..communicator.len()).map(|member| communicator.rank(member) as usize);
        let node = |member: u32| communicator.nodes().map_or(member, |nodes| nodes.node(member));
        let of_node = |rails: &[u32]| {
            let own: BTreeSet<(u32, u32)> =
                (0..).zip(all()).map(|(member, rank)| (node(member), rails[rank])).collect();
            let (mut most, mut count, mut last) = (0, 0, None);
            for (node, _) in own {
                count = if last == Some(node) { count + 1 } else { 1 };
                (last, most) = (Some(node), most.max(count));
            }
            most
        };
        let of_all = |rails: &[u32]| all().map(|rank| rails[rank]).collect::<BTreeSet<u32>>().len() as u32;
        if self.stripes(bytes) {
            return (self.count, self.count);
        }
        match (self.from.as_deref(), self.to.as_deref()) {
            (Some(from), _) => (of_node(from), of_all(from)),
            (None, Some(to)) => (of_all(to), of_node(to)),
            (None, None) => (self.count, self.count),
        }
    }
}

/// Returns the minimum time of an operation in picoseconds, from the begin of the first member to the end of the last
/// member. 0 for a single member. If the nodes of the communicator are not known, each member is taken to have a node
/// for itself.
///
/// For an allreduce in the switches, the link of each node carries the buffer at least once in each direction: the time
/// is n/B, where messages take 2(P-1)/P n/B, because the switches combine and copy the data of the other nodes. With
/// owners (`nvls`) of N nodes it is (N+1)/N n/B.
///
/// For a hierarchical operation by islands, a message between islands takes another network than one inside. With c
/// islands of s members, links of B inside and of b between islands, and slices of z = n/s, an allreduce takes at least
/// the longest of three times:
///
/// - 2(s-1) z/B;
/// - z/B + 2(c-1)/c z/b + z/B: a member has its slice before its rail begins, and another member gets the result after
///   the rail has ended;
/// - z/B + z/b + (s-1) z/B: all slices that a member gathers have crossed their rails.
pub fn bound(call: &Collective, communicator: &Communicator, fastest: &Fastest) -> u64 {
    bound_of(call, communicator, fastest, false).max(fastest.by_islands(call, communicator))
}

/// Returns the part of [`bound`] that counts for several operations together, one after another or at once, in
/// picoseconds: of an operation by islands the time on rails, beside which others may use the first network.
pub fn bound_beside(call: &Collective, communicator: &Communicator, fastest: &Fastest) -> u64 {
    bound_of(call, communicator, fastest, true)
}

fn bound_of(call: &Collective, communicator: &Communicator, fastest: &Fastest, is_beside: bool) -> u64 {
    let Collective { operation, algorithm, bytes, .. } = call.within(communicator);
    let (all, fastest) = (fastest, &fastest.among(communicator, algorithm.is_of_switches()));
    let members = f64::from(communicator.len());
    let (nodes, most, least) = match communicator.nodes() {
        None => (members, 1.0, 1.0),
        Some(nodes) => {
            let sizes = (0..nodes.leaders().len()).map(|node| nodes.of_node(node).len());
            let (least, most) = sizes.fold((u32::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
            (f64::from(nodes.leaders().len()), f64::from(most), f64::from(least))
        }
    };
    if nodes < 2.0 {
        return bound_within(&call.within(communicator), communicator.len(), &fastest.within);
    }
    let call = call.within(communicator);
    if let Some([island, rail]) = super::islands::least_bytes(&call, communicator) {
        let island = if is_beside { 0.0 } else { island };
        return fastest.latency + all.in_sequence((island, rail), call.chunks(communicator) > 1);
    }
    let bytes = bytes as f64;
    // Bytes that some node has to send at least, and bytes that some node has to receive at least. All nodes together
    // send as many bytes as they receive, so that some node sends at least the mean and some node receives at least the
    // mean.
    let mean = (nodes - 1.0) / nodes * bytes;
    let (sent, received) = match operation {
        // In a scan, the result of the last member depends on members of other nodes.
        Operation::Broadcast | Operation::Reduce | Operation::Scan | Operation::Exscan => (bytes, bytes),
        Operation::Allreduce if algorithm == Algorithm::InSwitch => (bytes, bytes),
        // The result of each part crosses the links of the part's owner once more, in both directions.
        Operation::Allreduce if algorithm == Algorithm::Nvls => (bytes + bytes / nodes, bytes + bytes / nodes),
        Operation::ReduceScatter if algorithm == Algorithm::Nvls => (bytes, bytes / nodes),
        Operation::Allgather if algorithm == Algorithm::Nvls => (members / nodes * bytes, members * bytes),
        Operation::Allreduce => (2.0 * mean, 2.0 * mean),
        Operation::ReduceScatter if !fastest.limits_receivers => (mean, 0.0),
        Operation::ReduceScatter => ((members - least) / members * bytes, mean),
        // The root's node keeps the parts of its members. Their number depends on the root.
        Operation::Gather => (least * bytes, (members - most) * bytes),
        Operation::Scatter => ((members - most) * bytes, least * bytes),
        Operation::Allgather => (members * mean, (members - least) * bytes),
        // A node sends a part from each of its members to each member elsewhere.
        Operation::Alltoall => {
            let each = (most * (members - most)).max(least * (members - least)) * bytes;
            (each, each)
        }
        Operation::Barrier => (0.0, 0.0),
    };
    // Messages may carry data for all members or from all members.
    let largest = match operation {
        Operation::Gather | Operation::Scatter | Operation::Allgather => members * bytes,
        Operation::Alltoall => members * members * bytes,
        _ => bytes,
    };
    // Trees take all planes, whatever the policy for messages.
    let (out, into) = match algorithm.is_of_switches() {
        true => (fastest.rails.count, fastest.rails.count),
        false => fastest.rails.most(communicator, largest),
    };
    let received = if fastest.limits_receivers { fastest.of_bytes(received, into) } else { 0 };
    fastest.latency + fastest.of_bytes(sent, out).max(received)
}

/// Returns the minimum time in picoseconds of an operation of `members` ranks of one node.
fn bound_within(call: &Collective, members: u32, fastest: &FastestWithin) -> u64 {
    let others = f64::from(members.saturating_sub(1));
    // Messages of the size of the call that the memory carries at least, all ranks together.
    let messages = match call.operation {
        _ if members < 2 => return 0,
        Operation::Barrier => 0.0,
        Operation::Allreduce if !call.algorithm.is_of_switches() => 2.0 * others,
        Operation::Allgather | Operation::Alltoall => f64::from(members) * others,
        Operation::Allreduce
        | Operation::Broadcast
        | Operation::Reduce
        | Operation::ReduceScatter
        | Operation::Scan
        | Operation::Exscan
        | Operation::Gather
        | Operation::Scatter => others,
    };
    fastest.latency + (messages * call.bytes as f64 * fastest.per_byte) as u64
}
