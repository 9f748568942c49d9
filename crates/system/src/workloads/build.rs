//! Builds a workload from its section of the experiment: the one place where the kinds are distinguished.

use std::sync::Arc;

use apps::benchmarks::{Benchmark, Built};
use apps::message_driven::{DrivenError, DrivenSpec, MessageDriven};
use apps::motifs::{CalledBackSpec, ProgramContext, ProgramSpec, check_room};
use apps::pattern_of;
use host::MemorySpec;
use mapping::NodeHops;
use mpi::collectives::{CalledPlace, CollectiveBackend};
use mpi::program::{Programs, Sizes};
use tasks::{ArcList, GraphSpec, GroupKind, TaskGraph};
use traffic::patterns::exchange::{ExchangePatternSpec, TaskGrid};
use traffic::patterns::matrix::Matrix;
use traffic::{Pattern, PatternSpec, PlacedPattern, Placement, Shape};
use units::{Bytes, KeyError, KeyResult, NodeId, TaskId, Time, counted};

use super::adversary;
use super::application::{CopyPlace, SetLoads, allocation, application_flows, computation};
use super::build_context::{BuildContext, RequiredTasks};
use super::exchange::Exchange;
use super::ranks::{
    BenchmarkPairs, LimitedGroups, Measured, NodeProcessors, OperationVolumes, Steps, Unlisted, volumes,
};
use super::sizes::{LARGEST, check_size, packet_size};
use super::volumes::Phases;
use super::{Open, Ranks, Volumes, Workload};
use ::experiment::{
    ApplicationSpec, ExchangeSpec, Execution, NicSpec, Overflow, PlaceSpec, ProgramRanksSpec, RanksSpec, TrafficSpec,
    WorkloadSpec,
};
use ::network::{Feature, Packets};

/// Largest volume of an exchange, in bytes: sums over all tasks are counted in 64 bits.
const LARGEST_VOLUME: u64 = 1 << 40;

/// Longest time of a network interface: one second.
const LONGEST_TIME: Time = Time(1_000_000_000_000);

/// Largest number of ranks: a packet carries its rank beside the number of its job.
const MOST_RANKS: u64 = host::most_ranks(fabric::FLOW_BITS);

/// Largest number of steps of a message-driven application.
const MOST_ITERATIONS: u32 = 10_000;

/// Longest computation of a step, in picoseconds: a thousand seconds.
const LONGEST_COMPUTATION: f64 = 1e15;

/// Builds a workload.
///
/// # Errors
/// If the specification is invalid. The error names a key below that of the job (`workload.graph`, `placement.path`).
pub(crate) fn build(spec: &WorkloadSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    match spec {
        WorkloadSpec::Traffic(spec) => traffic(spec, context),
        WorkloadSpec::Exchange(spec) => exchange(spec, context),
        WorkloadSpec::Collective(spec) => super::collective::build(spec, context),
        WorkloadSpec::Application(spec) => application(spec, context),
        WorkloadSpec::Benchmark(spec) => benchmark(spec, context),
        WorkloadSpec::Program(spec) => program(spec, context),
    }
}

fn traffic(spec: &TrafficSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let (mut shape, placement) = context.place(None, RequiredTasks::OnEachNode)?;
    let packet = packet_size(spec.packet_size, context)?;
    let message = spec.message_size.map_or(Ok(packet), |size| check_size("message_size", size))?;
    let packets = Packets { message: u64::from(message), packet };
    spec.injection.check(spec.load).at_key("workload.load")?;
    if spec.pattern.needs_worst(&shape) {
        shape.worst = Some(adversary::targets(&placement, packet, context).under("workload.pattern")?);
    }
    let pattern = spec.pattern.build(&shape, context.seed, context.base).under("workload.pattern")?;
    let pattern = Arc::new(PlacedPattern::new(pattern, &placement, false));
    check_crosses(&pattern, context)?;
    let (load, injection) = (spec.load, spec.injection);
    Ok(Arc::new(Open { load, injection, packets, pattern, placement, multicasts: None }))
}

