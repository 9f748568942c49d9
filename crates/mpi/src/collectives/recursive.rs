//! Recursive doubling and halving (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations
//! in MPICH", IJHPCA 19(1), 2005). Members work in pairs, which a [`Pairing`] determines.
//!
//! If the number of members is not a power of two, the surplus is folded first. The first members form pairs, and the
//! odd member of each pair gives its data to the even one, which stands for both.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};
use super::pairing::Pairing;

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

/// Data that belong to a range of labels of remaining members (see [`Pairing`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Parts of the original members that the range of labels, read as remaining members, stands for. The part of a
    /// member is at the place of its label, unless the pairing is [`Pairing::Far`].
    Members,
    /// Parts of a buffer that is divided by the number of remaining members.
    Left,
    /// Parts of the members that have these labels. Requires a power of two of members, which all remain.
    Labels,
}

impl Layout {
    fn data(self, at: &Member, folded: &Folded, pairing: Pairing, (from, count): (u32, u32)) -> Data {
        match self {
            Self::Members => {
                let first = folded.first(from);
                at.span(at.absolute(first), folded.first(from + count) - first)
            }
            Self::Left => Data::Span { first: from, count, parts: folded.left },
            Self::Labels => Data::Labels { root: 0, first: from, count, parts: at.size, pairing },
        }
    }
}

