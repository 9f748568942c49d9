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

/// Fat-trees: up by one fixed port at every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedUpPortSpec {
    /// Up port, counted from 0 at every switch. The i-th edge-disjoint tree of a group takes the i-th port after it, in
    /// rotation. Default: the last port of each switch, as in the paper.
    pub port: Option<u16>,
}

impl FixedUpPortSpec {
    /// Returns the builder on a fat-tree.
    ///
    /// # Errors
    /// If the switches of a level have no such up port.
    pub(in super::super) fn build(&self, tree: &Hierarchy) -> Result<impl Builder + 'static, TreeError> {
        let up_ports = (0..tree.levels() - 1).map(|level| tree.parents(level) * u32::from(tree.wires(level + 1)));
        if let (Some(port), Some(count)) = (self.port, up_ports.min())
            && u32::from(port) >= count
        {
            return Err(TreeError::NoSuchUpPort { port, most: (count - 1) as u16 });
        }
        Ok(Climb { kind: "fixed-up-port", tree: tree.clone(), up: UpPort::Fixed(self.port) })
    }
}
