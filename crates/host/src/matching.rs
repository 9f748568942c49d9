//! Message matching by MPI's rules, with the queues of posted receives and unexpected messages: a message is matched
//! with the first posted receive that accepts its source and tag, and a receive with the first such message.

use crate::burst::{PostedBurst, Sources};
use crate::local_ranks::LocalRank;
use crate::match_key::MatchKey;
use crate::match_queue::{MatchQueue, Queued, SearchResult};
use crate::slots::{MessageSlot, ReceiveSlot};

/// Statistics of queue searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searches {
    /// Number of searches.
    pub count: u64,
    /// Number of visited entries, over all searches.
    pub depth: u64,
    /// Largest number of entries visited by one search.
    pub deepest: u32,
    /// Largest length of a rank's queue.
    pub longest: u32,
}

units::record!(Searches { count, depth, deepest, longest });

impl Searches {
    #[inline]
    fn count(&mut self, depth: u32) {
        self.count += 1;
        self.depth += u64::from(depth);
        self.deepest = self.deepest.max(depth);
    }

    /// Adds the statistics of other ranks.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.depth += other.depth;
        self.deepest = self.deepest.max(other.deepest);
        self.longest = self.longest.max(other.longest);
    }
}

/// Matched receive. Its item is its place.
pub(crate) type Receive = Queued<ReceiveSlot>;

/// Receive of a burst that has matched a message as it was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BurstMatch {
    /// Number of the receive in its burst.
    pub number: u32,
    pub message: MessageSlot,
}

/// Queues of some ranks, by local rank.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    posted: MatchQueue<ReceiveSlot, 1>,
    unexpected: MatchQueue<MessageSlot, 4>,
    /// Number of posted receives with wildcards.
    wildcards: u64,
    /// Searches of the queues of posted receives, and of unexpected messages.
    pub searches: [Searches; 2],
    /// Number of entries visited by the last search.
    pub looked_at: u32,
}
units::state!(Matching { posted, unexpected, wildcards, searches, looked_at });

impl Matching {
    /// Creates empty queues of `ranks` ranks.
    pub fn new(ranks: usize) -> Self {
        Self {
            posted: MatchQueue::new(ranks),
            unexpected: MatchQueue::new(ranks),
            wildcards: 0,
            searches: Default::default(),
            looked_at: 0,
        }
    }

    fn count(&mut self, queue: usize, depth: u32) {
        self.looked_at = depth;
        self.searches[queue].count(depth);
    }

    /// Matches a message that has come to a rank. Returns the receive. `None`: the message waits, at the place that
    /// `place` returns.
    #[inline]
    pub fn message(&mut self, rank: LocalRank, key: MatchKey, place: impl FnOnce() -> MessageSlot) -> Option<Receive> {
        let found = match self.wildcards {
            0 => self.posted.search(rank, &[key], |receive| receive == key),
            _ => self.posted.search(rank, &key.wider(), |receive| receive.matches(key)),
        };
        let Some(found) = found else {
            self.count(0, self.posted.len(rank));
            self.unexpected.push(rank, key, Queued { item: place(), number: 0 });
            self.searches[1].longest = self.searches[1].longest.max(self.unexpected.len(rank));
            return None;
        };
        self.wildcards -= u64::from(self.posted.key(found).has_wildcard());
        self.count(0, found.depth);
        Some(self.posted.take(found))
    }

    /// Matches a receive that a rank posts. Returns the message. `None`: the receive waits.
    #[inline]
    pub fn receive(&mut self, rank: LocalRank, key: MatchKey, receive: Receive) -> Option<MessageSlot> {
        let message = self.match_unexpected(rank, key);
        if message.is_none() {
            self.posted.push(rank, key, receive);
            self.wildcards += u64::from(key.has_wildcard());
            self.posted_more(rank);
        }
        message
    }

