//! A call of a collective operation.

use super::member::Member;
use super::selection::Selection;
use super::table::{Algorithm, Operation, Phases, algorithms};
use crate::communicator::{Communicator, Group};

/// A call of a collective operation by the members of a communicator, all of which call it with the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The number of the communicator, that of its context.
    pub communicator: u32,
    /// What is done.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// Its size in bytes: of a part, of one member for one member (gather, scatter, allgather, alltoall), or else of the buffer.
    pub bytes: u64,
    /// Bytes of an element, which is not divided; at least 1.
    pub element: u32,
    /// The member that is the root; 0 of an operation without one.
    pub root: u32,
    /// The radix of an algorithm that has one; at least 2.
    pub radix: u32,
    /// The time in picoseconds that a rank calculates for each byte that it combines.
    pub time_per_byte: u64,
}

/// Why a collective operation cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// An algorithm that does not serve the operation.
    #[error("`{}` does not serve `{}`: {allowed} are allowed", algorithm.name(), operation.name())]
    Algorithm {
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation.
        operation: Operation,
        /// Those that serve it.
        allowed: String,
    },
    /// A root that is no member.
    #[error("there is no member {root}: 0 to {} are allowed", members.saturating_sub(1))]
    Root {
        /// The root.
        root: u32,
        /// How many members there are.
        members: u32,
    },
    /// A size that is not one of whole elements.
    #[error("{bytes} bytes are not whole elements of {element} bytes")]
    Element {
        /// The size.
        bytes: u64,
        /// Bytes of an element.
        element: u32,
    },
    /// A number system of one digit.
    #[error("{radix} is no radix: 2 and more are allowed")]
    Radix {
        /// The radix.
        radix: u32,
    },
    /// A communicator that the rank is no member of, or does not know.
    #[error("it is no member of communicator {communicator}, or does not know it")]
    Communicator {
        /// Its number.
        communicator: u32,
    },
    /// A hierarchical operation in a communicator whose nodes are not known.
    #[error("the nodes of communicator {communicator} are not known, which a hierarchical operation needs")]
    NoNodes {
        /// Its number.
        communicator: u32,
    },
}

impl Collective {
    /// A call in the communicator of all ranks, of elements of one byte, with rank 0 as its root, radix 2, and combining for free.
    pub const fn new(operation: Operation, algorithm: Algorithm, bytes: u64) -> Self {
        Self { communicator: 0, operation, algorithm, bytes, element: 1, root: 0, radix: 2, time_per_byte: 0 }
    }

    /// Checks it for a communicator.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, communicator: &Communicator) -> Result<(), CollectiveError> {
        let Self { operation, algorithm, bytes, element, root, radix, .. } = *self;
        let members = communicator.len();
        if !algorithms(operation).any(|other| other == algorithm) {
            let allowed: Vec<_> = algorithms(operation).map(|other| format!("`{}`", other.name())).collect();
            return Err(CollectiveError::Algorithm { algorithm, operation, allowed: allowed.join(", ") });
        }
        if root >= members {
            return Err(CollectiveError::Root { root, members });
        }
        if element == 0 || !bytes.is_multiple_of(u64::from(element)) {
            return Err(CollectiveError::Element { bytes, element });
        }
        if radix < 2 {
            return Err(CollectiveError::Radix { radix });
        }
        if algorithm == Algorithm::Hierarchical && communicator.nodes().is_none() {
            return Err(CollectiveError::NoNodes { communicator: self.communicator });
        }
        Ok(())
    }

    /// The same with an algorithm that has been chosen, if need be from the built-in table.
    #[must_use]
    pub fn chosen(&self, members: u32) -> Self {
        match self.algorithm {
            Algorithm::Auto => {
                let algorithm = Selection::built_in().choose(self.operation, members, self.bytes);
                Self { algorithm, ..*self }
            }
            _ => *self,
        }
    }

    /// A member, of so many, that takes part with a root in an operation, which may be part of this one.
    pub(super) const fn member(&self, operation: Operation, (own, size, root): (u32, u32, u32)) -> Member {
        let radix = if self.algorithm.has_radix() { self.radix } else { 2 };
        let elements = operation.buffer(self.bytes, size) / self.element as u64;
        Member { own, size, root, radix, elements }
    }
}

/// What a rank does of an operation within a group, one algorithm.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The ranks.
    pub group: Group,
    /// The rank among them.
    pub at: Member,
    /// What the algorithm is made of.
    pub phases: Phases,
}
