//! The queues that receives and messages wait in.
//!
//! A queue of few entries is searched from its front, as an MPI library does. A longer one has a list for each source and tag, and for
//! each with either or both of them left open, which finds the first entry without a search; how many entries a search from the
//! front would have visited is counted exactly ([`Order`]). Both forms find the same entry and count the same.

use crate::burst::PostedBurst;
use crate::label::Label;
use crate::order::Order;
use crate::table::{Key, Table};

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

/// The most entries of a queue that is searched from its front: some cache lines.
const SHORT: u32 = 8;

/// A list: a label at a rank, by its number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListKey {
    rank: u32,
    label: Label,
}

impl Key for ListKey {
    fn words(self) -> (u64, u64) {
        let (source, tag) = self.label.words();
        (u64::from(self.rank) << 32 | u64::from(source), tag)
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

const NOWHERE: Link = Link { before: NONE, behind: NONE };

/// The queue of a rank.
#[derive(Clone, Debug)]
struct RankQueue {
    list: List,
    /// Entries,
    entries: u32,
    /// and what they stand for: more than entries where there are bursts.
    len: u32,
    /// The order of the entries, if they are in lists; then none of them is a burst.
    order: Option<Box<Order>>,
}

/// An entry of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<const LISTS: usize> {
    /// What it stands for,
    item: u32,
    /// its number in its burst, if it was part of one,
    number: u32,
    /// or the burst that it is.
    burst: u32,
    rank: u32,
    pub label: Label,
    position: u32,
    /// In the queue of its rank,
    link: Link,
    /// and in each of its lists.
    links: [Link; LISTS],
}

/// What a search has found: an entry, the number in its burst, and how many entries the search has visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    place: u32,
    number: u32,
    pub depth: u32,
}

/// Queues of ranks, each entry of which can be in so many lists: its own, and those of the labels next in `Label::wider`.
#[derive(Clone, Debug)]
pub(crate) struct Queue<const LISTS: usize> {
    ranks: Vec<RankQueue>,
    lists: Table<ListKey, List>,
    entries: Vec<Entry<LISTS>>,
    free: Vec<u32>,
    bursts: Vec<Option<PostedBurst>>,
    free_bursts: Vec<u32>,
    /// Lists that entries are in at present, of `LISTS`.
    used: usize,
}

impl<const LISTS: usize> Queue<LISTS> {
    /// Empty queues of so many ranks, whose entries are in their own lists only.
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

    /// What the entries of a rank stand for.
    #[inline]
    pub fn len(&self, rank: u32) -> u32 {
        self.ranks[rank as usize].len
    }

    /// Searches a rank's queue for an entry that has one of some labels, the first of which is a message's own, or that is a burst
    /// with a receive for it; `meets` says whether an entry's label is one of them.
    #[inline]
    pub fn search(&mut self, rank: u32, labels: &[Label], meets: impl Fn(Label) -> bool) -> Option<Found> {
        match self.ranks[rank as usize].order {
            None => self.walk(rank, labels[0].source, meets),
            Some(_) => self.look_up(rank, labels),
        }
    }

    /// Searches from the front.
    #[inline]
    fn walk(&mut self, rank: u32, source: u32, meets: impl Fn(Label) -> bool) -> Option<Found> {
        let (mut place, mut depth) = (self.ranks[rank as usize].list.head, 0);
        while place != NONE {
            let Entry { label, number, burst, link, .. } = self.entries[place as usize];
            if burst == NONE {
                depth += 1;
                if meets(label) {
                    return Some(Found { place, number, depth });
                }
            } else if let Some(burst) = &mut self.bursts[burst as usize] {
                // What a burst's label says of the source is of its first receive.
                if meets(Label { source, ..label })
                    && let Some(number) = burst.find(source)
                {
                    return Some(Found { place, number, depth: depth + burst.before(number) + 1 });
                }
                depth += burst.len();
            }
            place = link.behind;
        }
        None
    }

    /// Looks the first entry of each label up.
    fn look_up(&self, rank: u32, labels: &[Label]) -> Option<Found> {
        let first = |&label: &Label| self.lists.get(ListKey { rank, label }).map(|list| list.head);
        let place = labels.iter().filter_map(first).min_by_key(|&place| self.entries[place as usize].position)?;
        let Entry { position, number, .. } = self.entries[place as usize];
        let before = self.ranks[rank as usize].order.as_ref().map_or(0, |order| order.before(position));
        Some(Found { place, number, depth: before + 1 })
    }

    /// The label of what has been found.
    pub fn label(&self, found: Found) -> Label {
        self.entries[found.place as usize].label
    }

    /// What it stands for.
    pub fn item(&self, found: Found) -> u32 {
        self.entries[found.place as usize].item
    }

