#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod flat;
mod machine;
mod network;
mod part;
mod samples;
mod timeline;
pub mod traffic;

pub use machine::{Machine, build};
pub use network::{Network, Packets};
pub use part::Part;
pub use samples::{MOST_SAMPLES, Sample, Samples, SourceWaits};
pub use timeline::Global;
