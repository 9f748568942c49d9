//! OpenAtom (paper, section 3.3.1): the arrays GSpace and RealSpace (states x planes, with different numbers of planes)
//! and the PairCalculators (blocks of states x blocks of states x planes of GSpace).
//!
//! GSpace and RealSpace exchange messages state by state: all planes of a state send to all planes of that state, and
//! back (phase `transpose`). GSpace and PairCalculators exchange messages plane by plane: G(s, p) multicasts to the
//! calculators of its plane with its block of states, and receives their results by reduction (phase `pairs`). With
//! `one_way`, replies are separate phases, and a step has the phases `to-realspace`, `to-gspace`, `multicast` and
//! `reduction`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LocatedError;

use super::tasks_of;
use crate::limits::{arcs_fit, positive};
use crate::{ArcList, Arcs, Group, GroupKind, Phase, TaskArray, TaskGraph};

/// System of the paper's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OpenAtomSystem {
    /// WATER_32M_70Ry.
    #[default]
    #[serde(rename = "water-32")]
    Water32,
    /// WATER_256M_70Ry.
    #[serde(rename = "water-256")]
    Water256,
    /// GST_BIG.
    GstBig,
}

/// OpenAtom: GSpace, RealSpace and PairCalculators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenAtomSpec {
    /// System. It determines the defaults of `states`, `planes`, `real_planes` and `block`.
    pub system: OpenAtomSystem,
    /// Electronic states.
    #[schemars(range(min = 1))]
    pub states: Option<u32>,
    /// Planes of GSpace.
    #[schemars(range(min = 1))]
    pub planes: Option<u32>,
    /// Planes of RealSpace.
    #[schemars(range(min = 1))]
    pub real_planes: Option<u32>,
    /// States per block of PairCalculators. Must divide the number of states.
    #[schemars(range(min = 1))]
    pub block: Option<u32>,
    /// Bytes of a message of the transpose.
    #[schemars(range(min = 1))]
    pub transpose_bytes: u64,
    /// Bytes of a multicast to PairCalculators, and of a reduction.
    #[schemars(range(min = 1))]
    pub pair_bytes: u64,
    /// Load of a PairCalculator, relative to 1 for an element of GSpace or RealSpace.
    #[schemars(range(min = 0.0))]
    pub pair_load: f64,
    /// Send replies in separate phases, as message-driven execution requires: a task replies only after it has
    /// received.
    pub one_way: bool,
}

impl Default for OpenAtomSpec {
    fn default() -> Self {
        Self {
            system: OpenAtomSystem::default(),
            states: None,
            planes: None,
            real_planes: None,
            block: None,
            transpose_bytes: 512,
            pair_bytes: 4096,
            pair_load: 1.0,
            one_way: false,
        }
    }
}

/// Sizes of a system: states, planes, planes of RealSpace, block.
struct Sizes {
    states: u32,
    planes: u32,
    real_planes: u32,
    block: u32,
}

/// Direction between GSpace and RealSpace.
#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
    Both,
}

impl OpenAtomSpec {
    fn sizes(&self) -> Sizes {
        // Four occupied states per water molecule. All other values are assumed.
        let (states, planes, real_planes, block) = match self.system {
            OpenAtomSystem::Water32 => (128, 32, 48, 32),
            OpenAtomSystem::Water256 => (1024, 64, 96, 128),
            OpenAtomSystem::GstBig => (512, 48, 72, 64),
        };
        Sizes {
            states: self.states.unwrap_or(states),
            planes: self.planes.unwrap_or(planes),
            real_planes: self.real_planes.unwrap_or(real_planes),
            block: self.block.unwrap_or(block),
        }
    }

