//! `[in_switch]`: how routers execute collective operations of groups.

use fabric::{CombineOrder, MulticastTurn};
use routing::trees::{TreeClasses, TreeSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, ElementType, Operator, Time};

/// Execution of collective operations in routers. Applies to programs whose collective operations are `in-switch`, and
/// to message-driven applications with `collectives = "hardware"`. The routers of a tree forward its packets by tables
/// ("hardware-collectives", section 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InSwitchSpec {
    /// Method that builds the tree of a group. Default: `least-loaded-parent` on a fat-tree, otherwise `load-balanced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreeSpec>,
    /// Number of edge-disjoint trees of a group. Packets of the group are striped over them in turn. A group for which
    /// fewer trees are found uses those. Trees take the planes of the group's network in turn. Default: one in each
    /// plane.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees_per_group: Option<u32>,
    /// Whether every member that multicasts has a separate tree, on which nobody else sends, instead of one tree for
    /// the group. Refused for groups that combine. On a topology without levels the root of the tree is the sender's
    /// router, so that copies take short paths. Tables have an entry for each sender ("hardware-collectives", section
    /// 2.1).
    #[serde(skip_serializing_if = "is_false")]
    pub directed: bool,
    /// Virtual channels of trees. Default: `shared` on a fat-tree with one of its up-down routings, otherwise `own`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<TreeClasses>,
    /// Number of entries of a router's table, which limits the trees that may pass through the router. Default: no
    /// limit.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_entries: Option<u32>,
    /// Number of groups that a router combines for, and whose partial sums it keeps. Groups for which it only copies do
    /// not count. A group with several trees through the router counts once. Default: no limit.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_per_router: Option<u32>,
    /// Number of combining operations of a group that may be in progress at once. A member sends nothing of an
    /// operation until the one `outstanding_operations` earlier is known to be finished. Default: no limit.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding_operations: Option<u32>,
    /// Limits of small combining operations. Their packets have a separate size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatencySpec>,
    /// Limits of combining operations larger than `low_latency.max_message`. They use packets of the full size. Few
    /// groups stream at a time.
    #[schemars(extend("x-rules" = ["requires in_switch.low_latency.max_message: all operations are small without it"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<StreamingSpec>,
    /// Treatment of a group for which routers do not have room, by any of these limits.
    #[serde(skip_serializing_if = "Overflow::is_default")]
    pub overflow: Overflow,
    /// Router at which the multicast of a member turns from its path up to its paths down.
    pub turn: MulticastTurn,
    /// Combine units of a router.
    pub combine: CombineUnitsSpec,
    /// Whether packets of reductions carry real elements. Units combine the elements, and members compute the result
    /// again. Every run counts contributions, with or without elements.
    #[serde(skip_serializing_if = "is_false")]
    pub verify: bool,
    /// Elements of packets and their combination.
    #[schemars(extend("x-rules" = ["requires in_switch.verify = true"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<ElementsSpec>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Small operations: combining operations of at most `max_message`. Modelled on SHARP, whose outstanding transactions
/// have a payload of 256 B (Switch-IB 2) or 2 KiB (Quantum) each. A larger SHARP request is a pipeline of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[in_switch.low_latency]\nsegment = \"256 B\"\nmax_message = \"4 KiB\""))]
pub struct LowLatencySpec {
    /// Largest packet of a small operation. Each packet occupies a partial sum. Default, and maximum: the packet size.
    #[schemars(extend("minimum" = 1, "x-rules" = ["at most in_switch.low_latency.max_message"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// Largest `size` of a small operation. Larger operations follow `in_switch.streaming` or, without that section,
    /// `in_switch.overflow`. Default: no limit (all operations are small).
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_message: Option<Bytes>,
}

/// Streams: combining operations larger than `in_switch.low_latency.max_message`. A group needs the right to stream in
/// the routers of its trees; otherwise routers do not execute its operations of that size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend(
    "x-example" = "[in_switch.low_latency]\nmax_message = \"4 KiB\"\n\n[in_switch.streaming]\ngroups_per_router = 2"
))]
pub struct StreamingSpec {
    /// Number of groups that may stream through a router. They are reserved before the run in the order of groups, as
    /// SHARP locks a tree for a job. Default: no limit.
    #[schemars(range(min = 1), extend("x-rules" = ["at most in_switch.groups_per_router"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_per_router: Option<u32>,
    /// Number of streams of a group that may be in progress at once. Small operations do not count.
    #[schemars(range(min = 1), extend("x-rules" = ["at most in_switch.outstanding_operations"]))]
    pub outstanding_operations: u32,
}

