//! Choice of algorithm, protocol and channels as in NCCL, whose tuning model predicts the time of each candidate, and
//! the times of kernels.

mod costs;
mod gpus;

use super::call::Collective;
use super::protocol::Protocol;
use super::table::{Algorithm, Operation};
pub use gpus::Gpu;

/// Operation as NCCL's tuning model sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// GPU.
    pub gpu: Gpu,
    /// Operation.
    pub operation: Operation,
    /// Number of ranks; at least 2.
    pub ranks: u32,
    /// Ranks of a server; at least 1.
    pub per_node: u32,
    /// Bytes of the buffer: of an allgather or alltoall, the parts of all ranks together.
    pub bytes: u64,
    /// Bytes of an element. NVLS combines elements of 2 bytes and more.
    pub element: u32,
    /// Whether the switches between servers combine data (SHARP).
    pub collnet: bool,
}

/// Algorithm, protocol and channels that NCCL considers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Protocol.
    pub protocol: Protocol,
    /// Number of channels.
    pub channels: u32,
    /// Predicted time in microseconds.
    pub time: f64,
}

/// Times of a rank, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Launch of a kernel.
    pub launch: u64,
    /// Step of a message by protocol: LL, LL128, Simple.
    pub steps: [u64; 3],
    /// Operation in the switches, beside its launch.
    pub nvls: u64,
    /// Rate in bits a second at which a rank copies data out of the buffers of channels. `None`: copies take no time.
    pub copy_rate: Option<u64>,
}

/// Keys of NCCL: the choices that are fixed, and the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nccl {
    /// GPU.
    pub gpu: Gpu,
    /// Protocol. `None`: chosen by the tuning model.
    pub protocol: Option<Protocol>,
    /// Number of channels. `None`: chosen by the tuning model.
    pub channels: Option<u32>,
    /// Whether the switches between servers combine data.
    pub collnet: bool,
    /// Share of the bandwidth of links that NVLS attains, in thousandths. `None`: that of the tuning model.
    pub nvls_efficiency: Option<u32>,
    /// Times of a rank.
    pub times: Times,
}

/// Reason why NCCL does not carry out a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NcclError {
    /// NCCL does not have the operation.
    #[error("NCCL has no `{}`; it has `allreduce`, `allgather`, `reduce-scatter`, `alltoall`, `broadcast` and `reduce`", .0.name())]
    Operation(Operation),
    /// NCCL does not use the algorithm here.
    #[error("NCCL does not use `{}` for `{}` here: {allowed} are allowed", algorithm.name(), operation.name())]
    Algorithm {
        /// Algorithm of the call.
        algorithm: Algorithm,
        /// Operation of the call.
        operation: Operation,
        /// Candidates.
        allowed: String,
    },
    /// NCCL does not use the protocol here.
    #[error("NCCL does not use the protocol `{}` here: {allowed} are allowed", protocol.name())]
    Protocol {
        /// Protocol of the keys.
        protocol: Protocol,
        /// Candidates.
        allowed: String,
    },
}

/// Threads of a channel, and bytes of each thread below which NCCL uses fewer channels, by protocol.
const THREADS: [(u64, u64); 3] = [(512, 8), (640, 8), (512, 64)];

/// Least and largest chunk of a channel in a pipeline in bytes, by protocol.
const CHUNKS: [(u64, u64); 3] = [(4 << 10, 32 << 10), (8 << 10, 72 << 10), (32 << 10, 512 << 10)];

/// Sends: bytes for one peer up to which they use LL, channels of all sends of a rank together, least share of a
/// channel, and chunk of a channel.
const LL_SEND: u64 = 16 << 10;
const SEND_CHANNELS: u32 = 32;
const SEND_SHARE: u64 = 64 << 10;
const SEND_CHUNK: u64 = 512 << 10;

