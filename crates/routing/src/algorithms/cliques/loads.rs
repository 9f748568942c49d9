//! Exact channel loads of routings that close one dimension after the other.
//!
//! Let a packet go from s to t, and let b be its router when it comes to a dimension: t in the dimensions before, s in
//! the others. Directly, all packets with equal b and equal t up to this dimension share the channel from b to the
//! router x with t's coordinate. By way of a random router y of the line, drawn among the S - 1 other routers, they
//! share the channels from b to y and from y to x, each with a share of 1 / (S - 1).

use topology::views::{Cliques, Line};
use units::RouterId;

use crate::RouterTraffic;

/// Number of blocks of sources, whose sums are added in order, so that the result does not depend on the number of
/// threads.
const BLOCKS: usize = 16;

/// Way over a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// One hop.
    Direct,
    /// Two hops, by way of a random router.
    Derouted,
}

/// Returns the loads of a traffic, by output channel. `order` has the dimensions in the order of travel.
pub(super) fn output_loads(
    cliques: &Cliques,
    order: &[usize],
    crossing: Crossing,
    traffic: &RouterTraffic,
) -> Vec<f64> {
    let sources: Vec<u32> = (0..traffic.rows.len() as u32).collect();
    let blocks: Vec<&[u32]> = sources.chunks(sources.len().div_ceil(BLOCKS).max(1)).collect();
    let loads = workers::map(0..blocks.len(), |number| {
        let mut sent = Sent { cliques, crossing, load: vec![0.0; sources.len() * usize::from(cliques.ports())] };
        let mut flows = vec![0.0; sources.len()];
        for &source in blocks[number] {
            flows.fill(0.0);
            traffic.rows[source as usize].iter().for_each(|&(to, flow)| flows[to.index()] += flow);
            sent.send(RouterId(source), order, &mut flows);
        }
        sent.load
    });
    let mut sum = vec![0.0; sources.len() * usize::from(cliques.ports())];
    for load in loads {
        sum.iter_mut().zip(&load).for_each(|(sum, more)| *sum += more);
    }
    sum
}

/// Loads of channels, by router and port.
struct Sent<'a> {
    cliques: &'a Cliques,
    crossing: Crossing,
    load: Vec<f64>,
}

impl Sent<'_> {
    /// Sends the flows of a source, by destination. Takes the dimensions in reverse: packets whose destinations differ
    /// in later dimensions only are together up to these.
    fn send(&mut self, source: RouterId, order: &[usize], flows: &mut [f64]) {
        let mut ends: Vec<u32> = (0..flows.len() as u32).collect();
        for &dim in order.iter().rev() {
            let (line, own) = (self.cliques.lines()[dim], self.cliques.coordinate(source, dim));
            ends.retain(|&end| self.cliques.coordinate(RouterId(end), dim) == own);
            for &base in &ends {
                let all = self.cross(base, (line, own), flows);
                flows[base as usize] += all;
            }
        }
    }

    /// Sends the flows from a router to the others of a line, and returns their sum.
    fn cross(&mut self, base: u32, (line, own): (Line, u32), flows: &[f64]) -> f64 {
        let router = |place: u32| base - own * line.stride + place * line.stride;
        let others = || (0..line.size).filter(move |&place| place != own);
        let all: f64 = others().map(|place| flows[router(place) as usize]).sum();
        if all <= 0.0 {
            return 0.0;
        }
        let part = 1.0 / f64::from(line.size - 1);
        for to in others() {
            let flow = flows[router(to) as usize];
            if self.crossing == Crossing::Direct {
                self.add(base, (line, own, to), flow);
                continue;
            }
            self.add(base, (line, own, to), all * part);
            if flow > 0.0 {
                for by in others().filter(|&by| by != to) {
                    self.add(router(by), (line, by, to), flow * part);
                }
            }
        }
        all
    }

    /// Adds a flow between two routers of a line, which its wires share.
    fn add(&mut self, router: u32, (line, from, to): (Line, u32, u32), flow: f64) {
        let first = router as usize * usize::from(self.cliques.ports()) + usize::from(line.port_to(from, to).0);
        for load in &mut self.load[first..first + usize::from(line.wires)] {
            *load += flow / f64::from(line.wires);
        }
    }
}
