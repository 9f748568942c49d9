//! Collective traffic: operations of random groups, begun at a rate.

use std::sync::Arc;

use engine::{Owner, Stream};
use mpi::collectives::Operation;
use topology::{Topology, TopologySpec, View};
use traffic::multicast::{Destinations, FixedSets, RandomSets};
use traffic::{InjectionSpec, PlacedPattern};
use units::{KeyError, KeyResult, NodeId, TaskId, Time};

use super::build_context::{BuildContext, RequiredTasks};
use super::operations::{self, Common};
use super::sizes::{check_size, packet_size};
use super::{Open, Workload};
use ::experiment::{CollectiveTrafficSpec, Collectives, GroupsKind, PacketFor};
use ::network::Packets;
use ::network::traffic::{Multicasts, Runs};

/// Largest mean delay of late nodes: one second.
const LONGEST_LATE: Time = Time(1_000_000_000_000);

/// Builds collective traffic.
///
/// # Errors
/// If the specification is invalid. The error names a key below that of the job.
pub(super) fn build(spec: &CollectiveTrafficSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let wrong = |key: &str, message: String| KeyError::new(format!("workload.{key}"), message);
    let combined = operations::combined(spec.operation);
    check_operation(spec, context, combined)?;
    check_packets(spec, &**context.topology)?;
    let (shape, placement) = context.place(None, RequiredTasks::Any)?;
    let packet = packet_size(spec.packet_size, context)?;
    let message = spec.size.map_or(Ok(packet), |size| check_size("size", size))?;
    let message = if combined == Some(Operation::Barrier) { control(context, packet) } else { message };
    let packets = Packets { message: u64::from(message), packet };
    spec.injection.check(spec.load).at_key("workload.load")?;
    let mut nodes: Vec<u32> = (0..shape.tasks).map(|task| placement.node(TaskId(task)).0).collect();
    nodes.sort_unstable();
    if nodes.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "a group is of nodes: collective traffic has one process on a node";
        return Err(KeyError::new("placement.processes_per_node", message));
    }
    if nodes.len() < 2 {
        return Err(KeyError::new("placement", "a group needs two nodes at least, and there is one"));
    }
    let senders = spec.senders.unwrap_or(shape.tasks);
    if !(1..=shape.tasks).contains(&senders) {
        let message = format!("{senders} is out of range: 1 to {} are allowed, the number of tasks", shape.tasks);
        return Err(wrong("senders", message));
    }
    let sets = RandomSets::new(nodes, spec.fanout, spec.include_self).at_key("workload.fanout")?;
    let by_routers = spec.collectives == Collectives::Hardware;
    let is_fixed = spec.groups == GroupsKind::Persistent;
    if is_fixed && by_routers && spec.include_self {
        let message = "a multicast by a tree does not come back to the node that sends it; leave `include_self` out, or choose \
                       `groups = \"one-shot\"`";
        return Err(wrong("include_self", message.to_owned()));
    }
    if is_fixed && spec.injection == InjectionSpec::Backlogged {
        let message = "senders whose groups differ in size cannot be compared by the bytes that they bring through: persistent groups go with \
                       the other kinds of injection";
        return Err(wrong("injection", message.to_owned()));
    }
    // Each sender's group has a separate stream from that of its messages.
    let draws = |sender: NodeId| Stream::new(context.seed, Owner::Group(sender.0));
    let pattern = Destinations::new(shape.tasks, senders, spec.include_self);
    let pattern = Arc::new(PlacedPattern::new(Arc::new(pattern), &placement, false));
    debug_assert!((0..context.topology.nodes()).any(|node| pattern.sends(NodeId(node))), "nobody sends");
    let sending = (0..context.topology.nodes()).map(NodeId).filter(|&node| pattern.sends(node));
    if let Some(operation) = combined {
        let sets = FixedSets::drawn(&sets, sending, draws);
        check_late(spec, &sets)?;
        return operations::build((spec, operation), context, Common { placement, packets, sets });
    }
    let runs = (spec.packet_for == PacketFor::Consecutive).then(|| Runs::new(Arc::clone(context.topology)));
    let fixed = is_fixed.then(|| Arc::new(FixedSets::drawn(&sets, sending, draws)));
    Ok(Arc::new(Open {
        load: spec.load,
        injection: spec.injection,
        packets,
        pattern,
        placement,
        multicasts: Some(Multicasts { sets: Arc::new(sets), fixed, by_routers, runs }),
    }))
}

