//! Exact channel loads of dragonflies, router by router.
//!
//! The draw of a waypoint depends on the groups of source and destination only. So the flows from a router to a
//! waypoint, and from the entry of a waypoint to a router, are sums over groups, not over single packets (Prisacari et
//! al., section III: "for a given traffic matrix, the bottlenecks ... can be computed exactly"). Each leg is then a
//! direct traffic between routers.

use topology::{Channels, Topology};
use units::RouterId;

use super::candidates::DirectPaths;
use super::detours::{GroupDetours, Waypoints};
use crate::algorithms::detours::{Excluded, Memory};

/// Traffic between routers: by source, destinations and amounts.
type Rows = [Vec<(RouterId, f64)>];

/// Returns the loads of a direct traffic, by channel.
pub(super) fn direct(paths: &DirectPaths, rows: &Rows) -> Vec<f64> {
    let flows = |from: usize, visit: &mut dyn FnMut(RouterId, f64)| {
        for &(to, flow) in &rows[from] {
            visit(to, flow);
        }
    };
    spread(paths, &flows)
}

/// Direct flows of a router to others.
type Flows<'a> = dyn Fn(usize, &mut dyn FnMut(RouterId, f64)) + Sync + 'a;

/// Sums direct flows. Sources are taken in fixed blocks whose sums are added in order, so that the result does not
/// depend on the number of threads.
fn spread(paths: &DirectPaths, flows: &Flows<'_>) -> Vec<f64> {
    const BLOCKS: usize = 16;
    let routers = paths.topology.routers() as usize;
    let channels = Channels::new(&paths.topology);
    let block = routers.div_ceil(BLOCKS).max(1);
    let loads = workers::map(0..routers.div_ceil(block), |number| {
        let mut load = vec![0.0; channels.ports() as usize];
        for from in number * block..routers.min((number + 1) * block) {
            flows(from, &mut |to, flow| {
                if flow > 0.0 {
                    let leg = Leg { at: RouterId(from as u32), to, memory: Memory::default(), flow };
                    go(paths, &channels, &mut load, leg);
                }
            });
        }
        load
    });
    let mut sum = vec![0.0; channels.ports() as usize];
    for load in loads {
        add(&mut sum, &load);
    }
    sum
}

fn add(sum: &mut [f64], more: &[f64]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Flow on its direct path.
#[derive(Clone, Copy)]
struct Leg {
    at: RouterId,
    to: RouterId,
    memory: Memory,
    flow: f64,
}

/// Follows a flow to its end.
fn go(paths: &DirectPaths, channels: &Channels, load: &mut [f64], mut leg: Leg) {
    while leg.at != leg.to {
        let route = paths.to_router(leg.at, leg.to, &mut leg.memory);
        leg.flow /= f64::from(route.count);
        for port in route.ports(&paths.lists).skip(1) {
            load[channels.output(leg.at, port).index()] += leg.flow;
            go(paths, channels, load, Leg { at: paths.next(leg.at, port), ..leg });
        }
        let port = route.port(0, &paths.lists);
        load[channels.output(leg.at, port).index()] += leg.flow;
        leg.at = paths.next(leg.at, port);
    }
}

/// Returns the loads of a traffic that goes by way of waypoints, by channel.
pub(super) fn by_waypoints(detours: &GroupDetours, rows: &Rows) -> Vec<f64> {
    let parted = Parted::new(detours, rows);
    let paths = &detours.paths;
    let mut load = direct(paths, &parted.direct);
    add(&mut load, &parted.to_waypoints());
    add(&mut load, &parted.behind_waypoints());
    load
}

/// Traffic, divided into direct traffic and traffic by waypoints.
struct Parted<'a> {
    detours: &'a GroupDetours,
    direct: Vec<Vec<(RouterId, f64)>>,
    detoured: Vec<Vec<(RouterId, f64)>>,
    groups: usize,
    /// Traffic sent by waypoints, by router of the source and group of the destination.
    by_target: Vec<f64>,
    /// Traffic sent by waypoints, by group of the source and router of the destination.
    by_source: Vec<f64>,
}

impl<'a> Parted<'a> {
    fn new(detours: &'a GroupDetours, rows: &Rows) -> Self {
        let topology = &detours.paths.topology;
        let (groups, routers) = (topology.size().g as usize, topology.routers() as usize);
        let group = |router: RouterId| topology.place(router).0;
        let goes_round =
            |from: RouterId, to: RouterId| detours.rule.excluded(groups as u32, group(from), group(to)).is_some();
        let mut parted = Self {
            detours,
            direct: vec![Vec::new(); routers],
            detoured: vec![Vec::new(); routers],
            groups,
            by_target: vec![0.0; routers * groups],
            by_source: vec![0.0; routers * groups],
        };
        for (from, row) in (0..).map(RouterId).zip(rows) {
            for &(to, flow) in row {
                // The nodes of one router reach one another without leaving it, or like all others of their group.
                if !goes_round(from, to) {
                    parted.direct[from.index()].push((to, flow));
                    continue;
                }
                parted.detoured[from.index()].push((to, flow));
                parted.by_target[from.index() * groups + group(to) as usize] += flow;
                parted.by_source[group(from) as usize * routers + to.index()] += flow;
            }
        }
        parted
    }

