//! What an executor has to do at a time, and in which order: independent of the partition that does it.

use engine::Calendar;

/// What happens, as a number of its kind: then it is in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The first of the copies of a node, by its number here, ends: before all else of its time.
    Memory(u32),
    /// A calculation ends: its number in the program.
    Calculated(u32),
    /// A receive ends: its message.
    Received(u32),
    /// A send's data are handed over.
    Data(u32),
    /// Those of the next send of a burst are.
    NextOfBurst(u32),
    /// A send's request is handed over.
    Request(u32),
    /// The answer to a message's request is handed over.
    Answer(u32),
    /// A send's data have been written to the interface.
    Sent(u32),
    /// A packet of written data has left the interface.
    Left(u32),
    /// A poll ends: its number in the program.
    Polled(u32),
    /// A probe ends.
    Probed(u32),
    /// Of an operation that the interface carries out: a step ends, by its number in the program; the rank has been notified of the end.
    OnNic(u32),
    Notified(u32),
    /// A packet of a message has passed the interface of its receiver.
    Packet(u32),
    /// The answer to a send's request has passed the interface of its receiver, or the notice that its data have been read.
    Answered(u32),
    /// Something that is carried whole has arrived.
    Arrived(u32),
    /// The first message of a progression has arrived, or has passed the interface of its receiver.
    Arrives(u32),
    Passes(u32),
    /// The first receive of a progression ends.
    Completes(u32),
    /// A credit has come back.
    Credit(u32),
    /// The notice is handed over that the data of a message have been read.
    Finish(u32),
    /// A send ends whose data the receiver has fetched.
    Fetched(u32),
    /// Between ranks of a node: the sender's copy ends; the message can be read; the receiver's copy begins, and ends.
    CopiedIn(u32),
    Readable(u32),
    CopyOut(u32),
    Copied(u32),
    /// In the switches: an operation is handed to the interface; a packet has passed the interface; the operation ends.
    GroupData(u32),
    GroupPassed(u32),
    GroupEnded(u32),
}

/// An operation: its rank, and how many operations the rank had started before it. Of equal times, events of the lower one are first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpId {
    pub rank: u32,
    pub number: u32,
}

impl OpId {
    /// Both in one number: its place among all operations of an instant.
    #[inline]
    pub fn packed(self) -> u64 {
        u64::from(self.rank) << 32 | u64::from(self.number)
    }

    /// From that number.
    #[inline]
    pub fn of_packed(packed: u64) -> Self {
        Self { rank: (packed >> 32) as u32, number: packed as u32 }
    }

    /// What comes before all operations.
    pub const FIRST: Self = Self { rank: 0, number: 0 };
}

/// Events to come, in the order of their times in picoseconds.
#[derive(Debug)]
pub(crate) struct Pending(Calendar<Event>);

/// Ranks are below 2^31, so that the first bit of an order is free.
const BEHIND_ARRIVALS: u64 = 1 << 63;

/// Picoseconds from one event to the next, where nothing else is known: calculations and overheads are of this order.
const DISTANCE: u64 = 1 << 20;

impl Default for Pending {
    fn default() -> Self {
        Self(Calendar::new(DISTANCE))
    }
}

impl Pending {
    /// Adds an event of an operation.
    #[inline(always)]
    pub fn push(&mut self, at: u64, op: OpId, event: Event) {
        self.0.push(at, op.packed() | BEHIND_ARRIVALS, event);
    }

    /// Adds an arrival of a message of an operation: of equal times, arrivals are first.
    #[inline(always)]
    pub fn push_arrival(&mut self, at: u64, op: OpId, event: Event) {
        self.0.push(at, op.packed(), event);
    }

    /// Takes the earliest event, of equal times that of the lowest operation, if its time is not beyond `last`.
    #[inline]
    pub fn take(&mut self, last: u64) -> Option<(u64, OpId, Event)> {
        let (at, order, event) = self.0.take(last)?;
        Some((at, OpId { rank: (order >> 32) as u32 & !(1 << 31), number: order as u32 }, event))
    }

    /// The time of the earliest event.
    #[inline]
    pub fn first(&self) -> Option<u64> {
        self.0.first()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_in_order_of_time_and_operation() {
        // Would catch a heap the wrong way round, an event that comes early, and an order by anything but rank and number.
        let mut pending = Pending::default();
        let id = |rank, number| OpId { rank, number };
        for (at, op, place) in
            [(30, id(1, 0), 3), (20, id(9, 9), 7), (30, id(0, 5), 8), (30, id(0, 2), 9), (41, id(0, 0), 2)]
        {
            pending.push(at, op, Event::Data(place));
        }
        let taken: Vec<_> = std::iter::from_fn(|| pending.take(40)).map(|(at, op, _)| (at, op)).collect();
        assert_eq!(taken, [(20, id(9, 9)), (30, id(0, 2)), (30, id(0, 5)), (30, id(1, 0))]);
        assert_eq!(pending.first(), Some(41));
        assert_eq!(pending.take(41), Some((41, id(0, 0), Event::Data(2))));
        assert_eq!(pending.take(u64::MAX), None);
    }
}
