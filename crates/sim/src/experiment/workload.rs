//! `[workload]`: the kinds of work that a network is given.

use ::workload::benchmarks::BenchmarkSpec;
use ::workload::collectives::Carrier;
use ::workload::motifs::ProgramSpec;
use ::workload::multicast::FanoutSpec;
use ::workload::{InjectionSpec, PatternSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use crate::pacers::PacerSpec;

/// Who sends what, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkloadSpec {
    /// Synthetic traffic: every node sends messages to the destinations of a pattern at a given rate.
    Traffic(TrafficSpec),
    /// Nearest-neighbour exchange: tasks in a periodic grid send a given volume to each neighbour, dimension by
    /// dimension.
    Exchange(ExchangeSpec),
    /// Collective traffic: nodes begin collective operations at a given rate, each with a group of nodes of its own, in hardware or by
    /// messages from node to node.
    Collective(CollectiveTrafficSpec),
    /// An application's task graph: a step phase by phase, or steps whose tasks compute when messages come.
    Application(ApplicationSpec),
    /// A benchmark of message latency: ranks send and receive.
    Benchmark(RanksSpec),
    /// A program of ranks that send, receive and calculate: a motif, or a schedule from a file.
    Program(ProgramRanksSpec),
}

impl WorkloadSpec {
    /// When the packets of its flows may leave.
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

    /// The rate at which its messages are generated, and how, if they are.
    pub fn injection(&self) -> Option<(InjectionSpec, f64)> {
        match self {
            Self::Traffic(spec) => Some((spec.injection, spec.load)),
            Self::Collective(spec) => Some((spec.injection, spec.load)),
            Self::Exchange(_) | Self::Application(_) | Self::Benchmark(_) | Self::Program(_) => None,
        }
    }

    /// Who carries collective operations of ranks out, if one carries all of them.
    pub fn carrier(&self) -> Option<Carrier> {
        match self {
            Self::Program(spec) => spec.collectives,
            Self::Benchmark(spec) => spec.collectives,
            Self::Application(spec) => spec.collectives,
            _ => None,
        }
    }

    /// Whether ranks send and receive messages, through a network interface.
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
    /// Who sends to whom.
    #[serde(default)]
    pub pattern: PatternSpec,
    /// Offered load of a node, as a share of its injection channel's bandwidth.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub load: f64,
    /// When a node generates its messages.
    #[serde(default)]
    pub injection: InjectionSpec,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Size of a message, sent as packets of which the last may be shorter; without it, one packet.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_size: Option<Bytes>,
    /// When the packets of a flow, from one node to another, may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Collective traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveTrafficSpec {
    /// What a group does.
    #[serde(default)]
    pub operation: CollectiveOperation,
    /// Who carries operations out: routers, or the nodes by messages.
    #[serde(default)]
    pub collectives: Collectives,
    /// Offered load of a sender, as a share of its injection channel's bandwidth, of which a multicast takes one message however many
    /// nodes it is for.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub load: f64,
    /// How many nodes an operation is for, beside the sender where all nodes of its group take part; they are drawn, all alike.
    pub fanout: FanoutSpec,
    /// When the nodes are drawn that an operation is for, and how routers know them.
    #[serde(default)]
    pub groups: GroupsKind,
    /// Which of the nodes of a one-shot multicast one packet may be for, if routers make the copies.
    #[serde(default)]
    pub packet_for: PacketFor,
    /// The number of nodes that send, spread evenly over the tasks; without it, all.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub senders: Option<u32>,
    /// Whether a multicast may be for the node that sends it too.
    #[serde(default)]
    pub include_self: bool,
    /// When a sender begins its operations, or the group of a sender those that all of its nodes take part in.
    #[serde(default = "poisson")]
    pub injection: InjectionSpec,
    /// How late the nodes of a group come to operations that all of them take part in; without it, all begin at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateSpec>,
    /// Size of a message, sent as packets of which the last may be shorter; without it, one packet. A barrier has none: a control message.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
}

/// How late the nodes of a group come to its operations: each by a time of its own, drawn anew for each operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[workload.late]\ntime = \"10 us\"\nmembers = 1"))]
pub struct LateSpec {
    /// The time on average.
    pub time: Time,
    /// How the time is distributed.
    #[serde(default)]
    pub law: LateLaw,
    /// How many nodes of the group are late, others in each operation; without it, all.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
}

/// The distribution of the time by which nodes are late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateLaw {
    /// Always the mean.
    #[default]
    Fixed,
    /// Up to twice the mean, all times alike.
    Uniform,
    /// Exponential.
    Exponential,
}

fn poisson() -> InjectionSpec {
    InjectionSpec::Poisson
}

