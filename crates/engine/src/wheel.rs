//! Event wheel: the pending events of one partition.
//!
//! Two wheels, one geared to the other. A slot of the near wheel is one instant, whose events are handed out in the
//! order of memory. A slot of the middle wheel, a *coarse slot*, is a span of instants; it is emptied into the near
//! wheel when that has turned far enough. Events beyond both wheels wait in a heap and are rare. Nothing is sorted,
//! whatever the grain of time. When events are few, as those of a single message in flight, they lie in a list that is
//! searched for the next event (*list mode*), and both wheels are empty.
//!
//! An event has a *kind*: its phase within the instant. Within one kind of one instant the order is unspecified:
//! handlers of a kind must commute, or collect and order by ids. This keeps results independent of the order of events
//! in memory.
//!
//! The events of a slot lie in chunks, and the chunk that was emptied last is filled next. The memory in use is that of
//! the pending events, not of the fullest instant times the number of slots, and it is the memory most recently used.
//!
//! Cost: an insertion is a comparison, a store into a chunk and a bit; twice that beyond the near wheel. Opening an
//! instant copies its events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::prefetch::read_through;

mod state;

/// Event: a target and an argument. Its time is that of the instant that hands it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The component that the event concerns, as numbered by the user of the wheel.
    pub target: u32,
    /// The argument, defined by the user of the wheel.
    pub arg: u32,
}

/// All events of one instant, by kind. Reused for every instant, so that nothing is allocated.
#[derive(Clone, Debug)]
pub struct Instant<const KINDS: usize> {
    /// The time, in ticks.
    pub now: u64,
    /// The events of each kind.
    pub kinds: [Vec<Event>; KINDS],
}

impl<const KINDS: usize> Default for Instant<KINDS> {
    fn default() -> Self {
        Self { now: 0, kinds: [const { Vec::new() }; KINDS] }
    }
}

/// Event beyond the near wheel: time, kind, target, argument.
type Later = (u64, u32, u32, u32);

/// Number of events of a chunk: four cache lines.
const CHUNK: usize = 32;

/// Link that points to no chunk.
const NONE: u32 = u32::MAX;

/// Events of one instant and kind: the place after the last event, or 0 if there are none. The chunk of the last event
/// is filled up to this place; the chunks before it are full.
#[derive(Clone, Copy, Debug, Default)]
struct Slot(u32);

impl Slot {
    /// Returns whether the slot has no event, or a full last chunk.
    #[inline(always)]
    fn needs_chunk(self) -> bool {
        self.0.is_multiple_of(CHUNK as u32)
    }

    /// Returns the chunk that is being filled, if any, and the number of its events.
    #[inline(always)]
    fn last(self) -> Option<(u32, usize)> {
        let chunk = self.0.checked_sub(1)? / CHUNK as u32;
        Some((chunk, self.0 as usize - chunk as usize * CHUNK))
    }
}

/// Events of an instant, by kind. Aligned to a power of two, so that finding a slot takes no multiplication.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Slots<const KINDS: usize>([Slot; KINDS]);

/// Memory of the events of all slots.
#[derive(Clone, Debug)]
struct Chunks {
    /// Events, chunk after chunk.
    events: Vec<Event>,
    /// Link of each chunk: the chunk before it in its slot, or the next free chunk.
    next: Vec<u32>,
    free: u32,
}

impl Chunks {
    /// Adds an event to a slot whose last chunk has room.
    #[inline(always)]
    fn push(&mut self, slot: &mut Slot, event: Event) {
        self.events[slot.0 as usize] = event;
        slot.0 += 1;
    }

    /// Takes a free chunk and links it to the last chunk of `slot`.
    #[inline(never)]
    fn take(&mut self, slot: Slot) -> u32 {
        if self.free == NONE {
            self.free = self.next.len() as u32;
            self.events.resize(self.events.len() + CHUNK, Event::default());
            self.next.push(NONE);
        }
        let chunk = self.free;
        let before = slot.last().map_or(NONE, |(before, _)| before);
        self.free = std::mem::replace(&mut self.next[chunk as usize], before);
        chunk
    }

