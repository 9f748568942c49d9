//! Analysis without simulation: channel loads, bounds, sizes, and freedom from deadlock.

use std::collections::BTreeMap;

use fabric::Grain;
use routing::algorithms::dragonfly::ImbalanceModel;
use routing::{ChannelLoads, DependencyCycle, channel_name};
use serde::Serialize;
use topology::ChannelClass;
use units::{ChannelId, KeyError};

use crate::credit_bound;
use crate::design::{self, Design};
use crate::effort;
use crate::filling;
use crate::loads::{LoadsKind, loads_of};
use crate::one_network;
use crate::path_sample;
use crate::router_memory::{self, BufferSpan, RouterMemory};
use crate::upgrade::{self, Upgrades};
use crate::warnings::warnings;
use ::network::{Feature, Network};
use ::system::Progress;
use ::system::System;
use ::system::connected_ports;
use ::system::division;
use ::system::memory_of_network;
use ::system::model;
use measure::{MappingFigures, Warning};

/// Number of binding channels that are named. All are counted.
const NAMED: usize = 16;

/// Expected loads of a point's channels, and the throughput bounds that follow from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Largest offered load, at most 1, at which the load of no channel exceeds its bandwidth, or what the credits of
    /// the buffer at its end allow. An estimate unless `exact`: the choices of an adaptive routing can
    /// exceed it or miss it.
    pub throughput_bound: f64,
    /// Largest offered load, at most 1, at which the load of no channel exceeds its bandwidth.
    pub bandwidth_bound: f64,
    /// Whether credits limit throughput, not bandwidths.
    pub credit_limited: bool,
    /// Maximum and mean load of each class of channels, per unit of offered load, as multiples of an injection link's
    /// bandwidth.
    pub class_loads: Vec<ClassLoads>,
    /// First of the channels that saturate first.
    pub binding_channels: Vec<BindingChannel>,
    /// Number of channels that saturate first.
    pub binding_channels_total: usize,
    /// Depth of buffers and content of the cable, for each class of channels with credits.
    pub buffers: Vec<BufferSpan>,
    /// Buffers of the routers. Equal routers are one entry.
    pub router_memory: Vec<RouterMemory>,
    /// Parts of the network, their cables' lengths, and their cost.
    pub design: Design,
    /// Effects of doubling cables, with routes unchanged.
    pub upgrades: Upgrades,
    /// Prediction of the model of load imbalance inside groups. Valiant-group routing on a dragonfly only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance_model: Option<Imbalance>,
    /// Path lengths of an application's bytes. Applications only.
    #[serde(flatten)]
    pub mapping: Option<MappingFigures>,
    /// Load of each channel as a share of the bandwidth of the channel, per unit of offered load, by `ChannelId`. 0 for
    /// unconnected channels. Too long for the JSON of an analysis.
    #[serde(skip)]
    pub channel_loads: Vec<f64>,
    /// Whether loads and bounds are exact: the routing is oblivious, or all traffic goes along the trees of groups.
    pub exact: bool,
    /// Meaning of the loads.
    pub loads_kind: LoadsKind,
    /// Names of several networks. Absent for one network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// Omissions and assumptions of the readers of files, and meanings of patterns that have several, one sentence each.
    pub notes: Vec<String>,
    /// Wall-clock time of the analysis, in seconds.
    pub wall_s: f64,
}

/// Loads that valiant-group routing carries of traffic from consecutive groups to consecutive groups (Prisacari et al.,
/// section III).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Imbalance {
    /// Lower bound: left side of equation 1.
    pub lower: f64,
    /// Upper bound: right side of equation 1.
    pub upper: f64,
    /// Estimate: equation 4.
    pub estimate: f64,
}

/// Load of a class of channels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassLoads {
    /// Name of the class.
    pub class: String,
    /// Number of channels.
    pub channels: u32,
    /// Largest load.
    pub max: f64,
    /// Mean load.
    pub mean: f64,
}

/// Channel that saturates first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BindingChannel {
    /// Index of the channel in the table of channels.
    pub id: u32,
    /// Ends of the channel.
    pub channel: String,
    /// Class of the channel.
    pub class: String,
    /// Load of the channel, per unit of offered load.
    pub load: f64,
}

/// Reason why a program that is called back cannot be analysed before it runs.
pub const CALLED_BACK: &str = "what a program sends that is called back is known only when it has run: take what a run has \
                                      recorded (`Program.recorded`)";

