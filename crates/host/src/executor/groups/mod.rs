//! Operations in the switches: segments that the members of groups on an executor's nodes send and receive.
//!
//! An operation is a list of *items*, each cut into segments of at most a packet. The network copies (multicast) or
//! combines each segment independently:
//!
//! | operation | items | what the network does |
//! |---|---|---|
//! | broadcast | one | copies the root's segments to all others |
//! | allgather | one of each member | copies its segments to all others |
//! | allreduce, barrier | one | combines the segments of all, and gives all the result |
//! | reduce | one | combines the segments of all but the root, which gets the result |
//! | reduce-scatter | one for each member | combines the segments of all others, and the member gets the result |
//!
//! With owners (`GroupCall::owners`) the network copies to the source too, and combines the segments of all members for
//! the one that gets the result. An allreduce then has owners: members own segments in turn, each one for each tree.
//! The network combines a segment for its owner, which returns the result to all members, itself included, by a
//! multicast.
//!
//! An item without bytes is a segment of a control message's size. A member that alone gets a result combines its own
//! data with it in memory. All members of a group number its segments alike, through all operations, which they call in
//! equal order.
//!
//! A member pays the send overhead once for each operation in which it sends anything. Then its segments go to the
//! interface in order; for the parts of the interface, an item is a message and its segments are the packets. The
//! member pays the receive overhead when all its segments have arrived, and then the operation ends. If the member
//! receives nothing, the operation ends when its last segment has been handed to the interface.
//!
//! **Flow control.** A *window* of segments bounds the state of a group in switches: a member sends segment s of a
//! combined item when all segments up to s - window are known to be finished. A segment is finished when its result has
//! come, or has returned. If one member gets the result and the others get nothing of it, a segment is finished when
//! that member says so: after each half window of results, and at the end of the item, it multicasts a packet of a
//! control message's size that acknowledges all of the item so far. Interfaces do that without overheads; the member
//! has to have called the operation, so that there is room for the result. Copied segments need no window, and are
//! finished from the beginning. This is a choice of the model: the paper that the switches follow (Kumar, Kalé and
//! Stunkel) leaves open how partial sums are kept within the available room.
//!
//! **Outstanding operations.** The number of outstanding operations of a group may be limited
//! (`GroupParams::outstanding`). A member then sends nothing of a combined operation before the one `outstanding`
//! before it is finished, to its knowledge, as for segments. Streams, operations larger than a limit, may be limited
//! further. The segments of other operations may be smaller.
//!
//! Segments for an operation that the rank has not called yet wait in memory ([`early`]).

mod early;
mod elements;
mod member;
mod operation;
mod receiving;
mod sending;
mod starting;

use std::sync::Arc;

use mpi::program::{Context, GroupCall};

use super::{Executor, OpId};
use crate::context::{GroupArrival, GroupPacket};
use crate::groups::Groups;
use crate::local_ranks::LocalRank;
use crate::report::Wait;
use crate::slab::Slab;

pub use elements::CheckedElements;
use elements::Elements;
use member::Member;
use operation::Items;
pub use operation::{GroupPackets, Work as SegmentWork, group_items};

/// Operation of a member that has not ended.
#[derive(Clone, Copy, Debug)]
struct Called {
    op: OpId,
    /// Identifier of the operation in its program.
    id: u32,
    /// Member.
    member: u32,
    /// First segment of the operation.
    first: u32,
}
units::record!(Called { op, id, member, first });

/// Packet that passes the interface of its receiver.
#[derive(Clone, Copy, Debug)]
struct PassingPacket {
    member: u32,
    arrival: GroupArrival,
}
units::record!(PassingPacket { member, arrival });

