//! Worst permutation: the one that loads a channel most (Towles and Dally, "Worst-case traffic for oblivious routing
//! functions", SPAA 2002).
//!
//! Each node sends all its packets to one other node, and receives packets of one. The load of a channel is then the
//! sum, over all pairs of the permutation, of the share of the pair's flow that crosses the channel. Its largest value
//! is the weight of a maximum-weight matching between sources and destinations, and the worst permutation is the worst
//! of the matchings of all channels. It is also the worst of all traffics in which no node sends or receives more than
//! its injection link carries, since permutations are the corners of that set (Birkhoff).
//!
//! Nodes that the routing treats alike are one side of a transportation problem with their number as amount. One
//! channel of each orbit of `Routing::symmetry` is searched. Channels are searched in the order of an upper bound
//! ([`survey`]), until the bound of the next is below the best.
//!
//! Nodes that the matching of the worst channel leaves free are matched by the next worst channels in turn, as far as
//! all shares fit in memory, and else in order. Loads of other channels can only approach that of the worst.
//!
//! An adaptive routing is followed with an even spread, as in `channel_loads`.
//!
//! A permutation of some nodes only has them as sources and destinations. The channels of an orbit then differ, so that
//! all channels are searched.

mod columns;
mod pairs;
mod survey;
mod transportation;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use topology::Topology;
use units::{ChannelId, NodeId, RouterId};

use crate::islands::Island;
use crate::loads::{RelativeCapacity, Report, Targets};
use crate::walk::{RoutingContractError, Sources, Wiring};
use crate::{Routing, Symmetry};
use columns::{Columns, OUT};
use pairs::{Flows, Matching, Pairs};
use survey::{Classes, Survey};
use transportation::{Cell, UNIT, units};

/// Largest number of shares that are held at a time: 256 MiB.
const HELD: u64 = 1 << 24;

/// Largest number of shares of all channels for which all nodes are matched by channels.
const SPREAD: u64 = 1 << 23;

/// Largest number of shares of all channels that are searched: 32 passes over all flows.
const SEARCHED: u64 = 1 << 29;

/// Pieces into which the destinations are divided.
const PIECES: usize = 16;

/// Largest relative difference of loads that count as equal.
const EQUAL: f64 = 1e-9;

/// Part of the progress of the first pass over all flows.
const SURVEY: f64 = 0.25;

/// Parts of the progress after the search for the worst channel, and after the second pass over all flows.
const FOUND: f64 = 0.8;
const COLLECTED: f64 = 0.9;

/// Permutation of the nodes that loads a channel most.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstPermutation {
    /// By node, the node to which it sends. A node that names itself does not send, as all nodes that are left out.
    pub to: Vec<NodeId>,
    /// Channel that is loaded most, relative to its bandwidth. In the first plane, if there are several. `None` if no
    /// packets leave their router.
    pub channel: Option<ChannelId>,
    /// Load of that channel at offered load 1, in units of an injection link's bandwidth.
    pub load: f64,
    /// Whether routers take ports in turn. Shares of flows are then means over time: turns can follow a permutation and
    /// send other shares over the channel.
    pub takes_turns: bool,
}

/// Reason why no worst permutation is found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorstPermutationError {
    /// The routing breaks its contract, or the search was ended.
    #[error(transparent)]
    Contract(#[from] RoutingContractError),
    /// Flows take too many paths.
    #[error(
        "{shares} shares of flows cross channels, and at most {SEARCHED} are searched: take fewer nodes, or a routing with \
         fewer paths between two nodes"
    )]
    TooLarge {
        /// Number of pairs of a channel and of a flow that crosses the channel.
        shares: u64,
    },
}

