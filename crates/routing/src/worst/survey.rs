//! Survey of all flows: how many cross each channel, and an upper bound on the load of each channel.
//!
//! Two bounds are known after one pass. The first is the sum, over all destinations, of the largest share from any
//! source. The second is the transportation problem between classes of nodes instead of nodes: sources by the distance
//! from their router to the channel, destinations by the distance of their router from the end of the channel. The
//! supply of a class is the number of its nodes whose flows cross the channel, and the weight between two classes is
//! the largest share of a flow between them. It is exact where classes are nodes that look alike from the channel, as
//! on a HyperX. Any other classes would give a bound, too.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::{array, iter};

use topology::{Endpoint, Topology};
use units::{ChannelId, NodeId, RouterId};

use super::Visitor;
use super::transportation::{Cell, Transportation, UNIT, units};
use crate::loads::Targets;
use crate::walk::{Sources, Wiring};

/// Number of classes of sources, and of destinations: distances 0, 1, 2, and above.
const CLASSES: usize = 4;

/// Largest number of pairs of routers whose distances are held, of a byte each.
const PAIRS: usize = 1 << 25;

/// Largest number of pairs of a group of sources and a channel that are marked, of a bit each.
const MARKS: usize = 1 << 30;

/// Classes of nodes as seen from channels, and what flows between classes carry. All threads write to it: sums and
/// maxima do not depend on their order.
pub(super) struct Classes {
    /// By pair of routers, the class of their distance.
    classes: Vec<u8>,
    routers: usize,
    /// By place of a channel, the routers at its ends.
    ends: Vec<[u32; 2]>,
    /// Routers of groups of sources, and of targets.
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// By place, class of destinations and class of sources, the largest share in units of `UNIT`.
    largest: Vec<AtomicU64>,
    /// By group and place, a bit that tells whether a flow of the group crosses the channel.
    crosses: Vec<AtomicU64>,
    /// By place and class, the number of nodes whose flows cross the channel.
    demands: Vec<AtomicU32>,
}

impl Classes {
    /// Creates the classes of some channels. `None` if there are too many.
    pub fn new(
        topology: &dyn Topology,
        (wiring, channels): (&Wiring, &[(RouterId, ChannelId)]),
        (sources, targets): (&Sources, &Targets),
    ) -> Option<Self> {
        let (routers, groups) = (topology.routers() as usize, sources.groups.len());
        let words = channels.len().div_ceil(64);
        if routers.saturating_mul(routers) > PAIRS || groups.saturating_mul(words * 64) > MARKS {
            return None;
        }
        let distance = |from: usize, to: usize| topology.distance(RouterId(from as u32), RouterId(to as u32));
        let of_router =
            |from: usize| (0..routers).map(|to| distance(from, to).min(CLASSES as u32 - 1) as u8).collect::<Vec<u8>>();
        let end = |&(router, channel): &(RouterId, ChannelId)| match wiring.end(channel) {
            Endpoint::Router(next, _) => [router.0, next.0],
            Endpoint::Node(_) | Endpoint::Unconnected => [router.0; 2],
        };
        let zeros = |count: usize| iter::repeat_with(AtomicU64::default).take(count).collect::<Vec<_>>();
        Some(Self {
            classes: workers::map(0..routers, of_router).concat(),
            routers,
            ends: channels.iter().map(end).collect(),
            sources: sources.groups.iter().map(|&(_, router, _)| router.0).collect(),
            targets: targets.nodes.iter().map(|&node: &NodeId| topology.attachment(node).0.0).collect(),
            largest: zeros(channels.len() * CLASSES * CLASSES),
            crosses: zeros(groups * words),
            demands: iter::repeat_with(AtomicU32::default).take(channels.len() * CLASSES).collect(),
        })
    }

    fn class(&self, router: u32, other: u32) -> usize {
        usize::from(self.classes[router as usize * self.routers + other as usize])
    }

    fn words(&self) -> usize {
        self.ends.len().div_ceil(64)
    }

