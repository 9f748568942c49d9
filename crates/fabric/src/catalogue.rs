//! Router architectures and their keys in the experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Capacity, Time};

pub use crate::depths::Depths;
use crate::depths::Sizes;
pub use crate::router_classes::{RouterClassSpec, RouterClassSpecs};
pub use crate::rules::{
    Arbitration, CreditReturn, CreditRule, FanoutSplitting, FifoMulticast, InputQueueing, MOST_PORTS_WITH_SETS,
    MulticastPolicy, MulticastQueueing,
};

/// Architecture of all routers of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(extend("x-otherwise" = "no file describes other architectures: keys of these set their buffers, virtual channels and \
                                   arbiters"))]
pub enum RouterSpec {
    /// Output-queued: packets go straight to a crosspoint buffer of their output. Each output arbitrates for itself.
    OutputQueued(OutputQueuedSpec),
    /// Input-queued: one FIFO for each input and virtual channel, with head-of-line (HOL) blocking.
    InputQueued(InputQueuedSpec),
    /// Virtual-output-queued: one queue for each pair of input and output. iSLIP matches inputs to outputs.
    VirtualOutputQueued(VirtualOutputQueuedSpec),
    /// Input-output-queued: input FIFOs per virtual channel, a crossbar with speed-up, and output buffers.
    InputOutputQueued(InputOutputQueuedSpec),
    /// Input-crosspoint-queued: queues at the inputs and a small buffer at each crosspoint. Inputs and outputs
    /// arbitrate independently.
    InputCrosspointQueued(InputCrosspointQueuedSpec),
    /// Shared-buffer: one memory for the queues of all outputs, divided by dynamic thresholds.
    SharedBuffer(SharedBufferSpec),
}

/// Keys that all architectures have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonKeys<'a> {
    /// Depths of the input buffers, which credits stand for. `None`: left out.
    pub buffer: Option<&'a Depths>,
    /// Ports of a switch. `None`: left out.
    pub ports: Option<u16>,
    /// Virtual channels of a link. `None`: left out.
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head to the time at which it is ready to leave. `None`: left out.
    pub delay: Option<Time>,
    /// Time at which a departing packet frees its buffer.
    pub credit_return: CreditReturn,
    /// Exceptions by class of routers.
    pub classes: &'a RouterClassSpecs,
}

/// Keys, common to all architectures, that may differ by class of routers.
#[derive(Debug)]
pub struct SizeKeys<'a> {
    /// Depths of the input buffers, which credits stand for.
    pub buffer: &'a mut Option<Depths>,
    /// Pipeline delay, from the arrival of a packet's head to the time at which it is ready to leave.
    pub delay: &'a mut Option<Time>,
    /// Ports of a switch.
    pub ports: &'a mut Option<u16>,
    /// Exceptions by class of routers.
    pub classes: &'a mut RouterClassSpecs,
}

/// Sums over the connected ports of a router, from which its buffer memory follows.
#[derive(Clone, Copy, Debug)]
pub struct BufferCounts {
    /// Connected ports.
    pub ports: u64,
    /// Bytes of the input buffers, one for each input and virtual channel, at the depth that credits stand for.
    pub input_bytes: u64,
    /// Number of virtual channels, summed over the inputs.
    pub input_vcs: u64,
    /// Number of virtual channels, summed over the outputs.
    pub output_vcs: u64,
    /// Bytes of one buffer behind the inputs.
    pub inner_bytes: u64,
}

/// Place of head-of-line blocking.
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
        CommonKeys {
            buffer: spec.buffer.as_ref(),
            ports: spec.ports,
            vcs: spec.vcs,
            delay: spec.delay,
            credit_return: spec.credit_return,
            classes: &spec.classes,
        }
    }};
}

macro_rules! size_keys {
    ($spec:expr) => {{
        let spec = $spec;
        SizeKeys {
            buffer: &mut spec.buffer,
            delay: &mut spec.delay,
            ports: &mut spec.ports,
            classes: &mut spec.classes,
        }
    }};
}

impl RouterSpec {
    /// Returns whether credits are counted for each crosspoint of the next router.
    pub fn counts_crosspoints(&self) -> bool {
        matches!(self, Self::OutputQueued(spec) if spec.credits == CreditRule::PerCrosspoint)
    }

    /// Fills in the delay and the depths where they are left out, and returns the keys that it has written. `names` are
    /// the classes of channels.
    pub(crate) fn write_sizes(&mut self, sizes: &Sizes, names: &[&str]) -> Vec<String> {
        let SizeKeys { buffer, delay, .. } = self.size_keys();
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

    /// Returns the common keys that may differ by class of routers, for writing.
    pub fn size_keys(&mut self) -> SizeKeys<'_> {
        match self {
            Self::OutputQueued(spec) => size_keys!(spec),
            Self::InputQueued(spec) => size_keys!(spec),
            Self::VirtualOutputQueued(spec) => size_keys!(spec),
            Self::InputOutputQueued(spec) => size_keys!(spec),
            Self::InputCrosspointQueued(spec) => size_keys!(spec),
            Self::SharedBuffer(spec) => size_keys!(spec),
        }
    }

