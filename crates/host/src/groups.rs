//! Groups of nodes whose operations the switches carry out, and the numbers that show what they have combined.
//!
//! Each contribution to a segment is a number of the rank that makes it, times an odd number of the segment, modulo 2^64. So what all
//! contributions add up to is the sum of the ranks' numbers times that of the segment: known beforehand, and wrong if a contribution is
//! missing, comes twice, or is of another segment or rank (but for one case in 2^64 by chance). Where elements are carried, each packet has one too,
//! which follows from its rank and segment, and what those of a result come to is computed again here.

use units::{Arithmetic, Reference};
use workload::program::{ProgramGroup, Programs};

/// All groups of a program, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    all: Vec<ProgramGroup>,
    /// By group, the sum of its ranks' numbers.
    sums: Vec<u64>,
    /// How the elements of packets are combined, if they carry any.
    elements: Option<Arithmetic>,
}

impl Groups {
    /// These groups, numbered in this order.
    pub fn new(all: Vec<ProgramGroup>) -> Self {
        let sum = |group: &ProgramGroup| group.ranks.iter().fold(0, |sum: u64, &rank| sum.wrapping_add(of_rank(rank)));
        Self { sums: all.iter().map(sum).collect(), all, elements: None }
    }

    /// Those of a program.
    pub fn of(programs: &dyn Programs) -> Self {
        Self::new(programs.groups())
    }

    /// The same, whose packets carry elements that are combined so.
    #[must_use]
    pub fn with_elements(self, elements: Option<Arithmetic>) -> Self {
        Self { elements, ..self }
    }

    /// How elements are combined, if packets carry any.
    #[inline]
    pub(crate) fn arithmetic(&self) -> Option<Arithmetic> {
        self.elements
    }

    /// The element of a packet that a rank gives; 0 where there are none.
    #[inline]
    pub(crate) fn element(&self, rank: u32, segment: u32) -> u64 {
        self.elements.map_or(0, |own| own.element_of(mixed(of_rank(rank) ^ of_segment(segment))))
    }

    /// What the elements of a segment of all members, or of all but one, come to.
    pub(crate) fn reference(&self, group: u32, without: Option<u32>, segment: u32) -> Option<Reference> {
        let ranks = self.get(group).ranks.iter().filter(|&&rank| Some(rank) != without);
        Some(self.elements?.reference(ranks.map(|&rank| self.element(rank, segment))))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The groups in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &ProgramGroup> {
        self.all.iter()
    }

    /// A group by its number.
    #[inline]
    pub fn get(&self, number: u32) -> &ProgramGroup {
        &self.all[number as usize]
    }

    /// What all members contribute to a segment, or all but one.
    #[inline]
    pub(crate) fn sum(&self, group: u32, without: Option<u32>, segment: u32) -> u64 {
        let own = without.map_or(0, of_rank);
        self.sums[group as usize].wrapping_sub(own).wrapping_mul(of_segment(segment))
    }
}

/// What a rank contributes to a segment.
#[inline]
pub(crate) fn contribution(rank: u32, segment: u32) -> u64 {
    of_rank(rank).wrapping_mul(of_segment(segment))
}

/// What a value is without the part of its segment: the sum of the numbers of those who have contributed.
pub(crate) fn without_segment(value: u64, segment: u32) -> u64 {
    let odd = of_segment(segment);
    // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the bits that are right.
    let inverse = (0..5).fold(odd, |near, _| near.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(near))));
    value.wrapping_mul(inverse)
}

fn of_rank(rank: u32) -> u64 {
    mixed(u64::from(rank))
}

fn of_segment(segment: u32) -> u64 {
    mixed(!u64::from(segment)) | 1
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use workload::program::Context;

    use super::*;

    #[test]
    fn sums_show_who_has_contributed_to_what() {
        // Would catch a sum that has a rank too many or too few, one that does not depend on the segment, and an inverse that is none.
        let of = |ranks: &[u32]| ProgramGroup { context: Context::WORLD, ranks: ranks.to_vec(), first: Vec::new() };
        let groups = Groups::new(vec![of(&[5, 0, 9]), of(&[1, 2])]);
        for segment in [0, 1, 77, u32::MAX] {
            let sum =
                |ranks: &[u32]| ranks.iter().fold(0, |sum: u64, &rank| sum.wrapping_add(contribution(rank, segment)));
            assert_eq!(groups.sum(0, None, segment), sum(&[0, 5, 9]));
            assert_eq!(groups.sum(0, Some(9), segment), sum(&[0, 5]));
            assert_ne!(groups.sum(0, None, segment), groups.sum(0, None, segment.wrapping_add(1)));
            assert_ne!(sum(&[0, 5, 5]), sum(&[0, 5, 9]));
            assert_eq!(without_segment(contribution(7, segment), segment), of_rank(7));
        }
    }
}
