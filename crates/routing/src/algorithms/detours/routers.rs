//! Detours by way of a random router or group, on any topology: Valiant (1982) with the shortest paths of the topology.
//!
//! A waypoint is drawn uniformly among the routers with nodes, by default without those of source and destination. If
//! there is no other, the packet goes directly. So does a packet whose destination is on its source's router. Where
//! waypoints are groups, the same holds of groups with nodes, and packets within a group go directly unless
//! `intra_group = "valiant"`.
//!
//! Model choice: the length of a detour by a group, which adaptive routings weigh, is that of the path by the first of
//! equally near ports; the path itself draws among them.

use std::sync::Arc;

use topology::{ChannelClass, Topology};
use units::{ChannelId, Draw, KeyError, NodeId, PortId, RouterId, VcClass};

use super::group_paths::GroupPaths;
use super::paths::DirectPaths;
use super::{Detours, Excluded, Memory, Phase, Ranks, loads};
use crate::algorithms::dragonfly::{IntraGroup, Rule, Waypoints};
use crate::algorithms::shortest_path::MAX_CLASSES;
use crate::{Hop, Probe, Representative, Route, RouteState, RouterTraffic};

/// Waypoints, which are routers with nodes, and the classes of virtual channels: see the table of the parent module.
#[derive(Clone, Debug)]
pub(super) struct RouterDetours {
    paths: Arc<DirectPaths>,
    /// Paths to groups, if waypoints are groups.
    groups: Option<Arc<GroupPaths>>,
    rule: Rule,
    /// Whether packets have waypoints. Without, all packets go directly.
    draws: bool,
    /// First class of packets on their way to a waypoint.
    upper: u8,
    /// Class of the first hop of a packet that may leave the direct path at the next router. 0: no packet may.
    top: u8,
    /// First class of packets behind their waypoint, if it is not that of direct paths. 0: it is.
    behind: u8,
    classes: u8,
}

impl RouterDetours {
    /// Creates the detours of a topology. `progressive`: the second router of a direct path may still turn to a detour.
    ///
    /// # Errors
    /// If routers cannot reach one another, if a table would be larger than 1 GiB, or if more than 64 classes of
    /// virtual channels were needed.
    pub fn new(topology: &dyn Topology, (kind, rule): (&str, Rule), progressive: bool) -> Result<Self, KeyError> {
        Self::on(Arc::new(DirectPaths::new(topology, kind)?), topology, (kind, rule), progressive)
    }

    /// Creates the detours of direct paths.
    ///
    /// # Errors
    /// If more than 64 classes of virtual channels were needed.
    pub fn on(
        paths: Arc<DirectPaths>,
        topology: &dyn Topology,
        (kind, rule): (&str, Rule),
        progressive: bool,
    ) -> Result<Self, KeyError> {
        let groups = match topology.views().group_table {
            Some(table) if rule.waypoints == Waypoints::Groups => {
                Some(Arc::new(GroupPaths::new(topology, table, &paths, kind)?))
            }
            _ => None,
        };
        // A single router with nodes has no packet for another.
        let waypoints = groups.as_ref().map_or(paths.targets(), |groups| groups.count());
        let within_groups = groups.is_some() && rule.intra_group == IntraGroup::Valiant;
        let excluded = if within_groups { 1 } else { rule.exclusions().max(1) };
        let draws = waypoints > excluded && paths.targets() > 1;
        let (lower, upper) = match &groups {
            None => (paths.classes_from(false), paths.classes_from(progressive)),
            Some(groups) => {
                let behind = if draws { groups.longest_behind } else { 0 };
                let longest = if progressive { groups.longest_beside } else { groups.longest };
                (paths.classes_with(behind), longest)
            }
        };
        let all = if draws { lower + upper + u32::from(progressive) } else { lower };
        check_classes(all, (kind, topology.kind()), &paths)?;
        let top = if draws && progressive { all as u8 - 1 } else { 0 };
        Ok(Self { paths, groups, rule, draws, upper: lower as u8, top, behind: 0, classes: all as u8 })
    }

    /// Gives packets behind their waypoint separate classes, if some routers have no nodes. Those routers cannot send
    /// other packets by a detour, so that packets on a congested direct path fill them up to the routers with nodes.
    /// If the others used the same classes, they would wait behind these.
    ///
    /// # Errors
    /// If more than 64 classes of virtual channels were needed.
    pub fn separated(self, topology: &dyn Topology, kind: &str) -> Result<Self, KeyError> {
        if !self.draws || self.paths.targets() == topology.routers() {
            return Ok(self);
        }
        // As many as direct paths have: `upper` follows these.
        let all = u32::from(self.classes) + u32::from(self.upper);
        check_classes(all, (kind, topology.kind()), &self.paths)?;
        Ok(Self { behind: self.classes, classes: all as u8, ..self })
    }

