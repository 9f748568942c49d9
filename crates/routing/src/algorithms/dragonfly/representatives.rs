//! Packets that stand for all others at a router of a dragonfly: see `Routing::representatives`.
//!
//! On the direct path a hop depends on the group of the destination, and in that group on its router. So for one hop it
//! is enough to have a target for each port; for two, also one in each group, and every router of the groups that the
//! router itself is wired to. A packet that reaches its waypoint goes on by any port.

use topology::families::dragonfly::Dragonfly;
use units::{NodeId, RouterId};

use super::candidates::Ways;
use super::detours::{Detours, Waypoints};
use super::memory::{Memory, Phase};
use crate::RouteState;

/// Collects the packets at one router.
pub(super) struct Representatives<'a> {
    ways: &'a Ways,
    at: RouterId,
    packets: Vec<(NodeId, RouteState)>,
}

impl<'a> Representatives<'a> {
    pub fn new(ways: &'a Ways, at: RouterId) -> Self {
        Self { ways, at, packets: Vec::new() }
    }

    /// Everything that has been listed.
    pub fn packets(mut self) -> Vec<(NodeId, RouteState)> {
        self.packets.sort_unstable();
        self.packets.dedup();
        self.packets
    }

    /// Lists packets on the direct path that have crossed `global` global channels; after the last, those that are in
    /// the destination's group.
    pub fn direct(&mut self, local: u8, global: u8, in_last_group: bool) {
        let state = Memory { waypoint: 0, phase: Phase::Direct, local, global }.state();
        let targets = if in_last_group { self.mates(self.at) } else { self.two_hops() };
        for target in targets {
            self.list(target, state);
        }
    }

    /// Lists the packets of Valiant routing: those on direct paths, those on their way to a waypoint, those behind it.
    pub fn valiant(&mut self, detours: &Detours) {
        let classes = self.ways.classes;
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
    fn by_groups(&mut self, detours: &Detours) {
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
    fn by_routers(&mut self, detours: &Detours) {
        for waypoint in self.two_hops() {
            self.list(self.at, detours.with_waypoint(waypoint.0).state());
        }
        for waypoint in self.next_hops(self.at) {
            let before = detours.with_waypoint(waypoint.0);
            let behind = Memory { local: self.ways.classes.behind_first, global: 1, ..before };
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
    /// The next router is in the same group, and so both hops depend on the destination's group only, unless that is this
    /// one.
    pub fn undecided(&mut self, detours: &Detours) {
        let decided = |waypoint| Memory { waypoint, phase: Phase::Decided, local: 0, global: 0 }.state();
        let mut through: Vec<(RouterId, RouterId)> = Vec::new();
        let mut targets = self.mates(self.at);
        targets.extend(self.other_groups().map(|group| self.topology().router(group, 0)));
        for target in targets {
            let mut memory = Memory::default();
            let route = self.ways.to_router(self.at, target, &mut memory);
            let next = route.ports(&self.ways.lists).map(|port| self.ways.next(self.at, port));
            // (At its destination's router a packet has nothing left to decide.)
            let undecided = |&next: &RouterId| next != target && self.group(next) == self.group(self.at);
            through.extend(next.filter(undecided).map(|next| (next, target)));
        }
        through.sort_unstable();
        for &(next, target) in &through {
            self.list(
                target,
                decided(match detours.rule.waypoints {
                    Waypoints::Groups => self.group(next),
                    Waypoints::Routers => next.0,
                }),
            );
        }
        through.dedup_by_key(|&mut (next, _)| next);
        for (next, target) in through {
            let waypoints: Vec<u32> = match detours.rule.waypoints {
                Waypoints::Groups => self.other_groups().collect(),
                Waypoints::Routers => self.next_hops(next).into_iter().map(|waypoint| waypoint.0).collect(),
            };
            for waypoint in waypoints {
                self.list(target, decided(waypoint));
            }
        }
    }

    fn list(&mut self, target: RouterId, state: RouteState) {
        self.packets.push((NodeId(target.0 * self.topology().size().p), state));
    }

    fn topology(&self) -> &'a Dragonfly {
        &self.ways.topology
    }

    fn group(&self, router: RouterId) -> u32 {
        self.topology().place(router).0
    }

    fn other_groups(&self) -> impl Iterator<Item = u32> + use<> {
        let own = self.group(self.at);
        (0..self.topology().size().g).filter(move |&group| group != own)
    }

    /// The other routers of a router's group.
    fn mates(&self, router: RouterId) -> Vec<RouterId> {
        let (group, number) = self.topology().place(router);
        let others = (0..self.topology().size().a).filter(|&other| other != number);
        others.map(|other| self.topology().router(group, other)).collect()
    }

    /// The routers at the other ends of a router's global channels.
    fn across(&self, router: RouterId) -> Vec<RouterId> {
        let ports = 0..self.topology().size().h;
        ports.filter_map(|port| self.topology().across(router, port)).map(|(far, _)| far).collect()
    }

    /// Targets that stand for all over the next hop from a router: one for each port at least.
    fn next_hops(&self, router: RouterId) -> Vec<RouterId> {
        let mut targets = self.mates(router);
        targets.extend(self.across(router));
        targets
    }

    /// Targets that stand for all over the next two hops.
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