    /// Moves the events of a slot to a list.
    #[inline(always)]
    fn empty(&mut self, slot: &mut Slot, list: &mut Vec<Event>) {
        if let Some((mut chunk, mut used)) = std::mem::take(slot).last() {
            while chunk != NONE {
                let first = chunk as usize * CHUNK;
                list.extend_from_slice(&self.events[first..first + used]);
                let before = std::mem::replace(&mut self.next[chunk as usize], self.free);
                self.free = chunk;
                (chunk, used) = (before, CHUNK);
            }
        }
    }

    /// Iterates over the events of a slot, in no order.
    fn events(&self, slot: Slot) -> impl Iterator<Item = Event> + '_ {
        let before = |&(chunk, _): &(u32, usize)| {
            Some(self.next[chunk as usize]).filter(|&before| before != NONE).map(|before| (before, CHUNK))
        };
        let chunks = std::iter::successors(slot.last(), before);
        chunks.flat_map(|(chunk, used)| self.events[chunk as usize * CHUNK..][..used].iter().copied())
    }
}

/// Event wheel. `KINDS` is the number of phases within an instant.
#[derive(Clone, Debug)]
pub struct Wheel<const KINDS: usize> {
    /// Events by instant and kind, for the `mask + 1` instants of `now..limit`. The array has the maximum length
    /// whatever the wheel's size, so that an index needs no bounds check.
    slots: Box<[Slots<KINDS>; MAX_SLOTS as usize]>,
    chunks: Chunks,
    /// Bit set of the slots that have events. `words` is the bit set of its words that are not 0.
    occupied: [u64; WORDS],
    words: u64,
    mask: u64,
    /// Time of the current instant, in ticks; no event lies before it.
    now: u64,
    /// Time at which the near wheel ends and the middle one begins, in ticks; a multiple of a coarse slot. The near wheel
    /// reaches ahead by more than its size minus a coarse slot.
    limit: u64,
    /// Length of a coarse slot, as the number of time bits within it.
    coarse_bits: u32,
    /// Events of the `COARSE_SLOTS` coarse slots from `limit` on. `coarse_occupied` is the bit set of the coarse slots
    /// that have events.
    coarse: Vec<Vec<Later>>,
    /// Memory of emptied coarse slots; the last one is reused first. Bounded by the number of coarse slots that have
    /// events at one time.
    spare: Vec<Vec<Later>>,
    coarse_occupied: [u64; COARSE_SLOTS / 64],
    /// Number of events in all coarse slots.
    in_coarse: usize,
    far: BinaryHeap<Reverse<Later>>,
    /// Time of the first event in the heap `far`, or `u64::MAX`.
    first_far: u64,
    /// All events but the far ones in list mode, in no order, at most `MAX_LIST`. Both wheels are empty then, and `limit`
    /// is not above `now`, so that every insertion comes to `insert_later`.
    list: Vec<Later>,
    list_mode: bool,
}

/// Maximum number of slots of the near wheel: 4 Ki slots are 64 KB.
const MAX_SLOTS: u64 = 1 << 12;

/// Words of the bit set over the slots. Constant whatever the wheel's size, so that an index needs no bounds check.
const WORDS: usize = (MAX_SLOTS / 64) as usize;

/// Number of coarse slots of the middle wheel, which reaches 128 times as far as the near wheel.
const COARSE_SLOTS: usize = 1024;

/// Maximum number of events that are searched for the next instant; more are put into the wheels.
const MAX_LIST: usize = 32;

/// Length of the near wheel, in coarse slots.
const NEAR_COARSE_SLOTS: u64 = 8;

