//! The paper's simple tree: up by one fixed port, down to all members ("hardware-collectives", section 2.2 and figure
//! 4).
//!
//! All trees of groups that span the network meet at the same top switch, or at few of them: the load imbalance for
//! whose sake the paper goes on to `least_loaded_parent`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::families::fat_tree::FatTree;

use super::super::error::TreeError;
use super::Builder;
use super::fat_tree::{Climb, UpPort};

/// k-ary n-trees: up by one fixed port at every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedUpPortSpec {
    /// The up port, from 0 to k - 1; without it the last, as in the paper. The i-th edge-disjoint tree of a group takes
    /// the i-th one after it, in rotation.
    pub port: Option<u16>,
}

impl FixedUpPortSpec {
    /// Returns the builder on a fat-tree.
    ///
    /// # Errors
    /// If there is no such up port.
    pub(in super::super) fn build(&self, tree: &FatTree) -> Result<impl Builder + 'static, TreeError> {
        let most = tree.k() - 1;
        let port = self.port.unwrap_or(most);
        if port > most {
            return Err(TreeError::NoSuchUpPort { port, most });
        }
        Ok(Climb { kind: "fixed-up-port", tree: tree.clone(), up: UpPort::Fixed(port) })
    }
}
