//! Tables of the switches.

use std::ops::Range;

use topology::{ChannelClass, Topology};
use units::{NodeId, PlaneId, PortId, RouterId, VcClass};

use super::classes::{Classes, Numbering};
use super::drafts::{Direction, Made, TreeBuilder, attachment};
use super::error::TreeError;

/// Exit: a port of a tree at a switch, as an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Entry of the tree at the far end. `Exit::NODE` if the far end is a member.
    pub next: u32,
    /// Port of the exit.
    pub port: PortId,
    /// Class of virtual channels on which packets of the tree leave by the exit.
    pub vc_class: VcClass,
}

impl Exit {
    /// Value of `next` for a member at the far end.
    pub const NODE: u32 = u32::MAX;
}

/// Entry: a tree at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Switch.
    pub router: RouterId,
    /// Number of the tree, its collective address.
    pub tree: u32,
    first_exit: u32,
    first_word: u32,
    exits: u16,
    /// Index of the exit that leads up.
    up: u16,
}

/// Value of `up` if no exit leads up.
const NO_UP: u16 = u16::MAX;

/// Memory of the table of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableMemory {
    /// Number of entries: trees through the switch.
    pub entries: u32,
    /// Bits of the entries: one for each port of the switch, and in an undirected tree the bits of a number for its
    /// ports and "none", for the way up.
    pub bits: u64,
}

/// Tables of all switches. Entries are numbered switch by switch and, within a switch, by tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trees {
    entries: Vec<TreeEntry>,
    exits: Vec<Exit>,
    /// Bit vectors of ports.
    words: Vec<u64>,
    /// By router, its first entry, with one more at the end.
    first: Vec<u32>,
    /// By group, its first tree, with one more at the end.
    groups: Vec<u32>,
    /// By group, its members in ascending order.
    members: Vec<Vec<NodeId>>,
    about: Vec<About>,
    /// By class of channels, the number of VC classes beyond the routing's.
    beyond: Vec<u8>,
    /// By class of channels, the number of VC classes of the routing and the trees together.
    all: Vec<u8>,
}

/// Properties of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    group: u32,
    root: u32,
    depth: u32,
    switches: u32,
    sender: Option<NodeId>,
    /// Plane, if the topology has several networks or planes.
    plane: Option<PlaneId>,
}

impl Trees {
    /// Creates the tables of trees, group by group. Members are in ascending order.
    pub(super) fn new(
        topology: &dyn Topology,
        numbering: &Numbering<'_>,
        members: Vec<Vec<NodeId>>,
        made: &[Made],
    ) -> Result<Self, TreeError> {
        let mut drafts = Vec::new();
        let mut places: Vec<(RouterId, u32)> = Vec::new();
        for (tree, made) in (0..).zip(made) {
            TreeBuilder::add_all(topology, (tree, made), &members[made.group as usize], &mut drafts);
            places.push((made.tree.root, tree));
            places.extend(made.tree.steps.iter().map(|step| (step.router, tree)));
        }
        places.sort_unstable();
        drafts.sort_unstable_by_key(|draft| (draft.router, draft.tree, draft.port));
        let words: u64 = places.iter().map(|&(router, _)| u64::from(topology.ports(router).div_ceil(64))).sum();
        let size = drafts.len().max(places.len()) as u64;
        if size.max(words) >= u64::from(Exit::NODE) {
            return Err(TreeError::TooLarge { exits: size.max(words), most: u64::from(Exit::NODE) - 1 });
        }
        let classes = Classes::count(topology, numbering, &drafts)?;
        let mut tables = Self {
            entries: Vec::with_capacity(places.len()),
            exits: Vec::with_capacity(drafts.len()),
            words: Vec::with_capacity(words as usize),
            first: Vec::with_capacity(topology.routers() as usize + 1),
            groups: (0..=members.len())
                .map(|group| made.partition_point(|made| (made.group as usize) < group) as u32)
                .collect(),
            members,
            about: Vec::with_capacity(made.len()),
            beyond: classes.beyond.clone(),
            all: classes.all.clone(),
        };
        tables
            .first
            .extend((0..=topology.routers()).map(|router| places.partition_point(|place| place.0.0 < router) as u32));
        let mut left = &drafts[..];
        for &place in &places {
            let count = left.partition_point(|draft| (draft.router, draft.tree) <= place);
            let (own, others) = left.split_at(count);
            left = others;
            let directed = made[place.1 as usize].sender.is_some();
            tables.add_entry((topology, &classes), &places, (place, own), directed);
        }
        for (tree, made) in (0..).zip(made) {
            let root = places.partition_point(|&place| place < (made.tree.root, tree)) as u32;
            let (depth, switches) = (made.tree.depth, made.tree.steps.len() as u32 + 1);
            let Made { group, sender, plane, .. } = *made;
            tables.about.push(About { group, root, depth, switches, sender, plane });
        }
        Ok(tables)
    }

