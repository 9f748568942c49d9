//! Ring algorithms: every member sends to the next one only, a part at a time.

use super::member::{Member, Move, Phase, Way};

/// Every part goes round once, combined on its way, and ends at its member. Of parts in segments first the first of all goes round,
/// then the next.
#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Phase for ReduceScatter {
    fn rounds(&self, at: &Member) -> u32 {
        (at.size - 1) * at.segments
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (segment, round) = (round / (at.size - 1), round % (at.size - 1));
        let behind = |by: u32| {
            let member = at.back(by % at.size);
            if at.segments == 1 { at.part(member) } else { at.segment(member, segment) }
        };
        post(Move::one(Way::Combine, at.back(1), behind(round + 2)));
        post(Move::one(Way::Send, at.ahead(1), behind(round + 1)));
    }
}

/// Every part goes round once from its member.
#[derive(Debug)]
pub(super) struct Allgather;

impl Phase for Allgather {
    fn rounds(&self, at: &Member) -> u32 {
        at.size - 1
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        post(Move::one(Way::Store, at.back(1), at.part(at.back(round + 1))));
        post(Move::one(Way::Send, at.ahead(1), at.part(at.back(round))));
    }
}
