//! Credits for eager messages: the number that a rank may send to another before that has received some of them.
//!
//! Each ordered pair of ranks on different nodes has a fixed number of credits. An eager message takes one when it is
//! handed over; the receiver returns it when it has received the message. Sends that find none wait, in their order. So
//! do all later sends of the pair, whether they need a credit or not, because messages of a pair do not overtake one
//! another.

use crate::table::{Key, Table};

/// No send.
const NONE: u32 = u32::MAX;

/// Pair of a local rank and a rank that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair(u32, u32);

impl Key for Pair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.0), u64::from(self.1))
    }
}

/// State of a pair.
#[derive(Clone, Copy, Debug)]
struct PairState {
    left: u32,
    /// First waiting send.
    head: u32,
    /// Last waiting send.
    tail: u32,
}

/// Send that may wait: its place, and whether it takes a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub send: u32,
    pub takes: bool,
}

/// Credits of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Number of credits of each pair.
    each: u32,
    pairs: Table<Pair, PairState>,
    /// By place of a waiting send: the next one, and whether it takes a credit.
    behind: Vec<(u32, bool)>,
    /// Number of sends that have waited.
    waited: u64,
}

impl Credits {
    /// Creates the credits, with `each` for each pair.
    pub fn new(each: u32) -> Self {
        Self { each, pairs: Table::default(), behind: Vec::new(), waited: 0 }
    }

    /// Returns whether a local rank may hand over a message to another rank. Otherwise the send waits.
    pub fn claim(&mut self, (rank, to): (u32, u32), claim: Claim) -> bool {
        let own = self.pairs.get_or_insert(Pair(rank, to), PairState { left: self.each, head: NONE, tail: NONE });
        if own.head == NONE && (own.left > 0 || !claim.takes) {
            own.left -= u32::from(claim.takes);
            return true;
        }
        let before = std::mem::replace(&mut own.tail, claim.send);
        if before == NONE {
            own.head = claim.send;
        }
        let places = self.behind.len().max(claim.send as usize + 1);
        self.behind.resize(places, (NONE, false));
        self.behind[claim.send as usize] = (NONE, claim.takes);
        if before != NONE {
            self.behind[before as usize].0 = claim.send;
        }
        self.waited += 1;
        false
    }

    /// Returns whether a local rank has no credit left for another rank, and counts a send that finds none.
    pub fn lacks(&mut self, (rank, to): (u32, u32)) -> bool {
        let lacks = self.pairs.get(Pair(rank, to)).is_some_and(|own| own.left == 0);
        self.waited += u64::from(lacks);
        lacks
    }

    /// Returns a credit of another rank to a local rank.
    pub fn give(&mut self, rank: u32, to: u32) {
        self.pairs.get_or_insert(Pair(rank, to), PairState { left: 0, head: NONE, tail: NONE }).left += 1;
    }

    /// Removes and returns the next waiting send of a pair that need not wait any longer.
    pub fn next(&mut self, rank: u32, to: u32) -> Option<u32> {
        let own = self.pairs.get_or_insert(Pair(rank, to), PairState { left: self.each, head: NONE, tail: NONE });
        if own.head == NONE {
            if own.left == self.each {
                self.pairs.remove(Pair(rank, to));
            }
            return None;
        }
        let send = own.head;
        let (behind, takes) = self.behind[send as usize];
        if takes && own.left == 0 {
            return None;
        }
        own.left -= u32::from(takes);
        own.head = behind;
        if behind == NONE {
            own.tail = NONE;
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

    #[test]
    fn sends_wait_in_their_order_for_the_credits_of_their_pair() {
        // Would catch credits that pairs share, a request that overtakes a waiting message, one that takes a credit,
        // and a credit that is lost or counted twice.
        let mut credits = Credits::new(2);
        let claim = |send, takes| Claim { send, takes };
        assert!(credits.claim((0, 5), claim(0, true)) && credits.claim((0, 5), claim(1, true)));
        assert!(credits.claim((0, 5), claim(2, false)), "a request takes none");
        assert!(!credits.claim((0, 5), claim(3, true)));
        assert!(!credits.claim((0, 5), claim(7, false)), "a request behind a message that waits");
        assert!(!credits.claim((0, 5), claim(4, true)));
        assert!(credits.claim((0, 6), claim(8, true)) && credits.claim((1, 5), claim(9, true)));
        assert_eq!(credits.next(0, 5), None);
        credits.give(0, 5);
        assert_eq!([(); 3].map(|()| credits.next(0, 5)), [Some(3), Some(7), None]);
        credits.give(0, 5);
        credits.give(0, 5);
        assert_eq!([(); 2].map(|()| credits.next(0, 5)), [Some(4), None]);
        credits.give(0, 5);
        assert_eq!((credits.next(0, 5), credits.waited()), (None, 3));
        assert!(credits.claim((0, 5), claim(1, true)) && credits.claim((0, 5), claim(2, true)));
        assert!(!credits.claim((0, 5), claim(3, true)));
    }
}
