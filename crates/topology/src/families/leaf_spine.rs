//! Leaf-spine network (folded Clos network of two levels): every leaf switch is wired to every spine switch.
//!
//! This is the tree XGFT(2; nodes per leaf, leaves; 1, spines), with its numbering (first the leaf switches, then the
//! spines), bisection and limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use crate::shorthand::Settings;
use crate::views::{Hierarchy, TreeShape};

/// Leaf switches with nodes, each wired to every spine switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpineSpec {
    /// Number of leaf switches.
    #[schemars(range(min = 1, max = 65535), extend("x-example" = "4"))]
    pub leaves: u64,
    /// Number of spine switches.
    #[schemars(range(min = 1, max = 65534), extend("x-example" = "4"))]
    pub spines: u64,
    /// Number of nodes on each leaf switch.
    #[schemars(range(min = 1, max = 65534), extend("x-example" = "8"))]
    pub nodes_per_leaf: u64,
    /// Number of parallel wires between a leaf switch and a spine switch.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65534))]
    pub wires: u64,
}

fn one() -> u64 {
    1
}

impl LeafSpineSpec {
    /// Reads the shorthand `leaves=16,spines=8,nodes_per_leaf=32`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["leaves", "spines", "nodes_per_leaf", "wires"])?;
        Ok(Self {
            leaves: settings.number("leaves")?,
            spines: settings.number("spines")?,
            nodes_per_leaf: settings.number("nodes_per_leaf")?,
            wires: settings.number_or("wires", one())?,
        })
    }
}

/// Tree of leaf switches and spine switches.
pub type LeafSpine = Hierarchy;

impl LeafSpine {
    /// Builds the network. Fails if a number is 0, or if the network exceeds a limit of [`Hierarchy::xgft`].
    pub fn leaf_spine(spec: &LeafSpineSpec) -> Result<Self, KeyError> {
        let mut shape = TreeShape { m: vec![1; 2], w: vec![1; 2], p: vec![1; 2] };
        // A number is wrong if the network is too large with it, and was not before.
        let LeafSpineSpec { leaves, spines, nodes_per_leaf, wires } = *spec;
        TreeShape::check_number("leaves", leaves)?;
        shape.m[1] = leaves;
        shape.check("leaves")?;
        TreeShape::check_number("nodes_per_leaf", nodes_per_leaf)?;
        shape.m[0] = nodes_per_leaf;
        shape.check("nodes_per_leaf")?;
        TreeShape::check_number("spines", spines)?;
        shape.w[1] = spines;
        shape.check("spines")?;
        TreeShape::check_number("wires", wires)?;
        shape.p[1] = wires;
        shape.check("wires")?;
        Ok(Self::of("leaf-spine", &shape, (leaves * nodes_per_leaf) as u32, 0))
    }
}
