//! Interface between collective algorithms and their callers: the member whose part an algorithm computes ([`Member`]),
//! and the messages that it posts ([`Move`], [`Phase`]).

use std::sync::Arc;

use super::data::Data;
use super::protocol::Transport;
use crate::communicator::NodeGroups;

/// Assignment of the parts of a buffer to the members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// One part for each member of the group, in the order of members.
    Each,
    /// One part for each member of the communicator, in the order of nodes. A member of the group owns the parts of all
    /// members on the node that it stands for.
    OfNodes(Arc<NodeGroups>),
    /// One part for each member of the communicator. The members of one node own the consecutive parts that begin at
    /// `base`.
    Within {
        /// First part of the node.
        base: u32,
        /// Number of parts of the buffer.
        parts: u32,
    },
    /// Rows of a square of parts, with a row and a column for each member of the communicator, in the order of nodes. A
    /// member of one node owns its row.
    Row {
        /// First row of the node.
        base: u32,
        /// Number of rows of the square.
        parts: u32,
    },
    /// Columns of a square of parts, with a row and a column for each member of the communicator, in the order of
    /// nodes. A member of one node owns its column.
    Column {
        /// First column of the node.
        base: u32,
        /// Number of columns of the square.
        parts: u32,
    },
}

/// Member of a group that takes part in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Number of this member in the group.
    pub own: u32,
    /// Number of members of the group.
    pub size: u32,
    /// Number of the root. 0 if the operation has no root.
    pub root: u32,
    /// Radix of trees and of the digits of member numbers, at least 2; number of chains, or of outstanding messages.
    pub radix: u32,
    /// Elements of the buffer. If the data are blocks of a square ([`Data::Block`]): elements of one part.
    pub elements: u64,
    /// Elements before the buffer, if it is a slice of a larger one.
    pub first: u64,
    /// Number of segments that a buffer (in ring algorithms: a part) is sent in; at least 1.
    pub segments: u32,
    /// Assignment of the parts of the buffer to members.
    pub shares: Shares,
    /// Transport of messages.
    pub transport: Transport,
}

impl Member {
    /// Whether the buffer has one part of equal size for each member.
    pub fn has_equal_parts(&self) -> bool {
        self.shares == Shares::Each && self.elements.is_multiple_of(u64::from(self.size))
    }

    /// Returns the number of this member relative to the root.
    #[inline]
    pub fn relative(&self) -> u32 {
        (self.own + self.size - self.root) % self.size
    }

    /// Returns the member whose number relative to the root is `relative`.
    #[inline]
    pub fn absolute(&self, relative: u32) -> u32 {
        self.ahead_of(self.root, relative)
    }

    /// Returns the member whose number is higher by `by`, modulo the size of the group.
    #[inline]
    pub fn ahead(&self, by: u32) -> u32 {
        self.ahead_of(self.own, by)
    }

    /// Returns the member whose number is lower by `by`, modulo the size of the group. `by` is at most `size`.
    #[inline]
    pub fn back(&self, by: u32) -> u32 {
        self.ahead_of(self.own, self.size - by)
    }

    #[inline]
    fn ahead_of(&self, member: u32, by: u32) -> u32 {
        let (sum, size) = (u64::from(member) + u64::from(by), u64::from(self.size));
        // The sum mostly wraps at most once, so that a subtraction replaces the division.
        let turned = if sum < size { sum } else { sum - size };
        if turned < size { turned as u32 } else { (turned % size) as u32 }
    }

    /// Returns the part of `member`.
    #[inline]
    pub fn part(&self, member: u32) -> Data {
        self.span(member, 1)
    }

    /// Returns the parts of `count` members from `first` on. The range may wrap past the last member.
    #[inline]
    pub fn span(&self, first: u32, count: u32) -> Data {
        match &self.shares {
            Shares::Each => Data::Span { first, count, parts: self.size },
            Shares::OfNodes(nodes) => {
                let (begin, parts) = (nodes.first(first), nodes.first(self.size));
                let count = match (first + count).checked_sub(self.size) {
                    None | Some(0) => nodes.first(first + count) - begin,
                    Some(wrapped) => parts - begin + nodes.first(wrapped),
                };
                Data::Span { first: begin, count, parts }
            }
            &Shares::Within { base, parts } => Data::Within { first, count, base, len: self.size, parts },
            // The first member of a node is the root there, so that these ranges never wrap.
            &Shares::Row { base, parts } => Data::Block { rows: (base + first, count), columns: (0, parts), parts },
            &Shares::Column { base, parts } => Data::Block { rows: (0, parts), columns: (base + first, count), parts },
        }
    }

    /// Returns the data from all members on node `from` for all members on node `to`. The whole buffer unless the
    /// shares are [`Shares::OfNodes`].
    pub fn between(&self, from: u32, to: u32) -> Data {
        let Shares::OfNodes(nodes) = &self.shares else { return Data::WHOLE };
        let of = |node: u32| (nodes.first(node), nodes.first(node + 1) - nodes.first(node));
        Data::Block { rows: of(from), columns: of(to), parts: nodes.first(self.size) }
    }

    /// Returns segment `number` of the part of `member`. Requires a buffer that is divided equally among the members.
    #[inline]
    pub fn segment(&self, member: u32, number: u32) -> Data {
        Data::part(member * self.segments + number, self.size * self.segments)
    }
}

