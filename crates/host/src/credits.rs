//! Credits for eager messages: how many a rank may send to another before that has received some of them.
//!
//! Each ordered pair of ranks on different nodes has so many credits. A message that does not wait for its receiver takes one when it
//! is handed over; the receiver returns it when it has received the message. Sends that find none wait, in their order, and so do all
//! sends of the pair behind them, whether they need a credit or not: messages of a pair do not overtake one another.

use crate::table::{Key, Table};

/// No send.
const NONE: u32 = u32::MAX;

/// A rank, by its number here, and one that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair(u32, u32);

impl Key for Pair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.0), u64::from(self.1))
    }
}

/// What a pair has.
#[derive(Clone, Copy, Debug)]
struct PairState {
    left: u32,
    /// Sends that wait.
    head: u32,
    tail: u32,
}

/// A send that may wait: its place, and whether it takes a credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub send: u32,
    pub takes: bool,
}

/// The credits of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Credits {
    /// Of each pair.
    each: u32,
    pairs: Table<Pair, PairState>,
    /// By place of a send that waits: the one behind it, and whether it takes a credit.
    behind: Vec<(u32, bool)>,
    /// Sends that have waited.
    waited: u64,
}

impl Credits {
    /// So many for each pair.
    pub fn new(each: u32) -> Self {
        Self { each, pairs: Table::default(), behind: Vec::new(), waited: 0 }
    }

    /// A rank, by its number here, is about to hand a message over to another. Returns whether it may; otherwise the send waits.
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

    /// Whether a rank, by its number here, has no credit left for another; a send that finds none is counted.
    pub fn lacks(&mut self, (rank, to): (u32, u32)) -> bool {
        let lacks = self.pairs.get(Pair(rank, to)).is_some_and(|own| own.left == 0);
        self.waited += u64::from(lacks);
        lacks
    }

    /// A credit has come back to a rank, by its number here, from another.
    pub fn give(&mut self, rank: u32, to: u32) {
        self.pairs.get_or_insert(Pair(rank, to), PairState { left: 0, head: NONE, tail: NONE }).left += 1;
    }

    /// The next send of a pair that has waited and need not any longer.
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

    /// Sends that have waited for a credit.
    pub fn waited(&self) -> u64 {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_wait_in_their_order_for_the_credits_of_their_pair() {
        // Would catch credits that pairs share, a request that overtakes a message that waits, one that takes a credit, and
        // a credit that is lost or counted twice.
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
