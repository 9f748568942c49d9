//! Kinds of events of a partition's wheel, in the order in which an instant handles them.

/// A credit has come back. Target: the counter. Argument: bytes.
pub(crate) const CREDIT: usize = 0;
/// Buffer space is freed. Target: the space in the architecture's numbering. Argument: bytes.
pub(crate) const FREE: usize = 1;
/// A packet has left a router's pipeline. Target: (port, virtual channel). Argument: the packet.
pub(crate) const ARRIVAL: usize = 2;
/// The link of an output becomes free. Target: the port.
pub(crate) const LINK: usize = 3;
/// An output's side of the crossbar becomes free. Target: the port.
pub(crate) const OUTPUT_SIDE: usize = 4;
/// An input's side of the crossbar becomes free. Target: the port.
pub(crate) const INPUT_SIDE: usize = 5;
/// The traffic is notified. The argument gives the kind of notification (`fabric::wakes::notify`).
pub(crate) const TRAFFIC: usize = 6;
/// Number of kinds.
pub(crate) const COUNT: usize = 7;
