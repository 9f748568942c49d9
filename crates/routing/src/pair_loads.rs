//! Channel loads of routings that fix the path of each flow (`Routing::fixed_by_flow`).
//!
//! Nothing can be shared between pairs of nodes. Cost: the path of each flow is followed once, nodes^2 x flows x hops.

use std::sync::atomic::{AtomicU32, Ordering};

use topology::{Endpoint, Topology};
use units::{NodeId, VcClass};

use crate::loads::{PIECES, Report};
use crate::walk::{RoutingContractError, Wiring};
use crate::{Demand, Demands, Hop, Routing};

/// Largest number of pairs of nodes whose demands are held at a time: 128 MiB.
const PAIRS: u32 = 1 << 23;

/// Returns the loads of channels between routers by following each pair of nodes. Sources are divided into fixed
/// pieces, whose loads are added in order, so that the result does not depend on the number of threads.
pub(crate) fn follow_pairs(
    topology: &dyn Topology,
    routing: &dyn Routing,
    demands: &Demands<'_>,
    report: &Report<'_>,
) -> Result<Vec<f64>, RoutingContractError> {
    let wiring = Wiring::new(topology);
    let pairs = Pairs { topology, routing, wiring: &wiring };
    let (nodes, done) = (topology.nodes(), AtomicU32::new(0));
    let goes_on = || report(f64::from(done.load(Ordering::Relaxed)) / f64::from(nodes));
    let mut load = vec![0.0; wiring.channels.count() as usize];
    let block = (PAIRS / nodes.max(1)).max(1);
    for first in (0..nodes).step_by(block as usize) {
        let sources = (first..nodes.min(first + block)).map(NodeId);
        let sent: Vec<(NodeId, Demand)> = sources.map(|node| (node, demands(node))).collect();
        let length = sent.len().div_ceil(PIECES).max(1);
        let follow = |piece: usize| {
            let mut load = vec![0.0; wiring.channels.count() as usize];
            for (src, demand) in sent.iter().skip(piece * length).take(length) {
                pairs.follow_source(*src, demand, (&mut load, &goes_on))?;
                let part = f64::from(done.fetch_add(1, Ordering::Relaxed) + 1) / f64::from(nodes);
                if !report(part) {
                    return Err(RoutingContractError::Stopped);
                }
            }
            Ok(load)
        };
        for found in workers::map(0..PIECES, follow) {
            load.iter_mut().zip(found?).for_each(|(sum, own)| *sum += own);
        }
    }
    Ok(load)
}

struct Pairs<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    wiring: &'a Wiring,
}

impl Pairs<'_> {
    /// Adds the traffic of a node to the loads. `goes_on` is asked before each destination, since a pair can have many
    /// flows.
    fn follow_source(
        &self,
        src: NodeId,
        demand: &Demand,
        (load, goes_on): (&mut [f64], &dyn Fn() -> bool),
    ) -> Result<(), RoutingContractError> {
        let everyone = if demand.everyone != 0.0 { self.topology.nodes() } else { 0 };
        let to_all = (0..everyone).map(|dst| (NodeId(dst), demand.everyone));
        for (dst, weight) in to_all.chain(demand.besides.iter().copied()) {
            if !goes_on() {
                return Err(RoutingContractError::Stopped);
            }
            self.follow(src, dst, weight, load)?;
        }
        Ok(())
    }

    /// Adds the traffic of a pair to the loads of the channels between routers.
    fn follow(&self, src: NodeId, dst: NodeId, weight: f64, load: &mut [f64]) -> Result<(), RoutingContractError> {
        let (start, in_port) = self.topology.attachment(src);
        for (state, share) in self.routing.initial_distribution(src, dst) {
            let (mut at, mut routers) = (start, 0);
            let mut hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
            loop {
                if routers >= self.routing.max_routers() {
                    let max_routers = self.routing.max_routers();
                    return Err(RoutingContractError::Wanders { dst, router: at, max_routers });
                }
                let route = self.routing.route(at, &mut hop);
                let port = route.port(0, self.routing.port_lists());
                let (channel, end) = self.wiring.output(dst, at, port)?;
                match end {
                    Endpoint::Router(next, in_port) => {
                        load[channel.index()] += weight * share;
                        (at, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
                        routers += 1;
                    }
                    Endpoint::Node(node) if node == dst => break,
                    Endpoint::Node(node) => return Err(RoutingContractError::Misdelivered { dst, node }),
                    Endpoint::Unconnected => return Err(RoutingContractError::DeadEnd { dst, router: at, port }),
                }
            }
        }
        Ok(())
    }
}
