//! Matching queues of posted receives and unexpected messages.
//!
//! A short queue is searched from its front, as in an MPI library. A longer one has a list for each source and tag, and
//! for each with one or both of them wildcards, which finds the first entry without a search. The number of entries
//! that a search from the front would have visited is counted exactly ([`Order`]). Both forms find the same entry and
//! count alike.

use units::Record;

use crate::burst::PostedBurst;
use crate::local_ranks::LocalRank;
use crate::match_key::MatchKey;
use crate::order::Order;
use crate::table::{Key, Table};

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

/// Largest number of entries of a queue that is searched from its front: some cache lines.
const SHORT: u32 = 8;

/// Key of a list: a key at a local rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListKey {
    rank: LocalRank,
    key: MatchKey,
}
units::record!(ListKey { rank, key });

impl Key for ListKey {
    fn words(self) -> (u64, u64) {
        let (source, tag) = self.key.words();
        (u64::from(self.rank.0) << 32 | u64::from(source), tag)
    }
}

/// Ends of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}
units::record!(List { head, tail });

const EMPTY: List = List { head: NONE, tail: NONE };

/// Neighbours of an entry in a list.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    before: u32,
    behind: u32,
}
units::record!(Link { before, behind });

const NOWHERE: Link = Link { before: NONE, behind: NONE };

/// Queue of a rank.
#[derive(Clone, Debug)]
struct RankQueue {
    list: List,
    /// Number of entries.
    entries: u32,
    /// Number of items that the entries stand for, which exceeds `entries` if there are bursts.
    len: u32,
    /// Order of the entries, if they are in lists. None of them is then a burst.
    order: Option<Box<Order>>,
}
units::record!(RankQueue { list, entries, len, order });

/// Entry of a queue as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued<I> {
    pub item: I,
    /// Number of the receive in its burst. 0 if it is the only one.
    pub number: u32,
}

/// Entry of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueEntry<I, const LISTS: usize> {
    /// Item that the entry stands for.
    item: I,
    /// Number of the item in its burst, if it was part of one.
    number: u32,
    /// Burst, if the entry is one.
    burst: u32,
    rank: LocalRank,
    pub key: MatchKey,
    position: u32,
    /// Neighbours in the queue of its rank.
    link: Link,
    /// Neighbours in each of its lists.
    links: [Link; LISTS],
}
units::record!(generic [I: Record, const LISTS: usize] QueueEntry<I, LISTS> {
    item, number, burst, rank, key, position, link, links
});

/// Result of a search: an entry, the number in its burst, and the number of entries that the search has visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SearchResult {
    place: u32,
    number: u32,
    pub depth: u32,
}

/// Queues of ranks, each entry of which can be in `LISTS` lists: its own, and those of the next labels in
/// `MatchKey::wider`.
#[derive(Clone, Debug)]
pub(crate) struct MatchQueue<I, const LISTS: usize> {
    ranks: Vec<RankQueue>,
    lists: Table<ListKey, List>,
    entries: Vec<QueueEntry<I, LISTS>>,
    free: Vec<u32>,
    bursts: Vec<Option<PostedBurst>>,
    free_bursts: Vec<u32>,
    /// Number of lists that entries are in at present, at most `LISTS`.
    used: usize,
}
units::state!(generic [I: Record, const LISTS: usize] MatchQueue<I, LISTS> {
    ranks, lists, entries, free, bursts, free_bursts, used
});

impl<I: Copy, const LISTS: usize> MatchQueue<I, LISTS> {
    /// Creates empty queues of `ranks` ranks, whose entries are in their own lists only.
    pub fn new(ranks: usize) -> Self {
        Self {
            ranks: vec![RankQueue { order: None, list: EMPTY, entries: 0, len: 0 }; ranks],
            lists: Table::default(),
            entries: Vec::new(),
            free: Vec::new(),
            bursts: Vec::new(),
            free_bursts: Vec::new(),
            used: 1,
        }
    }

    /// Returns the number of items in a rank's queue.
    #[inline]
    pub fn len(&self, rank: LocalRank) -> u32 {
        self.ranks[rank.index()].len
    }

    /// Searches a rank's queue for the first entry with one of the `labels`, the first of which is a message's own, or
    /// a burst with a matching receive. `meets` says whether an entry's key is one of them.
    #[inline]
    pub fn search(
        &mut self,
        rank: LocalRank,
        labels: &[MatchKey],
        meets: impl Fn(MatchKey) -> bool,
    ) -> Option<SearchResult> {
        match self.ranks[rank.index()].order {
            None => self.walk(rank, labels[0].source, meets),
            Some(_) => self.look_up(rank, labels),
        }
    }