/// Computes the channel loads of a system.
///
/// # Errors
/// If the routing breaks its contract, and for a program that is called back.
pub fn analyze(system: &System) -> Result<Analysis, KeyError> {
    analyze_with(system, &Progress::new())
}

/// Refuses a system whose network has no channels between routers.
pub(crate) fn check_channels(system: &System) -> Result<(), KeyError> {
    if system.network.has(Feature::Routes) {
        return Ok(());
    }
    let key = if system.network.has(Feature::Routers) { "simulation.model" } else { "topology.kind" };
    Err(KeyError::new(key, model::NO_CHANNELS))
}

/// Computes the channel loads of a system, reports progress, and stops with an error if `progress` is cancelled.
///
/// # Errors
/// If the routing breaks its contract, for a program that is called back, and if cancelled.
pub fn analyze_with(system: &System, progress: &Progress) -> Result<Analysis, KeyError> {
    check_channels(system)?;
    for programs in system.jobs.iter().filter_map(|job| job.workload.programs()) {
        if programs.is_called_back() {
            return Err(KeyError::new("workload.program", CALLED_BACK));
        }
    }
    let watch = ::system::Stopwatch::start();
    let (loads, loads_kind) = loads_of(system, progress)?;
    let capacity = |channel| system.capacity(channel);
    let bandwidth_bound = loads.throughput_bound(&capacity);
    let credits = credit_bound::of(system, &loads)?.filter(|credits| credits.load < bandwidth_bound);
    let binding = credits.as_ref().map_or_else(|| loads.binding_channels(&capacity), |found| found.channels.clone());
    let names = system.network.topology.class_names();
    let numbering = system.network.plan.channels();
    let describe = |&channel: &ChannelId| BindingChannel {
        id: channel.0,
        channel: channel_name(&*system.network.topology, numbering, channel),
        class: names[usize::from(system.network.plan.class_of(channel).0)].into(),
        load: loads.load[channel.index()],
    };
    let throughput_bound = credits.as_ref().map_or(bandwidth_bound, |credits| credits.load);
    Ok(Analysis {
        throughput_bound,
        bandwidth_bound,
        credit_limited: credits.is_some(),
        class_loads: loads
            .class_summary(&*system.network.topology)
            .into_iter()
            .map(|c| ClassLoads { class: c.name, channels: c.channels, max: c.max, mean: c.mean })
            .collect(),
        binding_channels: binding.iter().take(NAMED).map(describe).collect(),
        binding_channels_total: binding.len(),
        buffers: router_memory::spans(system),
        router_memory: router_memory::of(system),
        design: design::of(system, throughput_bound),
        upgrades: upgrade::of(system, &loads),
        imbalance_model: imbalance(system),
        mapping: system.jobs.iter().find_map(|job| job.workload.mapping()),
        channel_loads: relative(&loads, &capacity),
        exact: loads_kind == LoadsKind::Exact,
        loads_kind,
        networks: one_network::names(system),
        notes: notes(system),
        wall_s: watch.seconds(),
    })
}

/// Returns, for each job, the load of each channel as a share of the channel's own bandwidth, per unit of the job's
/// offered load.
///
/// # Errors
/// As `analyze`.
pub fn job_loads(system: &System) -> Result<Vec<Vec<f64>>, KeyError> {
    let of = |job: usize| {
        let (loads, _) = loads_of(&system.alone(job), &Progress::new())?;
        Ok(relative(&loads, &|channel| system.capacity(channel)))
    };
    (0..system.jobs.len()).map(of).collect()
}

/// Returns the model of load imbalance. None unless valiant-group routing runs on a dragonfly.
fn imbalance(system: &System) -> Option<Imbalance> {
    let groups = system.network.topology.views().groups?;
    let capacity = system.capacities.of_class(ImbalanceModel::BINDING);
    let model = (system.network.routing.kind() == "valiant-group").then(|| ImbalanceModel::new(groups, capacity))?;
    Some(Imbalance { lower: model.lower, upper: model.upper, estimate: model.estimate })
}

