//! `[workload]`: kinds of workload and their keys.

use ::apps::benchmarks::BenchmarkSpec;
use ::apps::motifs::ProgramSpec;
use ::mpi::collectives::CollectiveBackend;
use ::traffic::multicast::FanoutSpec;
use ::traffic::{InjectionSpec, PatternSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use traffic::pacers::PacerSpec;

/// Messages and their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(extend("x-otherwise" = "a program of ranks from a file (goal, calls, trace, chakra) is kind = \"program\", and a task \
                                   graph is kind = \"application\""))]
pub enum WorkloadSpec {
    /// Synthetic traffic: every node sends messages to the destinations of a pattern at a given rate.
    Traffic(TrafficSpec),
    /// Nearest-neighbour exchange: tasks in a periodic grid send a given volume to each neighbour, dimension by
    /// dimension.
    Exchange(ExchangeSpec),
    /// Collective traffic: nodes begin collective operations at a given rate. Each node has a separate group.
    /// Operations are executed by routers ("hardware") or by messages between nodes ("software").
    Collective(CollectiveTrafficSpec),
    /// Task graph of an application. A bulk-synchronous step is a sequence of phases. In message-driven steps a task
    /// computes when its messages have arrived.
    Application(ApplicationSpec),
    /// Benchmark of ranks that send and receive messages.
    Benchmark(RanksSpec),
    /// Program of ranks that send, receive and calculate: a motif, or a schedule from a file.
    Program(ProgramRanksSpec),
}

impl WorkloadSpec {
    /// Returns the pacer of the workload's flows.
    pub fn pacer(&self) -> &PacerSpec {
        match self {
            Self::Traffic(spec) => &spec.pacer,
            Self::Exchange(spec) => &spec.pacer,
            Self::Collective(_) => &PacerSpec::None {},
            Self::Application(spec) => &spec.pacer,
            Self::Benchmark(spec) => &spec.pacer,
            Self::Program(spec) => &spec.pacer,
        }
    }

    /// Returns the key that asks for collective operations in switches.
    pub fn in_switch_key(&self) -> &'static str {
        match self {
            Self::Program(spec) if spec.collectives.is_none() => match spec.program {
                ProgramSpec::Collective(_) => "workload.program.algorithm",
                _ => "workload.program",
            },
            _ => "workload.collectives",
        }
    }

    /// Returns the injection process and the offered load of open traffic; `None` for workloads that finish.
    pub fn injection(&self) -> Option<(InjectionSpec, f64)> {
        match self {
            Self::Traffic(spec) => Some((spec.injection, spec.load)),
            Self::Collective(spec) => Some((spec.injection, spec.load)),
            Self::Exchange(_) | Self::Application(_) | Self::Benchmark(_) | Self::Program(_) => None,
        }
    }

    /// Returns the backend that executes all collective operations of the ranks; `None` if each algorithm determines
    /// it.
    pub fn backend(&self) -> Option<CollectiveBackend> {
        match self {
            Self::Program(spec) => spec.collectives,
            Self::Benchmark(spec) => spec.collectives,
            Self::Application(spec) => spec.collectives,
            _ => None,
        }
    }

    /// Returns whether the workload consists of ranks that send and receive messages through a network interface.
    pub fn has_ranks(&self) -> bool {
        match self {
            Self::Benchmark(_) | Self::Program(_) => true,
            Self::Application(spec) => spec.execution == Execution::MessageDriven,
            Self::Traffic(_) | Self::Exchange(_) | Self::Collective(_) => false,
        }
    }
}

/// Synthetic traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpec {
    /// Distribution of destinations.
    #[serde(default)]
    pub pattern: PatternSpec,
    /// Offered load of a node, as a share of its injection channel's bandwidth.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub load: f64,
    /// Injection process: the times at which a node generates its messages.
    #[serde(default)]
    pub injection: InjectionSpec,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Size of a message. A message is cut into packets of `packet_size`; the last one may be shorter.
    /// Default: `packet_size`.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_size: Option<Bytes>,
    /// Rule for the times at which packets of a flow (one source and one destination) may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Collective traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveTrafficSpec {
    /// Collective operation of a group.
    #[serde(default)]
    pub operation: CollectiveOperation,
    /// Backend that executes the operations: routers, or nodes by messages.
    #[serde(default)]
    pub collectives: Collectives,
    /// Offered load of a sender, as a share of the bandwidth of its injection channel. A multicast counts as one
    /// message, whatever its fanout.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub load: f64,
    /// Number of destinations of a multicast, or of members of a group beside its sender. The nodes are drawn
    /// uniformly.
    pub fanout: FanoutSpec,
    /// Lifetime of a group: drawn anew for each operation, or once for each sender.
    #[serde(default)]
    pub groups: GroupsKind,
    /// Destinations that one packet may have. Applies to one-shot multicasts in hardware.
    #[serde(default)]
    pub packet_for: PacketFor,
    /// Number of senders, spread evenly over the tasks. Default: all tasks.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<u32>,
    /// Whether the sender of a multicast is a possible destination of it.
    #[serde(default)]
    pub include_self: bool,
    /// Injection process: the times at which a sender begins its multicasts, or its group a reduction or barrier.
    #[serde(default = "poisson")]
    pub injection: InjectionSpec,
    /// Random delay of members before they begin a reduction or barrier. Default: all members begin at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateSpec>,
    /// Size of a message. A message is cut into packets of `packet_size`; the last one may be shorter.
    /// Default: `packet_size`. A barrier has no size: it consists of control messages.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
}

