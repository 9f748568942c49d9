//! Router architectures, one file each, composed from shared stages.

pub mod arbiter;
mod crosspoint;
pub mod input_crosspoint;
pub mod output_queued;
pub mod shared_buffer;
mod sharing;
pub mod switched;
pub mod voq;

use units::State;

use crate::fabric::{Arrival, Buffers, Fabric};
use crate::index::{InputId, PacketSlot};
use crate::prefetch::Prefetch;
use crate::profile::Profile;

pub use crate::fabric::Space;
pub use sharing::{Arbiter, ArbiterFacts, CandidateLane, CandidatePort, SharedState, Sharing};

/// State of all routers of a partition, whatever their architecture.
///
/// Within an instant, arrivals come first (`bypass`, else `enqueue`, in the order of ports). Then `serve` runs once for
/// every marked router: arbitration and departures.
pub trait Routers: Buffers + Prefetch + SharedState + State + Clone + Send {
    /// Whether several routers are visited together: first all their arrivals, then their outputs, in loops that are
    /// separate functions. This pays if a step needs so much state that the values of the other steps would be spilled
    /// to the stack. It does not pay if the state that a visit has read has left the nearest cache when the router is
    /// served. It does not affect results.
    const VISITED_TOGETHER: bool = false;

    /// Returns whether the routers have none of the features that plain networks lack (`Fabric::is_plain`).
    fn is_plain(&self) -> bool {
        true
    }
    /// Queues a packet that has left the pipeline and whose output is decided.
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64);
    /// Queues the copies of a multicast packet that has left the pipeline: at least two, each with a different output
    /// or class.
    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64);
    /// Returns whether the `arrivals` packets of this instant may take the `bypass`. Called once in an instant. It does
    /// not affect results.
    #[inline(always)]
    fn tries_bypass(&mut self, _arrivals: usize) -> bool {
        false
    }
    /// Sends a packet that has just left the pipeline past the queues, if it waits for nothing and `enqueue` and
    /// `serve` would send it in this instant too. Returns whether it was sent; if not, nothing has changed. The outputs
    /// of all arrivals at the router in this instant must have been decided.
    #[inline(always)]
    fn bypass<P: Profile>(&mut self, _fabric: &mut Fabric, _arrival: &Arrival, _now: u64) -> bool {
        false
    }
    /// Handles a requested wake-up of a side of the crossbar (`OUTPUT_SIDE` or `INPUT_SIDE`) that has become free.
    fn side_woken<P: Profile>(&mut self, fabric: &mut Fabric, port: usize, side: usize);
    /// Handles space that was freed some time after its packet left.
    fn space_freed(&mut self, _fabric: &mut Fabric, _space: Space, _now: u64) {}
    /// Sends all packets of a router that can be sent.
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64);
    /// Iterates over the packets at the fronts of an input's queues. An empty queue gives `NONE`. If inputs share
    /// queues, all packets of the input are given.
    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a;
    /// Checks the state that the architecture maintains incrementally, at a time at which no event is pending.
    ///
    /// # Errors
    /// Says which state is out of date, and where.
    fn check(&self, _fabric: &Fabric) -> Result<(), String> {
        Ok(())
    }
    /// Iterates over the buffers of an input that a credit stands for: their parts, with the bytes held in them.
    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_;
}

/// Packet that waits at the front of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Packet.
    pub packet: PacketSlot,
    /// Input whose buffer it holds.
    pub input: InputId,
    /// Output that it waits for.
    pub output: u32,
}

/// Returns every packet that waits at the front of a queue of a partition.
pub(crate) fn waiting<R: Routers>(routers: &R, fabric: &Fabric) -> Vec<Waiting> {
    let mut all = Vec::new();
    for input in fabric.all_inputs() {
        let base = fabric.base_of(input.port(fabric.params.vc_shift)) as u32;
        for packet in routers.heads(fabric, input).filter(|&packet| packet != PacketSlot::NONE) {
            let output = base + u32::from(fabric.pool[packet].out);
            all.push(Waiting { packet, input, output });
        }
    }
    all
}
