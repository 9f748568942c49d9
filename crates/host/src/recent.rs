//! LRU caches of a fixed number of entries for each owner.

use crate::table::{Key, Table};

/// No entry.
const NONE: u32 = u32::MAX;

/// Key of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owned(u32, u64);
units::record!(Owned { 0, 1 });

impl Key for Owned {
    fn words(self) -> (u64, u64) {
        (u64::from(self.0), self.1)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    value: u64,
    newer: u32,
    older: u32,
}
units::record!(Entry { key, value, newer, older });

/// Entries of an owner, in the order of their last use.
#[derive(Clone, Copy, Debug)]
struct Uses {
    newest: u32,
    oldest: u32,
    count: u32,
}
units::record!(Uses { newest, oldest, count });

/// Caches of some owners.
#[derive(Debug)]
pub(crate) struct Recent {
    /// Largest number of entries of an owner.
    most: u32,
    places: Table<Owned, u32>,
    entries: Vec<Entry>,
    owners: Vec<Uses>,
}
units::state!(Recent { places, entries, owners; rebuilt most });

impl Recent {
    /// Creates empty caches of `most` entries for each owner.
    pub fn new(owners: usize, most: u32) -> Self {
        let none = Uses { newest: NONE, oldest: NONE, count: 0 };
        Self { most, places: Table::default(), entries: Vec::new(), owners: vec![none; owners] }
    }

    /// Uses a key of an owner and sets its value. Returns the previous value if the key was in the cache.
    pub fn use_key(&mut self, owner: usize, key: u64, value: u64) -> Option<u64> {
        if self.most == 0 {
            return None;
        }
        let owned = Owned(owner as u32, key);
        if let Some(place) = self.places.get(owned) {
            self.unlink(owner, place);
            self.link(owner, place);
            return Some(std::mem::replace(&mut self.entries[place as usize].value, value));
        }
        let entry = Entry { key, value, newer: NONE, older: NONE };
        let place = if self.owners[owner].count == self.most {
            let oldest = self.owners[owner].oldest;
            self.unlink(owner, oldest);
            self.places.remove(Owned(owner as u32, self.entries[oldest as usize].key));
            self.entries[oldest as usize] = entry;
            oldest
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        self.places.get_or_insert(owned, place);
        self.link(owner, place);
        None
    }

    /// Makes an entry the newest of its owner.
    fn link(&mut self, owner: usize, place: u32) {
        let uses = &mut self.owners[owner];
        let before = std::mem::replace(&mut uses.newest, place);
        uses.count += 1;
        match before {
            NONE => uses.oldest = place,
            before => self.entries[before as usize].newer = place,
        }
        let entry = &mut self.entries[place as usize];
        (entry.newer, entry.older) = (NONE, before);
    }

    /// Removes an entry from the order of its owner.
    fn unlink(&mut self, owner: usize, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match newer {
            NONE => self.owners[owner].newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.owners[owner].oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        self.owners[owner].count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_gives_way() {
        // Would catch an order of first use, an owner that takes another's entries, and a value that is lost. Against
        // lists.
        for most in [0, 1, 3, 7] {
            let (mut recent, mut lists) = (Recent::new(2, most), [const { Vec::<(u64, u64)>::new() }; 2]);
            let mut state = 1_u64;
            for value in 0..4000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (owner, key) = ((state >> 40) as usize % 2, (state >> 50) % 9);
                let list = &mut lists[owner];
                let known = list.iter().position(|&(own, _)| own == key).map(|place| list.remove(place).1);
                list.push((key, value));
                if list.len() > most as usize {
                    list.remove(0);
                }
                assert_eq!(recent.use_key(owner, key, value), known, "{most}: {value}");
            }
        }
    }
}
