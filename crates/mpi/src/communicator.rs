//! Communicators: groups of ranks whose messages match only each other.
//!
//! A communicator is a group of ranks, numbered from 0 as its *members*, and a [`Context`], which its messages carry.
//! Communicators without a common rank may share a context, for example the parts of one split.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

mod islands;

pub use islands::{IslandError, Islands};

/// Context of a communicator: a message matches only receives of an equal context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Context(u32);
units::record!(Context { 0 });

impl Context {
    /// Context of the communicator of all ranks. Default of sends and receives.
    pub const WORLD: Self = Self(0);

    /// Maximum number of contexts of communicators.
    pub const MOST: u32 = 1 << 29;

    /// Bit that marks contexts of collective operations.
    const COLLECTIVE: u32 = 1 << 29;

    /// Returns the context of communicator `number`. `None` unless `number` is below [`Self::MOST`].
    pub const fn new(number: u32) -> Option<Self> {
        if number < Self::MOST { Some(Self(number)) } else { None }
    }

    /// Returns the context of the communicator's collective operations, whose messages match no other receive.
    #[must_use]
    pub const fn collective(self) -> Self {
        Self(self.0 | Self::COLLECTIVE)
    }

    /// Returns the context of the groups of islands in the switches, given that of collective operations.
    #[must_use]
    pub const fn of_islands(self) -> Self {
        Self(self.0 | Self::COLLECTIVE << 1)
    }

    /// Returns the context of the groups of rails in the switches, given that of collective operations.
    #[must_use]
    pub const fn of_rails(self) -> Self {
        Self(self.0 | Self::COLLECTIVE << 2)
    }

    /// Returns whether this is a context of collective operations.
    pub const fn is_collective(self) -> bool {
        self.0 & Self::COLLECTIVE != 0
    }

    /// Returns the number of the communicator.
    pub const fn number(self) -> u32 {
        self.0 & (Self::COLLECTIVE - 1)
    }

    /// Returns the whole context as an integer of 30 bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the context whose [`Self::bits`] are `bits`.
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

/// Ordered ranks of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// Arithmetic progression of ranks.
    Progression {
        /// First rank.
        first: u32,
        /// Distance between consecutive ranks; at least 1 unless there is one rank.
        stride: u32,
        /// Number of ranks.
        count: u32,
    },
    /// List in which one rank is replaced by another.
    Headed {
        /// List before the replacement.
        ranks: Arc<[u32]>,
        /// Member that is replaced.
        member: u32,
        /// Rank that replaces it.
        rank: u32,
    },
    /// Section of a list.
    List {
        /// List, which groups may share.
        ranks: Arc<[u32]>,
        /// Index of the first rank of the group in the list.
        first: u32,
        /// Number of ranks.
        count: u32,
    },
}

impl Group {
    /// Creates the group of all ranks of a program of `ranks` ranks.
    pub const fn all(ranks: u32) -> Self {
        Self::Progression { first: 0, stride: 1, count: ranks }
    }

    /// Creates a group from a list without repeated ranks.
    pub fn list(ranks: impl Into<Arc<[u32]>>) -> Self {
        let ranks = ranks.into();
        Self::List { first: 0, count: ranks.len() as u32, ranks }
    }

    /// Returns the number of ranks.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Progression { count, .. } | Self::List { count, .. } => *count,
            Self::Headed { ranks, .. } => ranks.len() as u32,
        }
    }

    /// Returns whether the group has no ranks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rank of `member`, which is below `len`.
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

    /// Returns the ranks if they are consecutive and in ascending order.
    pub fn range(&self) -> Option<Range<u32>> {
        match *self {
            Self::Progression { first, stride: 1, count } => Some(first..first + count),
            _ => None,
        }
    }

    /// Returns the member that `rank` is. `None` if `rank` does not belong to the group. Lists are searched linearly.
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

