//! Limits of routers for groups that combine, besides table entries: the number of groups, and the number of groups
//! that stream.
//!
//! Model choices, after NVIDIA's publications on SHARP ("SHARP collective library", resource tuning: quotas of groups
//! and of outstanding transactions, a payload for each of these, streaming aggregation with an exclusive lock of the
//! tree). A group's resources in a router are reserved when the group is created, in the order of groups, and kept. So
//! nothing waits in a router for resources of another group, and no cycle of such waits can arise. The right to stream
//! is reserved in this way too, which takes no time. Outstanding operations belong to one group alone; its members
//! count them (`host::executor::groups`).

use ::mpi::collectives::{GroupCall, Operation};
use ::mpi::communicator::OffloadScope;
use host::GroupParams;
use routing::trees::Trees;
use topology::Topology;
use units::{Bytes, KeyError, NodeId, RouterId};

use crate::workloads::{Copies, Workload};
use ::experiment::InSwitchSpec;

/// Resources that a group needs in routers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    /// Whether an operation of the group copies.
    copies: bool,
    /// Smallest and largest operation that combines, each with its size in bytes.
    combined: Option<((Operation, u64), (Operation, u64))>,
    /// Whether a combining operation delivers its result to one member, which acknowledges it.
    acknowledged: bool,
    /// Whether members own packets of an operation in turn, and return their results to all.
    returned: bool,
}

impl Demand {
    /// Returns the demand of each group of a job. Multicast traffic only copies.
    pub fn of(workload: &dyn Workload) -> Vec<Self> {
        let mut all = vec![Self::default(); workload.groups().len()];
        if let Some(programs) = workload.programs() {
            programs.each_group_call(&mut |group, call, _| all[group].add(call));
        }
        all
    }

    fn add(&mut self, call: &GroupCall) {
        if !call.operation.combines() {
            self.copies = true;
            return;
        }
        self.acknowledged |= call.operation.combines_for_one() || call.owners;
        self.returned |= call.operation == Operation::Allreduce && call.owners;
        let own = (call.operation, call.bytes);
        let (smallest, largest) = self.combined.unwrap_or((own, own));
        let smallest = if own.1 < smallest.1 { own } else { smallest };
        let largest = if own.1 > largest.1 { own } else { largest };
        self.combined = Some((smallest, largest));
    }

    /// Returns the smallest combining operation. None if the group does not combine.
    pub fn combining(&self) -> Option<Operation> {
        self.combined.map(|((operation, _), _)| operation)
    }

    /// Whether members wait for acknowledgements.
    pub const fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Whether owners of packets return results to all members.
    pub const fn returns(&self) -> bool {
        self.returned
    }

    /// Whether the group's packets are combined.
    pub const fn combines(&self) -> bool {
        self.combined.is_some()
    }

    /// Whether all operations of the group combine more than `most` bytes, so that none is left within this limit.
    fn is_beyond(&self, most: u64) -> bool {
        !self.copies && self.combined.is_some_and(|(smallest, _)| smallest.1 > most)
    }
}

/// Whether switches may send members of a job's groups packets that acknowledge results for another member. The
/// operations of a program that is called back are unknown, so any may occur.
pub(crate) fn acknowledges(workload: &dyn Workload) -> bool {
    let may_call_any = workload.programs().is_some_and(|programs| programs.is_called_back());
    !workload.groups().is_empty() && (may_call_any || Demand::of(workload).iter().any(Demand::is_acknowledged))
}

/// Returns the members of each group of a job that multicast, in ascending order.
pub(crate) fn senders(workload: &dyn Workload) -> Vec<Vec<NodeId>> {
    let mut all: Vec<Vec<NodeId>> = workload.groups();
    all.iter_mut().for_each(|members| members.sort_unstable());
    let demand = workload.demand();
    if let Some(operations) = demand.operations() {
        for (members, volumes) in all.iter_mut().zip(&operations.groups) {
            let sends = members.iter().zip(&volumes.copied).filter(|(_, volume)| **volume > 0.0);
            *members = sends.map(|(&node, _)| node).collect();
        }
    }
    if let Copies::Sets { sets, .. } = demand.copies {
        for (group, members) in (0..).zip(&mut all) {
            members.retain(|&node| sets.of(node).is_some_and(|own| own.0 == group));
        }
    }
    all
}

/// Reason why a group does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// A router already combines for its limit of groups.
    Groups(RouterId),
    /// A router already has its limit of groups that stream.
    Streams(RouterId),
    /// An operation is larger than the limit of low latency, and nothing streams.
    Message(Operation, u64),
}

/// Resources in use in routers.
pub(super) struct Room<'a> {
    spec: &'a InSwitchSpec,
    /// Number of groups that each router combines for, and number of these that may stream.
    groups: Vec<u32>,
    streams: Vec<u32>,
}

impl<'a> Room<'a> {
    /// Creates an empty account of `routers` routers.
    pub fn new(spec: &'a InSwitchSpec, routers: u32) -> Self {
        Self { spec, groups: vec![0; routers as usize], streams: vec![0; routers as usize] }
    }