/// Returns loads as shares of the channels' bandwidths.
fn relative(loads: &ChannelLoads, capacity: &dyn Fn(ChannelId) -> f64) -> Vec<f64> {
    let share = |(channel, &load): (ChannelId, &f64)| if load > 0.0 { load / capacity(channel) } else { 0.0 };
    (0..).map(ChannelId).zip(&loads.load).map(share).collect()
}

/// Description of a point, and the estimated cost of running it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Kind of the topology.
    pub topology: String,
    /// Number of routers.
    pub routers: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of planes (disjoint copies of the network). Left out if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Number of directed channels, injection and ejection included.
    pub channels: u32,
    /// Number of ports without a wire, of all routers together. Left out without `router.ports`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_ports: Option<u64>,
    /// Number of channels between the most distant routers with nodes.
    pub diameter: u32,
    /// Number of channels that cross the bisection in one direction. Null if unknown.
    pub bisection_channels: Option<u64>,
    /// Kind of the routing.
    pub routing: String,
    /// Whether the routing adapts to congestion.
    pub adaptive: bool,
    /// Architecture of the routers.
    pub router: String,
    /// Number of virtual channel classes that the routing needs.
    pub vc_classes: u8,
    /// Number of virtual channels of a link.
    pub vcs: u8,
    /// Number of virtual channels that packets use, by class of channels.
    pub vcs_by_class: BTreeMap<String, u8>,
    /// Whether the channel dependency graph has no cycle.
    pub deadlock_free: bool,
    /// Cycle of the channel dependency graph. Null if there is none.
    pub deadlock_cycle: Option<String>,
    /// Kind of the pattern. With several jobs, the kinds of all patterns.
    pub pattern: String,
    /// Number of nodes that send.
    pub senders: u32,
    /// Tick of the simulated clock, in picoseconds.
    pub tick_ps: u64,
    /// Lookahead window, in picoseconds: the largest distance in time between two threads. Null if the network is too
    /// small to be divided between threads.
    pub window_ps: Option<u64>,
    /// Zero-load latency of a packet on the longest path, in nanoseconds: over the slowest channels and routers, if they
    /// differ.
    pub zero_load_latency_max_ns: f64,
    /// Size of the largest packet, in bytes.
    pub packet_bytes: u32,
    /// Delay of a router, in nanoseconds: from a packet's head at the input until the head is ready to leave. The longest
    /// of all routers.
    pub router_delay_ns: f64,
    /// Depth of the buffer that credits count, for each virtual channel, in bytes. The deepest of all classes of
    /// channels.
    pub buffer_bytes: u32,
    /// Depth of the buffer that credits count, for each virtual channel, in bytes, by class of channels. The deepest of
    /// all routers. Ejection has none, since nodes accept packets without credits.
    pub buffer_bytes_by_class: BTreeMap<String, u32>,
    /// Depth of the buffer behind the inputs, in bytes: of a crosspoint, of an output, or of the shared memory. The
    /// deepest of all routers. Null if there is none.
    pub inner_buffer_bytes: Option<u32>,
    /// Size of the buffers of a router, in bytes. The largest of all routers.
    pub router_memory_bytes: u64,
    /// Buffers of the routers. Equal routers are one entry.
    pub router_memory: Vec<RouterMemory>,
    /// Warnings of misleading results.
    pub warnings: Vec<Warning>,
    /// Omissions and assumptions of the readers of files, and meanings of patterns that have several, one sentence each.
    pub notes: Vec<String>,
    /// Approximate memory of a run, in bytes.
    pub memory_bytes: u64,
    /// Estimated transmissions by routers (packet-hops), for a run that converges as early as it can. Past saturation,
    /// for a run with the longest warm-up.
    pub packet_hops: f64,
    /// Estimated number of messages in a run that converges as early as it can: messages of ranks, flows of volumes,
    /// and messages that traffic generates.
    pub messages: f64,
    /// Estimated packet-hops of the runs of jobs alone (`measure.compare_alone`). Not contained in `packet_hops`, which
    /// counts what the results count; contained in `seconds`.
    pub packet_hops_alone: f64,
    /// Estimated number of messages in the runs of jobs alone. Not contained in `messages`; contained in `seconds`.
    pub messages_alone: f64,
    /// Estimated processor time of a run that converges as early as it can, in seconds on one core of the performance
    /// page's machine.
    pub seconds: f64,
    /// Estimated processor time of a run that never converges and ends by its limits, in seconds.
    pub seconds_most: f64,
    /// Smallest number of runs. 1 except for a search (`measure.search`) of which it is known that load 1 saturates the
    /// network.
    pub runs: u32,
    /// Largest number of runs. 1 without a search. The other estimates assume this number.
    pub runs_most: u32,
    /// Whether the estimates are lower bounds: open traffic lasts until a workload ends whose time is not known in
    /// advance. Workloads in the background that end by themselves do not count then.
    pub is_lower_bound: bool,
    /// Whether these estimates are upper bounds: `measure.max_time` or the end of its job ends a workload before it can
    /// have sent everything, or a workload runs in the background until others have ended. The part that it has sent
    /// by then is taken to be the largest possible.
    pub is_upper_bound: bool,
    /// Assumed speed of one core on this network, in packet-hops per second. Larger networks are slower.
    pub packet_hops_per_s: f64,
    /// Assumed speed of one core, in messages of ranks per second. Their cost is added to that of their packets.
    pub messages_per_s: f64,
    /// Packet-hops in a microsecond of simulated time, from the mean path of a sample of packets. With adaptive
    /// routing, the path without congestion.
    pub packet_hops_per_us: f64,
}

