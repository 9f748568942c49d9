//! Detours of dragonflies: the rule that restricts waypoints, and the hops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Groups;
use topology::{ChannelClass, Channels, Endpoint, Topology};
use units::{ChannelId, Draw, KeyError, NodeId, PortId, RouterId};

use super::candidates::{Classes, DirectPaths};
use super::loads;
use super::representatives::Representatives;
use crate::algorithms::detours::{Detours, Excluded, Memory, Phase, Ranks};
use crate::{Hop, Probe, Representative, Route, RouterTraffic};

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
pub(in crate::algorithms) enum Waypoints {
    Groups,
    Routers,
}

/// Rule that restricts the waypoints of a packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::algorithms) struct Rule {
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

    /// Returns the largest number of groups, or of routers in a topology without groups, that the rule excludes.
    pub fn exclusions(self) -> u32 {
        u32::from(self.exclude_source) + u32::from(self.exclude_destination)
    }

    /// Returns an error if a key that has a meaning for groups only is not at its default, for a topology without the
    /// groups of a dragonfly. Waypoints may be any groups.
    pub fn refuse_without_groups(self, topology: &dyn Topology) -> Result<(), KeyError> {
        let (key, value) = if self.waypoints == Waypoints::Groups {
            if topology.views().group_table.is_some() {
                return Ok(());
            }
            ("detour", "\"group\"")
        } else if self.intra_group != IntraGroup::Minimal {
            ("intra_group", "\"valiant\"")
        } else {
            return Ok(());
        };
        let message = format!("`{key}` is {value}, but this {} has no groups: leave `{key}` out", topology.kind());
        Err(KeyError::new(key, message))
    }
}

/// Waypoints in groups, and the direct paths to and from them.
#[derive(Debug)]
pub(in crate::algorithms) struct GroupDetours {
    pub(super) paths: DirectPaths,
    pub rule: Rule,
    /// Number of classes of local channels before the detour begins: 1 if packets may turn to it on their way.
    before: u8,
    channels: Channels,
}

impl GroupDetours {
    /// Creates detours by waypoints of a rule. `before` local classes are for packets that have not turned to the
    /// detour.
    ///
    /// # Errors
    /// If the tables would be larger than 1 GiB.
    pub fn new(topology: &Groups, rule: Rule, before: u8) -> Result<Self, KeyError> {
        let behind_first = before + 1;
        let behind_second = before + 1 + if rule.waypoints == Waypoints::Groups { 1 } else { 2 };
        let paths = DirectPaths::new(topology, Classes { behind_first, behind_second })?;
        Ok(Self { paths, rule, before, channels: Channels::new(topology) })
    }

    /// Returns the number of classes on local channels.
    pub fn local_classes(&self) -> u8 {
        self.paths.classes.behind_second + 1
    }

    /// Number of classes on global channels.
    pub const GLOBAL_CLASSES: u8 = 2;

    fn groups(&self, src: NodeId, dst: NodeId) -> (u32, u32) {
        let group = |node| self.paths.topology.place(self.paths.home(node).0).0;
        (group(src), group(dst))
    }

    /// Returns the groups that a packet's waypoint may not lie in. `None`: no waypoint is drawn.
    fn excluded(&self, src: NodeId, dst: NodeId) -> Option<Excluded> {
        let (from, to) = self.groups(src, dst);
        self.rule.excluded(self.paths.topology.size().g, from, to)
    }

    /// Returns the channel by which a packet leaves the group of a router for another group, if it does.
    #[inline]
    fn exit(&self, at: RouterId, group: u32) -> Probe {
        if self.paths.topology.place(at).0 == group {
            return Probe::First;
        }
        let (router, port) = self.paths.exit_channel(at, group);
        Probe::Channel(self.channels.output(router, port))
    }
}

impl Detours for GroupDetours {
    fn classes(&self) -> u8 {
        self.local_classes()
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        DirectPaths::classes_on(class, self.local_classes(), Self::GLOBAL_CLASSES)
    }

    fn port_lists(&self) -> &[PortId] {
        &self.paths.lists
    }

    fn waypoints(&self) -> u32 {
        match self.rule.waypoints {
            Waypoints::Groups => self.paths.topology.size().g,
            Waypoints::Routers => self.paths.topology.routers(),
        }
    }

    fn longest_direct(&self) -> u32 {
        self.paths.longest_exit() + self.paths.topology.group().diameter()
    }