    /// Returns whether packets behind their waypoint have separate classes.
    pub fn are_separated(&self) -> bool {
        self.behind != 0
    }

    /// Returns direct paths without detours.
    pub fn without_waypoints(paths: Arc<DirectPaths>, rule: Rule) -> Self {
        let classes = paths.classes_from(false) as u8;
        Self { paths, groups: None, rule, draws: false, upper: classes, top: 0, behind: 0, classes }
    }

    /// Returns the direct paths.
    pub fn paths(&self) -> &Arc<DirectPaths> {
        &self.paths
    }

    /// Returns the detours without the choice of a second router.
    pub fn decided_once(&self) -> Self {
        Self { top: 0, ..self.clone() }
    }

    /// Returns the waypoints that a packet may not have. `None`: no waypoint is drawn.
    fn excluded(&self, src: NodeId, dst: NodeId) -> Option<Excluded> {
        let (from, to) = (self.paths.home(src).0, self.paths.home(dst).0);
        if !self.draws || from == to {
            return None;
        }
        match &self.groups {
            Some(groups) => {
                let [from, to] = [from, to].map(|target| groups.group(self.paths.router(target)));
                self.rule.excluded(groups.count(), from, to)
            }
            None => Some(Excluded::new(
                self.rule.exclude_source.then_some(from),
                self.rule.exclude_destination.then_some(to),
            )),
        }
    }

    /// Returns the number of waypoints, excluded ones included.
    fn all_waypoints(&self) -> u32 {
        self.groups.as_ref().map_or(self.paths.targets(), |groups| groups.count())
    }

    /// Returns the next hop on the direct path to a node, which may be one of this router's.
    #[inline]
    fn to_node(&self, at: RouterId, dst: NodeId) -> Route {
        let (target, port) = self.paths.home(dst);
        if self.paths.router(target) == at { Route::only(port, VcClass(0)) } else { self.paths.toward(at, target) }
    }
}

/// Checks a number of classes of virtual channels that a routing on a topology, both by their kinds, needs.
fn check_classes(all: u32, (routing, topology): (&str, &str), paths: &DirectPaths) -> Result<(), KeyError> {
    if all <= MAX_CLASSES {
        return Ok(());
    }
    let message = format!(
        "{routing} needs {all} classes of virtual channels on this {topology}, whose paths have up to {} hops; at most \
         {MAX_CLASSES} are allowed",
        paths.longest
    );
    Err(KeyError::new("kind", message))
}

impl Detours for RouterDetours {
    fn classes(&self) -> u8 {
        self.classes
    }

    fn classes_on(&self, _class: ChannelClass) -> u8 {
        self.classes
    }

    fn port_lists(&self) -> &[PortId] {
        self.groups.as_ref().map_or(self.paths.port_lists(), |groups| groups.port_lists())
    }

    fn waypoints(&self) -> u32 {
        if self.draws { self.all_waypoints() } else { 0 }
    }

    fn longest_direct(&self) -> u32 {
        self.paths.longest
    }

    fn next(&self, at: RouterId, port: PortId) -> Option<RouterId> {
        self.paths.next(at, port)
    }

    #[inline]
    fn channel(&self, at: RouterId, port: PortId) -> ChannelId {
        self.paths.wiring.channels.output(at, port)
    }

    /// At the second router of a path, that router is excluded in place of the source's.
    fn ranks(&self, at: RouterId, dst: NodeId) -> Option<Ranks> {
        let home = self.paths.home(dst).0;
        if let Some(groups) = &self.groups {
            let [from, to] = [at, self.paths.router(home)].map(|router| groups.group(router));
            let excluded = self.rule.excluded(groups.count(), from, to)?;
            // A router in a group without nodes excludes no waypoint.
            let excluded = if from < groups.count() {
                excluded
            } else {
                Excluded::new(self.rule.exclude_destination.then_some(to), None)
            };
            return Some(Ranks { count: self.waypoints().checked_sub(excluded.count())?, block: 1, excluded, home });
        }
        let source = self.paths.target_of(at).filter(|_| self.rule.exclude_source);
        let excluded = Excluded::new(source, self.rule.exclude_destination.then_some(home));
        Some(Ranks { count: self.waypoints().checked_sub(excluded.count())?, block: 1, excluded, home })
    }

