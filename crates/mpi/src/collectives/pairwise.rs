//! Pairwise exchange: in round i every member sends to the member i ahead and receives from the member i back.

use super::member::{Member, Move, Phase, Shares, Way};

/// Alltoall of parts, numbered as in [`super::linear::Alltoall`].
#[derive(Debug)]
pub(super) struct Alltoall;

impl Phase for Alltoall {
    fn rounds(&self, at: &Member) -> u32 {
        at.size - 1
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let data = at.part(round + 1);
        post(Move::one(Way::Store, at.back(round + 1), data));
        post(Move::one(Way::Send, at.ahead(round + 1), data));
    }

    fn to_each(&self, at: &Member) -> Option<Move> {
        (at.shares == Shares::Each).then(|| Move::all(Way::Send, at, at.part(1), 1))
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.shares == Shares::Each
    }
}

/// Alltoall between nodes: a message carries all data from the ranks of one node for the ranks of another.
#[derive(Debug)]
pub(super) struct BetweenNodes;

impl Phase for BetweenNodes {
    fn rounds(&self, at: &Member) -> u32 {
        at.size - 1
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (from, to) = (at.back(round + 1), at.ahead(round + 1));
        post(Move::one(Way::Store, from, at.between(from, at.own)));
        post(Move::one(Way::Send, to, at.between(at.own, to)));
    }
}

/// Reduce-scatter: every member combines the data that it receives for its own part.
#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Phase for ReduceScatter {
    fn rounds(&self, at: &Member) -> u32 {
        at.size - 1
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let to = at.ahead(round + 1);
        post(Move::one(Way::Combine, at.back(round + 1), at.part(at.own)));
        post(Move::one(Way::Send, to, at.part(to)));
    }

    fn to_each(&self, at: &Member) -> Option<Move> {
        (at.shares == Shares::Each).then(|| Move::all(Way::Send, at, at.part(at.ahead(1)), 1))
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}
