//! Operations in the switches: what the members of groups on an executor's nodes send and receive.
//!
//! An operation is a list of *items*, each cut into segments of at most a packet, of which the network copies (multicast) or combines
//! each by itself:
//!
//! | operation | items | what the network does |
//! |---|---|---|
//! | broadcast | one | copies the root's segments to all others |
//! | allgather | one of each member | copies its segments to all others |
//! | allreduce, barrier | one | combines the segments of all, and gives all the result |
//! | reduce | one | combines the segments of all but the root, which gets the result |
//! | reduce-scatter | one for each member | combines the segments of all others, and the member gets the result |
//!
//! An item without bytes is a segment of a control message's size. Who gets a result alone combines its own data with it in memory.
//! All members of a group number its segments alike, through all operations, which each calls in the same order.
//!
//! A member pays the send overhead once an operation, if it sends anything. Then its segments go to the interface in order; to its parts, an
//! item is a message of which they are the packets. It pays the receive overhead when all has come that it gets, and then the
//! operation ends; that of a member that gets nothing ends when its last segment has been handed to the interface.
//!
//! **Flow control.** What switches hold of a group is bounded by a *window* of segments: a member sends segment s of what is combined
//! when all segments up to s - window are known to be finished. A segment is when its result has come or, where one member gets the
//! result and the others get nothing of it, when that one says so: each half window of results, and at the end of the item, it multicasts a
//! packet of a control message's size that acknowledges all of the item so far. Interfaces do that by themselves, without overheads; the
//! member has to have called the operation, so that there is room for the result. What is copied needs no window, and is finished from the
//! beginning. This is a choice of the model: the paper that the switches follow (Kumar, Kalé and Stunkel) leaves open what keeps partial
//! sums from being more than there is room for.
//!
//! **Operations under way.** Where no more than so many operations of a group may be under way (`GroupParams::outstanding`), a member sends
//! nothing of one that is combined before the one that comes so many before it is finished, to its knowledge: as for segments. Of streams,
//! operations larger than a limit, fewer may be. Segments of others may be smaller.
//!
//! What arrives for an operation that the rank has not called waits for it, in memory ([`early`]).

mod early;
mod elements;
mod member;
mod operation;
mod receiving;
mod sending;
mod starting;

use std::sync::Arc;

use workload::program::{Context, GroupCall};

use super::{Executor, OpId};
use crate::context::{GroupArrival, GroupPacket};
use crate::groups::Groups;
use crate::report::Wait;
use crate::slab::Slab;

pub use elements::CheckedElements;
use elements::Elements;
use member::Member;
use operation::Items;
pub use operation::{GroupPackets, Work as SegmentWork, group_items};

/// An operation of a member that has not ended.
#[derive(Clone, Copy, Debug)]
struct Called {
    op: OpId,
    /// What its program knows it by.
    id: u32,
    /// The member, and the operation's first segment.
    member: u32,
    first: u32,
}

/// A packet that passes the interface of its receiver.
#[derive(Clone, Copy, Debug)]
struct PassingPacket {
    member: u32,
    arrival: GroupArrival,
}

/// The members of groups on an executor's nodes.
#[derive(Debug)]
pub(super) struct Memberships {
    groups: Arc<Groups>,
    /// By rank, its node.
    nodes: Arc<[u32]>,
    /// In the order of nodes here, and of groups.
    members: Vec<Member>,
    /// By node here, its first member; one entry more.
    first: Vec<u32>,
    /// By rank here and context, the member; in ascending order.
    of_ranks: Vec<((u32, Context), u32)>,
    called: Slab<Called>,
    passing: Slab<PassingPacket>,
    /// By node here, how many packets have arrived: events of an instant are ordered by that.
    arrived: Vec<u32>,
    /// By node here, the packet that was taken last.
    given: Vec<GroupPacket>,
    /// By group, the items of the operation that was called last, if they are not even.
    items: Vec<Option<(GroupCall, Items)>>,
    /// Operations that have waited for those of their group before them, since no more may be under way.
    waited: u64,
    /// Whether all that has come was what it had to be.
    verified: bool,
    /// What has been found of the elements of results.
    elements: Elements,
}

