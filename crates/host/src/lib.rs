//! The node: the operations of its ranks, and the packets of its network interface.
//!
//! The crate does not depend on routers or links: it returns packets when it is polled and is notified of arrivals. It
//! requests both through a small interface (`HostContext`) that the owner of the network implements.

mod alarm;
mod executor;
mod pending;
mod queues;

pub use queues::time_of;

pub use alarm::Alarm;
pub use executor::{Executor, HostContext, NicParams, Outgoing, RankPlacement, UNTOUCHED};
