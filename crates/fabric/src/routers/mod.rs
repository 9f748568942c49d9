//! The router architectures, one file each, composed from shared stages.

pub mod arbiter;
pub mod output_queued;
pub mod switched;
pub mod voq;

use units::RouterId;

use crate::fabric::Fabric;

/// The inside of all routers of a partition.
///
/// Within an instant, `freed` and `enqueue` come first (credits and arrivals, in the order of ports), then `serve` once
/// for every router that is concerned: arbitration and departures.
pub trait Routers: Send {
    /// Space that was booked to fall free now (`event_kind::FREE`).
    fn freed(&mut self, fabric: &mut Fabric, target: u32, arg: u32, now: u64);
    /// Reads the state of all queues once, as it lies in memory.
    fn before_window(&self) {}
    /// Reads what `freed` will read, so that it is in a near cache then.
    fn before_freed(&self, _fabric: &Fabric, _target: u32) {}
    /// Reads what `enqueue` will read, so that it is in a near cache then: first of an input, (port, virtual channel) in one
    /// number, then, when it is known, of the output.
    fn before_input(&self, _fabric: &Fabric, _input: usize) {}
    /// The same of an output.
    fn before_output(&self, _fabric: &Fabric, _sender: usize) {}
    /// Reads what `serve` will read for the outputs that are active already, of some routers from `first` on.
    fn before_serve(&mut self, _fabric: &Fabric, _first: usize, _routers: u64) {}
    /// A packet has landed at an input, and its output is decided: queue it.
    fn enqueue(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64);
    /// Send what can be sent.
    fn serve(&mut self, fabric: &mut Fabric, router: usize, now: u64);
    /// Every packet that waits at the front of a queue, for invariants and for the watchdog.
    fn waiting(&self, fabric: &Fabric) -> Vec<Waiting>;
    /// Bytes held for the input buffers of each (port, virtual channel), by input number.
    fn held(&self, fabric: &Fabric) -> Vec<u64>;
}

/// A packet that has just passed a router's delay.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The router, in this partition's numbering.
    pub router: usize,
    /// The router.
    pub id: RouterId,
    /// The number of its first port.
    pub base: u32,
    /// The port by which it came in.
    pub port: u16,
    /// The virtual channel on which it came in.
    pub vc: u32,
    /// The packet.
    pub packet: u32,
    /// The output by which it will leave, once that is decided.
    pub out: u16,
    /// The class of virtual channels on which it will leave, likewise.
    pub class: u8,
    /// Its size.
    pub bytes: u32,
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
