//! Dependency graph of channels, as rows of bits to which many threads add.

use std::sync::atomic::{AtomicU64, Ordering};

use topology::Endpoint;
use units::cycle::find_cycle;
use units::{ChannelId, PortId, RouterId, VcClass};

use crate::walk::{Move, RoutingContractError, Walk, Wiring};

/// Graph with a vertex for each class of each channel, channel by channel. Each vertex has a row of bits over the ports
/// and classes of the router at the channel's end.
///
/// Bits are only ever set, so that the graph does not depend on the order in which threads set them.
pub(super) struct DependencyGraph<'a> {
    pub wiring: &'a Wiring,
    pub classes: usize,
    /// Number of vertices. 0 if no router is wired to a router: rows would then be long (a single switch) and never
    /// read.
    pub vertices: usize,
    /// Words in a row.
    pub words: usize,
    pub rows: BitRows,
    /// Callback that says whether to stop before the check is done.
    stops: &'a Stops<'a>,
}

/// Callback that any thread calls regularly. Returns whether to stop.
pub type Stops<'a> = dyn Fn() -> bool + Sync + 'a;

/// Callback of a check that is never stopped.
pub(super) const NEVER: &Stops<'static> = &|| false;

/// Rows of bits that threads may set concurrently.
pub(super) struct BitRows {
    words: usize,
    bits: Vec<AtomicU64>,
}

impl BitRows {
    pub fn new(rows: usize, words: usize) -> Self {
        Self { words, bits: std::iter::repeat_with(AtomicU64::default).take(rows * words).collect() }
    }

    /// Grows to `rows` rows. New ones are empty.
    pub fn grow(&mut self, rows: usize) {
        self.bits.resize_with(rows * self.words, AtomicU64::default);
    }

    /// Sets the bits of a mask in a row.
    pub fn merge(&self, row: usize, mask: &[u64]) {
        for (word, &more) in self.bits[row * self.words..(row + 1) * self.words].iter().zip(mask) {
            // Most bits are set many times: a read leaves the cache line with the other threads.
            if more & !word.load(Ordering::Relaxed) != 0 {
                word.fetch_or(more, Ordering::Relaxed);
            }
        }
    }

    /// Sets one bit of a row.
    pub fn set(&self, row: usize, bit: usize) {
        let word = &self.bits[row * self.words + bit / 64];
        if word.load(Ordering::Relaxed) & (1 << (bit % 64)) == 0 {
            word.fetch_or(1 << (bit % 64), Ordering::Relaxed);
        }
    }

    /// Iterates over the words of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = u64> {
        self.bits[row * self.words..(row + 1) * self.words].iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Iterates over the numbers of the set bits of a row, in ascending order.
    pub fn set_in(&self, row: usize) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.row(row)).flat_map(|(base, word)| set_bits(word).map(move |bit| base + bit))
    }
}

/// Iterates over the numbers of the set bits of a word, in ascending order.
pub(super) fn set_bits(word: u64) -> impl Iterator<Item = usize> {
    let left = std::iter::successors(Some(word), |&left| Some(left & left.wrapping_sub(1)));
    left.take_while(|&left| left != 0).map(|left| left.trailing_zeros() as usize)
}

impl<'a> DependencyGraph<'a> {
    /// Creates the graph without edges, for `classes` classes of virtual channels.
    pub fn new(wiring: &'a Wiring, classes: u8) -> Self {
        let classes = usize::from(classes);
        let most_ports = wiring.ports.iter().copied().max().unwrap_or(0);
        let words = (usize::from(most_ports) * classes).div_ceil(64);
        let channels = wiring.channels.ports();
        let is_link = |channel| matches!(wiring.end(ChannelId(channel)), Endpoint::Router(..));
        let vertices = if (0..channels).any(is_link) { channels as usize * classes } else { 0 };
        Self { wiring, classes, vertices, words, rows: BitRows::new(vertices, words), stops: NEVER }
    }

    /// Sets the callback that stops the check.
    pub fn stopped_by(self, stops: &'a Stops<'a>) -> Self {
        Self { stops, ..self }
    }

    /// Returns an error if the check is to stop.
    pub fn check_stopped(&self) -> Result<(), RoutingContractError> {
        if (self.stops)() { Err(RoutingContractError::Stopped) } else { Ok(()) }
    }

    /// Returns the vertex of a channel's class.
    pub fn vertex(&self, channel: ChannelId, vc_class: VcClass) -> usize {
        channel.index() * self.classes + usize::from(vc_class.0)
    }

    /// Returns the bit of the class of a channel that leaves a router, in the rows of the channels that lead to the
    /// router.
    pub fn bit(&self, router: RouterId, channel: ChannelId, vc_class: VcClass) -> usize {
        self.vertex(channel, vc_class) - self.first_vertex(router)
    }

    /// Returns the first vertex of the channels that leave a router.
    fn first_vertex(&self, router: RouterId) -> usize {
        self.wiring.channels.output(router, PortId(0)).index() * self.classes
    }

    /// Iterates over the moves of a walk over channels that packets wait for, and at whose end they may wait again.
    ///
    /// A channel that no packet waits for (an adaptive one) lies on no cycle, whatever its packets wait for.
    pub fn held<'w>(walk: &'w Walk<'_>) -> impl Iterator<Item = &'w Move> {
        walk.all_moves().iter().filter(|step| step.waited && step.to != Move::DELIVERED)
    }

    /// Computes, by stop of a walk, the moves that packets wait for there, as concatenated rows of bits.
    pub fn wanted(&self, walk: &Walk<'_>, masks: &mut Vec<u64>) {
        masks.clear();
        masks.resize(walk.stops.len() * self.words, 0);
        for (stop, mask) in masks.chunks_exact_mut(self.words).enumerate() {
            for step in walk.moves(stop).iter().filter(|step| step.waited) {
                let bit = self.bit(walk.stops[stop].router, step.channel, step.vc_class);
                mask[bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// Adds the dependencies of a walk: packets that come to a stop may wait for every move from it. `masks` are the
    /// rows of `wanted`.
    pub fn add(&self, walk: &Walk<'_>, masks: &[u64]) {
        for step in Self::held(walk) {
            let mask = &masks[step.to as usize * self.words..][..self.words];
            self.rows.merge(self.vertex(step.channel, step.vc_class), mask);
        }
    }

    /// Iterates over the vertices that a vertex may wait for.
    pub fn successors(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let base = match self.wiring.end(ChannelId((vertex / self.classes) as u32)) {
            Endpoint::Router(router, _) => self.first_vertex(router),
            Endpoint::Node(_) | Endpoint::Unconnected => 0,
        };
        self.rows.set_in(vertex).map(move |bit| base + bit)
    }

    /// Returns a cycle of channels and their classes, each of which waits for the next, if there is one.
    pub fn cycle(&self) -> Option<Vec<(ChannelId, VcClass)>> {
        let cycle = find_cycle(self.vertices, |vertex| self.successors(vertex))?;
        let held = |vertex| (ChannelId((vertex / self.classes) as u32), VcClass((vertex % self.classes) as u8));
        Some(cycle.into_iter().map(held).collect())
    }
}
