//! System: built from a typed point of an experiment, ready to be analysed or run.

use std::path::Path;
use std::sync::Arc;

use fabric::catalogue::HeadOfLine;
use fabric::{FabricSpec, LinkParameters, Plan, ReceiveBufferSpec};
use mpi::communicator::OffloadLimits;
use routing::Routing;
use topology::{ChannelClass, Leg, Topology};
use units::{Bytes, ChannelId, KeyError, KeyResult, NodeId, PlaneId, Time};

use crate::build_cache::BuildCache;
use crate::cables;
use crate::capacity::Capacities;
use crate::groups::{Demand, JobGroups, senders};
use crate::job::{self, Job, JobBuilder};
use crate::last_time::{LAST_TIME, LONGEST_RUN, seconds};
use crate::model;
use crate::networks;
use crate::ports;
use crate::reuse;
use crate::run::checkpoints;
use crate::shared_interfaces;
use crate::workloads::RunContext;
use ::experiment::{ExperimentSpec, WorkloadSpec};
use ::network::traffic::JobNumbers;
use ::network::{Feature, MOST_SAMPLES, Network, NetworkModel, NetworkWays, Packets};
use measure::direct_routing;

/// System built from one point of an experiment. It holds everything but the state of a run.
#[derive(Clone, Debug)]
pub struct System {
    /// Specification of the point, with the delay of every class of channels.
    pub spec: ExperimentSpec,
    /// Classes of channels whose delays follow from the lengths of cables.
    pub delays_of_lengths: Vec<String>,
    /// Network model of the point.
    pub model: Arc<dyn NetworkModel>,
    /// Network of the point.
    pub network: Network,
    /// Bandwidths of the classes of channels.
    pub capacities: Capacities,
    /// Jobs on the network: at least one.
    pub jobs: Vec<Job>,
    /// Whether runs log each message, if messages are measured.
    pub logs_messages: bool,
}

impl System {
    /// Builds the system of a point. Relative paths in the point start from `base`.
    ///
    /// # Errors
    /// If parts do not fit together. The error names the key at fault.
    pub fn build(spec: &ExperimentSpec, base: &Path) -> Result<Self, KeyError> {
        Self::build_from(spec, base, &BuildCache::default())
    }

    /// Builds the system of a point, and reuses the topologies and routings that `parts` holds.
    ///
    /// # Errors
    /// If parts do not fit together. The error names the key at fault.
    pub fn build_from(spec: &ExperimentSpec, base: &Path, parts: &BuildCache) -> Result<Self, KeyError> {
        Self::build_with(&model::of(spec), spec, base, parts)
    }

    /// Builds the system of a point on a network of the given model, and reuses the topologies and routings that
    /// `parts` holds.
    ///
    /// # Errors
    /// If parts do not fit together. The error names the key at fault.
    pub fn build_with(
        model: &Arc<dyn NetworkModel>,
        spec: &ExperimentSpec,
        base: &Path,
        parts: &BuildCache,
    ) -> Result<Self, KeyError> {
        if spec.networks.is_empty() {
            return Self::build_one(model, spec, base, parts);
        }
        Self::build_one(model, spec, base, parts).map_err(|error| networks::at_network(spec, error))
    }