    /// Returns the keys that all architectures have in common.
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

    /// Returns the key of the buffer behind the inputs, and its depth if it is given. `None`: the architecture has no
    /// such buffer.
    pub fn inner_buffer(&self) -> Option<(&'static str, Option<Capacity>)> {
        match self {
            Self::InputOutputQueued(spec) => Some(("output_buffer", Some(spec.output_buffer))),
            Self::InputCrosspointQueued(spec) => Some(("crosspoint_buffer", Some(spec.crosspoint_buffer))),
            Self::SharedBuffer(spec) => Some(("memory", spec.memory)),
            _ => None,
        }
    }

    /// Returns the multicast rule of the input FIFOs. `None`: the architecture has no FIFOs.
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

    /// Returns the minimum of the default buffer depth in packets, which leaves room for contending packets.
    pub fn least_packets(&self) -> u32 {
        match self {
            Self::OutputQueued(_) | Self::SharedBuffer(_) => 4,
            Self::InputQueued(_)
            | Self::VirtualOutputQueued(_)
            | Self::InputOutputQueued(_)
            | Self::InputCrosspointQueued(_) => 16,
        }
    }

    /// Returns the bytes of all buffers of a router: at inputs, crosspoints and outputs.
    pub fn memory(&self, of: &BufferCounts) -> u64 {
        match self {
            Self::OutputQueued(_) => of.input_bytes * of.ports,
            Self::InputQueued(_) | Self::VirtualOutputQueued(_) => of.input_bytes,
            Self::InputOutputQueued(_) => of.input_bytes + of.output_vcs * of.inner_bytes,
            Self::InputCrosspointQueued(_) => of.input_bytes + of.input_vcs * of.ports * of.inner_bytes,
            Self::SharedBuffer(_) => of.input_bytes + of.inner_bytes,
        }
    }

    /// Returns the rule by which an output divides its bandwidth between inputs. `None`: all backlogged inputs get
    /// equal shares.
    pub fn input_arbitration(&self) -> Option<Arbitration> {
        match self {
            Self::OutputQueued(spec) => Some(spec.arbitration),
            Self::InputQueued(spec) => Some(spec.arbitration),
            Self::InputOutputQueued(spec) => Some(spec.arbitration),
            Self::InputCrosspointQueued(spec) => Some(spec.arbitration),
            // Queues in order of arrival serve inputs in proportion to their reserved buffers: all full ones alike.
            Self::SharedBuffer(_) | Self::VirtualOutputQueued(_) => None,
        }
    }

    /// Returns where head-of-line blocking occurs. `None`: nowhere.
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

    /// Returns the bandwidth of the crossbar at a port, as a multiple of the link's.
    pub fn speedup(&self) -> u8 {
        match self {
            Self::InputOutputQueued(spec) => spec.speedup.max(1),
            _ => 1,
        }
    }

    /// Returns the architecture's name in the experiment file.
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
#[serde(default)]
#[schemars(inline)]
pub struct OutputQueuedSpec {
    /// Depth of one crosspoint buffer, for each virtual channel: one depth, or a table of depths by class of channels.
    /// Default, also for classes that the table leaves out: the credit round trip of the class, at least 4 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head at the crosspoint, ready to leave.
    /// Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Meaning of a credit.
    pub credits: CreditRule,
    /// Time at which a departing packet frees its buffer: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rule by which an output chooses among the packets that wait for it.
    pub arbitration: Arbitration,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

/// Input-queued router: FIFOs at the inputs, nothing at the outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct InputQueuedSpec {
    /// Depth of an input's FIFO, for each virtual channel: one depth, or a table of depths by class of channels.
    /// Default, also for classes that the table leaves out: the credit round trip of the class, at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head at the front of the queue, ready to
    /// leave. Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Time at which a departing packet frees its buffer: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rule by which an output chooses among the packets that wait for it.
    pub arbitration: Arbitration,
    /// Rule by which a multicast packet at the head of a FIFO gets its outputs. Default: each output as soon as it is
    /// free, by `arbitration`.
    #[serde(skip_serializing_if = "FifoMulticast::is_default")]
    pub multicast: FifoMulticast,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

/// Virtual-output-queued router with iSLIP matching (McKeown 1999).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct VirtualOutputQueuedSpec {
    /// Memory of an input, for each virtual channel, shared by its queues: one depth, or a table of depths by class of
    /// channels. Default, also for classes that the table leaves out: the credit round trip of the class, at least 16
    /// packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head in the queue, ready to leave.
    /// Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Time at which a departing packet frees its buffer: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rounds of request, grant and accept in each iSLIP matching. Default: until the matching is maximal.
    #[schemars(range(min = 1, max = 64))]
    pub iterations: Option<u8>,
    /// Queues in which multicast packets wait. Default: "copies".
    #[serde(skip_serializing_if = "MulticastQueueing::is_default")]
    pub multicast: MulticastQueueing,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

/// Input-output-queued router: input FIFOs per virtual channel, a crossbar, output buffers per virtual channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct InputOutputQueuedSpec {
    /// Depth of an input's FIFO, for each virtual channel: one depth, or a table of depths by class of channels.
    /// Default, also for classes that the table leaves out: the credit round trip of the class, at least 16 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Depth of an output's buffer, for each virtual channel.
    pub output_buffer: Capacity,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head at the front of the input's queue,
    /// ready to cross. Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Bandwidth of the crossbar at a port, as a multiple of the link's.
    #[schemars(range(min = 1, max = 64))]
    pub speedup: u8,
    /// Time at which a departing packet frees its buffer: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rule by which an output chooses among the packets that wait for it.
    pub arbitration: Arbitration,
    /// Rule by which a multicast packet at the head of a FIFO gets its outputs. Default: each output as soon as it is
    /// free, by `arbitration`.
    #[serde(skip_serializing_if = "FifoMulticast::is_default")]
    pub multicast: FifoMulticast,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

impl Default for InputOutputQueuedSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            output_buffer: Capacity::Packets(4),
            ports: None,
            vcs: None,
            delay: None,
            speedup: 1,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
            multicast: FifoMulticast::default(),
            classes: RouterClassSpecs::default(),
        }
    }
}

