//! Bypass: packets that wait for nothing cross the crossbar and go on without being queued.
//!
//! If most packets can bypass, that saves much of the work. If many cannot, the branch is mispredicted and the attempt
//! is wasted. So attempts are suspended for a while when too few succeed. The decision depends on counts, not on time,
//! and does not affect results.

use super::Switched;
use crate::fabric::{Arrival, Fabric, IdleLink};
use crate::profile::Profile;

/// Success rate of the bypass in the routers of a partition, and whether it is tried.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    is_on: bool,
    /// Number of arrivals until the next decision.
    left: u32,
    /// Number of packets that have tried since the last decision.
    tried: u32,
    /// Number of packets that took the bypass since the last decision.
    passed: u32,
}
units::record!(Trial { is_on, left, tried, passed });

/// Arrivals from one decision to the next while packets try.
const TRIAL: u32 = 1 << 11;
/// Arrivals for which packets do not try after too few have passed.
const PAUSE: u32 = 1 << 15;

impl Default for Trial {
    fn default() -> Self {
        Self { is_on: true, left: TRIAL, tried: 0, passed: 0 }
    }
}

impl Trial {
    /// Returns whether the `arrivals` packets of this instant try the bypass.
    #[inline(always)]
    pub fn tries(&mut self, arrivals: usize) -> bool {
        self.left = self.left.saturating_sub(arrivals as u32);
        if self.left == 0 {
            self.decide();
        }
        self.is_on
    }

    /// Returns whether packets try the bypass.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    #[cold]
    fn decide(&mut self) {
        // The share of three quarters is a choice: no other has been measured.
        self.is_on = !self.is_on || self.passed >= self.tried / 4 * 3;
        self.left = if self.is_on { TRIAL } else { PAUSE };
        (self.tried, self.passed) = (0, 0);
    }
}

impl Switched {
    /// Sends a new arrival across the crossbar and on, if nothing blocks it. Returns whether it was sent.
    #[inline(always)]
    pub(super) fn pass<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        self.trial.tried += 1;
        let (port, output, bytes) = (arrival.in_port(), arrival.output(), arrival.bytes);
        // If the link is free and nobody waits for it, the output's side of the crossbar is free too.
        let side = &self.input_sides[port];
        let is_input_free = (side.filled == 0) & (side.free_at <= now);
        if !(is_input_free & fabric.may_bypass::<P>(output, bytes, now) & fabric.shares_no_space()) {
            return false;
        }
        let Some((to, crossing)) = self.next_vc::<P>(fabric, arrival) else { return false };
        let until = now + crossing;
        self.input_sides[port].free_at = until;
        self.requests.bypass(output, arrival.candidate(self.vc_shift)).crossed(until, (bytes, to));
        fabric.send_on::<P>(arrival, to, now);
        self.trial.passed += 1;
        true
    }

    /// Returns the virtual channel on which an unblocked packet leaves now, and its time over the crossbar, in ticks.
    /// `None`: there is no credit.
    #[inline(always)]
    fn next_vc<P: Profile>(&self, fabric: &mut Fabric, arrival: &Arrival) -> Option<(u8, u64)> {
        let Arrival { packet, class, bytes, .. } = *arrival;
        let output = arrival.output();
        let crossing = |fabric: &Fabric| self.crossing_time(fabric, output, bytes, 0);
        if self.buffers.is_empty() {
            let vc = fabric.ready_vc(output, packet, (class, bytes))?;
            return Some((vc, crossing(fabric)));
        }
        // All buffers of the output are empty: the first of its class is taken, as in `ready`.
        if P::PLAIN && bytes == fabric.params.full_bytes {
            let IdleLink { vc, credit, crossing } = fabric.idle_link(output, class);
            return (credit >= bytes as i32).then_some((vc, crossing));
        }
        let vc = class * fabric.vcs_per_class(output);
        fabric.has_credit::<P>(output, vc, bytes).then(|| (vc, crossing(fabric)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of instants, of `instants` with four arrivals each, in which packets try, if `passing` of
    /// every four pass.
    fn instants_with_attempts(instants: u32, passing: u32) -> u32 {
        let mut trial = Trial::default();
        (0..instants)
            .map(|_| {
                let tries = trial.tries(4);
                if tries {
                    (trial.tried, trial.passed) = (trial.tried + 4, trial.passed + passing);
                }
                u32::from(tries)
            })
            .sum()
    }

    #[test]
    fn attempts_go_on_while_they_succeed_and_pause_while_they_do_not() {
        // Would catch a bypass that is given up for good, is never given up, or counts attempts from before the last
        // decision.
        let (trial, cycle) = (TRIAL / 4, (TRIAL + PAUSE) / 4);
        assert_eq!(instants_with_attempts(4 * cycle, 3), 4 * cycle);
        let tries = instants_with_attempts(4 * cycle, 2);
        assert!((3 * trial..=4 * trial).contains(&tries), "{tries} instants with attempts");
    }
}
