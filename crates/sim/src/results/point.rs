//! What a point measures, as a whole and by job: a point has its jobs' results, and each of them is that of a point.

use schemars::JsonSchema;
use serde::Serialize;

use super::channels::{self, ChannelUtilization, ClassUtilization};
use super::closed::ClosedResult;
use super::collective::CollectiveResult;
use super::messages::MessageResult;
use super::series::SeriesResult;
use super::warning::Warning;
use crate::network::Network;

/// The result of one point. Latencies run from generation to the tail's delivery, source queue included and network
/// interfaces apart; a value that nothing was measured for is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PointResult {
    /// Load that every source offers, as a share of its injection link's bandwidth.
    pub offered_load: f64,
    /// Load delivered, as a mean over the sources that send (each for its weight); of multicasts what all destinations have got, over
    /// their mean number. Not a number, which is null in JSON, if
    /// nothing could have arrived: the measured interval was shorter than the longest path.
    #[schemars(with = "Option<f64>")]
    pub accepted_load: f64,
    /// Half-width of the confidence interval of the accepted load.
    pub accepted_load_ci: Option<f64>,
    /// Load delivered of the source that is served worst.
    pub accepted_load_min: Option<f64>,
    /// Mean latency of the packets generated in the measured interval; past saturation, where many of them do not arrive,
    /// of those delivered in it, and the longer the run the higher. Of a closed workload, of all packets delivered.
    pub latency_mean_ns: Option<f64>,
    /// Half-width of the confidence interval of the mean latency.
    pub latency_ci_ns: Option<f64>,
    /// Median latency; null, as the other percentiles, if not all measured packets arrived.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of the latency.
    pub latency_p99_ns: Option<f64>,
    /// Largest latency.
    pub latency_max_ns: Option<f64>,
    /// Latency that the network interfaces add to every message; not part of the latencies.
    pub nic_overhead_ns: f64,
    /// Routers that a packet traverses, on average.
    pub hops_mean: Option<f64>,
    /// Some source's accepted load is below 0.97 of what it offers, beyond its confidence interval.
    pub saturated: bool,
    /// The end of the transient was found, the precision was reached, and all measured packets arrived.
    pub steady: bool,
    /// The precision that was asked for was reached.
    pub converged: bool,
    /// All measured packets arrived.
    pub drained: bool,
    /// Packets measured: those generated in the measured interval, or if not all of them arrived those delivered in it.
    pub packets: u64,
    /// Packet-hops simulated: packets that routers have sent, in the whole run, whether they have been delivered or not. A
    /// packet counts once for each router that it leaves.
    pub packet_hops: u64,
    /// Simulated time before the measured interval.
    pub warm_up_ns: f64,
    /// Length of the measured interval.
    pub measured_ns: f64,
    /// Simulated time of the whole run.
    pub sim_time_ns: f64,
    /// Time of the simulation alone, without set-up.
    pub wall_s: f64,
    /// Utilisation of the channels by class, since the measured interval began; by several jobs, over the time in which any
    /// of them is counted.
    pub class_utilization: Vec<ClassUtilization>,
    /// The most used channels.
    pub hottest_channels: Vec<ChannelUtilization>,
    /// The share of time in which each channel sends, since the measured interval began; by `ChannelId`, 0 of what is
    /// not connected. Empty on a flat network, which has no channels but those of its nodes. Too long for the JSON of a point.
    #[serde(skip)]
    pub channel_utilization: Vec<f64>,
    /// Load at which the network saturates: the least accepted load at the largest load that it carries. Only of a
    /// search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_load: Option<f64>,
    /// What a closed workload has besides.
    #[serde(flatten)]
    pub closed: Option<ClosedResult>,
    /// What collective traffic has besides.
    #[serde(flatten)]
    pub collective: Option<CollectiveResult>,
    /// Latencies and slowdowns of messages, if `measure.messages` asks for them; of several jobs, of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageResult>,
    /// What was measured at fixed times, if `measure.series` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesResult>,
    /// The largest offered load that was carried, and the smallest that was not. Only of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_bracket: Option<(f64, f64)>,
    /// What may mislead in the rest; left out if nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the readers of files have left out or assumed, one sentence each. Left out if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// By job, if there are several: in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobResult>,
}

impl PointResult {
    /// A result that has the channels alone, given the share of time in which each sends.
    pub(crate) fn of_channels(network: &Network, shares: Vec<f64>) -> Self {
        Self {
            class_utilization: channels::by_class(network, &shares),
            hottest_channels: channels::hottest(network, &shares),
            channel_utilization: shares,
            ..Self::default()
        }
    }

    /// Forgets the use of single channels, where there are none but those of the nodes.
    pub(crate) fn forget_channels(&mut self) {
        self.channel_utilization = Vec::new();
        self.jobs.iter_mut().for_each(|job| job.point.forget_channels());
    }
}

/// The result of one of several jobs that run at once.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobResult {
    /// The job's name.
    pub name: String,
    /// Whether the run went on without waiting for it.
    pub background: bool,
    /// The nodes that it has tasks on.
    pub nodes: u32,
    /// When it started.
    pub start_ns: f64,
    /// Share of the time in which any job is counted during which this job is counted: the sum of its shares of a channel, each times
    /// this, is the share of all jobs together.
    pub counted_share: f64,
    /// How many times longer it took than alone in the same places: a workload that ends its time, traffic its mean
    /// latency. Only if that was asked for, and both runs have measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What it measured: the quantities of a point, of its packets alone.
    #[serde(flatten)]
    pub point: PointResult,
}
