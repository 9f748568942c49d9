//! Channels of the flow between each pair of places, for searches by channel load.

use routing::{PairPaths, PathFollower, RoutingContractError, RoutingSpec, Shares};
use topology::Channels;
use units::NodeId;

use super::channels::Walker;
use crate::hops::several;
use crate::{GridHops, Machine, MappingError, TableHops};

/// Largest number of steps of the paths between all pairs of routers that are followed: a second or two.
const MOST_FOLLOWED: usize = 1 << 27;
/// Largest number of steps that are kept: 256 MiB.
const MOST_KEPT: usize = 1 << 25;

/// Channels that flows use.
pub(crate) trait Paths: Sync {
    /// Returns, for each channel number, the number of the machine's channels that carry identical loads. The channel
    /// number stands for all of them.
    fn copies(&self) -> Vec<f64>;

    /// Calls `add` for each channel between routers that a flow between two different places uses, with the channel
    /// number and the amount on this channel.
    fn follow(&self, from: u32, to: u32, amount: f64, add: &mut impl FnMut(usize, f64));
}

/// Paths of a grid, walked by coordinates.
pub(crate) struct GridPaths<'a> {
    channels: Channels,
    grid: &'a GridHops,
}

impl<'a> GridPaths<'a> {
    /// Creates the paths of a machine whose hops follow from coordinates.
    pub(crate) fn new(machine: &Machine, grid: &'a GridHops) -> Self {
        Self { channels: Channels::new(&**machine.topology()), grid }
    }
}

impl Paths for GridPaths<'_> {
    fn copies(&self) -> Vec<f64> {
        vec![1.0; self.channels.count() as usize]
    }

    #[inline]
    fn follow(&self, from: u32, to: u32, amount: f64, add: &mut impl FnMut(usize, f64)) {
        Walker { channels: &self.channels, grid: self.grid }.follow(from, to, amount, add);
    }
}

/// Paths between all routers with allocated nodes, under the topology's default routing, in compressed rows.
///
/// Channels that carry an equal share of the flows of every pair have one number. In a fat-tree with an even spread,
/// these are the channels of a level out of a subtree, so that a pair has a few entries instead of hundreds. Such
/// channels are recognised by the sum over pairs of a 128-bit mix of the pair and the share.
pub(crate) struct TablePaths {
    row: Vec<u32>,
    rows: usize,
    /// Start of the entries of each pair of rows, ordered by destination.
    first: Vec<u32>,
    entries: Vec<(u32, f32)>,
    copies: Vec<f64>,
}

impl Paths for TablePaths {
    fn copies(&self) -> Vec<f64> {
        self.copies.clone()
    }

    #[inline]
    fn follow(&self, from: u32, to: u32, amount: f64, add: &mut impl FnMut(usize, f64)) {
        let pair = self.row[to as usize] as usize * self.rows + self.row[from as usize] as usize;
        for &(channel, share) in &self.entries[self.first[pair] as usize..self.first[pair + 1] as usize] {
            add(channel as usize, amount * f64::from(share));
        }
    }
}

impl TablePaths {
    /// Creates the paths of a machine. None if there are more than can be followed or kept, or several networks.
    ///
    /// # Errors
    /// If the topology's default routing cannot be built, or breaks its contract.
    pub(crate) fn new(machine: &Machine, table: &TableHops) -> Result<Option<Self>, MappingError> {
        let topology = &**machine.topology();
        if several(topology).is_some() {
            return Ok(None);
        }
        let unfit = |message: String| MappingError::unfit("machine", message);
        let spec = RoutingSpec::default_for(topology).for_paths();
        let routing = spec.build(topology).map_err(|error| unfit(error.to_string()))?;
        let all = All { paths: PairPaths::new(topology, &*routing), nodes: representatives(machine, table) };
        let channels = Channels::new(topology).count() as usize;
        all.table(machine, table, channels).map_err(|error| unfit(error.to_string()))
    }
}

/// Returns a node of each row of a table of hops.
fn representatives(machine: &Machine, table: &TableHops) -> Vec<NodeId> {
    let mut nodes = vec![NodeId(0); table.rows()];
    for place in (0..machine.places()).rev() {
        nodes[table.row(place) as usize] = machine.nodes()[place as usize];
    }
    nodes
}