    /// Builds the graph: GSpace, then RealSpace, then PairCalculators.
    ///
    /// # Errors
    /// If a number is 0, if the block does not divide the states, or if there are too many tasks.
    pub fn build(&self) -> Result<TaskGraph, LocatedError> {
        let Sizes { states, planes, real_planes, block } = self.sizes();
        if block == 0 || !states.is_multiple_of(block) {
            return Err(LocatedError::key("block", format!("`block` is {block}; it divides the {states} states")));
        }
        let blocks = states / block;
        let gspace = tasks_of(&[states, planes], 2, "states")?;
        let realspace = tasks_of(&[states, real_planes], 2, "states")?;
        let pairs = tasks_of(&[blocks, blocks, planes], 3, "block")?;
        let tasks = gspace.checked_add(realspace).and_then(|sum| sum.checked_add(pairs)).unwrap_or(u32::MAX);
        tasks_of(&[tasks], 1, "states")?;
        positive(self.transpose_bytes, "transpose_bytes")?;
        positive(self.pair_bytes, "pair_bytes")?;
        if !(self.pair_load >= 0.0 && self.pair_load.is_finite()) {
            return Err(LocatedError::key(
                "pair_load",
                format!("`pair_load` is {}; it is not negative", self.pair_load),
            ));
        }
        arcs_fit(&[2, u64::from(gspace), u64::from(real_planes)], "planes")?;
        arcs_fit(&[4, u64::from(gspace), u64::from(blocks)], "block")?;
        let sizes = Sizes { states, planes, real_planes, block };
        let groups = |kinds| self.groups(&sizes, gspace + realspace, kinds);
        let none = || ArcList::new(tasks).build();
        let mut graph = TaskGraph::new("openatom", none());
        graph.phases = if self.one_way {
            vec![
                Phase::of("to-realspace", self.transpose(&sizes, tasks, Way::There)),
                Phase::of("to-gspace", self.transpose(&sizes, tasks, Way::Back)),
                Phase { groups: groups(&[GroupKind::Multicast]), ..Phase::of("multicast", none()) },
                Phase { groups: groups(&[GroupKind::Reduction]), ..Phase::of("reduction", none()) },
            ]
        } else {
            let both = groups(&[GroupKind::Multicast, GroupKind::Reduction]);
            vec![
                Phase::of("transpose", self.transpose(&sizes, tasks, Way::Both)),
                Phase { groups: both, ..Phase::of("pairs", none()) },
            ]
        };
        graph.loads[(gspace + realspace) as usize..].fill(self.pair_load);
        let array = |name: &str, first, dims: Vec<u32>| {
            let periodic = vec![false; dims.len()];
            TaskArray { name: name.into(), first, dims, periodic }
        };
        graph.arrays = vec![
            array("gspace", 0, vec![states, planes]),
            array("realspace", gspace, vec![states, real_planes]),
            array("paircalculators", gspace + realspace, vec![blocks, blocks, planes]),
        ];
        graph.notes.push(format!(
            "{states} states, {planes} planes of GSpace, {real_planes} of RealSpace, blocks of {block} states, messages of {} and {} \
             bytes, and loads of 1 and {} of a PairCalculator; the paper gives none of them.",
            self.transpose_bytes, self.pair_bytes, self.pair_load
        ));
        Ok(graph)
    }

    /// Returns the messages between GSpace and RealSpace, in one or both directions.
    fn transpose(&self, sizes: &Sizes, tasks: u32, way: Way) -> Arcs {
        let (states, bytes) = (sizes.states, self.transpose_bytes);
        let mut arcs = ArcList::new(tasks);
        for state in 0..states {
            let pairs = (0..sizes.planes).flat_map(|plane| (0..sizes.real_planes).map(move |real| (plane, real)));
            for (plane, real) in pairs {
                let (there, back) = (state + states * plane, states * (sizes.planes + real) + state);
                match way {
                    Way::There => arcs.add(there, back, bytes, 1),
                    Way::Back => arcs.add(back, there, bytes, 1),
                    Way::Both => arcs.add_both(there, back, bytes, 1),
                }
            }
        }
        arcs.build()
    }

    /// Returns groups of the given kinds for every element of GSpace.
    fn groups(&self, sizes: &Sizes, first: u32, kinds: &[GroupKind]) -> Vec<Group> {
        let blocks = sizes.states / sizes.block;
        let mut groups = Vec::new();
        for plane in 0..sizes.planes {
            for state in 0..sizes.states {
                let own = state / sizes.block;
                let at = |one: u32, other: u32| first + one + blocks * (other + blocks * plane);
                let row = (0..blocks).map(|other| at(own, other));
                let column = (0..blocks).filter(|&other| other != own).map(|other| at(other, own));
                let members: Vec<u32> = row.chain(column).collect();
                for &kind in kinds {
                    let root = state + sizes.states * plane;
                    groups.push(Group { kind, root, members: members.clone(), bytes: self.pair_bytes });
                }
            }
        }
        groups
    }
}
