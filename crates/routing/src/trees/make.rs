//! Construction of the trees of groups in sequence, with the load of the previous trees known.

use std::sync::Arc;

use topology::{ChannelClass, Topology};
use units::{NodeId, RouterId};

use super::builders::Builder;
use super::classes::Numbering;
use super::drafts::Made;
use super::error::TreeError;
use super::load::TreeLoad;
use super::spec::TreesSpec;
use super::tables::Trees;
use super::tree::{Request, Tree};
use crate::Routing;
use crate::deadlock::router_name;

impl TreesSpec {
    /// Builds the tables of the trees of some groups, in the given order of groups: later trees avoid earlier ones, if
    /// the builder does so. Trees are numbered group by group, and with `directed` member by member within a group.
    ///
    /// # Errors
    /// If the builder or the order is not made for the topology, if a group has no members, one twice or one that the
    /// machine does not have, if there are fewer edge-disjoint trees than `count`, if a table has fewer entries than
    /// trees pass through its switch, or if there would be too many classes of virtual channels.
    pub fn build(
        &self,
        topology: &Arc<dyn Topology>,
        routing: &dyn Routing,
        groups: &[Vec<NodeId>],
    ) -> Result<Trees, TreeError> {
        self.build_for(topology, routing, groups, &[])
    }

    /// Builds the tables for given senders: by group, the sending members, in ascending order and without duplicates.
    /// With `directed` the other members have no trees. If `senders` is empty, all members of all groups send.
    ///
    /// # Errors
    /// As for `build`.
    pub fn build_for(
        &self,
        topology: &Arc<dyn Topology>,
        routing: &dyn Routing,
        groups: &[Vec<NodeId>],
        senders: &[Vec<NodeId>],
    ) -> Result<Trees, TreeError> {
        let builder = self.builder(topology)?;
        let mut maker = Maker::new(self, &**topology, &*builder);
        let mut sorted = Vec::with_capacity(groups.len());
        for (group, members) in (0..).zip(groups) {
            let members = check(&**topology, group, members)?;
            maker.make_all(group, &members, senders.get(group as usize))?;
            sorted.push(members);
        }
        let numbering = Numbering {
            classes: self.classes_for(&**topology, builder.folds(), routing.kind()),
            // Packets of these trees go only one way over a channel, or one order serves both ways.
            folds: builder.folds() || (self.directed && builder.any_root()),
            levels: (0..topology.class_names().len())
                .map(|class| builder.levels_on(ChannelClass(class as u8)))
                .collect(),
            routing,
        };
        Trees::new(&**topology, &numbering, sorted, &maker.made)
    }
}

impl TreesSpec {
    fn builder(&self, topology: &Arc<dyn Topology>) -> Result<Box<dyn Builder>, TreeError> {
        if self.count == 0 { Err(TreeError::NoTrees) } else { self.build.bind(topology, self.count) }
    }

    /// Returns, by group, whether the tables have room for its trees beside those of the groups taken before it, and
    /// `admits` then takes it. `admits` gets the number of the group and the switches of its trees in ascending order.
    /// Removing the groups that are not taken does not change the trees of the others. Senders are as for `build_for`.
    ///
    /// # Errors
    /// As for `build`, except for tables without room.
    pub fn fitting(
        &self,
        topology: &Arc<dyn Topology>,
        (groups, senders): (&[Vec<NodeId>], &[Vec<NodeId>]),
        admits: &mut dyn FnMut(usize, &[RouterId]) -> bool,
    ) -> Result<Vec<bool>, TreeError> {
        let builder = self.builder(topology)?;
        let mut maker = Maker::new(self, &**topology, &*builder);
        let fits = |(group, members): (u32, &Vec<NodeId>)| {
            let members = check(&**topology, group, members)?;
            let before = maker.load.clone();
            let fits = match maker.make_all(group, &members, senders.get(group as usize)) {
                Ok(()) => admits(group as usize, &maker.made_switches()),
                Err(TreeError::TableFull { .. }) => false,
                Err(other) => return Err(other),
            };
            maker.made.clear();
            if !fits {
                maker.load = before;
            }
            Ok(fits)
        };
        (0..).zip(groups).map(fits).collect()
    }
}

/// Returns the members in ascending order.
fn check(topology: &dyn Topology, group: u32, members: &[NodeId]) -> Result<Vec<NodeId>, TreeError> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(TreeError::Repeated { group, node: pair[0] });
    }
    let nodes = topology.nodes();
    match sorted.last() {
        None => Err(TreeError::NoMembers { group }),
        Some(&node) if node.0 >= nodes => Err(TreeError::NoSuchNode { group, node, nodes }),
        Some(_) => Ok(sorted),
    }
}

struct Maker<'a> {
    topology: &'a dyn Topology,
    builder: &'a dyn Builder,
    spec: &'a TreesSpec,
    load: TreeLoad,
    made: Vec<Made>,
}

impl<'a> Maker<'a> {
    /// Creates a maker without trees.
    fn new(spec: &'a TreesSpec, topology: &'a dyn Topology, builder: &'a dyn Builder) -> Self {
        Self { topology, builder, spec, load: TreeLoad::new(topology), made: Vec::new() }
    }

    /// Makes the trees of a group. Directed trees have one sender each: the given senders, or all members.
    fn make_all(&mut self, group: u32, members: &[NodeId], senders: Option<&Vec<NodeId>>) -> Result<(), TreeError> {
        if !self.spec.directed {
            return self.make(group, members, None);
        }
        let senders = senders.map_or(members, |senders| senders);
        senders.iter().try_for_each(|&sender| self.make(group, members, Some(sender)))
    }

    /// Makes trees of a group that are edge-disjoint to one another.
    fn make(&mut self, group: u32, members: &[NodeId], sender: Option<NodeId>) -> Result<(), TreeError> {
        for number in 0..self.spec.count {
            let Some(tree) = self.builder.build(&Request { members, sender, number }, &self.load) else {
                if number > 0 && self.spec.or_fewer {
                    break;
                }
                return Err(match number {
                    0 => TreeError::Apart { group },
                    found => TreeError::TooFew { group, kind: self.builder.kind(), wanted: self.spec.count, found },
                });
            };
            self.load.add(self.topology, &tree);
            self.check_tables(group, &tree)?;
            self.made.push(Made { tree, group, sender });
        }
        self.load.release();
        Ok(())
    }

    /// Returns the switches of all trees made so far, in ascending order.
    fn made_switches(&self) -> Vec<RouterId> {
        let of = |made: &Made| {
            std::iter::once(made.tree.root).chain(made.tree.steps.iter().map(|step| step.router)).collect()
        };
        let mut switches: Vec<RouterId> = self.made.iter().flat_map(|made| -> Vec<RouterId> { of(made) }).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }

    /// Refuses a tree that does not fit into the tables of its switches.
    fn check_tables(&self, group: u32, tree: &Tree) -> Result<(), TreeError> {
        let Some(limit) = self.spec.table_entries else { return Ok(()) };
        let mut switches = std::iter::once(tree.root).chain(tree.steps.iter().map(|step| step.router));
        match switches.find(|&switch| self.load.through(switch) > limit) {
            Some(router) => {
                Err(TreeError::TableFull { router, name: router_name(self.topology, router), group, limit })
            }
            None => Ok(()),
        }
    }
}