/// Members of groups on an executor's nodes.
#[derive(Debug)]
pub(super) struct Memberships {
    groups: Arc<Groups>,
    /// By rank, its node.
    nodes: Arc<[u32]>,
    /// Members, in the order of local nodes and of groups.
    members: Vec<Member>,
    /// By local node, its first member, with one more entry at the end.
    first: Vec<u32>,
    /// Members by local rank and context, in ascending order.
    of_ranks: Vec<((LocalRank, Context), u32)>,
    called: Slab<Called>,
    passing: Slab<PassingPacket>,
    /// By local node, the number of packets that have arrived, which orders the events of an instant.
    arrived: Vec<u32>,
    /// By source, the packet that was taken last.
    given: Vec<GroupPacket>,
    /// By group, the items of the operation that was called last, if they are uneven.
    items: Vec<Option<(GroupCall, Items)>>,
    /// Number of operations that have waited for earlier ones of their group because of the limit of outstanding
    /// operations.
    waited: u64,
    /// Whether all arrivals were as expected.
    verified: bool,
    /// Results of checking elements.
    elements: Elements,
}
units::state!(Memberships {
    called, passing, arrived, given, items, waited, verified, elements;
    each members;
    rebuilt groups, nodes, first, of_ranks
});

impl Memberships {
    /// Returns the member of a local rank in the group with a context.
    fn find(&self, rank: LocalRank, context: Context) -> Option<u32> {
        let found = self.of_ranks.binary_search_by_key(&(rank, context), |own| own.0).ok()?;
        Some(self.of_ranks[found].1)
    }

    /// Returns the member of a local node in a group.
    fn at_node(&self, node: usize, group: u32) -> Option<u32> {
        let (first, end) = (self.first[node] as usize, self.first[node + 1] as usize);
        let found = self.members[first..end].binary_search_by_key(&group, |member| member.group).ok()?;
        Some((first + found) as u32)
    }

    /// Iterates over the waiting members, with the operation that each waits for.
    pub fn waits<'a>(&'a self) -> impl Iterator<Item = (u32, Wait)> + 'a {
        self.members.iter().flat_map(|member| {
            let waiting = member.ops.iter().filter(|op| op.is_waiting());
            waiting.map(|op| (member.of, Wait::Group { operation: op.call.operation, group: member.group }))
        })
    }

    /// Returns the number of operations that have not ended, and the largest number so far.
    pub fn outstanding(&self) -> (usize, usize) {
        (self.called.len(), self.called.places())
    }
}

impl Executor {
    /// Lets ranks take part in operations in the switches, as members of groups whose other members may belong to other
    /// executors. Each member is on a separate node. Must be called before the programs begin.
    #[must_use]
    pub fn with_groups(mut self, groups: Arc<Groups>) -> Self {
        debug_assert!(self.transit.is_none(), "a network that carries messages whole has no switches");
        let mut members = Vec::new();
        for (number, group) in (0..).zip(groups.iter()) {
            for (member, &rank) in (0..).zip(&group.ranks).filter(|(_, rank)| self.placed.is_local(**rank)) {
                let node = self.placed.local_node(rank) as u32;
                let source = node * self.nics.rails.count();
                members.push(Member::new((number, member), (rank, self.placed.local_rank(rank)), (node, source)));
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
            given: vec![GroupPacket::NONE; nodes * self.nics.rails.count() as usize],
            waited: 0,
            verified: true,
            elements: Elements::default(),
        }));
        self
    }

    /// Has the segments of groups leave by given rails: segment s of a group, sent by a rank, by rail s modulo the number
    /// of rails in the list that `rails` returns. Must be called before the programs begin. Default: the first rail.
    #[must_use]
    pub fn with_group_rails(mut self, rails: impl Fn(u32, u32) -> Vec<u32>) -> Self {
        let count = self.nics.rails.count();
        for member in self.groups.iter_mut().flat_map(|own| &mut own.members) {
            member.take_rails(member.node * count, &rails(member.group, member.of));
        }
        self
    }

    /// Returns the last packet for a group that `next_of` gave for a source (with `dst` = `Outgoing::GROUP`).
    pub fn group_packet(&self, source: usize) -> GroupPacket {
        self.groups.as_ref().map_or(GroupPacket::NONE, |own| own.given[source])
    }

    /// Returns the number of members' operations in the switches that have waited for earlier ones of their group
    /// because of the limit of outstanding operations (`GroupParams::outstanding`, `streams`).
    pub fn group_waits(&self) -> u64 {
        self.groups.as_ref().map_or(0, |own| own.waited)
    }

    /// Returns whether every result had exactly the contributions of all contributors, and their sum, and every copy
    /// was what its source has sent, each exactly once.
    pub fn verified(&self) -> bool {
        self.groups.as_ref().is_none_or(|own| own.verified)
    }
}
