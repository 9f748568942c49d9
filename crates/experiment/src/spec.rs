//! The typed experiment: every section, key, default and range of the experiment file that this crate adds to those of
//! its parts.
//!
//! A doc comment here is the documentation of its key in the command line's help, the reference and error messages. A
//! range on a quantity is in its smallest unit (ps, B, b/s).

use std::collections::BTreeMap;

use fabric::LinkParameters;
use fabric::catalogue::RouterSpec;
use host::{MemorySpec, RANKS};
use routing::RoutingSpec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use topology::NetworkSpec;
use units::{Bandwidth, Capacity, Duration, Time};

use crate::design::{CostSpec, LayoutSpec};
use crate::in_switch::InSwitchSpec;
use crate::jobs::{self, JobSpec};
use crate::machine::{self, NamedMachineSpec};
use crate::networks::{self, JoinedNetworkSpec, RelaySpec};
use crate::nic::NicSpec;
use crate::place::PlaceSpec;
use crate::workload::WorkloadSpec;

/// Longest period of noise in ps: 1000 s.
const LONGEST_PERIOD: u64 = 1_000_000_000_000_000;

/// One experiment at one point of its sweep: a machine, its workload and the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What a named machine may fill is not required here: `ExperimentLanguage::missing` asks for it.
#[schemars(extend("required" = []))]
pub struct ExperimentSpec {
    /// Name of the experiment in tables and plots.
    #[serde(default)]
    pub title: String,
    /// Seed of every random stream. All points of a sweep share it, so that they use common random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// Machine by name, whose values fill sections where the experiment has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<NamedMachineSpec>,
    /// Topology of the network.
    #[serde(default = "NetworkSpec::unwritten", skip_serializing_if = "NetworkSpec::is_unwritten")]
    pub topology: NetworkSpec,
    /// Several networks, which replace `[topology]`.
    #[serde(default, rename = "network", skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<JoinedNetworkSpec>,
    /// Relays of messages that no network carries from end to end. Default: such messages are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rules" = ["requires several networks"]))]
    pub relay: Option<RelaySpec>,
    /// Channels between routers, and between routers and nodes.
    #[serde(default, skip_serializing_if = "LinkSpec::is_unwritten")]
    pub link: LinkSpec,
    /// Router architecture.
    #[serde(default)]
    pub router: RouterSpec,
    /// Routing algorithm. Default: one that suits the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingSpec>,
    /// Network interface of a node.
    #[serde(default)]
    pub nic: NicSpec,
    /// Node: its treatment of arriving packets, its processors, and messages between its ranks.
    #[serde(default, skip_serializing_if = "NodeSpec::is_default")]
    pub node: NodeSpec,
    /// Execution of collective operations in routers.
    #[serde(default, skip_serializing_if = "InSwitchSpec::is_default")]
    pub in_switch: InSwitchSpec,
    /// Racks of routers and nodes, for the lengths of cables. Delays follow from lengths if `link.delay` is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutSpec>,
    /// Prices and powers of the network's parts, for the cost of a design in analyses.
    #[serde(default, skip_serializing_if = "CostSpec::is_default")]
    pub cost: CostSpec,
    /// Messages and their times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    /// Placement of tasks on nodes.
    #[serde(default)]
    pub placement: PlaceSpec,
    /// Several workloads that share the network. Replaces `[workload]` and `[placement]`.
    #[serde(default, rename = "job", skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSpec>,
    /// Simulation of the network.
    #[serde(default, skip_serializing_if = "SimulationSpec::is_default")]
    pub simulation: SimulationSpec,
    /// Length of the simulation and precision of its results.
    #[serde(default)]
    pub measure: MeasureSpec,
}

