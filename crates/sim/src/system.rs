//! From a typed point of an experiment to a system that can be analysed or run.

use std::path::Path;
use std::sync::Arc;

use fabric::{FabricSpec, LinkParameters, Plan, ReceiveBufferSpec};
use mapping::strategies::StrategyName;
use mapping::{Machine, MachineSpec, MapSpec, MappingError, Problem, Silent};
use routing::{DependencyCycle, Routing, RoutingSpec};
use topology::{ChannelClass, Topology};
use units::{Bytes, NodeId, Time};
use workload::benchmarks::Benchmark;
use workload::patterns::exchange::{ExchangePatternSpec, TaskGrid};
use workload::patterns::matrix::Matrix;
use workload::schedule::Schedule;
use workload::tasks::{ArcList, GraphSpec, GroupKind, TaskGraph};
use workload::{InjectionSpec, Pattern, PatternSpec, PlacedPattern, Placement, Shape};

use crate::experiment::{
    ApplicationSpec, ExchangeSpec, ExperimentSpec, MappedSpec, NicSpec, Place, PlaceSpec, RanksSpec, TrafficSpec,
    WorkloadSpec,
};
use crate::traffic::{OpenTrafficSpec, Packets};

/// The largest packet and message: sizes are counted in 32 bits.
const LARGEST: u64 = 1 << 30;

/// The largest volume of an exchange: sums over all tasks are counted in 64 bits.
const LARGEST_VOLUME: u64 = 1 << 40;

/// The longest overhead of a network interface: a second.
const LONGEST_OVERHEAD: Time = Time(1_000_000_000_000);

/// The longest computation of a step, in picoseconds: a thousand seconds.
const LONGEST_COMPUTATION: f64 = 1e15;

/// Why a system cannot be built or run as asked: a dotted key of the experiment file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SystemError {
    /// The dotted key, such as `topology.k`.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl SystemError {
    pub(crate) fn new(key: impl Into<String>, message: impl ToString) -> Self {
        Self { key: key.into(), message: message.to_string() }
    }
}

/// A nearest-neighbour exchange on a grid of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The tasks.
    pub grid: TaskGrid,
    /// The dimensions in which they exchange, in order.
    pub phases: Vec<u32>,
    /// Bytes from a task to each neighbour.
    pub volume: u64,
}

/// A workload that ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Closed {
    /// Phases that follow one another, each a set of flows.
    Volumes(Volumes),
    /// Ranks that run schedules.
    Benchmark(Arc<Benchmark>),
}

/// Phases that follow one another, each a set of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Volumes {
    /// A nearest-neighbour exchange.
    Exchange(Exchange),
    /// A step of an application.
    Application(Arc<TaskGraph>),
}

/// A system built from one point of an experiment: everything but its state.
#[derive(Clone, Debug)]
pub struct System {
    /// The point.
    pub spec: ExperimentSpec,
    /// The shape.
    pub topology: Arc<dyn Topology>,
    /// The way through it.
    pub routing: Arc<dyn Routing>,
    /// Where the tasks are.
    pub placement: Arc<Placement>,
    /// Which node sends to which.
    pub pattern: Arc<PlacedPattern>,
    /// The traffic; of a closed workload, what analyses take it for: the node that sends most sends at full load, the
    /// others in proportion, in all phases together.
    pub traffic: TrafficSpec,
    /// The closed workload, if it is one.
    pub closed: Option<Closed>,
    /// Times, buffers and credits.
    pub plan: Arc<Plan>,
}

