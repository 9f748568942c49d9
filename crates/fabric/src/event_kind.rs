//! The kinds of events of a partition's wheel, in the order in which an instant handles them.

/// A credit has come back: target the counter, argument the bytes.
pub(crate) const CREDIT: usize = 0;
/// Buffer space falls free: target the space in the architecture's numbering, argument the bytes.
pub(crate) const FREE: usize = 1;
/// A packet is through a router's pipeline: target (port, virtual channel), argument the packet.
pub(crate) const ARRIVAL: usize = 2;
/// The link of an output falls free: target the port.
pub(crate) const LINK: usize = 3;
/// An output's side of the crossbar falls free: target the port.
pub(crate) const OUTPUT_SIDE: usize = 4;
/// An input's side of the crossbar falls free: target the port.
pub(crate) const INPUT_SIDE: usize = 5;
/// The traffic is notified: the argument says of what (`fabric::wakes::notify`).
pub(crate) const TRAFFIC: usize = 6;
/// The number of kinds.
pub(crate) const COUNT: usize = 7;
