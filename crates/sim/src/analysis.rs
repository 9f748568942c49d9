//! What can be said without a simulation: channel loads, bounds, sizes, freedom from deadlock.

use std::collections::BTreeMap;

use fabric::Grain;
use routing::algorithms::dragonfly::ImbalanceModel;
use routing::{ChannelLoads, DependencyCycle, channel_name};
use serde::Serialize;
use topology::ChannelClass;
use topology::families::dragonfly::Dragonfly;
use units::ChannelId;

use crate::credit_bound;
use crate::effort;
use crate::error::SystemError;
use crate::flat;
use crate::loads::{LoadsKind, capacity, class_of, loads_of, of_class};
use crate::memory;
use crate::network::Network;
use crate::path_sample;
use crate::progress::Progress;
use crate::results::{MappingFigures, Warning};
use crate::router_memory::{self, BufferSpan, RouterMemory};
use crate::run::division;
use crate::system::System;
use crate::warnings::warnings;

/// How many binding channels are named; all are counted.
const NAMED: usize = 16;

/// Exact expected loads of a point's channels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The largest offered load, at most 1, at which no channel is asked for more than its bandwidth, or than the credits of the
    /// buffer at its end leave of it. Unless `exact`, an estimate, which the choices of an adaptive routing can exceed or miss.
    pub throughput_bound: f64,
    /// The same of the bandwidths alone.
    pub bandwidth_bound: f64,
    /// Whether credits bind, and not bandwidths.
    pub credit_limited: bool,
    /// By class of channels: maximum and mean load, per unit of offered load, in units of an injection link's
    /// bandwidth.
    pub class_loads: Vec<ClassLoads>,
    /// The channels that are full first, the first of them.
    pub binding_channels: Vec<BindingChannel>,
    /// How many there are.
    pub binding_channels_total: usize,
    /// By class of channels with credits, the depth of buffers beside what the cable holds.
    pub buffers: Vec<BufferSpan>,
    /// Buffers of the routers, alike ones together.
    pub router_memory: Vec<RouterMemory>,
    /// What the model of load imbalance inside groups says, of valiant-group routing on a dragonfly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance_model: Option<Imbalance>,
    /// How far an application's bytes travel, of one.
    #[serde(flatten)]
    pub mapping: Option<MappingFigures>,
    /// The load of each channel as a share of its own bandwidth, per unit of offered load; by `ChannelId`, 0 of what is
    /// not connected. Too long for the JSON of an analysis.
    #[serde(skip)]
    pub channel_loads: Vec<f64>,
    /// Whether loads and bound are exact: the routing is oblivious, or all that is sent goes by the trees of groups.
    pub exact: bool,
    /// What the loads are.
    pub loads_kind: LoadsKind,
    /// What the readers of files have left out or assumed, one sentence each.
    pub notes: Vec<String>,
    /// Time of the analysis.
    pub wall_s: f64,
}

/// Loads that valiant-group routing carries of traffic that sends consecutive groups to consecutive groups (Prisacari et
/// al., section III).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Imbalance {
    /// The left side of equation 1.
    pub lower: f64,
    /// The right side of equation 1.
    pub upper: f64,
    /// Equation 4.
    pub estimate: f64,
}

/// The load of a class of channels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassLoads {
    /// The class's name.
    pub class: String,
    /// The number of channels.
    pub channels: u32,
    /// The largest load.
    pub max: f64,
    /// The mean load.
    pub mean: f64,
}

/// A channel that is full first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BindingChannel {
    /// Its number in the table of channels.
    pub id: u32,
    /// Where it leads from and to.
    pub channel: String,
    /// Its class.
    pub class: String,
    /// Its load, per unit of offered load.
    pub load: f64,
}

/// Why nothing is said of a program that is called back before it runs.
pub(crate) const CALLED_BACK: &str = "what a program sends that is called back is known only when it has run: take what a run has \
                                      recorded (`Program.recorded`)";

/// Works out the channel loads of a system.
///
/// # Errors
/// If the routing breaks its contract, and for a program that is called back.
pub fn analyze(system: &System) -> Result<Analysis, SystemError> {
    analyze_with(system, &Progress::new())
}

