//! The router architectures, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Capacity, Time};

pub use crate::depths::Depths;
use crate::depths::Sizes;
pub use crate::rules::{
    Arbitration, CreditReturn, CreditRule, FanoutSplitting, FifoMulticast, InputQueueing, MOST_PORTS_WITH_SETS,
    MulticastPolicy, MulticastQueueing,
};

/// The inside of every router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RouterSpec {
    /// Output-queued: packets go straight to a crosspoint buffer of their output; each output arbitrates for itself.
    OutputQueued(OutputQueuedSpec),
    /// Input-queued: one FIFO an input and virtual channel; its head blocks those behind (HOL blocking).
    InputQueued(InputQueuedSpec),
    /// Virtual-output-queued: an input keeps a queue for each output; iSLIP matches inputs to outputs.
    VirtualOutputQueued(VirtualOutputQueuedSpec),
    /// Input-output-queued: input FIFOs per virtual channel, a crossbar with speed-up, and output buffers.
    InputOutputQueued(InputOutputQueuedSpec),
    /// Input-crosspoint-queued: queues at the inputs, then a small buffer at each crosspoint; inputs and outputs arbitrate alone.
    InputCrosspointQueued(InputCrosspointQueuedSpec),
    /// Shared-buffer: one memory for the queues of all outputs, divided by dynamic thresholds.
    SharedBuffer(SharedBufferSpec),
}

/// The keys that every architecture has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonKeys<'a> {
    /// Depths of the buffers that credits stand for, if given.
    pub buffer: Option<&'a Depths>,
    /// Virtual channels of a link, if given.
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head ready to leave, if given.
    pub delay: Option<Time>,
    /// When a packet that leaves frees its buffer.
    pub credit_return: CreditReturn,
}

/// The keys that every architecture has and that are completed where they are left out.
#[derive(Debug)]
pub struct SizeKeys<'a> {
    /// Depths of the buffers that credits stand for.
    pub buffer: &'a mut Option<Depths>,
    /// From a packet's head at the input to its head ready to leave.
    pub delay: &'a mut Option<Time>,
}

/// What the memory of a router's buffers follows from: sums over its connected ports.
#[derive(Clone, Copy, Debug)]
pub struct BufferCounts {
    /// Connected ports.
    pub ports: u64,
    /// Bytes of one buffer for each input and virtual channel, of the depth that credits stand for.
    pub input_bytes: u64,
    /// Virtual channels of the inputs.
    pub input_vcs: u64,
    /// Virtual channels of the outputs.
    pub output_vcs: u64,
    /// Bytes of one buffer behind the inputs.
    pub inner_bytes: u64,
}

/// Where the head of a FIFO blocks what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOfLine {
    /// At an input, while the output is busy.
    Input,
    /// At an input, while the crosspoint is full.
    Crosspoint,
}

macro_rules! common {
    ($spec:expr) => {{
        let spec = $spec;
        CommonKeys { buffer: spec.buffer.as_ref(), vcs: spec.vcs, delay: spec.delay, credit_return: spec.credit_return }
    }};
}

impl RouterSpec {
    /// Whether credits are counted for each crosspoint of the next router.
    pub fn counts_crosspoints(&self) -> bool {
        matches!(self, Self::OutputQueued(spec) if spec.credits == CreditRule::PerCrosspoint)
    }

    /// Writes the delay and the depths, by class of channels of these names, where they are left out; returns the keys.
    pub(crate) fn write_sizes(&mut self, sizes: &Sizes, names: &[&str]) -> Vec<String> {
        let SizeKeys { buffer, delay } = self.size_keys();
        let mut written = Vec::new();
        if delay.is_none() {
            *delay = Some(sizes.delay);
            written.push("delay".to_owned());
        }
        let depths = names.iter().copied().zip(sizes.buffers.iter().copied());
        written.extend(Depths::complete(buffer, depths));
        if let (Self::SharedBuffer(spec), Some((_, inner))) = (self, sizes.inner)
            && spec.memory.is_none()
        {
            spec.memory = Some(inner);
            written.push("memory".to_owned());
        }
        written
    }

