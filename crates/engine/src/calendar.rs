//! Calendar queue of events that are ordered within an instant, for models without a common tick (Brown, "Calendar
//! queues", CACM 1988).
//!
//! A year is divided into days. A day ahead is an unordered list, which is sorted when the day comes. Events added to
//! today wait in a heap; events beyond the year wait in a second heap. If a day is about as long as the usual distance
//! between events, adding is a store, taking is a pop, and a day whose events were added in order needs no sorting. The
//! length of a day adapts to the events added; it cannot change the order in which events are taken.
//!
//! The wheel is faster where all times are multiples of a tick that is not much shorter than they are, and where a
//! phase of an instant may be handled in any order. A calendar needs neither property.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Record, State};

/// Event: its time, its order within the instant, and its content.
type Entry<T> = (u64, u64, T);

/// Event of a day ahead, linked to the event that was added to that day before it.
#[derive(Clone, Copy, Debug)]
struct Node<T> {
    entry: Entry<T>,
    behind: u32,
}

/// Link that points to no node.
const NONE: u32 = u32::MAX;

/// Days of a year.
const DAYS: u64 = 1024;

/// Words of the bit set over the days of a year.
const WORDS: usize = DAYS as usize / 64;

/// Minimum number of events between two reviews of the length of a day.
const REVIEW: usize = 4096;

/// Event counts that decide whether the length of a day changes.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    came: usize,
    late: usize,
    far: usize,
}

/// Priority queue of events: ordered by time, then by order within the instant, then by content.
#[derive(Debug)]
pub struct Calendar<T> {
    /// Length of a day, as the number of time bits within it.
    bits: u32,
    /// The current day; all days before it are over.
    today: u64,
    /// Today's events at the time when the day came, latest first.
    sorted: Vec<Entry<T>>,
    /// Events added to today since it came.
    late: BinaryHeap<Reverse<Entry<T>>>,
    /// Node of the event added last, by day of the year.
    days: Vec<u32>,
    /// Bit set of the days that have events.
    occupied: [u64; WORDS],
    nodes: Vec<Node<T>>,
    free: u32,
    /// Number of events in the days ahead.
    ahead: usize,
    /// Events beyond the year.
    far: BinaryHeap<Reverse<Entry<T>>>,
    /// Events since the last review of the length of a day: taken over from days that came, added to today, and added
    /// beyond the year.
    counts: Counts,
    /// Sum of `came` and `late` at which the next review takes place.
    next_review: usize,
}

impl<T: Copy + Ord> Calendar<T> {
    /// Creates an empty calendar. `distance` is the usual time between two events, in the calendar's time unit.
    pub fn new(distance: u64) -> Self {
        Self {
            bits: distance.max(1).ilog2().saturating_sub(2),
            today: 0,
            sorted: Vec::new(),
            late: BinaryHeap::new(),
            days: vec![NONE; DAYS as usize],
            occupied: [0; WORDS],
            nodes: Vec::new(),
            free: NONE,
            ahead: 0,
            far: BinaryHeap::new(),
            counts: Counts::default(),
            next_review: REVIEW,
        }
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.sorted.len() + self.late.len() + self.ahead + self.far.len()
    }

    /// Returns whether there are no events.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event `item` at time `at`, with `order` within the instant. Inlined: otherwise an event is written to
    /// memory twice.
    #[inline(always)]
    pub fn push(&mut self, at: u64, order: u64, item: T) {
        let day = at >> self.bits;
        match self.is_ahead(day) {
            true => self.add_ahead(day, at, order, item),
            false => self.add_elsewhere(day, (at, order, item)),
        }
        if self.counts.late >= self.next_review {
            self.review();
        }
    }

    /// Returns whether a day lies ahead within the year.
    #[inline]
    fn is_ahead(&self, day: u64) -> bool {
        // The difference is 0 for the day after today, and wraps for a day that is over, which thus counts as beyond
        // the year.
        day.wrapping_sub(self.today).wrapping_sub(1) < DAYS - 1
    }

    /// Adds an event to today or beyond the year.
    #[inline(never)]
    fn add_elsewhere(&mut self, day: u64, entry: Entry<T>) {
        if day <= self.today {
            self.counts.late += 1;
            self.late.push(Reverse(entry));
        } else {
            self.counts.far += 1;
            self.far.push(Reverse(entry));
        }
    }

    /// Adds an event to a day ahead.
    #[inline(always)]
    fn add_ahead(&mut self, day: u64, at: u64, order: u64, item: T) {
        if self.free == NONE {
            self.add_node(item);
        }
        let (place, day) = (self.free, (day % DAYS) as usize);
        let node = &mut self.nodes[place as usize];
        self.free = node.behind;
        // Written field by field: a copy of the whole node would have to wait until its parts have been written.
        node.entry.0 = at;
        node.entry.1 = order;
        node.entry.2 = item;
        node.behind = std::mem::replace(&mut self.days[day], place);
        self.occupied[day / 64] |= 1 << (day % 64);
        self.ahead += 1;
    }

