//! Topology families, one file each.

pub mod dragonfly;
pub mod dragonfly_plus;
pub mod fat_tree;
pub mod file;
pub mod flat;
pub mod hyperx;
pub mod jellyfish;
pub mod leaf_spine;
pub mod multiplied;
pub mod networks;
pub mod polarfly;
pub mod single_switch;
pub mod slim_fly;
pub mod torus;
pub mod twisted;
pub mod xgft;