    /// Adds the entry of a tree at a switch, with its exits.
    fn add_entry(
        &mut self,
        (topology, classes): (&dyn Topology, &Classes),
        places: &[(RouterId, u32)],
        ((router, tree), drafts): ((RouterId, u32), &[TreeBuilder]),
        directed: bool,
    ) {
        let (first_exit, first_word) = (self.exits.len() as u32, self.words.len());
        self.words.resize(first_word + usize::from(topology.ports(router).div_ceil(64)), 0);
        let entry_at = |far: RouterId| places.partition_point(|&place| place < (far, tree)) as u32;
        for draft in drafts {
            let next = match draft.to {
                Direction::Up(far, _) | Direction::Down(far, _) => entry_at(far),
                Direction::Member => Exit::NODE,
            };
            let port = draft.port.index();
            self.words[first_word + port / 64] |= 1 << (port % 64);
            self.exits.push(Exit { next, port: draft.port, vc_class: classes.of(topology, draft) });
        }
        // Nothing is combined on a directed tree.
        let leads_up = |draft: &TreeBuilder| !directed && matches!(draft.to, Direction::Up(..));
        let up = drafts.iter().position(leads_up);
        self.entries.push(TreeEntry {
            router,
            tree,
            first_exit,
            first_word: first_word as u32,
            exits: drafts.len() as u16,
            up: up.map_or(NO_UP, |up| up as u16),
        });
    }

    /// Returns the number of trees.
    pub fn len(&self) -> u32 {
        self.about.len() as u32
    }

    /// Returns whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.about.is_empty()
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> u32 {
        self.members.len() as u32
    }

    /// Returns the trees of a group: edge-disjoint ones, or, for a directed group, the trees of each sender in
    /// ascending order.
    pub fn trees_of(&self, group: u32) -> Range<u32> {
        self.groups[group as usize]..self.groups[group as usize + 1]
    }

    /// Returns the trees on which a member of a group sends: all trees of the group, or its own if trees are directed.
    #[inline]
    pub fn trees_for(&self, group: u32, sender: NodeId) -> Range<u32> {
        let all = self.trees_of(group);
        let about = &self.about[all.start as usize..all.end as usize];
        if about.first().is_none_or(|first| first.sender.is_none()) {
            return all;
        }
        let first = about.partition_point(|own| own.sender < Some(sender)) as u32;
        let end = about.partition_point(|own| own.sender <= Some(sender)) as u32;
        all.start + first..all.start + end
    }

    /// Returns the group of a tree.
    pub fn group_of(&self, tree: u32) -> u32 {
        self.about[tree as usize].group
    }

    /// Returns the members of a group, in ascending order.
    pub fn members_of(&self, group: u32) -> &[NodeId] {
        &self.members[group as usize]
    }

    /// Returns the members of a tree, in ascending order.
    pub fn members(&self, tree: u32) -> &[NodeId] {
        &self.members[self.group_of(tree) as usize]
    }

    /// Returns the only member that sends on a tree, if it is directed.
    pub fn sender(&self, tree: u32) -> Option<NodeId> {
        self.about[tree as usize].sender
    }

    /// Returns the plane of a tree, counted over all networks.
    pub fn plane(&self, tree: u32) -> PlaneId {
        self.about[tree as usize].plane.unwrap_or_default()
    }

    /// Returns the switch of a member in the plane of a tree, and its port there.
    #[inline]
    pub fn attachment(&self, topology: &dyn Topology, tree: u32, member: NodeId) -> (RouterId, PortId) {
        attachment(topology, self.about[tree as usize].plane, member)
    }

    /// Returns the entry of a tree's root, its top switch.
    pub fn root(&self, tree: u32) -> u32 {
        self.about[tree as usize].root
    }

    /// Returns the number of channels from the farthest member's switch to the root.
    pub fn depth(&self, tree: u32) -> u32 {
        self.about[tree as usize].depth
    }

    /// Returns the number of switches that a tree passes through.
    pub fn switches(&self, tree: u32) -> u32 {
        self.about[tree as usize].switches
    }

