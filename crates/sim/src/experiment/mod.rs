//! The experiment: from the file that users write to typed points that can be built.
//!
//! The keys of a file are defined once, by the types of `spec` and of the parts' catalogues. Their JSON Schema gives
//! the shapes that `validate` compares a file with and that `reference` documents. Every error therefore names its
//! line, its key and the allowed values.

mod error;
mod in_switch;
mod include;
mod jobs;
mod kinds;
mod load;
mod locate;
mod memory;
mod nic;
mod nic_collectives;
mod nic_parts;
mod nic_presets;
mod place;
mod rails;
mod range;
mod reference;
mod schema;
mod searched;
mod seeds;
mod span;
mod spec;
mod sweep;
mod tree;
mod validate;
mod workload;

pub use error::{Diagnosis, ExperimentError, Position};
pub use in_switch::{
    CombineOrderSpec, CombineUnitsSpec, ElementsSpec, InSwitchSpec, LineRateSpec, LowLatencySpec, Overflow,
    StreamingSpec, TurnSpec, WordSerialSpec,
};
pub use include::{FILE_KEYS, MAX_FILE};
pub use jobs::JobSpec;
pub use load::{Experiment, Point, Swept};
pub use memory::MemorySpec;
pub use nic::{ChargedBytes, HostSpec, LoggpNicSpec, NicSpec, ProgressSpec, RendezvousSpec, WithoutCreditSpec};
pub use nic_collectives::NicCollectivesSpec;
pub use nic_parts::{
    BuffersSpec, BusOwner, BusSpec, CopyEnds, CopySpec, Directions, DmaSpec, Matcher, MatchingSpec, PioSpec,
    RegisteredEndsSpec, RegistrationSpec,
};
pub use place::{MappedSpec, Place, PlaceSpec};
pub use rails::{ConnectionModeSpec, ConnectionsSpec, RailPolicySpec, RailsSpec};
pub use range::MAX_POINTS;
pub use reference::{KeyDoc, SectionDoc, ValueDoc, reference};
pub use schema::schema;
pub use spec::{
    Detours, ExperimentSpec, LinkClassSpec, LinkSpec, MeasureSpec, NodeSpec, NoisePhase, NoiseSpec, Search, WarmUp,
};
pub use workload::{
    ApplicationSpec, CollectiveOperation, CollectiveTrafficSpec, Collectives, ExchangeSpec, Execution, GroupsKind,
    LateLaw, LateSpec, PacketFor, ProgramRanksSpec, RanksSpec, TrafficSpec, WorkloadSpec,
};