    /// Searches from the front.
    #[inline]
    fn walk(&mut self, rank: LocalRank, source: u32, meets: impl Fn(MatchKey) -> bool) -> Option<SearchResult> {
        let (mut place, mut depth) = (self.ranks[rank.index()].list.head, 0);
        while place != NONE {
            let QueueEntry { key, number, burst, link, .. } = self.entries[place as usize];
            if burst == NONE {
                depth += 1;
                if meets(key) {
                    return Some(SearchResult { place, number, depth });
                }
            } else if let Some(burst) = &mut self.bursts[burst as usize] {
                // The source in a burst's key is the source of its first receive.
                if meets(MatchKey { source, ..key })
                    && let Some(number) = burst.find(source)
                {
                    return Some(SearchResult { place, number, depth: depth + burst.before(number) + 1 });
                }
                depth += burst.len();
            }
            place = link.behind;
        }
        None
    }

    /// Looks up the first entry of each key.
    fn look_up(&self, rank: LocalRank, labels: &[MatchKey]) -> Option<SearchResult> {
        let first = |&key: &MatchKey| self.lists.get(ListKey { rank, key }).map(|list| list.head);
        let place = labels.iter().filter_map(first).min_by_key(|&place| self.entries[place as usize].position)?;
        let QueueEntry { position, number, .. } = self.entries[place as usize];
        let before = self.ranks[rank.index()].order.as_ref().map_or(0, |order| order.before(position));
        Some(SearchResult { place, number, depth: before + 1 })
    }

    /// Returns the key of a search result.
    pub fn key(&self, found: SearchResult) -> MatchKey {
        self.entries[found.place as usize].key
    }

    /// Returns the item of a search result.
    pub fn item(&self, found: SearchResult) -> I {
        self.entries[found.place as usize].item
    }

    /// Removes a search result.
    #[inline]
    pub fn take(&mut self, SearchResult { place, number, .. }: SearchResult) -> Queued<I> {
        let QueueEntry { item, rank, burst, .. } = self.entries[place as usize];
        self.ranks[rank.index()].len -= 1;
        if burst != NONE {
            let left = self.bursts[burst as usize].as_mut().map_or(0, |burst| {
                burst.remove(number);
                burst.len()
            });
            if left > 0 {
                return Queued { item, number };
            }
            self.bursts[burst as usize] = None;
            self.free_bursts.push(burst);
        }
        self.remove(place);
        Queued { item, number }
    }

    /// Removes an entry.
    #[inline]
    fn remove(&mut self, place: u32) {
        let QueueEntry { rank, key, position, link, .. } = self.entries[place as usize];
        let queue = &mut self.ranks[rank.index()];
        queue.entries -= 1;
        let is_indexed = queue.order.is_some();
        if let Some(order) = &mut queue.order {
            order.remove(position);
        }
        match link.before {
            NONE => queue.list.head = link.behind,
            before => self.entries[before as usize].link.behind = link.behind,
        }
        match link.behind {
            NONE => queue.list.tail = link.before,
            behind => self.entries[behind as usize].link.before = link.before,
        }
        if is_indexed {
            for number in 0..self.used {
                self.delist(place, number, ListKey { rank, key: key.wider()[number] });
            }
            if self.ranks[rank.index()].entries == 0 {
                self.ranks[rank.index()].order = None;
            }
        }
        self.free.push(place);
    }

    /// Appends an entry to a rank's queue.
    #[inline]
    pub fn push(&mut self, rank: LocalRank, key: MatchKey, Queued { item, number }: Queued<I>) {
        let queue = &self.ranks[rank.index()];
        if queue.order.is_none() && queue.entries >= SHORT {
            self.index(rank);
        }
        self.ranks[rank.index()].len += 1;
        self.append(QueueEntry {
            item,
            number,
            burst: NONE,
            rank,
            key,
            position: 0,
            link: NOWHERE,
            links: [NOWHERE; LISTS],
        });
    }

    /// Appends a burst to a rank's queue, with the key of its first receive.
    pub fn push_burst(&mut self, rank: LocalRank, key: MatchKey, item: I, burst: PostedBurst) {
        let queue = &mut self.ranks[rank.index()];
        if queue.order.is_some() || queue.entries >= SHORT {
            for (number, source) in burst.receives() {
                self.push(rank, MatchKey { source, ..key }, Queued { item, number });
            }
            return;
        }
        queue.len += burst.len();
        let place = self.free_bursts.pop().unwrap_or(self.bursts.len() as u32);
        match self.bursts.get_mut(place as usize) {
            Some(free) => *free = Some(burst),
            None => self.bursts.push(Some(burst)),
        }
        let (link, links) = (NOWHERE, [NOWHERE; LISTS]);
        self.append(QueueEntry { item, number: 0, burst: place, rank, key, position: 0, link, links });
    }