    /// The keys that are completed where they are left out, to be written.
    pub fn size_keys(&mut self) -> SizeKeys<'_> {
        match self {
            Self::OutputQueued(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
            Self::InputQueued(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
            Self::VirtualOutputQueued(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
            Self::InputOutputQueued(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
            Self::InputCrosspointQueued(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
            Self::SharedBuffer(spec) => SizeKeys { buffer: &mut spec.buffer, delay: &mut spec.delay },
        }
    }

    /// The keys that every architecture has.
    pub fn common(&self) -> CommonKeys<'_> {
        match self {
            Self::OutputQueued(spec) => common!(spec),
            Self::InputQueued(spec) => common!(spec),
            Self::VirtualOutputQueued(spec) => common!(spec),
            Self::InputOutputQueued(spec) => common!(spec),
            Self::InputCrosspointQueued(spec) => common!(spec),
            Self::SharedBuffer(spec) => common!(spec),
        }
    }

    /// The key of the buffer behind the inputs, and its depth if given; nothing if the architecture has none.
    pub fn inner_buffer(&self) -> Option<(&'static str, Option<Capacity>)> {
        match self {
            Self::InputOutputQueued(spec) => Some(("router.output_buffer", Some(spec.output_buffer))),
            Self::InputCrosspointQueued(spec) => Some(("router.crosspoint_buffer", Some(spec.crosspoint_buffer))),
            Self::SharedBuffer(spec) => Some(("router.memory", spec.memory)),
            _ => None,
        }
    }

    /// How packets for several outputs at the heads of FIFOs get them, if the architecture has FIFOs.
    pub fn fifo_multicast(&self) -> Option<FifoMulticast> {
        match self {
            Self::InputQueued(spec) => Some(spec.multicast),
            Self::InputOutputQueued(spec) => Some(spec.multicast),
            Self::OutputQueued(_)
            | Self::VirtualOutputQueued(_)
            | Self::InputCrosspointQueued(_)
            | Self::SharedBuffer(_) => None,
        }
    }

    /// The least default depth of the buffers that credits stand for, in packets, so that packets which contend find room too.
    pub fn least_packets(&self) -> u32 {
        match self {
            Self::OutputQueued(_) | Self::SharedBuffer(_) => 4,
            Self::InputQueued(_)
            | Self::VirtualOutputQueued(_)
            | Self::InputOutputQueued(_)
            | Self::InputCrosspointQueued(_) => 16,
        }
    }

    /// Bytes of all buffers of a router: at inputs, crosspoints and outputs.
    pub fn memory(&self, of: &BufferCounts) -> u64 {
        match self {
            Self::OutputQueued(_) => of.input_bytes * of.ports,
            Self::InputQueued(_) | Self::VirtualOutputQueued(_) => of.input_bytes,
            Self::InputOutputQueued(_) => of.input_bytes + of.output_vcs * of.inner_bytes,
            Self::InputCrosspointQueued(_) => of.input_bytes + of.input_vcs * of.ports * of.inner_bytes,
            Self::SharedBuffer(_) => of.input_bytes + of.inner_bytes,
        }
    }

    /// By which rule an output divides its bandwidth between inputs; nothing if all that are backlogged get the same.
    pub fn input_arbitration(&self) -> Option<Arbitration> {
        match self {
            Self::OutputQueued(spec) => Some(spec.arbitration),
            Self::InputQueued(spec) => Some(spec.arbitration),
            Self::InputOutputQueued(spec) => Some(spec.arbitration),
            Self::InputCrosspointQueued(spec) => Some(spec.arbitration),
            // Queues in the order of arrival serve inputs by what each has in its reserved buffer: all full ones alike.
            Self::SharedBuffer(_) | Self::VirtualOutputQueued(_) => None,
        }
    }

    /// Where heads of FIFOs block what is behind them, if they do.
    pub fn head_of_line(&self) -> Option<HeadOfLine> {
        match self {
            Self::InputQueued(_) => Some(HeadOfLine::Input),
            Self::InputOutputQueued(spec) => (spec.speedup <= 1).then_some(HeadOfLine::Input),
            Self::InputCrosspointQueued(spec) => {
                (spec.queueing == InputQueueing::Fifo).then_some(HeadOfLine::Crosspoint)
            }
            Self::OutputQueued(_) | Self::VirtualOutputQueued(_) | Self::SharedBuffer(_) => None,
        }
    }

    /// The bandwidth of the crossbar at a port, as a multiple of the link's.
    pub fn speedup(&self) -> u8 {
        match self {
            Self::InputOutputQueued(spec) => spec.speedup.max(1),
            _ => 1,
        }
    }

    /// The architecture's name as the experiment file writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OutputQueued(_) => "output-queued",
            Self::InputQueued(_) => "input-queued",
            Self::VirtualOutputQueued(_) => "virtual-output-queued",
            Self::InputOutputQueued(_) => "input-output-queued",
            Self::InputCrosspointQueued(_) => "input-crosspoint-queued",
            Self::SharedBuffer(_) => "shared-buffer",
        }
    }
}

impl Default for RouterSpec {
    fn default() -> Self {
        Self::SharedBuffer(SharedBufferSpec::default())
    }
}

/// Output-queued router with crosspoint buffers (Kumar, Kalé, Stunkel, section 2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputQueuedSpec {
    /// Depth of one crosspoint buffer, for each virtual channel, or a table of depths by class of channels. Without it, and
    /// for classes that the table leaves out, it is the credit round trip of the class, and at least 4 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head at the crosspoint, ready to leave; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// What a credit stands for.
    pub credits: CreditRule,
    /// When a packet that leaves frees its buffer: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Which of the packets that wait for an output goes first.
    pub arbitration: Arbitration,
}