impl System {
    /// Builds the system of a point; paths in it start from `base`.
    ///
    /// # Errors
    /// What does not fit together, at the key that is at fault.
    pub fn build(spec: &ExperimentSpec, base: &Path) -> Result<Self, SystemError> {
        let topology = spec
            .topology
            .build(base)
            .map_err(|error| SystemError::new(format!("topology.{}", error.key), error.message))?;
        let routing = build_routing(spec, &*topology)?;
        let graph = match &spec.workload {
            WorkloadSpec::Application(application) => Some(graph_of(application, spec.seed, base)?),
            _ => None,
        };
        let (shape, placement) = place(spec, &topology, graph.as_deref(), base)?;
        let (traffic, closed) = match (&spec.workload, graph) {
            (WorkloadSpec::Application(application), Some(graph)) => {
                application_of(application, graph, (&spec.placement, &placement))?
            }
            (WorkloadSpec::Exchange(exchange), _) => as_traffic(exchange, &shape)?,
            (WorkloadSpec::Traffic(traffic), _) => (traffic.clone(), None),
            (WorkloadSpec::Benchmark(ranks), _) => benchmark_of(spec, ranks, &shape)?,
            (WorkloadSpec::Application(_), None) => {
                return Err(SystemError::new("workload.graph", "there is no graph"));
            }
        };
        check_traffic(&traffic)?;
        let pattern: Arc<dyn Pattern> = match &closed {
            Some(Closed::Volumes(Volumes::Application(graph))) => application_pattern(graph, shape.tasks)?,
            Some(Closed::Benchmark(benchmark)) => schedule_pattern(&benchmark.schedule)?,
            _ => {
                let at_pattern = if closed.is_some() { "workload." } else { "workload.pattern." };
                let built = traffic.pattern.build(&shape, spec.seed, base);
                built.map_err(|error| SystemError::new(format!("{at_pattern}{}", error.key), error.message))?
            }
        };
        let pattern = Arc::new(PlacedPattern::new(pattern, &placement, closed.is_some()));
        // What an application does on one node is a step too; to exchange nothing, or to offer it, is a mistake.
        let may_stay = matches!(closed, Some(Closed::Benchmark(_) | Closed::Volumes(Volumes::Application(_))));
        if !may_stay && !(0..topology.nodes()).any(|node| pattern.sends(NodeId(node))) {
            let message = "all that is sent stays within a node: nothing crosses the network";
            return Err(SystemError::new("placement.processes_per_node", message));
        }
        let rests = rests(spec, &traffic, closed.as_ref(), &placement);
        let fabric = fabric_spec(spec, &traffic, (&topology, &routing), rests);
        crate::memory::check(&fabric)?;
        let plan = Plan::new(fabric).map_err(|error| SystemError::new(error.key, error.message))?;
        let (spec, plan) = (spec.clone(), Arc::new(plan));
        Ok(Self { spec, topology, routing, placement, pattern, traffic, closed, plan })
    }

    /// How messages are cut into packets.
    pub fn packets(&self) -> Packets {
        Packets { message: self.traffic.message().0, packet: self.traffic.packet_size.0 as u32 }
    }

    /// The time of a message at the injection links' bandwidth, in ticks: one slot.
    pub fn slot(&self) -> u64 {
        let Packets { message, packet } = self.packets();
        let whole = message / u64::from(packet);
        let rest = (message % u64::from(packet)) as u32;
        let time = |bytes| self.plan.serialization(ChannelClass::INJECTION, bytes);
        whole * time(packet) + if rest > 0 { time(rest) } else { 0 }
    }

    /// What the sources of a run are made from.
    pub fn sources(&self) -> OpenTrafficSpec {
        let traffic = &self.traffic;
        let (kind, load, slot) = (traffic.injection, traffic.load, self.slot());
        let pattern = Arc::clone(&self.pattern);
        OpenTrafficSpec {
            pattern: Arc::clone(&self.pattern),
            routing: Arc::clone(&self.routing),
            injection: kind,
            load: Arc::new(move |node: NodeId| {
                let weight = pattern.weight(node);
                // A backlogged source has no rate to scale: it sends or does not.
                if kind == InjectionSpec::Backlogged && weight > 0.0 { 1.0 } else { load * weight }
            }),
            slot,
            packets: self.packets(),
            seed: self.spec.seed,
        }
    }