    /// Adds a free node. `item` only fills its memory.
    #[cold]
    fn add_node(&mut self, item: T) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { entry: (0, 0, item), behind: NONE });
    }

    /// Takes the first event, unless its time is after `last`.
    #[inline]
    pub fn take(&mut self, last: u64) -> Option<(u64, u64, T)> {
        if !self.late.is_empty() {
            return self.take_of_both(last);
        }
        if self.sorted.is_empty() {
            if self.counts.came + self.counts.late >= self.next_review {
                self.review();
                if !self.late.is_empty() {
                    return self.take_of_both(last);
                }
            }
            if !self.come_to_next(last) {
                return None;
            }
        }
        self.sorted.pop_if(|entry| entry.0 <= last)
    }

    /// Takes the first event, unless its time is after `last`, when both `sorted` and `late` have events of today.
    fn take_of_both(&mut self, last: u64) -> Option<Entry<T>> {
        let Reverse(late) = *self.late.peek()?;
        match self.sorted.last() {
            Some(next) if *next < late => self.sorted.pop_if(|entry| entry.0 <= last),
            _ if late.0 <= last => self.late.pop().map(|Reverse(entry)| entry),
            _ => None,
        }
    }

    /// Returns the time of the first event.
    pub fn first(&self) -> Option<u64> {
        let next = self.sorted.last().map(|entry| entry.0);
        let late = self.late.peek().map(|Reverse(entry)| entry.0);
        let today = next.into_iter().chain(late).min();
        today.or_else(|| {
            let day = self.next_day()?;
            let far = self.far.peek().map(|Reverse(entry)| entry.0);
            self.of_day(day).map(|entry| entry.0).chain(far).min()
        })
    }

    /// Returns the first day ahead that has events, within the year or beyond it.
    #[inline]
    fn next_day(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse(entry)| entry.0 >> self.bits);
        if self.ahead == 0 {
            return far;
        }
        let start = ((self.today + 1) % DAYS) as usize;
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) % WORDS;
            bits = self.occupied[word];
        }
        let day = (word * 64) as u64 + u64::from(bits.trailing_zeros());
        let ahead = self.today + 1 + (day + DAYS - start as u64) % DAYS;
        Some(far.map_or(ahead, |far| far.min(ahead)))
    }

    /// Iterates over the events of a day ahead.
    fn of_day(&self, day: u64) -> impl Iterator<Item = &Entry<T>> {
        let mut place = if self.ahead == 0 { NONE } else { self.days[(day % DAYS) as usize] };
        std::iter::from_fn(move || {
            let node = self.nodes.get(place as usize)?;
            place = node.behind;
            Some(&node.entry)
        })
    }

    /// Advances to the next day that has events, unless it begins after `last`. Returns whether it advanced.
    fn come_to_next(&mut self, last: u64) -> bool {
        let Some(day) = self.next_day().filter(|&day| day <= last >> self.bits) else { return false };
        self.today = day;
        let index = (day % DAYS) as usize;
        let mut place = std::mem::replace(&mut self.days[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        while place != NONE {
            let node = &mut self.nodes[place as usize];
            self.sorted.push(node.entry);
            let behind = std::mem::replace(&mut node.behind, self.free);
            self.free = place;
            place = behind;
        }
        self.ahead -= self.sorted.len();
        self.come_near();
        self.counts.came += self.sorted.len();
        // One comparison of 128 bits orders most events, without a branch. A day mostly consists of a few ordered runs,
        // one for each kind of event, which a stable sort merges.
        let key = |entry: &Entry<T>| u128::from(entry.0) << 64 | u128::from(entry.1);
        self.sorted.sort_by(|one, other| key(other).cmp(&key(one)).then_with(|| other.2.cmp(&one.2)));
        true
    }

    /// Moves events that now lie within the year to their days.
    fn come_near(&mut self) {
        while let Some(&Reverse(entry)) = self.far.peek() {
            let day = entry.0 >> self.bits;
            match day - self.today {
                0 => self.sorted.push(entry),
                1..DAYS => self.add_ahead(day, entry.0, entry.1, entry.2),
                _ => return,
            }
            self.far.pop();
        }
    }

    /// Changes the length of a day if too many events are added to today or beyond the year.
    #[cold]
    fn review(&mut self) {
        let Counts { came, late, far } = self.counts;
        let all = came + late;
        let bits = match () {
            () if 4 * far > all => self.bits.saturating_add(3).min(60),
            () if 4 * late > all => self.bits.saturating_sub(2),
            () => self.bits,
        };
        if all < self.len() {
            // Adding all events again would take longer than a better length saves.
            self.next_review = all + REVIEW;
            return;
        }
        if bits != self.bits {
            self.change(bits);
        }
        (self.counts, self.next_review) = (Counts::default(), REVIEW);
    }

    /// Sets the length of a day to `bits` bits and adds all events again.
    fn change(&mut self, bits: u32) {
        let mut all: Vec<Entry<T>> = std::mem::take(&mut self.sorted);
        all.extend(self.late.drain().chain(self.far.drain()).map(|Reverse(entry)| entry));
        for head in &mut self.days {
            let mut place = std::mem::replace(head, NONE);
            while let Some(node) = self.nodes.get(place as usize) {
                all.push(node.entry);
                place = node.behind;
            }
        }
        self.occupied = [0; WORDS];
        self.nodes.clear();
        (self.free, self.ahead) = (NONE, 0);
        self.today = (self.today << self.bits) >> bits;
        self.bits = bits;
        all.sort_unstable();
        for entry in all {
            let day = entry.0 >> self.bits;
            match self.is_ahead(day) {
                true => self.add_ahead(day, entry.0, entry.1, entry.2),
                false => self.add_elsewhere(day, entry),
            }
        }
    }
}

impl<T: Copy + Ord + Record> State for Calendar<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.bits.put(to);
        let ahead = self.days.iter().filter(|&&place| place != NONE);
        let ahead = ahead.flat_map(|&place| {
            let nodes =
                std::iter::successors(self.nodes.get(place as usize), |node| self.nodes.get(node.behind as usize));
            nodes.map(|node| node.entry)
        });
        let others = self.late.iter().chain(&self.far).map(|&Reverse(entry)| entry);
        self.sorted.iter().copied().chain(others).chain(ahead).collect::<Vec<Entry<T>>>().put(to);
    }

    /// The length of a day and its review have no influence on the order of events.
    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        *self = Self { bits: u32::take(from).filter(|&bits| bits < 64)?, ..Self::new(1) };
        let mut entries = Vec::<Entry<T>>::take(from)?;
        entries.sort_unstable();
        self.today = entries.first().map_or(0, |first| first.0 >> self.bits);
        entries.into_iter().for_each(|(at, order, item)| self.push(at, order, item));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_out_once_each_in_order(
            distance in prop_oneof![1_u64..50, 1_u64..1_000_000],
            steps in prop::collection::vec((0_u64..5, prop_oneof![0_u64..40, 0_u64..3_000_000, Just(1 << 40)], 0_u64..4), 0..400),
        ) {
            // Would catch a lost or repeated event, an order by anything but time and order within the instant, a day
            // that comes too early, an event added to today that is passed over, and an event that is not saved.
            let (mut calendar, mut naive) = (Calendar::new(distance), std::collections::BTreeSet::new());
            let mut now = 0;
            for (number, (takes, after, order)) in (0_u32..).zip(steps) {
                calendar.push(now + after, order, number);
                naive.insert((now + after, order, number));
                prop_assert_eq!(calendar.len(), naive.len());
                if number % 16 == 0 {
                    let (mut saved, mut loaded) = (Vec::new(), Calendar::new(1));
                    calendar.save(&mut saved);
                    prop_assert_eq!(loaded.load(&mut &saved[..]), Some(()));
                    calendar = loaded;
                }
                prop_assert_eq!(calendar.first(), naive.first().map(|first| first.0));
                for _ in 0..takes {
                    let last = now + 1_000_000;
                    let due = naive.first().copied().filter(|first| first.0 <= last);
                    prop_assert_eq!(calendar.take(last), due);
                    let Some(due) = due else { break };
                    naive.remove(&due);
                    now = due.0;
                }
            }
            while let Some(first) = naive.pop_first() {
                prop_assert_eq!(calendar.take(u64::MAX), Some(first));
            }
            prop_assert!(calendar.is_empty() && calendar.take(u64::MAX).is_none());
        }

        #[test]
        fn days_that_do_not_suit_change_and_lose_nothing(distance in prop_oneof![Just(1_u64), Just(1 << 40)], gaps in 1_u64..100_000) {
            // Would catch events that are lost, or come in another order, when the length of a day changes.
            let mut calendar = Calendar::new(distance);
            (0..100_u64).for_each(|number| calendar.push(number * gaps, number % 3, 0));
            let mut before = (0, 0, 0_u64);
            for taken in 1..20_000 {
                let event = calendar.take(u64::MAX).unwrap();
                prop_assert!(event >= before);
                before = event;
                calendar.push(event.0 + 1 + (taken * 7919) % (200 * gaps), event.1, taken);
            }
            prop_assert_eq!(calendar.len(), 100);
        }
    }
}
