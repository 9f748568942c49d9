//! Network model of a point: its choice, and checks of keys that a model does not support.

use std::sync::Arc;

use ::mpi::collectives::CollectiveBackend;
use units::{KeyError, NodeId, PlaneId, VcClass};

use crate::groups::Demand;
use crate::reuse;
use crate::validation;
use ::experiment::{ExperimentSpec, InSwitchSpec, JobSpec, Model, WorkloadSpec};
use ::network::{DelayModel, Feature, FlowModel, NetworkModel, PacketModel, ReuseModel};
use ::routing::islands::Island;
use ::routing::{Hop, RouteState, Routing};
use ::topology::{Endpoint, Topology, TopologySpec};
use ::traffic::pacers::PacerSpec;
use fabric::catalogue::{RouterClassSpec, RouterSpec};

/// Packet size for comparison with the sizes of control messages, in bytes. Larger messages are carried whole too.
pub const WHOLE: u64 = 1 << 30;

/// Reason why there are no channel loads.
pub const NO_CHANNELS: &str = "the delay model has no channels between routers, and so no loads of channels to work out: `analyze` is for \
                               packets";

/// Reason why an allreduce whose results members return is refused on a network of flows.
const NO_RETURN: &str = "the flow model does not carry out an allreduce by `nvls`: choose `in-switch`, or an algorithm without switches \
                         such as `ring`";

/// Reason why operations in routers are refused with reuse.
const NO_REPLAY: &str = "`simulation.reuse` excludes collective operations in routers: leave it out, or choose another algorithm than \
                         `in-switch`";

/// Returns the reason why the operations of some groups are not carried out in switches. None if they are.
pub(crate) fn no_switches(model: &dyn NetworkModel, demands: &[Demand]) -> Option<String> {
    if model.has(Feature::Flows) {
        return demands.iter().any(Demand::returns).then(|| NO_RETURN.to_owned());
    }
    if model.has(Feature::Packets) && model.has(Feature::Messages) {
        return Some(NO_REPLAY.to_owned());
    }
    let lacks = !model.has(Feature::Routes) || model.has(Feature::Messages);
    lacks.then(|| {
        format!(
            "the {} model has no switches that could carry out collective operations: choose the packet model on a topology \
             with routers, or another algorithm than `in-switch`",
            model.name()
        )
    })
}

/// Returns the network model of a point. The one match over models. [`check`] refuses packets without routers.
pub fn of(spec: &ExperimentSpec) -> Arc<dyn NetworkModel> {
    match (&spec.topology.topology, spec.simulation.model) {
        (TopologySpec::Flat(_), _) => Arc::new(DelayModel { has_routers: false }),
        (_, Some(Model::Delay)) => Arc::new(DelayModel { has_routers: true }),
        (_, Some(Model::Flow)) => Arc::new(FlowModel),
        _ if spec.simulation.reuse => Arc::new(ReuseModel::default()),
        _ => Arc::new(PacketModel),
    }
}

