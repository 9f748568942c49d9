//! The queues of receives that have been posted and of messages that nobody has expected, matched as MPI does: a message meets the
//! first receive posted that takes its source and tag, and a receive the first message. A list for each source and tag, and for
//! each with either or both of them left open, finds that one without a search; how many entries a search from the front of
//! the queue would have looked at is counted exactly ([`Order`]).

use workload::program::Context;

use crate::order::Order;
use crate::table::{Key, Table};

/// No place.
const NONE: u32 = u32::MAX;

/// Any source.
pub(crate) const ANY_SOURCE: u32 = u32::MAX;

/// What a receive takes, or a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The rank that sends, or `ANY_SOURCE`.
    pub source: u32,
    /// The tag; none for any.
    pub tag: Option<u32>,
    /// The communicator, which nothing leaves open.
    pub context: Context,
}

impl Label {
    /// Whether it leaves anything open.
    fn is_open(self) -> bool {
        self.source == ANY_SOURCE || self.tag.is_none()
    }

    /// What can be asked for to get something with this label: itself, and what leaves source, tag or both open.
    fn wider(self) -> [Self; 4] {
        let source = ANY_SOURCE;
        [self, Self { source, ..self }, Self { tag: None, ..self }, Self { source, tag: None, ..self }]
    }
}

/// A list: a label at a rank, by its number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListKey {
    rank: u32,
    label: Label,
}

impl Key for ListKey {
    fn words(self) -> (u64, u64) {
        let tag = self.label.tag.map_or(1 << 32, u64::from);
        (u64::from(self.rank) << 32 | u64::from(self.label.source), u64::from(self.label.context.bits()) << 33 | tag)
    }
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

const EMPTY: List = List { head: NONE, tail: NONE };

/// An entry's neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    behind: u32,
}

/// The entries of a rank's queue.
#[derive(Clone, Debug)]
struct RankQueue {
    order: Order,
    list: List,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug)]
struct Entry<const LISTS: usize> {
    /// What it stands for.
    item: u32,
    rank: u32,
    label: Label,
    position: u32,
    /// In the queue of its rank,
    link: Link,
    /// and in each of its lists.
    links: [Link; LISTS],
}

/// Queues of ranks, each entry of which is in so many lists: its own, and those of the labels next in `Label::wider`.
#[derive(Clone, Debug)]
struct Queue<const LISTS: usize> {
    ranks: Vec<RankQueue>,
    lists: Table<ListKey, List>,
    entries: Vec<Entry<LISTS>>,
    free: Vec<u32>,
    /// Lists that entries are in at present, of `LISTS`.
    used: usize,
}

impl<const LISTS: usize> Queue<LISTS> {
    fn new(ranks: usize) -> Self {
        Self {
            ranks: vec![RankQueue { order: Order::default(), list: EMPTY }; ranks],
            lists: Table::default(),
            entries: Vec::new(),
            free: Vec::new(),
            used: 1,
        }
    }

    /// The entries of a rank.
    #[inline]
    fn len(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].order.len()
    }

    /// The first entry of a list.
    #[inline]
    fn first(&self, rank: u32, label: Label) -> Option<u32> {
        if self.ranks[rank as usize].list.head == NONE {
            return None;
        }
        self.lists.get(ListKey { rank, label }).map(|list| list.head)
    }

    /// Adds an entry at the end of a rank's queue.
    fn push(&mut self, rank: u32, label: Label, item: u32) {
        let nowhere = Link { before: NONE, behind: NONE };
        let position = self.position(rank);
        let entry = Entry { item, rank, label, position, link: nowhere, links: [nowhere; LISTS] };
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        let list = &mut self.ranks[rank as usize].list;
        let before = std::mem::replace(&mut list.tail, place);
        match before {
            NONE => list.head = place,
            before => self.entries[before as usize].link.behind = place,
        }
        self.entries[place as usize].link.before = before;
        (0..self.used).for_each(|number| self.enlist(place, number));
    }

    /// The position of an entry that is about to come.
    fn position(&mut self, rank: u32) -> u32 {
        let RankQueue { order, list } = &mut self.ranks[rank as usize];
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
        // There is room for one at least.
        order.push().unwrap_or(position)
    }

    /// Puts an entry at the end of one of its lists.
    fn enlist(&mut self, place: u32, number: usize) {
        let Entry { rank, label, .. } = self.entries[place as usize];
        let list = self.lists.get_or_insert(ListKey { rank, label: label.wider()[number] }, EMPTY);
        let before = std::mem::replace(&mut list.tail, place);
        match before {
            NONE => list.head = place,
            before => self.entries[before as usize].links[number].behind = place,
        }
        self.entries[place as usize].links[number] = Link { before, behind: NONE };
    }

    /// Takes out an entry; returns what it stands for, and the entries from the front to it, itself included.
    fn remove(&mut self, place: u32) -> (u32, u32) {
        let Entry { item, rank, label, position, link, .. } = self.entries[place as usize];
        let RankQueue { order, list } = &mut self.ranks[rank as usize];
        let depth = order.before(position) + 1;
        order.remove(position);
        match link.before {
            NONE => list.head = link.behind,
            before => self.entries[before as usize].link.behind = link.behind,
        }
        match link.behind {
            NONE => list.tail = link.before,
            behind => self.entries[behind as usize].link.before = link.before,
        }
        for number in 0..self.used {
            self.delist(place, number, ListKey { rank, label: label.wider()[number] });
        }
        self.free.push(place);
        (item, depth)
    }

    /// Takes an entry out of one of its lists.
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
    fn use_all_lists(&mut self) {
        let used = std::mem::replace(&mut self.used, LISTS);
        for rank in 0..self.ranks.len() {
            let mut place = self.ranks[rank].list.head;
            while place != NONE {
                (used..LISTS).for_each(|number| self.enlist(place, number));
                place = self.entries[place as usize].link.behind;
            }
        }
    }
}

