//! Messages on their way to the ranks of an executor: announced when they are handed over, before any of their packets can
//! arrive, so that the order of each pair of ranks is known whatever the order of packets.

use workload::program::Context;

use crate::event::OpId;
use crate::slab::Slab;
use crate::table::{Key, Table};

/// No message.
const NONE: u32 = u32::MAX;

/// What is announced of a message to the node that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The rank that sends it.
    pub source: u32,
    /// How many operations that rank had started before it.
    pub number: u32,
    /// Place among the messages that its executor announces to others in a tick: those of a rank come in that order, in which they are
    /// handed over. Operations of one instant need not end in the order in which they have started.
    pub turn: u32,
    /// The rank that it is for.
    pub to: u32,
    /// Its tag.
    pub tag: u32,
    /// Of which communicator it is.
    pub context: Context,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where the sender's executor keeps it.
    pub place: u32,
    /// Whether it waits for its receiver: its data follow an answer.
    pub asks: bool,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbound {
    pub envelope: Envelope,
    /// The rank that it is for, by its number here.
    pub rank: u32,
    /// The receive that it has met, or `NONE`,
    pub receive: u32,
    /// and its number, if that is a burst.
    pub number: u32,
    /// Bytes that have not arrived, in whole packets.
    pub missing: u64,
    /// Bytes that have begun to pass the receiver's interface, where it has parts.
    pub passed: u64,
    /// Whether its request has.
    pub asked: bool,
    /// When its request has been read, in picoseconds, if it has one.
    pub read_at: u64,
    /// Its first packet has arrived.
    pub is_here: bool,
    /// The message of the same pair that comes next, and whether it is the first of its pair.
    behind: u32,
    is_first: bool,
    /// Whether it comes in its order without being kept in it.
    is_in_no_table: bool,
}

impl Inbound {
    /// The operation that sends it.
    pub fn send(&self) -> OpId {
        OpId { rank: self.envelope.source, number: self.envelope.number }
    }

    /// The receive that it has met.
    #[inline]
    pub fn receive(&self) -> Option<u32> {
        (self.receive != NONE).then_some(self.receive)
    }
}

/// A rank, by its number here, and one that sends to it; or a message of that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair(u32, u32);

impl Key for Pair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.0), u64::from(self.1))
    }
}

/// All messages on their way.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    messages: Slab<Inbound>,
    /// By source and number, those that come from other executors.
    announced: Table<Pair, u32>,
    /// By pair of ranks, the last message that is not here yet, or waits for one before it.
    last: Table<Pair, u32>,
}

impl Arrivals {
    /// A message is announced to a rank, by its number here, that is to arrive in its turn.
    pub fn announce(&mut self, rank: u32, envelope: Envelope) -> u32 {
        let pair = Pair(rank, envelope.source);
        let place = self.add(rank, envelope);
        let last = self.last.get_or_insert(pair, NONE);
        match std::mem::replace(last, place) {
            NONE => self.messages[place].is_first = true,
            before => self.messages[before].behind = place,
        }
        place
    }

    /// The same, of a message that comes as a whole, and that no other of its pair overtakes.
    pub fn announce_in_order(&mut self, rank: u32, envelope: Envelope) -> u32 {
        let place = self.add(rank, envelope);
        let message = &mut self.messages[place];
        (message.is_first, message.is_in_no_table, message.missing) = (true, true, 1);
        place
    }

    /// A message that has come as a whole.
    pub fn add_whole(&mut self, rank: u32, envelope: Envelope) -> u32 {
        let place = self.announce_in_order(rank, envelope);
        let message = &mut self.messages[place];
        (message.is_here, message.missing) = (true, 0);
        place
    }

    /// The same, of a message whose packets come from another executor.
    pub fn announce_remote(&mut self, rank: u32, envelope: Envelope) {
        let place = self.announce(rank, envelope);
        self.announced.get_or_insert(Pair(envelope.source, envelope.number), place);
    }

    /// A message that is here at once.
    pub fn add(&mut self, rank: u32, envelope: Envelope) -> u32 {
        self.messages.insert(Inbound {
            envelope,
            rank,
            receive: NONE,
            number: 0,
            // A message of no bytes is a packet of one.
            missing: envelope.bytes.max(1),
            passed: 0,
            asked: false,
            read_at: 0,
            is_here: false,
            behind: NONE,
            is_first: false,
            is_in_no_table: false,
        })
    }

    /// The place of a message of another executor.
    pub fn find(&self, source: u32, number: u32) -> Option<u32> {
        self.announced.get(Pair(source, number))
    }

    /// The first packet of a message has arrived. Returns whether it is its turn.
    pub fn come(&mut self, place: u32) -> bool {
        self.messages[place].is_here = true;
        self.messages[place].is_first
    }

    /// The message behind one whose turn it was, of the same pair, if that is here already: it is its turn.
    pub fn next_of_pair(&mut self, place: u32) -> Option<u32> {
        let Inbound { rank, envelope, behind, is_in_no_table, .. } = self.messages[place];
        if is_in_no_table {
            return None;
        }
        if behind == NONE {
            self.last.remove(Pair(rank, envelope.source));
            return None;
        }
        self.messages[behind].is_first = true;
        self.messages[behind].is_here.then_some(behind)
    }

    /// Takes out a message that has been received; `remote` if it came from another executor.
    pub fn remove(&mut self, place: u32, remote: bool) -> Inbound {
        let message = self.messages.remove(place);
        if remote && !message.is_in_no_table {
            self.announced.remove(Pair(message.envelope.source, message.envelope.number));
        }
        message
    }

    /// The most messages that there have been.
    pub fn places(&self) -> usize {
        self.messages.places()
    }

    /// Messages that have not been received.
    pub fn len(&self) -> usize {
        self.messages.len()
    }
}

impl std::ops::Index<u32> for Arrivals {
    type Output = Inbound;

    #[inline]
    fn index(&self, place: u32) -> &Inbound {
        &self.messages[place]
    }
}

impl std::ops::IndexMut<u32> for Arrivals {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut Inbound {
        &mut self.messages[place]
    }
}
