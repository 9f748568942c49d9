//! Benchmarks of messages between ranks, as programs.
//!
//! WOCON and WICON measure the latency of messages by round trips (Bhatele, "Scalable topology aware object mapping for
//! large supercomputers", section 3.1): a rank sends a message, its partner answers with a message of equal size, and
//! the latency is half the time of the round trip.
//!
//! The other benchmarks are the ones that users run on their machines: IMB, the OSU benchmarks and COMB. Each produces
//! a table ([`TableRow`]) with one row for each size of messages or polling interval.

mod catalogue;
mod comb;
mod connections;
pub mod latency;
mod operation;
mod pair;
mod ring;
mod round_trips;
mod sizes;
mod table;
mod timed;
mod wicon;
mod window;
mod wocon;

pub use catalogue::{BenchmarkSpec, Built};
pub use comb::CombSpec;
pub use connections::ConnectionsSpec;
pub use operation::{AnyOperationSpec, BarrierSpec, BcastSpec, OperationSpec};
pub use pair::PairSpec;
pub use ring::RingSpec;
pub use round_trips::Benchmark;
pub use table::{KEYS_OF_POLLING, TableBenchmark, TableRow};
pub use wicon::{PairsSpec, WiconSpec};
pub use window::{ManyPairsSpec, WindowSpec};
pub use wocon::WoconSpec;
