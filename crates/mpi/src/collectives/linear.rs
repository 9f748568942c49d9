//! Linear algorithms: every message goes directly from its source to its destination. A rank posts all its messages at
//! once.

use super::data::Data;
use super::member::{Member, Move, Phase, Shares, Way};

/// Transfer between the root and every other member: the whole buffer, or the part of the other member.
#[derive(Debug)]
pub(super) struct Star {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Whether each message carries only the part of the other member.
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

/// Allgather: every member sends its own part to every other member.
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

/// Reduce-scatter: every member sends every other member the part of the receiver, which combines it.
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

/// Alltoall: every member sends a different part to every other member. Part i is for the member i ahead; after the
/// exchange it is from the member i back.
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

    fn is_symmetric(&self, at: &Member) -> bool {
        at.shares == Shares::Each
    }
}
