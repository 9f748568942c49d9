//! Algorithms of Bine trees whose parts are neither ranges of labels nor of a divided buffer (see [`super::pairing`];
//! De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC 2025).

use super::data::Data;
use super::member::{Member, Move, Phase, Shares, Way};
use super::pairing::{Pairing, bine_level, bine_partner, bine_range};

/// Way of a message that brings parts.
const fn arrival(combines: bool) -> Way {
    if combines { Way::Combine } else { Way::Store }
}

/// Allgather or reduce-scatter by ranges of members around each member. A member gathers by growing distances; in a
/// reduce-scatter it gives by shrinking ones. Requires a power of two of members.
#[derive(Debug)]
pub(super) struct Ranges {
    /// Whether parts are combined (reduce-scatter).
    pub combines: bool,
    /// Whether a range that wraps past the last member is two messages. If false it is one, which is packed and unpacked
    /// in memory.
    pub in_two: bool,
}

impl Ranges {
    /// Posts the messages of the range of `count` parts that begins at `first`.
    fn post(&self, at: &Member, (way, peer): (Way, u32), (first, count): (u32, u32), post: &mut dyn FnMut(Move)) {
        let wrapped = (first + count).saturating_sub(at.size);
        if wrapped > 0 && self.in_two {
            post(Move::one(way, peer, at.span(0, wrapped)));
            return post(Move::one(way, peer, at.span(first, count - wrapped)));
        }
        post(Move::one(way, peer, at.span(first, count)));
    }
}

impl Phase for Ranges {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let step = if self.combines { at.size.ilog2() - 1 - round } else { round };
        let peer = bine_partner(at.own, step, at.size);
        let [own, other] = [at.own, peer].map(|member| (bine_range(member, step, at.size), 1 << step));
        let (received, sent) = if self.combines { (own, other) } else { (other, own) };
        self.post(at, (arrival(self.combines), peer), received, post);
        self.post(at, (Way::Send, peer), sent, post);
        let packed = |(first, count): (u32, u32)| !self.in_two && first + count > at.size;
        for (first, count) in [received, sent].into_iter().filter(|&range| packed(range)) {
            post(Move::local(Way::Copy, at.span(first, count)));
        }
    }
}

/// Allgather or reduce-scatter whose messages carry one part each, since the parts of a step are not contiguous.
/// Requires an even number of members.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Whether parts are combined (reduce-scatter).
    pub combines: bool,
}

impl Phase for Blocks {
    fn rounds(&self, at: &Member) -> u32 {
        if at.size > 1 { at.size.next_power_of_two().ilog2() } else { 0 }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        // The level counts steps from the last one, which is the first step of an allgather.
        let last = self.rounds(at) - 1;
        let (step, level) = if self.combines { (round, last - round) } else { (last - round, round) };
        let peer = bine_partner(at.own, step, at.size);
        // Parts that leave `member` in this step of a reduce-scatter, and come to it in an allgather.
        let parts = |member: u32| {
            let levels = (1..at.size).filter(move |&ahead| bine_level(ahead, at.size) == level);
            let part = move |ahead| if member.is_multiple_of(2) { member + ahead } else { member + at.size - ahead };
            levels.map(move |ahead| part(ahead) % at.size)
        };
        let (giver, taker) = if self.combines { (at.own, peer) } else { (peer, at.own) };
        let way = arrival(self.combines);
        parts(taker).for_each(|part| post(Move::one(way, peer, at.part(part))));
        parts(giver).for_each(|part| post(Move::one(Way::Send, peer, at.part(part))));
    }
}

/// Alltoall by growing distances: in each step a member sends half of the parts that it holds, those for the members
/// that the partner reaches by further steps. Requires a power of two of members.
///
/// A part begins at the place that is the label of its destination. A part that moves keeps its place, so that the bits
/// of its place in which it differs from the label of its destination say by which steps it has come. Before the first
/// step, in each step and after the last one, parts are sorted in memory.
#[derive(Debug)]
pub(super) struct Alltoall;

impl Phase for Alltoall {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let peer = bine_partner(at.own, round, at.size);
        let weight = at.size >> (round + 1);
        let digit = Pairing::Bine.label(peer, at.size) / weight % 2;
        let data = Data::Digit { weight, digit, radix: 2, parts: at.size };
        post(Move::one(Way::Store, peer, data));
        post(Move::one(Way::Send, peer, data));
        post(Move::local(Way::Copy, Data::WHOLE));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.shares == Shares::Each
    }
}