/// Returns the permutation of some nodes that loads a channel most, relative to its bandwidth. `None`: of all nodes.
///
/// # Errors
/// If the routing breaks its contract, if its flows take too many paths, or if the callback ends the search.
pub fn worst_permutation(
    topology: &dyn Topology,
    routing: &dyn Routing,
    nodes: Option<&[NodeId]>,
    capacity: &RelativeCapacity<'_>,
    report: &Report<'_>,
) -> Result<WorstPermutation, WorstPermutationError> {
    // Planes of a network are equal, and a permutation of a plane's nodes is one of the whole.
    match Island::first(topology, routing).first() {
        Some(first) => Search::new((first.topology, first.routing), nodes, report).find(capacity),
        None => Search::new((topology, routing), nodes, report).find(capacity),
    }
}

/// Channel that stands for all channels of its orbit.
#[derive(Clone, Copy)]
struct Representative {
    /// Router that the channel leaves.
    router: RouterId,
    channel: ChannelId,
    /// Number of channels in the orbit.
    copies: u64,
}

/// What a survey of all flows tells of a channel.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    channel: ChannelId,
    /// Number of flows that cross it, between groups of nodes, by the piece of the destinations.
    by_piece: [u32; PIECES],
    /// Their sum.
    shares: u64,
    /// Number of channels that it represents.
    copies: u64,
    /// Upper bound on its load, divided by its bandwidth.
    bound: f64,
}

struct Search<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    wiring: Wiring,
    sources: Sources,
    targets: Targets,
    nodes: u32,
    /// Whether no node is left out.
    is_whole: bool,
    report: &'a Report<'a>,
    takes_turns: AtomicBool,
}

impl<'a> Search<'a> {
    fn new(
        (topology, routing): (&'a dyn Topology, &'a dyn Routing),
        nodes: Option<&[NodeId]>,
        report: &'a Report<'a>,
    ) -> Self {
        Self {
            topology,
            routing,
            wiring: Wiring::new(topology),
            sources: Sources::of(topology, routing, nodes),
            targets: Targets::new(topology, routing, nodes),
            nodes: topology.nodes(),
            is_whole: nodes.is_none(),
            report,
            takes_turns: AtomicBool::new(false),
        }
    }

    fn find(&self, capacity: &RelativeCapacity<'_>) -> Result<WorstPermutation, WorstPermutationError> {
        let candidates = self.survey(capacity)?;
        let shares: u64 = candidates.iter().map(|candidate| candidate.shares).sum();
        if shares > SEARCHED {
            return Err(WorstPermutationError::TooLarge { shares });
        }
        let mut pairs = Pairs::new(self);
        let Some(worst) = self.search(&candidates, capacity, &pairs)? else {
            return Ok(WorstPermutation { to: pairs.in_order(), channel: None, load: 0.0, takes_turns: false });
        };
        pairs.add(&worst.flows);
        let all: u64 = candidates.iter().map(|candidate| candidate.shares * candidate.copies).sum();
        if all <= SPREAD {
            self.spread(&mut pairs, capacity)?;
        }
        self.go_on(1.0)?;
        let takes_turns = self.takes_turns.load(Ordering::Relaxed);
        Ok(WorstPermutation { to: pairs.in_order(), channel: Some(worst.channel), load: worst.load, takes_turns })
    }

    /// Returns the channels to search, those with the highest bounds first.
    fn survey(&self, capacity: &RelativeCapacity<'_>) -> Result<Vec<Candidate>, RoutingContractError> {
        let chosen = self.representatives();
        let places = self.places(chosen.iter().map(|own| own.channel));
        let ends: Vec<(RouterId, ChannelId)> = chosen.iter().map(|own| (own.router, own.channel)).collect();
        let classes = Classes::new(self.topology, (&self.wiring, &ends), (&self.sources, &self.targets));
        let make = |_| Survey::new(&self.targets.counts, classes.as_ref(), chosen.len());
        let found = self.follow(&places, (0.0, SURVEY), &make)?;
        let bounds = classes.as_ref().map(|classes| classes.bounds(&self.sources.counts()));
        let candidate = |(place, &Representative { channel, copies, .. }): (usize, &Representative)| {
            let by_piece = std::array::from_fn(|piece| found[piece].shares[place]);
            let sum = found.iter().map(|piece| piece.sums[place]).sum::<u64>() as f64 / UNIT;
            let bound = bounds.as_ref().map_or(sum, |bounds| bounds[place].min(sum)) / capacity(channel);
            Candidate {
                channel,
                by_piece,
                shares: by_piece.iter().map(|&shares| u64::from(shares)).sum(),
                copies,
                bound,
            }
        };
        let mut candidates: Vec<Candidate> = chosen.iter().enumerate().map(candidate).collect();
        candidates.retain(|candidate| candidate.shares > 0);
        candidates.sort_by(|one, other| other.bound.total_cmp(&one.bound).then(one.channel.cmp(&other.channel)));
        Ok(candidates)
    }

