//! Identifiers of packets: the sending rank, the kind of message part, and the message.

/// Bits of a `flow_id` that give the kind of message part.
const PART_BITS: u32 = 2;

/// Kind of message part that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Request or data of a message whose place the receiver's executor has sent. The mark is the place.
    Placed,
    /// Request or data of a message that the receiver identifies by source and number. The mark is the number.
    Numbered,
    /// Answer to a rendezvous request, or notice that the data have been read. The mark is the place of the message at
    /// its sender.
    Answer,
    /// Credit. The mark is the destination rank.
    Credit,
}

/// Returns the largest number of ranks, if packets carry the rank and the kind of message part in `flow_bits` bits.
pub const fn most_ranks(flow_bits: u32) -> u64 {
    1 << (flow_bits - PART_BITS)
}

/// Returns the `flow_id` of the packets that a rank sends.
#[inline]
pub(crate) fn flow_of(rank: u32, part: Part) -> u32 {
    rank << PART_BITS | part as u32
}

/// Returns the rank that has sent a packet, and the kind of message part.
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
