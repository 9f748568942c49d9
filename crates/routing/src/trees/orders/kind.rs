//! Orders, as specified in the experiment file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Topology, TopologySpec, View};

use super::Order;
use super::dimension_order::DimensionOrder;
use super::hops::Hops;
use super::local_global::LocalGlobal;
use super::up_down::UpDown;
use crate::trees::error::{TreeError, quoted};

/// Order that keeps trees of different roots from waiting for one another in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderKind {
    /// Any topology: one order of all switches, up toward the root. One class of virtual channels; paths are not always
    /// shortest.
    UpDown,
    /// Tori and meshes: dimension order toward the root. Four classes on a torus, two on a mesh.
    DimensionOrder,
    /// Dragonflies: over at most one global channel toward the root. Four classes on local channels, two on global
    /// ones.
    LocalGlobal,
    /// Any topology: shortest paths. The number of classes is twice the largest number of channels from a member to the
    /// root.
    Hops,
}

impl OrderKind {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::UpDown, Self::DimensionOrder, Self::LocalGlobal, Self::Hops];

    /// Returns the order that suits a topology and a number of edge-disjoint trees. Orders with single paths leave no
    /// wires for a second tree.
    pub fn default_for(topology: &dyn Topology, count: u32) -> Self {
        let suits = |order: &Self| order.view().is_some() && topology.views().has(order.view());
        let own = Self::ALL.into_iter().find(suits).filter(|_| count == 1);
        own.unwrap_or(Self::UpDown)
    }

    /// Returns the order's name in the experiment file.
    pub fn kind(self) -> &'static str {
        match self {
            Self::UpDown => "up-down",
            Self::DimensionOrder => "dimension-order",
            Self::LocalGlobal => "local-global",
            Self::Hops => "hops",
        }
    }

    /// Returns the view that the order requires of a topology. `None`: it fits all.
    pub fn view(self) -> Option<View> {
        match self {
            Self::DimensionOrder => Some(View::Grid),
            Self::LocalGlobal => Some(View::Groups),
            Self::UpDown | Self::Hops => None,
        }
    }

    /// Binds the order to a topology.
    pub(in crate::trees) fn bind(self, topology: &Arc<dyn Topology>) -> Result<Box<dyn Order>, TreeError> {
        let misfit = || self.misfit(&**topology);
        Ok(match self {
            Self::UpDown => Box::new(UpDown::new(topology)),
            Self::Hops => Box::new(Hops(Arc::clone(topology))),
            Self::DimensionOrder => {
                let grid = topology.views().grid.ok_or_else(misfit)?;
                Box::new(DimensionOrder::new(grid).map_err(|_| misfit())?)
            }
            Self::LocalGlobal => Box::new(LocalGlobal(topology.views().groups.ok_or_else(misfit)?.clone())),
        })
    }

    fn misfit(self, topology: &dyn Topology) -> TreeError {
        TreeError::OrderMisfit {
            order: self.kind(),
            wanted: self.view().map_or_else(String::new, |view| TopologySpec::names_with(&[view])),
            topology: topology.kind(),
            fitting: quoted(Self::ALL.into_iter().filter(|order| topology.views().has(order.view())).map(Self::kind)),
        }
    }
}
