//! Detours by way of waypoints drawn at the source: the rule that restricts waypoints, and the hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::views::Groups;
use units::{Draw, KeyError, NodeId, RouterId};

use super::candidates::{Classes, DirectPaths};
use super::memory::{Memory, Phase};
use crate::{Hop, Route, RouteState};

/// Routing of packets whose destination is in their source's group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntraGroup {
    /// Direct path.
    #[default]
    Minimal,
    /// Valiant routing by way of a waypoint, as for all other packets.
    Valiant,
}

/// Kind of waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waypoints {
    Groups,
    Routers,
}

/// Rule that restricts the waypoints of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub waypoints: Waypoints,
    pub exclude_source: bool,
    pub exclude_destination: bool,
    pub intra_group: IntraGroup,
}

impl Rule {
    /// Returns the groups by which a packet between two groups may not be sent, in ascending order. `None`: packets go
    /// directly.
    pub fn excluded(self, groups: u32, from: u32, to: u32) -> Option<Excluded> {
        if from == to && self.intra_group == IntraGroup::Minimal {
            return None;
        }
        let excluded = Excluded::new(self.exclude_source.then_some(from), self.exclude_destination.then_some(to));
        (excluded.count() < groups).then_some(excluded)
    }
}

/// At most two groups, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excluded([u32; 2]);

impl Excluded {
    const NONE: u32 = u32::MAX;

    fn new(one: Option<u32>, other: Option<u32>) -> Self {
        let (one, other) = (one.unwrap_or(Self::NONE), other.unwrap_or(Self::NONE));
        let other = if other == one { Self::NONE } else { other };
        Self([one.min(other), one.max(other)])
    }

    pub fn count(self) -> u32 {
        self.0.iter().filter(|&&group| group != Self::NONE).count() as u32
    }

    pub fn has(self, group: u32) -> bool {
        self.0.contains(&group)
    }

    /// Returns the group with a rank among the groups that are not excluded.
    #[inline]
    fn other(self, rank: u32) -> u32 {
        let group = rank + u32::from(rank >= self.0[0]);
        group + u32::from(group >= self.0[1])
    }
}

/// Draws waypoints, and routes by way of them: the common part of Valiant routing and the adaptive routings.
#[derive(Debug)]
pub(super) struct Detours {
    pub paths: DirectPaths,
    pub rule: Rule,
    /// Number of classes of local channels before the detour begins: 1 if packets may turn to it on their way.
    before: u8,
}

impl Detours {
    /// Creates detours by waypoints of a rule. `before` local classes are for packets that have not turned to the
    /// detour.
    ///
    /// # Errors
    /// If the tables would be larger than 1 GiB.
    pub fn new(topology: &Groups, rule: Rule, before: u8) -> Result<Self, KeyError> {
        let behind_first = before + 1;
        let behind_second = before + 1 + if rule.waypoints == Waypoints::Groups { 1 } else { 2 };
        Ok(Self { paths: DirectPaths::new(topology, Classes { behind_first, behind_second })?, rule, before })
    }

    /// Returns the number of classes on local channels.
    pub fn local_classes(&self) -> u8 {
        self.paths.classes.behind_second + 1
    }

    /// Number of classes on global channels.
    pub const GLOBAL_CLASSES: u8 = 2;

    /// Returns the number of waypoints.
    pub fn waypoints(&self) -> u32 {
        match self.rule.waypoints {
            Waypoints::Groups => self.paths.topology.size().g,
            Waypoints::Routers => self.paths.topology.routers(),
        }
    }

    fn groups(&self, src: NodeId, dst: NodeId) -> (u32, u32) {
        let group = |node| self.paths.topology.place(self.paths.home(node).0).0;
        (group(src), group(dst))
    }

    /// Returns the groups that a packet's waypoint may not lie in. `None`: no waypoint is drawn.
    fn excluded(&self, src: NodeId, dst: NodeId) -> Option<Excluded> {
        let (from, to) = self.groups(src, dst);
        self.rule.excluded(self.paths.topology.size().g, from, to)
    }

    /// Draws a waypoint. `None`: the packet goes directly.
    pub fn draw(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> Option<u32> {
        let excluded = self.excluded(src, dst)?;
        let size = self.paths.topology.size();
        let groups = size.g - excluded.count();
        match self.rule.waypoints {
            Waypoints::Groups => Some(excluded.other(draw.below(groups))),
            Waypoints::Routers => {
                let rank = draw.below(groups * size.a);
                Some(excluded.other(rank / size.a) * size.a + rank % size.a)
            }
        }
    }

    /// Returns all waypoints that may be drawn, all equally likely. `None`: the packet goes directly.
    pub fn all(&self, src: NodeId, dst: NodeId) -> Option<Vec<u32>> {
        let excluded = self.excluded(src, dst)?;
        let a = self.paths.topology.size().a;
        let group_of = |waypoint: &u32| match self.rule.waypoints {
            Waypoints::Groups => *waypoint,
            Waypoints::Routers => waypoint / a,
        };
        Some((0..self.waypoints()).filter(|waypoint| !excluded.has(group_of(waypoint))).collect())
    }

    /// Returns the routing state of a packet that sets out for a waypoint.
    pub fn with_waypoint(&self, waypoint: u32) -> Memory {
        Memory::new(Phase::Detour, waypoint, (self.before, 0))
    }

    /// Returns whether a packet is at its waypoint.
    #[inline]
    pub fn has_arrived(&self, at: RouterId, waypoint: u32) -> bool {
        match self.rule.waypoints {
            Waypoints::Groups => self.paths.topology.place(at).0 == waypoint,
            Waypoints::Routers => at.0 == waypoint,
        }
    }

    /// Returns the routing state of a packet that has reached its waypoint.
    #[inline]
    fn behind_waypoint(&self) -> Memory {
        Memory::new(Phase::Direct, 0, (self.paths.classes.behind_second - 1, 1))
    }

    /// Returns the next hop of a packet that goes directly or has a waypoint.
    #[inline]
    pub fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut memory = Memory::of(hop.state);
        let route = if memory.phase() == Phase::Detour && !self.has_arrived(at, memory.waypoint()) {
            match self.rule.waypoints {
                Waypoints::Groups => self.paths.to_group(at, memory.waypoint(), &mut memory),
                Waypoints::Routers => self.paths.to_router(at, RouterId(memory.waypoint()), &mut memory),
            }
        } else {
            if memory.phase() == Phase::Detour {
                memory = self.behind_waypoint();
            }
            self.paths.to_node(at, hop.dst, &mut memory)
        };
        hop.state = memory.state();
        route
    }

    /// Returns the waypoint that a packet is on its way to.
    pub fn current_waypoint(&self, at: RouterId, state: RouteState) -> Option<u32> {
        let memory = Memory::of(state);
        (memory.phase() == Phase::Detour && !self.has_arrived(at, memory.waypoint())).then_some(memory.waypoint())
    }

    /// Returns the largest number of routers that a packet can traverse, if it sets out for its waypoint after `before`
    /// channels.
    pub fn max_routers(&self, before: u32) -> u32 {
        let (out, inside) = (self.paths.longest_exit(), self.paths.topology.group().diameter());
        let to_waypoint = match self.rule.waypoints {
            Waypoints::Groups => out,
            Waypoints::Routers => out + inside,
        };
        before + to_waypoint + out + inside + 1
    }
}