/// Input-crosspoint-queued router: queues at the inputs and small buffers at the crosspoints (Kumar, Kalé, Stunkel,
/// section 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct InputCrosspointQueuedSpec {
    /// Memory of an input, for each virtual channel, shared by its queues: one depth, or a table of depths by class of
    /// channels. Default, also for classes that the table leaves out: the credit round trip of the class, at least 16
    /// packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Depth of one crosspoint buffer, for each virtual channel.
    pub crosspoint_buffer: Capacity,
    /// Queues in which the packets of an input wait.
    pub queueing: InputQueueing,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head in the input's queue, ready to
    /// cross. Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Time at which a packet that leaves its input frees its buffer there: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rule by which an input chooses the packet for a crosspoint, and an output chooses among the packets that wait
    /// for it.
    pub arbitration: Arbitration,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

impl Default for InputCrosspointQueuedSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            crosspoint_buffer: Capacity::Packets(2),
            queueing: InputQueueing::default(),
            ports: None,
            vcs: None,
            delay: None,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
            classes: RouterClassSpecs::default(),
        }
    }
}

/// Shared-buffer router with dynamic thresholds (Choudhury and Hahne 1998), without loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct SharedBufferSpec {
    /// Buffer reserved for each input and virtual channel, which credits stand for: one depth, or a table of depths by
    /// class of channels. Default, also for classes that the table leaves out: the credit round trip of the class, at
    /// least 4 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Depths>,
    /// Memory of a router that its outputs share, besides the reserved buffers. Default: 16 packets and the longest
    /// credit round trip for each port, at least 1024 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Capacity>,
    /// Threshold of the shared memory: a packet is admitted while its output's queue there is shorter than `alpha`
    /// times the free memory.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub alpha: f64,
    /// Number of ports of a switch. A topology whose routers need more is refused, and `analyze` counts the free ports.
    /// Nothing else depends on it: a run simulates the ports that the topology connects. Default: the number of ports
    /// that the topology gives each router.
    #[schemars(range(min = 1, max = 65535))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// Virtual channels of a link. Default: the number that the routing needs.
    #[schemars(range(min = 1, max = 64))]
    pub vcs: Option<u8>,
    /// Pipeline delay, from the arrival of a packet's head at the input to its head in the queue, ready to leave.
    /// Default: 200 ns if injection channels have 100 Gb/s or more, else 90 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Time at which a departing packet frees its buffer: when its head or when its tail leaves.
    pub credit_return: CreditReturn,
    /// Rule by which an output chooses among its queues, one for each class of virtual channels.
    pub arbitration: Arbitration,
    /// Exceptions for one class of routers, such as `[router.spine]`. The topology names the classes: the levels of a
    /// tree, and the stages of a Dragonfly+.
    #[serde(flatten)]
    pub classes: RouterClassSpecs,
}

impl Default for SharedBufferSpec {
    fn default() -> Self {
        Self {
            buffer: None,
            memory: None,
            alpha: 1.0,
            ports: None,
            vcs: None,
            delay: None,
            credit_return: CreditReturn::default(),
            arbitration: Arbitration::default(),
            classes: RouterClassSpecs::default(),
        }
    }
}
