//! The routing algorithms, one file each.

pub mod dimension_order;
pub mod shortest_path;
pub mod up_down;
