//! Notices in transit to the traffic of one partition. An event holds the place of each.

use engine::Wheel;

use crate::event_kind;
use crate::fabric::notify;
use crate::traffic::Notice;

/// Notices of a partition. The place that was freed last is used next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices {
    places: Vec<Notice>,
    free: Vec<u32>,
}
units::state!(Notices { places, free });

impl Notices {
    /// Stores a notice until its time, in ticks.
    pub fn insert(&mut self, wheel: &mut Wheel<{ event_kind::COUNT }>, at: u64, notice: Notice) {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = notice;
                place
            }
            None => {
                self.places.push(notice);
                (self.places.len() - 1) as u32
            }
        };
        wheel.insert(at, event_kind::TRAFFIC, place, notify::NOTICE);
    }

    /// Removes and returns the notice at a place, whose time has come.
    pub fn take(&mut self, place: u32) -> Notice {
        self.free.push(place);
        self.places[place as usize]
    }
}