    /// Posts receives of one shape of a rank, the first of which has a key. Adds the messages that they match, with
    /// the numbers of their receives. The other receives wait.
    pub fn receive_burst(
        &mut self,
        rank: LocalRank,
        key: MatchKey,
        (sources, count): (Sources, u32),
        receive: ReceiveSlot,
        met: &mut Vec<BurstMatch>,
    ) {
        let Some(mut burst) = PostedBurst::new(sources, count) else {
            return self.receive_each(rank, key, (sources, count), receive, met);
        };
        if self.unexpected.len(rank) == 0 {
            self.searches[1].count += u64::from(count);
            self.looked_at = 0;
        } else {
            for number in 0..count {
                if let Some(message) = self.match_unexpected(rank, MatchKey { source: sources.of(number), ..key }) {
                    met.push(BurstMatch { number, message });
                    burst.remove(number);
                }
            }
        }
        if burst.len() > 0 {
            self.wildcards += u64::from(key.has_wildcard()) * u64::from(burst.len());
            self.posted.push_burst(rank, key, receive, burst);
            self.posted_more(rank);
        }
    }

    /// Posts a burst as single receives, if `PostedBurst` cannot represent it.
    fn receive_each(
        &mut self,
        rank: LocalRank,
        key: MatchKey,
        (sources, count): (Sources, u32),
        receive: ReceiveSlot,
        met: &mut Vec<BurstMatch>,
    ) {
        for number in 0..count {
            let key = MatchKey { source: sources.of(number), ..key };
            if let Some(message) = self.receive(rank, key, Receive { item: receive, number }) {
                met.push(BurstMatch { number, message });
            }
        }
    }

    /// Removes and returns the first message that a receive matches, if there is one.
    #[inline]
    fn match_unexpected(&mut self, rank: LocalRank, key: MatchKey) -> Option<MessageSlot> {
        let found = self.find_unexpected(rank, key)?;
        Some(self.unexpected.take(found).item)
    }

    /// Returns the position of the first message that a receive matches, if there is one.
    #[inline]
    fn find_unexpected(&mut self, rank: LocalRank, key: MatchKey) -> Option<SearchResult> {
        if key.has_wildcard() {
            self.unexpected.use_all_lists();
        }
        let Some(found) = self.unexpected.search(rank, &[key], |message| key.matches(message)) else {
            self.count(1, self.unexpected.len(rank));
            return None;
        };
        self.count(1, found.depth);
        Some(found)
    }

    /// Returns the first message that a receive would match, and leaves it in the queue.
    pub fn probe(&mut self, rank: LocalRank, key: MatchKey) -> Option<MessageSlot> {
        let found = self.find_unexpected(rank, key)?;
        Some(self.unexpected.item(found))
    }

    #[inline]
    fn posted_more(&mut self, rank: LocalRank) {
        self.searches[0].longest = self.searches[0].longest.max(self.posted.len(rank));
    }

    /// Iterates over the labels of a rank's posted receives, in order.
    pub fn waiting(&self, rank: LocalRank) -> impl Iterator<Item = MatchKey> + '_ {
        self.posted.of_rank(rank).map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use mpi::program::Context;
    use proptest::prelude::*;

    use super::*;
    use crate::match_key::ANY_SOURCE;

    const RANKS: u32 = 5;

    /// Receives and messages in plain lists, searched from the front.
    #[derive(Default)]
    struct Naive {
        posted: Vec<(MatchKey, Receive)>,
        unexpected: Vec<(MatchKey, MessageSlot)>,
        depths: [Vec<u32>; 2],
        longest: [usize; 2],
    }

    impl Naive {
        fn match_message(&mut self, key: MatchKey, message: MessageSlot) -> Option<Receive> {
            let found = self.posted.iter().position(|(receive, _)| receive.matches(key));
            self.depths[0].push(found.map_or(self.posted.len(), |place| place + 1) as u32);
            if found.is_none() {
                self.unexpected.push((key, message));
                self.longest[1] = self.longest[1].max(self.unexpected.len());
            }
            found.map(|place| self.posted.remove(place).1)
        }

