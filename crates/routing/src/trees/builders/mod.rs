//! The builders of trees, one file each.

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

/// What makes the trees of a topology, one after the other.
pub(super) trait Builder: Debug {
    /// Its name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// The classes of virtual channels toward the root on a class of channels, before any tree is known.
    fn levels_on(&self, class: ChannelClass) -> u8;
    /// Whether one order of switches ranks all trees, so that the classes toward the root serve from it too.
    fn folds(&self) -> bool;
    /// Whether any switch may be the root: then that of a directed tree is its sender's.
    fn any_root(&self) -> bool;
    /// A tree of some members over wires that are not taken; none if there is none.
    fn build(&self, request: &Request<'_>, load: &TreeLoad) -> Option<Tree>;
}