    /// Takes out what has been found; returns what it stands for, and its number in its burst.
    #[inline]
    pub fn take(&mut self, Found { place, number, .. }: Found) -> (u32, u32) {
        let Entry { item, rank, burst, .. } = self.entries[place as usize];
        self.ranks[rank as usize].len -= 1;
        if burst != NONE {
            let left = self.bursts[burst as usize].as_mut().map_or(0, |burst| {
                burst.remove(number);
                burst.len()
            });
            if left > 0 {
                return (item, number);
            }
            self.bursts[burst as usize] = None;
            self.free_bursts.push(burst);
        }
        self.remove(place);
        (item, number)
    }

    /// Takes out an entry.
    #[inline]
    fn remove(&mut self, place: u32) {
        let Entry { rank, label, position, link, .. } = self.entries[place as usize];
        let queue = &mut self.ranks[rank as usize];
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
                self.delist(place, number, ListKey { rank, label: label.wider()[number] });
            }
            if self.ranks[rank as usize].entries == 0 {
                self.ranks[rank as usize].order = None;
            }
        }
        self.free.push(place);
    }

    /// Adds an entry at the end of a rank's queue, by its number in its burst.
    #[inline]
    pub fn push(&mut self, rank: u32, label: Label, (item, number): (u32, u32)) {
        let queue = &self.ranks[rank as usize];
        if queue.order.is_none() && queue.entries >= SHORT {
            self.index(rank);
        }
        self.ranks[rank as usize].len += 1;
        self.append(Entry {
            item,
            number,
            burst: NONE,
            rank,
            label,
            position: 0,
            link: NOWHERE,
            links: [NOWHERE; LISTS],
        });
    }

    /// Adds a burst at the end of a rank's queue, with the label of its first receive.
    pub fn push_burst(&mut self, rank: u32, label: Label, item: u32, burst: PostedBurst) {
        let queue = &mut self.ranks[rank as usize];
        if queue.order.is_some() || queue.entries >= SHORT {
            for (number, source) in burst.receives() {
                self.push(rank, Label { source, ..label }, (item, number));
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
        self.append(Entry { item, number: 0, burst: place, rank, label, position: 0, link, links });
    }

    /// Puts an entry at the end of the queue of its rank.
    #[inline]
    fn append(&mut self, entry: Entry<LISTS>) {
        let rank = entry.rank;
        let is_indexed = self.ranks[rank as usize].order.is_some();
        let position = if is_indexed { self.position(rank) } else { 0 };
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        let queue = &mut self.ranks[rank as usize];
        queue.entries += 1;
        let before = std::mem::replace(&mut queue.list.tail, place);
        match before {
            NONE => queue.list.head = place,
            before => self.entries[before as usize].link.behind = place,
        }
        let entry = Entry { position, link: Link { before, behind: NONE }, ..entry };
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        if is_indexed {
            (0..self.used).for_each(|number| self.enlist(place, number));
        }
    }

    /// Puts the entries of a rank into lists, each receive of a burst by itself.
    #[cold]
    fn index(&mut self, rank: u32) {
        let all: Vec<(Label, (u32, u32))> = self.of_rank(rank).collect();
        let mut place = std::mem::replace(&mut self.ranks[rank as usize].list, EMPTY).head;
        while place != NONE {
            let Entry { link, burst, .. } = self.entries[place as usize];
            if burst != NONE {
                self.bursts[burst as usize] = None;
                self.free_bursts.push(burst);
            }
            self.free.push(place);
            place = link.behind;
        }
        let queue = &mut self.ranks[rank as usize];
        (queue.entries, queue.len, queue.order) = (0, 0, Some(Box::default()));
        all.into_iter().for_each(|(label, item)| self.push(rank, label, item));
    }

    /// What waits in the queue of a rank, from the front: labels, what they stand for, and numbers in bursts.
    pub fn of_rank(&self, rank: u32) -> impl Iterator<Item = (Label, (u32, u32))> + '_ {
        let head = Some(self.ranks[rank as usize].list.head);
        let place = |place: u32| Some(place).filter(|&place| place != NONE);
        let places =
            std::iter::successors(head.and_then(place), move |&at| place(self.entries[at as usize].link.behind));
        places.flat_map(|place| {
            let Entry { item, number, burst, label, .. } = self.entries[place as usize];
            let burst = self.bursts.get(burst as usize).and_then(Option::as_ref);
            let own = burst.is_none().then_some((label, (item, number)));
            let receives = burst.into_iter().flat_map(PostedBurst::receives);
            own.into_iter().chain(receives.map(move |(number, source)| (Label { source, ..label }, (item, number))))
        })
    }

    /// The position of an entry that is about to come.
    fn position(&mut self, rank: u32) -> u32 {
        let RankQueue { order: Some(order), list, .. } = &mut self.ranks[rank as usize] else { return 0 };
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
