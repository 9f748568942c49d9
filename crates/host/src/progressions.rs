//! Queues of timed entries in which neighbours mostly differ by constant steps, such as the messages of a burst. A
//! queue is held as arithmetic progressions, so that a burst needs the memory of one entry, however long it is.
//!
//! An entry is a shape, which all entries of a progression have in common, and some numbers, the first of which is its
//! time. A queue is in the order of its times, and only its first entry has an event: passing an entry returns the
//! next. An entry that is not later than all of its queue stands alone, with a separate event, so that any times are
//! allowed and none is lost.

use crate::slab::Slab;

/// No progression, or no queue.
const NONE: u32 = u32::MAX;

/// Progression of entries of one shape.
#[derive(Clone, Copy, Debug)]
struct Progression<S, const N: usize> {
    shape: S,
    /// Numbers of the first entry.
    first: [u64; N],
    /// Differences between the numbers of neighbours, modulo 2^64.
    step: [u64; N],
    len: u32,
    /// Queue of the progression, if it is in one.
    queue: u32,
    /// Next progression of the queue.
    behind: u32,
}

impl<S, const N: usize> Progression<S, N> {
    /// Returns the numbers of the n-th entry.
    #[inline]
    fn numbers(&self, number: u32) -> [u64; N] {
        std::array::from_fn(|lane| self.first[lane].wrapping_add(self.step[lane].wrapping_mul(u64::from(number))))
    }
}

/// Queues of entries.
#[derive(Clone, Debug)]
pub(crate) struct Progressions<S, const N: usize> {
    /// By queue, its last progression.
    tails: Vec<u32>,
    all: Slab<Progression<S, N>>,
}

impl<S: Copy + PartialEq, const N: usize> Progressions<S, N> {
    /// Creates `queues` empty queues.
    pub fn new(queues: usize) -> Self {
        Self { tails: vec![NONE; queues], all: Slab::default() }
    }

    /// Adds an entry to a queue. Returns its progression if it needs an event: as the first of its queue, or because it
    /// stands alone.
    #[inline(always)]
    pub fn push(&mut self, queue: usize, shape: S, numbers: [u64; N]) -> Option<u32> {
        if self.tails[queue] != NONE {
            return self.push_behind(queue, &shape, &numbers);
        }
        let place = self.add(queue as u32, shape, numbers);
        self.tails[queue] = place;
        Some(place)
    }

    /// Adds a progression of one entry.
    #[inline(always)]
    fn add(&mut self, queue: u32, shape: S, numbers: [u64; N]) -> u32 {
        let new = || Progression { shape, first: numbers, step: [0; N], len: 1, queue, behind: NONE };
        let place = self.all.vacant(new);
        let own = &mut self.all[place];
        own.shape = shape;
        for (lane, number) in own.first.iter_mut().zip(numbers) {
            *lane = number;
        }
        (own.len, own.queue, own.behind) = (1, queue, NONE);
        place
    }

    /// Adds an entry to a queue that is not empty.
    #[inline]
    fn push_behind(&mut self, queue: usize, shape: &S, numbers: &[u64; N]) -> Option<u32> {
        let tail = self.tails[queue];
        let last = &mut self.all[tail];
        let before = last.numbers(last.len - 1);
        if numbers[0] <= before[0] {
            return Some(self.add(NONE, *shape, *numbers));
        }
        let step = std::array::from_fn(|lane| numbers[lane].wrapping_sub(before[lane]));
        if last.shape == *shape && (last.len == 1 || last.step == step) && last.len < u32::MAX {
            (last.step, last.len) = (step, last.len + 1);
            return None;
        }
        let place = self.add(queue as u32, *shape, *numbers);
        self.all[tail].behind = place;
        self.tails[queue] = place;
        None
    }

    /// Returns the first entry of a progression.
    #[inline]
    pub fn first(&self, place: u32) -> (&S, &[u64; N]) {
        let Progression { shape, first, .. } = &self.all[place];
        (shape, first)
    }

    /// Removes the first entry of a progression that `push` or `pass` has returned. Returns the progression of the next
    /// entry of its queue, if there is one.
    #[inline]
    pub fn pass(&mut self, place: u32) -> Option<u32> {
        let own = &mut self.all[place];
        if own.len > 1 {
            (own.first, own.len) = (own.numbers(1), own.len - 1);
            return Some(place);
        }
        let (queue, behind) = (own.queue, own.behind);
        self.all.free(place);
        if behind != NONE {
            return Some(behind);
        }
        if queue != NONE {
            self.tails[queue as usize] = NONE;
        }
        None
    }

    /// Returns the number of progressions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the largest number of progressions so far.
    pub fn places(&self) -> usize {
        self.all.places()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_come_out_as_they_went_in(
            steps in prop::collection::vec((0_usize..3, 0_u8..2, 0_u64..4, any::<bool>(), 0_u64..3), 1..200),
        ) {
            // Would catch an entry that is lost, repeated or changed on its way through a progression, one that comes
            // later than its event, and one without an event.
            let (mut queues, mut naive, mut events) = (Progressions::new(3), Vec::new(), BTreeMap::new());
            let mut last = [0_u64; 3];
            let check = |queues: &Progressions<u8, 2>, place: u32, events: &mut BTreeMap<(u64, u32), ()>| {
                events.insert((queues.first(place).1[0], place), ());
            };
            for (queue, shape, after, takes, other) in steps {
                last[queue] = (last[queue] + after).saturating_sub(1);
                let entry = [last[queue], other.wrapping_sub(1)];
                naive.push((entry, shape));
                if let Some(place) = queues.push(queue, shape, entry) {
                    check(&queues, place, &mut events);
                }
                if takes && let Some(((at, place), ())) = events.pop_first() {
                    let (&shape, &numbers) = queues.first(place);
                    let next = queues.pass(place);
                    prop_assert_eq!(at, numbers[0]);
                    let own = naive.iter().position(|&own| own == (numbers, shape));
                    prop_assert!(own.is_some());
                    naive.swap_remove(own.unwrap());
                    prop_assert!(naive.iter().all(|own| own.0[0] >= at));
                    next.into_iter().for_each(|next| check(&queues, next, &mut events));
                }
            }
            while let Some(((at, place), ())) = events.pop_first() {
                let (&shape, &numbers) = queues.first(place);
                let next = queues.pass(place);
                prop_assert_eq!(at, numbers[0]);
                let own = naive.iter().position(|&own| own == (numbers, shape)).unwrap();
                naive.swap_remove(own);
                next.into_iter().for_each(|next| check(&queues, next, &mut events));
            }
            prop_assert!(naive.is_empty() && queues.len() == 0);
        }
    }

    #[test]
    fn a_burst_is_one_progression() {
        // Would catch memory that grows with the length of a burst, also if the numbers fall.
        let mut queues = Progressions::new(1);
        for number in 0..1000_u64 {
            queues.push(0, (), [7 * number, 5_u64.wrapping_sub(number)]);
        }
        assert_eq!((queues.len(), queues.places()), (1, 1));
        for number in 0..1000_u64 {
            assert_eq!(queues.first(0).1, &[7 * number, 5_u64.wrapping_sub(number)]);
            queues.pass(0);
        }
        assert_eq!(queues.len(), 0);
    }
}