    /// Builds the system of a point, and returns errors with keys of the joint network.
    fn build_one(
        model: &Arc<dyn NetworkModel>,
        spec: &ExperimentSpec,
        base: &Path,
        parts: &BuildCache,
    ) -> Result<Self, KeyError> {
        let topology = parts.topology(spec, base)?;
        model::check(spec, &**model)?;
        let written = spec;
        let joined = topology.views().networks.filter(|_| !spec.networks.is_empty());
        let lowered = joined.map(|networks| networks::lowered(spec, networks)).transpose()?;
        let spec = lowered.as_ref().unwrap_or(spec);
        let with_delays = cables::with_delays(spec, (&*topology, &**model))?;
        let (spec, delays_of_lengths) = (&*with_delays.spec, with_delays.of_lengths);
        ports::check(&*topology, &spec.router)?;
        let routing = parts.routing(spec, (&*topology, &**model), base)?;
        model::check_routing((&*topology, &*routing), &**model)?;
        let jobs = jobs_of(spec, (&topology, &**model), (base, parts))?;
        if spec.nic.parts().is_some() || spec.networks.iter().any(|own| own.nic.is_some()) {
            let placed = jobs.iter().map(|job| {
                let JobBuilder { name, workload, .. } = job;
                (&**name, &**workload.placement(), workload.programs().is_some())
            });
            shared_interfaces::check(placed)?;
        }
        let packet = match model.has(Feature::Packets) {
            true => jobs.iter().map(|job| job.workload.packets().packet).max().unwrap_or(1),
            // No buffer is measured in packets.
            false => fabric::packet_size(spec.link.bandwidth).0 as u32,
        };
        job::check_pacers(&jobs)?;
        job::check_runs(&jobs, (&*topology, &*routing))?;
        let groups: Vec<Vec<NodeId>> = jobs.iter().flat_map(|job| job.workload.groups()).collect();
        check_switches(spec, &**model, &*topology, &jobs)?;
        let demands: Vec<Demand> = jobs.iter().flat_map(|job| Demand::of(&*job.workload)).collect();
        let senders: Vec<Vec<NodeId>> = jobs.iter().flat_map(|job| senders(&*job.workload)).collect();
        let mut completed = None;
        if let Some(networks) = joined {
            let own = completed.insert(spec.clone());
            networks::write_routers(written, own, networks, Some(Bytes(packet.into())))?;
        }
        let spec = completed.as_ref().unwrap_or(spec);
        let mut fabric = fabric_spec(spec, packet, (&topology, &routing), (&**model, &jobs));
        fabric.groups = crate::groups::build(spec, (&topology, &routing), (&groups, &demands, &senders), packet)?;
        crate::memory::check(&fabric, &**model)?;
        let plan = Plan::new(fabric)?;
        let direct = if spec.measure.messages && model.has(Feature::Routes) {
            direct_routing(&*topology, &routing)
        } else {
            Ok(None)
        }
        .at_key("measure.messages")?;
        let group = crate::groups::params(&spec.in_switch, plan.groups());
        let (features, plan) = (model.features(), Arc::new(plan));
        let ways = joined.map(|networks| NetworkWays::new(networks, networks::transfer_rule(written), (&plan, packet)));
        let ways = ways.map(Arc::new);
        let network = Network { features, topology, routing, direct, plan, packet, group, part: 0, ways };
        let mut first_group = 0;
        let finish = |job: JobBuilder| {
            let first = first_group;
            first_group += job.workload.groups().len() as u32;
            let part = networks::of_job(written, &network, &job)?;
            Ok(job.finish(network.plan.tick(), first, part))
        };
        let jobs = jobs.into_iter().map(finish).collect::<Result<_, KeyError>>()?;
        let capacities = Capacities::new(&spec.link, &*network.topology, Bytes(u64::from(packet)));
        let (spec, model) = (spec.clone(), Arc::clone(model));
        Self { spec, delays_of_lengths, model, network, capacities, jobs, logs_messages: false }.checked()
    }

    /// Returns the system without `simulation.reuse`.
    pub(crate) fn without_reuse(&self) -> Self {
        let mut system = self.clone();
        system.spec.simulation.reuse = false;
        system.model = model::of(&system.spec);
        system.network.features = system.model.features();
        system
    }

    /// Returns the system, unless a run of it would certainly fail.
    fn checked(self) -> Result<Self, KeyError> {
        self.check_clock()?;
        self.check_series()?;
        self.check_timeline()?;
        self.check_messages()?;
        self.check_numbers()?;
        reuse::check_channels(&self.spec, &self.network)?;
        checkpoints::check(&self)?;
        Ok(self)
    }

    /// Returns a channel's bandwidth as a multiple of an injection link's.
    pub fn capacity(&self, channel: ChannelId) -> f64 {
        self.capacities.of_class(self.network.plan.class_of(channel))
    }

    /// Returns the packet classes that tell the packets and acknowledgements of the jobs apart.
    pub fn numbers(&self) -> JobNumbers {
        JobNumbers::new(self.jobs.iter().map(|job| job.has_acks))
    }

