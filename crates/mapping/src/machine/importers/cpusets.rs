//! Sets of processors as hwloc writes them: words of 32 bits between commas, the highest first. A word of zeros may be
//! left empty (`0x1,,0x1` is processors 0 and 64), and an infinite set begins with `0xf...f`.

/// Beginning of an infinite set.
const ENDLESS: &str = "0xf...f";

/// Set of processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuSet {
    /// Words of the bit set, the lowest first.
    words: Vec<u32>,
    /// Whether all processors above the words are in the set.
    pub endless: bool,
}

impl CpuSet {
    /// Reads a set; `None` if the text is not a set.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (endless, rest) = match text.strip_prefix(ENDLESS) {
            Some("") => return Some(Self { words: Vec::new(), endless: true }),
            Some(rest) => (true, rest.strip_prefix(',')?),
            None => (false, text),
        };
        let mut words = rest.split(',').map(word).collect::<Option<Vec<u32>>>()?;
        words.reverse();
        Some(Self { words, endless })
    }

    /// Returns the set of one processor.
    pub fn of(processor: u16) -> Self {
        let (place, bit) = (usize::from(processor / 32), processor % 32);
        let mut words = vec![0; place + 1];
        words[place] = 1 << bit;
        Self { words, endless: false }
    }

    pub fn is_empty(&self) -> bool {
        !self.endless && self.words.iter().all(|&word| word == 0)
    }

    fn word(&self, place: usize) -> u32 {
        self.words.get(place).copied().unwrap_or(if self.endless { u32::MAX } else { 0 })
    }

    /// Returns the first processor of this finite set that is also in another.
    pub fn first_in(&self, other: &Self) -> Option<usize> {
        (0..self.words.len()).find_map(|place| {
            let both = self.words[place] & other.word(place);
            (both != 0).then(|| 32 * place + both.trailing_zeros() as usize)
        })
    }

    /// Returns the first processor of this finite set that is not in another.
    pub fn first_outside(&self, other: &Self) -> Option<usize> {
        (0..self.words.len()).find_map(|place| {
            let outside = self.words[place] & !other.word(place);
            (outside != 0).then(|| 32 * place + outside.trailing_zeros() as usize)
        })
    }

    /// Adds the processors of a finite set.
    pub fn add(&mut self, other: &Self) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Returns the number of processors of this finite set that are in `inside`, if given, and not in `without`.
    pub fn count(&self, inside: Option<&Self>, without: &Self) -> u64 {
        let inside = |place| inside.map_or(u32::MAX, |inside| inside.word(place));
        let words = self.words.iter().enumerate();
        words.map(|(place, word)| u64::from((word & inside(place) & !without.word(place)).count_ones())).sum()
    }
}

/// Reads a word of 32 bits; an empty text is 0.
fn word(text: &str) -> Option<u32> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn words_of_zeros_keep_their_places() {
        // Would catch words in the wrong order, a prefix that is taken for a word, and text that is taken for zero.
        let read = |text| CpuSet::read(text).map(|set| (set.words, set.endless));
        assert_eq!(read("0x1,,0x1"), Some((vec![1, 0, 1], false)));
        assert_eq!(read("0x00000001,,,0x0"), Some((vec![0, 0, 0, 1], false)));
        assert_eq!(read("0xf...f,,0x2"), Some((vec![2, 0], true)));
        assert_eq!(read("0xf...f"), Some((vec![], true)));
        for wrong in ["zzz", "0x", "+1", "0x1;0x1", "0x123456789", "0xf...f0x1", "0-3"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
