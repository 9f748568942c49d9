//! Allgathers that send to few or to ever nearer members.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Neighbour exchange (Chen, Zhang and Yuan, "Performance evaluation of allgather algorithms on terascale Linux cluster
/// with fast Ethernet", HPC Asia 2005): each member exchanges parts with its two neighbours in turn. In the first round
/// it sends its own part, in the others the two parts that came last. Requires an even number of members.
#[derive(Debug)]
pub(super) struct Exchange;

impl Phase for Exchange {
    fn rounds(&self, at: &Member) -> u32 {
        at.size / 2
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let is_even = at.own.is_multiple_of(2);
        let is_ahead = is_even == round.is_multiple_of(2);
        let peer = if is_ahead { at.ahead(1) } else { at.back(1) };
        // First of the two parts that a member of a pair has gathered in a round.
        let pair = if is_even { at.own } else { at.back(1) };
        let gathered = |round: u32| {
            let turned = round.div_ceil(2) * 2 % at.size;
            let is_ahead = (is_even == round.is_multiple_of(2)) && round > 0;
            let from = (if is_ahead { pair + turned } else { pair + at.size - turned }) % at.size;
            at.span(from, 2)
        };
        let (received, sent) = match round {
            0 => (at.part(peer), at.part(at.own)),
            _ => (gathered(round), gathered(round - 1)),
        };
        post(Move::one(Way::Store, peer, received));
        post(Move::one(Way::Send, peer, sent));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}

/// Sparbit (Loch and Koslovski, "Sparbit: a new logarithmic-cost and data locality-aware MPI Allgather algorithm",
/// 2021): members send all parts that they have over halving distances, one part a message, so that the most parts go
/// the shortest way.
#[derive(Debug)]
pub(super) struct Sparbit;

impl Sparbit {
    /// Returns the number of parts that a member sends in `round`, and over which distance.
    fn step(at: &Member, round: u32) -> (u32, u32) {
        let distance = |round: u32| at.size.next_power_of_two() >> (round + 1);
        // If the bits of the number of members below a distance are not all zero, the members that the farther steps have
        // served already are left out in the step of a bit that is zero.
        let lowest = at.size & at.size.wrapping_neg();
        let left_out = |distance: u32| u32::from(distance == lowest || (distance > lowest && at.size & distance == 0));
        let own = (0..round).fold(1, |parts, round| 2 * parts - left_out(distance(round)));
        (own - left_out(distance(round)), distance(round))
    }
}

impl Phase for Sparbit {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.next_power_of_two().ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (count, distance) = Self::step(at, round);
        let parts = ((u64::from(at.size) * 2 - 2 * u64::from(distance)) % u64::from(at.size)) as u32;
        let messages = |way, peer, data: Data| Move { way, peer, count, stride: 0, data, parts };
        if count > 0 {
            let from = at.back(distance);
            post(messages(Way::Store, from, at.part(from)));
            post(messages(Way::Send, at.ahead(distance), at.part(at.own)));
        }
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}