/// Pairs of all rows.
struct All<'a> {
    paths: PairPaths<'a>,
    /// Node of each row.
    nodes: Vec<NodeId>,
}

/// Signature of a channel. Two channels with equal signatures carry equal shares.
type Signature = [u64; 2];

/// State of a thread: a follower, and signatures by channel.
type State<'b> = (PathFollower<'b>, Vec<Signature>);

impl All<'_> {
    fn table(
        &self,
        machine: &Machine,
        table: &TableHops,
        channels: usize,
    ) -> Result<Option<TablePaths>, RoutingContractError> {
        let rows = self.nodes.len();
        let mut steps = 0;
        self.towards(&mut self.paths.follower(), 0, &mut |_, row| steps += row.len())?;
        if steps * rows > MOST_FOLLOWED {
            return Ok(None);
        }
        let (kind_of, copies) = kinds(&self.signatures(channels)?);
        let compressed = |follower: &mut PathFollower<'_>, dst| self.compressed(follower, dst, &kind_of);
        let found = workers::map_with(0..rows, 1, || self.paths.follower(), compressed);
        let found: Vec<Compressed> = found.into_iter().collect::<Result<_, _>>()?;
        if found.iter().map(|row| row.entries.len()).sum::<usize>() > MOST_KEPT {
            return Ok(None);
        }
        let mut first = vec![0];
        let mut end = 0;
        for length in found.iter().flat_map(|row| &row.lengths) {
            end += length;
            first.push(end);
        }
        let entries = found.into_iter().flat_map(|row| row.entries).collect();
        let row = (0..machine.places()).map(|place| table.row(place)).collect();
        Ok(Some(TablePaths { row, rows, first, entries, copies }))
    }

    /// Follows the packets of all rows to one row, and calls `call` for each row.
    fn towards(
        &self,
        follower: &mut PathFollower<'_>,
        dst: usize,
        call: &mut dyn FnMut(usize, &Shares),
    ) -> Result<(), RoutingContractError> {
        follower.follow(&self.nodes, self.nodes[dst], call)
    }

    /// Returns the signature of each channel. Wrapping sums do not depend on the order of threads.
    fn signatures(&self, channels: usize) -> Result<Vec<Signature>, RoutingContractError> {
        let empty = || vec![Signature::default(); channels];
        let add = |state, dst| self.sign(state, dst);
        let (_, sums) = workers::try_fold(
            0..self.nodes.len(),
            || (self.paths.follower(), empty()),
            add,
            |one, other| {
                let (follower, mut sums) = one;
                sums.iter_mut().zip(other.1).for_each(|(sum, other)| merge(sum, other));
                (follower, sums)
            },
        )?;
        Ok(sums)
    }

    /// Adds the paths of all rows to one row to the signatures of their channels.
    fn sign<'b>(&'b self, (mut follower, mut sums): State<'b>, dst: usize) -> Result<State<'b>, RoutingContractError> {
        self.towards(&mut follower, dst, &mut |src, row| {
            let pair = (dst * self.nodes.len() + src) as u64;
            for &(channel, share) in row {
                merge(&mut sums[channel.index()], signature(pair, share as f32));
            }
        })?;
        Ok((follower, sums))
    }

    /// Returns the entries of the paths of all rows to one row.
    fn compressed(
        &self,
        follower: &mut PathFollower<'_>,
        dst: usize,
        kind_of: &[u32],
    ) -> Result<Compressed, RoutingContractError> {
        let mut found = Compressed::default();
        self.towards(follower, dst, &mut |_, row| {
            let begin = found.entries.len();
            found.entries.extend(row.iter().map(|&(channel, share)| (kind_of[channel.index()], share as f32)));
            found.entries[begin..].sort_unstable_by_key(|entry| entry.0);
            let mut kept = begin;
            for at in begin..found.entries.len() {
                if kept == begin || found.entries[kept - 1].0 != found.entries[at].0 {
                    found.entries[kept] = found.entries[at];
                    kept += 1;
                }
            }
            found.entries.truncate(kept);
            found.lengths.push((kept - begin) as u32);
        })?;
        Ok(found)
    }
}

/// Entries of one destination, and the number of entries of each source.
#[derive(Default)]
struct Compressed {
    lengths: Vec<u32>,
    entries: Vec<(u32, f32)>,
}

