//! The router architectures, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Capacity, Time};

pub use crate::depths::Depths;
use crate::depths::Sizes;

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
        let (buffer, delay) = match self {
            Self::OutputQueued(spec) => (&mut spec.buffer, &mut spec.delay),
            Self::InputQueued(spec) => (&mut spec.buffer, &mut spec.delay),
            Self::VirtualOutputQueued(spec) => (&mut spec.buffer, &mut spec.delay),
            Self::InputOutputQueued(spec) => (&mut spec.buffer, &mut spec.delay),
            Self::InputCrosspointQueued(spec) => (&mut spec.buffer, &mut spec.delay),
            Self::SharedBuffer(spec) => (&mut spec.buffer, &mut spec.delay),
        };
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

/// Where the packets of an input wait, for each virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputQueueing {
    /// In a queue for each output.
    #[default]
    VirtualOutput,
    /// In one FIFO, whose head blocks those behind (HOL blocking) while its crosspoint is full.
    Fifo,
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

/// What a credit of an output-queued router stands for: three readings of section 2 of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditRule {
    /// One counter a link, as deep as one crosspoint: at most so much in the whole row of the input.
    RowCounter,
    /// A packet is sent when every crosspoint of the row is sure to have room for it.
    #[default]
    RowMinimum,
    /// A counter for each crosspoint; the upstream output looks one router ahead to know which one it needs.
    PerCrosspoint,
}

/// When a packet that leaves frees its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditReturn {
    /// As its head goes: memory is freed as the packet drains, and what follows cannot catch up with its tail. (Where
    /// the way in is faster than the way out, later by the difference.)
    #[default]
    Head,
    /// As its tail goes.
    Tail,
}

/// Which of the packets that wait for an output goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Each input in turn, from the one after the last that was served.
    #[default]
    RoundRobin,
    /// The packet that was generated first; of equals, the one of the lowest input.
    OldestFirst,
    /// Any, uniformly.
    Random,
    /// Packets of groups, which go by trees, before all others; of each kind each input in turn. Trees on classes of virtual channels of
    /// their own pass other packets in buffers too.
    GroupsFirst,
}

/// How a packet for several outputs at the head of a FIFO gets them (Prabhakar, McKeown and Ahuja 1997).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FifoMulticast {
    /// Whether it may leave by some of its outputs before the others.
    pub fanout: FanoutSplitting,
    /// Which of the heads that ask for an output gets it.
    pub policy: MulticastPolicy,
}

impl FifoMulticast {
    /// Whether it is what a router has without the key.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a packet for several outputs may leave by some of them before the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FanoutSplitting {
    /// Every output that is free, has room beyond it and picks the head takes its copy in the same instant; the rest asks again when
    /// the input is free.
    #[default]
    Splitting,
    /// It leaves when all its outputs are free and have room beyond them at once. Inputs are served one after the other, in the order of
    /// the policy.
    NoSplitting,
}

/// Which of the heads that ask for an output gets it, where some are for several outputs. Packets for one output count as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MulticastPolicy {
    /// Each output picks for itself, by the router's `arbitration`.
    #[default]
    Arbitration,
    /// What cannot leave now is left to as few inputs as possible. It may starve an input. With `fanout = "splitting"` only.
    ConcentratingResidue,
    /// As blocks fall in Tetris: outputs serve heads in the order in which these came to the front, and of those that came at once the
    /// one first that will have left first. With `fanout = "splitting"` only.
    Tatra,
    /// The head with the largest weight: its time at the front, in times of the largest packet, less the copies that it has left.
    Wba,
}

/// Where packets for several outputs wait in virtual-output-queued routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MulticastQueueing {
    /// A copy in the queue of each output, which crosses by itself.
    #[default]
    Copies,
    /// In a queue of their own beside those of the outputs: the head leaves by all outputs that are free and have room beyond them
    /// at once (fanout splitting), before the matching or after it in turn.
    Queue,
    /// In a queue for each set of outputs, of which there are 2^K - 1 in a router of K ports, at most 8; packets for one output too. The
    /// matching is the one of the largest weight (instead of iSLIP, so that `iterations` is refused): the ideal to measure others by.
    QueuePerSet,
}

/// The most ports of a router with a queue for each set of outputs.
pub const MOST_PORTS_WITH_SETS: u16 = 8;

impl MulticastQueueing {
    /// Whether it is what a router has without the key.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