    /// Ticks in picoseconds.
    pub fn picoseconds(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.plan.tick().0)
    }

    /// Latency that the network interfaces add to every message, in nanoseconds.
    pub fn nic_overhead_ns(&self) -> f64 {
        let NicSpec::Ideal(nic) = &self.spec.nic;
        nic.send_overhead.as_ns() + nic.receive_overhead.as_ns()
    }

    /// Latency of a packet that meets no other, on a path through so many routers, in ticks.
    pub fn zero_load_latency(&self, routers: u32) -> u64 {
        let between = (2..self.topology.class_names().len() as u8)
            .map(|class| self.plan.link_delay(ChannelClass(class)))
            .max()
            .unwrap_or(0);
        self.plan.link_delay(ChannelClass::INJECTION)
            + self.plan.link_delay(ChannelClass::EJECTION)
            + u64::from(routers.saturating_sub(1)) * between
            + u64::from(routers) * self.plan.router_delay()
            + self.slowest_channel(routers)
    }

    /// The time of a packet on the slowest channel of a path through so many routers, which holds it up to the end: of all
    /// classes of channels, if it has more than its ends.
    fn slowest_channel(&self, routers: u32) -> u64 {
        let classes = if routers > 1 { self.topology.class_names().len() as u8 } else { 2 };
        let time = |class| self.plan.serialization(ChannelClass(class), self.packets().packet);
        (0..classes).map(time).max().unwrap_or(0)
    }

    /// A cycle of channel dependencies, if the routing has one: then it may deadlock.
    ///
    /// # Errors
    /// If the routing breaks its contract: a bug, reported instead of run into.
    pub fn dependency_cycle(&self) -> Result<Option<DependencyCycle>, SystemError> {
        routing::dependency_cycle(&*self.topology, &*self.routing).map_err(|fault| SystemError::new("routing", fault))
    }

    /// Refuses a system that may deadlock.
    ///
    /// # Errors
    /// The cycle of channels that wait for one another.
    pub fn refuse_deadlock(&self) -> Result<(), SystemError> {
        self.refuse_cycle(self.dependency_cycle()?)
    }

    /// Refuses a system for a cycle of channel dependencies, if there is one.
    pub(crate) fn refuse_cycle(&self, cycle: Option<DependencyCycle>) -> Result<(), SystemError> {
        let Some(cycle) = cycle else { return Ok(()) };
        Err(SystemError::new(
            "routing",
            format!(
                "`{}` on this {} can deadlock: {cycle}\ngive packets more classes of virtual channels (for example \
                 vc_rule = \"hops\" for shortest-path) or another routing",
                self.routing.kind(),
                self.topology.kind(),
            ),
        ))
    }
}

fn build_routing(spec: &ExperimentSpec, topology: &dyn Topology) -> Result<Arc<dyn Routing>, SystemError> {
    let kind = spec.routing.clone().unwrap_or_else(|| RoutingSpec::default_for(topology));
    kind.build(topology).map_err(|error| SystemError::new(format!("routing.{}", error.key), error.message))
}

/// The tasks and where they are.
fn place(
    spec: &ExperimentSpec,
    topology: &Arc<dyn Topology>,
    graph: Option<&TaskGraph>,
    base: &Path,
) -> Result<(Shape, Arc<Placement>), SystemError> {
    let rule = match spec.placement.place() {
        Place::Rule(rule) => rule,
        Place::Mapped(strategy, own) => {
            let Some(graph) = graph else {
                let message = "mapping strategies place the tasks of an application; for this workload there are \
                               \"contiguous\", \"round-robin\", \"random\", \"random-groups\" and \"file\"";
                return Err(SystemError::new("placement.strategy", message));
            };
            let placement = mapped(graph, topology, strategy, &own, spec.seed)?;
            let shape = Shape { tasks: placement.len(), ..Shape::of(&**topology) };
            return Ok((shape, Arc::new(placement)));
        }
    };
    let shape = Shape::new(&**topology, rule.tasks_per_node().unwrap_or(1)).ok_or_else(|| {
        let message = format!("there would be more than {} processes", Shape::MOST_TASKS);
        SystemError::new("placement.processes_per_node", message)
    })?;
    let placement = rule.place(&**topology, spec.seed, base);
    let placement = placement.map_err(|error| SystemError::new(format!("placement.{}", error.key), error.message))?;
    let fixed = matches!(spec.workload, WorkloadSpec::Traffic(_) | WorkloadSpec::Exchange(_));
    if fixed && placement.len() != shape.tasks {
        let message = format!(
            "the file places {} tasks; for this workload there is one on each of the {} nodes",
            placement.len(),
            shape.tasks
        );
        return Err(SystemError::new("placement.path", message));
    }
    Ok((Shape { tasks: placement.len(), ..shape }, Arc::new(placement)))
}

