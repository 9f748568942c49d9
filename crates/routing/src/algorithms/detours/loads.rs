//! Exact channel loads of detours by way of random routers.
//!
//! Let t(s, d) be the traffic between two of N routers with nodes, and w a waypoint, each of N - 2 equally likely. The
//! traffic from s to w is the sum of t(s, d) over all d but w, divided by N - 2; that from w to d is the sum of t(s, d)
//! over all s but w, divided by N - 2. Both legs take direct paths, so that the loads are those of one direct traffic:
//! between x and y, (sent by x + received by y - 2 t(x, y)) / (N - 2).

use units::RouterId;

use super::paths::{DirectPaths, NO_PATH};

/// Traffic between routers with nodes.
pub(super) struct Rows<'a> {
    rows: &'a [Vec<(RouterId, f64)>],
    /// Sum of the traffic to other routers, by router.
    sent: Vec<f64>,
    /// Sum of the traffic from other routers, by router.
    received: Vec<f64>,
    /// Number of waypoints of a packet.
    waypoints: f64,
}

impl<'a> Rows<'a> {
    /// Sums the rows of a traffic: by source, the destinations in ascending order with the amounts.
    pub fn new(paths: &DirectPaths, rows: &'a [Vec<(RouterId, f64)>]) -> Self {
        let (mut sent, mut received) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for (from, row) in rows.iter().enumerate() {
            for &(to, flow) in row.iter().filter(|(to, _)| to.index() != from) {
                sent[from] += flow;
                received[to.index()] += flow;
            }
        }
        Self { rows, sent, received, waypoints: f64::from(paths.targets()) - 2.0 }
    }

    /// Returns the traffic between two routers.
    pub fn between(&self, from: RouterId, to: RouterId) -> f64 {
        let row = &self.rows[from.index()];
        row.binary_search_by_key(&to, |&(router, _)| router).map_or(0.0, |place| row[place].1)
    }

    /// Returns the traffic between two routers on direct paths, if all packets have waypoints.
    pub fn by_waypoints(&self, from: RouterId, to: RouterId) -> f64 {
        let ends = self.sent[from.index()] + self.received[to.index()];
        // Rounding could leave a little less than nothing.
        ((ends - 2.0 * self.between(from, to)) / self.waypoints).max(0.0)
    }
}

/// Number of blocks of targets, whose sums are added in order, so that the result does not depend on the number of
/// threads.
const BLOCKS: u32 = 16;

/// Returns the loads of a traffic on direct paths, by output channel.
pub(super) fn spread(paths: &DirectPaths, flow: impl Fn(RouterId, RouterId) -> f64 + Sync) -> Vec<f64> {
    let targets = paths.targets();
    let block = targets.div_ceil(BLOCKS).max(1);
    let loads = workers::map(0..targets.div_ceil(block), |number| {
        let mut gathered = Gathered::new(paths);
        for target in number * block..targets.min((number + 1) * block) {
            for source in (0..targets).filter(|&source| source != target) {
                let from = paths.router(source);
                gathered.flows[from.index()] = flow(from, paths.router(target));
            }
            gathered.carry(target);
        }
        gathered.load
    });
    let mut sum = vec![0.0; paths.wiring.channels.ports() as usize];
    for load in loads {
        sum.iter_mut().zip(&load).for_each(|(sum, more)| *sum += more);
    }
    sum
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
        self.flows[paths.router(target).index()] = 0.0;
    }
}
