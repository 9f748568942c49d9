//! Calls of collective operations, and the errors of calls.

use std::sync::Arc;

use super::backend::CollectiveBackend;
use super::buffers::new_bytes;
use super::group_call::GroupCall;
use super::member::{Member, Shares};
use super::protocol::{Protocol, Transport};
use super::selection::Selection;
use super::table::{Algorithm, Operation, Phases, algorithms, is_segmented, members_needed};
use crate::communicator::{Communicator, Group, IslandError, NodeGroups};

/// Call of a collective operation. All members of the communicator call it with equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Number of the communicator, which is the number of its context.
    pub communicator: u32,
    /// Operation.
    pub operation: Operation,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Size in bytes. For gather, scatter, allgather and alltoall: the part of one member for one member. For other
    /// operations: the buffer.
    pub bytes: u64,
    /// Size of an element in bytes; at least 1. Elements are never divided.
    pub element: u32,
    /// Member that is the root. 0 if the operation has no root.
    pub root: u32,
    /// Radix; at least 2. Ignored by algorithms without a radix.
    pub radix: u32,
    /// Maximum size of a segment in bytes. 0: messages are not divided into segments.
    pub segment: u64,
    /// Number of messages in each direction that a member has outstanding at once with
    /// [`Algorithm::LinearSync`] in an alltoall. 0: no limit.
    pub window: u32,
    /// Calculation time of a rank for each byte that it combines, in picoseconds.
    pub time_per_byte: u64,
    /// Time of a rank for each byte that it copies in its memory, in picoseconds.
    pub copy_time: u64,
    /// Protocol of messages.
    pub protocol: Protocol,
    /// Number of channels, at least 1, each of which carries a share of every message.
    pub channels: u32,
    /// Members of a server, if rings and trees over several servers have lanes ([`super::lanes`]). 0: they have none.
    pub per_server: u32,
    /// Time of a rank for each byte that it writes to new pages of temporary buffers, in picoseconds.
    pub buffer_time: u64,
    /// Time of a rank before its first message, in picoseconds: the launch of a kernel, or an exchange of addresses.
    pub launch_time: u64,
    /// Time of a rank after the messages of each round, in picoseconds: the synchronization or the software of a step.
    pub step_time: u64,
    /// Share of the bandwidth of links that operations with owners in the switches attain, in thousandths: 1 to 1000.
    pub owners_efficiency: u32,
    /// Whether the processors of network interfaces carry out the operation, instead of the processors of ranks.
    pub on_nic: bool,
}

/// Maximum number of segments of a buffer or part.
const MOST_SEGMENTS: u64 = 1 << 20;

/// Maximum number of chunks of an operation by islands. Each chunk is an operation in every island and on every rail.
const MOST_CHUNKS: u64 = 1 << 14;

