//! Keys that exclude `simulation.reuse`, and results of reuse.

use ::experiment::{ExperimentSpec, JoinedNetworkSpec, Model, WorkloadSpec};
use ::mpi::collectives::CollectiveBackend;
use ::network::{Feature, Network, NetworkModel, ReuseCounts};
use ::routing::Routing;
use ::topology::ChannelClass;
use ::traffic::pacers::PacerSpec;
use apps::motifs::ProgramSpec;
use fabric::catalogue::{Arbitration, RouterSpec};
use host::{GapParams, NicParams, PartParams, StripeOver};
use measure::ReuseResult;
use units::{Bytes, KeyError};

/// Refuses keys that do not go with `simulation.reuse`, so that none is ignored.
///
/// # Errors
/// Names the first such key, and what is allowed.
pub(crate) fn check(spec: &ExperimentSpec, model: &dyn NetworkModel) -> Result<(), KeyError> {
    if !spec.simulation.reuse {
        return Ok(());
    }
    let found = carrier(spec, model).or_else(|| network(spec)).or_else(|| nodes(spec)).or_else(|| measure(spec));
    let found = found.or_else(|| spec.workload.as_ref().and_then(workload));
    found.map_or(Ok(()), |(key, message)| Err(KeyError::new(key, message)))
}

/// Key and message of an error.
type Wrong = (String, String);

fn wrong(key: &str, what: &str) -> Option<Wrong> {
    Some((key.to_owned(), format!("`simulation.reuse` requires {what}")))
}

/// Refuses another model, whether a key or the topology has chosen it.
fn carrier(spec: &ExperimentSpec, model: &dyn NetworkModel) -> Option<Wrong> {
    match spec.simulation.model {
        _ if model.has(Feature::Messages) => None,
        Some(Model::Delay | Model::Flow) => wrong("simulation.model", "`model = \"packet\"`, the default"),
        _ => wrong("topology.kind", "a topology with routers, which carry packets"),
    }
}

fn network(spec: &ExperimentSpec) -> Option<Wrong> {
    if !spec.jobs.is_empty() {
        return wrong("job", "one workload, as `[workload]`");
    }
    if spec.relay.is_some() {
        return wrong("relay", "networks that join all ranks that exchange messages, and no relays");
    }
    match &spec.router {
        RouterSpec::OutputQueued(_) | RouterSpec::InputQueued(_) | RouterSpec::InputOutputQueued(_) => {}
        _ => return wrong("router.kind", "\"output-queued\", \"input-queued\" or \"input-output-queued\""),
    }
    match spec.router.input_arbitration() {
        Some(Arbitration::RoundRobin) | None => None,
        _ => wrong("router.arbitration", "\"round-robin\""),
    }
}

fn nodes(spec: &ExperimentSpec) -> Option<Wrong> {
    let common = spec.nic.parts().map(|parts| parts.params(NicParams::free(1, 0, 1)));
    if common.is_some_and(|common| common.parts.pio_room.is_some()) {
        return wrong("nic.pio.buffer", "an interface with room for all data that processors write: leave it out");
    }
    let is_first_free = common.is_some_and(|common| common.first_byte_free);
    let counts_messages = |parts: Option<PartParams>| {
        let Some(GapParams { per_message, per_byte, first_byte_free }) = parts.map(|own| own.receive_gap) else {
            return false;
        };
        per_message > 0 || (first_byte_free && !per_byte.is_free())
    };
    let common = common.map(|common| common.parts);
    let of_network = |network: &JoinedNetworkSpec| {
        let own = network.nic.as_ref().map(|own| own.params(is_first_free));
        (network.topology.planes, own.or(common))
    };
    let single = spec.networks.is_empty().then_some((spec.topology.planes, common));
    let over_all = spec.nic.host().rails.as_ref().is_some_and(|own| own.stripe_over == StripeOver::AllNetworks);
    let mut networks = single.into_iter().chain(spec.networks.iter().map(of_network));
    let is_cut = networks.any(|(planes, parts)| (planes > 1 || over_all) && counts_messages(parts));
    let stripe_above = spec.nic.host().rails(2).stripe_above.filter(|_| is_cut)?;
    let message = format!(
        "no gap of arriving messages that may be striped over rails: such a message has one for all stripes. Messages \
         above {} are striped: set a larger limit, another `nic.rails.policy` than \"round-robin\", or `receive_gap = \
         \"0 ns\"` (and `charged_bytes = \"all\"` if bytes have a gap)",
        Bytes(stripe_above)
    );
    wrong("nic.rails.stripe_above", &message)
}