fn exchange(spec: &ExchangeSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let (shape, placement) = context.place(None, RequiredTasks::OnEachNode)?;
    if !(1..=LARGEST_VOLUME).contains(&spec.volume.0) {
        let message = format!("{} is out of range: 1 B to 1 TiB are allowed", spec.volume);
        return Err(KeyError::new("workload.volume", message));
    }
    let grid = TaskGrid::new(spec.dims.as_deref(), shape.tasks).under("workload")?;
    let dims = grid.dims().len() as u32;
    let moves = |&dimension: &u32| grid.dims()[dimension as usize] > 1;
    let phases = spec.phases.clone().unwrap_or_else(|| (0..dims).filter(moves).collect());
    if let Some(absent) = phases.iter().find(|&&dimension| dimension >= dims || !moves(&dimension)) {
        let message = format!("nobody exchanges in dimension {absent}: the grid of tasks is {:?}", grid.dims());
        return Err(KeyError::new("workload.phases", message));
    }
    let packet = packet_size(spec.packet_size, context)?;
    let only = match phases[..] {
        [only] => Some(only),
        _ => None,
    };
    let pattern = PatternSpec::Exchange(ExchangePatternSpec { dims: spec.dims.clone(), dimension: only });
    let pattern = pattern.build(&shape, context.seed, context.base).under("workload")?;
    let pattern = Arc::new(PlacedPattern::new(pattern, &placement, true));
    check_crosses(&pattern, context)?;
    let phases = Phases::Exchange(Exchange { grid, phases, volume: spec.volume.0 });
    let topology = Arc::clone(context.topology);
    Ok(Arc::new(Volumes { phases, placement, pattern, packet, compute: 0, topology, nodes: Vec::new(), sets: None }))
}

fn application(spec: &ApplicationSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let graph = graph_of(spec, context)?;
    let (shape, placement) = context.place(Some(&graph), RequiredTasks::Any)?;
    if let PlaceSpec::File(file) = context.place
        && graph.tasks() != placement.len()
    {
        let (path, placed) = (file.path.display(), placement.len());
        let message = format!(
            "{path}: it places {}, and the graph has {}",
            counted(placed as u64, ["task", "tasks"]),
            graph.tasks()
        );
        return Err(KeyError::new("placement.path", message));
    }
    if graph.tasks() > placement.len() {
        let message = format!(
            "the graph has {} tasks, and there is room for {}; set `placement.processes_per_node`, or place each by a file or a \
             mapping strategy",
            graph.tasks(),
            placement.len()
        );
        return Err(KeyError::new("placement.processes_per_node", message));
    }
    if spec.time_per_load.0 as f64 * graph.loads.iter().sum::<f64>() > LONGEST_COMPUTATION {
        let message = format!("{} a load is too long: all loads together may take 1000 s", spec.time_per_load);
        return Err(KeyError::new("workload.time_per_load", message));
    }
    let in_hardware = match spec.collectives {
        None | Some(CollectiveBackend::Software) => false,
        Some(CollectiveBackend::Hardware) => true,
        Some(CollectiveBackend::Nic) => {
            let message = "multicasts and reductions of an application are carried out by switches (\"hardware\") or by messages of its nodes \
                           (\"software\"); interfaces carry out those of programs only";
            return Err(KeyError::new("workload.collectives", message));
        }
    };
    let packet = packet_size(spec.packet_size, context)?;
    let compute = computation(&graph, &placement, spec.time_per_load);
    let nodes = allocation(context, &placement);
    match (spec.execution, spec.iterations) {
        (Execution::MessageDriven, iterations) => {
            let topology = Arc::clone(context.topology);
            let steps = Steps { graph, placement, topology, nodes, compute };
            let time = (spec.time_per_load, iterations.unwrap_or(1));
            return message_driven(steps, time, (packet, in_hardware), context);
        }
        (Execution::BulkSynchronous, None) => {}
        (Execution::BulkSynchronous, Some(_)) => {
            let message =
                "a bulk-synchronous execution is one step; `iterations` are of `execution = \"message-driven\"`";
            return Err(KeyError::new("workload.iterations", message));
        }
    }
    // Work of an application on a single node is a valid step too.
    let pattern = Arc::new(PlacedPattern::new(application_pattern(&graph, shape.tasks)?, &placement, true));
    let flows = || graph.phases.iter().map(|phase| application_flows(phase, &placement, CopyPlace::InRouters));
    let sets = if in_hardware { SetLoads::of(flows()).map(Arc::new) } else { None };
    let (phases, topology) = (Phases::Application(graph), Arc::clone(context.topology));
    Ok(Arc::new(Volumes { phases, placement, pattern, packet, compute, topology, nodes, sets }))
}