impl Default for StreamingSpec {
    fn default() -> Self {
        Self { groups_per_router: None, outstanding_operations: 1 }
    }
}

/// Elements that packets of reductions carry: one in each packet, which stands for all of the packet's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[in_switch.elements]\noperator = \"max\"\ntype = \"int32\""))]
pub struct ElementsSpec {
    /// Operator that combines two elements.
    pub operator: Operator,
    /// Type of the elements.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Order in which a unit combines the elements.
    pub order: CombineOrder,
}

impl InSwitchSpec {
    /// Returns the size of the largest small operation, in bytes.
    pub fn largest_small(&self) -> u64 {
        self.low_latency.as_ref().and_then(|own| own.max_message).map_or(u64::MAX, |bytes| bytes.0)
    }

    /// Returns whether routers may lack room for operations of groups, apart from entries of their tables.
    pub fn limits_room(&self) -> bool {
        self.groups_per_router.is_some() || self.largest_small() < u64::MAX
    }

    /// Returns whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Treatment of a group for which routers do not have room: in their tables (`table_entries`), for its partial sums
/// (`groups_per_router`), or for its operations larger than `low_latency.max_message`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// Refuse the experiment, with an error that names the full router.
    #[default]
    Refuse,
    /// Execute the group's operations, or the ones that are too large, by messages. Programs use the algorithms that
    /// `auto` selects. Groups get room in their order. Applies to programs, message-driven applications, reductions and
    /// barriers; trees of multicast traffic are refused.
    Software,
}

impl Overflow {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Combine units of a router: their speed, and the number of packets that they keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CombineUnitsSpec {
    /// One unit as fast as all ports together: it combines in a cycle what all links of the router carry in a cycle.
    LineRate(LineRateSpec),
    /// Units that combine a few words in a cycle, like an ASIC of 2004.
    WordSerial(WordSerialSpec),
}

impl Default for CombineUnitsSpec {
    fn default() -> Self {
        Self::LineRate(LineRateSpec::default())
    }
}

/// A combine unit of line rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LineRateSpec {
    /// Time of a cycle.
    #[schemars(extend("minimum" = 1))]
    pub cycle: Time,
    /// Number of partial sums of a group in a router, each for one packet. It limits the packets in flight of a member.
    /// Default: enough for the bandwidth of the member's link.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl Default for LineRateSpec {
    fn default() -> Self {
        Self { cycle: Time(1000), window: None }
    }
}

/// Combine units that process packets word by word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordSerialSpec {
    /// Number of units of a router: 1, or at least 3. The last of several units is the root; it combines the results of
    /// the others, which serve a block of ports each.
    #[schemars(range(min = 1, max = 1024))]
    pub units: u16,
    /// Time of a cycle. The default is 250 MHz (table 1 of the paper).
    #[schemars(extend("minimum" = 1))]
    pub cycle: Time,
    /// Number of cycles between a packet's last byte and its combining: the unit checks the packet, stores its header
    /// and looks up the partial sum. The paper says "a few" (section 2). 0: units that overlap this work with the
    /// combining of the previous packet.
    #[schemars(range(max = 1_048_576))]
    pub header_cycles: u32,
    /// Number of bytes that a unit combines at a time.
    #[schemars(extend("minimum" = 1))]
    pub word: Bytes,
    /// Number of words that a unit combines in a cycle.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub words_per_cycle: u32,
    /// Number of partial sums of a group in a router, each for one packet. It limits the packets in flight of a member.
    /// Default: enough for the bandwidth of the member's link.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl Default for WordSerialSpec {
    fn default() -> Self {
        Self { units: 1, cycle: Time(4000), header_cycles: 3, word: Bytes(8), words_per_cycle: 1, window: None }
    }
}