fn measure(spec: &ExperimentSpec) -> Option<Wrong> {
    let measure = &spec.measure;
    if measure.max_time.is_some() {
        return wrong("measure.max_time", "a run that ends by itself: episodes are simulated to their end");
    }
    if measure.unproven {
        return wrong("measure.unproven", "a routing that is proven free of deadlock");
    }
    measure.search.and_then(|_| wrong("measure.search", "a workload that finishes"))
}

fn workload(spec: &WorkloadSpec) -> Option<Wrong> {
    match spec {
        WorkloadSpec::Traffic(_) | WorkloadSpec::Collective(_) => {
            let what = "a workload that finishes: \"program\", \"benchmark\", \"exchange\" or \"application\"";
            return wrong("workload.kind", what);
        }
        WorkloadSpec::Program(own) if matches!(own.program, ProgramSpec::CalledBack(_)) => {
            return wrong("workload.program", "a program that is not called back, since a run may be repeated");
        }
        WorkloadSpec::Application(own) if own.collectives == Some(CollectiveBackend::Hardware) => {
            return wrong("workload.collectives", "switches that neither copy nor combine packets");
        }
        _ => {}
    }
    match *spec.pacer() == PacerSpec::default() {
        true => None,
        false => wrong("workload.pacer", "messages that no pacer holds back"),
    }
}

/// Refuses an adaptive routing.
///
/// # Errors
/// If the model replays episodes and the routing chooses paths by congestion.
pub(crate) fn check_routing(routing: &dyn Routing, model: &dyn NetworkModel) -> Result<(), KeyError> {
    if !model.has(Feature::Messages) || !routing.adaptive() {
        return Ok(());
    }
    let message = format!(
        "`simulation.reuse` requires a routing with one path between two nodes, such as d-mod-k on a fat tree or \
         dimension-order on a torus: `{}` chooses paths by the queues of routers",
        routing.kind()
    );
    Err(KeyError::new("routing.kind", message))
}

/// Refuses virtual channels between which packets choose.
///
/// # Errors
/// If the model replays episodes and a class has several virtual channels, or an input several queues that
/// share its side of the crossbar.
pub(crate) fn check_channels(spec: &ExperimentSpec, network: &Network) -> Result<(), KeyError> {
    if !network.has(Feature::Messages) {
        return Ok(());
    }
    let plan = &network.plan;
    let classes = (0..network.topology.class_names().len() as u8).map(ChannelClass);
    if classes.into_iter().any(|class| plan.vcs_per_class_on(class) > 1) {
        let message = "`simulation.reuse` requires one virtual channel for each class of the routing: leave `vcs` out";
        return Err(KeyError::new("router.vcs", message));
    }
    if !matches!(spec.router, RouterSpec::OutputQueued(_)) && plan.vcs() > 1 {
        let message = format!(
            "`simulation.reuse` requires a routing with one class of virtual channels, or `router.kind = \
             \"output-queued\"`: `{}` has {}",
            network.routing.kind(),
            plan.vcs()
        );
        return Err(KeyError::new("routing.kind", message));
    }
    Ok(())
}

/// Returns the result of reuse. `gave_up` is the reason why the run was repeated without it.
pub(crate) fn result(counts: &ReuseCounts, gave_up: Option<String>) -> ReuseResult {
    let &ReuseCounts { messages, replayed, episodes, records, joins, merges, moved_pointers, .. } = counts;
    ReuseResult {
        messages,
        replayed_messages: replayed,
        episodes,
        records,
        joins,
        merges,
        moved_pointers,
        simulated_packet_hops: counts.simulated_hops,
        gave_up,
    }
}