    fn excluded(&self, from: usize, to: usize) -> Option<Excluded> {
        self.detours.rule.excluded(self.groups as u32, from as u32, to as u32)
    }

    /// Returns the share of the packets between two groups that go by way of a third.
    fn share(&self, from: usize, by: usize, to: usize) -> f64 {
        match self.excluded(from, to) {
            Some(excluded) if !excluded.has(by as u32) => 1.0 / f64::from(self.groups as u32 - excluded.count()),
            _ => 0.0,
        }
    }

    /// Returns the traffic that a router sends by way of a group.
    fn sent_by(&self, from: usize, by: usize) -> f64 {
        let group = from / self.detours.paths.topology.size().a as usize;
        let row = &self.by_target[from * self.groups..(from + 1) * self.groups];
        row.iter().enumerate().filter(|&(_, &flow)| flow > 0.0).map(|(to, flow)| flow * self.share(group, by, to)).sum()
    }

    /// Returns the loads on the way to the waypoints.
    fn to_waypoints(&self) -> Vec<f64> {
        let paths = &self.detours.paths;
        let a = paths.topology.size().a;
        match self.detours.rule.waypoints {
            Waypoints::Routers => spread(paths, &|from, visit| {
                for by in 0..self.groups {
                    let flow = self.sent_by(from, by) / f64::from(a);
                    for number in 0..a {
                        visit(paths.topology.router(by as u32, number), flow);
                    }
                }
            }),
            Waypoints::Groups => {
                let channels = Channels::new(&paths.topology);
                let mut load = vec![0.0; channels.ports() as usize];
                for from in 0..paths.topology.routers() {
                    for by in 0..self.groups as u32 {
                        let flow = self.sent_by(from as usize, by as usize);
                        if flow > 0.0 {
                            let entry = &mut |channel: usize, part: f64| load[channel] += flow * part;
                            enter(paths, &channels, (RouterId(from), by), entry, &mut |_, _| {});
                        }
                    }
                }
                load
            }
        }
    }

    /// Returns the loads behind the waypoints.
    fn behind_waypoints(&self) -> Vec<f64> {
        let paths = &self.detours.paths;
        let (a, routers) = (paths.topology.size().a as usize, paths.topology.routers() as usize);
        match self.detours.rule.waypoints {
            Waypoints::Routers => {
                // All routers of a group are equally likely, so that one row for each group is enough.
                let rows = workers::map(0..self.groups, |by| self.received_by(by));
                spread(paths, &|waypoint, visit| {
                    for (to, flow) in rows[waypoint / a].iter().enumerate() {
                        visit(RouterId(to as u32), flow / a as f64);
                    }
                })
            }
            Waypoints::Groups => {
                let rows = self.entered();
                spread(paths, &|entry, visit| {
                    for (to, &flow) in rows[entry * routers..(entry + 1) * routers].iter().enumerate() {
                        visit(RouterId(to as u32), flow);
                    }
                })
            }
        }
    }

    /// Returns the traffic by way of a group, by router of its destination.
    fn received_by(&self, by: usize) -> Vec<f64> {
        let a = self.detours.paths.topology.size().a as usize;
        let routers = self.detours.paths.topology.routers() as usize;
        let mut row = vec![0.0; routers];
        for from in 0..self.groups {
            let source = &self.by_source[from * routers..(from + 1) * routers];
            for (to, (sum, &flow)) in row.iter_mut().zip(source).enumerate() {
                if flow > 0.0 {
                    *sum += flow * self.share(from, by, to / a);
                }
            }
        }
        row
    }

    /// Returns the traffic that enters its waypoint's group at each router, by router of its destination.
    fn entered(&self) -> Vec<f64> {
        let paths = &self.detours.paths;
        let (a, routers) = (paths.topology.size().a as usize, paths.topology.routers() as usize);
        let channels = Channels::new(&paths.topology);
        let mut rows = vec![0.0; routers * routers];
        for from in 0..routers {
            let row = &self.detoured[from];
            for by in 0..if row.is_empty() { 0 } else { self.groups } {
                let mut entries: Vec<(RouterId, f64)> = Vec::new();
                let at = (RouterId(from as u32), by as u32);
                enter(paths, &channels, at, &mut |_, _| {}, &mut |entry, part| entries.push((entry, part)));
                for &(to, flow) in row {
                    let flow = flow * self.share(from / a, by, to.index() / a);
                    for &(entry, part) in &entries {
                        rows[entry.index() * routers + to.index()] += flow * part;
                    }
                }
            }
        }
        rows
    }
}

/// Visits the paths from a router to another group: the channels, and the routers at which the group is entered, each
/// with the share of the packets.
fn enter(
    paths: &DirectPaths,
    channels: &Channels,
    (from, group): (RouterId, u32),
    channel: &mut dyn FnMut(usize, f64),
    entry: &mut dyn FnMut(RouterId, f64),
) {
    let mut open = vec![(from, Memory::default(), 1.0)];
    while let Some((at, mut memory, part)) = open.pop() {
        if paths.topology.place(at).0 == group {
            entry(at, part);
            continue;
        }
        let route = paths.to_group(at, group, &mut memory);
        let part = part / f64::from(route.count);
        for port in route.ports(&paths.lists) {
            channel(channels.output(at, port).index(), part);
            open.push((paths.next(at, port), memory, part));
        }
    }
}
