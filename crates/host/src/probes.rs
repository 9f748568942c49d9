//! Probes of ranks that wait for a message, or that have found one and are about to end.

use mpi::program::Matched;

use crate::event::OpId;
use crate::local_ranks::LocalRank;
use crate::match_key::MatchKey;
use crate::slab::Slab;

/// No probe.
const NONE: u32 = u32::MAX;

/// Probe that has started and not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probing {
    pub op: OpId,
    /// Local rank.
    pub rank: LocalRank,
    /// Identifier of the probe in its program.
    pub id: u32,
    pub key: MatchKey,
    /// Message that it has found.
    pub found: Option<Matched>,
    /// Next waiting probe of the rank.
    behind: u32,
}
units::record!(Probing { op, rank, id, key, found, behind });

impl Probing {
    /// Creates a probe that has found nothing yet.
    pub fn new(op: OpId, (rank, id): (LocalRank, u32), key: MatchKey) -> Self {
        Self { op, rank, id, key, found: None, behind: NONE }
    }
}

/// Probes of some ranks. The waiting probes of a rank form a list, in the order in which they have started.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    all: Slab<Probing>,
    /// By rank, its first waiting probe. Empty until one waits.
    first: Vec<u32>,
    /// Number of waiting probes.
    waiting: u32,
    /// Whether ranks may probe. Probes do not find compact messages.
    pub are_possible: bool,
}
units::state!(Probes { all, first, waiting; rebuilt are_possible });

impl Probes {
    /// Creates the state of ranks that may probe if `are_possible`.
    pub fn new(are_possible: bool) -> Self {
        Self { are_possible, ..Self::default() }
    }

    /// Adds a probe that has found a message, and ends later.
    pub fn add(&mut self, probing: Probing) -> u32 {
        self.all.insert(probing)
    }

    /// Lets a probe wait for a message. `ranks` is the number of ranks.
    pub fn wait(&mut self, probing: Probing, ranks: usize) {
        self.first.resize(ranks, NONE);
        self.waiting += 1;
        let (place, mut last) = (self.all.insert(probing), NONE);
        let mut next = self.first[probing.rank.index()];
        while next != NONE {
            (last, next) = (next, self.all[next].behind);
        }
        match last {
            NONE => self.first[probing.rank.index()] = place,
            last => self.all[last].behind = place,
        }
    }

    /// Removes from the list and returns the first waiting probe of a rank that a message matches.
    #[inline]
    pub fn next_for(&mut self, rank: LocalRank, message: MatchKey) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let (mut before, mut place) = (NONE, self.first[rank.index()]);
        while place != NONE {
            let Probing { key, behind, .. } = self.all[place];
            if key.matches(message) {
                match before {
                    NONE => self.first[rank.index()] = behind,
                    before => self.all[before].behind = behind,
                }
                self.waiting -= 1;
                return Some(place);
            }
            (before, place) = (place, behind);
        }
        None
    }

    /// Returns a probe by its place.
    pub fn get(&mut self, place: u32) -> &mut Probing {
        &mut self.all[place]
    }

    /// Removes a probe that ends.
    pub fn remove(&mut self, place: u32) -> Probing {
        self.all.remove(place)
    }

    /// Iterates over the probes that have found nothing, in no order.
    pub fn waiting(&self) -> impl Iterator<Item = &Probing> {
        self.all.iter().filter(|probing| probing.found.is_none())
    }

    /// Returns the number of probes.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the largest number of probes so far.
    pub fn places(&self) -> usize {
        self.all.places()
    }
}