    fn next(&self, at: RouterId, port: PortId) -> Option<RouterId> {
        match self.paths.topology.endpoint(at, port) {
            Endpoint::Router(next, _) => Some(next),
            Endpoint::Node(_) | Endpoint::Unconnected => None,
        }
    }

    fn channel(&self, at: RouterId, port: PortId) -> ChannelId {
        self.channels.output(at, port)
    }

    fn ranks(&self, at: RouterId, dst: NodeId) -> Option<Ranks> {
        let home = self.paths.home(dst).0;
        let [from, to] = [at, home].map(|router| self.paths.topology.place(router).0);
        let size = self.paths.topology.size();
        let excluded = self.rule.excluded(size.g, from, to)?;
        let block = if self.rule.waypoints == Waypoints::Groups { 1 } else { size.a };
        Some(Ranks { count: (size.g - excluded.count()) * block, block, excluded, home: home.0 })
    }

    fn draw(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> Option<u32> {
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

    fn all(&self, src: NodeId, dst: NodeId) -> Option<Vec<u32>> {
        let excluded = self.excluded(src, dst)?;
        let a = self.paths.topology.size().a;
        let group_of = |waypoint: &u32| match self.rule.waypoints {
            Waypoints::Groups => *waypoint,
            Waypoints::Routers => waypoint / a,
        };
        Some((0..self.waypoints()).filter(|waypoint| !excluded.has(group_of(waypoint))).collect())
    }

    fn with_waypoint(&self, waypoint: u32) -> Memory {
        Memory::new(Phase::Detour, waypoint, (self.before, 0))
    }

    #[inline]
    fn behind_waypoint(&self) -> Memory {
        Memory::new(Phase::Direct, 0, (self.paths.classes.behind_second - 1, 1))
    }

    #[inline]
    fn has_arrived(&self, at: RouterId, waypoint: u32) -> bool {
        match self.rule.waypoints {
            Waypoints::Groups => self.paths.topology.place(at).0 == waypoint,
            Waypoints::Routers => at.0 == waypoint,
        }
    }

    #[inline]
    fn is_home(&self, at: RouterId, dst: NodeId) -> bool {
        self.paths.home(dst).0 == at
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
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

    fn decided(&self, open: Memory) -> Memory {
        open.in_phase(Phase::Decided)
    }

    /// Outside the source's group there is nothing left to decide.
    fn undecided(&self, decided: Memory) -> Memory {
        if decided.global() == 0 { decided.in_phase(Phase::Open) } else { decided.direct() }
    }

    #[inline]
    fn lengths(&self, at: RouterId, waypoint: u32, dst: NodeId) -> [u32; 2] {
        let (paths, home) = (&self.paths, self.paths.home(dst).0);
        let (entry, before) = match self.rule.waypoints {
            Waypoints::Groups => paths.entry(at, waypoint),
            Waypoints::Routers => (RouterId(waypoint), paths.length(at, RouterId(waypoint))),
        };
        [paths.length(at, home), before + paths.length(entry, home)]
    }

    #[inline]
    fn probes(&self, at: RouterId, waypoint: u32, dst: NodeId) -> [Probe; 2] {
        let group = |router| self.paths.topology.place(router).0;
        let by = match self.rule.waypoints {
            Waypoints::Groups => waypoint,
            Waypoints::Routers => group(RouterId(waypoint)),
        };
        [self.exit(at, group(self.paths.home(dst).0)), self.exit(at, by)]
    }

    /// No probe of these paths has several channels.
    fn congestion_behind(&self, _first: (RouterId, PortId), _hop: &Hop, _snapshot: &[u64]) -> u64 {
        0
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let mut packets = Representatives::new(&self.paths, at);
        packets.valiant(self);
        if self.before > 0 {
            packets.undecided(self);
        }
        Some(packets.packets())
    }

    fn max_routers(&self) -> u32 {
        let (out, inside) = (self.paths.longest_exit(), self.paths.topology.group().diameter());
        // A packet may set out for its waypoint after some channels of its source's group.
        let before = if self.before > 0 { out - 1 } else { 0 };
        let to_waypoint = match self.rule.waypoints {
            Waypoints::Groups => out,
            Waypoints::Routers => out + inside,
        };
        before + to_waypoint + out + inside + 1
    }

    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        loads::by_waypoints(self, &traffic.rows)
    }
}
