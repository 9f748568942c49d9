//! Dragonfly+, or Megafly: groups of leaf and spine routers (Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi,
//! "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017; Flajslik, Borch and Parker, "Megafly: a
//! topology for exascale systems", ISC 2018).
//!
//! In each group every leaf router is wired to every spine router (class `local`). Any two groups are joined by K wires
//! between spine routers (class `global`). The papers differ in K: one wire between two groups makes the largest
//! network (Megafly), one for each spine router the most even one.
//!
//! Numbering, for L leaves and S spines of each of G groups, and n nodes on each leaf:
//!
//! - Router `g (L + S) + i` is leaf i of group g for i below L, and spine i - L otherwise.
//! - Node x is attached to port `x mod n` of leaf `x / n mod L` of group `x / n / L`. A leaf's wires follow, in the
//!   order of the spines. A spine's ports are first those to the leaves.
//! - The global wires of a group are numbered by the other group, in ascending order, then from 0 to K - 1. Wire w of a
//!   group is at spine `w mod S`.
//!
//! A spine thus has `(G - 1) K / S` global ports, rounded up or down. Leaves are at most 3 channels apart: up, across
//! and down. No closed form of the bisection is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, RouterId};

use crate::network::{Topology, Views};
use crate::shorthand::Settings;
use crate::views::GroupTable;
use crate::wired::{Apart, MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, WireList, Wired};
use crate::wires::{ChannelClass, MAX_PORTS};

/// Maximum number of groups, of which any two are wired: more would have too many ports.
const MAX_GROUPS: u64 = (MAX_WIRED_PORTS / 2).isqrt() as u64;

/// Dragonfly+ (Megafly): groups of leaf and spine routers, and wires between the spines of all groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DragonflyPlusSpec {
    /// Number of leaf routers of each group.
    #[schemars(range(min = 1, max = 2047), extend("x-example" = "2"))]
    pub leaves: u64,
    /// Number of spine routers of each group.
    #[schemars(range(min = 1, max = 2047), extend("x-example" = "2"))]
    pub spines: u64,
    /// Number of groups.
    #[schemars(range(min = 2, max = 724), extend("x-example" = "5"))]
    pub groups: u64,
    /// Number of wires between two groups, which are at different spines as far as there are enough.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 262136))]
    pub wires: u64,
    /// Number of nodes on each leaf router. Default: `spines`, with which the wires to the spines carry all that the
    /// nodes send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65534))]
    pub nodes_per_router: Option<u64>,
}

fn one() -> u64 {
    1
}

impl DragonflyPlusSpec {
    /// Reads the shorthand `leaves=16,spines=16,groups=17` with further keys.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["leaves", "spines", "groups", "wires", "nodes_per_router"])?;
        Ok(Self {
            leaves: settings.number("leaves")?,
            spines: settings.number("spines")?,
            groups: settings.number("groups")?,
            wires: settings.number_or("wires", one())?,
            nodes_per_router: settings.number_if_given("nodes_per_router")?,
        })
    }

    /// Returns the checked sizes.
    fn sizes(&self) -> Result<Sizes, KeyError> {
        let most = u64::from(MAX_WIRED_ROUTERS);
        let below = |key: &'static str, value: u64, range: std::ops::RangeInclusive<u64>| {
            let allowed = format!("`{key}` is {value}; {} to {} are allowed", range.start(), range.end());
            if range.contains(&value) { Ok(value as u32) } else { Err(KeyError::new(key, allowed)) }
        };
        let leaves = below("leaves", self.leaves, 1..=most / 2 - 1)?;
        let spines = below("spines", self.spines, 1..=(most / 2 - u64::from(leaves)).max(1))?;
        let groups = below("groups", self.groups, 2..=MAX_GROUPS.min(most / u64::from(leaves + spines)))?;
        let most = u64::from(MAX_PORTS).min(u64::from(MAX_WIRED_PORTS / (groups * leaves)) / 2);
        if most <= u64::from(spines) {
            let message =
                format!("`spines` is {spines}; fewer than {most} are allowed in {groups} groups of {leaves} leaves");
            return Err(KeyError::new("spines", message));
        }
        let nodes = self.nodes_per_router.unwrap_or(self.spines);
        let nodes = below("nodes_per_router", nodes, 1..=most - u64::from(spines))?;
        // Ports of a spine, and of all spines.
        let most =
            u64::from(MAX_PORTS).min(u64::from(MAX_WIRED_PORTS / (groups * spines)) / 2).saturating_sub(leaves.into());
        let wires = below("wires", self.wires, 1..=(most * u64::from(spines) / u64::from(groups - 1)))?;
        Ok(Sizes { leaves, spines, groups, wires, nodes })
    }
}

/// Checked sizes.
struct Sizes {
    leaves: u32,
    spines: u32,
    groups: u32,
    wires: u32,
    nodes: u32,
}

/// Dragonfly+.
pub type DragonflyPlus = Wired<DragonflyPlusShape>;

/// Names of a Dragonfly+.
#[derive(Clone, Debug)]
pub struct DragonflyPlusShape {
    groups: u32,
    leaves: u32,
    spines: u32,
    group_table: Option<GroupTable>,
}

impl DragonflyPlus {
    const LOCAL: ChannelClass = ChannelClass(2);
    const GLOBAL: ChannelClass = ChannelClass(3);

    /// Builds a Dragonfly+. Fails if a size is out of its range, or if there would be more than 4,096 routers or 2^20
    /// ports.
    pub fn new(spec: &DragonflyPlusSpec) -> Result<Self, KeyError> {
        let Sizes { leaves, spines, groups, wires, nodes } = spec.sizes()?;
        let leaf = |group: u32, number: u32| RouterId(group * (leaves + spines) + number);
        let spine = |group: u32, number: u32| leaf(group, leaves + number % spines);
        let mut list = WireList::default();
        for (group, number) in (0..groups).flat_map(|group| (0..leaves).map(move |number| (group, number))) {
            list.nodes(leaf(group, number), nodes);
            (0..spines).for_each(|top| list.wire([leaf(group, number), spine(group, top)], Self::LOCAL, 1));
        }
        for (one, other) in (0..groups).flat_map(|one| (one + 1..groups).map(move |other| (one, other))) {
            for wire in 0..wires {
                // Each of the two groups leaves itself out of the order of the others.
                let ends = [spine(one, (other - 1) * wires + wire), spine(other, one * wires + wire)];
                list.wire(ends, Self::GLOBAL, 1);
            }
        }
        let shape = DragonflyPlusShape { groups, leaves, spines, group_table: None };
        let mut made = list.build(shape, groups * (leaves + spines)).map_err(Apart::error)?;
        let labels: Vec<u32> = (0..made.routers()).map(|router| router / (leaves + spines)).collect();
        made.shape.group_table = GroupTable::new(&labels, &made);
        Ok(made)
    }
}

impl Shape for DragonflyPlusShape {
    fn kind(&self) -> &'static str {
        "dragonfly-plus"
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "local", "global"]
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["group".into(), "stage".into(), "number".into()]
    }

    /// Returns the group, the stage (0: leaf, 1: spine) and the number among the routers of that stage.
    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let (group, number) = (router.0 / (self.leaves + self.spines), router.0 % (self.leaves + self.spines));
        let stage = u32::from(number >= self.leaves);
        vec![group, stage, number - stage * self.leaves]
    }

    fn views(&self) -> Views<'_> {
        Views { node_groups: Some(self.groups), group_table: self.group_table.as_ref(), ..Views::default() }
    }
}
