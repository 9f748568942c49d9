//! Parallel aggregated trees (NCCL 2.23): each part travels along its own binomial tree, whose farthest members come
//! first, and parts on equal steps travel together. An allgather and a reduce-scatter of any number of members take
//! ceil(log2 P) rounds.
//!
//! In an allgather, the members at distances that are multiples of 2 d from the owner of a part pass it on by d, for
//! shrinking powers of two d. A reduce-scatter takes the opposite way.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Returns the distance of a round of an allgather, and the number of parts of its messages.
fn step(at: &Member, round: u32) -> (u32, u32) {
    let distance = at.size.next_power_of_two() >> (round + 1);
    (distance, (at.size - distance).div_ceil(2 * distance))
}

/// Returns every second of the parts that member `owner` has or needs.
fn parts(at: &Member, owner: u32, (distance, count): (u32, u32)) -> Data {
    let step = (u64::from(at.size) * 2 - 2 * u64::from(distance)) % u64::from(at.size);
    Data::Stride { first: owner, step: step as u32, count, parts: at.size }
}

/// Allgather.
#[derive(Debug)]
pub(super) struct Allgather;

impl Phase for Allgather {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.next_power_of_two().ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let step = step(at, round);
        let from = at.back(step.0);
        post(Move::one(Way::Store, from, parts(at, from, step)));
        post(Move::one(Way::Send, at.ahead(step.0), parts(at, at.own, step)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}

/// Reduce-scatter.
#[derive(Debug)]
pub(super) struct ReduceScatter;

impl Phase for ReduceScatter {
    fn rounds(&self, at: &Member) -> u32 {
        at.size.next_power_of_two().ilog2()
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let step = step(at, self.rounds(at) - 1 - round);
        let to = at.back(step.0);
        post(Move::one(Way::Combine, at.ahead(step.0), parts(at, at.own, step)));
        post(Move::one(Way::Send, to, parts(at, to, step)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.has_equal_parts()
    }
}
