//! The experiment: from the file that people write to typed points that can be built.

mod spec;
mod stub;

pub use spec::{
    ExperimentSpec, IdealNicSpec, LinkClassSpec, LinkSpec, MeasureSpec, NicSpec, PlacementSpec, Search, TrafficSpec,
    WarmUp, WorkloadSpec,
};
