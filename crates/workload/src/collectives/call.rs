//! A call of a collective operation.

use std::sync::Arc;

use super::carrier::Carrier;
use super::group_call::GroupCall;
use super::member::{Member, Shares};
use super::selection::Selection;
use super::table::{Algorithm, Operation, Phases, algorithms, is_segmented};
use crate::communicator::{Communicator, Group, NodeGroups};

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
    /// The most bytes of a message, of an algorithm that divides its messages into segments; 0 if it does not.
    pub segment: u64,
    /// The time in picoseconds that a rank calculates for each byte that it combines.
    pub time_per_byte: u64,
    /// Whether the processors of network interfaces carry it out, and not those of ranks.
    pub on_nic: bool,
}

/// The most segments of a buffer or part.
const MOST_SEGMENTS: u64 = 1 << 20;

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
    /// Segments of an algorithm that has none.
    #[error("`{}` of `{}` has no segments; {allowed} have", algorithm.name(), operation.name())]
    NoSegments {
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation.
        operation: Operation,
        /// Those of the operation that have.
        allowed: String,
    },
    /// Segments that are too small.
    #[error("{segment} bytes are no segment here: {least} and more are allowed")]
    Segment {
        /// Their size.
        segment: u64,
        /// The smallest size.
        least: u64,
    },
    /// A communicator that the rank is no member of, or does not know.
    #[error("it is no member of communicator {communicator}, or does not know it")]
    Communicator {
        /// Its number.
        communicator: u32,
    },
    /// An operation in the switches of a program that is called back, for which no tables have been written.
    #[error(
        "`{}` by `in-switch` has to be known before the run, since switches have tables of groups; of a program that is called back it is \
         not: choose `workload.collectives = \"hardware\"`, which serves the communicator of all ranks", operation.name()
    )]
    CalledBack {
        /// The operation.
        operation: Operation,
    },
    /// The same of a communicator that the program has made as it ran.
    #[error(
        "`{}` in communicator {communicator}: switches have tables of groups that are known before the run, and this communicator is made during \
         it; `in_switch.overflow = \"software\"` has messages carry its operations out", operation.name()
    )]
    MadeInRun {
        /// The operation.
        operation: Operation,
        /// The communicator.
        communicator: u32,
    },
    /// Operations in the switches of which members do not call the same.
    #[error(
        "operation {number} in the switches is {called} here, and {known} of another member of communicator 0: all members call the same in the \
         same order"
    )]
    Unequal {
        /// The operation, from 0 on.
        number: usize,
        /// What is called.
        called: String,
        /// What another member has called.
        known: String,
    },
    /// An algorithm that is not that of who carries the operations of a program out.
    #[error(
        "`{}` of `{}` is not what `collectives = \"{}\"` carries out; leave the algorithm out (`auto`), or `collectives`",
        algorithm.name(), operation.name(), carrier.name()
    )]
    Carrier {
        /// Who carries operations out.
        carrier: Carrier,
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation.
        operation: Operation,
    },
    /// A time that ranks calculate of an operation that network interfaces carry out.
    #[error(
        "of operations that network interfaces carry out these combine what comes: `nic.collectives.combine_per_byte` is their time, and \
         ranks calculate nothing"
    )]
    CombinedOnNic,
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
        Self {
            communicator: 0,
            operation,
            algorithm,
            bytes,
            element: 1,
            root: 0,
            radix: 2,
            segment: 0,
            time_per_byte: 0,
            on_nic: false,
        }
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
        self.check_segments(members)?;
        if algorithm == Algorithm::Hierarchical && communicator.nodes().is_none() {
            return Err(CollectiveError::NoNodes { communicator: self.communicator });
        }
        Ok(())
    }

    fn check_segments(&self, members: u32) -> Result<(), CollectiveError> {
        let Self { operation, algorithm, segment, .. } = *self;
        if segment == 0 {
            return Ok(());
        }
        if !is_segmented(operation, algorithm) {
            let serving = algorithms(operation).filter(|&other| is_segmented(operation, other));
            let names: Vec<_> = serving.map(|other| format!("`{}`", other.name())).collect();
            let allowed = if names.is_empty() { "none of its algorithms".to_owned() } else { names.join(", ") };
            return Err(CollectiveError::NoSegments { algorithm, operation, allowed });
        }
        let most = MOST_SEGMENTS.min(u64::from(u32::MAX / members.max(1)));
        let least = self.segmented(members).div_ceil(most).max(1).saturating_mul(u64::from(self.element));
        if segment < least {
            return Err(CollectiveError::Segment { segment, least });
        }
        Ok(())
    }

    /// Elements of what is divided into segments.
    fn segmented(&self, members: u32) -> u64 {
        let elements = self.bytes / u64::from(self.element);
        if self.algorithm == Algorithm::Ring { elements.div_ceil(u64::from(members.max(1))) } else { elements }
    }

    /// The same with an algorithm that has been chosen, if need be from the built-in table.
    #[must_use]
    pub fn chosen(&self, members: u32) -> Self {
        self.chosen_by(&Selection::built_in(), members)
    }

    /// The same with an algorithm that a table chooses, if none has been.
    #[must_use]
    pub fn chosen_by(&self, selection: &Selection, members: u32) -> Self {
        match self.algorithm {
            Algorithm::Auto => {
                let (algorithm, segment) = selection.choose(self.operation, members, (self.bytes, self.element));
                Self { algorithm, segment, ..*self }
            }
            _ => *self,
        }
    }

    /// The same as the members of a communicator carry it out: with an algorithm, and by messages where it was to be in the switches and these do
    /// not carry it out of the group.
    #[must_use]
    pub fn within(&self, communicator: &Communicator) -> Self {
        let combines = self.operation.combines();
        let is_unserved = |nodes: &Arc<NodeGroups>| !nodes.service().serves(combines, self.bytes);
        let unserved = self.algorithm == Algorithm::InSwitch && communicator.nodes().is_some_and(is_unserved);
        let algorithm = if unserved { Algorithm::Auto } else { self.algorithm };
        Self { algorithm, ..*self }.chosen(communicator.len())
    }

    /// A member, of so many, that takes part with a root in an operation, which may be part of this one.
    pub(super) fn member(&self, operation: Operation, (own, size, root): (u32, u32, u32)) -> Member {
        let radix = if self.algorithm.has_radix() { self.radix } else { 2 };
        let element = u64::from(self.element);
        let elements = operation.buffer(self.bytes, size) / element;
        let segments = match self.segment / element {
            0 => 1,
            segment => self.segmented(size).div_ceil(segment).clamp(1, MOST_SEGMENTS) as u32,
        };
        Member { own, size, root, radix, elements, segments, shares: Shares::Each }
    }
}

/// What a rank does of an operation within a group, one algorithm.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The ranks.
    pub group: Group,
    /// The rank among them.
    pub at: Member,
    /// What the algorithm is made of; nothing of one in the switches,
    pub phases: Phases,
    /// of which this is what the rank posts.
    pub in_switch: Option<GroupCall>,
}
