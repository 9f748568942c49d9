//! The typed experiment: every section, key, default and range of the file that this crate adds to its parts'.
//!
//! A doc comment here is the key's documentation everywhere: in the command line's help, the reference of the
//! documentation and the messages of errors. A range on a quantity counts in its smallest unit (ps, B, b/s).

use std::collections::BTreeMap;

use fabric::LinkParameters;
use fabric::catalogue::RouterSpec;
use routing::RoutingSpec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use topology::NetworkSpec;
use units::{Bandwidth, Capacity, Time};

use super::in_switch::InSwitchSpec;
use super::jobs::{self, JobSpec};
use super::memory::MemorySpec;
use super::nic::NicSpec;
use super::place::PlaceSpec;
use super::workload::WorkloadSpec;
use crate::pacers::PacerSpec;

/// The longest period of noise: 1000 s.
const LONGEST_PERIOD: Time = Time(1_000_000_000_000_000);

/// One experiment at one point of its sweep: a machine, the work that it is given, and how it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentSpec {
    /// What the experiment is called in tables and plots.
    #[serde(default)]
    pub title: String,
    /// The seed of every random stream. All points of a sweep share it, so that they see the same random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// The shape of the network.
    pub topology: NetworkSpec,
    /// The channels between routers, and between routers and nodes.
    pub link: LinkSpec,
    /// The inside of every router.
    #[serde(default)]
    pub router: RouterSpec,
    /// which paths packets take; without it, what suits the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingSpec>,
    /// The interface between a node and the network.
    #[serde(default)]
    pub nic: NicSpec,
    /// What a node does with packets that arrive, and with messages between its ranks.
    #[serde(default, skip_serializing_if = "NodeSpec::is_default")]
    pub node: NodeSpec,
    /// What routers do of collective operations.
    #[serde(default, skip_serializing_if = "InSwitchSpec::is_default")]
    pub in_switch: InSwitchSpec,
    /// Who sends what, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    /// Which task runs on which node.
    #[serde(default)]
    pub placement: PlaceSpec,
    /// Several workloads that share the network, instead of `[workload]` and `[placement]`.
    #[serde(default, rename = "job", skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSpec>,
    /// How long to simulate, and how sure to be.
    #[serde(default)]
    pub measure: MeasureSpec,
}