impl ExperimentSpec {
    /// Returns the experiment as TOML, with every default that does not depend on the network.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"))
    }

    /// Returns every workload, mutable, with the path of its section.
    pub fn workloads_mut(&mut self) -> impl Iterator<Item = (String, &mut WorkloadSpec)> {
        let only = self.workload.iter_mut().map(|workload| ("workload".to_owned(), workload));
        only.chain(self.jobs.iter_mut().map(|job| (format!("job.{}.workload", job.name), &mut job.workload)))
    }

    /// Returns every workload, with the path of its section.
    fn workloads(&self) -> impl Iterator<Item = (String, &WorkloadSpec)> {
        let only = self.workload.iter().map(|workload| ("workload".to_owned(), workload));
        only.chain(self.jobs.iter().map(|job| (format!("job.{}.workload", job.name), &job.workload)))
    }

    /// Returns the first contradiction that no rule beside a key states: the path of the key to show, and the message.
    pub(crate) fn contradiction(&self) -> Option<(String, String)> {
        let separate =
            |key: &str| Some((key.into(), format!("[{key}] excludes [[job]]: each job has a separate {key}")));
        match (&self.workload, &self.jobs[..]) {
            (Some(_), [_, ..]) => return separate("workload"),
            (None, [_, ..]) if self.placement != PlaceSpec::default() => return separate("placement"),
            _ => {}
        }
        let wrong = |(path, workload): (String, &WorkloadSpec)| {
            let (injection, load) = workload.injection()?;
            let error = injection.check(load).err()?;
            Some((format!("{path}.load"), error.to_string()))
        };
        if let Some((class, key)) = self.router.foreign_class_key() {
            let (kind, allowed) = (self.router.kind(), self.router.class_keys().join("`, `"));
            let message = format!("{kind} routers have no `{key}`; a class of them may have `{allowed}`");
            return Some((format!("router.{class}.{key}"), message));
        }
        let of_jobs = self.jobs.iter().enumerate();
        let of_jobs = of_jobs.map(|(index, job)| (format!("job[{index}].placement"), &job.placement));
        let placements = std::iter::once(("placement".to_owned(), &self.placement)).chain(of_jobs);
        if !self.networks.is_empty() && !self.topology.is_unwritten() {
            return Some(("topology".into(), "[topology] excludes [[network]]: each network has a topology".into()));
        }
        if !self.networks.is_empty() && self.layout.is_some_and(|layout| layout.nodes_per_rack.is_none()) {
            let message =
                "[layout] needs `nodes_per_rack` with [[network]]: racks have whole nodes with their endpoints";
            return Some(("layout".into(), message.into()));
        }
        jobs::contradiction(&self.jobs)
            .or_else(|| {
                let has_drain = self.node.receive_buffer.is_none() || self.node.drain.is_some();
                networks::contradiction(&self.networks, self.relay.as_ref(), (self.has_ranks(), has_drain))
            })
            .or_else(|| self.workloads().find_map(wrong))
            .or_else(|| machine::foreign_hosts(&self.topology, placements))
    }

    /// Returns whether any workload has ranks that send and receive.
    pub(crate) fn has_ranks(&self) -> bool {
        self.workloads().any(|(_, workload)| workload.has_ranks())
    }
}

