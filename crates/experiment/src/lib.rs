#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod design;
mod in_switch;
mod jobs;
mod language;
mod machine;
mod networks;
mod nic;
mod nic_presets;
mod node_name;
mod place;
mod searched;
mod spec;
mod workload;

pub use config::{
    Diagnosis, ExperimentError, File, KeyDoc, MAX_FILE, MAX_POINTS, Position, SectionDoc, Swept, ValueDoc,
};
pub use design::{CableCostSpec, CostSpec, InterfaceCostSpec, LayoutSpec, SwitchCostSpec};
pub use in_switch::{
    CombineUnitsSpec, ElementsSpec, InSwitchSpec, LineRateSpec, LowLatencySpec, Overflow, StreamingSpec, WordSerialSpec,
};
pub use jobs::JobSpec;
pub use language::{ExperimentLanguage, FILE_KEYS, Point, reference, schema};
pub use machine::NamedMachineSpec;
pub use networks::{EndpointOrder, JoinedNetworkSpec, RelaySide, RelaySpec};
pub use nic::NicSpec;
pub use place::{HostsSpec, MappedSpec, Place, PlaceSpec};
pub use spec::{
    Detours, ExperimentSpec, LinkClassSpec, LinkSpec, MeasureSpec, Model, NodeSpec, NoisePhase, NoiseSpec, Search,
    SimulationSpec, WarmUp,
};
pub use workload::{
    ApplicationSpec, CollectiveOperation, CollectiveTrafficSpec, Collectives, ExchangeSpec, Execution, GroupsKind,
    LateLaw, LateSpec, PacketFor, ProgramRanksSpec, RanksSpec, TrafficSpec, WorkloadSpec,
};
