//! Views: optional properties of topologies, with the closed forms that routings read at every hop. A family with such
//! wiring is that view, or holds it.

mod addresses;
mod cliques;
mod grid;
mod group_table;
mod groups;
mod hierarchy;
mod levels;

pub use addresses::{Addresses, NodeAddress, SwitchAddress};
pub use cliques::{Cliques, Line};
pub use grid::Grid;
pub use group_table::GroupTable;
pub(crate) use groups::NONE;
pub use groups::{GroupNetwork, Groups, GroupsSize};
pub(crate) use hierarchy::TreeShape;
pub use hierarchy::{Hierarchy, Passage};
pub use levels::Levels;
