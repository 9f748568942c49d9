//! The elements that packets of reductions carry, where they do: what has been made of them is computed again, and compared.

use units::Reference;

use super::Memberships;
use crate::context::{GroupArrival, GroupWork};
use crate::executor::Executor;
use crate::groups::mixed;

/// Of what a reference is: a group, a segment and a member left out.
type Wanted = (u32, u32, Option<u32>);

/// What has been found of the elements of results.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// Results whose elements have been checked.
    checked: u64,
    /// A number that stands for the bits of all of them, in whatever order they have come.
    digest: u64,
    /// What was wanted last. All members of a group get a result at about the same time.
    known: Option<(Wanted, Reference)>,
}

/// The elements that an executor's members have got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedElements {
    /// Results whose elements have been computed again and compared.
    pub checked: u64,
    /// A number that stands for the bits of all of them, in whatever order they have come.
    pub digest: u64,
}

impl CheckedElements {
    /// Adds those of another executor.
    pub fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

impl Memberships {
    /// Checks the element of what arrives for a member, if it carries one that has been combined.
    pub fn check_element(&mut self, member: u32, arrival: &GroupArrival) {
        let Some(arithmetic) = self.groups.arithmetic() else { return };
        let own = self.members[member as usize].of;
        let without = match arrival.work {
            GroupWork::CombineForAll => None,
            // The member that gets a result alone combines its own data with it in memory.
            GroupWork::CombineFor { .. } => Some(own),
            GroupWork::Multicast | GroupWork::Acknowledge => return,
        };
        let GroupArrival { group, segment, element, .. } = *arrival;
        let key = (group, segment, without);
        let known = self.elements.known.filter(|known| known.0 == key).map(|known| known.1);
        let Some(reference) = known.or_else(|| self.groups.reference(group, without, segment)) else { return };
        self.elements.known = Some((key, reference));
        let is_right = arithmetic.agrees(&reference, element);
        self.verified &= is_right;
        debug_assert!(is_right, "{arrival:?} is not {reference:?}");
        self.elements.checked += 1;
        let place = u64::from(group) << 32 | u64::from(segment);
        self.elements.digest = self.elements.digest.wrapping_add(mixed(mixed(place ^ u64::from(own) << 20) ^ element));
    }
}

impl Executor {
    /// What has been found of the elements of results; nothing where packets carry none.
    pub fn checked_elements(&self) -> CheckedElements {
        let of = |elements: &Elements| CheckedElements { checked: elements.checked, digest: elements.digest };
        self.groups.as_ref().map_or_else(CheckedElements::default, |own| of(&own.elements))
    }
}
