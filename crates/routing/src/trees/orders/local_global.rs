//! Dragonflies: toward the root through the local group to one global wire, over it, and through the root's group; from
//! it by the reverse paths. Toward the root there are two classes on local channels (in groups that paths leave, and in
//! the root's) and one on global ones, as in `minimal` routing.
//!
//! All paths of a tree that leave a group leave it by one wire. A tree has the smallest depth of trees with such paths.
//! With several wires between two groups, or if two global wires make a shorter path than one, that is not always the
//! smallest depth of all trees.

use topology::views::Groups;
use topology::{ChannelClass, Endpoint, Topology};
use units::{PortId, RouterId};

use super::{Order, TreeRule, Way};
use crate::algorithms::tables::UNREACHED;
use crate::trees::load::TreeLoad;
use crate::trees::tree::Step;

/// Paths over at most one global channel.
#[derive(Debug)]
pub(in crate::trees) struct LocalGlobal(pub Groups);

/// Global wire out of a group: the router and its global port, and the router that it leads to.
#[derive(Clone, Copy, Debug)]
struct Wire {
    from: RouterId,
    port: PortId,
    to: RouterId,
}

impl LocalGlobal {
    /// Iterates over the global wires out of a group that are not taken.
    fn wires(&self, load: &TreeLoad, group: u32) -> impl Iterator<Item = Wire> {
        let size = self.0.size();
        let ports = (0..size.a).flat_map(move |number| (0..size.h).map(move |port| (number, port)));
        ports.filter_map(move |(number, port)| {
            let from = self.0.router(group, number);
            let (to, _) = self.0.across(from, port)?;
            let port = self.0.global_port(port);
            (!load.is_taken(from, port)).then_some(Wire { from, port, to })
        })
    }

    /// Returns the step from a router to another of its group.
    fn local_step(&self, load: &TreeLoad, at: RouterId, to: RouterId) -> Option<(RouterId, PortId)> {
        let ((_, here), (_, there)) = (self.0.place(at), self.0.place(to));
        let port = self.0.local_port(self.0.group().toward(here, there)?);
        match self.0.endpoint(at, port) {
            Endpoint::Router(next, _) if !load.is_taken(at, port) => Some((next, port)),
            _ => None,
        }
    }

    /// Returns the number of channels from a router to another of its group.
    fn local_hops(&self, load: &TreeLoad, from: RouterId, to: RouterId) -> u32 {
        let (mut at, mut hops) = (from, 0);
        while at != to {
            let Some((next, _)) = self.local_step(load, at, to) else { return UNREACHED };
            (at, hops) = (next, hops + 1);
        }
        hops
    }

    /// Returns the wire by which paths from some routers of a group to a root leave the group: the one that gives the
    /// farthest router the fewest channels, with their number.
    fn gate(&self, load: &TreeLoad, root: RouterId, some: &[RouterId], rule: TreeRule) -> Option<(u32, Wire)> {
        let group = self.0.place(*some.first()?).0;
        let to_root = self.wires(load, group).filter(|wire| self.0.place(wire.to).0 == self.0.place(root).0);
        let cost = |wire: Wire| {
            let behind = self.local_hops(load, wire.to, root);
            let before = some.iter().map(|&from| self.local_hops(load, from, wire.from)).max();
            let loaded = if rule == TreeRule::Load { load.over(wire.from, wire.port) } else { 0 };
            (before.unwrap_or(0).saturating_add(1).saturating_add(behind), loaded, wire.from, wire.port, wire)
        };
        let best = to_root.map(cost).filter(|cost| cost.0 != UNREACHED);
        best.min_by_key(|cost| (cost.0, cost.1, cost.2, cost.3)).map(|cost| (cost.0, cost.4))
    }

    /// Iterates over routers group by group.
    fn by_group<'s>(&self, switches: &'s [RouterId]) -> impl Iterator<Item = &'s [RouterId]> {
        switches.chunk_by(move |one, other| self.0.place(*one).0 == self.0.place(*other).0)
    }
}

impl Order for LocalGlobal {
    fn levels_on(&self, class: ChannelClass) -> u8 {
        match class {
            Groups::LOCAL => 2,
            Groups::GLOBAL => 1,
            _ => 0,
        }
    }

    fn reach(&self, load: &TreeLoad, from: RouterId) -> Vec<u32> {
        let (home, _) = self.0.place(from);
        let mut entries: Vec<Vec<(RouterId, u32)>> = vec![Vec::new(); self.0.size().g as usize];
        for wire in self.wires(load, home) {
            let hops = self.local_hops(load, from, wire.from).saturating_add(1);
            entries[self.0.place(wire.to).0 as usize].push((wire.to, hops));
        }
        let hops = |root: RouterId| match self.0.place(root).0 {
            group if group == home => self.local_hops(load, from, root),
            group => {
                let by_entry = entries[group as usize].iter();
                by_entry
                    .map(|&(to, hops)| hops.saturating_add(self.local_hops(load, to, root)))
                    .min()
                    .unwrap_or(UNREACHED)
            }
        };
        (0..self.0.routers()).map(|root| hops(RouterId(root))).collect()
    }

    fn depth(&self, load: &TreeLoad, root: RouterId, switches: &[RouterId], _bound: u32) -> u32 {
        let home = self.0.place(root).0;
        let of_group = |some: &[RouterId]| {
            if self.0.place(some[0]).0 == home {
                return some.iter().map(|&from| self.local_hops(load, from, root)).max().unwrap_or(0);
            }
            self.gate(load, root, some, TreeRule::Size).map_or(UNREACHED, |(hops, _)| hops)
        };
        self.by_group(switches).map(of_group).max().unwrap_or(0)
    }

    fn way(&self, load: &TreeLoad, root: RouterId, switches: &[RouterId], rule: TreeRule) -> Way {
        let size = self.0.size();
        let home = self.0.place(root).0;
        let mut hops = vec![UNREACHED; self.0.routers() as usize];
        let mut gates = vec![None; size.g as usize];
        (0..size.a).map(|number| self.0.router(home, number)).for_each(|from| {
            hops[from.index()] = self.local_hops(load, from, root);
        });
        for some in self.by_group(switches) {
            let group = self.0.place(some[0]).0;
            if group == home {
                continue;
            }
            let Some((_, wire)) = self.gate(load, root, some, rule) else { continue };
            gates[group as usize] = Some((wire.from, wire.port));
            let behind = hops[wire.to.index()].saturating_add(1);
            for from in (0..size.a).map(|number| self.0.router(group, number)) {
                hops[from.index()] = self.local_hops(load, from, wire.from).saturating_add(behind);
            }
        }
        Way { root, hops, gates }
    }

    fn steps(&self, load: &TreeLoad, way: &Way, at: RouterId) -> Vec<(RouterId, Step)> {
        let (group, _) = self.0.place(at);
        if group == self.0.place(way.root).0 {
            let step = self.local_step(load, at, way.root);
            return step.map(|(next, port)| (next, Step { router: at, port, level: 1 })).into_iter().collect();
        }
        let Some((gate, port)) = way.gates[group as usize] else { return Vec::new() };
        if at != gate {
            let step = self.local_step(load, at, gate);
            return step.map(|(next, port)| (next, Step { router: at, port, level: 0 })).into_iter().collect();
        }
        match self.0.endpoint(at, port) {
            Endpoint::Router(next, _) => vec![(next, Step { router: at, port, level: 0 })],
            Endpoint::Node(_) | Endpoint::Unconnected => Vec::new(),
        }
    }
}