    /// Appends an entry to the queue of its rank.
    #[inline]
    fn append(&mut self, entry: QueueEntry<I, LISTS>) {
        let rank = entry.rank;
        let is_indexed = self.ranks[rank.index()].order.is_some();
        let position = if is_indexed { self.position(rank) } else { 0 };
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        let queue = &mut self.ranks[rank.index()];
        queue.entries += 1;
        let before = std::mem::replace(&mut queue.list.tail, place);
        match before {
            NONE => queue.list.head = place,
            before => self.entries[before as usize].link.behind = place,
        }
        let entry = QueueEntry { position, link: Link { before, behind: NONE }, ..entry };
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        if is_indexed {
            (0..self.used).for_each(|number| self.enlist(place, number));
        }
    }

    /// Puts the entries of a rank into lists, each receive of a burst separately.
    #[cold]
    fn index(&mut self, rank: LocalRank) {
        let all: Vec<_> = self.of_rank(rank).collect();
        let mut place = std::mem::replace(&mut self.ranks[rank.index()].list, EMPTY).head;
        while place != NONE {
            let QueueEntry { link, burst, .. } = self.entries[place as usize];
            if burst != NONE {
                self.bursts[burst as usize] = None;
                self.free_bursts.push(burst);
            }
            self.free.push(place);
            place = link.behind;
        }
        let queue = &mut self.ranks[rank.index()];
        (queue.entries, queue.len, queue.order) = (0, 0, Some(Box::default()));
        all.into_iter().for_each(|(key, item)| self.push(rank, key, item));
    }

    /// Iterates over the queue of a rank, from the front: labels and entries.
    pub fn of_rank(&self, rank: LocalRank) -> impl Iterator<Item = (MatchKey, Queued<I>)> + '_ {
        let head = Some(self.ranks[rank.index()].list.head);
        let place = |place: u32| Some(place).filter(|&place| place != NONE);
        let places =
            std::iter::successors(head.and_then(place), move |&at| place(self.entries[at as usize].link.behind));
        places.flat_map(|place| {
            let QueueEntry { item, number, burst, key, .. } = self.entries[place as usize];
            let burst = self.bursts.get(burst as usize).and_then(Option::as_ref);
            let own = burst.is_none().then_some((key, Queued { item, number }));
            let receives = burst.into_iter().flat_map(PostedBurst::receives);
            own.into_iter()
                .chain(receives.map(move |(number, source)| (MatchKey { source, ..key }, Queued { item, number })))
        })
    }

    /// Returns the position of the next entry to be appended.
    fn position(&mut self, rank: LocalRank) -> u32 {
        let RankQueue { order: Some(order), list, .. } = &mut self.ranks[rank.index()] else { return 0 };
        if let Some(position) = order.push() {
            return position;
        }
        order.renumber();
        let (mut place, mut position) = (list.head, 0);
        while place != NONE {
            let entry = &mut self.entries[place as usize];
            entry.position = position;
            (place, position) = (entry.link.behind, position + 1);
        }
        // There is room for at least one.
        order.push().unwrap_or(position)
    }

    /// Appends an entry to one of its lists.
    fn enlist(&mut self, place: u32, number: usize) {
        let QueueEntry { rank, key, .. } = self.entries[place as usize];
        let list = self.lists.get_or_insert(ListKey { rank, key: key.wider()[number] }, EMPTY);
        let before = std::mem::replace(&mut list.tail, place);
        match before {
            NONE => list.head = place,
            before => self.entries[before as usize].links[number].behind = place,
        }
        self.entries[place as usize].links[number] = Link { before, behind: NONE };
    }

    /// Removes an entry from one of its lists.
    fn delist(&mut self, place: u32, number: usize, key: ListKey) {
        let Link { before, behind } = self.entries[place as usize].links[number];
        if before == NONE && behind == NONE {
            return self.lists.remove(key);
        }
        match before {
            NONE => self.lists.get_or_insert(key, EMPTY).head = behind,
            before => self.entries[before as usize].links[number].behind = behind,
        }
        match behind {
            NONE => self.lists.get_or_insert(key, EMPTY).tail = before,
            behind => self.entries[behind as usize].links[number].before = before,
        }
    }

    /// Puts all entries into all of their lists from now on.
    pub fn use_all_lists(&mut self) {
        let used = std::mem::replace(&mut self.used, LISTS);
        for rank in (0..self.ranks.len()).filter(|_| used < LISTS) {
            let queue = &self.ranks[rank];
            let mut place = if queue.order.is_some() { queue.list.head } else { NONE };
            while place != NONE {
                (used..LISTS).for_each(|number| self.enlist(place, number));
                place = self.entries[place as usize].link.behind;
            }
        }
    }
}
