//! Butterflies: rounds in which members exchange data in pairs, and the trees along which one member's data reach all
//! others in these rounds.
//!
//! A butterfly of 2^n members has n steps. A [`Pairing`] says which members meet in a step, and gives each member a
//! *label*, a number of n bits that says by which steps the data of member 0 reach it: bit n - 1 - s stands for step s.
//! The members that a member reaches by the steps from s on have consecutive labels, which begin at a multiple of their
//! number. In a reduce-scatter a member keeps the parts of these members after step s - 1.
//!
//! Bine trees (De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC
//! 2025) write the distances of members in the number system of base -2. In step s an even member meets the member
//! 1 - 2 + 4 - ... (s + 1 terms) ahead, an odd member the member this far back. Distances are a third shorter than
//! powers of two. The labels are Gray codes of these numbers.

/// Members that meet in the steps of a butterfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Halving distances, which are powers of two: the farthest members meet first.
    Far,
    /// Doubling distances, which are powers of two: neighbours meet first.
    Near,
    /// Growing distances of Bine trees: neighbours meet first.
    Bine,
    /// Shrinking distances of Bine trees: the farthest members meet first. Its labels belong to trees from member 0
    /// alone: ranges of labels are no sets of parts of a butterfly.
    BineFar,
}

/// Digits of negative weight of a number in base -2.
const NEGATIVE: u32 = 0xAAAA_AAAA;

/// Returns the digits of `value`, which may be a negative number in two's complement, in base -2.
const fn negabinary(value: u32) -> u32 {
    NEGATIVE.wrapping_add(value) ^ NEGATIVE
}

const fn gray(value: u32) -> u32 {
    value ^ (value >> 1)
}

/// Returns the number whose Gray code is `code`.
const fn ungray(code: u32) -> u32 {
    let mut value = code;
    let mut shift = 1;
    while shift < u32::BITS {
        value ^= value >> shift;
        shift *= 2;
    }
    value
}

/// Reverses the order of the bits of `value`, of which there are as many as in the numbers below `size`.
const fn reversed(value: u32, size: u32) -> u32 {
    if size < 2 { value } else { value.reverse_bits() >> (u32::BITS - size.ilog2()) }
}

/// Returns the partner of member `own` of `size` in step `step` of growing distances of Bine trees. `size` is even.
pub(super) fn bine_partner(own: u32, step: u32, size: u32) -> u32 {
    // Digits of one up to the place of the step.
    let distance = i64::from(((NEGATIVE ^ (u32::MAX >> (31 - step))).wrapping_sub(NEGATIVE)).cast_signed());
    let ahead = if own.is_multiple_of(2) { distance } else { -distance };
    (i64::from(own) + ahead).rem_euclid(i64::from(size)) as u32
}

/// Returns the first of the 2^`steps` consecutive members, modulo `size`, that member `own` reaches by the first
/// `steps` steps of growing distances of Bine trees, taken from the farthest to the nearest. `size` is a power of two.
pub(super) fn bine_range(own: u32, steps: u32, size: u32) -> u32 {
    let count = 1_u32 << steps;
    let behind = NEGATIVE & (count - 1);
    let first = if own.is_multiple_of(2) {
        own.wrapping_sub(behind)
    } else {
        own.wrapping_add(behind.wrapping_add(1).wrapping_sub(count))
    };
    first & (size - 1)
}

/// Returns the number of the step, from the last one, in which a part that is `ahead` of an even member leaves it in a
/// reduce-scatter of Bine trees by growing distances. `ahead` is at least 1. `size` is even.
///
/// If `size` is no power of two, some distances have two labels. The smaller one belongs to the later step, and the
/// tree of all smaller labels reaches every member once.
pub(super) fn bine_level(ahead: u32, size: u32) -> u32 {
    let bits = size.next_power_of_two();
    let lowest = -i64::from(NEGATIVE & (bits - 1));
    let value = if ahead.is_multiple_of(2) { -i64::from(ahead) } else { i64::from(ahead) };
    let turned = (-2..=1).map(|turn| value + turn * i64::from(size));
    let in_range = turned.filter(|value| (lowest..lowest + i64::from(bits)).contains(value));
    let labels = in_range.map(|value| reversed(gray(negabinary(value as u32) & (bits - 1)), bits));
    labels.min().unwrap_or(1).max(1).ilog2()
}

