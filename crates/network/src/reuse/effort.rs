//! Effort of reuse, beside that of the packet model: reuse gives up where it does not pay.
//!
//! A run that gives up is repeated, so that all effort until then is wasted. The trial is therefore a small part of the
//! expected work. It grows by all packet-hops that the packet model would have simulated so far.

/// Effort that any run may waste, in packet-hops of the packet model: some 15 milliseconds.
pub(super) const LEAST_TRIAL: u64 = 1 << 17;

/// Largest part of the expected work that a run may waste.
const TRIAL_PART: u64 = 25;

/// Largest effort besides a trial, over that of the whole run in the packet model. The rest of a run may seem small
/// while much is still to be looked up: all of its messages may be released at once.
const MOST_TIMES: u64 = 2;

/// Effort of two simulated packet-hops of an episode, without the search for periods.
const TWO_SIMULATED: u64 = 3;

/// Effort of a simulated episode besides its packet-hops: it begins, becomes idle, and leaves a record.
const EPISODE: u64 = 50;

/// Effort of a message that is released.
const RELEASED: u64 = 10;

/// Effort of a message in an episode that is looked up, and of its part of the record.
const DESCRIBED: u64 = 5;

/// Effort so far, in packet-hops of the packet model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
    /// Packets of the whole run, about.
    expected: u64,
    /// Effort that the run may waste, however small it is.
    least_trial: u64,
    released_packets: u64,
    /// Packet-hops of the released messages.
    released_hops: u64,
    spent: u64,
}

impl Effort {
    /// Creates the effort of a run of about `expected` packets, which may waste `least_trial`, however small it is.
    pub fn new(expected: u64, least_trial: u64) -> Self {
        Self { expected, least_trial, ..Self::default() }
    }

    /// Counts a released message.
    pub fn release(&mut self, packets: u64, routers: u64) {
        self.released_packets += packets;
        self.released_hops += packets * routers;
        self.spent += RELEASED;
    }

    /// Counts the look-up of an episode.
    pub fn describe(&mut self, messages: usize) {
        self.spent += DESCRIBED * messages as u64;
    }

    /// Counts an episode of packet-hops that are to be simulated.
    pub fn simulate(&mut self, hops: u64) {
        self.spent += EPISODE + TWO_SIMULATED * hops / 2;
    }

    /// Corrects the packet-hops of the episode that was simulated last.
    pub fn correct(&mut self, expected: u64, simulated: u64) {
        self.spent = self.spent.saturating_sub(TWO_SIMULATED * expected / 2) + TWO_SIMULATED * simulated / 2;
    }

    /// Counts the copy of a state, which takes the time of `hops` packet-hops.
    pub fn copy(&mut self, hops: u64) {
        self.spent += hops;
    }

    /// Returns whether to go on: the effort so far pays, is no more than a trial, or the rest takes less effort than the
    /// whole run without reuse.
    pub fn pays(&self) -> bool {
        self.spent <= self.most()
    }

    /// Returns the packet-hops that may be simulated now so that it still pays.
    pub fn allowance(&self) -> u64 {
        self.most().saturating_sub(self.spent) / TWO_SIMULATED * 2
    }

    /// Returns the largest effort that pays.
    fn most(&self) -> u64 {
        let left = self.expected.saturating_sub(self.released_packets);
        let left = (self.released_hops / self.released_packets.max(1)).saturating_mul(left);
        let all = self.released_hops.saturating_add(left);
        let of_trial = self.released_hops.saturating_add(self.least_trial.max(all / TRIAL_PART));
        let of_rest = (u128::from(self.released_hops) * u128::from(all)).checked_div(left.into());
        let of_rest = of_rest.map_or(u64::MAX, |most| u64::try_from(most).unwrap_or(u64::MAX));
        let at_most = all.saturating_mul(MOST_TIMES).saturating_add(self.least_trial);
        of_trial.max(of_rest.min(at_most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_gives_up_early_or_not_at_all() {
        // Would catch a trial that wastes more than a small part of a run, and a run that is repeated near its end.
        let mut effort = Effort::new(10_000_000, LEAST_TRIAL);
        let mut released = 0;
        while effort.pays() {
            effort.release(1, 4);
            effort.simulate(4);
            released += 1;
        }
        assert!((10_000..100_000).contains(&released), "{released}");
        let twice = |released: u64| Effort {
            expected: 1_000_000,
            least_trial: LEAST_TRIAL,
            released_packets: released,
            released_hops: 4 * released,
            spent: 8 * released,
        };
        assert!(!twice(100_000).pays() && twice(900_000).pays());
        // All messages are released, and their episodes are looked up again and again.
        let looked_up = |times: u64| Effort { spent: times * 4_000_000, ..twice(1_000_000) };
        assert!(looked_up(2).pays() && !looked_up(3).pays());
    }
}