/// The same, which notes its progress, and ends with an error where that is cancelled.
///
/// # Errors
/// As `analyze`.
pub fn analyze_with(system: &System, progress: &Progress) -> Result<Analysis, SystemError> {
    if system.network.is_flat() {
        return Err(SystemError::new("topology.kind", flat::NO_CHANNELS));
    }
    for programs in system.jobs.iter().filter_map(|job| job.workload.programs()) {
        if programs.is_called_back() {
            return Err(SystemError::new("workload.program", CALLED_BACK));
        }
    }
    let watch = crate::clock::Stopwatch::start();
    let (loads, loads_kind) = loads_of(system, progress)?;
    let capacity = |channel| capacity(system, channel);
    let bandwidth_bound = loads.throughput_bound(&capacity);
    let credits = credit_bound::of(system, &loads)?.filter(|credits| credits.load < bandwidth_bound);
    let binding = credits.as_ref().map_or_else(|| loads.binding_channels(&capacity), |found| found.channels.clone());
    let names = system.network.topology.class_names();
    let numbering = system.network.plan.channels();
    let describe = |&channel: &ChannelId| BindingChannel {
        id: channel.0,
        channel: channel_name(&*system.network.topology, numbering, channel),
        class: names[usize::from(class_of(system, channel).0)].into(),
        load: loads.load[channel.index()],
    };
    Ok(Analysis {
        throughput_bound: credits.as_ref().map_or(bandwidth_bound, |credits| credits.load),
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
        imbalance_model: imbalance(system),
        mapping: system.jobs.iter().find_map(|job| job.workload.mapping()),
        channel_loads: relative(&loads, &capacity),
        exact: loads_kind == LoadsKind::Exact,
        loads_kind,
        notes: notes(system),
        wall_s: watch.seconds(),
    })
}

/// By job, the load of each channel as a share of its own bandwidth, per unit of the load that the job offers.
///
/// # Errors
/// As `analyze`.
pub fn job_loads(system: &System) -> Result<Vec<Vec<f64>>, SystemError> {
    let of = |job: usize| {
        let (loads, _) = loads_of(&system.alone(job), &Progress::new())?;
        Ok(relative(&loads, &|channel| capacity(system, channel)))
    };
    (0..system.jobs.len()).map(of).collect()
}

/// The model of load imbalance, where it is one.
fn imbalance(system: &System) -> Option<Imbalance> {
    let dragonfly = system.network.topology.as_any().downcast_ref::<Dragonfly>()?;
    let capacity = of_class(system, ImbalanceModel::BINDING);
    let model = (system.network.routing.kind() == "valiant-group").then(|| ImbalanceModel::new(dragonfly, capacity))?;
    Some(Imbalance { lower: model.lower, upper: model.upper, estimate: model.estimate })
}

/// Loads as shares of the channels' bandwidths.
fn relative(loads: &ChannelLoads, capacity: &dyn Fn(ChannelId) -> f64) -> Vec<f64> {
    let share = |(channel, &load): (ChannelId, &f64)| if load > 0.0 { load / capacity(channel) } else { 0.0 };
    (0..).map(ChannelId).zip(&loads.load).map(share).collect()
}

