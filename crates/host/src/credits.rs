//! Credits for eager messages: the number that a rank may send to another before that has received some of them.
//!
//! Each ordered pair of ranks on different nodes has a fixed number of credits. An eager message takes one when it is
//! handed over; the receiver returns it when it has received the message. Sends that find none wait, in their order. So
//! do all later sends of the pair, whether they need a credit or not, because messages of a pair do not overtake one
//! another.

use crate::rank_pair::RankPair;
use crate::slab::Slab;
use crate::slots::SendSlot;
use crate::table::Table;

/// State of a pair.
#[derive(Clone, Copy, Debug)]
struct PairState {
    left: u32,
    /// First waiting send.
    head: SendSlot,
    /// Last waiting send.
    tail: SendSlot,
}
units::record!(PairState { left, head, tail });

/// Send that may wait: its place, and whether it takes a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub send: SendSlot,
    pub takes: bool,
}
units::record!(Claim { send, takes });

/// Credits of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Number of credits of each pair.
    each: u32,
    pairs: Table<RankPair, PairState>,
    /// By place of a waiting send: whether it takes a credit, and the send behind it.
    behind: Vec<Claim>,
    /// Number of sends that have waited.
    waited: u64,
    /// Pairs of credits that have come back and still pass the interface.
    pub returning: Slab<RankPair>,
}
units::state!(Credits { pairs, behind, waited, returning; rebuilt each });

impl Credits {
    /// Creates the credits, with `each` for each pair.
    pub fn new(each: u32) -> Self {
        Self { each, pairs: Table::default(), behind: Vec::new(), waited: 0, returning: Slab::default() }
    }

    /// Returns whether a local rank may hand over a message to another rank. Otherwise the send waits.
    pub fn claim(&mut self, pair: RankPair, claim: Claim) -> bool {
        let own =
            self.pairs.get_or_insert(pair, PairState { left: self.each, head: SendSlot::NONE, tail: SendSlot::NONE });
        if own.head == SendSlot::NONE && (own.left > 0 || !claim.takes) {
            own.left -= u32::from(claim.takes);
            return true;
        }
        let before = std::mem::replace(&mut own.tail, claim.send);
        if before == SendSlot::NONE {
            own.head = claim.send;
        }
        let places = self.behind.len().max(claim.send.index() + 1);
        let last = Claim { send: SendSlot::NONE, takes: claim.takes };
        self.behind.resize(places, last);
        self.behind[claim.send.index()] = last;
        if before != SendSlot::NONE {
            self.behind[before.index()].send = claim.send;
        }
        self.waited += 1;
        false
    }

    /// Returns whether a local rank has no credit left for another rank, and counts a send that finds none.
    pub fn lacks(&mut self, pair: RankPair) -> bool {
        let lacks = self.pairs.get(pair).is_some_and(|own| own.left == 0);
        self.waited += u64::from(lacks);
        lacks
    }

    /// Returns a credit of another rank to a local rank.
    pub fn give(&mut self, pair: RankPair) {
        self.pairs.get_or_insert(pair, PairState { left: 0, head: SendSlot::NONE, tail: SendSlot::NONE }).left += 1;
    }

    /// Removes and returns the next waiting send of a pair that need not wait any longer.
    pub fn next(&mut self, pair: RankPair) -> Option<SendSlot> {
        let own =
            self.pairs.get_or_insert(pair, PairState { left: self.each, head: SendSlot::NONE, tail: SendSlot::NONE });
        if own.head == SendSlot::NONE {
            if own.left == self.each {
                self.pairs.remove(pair);
            }
            return None;
        }
        let send = own.head;
        let Claim { send: behind, takes } = self.behind[send.index()];
        if takes && own.left == 0 {
            return None;
        }
        own.left -= u32::from(takes);
        own.head = behind;
        if behind == SendSlot::NONE {
            own.tail = SendSlot::NONE;
        }
        Some(send)
    }

    /// Returns the number of sends that have waited for a credit.
    pub fn waited(&self) -> u64 {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_ranks::LocalRank;

    #[test]
    fn sends_wait_in_their_order_for_the_credits_of_their_pair() {
        // Would catch credits that pairs share, a request that overtakes a waiting message, one that takes a credit,
        // and a credit that is lost or counted twice.
        let mut credits = Credits::new(2);
        let pair = |local, peer| RankPair { local: LocalRank(local), peer };
        let claim = |send, takes| Claim { send: SendSlot(send), takes };
        assert!(credits.claim(pair(0, 5), claim(0, true)) && credits.claim(pair(0, 5), claim(1, true)));
        assert!(credits.claim(pair(0, 5), claim(2, false)), "a request takes none");
        assert!(!credits.claim(pair(0, 5), claim(3, true)));
        assert!(!credits.claim(pair(0, 5), claim(7, false)), "a request behind a message that waits");
        assert!(!credits.claim(pair(0, 5), claim(4, true)));
        assert!(credits.claim(pair(0, 6), claim(8, true)) && credits.claim(pair(1, 5), claim(9, true)));
        assert_eq!(credits.next(pair(0, 5)), None);
        credits.give(pair(0, 5));
        assert_eq!([(); 3].map(|()| credits.next(pair(0, 5))), [Some(SendSlot(3)), Some(SendSlot(7)), None]);
        credits.give(pair(0, 5));
        credits.give(pair(0, 5));
        assert_eq!([(); 2].map(|()| credits.next(pair(0, 5))), [Some(SendSlot(4)), None]);
        credits.give(pair(0, 5));
        assert_eq!((credits.next(pair(0, 5)), credits.waited()), (None, 3));
        assert!(credits.claim(pair(0, 5), claim(1, true)) && credits.claim(pair(0, 5), claim(2, true)));
        assert!(!credits.claim(pair(0, 5), claim(3, true)));
    }
}
