//! Saved states: copies of simulations at the last release, and simulations that have been paused. The simulation with
//! further messages continues from one of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use fabric::routers::Routers;

use super::Origin;
use super::simulation::Simulation;

/// Largest memory of saved states, in bytes.
const MOST_BYTES: u64 = 1 << 26;

/// Rules for saved states.
#[derive(Clone, Copy, Debug)]
pub struct StateRules {
    /// Largest number of saved states, at least 1.
    pub most: usize,
    /// Bytes of a state that are copied in the time of a packet-hop, at least 1.
    pub bytes_per_hop: u64,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { most: usize::MAX, bytes_per_hop: 512 }
    }
}

/// Moment at which the simulation of a record was saved. A record has one state of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum SavedWhen {
    /// At the release of its last message.
    Released,
    /// When it was paused.
    Paused,
}

/// Saved state, as its user knows it.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SavedState<'a> {
    pub origin: &'a Arc<Origin>,
    /// Time before which all has been simulated, in ticks from the begin.
    pub before: u64,
    /// Packet-hops that were simulated before.
    pub hops: u64,
}

/// Place of a saved state.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SavedPlace {
    pub record: u32,
    pub when: SavedWhen,
    /// Packet-hops that were simulated before.
    pub hops: u64,
    /// Number of its messages.
    pub messages: usize,
}

/// Saved simulation.
struct Saved<R> {
    run: Simulation<R>,
    origin: Arc<Origin>,
    /// Bytes of memory.
    bytes: u64,
    /// Number of uses of states before its last one.
    used_at: u64,
}

/// Saved simulations.
pub(super) struct SavedStates<R> {
    all: BTreeMap<(u32, SavedWhen), Saved<R>>,
    /// Their places by their last uses.
    by_use: BTreeMap<u64, (u32, SavedWhen)>,
    /// States of the last simulation, which has no record yet.
    new: Vec<(SavedWhen, Saved<R>)>,
    uses: u64,
    rules: StateRules,
    /// Bytes of all saved simulations.
    bytes: u64,
}

impl<R: Routers> SavedStates<R> {
    /// Creates an empty table.
    pub fn new(rules: StateRules) -> Self {
        Self { all: BTreeMap::new(), by_use: BTreeMap::new(), new: Vec::new(), uses: 0, rules, bytes: 0 }
    }

    /// Drops all states.
    pub fn clear(&mut self) {
        *self = Self::new(self.rules);
    }

    /// Returns a state of a record.
    pub fn get(&self, record: u32, when: SavedWhen) -> Option<SavedState<'_>> {
        let Saved { run, origin, .. } = self.all.get(&(record, when))?;
        Some(SavedState { origin, before: run.before, hops: run.hops })
    }

    /// Takes out a state.
    pub fn take(&mut self, place: SavedPlace) -> Option<Simulation<R>> {
        let saved = self.all.remove(&(place.record, place.when))?;
        self.by_use.remove(&saved.used_at);
        self.bytes -= saved.bytes;
        Some(saved.run)
    }

    /// Returns a copy of a state, and the time of copying in packet-hops.
    pub fn copy(&mut self, place: SavedPlace) -> Option<(Simulation<R>, u64)> {
        let key = (place.record, place.when);
        let saved = self.all.get_mut(&key)?;
        self.uses += 1;
        self.by_use.remove(&std::mem::replace(&mut saved.used_at, self.uses));
        self.by_use.insert(self.uses, key);
        Some((saved.run.clone(), saved.bytes / self.rules.bytes_per_hop))
    }

    /// Saves a copy of a simulation at its last release, if copying is faster than simulating again. Returns the time of
    /// copying in packet-hops.
    pub fn save(&mut self, run: &Simulation<R>, origin: &Arc<Origin>) -> u64 {
        let time = run.bytes() / self.rules.bytes_per_hop;
        if run.hops < time {
            return 0;
        }
        self.add(SavedWhen::Released, run.clone(), origin);
        time
    }

    /// Saves a simulation that is paused.
    pub fn pause(&mut self, run: Simulation<R>, origin: &Arc<Origin>) {
        self.add(SavedWhen::Paused, run, origin);
    }

    fn add(&mut self, when: SavedWhen, run: Simulation<R>, origin: &Arc<Origin>) {
        let bytes = run.bytes();
        if bytes <= MOST_BYTES {
            self.new.push((when, Saved { run, origin: Arc::clone(origin), bytes, used_at: 0 }));
        }
    }

    /// Drops the states that have no record.
    pub fn drop_new(&mut self) {
        self.new.clear();
    }

    /// Keeps the states of the last simulation, as those of a record. Drops the least recently used ones if they are too
    /// many, or too large together.
    pub fn keep(&mut self, record: u32) {
        for (when, mut saved) in std::mem::take(&mut self.new) {
            self.remove((record, when));
            while self.all.len() >= self.rules.most || self.bytes + saved.bytes > MOST_BYTES {
                let Some((_, oldest)) = self.by_use.pop_first() else { break };
                self.remove(oldest);
            }
            self.uses += 1;
            saved.used_at = self.uses;
            self.bytes += saved.bytes;
            self.by_use.insert(saved.used_at, (record, when));
            self.all.insert((record, when), saved);
        }
    }

    /// Drops the states of a record.
    pub fn drop_record(&mut self, record: u32) {
        [SavedWhen::Released, SavedWhen::Paused].into_iter().for_each(|when| self.remove((record, when)));
    }

    fn remove(&mut self, key: (u32, SavedWhen)) {
        if let Some(saved) = self.all.remove(&key) {
            self.by_use.remove(&saved.used_at);
            self.bytes -= saved.bytes;
        }
    }
}