    fn draw(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> Option<u32> {
        let excluded = self.excluded(src, dst)?;
        Some(excluded.other(draw.below(self.all_waypoints() - excluded.count())))
    }

    fn all(&self, src: NodeId, dst: NodeId) -> Option<Vec<u32>> {
        let excluded = self.excluded(src, dst)?;
        Some((0..self.all_waypoints()).filter(|&waypoint| !excluded.has(waypoint)).collect())
    }

    fn with_waypoint(&self, waypoint: u32) -> Memory {
        Memory::new(Phase::Detour, waypoint, (0, 0))
    }

    fn behind_waypoint(&self) -> Memory {
        // Any state but that of packets on direct paths.
        if self.behind == 0 { Memory::default() } else { Memory::new(Phase::Direct, 0, (1, 0)) }
    }

    #[inline]
    fn has_arrived(&self, at: RouterId, waypoint: u32) -> bool {
        match &self.groups {
            Some(groups) => groups.group(at) == waypoint,
            None => self.paths.router(waypoint) == at,
        }
    }

    #[inline]
    fn is_home(&self, at: RouterId, dst: NodeId) -> bool {
        self.paths.router(self.paths.home(dst).0) == at
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let memory = Memory::of(hop.state);
        match memory.phase() {
            Phase::Detour if !self.has_arrived(at, memory.waypoint()) => {
                let mut route = match &self.groups {
                    Some(groups) => groups.toward(at, memory.waypoint()),
                    None => self.paths.toward(at, memory.waypoint()),
                };
                route.vc_class.0 += self.upper;
                route
            }
            Phase::Decided => {
                let mut route = self.to_node(at, hop.dst);
                route.vc_class.0 = self.top;
                route
            }
            Phase::Direct | Phase::Detour if self.behind != 0 && memory != Memory::default() => {
                hop.state = self.behind_waypoint().state();
                let mut route = self.to_node(at, hop.dst);
                if !self.is_home(at, hop.dst) {
                    route.vc_class.0 += self.behind;
                }
                route
            }
            Phase::Direct | Phase::Detour | Phase::Open => {
                hop.state = RouteState::default();
                self.to_node(at, hop.dst)
            }
        }
    }

    /// Only the second router decides again, so that only the first hop needs another class. The class of the next
    /// local channels, which has no other meaning here, counts the decisions.
    fn decided(&self, open: Memory) -> Memory {
        if open.local() == 0 { open.in_phase(Phase::Decided) } else { Memory::default() }
    }

    fn undecided(&self, decided: Memory) -> Memory {
        Memory::new(Phase::Open, decided.waypoint(), (1, 0))
    }

    fn lengths(&self, at: RouterId, waypoint: u32, dst: NodeId) -> [u32; 2] {
        let (target, _) = self.paths.home(dst);
        if let Some(groups) = &self.groups {
            let (before, entry) = groups.entry(at, waypoint);
            return [self.paths.length(at, target), before + self.paths.length(entry, target)];
        }
        let behind = self.paths.length(self.paths.router(waypoint), target);
        [self.paths.length(at, target), self.paths.length(at, waypoint) + behind]
    }

    fn probes(&self, _at: RouterId, _waypoint: u32, _dst: NodeId) -> [Probe; 2] {
        [Probe::Path; 2]
    }

    /// Follows the first of the ports that lead nearer.
    fn congestion_behind(&self, (mut at, mut port): (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64 {
        let (mut hop, mut sum) = (*hop, 0);
        while let Some(next) = self.paths.next(at, port) {
            port = self.route(next, &mut hop).port(0, self.port_lists());
            at = next;
            // Channels to nodes are not sampled.
            sum += snapshot.get(self.paths.wiring.channels.output(at, port).index()).copied().unwrap_or(0);
        }
        sum
    }

    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        None
    }

    fn max_routers(&self) -> u32 {
        let direct = self.paths.longest + 1;
        if let Some(groups) = self.groups.as_ref().filter(|_| self.draws) {
            let before = if self.top == 0 { groups.longest } else { 1 + groups.longest_beside.max(groups.longest) };
            return before + groups.longest_behind.max(self.paths.longest) + 1;
        }
        match (self.draws, self.top) {
            (false, _) => direct,
            (true, 0) => self.paths.longest + direct,
            (true, _) => 1 + self.paths.longest_beside.max(self.paths.longest) + direct,
        }
    }

    /// The first router that a packet reaches in a group depends on its source, so that there is no one direct traffic.
    fn lacks_loads(&self) -> bool {
        self.groups.is_some() && self.draws
    }

    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        loads::output_loads(&self.paths, &traffic.rows, self.draws.then_some(self.rule))
    }
}