/// How often queues have been searched, and how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searches {
    /// Searches.
    pub count: u64,
    /// Entries that they have looked at, all together,
    pub depth: u64,
    /// and at most.
    pub deepest: u32,
    /// The most entries of the queue of a rank.
    pub longest: u32,
}

impl Searches {
    fn count(&mut self, depth: u32) {
        self.count += 1;
        self.depth += u64::from(depth);
        self.deepest = self.deepest.max(depth);
    }

    /// Adds those of other ranks.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.depth += other.depth;
        self.deepest = self.deepest.max(other.deepest);
        self.longest = self.longest.max(other.longest);
    }
}

/// The queues of some ranks, by their numbers here.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    posted: Queue<1>,
    unexpected: Queue<4>,
    /// Posted receives that leave something open.
    open: u64,
    /// Searches of the queues of posted receives, and of unexpected messages.
    pub searches: [Searches; 2],
    /// Entries that the last search has looked at.
    pub looked_at: u32,
}

impl Matching {
    /// Empty queues of so many ranks.
    pub fn new(ranks: usize) -> Self {
        Self {
            posted: Queue::new(ranks),
            unexpected: Queue::new(ranks),
            open: 0,
            searches: Default::default(),
            looked_at: 0,
        }
    }

    fn count(&mut self, queue: usize, depth: u32) {
        self.looked_at = depth;
        self.searches[queue].count(depth);
    }

    /// A message has come to a rank: the receive that it meets, or none; then it waits.
    pub fn message(&mut self, rank: u32, label: Label, message: u32) -> Option<u32> {
        let labels = label.wider();
        let labels = if self.open > 0 { &labels[..] } else { &labels[..1] };
        let Queue { entries, .. } = &self.posted;
        let firsts = labels.iter().filter_map(|&label| self.posted.first(rank, label));
        let Some(place) = firsts.min_by_key(|&place| entries[place as usize].position) else {
            self.count(0, self.posted.len(rank));
            self.unexpected.push(rank, label, message);
            self.searches[1].longest = self.searches[1].longest.max(self.unexpected.len(rank));
            return None;
        };
        self.open -= u64::from(entries[place as usize].label.is_open());
        let (receive, depth) = self.posted.remove(place);
        self.count(0, depth);
        Some(receive)
    }

    /// A rank posts a receive: the message that it meets, or none; then it waits.
    pub fn receive(&mut self, rank: u32, label: Label, receive: u32) -> Option<u32> {
        if label.is_open() && self.unexpected.used == 1 {
            self.unexpected.use_all_lists();
        }
        let Some(place) = self.unexpected.first(rank, label) else {
            self.count(1, self.unexpected.len(rank));
            self.posted.push(rank, label, receive);
            self.open += u64::from(label.is_open());
            self.searches[0].longest = self.searches[0].longest.max(self.posted.len(rank));
            return None;
        };
        let (message, depth) = self.unexpected.remove(place);
        self.count(1, depth);
        Some(message)
    }
}
