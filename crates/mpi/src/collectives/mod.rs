//! Collective operations: in software, as messages between ranks (one file a family of algorithms), or in the switches
//! (`in_switch`).
//!
//! An algorithm is a sequence of *phases* ([`Phase`]). A phase computes the messages of one member in one round from
//! the member and the round alone, so that a rank keeps a few numbers and no list of messages. `table` lists the
//! algorithms of each operation.

mod backend;
mod bine;
mod bounds;
mod bruck;
mod buffers;
mod call;
mod called;
mod carried;
mod data;
mod dissemination;
mod double_tree;
mod group_call;
mod hierarchical;
mod in_switch;
mod islands;
mod lanes;
mod linear;
mod local;
mod member;
pub mod nccl;
mod neighbors;
mod pairing;
mod pairwise;
mod pat;
mod pipeline;
mod protocol;
mod recursive;
mod ring;
mod scan;
mod selection;
mod selection_file;
mod stages;
mod table;
mod tree;

pub use backend::CollectiveBackend;
pub use bounds::{Fastest, FastestNetwork, FastestWithin, RailUse, bound, bound_beside};
pub use call::{Collective, CollectiveError, Stage};
pub use called::{CalledCollectives, CalledPlace};
pub use data::Data;
pub use group_call::GroupCall;
pub(crate) use in_switch::combined;
pub use in_switch::{GroupNumbers, ProgramGroup};
pub(crate) use lanes::Lanes;
pub use member::{Member, Move, Phase, Shares, Way};
pub use pairing::Pairing;
pub use protocol::{Protocol, Transport};
pub use selection::{Rule, Selection};
pub use selection_file::selection_names;
pub use stages::{stage, stages};
pub use table::{Algorithm, Operation, algorithms, is_segmented, phases};
