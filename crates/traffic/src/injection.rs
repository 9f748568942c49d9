//! Injection processes: the times at which a source generates its messages.
//!
//! Times are in ticks of some clock: that of the simulation or a finer one. A *slot* is the time of one message at the
//! injection bandwidth, so that load 1 is one message a slot. All processes are exact in their rate over the long run,
//! and equal draws give equal times on every platform (logarithms are computed by `libm`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, unit_of};

/// Process that generates a source's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionSpec {
    /// In every slot a message starts with probability `load`. The slots of all nodes are aligned.
    #[default]
    Bernoulli,
    /// Poisson process: exponential gaps with mean slot / `load`.
    Poisson,
    /// One message every slot / `load`, from a random phase on.
    Periodic,
    /// Each source always has a message. It generates the next message when the head of the previous message's last
    /// packet leaves the node, so that a message waits at least while that packet is serialized. Requires a load of 1.
    Backlogged,
}

/// Error: a process cannot have this load.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InjectionError {
    /// The load is not a number from 0 to 1.
    #[error("load is {0}; it has to be between 0 and 1, where 1 is the injection link's bandwidth")]
    Load(f64),
    /// The load of a backlogged source is not 1.
    #[error("load is {0}; backlogged sources always have a message, so it has to be 1")]
    Backlogged(f64),
}

impl InjectionSpec {
    /// Checks whether the process can have this load.
    ///
    /// # Errors
    /// [`InjectionError`] if the load is not in 0..=1, or is not 1 for backlogged sources.
    pub fn check(self, load: f64) -> Result<(), InjectionError> {
        if !(0.0..=1.0).contains(&load) {
            return Err(InjectionError::Load(load));
        }
        if self == Self::Backlogged && load != 1.0 {
            return Err(InjectionError::Backlogged(load));
        }
        Ok(())
    }
}

/// State of a source between its messages, besides the time of the last one: the fraction of a tick that rounding left
/// over, in the process's own unit. 8 bytes a node. All sources start from the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectionState {
    part: u64,
}
units::record!(InjectionState { part });

/// Injection process for one load and message size. It has no state, so that nodes of equal load share it.
#[derive(Clone, Debug, PartialEq)]
pub enum Injection {
    /// Generates no messages.
    Silent,
    /// Process of [`InjectionSpec::Backlogged`].
    Backlogged,
    /// Process of [`InjectionSpec::Bernoulli`].
    Bernoulli {
        /// Length of a slot, in ticks.
        slot: u64,
        /// Distribution of the number of slots without a message before the next message.
        gaps: Geometric,
    },
    /// Process of [`InjectionSpec::Poisson`].
    Poisson {
        /// Mean gap between messages, in ticks.
        mean: f64,
    },
    /// Process of [`InjectionSpec::Periodic`]. The period is exactly `whole + rest / unit` ticks.
    Periodic {
        /// Whole ticks of the period.
        whole: u64,
        /// Remainder of the period, in fractions of a tick (1 / `unit`).
        rest: u64,
        /// Number of fractions that a tick is divided into.
        unit: u64,
    },
}

/// Number of fractions of a tick in which a Poisson source keeps its rounding remainder.
const POISSON_UNIT: f64 = (1_u64 << 32) as f64;

impl Injection {
    /// Creates the process for a load and for messages that take `message_slot` ticks at the injection bandwidth (at
    /// least 1).
    ///
    /// A load that is not positive gives a silent source. A load above 1 counts as 1; see [`InjectionSpec::check`]. A
    /// period of 2^63 ticks or more also gives a silent source, since no simulation would reach its first message.
    pub fn new(spec: InjectionSpec, load: f64, message_slot: u64) -> Self {
        // The smaller of NaN and 1 is 1, so NaN has to be caught first.
        let load = if load.is_nan() { 0.0 } else { load.min(1.0) };
        let slot = message_slot.max(1);
        let mean = slot as f64 / load;
        if load <= 0.0 || mean >= (1_u64 << 63) as f64 {
            return Self::Silent;
        }
        match spec {
            InjectionSpec::Bernoulli => Self::Bernoulli { slot, gaps: Geometric::new(load) },
            InjectionSpec::Poisson => Self::Poisson { mean },
            InjectionSpec::Periodic => Self::periodic(load, slot),
            InjectionSpec::Backlogged => Self::Backlogged,
        }
    }

    /// Creates a periodic process. The period is slot / load, and the load, a binary fraction, is exactly `mantissa /
    /// 2^shift`.
    fn periodic(load: f64, slot: u64) -> Self {
        let bits = load.to_bits();
        // A subnormal load would have a period beyond 2^63 ticks, so the load is normal and its leading bit is
        // implicit.
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        let zeros = mantissa.trailing_zeros();
        let unit = mantissa >> zeros;
        let shift = 1075 - (bits >> 52) as u32 - zeros;
        // Fits: slot * 2^shift = period * unit < 2^63 * 2^53.
        let period = u128::from(slot) << shift;
        Self::Periodic { whole: (period / u128::from(unit)) as u64, rest: (period % u128::from(unit)) as u64, unit }
    }

