//! Ring algorithms: every member sends only to the next member, one part at a time.

use super::data::Data;
use super::member::{Circulated, Member, Move, Phase, Way};

/// Reduce-scatter: every part travels once around the ring, is combined on its way, and ends at its member. If parts
/// have segments, the first segments of all parts travel first, then the next ones.
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

    fn circulated(&self, at: &Member) -> Option<Circulated> {
        Circulated::new(at, at.own, at.segments)
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts() && at.segments == 1
    }
}

/// Allgather: every part travels once around the ring, from its member on.
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

    fn circulated(&self, at: &Member) -> Option<Circulated> {
        Circulated::new(at, at.ahead(1), 1)
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}

/// Barrier: a notification goes twice around the ring, from member 0 on (Open MPI's double ring).
#[derive(Debug)]
pub(super) struct Barrier;

impl Phase for Barrier {
    fn rounds(&self, at: &Member) -> u32 {
        if at.size > 1 { 4 } else { 0 }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        match round.is_multiple_of(2) == (at.own == 0) {
            true => post(Move::one(Way::Send, at.ahead(1), Data::WHOLE)),
            false => post(Move::one(Way::Combine, at.back(1), Data::WHOLE)),
        }
    }

    fn is_symmetric(&self, _at: &Member) -> bool {
        true
    }
}