    /// Refuses more packet classes than a packet's header can tell apart.
    fn check_numbers(&self) -> Result<(), KeyError> {
        let (numbers, most) = (self.numbers(), fabric::MAX_JOBS);
        let last = (0..self.jobs.len()).rfind(|&job| numbers.acks(job).is_some());
        let Some(last) = last.filter(|_| numbers.total() > most) else { return Ok(()) };
        let message = format!(
            "there are {} jobs, and {} of them have acknowledgements that are packets: together at most {most} are allowed",
            numbers.jobs(),
            numbers.total() - numbers.jobs()
        );
        let Job { name, pacer, .. } = &self.jobs[last];
        let key = if pacer.is_none() { "workload" } else { "workload.pacer.ack_size" };
        Err(KeyError::new(format!("job.{name}.{key}"), message))
    }

    /// Refuses a run that certainly takes longer than the clock holds.
    fn check_clock(&self) -> Result<(), KeyError> {
        let measure = &self.spec.measure;
        let too_long = |key: &str, time: Time| {
            let message = format!("{time} is too long: at most {LONGEST_RUN} (92 days) are allowed");
            Err(KeyError::new(key, message))
        };
        if let Some(end) = measure.max_time {
            // Everything ends by then.
            return if end > LONGEST_RUN { too_long("measure.max_time", end) } else { Ok(()) };
        }
        if let Some(least) = measure.min_time.filter(|&least| least > LONGEST_RUN) {
            return too_long("measure.min_time", least);
        }
        let batch = self.batch();
        let takes = |job: &Job| self.picoseconds(job.workload.least_time(&self.network, measure, batch));
        // A job that ends at a given time, or that runs in the background, may be longer.
        let waited_for = |job: &&Job| !job.background && job.span.end == u64::MAX;
        let Some(job) = self.jobs.iter().filter(waited_for).find(|job| takes(job) > LAST_TIME.0) else { return Ok(()) };
        let (key, message) = match job.workload.is_open() {
            true => (
                "workload.load",
                format!(
                    "at load {} messages are so rare that a run takes at least {}, and the clock holds {LAST_TIME} (104 days); raise the \
                     load, or set `measure.max_time`",
                    job.workload.demand().load,
                    seconds(takes(job)),
                ),
            ),
            false => (
                "workload",
                format!(
                    "what the node with most to send or to receive has takes its links at least {}, and the clock holds {LAST_TIME} (104 days); \
                     send less, or set `measure.max_time`",
                    seconds(takes(job)),
                ),
            ),
        };
        Err(KeyError::new(
            if job.name.is_empty() { key.to_owned() } else { format!("job.{}.{key}", job.name) },
            message,
        ))
    }

    /// Refuses a time series with more samples than are kept, or with several samples in a tick.
    fn check_series(&self) -> Result<(), KeyError> {
        let Some(period) = self.spec.measure.series else { return Ok(()) };
        let refused = |message: String| Err(KeyError::new("measure.series", message));
        let tick = self.network.plan.tick();
        if period < tick {
            return refused(format!(
                "{period} is shorter than the tick of this network's clock: at least {tick} are allowed"
            ));
        }
        let Some(end) = self.spec.measure.max_time.filter(|end| end.0 / period.0 > MOST_SAMPLES as u64) else {
            return Ok(());
        };
        let least = Time(end.0.div_ceil(MOST_SAMPLES as u64));
        refused(format!(
            "samples every {period} would be more than {MOST_SAMPLES} by `measure.max_time` ({end}): at least {least} are allowed"
        ))
    }

    /// Refuses a timeline where no job has ranks that end.
    fn check_timeline(&self) -> Result<(), KeyError> {
        let has_ranks = |job: &Job| job.workload.programs().is_some() && !job.workload.is_open();
        if !self.spec.measure.timeline || self.jobs.iter().any(has_ranks) {
            return Ok(());
        }
        let message =
            "there are no ranks that end: a timeline is of programs, benchmarks and message-driven applications";
        Err(KeyError::new("measure.timeline", message))
    }

