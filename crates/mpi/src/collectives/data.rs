//! Parts of a collective operation's buffer that messages carry.

use super::pairing::Pairing;

/// Section of a buffer, in parts. The number of elements of the buffer is an argument of the methods (`all`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Consecutive parts, wrapping past the last part, of a buffer that is divided as evenly as whole elements allow.
    Span {
        /// First part of the section.
        first: u32,
        /// Number of parts in the section; at most `parts`.
        count: u32,
        /// Number of parts of the buffer.
        parts: u32,
    },
    /// Consecutive parts within a window of the parts, wrapping past the end of the window.
    Within {
        /// First part of the section, counted from `base`.
        first: u32,
        /// Number of parts in the section; at most `len`.
        count: u32,
        /// First part of the window.
        base: u32,
        /// Number of parts in the window.
        len: u32,
        /// Number of parts of the buffer.
        parts: u32,
    },
    /// Block of a square of parts: the data from some members (rows) for some members (columns). Here the number of
    /// elements is that of one part, not of the buffer.
    Block {
        /// First row of the block and number of its rows.
        rows: (u32, u32),
        /// First column of the block and number of its columns.
        columns: (u32, u32),
        /// Number of rows of the square.
        parts: u32,
    },
    /// All parts whose number has `digit` at the place `weight` in the number system of `radix`.
    Digit {
        /// Place of the digit, as a power of the radix.
        weight: u32,
        /// Value of the digit.
        digit: u32,
        /// Radix of the number system.
        radix: u32,
        /// Number of parts of the buffer.
        parts: u32,
    },
    /// Parts at a fixed distance, wrapping past the last part.
    Stride {
        /// First part.
        first: u32,
        /// Distance from each part to the next.
        step: u32,
        /// Number of parts; at most `parts`.
        count: u32,
        /// Number of parts of the buffer.
        parts: u32,
    },
    /// Parts of the members whose labels relative to the root are consecutive. Member i owns part i.
    Labels {
        /// Number of the root. 0 if the operation has no root.
        root: u32,
        /// First label.
        first: u32,
        /// Number of labels.
        count: u32,
        /// Number of parts of the buffer: a power of two.
        parts: u32,
        /// Butterfly that the labels belong to.
        pairing: Pairing,
    },
}

impl Data {
    /// Whole buffer.
    pub const WHOLE: Self = Self::Span { first: 0, count: 1, parts: 1 };

    /// Creates a section of one part, `first`, of a buffer of `parts` parts.
    pub const fn part(first: u32, parts: u32) -> Self {
        Self::Span { first, count: 1, parts }
    }

    /// Returns the number of elements in the section. The buffer ([`Self::Block`]: one part) has `all` elements.
    #[inline]
    pub fn elements(self, all: u64) -> u64 {
        match self {
            Self::Span { count, parts, .. } if count == parts => all,
            Self::Span { count, parts, .. }
            | Self::Within { count, parts, .. }
            | Self::Stride { count, parts, .. }
            | Self::Labels { count, parts, .. }
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
            Self::Digit { .. } | Self::Stride { .. } | Self::Labels { .. } => {
                let mut sum = 0;
                self.each_range(all, &mut |from, to| sum += to - from);
                sum
            }
        }
    }

    /// Returns whether the section has an equal number of elements wherever [`Self::further`] moves it. The buffer has
    /// `all` elements.
    pub(crate) fn is_even(self, all: u64) -> bool {
        match self {
            Self::Span { parts, .. }
            | Self::Within { parts, .. }
            | Self::Digit { parts, .. }
            | Self::Stride { parts, .. }
            | Self::Labels { parts, .. } => all.is_multiple_of(u64::from(parts)),
            Self::Block { .. } => true,
        }
    }

    /// Returns the section moved by `by` parts, wrapping past the last part. Digits, blocks and labels do not move.
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
            Self::Stride { first, step, count, parts } => {
                let first = (u64::from(first) + u64::from(by)) % u64::from(parts);
                Self::Stride { first: first as u32, step, count, parts }
            }
            other @ (Self::Digit { .. } | Self::Block { .. } | Self::Labels { .. }) => other,
        }
    }

    /// Visits the elements of the section as half-open ranges. The buffer ([`Self::Block`]: one part) has `all`
    /// elements.
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
            Self::Stride { first, step, count, parts } => (0..u64::from(count)).for_each(|number| {
                let part = ((u64::from(first) + number * u64::from(step)) % u64::from(parts)) as u32;
                visit(begin(all, part, parts), begin(all, part + 1, parts));
            }),
            Self::Labels { root, first, count, parts, pairing } => (first..first + count).for_each(|label| {
                let part = (root + pairing.member(label, parts)) % parts;
                visit(begin(all, part, parts), begin(all, part + 1, parts));
            }),
        }
    }
}

/// Returns the elements of each part if `all` elements are divided evenly into `parts` parts.
#[inline]
fn equal_part(all: u64, parts: u32) -> Option<u64> {
    let parts = u64::from(parts);
    all.is_multiple_of(parts).then(|| all / parts)
}

/// Returns the first element of `part`.
#[inline]
fn begin(all: u64, part: u32, parts: u32) -> u64 {
    let (part, parts) = (u64::from(part), u64::from(parts));
    // The product of `all` and `part` may exceed 64 bits; the product of the remainder and `part` does not.
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
            // Would catch a closed form that forgets the first parts behind the last ones, one that takes unequal parts
            // to be equal, and one that loses elements where parts are equal.
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
