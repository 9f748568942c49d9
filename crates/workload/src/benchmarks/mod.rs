//! Benchmarks of message latency: the messages between ranks, as programs (Bhatele, "Scalable topology aware object
//! mapping for large supercomputers", section 3.1).
//!
//! Both measure round trips: a rank sends a message, its partner answers with one of the same size. The time of a message
//! is half of that.

mod catalogue;
pub mod latency;
mod round_trips;
mod wicon;
mod wocon;

pub use catalogue::BenchmarkSpec;
pub use round_trips::Benchmark;
pub use wicon::{PairsSpec, WiconSpec};
pub use wocon::WoconSpec;
