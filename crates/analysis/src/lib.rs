#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod credit_bound;
mod design;
mod detours;
mod effective_bisection;
mod effort;
mod filling;
mod forwarding;
mod idle_paths;
mod loads;
mod one_network;
mod open_rates;
mod path_sample;
mod rank_messages;
mod router_memory;
mod starvation;
mod upgrade;
mod warnings;
mod worst;

pub use analysis::{
    Analysis, BindingChannel, CALLED_BACK, Check, ClassLoads, analyze, analyze_with, check, describe, job_loads, notes,
};
pub use design::{CableCount, CableLengths, CostSums, Design, SwitchCount};
pub use effective_bisection::{EffectiveBisection, effective_bisection};
pub use forwarding::forwarding_files;
pub use loads::{LoadsKind, loads};
pub use router_memory::{BufferSpan, RouterMemory};
pub use upgrade::{CableUpgrade, ClassUpgrade, Upgrades};
pub use warnings::{settle, unexplained, warnings};
pub use worst::{WorstCase, worst_case};