fn one() -> u64 {
    1
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Channels: values for all channels, and exceptions for classes of channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSpec {
    /// Bandwidth of a channel.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Delay of a channel, from the departure of a head to its arrival. Must be positive: the smallest delay limits the
    /// lookahead window of a parallel run. Default: 5 ns for each metre of the mean cable of the channel's class, which
    /// requires `layout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub delay: Option<Time>,
    /// Exceptions for one class of channels, such as `[link.injection]`. The topology names the classes.
    #[serde(flatten)]
    pub classes: BTreeMap<String, LinkClassSpec>,
}

impl LinkSpec {
    /// Returns whether the section is left out: each of several networks has one.
    fn is_unwritten(&self) -> bool {
        *self == Self::default()
    }

    /// Returns bandwidth and delay of a class of channels as parameters of the fabric.
    pub fn parameters(&self, class: &str) -> LinkParameters {
        let (bandwidth, delay) = self.of_class(class);
        LinkParameters { bandwidth, delay }
    }

    /// Returns bandwidth and delay of a class of channels. The delay is 0 if it follows from lengths.
    pub fn of_class(&self, class: &str) -> (Bandwidth, Time) {
        let own = self.classes.get(class);
        let bandwidth = own.and_then(|class| class.bandwidth).unwrap_or(self.bandwidth);
        (bandwidth, own.and_then(|class| class.delay).or(self.delay).unwrap_or_default())
    }
}

/// Exceptions for one class of channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[link.global]\ndelay = \"300 ns\""))]
pub struct LinkClassSpec {
    /// Bandwidth of a channel of this class. Default: `link.bandwidth`.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Delay of a channel of this class. Default: `link.delay`.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}

/// Node: its receive buffer, its processors, and its memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSpec {
    /// Node of the catalogue by name (`cutthrough list nodes`), with its parameters after a colon, such as "dgx-h100" or
    /// "tpu-v4:x=2". Its networks precede those of the file, and its values fill keys that the file leaves out.
    #[schemars(extend("x-example" = "\"dgx-h100\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of endpoints of a node, such as its GPUs. Placements, allocations and loads count endpoints.
    #[schemars(range(min = 1, max = 65536), extend("x-rules" = ["requires several networks"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<u32>,
    /// Number of nodes. Default: the number whose endpoints the largest network has room for.
    #[schemars(range(min = 1, max = 16777216), extend("x-rules" = ["requires several networks"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Depth of the buffer that receives packets from the network: at least one packet. The buffer has credits, so that
    /// a node slower than its link causes backpressure into the network. Default: nodes accept packets as fast as they
    /// arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Capacity>,
    /// Rate at which the receive buffer is drained, packet by packet. Default: the bandwidth of the ejection channel,
    /// of `[nic.bus]` or of `nic.receive_gap_per_byte`, whichever is least.
    #[schemars(extend("minimum" = 1, "x-rules" = ["requires node.receive_buffer"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Bandwidth>,
    /// Relative speeds of processors: of nodes 0, 1, 2 and so on, repeated cyclically. A calculation takes its time
    /// divided by the speed; overheads do not depend on it. Default: 1 for all nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 0.001, max = 1000.0)), extend("x-example" = "[1.0, 1.0, 0.5]", "x-rules" = RANKS))]
    pub speeds: Vec<f64>,
    /// Noise of the operating system. Default: none.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseSpec>,
    /// Memory through which ranks of a node exchange messages. Default: such messages take the overheads only.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySpec>,
}

/// Noise of the operating system: detours during which a rank's processor does nothing for the rank, one in each
/// period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[node.noise]\nperiod = \"1 ms\"\nduration = \"25 us\""))]
pub struct NoiseSpec {
    /// Length of a period, which has one detour. The default is the period of a timer of 1000 Hz.
    #[serde(default = "millisecond")]
    #[schemars(extend("minimum" = 1, "maximum" = LONGEST_PERIOD))]
    pub period: Time,
    /// Duration of a detour (mean duration if detours are drawn).
    #[schemars(extend("minimum" = 1, "x-rules" = ["below node.noise.period: otherwise there is no time to compute"]))]
    pub duration: Time,
    /// Whether detours are periodic with a constant duration, or drawn at random.
    #[serde(default)]
    pub detours: Detours,
    /// Whether ranks have detours at independent times or at common times.
    #[serde(default)]
    pub phase: NoisePhase,
    /// Nodes whose ranks have detours, such as "0-35,40". Default: all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "\"0-35,40\""))]
    pub nodes: Option<String>,
}

fn millisecond() -> Time {
    Time(1_000_000_000)
}

/// Times and durations of detours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detours {
    /// One period apart, with a constant duration.
    #[default]
    Fixed,
    /// At a random time of each period, with an exponentially distributed duration of at most the period.
    Drawn,
}

/// Relation between the detours of different ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoisePhase {
    /// Each rank has independent times.
    #[default]
    Random,
    /// All ranks have detours at common times.
    Aligned,
}

impl NodeSpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Simulation of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulationSpec {
    /// Network model. Default: `"delay"` for `topology.kind = "flat"`, otherwise `"packet"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Whether equal groups of messages are simulated once, with replay of the outcome, and periods of long messages are
    /// skipped. Results do not change. Pays off for long messages, and for messages that repeat, as in collective
    /// operations and training steps. Requires the packet model, a workload that finishes, a routing with one path
    /// between two nodes, and routers without random arbitration.
    #[schemars(extend("x-rules" = ["excludes measure.series: it needs every packet", "excludes measure.timeline: it needs every packet", "excludes nic.message_order", "excludes node.receive_buffer"]))]
    #[serde(skip_serializing_if = "is_false")]
    pub reuse: bool,
    /// Share of the packets that are also simulated one by one, to measure the error of the flow model. The sample is a
    /// stretch of time from the start of the run, or phases of volumes. Requires the flow model. Default: no
    /// validation.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<f64>,
}