    /// Refuses latencies of messages, and a comparison of them, if all jobs begin operations at a rate. Such jobs are
    /// measured by their operations.
    fn check_messages(&self) -> Result<(), KeyError> {
        let is_of_operations = |job: &Job| job.workload.programs().is_some() && job.workload.is_open();
        let key = match (self.spec.measure.messages, self.spec.simulation.validate) {
            (true, _) => "measure.messages",
            (false, Some(_)) => "simulation.validate",
            (false, None) => return Ok(()),
        };
        if !self.jobs.iter().all(is_of_operations) {
            return Ok(());
        }
        let message = "reductions and barriers that begin at a rate are measured as operations (`operation_time_mean_ns`); latencies of messages \
                       are of all other workloads";
        Err(KeyError::new(key, message))
    }

    /// Returns the division of messages into packets: the first job's.
    pub fn packets(&self) -> Packets {
        self.jobs[0].workload.packets()
    }

    /// Returns the reference load, the largest of all jobs. The loads of jobs are shares of it.
    pub fn load(&self) -> f64 {
        self.jobs.iter().map(|job| job.workload.demand().load).fold(0.0, f64::max)
    }

    /// Returns the place of head-of-line blocking. None unless routers, if only those of one class, have FIFOs with one
    /// virtual channel for each class of packets.
    pub fn head_of_line(&self) -> Option<HeadOfLine> {
        let mut sets = self.network.plan.router_sets().iter();
        let blocked = sets.find_map(|(_, keys)| keys.head_of_line())?;
        let (plan, classes) = (&self.network.plan, self.network.topology.class_names().len() as u8);
        let mut between = (2..classes.max(3)).map(|class| ChannelClass(if classes > 2 { class } else { 0 }));
        between.any(|class| plan.vcs_per_class_on(class) <= 1).then_some(blocked)
    }

    /// Returns the node's share of the load, summed over all jobs.
    pub fn weight(&self, node: NodeId) -> f64 {
        self.shares().map(|(job, share)| share * job.workload.demand().weight(node)).sum()
    }

    /// Returns each job with its load as a share of `load`.
    pub fn shares(&self) -> impl Iterator<Item = (&Job, f64)> {
        let load = self.load();
        self.jobs.iter().map(move |job| (job, if load > 0.0 { job.workload.demand().load / load } else { 0.0 }))
    }

    /// Returns the traffic of `node` to other nodes, as shares of the load. Packets that routers split or copy
    /// are excluded.
    pub fn demand(&self, node: NodeId) -> routing::Demand {
        let mut all = routing::Demand::default();
        for (job, share) in self.shares() {
            let own = job.workload.demand().unicasts(node, share);
            all.everyone += own.everyone;
            all.besides.extend(own.besides);
        }
        all
    }

    /// Returns the traffic of all nodes in each network, as shares of the load of its links: by network and by node. On
    /// the way by relays each leg counts, and a message is taken for one of `packet` bytes.
    pub fn demands_by_network(&self) -> Vec<Vec<Vec<(NodeId, f64)>>> {
        let Network { ways, topology, packet, .. } = &self.network;
        let nodes = topology.nodes();
        let rates: Vec<f64> = (0..self.network.networks()).map(|part| self.rate(part)).collect();
        let mut all = vec![vec![Vec::new(); nodes as usize]; rates.len()];
        for (job, share) in self.shares() {
            for node in (0..nodes).map(NodeId) {
                for (to, share) in job.workload.demand().unicasts(node, share).by_node(nodes) {
                    let chosen = ways.as_ref().filter(|_| job.workload.programs().is_some() && node != to);
                    let legs = chosen.and_then(|ways| ways.networks().legs(node, to, (*packet).into()));
                    let legs = legs.unwrap_or_else(|| vec![Leg { network: job.part, to }]);
                    let mut at = node;
                    for leg in legs {
                        let share = share * rates[job.part] / rates[leg.network];
                        all[leg.network][at.index()].push((leg.to, share));
                        at = leg.to;
                    }
                }
            }
        }
        all
    }

    /// Returns the packets in a tick that a node's links of a network carry, in all planes.
    fn rate(&self, part: usize) -> f64 {
        let of = self.network.on(part);
        f64::from(of.planes()) / self.network.plan.serialization(of.injection(), self.network.packet) as f64
    }

