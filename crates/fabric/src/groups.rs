//! Collective operations of groups that routers carry out: the specification from which a fabric is built.

use std::sync::Arc;

use routing::trees::Trees;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Arithmetic, Bytes, Time};

/// Groups of nodes whose collective operations routers carry out.
#[derive(Clone, Debug)]
pub struct GroupsSpec {
    /// Tables of the groups' trees.
    pub trees: Arc<Trees>,
    /// Turning point of multicasts.
    pub turn: MulticastTurn,
    /// Combine units of every router. `None`: nothing is combined.
    pub units: Option<CombineSpec>,
    /// By group, whether any of its operations combines: other groups have no partial sums in the units. Empty if all
    /// groups combine.
    pub combining: Vec<bool>,
}

impl GroupsSpec {
    /// Returns whether packets of a tree may be combined.
    pub(crate) fn combines(&self, tree: u32) -> bool {
        self.combining.is_empty() || self.combining[self.trees.group_of(tree) as usize]
    }
}

/// Turning point of a multicast. The paper describes both (sections 2.1 and 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TurnSpec")]
pub enum MulticastTurn {
    /// Every router: the multicast leaves each by all ports of the tree except the one it arrived by.
    #[default]
    EverySwitch,
    /// Top router of the tree: the multicast goes up to it first, then down to all other members.
    TopSwitch,
}

/// Combine units of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CombineSpec {
    /// Number of units: 1, or at least 3, of which the last is the root of the others.
    pub units: u16,
    /// Length of a cycle.
    pub cycle: Time,
    /// Cycles before a packet is combined, in which its header is stored and its partial sum is looked up.
    pub header_cycles: u32,
    /// Size of the word that a unit combines at a time.
    pub word: Bytes,
    /// Words that a unit combines in a cycle.
    pub words_per_cycle: u32,
    /// Bandwidth of the channel from a unit into its router, as a multiple of the fastest link's: at least 1.
    pub output_speedup: u32,
    /// Partial sums of a tree in a switch: the number of segments that may be in progress.
    pub window: u32,
    /// Elements that packets carry, and units combine. `None`: packets carry no elements.
    pub elements: Option<Elements>,
}

/// Elements of packets of reductions: one element each, which stands for all data of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// Arithmetic by which elements are combined.
    pub arithmetic: Arithmetic,
    /// Order in which elements are combined.
    pub order: CombineOrder,
}

/// Order in which a unit combines the elements of the packets of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CombineOrderSpec")]
pub enum CombineOrder {
    /// Order of arrival. A sum of floating-point numbers may differ in its last bits from run to run.
    #[default]
    Arrival,
    /// Order of the input ports (at the root of several units, of its leaves). The result has identical bits whatever
    /// arrives first. The unit keeps a packet for each port instead of one partial sum, and takes no longer.
    Ports,
}

impl CombineSpec {
    /// Returns the cycles for which a packet of `bytes` bytes keeps a unit busy: for its header, and for combining it.
    pub fn cycles(&self, bytes: u32) -> u64 {
        u64::from(self.header_cycles) + self.combining_cycles(bytes)
    }

    /// Returns the cycles in which a unit combines the data of a packet of `bytes` bytes: at least one.
    pub fn combining_cycles(&self, bytes: u32) -> u64 {
        let words = u64::from(bytes).div_ceil(self.word.0.max(1));
        words.div_ceil(u64::from(self.words_per_cycle.max(1))).max(1)
    }
}
