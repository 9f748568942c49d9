//! The paper's simple tree: up by one fixed port, down to all members ("hardware-collectives", section 2.2 and figure
//! 4).
//!
//! All trees of groups that span the network meet at one top switch, or at few: this is the load imbalance for which
//! the paper goes on to `least_loaded_parent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Hierarchy;

use super::super::error::TreeError;
use super::Builder;
use super::fat_tree::{Climb, UpPort};

/// k-ary n-trees: up by one fixed port at every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedUpPortSpec {
    /// Up port, from 0 to k - 1. The i-th edge-disjoint tree of a group takes the i-th port after it, in rotation.
    /// Default: the last port, as in the paper.
    pub port: Option<u16>,
}

impl FixedUpPortSpec {
    /// Returns the builder on a fat-tree.
    ///
    /// # Errors
    /// If there is no such up port.
    pub(in super::super) fn build(&self, tree: &Hierarchy) -> Result<impl Builder + 'static, TreeError> {
        let most = tree.k() - 1;
        let port = self.port.unwrap_or(most);
        if port > most {
            return Err(TreeError::NoSuchUpPort { port, most });
        }
        Ok(Climb { kind: "fixed-up-port", tree: tree.clone(), up: UpPort::Fixed(port) })
    }
}
