//! Network model of a point: its choice, and checks of keys that a model does not support.

use std::sync::Arc;

use ::mpi::collectives::CollectiveBackend;
use units::KeyError;

use ::experiment::{ExperimentSpec, InSwitchSpec, JobSpec, Model, WorkloadSpec};
use ::network::{DelayModel, Feature, NetworkModel, PacketModel};
use ::topology::TopologySpec;
use ::traffic::pacers::PacerSpec;
use fabric::catalogue::{RouterClassSpec, RouterSpec};

/// Packet size for comparison with the sizes of control messages, in bytes. Larger messages are carried whole too.
pub const WHOLE: u64 = 1 << 30;

/// Reason why there are no channel loads.
pub const NO_CHANNELS: &str = "the delay model has no channels between routers, and so no loads of channels to work out: `analyze` is for \
                               packets";

/// Reason why no operation is carried out in switches.
pub const NO_SWITCHES: &str = "the delay model has no switches that could carry out collective operations: choose the packet model on \
                                      a topology with routers, or another algorithm than `in-switch`";

/// Returns the network model of a point. The one match over models. [`check`] refuses packets without routers.
pub fn of(spec: &ExperimentSpec) -> Arc<dyn NetworkModel> {
    match (&spec.topology.topology, spec.simulation.model) {
        (TopologySpec::Flat(_), _) => Arc::new(DelayModel { has_routers: false }),
        (_, Some(Model::Delay)) => Arc::new(DelayModel { has_routers: true }),
        _ => Arc::new(PacketModel),
    }
}

/// Refuses keys that a network model does not support, so that none is ignored.
///
/// # Errors
/// If a key has no meaning in the model. The error names the first such key.
pub(crate) fn check(spec: &ExperimentSpec, model: &dyn NetworkModel) -> Result<(), KeyError> {
    let lacks = |feature: Feature| !model.has(feature);
    let found = chosen(spec).or_else(|| lacks(Feature::Routers).then(|| routers(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Routes).then(|| routes(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Packets).then(|| packets(spec)).flatten());
    let found = found.or_else(|| lacks(Feature::Queues).then(|| queues(spec)).flatten());
    found.map_or(Ok(()), |(key, message)| Err(KeyError::new(key, message)))
}

/// Key and message of an error.
type Wrong = (String, String);

/// Refuses a model that does not go with the topology.
fn chosen(spec: &ExperimentSpec) -> Option<Wrong> {
    let is_wrong =
        spec.simulation.model == Some(Model::Packet) && matches!(spec.topology.topology, TopologySpec::Flat(_));
    let message =
        "\"packet\" needs routers, and a flat network has none: choose another kind of topology, or leave it out";
    is_wrong.then(|| ("simulation.model".to_owned(), message.to_owned()))
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

fn queues(spec: &ExperimentSpec) -> Option<Wrong> {
    let message = "the delay model has no queues to sample; leave it out";
    spec.measure.series.map(|_| ("measure.series".into(), message.to_owned()))
}
