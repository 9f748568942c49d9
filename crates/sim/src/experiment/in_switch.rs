//! `[in_switch]`: what routers do of the collective operations of groups.

use fabric::Turn;
use routing::trees::{TreeClasses, TreeSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, ElementType, Operator, Time};

/// What routers do of the operations of groups: of programs whose collective operations are `in-switch`, and of message-driven applications with
/// `collectives = "hardware"`. The routers of a tree look its
/// packets up in tables ("hardware-collectives", section 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InSwitchSpec {
    /// How the tree of a group is made; without it, `least-loaded-parent` on a fat-tree, and else `load-balanced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreeSpec>,
    /// Edge-disjoint trees of a group, over which its packets are striped in turn: as many if there are so many for the group, else those
    /// that are found. Without it, one.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees_per_group: Option<u32>,
    /// Whether every member that multicasts has a tree of its own, on which nobody else sends, instead of one tree of the group. Of groups that
    /// combine nothing. On a topology without levels its root is the sender's router, so that copies take short paths; tables have an entry for
    /// each sender ("hardware-collectives", section 2.1).
    #[serde(skip_serializing_if = "is_false")]
    pub directed: bool,
    /// The classes of virtual channels of trees; without it, `shared` on a fat-tree with one of its up-down routings, and else `own`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<TreeClasses>,
    /// Entries of a router's table: as many trees may pass through it. Without it, as many as there are.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_entries: Option<u32>,
    /// Groups that a router combines for, whose partial sums it keeps: those that it only copies for do not count, and several trees of a group
    /// count once. Without it, as many as there are.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_per_router: Option<u32>,
    /// Operations of a group whose packets are combined and that may be under way at once: a member that begins another one sends nothing of it
    /// before that which comes so many before it is known to be finished. Without it, as many as the members begin.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding_operations: Option<u32>,
    /// Limits of small operations. They are combined in packets of their own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatencySpec>,
    /// How operations larger than `low_latency.max_message` are combined: in packets of the full size, of few groups at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<StreamingSpec>,
    /// What becomes of a group for which routers do not have room, by any of these limits.
    #[serde(skip_serializing_if = "Overflow::is_default")]
    pub overflow: Overflow,
    /// Where the multicast of a member turns from its path up to its paths down.
    pub turn: TurnSpec,
    /// The combine units of a router.
    pub combine: CombineUnitsSpec,
    /// Whether packets of reductions carry real elements, which units combine and members compute again. Every run counts contributions all the
    /// same.
    #[serde(skip_serializing_if = "is_false")]
    pub verify: bool,
    /// What the elements are, and how they are combined; goes with `verify = true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<ElementsSpec>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Small operations: those whose packets are combined and that are not larger than `max_message`. As in SHARP, whose outstanding transactions
/// have a payload of 256 B (Switch-IB 2) or 2 KiB (Quantum) each, and where larger requests are a pipeline of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[in_switch.low_latency]\nsegment = \"256 B\"\nmax_message = \"4 KiB\""))]
pub struct LowLatencySpec {
    /// The most bytes of a packet of theirs, each of which takes a partial sum. Without it, or where packets are smaller, the packet's size.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// The `size` of the largest of them. Larger ones go by `in_switch.streaming` or, without that section, as `in_switch.overflow` says.
    /// Without it, all are small.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_message: Option<Bytes>,
}

/// Streams: operations whose packets are combined and that are larger than `in_switch.low_latency.max_message`. A group has the right to stream in
/// the routers of its trees, or its operations of that size are not carried out there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend(
    "x-example" = "[in_switch.low_latency]\nmax_message = \"4 KiB\"\n\n[in_switch.streaming]\ngroups_per_router = 2"
))]
pub struct StreamingSpec {
    /// Groups that may stream through a router, reserved before the run in the order of groups, as SHARP locks a tree for a job. Without it, as
    /// many as there are.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_per_router: Option<u32>,
    /// Streams of a group that may be under way at once; small operations are beside them.
    #[schemars(range(min = 1))]
    pub outstanding_operations: u32,
}

impl Default for StreamingSpec {
    fn default() -> Self {
        Self { groups_per_router: None, outstanding_operations: 1 }
    }
}

/// The elements that packets of reductions carry: one each, which stands for all of the packet's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[in_switch.elements]\noperator = \"max\"\ntype = \"int32\""))]
pub struct ElementsSpec {
    /// How two of them are combined.
    pub operator: Operator,
    /// Their type.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// In which order a unit combines them.
    pub order: CombineOrderSpec,
}

/// In which order a unit combines the elements of the packets of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CombineOrderSpec {
    /// That in which the packets come: a sum of floating-point numbers may differ in its last bits from run to run.
    #[default]
    Arrival,
    /// That of the ports by which they come (at the root of several units, of its leaves): the same bits whatever comes first. The unit keeps a
    /// packet for each port instead of one, and takes no longer.
    Ports,
}

