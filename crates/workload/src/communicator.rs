//! Communicators: groups of ranks whose messages meet only one another.
//!
//! A communicator is a group of ranks, numbered from 0 as its *members*, and a [`Context`], which its messages carry. Communicators
//! without a common rank may share a context, as the parts of one split do.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

/// What keeps the messages of communicators apart: a message meets a receive of the same context only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Context(u32);

impl Context {
    /// That of the communicator of all ranks, which sends and receives have if they name no other.
    pub const WORLD: Self = Self(0);

    /// The most contexts of communicators.
    pub const MOST: u32 = 1 << 29;

    /// The bit of the contexts of collective operations.
    const COLLECTIVE: u32 = 1 << 29;

    /// That of a communicator with a number below [`Self::MOST`]; none of another.
    pub const fn new(number: u32) -> Option<Self> {
        if number < Self::MOST { Some(Self(number)) } else { None }
    }

    /// That of the communicator's collective operations, whose messages no other receive takes.
    #[must_use]
    pub const fn collective(self) -> Self {
        Self(self.0 | Self::COLLECTIVE)
    }

    /// Whether it is that of collective operations.
    pub const fn is_collective(self) -> bool {
        self.0 & Self::COLLECTIVE != 0
    }

    /// The number of its communicator.
    pub const fn number(self) -> u32 {
        self.0 & !Self::COLLECTIVE
    }

    /// All of it, in 30 bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// That of so many bits, as `bits` gives them.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl Display for Context {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match (self.is_collective(), self.number()) {
            (false, number) => write!(f, "communicator {number}"),
            (true, number) => write!(f, "the collective operations of communicator {number}"),
        }
    }
}

/// Ranks in an order: those of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// Every so many ranks.
    Progression {
        /// The first.
        first: u32,
        /// From one to the next; at least 1 unless there is one rank.
        stride: u32,
        /// How many there are.
        count: u32,
    },
    /// A list in which another rank stands for one.
    Headed {
        /// The list.
        ranks: Arc<[u32]>,
        /// Where that rank stands,
        member: u32,
        /// and the rank.
        rank: u32,
    },
    /// Part of a list.
    List {
        /// The list, which groups may share.
        ranks: Arc<[u32]>,
        /// Where the group begins in it.
        first: u32,
        /// How many there are.
        count: u32,
    },
}

impl Group {
    /// All of so many ranks.
    pub const fn all(ranks: u32) -> Self {
        Self::Progression { first: 0, stride: 1, count: ranks }
    }

    /// The ranks of a list, none of which comes twice.
    pub fn list(ranks: impl Into<Arc<[u32]>>) -> Self {
        let ranks = ranks.into();
        Self::List { first: 0, count: ranks.len() as u32, ranks }
    }

    /// How many ranks there are.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Progression { count, .. } | Self::List { count, .. } => *count,
            Self::Headed { ranks, .. } => ranks.len() as u32,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of a member, below `len`.
    #[inline]
    pub fn rank(&self, member: u32) -> u32 {
        match self {
            Self::Progression { first, stride, .. } => first + stride * member,
            Self::List { ranks, first, .. } => ranks[(first + member) as usize],
            Self::Headed { ranks, member: head, rank } => {
                if member == *head {
                    *rank
                } else {
                    ranks[member as usize]
                }
            }
        }
    }

    /// The member that a rank is, if it is one; of a list by a search.
    pub fn member(&self, rank: u32) -> Option<u32> {
        match self {
            Self::Progression { first, stride, count } => {
                let beyond = rank.checked_sub(*first)?;
                let member = beyond / (*stride).max(1);
                (member < *count && member * stride == beyond).then_some(member)
            }
            Self::Headed { .. } => (0..self.len()).find(|&member| self.rank(member) == rank),
            Self::List { ranks, first, count } => {
                let own = &ranks[*first as usize..(first + count) as usize];
                own.iter().position(|&other| other == rank).map(|member| member as u32)
            }
        }
    }
}

/// A communicator, as one of its members knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    context: Context,
    group: Group,
    own: u32,
    nodes: Option<Arc<NodeGroups>>,
}

impl Communicator {
    /// The communicator of all ranks, as a rank knows it.
    pub const fn world(rank: u32, ranks: u32) -> Self {
        Self { context: Context::WORLD, group: Group::all(ranks), own: rank, nodes: None }
    }

    /// The communicator of a group, as a rank knows it; none if the rank is no member.
    pub fn new(context: Context, group: Group, rank: u32) -> Option<Self> {
        let own = group.member(rank)?;
        Some(Self { context, group, own, nodes: None })
    }

    /// The same, whose members' nodes are known, so that operations can be hierarchical.
    #[must_use]
    pub fn on_nodes(self, nodes: Arc<NodeGroups>) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    /// The part of this communicator that has the colour of its own member: members of equal colour, in their order (as MPI's
    /// split does with equal keys). None if its own member has no colour.
    #[must_use]
    pub fn split(&self, context: Context, colour: impl Fn(u32) -> Option<u32>) -> Option<Self> {
        let own = colour(self.own)?;
        let members = (0..self.len()).filter(|&member| colour(member) == Some(own));
        let ranks: Vec<u32> = members.map(|member| self.group.rank(member)).collect();
        Self::new(context, Group::list(ranks), self.rank(self.own))
    }

