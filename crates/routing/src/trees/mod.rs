//! Spanning trees of persistent groups of nodes, as tables in which switches look packets up by the tree's number (its
//! collective address): Kumar and Kale's undirected trees ("hardware-collectives", sections 2.1 and 2.2), which
//! multicasts, reductions and barriers share, and directed ones to compare them with.
//!
//! - A `Tree` is a structure: a root, the *top switch*, and for every other switch the one port up. `builders` make
//!   trees, one file each. `load` has the load of the trees made so far, so that the next one can avoid it.
//! - `Trees` are the tables: for each switch of a tree the bit vector of its ports, the way to the root, and the exits,
//!   each with the entry at its far end, so that no hop searches. A multicast leaves a switch by every port of the
//!   vector but its input port. Their memory in a switch is counted, and limited by `table_entries`.
//! - `orders` keep trees of different roots from waiting for one another in a cycle, which they could on one class of
//!   virtual channels (one tree has a channel before another, the next tree the other way round). The channels toward
//!   the root are on separate classes, below the classes of the channels from it: packets go from the former to the
//!   latter and never back. Toward the root, paths of all trees follow one order that has no cycles (dimension order
//!   with datelines, local-global-local, hops left); from the root they follow its mirror image. If one order of
//!   switches ranks all trees at once, as the levels of a fat-tree do, one class serves both. None of this is taken on
//!   trust: `dependency_cycle_with_trees` adds the dependencies of all trees' packets to the graph of the routing.
//!
//! On several networks or planes, the trees of a group are in the planes of one network: the first of which one island
//! has all members. The trees take its planes in turn. Each is built on the topology of the island, and edge-disjoint
//! to the trees of its group in its plane; the tables number routers and nodes as the joint topology does.
//!
//! The links between a node and its switch belong to every tree of the node; *edge-disjoint* refers to wires between
//! switches. The number of edge-disjoint trees is exact on k-ary n-trees (k, or 1 below one leaf switch). Elsewhere
//! trees are taken greedily, one at a time, and more may exist than are found.

mod builders;
mod classes;
mod drafts;
mod error;
mod load;
mod make;
mod orders;
mod sites;
mod spec;
mod tables;
mod tree;
mod volumes;

pub use builders::fixed_up_port::FixedUpPortSpec;
pub use builders::least_loaded_parent::LeastLoadedParentSpec;
pub use builders::load_balanced::LoadBalancedSpec;
pub use builders::minimal_depth::MinimalDepthSpec;
pub use error::TreeError;
pub use orders::kind::OrderKind;
pub use sites::network_of_group;
pub use spec::{TreeClasses, TreeSpec, TreesSpec};
pub use tables::{Exit, TableMemory, TreeEntry, Trees};
pub use volumes::TreeVolumes;