    /// Returns the packets in a tick that a node sends at a job's load 1.
    pub fn rate_of(&self, job: &Job) -> f64 {
        self.rate(job.part)
    }

    /// Returns the packets in a tick that a node's link of a plane carries.
    pub fn plane_rate(&self, plane: PlaneId) -> f64 {
        let class = self.network.topology.injection_class(plane);
        1.0 / self.network.plan.serialization(class, self.network.packet) as f64
    }

    /// Returns the traffic of `node` to each other node, as shares of the load ([`Self::demand`] by destination).
    pub fn shares_from(&self, node: NodeId) -> Vec<(NodeId, f64)> {
        self.demand(node).by_node(self.network.topology.nodes())
    }

    /// Returns the batch length for the counts of all jobs, in ticks: the longest that an open job wants. Without open
    /// jobs, the longest that any job wants.
    pub fn batch(&self) -> u64 {
        let of = |job: &Job| job.workload.batch(&self.network, &self.spec.measure);
        let open = self.jobs.iter().filter(|job| job.workload.is_open()).map(of).max();
        open.or_else(|| self.jobs.iter().map(of).max()).unwrap_or(1)
    }

    /// Returns the context of a run of a job. `batch` is the length of a batch in ticks.
    pub fn context(&self, job: usize, batch: u64) -> RunContext {
        let Job { span, seed, first_group, part, .. } = &self.jobs[job];
        RunContext {
            network: self.network.on(*part),
            measure: self.spec.measure.clone(),
            job,
            seed: *seed,
            span: span.clone(),
            batch,
            acks: self.numbers().acks(job),
            first_group: *first_group,
            shared: self.jobs.len() > 1 || *span != (0..u64::MAX),
            nic_overhead_ns: self.nic_overhead_ns(),
            logs_messages: self.logs_messages,
        }
    }

    /// Returns this system with only one of its jobs, on the nodes that the job has here.
    pub fn alone(&self, job: usize) -> Self {
        Self { jobs: vec![Job { background: false, ..self.jobs[job].clone() }], ..self.clone() }
    }

    /// Converts ticks to picoseconds.
    pub fn picoseconds(&self, ticks: u64) -> u64 {
        self.network.picoseconds(ticks)
    }

    /// Latency that the network interfaces add to every message, in nanoseconds.
    pub fn nic_overhead_ns(&self) -> f64 {
        let nic = self.spec.nic.host();
        nic.send_overhead.as_ns() + nic.receive_overhead.as_ns()
    }

    /// Zero-load latency of a packet on a path through `routers` routers, in ticks.
    pub fn zero_load_latency(&self, routers: u32) -> u64 {
        self.network.zero_load_latency(routers)
    }
}

/// Builds the unfinished jobs of a point, whose operations in routers have room there.
fn jobs_of(
    spec: &ExperimentSpec,
    (topology, model): (&Arc<dyn Topology>, &dyn NetworkModel),
    (base, parts): (&Path, &BuildCache),
) -> Result<Vec<JobBuilder>, KeyError> {
    let jobs = job::job_builders(spec, (topology, model), (base, parts), &[])?;
    let own = jobs.iter().map(|job| &job.workload);
    let all = own.map(|own| (own.groups(), Demand::of(&**own), own.programs(), senders(&**own)));
    let all: Vec<JobGroups<'_>> = all.collect();
    let limits = crate::groups::offload_limits(spec, (topology, model), &all)?;
    drop(all);
    match limits.iter().all(OffloadLimits::is_empty) {
        true => Ok(jobs),
        false => job::job_builders(spec, (topology, model), (base, parts), &limits),
    }
}