/// What the nodes of a group do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveOperation {
    /// One node sends a message to all others of the group.
    #[default]
    Multicast,
    /// The messages of all nodes of the group are combined for the sender whose group it is: of persistent groups.
    Reduce,
    /// They are combined, and all have the result: of persistent groups.
    Allreduce,
    /// Nobody's operation ends before all have begun it: of persistent groups.
    Barrier,
}

/// The nodes that the operations of a sender are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsKind {
    /// Drawn anew for each operation: packets name them in their headers.
    #[default]
    OneShot,
    /// Drawn once for each sender: routers have them in their tables, as the trees of `[in_switch]`.
    Persistent,
}

/// The nodes that one packet may be for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketFor {
    /// Any: a packet names its nodes, and a router copies it to any of its ports.
    #[default]
    Any,
    /// Consecutive nodes that are equally far from the sender, so that a router copies to consecutive ports only, as that of Quadrics QsNet. The
    /// sender sends a packet for each run of such nodes, one after the other. Of a single switch and of fat-trees.
    Consecutive,
}

/// Who carries out collective operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collectives {
    /// Routers. A packet names the nodes that it is for in its header, and is copied where their paths part; or, of persistent groups, it goes by
    /// their trees, where routers copy and combine.
    #[default]
    Hardware,
    /// The nodes. Who multicasts sends a message to each node of the group, one after the other; reductions and barriers are made of
    /// messages as those of programs, by the algorithms that `auto` chooses.
    Software,
}

/// A nearest-neighbour exchange of a finite volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExchangeSpec {
    /// Tasks in each dimension, first dimension fastest; their product is the number of tasks. Without it, three
    /// dimensions as near to a cube as there are, in ascending order.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u64>>,
    /// The dimensions, from 0, in which tasks exchange, one after the other; without it, all.
    #[schemars(length(min = 1, max = 64), inner(range(max = 7)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<u32>>,
    /// What a task sends to each neighbour.
    #[schemars(extend("minimum" = 1))]
    pub volume: Bytes,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// When the packets of a flow, from one node to another, may leave.
    #[serde(skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

impl Default for ExchangeSpec {
    fn default() -> Self {
        Self { dims: None, phases: None, volume: Bytes(256 * 1024), packet_size: None, pacer: PacerSpec::default() }
    }
}

/// How the tasks of an application compute and communicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// All nodes compute, then the phases follow one another, each when the one before has ended everywhere.
    #[default]
    BulkSynchronous,
    /// Tasks are objects, several on a node: each computes when the messages that it needs have come, while others wait.
    MessageDriven,
}

impl Execution {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An application: one step, or several of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplicationSpec {
    /// The task graph: a generator such as `"stencil:16x16x16"`, or a file relative to the experiment file (METIS, Matrix
    /// Market, edges, matrix).
    pub graph: String,
    /// Further graphs of the same tasks, whose phases follow those of the first; loads add up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_graphs: Vec<String>,
    /// Time that a node takes for a unit of its tasks' loads. Bulk-synchronous, all compute before the first phase.
    #[serde(default)]
    pub time_per_load: Time,
    /// How tasks compute and communicate; without it, "bulk-synchronous".
    #[serde(default, skip_serializing_if = "Execution::is_default")]
    pub execution: Execution,
    /// Of a message-driven execution: steps, one after the other without a barrier; without it, one.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Who carries the graph's multicasts and reductions out. "software": a message to each node that has members, or one from each.
    /// "hardware", message-driven: switches copy and combine, by a tree of `[in_switch]` for each group; bulk-synchronous: switches copy the
    /// packets of multicasts, which name their nodes in the header, and reductions are messages. "nic" is of programs. Without it, "software".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Carrier>,
    /// Number the tasks at random first, by this seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// When the packets of a flow, from one node to another, may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Ranks that run a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RanksSpec {
    /// Who exchanges messages with whom.
    #[serde(default)]
    pub benchmark: BenchmarkSpec,
    /// Who carries out the operations of a benchmark that is a collective operation, where its algorithm is "auto". Without it, the algorithm says
    /// so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Carrier>,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// When the packets of a flow, from one node to another, may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}

/// Ranks that run a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramRanksSpec {
    /// What the ranks do.
    #[serde(default)]
    pub program: ProgramSpec,
    /// Who carries the program's collective operations out, all of them; algorithms that are "auto" are chosen accordingly, and others have to
    /// be the carrier's. Without it, each operation's algorithm says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Carrier>,
    /// Size of a packet, and of the largest that a buffer is measured in; without it, 4 KiB if injection channels have 100 Gb/s
    /// or more, else 256 B.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// When the packets of a flow, from one node to another, may leave.
    #[serde(default, skip_serializing_if = "PacerSpec::is_none")]
    pub pacer: PacerSpec,
}