/// Describes a system and the cost of running it.
///
/// # Errors
/// If the routing breaks its contract.
pub fn check(system: &System) -> Result<Check, KeyError> {
    describe(system, system.dependency_cycle()?)
}

/// Describes a system. `cycle` is a cycle of its channel dependencies, if there is one.
///
/// # Errors
/// If the routing breaks its contract.
pub fn describe(system: &System, cycle: Option<DependencyCycle>) -> Result<Check, KeyError> {
    let checked = describe_network(system, cycle)?;
    Ok(match system.network.has(Feature::Routes) {
        true => checked,
        false => without_routes(checked, &system.network),
    })
}

/// Returns the description of a network without routes: of its channels, only the links of nodes count.
fn without_routes(checked: Check, network: &Network) -> Check {
    let (routers, diameter, router_delay_ns) = match network.has(Feature::Routers) {
        true => (checked.routers, checked.diameter, checked.router_delay_ns),
        false => (0, 0, 0.0),
    };
    Check {
        window_ps: Some(network.picoseconds(network.least_delay())),
        routers,
        diameter,
        router: checked.routing.clone(),
        vc_classes: 0,
        vcs: 0,
        packet_bytes: 0,
        router_delay_ns,
        buffer_bytes: 0,
        buffer_bytes_by_class: BTreeMap::new(),
        inner_buffer_bytes: None,
        router_memory_bytes: 0,
        router_memory: Vec::new(),
        packet_hops_per_us: 0.0,
        ..checked
    }
}