/// Communicator, as seen by one of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    context: Context,
    group: Group,
    own: u32,
    nodes: Option<Arc<NodeGroups>>,
}

impl Communicator {
    /// Creates the communicator of all `ranks` ranks, as seen by `rank`.
    pub const fn world(rank: u32, ranks: u32) -> Self {
        Self { context: Context::WORLD, group: Group::all(ranks), own: rank, nodes: None }
    }

    /// Creates the communicator of `group`, as seen by `rank`. `None` if `rank` is not a member.
    pub fn new(context: Context, group: Group, rank: u32) -> Option<Self> {
        let own = group.member(rank)?;
        Some(Self { context, group, own, nodes: None })
    }

    /// Adds the nodes of the members, which hierarchical operations need.
    #[must_use]
    pub fn on_nodes(self, nodes: Arc<NodeGroups>) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    /// Returns the part of this communicator whose members have the colour of the own member. Members of equal colour
    /// keep their order (as in MPI's split with equal keys). `None` if the own member has no colour.
    #[must_use]
    pub fn split(&self, context: Context, colour: impl Fn(u32) -> Option<u32>) -> Option<Self> {
        let own = colour(self.own)?;
        let members = (0..self.len()).filter(|&member| colour(member) == Some(own));
        let ranks: Vec<u32> = members.map(|member| self.group.rank(member)).collect();
        Self::new(context, Group::list(ranks), self.rank(self.own))
    }

    /// Returns the context that its messages carry.
    #[inline]
    pub const fn context(&self) -> Context {
        self.context
    }

    /// Returns the ranks of the communicator.
    #[inline]
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> u32 {
        self.group.len()
    }

    /// Returns whether the communicator has no members.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// Returns the own member: the one whose view this is.
    #[inline]
    pub const fn own(&self) -> u32 {
        self.own
    }

    /// Returns the rank of `member`, which is below `len`.
    #[inline]
    pub fn rank(&self, member: u32) -> u32 {
        self.group.rank(member)
    }

    /// Returns the nodes of the members. `None` if they are not known.
    pub const fn nodes(&self) -> Option<&Arc<NodeGroups>> {
        self.nodes.as_ref()
    }
}

/// Members of a communicator, grouped by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroups {
    /// Ranks, node by node, in the order of first members. The first rank of each node is its leader.
    ranks: Arc<[u32]>,
    /// Index in `ranks` of the first rank of each node. The last entry is the number of ranks.
    first: Vec<u32>,
    /// Leaders, in the order of nodes.
    leaders: Arc<[u32]>,
    /// Node of each member, as an index in the order of nodes.
    node_of: Vec<u32>,
    /// Collective operations of the leaders' group that switches carry out.
    service: OffloadScope,
    /// Number of each node in the machine.
    numbers: Vec<u32>,
    /// Islands of the members.
    islands: Result<Arc<Islands>, IslandError>,
    /// Collective operations of the groups of islands and rails that switches carry out.
    islands_service: OffloadScope,
}

/// Collective operations of a group that switches carry out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OffloadScope {
    /// All operations that switches support.
    #[default]
    All,
    /// Operations that copy, and operations that combine at most this many bytes.
    UpTo(u64),
    /// None: the switches have no room for the group.
    Nothing,
}

impl OffloadScope {
    /// Returns the operations that both scopes include.
    fn less(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::UpTo(one), Self::UpTo(other)) => Self::UpTo(one.min(other)),
            (Self::All, limited) | (limited, Self::All) => limited,
        }
    }

    /// Returns whether switches carry out an operation of `bytes` bytes. `combines` tells whether the operation
    /// combines or copies.
    pub const fn includes(self, combines: bool, bytes: u64) -> bool {
        match self {
            Self::All => true,
            Self::UpTo(most) => !combines || bytes <= most,
            Self::Nothing => false,
        }
    }
}

/// Groups with operations that switches do not carry out. The key is the context of the group's collective operations
/// and the first rank of the group.
pub type OffloadLimits = BTreeMap<(Context, u32), OffloadScope>;

