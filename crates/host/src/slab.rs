//! Slab: storage of outstanding items, in reused places.

/// Entries identified by their places. The place that was freed last is used next.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slab<T> {
    /// Adds an entry and returns its place.
    #[inline]
    pub fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = entry;
                place
            }
            None => {
                self.places.push(entry);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Returns a place whose entry is to be written field by field, so that no copy of the whole waits until its parts
    /// have been written. A new place has the entry that `entry` returns.
    #[inline]
    pub fn vacant(&mut self, entry: impl FnOnce() -> T) -> u32 {
        match self.free.pop() {
            Some(place) => place,
            None => self.grow(entry()),
        }
    }

    #[cold]
    fn grow(&mut self, entry: T) -> u32 {
        self.places.push(entry);
        (self.places.len() - 1) as u32
    }

    /// Removes and returns the entry at a place.
    #[inline]
    pub fn remove(&mut self, place: u32) -> T {
        self.free(place);
        self.places[place as usize]
    }

    /// Frees a place.
    #[inline]
    pub fn free(&mut self, place: u32) {
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
        self.free.iter().for_each(|&place| is_free[place as usize] = true);
        self.places.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(entry, _)| entry)
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: u32) -> &T {
        &self.places[place as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }
}