impl Case {
    /// Returns the number of servers.
    fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.per_node.max(1)).max(1)
    }

    /// Returns whether NCCL uses an algorithm.
    fn allows(&self, algorithm: Algorithm) -> bool {
        use {Algorithm as A, Operation as O};
        let (nodes, local) = (self.nodes(), self.per_node);
        let has_owners = matches!(self.operation, O::Allreduce | O::Allgather | O::ReduceScatter);
        // NVLS needs more than two GPUs in a server, since two exchange their data at least as fast.
        let by_nvls = has_owners && local > 2 && (self.element > 1 || self.operation == O::Allgather);
        match algorithm {
            A::Ring => has_owners,
            A::Chain => matches!(self.operation, O::Broadcast | O::Reduce),
            A::DoubleTree => self.operation == O::Allreduce,
            A::Nvls => by_nvls && nodes == 1,
            A::NvlsTree => by_nvls && nodes > 1 && self.operation == O::Allreduce,
            A::NvlsInSwitch => by_nvls && nodes > 1 && self.collnet,
            A::CollNet => has_owners && nodes > 1 && self.collnet && self.gpu.links().nvlink,
            A::Pat => local == 1 && nodes > 1 && matches!(self.operation, O::Allgather | O::ReduceScatter),
            A::Linear => self.operation == O::Alltoall,
            _ => false,
        }
    }

    /// Returns whether NCCL uses a protocol with an algorithm.
    fn has_protocol(&self, algorithm: Algorithm, protocol: Protocol) -> bool {
        let by_messages = matches!(algorithm, Algorithm::Ring | Algorithm::DoubleTree | Algorithm::Chain);
        match (algorithm, protocol) {
            (Algorithm::Linear, Protocol::Ll128) => false,
            (Algorithm::Linear, protocol) => {
                let each = self.bytes / u64::from(self.ranks.max(1));
                (protocol == Protocol::Ll) == (each <= LL_SEND)
            }
            (_, Protocol::Ll) => by_messages,
            (_, Protocol::Ll128) => by_messages && self.gpu.links().nvlink,
            (_, Protocol::Simple) => true,
        }
    }

    /// Returns the number of channels that NCCL uses.
    fn channels(&self, algorithm: Algorithm, protocol: Protocol) -> u32 {
        let most = self.gpu.links().channels;
        if algorithm == Algorithm::Linear {
            let (each, peers) = (self.bytes / u64::from(self.ranks.max(1)), self.ranks.max(2));
            let share = (SEND_CHANNELS / peers.next_power_of_two()).max(1);
            return u64::from(share).min(each / SEND_SHARE).max(1) as u32;
        }
        let (threads, bytes) = THREADS[protocol as usize];
        let ranks = if algorithm == Algorithm::Ring && protocol == Protocol::Ll { u64::from(self.ranks) } else { 1 };
        u64::from(most).min(self.bytes / (threads * bytes * ranks)).max(1) as u32
    }

    /// Returns the candidates, the fastest first.
    pub fn candidates(&self) -> Vec<Candidate> {
        let pairs = Algorithm::ALL.into_iter().flat_map(|algorithm| Protocol::ALL.map(|own| (algorithm, own)));
        let allowed = pairs.filter(|&(algorithm, own)| self.allows(algorithm) && self.has_protocol(algorithm, own));
        let mut found: Vec<Candidate> = allowed
            .filter_map(|(algorithm, protocol)| {
                let channels = self.channels(algorithm, protocol);
                Some(Candidate { algorithm, protocol, channels, time: self.time(algorithm, protocol)? })
            })
            .collect();
        found.sort_by(|one, other| one.time.total_cmp(&other.time));
        found
    }

    /// Returns the size of the segments of a pipeline with all its channels, in bytes. 0: no pipeline.
    fn segment(&self, chosen: &Candidate) -> u64 {
        let (least, most) = CHUNKS[chosen.protocol as usize];
        let (per_node, channels) = (u64::from(self.per_node), u64::from(chosen.channels));
        let depth = per_node + u64::from(self.nodes().ilog2());
        let chunk = match chosen.algorithm {
            Algorithm::DoubleTree => (self.bytes / (channels * depth * 8)).clamp(least, most),
            Algorithm::Chain => (self.bytes / (channels * u64::from(self.ranks) * 2)).clamp(least, most),
            Algorithm::NvlsTree | Algorithm::NvlsInSwitch | Algorithm::CollNet
                if self.operation == Operation::Allreduce =>
            {
                (self.bytes / (channels * 8)).clamp(least, most)
            }
            _ => return 0,
        };
        let element = u64::from(self.element.max(1));
        (chunk * channels).div_ceil(element) * element
    }
}

impl Case {
    /// Returns the bytes that a rank copies out of the buffers of channels after its last message: of a ring the part that
    /// has come last, of a pipeline a segment, and of sends the own part and the last chunk of each channel.
    fn copied_last(&self, chosen: &Candidate, segment: u64) -> u64 {
        let part = self.bytes / u64::from(self.ranks);
        match chosen.algorithm {
            Algorithm::Ring | Algorithm::Pat => part,
            Algorithm::DoubleTree | Algorithm::Chain => segment.min(self.bytes),
            Algorithm::Linear => {
                let chunks = SEND_CHUNK.saturating_mul(u64::from(chosen.channels));
                part.saturating_add(u64::from(self.ranks - 1).saturating_mul(part.min(chunks)))
            }
            _ => 0,
        }
    }
}

