//! Events of an executor, and their order, which does not depend on the partition.

use engine::Calendar;
use units::State;

use crate::slots::{MessageSlot, SendSlot};
use crate::table::Key;

/// Event. Its content is a number, whose meaning depends on the kind, so that an event fits in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The first copy of a local node ends. Handled before all other events of its time.
    Memory(u32),
    /// A calculation ends: its number in the program.
    Calculated(u32),
    /// A receive ends: its message.
    Received(MessageSlot),
    /// A send's data are handed over.
    Data(SendSlot),
    /// The data of the next send of a burst are handed over.
    NextOfBurst(u32),
    /// A send's rendezvous request is handed over.
    Request(SendSlot),
    /// The answer to a message's rendezvous request is handed over.
    Answer(MessageSlot),
    /// A send's data have been written to the interface.
    Sent(SendSlot),
    /// A packet of written data has left the interface.
    Left(u32),
    /// A poll ends: its number in the program.
    Polled(u32),
    /// A probe ends.
    Probed(u32),
    /// A step of an operation that the interface carries out ends: its number in the program.
    OnNic(u32),
    /// The rank has been notified of the end of an operation that the interface has carried out.
    Notified(u32),
    /// A packet of a message has passed the interface of its receiver.
    Packet(MessageSlot),
    /// The answer to a send's rendezvous request, or the notice that its data have been read, has passed the interface
    /// of its receiver.
    Answered(SendSlot),
    /// A message that is carried whole, or a part of a protocol, has arrived.
    Arrived(u32),
    /// The first message of a progression has arrived.
    Arrives(u32),
    /// The first message of a progression has passed the interface of its receiver.
    Passes(u32),
    /// The first receive of a progression ends.
    Completes(u32),
    /// A credit has come back.
    Credit(u32),
    /// The notice that the data of a message have been read is handed over.
    Finish(MessageSlot),
    /// A send ends whose data the receiver has fetched.
    Fetched(SendSlot),
    /// The sender's copy of a message between ranks of a node ends.
    CopiedIn(SendSlot),
    /// A message between ranks of a node can be read.
    Readable(MessageSlot),
    /// The receiver's copy of a message between ranks of a node begins.
    CopyOut(MessageSlot),
    /// The receiver's copy of a message between ranks of a node ends.
    Copied(MessageSlot),
    /// An operation in the switches is handed to the interface.
    GroupData(u32),
    /// A packet of an operation in the switches has passed the interface.
    GroupPassed(u32),
    /// An operation in the switches ends.
    GroupEnded(u32),
    /// A packet of a message has passed the receiving interface of a relay.
    Relayed(u32),
    /// A packet of data has left a relay.
    LeftRelay(u32),
}
units::record!(match Event {
    0 => Memory { 0: place },
    1 => Calculated { 0: place },
    2 => Received { 0: place },
    3 => Data { 0: place },
    4 => NextOfBurst { 0: place },
    5 => Request { 0: place },
    6 => Answer { 0: place },
    7 => Sent { 0: place },
    8 => Left { 0: place },
    9 => Polled { 0: place },
    10 => Probed { 0: place },
    11 => OnNic { 0: place },
    12 => Notified { 0: place },
    13 => Packet { 0: place },
    14 => Answered { 0: place },
    15 => Arrived { 0: place },
    16 => Arrives { 0: place },
    17 => Passes { 0: place },
    18 => Completes { 0: place },
    19 => Credit { 0: place },
    20 => Finish { 0: place },
    21 => Fetched { 0: place },
    22 => CopiedIn { 0: place },
    23 => Readable { 0: place },
    24 => CopyOut { 0: place },
    25 => Copied { 0: place },
    26 => GroupData { 0: place },
    27 => GroupPassed { 0: place },
    28 => GroupEnded { 0: place },
    29 => Relayed { 0: place },
    30 => LeftRelay { 0: place },
});

/// Operation of a rank. A message is identified by its send. Events of equal times are ordered by their operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId {
    /// Rank.
    pub rank: u32,
    /// Number of operations that the rank had started before it.
    pub number: u32,
}

units::record!(OpId { rank, number });

impl Key for OpId {
    fn words(self) -> (u64, u64) {
        (u64::from(self.rank), u64::from(self.number))
    }
}

impl OpId {
    /// Returns both in one number, which orders the operations of an instant.
    #[inline]
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.rank) << 32 | u64::from(self.number)
    }

    /// Returns the operation of a packed number.
    #[inline]
    pub(crate) fn of_packed(packed: u64) -> Self {
        Self { rank: (packed >> 32) as u32, number: packed as u32 }
    }

    /// Order before all operations.
    pub(crate) const FIRST: Self = Self { rank: 0, number: 0 };
}

/// Pending events, in the order of their times in picoseconds.
#[derive(Debug)]
pub(crate) struct Pending(Calendar<Event>);

/// Flag of events behind arrivals. Ranks are below 2^31, so that the first bit of an order is free.
const BEHIND_ARRIVALS: u64 = 1 << 63;

/// Expected distance of events in picoseconds: calculations and overheads are of this order.
const DISTANCE: u64 = 1 << 20;

impl State for Pending {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.save(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        self.0.load(from)
    }
}

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

    /// Adds an arrival of an operation's message. Arrivals come before other events of their time.
    #[inline(always)]
    pub fn push_arrival(&mut self, at: u64, op: OpId, event: Event) {
        self.0.push(at, op.packed(), event);
    }

    /// Removes and returns the earliest event if its time is not beyond `last`. Events of equal times come in the order
    /// of operations.
    #[inline]
    pub fn take(&mut self, last: u64) -> Option<(u64, OpId, Event)> {
        let (at, order, event) = self.0.take(last)?;
        Some((at, OpId { rank: (order >> 32) as u32 & !(1 << 31), number: order as u32 }, event))
    }

    /// Returns the time of the earliest event.
    #[inline]
    pub fn first(&self) -> Option<u64> {
        self.0.first()
    }

    /// Returns whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_in_order_of_time_and_operation() {
        // Would catch a heap the wrong way round, an event that comes early, and an order by anything but rank and
        // number.
        let mut pending = Pending::default();
        let id = |rank, number| OpId { rank, number };
        for (at, op, place) in
            [(30, id(1, 0), 3), (20, id(9, 9), 7), (30, id(0, 5), 8), (30, id(0, 2), 9), (41, id(0, 0), 2)]
        {
            pending.push(at, op, Event::Data(SendSlot(place)));
        }
        let taken: Vec<_> = std::iter::from_fn(|| pending.take(40)).map(|(at, op, _)| (at, op)).collect();
        assert_eq!(taken, [(20, id(9, 9)), (30, id(0, 2)), (30, id(0, 5)), (30, id(1, 0))]);
        assert_eq!(pending.first(), Some(41));
        assert_eq!(pending.take(41), Some((41, id(0, 0), Event::Data(SendSlot(2)))));
        assert_eq!(pending.take(u64::MAX), None);
    }
}
