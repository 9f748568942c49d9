//! Shortest paths from tables, on any topology.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, RouterId, VcClass};

use super::tables::{RouteTable, ShortestPaths, TableBuilder, TableRouting, UNREACHED, in_parts};
use crate::{Choice, Routing};

/// Largest number of classes that a routing may need: the largest number of virtual channels of a router.
pub(super) const MAX_CLASSES: u32 = 64;

/// Any topology: shortest paths from tables computed by breadth-first search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShortestPathSpec {
    /// Rule by which a packet takes one of several ports on shortest paths.
    pub ties: TieRule,
    /// Rule by which packets use classes of virtual channels.
    pub vc_rule: VcRule,
}

/// Rule by which a packet takes one of several equally good ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TieRule {
    /// The lowest port: one fixed path for each pair.
    #[default]
    First,
    /// Any port with equal probability, drawn anew at every router.
    Random,
    /// The ports in turn, packet by packet. Each router has one counter for all destinations.
    RoundRobin,
    /// The least congested port. Ties are broken at random.
    LeastLoaded,
}

impl TieRule {
    /// Returns the rule by which a router chooses among several ports.
    pub(super) fn choice(self) -> Choice {
        match self {
            Self::First | Self::Random => Choice::Random,
            Self::RoundRobin => Choice::RoundRobin,
            Self::LeastLoaded => Choice::LeastLoaded,
        }
    }
}

/// Rule by which packets use classes of virtual channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcRule {
    /// The class is the number of remaining hops to the destination's router: one lower with every hop, so free of
    /// deadlock on every topology, but with as many classes as the diameter.
    #[default]
    Hops,
    /// One class. Whether that is free of deadlock depends on the topology, and is checked.
    Single,
}

impl ShortestPathSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, if `vc_rule = "hops"` needs more than 64 classes, or if the table would
    /// be larger than 1 GiB.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + 'static, KeyError> {
        self.make(topology, "shortest-path")
    }

    /// Builds the routing for one of some kind, which errors name.
    ///
    /// # Errors
    /// As `build`.
    pub(super) fn make(&self, topology: &dyn Topology, kind: &str) -> Result<TableRouting, KeyError> {
        let (table, diameter) = self.table(topology, kind)?;
        Ok(TableRouting {
            kind: "shortest-path",
            table,
            classes: self.classes(diameter)?,
            adaptive: self.ties == TieRule::LeastLoaded,
            minimal: true,
            classes_fall: self.vc_rule == VcRule::Hops,
            max_routers: diameter + 1,
        })
    }

    /// Returns the table of a routing of some kind, and the largest distance between routers with nodes.
    ///
    /// # Errors
    /// If routers cannot reach one another, or if the table would be larger than 1 GiB.
    pub(super) fn table(&self, topology: &dyn Topology, kind: &str) -> Result<(RouteTable, u32), KeyError> {
        let mut table = TableBuilder::new(topology, kind, self.ties.choice())?;
        let (mut paths, mut diameter) = (ShortestPaths::new(topology), 0);
        let most = if self.ties == TieRule::First { 1 } else { usize::MAX };
        for (column, target) in table.targets().to_vec().into_iter().enumerate() {
            paths.find(target);
            for router in (0..topology.routers()).map(RouterId).filter(|&router| router != target) {
                let (distance, ports) = paths.of(router);
                if table.has_nodes(router) {
                    diameter = diameter.max(distance);
                }
                // A router that no packet can be at needs no route.
                if distance != UNREACHED {
                    table.set(router, column, &ports[..ports.len().min(most)], self.class(distance));
                } else if table.has_nodes(router) {
                    return Err(in_parts(router, target));
                }
            }
        }
        Ok((table.finish()?, diameter))
    }

    /// Returns the class of a hop that reduces the distance by one, from `distance`.
    fn class(&self, distance: u32) -> VcClass {
        match self.vc_rule {
            VcRule::Single => VcClass(0),
            // No packet starts from beyond the diameter, and a diameter above 64 is refused.
            VcRule::Hops => VcClass((distance - 1).min(MAX_CLASSES) as u8),
        }
    }

    fn classes(&self, diameter: u32) -> Result<u8, KeyError> {
        match self.vc_rule {
            VcRule::Single => Ok(1),
            VcRule::Hops if diameter <= MAX_CLASSES => Ok(diameter.max(1) as u8),
            VcRule::Hops => {
                let message = format!(
                    "`vc_rule` is \"hops\", which needs a class for each of up to {diameter} hops, more than \
                     {MAX_CLASSES}; use \"single\""
                );
                Err(KeyError::new("vc_rule", message))
            }
        }
    }
}