    /// Builds a table that makes each draw of a Bernoulli process faster. Worthwhile if many nodes share the process.
    pub fn for_many(mut self) -> Self {
        if let Self::Bernoulli { gaps, .. } = &mut self {
            gaps.tabulate();
        }
        self
    }

    /// Returns whether the next message is generated when the head of the previous message's last packet leaves,
    /// instead of by the clock.
    #[inline]
    pub fn is_backlogged(&self) -> bool {
        matches!(self, Self::Backlogged)
    }

    /// Returns the time of a source's first message, in ticks from the start. `None` if a clock of 64 bits does not
    /// reach it.
    #[inline]
    pub fn first(&self, state: &mut InjectionState, draw: &mut (impl Draw + ?Sized)) -> Option<u64> {
        match *self {
            Self::Silent => None,
            Self::Backlogged => Some(0),
            // The first slot is slot 0, so the gap counts from the slot before.
            Self::Bernoulli { slot, ref gaps } => gaps.draw(draw).checked_mul(slot),
            Self::Poisson { .. } => self.next(state, 0, draw),
            Self::Periodic { whole, rest, unit } => {
                let phase = draw.unit() * (whole as f64 + rest as f64 / unit as f64);
                let ticks = libm::floor(phase);
                state.part = ((phase - ticks) * unit as f64) as u64;
                Some(ticks as u64)
            }
        }
    }

    /// Returns the time of the next message, in ticks, after one that was generated at `previous`. For backlogged
    /// sources `previous` is the time at which the head of the previous message's last packet has left, and the result
    /// is that time. `None` if a clock of 64 bits does not reach it.
    #[inline(always)]
    pub fn next(&self, state: &mut InjectionState, previous: u64, draw: &mut (impl Draw + ?Sized)) -> Option<u64> {
        match *self {
            Self::Silent => None,
            Self::Backlogged => Some(previous),
            Self::Bernoulli { slot, ref gaps } => {
                previous.checked_add(gaps.draw(draw).checked_add(1)?.checked_mul(slot)?)
            }
            Self::Poisson { mean } => state.next_of_poisson(mean, previous, draw),
            Self::Periodic { whole, rest, unit } => {
                let part = state.part + rest;
                let carry = u64::from(part >= unit);
                state.part = part - carry * unit;
                previous.checked_add(whole)?.checked_add(carry)
            }
        }
    }
}

impl InjectionState {
    /// Returns [`Injection::next`] of a Poisson process. `mean` is the mean time between messages, in ticks. This is a
    /// separate function because the registers that a logarithm needs would otherwise be saved and restored for every
    /// process.
    #[inline(never)]
    fn next_of_poisson(&mut self, mean: f64, previous: u64, draw: &mut (impl Draw + ?Sized)) -> Option<u64> {
        let gap = -libm::log(draw.unit()) * mean;
        let whole = libm::floor(gap);
        let part = self.part + ((gap - whole) * POISSON_UNIT) as u64;
        self.part = part & ((1 << 32) - 1);
        previous.checked_add(whole as u64)?.checked_add(part >> 32)
    }
}

/// Geometric distribution: failures before the next success, by inversion: floor(ln U / ln(1 - p)).
#[derive(Clone, Debug, PartialEq)]
pub struct Geometric {
    /// Factor 1 / ln(1 - p), which converts the logarithm of a draw into the number.
    scale: f64,
    /// Number for each value of the highest 8 bits of a draw, or `OPEN` if they do not determine it.
    known: Option<Box<[u8; 256]>>,
}

/// Marker of an entry in which the highest bits of a draw do not determine the number.
const OPEN: u8 = u8::MAX;

impl Geometric {
    /// Creates the distribution for a probability of success above 0 and up to 1.
    pub fn new(probability: f64) -> Self {
        // At probability 1 the scale is -0, and at tiny probabilities the number saturates.
        Self { scale: 1.0 / libm::log1p(-probability), known: None }
    }

    /// Builds the table that saves most logarithms. Building costs 512 logarithms, which pays for many draws.
    fn tabulate(&mut self) {
        let scale = self.scale;
        let known = |cell: u64| {
            // The number falls as the draw grows. Entries close to an edge are left to the logarithm, which may round.
            let least = libm::log(unit_of(cell << 56 | u64::MAX >> 8)) * scale - 1e-6;
            let most = libm::log(unit_of(cell << 56)) * scale + 1e-6;
            let (least, most) = (least as u64, most as u64);
            if least == most && most < u64::from(OPEN) { most as u8 } else { OPEN }
        };
        self.known = Some(Box::new(std::array::from_fn(|cell| known(cell as u64))));
    }

    /// Draws a number of failures.
    #[inline]
    pub fn draw(&self, draw: &mut (impl Draw + ?Sized)) -> u64 {
        let bits = draw.bits();
        match self.known.as_ref().map_or(OPEN, |known| known[(bits >> 56) as usize]) {
            OPEN => self.invert(bits),
            number => u64::from(number),
        }
    }

    /// Returns the number for the bits of a draw, by the logarithm.
    #[inline(never)]
    fn invert(&self, bits: u64) -> u64 {
        (libm::log(unit_of(bits)) * self.scale) as u64
    }
}

#[cfg(test)]
#[path = "injection_tests.rs"]
mod tests;
