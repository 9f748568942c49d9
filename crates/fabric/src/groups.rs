//! What routers do of the collective operations of groups: what a fabric is built from.

use std::sync::Arc;

use routing::trees::Trees;
use units::{Arithmetic, Bytes, Time};

/// Groups of nodes whose collective operations routers carry out.
#[derive(Clone, Debug)]
pub struct GroupsSpec {
    /// The tables of their trees.
    pub trees: Arc<Trees>,
    /// Where multicasts turn.
    pub turn: Turn,
    /// The combine units of every router; without them, nothing is combined.
    pub units: Option<CombineSpec>,
    /// By group, whether any of its operations combines: others have no partial sums in the units. Empty if all do.
    pub combining: Vec<bool>,
}

impl GroupsSpec {
    /// Whether packets of a tree may be combined.
    pub(crate) fn combines(&self, tree: u32) -> bool {
        self.combining.is_empty() || self.combining[self.trees.group_of(tree) as usize]
    }
}

/// Where the multicast of a member turns from its path up to its paths down a tree: the paper says both ("hardware-collectives",
/// sections 2.1 and 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// At every switch: it leaves each by all ports of the tree but the one that it came by.
    #[default]
    EverySwitch,
    /// At the top switch: it goes up there first, and then down to all members.
    TopSwitch,
}

/// The combine units of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CombineSpec {
    /// How many there are: 1, or 3 and more, of which the last is the root of the others.
    pub units: u16,
    /// Time of a cycle.
    pub cycle: Time,
    /// Cycles of a packet before it is combined: its header is stored, and its partial sum is looked up.
    pub header_cycles: u32,
    /// What a unit combines at a time,
    pub word: Bytes,
    /// and how often it does so in a cycle.
    pub words_per_cycle: u32,
    /// How many times as fast as the fastest link the channel is by which a unit sends into its router: at least 1.
    pub output_speedup: u32,
    /// Partial sums of a tree in a switch: as many segments may be under way.
    pub window: u32,
    /// The elements that packets carry, and units combine; none if they carry none.
    pub elements: Option<Elements>,
}

/// The elements that packets of reductions carry: one each, which stands for all of the packet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// How they are combined.
    pub arithmetic: Arithmetic,
    /// In which order.
    pub order: CombineOrder,
}

/// In which order a unit combines the elements of the packets of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CombineOrder {
    /// That in which the packets come.
    #[default]
    Arrival,
    /// That of the ports (of a root unit, of the leaves) by which they come: the same in every run. The unit keeps them until all have come.
    Ports,
}

impl CombineSpec {
    /// Cycles for which a packet of a size keeps a unit busy: those of its header, and those of combining it.
    pub fn cycles(&self, bytes: u32) -> u64 {
        u64::from(self.header_cycles) + self.combining_cycles(bytes)
    }

    /// Cycles in which a unit combines the data of a packet of a size: at least one.
    pub fn combining_cycles(&self, bytes: u32) -> u64 {
        let words = u64::from(bytes).div_ceil(self.word.0.max(1));
        words.div_ceil(u64::from(self.words_per_cycle.max(1))).max(1)
    }
}
