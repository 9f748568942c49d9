//! Slab: storage of outstanding items, in reused places.

use units::Record;

/// Number of an entry of a slab.
pub(crate) trait SlabKey: Copy {
    /// Returns the key of a number.
    fn of(number: u32) -> Self;
    /// Returns the number.
    fn number(self) -> u32;
}

impl SlabKey for u32 {
    #[inline]
    fn of(number: u32) -> Self {
        number
    }

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

/// Entries identified by their places, of type `K`. The place that was freed last is used next.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T, K = u32> {
    places: Vec<T>,
    free: Vec<K>,
}
units::state!(generic [T: Record, K: Record] Slab<T, K> { places, free });

impl<T, K> Default for Slab<T, K> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy, K: SlabKey> Slab<T, K> {
    /// Adds an entry and returns its place.
    #[inline]
    pub fn insert(&mut self, entry: T) -> K {
        match self.free.pop() {
            Some(place) => {
                self.places[place.number() as usize] = entry;
                place
            }
            None => {
                self.places.push(entry);
                K::of((self.places.len() - 1) as u32)
            }
        }
    }

    /// Returns a place whose entry is to be written field by field, so that no copy of the whole waits until its parts
    /// have been written. A new place has the entry that `entry` returns.
    #[inline]
    pub fn vacant(&mut self, entry: impl FnOnce() -> T) -> K {
        match self.free.pop() {
            Some(place) => place,
            None => self.grow(entry()),
        }
    }

    #[cold]
    fn grow(&mut self, entry: T) -> K {
        self.places.push(entry);
        K::of((self.places.len() - 1) as u32)
    }

    /// Removes and returns the entry at a place.
    #[inline]
    pub fn remove(&mut self, place: K) -> T {
        self.free(place);
        self.places[place.number() as usize]
    }

    /// Frees a place.
    #[inline]
    pub fn free(&mut self, place: K) {
        self.free.push(place);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns the largest number of entries so far.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Iterates over the entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let mut is_free = vec![false; self.places.len()];
        self.free.iter().for_each(|&place| is_free[place.number() as usize] = true);
        self.places.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(entry, _)| entry)
    }
}

impl<T, K: SlabKey> std::ops::Index<K> for Slab<T, K> {
    type Output = T;

    #[inline]
    fn index(&self, place: K) -> &T {
        &self.places[place.number() as usize]
    }
}

impl<T, K: SlabKey> std::ops::IndexMut<K> for Slab<T, K> {
    #[inline]
    fn index_mut(&mut self, place: K) -> &mut T {
        &mut self.places[place.number() as usize]
    }
}