/// Refuses keys that a network model does not support, so that none is ignored.
///
/// # Errors
/// If a key has no meaning in the model. The error names the first such key.
pub(crate) fn check(spec: &ExperimentSpec, model: &dyn NetworkModel) -> Result<(), KeyError> {
    reuse::check(spec, model)?;
    validation::check(spec, model.has(Feature::Flows))?;
    let lacks = |feature: Feature| !model.has(feature);
    let found = chosen(spec).or_else(|| lacks(Feature::Routers).then(|| routers(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Routes).then(|| routes(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Packets).then(|| packets(spec)).flatten());
    let found = found.or_else(|| model.has(Feature::Flows).then(|| flows(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Queues).then(|| queues(spec, model.name())).flatten());
    found.map_or(Ok(()), |(key, message)| Err(KeyError::new(key, message)))
}

/// Largest message of traffic at a rate on a network of flows, in bytes.
const MOST_MESSAGE: u64 = 1 << 31;

/// Key and message of an error.
type Wrong = (String, String);

/// Refuses a model that does not go with the topology.
fn chosen(spec: &ExperimentSpec) -> Option<Wrong> {
    let name = match (spec.simulation.model?, &spec.topology.topology) {
        (Model::Packet, TopologySpec::Flat(_)) => "packet",
        (Model::Flow, TopologySpec::Flat(_)) => "flow",
        _ => return None,
    };
    let message = format!(
        "\"{name}\" needs routers, and a flat network has none: choose another kind of topology, or leave it out"
    );
    Some(("simulation.model".to_owned(), message))
}

fn routers(spec: &ExperimentSpec) -> Option<Wrong> {
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("a flat network has {what}; leave it out")));
    if spec.router != RouterSpec::default() {
        return wrong("router", "no routers");
    }
    let class = spec.link.classes.keys().next()?;
    wrong(&format!("link.{class}"), "one kind of link: a delay and a bandwidth")
}

fn routes(spec: &ExperimentSpec) -> Option<Wrong> {
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("the delay model has {what}; leave it out")));
    let is_flat = matches!(spec.topology.topology, TopologySpec::Flat(_));
    if spec.routing.is_some() {
        let delay = if is_flat { "`link.delay`" } else { "the delay of an idle shortest path" };
        return wrong("routing", &format!("no routes: a message takes {delay}"));
    }
    let mut router = spec.router.clone();
    let keys = router.size_keys();
    *keys.delay = None;
    keys.classes.retain(|_, own| RouterClassSpec { delay: None, ..own.clone() } != RouterClassSpec::default());
    if router != RouterSpec::default() {
        return wrong("router", "no buffers and arbiters: of these keys only `delay` counts");
    }
    if let Some((class, _)) = spec.link.classes.iter().find(|(_, own)| own.bandwidth.is_some()) {
        return wrong(&format!("link.{class}.bandwidth"), "one bandwidth, that of nodes' links");
    }
    if !spec.networks.is_empty() {
        return wrong("network", "one network");
    }
    if spec.topology.planes > 1 {
        return wrong("topology.planes", "one link for each node");
    }
    if spec.in_switch != InSwitchSpec::default() {
        return wrong("in_switch", "no switches that carry out operations");
    }
    if spec.measure.unproven {
        return wrong("measure.unproven", "no routing to prove free of deadlock");
    }
    if spec.measure.timeline && !is_flat {
        return wrong("measure.timeline", "no times of channels to explain, except on a flat network");
    }
    None
}

fn packets(spec: &ExperimentSpec) -> Option<Wrong> {
    if spec.node.receive_buffer.is_some() {
        let message = "the delay model has no credits: nodes take messages as they come; leave it out";
        return Some(("node.receive_buffer".into(), message.into()));
    }
    let below = |job: &JobSpec| {
        let (key, message) = workload_of(&job.workload)?;
        Some((format!("job.{}.{key}", job.name), message))
    };
    spec.workload.as_ref().and_then(workload_of).or_else(|| spec.jobs.iter().find_map(below))
}

fn workload_of(spec: &WorkloadSpec) -> Option<Wrong> {
    let packet_size = match spec {
        WorkloadSpec::Benchmark(own) => own.packet_size,
        WorkloadSpec::Program(own) => own.packet_size,
        WorkloadSpec::Application(own) => own.packet_size,
        WorkloadSpec::Exchange(own) => own.packet_size,
        WorkloadSpec::Traffic(_) | WorkloadSpec::Collective(_) => {
            let message = "the delay model carries messages whole, not packets at a rate: \"program\", \"benchmark\", \"exchange\" and \
                           \"application\" are allowed";
            return Some(("workload.kind".into(), message.into()));
        }
    };
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("the delay model has {what}; leave it out")));
    if packet_size.is_some() {
        return wrong("workload.packet_size", "no packets: messages go whole");
    }
    if matches!(spec, WorkloadSpec::Application(own) if own.collectives == Some(CollectiveBackend::Hardware)) {
        return wrong("workload.collectives", "no switches that could copy or combine");
    }
    match *spec.pacer() == PacerSpec::default() {
        true => None,
        false => wrong("workload.pacer", "no packets to hold back"),
    }
}

fn queues(spec: &ExperimentSpec, model: &str) -> Option<Wrong> {
    let message = || format!("the {model} model has no queues to sample; leave it out");
    spec.measure.series.map(|_| ("measure.series".into(), message()))
}

