//! What a message of a collective operation carries of the buffer that the operation is over.

/// Part of a buffer of so many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Parts that follow one another, the first one behind the last, of a buffer that is divided into so many parts as evenly as
    /// whole elements allow.
    Span {
        /// The first of them.
        first: u32,
        /// How many there are, at most `parts`.
        count: u32,
        /// All parts.
        parts: u32,
    },
    /// Parts that follow one another within some of the parts, the first of those behind the last.
    Within {
        /// The first of them, counted from `base`.
        first: u32,
        /// How many there are, at most `len`.
        count: u32,
        /// The first of those parts.
        base: u32,
        /// How many they are.
        len: u32,
        /// All parts.
        parts: u32,
    },
    /// What some members have for some: of a square of as many parts, a row for each member, the elements being those of one part.
    Block {
        /// The first of the rows, and how many there are.
        rows: (u32, u32),
        /// The first of the columns, and how many there are.
        columns: (u32, u32),
        /// All rows.
        parts: u32,
    },
    /// Those of all parts whose number has a digit at a place, in a number system.
    Digit {
        /// The place, as a power of the radix.
        weight: u32,
        /// The digit.
        digit: u32,
        /// The radix.
        radix: u32,
        /// All parts.
        parts: u32,
    },
}

impl Data {
    /// All of the buffer.
    pub const WHOLE: Self = Self::Span { first: 0, count: 1, parts: 1 };

    /// One of so many parts.
    pub const fn part(first: u32, parts: u32) -> Self {
        Self::Span { first, count: 1, parts }
    }

    /// How many elements these are, of a buffer of so many.
    #[inline]
    pub fn elements(self, all: u64) -> u64 {
        match self {
            Self::Span { count, parts, .. } if count == parts => all,
            Self::Span { count, parts, .. } | Self::Within { count, parts, .. }
                if let Some(each) = equal_part(all, parts) =>
            {
                each * u64::from(count)
            }
            Self::Span { first, count, parts } => {
                let end = first + count;
                let begin = |part| begin(all, part, parts);
                match end.checked_sub(parts) {
                    None | Some(0) => begin(end) - begin(first),
                    Some(wrapped) => all - begin(first) + begin(wrapped),
                }
            }
            Self::Within { first, count, base, len, parts } => {
                let begin = |part| begin(all, base + part, parts);
                match (first + count).checked_sub(len) {
                    None | Some(0) => begin(first + count) - begin(first),
                    Some(wrapped) => begin(len) - begin(first) + begin(wrapped) - begin(0),
                }
            }
            Self::Block { rows, columns, .. } => {
                all.saturating_mul(u64::from(rows.1)).saturating_mul(u64::from(columns.1))
            }
            Self::Digit { weight, digit, radix, parts } if all.is_multiple_of(u64::from(parts)) => {
                let (weight, digit, period) =
                    (u64::from(weight), u64::from(digit), u64::from(weight) * u64::from(radix));
                let (full, rest) = (u64::from(parts) / period, u64::from(parts) % period);
                let own = full * weight + rest.saturating_sub(digit * weight).min(weight);
                own * (all / u64::from(parts))
            }
            Self::Digit { .. } => {
                let mut sum = 0;
                self.each_range(all, &mut |from, to| sum += to - from);
                sum
            }
        }
    }

    /// Whether all parts that follow it have as many elements as it has, of a buffer of so many.
    pub(crate) fn is_even(self, all: u64) -> bool {
        match self {
            Self::Span { parts, .. } | Self::Within { parts, .. } | Self::Digit { parts, .. } => {
                all.is_multiple_of(u64::from(parts))
            }
            Self::Block { .. } => true,
        }
    }

    /// The same so many parts further, the first one behind the last.
    #[must_use]
    pub fn further(self, by: u32) -> Self {
        match self {
            Self::Span { first, count, parts } => {
                let first = (u64::from(first) + u64::from(by)) % u64::from(parts);
                Self::Span { first: first as u32, count, parts }
            }
            Self::Within { first, count, base, len, parts } => {
                let first = (u64::from(first) + u64::from(by)) % u64::from(len);
                Self::Within { first: first as u32, count, base, len, parts }
            }
            other @ (Self::Digit { .. } | Self::Block { .. }) => other,
        }
    }

    /// Visits the elements, as ranges from one to before another, of a buffer of so many.
    pub fn each_range(self, all: u64, visit: &mut dyn FnMut(u64, u64)) {
        match self {
            Self::Span { first, count, parts } => (0..count).for_each(|number| {
                let part = (first + number) % parts;
                visit(begin(all, part, parts), begin(all, part + 1, parts));
            }),
            Self::Within { first, count, base, len, parts } => (0..count).for_each(|number| {
                let part = base + (first + number) % len;
                visit(begin(all, part, parts), begin(all, part + 1, parts));
            }),
            Self::Block { rows, columns, parts } => {
                let at = |row: u32, column: u32| (u64::from(row) * u64::from(parts) + u64::from(column)) * all;
                (rows.0..rows.0 + rows.1).for_each(|row| visit(at(row, columns.0), at(row, columns.0 + columns.1)));
            }
            Self::Digit { weight, digit, radix, parts } => {
                let own = (0..parts).filter(|part| part / weight % radix == digit);
                own.for_each(|part| visit(begin(all, part, parts), begin(all, part + 1, parts)));
            }
        }
    }
}

/// The elements of a part of so many elements where all parts have equally many.
#[inline]
fn equal_part(all: u64, parts: u32) -> Option<u64> {
    let parts = u64::from(parts);
    all.is_multiple_of(parts).then(|| all / parts)
}

/// The first element of a part.
#[inline]
fn begin(all: u64, part: u32, parts: u32) -> u64 {
    let (part, parts) = (u64::from(part), u64::from(parts));
    // The product of `all` and `part` may not fit 64 bits; that of the remainder does.
    all / parts * part + all % parts * part / parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_many_elements_are_counted_as_are_visited(
            all in prop_oneof![0_u64..50, Just(96), Just(1 << 40)],
            (parts, base, len) in (1_u32..13).prop_flat_map(|parts| (Just(parts), 0..parts))
                .prop_flat_map(|(parts, base)| (Just(parts), Just(base), 1..=parts - base)),
            (first, count) in (0_u32..12, 0_u32..12),
        ) {
            // Would catch a closed form that forgets the first parts behind the last ones, and one that takes parts to be equal that
            // are not, or loses elements where they are.
            let span = Data::Span { first: first % parts, count: count % (parts + 1), parts };
            let within = Data::Within { first: first % len, count: count % (len + 1), base, len, parts };
            for data in [span, within] {
                let mut visited = 0;
                data.each_range(all, &mut |from, to| visited += to - from);
                prop_assert_eq!(data.elements(all), visited, "{:?} of {}", data, all);
            }
        }
    }
}
