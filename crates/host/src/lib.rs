//! The node: what its ranks do, and what its network interface makes of their messages.
//!
//! Host knows neither routers nor links: it hands out packets when it is asked for them, is told when they have arrived, and
//! asks for both by a small interface (`HostContext`) that whoever owns the network fills.

mod executor;
mod queues;

pub use queues::time_of;

pub use executor::{Alarm, Executor, HostContext, NicParams, Outgoing, RankPlacement, UNTOUCHED};
