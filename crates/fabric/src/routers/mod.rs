//! The router architectures, one file each, composed from shared stages.

pub mod arbiter;
mod crosspoint;
pub mod input_crosspoint;
pub mod output_queued;
pub mod shared_buffer;
pub mod switched;
pub mod voq;

use crate::fabric::{Arrival, Buffers, Fabric};
use crate::packet::NONE;
use crate::prefetch::Prefetch;

pub use crate::fabric::Space;

/// The inside of all routers of a partition.
///
/// Within an instant, arrivals come first (`bypass`, else `enqueue`, in the order of ports), then `serve` once for
/// every router that is concerned: arbitration and departures.
pub trait Routers: Buffers + Prefetch + Send {
    /// Whether several routers are visited together: first all that has arrived at them, then their outputs, in loops over all of them that
    /// are functions of their own. It pays where a step needs so many values that those of the others would be spilled to the stack, and does
    /// not where what a visit has read has left the nearest cache when the router is served. Of no consequence for results.
    const VISITED_TOGETHER: bool = false;

    /// Whether the routers do without what plain networks do not have (`Fabric::is_plain`).
    fn is_plain(&self) -> bool {
        true
    }
    /// A packet is through the pipeline, and its output is decided: queue it.
    fn enqueue<const PLAIN: bool>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64);
    /// The copies of a packet for several nodes are through the pipeline, two at least, each for an output of its own or a class of
    /// its own: queue them.
    fn enqueue_copies<const PLAIN: bool>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64);
    /// Whether packets that arrive now, so many, may take the `bypass`: asked once in an instant. Of no consequence for results.
    #[inline(always)]
    fn tries_bypass(&mut self, _arrivals: usize) -> bool {
        false
    }
    /// Sends a packet that has just come through the pipeline past the queues, if it has nothing to wait for and `enqueue` and
    /// `serve` would do the same in this instant. Returns whether it was sent; if not, nothing has changed. The outputs of all
    /// arrivals at the router in this instant have been decided.
    #[inline(always)]
    fn bypass<const PLAIN: bool>(&mut self, _fabric: &mut Fabric, _arrival: &Arrival, _now: u64) -> bool {
        false
    }
    /// A side of the crossbar has fallen free (`OUTPUT_SIDE` or `INPUT_SIDE`) for which the architecture asked to be woken.
    fn side_woken<const PLAIN: bool>(&mut self, fabric: &mut Fabric, port: usize, side: usize);
    /// Space has fallen free some time after its packet left.
    fn space_freed(&mut self, _fabric: &mut Fabric, _space: Space, _now: u64) {}
    /// Send what can be sent.
    fn serve<const PLAIN: bool>(&mut self, fabric: &mut Fabric, router: usize, now: u64);
    /// The packets that wait in the buffer of an input, given as (port, virtual channel) in one number: the front of every
    /// queue, `NONE` of an empty one; where inputs share queues, all.
    fn heads<'a>(&'a self, fabric: &'a Fabric, input: usize) -> impl Iterator<Item = u32> + 'a;
    /// Checks what the architecture keeps up to date instead of searching, at a time at which nothing is under way.
    ///
    /// # Errors
    /// What is out of date, and where.
    fn check(&self, _fabric: &Fabric) -> Result<(), String> {
        Ok(())
    }
    /// Bytes held of each buffer of an input that a credit stands for, with its part.
    fn held(&self, input: usize) -> impl Iterator<Item = (u32, u64)> + '_;
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
        let base = fabric.base_of(input >> fabric.vc_shift) as u32;
        for packet in routers.heads(fabric, input).filter(|&packet| packet != NONE) {
            let output = base + u32::from(fabric.pool[packet].out);
            all.push(Waiting { packet, input: input as u32, output });
        }
    }
    all
}
