//! Results of a point as a whole and of its jobs. The result of a job has the quantities of a point.

use schemars::JsonSchema;
use serde::Serialize;

use super::channels::{self, ChannelUtilization, ClassUtilization};
use super::closed::ClosedResult;
use super::messages::MessageResult;
use super::open::OpenResult;
use super::processes::ProcessesResult;
use super::reuse::ReuseResult;
use super::series::SeriesResult;
use super::validation::ValidationResult;
use super::warning::Warning;
use network::Network;

/// Results of one point. Latencies run from generation to the delivery of the tail. They include the source queue and
/// exclude network interfaces. A quantity without a measurement is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PointResult {
    /// Quantities of the kind of the workload.
    #[serde(flatten)]
    #[schemars(with = "EveryKind")]
    pub kind: KindResult,
    /// Network model, if messages are flows: `flow`. Omitted for other models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'static str>,
    /// Mean latency of the packets generated in the measured interval, in nanoseconds. Past saturation, where many of
    /// them do not arrive: mean over the packets delivered in the interval, which grows with the length of the run. For
    /// workloads that finish: mean over all delivered packets.
    pub latency_mean_ns: Option<f64>,
    /// Median of the latency, in nanoseconds. Percentiles are null unless all measured packets arrived.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of the latency, in nanoseconds.
    pub latency_p99_ns: Option<f64>,
    /// Maximum of the latency, in nanoseconds.
    pub latency_max_ns: Option<f64>,
    /// Latency that network interfaces add to every message, in nanoseconds. The other latencies do not include it.
    pub nic_overhead_ns: f64,
    /// Mean number of routers that a packet traverses.
    pub hops_mean: Option<f64>,
    /// Number of measured packets: generated in the measured interval or, if not all of them arrived, delivered in it.
    pub packets: u64,
    /// Packet-hops simulated: transmissions of packets by routers in the whole run. A packet counts once for each
    /// router that it leaves, delivered or not.
    pub packet_hops: u64,
    /// Length of the measured interval, in nanoseconds.
    pub measured_ns: f64,
    /// Simulated time of the whole run, in nanoseconds.
    pub sim_time_ns: f64,
    /// Wall-clock time of the simulation without set-up, in seconds.
    pub wall_s: f64,
    /// Times of a run in several processes. Omitted for a run in one process.
    #[serde(flatten)]
    pub processes: Option<ProcessesResult>,
    /// Channel utilization by class, from the begin of the measured interval. For several jobs: over the time in which
    /// any of them is counted.
    pub class_utilization: Vec<ClassUtilization>,
    /// Channels with the highest utilization.
    pub hottest_channels: Vec<ChannelUtilization>,
    /// Share of time in which each channel sends, from the begin of the measured interval, by `ChannelId`. 0 for
    /// unconnected channels. Empty with the delay model, where only nodes have channels. Not part of a point's JSON,
    /// because of its length.
    #[serde(skip)]
    pub channel_utilization: Vec<f64>,
    /// Latencies and slowdowns of messages. Requires `measure.messages`. With several jobs, each job has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageResult>,
    /// What was saved by `simulation.reuse`. Omitted without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<ReuseResult>,
    /// Error of the flow model on a sample. Requires `simulation.validate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationResult>,
    /// Time series. Requires `measure.series`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesResult>,
    /// Warnings about results that may mislead. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Notes on what readers of files have left out or assumed, one sentence each. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Results of each job, in the order of the file. Omitted without several jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobResult>,
}

/// Largest numbers of channels and ranks of which results have a value for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Number of channels. A table of as many has some 16 MB.
    pub channels: u64,
    /// Number of ranks.
    pub ranks: usize,
}

impl Default for Listed {
    fn default() -> Self {
        Self { channels: 1 << 20, ranks: 1 << 16 }
    }
}

/// Beginning of the advice on how to get what a summary leaves out.
const KEEPS: &str = "`measure.full = true` keeps";

/// Quantities of a point that depend on the kind of its workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum KindResult {
    /// Workload without an end, or several jobs together.
    Open(Box<OpenResult>),
    /// Workload that finishes.
    Closed(Box<ClosedResult>),
}

impl Default for KindResult {
    fn default() -> Self {
        Self::Open(Box::default())
    }
}

/// Quantities of all kinds, for the schema of results: a point has those of one.
#[derive(JsonSchema, Serialize)]
struct EveryKind {
    #[serde(flatten)]
    open: Option<OpenResult>,
    #[serde(flatten)]
    closed: Option<ClosedResult>,
}

impl PointResult {
    /// Creates a result with the utilization of channels only. `shares` is the share of time in which each channel
    /// sends.
    pub fn of_channels(network: &Network, shares: Vec<f64>) -> Self {
        Self {
            class_utilization: channels::by_class(network, &shares),
            hottest_channels: channels::hottest(network, &shares, channels::HOTTEST),
            channel_utilization: shares,
            ..Self::default()
        }
    }

    /// Returns the quantities of open traffic, or None for a workload that finishes.
    pub fn open(&self) -> Option<&OpenResult> {
        match &self.kind {
            KindResult::Open(open) => Some(open),
            KindResult::Closed(_) => None,
        }
    }

    /// Returns the quantities of a workload that finishes, or None for open traffic.
    pub fn closed(&self) -> Option<&ClosedResult> {
        match &self.kind {
            KindResult::Open(_) => None,
            KindResult::Closed(closed) => Some(closed),
        }
    }

    /// Replaces the utilization of single channels and the times of single ranks by their distributions, if there are
    /// more than `most`.
    pub fn summarize(&mut self, network: &Network, most: Listed) {
        let channels: u64 = self.class_utilization.iter().map(|class| u64::from(class.channels)).sum();
        if channels > most.channels && !self.channel_utilization.is_empty() {
            let shares = std::mem::take(&mut self.channel_utilization);
            channels::add_quantiles(&mut self.class_utilization, network, &shares);
            self.hottest_channels = channels::hottest(network, &shares, channels::HOTTEST_OF_SUMMARY);
            self.notes.push(format!("Loads of {channels} channels are summarized: {KEEPS} each of them."));
        }
        if let KindResult::Closed(closed) = &mut self.kind
            && let Some(ranks) = closed.summarize(most.ranks)
        {
            self.notes.push(format!("Times of {ranks} ranks are summarized: {KEEPS} each of them."));
        }
        self.jobs.iter_mut().for_each(|job| job.point.summarize(network, most));
    }

    /// Discards the utilization of single channels, for networks without channels other than those of nodes.
    pub fn forget_channels(&mut self) {
        self.channel_utilization = Vec::new();
        self.jobs.iter_mut().for_each(|job| job.point.forget_channels());
    }
}

/// Results of one of several jobs that run at once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobResult {
    /// Name of the job.
    pub name: String,
    /// Whether the job was in the background: the run may have ended before it.
    pub background: bool,
    /// Number of nodes with tasks of the job.
    pub nodes: u32,
    /// Time at which the job started, in nanoseconds.
    pub start_ns: f64,
    /// Share of the time in which any job is counted during which this job is counted. A channel's share over all jobs
    /// is the sum of the jobs' shares, each times this number.
    pub counted_share: f64,
    /// Slowdown relative to a run of the job alone on these nodes: ratio of the times of a workload that finishes, or
    /// of the mean latencies of traffic. Requires `measure.compare_alone`, and a measurement in both runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Quantities of a point, measured for the packets of this job.
    #[serde(flatten)]
    pub point: PointResult,
}
