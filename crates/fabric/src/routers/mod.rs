//! The router architectures, one file each, composed from shared stages.

pub mod arbiter;
pub mod output_queued;
pub mod switched;
pub mod voq;

use crate::fabric::{Arrival, Buffers, Fabric};
use crate::packet::NONE;
use crate::prefetch::Prefetch;

pub use crate::fabric::Space;

/// The inside of all routers of a partition.
///
/// Within an instant, arrivals come first (`enqueue`, in the order of ports unless order cannot matter), then `serve` once for
/// every router that is concerned: arbitration and departures.
pub trait Routers: Buffers + Prefetch + Send {
    /// A packet is through the pipeline, and its output is decided: queue it.
    fn enqueue(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64);
    /// A side of the crossbar has fallen free (`OUTPUT_SIDE` or `INPUT_SIDE`) for which the architecture asked to be woken.
    fn side_woken(&mut self, fabric: &mut Fabric, port: usize, side: u32);
    /// Send what can be sent.
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64);
    /// The packet at the front of every queue of an input, given as (port, virtual channel) in one number; `NONE` of an empty
    /// queue.
    fn heads(&self, input: usize) -> impl Iterator<Item = u32> + '_;
    /// Bytes held of each buffer of an input that a credit stands for, with the output where each output has its own.
    fn held(&self, input: usize) -> impl Iterator<Item = (u16, u64)> + '_;
}

/// A packet that waits at the front of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet.
    pub packet: u32,
    /// The input, (port, virtual channel) in one number, whose buffer it holds.
    pub input: u32,
    /// The output that it waits for.
    pub output: u32,
}

/// Every packet that waits at the front of a queue of a partition.
pub(crate) fn waiting<R: Routers>(routers: &R, fabric: &Fabric) -> Vec<Waiting> {
    let mut all = Vec::new();
    for input in 0..fabric.ports() << fabric.vc_shift {
        let base = fabric.inputs[input >> fabric.vc_shift].base;
        for packet in routers.heads(input).filter(|&packet| packet != NONE) {
            let output = base + u32::from(fabric.pool.entry(packet).out);
            all.push(Waiting { packet, input: input as u32, output });
        }
    }
    all
}
