//! Construction of the trees of groups in sequence, with the load of the previous trees known.

use std::collections::BTreeMap;
use std::sync::Arc;

use topology::families::networks::Part;
use topology::{ChannelClass, Topology};
use units::{NodeId, PlaneId, RouterId};

use super::builders::Builder;
use super::classes::{Numbering, Rule};
use super::drafts::Made;
use super::error::TreeError;
use super::load::TreeLoad;
use super::sites::{Site, network_of_group};
use super::spec::{TreeClasses, TreeSpec, TreesSpec};
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
        let mut maker = Maker::new(self, topology, groups)?;
        let mut sorted = Vec::with_capacity(groups.len());
        for (group, members) in (0..).zip(groups) {
            let members = check(&**topology, group, members)?;
            maker.make_all(group, &members, senders.get(group as usize))?;
            sorted.push(members);
        }
        Trees::new(&**topology, &maker.numbering(routing), sorted, &maker.made)
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
        let mut maker = Maker::new(self, topology, groups)?;
        let fits = |(group, members): (u32, &Vec<NodeId>)| {
            let members = check(&**topology, group, members)?;
            let site = maker.site(group, &members)?;
            let before = maker.loads_at(&site).clone();
            let fits = match maker.make_all(group, &members, senders.get(group as usize)) {
                Ok(()) => admits(group as usize, &maker.made_switches()),
                Err(TreeError::TableFull { .. }) => false,
                Err(other) => return Err(other),
            };
            maker.made.clear();
            if !fits {
                *maker.loads_at(&site) = before;
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
    spec: &'a TreesSpec,
    topology: &'a Arc<dyn Topology>,
    /// Builder of each network, if it has groups.
    builders: Vec<Option<Box<dyn Builder>>>,
    /// Loads of the planes of an island, by network and island.
    loads: BTreeMap<(usize, u32), Vec<TreeLoad>>,
    made: Vec<Made>,
}

impl<'a> Maker<'a> {
    /// Creates a maker without trees, for the networks of some groups.
    fn new(spec: &'a TreesSpec, topology: &'a Arc<dyn Topology>, groups: &[Vec<NodeId>]) -> Result<Self, TreeError> {
        let builders = match topology.views().networks {
            None => vec![Some(spec.builder(topology, 1)?)],
            Some(networks) => {
                let used = groups.iter().filter_map(|own| network_of_group(&**topology, own).ok());
                let used: Vec<usize> = used.collect();
                let of = |(number, part): (usize, &Part)| {
                    used.contains(&number).then(|| spec.builder(&part.island, part.planes)).transpose()
                };
                networks.parts().iter().enumerate().map(of).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { spec, topology, builders, loads: BTreeMap::new(), made: Vec::new() })
    }

    /// Returns the site of the trees of a group.
    fn site(&self, group: u32, members: &[NodeId]) -> Result<Site<'a>, TreeError> {
        Site::of(self.topology, members).ok_or_else(|| {
            let apart = network_of_group(&**self.topology, members).err().unwrap_or_default();
            TreeError::NoNetwork { group, apart }
        })
    }

    /// Returns the loads of the planes of a site.
    fn loads_at(&mut self, site: &Site<'_>) -> &mut Vec<TreeLoad> {
        let none = || vec![TreeLoad::new(&**site.topology); site.planes().len()];
        self.loads.entry((site.network, site.island)).or_insert_with(none)
    }

    /// Returns the numbering of the classes of virtual channels.
    fn numbering<'r>(&self, routing: &'r dyn Routing) -> Numbering<'r> {
        let networks = self.topology.views().networks;
        let rule = |(network, builder): (usize, &Option<Box<dyn Builder>>)| {
            // A network without trees has no classes of trees.
            let Some(builder) = builder else { return Rule { classes: TreeClasses::Shared, folds: true } };
            let island = networks.map_or(self.topology, |networks| &networks.parts()[network].island);
            let kind = routing.parts().get(network).map_or(routing.kind(), |own| own.kind());
            // Packets of these trees go only one way over a channel, or one order serves both ways.
            let folds = builder.folds() || (self.spec.directed && builder.any_root());
            Rule { classes: self.spec.classes_for(&**island, builder.folds(), kind), folds }
        };
        let levels = |class: ChannelClass| {
            let network = self.topology.network_of_class(class);
            let first = networks.map_or(0, |networks| networks.first_class(network).0);
            self.builders[network].as_ref().map_or(0, |builder| builder.levels_on(ChannelClass(class.0 - first)))
        };
        Numbering {
            rules: self.builders.iter().enumerate().map(rule).collect(),
            levels: (0..self.topology.class_names().len()).map(|class| levels(ChannelClass(class as u8))).collect(),
            routing,
        }
    }

    /// Makes the trees of a group. Directed trees have one sender each: the given senders, or all members.
    fn make_all(&mut self, group: u32, members: &[NodeId], senders: Option<&Vec<NodeId>>) -> Result<(), TreeError> {
        let site = self.site(group, members)?;
        let mut own: Vec<NodeId> = members.iter().map(|&node| site.own(node)).collect();
        own.sort_unstable();
        if !self.spec.directed {
            return self.make((group, &site), &own, None);
        }
        let senders = senders.map_or(members, |senders| senders);
        senders.iter().try_for_each(|&sender| self.make((group, &site), &own, Some(sender)))
    }

    /// Makes trees of a group, in the planes of its site in turn. Those of a plane are edge-disjoint. Members are
    /// numbered as in the island.
    fn make(
        &mut self,
        (group, site): (u32, &Site<'_>),
        members: &[NodeId],
        sender: Option<NodeId>,
    ) -> Result<(), TreeError> {
        let planes = site.planes();
        let count = self.spec.count.unwrap_or(planes.len() as u32);
        for number in 0..count {
            let (round, place) = (number / planes.len() as u32, number % planes.len() as u32);
            let request = Request { members, sender: sender.map(|node| site.own(node)), number: round };
            let Some(tree) = self.build_at(site, place, &request) else {
                if number > 0 && self.spec.or_fewer {
                    break;
                }
                let kind = self.builders[site.network].as_ref().map_or("", |builder| builder.kind());
                return Err(match round {
                    0 => TreeError::Apart { group },
                    _ => TreeError::TooFew { group, kind, wanted: count, found: number },
                });
            };
            let plane = PlaneId(planes.start + place as u8);
            let load = &mut self.loads_at(site)[place as usize];
            load.add(&**site.topology, &tree);
            let full = self.full_switch(site, place, &tree);
            let first = site.first_router(plane);
            if let (Some(switch), Some(limit)) = (full, self.spec.table_entries) {
                let router = RouterId(first + switch.0);
                return Err(TreeError::TableFull { router, name: router_name(&**self.topology, router), group, limit });
            }
            let plane = self.topology.views().networks.is_some().then_some(plane);
            self.made.push(Made { tree: tree.moved(first), group, sender, plane });
        }
        self.loads_at(site).iter_mut().for_each(TreeLoad::release);
        Ok(())
    }

    /// Builds a tree in a plane of a site, if there is one more.
    fn build_at(&mut self, site: &Site<'_>, place: u32, request: &Request<'_>) -> Option<Tree> {
        self.loads_at(site);
        let load = &self.loads.get(&(site.network, site.island))?[place as usize];
        self.builders[site.network].as_ref()?.build(request, load)
    }

    /// Returns a switch of a tree whose table is too small for it, if there is one.
    fn full_switch(&mut self, site: &Site<'_>, place: u32, tree: &Tree) -> Option<RouterId> {
        let limit = self.spec.table_entries?;
        let load = &self.loads_at(site)[place as usize];
        let mut switches = std::iter::once(tree.root).chain(tree.steps.iter().map(|step| step.router));
        switches.find(|&switch| load.through(switch) > limit)
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
}

impl TreesSpec {
    /// Returns the builder of trees in a network of `planes` planes.
    fn builder(&self, island: &Arc<dyn Topology>, planes: u32) -> Result<Box<dyn Builder>, TreeError> {
        if self.count == Some(0) {
            return Err(TreeError::NoTrees);
        }
        let build = self.build.unwrap_or_else(|| TreeSpec::default_for(&**island));
        build.bind(island, self.count.map_or(1, |count| count.div_ceil(planes)))
    }
}
