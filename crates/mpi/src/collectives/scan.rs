//! Scans: every member obtains the combination of the buffers of the members before it, with its own (inclusive) or
//! without (exclusive).
//!
//! A member keeps two buffers: one to forward, and its result. Recursive doubling is that of Hillis and Steele ("Data
//! parallel algorithms", CACM 29(12), 1986) in the form of MPICH: both members of a pair need the combined data of
//! their cube of members.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Chain from member to member.
#[derive(Debug)]
pub(super) struct Chain {
    /// Whether the result excludes the member's own buffer.
    pub exclusive: bool,
}

impl Phase for Chain {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.own > 0) + u32::from(at.own + 1 < at.size)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        if round == 0 && at.own > 0 {
            // The last member forwards nothing.
            let times = u8::from(!self.exclusive || at.own + 1 < at.size);
            return post(Move::one(Way::Prefix { times }, at.own - 1, Data::WHOLE));
        }
        post(Move::one(Way::Send, at.own + 1, Data::WHOLE));
    }
}

/// Recursive doubling: pairs at doubling distances exchange the combined data of their cubes. The upper member adds the
/// data of the lower one to its result.
#[derive(Debug)]
pub(super) struct Doubling {
    /// Whether the result excludes the member's own buffer.
    pub exclusive: bool,
}

impl Phase for Doubling {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.next_power_of_two().ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let distance = 1 << round;
        let peer = at.own ^ distance;
        if peer >= at.size {
            return;
        }
        let is_first = at.own & (distance - 1) == 0;
        let way = match peer < at.own {
            true => Way::Prefix { times: if self.exclusive && is_first { 1 } else { 2 } },
            false => Way::Combine,
        };
        post(Move::one(way, peer, Data::WHOLE));
        post(Move::one(Way::Send, peer, Data::WHOLE));
    }
}
