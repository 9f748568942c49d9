//! Representative packets at a router of a dragonfly: see `Routing::representatives`.
//!
//! On the direct path a hop depends on the group of the destination, and in that group on its router. So for one hop a
//! target for each port suffices. For two hops a target in each group is needed too, and every router of the groups
//! that the router is wired to. A packet that reaches its waypoint goes on by any port.

use topology::views::Groups;
use units::{NodeId, RouterId};

use super::candidates::DirectPaths;
use super::detours::{GroupDetours, Waypoints};
use crate::algorithms::detours::{Detours, Memory, Phase};
use crate::{Representative, RouteState};

/// Collector of the packets at one router.
pub(super) struct Representatives<'a> {
    paths: &'a DirectPaths,
    at: RouterId,
    /// Targets that represent all over the next two hops from the router.
    two_hops: Vec<RouterId>,
    packets: Vec<Representative>,
}

impl<'a> Representatives<'a> {
    pub fn new(paths: &'a DirectPaths, at: RouterId) -> Self {
        let mut collected = Self { paths, at, two_hops: Vec::new(), packets: Vec::new() };
        collected.two_hops = collected.two_hops();
        collected
    }

    /// Returns the listed packets. Few are listed twice.
    pub fn packets(self) -> Vec<Representative> {
        self.packets
    }

    /// Lists packets on the direct path that have crossed `global` global channels. With `in_last_group`, they are in
    /// the destination's group.
    pub fn direct(&mut self, local: u8, global: u8, in_last_group: bool) {
        let state = Memory::new(Phase::Direct, 0, (local, global)).state();
        let mates = if in_last_group { self.mates(self.at) } else { Vec::new() };
        let targets = if in_last_group { &mates } else { &self.two_hops };
        let nodes = self.topology().size().p;
        self.packets.extend(targets.iter().map(|target| Representative::new(NodeId(target.0 * nodes), state)));
    }

    /// Lists the packets of Valiant routing: on direct paths, on their way to a waypoint, and behind it.
    pub fn valiant(&mut self, detours: &GroupDetours) {
        let classes = self.paths.classes;
        self.direct(0, 0, false);
        self.direct(classes.behind_first, 1, true);
        self.direct(classes.behind_second - 1, 1, false);
        self.direct(classes.behind_second, 2, true);
        match detours.rule.waypoints {
            Waypoints::Groups => self.by_groups(detours),
            Waypoints::Routers => self.by_routers(detours),
        }
    }

    /// Lists the packets on their way to a group.
    fn by_groups(&mut self, detours: &GroupDetours) {
        for waypoint in self.other_groups() {
            let state = detours.with_waypoint(waypoint).state();
            self.list(self.at, state);
            let mut entries = self.across(self.at);
            entries.retain(|&entry| self.group(entry) == waypoint);
            for entry in entries {
                for target in self.next_hops(entry) {
                    self.list(target, state);
                }
            }
        }
    }

    /// Lists the packets on their way to a router.
    fn by_routers(&mut self, detours: &GroupDetours) {
        for number in 0..self.two_hops.len() {
            let waypoint = self.two_hops[number];
            self.list(self.at, detours.with_waypoint(waypoint.0).state());
        }
        for waypoint in self.next_hops(self.at) {
            let before = detours.with_waypoint(waypoint.0);
            let behind = before.across(self.paths.classes.behind_first);
            for target in self.next_hops(waypoint) {
                self.list(target, before.state());
                if self.group(waypoint) == self.group(self.at) {
                    self.list(target, behind.state());
                }
            }
        }
    }

    /// Lists the packets of progressive routing that are on the direct path and may turn to any waypoint at the next
    /// router.
    ///
    /// The next router is in the same group. So both hops depend on the destination's group only, unless that is this
    /// group. For each destination there is a packet that is at its waypoint at the next router; for each next router,
    /// one that turns to each waypoint there.
    pub fn undecided(&mut self, detours: &GroupDetours) {
        let decided = |waypoint| Memory::new(Phase::Decided, waypoint, (0, 0)).state();
        let mut covered: Vec<RouterId> = Vec::new();
        let mut targets = self.mates(self.at);
        targets.extend(self.other_groups().map(|group| self.topology().router(group, 0)));
        for target in targets {
            for next in self.undecided_next(target) {
                let (arrived, others) = match detours.rule.waypoints {
                    Waypoints::Groups => (self.group(next), self.other_groups().collect()),
                    Waypoints::Routers => (next.0, self.next_hops(next).into_iter().map(|router| router.0).collect()),
                };
                let others: Vec<u32> = if covered.contains(&next) { Vec::new() } else { others };
                covered.push(next);
                for waypoint in others.into_iter().chain([arrived]) {
                    let dst = NodeId(target.0 * self.topology().size().p);
                    self.packets.push(Representative { dst, state: decided(waypoint), next: Some(next) });
                }
            }
        }
    }

    /// Returns the routers of this group that a packet on the direct path to a router comes to next and may turn at.
    fn undecided_next(&self, target: RouterId) -> Vec<RouterId> {
        let route = self.paths.to_router(self.at, target, &mut Memory::default());
        let next = route.ports(&self.paths.lists).map(|port| self.paths.next(self.at, port));
        // (At its destination's router a packet has nothing left to decide.)
        let mut next: Vec<RouterId> =
            next.filter(|&next| next != target && self.group(next) == self.group(self.at)).collect();
        next.sort_unstable();
        next.dedup();
        next
    }

    fn list(&mut self, target: RouterId, state: RouteState) {
        self.packets.push(Representative::new(NodeId(target.0 * self.topology().size().p), state));
    }

    fn topology(&self) -> &'a Groups {
        &self.paths.topology
    }

    fn group(&self, router: RouterId) -> u32 {
        self.topology().place(router).0
    }

    fn other_groups(&self) -> impl Iterator<Item = u32> + use<> {
        let own = self.group(self.at);
        (0..self.topology().size().g).filter(move |&group| group != own)
    }

    /// Returns the other routers of a router's group.
    fn mates(&self, router: RouterId) -> Vec<RouterId> {
        let (group, number) = self.topology().place(router);
        let others = (0..self.topology().size().a).filter(|&other| other != number);
        others.map(|other| self.topology().router(group, other)).collect()
    }

    /// Returns the routers at the other ends of a router's global channels.
    fn across(&self, router: RouterId) -> Vec<RouterId> {
        let ports = 0..self.topology().size().h;
        ports.filter_map(|port| self.topology().across(router, port)).map(|(far, _)| far).collect()
    }

    /// Returns targets that represent all over the next hop from a router: at least one for each port.
    fn next_hops(&self, router: RouterId) -> Vec<RouterId> {
        let mut targets = self.mates(router);
        targets.extend(self.across(router));
        targets
    }

    /// Returns targets that represent all over the next two hops.
    fn two_hops(&self) -> Vec<RouterId> {
        let mut targets = self.mates(self.at);
        targets.extend(self.other_groups().map(|group| self.topology().router(group, 0)));
        for far in self.across(self.at) {
            targets.push(far);
            targets.extend(self.mates(far));
        }
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}