/// Builds a message-driven application: tasks compute when messages arrive, and each node with tasks is a rank.
fn message_driven(
    steps: Steps,
    (time_per_load, iterations): (Time, u32),
    (packet, in_hardware): (u32, bool),
    context: &BuildContext<'_>,
) -> Result<Arc<dyn Workload>, KeyError> {
    if !(1..=MOST_ITERATIONS).contains(&iterations) {
        let message = format!("{iterations} is out of range: 1 to {MOST_ITERATIONS} are allowed");
        return Err(KeyError::new("workload.iterations", message));
    }
    let nic = interface(context, packet)?;
    let tasks = (0..steps.graph.tasks()).map(|task| steps.placement.node(TaskId(task)));
    let mut used: Vec<NodeId> = tasks.clone().collect();
    used.sort_unstable();
    used.dedup();
    let rank = |node: NodeId| used.binary_search(&node).unwrap_or(0) as u32;
    let rank_of: Vec<u32> = tasks.map(rank).collect();
    let (ranks, time_per_load) = (used.len() as u32, time_per_load.0 as f64);
    let interconnect = in_hardware.then_some(context.interconnect);
    let spec = DrivenSpec { rank_of: &rank_of, ranks, time_per_load, iterations, interconnect };
    let programs = MessageDriven::new(&steps.graph, &spec);
    let programs = programs.map_err(|error| match error {
        DrivenError::TooLarge => KeyError::new("workload.graph", error),
        DrivenError::Tags { .. } => KeyError::new("workload.iterations", error),
    })?;
    check_programs(&programs, nic)?;
    let placement = Arc::new(Placement::new(used.iter().map(|node| node.0).collect(), context.topology.nodes()));
    let programs: Arc<dyn Programs> = Arc::new(programs);
    let pattern = pattern_of(&programs, ranks).at_key("workload.graph")?;
    let pattern = Arc::new(PlacedPattern::new(pattern, &placement, true));
    let operations = operations(&*programs, &placement, nic);
    Ok(Arc::new(Ranks {
        sizes: Arc::new(Sizes::of(&*programs)),
        programs,
        measured: Measured::Steps(Arc::new(steps)),
        placement,
        pattern,
        packet,
        nic: nic.clone(),
        memory: context.node.memory.as_ref().map(MemorySpec::params),
        volumes: None,
        operations,
        processors: NodeProcessors::new(context)?,
        on_nic: false,
        interconnect: interconnect.map_or_else(LimitedGroups::default, LimitedGroups::of),
    }))
}

fn benchmark(spec: &RanksSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let (shape, placement) = context.place(None, RequiredTasks::Any)?;
    if let Some(size) = spec.benchmark.message_size().filter(|size| !(1..=LARGEST).contains(size)) {
        let message = format!("{} is out of range: 1 B to 1 GiB are allowed", Bytes(size));
        return Err(KeyError::new("workload.benchmark.message_size", message));
    }
    let packet = packet_size(spec.packet_size, context)?;
    let nic = interface(context, packet)?;
    let backend = spec.collectives;
    if backend.is_some() && !spec.benchmark.is_collective() {
        let message = format!(
            "\"{}\" has no collective operation; who carries it out is chosen for \"bcast\", \"allreduce\", \"alltoall\", \"allgather\" and \
             \"barrier\"",
            spec.benchmark.kind()
        );
        return Err(KeyError::new("workload.collectives", message));
    }
    let nodes = nodes_of(&shape, &placement);
    let place = ProgramContext {
        node_of: &nodes,
        base: context.base,
        backend,
        interconnect: context.interconnect,
        settle: context.settle(),
    };
    let built = spec.benchmark.build(&place, context.seed).under("workload.benchmark")?;
    let programs = match &built {
        Built::RoundTrips(own) => Arc::clone(&own.programs),
        Built::Table(own) => Arc::clone(&own.programs),
    };
    let ranks = ranks((programs, "workload.benchmark"), (&shape, placement), (packet, nic, backend), context)?;
    let measured = match built {
        Built::RoundTrips(Benchmark { message_size, pairs, .. }) => {
            let node = |rank| ranks.placement.node(TaskId(rank));
            let channels = channels_between(context, pairs.iter().map(|&(a, b)| (node(a), node(b))))?;
            Measured::Benchmark(Arc::new(BenchmarkPairs { message_size, pairs, channels }))
        }
        Built::Table(table) => Measured::Table(Arc::new(table)),
    };
    Ok(Arc::new(Ranks { measured, ..ranks }))
}

/// Returns the ranks that run programs, which errors name by `key`.
fn ranks(
    (programs, key): (Arc<dyn Programs>, &str),
    (shape, placement): (&Shape, Arc<Placement>),
    (packet, nic, backend): (u32, &NicSpec, Option<CollectiveBackend>),
    context: &BuildContext<'_>,
) -> Result<Ranks, KeyError> {
    check_programs(&*programs, nic)?;
    let Senders { sizes, pattern, volumes } = senders(&programs, context, (shape, &placement), key)?;
    let operations = operations(&*programs, &placement, nic);
    Ok(Ranks {
        programs,
        sizes,
        measured: Measured::Program,
        placement,
        pattern,
        packet,
        nic: nic.clone(),
        memory: context.node.memory.as_ref().map(MemorySpec::params),
        volumes,
        operations,
        processors: NodeProcessors::new(context)?,
        on_nic: backend == Some(CollectiveBackend::Nic),
        interconnect: LimitedGroups::of(context.interconnect),
    })
}

