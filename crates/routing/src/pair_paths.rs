//! Channels of the packets between two nodes, pair by pair: for searches that add and remove single flows, while
//! `channel_loads` sums a whole traffic.
//!
//! Cost: for each destination one walk over the (router, state) pairs that its packets can reach, then for each source
//! one pass over the pairs that its own packets reach, in topological order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use topology::Topology;
use units::{ChannelId, NodeId};

use crate::Routing;
use crate::walk::{Aim, Move, RoutingContractError, Walk, Wiring};

/// Channels in ascending order, each with the share of a flow that takes it.
pub type Shares = [(ChannelId, f64)];

/// Paths of a topology under a routing. Candidates share a flow evenly, as in `channel_loads`.
pub struct PairPaths<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    wiring: Wiring,
}

impl<'a> PairPaths<'a> {
    /// Creates the paths of a topology under a routing.
    pub fn new(topology: &'a dyn Topology, routing: &'a dyn Routing) -> Self {
        Self { topology, routing, wiring: Wiring::new(topology) }
    }

    /// Returns a follower of packets with separate arrays: one for each thread.
    pub fn follower(&self) -> PathFollower<'_> {
        PathFollower {
            paths: self,
            walk: Walk::new(&self.wiring, self.routing),
            starts: Vec::new(),
            order: Vec::new(),
            pending: Vec::new(),
            rank: Vec::new(),
            flow: Vec::new(),
            next: BinaryHeap::new(),
            row: Vec::new(),
        }
    }
}

/// Follower of packets from several sources to one destination at a time.
pub struct PathFollower<'a> {
    paths: &'a PairPaths<'a>,
    walk: Walk<'a>,
    /// Starts of packets: the source, the stop and the share of the source's packets.
    starts: Vec<(usize, u32, f64)>,
    /// Stops in topological order.
    order: Vec<u32>,
    pending: Vec<u32>,
    /// By stop, its position in this order.
    rank: Vec<u32>,
    /// By stop, the flow that has come to it.
    flow: Vec<f64>,
    /// Stops with flow, by rank.
    next: BinaryHeap<Reverse<(u32, u32)>>,
    row: Vec<(ChannelId, f64)>,
}

impl PathFollower<'_> {
    /// Calls `call` with each source (by its index) and the channels between routers that its packets for the
    /// destination take.
    ///
    /// # Errors
    /// If the routing breaks its contract.
    pub fn follow(
        &mut self,
        sources: &[NodeId],
        dst: NodeId,
        call: &mut dyn FnMut(usize, &Shares),
    ) -> Result<(), RoutingContractError> {
        self.walk.begin(Aim::Node(dst));
        self.starts.clear();
        for (source, &node) in sources.iter().enumerate() {
            let (router, port) = self.paths.topology.attachment(node);
            for (state, share) in self.paths.routing.initial_distribution(node, dst) {
                let stop = self.walk.enter(router, port, state);
                self.starts.push((source, stop, share));
            }
        }
        self.walk.explore()?;
        self.sort()?;
        let mut first = 0;
        for source in 0..sources.len() {
            let end = first + self.starts[first..].iter().take_while(|start| start.0 == source).count();
            self.spread(first..end);
            call(source, &self.row);
            first = end;
        }
        Ok(())
    }

    /// Ranks all stops in topological order.
    fn sort(&mut self) -> Result<(), RoutingContractError> {
        self.walk.sort(&mut self.order, &mut self.pending)?;
        self.rank.resize(self.order.len(), 0);
        (0..).zip(&self.order).for_each(|(rank, &stop)| self.rank[stop as usize] = rank);
        self.flow.clear();
        self.flow.resize(self.order.len(), 0.0);
        Ok(())
    }

    /// Moves the packets of one source on to their destination, each stop once, when all flows to it have come.
    fn spread(&mut self, starts: std::ops::Range<usize>) {
        self.row.clear();
        for at in starts {
            let (_, stop, share) = self.starts[at];
            self.arrive(stop, share);
        }
        while let Some(Reverse((_, stop))) = self.next.pop() {
            let here = std::mem::take(&mut self.flow[stop as usize]);
            for at in 0..self.walk.moves(stop as usize).len() {
                let step = self.walk.moves(stop as usize)[at];
                if step.to != Move::DELIVERED && step.share > 0.0 {
                    self.row.push((step.channel, here * step.share));
                    self.arrive(step.to, here * step.share);
                }
            }
        }
        // Packets in different states may take one channel.
        self.row.sort_by_key(|&(channel, _)| channel);
        self.row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }

    fn arrive(&mut self, stop: u32, share: f64) {
        if self.flow[stop as usize] == 0.0 {
            self.next.push(Reverse((self.rank[stop as usize], stop)));
        }
        self.flow[stop as usize] += share;
    }
}
