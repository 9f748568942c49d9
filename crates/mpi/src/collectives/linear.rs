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

/// Gather in which the root asks the members in turn for their parts, by empty messages (Open MPI's linear gather with
/// synchronization). A member answers with the first segment of its part and with the rest. The root asks the next
/// member when it has the first segment.
#[derive(Debug)]
pub(super) struct SyncGather;

impl Phase for SyncGather {
    fn rounds(&self, at: &Member) -> u32 {
        match at.own == at.root {
            _ if at.size < 2 => 0,
            true => at.size - 1 + u32::from(at.segments > 1),
            false => 2,
        }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        const EMPTY: Data = Data::Span { first: 0, count: 0, parts: 1 };
        let first = |member: u32| if at.segments > 1 { at.segment(member, 0) } else { at.part(member) };
        let rest = |member: u32| {
            let (first, count) = (member * at.segments + 1, at.segments - 1);
            (count > 0).then_some(Data::Span { first, count, parts: at.size * at.segments })
        };
        if at.own != at.root {
            if round == 0 {
                return post(Move::one(Way::Store, at.root, EMPTY));
            }
            post(Move::one(Way::Send, at.root, first(at.own)));
            return rest(at.own).into_iter().for_each(|rest| post(Move::one(Way::Send, at.root, rest)));
        }
        let member = |round: u32| (round < at.size - 1).then(|| at.ahead(round + 1));
        if let Some(before) = round.checked_sub(1).and_then(member)
            && let Some(rest) = rest(before)
        {
            post(Move::one(Way::Store, before, rest));
        }
        if let Some(member) = member(round) {
            post(Move::one(Way::Store, member, first(member)));
            post(Move::one(Way::Send, member, EMPTY));
        }
    }
}

/// Alltoall with a limited number of outstanding messages: that many members are served in each round (`radix` of the
/// member).
#[derive(Debug)]
pub(super) struct SyncAlltoall;

impl Phase for SyncAlltoall {
    fn rounds(&self, at: &Member) -> u32 {
        (at.size - 1).div_ceil(at.radix)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let first = round * at.radix + 1;
        let count = at.radix.min(at.size - first);
        let messages = |way, peer, stride| Move { way, peer, count, stride, data: at.part(first), parts: 1 };
        post(messages(Way::Store, at.back(first), at.size - 1));
        post(messages(Way::Send, at.ahead(first), 1));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.shares == Shares::Each
    }
}
