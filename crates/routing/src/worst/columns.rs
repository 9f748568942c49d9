//! Shares of all flows to one destination that cross each channel.
//!
//! The share of the packets at a stop that cross a channel later is the mean over the next hops: each stop is visited
//! once, in reverse topological order, for the flows from all sources together.

use units::{ChannelId, NodeId};

use crate::Routing;
use crate::walk::{Aim, Move, RoutingContractError, Sources, Walk, Wiring};

/// Channel that is left out.
pub(super) const OUT: u32 = u32::MAX;

/// Receiver of the shares of a group's packets that cross channels, by the places of the channels.
pub(super) type Receive<'a> = dyn FnMut(usize, &[(u32, f64)]) + 'a;

/// Follower of all packets for a destination, with reusable arrays: one for each thread.
pub(super) struct Columns<'a> {
    walk: Walk<'a>,
    routing: &'a dyn Routing,
    sources: &'a Sources,
    /// By channel, its place in the list of channels that count, or `OUT`.
    places: &'a [u32],
    /// Starts of packets: the group of sources, the stop and the share of the group's packets.
    starts: Vec<(usize, u32, f64)>,
    order: Vec<u32>,
    pending: Vec<u32>,
    /// By stop, its part of `later`.
    parts: Vec<(u32, u32)>,
    /// Shares that cross a channel later, for one stop after the other.
    later: Vec<(u32, f64)>,
    /// Sum by channel, and the channels whose sum is not 0.
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl<'a> Columns<'a> {
    /// Creates a follower. `count` is the number of channels that count.
    pub fn new(wiring: &'a Wiring, routing: &'a dyn Routing, sources: &'a Sources, places: &'a [u32]) -> Self {
        let count = places.iter().filter(|&&place| place != OUT).count();
        Self {
            walk: Walk::new(wiring, routing),
            routing,
            sources,
            places,
            starts: Vec::new(),
            order: Vec::new(),
            pending: Vec::new(),
            parts: Vec::new(),
            later: Vec::new(),
            sums: vec![0.0; count],
            touched: Vec::new(),
        }
    }

    /// Returns whether some packets took ports in turn.
    pub fn takes_turns(&self) -> bool {
        self.walk.takes_turns
    }

    /// Calls `call` with each group of sources and the shares of its packets for a destination that cross channels.
    ///
    /// # Errors
    /// If the routing breaks its contract.
    pub fn follow(&mut self, dst: NodeId, call: &mut Receive<'_>) -> Result<(), RoutingContractError> {
        self.walk.begin(Aim::Node(dst));
        self.starts.clear();
        for (group, &(src, router, port)) in self.sources.groups.iter().enumerate() {
            for (state, share) in self.routing.initial_distribution(src, dst) {
                let stop = self.walk.enter(router, port, state);
                self.starts.push((group, stop, share));
            }
        }
        self.walk.explore()?;
        self.walk.sort(&mut self.order, &mut self.pending)?;
        self.parts.clear();
        self.parts.resize(self.order.len(), (0, 0));
        self.later.clear();
        for at in (0..self.order.len()).rev() {
            self.look_ahead(self.order[at] as usize);
        }
        let mut first = 0;
        let mut row = Vec::new();
        while let Some(&(group, ..)) = self.starts.get(first) {
            let end = first + self.starts[first..].iter().take_while(|start| start.0 == group).count();
            for at in first..end {
                let (_, stop, share) = self.starts[at];
                self.add(stop, share);
            }
            row.clear();
            row.extend(self.touched.drain(..).map(|place| (place, std::mem::take(&mut self.sums[place as usize]))));
            call(group, &row);
            first = end;
        }
        Ok(())
    }

    /// Sums what packets at a stop cross later. All later stops are known.
    fn look_ahead(&mut self, stop: usize) {
        for at in 0..self.walk.moves(stop).len() {
            let Move { channel, to, share, .. } = self.walk.moves(stop)[at];
            if to == Move::DELIVERED || share == 0.0 {
                continue;
            }
            let place = self.place(channel);
            if place != OUT {
                self.count(place, share);
            }
            self.add(to, share);
        }
        let first = self.later.len() as u32;
        for place in self.touched.drain(..) {
            self.later.push((place, std::mem::take(&mut self.sums[place as usize])));
        }
        self.parts[stop] = (first, self.later.len() as u32);
    }

    fn place(&self, channel: ChannelId) -> u32 {
        self.places[channel.index()]
    }

    /// Adds a part of what packets at a stop cross later.
    fn add(&mut self, stop: u32, part: f64) {
        let (first, end) = self.parts[stop as usize];
        for at in first..end {
            let (place, share) = self.later[at as usize];
            self.count(place, part * share);
        }
    }

    fn count(&mut self, place: u32, share: f64) {
        let sum = &mut self.sums[place as usize];
        if *sum == 0.0 {
            self.touched.push(place);
        }
        *sum += share;
    }
}