    /// Returns the number of entries of all switches.
    pub fn entries(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Returns the entry of a tree at a switch, if the tree passes through it. A packet from a node is looked up by it.
    /// Further entries are given by `Exit::next`.
    pub fn entry_at(&self, router: RouterId, tree: u32) -> Option<u32> {
        let own = self.entries_of(router);
        let place = self.entries[own.start as usize..own.end as usize].partition_point(|entry| entry.tree < tree);
        let entry = own.start + place as u32;
        (entry < own.end && self.entries[entry as usize].tree == tree).then_some(entry)
    }

    /// Returns the entries of a switch, in the order of trees.
    pub fn entries_of(&self, router: RouterId) -> Range<u32> {
        self.first[router.index()]..self.first[router.index() + 1]
    }

    /// Returns an entry.
    #[inline]
    pub fn entry(&self, entry: u32) -> &TreeEntry {
        &self.entries[entry as usize]
    }

    /// Returns the exits of an entry, in the order of ports.
    #[inline]
    pub fn exits(&self, entry: u32) -> &[Exit] {
        let TreeEntry { first_exit, exits, .. } = self.entries[entry as usize];
        &self.exits[first_exit as usize..][..usize::from(exits)]
    }

    /// Returns the exit toward the root. `None` at the root, and on directed trees.
    #[inline]
    pub fn up(&self, entry: u32) -> Option<&Exit> {
        match self.entries[entry as usize].up {
            NO_UP => None,
            up => self.exits(entry).get(usize::from(up)),
        }
    }

    /// Returns the exit toward a member, by which a packet that a switch has combined goes on to that member. Found by
    /// going up from the member's switch. `None`: the node is no member.
    pub fn toward(&self, topology: &dyn Topology, entry: u32, member: NodeId) -> Option<&Exit> {
        let tree = self.entry(entry).tree;
        let (router, port) = self.attachment(topology, tree, member);
        let mut at = self.entry_at(router, tree)?;
        if at == entry {
            return self.exits(entry).iter().find(|exit| exit.port == port);
        }
        while let Some(&Exit { next, .. }) = self.up(at) {
            if next == entry {
                return self.exits(entry).iter().find(|exit| exit.next == at);
            }
            at = next;
        }
        self.up(entry)
    }

    /// Returns whether a port is in the bit vector of an entry.
    #[inline]
    pub fn has_port(&self, entry: u32, port: PortId) -> bool {
        let word = self.entries[entry as usize].first_word as usize + port.index() / 64;
        self.words[word] >> (port.index() % 64) & 1 != 0
    }

    /// Iterates over the exits of a packet: all except its arrival port.
    #[inline]
    pub fn exits_but(&self, entry: u32, arrival: PortId) -> impl Iterator<Item = &Exit> {
        self.exits(entry).iter().filter(move |exit| exit.port != arrival)
    }

    /// Returns the number of VC classes that trees need on a class of channels beyond the routing's.
    pub fn classes_on(&self, class: ChannelClass) -> u8 {
        self.beyond[usize::from(class.0)]
    }

    /// Returns the number of VC classes of the routing and the trees together: the maximum over all classes of
    /// channels.
    pub fn classes(&self) -> u8 {
        self.all.iter().copied().max().unwrap_or(1)
    }

    /// Returns the memory of the table of a switch.
    pub fn memory(&self, topology: &dyn Topology, router: RouterId) -> TableMemory {
        let ports = u64::from(topology.ports(router));
        let way_up = u64::from((ports + 1).next_power_of_two().ilog2());
        let own = self.entries_of(router);
        let bits = |entry| ports + if self.sender(self.entry(entry).tree).is_some() { 0 } else { way_up };
        TableMemory { entries: own.len() as u32, bits: own.map(bits).sum() }
    }

    /// Returns the switch with the largest table, the lowest in a tie. `None`: there are no trees.
    pub fn fullest(&self, topology: &dyn Topology) -> Option<(RouterId, TableMemory)> {
        let used = (0..topology.routers()).map(RouterId).map(|router| (self.memory(topology, router), router));
        let most = used.max_by_key(|&(memory, router)| (memory, std::cmp::Reverse(router)))?;
        (most.0.entries > 0).then_some((most.1, most.0))
    }

    /// Returns the bytes of the tables in a simulation.
    pub fn bytes(&self) -> u64 {
        let nodes: usize = self.members.iter().map(Vec::len).sum();
        (size_of_val(&self.entries[..])
            + size_of_val(&self.exits[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.about[..])
            + 4 * (self.first.len() + self.groups.len() + nodes)) as u64
    }
}