impl Pairing {
    /// Returns the partner of member `own` of `size` in step `step`. `size` is a power of two.
    pub(super) fn partner(self, own: u32, step: u32, size: u32) -> u32 {
        let last = || size.ilog2() - 1 - step;
        match self {
            Self::Far => own ^ (1 << last()),
            Self::Near => own ^ (1 << step),
            Self::Bine => bine_partner(own, step, size),
            Self::BineFar => bine_partner(own, last(), size),
        }
    }

    /// Returns the label of member `own` of `size`. `size` is a power of two, or any number for [`Self::Far`].
    pub(super) const fn label(self, own: u32, size: u32) -> u32 {
        let value = if own.is_multiple_of(2) { own.wrapping_neg() } else { own };
        match self {
            Self::Far => own,
            Self::Near => reversed(own, size),
            Self::Bine => reversed(gray(negabinary(value) & (size - 1)), size),
            Self::BineFar => gray(negabinary(own) & (size - 1)),
        }
    }

    /// Returns the member of `size` whose label is `label`. `size` is a power of two, or any number for [`Self::Far`].
    pub(super) fn member(self, label: u32, size: u32) -> u32 {
        let value = |digits: u32| (NEGATIVE ^ digits).wrapping_sub(NEGATIVE) & (size - 1);
        match self {
            Self::Far => label,
            Self::Near => reversed(label, size),
            Self::Bine => {
                let own = value(ungray(reversed(label, size)));
                if own.is_multiple_of(2) { own.wrapping_neg() & (size - 1) } else { own }
            }
            Self::BineFar => value(ungray(label)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: [Pairing; 4] = [Pairing::Far, Pairing::Near, Pairing::Bine, Pairing::BineFar];

    /// Returns the members that `own` reaches by the steps from `step` on.
    fn reached(pairing: Pairing, own: u32, step: u32, size: u32) -> BTreeSet<u32> {
        if step == size.ilog2() {
            return BTreeSet::from([own]);
        }
        let mut all = reached(pairing, own, step + 1, size);
        all.extend(reached(pairing, pairing.partner(own, step, size), step + 1, size));
        all
    }

    #[test]
    fn labels_are_the_steps_by_which_members_are_reached() {
        // Would catch a wrong distance, a label that is not unique, an inverse of labels that is none, and parts of a
        // butterfly that are not a range of labels.
        for (pairing, size) in ALL.into_iter().flat_map(|pairing| (0..8).map(move |bits| (pairing, 1_u32 << bits))) {
            let steps = size.ilog2();
            for own in 0..size {
                let label = pairing.label(own, size);
                assert_eq!((pairing.member(label, size), label < size), (own, true), "{pairing:?} {own} of {size}");
                let by_steps = (0..steps).filter(|step| label >> (steps - 1 - step) & 1 == 1);
                assert_eq!(by_steps.fold(0, |at, step| pairing.partner(at, step, size)), own, "{pairing:?} {own}");
                for step in 0..steps {
                    assert_eq!(pairing.partner(pairing.partner(own, step, size), step, size), own);
                    let (all, count) = (reached(pairing, own, step, size), size >> step);
                    assert_eq!(all.len() as u32, count);
                    let first = if pairing == Pairing::BineFar {
                        let first = bine_range(own, steps - step, size);
                        assert!((0..count).all(|by| all.contains(&((first + by) % size))), "{own} of {size}: {all:?}");
                        continue;
                    } else {
                        label & !(count - 1)
                    };
                    assert!((first..first + count).all(|label| all.contains(&pairing.member(label, size))));
                }
            }
        }
    }

    #[test]
    fn bine_distances_are_those_of_the_paper() {
        // Would catch a base of +2: distances 1, -1, 3, -5, 11 of even members, and the opposite ones of odd members.
        let ahead = |own: u32| (0..5).map(move |step| (bine_partner(own, step, 1000) + 1000 - own) % 1000);
        assert_eq!(ahead(500).collect::<Vec<_>>(), [1, 999, 3, 995, 11]);
        assert_eq!(ahead(501).collect::<Vec<_>>(), [999, 1, 997, 5, 989]);
    }
}