/// Returns the node of each rank.
fn nodes_of(shape: &Shape, placement: &Placement) -> Vec<u32> {
    (0..shape.tasks).map(|rank| placement.node(TaskId(rank)).0).collect()
}

fn program(spec: &ProgramRanksSpec, context: &BuildContext<'_>) -> Result<Arc<dyn Workload>, KeyError> {
    let (shape, placement) = context.place(None, RequiredTasks::Any)?;
    let packet = packet_size(spec.packet_size, context)?;
    let nic = interface(context, packet)?;
    let backend = spec.collectives;
    if backend.is_some() && !spec.program.has_collectives() {
        let message = "who carries collective operations out is chosen for programs of kind \"collective\", \"training\", \"lammps\", \"calls\" and \
                       \"trace\", and of functions in Python; the operations of others are messages";
        return Err(KeyError::new("workload.collectives", message));
    }
    let nodes = nodes_of(&shape, &placement);
    let programs = match &spec.program {
        ProgramSpec::CalledBack(own) => called_back(own, (&nodes, backend), context),
        other => other.build_at(&ProgramContext {
            node_of: &nodes,
            base: context.base,
            backend,
            interconnect: context.interconnect,
            settle: Time(0),
        }),
    };
    let programs = programs.under("workload.program")?;
    Ok(Arc::new(ranks((programs, "workload.program"), (&shape, placement), (packet, nic, backend), context)?))
}

/// Returns the traffic of programs along the trees of groups. None if no operation is carried out by routers.
fn operations(programs: &dyn Programs, placement: &Placement, nic: &NicSpec) -> Option<Arc<OperationVolumes>> {
    OperationVolumes::of(programs, placement, nic.host().control().0).map(Arc::new)
}

/// Returns the program that the process has given under this name, placed on the nodes. It is called back during the
/// run. `backend` carries out its operations.
fn called_back(
    spec: &CalledBackSpec,
    (node_of, backend): (&[u32], Option<CollectiveBackend>),
    context: &BuildContext<'_>,
) -> Result<Arc<dyn Programs>, KeyError> {
    let programs = context.parts.programs.get(&spec.name).ok_or_else(|| spec.absent())?;
    check_room(programs.ranks(), node_of.len() as u32).at_key("name")?;
    let by_messages = context.overflow == Overflow::Software;
    let place = CalledPlace { node_of, backend, by_messages, interconnect: context.interconnect };
    Ok(Arc::clone(programs).placed(&place).unwrap_or_else(|| Arc::clone(programs)))
}

/// Returns the network interface of ranks whose packets have at most `packet` bytes.
fn interface<'a>(context: &BuildContext<'a>, packet: u32) -> Result<&'a NicSpec, KeyError> {
    let nic = context.nic;
    if let Some(size) = nic.host().control_size.filter(|&size| size.0 > u64::from(packet) || size.0 == 0) {
        let message =
            format!("{size} is not within a packet of {}: a control message is one", Bytes(u64::from(packet)));
        return Err(KeyError::new("nic.control_size", message));
    }
    if let Some((key, time)) = nic.times().into_iter().find(|(_, time)| *time > LONGEST_TIME) {
        return Err(KeyError::new(format!("nic.{key}"), format!("{time} is too long: at most 1 s")));
    }
    if let Some(memory) = context.node.memory.as_ref().filter(|memory| memory.latency > LONGEST_TIME) {
        return Err(KeyError::new("node.memory.latency", format!("{} is too long: at most 1 s", memory.latency)));
    }
    Ok(nic)
}

/// Refuses more ranks than packets can distinguish, and programs that are known not to end.
fn check_programs(programs: &dyn Programs, nic: &NicSpec) -> Result<(), KeyError> {
    let ranks = u64::from(programs.ranks());
    if ranks > MOST_RANKS {
        return Err(KeyError::new("placement", format!("there are {ranks} ranks; at most {MOST_RANKS} are supported")));
    }
    let progress = programs.check_progress(nic.host().eager_limit.map(|limit| limit.0));
    progress.at_key("nic.eager_limit")
}