    /// Notes that a flow of a group crosses a channel. Returns the class of the group.
    fn note(&self, group: usize, place: u32) -> usize {
        let place = place as usize;
        let (word, bit) = (&self.crosses[group * self.words() + place / 64], 1 << (place % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        self.class(self.sources[group], self.ends[place][0])
    }

    /// Notes the largest shares, by class of the sources, of the flows to the nodes of a target that cross a channel.
    fn note_target(&self, (target, nodes): (usize, u32), place: u32, largest: &[u64; CLASSES]) {
        let class = self.class(self.targets[target], self.ends[place as usize][1]);
        let at = place as usize * CLASSES + class;
        self.demands[at].fetch_add(nodes, Ordering::Relaxed);
        for (known, &share) in self.largest[at * CLASSES..][..CLASSES].iter().zip(largest) {
            if known.load(Ordering::Relaxed) < share {
                known.fetch_max(share, Ordering::Relaxed);
            }
        }
    }

    /// Returns upper bounds on the loads of all channels, by place. `counts` has the nodes of each group of sources.
    pub fn bounds(&self, counts: &[u32]) -> Vec<f64> {
        let mut supplies = vec![[0; CLASSES]; self.ends.len()];
        for (group, words) in self.crosses.chunks(self.words().max(1)).enumerate() {
            for (place, supply) in supplies.iter_mut().enumerate() {
                if words[place / 64].load(Ordering::Relaxed) >> (place % 64) & 1 == 1 {
                    supply[self.class(self.sources[group], self.ends[place][0])] += counts[group];
                }
            }
        }
        let demand = |place: usize, class: usize| self.demands[place * CLASSES + class].load(Ordering::Relaxed);
        let bound = |(place, supplies): (usize, &[u32; CLASSES])| {
            let cell = |(from, to): (usize, usize)| {
                let share = self.largest[(place * CLASSES + to) * CLASSES + from].load(Ordering::Relaxed);
                Cell { from: from as u32, to: to as u32, share }
            };
            let pairs = (0..CLASSES).flat_map(|from| (0..CLASSES).map(move |to| (from, to)));
            let cells: Vec<Cell> = pairs.map(cell).filter(|cell| cell.share > 0).collect();
            let demands: [u32; CLASSES] = array::from_fn(|class| demand(place, class));
            let mut problem = Transportation::new(&cells, supplies, &demands);
            problem.solve(0, &|| true).unwrap_or(0) as f64 / UNIT
        };
        supplies.iter().enumerate().map(bound).collect()
    }
}

/// Number of flows across each channel, and bounds on the loads of permutations.
pub(super) struct Survey<'a> {
    /// By target, its number of nodes.
    counts: &'a [u32],
    classes: Option<&'a Classes>,
    /// By place, the number of flows.
    pub shares: Vec<u32>,
    /// By place, the sum of the largest shares to each destination, in units of `UNIT`.
    pub sums: Vec<u64>,
    /// By place, the largest shares of a flow to the current target, by class of sources.
    largest: Vec<[u64; CLASSES]>,
    /// Channels that are crossed by a flow to the current target.
    touched: Vec<u32>,
}

impl<'a> Survey<'a> {
    pub fn new(counts: &'a [u32], classes: Option<&'a Classes>, channels: usize) -> Self {
        let (shares, sums, largest) = (vec![0; channels], vec![0; channels], vec![[0; CLASSES]; channels]);
        Self { counts, classes, shares, sums, largest, touched: Vec::new() }
    }
}

impl Visitor for Survey<'_> {
    fn row(&mut self, _target: usize, group: usize, row: &[(u32, f64)]) {
        for &(place, share) in row {
            self.shares[place as usize] += 1;
            let class = self.classes.map_or(0, |classes| classes.note(group, place));
            let largest = &mut self.largest[place as usize];
            if *largest == [0; CLASSES] {
                self.touched.push(place);
            }
            // A share of less than a unit counts, too.
            largest[class] = largest[class].max(units(share).max(1));
        }
    }

    fn end(&mut self, target: usize) {
        let count = self.counts[target];
        for place in self.touched.drain(..) {
            let largest = std::mem::take(&mut self.largest[place as usize]);
            let most = largest.iter().copied().max().unwrap_or(0);
            self.sums[place as usize] += u64::from(count) * most;
            if let Some(classes) = self.classes {
                classes.note_target((target, count), place, &largest);
            }
        }
    }
}