/// Refuses keys that the operation does not allow.
fn check_operation(
    spec: &CollectiveTrafficSpec,
    context: &BuildContext<'_>,
    combined: Option<Operation>,
) -> Result<(), KeyError> {
    let refused = |key: &str, message: &str| Err(KeyError::new(key, message));
    let Some(operation) = combined else {
        if spec.late.is_some() {
            return refused("workload.late", "a multicast waits for nobody: late nodes are of reductions and barriers");
        }
        return Ok(());
    };
    if spec.groups != GroupsKind::Persistent {
        let message =
            "what is combined goes by the tree of a group: reductions and barriers need `groups = \"persistent\"`";
        return refused("workload.groups", message);
    }
    if spec.include_self {
        return refused(
            "workload.include_self",
            "the sender takes part in the reductions and barriers of its group in any case",
        );
    }
    if operation == Operation::Barrier && spec.size.is_some() {
        return refused("workload.size", "a barrier has no data: `nic.control_size` is the size of its messages");
    }
    if context.nic.parts().is_some() {
        let message = "reductions and barriers that begin at a rate have processors that only wait for the next begin: `kind = \"ideal\"` has \
                       overheads without them; programs have the other kinds";
        return refused("nic.kind", message);
    }
    Ok(())
}

/// Refuses packets for consecutive nodes if packets do not list their nodes, or if consecutive nodes are not behind
/// consecutive ports.
fn check_packets(spec: &CollectiveTrafficSpec, topology: &dyn Topology) -> Result<(), KeyError> {
    if spec.packet_for == PacketFor::Any {
        return Ok(());
    }
    let refused = |message: String| Err(KeyError::new("workload.packet_for", message));
    if spec.collectives != Collectives::Hardware || spec.groups != GroupsKind::OneShot {
        let message = "\"consecutive\" is of packets that name their nodes: of `collectives = \"hardware\"` and `groups = \"one-shot\"`";
        return refused(message.to_owned());
    }
    if topology.views().has(Some(View::Consecutive)) {
        return Ok(());
    }
    let fitting: Vec<String> = TopologySpec::kinds_with(View::Consecutive).map(|kind| format!("\"{kind}\"")).collect();
    refused(format!(
        "\"consecutive\" is of topologies whose routers have consecutive nodes behind consecutive ports, and \"{}\" is none: \
         {} are allowed with it",
        topology.kind(),
        fitting.join(" and ")
    ))
}

/// Returns the size of a control message, in bytes.
fn control(context: &BuildContext<'_>, packet: u32) -> u32 {
    context.nic.host().control().0.min(u64::from(packet)) as u32
}

/// Refuses more late members than the smallest group has.
fn check_late(spec: &CollectiveTrafficSpec, sets: &FixedSets) -> Result<(), KeyError> {
    let Some(late) = &spec.late else { return Ok(()) };
    if late.time > LONGEST_LATE {
        return Err(KeyError::new("workload.late.time", format!("{} is too long: at most 1 s", late.time)));
    }
    let fewest = sets.groups().iter().map(Vec::len).min().unwrap_or(0);
    match late.members.filter(|&members| members as usize > fewest) {
        Some(members) => {
            let message = format!("{members} nodes are more than a group has: the smallest has {fewest}");
            Err(KeyError::new("workload.late.members", message))
        }
        None => Ok(()),
    }
}
