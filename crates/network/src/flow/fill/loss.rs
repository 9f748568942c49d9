//! Bandwidth that random choices cost.
//!
//! Packets that draw their paths meet by chance: some buffers are full while others are empty. An output whose inputs
//! have p of a flow each is left without a packet for a part of the time, even if the load is 1:
//!
//! - *FIFOs at inputs.* The head of a queue blocks packets for other outputs. With n inputs and outputs, and heads for
//!   random outputs, the outputs carry 0.75 (n = 2) to 2 - sqrt(2) of their bandwidth (Karol, Hluchyj and Morgan,
//!   "Input versus output queueing on a space-division packet switch", 1987, table I).
//! - *Queues of outputs.* The number of waiting packets is a random walk between an empty and a full buffer of b
//!   packets. In each packet's time its variance grows by 1 - p, so that it is at the empty end for (1 - p) / 2b of the
//!   time (a reflected Brownian motion without drift; Harrison, "Brownian motion and stochastic flow systems", 1985).

/// Place where packets wait for an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Waiting {
    /// In a memory that is much larger than a buffer.
    #[default]
    Memory,
    /// In a queue for each pair of input and output.
    Crosspoints,
    /// In queues of their outputs that share the buffer of an input.
    Queues,
    /// In a FIFO of the input.
    Fifos,
}

/// Throughput of FIFOs with 1 to 8 inputs.
const FIFO_THROUGHPUT: [f64; 8] = [1.0, 0.75, 0.6825, 0.6553, 0.6399, 0.6302, 0.6234, 0.6184];

/// Returns the throughput of `inputs` FIFOs with random heads.
fn of_fifos(inputs: u32) -> f64 {
    let many = std::f64::consts::SQRT_2.mul_add(-1.0, 2.0);
    match FIFO_THROUGHPUT.get(inputs.saturating_sub(1) as usize) {
        Some(&known) => known,
        // The difference from the limit falls as 1 / n.
        None => many + (FIFO_THROUGHPUT[7] - many) * 8.0 / f64::from(inputs),
    }
}

/// Returns the part of a channel's bandwidth that flows can use whose packets draw their paths. `share` of each crosses
/// the channel, to which they come by `inputs` channels with buffers of `depth` packets.
pub(super) fn usable_part(waiting: Waiting, share: f64, inputs: u32, depth: f64) -> f64 {
    let others = (1.0 - share).max(0.0);
    let depth = match waiting {
        Waiting::Memory => return 1.0,
        Waiting::Fifos if others > 0.0 => return of_fifos(inputs),
        Waiting::Fifos => return 1.0,
        Waiting::Crosspoints => depth,
        Waiting::Queues => depth * share,
    };
    1.0 / (1.0 + others / (2.0 * depth.max(1.0)))
}
