//! Keys that exclude `simulation.reuse`, and results of reuse.

use std::path::Path;

use ::experiment::{ExperimentSpec, JoinedNetworkSpec, Model, WorkloadSpec};
use ::mpi::collectives::CollectiveBackend;
use ::network::{Feature, Network, NetworkModel, ReuseCounts, ReuseRecords};
use ::routing::Routing;
use ::traffic::pacers::PacerSpec;
use apps::motifs::ProgramSpec;
use fabric::RouterSets;
use fabric::catalogue::{Arbitration, MulticastQueueing, RouterSpec};
use host::{GapParams, NicParams, PartParams, StripeOver};
use measure::ReuseResult;
use topology::ChannelSource;
use units::{Bytes, ChannelId, KeyError, Record, RouterId};

use crate::files::{checksum, replace};
use crate::run::outcome::ReuseFiles;
use crate::system::System;

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
    let arbitration = match &spec.router {
        RouterSpec::SharedBuffer(own) => Some(own.arbitration),
        RouterSpec::VirtualOutputQueued(own) if own.multicast == MulticastQueueing::QueuePerSet => {
            return wrong("router.multicast", "iSLIP: \"copies\" or \"queue\"");
        }
        // After few rounds, packets may stay that could leave. Any visit of their router then lets the matching go on.
        RouterSpec::VirtualOutputQueued(own) if own.iterations.is_some() => {
            return wrong("router.iterations", "a maximal matching: leave it out");
        }
        router => router.input_arbitration(),
    };
    match arbitration {
        Some(Arbitration::Random) => {
            wrong("router.arbitration", "\"round-robin\" or \"oldest-first\", which do not draw")
        }
        _ => None,
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

/// Refuses several queues of an input that share its side of the crossbar: who comes first may then depend on all
/// packets of the router.
///
/// # Errors
/// If the model replays episodes, and an input of such routers has several virtual channels.
pub(crate) fn check_channels(spec: &ExperimentSpec, network: &Network) -> Result<(), KeyError> {
    if !network.has(Feature::Messages) {
        return Ok(());
    }
    let has_sides = match spec.router {
        RouterSpec::InputQueued(_) | RouterSpec::InputOutputQueued(_) | RouterSpec::VirtualOutputQueued(_) => true,
        RouterSpec::OutputQueued(_) | RouterSpec::InputCrosspointQueued(_) | RouterSpec::SharedBuffer(_) => false,
    };
    let (vcs, classes) = (network.plan.vcs(), network.routing.classes());
    if !has_sides || vcs == 1 {
        return Ok(());
    }
    let others = "`router.kind = \"output-queued\"`, \"input-crosspoint-queued\" or \"shared-buffer\"";
    if classes == 1 {
        let message = format!("`simulation.reuse` requires one virtual channel, or {others}: leave `vcs` out");
        return Err(KeyError::new("router.vcs", message));
    }
    let message = format!(
        "`simulation.reuse` requires a routing with one class of virtual channels, or {others}: `{}` has {classes}",
        network.routing.kind()
    );
    Err(KeyError::new("routing.kind", message))
}

/// Returns the result of reuse. `gave_up` is the reason why the run was repeated without it.
pub(crate) fn result(counts: &ReuseCounts, gave_up: Option<String>) -> ReuseResult {
    let &ReuseCounts {
        messages, replayed, episodes, records, joins, merges, continued, paused, moved_pointers, ..
    } = counts;
    ReuseResult {
        messages,
        replayed_messages: replayed,
        episodes,
        records,
        joins,
        merges,
        continued,
        paused,
        moved_pointers,
        simulated_packet_hops: counts.simulated_hops,
        skipped_packet_hops: counts.skipped_hops,
        gave_up,
    }
}

/// Longest values that an error shows, in bytes.
const MOST_SHOWN: usize = 60;

/// Begin of a file of records.
const MAGIC: &[u8] = b"cutthrough records of reuse\n";

/// Returns what records depend on besides their keys: names, and values as text.
fn conditions(system: &System) -> Vec<(String, String)> {
    let (spec, plan) = (&system.spec, &system.network.plan);
    let sends_volumes = system.jobs.iter().any(|job| job.workload.programs().is_none());
    let all = [
        ("topology", format!("{:?}", spec.topology)),
        ("networks", format!("{:?}", spec.networks)),
        ("nic", format!("{:?}", spec.nic)),
        ("link", format!("{:?}", spec.link)),
        ("router", format!("{:?}", spec.router)),
        ("routing", format!("{:?}", spec.routing)),
        ("network", digest(system)),
        ("kind of workload", if sends_volumes { "volumes" } else { "ranks" }.to_owned()),
        ("packet size", format!("{} B", plan.packet())),
        ("unit of time", format!("{} ps, {} parts", plan.tick().0, plan.units_per_tick())),
    ];
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns text that differs between networks of different channels or routers, but for accidents: files that describe
/// them may change.
fn digest(system: &System) -> String {
    let plan = &system.network.plan;
    let channels = plan.channels();
    let of_channel = |channel| {
        let (is_node, from, port) = match channels.source(channel) {
            ChannelSource::Router(router, port) => (0, u64::from(router.0), u64::from(port.0)),
            ChannelSource::Node(node, plane) => (1, u64::from(node.0), u64::from(plane.0)),
        };
        [is_node, from, port, u64::from(plan.class_of(channel).0)]
    };
    let sets = RouterSets::new(&system.spec.router, &*system.network.topology);
    let routers = (0..plan.topology().routers()).map(|router| sets.number(RouterId(router)) as u64);
    let all = (0..channels.count()).flat_map(|channel| of_channel(ChannelId(channel))).chain(routers);
    let mut bytes = Vec::new();
    all.for_each(|number| number.put(&mut bytes));
    format!("{:x}", checksum(&bytes))
}

/// Returns an error of the file that a run begins with.
fn wrong_file(path: &Path, what: &str) -> KeyError {
    KeyError::new("simulation.reuse", format!("the file of records {} {what}", path.display()))
}

/// Message of the error of a damaged file.
const DAMAGED: &str = "is cut or garbled: write it again (`--reuse-to`)";

/// Conditions under which kept records hold: their names and values.
type Conditions = Vec<(String, String)>;

/// Returns the conditions and the records that the bytes of a file hold.
fn unpack<'a>(path: &Path, bytes: &'a [u8], simulator: &str) -> Result<(Conditions, &'a [u8]), KeyError> {
    let wrong = |what: &str| wrong_file(path, what);
    let damaged = || wrong(DAMAGED);
    let whole = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("is not a file that `--reuse-to` has written"))?;
    let (mut rest, sum) = whole.split_last_chunk().ok_or_else(damaged)?;
    if u64::from_le_bytes(*sum) != checksum(rest) {
        return Err(damaged());
    }
    let version = String::take(&mut rest).ok_or_else(damaged)?;
    if version != simulator {
        let both = format!("is of Cutthrough {version}, and this is {simulator}");
        return Err(wrong(&format!("{both}: write it again (`--reuse-to`)")));
    }
    Ok((Vec::take(&mut rest).ok_or_else(damaged)?, rest))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, KeyError> {
    units::input::REUSE.read(path).map_err(|error| wrong_file(path, &error.to_string()))
}

/// Checks a file of records as far as it does not depend on the system.
///
/// # Errors
/// If the file cannot be read, is no such file, is cut or garbled, or is of another version or build.
pub fn check_records(path: &Path, simulator: &str) -> Result<(), KeyError> {
    unpack(path, &bytes_of(path)?, simulator).map(|_| ())
}

/// Reads the records that an earlier run has kept.
///
/// # Errors
/// If the file cannot be read, is no such file, is cut or garbled, or is of another version or network. Names what
/// differs.
pub(crate) fn read(system: &System, files: &ReuseFiles) -> Result<Option<ReuseRecords>, KeyError> {
    let option = if files.from.is_some() { "--reuse-from" } else { "--reuse-to" };
    if !system.spec.simulation.reuse && (files.from.is_some() || files.to.is_some()) {
        return Err(KeyError::new("simulation.reuse", format!("`{option}` requires `simulation.reuse = true`")));
    }
    let Some(path) = &files.from else { return Ok(None) };
    let bytes = bytes_of(path)?;
    let (kept, records) = unpack(path, &bytes, &files.simulator)?;
    if let Some((own, other)) = conditions(system).iter().zip(&kept).find(|(own, other)| own != other) {
        let (name, own, other) = (&own.0, &own.1, &other.1);
        let both =
            if own.len() + other.len() > MOST_SHOWN { String::new() } else { format!(" ({other} instead of {own})") };
        let what = format!("is of another {name}{both}: records hold for equal networks only");
        return Err(wrong_file(path, &what));
    }
    ReuseRecords::read(records).map(Some).ok_or_else(|| wrong_file(path, DAMAGED))
}

/// Writes the records of a run for later ones.
///
/// # Errors
/// If the file cannot be written. The text is a note on the result.
pub(crate) fn write(system: &System, files: &ReuseFiles, records: &ReuseRecords) -> Result<(), String> {
    let Some(path) = &files.to else { return Ok(()) };
    let mut bytes = MAGIC.to_vec();
    files.simulator.put(&mut bytes);
    conditions(system).put(&mut bytes);
    records.put(&mut bytes);
    checksum(&bytes[MAGIC.len()..]).put(&mut bytes);
    let written = replace(path, &bytes);
    written.map_err(|error| format!("Records of reuse are not kept: {} cannot be written: {error}.", path.display()))
}
