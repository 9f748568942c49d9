//! Probes of ranks that wait for a message, or that have found one and are about to end.

use workload::program::Matched;

use crate::event::OpId;
use crate::label::Label;
use crate::slab::Slab;

/// No probe.
const NONE: u32 = u32::MAX;

/// A probe that has started and not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probing {
    pub op: OpId,
    /// The rank, by its number here, and what its program knows the probe by.
    pub rank: u32,
    pub id: u32,
    pub label: Label,
    /// The message that it has found.
    pub found: Option<Matched>,
    /// The next of the rank that waits.
    behind: u32,
}

impl Probing {
    /// A probe that has found nothing yet.
    pub fn new(op: OpId, (rank, id): (u32, u32), label: Label) -> Self {
        Self { op, rank, id, label, found: None, behind: NONE }
    }
}

/// The probes of some ranks. Those of a rank that wait are a list, in the order in which they have started.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    all: Slab<Probing>,
    /// By rank, its first probe that waits; empty until one does.
    first: Vec<u32>,
    /// How many wait.
    waiting: u32,
}

impl Probes {
    /// Adds one that has found a message, and ends later.
    pub fn add(&mut self, probing: Probing) -> u32 {
        self.all.insert(probing)
    }

    /// Has one wait for a message, of a rank of so many.
    pub fn wait(&mut self, probing: Probing, ranks: usize) {
        self.first.resize(ranks, NONE);
        self.waiting += 1;
        let (place, mut last) = (self.all.insert(probing), NONE);
        let mut next = self.first[probing.rank as usize];
        while next != NONE {
            (last, next) = (next, self.all[next].behind);
        }
        match last {
            NONE => self.first[probing.rank as usize] = place,
            last => self.all[last].behind = place,
        }
    }

    /// The next probe of a rank behind one, or the first, that waits for such a message: it waits no more.
    #[inline]
    pub fn next_for(&mut self, rank: u32, message: Label) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let (mut before, mut place) = (NONE, self.first[rank as usize]);
        while place != NONE {
            let Probing { label, behind, .. } = self.all[place];
            if label.takes(message) {
                match before {
                    NONE => self.first[rank as usize] = behind,
                    before => self.all[before].behind = behind,
                }
                self.waiting -= 1;
                return Some(place);
            }
            (before, place) = (place, behind);
        }
        None
    }

    /// A probe, by its place.
    pub fn get(&mut self, place: u32) -> &mut Probing {
        &mut self.all[place]
    }

    /// A probe ends.
    pub fn remove(&mut self, place: u32) -> Probing {
        self.all.remove(place)
    }

    /// What those wait for that have found nothing, in no order.
    pub fn waiting(&self) -> impl Iterator<Item = &Probing> {
        self.all.iter().filter(|probing| probing.found.is_none())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The most that there have been.
    pub fn places(&self) -> usize {
        self.all.places()
    }
}
