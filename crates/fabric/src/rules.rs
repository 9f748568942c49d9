//! Rules that keys of routers choose between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues in which the packets of an input wait, for each virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputQueueing {
    /// One queue for each output.
    #[default]
    VirtualOutput,
    /// One FIFO. Its head blocks the packets behind it (HOL blocking) while its crosspoint is full.
    Fifo,
}

/// Meaning of a credit of an output-queued router: three readings of section 2 of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditRule {
    /// One counter for each link, as deep as one crosspoint. The whole row of the input holds at most that many bytes.
    RowCounter,
    /// A packet is sent when every crosspoint of the row is sure to have room for it.
    #[default]
    RowMinimum,
    /// One counter for each crosspoint. The upstream output looks one router ahead to know which crosspoint a packet
    /// needs.
    PerCrosspoint,
}

/// Time at which a departing packet frees its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditReturn {
    /// When its head leaves: memory is freed as the packet drains, and the next packet cannot catch up with its tail.
    /// If the incoming channel is faster than the outgoing one, the buffer is freed later by the difference.
    #[default]
    Head,
    /// When its tail leaves.
    Tail,
}

/// Rule by which an output chooses among the packets that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Round robin over the inputs, from the one after the last that was served.
    #[default]
    RoundRobin,
    /// The packet that was generated first. A tie goes to the lowest input.
    OldestFirst,
    /// A uniformly random packet.
    Random,
    /// Packets of groups' operations, which follow trees, before all others. Within each kind round robin, from the
    /// input after the last that was served for either kind. If trees have separate classes of virtual channels, their
    /// packets pass others in buffers too.
    GroupsFirst,
}

/// Rule by which a multicast packet at the head of a FIFO gets its outputs (Prabhakar, McKeown and Ahuja 1997).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FifoMulticast {
    /// Whether a packet may leave by some of its outputs before the others.
    pub fanout: FanoutSplitting,
    /// Rule by which an output chooses among the heads that request it.
    pub policy: MulticastPolicy,
}

impl FifoMulticast {
    /// Returns whether this is the default, which a router has if the key is left out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a multicast packet may leave by some of its outputs before the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FanoutSplitting {
    /// Fanout splitting: every output that is free, has room beyond it and picks the head takes its copy in the same
    /// instant. The head requests the remaining outputs again when the input is free.
    #[default]
    Splitting,
    /// No fanout splitting: the packet leaves when all its outputs are free and have room beyond them at once. Inputs
    /// are served sequentially, in the order of the policy.
    NoSplitting,
}

/// Rule by which an output chooses among the heads that request it, if some are multicast packets. Applies to unicast
/// packets too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MulticastPolicy {
    /// Each output picks for itself, by the router's `arbitration`.
    #[default]
    Arbitration,
    /// The residue (copies that cannot leave now) is concentrated on as few inputs as possible. May starve an input.
    /// Requires `fanout = "splitting"`.
    ConcentratingResidue,
    /// TATRA, modelled on Tetris: outputs serve heads in the order in which these came to the front. Of heads that came
    /// at once, the one that can leave completely first goes first. Requires `fanout = "splitting"`.
    Tatra,
    /// Weight-based: the head with the largest weight, which is its time at the front, in transmission times of the
    /// largest packet, less the number of copies that it has left.
    Wba,
}

/// Queues in which multicast packets wait in virtual-output-queued routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MulticastQueueing {
    /// A copy in the queue of each output. Each copy crosses by itself.
    #[default]
    Copies,
    /// One separate multicast queue beside the queues of the outputs. Its head leaves by all outputs that are free and
    /// have room beyond them at once (fanout splitting), alternately before and after the matching.
    Queue,
    /// One queue for each set of outputs, for unicast packets too: 2^K - 1 queues in a router of K ports, at most 8.
    /// Maximum weight matching replaces iSLIP and excludes `iterations`. The ideal to compare others with.
    QueuePerSet,
}

/// Largest number of ports of a router with a queue for each set of outputs.
pub const MOST_PORTS_WITH_SETS: u16 = 8;

impl MulticastQueueing {
    /// Returns whether this is the default, which a router has if the key is left out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
