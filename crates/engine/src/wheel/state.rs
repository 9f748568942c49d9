//! State of a wheel, for checkpoints: the clock, and the pending events in any order.

use std::cmp::Reverse;

use units::{Record, State};

use super::{Event, Later, Wheel};

impl<const KINDS: usize> Wheel<KINDS> {
    /// Iterates over all pending events, in no order.
    pub(super) fn timed_events(&self) -> impl Iterator<Item = Later> + '_ {
        let near = (0..=self.mask).flat_map(move |ahead| {
            let at = self.now + ahead;
            let slots = self.slots[self.index(at)].0.iter().enumerate();
            slots.flat_map(move |(kind, &slot)| {
                self.chunks.events(slot).map(move |Event { target, arg }| (at, kind as u32, target, arg))
            })
        });
        near.chain(
            self.coarse.iter().flatten().chain(self.far.iter().map(|Reverse(event)| event)).chain(&self.list).copied(),
        )
    }
}

impl<const KINDS: usize> State for Wheel<KINDS> {
    fn save(&self, to: &mut Vec<u8>) {
        self.now.put(to);
        self.timed_events().collect::<Vec<_>>().put(to);
    }

    /// The order of events within a kind of an instant is unspecified, so that it need not be kept.
    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        let now = u64::take(from)?;
        let events = Vec::<Later>::take(from)?;
        if events.iter().any(|&(at, kind, ..)| at < now || kind as usize >= KINDS) {
            return None;
        }
        *self = Self::sized(self.mask + 1);
        self.now = now;
        events.into_iter().for_each(|(at, kind, target, arg)| self.insert(at, kind as usize, target, arg));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wheel::Instant;

    /// Returns the next instant before `until`, with its events in order.
    fn next(wheel: &mut Wheel<2>, until: u64) -> (u64, Vec<Vec<u32>>) {
        let mut instant = Instant::default();
        wheel.next(until, &mut instant);
        let sorted = |events: &Vec<Event>| {
            let mut targets: Vec<u32> = events.iter().map(|event| event.target).collect();
            targets.sort_unstable();
            targets
        };
        (wheel.now(), instant.kinds.iter().map(sorted).collect())
    }

    proptest! {
        #[test]
        fn a_loaded_wheel_hands_out_what_the_saved_one_does(
            horizon in prop_oneof![1_u64..50, 1_u64..100_000],
            times in prop::collection::vec((0_u64..400_000, 0_usize..2), 0..200),
            stop in 0_u64..400_000,
        ) {
            // Would catch events of one of the wheels, of the list or of the heap that are not saved or come at other
            // times, and a clock that is lost.
            let mut saved = Wheel::<2>::new(horizon);
            for (id, &(at, kind)) in times.iter().enumerate() {
                saved.insert(at, kind, id as u32, 0);
            }
            while next(&mut saved, stop).0 < stop {}
            let mut bytes = Vec::new();
            saved.save(&mut bytes);
            let mut loaded = Wheel::<2>::new(horizon);
            loaded.insert(3, 0, 7, 7);
            prop_assert_eq!(loaded.load(&mut &bytes[..]), Some(()));
            prop_assert_eq!((loaded.now(), loaded.len()), (saved.now(), saved.len()));
            while saved.now() < 500_000 {
                prop_assert_eq!(next(&mut loaded, 500_000), next(&mut saved, 500_000));
            }
            prop_assert!(loaded.is_empty());
            prop_assert!(bytes.len() < 17 || loaded.load(&mut &bytes[..bytes.len() - 1]).is_none());
        }
    }
}
