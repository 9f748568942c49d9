//! Keys of NCCL: GPU, fixed choices and times of kernels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, KeyError, Time};

use super::limits::check_time;
use super::program_context::ProgramContext;
use mpi::collectives::nccl::{Gpu, Nccl, NcclError, Times};
use mpi::collectives::{Algorithm, Collective, Protocol};
use mpi::communicator::{Context, Group, NodeGroups};

/// Collective operations as in NCCL. If `algorithm` is `auto`, NCCL's tuning model chooses algorithm, protocol and
/// channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NcclSpec {
    /// GPU, which determines bandwidths and channels in the tuning model.
    pub gpu: Gpu,
    /// Protocol. Default: chosen by the tuning model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Number of channels. Default: chosen by the tuning model.
    #[schemars(range(min = 1, max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// GPUs of a server that take part. Default: the members of an island of the first network, or all ranks if there is
    /// one network.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_per_node: Option<u32>,
    /// Whether switches between servers combine data (SHARP), as `collnet` and `nvls-in-switch` require.
    #[serde(default)]
    pub collnet: bool,
    /// Share of the bandwidth of links that NVLS attains. Default: that of the tuning model (Hopper: 0.85, Blackwell:
    /// 0.74).
    #[schemars(range(min = 0.01, max = 1.0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvls_efficiency: Option<f64>,
    /// Time of a rank before its first message of an operation: the launch of a kernel.
    #[serde(default = "launch")]
    pub launch: Time,
    /// Time of a step by the protocol LL.
    #[serde(default = "ll_step")]
    pub ll_step: Time,
    /// Time of a step by the protocol LL128.
    #[serde(default = "ll128_step")]
    pub ll128_step: Time,
    /// Time of a step by the protocol Simple.
    #[serde(default = "simple_step")]
    pub simple_step: Time,
    /// Rate at which a rank copies its last data out of the buffers of channels: the part that has come last on a ring, and
    /// of an alltoall the own part and the last chunk of each channel. Default: copies take no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bandwidth: Option<Bandwidth>,
    /// Time of an algorithm in the switches beside its launch and its messages, once for each operation.
    #[serde(default = "nvls_step")]
    pub nvls_step: Time,
}

// Latencies of NCCL's tuning model over NVLink.
const fn launch() -> Time {
    Time(6_600_000)
}

const fn ll_step() -> Time {
    Time(600_000)
}

const fn ll128_step() -> Time {
    Time(1_900_000)
}

const fn simple_step() -> Time {
    Time(3_400_000)
}

const fn nvls_step() -> Time {
    Time(18_400_000)
}

impl NcclSpec {
    /// Refuses values that are invalid for any operation.
    pub(super) fn check(&self) -> Result<(), KeyError> {
        let times = [
            ("nccl.launch", self.launch),
            ("nccl.ll_step", self.ll_step),
            ("nccl.ll128_step", self.ll128_step),
            ("nccl.simple_step", self.simple_step),
            ("nccl.nvls_step", self.nvls_step),
        ];
        if let Some(share) = self.nvls_efficiency.filter(|share| !(0.01..=1.0).contains(share)) {
            let message = format!("{share} is out of range: 0.01 to 1 are allowed");
            return Err(KeyError::new("nccl.nvls_efficiency", message));
        }
        times.into_iter().try_for_each(|(key, time)| check_time(key, time))
    }

    fn nccl(&self) -> Nccl {
        let steps = [self.ll_step.0, self.ll128_step.0, self.simple_step.0];
        let times = Times {
            launch: self.launch.0,
            steps,
            nvls: self.nvls_step.0,
            copy_rate: self.copy_bandwidth.map(|rate| rate.0),
        };
        let nvls_efficiency = self.nvls_efficiency.map(|share| (1000.0 * share).round() as u32);
        let (gpu, protocol, channels, collnet) = (self.gpu, self.protocol, self.channels, self.collnet);
        Nccl { gpu, protocol, channels, collnet, nvls_efficiency, times }
    }

    /// Returns the GPUs of a server among `members` members at a distance of `stride` ranks.
    fn per_node(&self, (members, stride): (u32, u32), context: &ProgramContext<'_>) -> Result<u32, KeyError> {
        if let Some(given) = self.gpus_per_node {
            if !members.is_multiple_of(given) {
                let message = format!("{members} ranks are not whole servers of {given}");
                return Err(KeyError::new("nccl.gpus_per_node", message));
            }
            return Ok(given);
        }
        let group = Group::Progression { first: 0, stride, count: members };
        let nodes = NodeGroups::new(&group, context.node_of).among(context.interconnect, Context::WORLD);
        Ok(nodes.islands().map_or(members, |islands| islands.size()))
    }

    /// Returns a call with NCCL's choices, in groups of `members` members at a distance of `stride` ranks.
    pub(super) fn tuned(
        &self,
        call: &Collective,
        (members, stride): (u32, u32),
        context: &ProgramContext<'_>,
    ) -> Result<Collective, KeyError> {
        if context.backend.is_some() {
            return Err(KeyError::new("nccl", "NCCL chooses who carries operations out; leave out `collectives`"));
        }
        let per_node = self.per_node((members, stride), context)?;
        self.nccl().tuned(call, members, per_node).map_err(|error| match &error {
            NcclError::Operation(_) => KeyError::new("operation", error),
            NcclError::Algorithm { .. } => KeyError::new("algorithm", error),
            NcclError::Protocol { .. } => KeyError::new("nccl.protocol", error),
        })
    }

    /// Returns the predicted time of each candidate for a call, as a sentence.
    pub(crate) fn note(
        &self,
        call: &Collective,
        (members, stride): (u32, u32),
        context: &ProgramContext<'_>,
    ) -> Option<String> {
        let call = Collective { algorithm: Algorithm::Auto, ..*call };
        let free = Nccl { protocol: None, channels: None, ..self.nccl() };
        let per_node = self.per_node((members, stride), context).ok()?;
        let (case, found) = free.candidates(&call, members, per_node).ok()?;
        let times = found.iter().map(|own| {
            let (algorithm, protocol) = (own.algorithm.name(), own.protocol.name());
            format!("{algorithm}/{protocol}/{} {:.1} us", own.channels, own.time)
        });
        let times: Vec<String> = times.collect();
        let (operation, bytes) = (call.operation.name(), case.bytes);
        Some(format!(
            "NCCL predicts for `{operation}` of {bytes} B (algorithm/protocol/channels): {}",
            times.join(", ")
        ))
    }
}
