//! What packets carry: the rank that sends them, what they are part of, and which message that is.

/// Bits of a `flow_id` that say what a packet is part of.
const PART_BITS: u32 = 2;

/// What a packet is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The request or the data of a message whose place the executor of the receiver has sent: its mark.
    Placed,
    /// The same of a message that the receiver knows by its source and number: the mark is the number.
    Numbered,
    /// The answer to a request, or the notice that the data have been read: the mark is the place of the message at its sender.
    Answer,
    /// A credit: the mark is the rank that it is for.
    Credit,
}

/// The most ranks: a packet carries its rank and what it is part of in so many bits.
pub const fn most_ranks(flow_bits: u32) -> u64 {
    1 << (flow_bits - PART_BITS)
}

/// The `flow_id` of the packets that a rank sends.
#[inline]
pub(crate) fn flow_of(rank: u32, part: Part) -> u32 {
    rank << PART_BITS | part as u32
}

/// The rank that has sent a packet, and what it is part of.
#[inline]
pub(crate) fn part_of(flow_id: u32) -> (u32, Part) {
    let part = match flow_id & ((1 << PART_BITS) - 1) {
        0 => Part::Placed,
        1 => Part::Numbered,
        2 => Part::Answer,
        _ => Part::Credit,
    };
    (flow_id >> PART_BITS, part)
}
