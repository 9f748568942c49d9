//! Packets that have nothing to wait for: they cross and go on without being queued.
//!
//! Where most packets can, that spares much of the work. Where many cannot, whether one can is a branch that is mispredicted, and
//! what the attempt costs is lost. So attempts are given up for a while when too few succeed: by counts, not by time, and of no
//! consequence for results.

use super::Switched;
use crate::fabric::{Arrival, Fabric, IdleLink};

/// How often packets take the bypass in the routers of a partition, and whether it is worth trying.
#[derive(Debug)]
pub(super) struct Trial {
    is_on: bool,
    /// Packets that arrive until that is decided again.
    left: u32,
    /// Packets that have tried since the last decision,
    tried: u32,
    /// and those of them that took the bypass.
    passed: u32,
}

/// Packets that arrive from one decision to the next while they try,
const TRIAL: u32 = 1 << 11;
/// and packets that then do not, if too few pass.
const PAUSE: u32 = 1 << 15;

impl Default for Trial {
    fn default() -> Self {
        Self { is_on: true, left: TRIAL, tried: 0, passed: 0 }
    }
}

impl Trial {
    /// Whether so many packets that arrive now try the bypass.
    #[inline(always)]
    pub fn tries(&mut self, arrivals: usize) -> bool {
        self.left = self.left.saturating_sub(arrivals as u32);
        if self.left == 0 {
            self.decide();
        }
        self.is_on
    }

    /// Whether packets try the bypass.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    #[cold]
    fn decide(&mut self) {
        // The share is a choice: no other has been measured.
        self.is_on = !self.is_on || self.passed >= self.tried / 4 * 3;
        self.left = if self.is_on { TRIAL } else { PAUSE };
        (self.tried, self.passed) = (0, 0);
    }
}

impl Switched {
    /// Sends a packet that has just come across the crossbar and on, if nothing is in its way; returns whether that is so.
    #[inline(always)]
    pub(super) fn pass<const PLAIN: bool>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) -> bool {
        self.trial.tried += 1;
        let Arrival { base, port, vc, out, bytes, .. } = *arrival;
        let (input, output) = (base as usize + usize::from(port), base as usize + usize::from(out));
        // Where the link is free and nobody waits for it, the output's side of the crossbar is free too.
        let side = &self.input_sides[input];
        let is_input_free = (side.filled == 0) & (side.free_at <= now);
        if !(is_input_free & fabric.may_bypass::<PLAIN>(output, bytes, now) & fabric.shares_no_space()) {
            return false;
        }
        let Some((to, crossing)) = self.next_vc::<PLAIN>(fabric, arrival) else { return false };
        let until = now + crossing;
        self.input_sides[input].free_at = until;
        let candidate = usize::from(port) << self.vc_shift | usize::from(vc);
        self.requests.bypass(output, candidate).crossed(until, (bytes, to));
        fabric.send_on::<PLAIN>(arrival, to, now);
        self.trial.passed += 1;
        true
    }

    /// The virtual channel on which a packet that nothing is in the way of leaves now, and its time over the crossbar, in ticks; without
    /// credit it waits.
    #[inline(always)]
    fn next_vc<const PLAIN: bool>(&self, fabric: &mut Fabric, arrival: &Arrival) -> Option<(u8, u64)> {
        let Arrival { base, packet, out, class, bytes, .. } = *arrival;
        let output = base as usize + usize::from(out);
        let crossing = |fabric: &Fabric| self.crossing_time(fabric, output, bytes, 0);
        if self.buffers.is_empty() {
            let vc = fabric.ready_vc(output, packet, (class, bytes))?;
            return Some((vc, crossing(fabric)));
        }
        // All buffers of the output are empty: the first of its class, as in `ready`.
        if PLAIN && bytes == fabric.full_bytes {
            let IdleLink { vc, credit, crossing } = fabric.idle_link(output, class);
            return (credit >= bytes as i32).then_some((vc, crossing));
        }
        let vc = class * fabric.vcs_per_class(output);
        fabric.has_credit::<PLAIN>(output, vc, bytes).then(|| (vc, crossing(fabric)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instants, of so many with four arrivals each, in which packets try, if of every four so many pass.
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
        // Would catch a bypass that is given up for good, is never given up, or counts what was before the last decision.
        let (trial, cycle) = (TRIAL / 4, (TRIAL + PAUSE) / 4);
        assert_eq!(instants_with_attempts(4 * cycle, 3), 4 * cycle);
        let tries = instants_with_attempts(4 * cycle, 2);
        assert!((3 * trial..=4 * trial).contains(&tries), "{tries} instants with attempts");
    }
}