/// Network model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Packets through the channels, buffers and arbiters of routers. Needs a topology with routers.
    Packet,
    /// Whole messages, which take the bandwidth of their nodes' links and the delay of an idle shortest path. Messages
    /// do not wait for one another at routers.
    Delay,
    /// Messages as flows on the paths of the routing, which share channels at rates that follow the arbitration of
    /// routers. Needs a topology with routers.
    Flow,
}

impl SimulationSpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Length of the simulation and precision of its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Simulated time before the measured interval. `"auto"` detects the end of the transient.
    #[schemars(extend("x-rules" = ["below measure.max_time: otherwise there is no time to measure"]))]
    pub warm_up: WarmUp,
    /// Confidence level of confidence intervals.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub confidence: f64,
    /// Precision at which a run may end: the half-width of the confidence interval of the mean latency, as a share of
    /// the mean.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub precision: f64,
    /// Least length of the measured interval, in simulated time. Default: derived from the network.
    #[schemars(extend("minimum" = 1, "x-rules" = ["at most measure.max_time"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<Time>,
    /// Simulated time at which a run ends even if `precision` has not been reached. Default: derived from the network.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Time>,
    /// Quantity to search for, instead of a run at the given load. A search varies the load: loads of a sweep are
    /// ignored. Default: no search.
    #[schemars(extend("x-rules" = ["excludes several jobs: a search varies the load of one workload"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Width of the load interval at which the search stops.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 0.5))]
    pub resolution: f64,
    /// Whether each job that the run waits for is also run alone, on the nodes it has in the experiment. Its `slowdown`
    /// compares the two.
    #[schemars(extend("x-rules" = ["requires several jobs"]))]
    pub compare_alone: bool,
    /// Whether messages are measured, by size: their latencies, from generation to the arrival of the last byte, and
    /// their slowdowns relative to an idle network.
    #[serde(skip_serializing_if = "is_false")]
    pub messages: bool,
    /// Simulated time between two samples of a time series of accepted load, source queues and queues in routers. At
    /// most 65,536 samples are kept: a longer run keeps every second one, then every fourth, and so on. Default: no
    /// series.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Time>,
    /// Whether a timeline of each rank's activity is recorded (computing, overhead, waiting for a late sender or
    /// receiver, transfer), with the critical path. Requires ranks that run programs, with at most 4,194,304
    /// operations.
    #[serde(skip_serializing_if = "is_false")]
    pub timeline: bool,
    /// Whether results have a value for each channel and each rank, whatever their numbers. Default: more than 1,048,576
    /// channels are summarized by class, and more than 65,536 ranks by the distribution of their times.
    #[serde(skip_serializing_if = "is_false")]
    pub full: bool,
    /// Wall-clock time between two checkpoints of a run. An interrupted run goes on from its last checkpoint. Requires
    /// the packet model and a folder of results. Default: no checkpoints.
    #[schemars(extend("minimum" = 1, "x-rules" = [
        "excludes measure.search: a search is made of several runs",
        "excludes measure.compare_alone = true: jobs alone are further runs",
        "excludes simulation.reuse = true: a checkpoint holds no records of episodes"
    ]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Duration>,
    /// Whether a run starts without the proof that its packets cannot deadlock. If they deadlock, the run ends with an
    /// error that names the packets and the buffers that wait for one another.
    #[serde(skip_serializing_if = "is_false")]
    pub unproven: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            warm_up: WarmUp::Auto,
            confidence: 0.95,
            precision: 0.02,
            min_time: None,
            max_time: None,
            search: None,
            resolution: 0.01,
            compare_alone: false,
            messages: false,
            series: None,
            timeline: false,
            full: false,
            checkpoint: None,
            unproven: false,
        }
    }
}

/// Quantity that a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// Load at which the network saturates, by bisection.
    Saturation,
}

/// Simulated time before the measured interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUp {
    /// Until the end of the transient, as detected in the measurements.
    #[default]
    Auto,
    /// Fixed time.
    Fixed(Time),
}

impl Serialize for WarmUp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Fixed(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WarmUp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Fixed).map_err(de::Error::custom)
    }
}

impl JsonSchema for WarmUp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WarmUp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string", "const": "auto" }, generator.subschema_for::<Time>()] })
    }
}