/// Reason why a collective operation cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// The algorithm does not implement the operation.
    #[error("`{}` does not serve `{}`: {allowed} are allowed", algorithm.name(), operation.name())]
    Algorithm {
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Operation of the call.
        operation: Operation,
        /// Algorithms that implement the operation.
        allowed: String,
    },
    /// The algorithm of the operation is not for this number of members.
    #[error("`{}` of `{}` is for {needs}, and there are {members}", algorithm.name(), operation.name())]
    Members {
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Operation of the call.
        operation: Operation,
        /// Numbers of members that the algorithm is for.
        needs: &'static str,
        /// Number of members.
        members: u32,
    },
    /// The root is not a member of the communicator.
    #[error("there is no member {root}: 0 to {} are allowed", members.saturating_sub(1))]
    Root {
        /// Root of the call.
        root: u32,
        /// Number of members.
        members: u32,
    },
    /// The size is not a multiple of the element size.
    #[error("{bytes} bytes are not whole elements of {element} bytes")]
    Element {
        /// Size of the call, in bytes.
        bytes: u64,
        /// Size of an element, in bytes.
        element: u32,
    },
    /// The radix is smaller than 2.
    #[error("{radix} is no radix: 2 and more are allowed")]
    Radix {
        /// Radix of the call.
        radix: u32,
    },
    /// The call has a segment size, but the algorithm does not divide messages into segments.
    #[error("`{}` of `{}` has no segments; {allowed} have", algorithm.name(), operation.name())]
    NoSegments {
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Operation of the call.
        operation: Operation,
        /// Algorithms of the operation that support segments.
        allowed: String,
    },
    /// The segment size is too small.
    #[error("{segment} bytes are no segment here: {least} and more are allowed")]
    Segment {
        /// Segment size of the call, in bytes.
        segment: u64,
        /// Smallest allowed segment size, in bytes.
        least: u64,
    },
    /// The rank is not a member of the communicator, or does not know it.
    #[error("it is no member of communicator {communicator}, or does not know it")]
    Communicator {
        /// Number of the communicator.
        communicator: u32,
    },
    /// Operation in the switches, called by a program that is called back: no switch tables have been written for it.
    #[error(
        "`{}` by `in-switch` has to be known before the run, since switches have tables of groups; of a program that is called back it is \
         not: choose `workload.collectives = \"hardware\"`, which serves the communicator of all ranks", operation.name()
    )]
    CalledBack {
        /// Operation of the call.
        operation: Operation,
    },
    /// Operation in the switches in a communicator that the program has created during the run.
    #[error(
        "`{}` in communicator {communicator}: switches have tables of groups that are known before the run, and this communicator is made during \
         it; `in_switch.overflow = \"software\"` has messages carry its operations out", operation.name()
    )]
    MadeInRun {
        /// Operation of the call.
        operation: Operation,
        /// Number of the communicator.
        communicator: u32,
    },
    /// Members of a group call different operations in the switches.
    #[error(
        "operation {number} in the switches is {called} here, and {known} of another member of communicator 0: all members call the same in the \
         same order"
    )]
    Unequal {
        /// Number of the operation among the calls in the switches, from 0.
        number: usize,
        /// Call of this member.
        called: String,
        /// Call of another member.
        known: String,
    },
    /// The algorithm does not belong to the backend that the program chooses for its collective operations
    /// (`collectives`).
    #[error(
        "`{}` of `{}` is not what `collectives = \"{}\"` carries out; leave the algorithm out (`auto`), or `collectives`",
        algorithm.name(), operation.name(), backend.name()
    )]
    Carrier {
        /// Backend of the program's collective operations.
        backend: CollectiveBackend,
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Operation of the call.
        operation: Operation,
    },
    /// The call has a calculation time of ranks, but network interfaces carry out the operation.
    #[error(
        "of operations that network interfaces carry out these combine what comes: `nic.collectives.combine_per_byte` is their time, and \
         ranks calculate nothing"
    )]
    CombinedOnNic,
    /// The call has a time of other work of ranks, but network interfaces carry out the operation.
    #[error(
        "network interfaces carry out the operation, in which ranks have no such work; leave out `{key}`, or `collectives`"
    )]
    WorkOnNic {
        /// Key of the time.
        key: &'static str,
    },
    /// The members are not in equal islands of the first of several networks.
    #[error("`{}` is for members in equal islands of the first of several networks: {reason}", algorithm.name())]
    Islands {
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Reason why the members have no equal islands.
        reason: IslandError,
    },
    /// Hierarchical operation in a communicator whose nodes are not known.
    #[error("the nodes of communicator {communicator} are not known, which a hierarchical operation needs")]
    NoNodes {
        /// Number of the communicator.
        communicator: u32,
    },
}