    /// Reserves a group's resources in the routers of its trees. Returns the operations that the routers have room for.
    pub fn reserve(&mut self, demand: &Demand, routers: &[RouterId]) -> OffloadScope {
        let small = self.spec.largest_small();
        match self.take(demand, routers) {
            Ok(()) => OffloadScope::All,
            Err(Full::Streams(_) | Full::Message(..)) if !demand.is_beyond(small) => OffloadScope::UpTo(small),
            Err(_) => OffloadScope::Nothing,
        }
    }

    /// Reserves a group's resources. An error names the resource that is missing; the others are still reserved,
    /// unless no operation of the group is left.
    fn take(&mut self, demand: &Demand, routers: &[RouterId]) -> Result<(), Full> {
        let Some((_, (operation, largest))) = demand.combined else { return Ok(()) };
        let full = |count: &[u32], limit: Option<u32>| {
            routers.iter().copied().find(|router| limit.is_some_and(|limit| count[router.index()] >= limit))
        };
        if let Some(router) = full(&self.groups, self.spec.groups_per_router) {
            return Err(Full::Groups(router));
        }
        let small = self.spec.largest_small();
        let streams = self.spec.streaming.as_ref();
        let refused = match streams {
            _ if largest <= small => None,
            None => Some(Full::Message(operation, largest)),
            Some(own) => full(&self.streams, own.groups_per_router).map(Full::Streams),
        };
        if refused.is_some() && demand.is_beyond(small) {
            return Err(refused.unwrap_or(Full::Message(operation, largest)));
        }
        routers.iter().for_each(|router| self.groups[router.index()] += 1);
        if let Some(refused) = refused {
            return Err(refused);
        }
        if largest > small {
            routers.iter().for_each(|router| self.streams[router.index()] += 1);
        }
        Ok(())
    }
}

/// Refuses groups if routers do not have room for all of their operations.
///
/// # Errors
/// If a group does not fit. The error names the first such group and its router, at the key of the limit.
pub(super) fn check(
    spec: &InSwitchSpec,
    topology: &dyn Topology,
    trees: &Trees,
    demands: &[Demand],
) -> Result<(), KeyError> {
    if !spec.limits_room() {
        return Ok(());
    }
    let mut routers = vec![Vec::new(); trees.groups() as usize];
    for router in (0..topology.routers()).map(RouterId) {
        for entry in trees.entries_of(router) {
            let own: &mut Vec<RouterId> = &mut routers[trees.group_of(trees.entry(entry).tree) as usize];
            if own.last() != Some(&router) {
                own.push(router);
            }
        }
    }
    let mut room = Room::new(spec, topology.routers());
    for (group, (demand, routers)) in demands.iter().zip(&routers).enumerate() {
        room.take(demand, routers).map_err(|full| refused(spec, topology, (group, full)))?;
    }
    Ok(())
}

fn refused(spec: &InSwitchSpec, topology: &dyn Topology, (group, full): (usize, Full)) -> KeyError {
    let otherwise = "`overflow = \"software\"` has messages carry it out";
    let name = |router| routing::router_name(topology, router);
    match full {
        Full::Groups(router) => KeyError::new(
            "in_switch.groups_per_router",
            format!(
                "{} combines for {} groups already, and group {group} is one more; {otherwise}",
                name(router),
                spec.groups_per_router.unwrap_or(0)
            ),
        ),
        Full::Streams(router) => KeyError::new(
            "in_switch.streaming.groups_per_router",
            format!(
                "{} groups stream through {} already, and group {group} is one more, with operations of more than {}; {otherwise}",
                spec.streaming.as_ref().and_then(|own| own.groups_per_router).unwrap_or(0),
                name(router),
                Bytes(spec.largest_small())
            ),
        ),
        Full::Message(_, u64::MAX) => KeyError::new(
            "in_switch.low_latency.max_message",
            format!(
                "group {group} is of a program that is called back, which may call larger operations, and without `in_switch.streaming` nothing \
                 streams; {otherwise}"
            ),
        ),
        Full::Message(operation, bytes) => KeyError::new(
            "in_switch.low_latency.max_message",
            format!(
                "group {group} calls `{}` of {}, which is larger, and without `in_switch.streaming` nothing streams; {otherwise}",
                operation.name(),
                Bytes(bytes)
            ),
        ),
    }
}

/// Returns the parameters by which members send operations that combine. `window` is the number of outstanding packets.
pub(crate) fn params(spec: &InSwitchSpec, (window, trees): (u32, u32)) -> GroupParams {
    let small_packet = spec.low_latency.as_ref().and_then(|own| own.segment);
    GroupParams {
        window,
        outstanding: spec.outstanding_operations.unwrap_or(u32::MAX),
        streams: spec.streaming.as_ref().map_or(u32::MAX, |own| own.outstanding_operations),
        largest_small: spec.largest_small(),
        small_packet: small_packet.map_or(u32::MAX, |segment| u32::try_from(segment.0).unwrap_or(u32::MAX)),
        parts: trees,
    }
}
