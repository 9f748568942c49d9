//! Ring algorithms: every member sends to the next one only, a part at a time.

use super::member::{Member, Move, Phase, Way};

/// Every part goes round once, combined on its way, and ends at its member.
#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Phase for ReduceScatter {
    fn rounds(&self, at: &Member) -> u32 {
        at.size - 1
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let behind = |by: u32| at.part(at.back(by % at.size));
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
