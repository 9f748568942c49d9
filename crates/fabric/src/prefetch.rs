//! Fetching memory into a near cache before it is needed. Of no consequence for results.
//!
//! Two cases. A worker with several partitions reads the arrays of one from end to end before it runs it for a window, for a
//! sequential sweep is cheaper than scattered misses after another partition evicted them. A partition that exceeds the cache
//! (`Fabric::exceeds_cache`) takes the packets of many routers step by step, and reads before each step what it needs, so that
//! the misses overlap.

use std::hint::black_box;

use engine::{Bits, read_through};

use crate::fabric::{Arrival, Fabric};
use crate::packet::{Head, NONE};

/// What an architecture reads ahead.
pub trait Prefetch {
    /// Reads the state of all queues once, in the order of memory.
    fn before_window(&self) {}
    /// Reads what the enqueueing of an arrival needs of its input; its output is not known yet.
    fn before_input(&self, _fabric: &Fabric, _arrival: &Arrival) {}
    /// Reads what the enqueueing of an arrival needs of its output.
    fn before_output(&self, _fabric: &Fabric, _arrival: &Arrival) {}
    /// Reads what a wake-up of a side of the crossbar needs.
    fn before_side(&self, _fabric: &Fabric, _port: usize) {}
    /// Reads what serving the outputs needs that are active already, of some routers from `first` on.
    fn before_serve(&mut self, _fabric: &Fabric, _first: usize, _routers: u64) {}
}

impl Fabric {
    /// Reads the state of all ports, packets and events once, in the order of memory.
    pub(crate) fn before_window(&self) {
        read_through(&self.outputs, |output| output.queued);
        read_through(&self.inputs, |input| u64::from(input.router));
        read_through(self.pool.places(), |packet| packet.generated_at);
        self.wheel.before_window();
    }

    /// Reads a packet that has been on a link.
    #[inline(always)]
    pub(crate) fn before_arrival(&self, packet: u32) {
        black_box(self.pool[packet].bytes);
    }

    /// Reads what sending over a channel reads.
    #[inline(always)]
    pub(crate) fn before_sending(&self, output: usize) {
        black_box(self.outputs[output].free_at);
    }

    /// Reads what the injection of some packets reads, of nodes from `first` on; `heads` are their packets by node.
    pub(crate) fn before_injections(&self, first: usize, nodes: u64, heads: &[Head]) {
        for node in Bits(nodes) {
            let Head { packet, .. } = heads[first + node];
            if packet != NONE {
                black_box(self.pool[packet].bytes);
            }
            self.before_sending(self.ports() + first + node);
        }
    }
}
