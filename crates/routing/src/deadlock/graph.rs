//! The graph of channels that wait for one another, as rows of bits that many threads add to.

use std::sync::atomic::{AtomicU64, Ordering};

use topology::Endpoint;
use units::cycle::find_cycle;
use units::{ChannelId, PortId, RouterId, VcClass};

use crate::walk::{Move, RoutingContractError, Walk, Wiring};

/// Channel classes as vertices, channel by channel; a row of bits for each, over the ports and classes of the router at
/// the channel's end.
///
/// Bits are only ever set, so that the graph does not depend on which thread sets them when.
pub(super) struct DependencyGraph<'a> {
    pub wiring: &'a Wiring,
    pub classes: usize,
    /// 0 if no router is wired to a router: then rows would be long (a single switch) and never read.
    pub vertices: usize,
    /// Words in a row.
    pub words: usize,
    pub rows: BitRows,
    /// Whether the check is to stop before it is done.
    stops: &'a Stops<'a>,
}

/// Asked now and then, by any thread: whether to stop.
pub type Stops<'a> = dyn Fn() -> bool + Sync + 'a;

/// A check that is never stopped.
pub(super) const NEVER: &Stops<'static> = &|| false;

/// Rows of bits that threads may set side by side.
pub(super) struct BitRows {
    words: usize,
    bits: Vec<AtomicU64>,
}

impl BitRows {
    pub fn new(rows: usize, words: usize) -> Self {
        Self { words, bits: std::iter::repeat_with(AtomicU64::default).take(rows * words).collect() }
    }

    /// As many rows as are asked for; new ones are empty.
    pub fn grow(&mut self, rows: usize) {
        self.bits.resize_with(rows * self.words, AtomicU64::default);
    }

    /// Sets the bits of a mask in a row.
    pub fn merge(&self, row: usize, mask: &[u64]) {
        for (word, &more) in self.bits[row * self.words..(row + 1) * self.words].iter().zip(mask) {
            // Most bits are set many times: reading leaves the line with the other threads.
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

    /// The words of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = u64> {
        self.bits[row * self.words..(row + 1) * self.words].iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// The numbers of the bits that are set in a row, in ascending order.
    pub fn set_in(&self, row: usize) -> impl Iterator<Item = usize> {
        (0..).step_by(64).zip(self.row(row)).flat_map(|(base, word)| set_bits(word).map(move |bit| base + bit))
    }
}

/// The numbers of the bits that are set, in ascending order.
pub(super) fn set_bits(word: u64) -> impl Iterator<Item = usize> {
    let left = std::iter::successors(Some(word), |&left| Some(left & left.wrapping_sub(1)));
    left.take_while(|&left| left != 0).map(|left| left.trailing_zeros() as usize)
}

impl<'a> DependencyGraph<'a> {
    /// The graph without edges, of so many classes of virtual channels.
    pub fn new(wiring: &'a Wiring, classes: u8) -> Self {
        let classes = usize::from(classes);
        let most_ports = wiring.ports.iter().copied().max().unwrap_or(0);
        let words = (usize::from(most_ports) * classes).div_ceil(64);
        let channels = wiring.channels.ports();
        let is_link = |channel| matches!(wiring.end(ChannelId(channel)), Endpoint::Router(..));
        let vertices = if (0..channels).any(is_link) { channels as usize * classes } else { 0 };
        Self { wiring, classes, vertices, words, rows: BitRows::new(vertices, words), stops: NEVER }
    }

    /// Has it stop when it is asked to.
    pub fn stopped_by(self, stops: &'a Stops<'a>) -> Self {
        Self { stops, ..self }
    }

    /// An error if the check is to stop.
    pub fn check_stopped(&self) -> Result<(), RoutingContractError> {
        if (self.stops)() { Err(RoutingContractError::Stopped) } else { Ok(()) }
    }

    /// The vertex of a channel's class.
    pub fn vertex(&self, channel: ChannelId, vc_class: VcClass) -> usize {
        channel.index() * self.classes + usize::from(vc_class.0)
    }

    /// The bit of a channel's class that leaves a router, in the rows of the channels that lead to the router.
    pub fn bit(&self, router: RouterId, channel: ChannelId, vc_class: VcClass) -> usize {
        self.vertex(channel, vc_class) - self.first_vertex(router)
    }

    /// The first vertex of the channels that leave a router.
    fn first_vertex(&self, router: RouterId) -> usize {
        self.wiring.channels.output(router, PortId(0)).index() * self.classes
    }

    /// The moves of a walk over channels that packets wait for, and at whose end they may wait again.
    ///
    /// A channel that nobody waits for (an adaptive one) lies on no cycle, whatever its packets wait for.
    pub fn held<'w>(walk: &'w Walk<'_>) -> impl Iterator<Item = &'w Move> {
        walk.all_moves().iter().filter(|step| step.waited && step.to != Move::DELIVERED)
    }

    /// By stop of a walk, the moves that are waited for there, as rows of bits, one after the other.
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

    /// Adds what a walk has found: whoever comes to a stop may wait for every move from it. `masks` are those of
    /// `wanted`.
    pub fn add(&self, walk: &Walk<'_>, masks: &[u64]) {
        for step in Self::held(walk) {
            let mask = &masks[step.to as usize * self.words..][..self.words];
            self.rows.merge(self.vertex(step.channel, step.vc_class), mask);
        }
    }

    /// The vertices that a vertex may wait for.
    pub fn successors(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let base = match self.wiring.end(ChannelId((vertex / self.classes) as u32)) {
            Endpoint::Router(router, _) => self.first_vertex(router),
            Endpoint::Node(_) | Endpoint::Unconnected => 0,
        };
        self.rows.set_in(vertex).map(move |bit| base + bit)
    }

    /// The channels of a cycle and their classes, each of which waits for the next, if there is one.
    pub fn cycle(&self) -> Option<Vec<(ChannelId, VcClass)>> {
        let cycle = find_cycle(self.vertices, |vertex| self.successors(vertex))?;
        let held = |vertex| (ChannelId((vertex / self.classes) as u32), VcClass((vertex % self.classes) as u8));
        Some(cycle.into_iter().map(held).collect())
    }
}
