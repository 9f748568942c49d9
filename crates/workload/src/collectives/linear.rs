//! Linear algorithms: every message goes from its source to its destination, all of a rank at once.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Between the root and every other member: all of the buffer, or the part of the other one.
#[derive(Debug)]
pub(super) struct Star {
    /// Toward the root.
    pub up: bool,
    /// The parts of the members.
    pub parts: bool,
}

impl Phase for Star {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        let is_root = at.own == at.root;
        let other = if is_root { at.ahead(1) } else { at.own };
        let data = if self.parts { at.part(other) } else { Data::WHOLE };
        let way = match (self.up == is_root, self.up && !self.parts) {
            (false, _) => Way::Send,
            (true, false) => Way::Store,
            (true, true) => Way::Combine,
        };
        match is_root {
            true => post(Move::all(way, at, data, u32::from(self.parts))),
            false => post(Move::one(way, at.root, data)),
        }
    }
}

/// Every member sends every other its own part.
#[derive(Debug)]
pub(super) struct Allgather;

impl Phase for Allgather {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        post(Move::all(Way::Store, at, at.part(at.ahead(1)), 1));
        post(Move::all(Way::Send, at, at.part(at.own), 0));
    }
}

/// Every member sends every other that one's part, which combines them.
#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Phase for ReduceScatter {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        post(Move::all(Way::Combine, at, at.part(at.own), 0));
        post(Move::all(Way::Send, at, at.part(at.ahead(1)), 1));
    }
}

/// Every member sends every other what it has for that one. Part i is what is for the member i ahead and, once it has come, what is
/// from the member i back.
#[derive(Debug)]
pub(super) struct Alltoall;

impl Phase for Alltoall {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        post(Move::all(Way::Store, at, at.part(at.size - 1), at.size - 1));
        post(Move::all(Way::Send, at, at.part(1), 1));
    }
}