impl<const KINDS: usize> Wheel<KINDS> {
    /// Maximum size of a wheel without events, in bytes.
    pub const MAX_BYTES: u64 = MAX_SLOTS * size_of::<Slots<KINDS>>() as u64
        + (COARSE_SLOTS * size_of::<Vec<Later>>() + size_of::<Self>()) as u64;

    /// Creates a wheel for events that are mostly at most `horizon` ticks ahead.
    pub fn new(horizon: u64) -> Self {
        let reach = horizon.saturating_add(2).min(MAX_SLOTS);
        Self::sized(
            (reach * NEAR_COARSE_SLOTS).div_ceil(NEAR_COARSE_SLOTS - 1).next_power_of_two().clamp(1024, MAX_SLOTS),
        )
    }

    /// Creates a wheel whose near wheel has `slots` slots, a power of two.
    fn sized(slots: u64) -> Self {
        Self {
            slots: Box::new([Slots([Slot::default(); KINDS]); MAX_SLOTS as usize]),
            chunks: Chunks { events: Vec::new(), next: Vec::new(), free: NONE },
            occupied: [0; WORDS],
            words: 0,
            mask: slots - 1,
            now: 0,
            limit: 0,
            coarse_bits: (slots / NEAR_COARSE_SLOTS).trailing_zeros(),
            coarse: vec![Vec::new(); COARSE_SLOTS],
            spare: Vec::new(),
            coarse_occupied: [0; COARSE_SLOTS / 64],
            in_coarse: 0,
            far: BinaryHeap::new(),
            first_far: u64::MAX,
            list: Vec::with_capacity(MAX_LIST),
            list_mode: true,
        }
    }

    /// Returns the index of the slot of an instant of the near wheel.
    #[inline(always)]
    fn index(&self, at: u64) -> usize {
        (at & self.mask) as usize % MAX_SLOTS as usize
    }

    /// Returns the time of the current instant, in ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Adds an event. Its time `at`, in ticks, may not lie before the current instant. An event at the current instant
    /// is handed out as a further instant of equal time.
    #[inline(always)]
    pub fn insert(&mut self, at: u64, kind: usize, target: u32, arg: u32) {
        debug_assert!(at >= self.now, "an event in the past: {at} < {}", self.now);
        if at >= self.limit {
            return self.insert_later(at, kind, target, arg);
        }
        let index = self.index(at);
        let slot = &mut self.slots[index].0[kind];
        if slot.needs_chunk() {
            slot.0 = self.chunks.take(*slot) * CHUNK as u32;
            self.occupied[(index >> 6) % WORDS] |= 1 << (index & 63);
            self.words |= 1 << ((index >> 6) % WORDS);
        }
        self.chunks.push(slot, Event { target, arg });
    }

    /// Adds an event if `holds`, a condition that is hard to predict: the event is always written, and counted if it
    /// holds.
    #[inline(always)]
    pub fn insert_if(&mut self, holds: bool, at: u64, kind: usize, target: u32) {
        debug_assert!(!holds || at >= self.now, "an event in the past: {at} < {}", self.now);
        let index = self.index(at);
        let slot = &mut self.slots[index].0[kind];
        if at < self.limit && !slot.needs_chunk() {
            self.chunks.events[slot.0 as usize] = Event { target, arg: 0 };
            slot.0 += u32::from(holds);
        } else if holds {
            self.insert(at, kind, target, 0);
        }
    }

    /// Adds an event beyond the near wheel, or any event in list mode.
    #[inline(never)]
    fn insert_later(&mut self, at: u64, kind: usize, target: u32, arg: u32) {
        let event = (at, kind as u32, target, arg);
        if self.list_mode {
            if self.list.len() < MAX_LIST {
                return self.list.push(event);
            }
            self.leave_list_mode();
            return self.insert(at, kind, target, arg);
        }
        if (at - self.limit) >> self.coarse_bits < COARSE_SLOTS as u64 {
            let slot = (at >> self.coarse_bits) as usize % COARSE_SLOTS;
            let events = &mut self.coarse[slot];
            if events.capacity() == 0 {
                *events = self.spare.pop().unwrap_or_default();
            }
            events.push(event);
            self.coarse_occupied[slot / 64] |= 1 << (slot % 64);
            self.in_coarse += 1;
        } else {
            self.far.push(Reverse(event));
            self.first_far = self.first_far.min(at);
        }
    }