/// The placement that a strategy finds.
fn mapped(
    graph: &TaskGraph,
    topology: &Arc<dyn Topology>,
    strategy: StrategyName,
    own: &MappedSpec,
    seed: u64,
) -> Result<Placement, SystemError> {
    let wrong = |key: &str, message: String| SystemError::new(format!("placement.{key}"), message);
    let machine = Machine::new(Arc::clone(topology), MachineSpec::default());
    let machine = machine.map_err(|error| wrong("strategy", error.message))?;
    let spec = MapSpec {
        strategy,
        objective: own.objective,
        imbalance: own.imbalance,
        tasks_per_node: own.tasks_per_node,
        budget: own.budget,
        seed,
    };
    let problem = Problem { graph, machine: &machine, spec: &spec, fixed: &[], current: None, watch: &Silent };
    let found = mapping::strategies::map(&problem).map_err(|error| match error {
        MappingError::Unfit { key, message } => wrong(key, message),
        MappingError::Cancelled => wrong("strategy", error.to_string()),
    })?;
    Ok(Placement::new(found.place_of, topology.nodes()))
}

/// The graph of an application.
fn graph_of(spec: &ApplicationSpec, seed: u64, base: &Path) -> Result<Arc<TaskGraph>, SystemError> {
    let wrong = |message: String| SystemError::new("workload.graph", message);
    let build = |text: &String| text.parse::<GraphSpec>().and_then(|graph| graph.build(base, seed));
    let mut graph = build(&spec.graph).map_err(|error| wrong(error.to_string()))?;
    if !spec.next_graphs.is_empty() {
        let next: Result<Vec<TaskGraph>, _> = spec.next_graphs.iter().map(build).collect();
        let all = next.map(|next| std::iter::once(graph).chain(next).collect::<Vec<_>>());
        let combined = all.and_then(|all| workload::tasks::combine(&all, &vec![1.0; all.len()]));
        graph = combined.map_err(|error| SystemError::new("workload.next_graphs", error))?;
    }
    if let Some(seed) = spec.shuffle {
        graph = workload::tasks::shuffled(&graph, seed);
    }
    let bytes = graph.phases.iter().flat_map(|phase| phase.arcs.bytes()).map(|&bytes| u128::from(bytes)).sum::<u128>();
    if bytes > u128::from(LARGEST_VOLUME) * 1024 {
        return Err(wrong(format!("the graph sends {bytes} bytes a step; up to 2^50 are supported")));
    }
    Ok(Arc::new(graph))
}

/// An application on its placement, and the traffic that analyses take it for.
fn application_of(
    spec: &ApplicationSpec,
    graph: Arc<TaskGraph>,
    (place, placement): (&PlaceSpec, &Placement),
) -> Result<(TrafficSpec, Option<Closed>), SystemError> {
    if let PlaceSpec::File(file) = place
        && graph.tasks() != placement.len()
    {
        let (path, placed) = (file.path.display(), placement.len());
        let message = format!("{path}: it places {placed} tasks, and the graph has {}", graph.tasks());
        return Err(SystemError::new("placement.path", message));
    }
    if graph.tasks() > placement.len() {
        let message = format!(
            "the graph has {} tasks, and there is room for {}; set `placement.processes_per_node`, or place each by a file or a \
             mapping strategy",
            graph.tasks(),
            placement.len()
        );
        return Err(SystemError::new("placement.processes_per_node", message));
    }
    if spec.time_per_load.0 as f64 * graph.loads.iter().sum::<f64>() > LONGEST_COMPUTATION {
        let message = format!("{} a load is too long: all loads together may take 1000 s", spec.time_per_load);
        return Err(SystemError::new("workload.time_per_load", message));
    }
    Ok((as_backlog(PatternSpec::default(), spec.packet_size), Some(Closed::Volumes(Volumes::Application(graph)))))
}

