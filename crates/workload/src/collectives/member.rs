//! What an algorithm knows of the rank whose part it gives, and what it gives.

use std::sync::Arc;

use super::data::Data;
use crate::communicator::NodeGroups;

/// Which part of the buffer is that of a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Of as many parts as there are members, that with the member's number.
    Each,
    /// Of as many as all members of the communicator, in the order of nodes: those of the node that the member stands for.
    OfNodes(Arc<NodeGroups>),
    /// Likewise that of the member of a node, which are those from `base` on, of so many.
    Within {
        /// The first of the node.
        base: u32,
        /// All parts.
        parts: u32,
    },
    /// Of a square of parts, a row for each member of the communicator, in the order of nodes: the row of the member of a node.
    Row {
        /// The first row of the node.
        base: u32,
        /// All rows.
        parts: u32,
    },
    /// Likewise the column of the member.
    Column {
        /// The first column of the node.
        base: u32,
        /// All columns.
        parts: u32,
    },
}

/// A member of a group that takes part in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub own: u32,
    /// How many members there are.
    pub size: u32,
    /// The root; 0 of an operation without one.
    pub root: u32,
    /// The radix of trees and of numbers of members, at least 2.
    pub radix: u32,
    /// Elements of the buffer; of rows and columns, of one part.
    pub elements: u64,
    /// Segments that a buffer is sent in, or of a ring a part; at least 1.
    pub segments: u32,
    /// Which parts of the buffer are whose.
    pub shares: Shares,
}

impl Member {
    /// Its number, counted from the root.
    #[inline]
    pub fn relative(&self) -> u32 {
        (self.own + self.size - self.root) % self.size
    }

    /// The member with a number that is counted from the root.
    #[inline]
    pub fn absolute(&self, relative: u32) -> u32 {
        self.ahead_of(self.root, relative)
    }

    /// The member so many behind this one.
    #[inline]
    pub fn ahead(&self, by: u32) -> u32 {
        self.ahead_of(self.own, by)
    }

    /// The member so many before this one.
    #[inline]
    pub fn back(&self, by: u32) -> u32 {
        self.ahead_of(self.own, self.size - by)
    }

    #[inline]
    fn ahead_of(&self, member: u32, by: u32) -> u32 {
        let (sum, size) = (u64::from(member) + u64::from(by), u64::from(self.size));
        // Mostly one turn around the group at most: a subtraction does for a division.
        let turned = if sum < size { sum } else { sum - size };
        if turned < size { turned as u32 } else { (turned % size) as u32 }
    }

    /// The part of a member.
    #[inline]
    pub fn part(&self, member: u32) -> Data {
        self.span(member, 1)
    }

    /// The parts of so many members, from one on.
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
            // The first member of a node is the root there, so that they never wrap.
            &Shares::Row { base, parts } => Data::Block { rows: (base + first, count), columns: (0, parts), parts },
            &Shares::Column { base, parts } => Data::Block { rows: (0, parts), columns: (base + first, count), parts },
        }
    }

    /// What the members that one member stands for have for those that another stands for.
    pub fn between(&self, from: u32, to: u32) -> Data {
        let Shares::OfNodes(nodes) = &self.shares else { return Data::WHOLE };
        let of = |node: u32| (nodes.first(node), nodes.first(node + 1) - nodes.first(node));
        Data::Block { rows: of(from), columns: of(to), parts: nodes.first(self.size) }
    }

    /// A segment of a member's part, of a buffer that is shared equally.
    #[inline]
    pub fn segment(&self, member: u32, number: u32) -> Data {
        Data::part(member * self.segments + number, self.size * self.segments)
    }
}

/// What becomes of the data of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They are sent.
    Send,
    /// They are received, in place of what is there.
    Store,
    /// They are received and combined with what is there.
    Combine,
    /// They are received and combined with what is there and with what the member has of a scan, which is kept beside it.
    Prefix {
        /// How many of these combinations take time: the first one of an exclusive scan is a copy, and what nobody needs is not made.
        times: u8,
    },
}

/// Messages of one shape that a member sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What becomes of their data.
    pub way: Way,
    /// The member at the other end of the first.
    pub peer: u32,
    /// How many there are.
    pub count: u32,
    /// How far the member at the other end of each is from that of the one before, modulo the size of the group.
    pub stride: u32,
    /// What the first carries.
    pub data: Data,
    /// How many parts further each begins than the one before.
    pub parts: u32,
}

impl Move {
    /// A message.
    #[inline]
    pub const fn one(way: Way, peer: u32, data: Data) -> Self {
        Self { way, peer, count: 1, stride: 0, data, parts: 0 }
    }

    /// Messages with all other members, the next one first.
    pub fn all(way: Way, at: &Member, data: Data, parts: u32) -> Self {
        Self { way, peer: at.ahead(1), count: at.size - 1, stride: 1, data, parts }
    }

    /// The n-th of its messages in a group of so many: the member at the other end, and what it carries.
    #[inline]
    pub fn message(&self, number: u32, size: u32) -> (u32, Data) {
        if number == 0 {
            return (self.peer, self.data);
        }
        let peer = (u64::from(self.peer) + u64::from(self.stride) * u64::from(number)) % u64::from(size);
        let parts = match self.data {
            Data::Span { parts, .. } | Data::Digit { parts, .. } | Data::Block { parts, .. } => parts,
            Data::Within { len, .. } => len,
        };
        let further = u64::from(self.parts) * u64::from(number) % u64::from(parts);
        (peer as u32, self.data.further(further as u32))
    }
}

/// A phase of an algorithm: what a member does, in rounds. It posts all sends and receives of a round, the receives first, and goes
/// on to the next round when all of them have ended and what has come is combined (the model of Hoefler, Lumsdaine and Rehm,
/// "Implementation and performance analysis of non-blocking collective operations for MPI", SC 2007).
pub trait Phase: std::fmt::Debug + Sync {
    /// How many rounds the member takes part in.
    fn rounds(&self, at: &Member) -> u32;
    /// Gives what it posts in a round, which may be nothing.
    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move));
}