/// What a point is, and what running it will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The topology's kind.
    pub topology: String,
    /// Routers.
    pub routers: u32,
    /// Nodes.
    pub nodes: u32,
    /// Disjoint copies of the network; left out if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Directed channels, injection and ejection included.
    pub channels: u32,
    /// Channels between the most distant routers with nodes.
    pub diameter: u32,
    /// Channels that cross the bisection in one direction, where known.
    pub bisection_channels: Option<u64>,
    /// The routing's kind.
    pub routing: String,
    /// Whether it adapts to congestion.
    pub adaptive: bool,
    /// The routers' architecture.
    pub router: String,
    /// Classes of virtual channels that the routing needs.
    pub vc_classes: u8,
    /// Virtual channels of a link.
    pub vcs: u8,
    /// Virtual channels that packets use, by class of channels.
    pub vcs_by_class: BTreeMap<String, u8>,
    /// Whether the channel dependency graph has no cycle.
    pub deadlock_free: bool,
    /// A cycle of it, if it has one.
    pub deadlock_cycle: Option<String>,
    /// The pattern's kind; of several jobs, that of each.
    pub pattern: String,
    /// Nodes that send.
    pub senders: u32,
    /// The grain of simulated time.
    pub tick_ps: u64,
    /// The window of lookahead: how far apart two threads may be; null if there is too little to divide between them.
    pub window_ps: Option<u64>,
    /// Latency of a packet that meets no other on the longest path.
    pub zero_load_latency_max_ns: f64,
    /// Size of the largest packet.
    pub packet_bytes: u32,
    /// From a packet's head at a router's input to its head ready to leave.
    pub router_delay_ns: f64,
    /// Depth of the buffer that a credit stands for, for each virtual channel: the deepest of all classes of channels.
    pub buffer_bytes: u32,
    /// The same by class of channels; ejection has none, since nodes take packets without credit.
    pub buffer_bytes_by_class: BTreeMap<String, u32>,
    /// Depth of the buffer behind the inputs: of a crosspoint, an output, or the shared memory; null if there is none.
    pub inner_buffer_bytes: Option<u32>,
    /// Buffers of a router, the largest.
    pub router_memory_bytes: u64,
    /// Buffers of the routers, alike ones together.
    pub router_memory: Vec<RouterMemory>,
    /// What will mislead in the results.
    pub warnings: Vec<Warning>,
    /// What the readers of files have left out or assumed, one sentence each.
    pub notes: Vec<String>,
    /// Memory of a run, roughly.
    pub memory_bytes: u64,
    /// Packets that routers send, estimated for a run that converges as soon as it may (past saturation: after the longest warm-up).
    pub packet_hops: f64,
    /// Messages in such a run, estimated: those of ranks, flows of volumes, and messages that traffic generates.
    pub messages: f64,
    /// Processor time of such a run on one core, estimated for the machine of the performance page.
    pub seconds: f64,
    /// Processor time of a run that never converges and ends by its limits.
    pub seconds_most: f64,
    /// Whether these estimates are lower bounds: traffic lasts until a workload ends whose time is not known before.
    pub is_lower_bound: bool,
    /// Rates that the estimate of time takes: packet-hops a second on one core, and messages of ranks a second besides.
    pub packet_hops_per_s: f64,
    /// Messages of ranks a second on one core, of which the estimate of time takes the cost besides that of their packets.
    pub messages_per_s: f64,
    /// Packet-hops of a microsecond of simulated time, by the mean path of a sample of packets (of adaptive routing, without
    /// congestion).
    pub packet_hops_per_us: f64,
}

/// Describes a system and what running it will take.
///
/// # Errors
/// If the routing breaks its contract.
pub fn check(system: &System) -> Result<Check, SystemError> {
    describe(system, system.dependency_cycle()?)
}

/// Describes a system whose channel dependencies have this cycle, or none.
///
/// # Errors
/// If the routing breaks its contract.
pub(crate) fn describe(system: &System, cycle: Option<DependencyCycle>) -> Result<Check, SystemError> {
    let checked = describe_network(system, cycle)?;
    Ok(if system.network.is_flat() { without_routers(checked, &system.network) } else { checked })
}

/// What `check` says of a network of nodes without routers.
fn without_routers(checked: Check, network: &Network) -> Check {
    let window = network.picoseconds(network.plan.link_delay(ChannelClass::INJECTION));
    Check {
        window_ps: Some(window),
        routers: 0,
        channels: checked.nodes,
        diameter: 0,
        router: checked.routing.clone(),
        vc_classes: 0,
        vcs: 0,
        packet_bytes: 0,
        router_delay_ns: 0.0,
        buffer_bytes: 0,
        buffer_bytes_by_class: BTreeMap::new(),
        inner_buffer_bytes: None,
        router_memory_bytes: 0,
        router_memory: Vec::new(),
        memory_bytes: u64::from(checked.nodes) * BYTES_A_NODE,
        packet_hops_per_us: 0.0,
        ..checked
    }
}