/// A benchmark, and the traffic that analyses take it for.
fn benchmark_of(
    spec: &ExperimentSpec,
    own: &RanksSpec,
    shape: &Shape,
) -> Result<(TrafficSpec, Option<Closed>), SystemError> {
    let wrong = |key: &str, message: String| SystemError::new(key, message);
    let size = own.benchmark.message_size();
    if !(1..=LARGEST).contains(&size) {
        let message = format!("{} is out of range: 1 B to 1 GiB are allowed", Bytes(size));
        return Err(wrong("workload.benchmark.message_size", message));
    }
    let NicSpec::Ideal(nic) = &spec.nic;
    if let Some(size) = nic.control_size.filter(|&size| size > own.packet_size || size.0 == 0) {
        let message = format!("{size} is not within a packet of {}: a control message is one", own.packet_size);
        return Err(wrong("nic.control_size", message));
    }
    for (key, time) in [("send_overhead", nic.send_overhead), ("receive_overhead", nic.receive_overhead)] {
        if time > LONGEST_OVERHEAD {
            let message = format!("{time} is too long: at most 1 s");
            return Err(wrong(&format!("nic.{key}"), message));
        }
    }
    let benchmark = own.benchmark.build(shape.tasks, spec.seed);
    let benchmark = benchmark.map_err(|error| wrong(&format!("workload.benchmark.{}", error.key), error.message))?;
    let progress = benchmark.schedule.check_progress(nic.eager_limit.map(|limit| limit.0));
    progress.map_err(|error| wrong("nic.eager_limit", error.to_string()))?;
    let traffic = as_backlog(PatternSpec::default(), own.packet_size);
    Ok((traffic, Some(Closed::Benchmark(Arc::new(benchmark)))))
}

/// What analyses take a closed workload for: packets of a size, as fast as links take them.
fn as_backlog(pattern: PatternSpec, packet_size: Bytes) -> TrafficSpec {
    TrafficSpec { pattern, load: 1.0, injection: InjectionSpec::Backlogged, packet_size, message_size: None }
}

/// Who sends to whom in a schedule.
fn schedule_pattern(schedule: &Schedule) -> Result<Arc<dyn Pattern>, SystemError> {
    let mut arcs = ArcList::new(schedule.ranks());
    schedule.messages().for_each(|(from, to, bytes)| arcs.add(from, to, bytes, 1));
    pattern_of(arcs, schedule.ranks(), "workload.benchmark")
}

/// Each task sends to others in proportion to the bytes.
fn pattern_of(arcs: ArcList, tasks: u32, key: &str) -> Result<Arc<dyn Pattern>, SystemError> {
    let arcs = arcs.build();
    let pairs = arcs.iter().map(|(from, to, bytes, _)| (from, to, bytes as f64));
    let matrix = Matrix::of_pairs(pairs, tasks);
    Ok(Arc::new(matrix.map_err(|error| SystemError::new(key, error.message))?))
}

/// Who sends to whom in a step, all phases together, among so many tasks.
fn application_pattern(graph: &TaskGraph, tasks: u32) -> Result<Arc<dyn Pattern>, SystemError> {
    let mut arcs = ArcList::new(graph.tasks());
    for phase in &graph.phases {
        phase.arcs.iter().for_each(|(from, to, bytes, messages)| arcs.add(from, to, bytes, messages));
        for group in &phase.groups {
            for &member in &group.members {
                match group.kind {
                    GroupKind::Multicast => arcs.add(group.root, member, group.bytes, 1),
                    GroupKind::Reduction => arcs.add(member, group.root, group.bytes, 1),
                }
            }
        }
    }
    pattern_of(arcs, tasks, "workload.graph")
}