/// Lateness of the members of a group, drawn for each late member and each operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[workload.late]\ntime = \"10 us\"\nmembers = 1"))]
pub struct LateSpec {
    /// Mean delay of a late member.
    pub time: Time,
    /// Distribution of the delay.
    #[serde(default)]
    pub law: LateLaw,
    /// Number of late members in each operation. They are drawn anew for each operation. Default: all members.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
}

/// Distribution of the delay of late members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateLaw {
    /// Always the mean.
    #[default]
    Fixed,
    /// Uniform from 0 to twice the mean.
    Uniform,
    /// Exponential.
    Exponential,
}

fn poisson() -> InjectionSpec {
    InjectionSpec::Poisson
}

/// Collective operation of a group of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveOperation {
    /// One node sends a message to all other nodes of the group.
    #[default]
    Multicast,
    /// The messages of all nodes are combined, and the sender of the group gets the result. Requires persistent groups.
    Reduce,
    /// The messages of all nodes are combined, and all nodes get the result. Requires persistent groups.
    Allreduce,
    /// No node ends the operation before all nodes have begun it. Requires persistent groups.
    Barrier,
}

/// Lifetime of the groups of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsKind {
    /// The group is drawn anew for each operation. Packets name the destinations in their headers.
    #[default]
    OneShot,
    /// The group is drawn once for each sender. Routers forward its packets by tables, along the trees of
    /// `[in_switch]`.
    Persistent,
}

/// Destinations that one packet may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketFor {
    /// Any set of nodes. A router copies the packet to any of its ports.
    #[default]
    Any,
    /// Consecutive nodes at equal distance from the sender, so that a router copies only to consecutive ports (Quadrics
    /// QsNet). The sender sends one packet for each run of such nodes. Requires a single switch or a fat-tree.
    Consecutive,
}

/// Backend that executes collective operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collectives {
    /// Routers. Packets of a one-shot group name their destinations in the header and are copied where the paths
    /// diverge. Packets of a persistent group follow its trees; routers copy and combine them.
    #[default]
    Hardware,
    /// Nodes, by messages. The sender of a multicast sends a message to each destination in turn. Reductions and
    /// barriers use messages like the collective operations of programs, with the algorithms that `auto` selects.
    Software,
}

/// A nearest-neighbour exchange of a finite volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExchangeSpec {
    /// Number of tasks in each dimension, first dimension fastest. The product is the number of tasks. Default: three
    /// dimensions as close to a cube as possible, in ascending order.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u64>>,
    /// Dimensions in which tasks exchange, in this order. Dimensions are numbered from 0. Default: all dimensions.
    #[schemars(length(min = 1, max = 64), inner(range(max = 7)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<u32>>,
    /// Volume that a task sends to each neighbour.
    #[schemars(extend("minimum" = 1))]
    pub volume: Bytes,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Rule for the times at which packets of a flow (one source and one destination) may leave.
    #[serde(skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

impl Default for ExchangeSpec {
    fn default() -> Self {
        Self { dims: None, phases: None, volume: Bytes(256 * 1024), packet_size: None, pacer: PacerSpec::default() }
    }
}

/// Execution model of an application: the order of its computation and communication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// All nodes compute first. The phases follow in turn, each when the previous one has ended everywhere.
    #[default]
    BulkSynchronous,
    /// Tasks are objects, several of them on a node. A task computes when the messages that it needs have arrived.
    MessageDriven,
}

impl Execution {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An application: one step, or several steps of a message-driven execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplicationSpec {
    /// Task graph: a generator such as `"stencil:16x16x16"`, or a file (METIS, Matrix Market, edges, matrix). The path
    /// of a file is relative to the experiment file.
    pub graph: String,
    /// Further graphs of these tasks. Their phases follow those of the first graph; loads add up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_graphs: Vec<String>,
    /// Time in which a node computes one unit of its tasks' load. In a bulk-synchronous execution, all nodes compute
    /// before the first phase.
    #[serde(default)]
    pub time_per_load: Time,
    /// Execution model. Default: "bulk-synchronous".
    #[serde(default, skip_serializing_if = "Execution::is_default")]
    pub execution: Execution,
    /// Number of steps, without a barrier between them. Message-driven execution only. Default: 1.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Backend of the graph's multicasts and reductions. "software": one message to each node that has members, or one
    /// from each. "hardware" in a message-driven execution: switches copy and combine, along a tree of `[in_switch]`
    /// for each group. "hardware" in a bulk-synchronous execution: switches copy the packets of multicasts, which name
    /// their nodes in the header; reductions are messages. "nic" is for programs. Default: "software".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<CollectiveBackend>,
    /// Seed for a random renumbering of the tasks before the placement. Default: no renumbering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Rule for the times at which packets of a flow (one source and one destination) may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Ranks that run a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RanksSpec {
    /// Benchmark: its messages and its measurements.
    #[serde(default)]
    pub benchmark: BenchmarkSpec,
    /// Backend of a benchmark that is a collective operation. It selects among algorithms if the benchmark's algorithm
    /// is "auto". Default: the algorithm determines the backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<CollectiveBackend>,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Rule for the times at which packets of a flow (one source and one destination) may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Ranks that run a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramRanksSpec {
    /// Program of the ranks.
    #[serde(default)]
    pub program: ProgramSpec,
    /// Backend of all collective operations of the program. Algorithms that are "auto" are selected for it; any other
    /// algorithm must be one of this backend. Default: each operation's algorithm determines the backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<CollectiveBackend>,
    /// Size of the largest packet. Buffer depths given in packets count packets of this size. Default: 4 KiB if
    /// injection channels have 100 Gb/s or more, otherwise 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Rule for the times at which packets of a flow (one source and one destination) may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}