    /// What its messages carry.
    #[inline]
    pub const fn context(&self) -> Context {
        self.context
    }

    /// Its ranks.
    #[inline]
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// How many members there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.group.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// The member that knows it so.
    #[inline]
    pub const fn own(&self) -> u32 {
        self.own
    }

    /// The rank of a member, below `len`.
    #[inline]
    pub fn rank(&self, member: u32) -> u32 {
        self.group.rank(member)
    }

    /// The nodes of its members, if they are known.
    pub const fn nodes(&self) -> Option<&Arc<NodeGroups>> {
        self.nodes.as_ref()
    }
}

/// The members of a communicator by the nodes that they run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroups {
    /// Ranks, node by node in the order of first members; the first of each is its leader.
    ranks: Arc<[u32]>,
    /// Where the nodes begin in `ranks`; one entry more.
    first: Vec<u32>,
    /// The leaders, in the order of nodes.
    leaders: Arc<[u32]>,
    /// By member, its node in this order.
    node_of: Vec<u32>,
    /// Which operations of the group of their leaders switches carry out.
    service: Service,
}

/// Which operations of a group switches carry out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// All that they can.
    #[default]
    All,
    /// Those that copy, and of those that combine the ones of so many bytes and less.
    UpTo(u64),
    /// None: they have no room for the group.
    Nothing,
}

impl Service {
    /// Whether an operation of so many bytes is carried out, which combines or else copies.
    pub const fn serves(self, combines: bool, bytes: u64) -> bool {
        match self {
            Self::All => true,
            Self::UpTo(most) => !combines || bytes <= most,
            Self::Nothing => false,
        }
    }
}

/// Groups of whose operations switches do not carry out all: by the context of their operations, and the first rank of each.
pub type Unserved = BTreeMap<(Context, u32), Service>;

impl NodeGroups {
    /// The members of a group by their nodes, by rank.
    pub fn new(group: &Group, node_of_rank: &[u32]) -> Self {
        let node = |member: u32| node_of_rank.get(group.rank(member) as usize).copied().unwrap_or(u32::MAX);
        let mut sorted: Vec<(u32, u32)> = (0..group.len()).map(|member| (node(member), member)).collect();
        sorted.sort_unstable();
        let mut nodes: Vec<&[(u32, u32)]> = sorted.chunk_by(|one, other| one.0 == other.0).collect();
        nodes.sort_unstable_by_key(|members| members[0].1);
        let mut node_of = vec![0; sorted.len()];
        let mut first = vec![0];
        let mut ranks = Vec::with_capacity(sorted.len());
        for (number, members) in (0..).zip(&nodes) {
            for &(_, member) in *members {
                node_of[member as usize] = number;
                ranks.push(group.rank(member));
            }
            first.push(ranks.len() as u32);
        }
        let leaders = nodes.iter().map(|members| group.rank(members[0].1)).collect();
        Self { ranks: ranks.into(), first, leaders, node_of, service: Service::All }
    }

    /// The same of a communicator with a context, where switches may not carry out all operations of the leaders.
    #[must_use]
    pub fn among(self, unserved: &Unserved, context: Context) -> Self {
        let first = self.leaders.first().copied().unwrap_or(u32::MAX);
        Self { service: unserved.get(&(context.collective(), first)).copied().unwrap_or_default(), ..self }
    }

    /// The same, where switches carry out some operations of the leaders.
    #[must_use]
    pub fn served(self, service: Service) -> Self {
        Self { service, ..self }
    }

    /// Which operations of the leaders switches carry out.
    pub const fn service(&self) -> Service {
        self.service
    }

    /// The node of a member, in the order of nodes.
    pub fn node(&self, member: u32) -> u32 {
        self.node_of[member as usize]
    }

    /// The ranks of a node.
    pub fn of_node(&self, node: u32) -> Group {
        let (first, end) = (self.first[node as usize], self.first[node as usize + 1]);
        Group::List { ranks: Arc::clone(&self.ranks), first, count: end - first }
    }

    /// How many members the nodes before one have; of the number of nodes, all.
    #[inline]
    pub fn first(&self, node: u32) -> u32 {
        self.first[node as usize]
    }

    /// How many nodes there are.
    pub fn len(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leaders.is_empty()
    }

    /// The ranks of all members, node by node.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The leaders of all nodes, but for one node another of its ranks.
    pub fn heads(&self, node: u32, rank: u32) -> Group {
        Group::Headed { ranks: Arc::clone(&self.leaders), member: node, rank }
    }

    /// The leaders of all nodes.
    pub fn leaders(&self) -> Group {
        Group::List { ranks: Arc::clone(&self.leaders), first: 0, count: self.leaders.len() as u32 }
    }
}