/// Interconnect of a job's ranks, as collective operations see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interconnect {
    /// Groups with operations that switches do not carry out.
    pub limits: OffloadLimits,
    /// Island of each node in the first of several networks. `None`: the node has no port there. Empty if there is one
    /// network.
    pub islands: Arc<[Option<u32>]>,
}

impl NodeGroups {
    /// Groups the members of `group` by node. `node_of_rank` gives the node of each rank.
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
        let numbers = nodes.iter().map(|members| members[0].0).collect();
        Self {
            ranks: ranks.into(),
            first,
            leaders,
            node_of,
            service: OffloadScope::All,
            numbers,
            islands: Err(IslandError::OneNetwork),
            islands_service: OffloadScope::All,
        }
    }

    /// Adds the islands of the members of the communicator with `context`, and the operations that switches carry out for
    /// its groups. Without an entry in the limits: all operations.
    #[must_use]
    pub fn among(self, interconnect: &Interconnect, context: Context) -> Self {
        let context = context.collective();
        let limit = |context: Context, first: u32| interconnect.limits.get(&(context, first)).copied();
        let service = limit(context, self.leaders.first().copied().unwrap_or(u32::MAX)).unwrap_or_default();
        let islands = Islands::of((&self.ranks, &self.numbers), &interconnect.islands).map(Arc::new);
        let of = |own: &Arc<Islands>| {
            let within = (0..own.count()).filter_map(|island| limit(context.of_islands(), own.island(island).rank(0)));
            let across = (0..own.size()).filter_map(|place| limit(context.of_rails(), own.rail(place).rank(0)));
            within.chain(across).reduce(OffloadScope::less).unwrap_or_default()
        };
        let islands_service = islands.as_ref().map_or(OffloadScope::All, of);
        Self { service, islands, islands_service, ..self }
    }

    /// Returns the islands of the members.
    ///
    /// # Errors
    /// If the members are not in islands of equal size, one on each node.
    pub const fn islands(&self) -> Result<&Arc<Islands>, IslandError> {
        match &self.islands {
            Ok(islands) => Ok(islands),
            Err(error) => Err(*error),
        }
    }

    /// Returns the operations of the groups of islands and rails that switches carry out.
    pub const fn islands_service(&self) -> OffloadScope {
        self.islands_service
    }

    /// Sets the leaders' operations that switches carry out.
    #[must_use]
    pub fn served(self, service: OffloadScope) -> Self {
        Self { service, ..self }
    }

    /// Returns the leaders' operations that switches carry out.
    pub const fn service(&self) -> OffloadScope {
        self.service
    }

    /// Returns the node of `member`, as an index in the order of nodes.
    pub fn node(&self, member: u32) -> u32 {
        self.node_of[member as usize]
    }

    /// Returns the ranks on `node`.
    pub fn of_node(&self, node: u32) -> Group {
        let (first, end) = (self.first[node as usize], self.first[node as usize + 1]);
        Group::List { ranks: Arc::clone(&self.ranks), first, count: end - first }
    }

    /// Returns the number of members on the nodes before `node`. If `node` is the number of nodes, returns the number
    /// of all members.
    #[inline]
    pub fn first(&self, node: u32) -> u32 {
        self.first[node as usize]
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> u32 {
        self.leaders.len() as u32
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.leaders.is_empty()
    }

    /// Returns the ranks of all members, node by node.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Returns the leaders of all nodes, with `rank` as the leader of `node`.
    pub fn heads(&self, node: u32, rank: u32) -> Group {
        Group::Headed { ranks: Arc::clone(&self.leaders), member: node, rank }
    }

    /// Returns the leaders of all nodes.
    pub fn leaders(&self) -> Group {
        Group::List { ranks: Arc::clone(&self.leaders), first: 0, count: self.leaders.len() as u32 }
    }
}