fn fabric_spec(
    spec: &ExperimentSpec,
    packet: u32,
    (topology, routing): (&Arc<dyn Topology>, &Arc<dyn Routing>),
    (model, jobs): (&dyn NetworkModel, &[JobBuilder]),
) -> FabricSpec {
    let sizes = |job: &JobBuilder| {
        let acks = job.pacer.ack_size().map(u64::from);
        job.workload.partial_packets().into_iter().chain([u64::from(job.workload.packets().packet)]).chain(acks)
    };
    // Without single packets, times are exact to the picosecond: a tick that divides packet times gains nothing.
    let whole = !model.has(Feature::Packets) || model.has(Feature::Flows);
    let jobs = if whole { &[] } else { jobs };
    let mut sizes: Vec<u64> = jobs.iter().flat_map(sizes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_networks = networks::interface_times(spec, &sizes);
    let others = sizes.into_iter().filter(|&size| size > 0 && size != u64::from(packet));
    let times = |job: &JobBuilder| job.workload.host_times().into_iter().chain([job.start]).chain(job.end);
    let links: Vec<_> = topology.class_names().into_iter().map(|class| spec.link.parameters(class)).collect();
    // Where the time of one byte is rounded, only a picosecond divides the times of all sizes.
    let is_rounded = |link: &LinkParameters| link.bandwidth.serialization(Bytes(1)).is_some_and(|(_, exact)| !exact);
    let rounded = jobs.iter().any(|job| job.workload.has_unknown_sizes()) && links.iter().any(is_rounded);
    FabricSpec {
        topology: Arc::clone(topology),
        routing: Arc::clone(routing),
        links,
        router: spec.router.clone(),
        packet: Bytes(u64::from(packet)),
        other_packets: others.map(Bytes).collect(),
        other_times: (jobs.iter().flat_map(times))
            .chain(of_networks)
            .chain((whole || rounded).then_some(Time(1)))
            .collect(),
        receive_buffer: spec.node.receive_buffer.map(|depth| ReceiveBufferSpec {
            depth,
            drain: spec.node.drain.unwrap_or_else(|| {
                let link = spec.link.of_class("ejection").0;
                // Data drain into memory at the rate of the interface's slowest stage. Matching drains nothing.
                spec.nic.drain().map_or(link, |nic| nic.min(link))
            }),
        }),
        multicasts: jobs.iter().any(|job| job.workload.demand().splits()),
        groups: None,
        continuous: jobs.iter().any(|job| job.workload.is_continuous()),
        seed: spec.seed,
    }
}

/// Refuses operations in switches of a network without switches, and of groups that no network joins. The error is at
/// the operation.
fn check_switches(
    spec: &ExperimentSpec,
    model: &dyn NetworkModel,
    topology: &dyn Topology,
    jobs: &[JobBuilder],
) -> Result<(), KeyError> {
    let fault = |job: &JobBuilder| {
        let groups = job.workload.groups();
        if let Some(reason) = model::no_switches(model, &Demand::of(&*job.workload)) {
            return (!groups.is_empty()).then_some(reason);
        }
        let used: Vec<NodeId> = job.workload.placement().used().collect();
        if let (None, Ok(network)) = (job.workload.programs(), routing::trees::network_of_group(topology, &used))
            && groups.iter().any(|own| routing::trees::network_of_group(topology, own).is_ok_and(|own| own != network))
        {
            let message = "traffic takes one network, and an earlier network joins the members of a group: place the \
                           traffic on endpoints of one island, or let ranks multicast (kind = \"program\")";
            return Some(message.to_owned());
        }
        let apart = (0_u32..).zip(&groups).find_map(|(group, own)| {
            let apart = routing::trees::network_of_group(topology, own).err()?;
            Some(routing::trees::TreeError::NoNetwork { group, apart })
        })?;
        Some(format!(
            "{apart}: routers carry out operations of groups whose members have ports in one island of a network; \
             hierarchical collectives combine in each network"
        ))
    };
    let mut faults = jobs.iter().map(fault).enumerate();
    let Some((place, message)) = faults.find_map(|(place, fault)| Some((place, fault?))) else { return Ok(()) };
    let workload = spec.workload.as_ref().or_else(|| spec.jobs.get(place).map(|job| &job.workload));
    let key = workload.map_or("workload", WorkloadSpec::in_switch_key);
    let error = KeyError::new(key, message);
    let name = &jobs[place].name;
    Err(if name.is_empty() { error } else { error.under(&format!("job.{name}")) })
}
