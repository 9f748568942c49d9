//! Dissemination (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988): in round i every
//! member notifies the members whose distance ahead is a multiple of the i-th power of the radix, below the next power.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Peer of a member in a round, in one direction.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Power of the radix that belongs to the round.
    pub weight: u32,
    /// Multiple of the power; at least 1 and less than the radix.
    pub digit: u32,
    /// Distance of the peer: `weight` times `digit`.
    pub distance: u32,
}

/// Returns the number of rounds: the number of powers of the radix that are smaller than the group.
pub(super) fn rounds(at: &Member) -> u32 {
    let (mut weight, mut rounds) = (1, 0);
    while weight < u64::from(at.size) {
        (weight, rounds) = (weight * u64::from(at.radix), rounds + 1);
    }
    rounds
}

/// Calls `call` for each peer of a round.
pub(super) fn each_step(at: &Member, round: u32, mut call: impl FnMut(Step)) {
    let weight = at.radix.pow(round);
    for digit in 1..at.radix {
        let distance = u64::from(digit) * u64::from(weight);
        if distance >= u64::from(at.size) {
            break;
        }
        call(Step { weight, digit, distance: distance as u32 });
    }
}

/// Barrier by dissemination.
#[derive(Debug)]
pub(super) struct Barrier;

impl Phase for Barrier {
    fn rounds(&self, at: &Member) -> u32 {
        rounds(at)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        each_step(at, round, |step| post(Move::one(Way::Combine, at.back(step.distance), Data::WHOLE)));
        each_step(at, round, |step| post(Move::one(Way::Send, at.ahead(step.distance), Data::WHOLE)));
    }

    fn is_symmetric(&self, at: &Member) -> bool {
        at.size > 0
    }
}
