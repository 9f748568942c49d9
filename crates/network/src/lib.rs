#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod delay;
mod feature;
mod flow;
mod handover;
mod machine;
mod model;
mod network;
mod packet;
mod part;
mod reuse;
mod samples;
mod timeline;
pub mod traffic;
mod ways;

pub use delay::DelayModel;
pub use feature::Feature;
pub use flow::FlowModel;
pub use machine::{CheckpointedMachine, Machine, PacketMachine, WindowTimes};
pub use model::{DivisionRule, MachineJob, MachineRun, NetworkModel};
pub use network::{Network, Packets};
pub use packet::PacketModel;
pub use part::Part;
pub use reuse::{KeyField, ReuseCounts, ReuseModel, ReuseRecords, StateRules};
pub use samples::{MOST_SAMPLES, Sample, Samples, SourceWaits};
pub use timeline::Global;
pub use ways::{NetworkWays, TransferRule};