fn describe_network(system: &System, cycle: Option<DependencyCycle>) -> Result<Check, KeyError> {
    let (topology, plan) = (&*system.network.topology, &*system.network.plan);
    let senders = (0..topology.nodes()).filter(|&node| system.weight(units::NodeId(node)) > 0.0).count() as u32;
    let slot_us = system.picoseconds(system.network.slot(system.packets())) as f64 / 1e6;
    let packets = system.packets().count() as f64;
    let window = division(system, 2, Grain::Fine).window();
    let router_memory = router_memory::of(system);
    let effort = effort::of(system);
    let buffers = buffers_by_class(system);
    let sets = plan.router_sets();
    let inner = (0..sets.count()).map(|set| plan.inner_buffer_bytes(set));
    Ok(Check {
        topology: topology.kind().into(),
        routers: topology.routers(),
        nodes: topology.nodes(),
        planes: Some(topology.planes()).filter(|&planes| planes > 1),
        channels: if system.network.has(Feature::Routes) { connected_channels(system) } else { topology.nodes() },
        free_ports: sets
            .iter()
            .any(|(_, keys)| keys.common().ports.is_some())
            .then(|| design::free_ports(topology, sets)),
        diameter: topology.diameter(),
        bisection_channels: topology.bisection_channels(),
        routing: system.network.routing.kind().into(),
        adaptive: system.network.routing.adaptive(),
        router: system.spec.router.kind().into(),
        vc_classes: system.network.routing.classes(),
        vcs: plan.vcs(),
        vcs_by_class: vcs_by_class(system),
        deadlock_free: cycle.is_none(),
        deadlock_cycle: cycle.map(|cycle| cycle.to_string()),
        pattern: system.jobs.iter().map(|job| job.workload.demand().pattern.kind()).collect::<Vec<_>>().join(", "),
        senders,
        tick_ps: plan.tick().0,
        window_ps: (window < u64::MAX).then(|| system.picoseconds(window)),
        zero_load_latency_max_ns: system.picoseconds(system.zero_load_latency(topology.diameter() + 1)) as f64 / 1e3,
        packet_bytes: system.network.packet,
        router_delay_ns: system.picoseconds(plan.longest_router_delay()) as f64 / 1e3,
        buffer_bytes: buffers.values().copied().max().unwrap_or(0),
        buffer_bytes_by_class: buffers,
        inner_buffer_bytes: system.spec.router.inner_buffer().and_then(|_| inner.max()),
        router_memory_bytes: router_memory.iter().map(|router| router.bytes).max().unwrap_or(0),
        router_memory,
        warnings: warnings(system)?.into_iter().chain(effort.near.map(at_saturation)).collect(),
        notes: notes(system),
        memory_bytes: memory_of_network(&system.network, &system.spec.router) + effort::pacer_bytes(system),
        packet_hops: effort.packet_hops,
        messages: effort.messages,
        packet_hops_alone: effort.packet_hops_alone,
        messages_alone: effort.messages_alone,
        seconds: effort.least_s,
        seconds_most: effort.most_s,
        runs: effort.runs.0,
        runs_most: effort.runs.1,
        is_lower_bound: effort.is_bound,
        is_upper_bound: effort.is_cut,
        packet_hops_per_s: effort.hops_per_second(system),
        messages_per_s: effort::messages_per_second(&system.network),
        packet_hops_per_us: path_sample::hops_in_a_slot(system) * packets / slot_us,
    })
}

/// Warns of an offered load at which the run does not converge.
fn at_saturation((load, bound): (f64, f64)) -> Warning {
    Warning {
        kind: "at-saturation",
        key: "workload.load",
        message: format!(
            "load {load:.3} is close to the load {bound:.3} that saturates the network: latencies grow during the run, and the \
             run is assumed to take all of its batches"
        ),
    }
}

/// Returns the omissions and assumptions of the readers of files, the meanings of patterns that have several, delays
/// that follow from lengths, and networks that endpoints do not fill evenly, one sentence each.
pub fn notes(system: &System) -> Vec<String> {
    let mut notes = units::Notes::default();
    let jobs = system.jobs.iter().flat_map(|job| job.workload.demand().pattern.notes());
    system.network.topology.views().notes.iter().chain(jobs).for_each(|note| notes.add(note));
    delays_of_lengths(system).iter().chain(&filling::notes(system)).for_each(|note| notes.add(note));
    notes.sentences().to_vec()
}

/// Returns the delays that follow from the lengths of cables in a sentence, by class of channels. `None` without any.
fn delays_of_lengths(system: &System) -> Option<String> {
    let delay = |name: &String| format!("{name} {}", system.spec.link.parameters(name).delay);
    let all: Vec<String> = system.delays_of_lengths.iter().map(delay).collect();
    (!all.is_empty())
        .then(|| format!("delays of links follow from the mean lengths of cables (5 ns a metre): {}", all.join(", ")))
}

/// Returns the number of virtual channels between routers, by class of channels. Injection uses the lowest only,
/// ejection none.
fn vcs_by_class(system: &System) -> BTreeMap<String, u8> {
    let topology = &*system.network.topology;
    let classes = (0..).map(ChannelClass).zip(topology.class_names());
    let classes = classes.filter(|&(class, _)| !topology.is_injection(class) && !topology.is_ejection(class));
    classes.map(|(class, name)| (name.to_owned(), system.network.plan.vcs_on(class))).collect()
}

/// Returns the depths of the buffers that credits count, by class of channels.
fn buffers_by_class(system: &System) -> BTreeMap<String, u32> {
    router_memory::spans(system).into_iter().map(|span| (span.class, span.buffer_bytes)).collect()
}

fn connected_channels(system: &System) -> u32 {
    let topology = &*system.network.topology;
    let of = |router| connected_ports(topology, units::RouterId(router)).count() as u32;
    let ports = |plane| design::attached(topology, plane) as u32;
    (0..topology.routers()).map(of).sum::<u32>() + topology.all_planes().map(ports).sum::<u32>()
}