impl Times {
    /// Returns the time in which a rank copies `bytes` bytes out of the buffers of channels.
    fn copy(&self, bytes: u64) -> u64 {
        let time = |rate: u64| u64::try_from(u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.max(1)));
        self.copy_rate.map_or(0, |rate| time(rate).unwrap_or(u64::MAX))
    }
}

impl Nccl {
    /// Returns the candidates for a call of `members` ranks with `per_node` of them in a server.
    ///
    /// # Errors
    /// [`NcclError`] if NCCL does not carry out the call with the fixed choices.
    pub fn candidates(
        &self,
        call: &Collective,
        members: u32,
        per_node: u32,
    ) -> Result<(Case, Vec<Candidate>), NcclError> {
        let Collective { operation, algorithm, element, .. } = *call;
        let bytes = operation.buffer(call.bytes, members);
        let (ranks, gpu, collnet) = (members.max(2), self.gpu, self.collnet);
        let case = Case { gpu, operation, ranks, per_node: per_node.clamp(1, ranks), bytes, element, collnet };
        let all = case.candidates();
        let names = |names: &mut dyn Iterator<Item = &'static str>| {
            let mut all: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            all.dedup();
            all.join(", ")
        };
        if all.is_empty() {
            return Err(NcclError::Operation(operation));
        }
        let is_free = algorithm == Algorithm::Auto;
        let by_algorithm: Vec<_> = all.iter().copied().filter(|own| is_free || own.algorithm == algorithm).collect();
        if by_algorithm.is_empty() {
            let allowed = names(&mut Algorithm::ALL.into_iter().filter(|&own| case.allows(own)).map(Algorithm::name));
            return Err(NcclError::Algorithm { algorithm, operation, allowed });
        }
        let fits = |own: &Candidate| self.protocol.is_none_or(|protocol| own.protocol == protocol);
        let found: Vec<_> = by_algorithm.iter().copied().filter(fits).collect();
        match self.protocol {
            Some(protocol) if found.is_empty() => {
                let mut held: Vec<Protocol> = by_algorithm.iter().map(|own| own.protocol).collect();
                held.sort_unstable();
                Err(NcclError::Protocol { protocol, allowed: names(&mut held.into_iter().map(Protocol::name)) })
            }
            _ => Ok((case, found)),
        }
    }

    /// Returns the call with the fastest candidate and its times. Members of one server form a chain of trees.
    ///
    /// # Errors
    /// [`NcclError`] if NCCL does not carry out the call with the fixed choices.
    pub fn tuned(&self, call: &Collective, members: u32, per_node: u32) -> Result<Collective, NcclError> {
        let (case, found) = self.candidates(call, members, per_node)?;
        let Some(chosen) = found.first() else { return Err(NcclError::Operation(call.operation)) };
        let chosen = Candidate { channels: self.channels.unwrap_or(chosen.channels), ..*chosen };
        let step = self.times.steps[chosen.protocol as usize];
        // NVLS takes its step once, however many chunks there are.
        let step_time = match chosen.algorithm {
            Algorithm::Nvls | Algorithm::NvlsInSwitch => 0,
            _ => step,
        };
        // A rank takes its last data in a further step, but sends and receives of an alltoall are one step.
        let last_step = match chosen.algorithm {
            Algorithm::Linear => 0,
            algorithm if algorithm.is_of_switches() => self.times.nvls,
            _ => step,
        };
        let segment = if call.segment > 0 { call.segment } else { case.segment(&chosen) };
        let last = self.times.copy(case.copied_last(&chosen, segment)).saturating_add(last_step);
        Ok(Collective {
            algorithm: chosen.algorithm,
            protocol: chosen.protocol,
            channels: chosen.channels,
            segment,
            radix: if chosen.algorithm == Algorithm::DoubleTree { case.per_node } else { call.radix },
            per_server: if case.nodes() > 1 { case.per_node } else { 0 },
            launch_time: self.times.launch.saturating_add(last),
            owners_efficiency: self.nvls_efficiency.unwrap_or_else(|| case.nvls_efficiency()),
            step_time,
            ..*call
        })
    }
}
