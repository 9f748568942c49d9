//! Channels that flows cross: their capacities and buffers, and the flows on them.

use super::rates::NONE;

/// Channel from which strands come to another channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub channel: u32,
    pub strands: u32,
    pub next: u32,
}

/// Buffer behind the inputs of a router, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind {
    /// One for each pair of input and output.
    Crosspoint(f64),
    /// One for each output. Before it are a FIFO for each input, of `fifo` bytes, and the time of a packet from the
    /// begin of the channel to the head of the FIFO, in picoseconds.
    Output { bytes: f64, fifo: f64, delay: u64 },
    /// A memory that all outputs share, with its threshold (Choudhury and Hahne 1998).
    Memory { bytes: f64, alpha: f64 },
}

/// Properties of a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelLimits {
    /// Capacity, in bytes per picosecond.
    pub capacity: f64,
    /// Bytes of the buffer at its end that its packets do not share with those of other channels.
    pub room: f64,
    pub behind: Behind,
    /// Routers from and to which it leads. `NONE`: a node.
    pub from: u32,
    pub to: u32,
}

/// Channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelState {
    pub limits: ChannelLimits,
    /// First crossing.
    pub crossings: u32,
    /// First input, and the number of inputs. Each strand of a node counts as an input of its injection channel.
    pub first_input: u32,
    pub inputs: u32,
    /// Whether the channel limits flows at present.
    pub full: bool,
    /// Rate of a node whose packets wait in FIFOs, divided by its rate by bandwidth.
    pub factor: f64,
    /// Time until which the factor is kept, in ticks.
    pub tried_until: u64,
    /// Whether a packet that waits holds up the packets behind it: at a node that waits for a message, or at a router.
    pub takes_turns: bool,
    /// Settlements in which the channel was last listed, and in which all of its flows were included.
    pub listed: u32,
    pub expanded: u32,
}

impl ChannelState {
    pub fn new(limits: ChannelLimits) -> Self {
        Self {
            limits,
            crossings: NONE,
            first_input: NONE,
            inputs: 0,
            full: false,
            factor: 1.0,
            tried_until: 0,
            takes_turns: false,
            listed: 0,
            expanded: 0,
        }
    }
}