/// Refuses keys that ask for single packets.
fn flows(spec: &ExperimentSpec) -> Option<Wrong> {
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("the flow model has {what}; leave it out")));
    if let Some(own) = spec.networks.iter().find(|own| own.nic.is_some()) {
        return wrong(&format!("network.{}.nic", own.name), "equal interfaces in all networks");
    }
    if spec.relay.is_some() {
        return wrong("relay", "no relays, which pass on packet by packet");
    }
    if spec.in_switch.low_latency.as_ref().is_some_and(|own| own.segment.is_some()) {
        return wrong("in_switch.low_latency.segment", "packets of one size");
    }
    if spec.nic.host().message_order.is_some() {
        return wrong("nic.message_order", "all messages of a node under way at once");
    }
    if spec.measure.timeline {
        return wrong("measure.timeline", "no times of packets on channels to explain");
    }
    if spec.measure.search.is_some() {
        return wrong("measure.search", "no queues that grow beyond saturation");
    }
    let below = |job: &JobSpec| {
        let (key, message) = flows_of(&job.workload)?;
        Some((format!("job.{}.{key}", job.name), message))
    };
    spec.workload.as_ref().and_then(flows_of).or_else(|| spec.jobs.iter().find_map(below))
}

fn flows_of(spec: &WorkloadSpec) -> Option<Wrong> {
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("the flow model has {what}")));
    match spec {
        WorkloadSpec::Traffic(own) if own.message_size.is_some_and(|size| size.0 > MOST_MESSAGE) => {
            return wrong("workload.message_size", "messages of at most 2 GiB in traffic at a rate");
        }
        _ => {}
    }
    match spec.pacer().ack_size() {
        None => None,
        Some(_) => wrong("workload.pacer.ack_size", "no acknowledgements that load channels; leave it out"),
    }
}

/// Largest number of destinations to which paths are followed.
const SAMPLED_DESTINATIONS: usize = 4096;

/// Refuses an adaptive routing with reuse, and a routing that weighs paths of several lengths on a network of flows.
/// Choices among ports of one length need no queues: flows take the ports to which least is assigned.
///
/// # Errors
/// If the model replays episodes and the routing is adaptive, or if the model has flows and a packet on the way from
/// node 0 weighs paths.
pub(crate) fn check_routing(
    (topology, routing): (&dyn Topology, &dyn Routing),
    model: &dyn NetworkModel,
) -> Result<(), KeyError> {
    reuse::check_routing(routing, model)?;
    if !model.has(Feature::Flows) || !routing.adaptive() {
        return Ok(());
    }
    let islands = Island::first(topology, routing);
    let is_weighing = |own: &&Island<'_>| {
        let nodes = own.topology.nodes();
        let step = (nodes as usize).div_ceil(SAMPLED_DESTINATIONS).max(1);
        (1..nodes).step_by(step).any(|dst| weighs(own.topology, own.routing, NodeId(dst)))
    };
    let Some(Island { routing, .. }) = islands.iter().find(is_weighing) else { return Ok(()) };
    let message = format!(
        "`{}` compares detours by the queues of routers, and the flow model has none: choose a routing by shortest paths, \
         or an oblivious one",
        routing.kind()
    );
    Err(KeyError::new("routing.kind", message))
}

/// Returns whether a packet from node 0 weighs paths on its way to a node.
fn weighs(topology: &dyn Topology, routing: &dyn Routing, dst: NodeId) -> bool {
    let Some((mut router, in_port)) = topology.attachment_on(NodeId(0), PlaneId(0)) else { return false };
    let state = routing.initial_distribution(NodeId(0), dst).first().map_or_else(RouteState::default, |own| own.0);
    let mut hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
    for _ in 0..routing.max_routers() {
        let route = routing.route(router, &mut hop);
        if route.choice.is_weighed() {
            return true;
        }
        let Endpoint::Router(next, in_port) = topology.endpoint(router, route.port(0, routing.port_lists())) else {
            return false;
        };
        (router, hop.in_port, hop.vc_class) = (next, in_port, route.vc_class);
    }
    false
}
