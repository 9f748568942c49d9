//! Routing algorithms, one file each.

pub mod cliques;
pub mod detours;
pub mod dimension_order;
pub mod dragonfly;
pub mod ecmp;
pub mod fat_tree;
pub mod flat;
pub mod forwarding;
pub(crate) mod levels;
pub mod minimal_adaptive;
pub mod networks;
pub mod opensm;
pub mod shortest_path;
pub mod table;
pub(crate) mod tables;
pub mod up_down;