    /// Moves to the next instant before `until` and hands out its events. Returns `false` if there is none, with the
    /// clock at `until`.
    #[inline]
    pub fn next(&mut self, until: u64, instant: &mut Instant<KINDS>) -> bool {
        for kind in &mut instant.kinds {
            kind.clear();
        }
        while self.now < until {
            if self.words == 0 && self.in_coarse == 0 && !self.list_mode {
                self.enter_list_mode();
            }
            if self.list_mode
                && let Some(found) = self.next_of_list(until, instant)
            {
                return found;
            }
            self.advance();
            let Some(at) = self.first_near() else {
                self.jump(until);
                continue;
            };
            self.now = at.min(until);
            if at >= until {
                break;
            }
            let index = self.index(at);
            for (kind, slot) in instant.kinds.iter_mut().zip(&mut self.slots[index].0) {
                self.chunks.empty(slot, kind);
            }
            let word = (index >> 6) % WORDS;
            self.occupied[word] &= !(1 << (index & 63));
            self.words &= !(u64::from(self.occupied[word] == 0) << word);
            instant.now = at;
            return true;
        }
        false
    }

    /// Moves to the next instant before `until` and hands out its events from the list, in list mode. Returns `None`
    /// if there are too many events, so that list mode ends.
    fn next_of_list(&mut self, until: u64, instant: &mut Instant<KINDS>) -> Option<bool> {
        let mut first = self.list.iter().fold(u64::MAX, |first, event| first.min(event.0));
        while self.first_far <= first && self.first_far < u64::MAX {
            if self.list.len() == MAX_LIST {
                self.leave_list_mode();
                return None;
            }
            self.list.extend(self.far.pop().map(|Reverse(event)| event));
            first = self.first_far;
            self.first_far = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        }
        self.now = first.min(until);
        if first >= until {
            return Some(false);
        }
        let mut index = 0;
        while let Some(&(at, kind, target, arg)) = self.list.get(index) {
            if at == first {
                self.list.swap_remove(index);
                instant.kinds[kind as usize].push(Event { target, arg });
            } else {
                index += 1;
            }
        }
        instant.now = first;
        Some(true)
    }

    /// Moves the events of the list into the wheels.
    #[cold]
    fn leave_list_mode(&mut self) {
        self.list_mode = false;
        self.limit = self.now >> self.coarse_bits << self.coarse_bits;
        self.advance();
        let mut few = std::mem::take(&mut self.list);
        for (at, kind, target, arg) in few.drain(..) {
            self.insert(at, kind as usize, target, arg);
        }
        self.list = few;
    }

    /// Stops the wheels; later events are put into the list. Requires that both wheels are empty.
    #[cold]
    fn enter_list_mode(&mut self) {
        self.list_mode = true;
        self.limit = 0;
    }

    /// Reads the memory of all events once, in its order. Pays off if other wheels have evicted it from the cache.
    pub fn before_window(&self) {
        read_through(&self.chunks.events, |event| u64::from(event.target));
    }

