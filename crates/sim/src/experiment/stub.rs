//! Stand-ins until the parts name their variants. Nothing may depend on these.
#![allow(missing_docs)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologySpec {
    /// k-ary n-tree.
    FatTree(FatTreeSpec),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTreeSpec {
    /// Half the ports of a router.
    #[schemars(range(min = 2))]
    pub k: u32,
    /// Levels.
    #[schemars(range(min = 1))]
    pub n: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RoutingSpec {
    /// Adaptive.
    AdaptiveUpDown,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PatternSpec {
    /// Uniform.
    #[default]
    Uniform,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InjectionSpec {
    /// Bernoulli.
    #[default]
    Bernoulli,
}