/// Direction of a message, and for a received one the treatment of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Sent.
    Send,
    /// Received; the data overwrite the buffer.
    Store,
    /// Received; the data are combined with the buffer.
    Combine,
    /// Received; the data are combined with the buffer and with the partial result of a scan, which the member keeps in
    /// a second buffer.
    Prefix {
        /// Number of these combinations that take time. The first combination of an exclusive scan is a copy, and a
        /// result that nobody needs is not computed.
        times: u8,
    },
    /// No message: the member copies the data in its memory when the messages of the round have ended.
    Copy,
    /// No message: the member combines the data with others in its memory when the messages of the round have ended.
    Reduce,
}

impl Way {
    /// Whether there is a message.
    pub const fn is_message(self) -> bool {
        !matches!(self, Self::Copy | Self::Reduce)
    }
}

/// Series of similar messages that a member sends or receives, or work on data in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Direction of the messages and treatment of their data.
    pub way: Way,
    /// Peer of the first message.
    pub peer: u32,
    /// Number of messages.
    pub count: u32,
    /// Distance from the peer of each message to the peer of the next, modulo the size of the group.
    pub stride: u32,
    /// Data of the first message.
    pub data: Data,
    /// Number of parts by which the data of each message begin after the data of the previous one.
    pub parts: u32,
}

impl Move {
    /// Creates a single message.
    #[inline]
    pub const fn one(way: Way, peer: u32, data: Data) -> Self {
        Self { way, peer, count: 1, stride: 0, data, parts: 0 }
    }

    /// Creates work on data in the memory of a member.
    #[inline]
    pub const fn local(way: Way, data: Data) -> Self {
        Self::one(way, 0, data)
    }

    /// Creates one message for each other member, the next member first.
    pub fn all(way: Way, at: &Member, data: Data, parts: u32) -> Self {
        Self { way, peer: at.ahead(1), count: at.size - 1, stride: 1, data, parts }
    }

    /// Whether the messages go to all other members of the group of `at`.
    pub fn is_to_all(&self, at: &Member) -> bool {
        (self.peer, self.count, self.stride) == (at.ahead(1), at.size - 1, 1)
    }

    /// Returns the peer and the data of message `number` in a group of `size` members.
    #[inline]
    pub fn message(&self, number: u32, size: u32) -> (u32, Data) {
        if number == 0 {
            return (self.peer, self.data);
        }
        let peer = (u64::from(self.peer) + u64::from(self.stride) * u64::from(number)) % u64::from(size);
        let parts = match self.data {
            Data::Span { parts, .. }
            | Data::Digit { parts, .. }
            | Data::Stride { parts, .. }
            | Data::Block { parts, .. }
            | Data::Labels { parts, .. } => parts,
            Data::Within { len, .. } => len,
        };
        let further = u64::from(self.parts) * u64::from(number) % u64::from(parts);
        (peer as u32, self.data.further(further as u32))
    }
}

/// Phase of an algorithm: the messages of one member, in rounds. A member posts all receives of a round, then all
/// sends. The next round begins when all of them have completed and the received data are combined (the model of
/// Hoefler, Lumsdaine and Rehm, "Implementation and performance analysis of non-blocking collective operations for
/// MPI", SC 2007).
pub trait Phase: std::fmt::Debug + Sync {
    /// Returns the number of rounds in which the member `at` takes part.
    fn rounds(&self, at: &Member) -> u32;
    /// Passes the messages that the member `at` posts in `round` to `post`. A round may have none.
    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move));
    /// Returns the messages that the member `at` sends in all rounds, if they circulate in a ring and can be counted by
    /// size.
    fn circulated(&self, _at: &Member) -> Option<Circulated> {
        None
    }
    /// Returns the messages that the member `at` sends in all rounds, if they are one message to each other member and
    /// can be counted without a visit of each round.
    fn to_each(&self, _at: &Member) -> Option<Move> {
        None
    }
    /// Whether all members send equal numbers of messages of equal sizes, so that one member stands for all.
    fn is_symmetric(&self, _at: &Member) -> bool {
        false
    }
    /// Whether a member combines each message of a round when it arrives, instead of all of them after the round. All
    /// messages that it receives in such a phase are combined.
    fn combines_on_arrival(&self, _at: &Member) -> bool {
        false
    }
}

/// Messages that a member of a ring sends to the next member: every part of the buffer but one, each in `segments`
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circulated {
    /// Receiver.
    pub peer: u32,
    /// Size of a message and number of messages, in elements, for each of the at most two sizes.
    pub sizes: [(u64, u64); 2],
}

impl Circulated {
    /// Counts the messages of every part but `except`, which are sent in `segments` segments. `None` if parts do not
    /// belong to one member each, or if segments differ in size.
    pub fn new(at: &Member, except: u32, segments: u32) -> Option<Self> {
        let (parts, peer) = (u64::from(at.size), at.ahead(1));
        if at.shares != Shares::Each {
            return None;
        }
        if segments > 1 {
            let messages = parts * u64::from(segments);
            let size = at.elements.is_multiple_of(messages).then(|| at.elements / messages)?;
            return Some(Self { peer, sizes: [(size, messages - u64::from(segments)), (0, 0)] });
        }
        // Parts are as even as whole elements allow: some have one element more.
        let (small, larger) = (at.elements / parts, at.elements % parts);
        let is_larger = u64::from(at.part(except).elements(at.elements) > small);
        let sizes = [(small, parts - larger - (1 - is_larger)), (small + 1, larger - is_larger)];
        Some(Self { peer, sizes })
    }
}
