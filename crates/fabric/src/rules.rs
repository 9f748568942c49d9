//! The rules that keys of routers choose between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Packets of groups, which go by trees, before all others; of each kind the first in turn, from the one after the last that was
    /// served of either. Trees on classes of virtual channels of their own pass other packets in buffers too.
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
