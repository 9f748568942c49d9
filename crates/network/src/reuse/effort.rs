//! Effort of reuse, beside that of the packet model: reuse gives up where it does not pay.
//!
//! A run that gives up is repeated, so that all effort until then is wasted. The trial is therefore a small part of the
//! expected work. It grows by all packet-hops that the packet model would have simulated so far.

/// Smallest effort that a run may waste, in packet-hops of the packet model: a few milliseconds.
const LEAST_TRIAL: u64 = 1 << 16;

/// Largest part of the expected work that a run may waste.
const TRIAL_PART: u64 = 40;

/// Effort of one simulated packet-hop of an episode.
const SIMULATED: u64 = 3;

/// Effort of a message that is released.
const RELEASED: u64 = 3;

/// Effort of a message in an episode that is looked up.
const DESCRIBED: u64 = 2;

/// Effort so far, in packet-hops of the packet model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
    /// Packets of the whole run, about.
    expected: u64,
    released_packets: u64,
    /// Packet-hops of the released messages.
    released_hops: u64,
    spent: u64,
}

impl Effort {
    /// Creates the effort of a run of about `expected` packets.
    pub fn new(expected: u64) -> Self {
        Self { expected, ..Self::default() }
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

    /// Counts packet-hops that are to be simulated. Returns whether the effort still pays.
    pub fn allows(&mut self, simulated: u64) -> bool {
        self.spent += SIMULATED * simulated;
        let left = self.expected.saturating_sub(self.released_packets);
        let expected = (self.released_hops / self.released_packets.max(1)).saturating_mul(left);
        self.spent <= self.released_hops + LEAST_TRIAL.max((self.released_hops + expected) / TRIAL_PART)
    }
}