impl Collective {
    /// Creates a call in the communicator of all ranks, with elements of one byte, rank 0 as the root, radix 2 and free
    /// combining.
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
            window: 0,
            time_per_byte: 0,
            copy_time: 0,
            protocol: Protocol::Simple,
            channels: 1,
            per_server: 0,
            buffer_time: 0,
            launch_time: 0,
            step_time: 0,
            owners_efficiency: 1000,
            on_nic: false,
        }
    }

    /// Checks the call for `communicator`.
    ///
    /// # Errors
    /// [`CollectiveError`] if the members cannot make this call.
    pub fn check(&self, communicator: &Communicator) -> Result<(), CollectiveError> {
        self.check_values(communicator)?;
        let algorithm = self.algorithm;
        if algorithm.is_of_islands() {
            let islands = communicator.nodes().map_or(Err(IslandError::OneNetwork), |nodes| nodes.islands());
            islands.map_err(|reason| CollectiveError::Islands { algorithm, reason })?;
        }
        Ok(())
    }

    /// Checks the call for `communicator`, whatever the islands of its members are.
    ///
    /// # Errors
    /// [`CollectiveError`] if the members cannot make this call.
    pub(crate) fn check_values(&self, communicator: &Communicator) -> Result<(), CollectiveError> {
        let Self { operation, algorithm, bytes, element, root, radix, .. } = *self;
        let members = communicator.len();
        if !algorithms(operation).any(|other| other == algorithm) {
            let allowed: Vec<_> = algorithms(operation).map(|other| format!("`{}`", other.name())).collect();
            return Err(CollectiveError::Algorithm { algorithm, operation, allowed: allowed.join(", ") });
        }
        if let Some(needs) = members_needed(operation, algorithm, members) {
            return Err(CollectiveError::Members { algorithm, operation, needs, members });
        }
        if root >= members {
            return Err(CollectiveError::Root { root, members });
        }
        if element == 0 || !bytes.is_multiple_of(u64::from(element)) {
            return Err(CollectiveError::Element { bytes, element });
        }
        if radix < 2 && algorithm != Algorithm::DoubleTree {
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
        let most = if algorithm.is_of_islands() { MOST_CHUNKS } else { MOST_SEGMENTS };
        let most = most.min(u64::from(u32::MAX / members.max(1)));
        let least = self.segmented(members).div_ceil(most).max(1).saturating_mul(u64::from(self.element));
        if segment < least {
            return Err(CollectiveError::Segment { segment, least });
        }
        Ok(())
    }

    /// Returns the bytes that stand for `bytes` bytes of an operation with owners in the switches: more, if it does not
    /// attain the bandwidth of links.
    pub(super) fn of_owners(&self, bytes: u64) -> u64 {
        let (element, share) = (u64::from(self.element.max(1)), u64::from(self.owners_efficiency.max(1)));
        if share == 1000 {
            bytes
        } else {
            (bytes / element).saturating_mul(1000).div_ceil(share).saturating_mul(element)
        }
    }

    /// Returns the time of member `own` of `members` before its first message, in picoseconds.
    pub(crate) fn time_to_start(&self, own: u32, members: u32) -> u64 {
        let pages = if self.buffer_time > 0 { new_bytes(self, own, members) } else { 0 };
        self.launch_time.saturating_add(pages.saturating_mul(self.buffer_time))
    }

    /// Returns the transport of messages.
    pub(super) fn transport(&self) -> Transport {
        Transport { protocol: self.protocol, channels: self.channels.max(1), element: self.element.max(1) }
    }

    /// Returns the number of elements that are divided into segments: of the largest part (ring, linear with
    /// synchronization), or of the buffer.
    fn segmented(&self, members: u32) -> u64 {
        let elements = self.operation.buffer(self.bytes, members) / u64::from(self.element);
        match self.algorithm {
            Algorithm::Ring | Algorithm::LinearSync => elements.div_ceil(u64::from(members.max(1))),
            _ => elements,
        }
    }

    /// Replaces [`Algorithm::Auto`] by the algorithm of the built-in table for `members` members.
    #[must_use]
    pub fn chosen(&self, members: u32) -> Self {
        self.chosen_by(&Selection::built_in(), members)
    }

    /// Replaces [`Algorithm::Auto`] by the algorithm and the segment size that `selection` chooses for `members`
    /// members.
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

    /// Returns the call with the algorithm that the members of `communicator` use. `Auto` is resolved by the built-in
    /// table. An operation by islands is one of a single network if all members are in one island, or each in another one.
    /// An operation in the switches falls back to messages if the switches do not serve the group.
    #[must_use]
    pub fn within(&self, communicator: &Communicator) -> Self {
        let combines = self.operation.combines();
        let nodes = communicator.nodes();
        let islands = nodes.and_then(|nodes| nodes.islands().ok());
        let algorithm = islands.map_or(self.algorithm, |own| self.algorithm.in_islands(self.operation, own));
        let service = |nodes: &Arc<NodeGroups>| match algorithm.is_of_islands() {
            true => nodes.islands_service(),
            false => nodes.service(),
        };
        let is_unserved = |nodes: &Arc<NodeGroups>| !service(nodes).includes(combines, self.bytes);
        let is_limited = algorithm.is_of_switches() && nodes.is_some_and(is_unserved);
        let algorithm = if is_limited { Algorithm::Auto } else { algorithm };
        let segment = if is_segmented(self.operation, algorithm) { self.segment } else { 0 };
        Self { algorithm, segment, ..*self }.chosen(communicator.len())
    }

    /// Returns member `own` of `size` with root `root` in `operation`, which may be a part of this operation.
    pub(super) fn member(&self, operation: Operation, (own, size, root): (u32, u32, u32)) -> Member {
        let radix = match self.algorithm {
            Algorithm::LinearSync if self.window > 0 => self.window,
            Algorithm::LinearSync => u32::MAX,
            algorithm if algorithm.has_radix() => self.radix,
            _ => 2,
        };
        let element = u64::from(self.element);
        let elements = match self.algorithm {
            // The buffers of all members.
            Algorithm::AllgatherReduce => self.bytes.saturating_mul(u64::from(size)),
            _ => operation.buffer(self.bytes, size),
        } / element;
        let segments = match self.segment / element {
            0 => 1,
            segment => self.segmented(size).div_ceil(segment).clamp(1, MOST_SEGMENTS) as u32,
        };
        Member {
            own,
            size,
            root,
            radix,
            elements,
            first: 0,
            segments,
            shares: Shares::Each,
            transport: self.transport(),
        }
    }
}

/// Stage of an operation: the part of a rank within one group, by one algorithm.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Ranks that take part.
    pub group: Group,
    /// Member of the group that the rank is.
    pub at: Member,
    /// Phases of the algorithm. Empty for an operation in the switches.
    pub phases: Phases,
    /// Action that the rank posts for an operation in the switches.
    pub in_switch: Option<GroupCall>,
}
