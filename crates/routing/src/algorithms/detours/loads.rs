//! Exact channel loads of detours by way of random routers.
//!
//! Let t(s, d) be the traffic between two of N routers with nodes, and w a waypoint, each of N - 2 equally likely. The
//! traffic from s to w is the sum of t(s, d) over all d but w, divided by N - 2; that from w to d is the sum of t(s, d)
//! over all s but w, divided by N - 2. Both legs take direct paths, so that the loads are those of one direct traffic:
//! between x and y, (sent by x + received by y - 2 t(x, y)) / (N - 2). If only e of the two ends are excluded as
//! waypoints it is (sent by x + received by y - e t(x, y)) / (N - e): from an end that is its own waypoint, a packet
//! goes directly.

use units::RouterId;

use super::paths::{DirectPaths, NO_PATH};
use crate::algorithms::dragonfly::Rule;

/// Traffic between routers: by source, the destinations in ascending order with the amounts.
type Rows = [Vec<(RouterId, f64)>];

/// Number of blocks of targets, whose sums are added in order, so that the result does not depend on the number of
/// threads.
const BLOCKS: usize = 16;

/// Largest number of flows that a block holds at a time: 64 MiB.
const FLOWS: usize = 1 << 23;

/// Returns the loads of a traffic, by output channel: on direct paths or, if there is a `rule`, by way of waypoints.
pub(super) fn output_loads(paths: &DirectPaths, rows: &Rows, rule: Option<Rule>) -> Vec<f64> {
    let ends = rule.map(|rule| Ends::new(paths, rows, rule));
    let targets: Vec<u32> = (0..paths.targets()).collect();
    let blocks: Vec<&[u32]> = targets.chunks(targets.len().div_ceil(BLOCKS).max(1)).collect();
    let loads = workers::map(0..blocks.len(), |number| {
        let mut gathered = Gathered::new(paths);
        for some in blocks[number].chunks((FLOWS / rows.len().max(1)).max(1)) {
            let table = columns(paths, rows, some);
            for (&target, flows) in some.iter().zip(table.chunks_exact(rows.len())) {
                gathered.flows.copy_from_slice(flows);
                if let Some(ends) = &ends {
                    ends.detour(paths, target, &mut gathered.flows);
                }
                gathered.carry(target);
            }
        }
        gathered.load
    });
    let mut sum = vec![0.0; paths.wiring.channels.ports() as usize];
    for load in loads {
        sum.iter_mut().zip(&load).for_each(|(sum, more)| *sum += more);
    }
    sum
}

/// Returns the flows to some consecutive targets: for each target, by router of the source.
fn columns(paths: &DirectPaths, rows: &Rows, targets: &[u32]) -> Vec<f64> {
    let mut column = vec![usize::MAX; rows.len()];
    targets.iter().enumerate().for_each(|(number, &target)| column[paths.router(target).index()] = number);
    let mut table = vec![0.0; targets.len() * rows.len()];
    for (from, row) in rows.iter().enumerate() {
        for &(to, flow) in row.iter().filter(|(to, _)| column[to.index()] != usize::MAX) {
            table[column[to.index()] * rows.len() + from] = flow;
        }
    }
    table
}

/// Sums of the traffic of each router with others.
struct Ends {
    sent: Vec<f64>,
    received: Vec<f64>,
    /// Number of waypoints of a packet.
    waypoints: f64,
    /// Number of ends of a packet's path that cannot be its waypoint.
    excluded: f64,
}

impl Ends {
    fn new(paths: &DirectPaths, rows: &Rows, rule: Rule) -> Self {
        let (mut sent, mut received) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for (from, row) in rows.iter().enumerate() {
            for &(to, flow) in row.iter().filter(|(to, _)| to.index() != from) {
                sent[from] += flow;
                received[to.index()] += flow;
            }
        }
        let excluded = f64::from(rule.exclusions());
        Self { sent, received, waypoints: f64::from(paths.targets()) - excluded, excluded }
    }

    /// Turns the flows to a target into those on direct paths to it if all packets have waypoints.
    fn detour(&self, paths: &DirectPaths, target: u32, flows: &mut [f64]) {
        let to = paths.router(target).index();
        for from in (0..paths.targets()).map(|source| paths.router(source).index()).filter(|&from| from != to) {
            let ends = self.sent[from] + self.received[to];
            // Rounding could leave a little less than nothing.
            flows[from] = ((ends - self.excluded * flows[from]) / self.waypoints).max(0.0);
        }
    }
}

/// Flows to one target, gathered router by router.
struct Gathered<'a> {
    paths: &'a DirectPaths,
    /// By router, the flow that is there.
    flows: Vec<f64>,
    /// Routers by their distance from the target.
    by_length: Vec<Vec<RouterId>>,
    load: Vec<f64>,
}

impl<'a> Gathered<'a> {
    fn new(paths: &'a DirectPaths) -> Self {
        let routers = paths.wiring.ports.len();
        let load = vec![0.0; paths.wiring.channels.ports() as usize];
        Self { paths, flows: vec![0.0; routers], by_length: Vec::new(), load }
    }

    /// Carries all flows to a target, from the farthest routers on.
    fn carry(&mut self, target: u32) {
        let paths = self.paths;
        self.by_length.iter_mut().for_each(Vec::clear);
        for router in (0..self.flows.len() as u32).map(RouterId) {
            let length = paths.length(router, target);
            if length != NO_PATH && length > 0 {
                let length = length as usize;
                if self.by_length.len() <= length {
                    self.by_length.resize(length + 1, Vec::new());
                }
                self.by_length[length].push(router);
            }
        }
        for &router in self.by_length.iter().rev().flatten() {
            let flow = std::mem::take(&mut self.flows[router.index()]);
            if flow <= 0.0 {
                continue;
            }
            let route = paths.toward(router, target);
            let part = flow / f64::from(route.count);
            for port in route.ports(paths.port_lists()) {
                self.load[paths.wiring.channels.output(router, port).index()] += part;
                if let Some(next) = paths.next(router, port) {
                    self.flows[next.index()] += part;
                }
            }
        }
    }
}