    /// Returns one channel of each orbit. Without symmetry, returns all.
    fn representatives(&self) -> Vec<Representative> {
        let of = |router, channel, copies| Representative { router, channel, copies };
        let Some(Symmetry { orbit, .. }) = self.routing.symmetry().filter(|_| self.is_whole) else {
            return self.wiring.between_routers().map(|(router, _, channel)| of(router, channel, 1)).collect();
        };
        let mut orbits: Vec<Option<Representative>> = Vec::new();
        for (router, port, channel) in self.wiring.between_routers() {
            let number = orbit(router, port) as usize;
            orbits.resize(orbits.len().max(number + 1), None);
            orbits[number].get_or_insert(of(router, channel, 0)).copies += 1;
        }
        orbits.into_iter().flatten().collect()
    }

    /// Searches the channels in order. Returns the matching that loads its channel most.
    fn search(
        &self,
        candidates: &[Candidate],
        capacity: &RelativeCapacity<'_>,
        pairs: &Pairs,
    ) -> Result<Option<Matching>, RoutingContractError> {
        let (mut best, mut rest) = (None::<Matching>, candidates);
        let part = |left: usize| SURVEY + (FOUND - SURVEY) * (1.0 - left as f64 / candidates.len() as f64);
        while !rest.is_empty() {
            let mut held = 0;
            let fits = rest.iter().take_while(|candidate| {
                held += candidate.shares;
                held <= HELD
            });
            let (block, later) = rest.split_at(fits.count().max(1));
            let channels: Vec<ChannelId> = block.iter().map(|candidate| candidate.channel).collect();
            let known = |piece: usize, place: usize| block[place].by_piece[piece] as usize;
            let cells = self.collect(&channels, &known, (part(rest.len()), part(rest.len() - block.len() / 2)))?;
            for (at, candidate) in block.iter().enumerate() {
                let bar = best.as_ref().map_or(0.0, |best| best.utilisation * (1.0 + EQUAL));
                if candidate.bound <= bar {
                    return Ok(best);
                }
                let done = part(later.len() + (block.len() - at).div_ceil(2));
                let goes_on = || (self.report)(done);
                let found = pairs.matching((candidate.channel, &cells.of(at)), capacity, bar, &goes_on);
                best = found.or(best);
                self.go_on(done)?;
            }
            rest = later;
        }
        Ok(best)
    }

    /// Matches the nodes that are left, each time by the channel that they can load most, as long as a channel is loaded
    /// above its bandwidth.
    fn spread(&self, pairs: &mut Pairs, capacity: &RelativeCapacity<'_>) -> Result<(), RoutingContractError> {
        let channels: Vec<ChannelId> = self.wiring.between_routers().map(|(.., channel)| channel).collect();
        let cells = self.collect(&channels, &|_, _| 0, (FOUND, COLLECTED))?;
        // A channel's largest load only falls as nodes are matched: the load of an earlier round is an upper bound, and a
        // channel is the worst if it stays on top with the load of this round.
        let mut heap: BinaryHeap<(u64, u32, Reverse<usize>)> =
            (0..channels.len()).map(|place| (u64::MAX, 0, Reverse(place))).collect();
        let mut flows: Vec<Flows> = vec![Flows::new(); channels.len()];
        let mut round = 1;
        while let Some((_, seen, Reverse(place))) = heap.pop() {
            if seen == round {
                pairs.add(&flows[place]);
                round += 1;
            }
            let done = COLLECTED + (1.0 - COLLECTED) * pairs.matched();
            let goes_on = || (self.report)(done);
            let found = pairs.matching((channels[place], &cells.of(place)), capacity, 1.0 + EQUAL, &goes_on);
            self.go_on(done)?;
            if let Some(found) = found {
                heap.push(((found.utilisation * UNIT) as u64, round, Reverse(place)));
                flows[place] = found.flows;
            }
        }
        Ok(())
    }

