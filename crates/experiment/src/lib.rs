#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod in_switch;
mod jobs;
mod language;
mod memory;
mod nic;
mod nic_collectives;
mod nic_parts;
mod nic_presets;
mod place;
mod rails;
mod searched;
mod spec;
mod workload;

pub use config::{
    Diagnosis, ExperimentError, File, KeyDoc, MAX_FILE, MAX_POINTS, Position, SectionDoc, Swept, ValueDoc,
};
pub use in_switch::{
    CombineOrderSpec, CombineUnitsSpec, ElementsSpec, InSwitchSpec, LineRateSpec, LowLatencySpec, Overflow,
    StreamingSpec, TurnSpec, WordSerialSpec,
};
pub use jobs::JobSpec;
pub use language::{ExperimentLanguage, FILE_KEYS, Point, reference, schema};
pub use memory::MemorySpec;
pub use nic::{ChargedBytes, HostSpec, LoggpNicSpec, NicSpec, ProgressSpec, RendezvousSpec, WithoutCreditSpec};
pub use nic_collectives::NicCollectivesSpec;
pub use nic_parts::{
    BuffersSpec, BusOwner, BusSpec, CopyEnds, CopySpec, Directions, DmaSpec, Matcher, MatchingSpec, PioSpec,
    RegisteredEndsSpec, RegistrationSpec,
};
pub use place::{MappedSpec, Place, PlaceSpec};
pub use rails::{ConnectionModeSpec, ConnectionsSpec, RailPolicySpec, RailsSpec};
pub use spec::{
    Detours, ExperimentSpec, LinkClassSpec, LinkSpec, MeasureSpec, NodeSpec, NoisePhase, NoiseSpec, Search, WarmUp,
};
pub use workload::{
    ApplicationSpec, CollectiveOperation, CollectiveTrafficSpec, Collectives, ExchangeSpec, Execution, GroupsKind,
    LateLaw, LateSpec, PacketFor, ProgramRanksSpec, RanksSpec, TrafficSpec, WorkloadSpec,
};