impl ExperimentSpec {
    /// The experiment as TOML, with every default that does not depend on the network.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"))
    }

    /// Every workload, to be changed, and the path of its section.
    pub(crate) fn workloads_mut(&mut self) -> impl Iterator<Item = (String, &mut WorkloadSpec)> {
        let only = self.workload.iter_mut().map(|workload| ("workload".to_owned(), workload));
        only.chain(self.jobs.iter_mut().map(|job| (format!("job.{}.workload", job.name), &mut job.workload)))
    }

    /// Every workload, and the path of its section.
    fn workloads(&self) -> impl Iterator<Item = (String, &WorkloadSpec)> {
        let only = self.workload.iter().map(|workload| ("workload".to_owned(), workload));
        only.chain(self.jobs.iter().map(|job| (format!("job.{}.workload", job.name), &job.workload)))
    }

    /// Keys that are right each for itself but not together: the path of the one to show, and what is wrong.
    pub(super) fn contradiction(&self) -> Option<(String, String)> {
        let found = self.measure.contradiction().map(|(key, message)| (format!("measure.{key}"), message));
        let found = found.or_else(|| jobs::contradiction(&self.jobs)).or_else(|| self.job_contradiction());
        let found = found.or_else(|| self.plane_contradiction());
        found.or_else(|| self.node_contradiction()).or_else(|| self.nic_contradiction()).or_else(|| {
            let wrong = |(path, workload): (String, &WorkloadSpec)| {
                let (injection, load) = workload.injection()?;
                let error = injection.check(load).err()?;
                Some((format!("{path}.load"), error.to_string()))
            };
            self.workloads().find_map(wrong)
        })
    }

    /// What does not go with jobs, and what needs them.
    fn job_contradiction(&self) -> Option<(String, String)> {
        let (key, message) = match (&self.workload, &self.jobs[..]) {
            (Some(_), [_, ..]) => {
                ("workload", "[workload] and [[job]] cannot both be given: each job has a workload of its own")
            }
            (None, [_, ..]) if self.placement != PlaceSpec::default() => {
                ("placement", "[placement] and [[job]] cannot both be given: each job has a placement of its own")
            }
            (_, [_, _, ..]) if self.measure.search.is_some() => {
                ("measure.search", "a search varies the load of one workload, and there are several jobs")
            }
            (_, [] | [_]) if self.measure.compare_alone => {
                ("measure.compare_alone", "`compare_alone` is for several jobs: alone there is nothing to compare with")
            }
            _ => return None,
        };
        Some((key.into(), message.into()))
    }

    /// What does not go with several planes.
    fn plane_contradiction(&self) -> Option<(String, String)> {
        if self.topology.planes == 1 {
            return None;
        }
        let wrong = |(path, workload): (String, &WorkloadSpec)| {
            let message =
                "a pacer holds back what a node sends by its only link; leave it out with `topology.planes` above 1";
            (*workload.pacer() != PacerSpec::default()).then(|| (format!("{path}.pacer"), message.to_owned()))
        };
        self.workloads().find_map(wrong)
    }

    fn node_contradiction(&self) -> Option<(String, String)> {
        let NodeSpec { receive_buffer, drain, speeds, noise, memory } = &self.node;
        let of_memory =
            |memory: &MemorySpec| memory.contradiction(self.has_ranks(), self.nic.host().eager_limit.is_some());
        let buffered =
            "`node.drain` is the rate at which a receive buffer is drained; it goes with `node.receive_buffer`";
        let key = if speeds.is_empty() { "noise" } else { "speeds" };
        let (key, message) = match noise {
            _ if drain.is_some() && receive_buffer.is_none() => ("drain", buffered.to_owned()),
            _ if (noise.is_some() || !speeds.is_empty()) && !self.has_ranks() => (
                key,
                format!(
                    "`node.{key}` is of processors of ranks that compute, send and receive: only workloads of kind \"benchmark\" and \
                     \"program\" have them"
                ),
            ),
            Some(noise) if noise.duration >= noise.period => {
                let message = format!(
                    "`node.noise.duration` ({}) leaves no time to compute: it has to be less than `period` ({})",
                    noise.duration, noise.period
                );
                ("noise.duration", message)
            }
            Some(noise) if noise.period > LONGEST_PERIOD => {
                ("noise.period", format!("{} is too long: at most {LONGEST_PERIOD}", noise.period))
            }
            _ => memory.as_ref().and_then(of_memory).map(|(key, message)| (key, message.to_owned()))?,
        };
        Some((format!("node.{key}"), message))
    }

    /// Whether there are ranks that send and receive.
    fn has_ranks(&self) -> bool {
        self.workloads().any(|(_, workload)| workload.has_ranks())
    }

    fn nic_contradiction(&self) -> Option<(String, String)> {
        self.nic.contradiction(self.has_ranks())
    }
}

impl MeasureSpec {
    /// Keys of the section that contradict one another.
    fn contradiction(&self) -> Option<(&'static str, String)> {
        let Self { min_time, max_time: Some(max), warm_up, .. } = self else { return None };
        if let Some(min) = min_time.filter(|min| min > max) {
            return Some(("min_time", format!("`measure.min_time` ({min}) is above `measure.max_time` ({max})")));
        }
        let WarmUp::Fixed(warm_up) = warm_up else { return None };
        (warm_up >= max).then(|| {
            let message = format!(
                "`measure.warm_up` ({warm_up}) leaves no time to measure: the run ends at `measure.max_time` ({max})"
            );
            ("warm_up", message)
        })
    }
}