/// Number of the part of a butterfly that a member has in a step: `count` consecutive labels from `first` on.
fn range(pairing: Pairing, member: u32, count: u32, folded: &Folded) -> (u32, u32) {
    (pairing.label(member, folded.left) & !(count - 1), count)
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

/// Recursive doubling of a buffer: pairs exchange and combine all of it. A member sends all segments of a step at once.
#[derive(Debug)]
pub(super) struct Exchange(pub Pairing);

impl Phase for Exchange {
    fn rounds(&self, at: &Member) -> u32 {
        Folded::new(at).rounds()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let peer = at.absolute(folded.first(self.0.partner(own, round, folded.left)));
        for way in [Way::Combine, Way::Send] {
            (0..at.segments).for_each(|segment| post(Move::one(way, peer, Data::part(segment, at.segments))));
        }
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two()
    }
}

/// Recursive doubling of parts: pairs exchange all their parts, in the steps of the butterfly from the last to the
/// first.
#[derive(Debug)]
pub(super) struct Doubling(pub Layout, pub Pairing);

impl Phase for Doubling {
    fn rounds(&self, at: &Member) -> u32 {
        Folded::new(at).rounds()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let other = self.1.partner(own, folded.left.ilog2() - 1 - round, folded.left);
        let peer = at.absolute(folded.first(other));
        let data = |member: u32| self.0.data(at, &folded, self.1, range(self.1, member, 1 << round, &folded));
        post(Move::one(Way::Store, peer, data(other)));
        post(Move::one(Way::Send, peer, data(own)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two() && at.has_equal_parts()
    }
}

/// Order in which a member sends the segments of a step of [`Halving`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segments {
    /// A member combines a segment before it sends the next one (libbine over messages of MPI).
    InTurn,
    /// A member sends all segments of a step at once, and combines each of them as it arrives (libbine over uTofu).
    AtOnce,
}

/// Recursive halving: pairs exchange half of their remaining data and combine the other half, in the steps of the
/// butterfly. If the buffer has segments ([`Layout::Left`] only), the messages of a step are sent in segments.
#[derive(Debug)]
pub(super) struct Halving(pub Layout, pub Pairing, pub Segments);

/// Units of the parts of remaining members that segments are made of.
struct Units {
    /// Units of a part.
    of_part: u32,
    /// Units of a segment.
    of_segment: u32,
}

impl Units {
    fn new(at: &Member, folded: &Folded) -> Self {
        Self { of_part: at.segments.div_ceil(folded.left), of_segment: (folded.left / at.segments).max(1) }
    }

    /// Returns the number of messages of `count` parts.
    fn messages(&self, count: u32) -> u32 {
        (count * self.of_part).div_ceil(self.of_segment)
    }
}

impl Halving {
    /// Returns the step that a round belongs to, and the number of the segment.
    fn step(at: &Member, folded: &Folded, round: u32) -> (u32, u32) {
        let (units, mut segment) = (Units::new(at, folded), round);
        for step in 0..folded.rounds() {
            let messages = units.messages(folded.left >> (step + 1));
            if segment < messages {
                return (step, segment);
            }
            segment -= messages;
        }
        (folded.rounds(), 0)
    }
}

impl Phase for Halving {
    fn rounds(&self, at: &Member) -> u32 {
        let folded = Folded::new(at);
        if at.segments == 1 || self.2 == Segments::AtOnce {
            return folded.rounds();
        }
        let units = Units::new(at, &folded);
        (0..folded.rounds()).map(|step| units.messages(folded.left >> (step + 1))).sum()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let in_turn = at.segments > 1 && self.2 == Segments::InTurn;
        let (step, segment) = if in_turn { Self::step(at, &folded, round) } else { (round, 0) };
        let other = self.1.partner(own, step, folded.left);
        let peer = at.absolute(folded.first(other));
        let count = folded.left >> (step + 1);
        let units = Units::new(at, &folded);
        let data = |member: u32, segment: u32| {
            let (first, count) = range(self.1, member, count, &folded);
            if at.segments == 1 {
                return self.0.data(at, &folded, self.1, (first, count));
            }
            let Units { of_part, of_segment } = units;
            let (first, end) = (first * of_part + segment * of_segment, (first + count) * of_part);
            Data::Span { first, count: of_segment.min(end - first), parts: folded.left * of_part }
        };
        let messages = if in_turn || at.segments == 1 { 1 } else { units.messages(count) };
        for (way, member) in [(Way::Combine, own), (Way::Send, other)] {
            (segment..segment + messages).for_each(|segment| post(Move::one(way, peer, data(member, segment))));
        }
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size.is_power_of_two() && at.has_equal_parts() && at.segments == 1
    }

    fn combines_on_arrival(&self, at: &Member) -> bool {
        at.segments > 1 && self.2 == Segments::AtOnce
    }
}

/// Tree of a butterfly between the root and the members that hold one part each of a buffer, as halving leaves them and
/// doubling needs them.
#[derive(Debug)]
pub(super) struct Spread {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Butterfly.
    pub pairing: Pairing,
}

impl Phase for Spread {
    fn rounds(&self, at: &Member) -> u32 {
        let folded = Folded::new(at);
        match folded.own.map(|own| self.pairing.label(own, folded.left)) {
            Some(0) => folded.rounds(),
            Some(label) => label.trailing_zeros() + 1,
            None => 0,
        }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let folded = Folded::new(at);
        let Some(own) = folded.own else { return };
        let level = if self.up { round } else { self.rounds(at) - 1 - round };
        let other = self.pairing.partner(own, folded.left.ilog2() - 1 - level, folded.left);
        let [label, other_label] = [own, other].map(|member| self.pairing.label(member, folded.left));
        let data = Data::Span { first: label.max(other_label), count: 1 << level, parts: folded.left };
        let way = if (label > other_label) == self.up { Way::Send } else { Way::Store };
        post(Move::one(way, at.absolute(folded.first(other)), data));
    }
}

/// Exchange of parts between the members that own them and the members at whose labels they are. It follows a
/// reduce-scatter or precedes an allgather.
#[derive(Debug)]
pub(super) struct Remap {
    /// Whether each part goes to the member with its label. If false, it returns to its owner.
    pub to_labels: bool,
    /// Butterfly.
    pub pairing: Pairing,
}

impl Phase for Remap {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        let (folded, relative) = (Folded::new(at), at.relative());
        let (toward, back) = if self.to_labels { (Way::Store, Way::Send) } else { (Way::Send, Way::Store) };
        let held = folded.own.map(|own| self.pairing.label(own, folded.left));
        let owners = held.map_or(0..0, |label| folded.first(label)..folded.first(label + 1));
        let stands_for = relative - folded.surplus.min(relative.div_ceil(2));
        let holder = folded.first(self.pairing.member(stands_for, folded.left));
        let mut own = (holder != relative).then(|| Move::one(back, at.absolute(holder), at.part(at.own)));
        // Receives come before sends.
        if back == Way::Store
            && let Some(own) = own.take()
        {
            post(own);
        }
        for owner in owners.filter(|&owner| owner != relative).map(|owner| at.absolute(owner)) {
            post(Move::one(toward, owner, at.part(owner)));
        }
        own.into_iter().for_each(post);
    }
}
