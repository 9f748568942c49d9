//! Algorithms of Bruck et al. ("Efficient algorithms for all-to-all communications in multiport message-passing
//! systems", IEEE TPDS 8(11), 1997): few rounds, in which parts travel together.

use super::data::Data;
use super::dissemination::{each_step, rounds};
use super::member::{Member, Move, Phase, Shares, Way};

/// Allgather: every member collects the parts of the members ahead of it. The number of collected parts grows by a
/// factor of `radix` a round.
#[derive(Debug)]
pub(super) struct Allgather;

impl Phase for Allgather {
    fn rounds(&self, at: &Member) -> u32 {
        rounds(at)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        each_step(at, round, |step| {
            let count = step.weight.min(at.size - step.distance);
            let from = at.ahead(step.distance);
            post(Move::one(Way::Store, from, at.span(from, count)));
        });
        each_step(at, round, |step| {
            let count = step.weight.min(at.size - step.distance);
            post(Move::one(Way::Send, at.back(step.distance), at.span(at.own, count)));
        });
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}

/// Alltoall: parts are numbered as in [`super::linear::Alltoall`]. Each round handles one digit of the part numbers and
/// moves a part ahead by that digit times its weight.
#[derive(Debug)]
pub(super) struct Alltoall;

impl Phase for Alltoall {
    fn rounds(&self, at: &Member) -> u32 {
        rounds(at)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        for way in [Way::Store, Way::Send] {
            each_step(at, round, |step| {
                let data = Data::Digit { weight: step.weight, digit: step.digit, radix: at.radix, parts: at.size };
                let sends = way == Way::Send;
                post(Move::one(way, if sends { at.ahead(step.distance) } else { at.back(step.distance) }, data));
                // Parts of a message are packed before it and unpacked after it.
                post(Move::local(Way::Copy, data));
            });
        }
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.shares == Shares::Each
    }
}
