//! Hash tables from a key to a small value. They are iterated over only to be saved, so that the order of entries in
//! memory does not matter.

use hashbrown::HashTable;
use units::{Record, State};

/// Key of a table.
pub(crate) trait Key: Copy + Eq {
    /// Returns two words that are different for different keys.
    fn words(self) -> (u64, u64);
}

impl Key for u64 {
    fn words(self) -> (u64, u64) {
        (self, 0)
    }
}

/// Hash table.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, V>(HashTable<(K, V)>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(HashTable::new())
    }
}

/// Returns the folded upper and lower halves of a product of two words.
fn hash(key: impl Key) -> u64 {
    let (one, other) = key.words();
    let product = u128::from(one ^ 0x9e37_79b9_7f4a_7c15) * u128::from(other ^ 0xd1b5_4a32_d192_ed03);
    (product >> 64) as u64 ^ product as u64
}

impl<K: Key, V: Copy> Table<K, V> {
    /// Returns the value of a key.
    #[inline]
    pub fn get(&self, key: K) -> Option<V> {
        self.0.find(hash(key), |entry| entry.0 == key).map(|entry| entry.1)
    }

    /// Returns the value of a key. Inserts `value` if it has none.
    #[inline]
    pub fn get_or_insert(&mut self, key: K, value: V) -> &mut V {
        let entry = self.0.entry(hash(key), |entry| entry.0 == key, |entry| hash(entry.0));
        &mut entry.or_insert((key, value)).into_mut().1
    }

    /// Removes a key that is there.
    #[inline]
    pub fn remove(&mut self, key: K) {
        if let Ok(entry) = self.0.find_entry(hash(key), |entry| entry.0 == key) {
            entry.remove();
        }
    }
}

impl<K: Key + Record, V: Copy + Record> State for Table<K, V> {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.iter().copied().collect::<Vec<(K, V)>>().put(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        self.0.clear();
        for (key, value) in Vec::<(K, V)>::take(from)? {
            self.get_or_insert(key, value);
        }
        Some(())
    }
}