/// Bytes of a node with a rank that has some operations outstanding, about.
const BYTES_A_NODE: u64 = 1 << 10;

fn describe_network(system: &System, cycle: Option<DependencyCycle>) -> Result<Check, SystemError> {
    let (topology, plan) = (&*system.network.topology, &*system.network.plan);
    let senders = (0..topology.nodes()).filter(|&node| system.weight(units::NodeId(node)) > 0.0).count() as u32;
    let slot_us = system.picoseconds(system.network.slot(system.packets())) as f64 / 1e6;
    let packets = system.packets().count() as f64;
    let window = division(system, 2, Grain::Fine).window();
    let router_memory = router_memory::of(system);
    let effort = effort::of(system);
    let buffers = buffers_by_class(system);
    Ok(Check {
        topology: topology.kind().into(),
        routers: topology.routers(),
        nodes: topology.nodes(),
        planes: Some(topology.planes()).filter(|&planes| planes > 1),
        channels: connected_channels(system),
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
        pattern: system.jobs.iter().map(|job| job.workload.pattern().kind()).collect::<Vec<_>>().join(", "),
        senders,
        tick_ps: plan.tick().0,
        window_ps: (window < u64::MAX).then(|| system.picoseconds(window)),
        zero_load_latency_max_ns: system.picoseconds(system.zero_load_latency(topology.diameter() + 1)) as f64 / 1e3,
        packet_bytes: system.network.packet,
        router_delay_ns: system.picoseconds(plan.router_delay()) as f64 / 1e3,
        buffer_bytes: buffers.values().copied().max().unwrap_or(0),
        buffer_bytes_by_class: buffers,
        inner_buffer_bytes: system.spec.router.inner_buffer().map(|_| plan.inner_buffer_bytes()),
        router_memory_bytes: router_memory.iter().map(|router| router.bytes).max().unwrap_or(0),
        router_memory,
        warnings: warnings(system)?,
        notes: notes(system),
        memory_bytes: memory::of_network(&system.network, &system.spec.router) + effort::pacer_bytes(system),
        packet_hops: effort.packet_hops,
        messages: effort.messages,
        seconds: effort.least_s,
        seconds_most: effort.most_s,
        is_lower_bound: effort.is_bound,
        packet_hops_per_s: effort::HOPS_PER_SECOND,
        messages_per_s: effort::messages_per_second(&system.network),
        packet_hops_per_us: path_sample::hops_in_a_slot(system) * packets / slot_us,
    })
}

/// What the readers of files have left out or assumed, one sentence each: of the topology, and of what jobs send.
pub(crate) fn notes(system: &System) -> Vec<String> {
    let mut notes = units::Notes::default();
    let jobs = system.jobs.iter().flat_map(|job| job.workload.pattern().notes());
    system.network.topology.notes().iter().chain(jobs).for_each(|note| notes.add(note));
    notes.sentences().to_vec()
}

/// Virtual channels between routers, by class of channels; packets are injected on the lowest, and ejected on none.
fn vcs_by_class(system: &System) -> BTreeMap<String, u8> {
    let classes = (0..).map(ChannelClass).zip(system.network.topology.class_names()).skip(2);
    classes.map(|(class, name)| (name.to_owned(), system.network.plan.vcs_on(class))).collect()
}

/// Depths of the buffers that credits stand for, by class of channels.
fn buffers_by_class(system: &System) -> BTreeMap<String, u32> {
    router_memory::spans(system).into_iter().map(|span| (span.class, span.buffer_bytes)).collect()
}

fn connected_channels(system: &System) -> u32 {
    let topology = &*system.network.topology;
    let of = |router| {
        let ports = (0..topology.ports(router)).map(units::PortId);
        ports.filter(|&port| topology.endpoint(router, port) != topology::Endpoint::Unconnected).count() as u32
    };
    (0..topology.routers()).map(|router| of(units::RouterId(router))).sum::<u32>()
        + topology.planes() * topology.nodes()
}