impl Memberships {
    /// The member that a rank, by its number here, is in the group that it knows by a context.
    fn find(&self, rank: u32, context: Context) -> Option<u32> {
        let found = self.of_ranks.binary_search_by_key(&(rank, context), |own| own.0).ok()?;
        Some(self.of_ranks[found].1)
    }

    /// The member that a node, by its number here, has in a group.
    fn at_node(&self, node: usize, group: u32) -> Option<u32> {
        let (first, end) = (self.first[node] as usize, self.first[node + 1] as usize);
        let found = self.members[first..end].binary_search_by_key(&group, |member| member.group).ok()?;
        Some((first + found) as u32)
    }

    /// What each member waits for that waits.
    pub fn waits<'a>(&'a self) -> impl Iterator<Item = (u32, Wait)> + 'a {
        self.members.iter().flat_map(|member| {
            let waiting = member.ops.iter().filter(|op| op.is_waiting());
            waiting.map(|op| (member.of, Wait::Group { operation: op.call.operation, group: member.group }))
        })
    }

    /// Operations that have not ended, and the most that there have been.
    pub fn outstanding(&self) -> (usize, usize) {
        (self.called.len(), self.called.places())
    }
}

impl Executor {
    /// Has ranks take part in operations in the switches, as members of groups whose other members may be other executors'. Each
    /// member has a node of its own. Before the programs begin.
    #[must_use]
    pub fn with_groups(mut self, groups: Arc<Groups>) -> Self {
        debug_assert!(self.wire.is_none(), "a network that carries messages whole has no switches");
        let mut members = Vec::new();
        for (number, group) in (0..).zip(groups.iter()) {
            for (member, &rank) in (0..).zip(&group.ranks).filter(|(_, rank)| self.placed.is_here(**rank)) {
                let node = self.placed.local_node(rank) as u32;
                members.push(Member::new((number, member), (rank, self.placed.number(rank)), node));
            }
        }
        members.sort_unstable_by_key(|own| (own.node, own.group));
        let is_alone = |pair: &[Member]| (pair[0].node, pair[0].group) != (pair[1].node, pair[1].group);
        debug_assert!(members.windows(2).all(is_alone), "two members of a group share a node");
        let nodes = self.placed.nodes();
        let first = (0..=nodes as u32).map(|node| members.partition_point(|own| own.node < node) as u32).collect();
        let key = |own: &Member| (own.rank, groups.get(own.group).context);
        let mut of_ranks: Vec<_> = members.iter().map(key).zip(0..).collect();
        of_ranks.sort_unstable();
        self.groups = Some(Box::new(Memberships {
            items: vec![None; groups.len()],
            nodes: Arc::clone(&self.placed.node_of),
            groups,
            members,
            first,
            of_ranks,
            called: Slab::default(),
            passing: Slab::default(),
            arrived: vec![0; nodes],
            given: vec![GroupPacket::NONE; nodes],
            waited: 0,
            verified: true,
            elements: Elements::default(),
        }));
        self
    }

    /// The packet for a group that `next_of` gave last for a node (where its `dst` is `Outgoing::GROUP`).
    pub fn group_packet(&self, node: usize) -> GroupPacket {
        self.groups.as_ref().map_or(GroupPacket::NONE, |own| own.given[node])
    }

    /// Operations of members in the switches that have waited for those of their group before them, since no more may be under way
    /// (`GroupParams::outstanding`, `streams`).
    pub fn group_waits(&self) -> u64 {
        self.groups.as_ref().map_or(0, |own| own.waited)
    }

    /// Whether every result had exactly the contributions of all who contribute, and their sum, and every copy was of what its source has
    /// sent; each has come once.
    pub fn verified(&self) -> bool {
        self.groups.as_ref().is_none_or(|own| own.verified)
    }
}
