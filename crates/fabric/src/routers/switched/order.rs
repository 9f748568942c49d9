//! Policies by which each output picks independently: the head that comes first in an order that all outputs share.
//!
//! *WBA* (weight-based algorithm): the weight of a head is its time at the front, in times of the largest packet, less
//! its remaining copies. The heaviest head is picked. Both terms have equal weight, so that a head of a slotted switch
//! with N outputs and M inputs waits for at most N + M - 1 slots.
//!
//! *TATRA*: a head that comes to the front drops a block onto the column of each of its outputs, and departs when its
//! highest block does: columns sink as outputs serve their lowest blocks. Of heads that come at once, the one that will
//! depart first drops first, which concentrates the residue on the others. In every instant of a slotted switch some
//! head leaves completely, and no head waits for more slots than there are inputs. Model choice: an output that has no
//! room beyond it for its lowest block serves the next block that it has room for, so that classes of virtual channels
//! do not wait for one another.

use super::Switched;
use super::allocator::Place;
use super::multicast::RankedCandidate;
use super::runs::Runs;
use crate::catalogue::MulticastPolicy;
use crate::fabric::Fabric;
use crate::index::InputId;
use crate::routers::arbiter::Candidates;

/// Blocks of all heads of a partition (TATRA).
#[derive(Clone, Debug, Default)]
pub(super) struct Tetris {
    /// By (port, virtual channel), the sequence number at which the head has dropped its blocks. 0: not yet. Empty
    /// unless the policy is TATRA.
    dropped: Vec<u64>,
    /// By output, the number of blocks in its column. Empty unless the policy is TATRA.
    heights: Vec<u32>,
    drops: u64,
}
units::state!(Tetris { dropped, heights, drops });

impl Tetris {
    /// Creates the columns without blocks.
    pub fn new(fabric: &Fabric, is_used: bool) -> Self {
        let ports = if is_used { fabric.ports() } else { 0 };
        Self { dropped: vec![0; ports << fabric.plan.vc_shift], heights: vec![0; ports], drops: 0 }
    }

    /// Notes that a packet comes to the head of an input.
    pub fn comes_first(&mut self, input: InputId) {
        if let Some(dropped) = self.dropped.get_mut(input.index()) {
            *dropped = 0;
        }
    }

    /// Notes that a copy of the head of an input leaves by an output.
    pub fn leaves(&mut self, input: InputId, output: usize) {
        if self.dropped.get(input.index()).is_some_and(|&dropped| dropped > 0) {
            self.heights[output] -= 1;
        }
    }
}

impl Switched {
    /// Returns the first candidate, in the order of a policy, that could go to an output now. The router's arbitration
    /// breaks ties.
    pub(super) fn pick_by_order(
        &self,
        fabric: &mut Fabric,
        place: Place,
        heads: &Runs<'_>,
        policy: MulticastPolicy,
    ) -> Option<usize> {
        let mut best: Option<(u64, u64, usize)> = None;
        for candidate in self.requests.candidates(place.output) {
            if heads.ready(fabric, candidate).is_none() {
                continue;
            }
            let input = heads.first.plus(candidate);
            let rank = match policy {
                MulticastPolicy::Tatra => self.multicast.tetris.dropped[input.index()],
                _ => self.lightness(fabric, input),
            };
            let found = (rank, self.tie(fabric, (place.router, place.base), candidate), candidate);
            best = Some(best.map_or(found, |best| best.min(found)));
        }
        best.map(|(.., candidate)| candidate)
    }

    /// Returns a sort key that is smaller for a head with a larger weight: the time since which it requests, plus its
    /// remaining copies in times of the largest packet. The weight is the time from this key until now.
    pub(super) fn lightness(&self, fabric: &Fabric, input: InputId) -> u64 {
        let copies = fabric.run(self.fifos[input.index()].queue.head()).count() as u64;
        let port = input.port(self.vc_shift);
        let [came, leaves] = [fabric.inputs[port].class, fabric.outputs[fabric.base_of(port)].class]
            .map(|class| &fabric.classes[usize::from(class.0)]);
        self.multicast.since[input.index()] + copies * came.full.div_ceil(leaves.speedup.into())
    }

    /// Drops the blocks of new heads, in the order in which they will depart. The router's arbitration breaks ties.
    pub(super) fn drop_blocks(&mut self, fabric: &mut Fabric, (router, base): (usize, usize), active: &[u64]) {
        let first = InputId::new(base, 0, self.vc_shift);
        let mut order = std::mem::take(&mut self.multicast.matching.order);
        self.collect_candidates(base, active, &mut order);
        order.retain(|own| self.multicast.tetris.dropped[first.plus(own.candidate as usize).index()] == 0);
        for RankedCandidate { tie, candidate, .. } in &mut order {
            *tie = self.tie(fabric, (router, base), *candidate as usize);
        }
        while !order.is_empty() {
            for RankedCandidate { rank: departure, candidate, .. } in &mut order {
                *departure = self.departure(fabric, base, first.plus(*candidate as usize));
            }
            let Some(next) = (0..order.len()).min_by_key(|&index| order[index]) else { break };
            let input = first.plus(order.swap_remove(next).candidate as usize);
            let tetris = &mut self.multicast.tetris;
            tetris.drops += 1;
            tetris.dropped[input.index()] = tetris.drops;
            for packet in fabric.run(self.fifos[input.index()].queue.head()) {
                tetris.heights[base + usize::from(fabric.pool[packet].out)] += 1;
            }
        }
        self.multicast.matching.order = order;
    }

    /// Returns the height at which the highest block of the head of an input would lie.
    fn departure(&self, fabric: &Fabric, base: usize, input: InputId) -> u64 {
        let outs =
            fabric.run(self.fifos[input.index()].queue.head()).map(|packet| usize::from(fabric.pool[packet].out));
        u64::from(outs.map(|out| self.multicast.tetris.heights[base + out] + 1).max().unwrap_or(0))
    }
}