fn one() -> u64 {
    1
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The channels: what holds for all of them, and what differs for a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSpec {
    /// Bandwidth of a channel.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Delay of a channel, from the moment that a head leaves to the moment that it arrives. Not zero: the smallest
    /// delay is how far the parts of a parallel run may be apart.
    #[schemars(extend("minimum" = 1))]
    pub delay: Time,
    /// What differs for one class of channels, such as `[link.injection]`; the topology names the classes.
    #[serde(flatten)]
    pub classes: BTreeMap<String, LinkClassSpec>,
}

impl LinkSpec {
    /// The same, as the fabric takes it.
    pub(crate) fn parameters(&self, class: &str) -> LinkParameters {
        let (bandwidth, delay) = self.of_class(class);
        LinkParameters { bandwidth, delay }
    }

    /// The bandwidth and the delay of a class of channels.
    pub fn of_class(&self, class: &str) -> (Bandwidth, Time) {
        let own = self.classes.get(class);
        let bandwidth = own.and_then(|class| class.bandwidth).unwrap_or(self.bandwidth);
        (bandwidth, own.and_then(|class| class.delay).unwrap_or(self.delay))
    }
}

/// What differs for one class of channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[link.global]\ndelay = \"300 ns\""))]
pub struct LinkClassSpec {
    /// Bandwidth of a channel of this class; without it, that of `[link]`.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Delay of a channel of this class; without it, that of `[link]`.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}

/// What a node does with packets that arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeSpec {
    /// Depth of the buffer that takes packets from the network: at least a packet. It has credits, so that a node that is slower
    /// than its link pushes back into the network. Without it, nodes take packets as fast as they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Capacity>,
    /// Rate at which the receive buffer is drained, packet by packet; without it, the bandwidth of the ejection channel, or of
    /// `[nic.bus]` or `nic.receive_gap_per_byte` if that is less.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Bandwidth>,
    /// How fast the processors of nodes 0, 1, 2 and so on compute, over and over: calculations take their time divided by this, and
    /// overheads their time; 1 of all without it. Of ranks only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 0.001, max = 1000.0)), extend("x-example" = "[1.0, 1.0, 0.5]"))]
    pub speeds: Vec<f64>,
    /// Noise of the operating system. Of ranks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseSpec>,
    /// The memory by way of which ranks of a node exchange messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySpec>,
}

/// Noise of the operating system: detours during which a rank's processor does nothing for it, one in each period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[node.noise]\nperiod = \"1 ms\"\nduration = \"25 us\""))]
pub struct NoiseSpec {
    /// Time from one detour to the next, or that has one detour: by default that of a timer of 1000 Hz.
    #[serde(default = "millisecond")]
    #[schemars(extend("minimum" = 1))]
    pub period: Time,
    /// How long a detour takes, or does on average; less than the period.
    #[schemars(extend("minimum" = 1))]
    pub duration: Time,
    /// Whether detours come a period apart and take a duration each, or are drawn.
    #[serde(default)]
    pub detours: Detours,
    /// Whether the detours of a rank have anything to do with those of others.
    #[serde(default)]
    pub phase: NoisePhase,
    /// The nodes whose ranks have detours, such as "0-35,40"; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "\"0-35,40\""))]
    pub nodes: Option<String>,
}

fn millisecond() -> Time {
    Time(1_000_000_000)
}

/// How detours come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detours {
    /// A period apart, of the same duration.
    #[default]
    Fixed,
    /// Anywhere in their periods, of durations that are exponentially distributed and cut at the period.
    Drawn,
}

/// The detours of one rank and another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoisePhase {
    /// Each rank has its own.
    #[default]
    Random,
    /// All ranks have theirs at the same times.
    Aligned,
}

impl NodeSpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How long to simulate, and how sure to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureSpec {
    /// Simulated time before the measured interval; `"auto"` finds the end of the transient.
    pub warm_up: WarmUp,
    /// Confidence level of the intervals.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub confidence: f64,
    /// Half-width of the mean latency's confidence interval at which a run may end, as a share of the mean.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub precision: f64,
    /// Least simulated time of the measured interval; without it, derived from the network.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<Time>,
    /// Simulated time at which a run ends even if it is not precise enough; without it, derived from the network.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Time>,
    /// What to search for, instead of running at the given load. A search varies the load itself: loads of a sweep are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// How finely to search: the width of the interval of loads at which the search ends.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 0.5))]
    pub resolution: f64,
    /// Of several jobs, whether each that the run waits for is run alone too, in the same places: its `slowdown`.
    pub compare_alone: bool,
    /// Whether messages are measured: their latencies, from generation to the arrival of the last byte, and their slowdowns against
    /// the same messages alone in the network, by size.
    #[serde(skip_serializing_if = "is_false")]
    pub messages: bool,
    /// Simulated time from one sample to the next of a time series of accepted load, source queues and queues in routers; without
    /// it, there is no series. At most 65,536 samples are kept: of longer runs every second one, and so on.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Time>,
    /// Whether it is recorded what each rank does when: computing, overhead, waiting for a late sender or receiver, transfer; with the
    /// critical path. Only of ranks that run programs, of at most 4,194,304 operations.
    #[serde(skip_serializing_if = "is_false")]
    pub timeline: bool,
    /// Whether a run starts without the proof that its packets cannot deadlock: it ends with an error if they stand still, with the
    /// packets and the buffers that wait for one another.
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
            unproven: false,
        }
    }
}

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// The load at which the network saturates, by bisection.
    Saturation,
}

/// The simulated time before the measured interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarmUp {
    /// Until the transient is over, as the measurements themselves show.
    #[default]
    Auto,
    /// A time that is given.
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
