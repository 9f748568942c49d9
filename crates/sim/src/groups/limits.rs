//! What routers have room for of groups that combine, beside the entries of their tables: groups, and groups that stream.
//!
//! Model choices, after what NVIDIA publishes of SHARP ("SHARP collective library", resource tuning: quotas of groups and of outstanding
//! transactions, a payload for each of these, streaming aggregation with an exclusive lock of the tree). What a group needs in a router is
//! reserved when the group is created, in the order of groups, and kept: so nothing waits in a router for what another group has,
//! and no cycle of such waits can come about. The right to stream is reserved in the same way, which takes no time. What a group
//! shares with nobody, its operations under way, its members count (`host::executor::groups`).

use ::workload::collectives::{GroupCall, Operation};
use ::workload::communicator::Service;
use host::GroupParams;
use routing::trees::Trees;
use topology::Topology;
use units::{Bytes, NodeId, RouterId};

use crate::error::SystemError;
use crate::experiment::InSwitchSpec;
use crate::workloads::Workload;

/// What a group asks of routers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    /// Whether an operation of it copies.
    copies: bool,
    /// The smallest and the largest of those that combine.
    combined: Option<((Operation, u64), (Operation, u64))>,
    /// Whether one of them has its results for one member, which acknowledges them.
    acknowledged: bool,
}

impl Demand {
    /// Those of the groups of a job. Multicast traffic only copies.
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
        self.acknowledged |= call.operation.combines_for_one();
        let own = (call.operation, call.bytes);
        let (smallest, largest) = self.combined.unwrap_or((own, own));
        let smallest = if own.1 < smallest.1 { own } else { smallest };
        let largest = if own.1 > largest.1 { own } else { largest };
        self.combined = Some((smallest, largest));
    }

    /// The first operation that it combines, if it does.
    pub fn combining(&self) -> Option<Operation> {
        self.combined.map(|((operation, _), _)| operation)
    }

    /// Whether members wait for acknowledgements.
    pub const fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Whether its packets are combined.
    pub const fn combines(&self) -> bool {
        self.combined.is_some()
    }

    /// Whether nothing is left of it but what combines more than so many bytes.
    fn is_beyond(&self, most: u64) -> bool {
        !self.copies && self.combined.is_some_and(|(smallest, _)| smallest.1 > most)
    }
}

/// Whether switches may notify members of groups of a job, by packets, of what another member gets alone. What a program that is called back
/// will do is not known.
pub(crate) fn acknowledges(workload: &dyn Workload) -> bool {
    let may_call_any = workload.programs().is_some_and(|programs| programs.is_called_back());
    !workload.groups().is_empty() && (may_call_any || Demand::of(workload).iter().any(Demand::is_acknowledged))
}

/// By group of a job, the members that multicast, in ascending order.
pub(crate) fn senders(workload: &dyn Workload) -> Vec<Vec<NodeId>> {
    let mut all: Vec<Vec<NodeId>> = workload.groups();
    all.iter_mut().for_each(|members| members.sort_unstable());
    if let Some(operations) = workload.operations() {
        for (members, volumes) in all.iter_mut().zip(&operations.groups) {
            let sends = members.iter().zip(&volumes.copied).filter(|(_, volume)| **volume > 0.0);
            *members = sends.map(|(&node, _)| node).collect();
        }
    }
    if let Some((sets, _)) = workload.fixed_sets() {
        for (group, members) in (0..).zip(&mut all) {
            members.retain(|&node| sets.of(node).is_some_and(|own| own.0 == group));
        }
    }
    all
}

/// What of a group does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// A router combines for as many groups as it can.
    Groups(RouterId),
    /// A router has as many groups that stream as it can.
    Streams(RouterId),
    /// An operation is larger than those of low latency, and nothing streams.
    Message(Operation, u64),
}

/// The room that is left in routers.
pub(super) struct Room<'a> {
    spec: &'a InSwitchSpec,
    /// By router, groups that it combines for, and of these those that may stream.
    groups: Vec<u32>,
    streams: Vec<u32>,
}

impl<'a> Room<'a> {
    /// All of it, in so many routers.
    pub fn new(spec: &'a InSwitchSpec, routers: u32) -> Self {
        Self { spec, groups: vec![0; routers as usize], streams: vec![0; routers as usize] }
    }

    /// Reserves what a group asks for in the routers of its trees: which of its operations there is room for.
    pub fn reserve(&mut self, demand: &Demand, routers: &[RouterId]) -> Service {
        let small = self.spec.largest_small();
        match self.take(demand, routers) {
            Ok(()) => Service::All,
            Err(Full::Streams(_) | Full::Message(..)) if !demand.is_beyond(small) => Service::UpTo(small),
            Err(_) => Service::Nothing,
        }
    }

    /// The same; an error says what does not fit, beside which the rest is reserved unless nothing is left of the group.
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

/// Refuses groups of whose operations routers do not have room for all.
///
/// # Errors
/// The first group that does not fit, with the router, at the key of the limit.
pub(super) fn check(
    spec: &InSwitchSpec,
    topology: &dyn Topology,
    trees: &Trees,
    demands: &[Demand],
) -> Result<(), SystemError> {
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

fn refused(spec: &InSwitchSpec, topology: &dyn Topology, (group, full): (usize, Full)) -> SystemError {
    let otherwise = "`overflow = \"software\"` has messages carry it out";
    let name = |router| routing::router_name(topology, router);
    match full {
        Full::Groups(router) => SystemError::new(
            "in_switch.groups_per_router",
            format!(
                "{} combines for {} groups already, and group {group} is one more; {otherwise}",
                name(router),
                spec.groups_per_router.unwrap_or(0)
            ),
        ),
        Full::Streams(router) => SystemError::new(
            "in_switch.streaming.groups_per_router",
            format!(
                "{} groups stream through {} already, and group {group} is one more, with operations of more than {}; {otherwise}",
                spec.streaming.as_ref().and_then(|own| own.groups_per_router).unwrap_or(0),
                name(router),
                Bytes(spec.largest_small())
            ),
        ),
        Full::Message(_, u64::MAX) => SystemError::new(
            "in_switch.low_latency.max_message",
            format!(
                "group {group} is of a program that is called back, which may call larger operations, and without `in_switch.streaming` nothing \
                 streams; {otherwise}"
            ),
        ),
        Full::Message(operation, bytes) => SystemError::new(
            "in_switch.low_latency.max_message",
            format!(
                "group {group} calls `{}` of {}, which is larger, and without `in_switch.streaming` nothing streams; {otherwise}",
                operation.name(),
                Bytes(bytes)
            ),
        ),
    }
}

/// How members send what is combined, with a window of so many packets.
pub(crate) fn params(spec: &InSwitchSpec, window: u32) -> GroupParams {
    let small_packet = spec.low_latency.as_ref().and_then(|own| own.segment);
    GroupParams {
        window,
        outstanding: spec.outstanding_operations.unwrap_or(u32::MAX),
        streams: spec.streaming.as_ref().map_or(u32::MAX, |own| own.outstanding_operations),
        largest_small: spec.largest_small(),
        small_packet: small_packet.map_or(u32::MAX, |segment| u32::try_from(segment.0).unwrap_or(u32::MAX)),
    }
}
