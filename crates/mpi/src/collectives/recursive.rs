//! Recursive doubling and halving (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations
//! in MPICH", IJHPCA 19(1), 2005). Members work in pairs whose distance is a power of two.
//!
//! If the number of members is not a power of two, the surplus is folded first. The first members form pairs, and the
//! odd member of each pair gives its data to the even one, which stands for both.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Member after folding.
struct Folded {
    /// Number of remaining members: the largest power of two that is not larger than the group.
    left: u32,
    /// Number of members that have been folded.
    surplus: u32,
    /// Number of this member among the remaining members. `None` if it has been folded.
    own: Option<u32>,
}

impl Folded {
    fn new(at: &Member) -> Self {
        let left = 1 << at.size.ilog2();
        let (surplus, relative) = (at.size - left, at.relative());
        let own = match relative.checked_sub(2 * surplus) {
            Some(beyond) => Some(surplus + beyond),
            None => relative.is_multiple_of(2).then_some(relative / 2),
        };
        Self { left, surplus, own }
    }

    /// Returns the first member, relative to the root, that remaining member `folded` stands for.
    fn first(&self, folded: u32) -> u32 {
        folded + folded.min(self.surplus)
    }

    /// Returns the partner in folding of member `relative`, both relative to the root. `None` if the member has no
    /// partner.
    fn partner(&self, relative: u32) -> Option<u32> {
        (relative < 2 * self.surplus).then_some(relative ^ 1)
    }

    /// Returns the number of rounds of pairs that this member takes part in.
    fn rounds(&self) -> u32 {
        if self.own.is_some() { self.left.ilog2() } else { 0 }
    }
}

/// Data that a range of remaining members stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Whole buffer.
    Whole,
    /// Parts of the original members that the range stands for.
    Members,
    /// Parts of a buffer that is divided by the number of remaining members.
    Left,
}

impl Layout {
    fn data(self, at: &Member, folded: &Folded, from: u32, to: u32) -> Data {
        match self {
            Self::Whole => Data::WHOLE,
            Self::Members => {
                let (first, end) = (folded.first(from), folded.first(to));
                at.span(at.absolute(first), end - first)
            }
            Self::Left => Data::Span { first: from, count: to - from, parts: folded.left },
        }
    }
}

/// Folding: the odd members of the surplus give their data to the even ones.
#[derive(Debug)]
pub(super) struct Fold {
    /// Whether an odd member gives only its own part. If false, it gives the whole buffer, which is combined.
    pub parts: bool,
}

impl Phase for Fold {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(Folded::new(at).partner(at.relative()).is_some())
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        let relative = at.relative();
        let peer = at.absolute(relative ^ 1);
        let data = if self.parts { at.part(at.absolute(relative | 1)) } else { Data::WHOLE };
        let way = match (relative.is_multiple_of(2), self.parts) {
            (false, _) => Way::Send,
            (true, true) => Way::Store,
            (true, false) => Way::Combine,
        };
        post(Move::one(way, peer, data));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two()
    }
}

/// Unfolding: the even members of the surplus return the results of the odd ones.
#[derive(Debug)]
pub(super) struct Unfold {
    /// Whether an odd member gets only its own part. If false, it gets the whole buffer.
    pub parts: bool,
}

impl Phase for Unfold {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(Folded::new(at).partner(at.relative()).is_some())
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        let relative = at.relative();
        let data = if self.parts { at.part(at.absolute(relative | 1)) } else { Data::WHOLE };
        let way = if relative.is_multiple_of(2) { Way::Send } else { Way::Store };
        post(Move::one(way, at.absolute(relative ^ 1), data));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two()
    }
}

/// Recursive doubling: pairs exchange all their data, at doubling distances.
#[derive(Debug)]
pub(super) struct Doubling(pub Layout);

impl Phase for Doubling {
    fn rounds(&self, at: &Member) -> u32 {
        Folded::new(at).rounds()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let distance = 1 << round;
        let other = own ^ distance;
        let peer = at.absolute(folded.first(other));
        let data = |member: u32| {
            let from = member & !(distance - 1);
            self.0.data(at, &folded, from, from + distance)
        };
        let way = if self.0 == Layout::Whole { Way::Combine } else { Way::Store };
        post(Move::one(way, peer, data(other)));
        post(Move::one(Way::Send, peer, data(own)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two() && (self.0 == Layout::Whole || at.has_equal_parts())
    }
}

/// Recursive halving: pairs exchange half of their remaining data, at halving distances, and combine the other half.
#[derive(Debug)]
pub(super) struct Halving(pub Layout);

impl Phase for Halving {
    fn rounds(&self, at: &Member) -> u32 {
        Folded::new(at).rounds()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let distance = folded.left >> (round + 1);
        let other = own ^ distance;
        let peer = at.absolute(folded.first(other));
        let data = |member: u32| {
            let from = member & !(distance - 1);
            self.0.data(at, &folded, from, from + distance)
        };
        post(Move::one(Way::Combine, peer, data(own)));
        post(Move::one(Way::Send, peer, data(other)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two() && at.has_equal_parts()
    }
}

/// Binomial tree that collects the results of halving at the root.
#[derive(Debug)]
pub(super) struct Gather;

impl Phase for Gather {
    fn rounds(&self, at: &Member) -> u32 {
        let folded = Folded::new(at);
        match folded.own {
            Some(0) => folded.rounds(),
            Some(own) => own.trailing_zeros() + 1,
            None => 0,
        }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let distance = 1 << round;
        let other = own ^ distance;
        let from = own.max(other);
        let data = Layout::Left.data(at, &folded, from, from + distance);
        let way = if own == from { Way::Send } else { Way::Store };
        post(Move::one(way, at.absolute(folded.first(other)), data));
    }
}