impl InSwitchSpec {
    /// Keys of the section that contradict one another.
    pub(super) fn contradiction(&self) -> Option<(String, String)> {
        let found = |key: &str, message: String| Some((format!("in_switch.{key}"), message));
        if self.elements.is_some() && !self.verify {
            let message = "`in_switch.elements` is what packets carry with `in_switch.verify = true`";
            return found("elements", message.to_owned());
        }
        let small = self.low_latency.clone().unwrap_or_default();
        if let (Some(segment), Some(most)) = (small.segment, small.max_message)
            && segment > most
        {
            let message = format!("{segment} is more than the largest small operation has: `max_message` is {most}");
            return found("low_latency.segment", message);
        }
        let streaming = self.streaming.as_ref()?;
        if small.max_message.is_none() {
            let message = "without `in_switch.low_latency.max_message` every operation is small, and none is a stream";
            return found("streaming", message.to_owned());
        }
        let more = |own: Option<u32>, all: Option<u32>| own.zip(all).filter(|(own, all)| own > all);
        let contradiction = |key: &str, (own, all): (u32, u32)| {
            let message = format!("{own} streams are more than `in_switch.{key}` allows of all: {all}");
            found(&format!("streaming.{key}"), message)
        };
        if let Some(pair) = more(streaming.groups_per_router, self.groups_per_router) {
            return contradiction("groups_per_router", pair);
        }
        let pair = more(Some(streaming.outstanding_operations), self.outstanding_operations);
        pair.and_then(|pair| contradiction("outstanding_operations", pair))
    }

    /// The bytes of the largest operation that is small.
    pub(crate) fn largest_small(&self) -> u64 {
        self.low_latency.as_ref().and_then(|own| own.max_message).map_or(u64::MAX, |bytes| bytes.0)
    }

    /// Whether routers may have no room for operations of groups, beside the entries of their tables.
    pub(crate) fn limits_room(&self) -> bool {
        self.groups_per_router.is_some() || self.largest_small() < u64::MAX
    }

    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What becomes of a group for which routers do not have room: in their tables (`table_entries`), for its partial sums (`groups_per_router`), or
/// for its operations larger than `low_latency.max_message`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The experiment is refused, with the router that is full.
    #[default]
    Refuse,
    /// Its operations, or those that are too large, are made of messages, of programs by the algorithms that `auto` chooses. Groups are given room
    /// in their order. Of programs and
    /// message-driven applications; the trees of multicast traffic are refused all the same.
    Software,
}

impl Overflow {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a multicast turns: the paper says both (sections 2.1 and 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TurnSpec {
    /// At every router: it leaves each by all ports of the tree but the one that it came by.
    #[default]
    EverySwitch,
    /// At the top router of the tree: it goes up there first, and then down to all other members.
    TopSwitch,
}

impl From<TurnSpec> for Turn {
    fn from(turn: TurnSpec) -> Self {
        match turn {
            TurnSpec::EverySwitch => Self::EverySwitch,
            TurnSpec::TopSwitch => Self::TopSwitch,
        }
    }
}

/// The combine units of a router: what they take for a packet, and how many packets they keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CombineUnitsSpec {
    /// As fast as all ports together: one unit that combines in a cycle what all links of a router carry in it.
    LineRate(LineRateSpec),
    /// A few words in a cycle, as in an ASIC of 2004.
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
    /// Partial sums of a group in a router, each of one packet: as many packets of a member may be under way. Without it, enough for the
    /// bandwidth of its link.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl Default for LineRateSpec {
    fn default() -> Self {
        Self { cycle: Time(1000), window: None }
    }
}

/// Combine units that take word by word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WordSerialSpec {
    /// Units of a router: 1, or 3 and more, of which the last combines what the others have made of the packets of a block of ports each.
    #[schemars(range(min = 1, max = 1024))]
    pub units: u16,
    /// Time of a cycle: that of the paper's table 1, 250 MHz.
    #[schemars(extend("minimum" = 1))]
    pub cycle: Time,
    /// Cycles of a packet between its last byte and its combining: the unit checks it, stores its header, and looks up the partial sum.
    /// "A few" in the paper (section 2); 0 stands for units that do so while they combine the packet before.
    #[schemars(range(max = 1_048_576))]
    pub header_cycles: u32,
    /// What a unit combines at a time.
    #[schemars(extend("minimum" = 1))]
    pub word: Bytes,
    /// How often it does so in a cycle.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub words_per_cycle: u32,
    /// Partial sums of a group in a router, each of one packet: as many packets of a member may be under way. Without it, enough for the
    /// bandwidth of its link.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

impl Default for WordSerialSpec {
    fn default() -> Self {
        Self { units: 1, cycle: Time(4000), header_cycles: 3, word: Bytes(8), words_per_cycle: 1, window: None }
    }
}
