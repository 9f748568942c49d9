//! The kinds of events of a partition's wheel, in the order in which an instant handles them.

/// A credit has come back: target the counter, argument the bytes.
pub(crate) const CREDIT: usize = 0;
/// Buffer space falls free: target the space in the architecture's numbering, argument the bytes.
pub(crate) const FREE: usize = 1;
/// A packet is through a router's pipeline: target (port, virtual channel), argument the packet.
pub(crate) const ARRIVAL: usize = 2;
/// A port or a traffic is woken: the argument says which (`fabric::wakes`).
pub(crate) const WAKE: usize = 3;
/// The number of kinds.
pub(crate) const COUNT: usize = 4;
