//! The event wheel: what happens when, for one partition.
//!
//! A wheel of slots, each a span of `1 << shift` ticks. With `shift` 0 (everything keeps step) a slot is one instant
//! and its events are handed out as they lie; otherwise a slot is sorted by time when it is opened. An event has a
//! *lane*, its phase within the instant, and within a lane of one instant the order is unspecified: what handles a lane
//! must commute, or collect and order by ids. That is what keeps results independent of how events came into memory.
//!
//! Cost: inserting is a push to a vector and a bit; opening a slot of one instant is a swap of vectors. Events beyond
//! the wheel's span wait in a heap; they are few (the next message of an idle source).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One thing that happens: to whom, with what. Its time is that of the instant that hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The low bits of its time, in ticks; only meaningful within the wheel's span.
    at: u32,
    /// The component that it concerns; numbered by the user.
    pub target: u32,
    /// What it brings; the user's.
    pub arg: u32,
}

/// All events of one instant, by lane. Reused from instant to instant, so that nothing is allocated.
#[derive(Debug)]
pub struct Instant<const LANES: usize> {
    /// The time, in ticks.
    pub now: u64,
    /// The events of each lane.
    pub lanes: [Vec<Event>; LANES],
}

impl<const LANES: usize> Default for Instant<LANES> {
    fn default() -> Self {
        Self { now: 0, lanes: std::array::from_fn(|_| Vec::new()) }
    }
}

/// An event too far ahead for the wheel: time, lane, target, argument.
type FarEvent = Reverse<(u64, u32, u32, u32)>;

/// The wheel. `LANES` is the number of phases within an instant.
#[derive(Debug)]
pub struct Wheel<const LANES: usize> {
    /// Each slot's events by lane: unordered until the slot is opened.
    slots: Vec<[Vec<Event>; LANES]>,
    /// One bit a slot: whether it has events.
    occupied: Vec<u64>,
    mask: u64,
    shift: u32,
    /// No event lies before this time, in ticks.
    now: u64,
    /// The slot number (time >> shift) that is open, sorted latest first; only where `shift` is not 0. Else `CLOSED`.
    open: u64,
    far: BinaryHeap<FarEvent>,
    /// The time of the first far event, or `u64::MAX`.
    first_far: u64,
}

/// No slot is open.
const CLOSED: u64 = u64::MAX;

/// The most slots that a wheel has: 8 Ki of them are 0.8 MB and fit a cache.
const MAX_SLOTS: u64 = 1 << 13;

impl<const LANES: usize> Wheel<LANES> {
    /// A wheel for events at most `horizon` ticks ahead, as a rule.
    pub fn new(horizon: u64) -> Self {
        let wanted = (horizon + 2).next_power_of_two();
        let slots = wanted.clamp(64, MAX_SLOTS);
        let shift = (wanted / slots).max(1).trailing_zeros();
        Self {
            slots: (0..slots).map(|_| std::array::from_fn(|_| Vec::new())).collect(),
            occupied: vec![0; (slots / 64) as usize],
            mask: slots - 1,
            shift,
            now: 0,
            open: CLOSED,
            far: BinaryHeap::new(),
            first_far: u64::MAX,
        }
    }

    /// Whether every slot is one instant, so that nothing is sorted.
    pub fn slotted(&self) -> bool {
        self.shift == 0
    }

    /// The time of the instant that is being handled, in ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Adds an event. Its time may not lie before the instant that is being handled; at that very instant it is
    /// handed out as a further instant of the same time.
    #[inline(always)]
    pub fn insert(&mut self, at: u64, lane: usize, target: u32, arg: u32) {
        debug_assert!(at >= self.now, "an event in the past: {at} < {}", self.now);
        let slot = at >> self.shift;
        if slot - (self.now >> self.shift) > self.mask || slot == self.open {
            return self.insert_rarely(at, lane, target, arg);
        }
        let index = (slot & self.mask) as usize;
        self.slots[index][lane].push(Event { at: at as u32, target, arg });
        self.occupied[index >> 6] |= 1 << (index & 63);
    }

    /// An event beyond the wheel's span, or in the slot that is open.
    #[cold]
    #[inline(never)]
    fn insert_rarely(&mut self, at: u64, lane: usize, target: u32, arg: u32) {
        let slot = at >> self.shift;
        if slot == self.open {
            let index = (slot & self.mask) as usize;
            let now = self.now as u32;
            insert_sorted(&mut self.slots[index][lane], Event { at: at as u32, target, arg }, now);
            self.occupied[index >> 6] |= 1 << (index & 63);
            return;
        }
        self.far.push(Reverse((at, lane as u32, target, arg)));
        self.first_far = self.first_far.min(at);
    }

