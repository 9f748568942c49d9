//! Trees of groups, as specified in the experiment file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Topology, TopologySpec, View};

use super::builders::Builder;
use super::builders::fixed_up_port::FixedUpPortSpec;
use super::builders::least_loaded_parent::LeastLoadedParentSpec;
use super::builders::load_balanced::LoadBalancedSpec;
use super::builders::minimal_depth::MinimalDepthSpec;
use super::error::{TreeError, quoted};
use super::orders::kind::OrderKind;

/// Construction of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TreeSpec {
    /// Fat-trees: up to a common ancestor by one fixed port.
    FixedUpPort(FixedUpPortSpec),
    /// Fat-trees: up to a common ancestor by the parents with the fewest trees through them.
    LeastLoadedParent(LeastLoadedParentSpec),
    /// Any topology: the fewest channels from the farthest member to the root.
    MinimalDepth(MinimalDepthSpec),
    /// Any topology: among trees of equal depth, the channels with the fewest trees.
    LoadBalanced(LoadBalancedSpec),
}

/// Classes of virtual channels of trees, relative to the routing's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TreeClasses {
    /// Separate classes, behind the routing's.
    Own,
    /// Classes of the routing, from 0 on: for paths that follow the routing's own order.
    Shared,
    /// Class 0 for everything, toward the root and from it. Such trees may deadlock; for comparison.
    Single,
}

/// Trees of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreesSpec {
    /// Construction of a tree. Default: `TreeSpec::default_for` the topology of the group's network.
    pub build: Option<TreeSpec>,
    /// Number of edge-disjoint trees of a group, over which large messages are striped. They take the planes of the
    /// group's network in turn. Default: one in each plane.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Whether a group may have fewer than `count` edge-disjoint trees, but at least one, if no more are found.
    #[serde(default)]
    pub or_fewer: bool,
    /// Whether every member has a separate tree on which it alone sends, instead of one tree on which all members send.
    #[serde(default)]
    pub directed: bool,
    /// Classes of virtual channels of the trees. Default: `shared` on a fat-tree with one of its up-down routings,
    /// otherwise `own`.
    pub classes: Option<TreeClasses>,
    /// Number of entries of a switch's table, which limits the trees through it. Default: no limit.
    pub table_entries: Option<u32>,
}

impl TreesSpec {
    /// Creates a specification of one undirected tree a group and plane, with default classes and unlimited tables.
    pub fn new(build: TreeSpec) -> Self {
        Self { build: Some(build), count: None, or_fewer: false, directed: false, classes: None, table_entries: None }
    }

    /// Returns the default classes of trees: the routing's own if trees and routing go up and down equal levels.
    pub(super) fn classes_for(&self, topology: &dyn Topology, folds: bool, routing: &str) -> TreeClasses {
        let same_levels = topology.views().hierarchy.is_some()
            && folds
            && ["adaptive-up-down", "random-up-down", "d-mod-k"].contains(&routing);
        self.classes.unwrap_or(if same_levels { TreeClasses::Shared } else { TreeClasses::Own })
    }
}

impl TreeSpec {
    /// Returns every builder, with the defaults of its keys.
    pub fn all() -> [Self; 4] {
        [
            Self::FixedUpPort(FixedUpPortSpec::default()),
            Self::LeastLoadedParent(LeastLoadedParentSpec::default()),
            Self::MinimalDepth(MinimalDepthSpec::default()),
            Self::LoadBalanced(LoadBalancedSpec::default()),
        ]
    }

    /// Returns the default builder of a topology: the paper's on fat-trees, trees that avoid one another elsewhere.
    pub fn default_for(topology: &dyn Topology) -> Self {
        match topology.views().hierarchy {
            Some(_) => Self::LeastLoadedParent(LeastLoadedParentSpec::default()),
            None => Self::LoadBalanced(LoadBalancedSpec::default()),
        }
    }

    /// Returns the builder's name in the experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::FixedUpPort(_) => "fixed-up-port",
            Self::LeastLoadedParent(_) => "least-loaded-parent",
            Self::MinimalDepth(_) => "minimal-depth",
            Self::LoadBalanced(_) => "load-balanced",
        }
    }

    /// Returns the view that the builder requires of a topology. `None`: it fits all.
    pub fn view(&self) -> Option<View> {
        match self {
            Self::FixedUpPort(_) | Self::LeastLoadedParent(_) => Some(View::Hierarchy),
            Self::MinimalDepth(_) | Self::LoadBalanced(_) => None,
        }
    }

    /// Binds the builder to a topology, for `count` edge-disjoint trees a group.
    pub(super) fn bind(&self, topology: &Arc<dyn Topology>, count: u32) -> Result<Box<dyn Builder>, TreeError> {
        let tree = || topology.views().hierarchy.ok_or_else(|| self.misfit(&**topology));
        let order = |order: Option<OrderKind>| {
            order.unwrap_or_else(|| OrderKind::default_for(&**topology, count)).bind(topology)
        };
        Ok(match self {
            Self::FixedUpPort(spec) => Box::new(spec.build(tree()?)?),
            Self::LeastLoadedParent(spec) => Box::new(spec.build(tree()?)),
            Self::MinimalDepth(spec) => Box::new(spec.build(topology, order(spec.order)?)),
            Self::LoadBalanced(spec) => Box::new(spec.build(topology, order(spec.order)?)),
        })
    }

    fn misfit(&self, topology: &dyn Topology) -> TreeError {
        TreeError::Misfit {
            kind: self.kind(),
            wanted: self.view().map_or_else(String::new, |view| TopologySpec::names_with(&[view])),
            topology: topology.kind(),
            fitting: quoted(Self::all().iter().filter(|spec| topology.views().has(spec.view())).map(Self::kind)),
        }
    }
}
