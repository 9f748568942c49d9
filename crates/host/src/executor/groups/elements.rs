//! Elements carried by packets of reductions: results are computed again, and compared.

use units::Reference;

use super::Memberships;
use crate::context::{GroupArrival, GroupWork};
use crate::executor::Executor;
use crate::groups::mixed;

/// Key of a reference: a group, a segment and a member left out.
type Wanted = (u32, u32, Option<u32>);

/// Results of checking elements.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// Number of results whose elements have been checked.
    checked: u64,
    /// Digest of the bits of all checked elements, independent of their order.
    digest: u64,
    /// Last reference. All members of a group get a result at about the same time.
    known: Option<(Wanted, Reference)>,
}
units::state!(Elements { checked, digest; rebuilt known });

/// Checked elements of an executor's members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedElements {
    /// Number of results whose elements have been computed again and compared.
    pub checked: u64,
    /// Digest of the bits of all checked elements, independent of their order.
    pub digest: u64,
}

units::record!(CheckedElements { checked, digest });

impl CheckedElements {
    /// Adds the elements of another executor.
    pub fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.digest = self.digest.wrapping_add(other.digest);
    }
}

impl Memberships {
    /// Checks the element of an arrival for a member, if it carries a combined one.
    pub fn check_element(&mut self, member: u32, arrival: &GroupArrival) {
        let Some(arithmetic) = self.groups.arithmetic() else { return };
        let own = self.members[member as usize].of;
        let members = self.groups.get(arrival.group).ranks.len() as u32;
        let without = match arrival.work {
            GroupWork::CombineForAll => None,
            // A member that alone gets a result combines its own data with it in memory, unless it has contributed.
            GroupWork::CombineFor { .. } => Some(own).filter(|_| arrival.contributions < members),
            GroupWork::Multicast | GroupWork::Acknowledge | GroupWork::Return => return,
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
    /// Returns the results of checking elements. Zero if packets carry none.
    pub fn checked_elements(&self) -> CheckedElements {
        let of = |elements: &Elements| CheckedElements { checked: elements.checked, digest: elements.digest };
        self.groups.as_ref().map_or_else(CheckedElements::default, |own| of(&own.elements))
    }
}