/// Mixes a pair and a share (SplitMix64's finalizer, Steele, Lea and Flood 2014), twice.
fn signature(pair: u64, share: f32) -> Signature {
    let mix = |salt: u64| {
        let mut word = (pair << 32 ^ u64::from(share.to_bits())).wrapping_add(salt);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    [mix(0x9e37_79b9_7f4a_7c15), mix(0x3c6e_f372_fe94_f82a)]
}

fn merge(sum: &mut Signature, other: Signature) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum = sum.wrapping_add(other));
}

/// Returns the kind of each channel, numbered in the order of signatures, and the number of channels of each kind.
fn kinds(signatures: &[Signature]) -> (Vec<u32>, Vec<f64>) {
    let mut order: Vec<u32> = (0..signatures.len() as u32).collect();
    order.sort_by_key(|&channel| (signatures[channel as usize], channel));
    let (mut kind_of, mut copies) = (vec![0; signatures.len()], Vec::<f64>::new());
    let mut before = None;
    for &channel in &order {
        let own = signatures[channel as usize];
        if before != Some(own) {
            copies.push(0.0);
            before = Some(own);
        }
        let kind = copies.len() - 1;
        kind_of[channel as usize] = kind as u32;
        copies[kind] += 1.0;
    }
    (kind_of, copies)
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tasks::{ArcList, TaskGraph};
    use topology::{Topology, TopologySpec};

    use super::{Paths, TablePaths};
    use crate::{Hops, Machine, MachineSpec, Mapping, channel_use};

    #[test]
    fn flows_load_what_the_analysis_says() {
        // Would catch shares of a path that are lost, exchanged routers, and merged channels that carry different
        // loads: sums and largest loads of some flows are compared with those of the exact analysis.
        for shape in [
            "fat-tree:k=3,n=3",
            "xgft:m=4x3x2,w=1x2x2,p=1x1x2,hosts=22",
            "dragonfly:h=2",
            "dragonfly:p=1,a=6,h=2,group=flattened-butterfly",
        ] {
            let spec: TopologySpec = shape.parse().expect("a shorthand");
            let topology: Arc<dyn Topology> = spec.build(Path::new(".")).expect("a topology");
            let machine = Machine::new(topology, MachineSpec::default()).expect("a machine");
            let Hops::Table(table) = machine.hops() else { panic!("{shape} is a grid") };
            let paths = TablePaths::new(&machine, table).expect("paths").expect("few paths");
            let count = machine.places().min(24);
            let mut arcs = ArcList::new(count);
            let mut load = vec![0.0; paths.copies().len()];
            for from in 0..count {
                let to = (from * from + 5) % count;
                if from != to {
                    arcs.add(from, to, 10 + u64::from(from), 1);
                    paths.follow(from, to, f64::from(10 + from), &mut |channel, amount| load[channel] += amount);
                }
            }
            let graph = TaskGraph::new("flows", arcs.build());
            let exact = channel_use(&graph, &machine, &Mapping { place_of: (0..count).collect() }).expect("loads");
            let largest = load.iter().copied().fold(0.0, f64::max);
            assert!((largest - exact.max).abs() < 1e-4, "{shape}: {largest} {}", exact.max);
            let sum: f64 = load.iter().zip(paths.copies()).map(|(load, copies)| load * copies).sum();
            let topology = &**machine.topology();
            let links: f64 = exact.hottest(topology, usize::MAX).iter().map(|&(_, _, bytes)| bytes).sum();
            assert!((sum - links).abs() < 1e-3, "{shape}: {sum} {links}");
        }
    }

    #[test]
    fn channels_of_a_level_are_one() {
        // Expected for a tree of 3 levels of arity 3 under an even spread: the channels up and down between each of 9
        // leaf routers and its level, and between each of 3 subtrees and the roots; and the channels without a flow.
        let spec: TopologySpec = "fat-tree:k=3,n=3".parse().expect("a shorthand");
        let topology: Arc<dyn Topology> = spec.build(Path::new(".")).expect("a topology");
        let machine = Machine::new(topology, MachineSpec::default()).expect("a machine");
        let Hops::Table(table) = machine.hops() else { panic!("a grid") };
        let paths = TablePaths::new(&machine, table).expect("paths").expect("few paths");
        assert_eq!(paths.copies().len(), 2 * 9 + 2 * 3 + 1);
    }
}
