//! Messages on their way to the ranks of an executor. They are announced when they are handed over, before any of their
//! packets can arrive, so that the order of each pair of ranks is known whatever the order of packets.

use mpi::program::Context;

use crate::event::OpId;
use crate::local_ranks::LocalRank;
use crate::rank_pair::RankPair;
use crate::slab::Slab;
use crate::slots::{MessageSlot, ReceiveSlot, SendSlot};
use crate::table::Table;

/// Envelope of a message, announced to the destination node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Source rank.
    pub source: u32,
    /// Number of operations that the source had started before the send.
    pub number: u32,
    /// Position among the messages that the source's executor announces to others in a tick. Messages of a rank come in
    /// this order, in which they are handed over. Operations of one instant need not end in the order in which they
    /// have started.
    pub turn: u32,
    /// Destination rank.
    pub to: u32,
    /// Tag of the message.
    pub tag: u32,
    /// Communicator of the message.
    pub context: Context,
    /// Size in bytes.
    pub bytes: u64,
    /// Place of the message at the sender's executor.
    pub place: SendSlot,
    /// Whether the message uses the rendezvous protocol: its data follow an answer.
    pub rendezvous: bool,
}
units::record!(Envelope { source, number, turn, to, tag, context, bytes, place, rendezvous });

/// Message on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbound {
    pub envelope: Envelope,
    /// Destination, as a local rank.
    pub rank: LocalRank,
    /// Matched receive, or `NONE`.
    pub receive: ReceiveSlot,
    /// Number of the receive, if `receive` is a burst.
    pub number: u32,
    /// Bytes that have not arrived, in whole packets.
    pub missing: u64,
    /// Bytes that have begun to pass the receiver's interface, if it has parts.
    pub passed: u64,
    /// Whether its rendezvous request has begun to pass the receiver's interface.
    pub asked: bool,
    /// Time before which nothing follows, in picoseconds: its rendezvous request has been read, and the search for its
    /// receive has ended.
    pub ready_at: u64,
    /// Whether its first packet has arrived.
    pub is_here: bool,
    /// Next message of this pair of ranks.
    behind: MessageSlot,
    /// Whether this message is the first of its pair.
    is_first: bool,
    /// Whether the message comes in order without an entry in the order of its pair.
    is_in_no_table: bool,
}
units::record!(Inbound {
    envelope, rank, receive, number, missing, passed, asked, ready_at, is_here, behind, is_first, is_in_no_table;
});

impl Inbound {
    /// Returns the operation that sends the message.
    pub fn send(&self) -> OpId {
        OpId { rank: self.envelope.source, number: self.envelope.number }
    }

    /// Returns the matched receive.
    #[inline]
    pub fn receive(&self) -> Option<ReceiveSlot> {
        (self.receive != ReceiveSlot::NONE).then_some(self.receive)
    }
}

/// All messages on their way.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    messages: Slab<Inbound, MessageSlot>,
    /// Messages from other executors, by their sends.
    announced: Table<OpId, MessageSlot>,
    /// By pair of ranks, the last message that has not arrived yet, or waits for an earlier one.
    last: Table<RankPair, MessageSlot>,
}
units::state!(Arrivals { messages, announced, last });

impl Arrivals {
    /// Announces a message to a local rank. It is to arrive in the order of its pair.
    pub fn announce(&mut self, rank: LocalRank, envelope: Envelope) -> MessageSlot {
        let pair = RankPair { local: rank, peer: envelope.source };
        let place = self.add(rank, envelope);
        let last = self.last.get_or_insert(pair, MessageSlot::NONE);
        match std::mem::replace(last, place) {
            MessageSlot::NONE => self.messages[place].is_first = true,
            before => self.messages[before].behind = place,
        }
        place
    }

    /// Announces a message that comes as a whole, and that no other of its pair overtakes.
    pub fn announce_in_order(&mut self, rank: LocalRank, envelope: Envelope) -> MessageSlot {
        let place = self.add(rank, envelope);
        let message = &mut self.messages[place];
        (message.is_first, message.is_in_no_table, message.missing) = (true, true, 1);
        place
    }

    /// Adds a message that has come as a whole.
    pub fn add_whole(&mut self, rank: LocalRank, envelope: Envelope) -> MessageSlot {
        let place = self.announce_in_order(rank, envelope);
        let message = &mut self.messages[place];
        (message.is_here, message.missing) = (true, 0);
        place
    }

    /// Announces a message whose packets come from another executor.
    pub fn announce_remote(&mut self, rank: LocalRank, envelope: Envelope) {
        let place = self.announce(rank, envelope);
        self.announced.get_or_insert(self.messages[place].send(), place);
    }

    /// Adds a message that arrives at once.
    pub fn add(&mut self, rank: LocalRank, envelope: Envelope) -> MessageSlot {
        self.messages.insert(Inbound {
            envelope,
            rank,
            receive: ReceiveSlot::NONE,
            number: 0,
            // A message without bytes is a packet of one byte.
            missing: envelope.bytes.max(1),
            passed: 0,
            asked: false,
            ready_at: 0,
            is_here: false,
            behind: MessageSlot::NONE,
            is_first: false,
            is_in_no_table: false,
        })
    }

    /// Returns the place of a message of another executor.
    pub fn find(&self, source: u32, number: u32) -> Option<MessageSlot> {
        self.announced.get(OpId { rank: source, number })
    }

    /// Notes that the first packet of a message has arrived. Returns whether the message is the next of its pair.
    pub fn come(&mut self, place: MessageSlot) -> bool {
        self.messages[place].is_here = true;
        self.messages[place].is_first
    }

    /// Returns the message of this pair behind one that was next, if it has arrived already.
    pub fn next_of_pair(&mut self, place: MessageSlot) -> Option<MessageSlot> {
        let Inbound { rank, envelope, behind, is_in_no_table, .. } = self.messages[place];
        if is_in_no_table {
            return None;
        }
        if behind == MessageSlot::NONE {
            self.last.remove(RankPair { local: rank, peer: envelope.source });
            return None;
        }
        self.messages[behind].is_first = true;
        self.messages[behind].is_here.then_some(behind)
    }

    /// Removes a message that has been received. `remote`: it came from another executor.
    pub fn remove(&mut self, place: MessageSlot, remote: bool) -> Inbound {
        let message = self.messages.remove(place);
        if remote && !message.is_in_no_table {
            self.announced.remove(message.send());
        }
        message
    }

    /// Returns the largest number of messages so far.
    pub fn places(&self) -> usize {
        self.messages.places()
    }

    /// Returns the number of messages that have not been received.
    pub fn len(&self) -> usize {
        self.messages.len()
    }
}

impl std::ops::Index<MessageSlot> for Arrivals {
    type Output = Inbound;

    #[inline]
    fn index(&self, place: MessageSlot) -> &Inbound {
        &self.messages[place]
    }
}

impl std::ops::IndexMut<MessageSlot> for Arrivals {
    #[inline]
    fn index_mut(&mut self, place: MessageSlot) -> &mut Inbound {
        &mut self.messages[place]
    }
}
