//! Prefetching of memory into a near cache. It does not affect results.
//!
//! There are two cases. A worker with several partitions reads the arrays of a partition from end to end before it runs
//! it for a window: a sequential sweep is cheaper than scattered misses after another partition has evicted them. A
//! partition that exceeds the cache (`Params::exceeds_cache`) handles the packets of many routers step by step, and
//! reads the memory of each step beforehand, so that the misses overlap.

use std::hint::black_box;

use engine::{Bits, read_through};

use crate::fabric::{Arrival, Fabric};
use crate::index::PacketSlot;
use crate::packet::Head;

/// Memory that an architecture prefetches.
pub trait Prefetch {
    /// Reads the state of all queues once, in the order of memory.
    fn before_window(&self) {}
    /// Reads the input state needed to enqueue an arrival. Its output is not known yet.
    fn before_input(&self, _fabric: &Fabric, _arrival: &Arrival) {}
    /// Reads the output state needed to enqueue an arrival.
    fn before_output(&self, _fabric: &Fabric, _arrival: &Arrival) {}
    /// Reads the state needed by a wake-up of a side of the crossbar.
    fn before_side(&self, _fabric: &Fabric, _port: usize) {}
    /// Reads the state needed to serve the active outputs of some routers from `first` on.
    fn before_serve(&mut self, _fabric: &Fabric, _first: usize, _routers: u64) {}
}

impl Fabric {
    /// Reads the state of all ports, packets and events once, in the order of memory.
    pub(crate) fn before_window(&self) {
        read_through(&self.outputs, |output| output.queued);
        read_through(&self.inputs, |input| u64::from(input.router));
        read_through(self.pool.slots(), |packet| packet.generated_at);
        self.wheel.before_window();
    }

    /// Reads a packet that has been on a link.
    #[inline(always)]
    pub(crate) fn before_arrival(&self, packet: PacketSlot) {
        black_box(self.pool[packet].bytes);
    }

    /// Reads the state needed to send over a channel.
    #[inline(always)]
    pub(crate) fn before_sending(&self, output: usize) {
        black_box(self.outputs[output].free_at);
    }

    /// Reads the state needed to inject the packets of some nodes from `first` on. `heads` are the packets by node.
    pub(crate) fn before_injections(&self, first: usize, nodes: u64, heads: &[Head]) {
        for node in Bits(nodes) {
            let Head { packet, .. } = heads[first + node];
            if packet != PacketSlot::NONE {
                black_box(self.pool[packet].bytes);
            }
            self.before_sending(self.ports() + first + node);
        }
    }
}