/// The sizes of packets that are not whole.
fn rests(spec: &ExperimentSpec, traffic: &TrafficSpec, closed: Option<&Closed>, placement: &Placement) -> Vec<Bytes> {
    let packet = traffic.packet_size.0.max(1);
    let mut rests: Vec<u64> = match (&spec.workload, closed) {
        (WorkloadSpec::Exchange(exchange), _) => vec![exchange.volume.0 % packet],
        (_, Some(Closed::Benchmark(benchmark))) => {
            let NicSpec::Ideal(nic) = &spec.nic;
            let control = nic.eager_limit.map(|_| nic.control().0 % packet);
            std::iter::once(benchmark.message_size % packet).chain(control).collect()
        }
        (_, Some(Closed::Volumes(closed))) => {
            let nodes = placement.nodes();
            let flows = (0..closed.phases()).flat_map(|phase| closed.flows(phase, placement, nodes));
            flows.flatten().map(|flow| flow.left % packet).collect()
        }
        (_, None) => vec![traffic.message().0 % packet],
    };
    rests.sort_unstable();
    rests.dedup();
    rests.into_iter().filter(|&rest| rest > 0).map(Bytes).collect()
}

/// An exchange, and the traffic that analyses take it for.
fn as_traffic(spec: &ExchangeSpec, shape: &Shape) -> Result<(TrafficSpec, Option<Closed>), SystemError> {
    if !(1..=LARGEST_VOLUME).contains(&spec.volume.0) {
        let message = format!("{} is out of range: 1 B to 1 TiB are allowed", spec.volume);
        return Err(SystemError::new("workload.volume", message));
    }
    let grid = TaskGrid::new(spec.dims.as_deref(), shape.tasks);
    let grid = grid.map_err(|error| SystemError::new(format!("workload.{}", error.key), error.message))?;
    let dims = grid.dims().len() as u32;
    let moves = |&dimension: &u32| grid.dims()[dimension as usize] > 1;
    let phases = spec.phases.clone().unwrap_or_else(|| (0..dims).filter(moves).collect());
    if let Some(absent) = phases.iter().find(|&&dimension| dimension >= dims || !moves(&dimension)) {
        let message = format!("nobody exchanges in dimension {absent}: the grid of tasks is {:?}", grid.dims());
        return Err(SystemError::new("workload.phases", message));
    }
    let only = match phases[..] {
        [only] => Some(only),
        _ => None,
    };
    let pattern = PatternSpec::Exchange(ExchangePatternSpec { dims: spec.dims.clone(), dimension: only });
    let volumes = Volumes::Exchange(Exchange { grid, phases, volume: spec.volume.0 });
    Ok((as_backlog(pattern, spec.packet_size), Some(Closed::Volumes(volumes))))
}

fn check_traffic(traffic: &TrafficSpec) -> Result<(), SystemError> {
    for (key, size) in [("packet_size", traffic.packet_size), ("message_size", traffic.message())] {
        if !(1..=LARGEST).contains(&size.0) {
            return Err(SystemError::new(
                format!("workload.{key}"),
                format!("{size} is out of range: 1 B to 1 GiB are allowed"),
            ));
        }
    }
    traffic.injection.check(traffic.load).map_err(|error| SystemError::new("workload.load", error))
}

fn fabric_spec(
    spec: &ExperimentSpec,
    traffic: &TrafficSpec,
    (topology, routing): (&Arc<dyn Topology>, &Arc<dyn Routing>),
    rests: Vec<Bytes>,
) -> FabricSpec {
    let link = |class: &str| {
        let (bandwidth, delay) = spec.link.of_class(class);
        LinkParameters { bandwidth, delay }
    };
    FabricSpec {
        topology: Arc::clone(topology),
        routing: Arc::clone(routing),
        links: topology.class_names().into_iter().map(link).collect(),
        router: spec.router.clone(),
        packet: traffic.packet_size,
        other_packets: rests,
        other_times: match (&spec.workload, &spec.nic) {
            (WorkloadSpec::Benchmark(_), NicSpec::Ideal(nic)) => vec![nic.send_overhead, nic.receive_overhead],
            _ => Vec::new(),
        },
        receive_buffer: spec.node.receive_buffer.map(|depth| ReceiveBufferSpec {
            depth,
            drain: spec.node.drain.unwrap_or_else(|| spec.link.of_class("ejection").0),
        }),
        continuous: matches!(traffic.injection, InjectionSpec::Poisson | InjectionSpec::Periodic),
        seed: spec.seed,
    }
}