    /// Iterates over all pending events with their kinds, in no order. For checks.
    pub fn events(&self) -> impl Iterator<Item = (usize, Event)> + '_ {
        self.timed_events().map(|(_, kind, target, arg)| (kind as usize, Event { target, arg }))
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.events().count()
    }

    /// Returns whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time of the first event of the near wheel, in ticks.
    #[inline]
    fn first_near(&self) -> Option<u64> {
        let start = (self.now & self.mask) as usize;
        let word = (start >> 6) % WORDS;
        let bits = self.occupied[word] & (u64::MAX << (start & 63));
        let (word, bits) = if bits != 0 {
            (word, bits)
        } else {
            // The first occupied word after this one, or else the first of all: the wheel has turned.
            let behind = self.words & (u64::MAX << word << 1);
            let words = if behind != 0 { behind } else { self.words };
            let word = words.trailing_zeros() as usize;
            (word, if words == 0 { return None } else { self.occupied[word % WORDS] })
        };
        let index = ((word << 6) as u64) + u64::from(bits.trailing_zeros());
        Some(self.now + (index.wrapping_sub(start as u64) & self.mask))
    }

    /// Empties the coarse slots that lie within the reach of the near wheel.
    #[inline]
    fn advance(&mut self) {
        let reach = (self.now >> self.coarse_bits << self.coarse_bits) + self.mask + 1;
        if self.limit < reach {
            self.extend_near(reach);
        }
    }

    /// Extends the near wheel to time `reach`, in ticks, the beginning of a coarse slot.
    #[cold]
    fn extend_near(&mut self, reach: u64) {
        while let Some(slot) = self.next_coarse().filter(|slot| slot << self.coarse_bits < reach) {
            self.take_coarse(slot);
        }
        self.limit = reach;
        while self.first_far < self.limit {
            if let Some(Reverse((at, kind, target, arg))) = self.far.pop() {
                self.insert(at, kind as usize, target, arg);
            }
            self.first_far = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        }
    }

    /// Empties a coarse slot into the near wheel. Requires that all coarse slots before it are empty.
    fn take_coarse(&mut self, slot: u64) {
        self.limit = (slot + 1) << self.coarse_bits;
        let slot = slot as usize % COARSE_SLOTS;
        self.coarse_occupied[slot / 64] &= !(1 << (slot % 64));
        let mut events = std::mem::take(&mut self.coarse[slot]);
        self.in_coarse -= events.len();
        for (at, kind, target, arg) in events.drain(..) {
            self.insert(at, kind as usize, target, arg);
        }
        self.spare.push(events);
    }

    /// Returns the first coarse slot that has events.
    fn next_coarse(&self) -> Option<u64> {
        if self.in_coarse == 0 {
            return None;
        }
        let first = self.limit >> self.coarse_bits;
        let start = first as usize % COARSE_SLOTS;
        let mut word = start / 64;
        let mut bits = self.coarse_occupied[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) % self.coarse_occupied.len();
            bits = self.coarse_occupied[word];
        }
        let slot = word * 64 + bits.trailing_zeros() as usize;
        Some(first + ((slot + COARSE_SLOTS - start) % COARSE_SLOTS) as u64)
    }

    /// Advances the clock to the coarse slot of the next event, or to `until`. Requires that the near wheel is empty.
    #[cold]
    fn jump(&mut self, until: u64) {
        let start = self.next_coarse().map_or(u64::MAX, |slot| slot << self.coarse_bits);
        self.now = start.min(self.first_far).min(until);
        // All earlier coarse slots are empty, so the near wheel may begin here. The next turn extends the near wheel.
        self.limit = self.limit.max(self.now >> self.coarse_bits << self.coarse_bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns everything that a wheel hands out, as (time, kind, target), in that order.
    fn drain(wheel: &mut Wheel<2>, until: u64) -> Vec<(u64, usize, u32)> {
        let mut instant = Instant::default();
        let mut all = Vec::new();
        while wheel.next(until, &mut instant) {
            for (kind, events) in instant.kinds.iter().enumerate() {
                all.extend(events.iter().map(|event| (instant.now, kind, event.target)));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn events_come_out_once_each_in_time_order(
            horizon in prop_oneof![1_u64..50, 1_u64..100_000],
            times in prop::collection::vec((0_u64..400_000, 0_usize..2), 0..200),
            stops in prop::collection::vec(0_u64..500_000, 0..5),
        ) {
            // Would catch a lost or repeated event, a wrong turn of the wheel, a bad sort, a stop that skips.
            let mut wheel = Wheel::<2>::new(horizon);
            for (id, &(at, kind)) in times.iter().enumerate() {
                wheel.insert(at, kind, id as u32, 0);
            }
            let mut stops = stops;
            stops.sort_unstable();
            stops.push(1_000_000);
            let mut got = Vec::new();
            for stop in stops {
                let part = drain(&mut wheel, stop);
                prop_assert!(part.iter().all(|&(at, ..)| at < stop));
                got.extend(part);
            }
            prop_assert!(got.is_sorted_by_key(|&(at, ..)| at));
            let mut want: Vec<_> =
                times.iter().enumerate().map(|(id, &(at, kind))| (at, kind, id as u32)).collect();
            want.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, want);
            prop_assert!(wheel.is_empty());
        }

        #[test]
        fn events_under_a_condition_come_out_where_it_holds(
            horizon in prop_oneof![1_u64..50, 1_u64..100_000],
            times in prop::collection::vec((0_u64..40, any::<bool>(), any::<bool>()), 0..300),
            scale in prop_oneof![Just(1_u64), Just(3_000)],
        ) {
            // Would catch an event that is written over another, that is counted although its condition does not hold,
            // or that is lost at the edge of a chunk or beyond the near wheel.
            let mut wheel = Wheel::<2>::new(horizon);
            for (id, &(at, holds, is_plain)) in times.iter().enumerate() {
                if is_plain {
                    wheel.insert(at * scale, 1, id as u32, 0);
                } else {
                    wheel.insert_if(holds, at * scale, 1, id as u32);
                }
            }
            let mut got = drain(&mut wheel, 1_000_000);
            let held = times.iter().enumerate().filter(|(_, (_, holds, is_plain))| *holds || *is_plain);
            let mut want: Vec<_> = held.map(|(id, (at, ..))| (at * scale, 1, id as u32)).collect();
            want.sort_unstable();
            got.sort_unstable();
            prop_assert_eq!(got, want);
            prop_assert!(wheel.is_empty());
        }

        #[test]
        fn events_inserted_while_running_are_found(
            horizon in prop_oneof![1_u64..50, 1_u64..100_000],
            delays in prop::collection::vec(1_u64..3_000, 1..200),
        ) {
            // Would catch an event lost when it is inserted into the slot that is open.
            let mut wheel = Wheel::<2>::new(horizon);
            let mut instant = Instant::default();
            wheel.insert(5, 0, 0, 0);
            let mut seen = Vec::new();
            while wheel.next(u64::MAX - 1, &mut instant) {
                for event in &instant.kinds[0] {
                    seen.push(instant.now);
                    if let Some(delay) = delays.get(event.target as usize) {
                        wheel.insert(instant.now + delay, 0, event.target + 1, 0);
                    }
                }
            }
            let want: Vec<u64> = std::iter::once(5)
                .chain(delays.iter().scan(5, |at, delay| { *at += delay; Some(*at) }))
                .collect();
            prop_assert_eq!(seen, want);
        }
    }

    #[test]
    fn memory_is_that_of_the_teeth_that_have_events() {
        // Would catch coarse slots that keep the memory of the most events ever in them: bursts of 100 events, each burst in
        // another coarse slot.
        let mut wheel = Wheel::<2>::new(50);
        let mut instant = Instant::default();
        for burst in 1..500_u64 {
            (0..100).for_each(|id| wheel.insert(burst * 10_000, 0, id, 0));
            while wheel.next(burst * 10_000 + 1, &mut instant) {}
        }
        let capacity: usize = wheel.coarse.iter().chain(&wheel.spare).map(Vec::capacity).sum();
        assert!(capacity < 500, "room for {capacity} events");
    }
}
