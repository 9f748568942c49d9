//! Builders of trees, one file each.

pub(super) mod fat_tree;
pub(super) mod fixed_up_port;
pub(super) mod growth;
pub(super) mod least_loaded_parent;
pub(super) mod load_balanced;
pub(super) mod minimal_depth;

use std::fmt::Debug;

use topology::ChannelClass;

use super::load::TreeLoad;
use super::tree::{Request, Tree};

/// Builder of the trees of a topology, one at a time.
pub(super) trait Builder: Debug {
    /// Returns the builder's name in the experiment file.
    fn kind(&self) -> &'static str;
    /// Returns the number of VC classes toward the root on a class of channels, before any tree is known.
    fn levels_on(&self, class: ChannelClass) -> u8;
    /// Returns whether one order of switches ranks all trees, so that the classes toward the root also serve from it.
    fn folds(&self) -> bool;
    /// Returns whether any switch may be the root. The root of a directed tree is then its sender's switch.
    fn any_root(&self) -> bool;
    /// Returns a tree of some members over wires that are not taken, if there is one.
    fn build(&self, request: &Request<'_>, load: &TreeLoad) -> Option<Tree>;
}