    /// Returns the shares of all flows that cross each of some channels. `known` is their number, by piece and place, as
    /// far as it is known.
    fn collect(
        &self,
        channels: &[ChannelId],
        known: &(dyn Fn(usize, usize) -> usize + Sync),
        span: (f64, f64),
    ) -> Result<Collection, RoutingContractError> {
        let places = self.places(channels.iter().copied());
        let make = |piece| Piece((0..channels.len()).map(|place| Vec::with_capacity(known(piece, place))).collect());
        Ok(Collection(self.follow(&places, span, &make)?))
    }

    /// Returns, by channel, its place in a list.
    fn places(&self, channels: impl Iterator<Item = ChannelId>) -> Vec<u32> {
        let mut places = vec![OUT; self.wiring.channels.count() as usize];
        (0..).zip(channels).for_each(|(place, channel)| places[channel.index()] = place);
        places
    }

    /// Follows the packets for all destinations, in fixed pieces, each with a visitor made by `make` from the piece's
    /// number. Reports progress from one part to another.
    fn follow<V: Visitor>(
        &self,
        places: &[u32],
        (from, until): (f64, f64),
        make: &(dyn Fn(usize) -> V + Sync),
    ) -> Result<Vec<V>, RoutingContractError> {
        let (all, done) = (self.targets.nodes.len(), AtomicUsize::new(0));
        let length = all.div_ceil(PIECES).max(1);
        let piece = |piece: usize| {
            let mut visitor = make(piece);
            let mut columns = Columns::new(&self.wiring, self.routing, &self.sources, places);
            for target in (piece * length..all).take(length) {
                columns.follow(self.targets.nodes[target], &mut |group, row| visitor.row(target, group, row))?;
                visitor.end(target);
                let part = (done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64;
                self.go_on(from + part * (until - from))?;
            }
            self.takes_turns.fetch_or(columns.takes_turns(), Ordering::Relaxed);
            Ok(visitor)
        };
        workers::map(0..PIECES, piece).into_iter().collect()
    }

    fn go_on(&self, part: f64) -> Result<(), RoutingContractError> {
        if (self.report)(part) { Ok(()) } else { Err(RoutingContractError::Stopped) }
    }
}

/// Receiver of the shares of flows that cross channels.
trait Visitor: Send {
    /// Receives the shares of the flow from a group of sources to a target, by the places of channels.
    fn row(&mut self, target: usize, group: usize, row: &[(u32, f64)]);
    /// Ends a target.
    fn end(&mut self, _target: usize) {}
}

/// Shares of the flows to one piece of the destinations, by the places of channels.
struct Piece(Vec<Vec<Cell>>);

impl Visitor for Piece {
    fn row(&mut self, target: usize, group: usize, row: &[(u32, f64)]) {
        for &(place, share) in row {
            self.0[place as usize].push(Cell { from: group as u32, to: target as u32, share: units(share) });
        }
    }
}

/// Shares of all flows, by piece of the destinations.
struct Collection(Vec<Piece>);

impl Collection {
    /// Returns the shares of flows that cross the channel at a place.
    fn of(&self, place: usize) -> Vec<Cell> {
        self.0.iter().flat_map(|piece| &piece.0[place]).copied().collect()
    }
}
