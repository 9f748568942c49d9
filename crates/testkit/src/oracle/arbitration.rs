//! Choices among waiting packets.

use super::Arbitration;

/// Queue: input, virtual channel, and output (0 of a FIFO, which serves all outputs).
pub(super) type Place = (u16, u8, u16);

/// Packet that an output may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub place: Place,
    /// Position in the queue: behind the head there are only further copies of the head.
    pub copy: usize,
    pub generated: u64,
    pub bytes: u64,
    /// Virtual channel on the next link.
    pub vc: u8,
}

impl Arbitration {
    /// Returns the candidate served first. Candidates are in the order of inputs and virtual channels; `last` was
    /// served last.
    pub(super) fn first(self, candidates: &[Candidate], last: (u16, u8)) -> Option<Candidate> {
        let number = |candidate: &&Candidate| (candidate.place.0, candidate.place.1);
        let next = candidates.iter().find(|candidate| number(candidate) > last);
        match self {
            Self::RoundRobin => next.or(candidates.first()).copied(),
            Self::OldestFirst => candidates.iter().min_by_key(|one| (one.generated, number(one))).copied(),
        }
    }
}

/// Returns the virtual channel with the most room, the lowest of equals, from pairs of room and virtual channel in
/// ascending order of virtual channels; `None` if none has room for `bytes`.
pub(super) fn most_room(room: &[(u64, u8)], bytes: u64) -> Option<u8> {
    let most = room.iter().map(|&(room, _)| room).max().filter(|&most| most >= bytes)?;
    room.iter().find(|&&(room, _)| room == most).map(|&(_, vc)| vc)
}
