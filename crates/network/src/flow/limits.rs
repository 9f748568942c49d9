//! Limits of flows beyond their paths: buses that several channels of a node share, and windows of pacers.
//!
//! Each limit is a channel with a capacity, which the flows that cross it share equally.

use std::collections::BTreeMap;

use ::traffic::pacers::PacerSpec;
use host::BusParams;
use units::{NodeId, PlaneId};

use super::paths::PathSet;
use super::rates::{PathPart, Rates};

/// Buses of nodes that both directions or all rails share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buses {
    /// First channel of the buses, and their number.
    first: u32,
    count: u32,
    planes: u32,
    is_shared: bool,
    of_node: bool,
    /// Capacity, in bytes per picosecond.
    capacity: f64,
}

impl Buses {
    /// Adds the buses of all nodes, if directions or rails share them. Packets have `packet` bytes.
    pub fn add(bus: &BusParams, (nodes, planes): (u32, u32), packet: u32, rates: &mut Rates) -> Self {
        let of_node = bus.of_node && planes > 1;
        if bus.is_free() || !bus.shared && !of_node {
            return Self::default();
        }
        let count = nodes * if of_node { 1 } else { planes } * if bus.shared { 1 } else { 2 };
        let capacity = f64::from(packet) / (bus.per_byte.time(packet.into()) + bus.per_packet).max(1) as f64;
        let all: Vec<u32> = (0..count).map(|_| rates.add_limit(capacity)).collect();
        Self { first: all.first().copied().unwrap_or(0), count, planes, is_shared: bus.shared, of_node, capacity }
    }

    /// Lets a flow cross the bus of a source, to its interface or from it.
    pub fn cross(&self, (node, plane): (NodeId, PlaneId), arrives: bool, paths: &mut PathSet) {
        if self.count == 0 {
            return;
        }
        let rail = if self.of_node { node.0 } else { node.0 * self.planes + u32::from(plane.0) };
        let place = if self.is_shared { rail } else { 2 * rail + u32::from(arrives) };
        let part = if arrives { PathPart::Network } else { PathPart::Node };
        paths.limits.push((self.first + place, part, 1.0));
        paths.bound = paths.bound.min(self.capacity);
    }
}

/// Pair of nodes whose messages share the window of a job's pacer: the job, the source and the destination.
pub(super) type Pair = (usize, u32, u32);

/// Windows of pacers.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// By job, the size of a window in bytes. None without a pacer.
    sizes: Vec<Option<u64>>,
    /// Windows in use, with the number of their messages.
    used: BTreeMap<Pair, (u32, u32)>,
    free: Vec<u32>,
}

impl Windows {
    pub fn new<'a>(pacers: impl Iterator<Item = &'a PacerSpec>) -> Self {
        let size = |pacer: &PacerSpec| match pacer {
            PacerSpec::None {} => None,
            PacerSpec::Window(own) => Some(own.window.0),
        };
        Self { sizes: pacers.map(size).collect(), ..Self::default() }
    }

    /// Returns the size of the windows of a job.
    pub fn size(&self, job: usize) -> Option<u64> {
        self.sizes.get(job).copied().flatten()
    }

    /// Lets a message cross the window of a pair: `bytes` bytes in each round trip, in picoseconds.
    pub fn cross(&mut self, pair: Pair, (bytes, round_trip): (u64, u64), paths: &mut PathSet, rates: &mut Rates) {
        let capacity = bytes as f64 / round_trip.max(1) as f64;
        let (channel, messages) = self.used.entry(pair).or_insert_with(|| {
            let channel = self.free.pop().unwrap_or_else(|| rates.add_limit(capacity));
            (channel, 0)
        });
        *messages += 1;
        rates.channels[*channel as usize].limits.capacity = capacity;
        paths.limits.push((*channel, PathPart::Node, 1.0));
        paths.bound = paths.bound.min(capacity);
    }

    /// Counts the end of a message of a pair on the channel of its node.
    pub fn leave(&mut self, pair: Pair) {
        if let Some((channel, messages)) = self.used.get_mut(&pair) {
            *messages -= 1;
            if *messages == 0 {
                self.free.push(*channel);
                self.used.remove(&pair);
            }
        }
    }
}