    /// Moves to the next instant before `until` and hands out its events; `false` if there is none, with the clock
    /// at `until`.
    #[inline]
    pub fn next(&mut self, until: u64, instant: &mut Instant<LANES>) -> bool {
        for lane in &mut instant.lanes {
            lane.clear();
        }
        if self.now >= until {
            return false;
        }
        self.pull_far();
        let Some(slot) = self.next_slot() else {
            return self.jump(until, instant);
        };
        let start = (slot << self.shift).max(self.now);
        if start >= until {
            self.move_to(until);
            return false;
        }
        self.now = start;
        let index = (slot & self.mask) as usize;
        if self.shift == 0 {
            for (lane, events) in instant.lanes.iter_mut().zip(&mut self.slots[index]) {
                std::mem::swap(lane, events);
            }
            self.occupied[index >> 6] &= !(1 << (index & 63));
            instant.now = start;
            return true;
        }
        self.next_sorted(slot, until, instant)
    }

    /// The number of events that wait.
    pub fn len(&self) -> usize {
        self.far.len() + self.slots.iter().flatten().map(Vec::len).sum::<usize>()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Opens a slot of many instants, and hands out the first of them.
    fn next_sorted(&mut self, slot: u64, until: u64, instant: &mut Instant<LANES>) -> bool {
        let index = (slot & self.mask) as usize;
        let base = (slot << self.shift) as u32;
        let lanes = &mut self.slots[index];
        if self.open != slot {
            for lane in lanes.iter_mut() {
                lane.sort_unstable_by_key(|event| Reverse(event.at.wrapping_sub(base)));
            }
            self.open = slot;
        }
        let first = lanes.iter().filter_map(|lane| lane.last()).map(|event| event.at.wrapping_sub(base)).min();
        let Some(first) = first else { return false };
        let now = (slot << self.shift) + u64::from(first);
        if now >= until {
            self.now = until;
            return false;
        }
        let mut left = false;
        for (lane, out) in lanes.iter_mut().zip(&mut instant.lanes) {
            while let Some(event) = lane.pop_if(|event| event.at.wrapping_sub(base) == first) {
                out.push(event);
            }
            left |= !lane.is_empty();
        }
        if !left {
            self.occupied[index >> 6] &= !(1 << (index & 63));
        }
        self.now = now;
        instant.now = now;
        true
    }

    /// The number of the first slot with events, within one turn of the wheel.
    #[inline]
    fn next_slot(&self) -> Option<u64> {
        let current = self.now >> self.shift;
        let start = (current & self.mask) as usize;
        let words = self.occupied.len();
        let mut word = start >> 6;
        let mut bits = self.occupied[word] & (u64::MAX << (start & 63));
        for _ in 0..=words {
            if bits != 0 {
                let index = ((word << 6) as u64) + u64::from(bits.trailing_zeros());
                return Some(current + (index.wrapping_sub(start as u64) & self.mask));
            }
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.occupied[word];
        }
        None
    }

    /// The wheel is empty: go where the far events are, or to the end.
    #[cold]
    fn jump(&mut self, until: u64, instant: &mut Instant<LANES>) -> bool {
        if self.first_far >= until {
            self.move_to(until);
            return false;
        }
        self.move_to(self.first_far);
        self.next(until, instant)
    }

    /// Sets the clock forward, over slots that are all empty.
    fn move_to(&mut self, time: u64) {
        self.now = time;
        self.open = CLOSED;
    }

    /// Takes far events into the wheel as they come within its span.
    #[inline]
    fn pull_far(&mut self) {
        while self.first_far >> self.shift <= (self.now >> self.shift) + self.mask && self.first_far != u64::MAX {
            if let Some(Reverse((at, lane, target, arg))) = self.far.pop() {
                self.insert(at, lane as usize, target, arg);
            }
            self.first_far = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        }
    }
}

/// Keeps an opened slot sorted, latest first.
fn insert_sorted(lane: &mut Vec<Event>, event: Event, now: u32) {
    let place = lane.partition_point(|other| other.at.wrapping_sub(now) > event.at.wrapping_sub(now));
    lane.insert(place, event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything that a wheel hands out, as (time, lane, target), in the order of handing out.
    fn drain(wheel: &mut Wheel<2>, until: u64) -> Vec<(u64, usize, u32)> {
        let mut instant = Instant::default();
        let mut all = Vec::new();
        while wheel.next(until, &mut instant) {
            for (lane, events) in instant.lanes.iter().enumerate() {
                all.extend(events.iter().map(|event| (instant.now, lane, event.target)));
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
            for (id, &(at, lane)) in times.iter().enumerate() {
                wheel.insert(at, lane, id as u32, 0);
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
                times.iter().enumerate().map(|(id, &(at, lane))| (at, lane, id as u32)).collect();
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
                for event in &instant.lanes[0] {
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
}
