//! Groups of nodes whose operations the switches carry out, and check numbers for the combined contributions.
//!
//! A contribution to a segment is a number of its rank times an odd number of the segment, modulo 2^64. So the sum of
//! all contributions is the sum of the ranks' numbers times the segment's number. It is known beforehand, and wrong if
//! a contribution is missing, comes twice, or belongs to another segment or rank (except by chance, with probability
//! 2^-64). If elements are carried, each packet has one too, which follows from its rank and segment, and the combined
//! element of a result is computed again here.

use mpi::program::{ProgramGroup, Programs};
use units::{Arithmetic, Reference};

/// All groups of a program, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    all: Vec<ProgramGroup>,
    /// By group, the sum of its ranks' numbers.
    sums: Vec<u64>,
    /// Arithmetic of the elements of packets, if they carry any.
    elements: Option<Arithmetic>,
}

impl Groups {
    /// Creates the groups, numbered in this order.
    pub fn new(all: Vec<ProgramGroup>) -> Self {
        let sum = |group: &ProgramGroup| group.ranks.iter().fold(0, |sum: u64, &rank| sum.wrapping_add(of_rank(rank)));
        Self { sums: all.iter().map(sum).collect(), all, elements: None }
    }

    /// Returns the groups of a program.
    pub fn of(programs: &dyn Programs) -> Self {
        Self::new(programs.groups())
    }

    /// Returns the groups, with packets that carry elements combined by `elements`.
    #[must_use]
    pub fn with_elements(self, elements: Option<Arithmetic>) -> Self {
        Self { elements, ..self }
    }

    /// Returns the arithmetic of elements, if packets carry any.
    #[inline]
    pub(crate) fn arithmetic(&self) -> Option<Arithmetic> {
        self.elements
    }

    /// Returns the element of a rank's packet. 0 if packets carry none.
    #[inline]
    pub(crate) fn element(&self, rank: u32, segment: u32) -> u64 {
        self.elements.map_or(0, |own| own.element_of(mixed(of_rank(rank) ^ of_segment(segment))))
    }

    /// Returns the combined element of a segment of all members, or of all but one.
    pub(crate) fn reference(&self, group: u32, without: Option<u32>, segment: u32) -> Option<Reference> {
        let ranks = self.get(group).ranks.iter().filter(|&&rank| Some(rank) != without);
        Some(self.elements?.reference(ranks.map(|&rank| self.element(rank, segment))))
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Iterates over the groups in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &ProgramGroup> {
        self.all.iter()
    }

    /// Returns a group by its number.
    #[inline]
    pub fn get(&self, number: u32) -> &ProgramGroup {
        &self.all[number as usize]
    }

    /// Returns the sum of all members' contributions to a segment, or of all but one.
    #[inline]
    pub(crate) fn sum(&self, group: u32, without: Option<u32>, segment: u32) -> u64 {
        let own = without.map_or(0, of_rank);
        self.sums[group as usize].wrapping_sub(own).wrapping_mul(of_segment(segment))
    }
}

/// Returns a rank's contribution to a segment.
#[inline]
pub(crate) fn contribution(rank: u32, segment: u32) -> u64 {
    of_rank(rank).wrapping_mul(of_segment(segment))
}

/// Divides a value by the number of its segment. Returns the sum of the contributors' numbers.
pub(crate) fn without_segment(value: u64, segment: u32) -> u64 {
    let odd = of_segment(segment);
    // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the correct bits.
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
    use mpi::program::Context;

    use super::*;

    #[test]
    fn sums_show_who_has_contributed_to_what() {
        // Would catch a sum that has a rank too many or too few, one that does not depend on the segment, and an
        // inverse that is none.
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