/// Input-queued router: FIFOs at the inputs, nothing at the outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputQueuedSpec {
    /// Depth of an input's FIFO, for each virtual channel, or a table of depths by class of channels. Without it, and for
    /// classes that the table leaves out, it is the credit round trip of the class, and at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head at the front of the queue, ready to leave; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// When a packet that leaves frees its buffer: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Which of the packets that wait for an output goes first.
    pub arbitration: Arbitration,
    /// How a packet for several outputs at the head of a FIFO gets them; without it, each as soon as it is free, by `arbitration`.
    #[serde(skip_serializing_if = "FifoMulticast::is_default")]
    pub multicast: FifoMulticast,
}

/// Virtual-output-queued router with iSLIP matching (McKeown 1999).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VirtualOutputQueuedSpec {
    /// Memory of an input, for each virtual channel, shared by its queues, or a table of depths by class of channels. Without
    /// it, and for classes that the table leaves out, it is the credit round trip of the class, and at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head in the queue, ready to leave; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// When a packet that leaves frees its buffer: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Rounds of request, grant and accept in each matching; without it, as many as find a maximal matching.
    #[schemars(range(min = 1, max = 64))]
    pub iterations: Option<u8>,
    /// Where packets for several outputs wait; without it, "copies".
    #[serde(skip_serializing_if = "MulticastQueueing::is_default")]
    pub multicast: MulticastQueueing,
}

/// Input-output-queued router: input FIFOs per virtual channel, a crossbar, output buffers per virtual channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputOutputQueuedSpec {
    /// Depth of an input's FIFO, for each virtual channel, or a table of depths by class of channels. Without it, and for
    /// classes that the table leaves out, it is the credit round trip of the class, and at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Depth of an output's buffer, for each virtual channel.
    pub output_buffer: Capacity,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head at the front of the input's queue, ready to cross; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// The crossbar's bandwidth at a port, as a multiple of the link's.
    #[schemars(range(min = 1, max = 64))]
    pub speedup: u8,
    /// When a packet that leaves frees its buffer: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Which of the packets that wait for an output goes first.
    pub arbitration: Arbitration,
    /// How a packet for several outputs at the head of a FIFO gets them; without it, each as soon as it is free, by `arbitration`.
    #[serde(skip_serializing_if = "FifoMulticast::is_default")]
    pub multicast: FifoMulticast,
}

impl Default for InputOutputQueuedSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            output_buffer: Capacity::Packets(4),
            vcs: None,
            delay: None,
            speedup: 1,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
            multicast: FifoMulticast::default(),
        }
    }
}

/// Input-crosspoint-queued router: queues at the inputs, small buffers at the crosspoints (Kumar, Kalé, Stunkel, section 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputCrosspointQueuedSpec {
    /// Memory of an input, for each virtual channel, shared by its queues, or a table of depths by class of channels. Without
    /// it, and for classes that the table leaves out, it is the credit round trip of the class, and at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Depth of one crosspoint buffer, for each virtual channel.
    pub crosspoint_buffer: Capacity,
    /// Where the packets of an input wait.
    pub queueing: InputQueueing,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head in the input's queue, ready to cross; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// When a packet that leaves its input frees its buffer there: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Which of the packets of an input goes to its crosspoint, and which of those that wait for an output leaves, first.
    pub arbitration: Arbitration,
}

impl Default for InputCrosspointQueuedSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            crosspoint_buffer: Capacity::Packets(2),
            queueing: InputQueueing::default(),
            vcs: None,
            delay: None,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
        }
    }
}

/// Shared-buffer router with dynamic thresholds (Choudhury and Hahne 1998), without loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharedBufferSpec {
    /// Reserved for each input and virtual channel: what a credit stands for; or a table of depths by class of channels.
    /// Without it, and for classes that the table leaves out, it is the credit round trip of the class, and at least 4 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// The memory of a router that its outputs share, besides what is reserved; without it, for each port 16 packets and the
    /// longest credit round trip, and at least 1024 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Capacity>,
    /// A packet is admitted to the shared memory while its output's queue there is below alpha times what is free.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub alpha: f64,
    /// Virtual channels of a link; without it, as many as the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// From a packet's head at the input to its head in the queue, ready to leave; without it, 200 ns if injection
    /// channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// When a packet that leaves frees its buffer: as its head or as its tail goes.
    pub credit_return: CreditReturn,
    /// Which of an output's queues, one for each class of virtual channels, goes first.
    pub arbitration: Arbitration,
}

impl Default for SharedBufferSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            memory: None,
            alpha: 1.0,
            vcs: None,
            delay: None,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
        }
    }
}