/// Refuses a pattern without traffic between nodes: to exchange or to offer nothing is a mistake.
fn check_crosses(pattern: &PlacedPattern, context: &BuildContext<'_>) -> Result<(), KeyError> {
    if (0..context.topology.nodes()).any(|node| pattern.sends(NodeId(node))) {
        return Ok(());
    }
    let message = "all that is sent stays within a node: nothing crosses the network";
    Err(KeyError::new("placement.processes_per_node", message))
}

/// Returns the task graph of an application.
fn graph_of(spec: &ApplicationSpec, context: &BuildContext<'_>) -> Result<Arc<TaskGraph>, KeyError> {
    let refused = |message: String| KeyError::new("workload.graph", message);
    let build = |text: &String| text.parse::<GraphSpec>().and_then(|graph| graph.build(context.base, context.seed));
    let mut graph = build(&spec.graph).map_err(|error| refused(error.to_string()))?;
    if !spec.next_graphs.is_empty() {
        let next: Result<Vec<TaskGraph>, _> = spec.next_graphs.iter().map(build).collect();
        let all = next.map(|next| std::iter::once(graph).chain(next).collect::<Vec<_>>());
        let combined = all.and_then(|all| tasks::combine(&all, &vec![1.0; all.len()]));
        graph = combined.at_key("workload.next_graphs")?;
    }
    if let Some(seed) = spec.shuffle {
        graph = tasks::shuffled(&graph, seed);
    }
    let bytes = graph.phases.iter().flat_map(|phase| phase.arcs.bytes()).map(|&bytes| u128::from(bytes)).sum::<u128>();
    if bytes > u128::from(LARGEST_VOLUME) * 1024 {
        return Err(refused(format!("the graph sends {bytes} bytes a step; up to 2^50 are supported")));
    }
    Ok(Arc::new(graph))
}

/// Returns the number of channels between the nodes of each pair.
fn channels_between(
    context: &BuildContext<'_>,
    pairs: impl Iterator<Item = (NodeId, NodeId)>,
) -> Result<Vec<u32>, KeyError> {
    if !context.model.has(Feature::Routers) {
        return Ok(pairs.map(|(one, other)| u32::from(one != other)).collect());
    }
    let hops = NodeHops::new(&**context.topology).at_key("topology")?;
    Ok(pairs.map(|(one, other)| hops.between(one, other)).collect())
}

/// Senders, sizes and destinations of a program's messages.
struct Senders {
    sizes: Arc<Sizes>,
    pattern: Arc<PlacedPattern>,
    /// Traffic sent by each node. Without routes only, where no destinations are needed.
    volumes: Option<Arc<[f64]>>,
}

/// Returns the senders, sizes and destinations of programs of placed tasks. Errors name `key`.
fn senders(
    programs: &Arc<dyn Programs>,
    context: &BuildContext<'_>,
    (shape, placement): (&Shape, &Arc<Placement>),
    key: &str,
) -> Result<Senders, KeyError> {
    if !context.model.has(Feature::Routes) {
        let (sizes, volumes) = volumes(&**programs, placement);
        let pattern = PlacedPattern::new(Arc::new(Unlisted), placement, true).with_notes(programs.notes());
        let pattern = Arc::new(pattern);
        return Ok(Senders { sizes: Arc::new(sizes), pattern, volumes: Some(volumes) });
    }
    let pattern = match programs.is_called_back() {
        true => PatternSpec::default().build(shape, context.seed, context.base).at_key("placement")?,
        false => pattern_of(programs, shape.tasks).at_key(key)?,
    };
    let pattern = Arc::new(PlacedPattern::new(pattern, placement, true).with_notes(programs.notes()));
    Ok(Senders { sizes: Arc::new(Sizes::of(&**programs)), pattern, volumes: None })
}

/// Returns the pattern in which each task sends to others in proportion to the bytes of its arcs.
fn pattern_of_arcs((arcs, notes): (ArcList, &[String]), tasks: u32, key: &str) -> Result<Arc<dyn Pattern>, KeyError> {
    let arcs = arcs.build();
    let pairs = arcs.iter().map(|(from, to, bytes, _)| (from, to, bytes as f64));
    let matrix = Matrix::of_pairs(pairs, tasks);
    Ok(Arc::new(matrix.at_key(key)?.with_notes(notes)))
}

/// Returns the pattern of a step, all phases together, among `tasks` tasks.
fn application_pattern(graph: &TaskGraph, tasks: u32) -> Result<Arc<dyn Pattern>, KeyError> {
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
    pattern_of_arcs((arcs, &graph.notes), tasks, "workload.graph")
}
