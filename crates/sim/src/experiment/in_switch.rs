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
    /// The classes of virtual channels of trees; without it, `shared` on a fat-tree with one of its up-down routings, and else `own`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<TreeClasses>,
    /// Entries of a router's table: as many trees may pass through it. Without it, as many as there are.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_entries: Option<u32>,
    /// What becomes of a group for whose trees tables have no room.
    #[serde(skip_serializing_if = "Overflow::is_default")]
    pub overflow: Overflow,
    /// Where the multicast of a member turns from its way up to its ways down.
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
        let message = "`in_switch.elements` is what packets carry with `in_switch.verify = true`";
        (self.elements.is_some() && !self.verify).then(|| ("in_switch.elements".to_owned(), message.to_owned()))
    }

    /// Whether every key has its default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What becomes of a group for whose trees the tables of routers have no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The experiment is refused, with the router whose table is full.
    #[default]
    Refuse,
    /// Its operations are made of messages, of programs by the algorithms that `auto` chooses. Groups are given room in their order. Of programs and
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
        Self { units: 1, cycle: Time(4000), word: Bytes(8), words_per_cycle: 1, window: None }
    }
}