        fn receive(&mut self, key: MatchKey, receive: Receive) -> Option<MessageSlot> {
            let found = self.unexpected.iter().position(|&(message, _)| key.matches(message));
            self.depths[1].push(found.map_or(self.unexpected.len(), |place| place + 1) as u32);
            if found.is_none() {
                self.posted.push((key, receive));
                self.longest[0] = self.longest[0].max(self.posted.len());
            }
            found.map(|place| self.unexpected.remove(place).1)
        }
    }

    impl Naive {
        fn probe(&mut self, key: MatchKey) -> Option<MessageSlot> {
            let found = self.unexpected.iter().position(|&(message, _)| key.matches(message));
            self.depths[1].push(found.map_or(self.unexpected.len(), |place| place + 1) as u32);
            found.map(|place| self.unexpected[place].1)
        }
    }

    /// Message, receive, burst of receives or probe: source, tag, count and stride. The count of a probe is 0.
    fn call() -> impl Strategy<Value = (bool, Option<u32>, Option<u32>, u32, u32)> {
        let count = prop_oneof![4 => Just(1_u32), 1 => Just(0), 1 => 2..RANKS + 3, 1 => 60_u32..140];
        (any::<bool>(), prop::option::weighted(0.8, 0..RANKS), prop::option::weighted(0.8, 0_u32..2), count, 0..RANKS)
    }

    proptest! {
        #[test]
        fn who_meets_whom_and_how_far_searches_go_is_as_in_plain_lists(calls in prop::collection::vec(call(), 1..80)) {
            // Would catch a receive that a message passes over, also on the way from a short queue to lists and back, a
            // burst that takes a message that it does not expect or that is not outstanding, and depths that are wrong
            // by one.
            let context = Context::default();
            let (mut matching, mut naive) = (Matching::new(2), Naive::default());
            for (number, (is_message, source, tag, count, stride)) in (0..).zip(calls) {
                if is_message {
                    let key = MatchKey { source: source.unwrap_or(0), tag: Some(tag.unwrap_or(0)), context };
                    for place in (1000 * number..1000 * number + count.min(20)).map(MessageSlot) {
                        prop_assert_eq!(matching.message(LocalRank(1), key, || place), naive.match_message(key, place));
                    }
                    continue;
                }
                let key = MatchKey { source: source.unwrap_or(ANY_SOURCE), tag, context };
                if count == 0 {
                    prop_assert_eq!(matching.probe(LocalRank(1), key), naive.probe(key));
                    continue;
                }
                if count == 1 {
                    let receive = Receive { item: ReceiveSlot(number), number: 0 };
                    prop_assert_eq!(matching.receive(LocalRank(1), key, receive), naive.receive(key, receive));
                    continue;
                }
                let stride = if source.is_some() { stride } else { 0 };
                let sources = Sources { first: key.source, stride, ranks: RANKS };
                let mut met = Vec::new();
                matching.receive_burst(LocalRank(1), key, (sources, count), ReceiveSlot(number), &mut met);
                let mut own = |own: u32| {
                    let receive = Receive { item: ReceiveSlot(number), number: own };
                    let message = naive.receive(MatchKey { source: sources.of(own), tag, context }, receive)?;
                    Some(BurstMatch { number: own, message })
                };
                prop_assert_eq!(met, (0..count).filter_map(&mut own).collect::<Vec<_>>());
            }
            for (queue, searches) in matching.searches.iter().enumerate() {
                let depths = &naive.depths[queue];
                prop_assert_eq!(searches.count, depths.len() as u64);
                prop_assert_eq!(searches.depth, depths.iter().map(|&depth| u64::from(depth)).sum::<u64>());
                prop_assert_eq!(searches.deepest, depths.iter().copied().max().unwrap_or(0));
                prop_assert_eq!(searches.longest as usize, naive.longest[queue]);
            }
            let waiting: Vec<MatchKey> = naive.posted.iter().map(|own| own.0).collect();
            prop_assert_eq!(matching.waiting(LocalRank(1)).collect::<Vec<_>>(), waiting);
            prop_assert_eq!(matching.waiting(LocalRank(0)).count(), 0);
        }
    }
}
