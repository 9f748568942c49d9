//! When a source generates its messages.
//!
//! Times are ticks of a clock, whatever a tick is: that of the simulation, or a finer one. A *slot* is the time that one message takes at the
//! injection bandwidth, so that load 1 is one message a slot. All processes are exact in their rate over the long run,
//! and the same draws give the same times on every platform (logarithms are computed by `libm`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, unit_of};

/// The process that generates a source's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InjectionSpec {
    /// In every slot a message starts with probability `load`; the slots of all nodes are aligned.
    #[default]
    Bernoulli,
    /// Exponential gaps of mean slot / load: a Poisson process.
    Poisson,
    /// One message every slot / load, from a random phase on.
    Periodic,
    /// A source always has a message: the next is generated at the moment at which the head of the previous one's last
    /// packet leaves the node, so that it waits at least while that packet is serialized. The load has to be 1.
    Backlogged,
}

/// A load that a process cannot have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InjectionError {
    /// Outside 0 to 1, or no number.
    #[error("load is {0}; it has to be between 0 and 1, where 1 is the injection link's bandwidth")]
    Load(f64),
    /// A backlogged source of another load than 1.
    #[error("load is {0}; backlogged sources always have a message, so it has to be 1")]
    Backlogged(f64),
}

impl InjectionSpec {
    /// Whether the process can have a load.
    ///
    /// # Errors
    /// If the load is not in 0..=1, or is not 1 for backlogged sources.
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

/// What a source remembers between its messages, besides the time of the last: the part of a tick, in the process's
/// own unit, that rounding left over. 8 bytes a node; all start from the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectionState {
    part: u64,
}

/// A process made for a load and a message size: without state, to be shared by nodes of equal load.
#[derive(Clone, Debug, PartialEq)]
pub enum Injection {
    /// No message, ever.
    Silent,
    /// See [`InjectionSpec::Backlogged`].
    Backlogged,
    /// See [`InjectionSpec::Bernoulli`].
    Bernoulli {
        /// Ticks of a slot.
        slot: u64,
        /// Slots without a message before the next.
        gaps: Geometric,
    },
    /// See [`InjectionSpec::Poisson`].
    Poisson {
        /// Mean gap in ticks.
        mean: f64,
    },
    /// See [`InjectionSpec::Periodic`]. The period is `whole + rest / unit` ticks, exactly.
    Periodic {
        /// Whole ticks of the period.
        whole: u64,
        /// What is left of the period, in parts of `unit`.
        rest: u64,
        /// Parts of a tick.
        unit: u64,
    },
}

/// Parts of a tick in which a Poisson source keeps what rounding leaves over.
const POISSON_UNIT: f64 = (1_u64 << 32) as f64;

impl Injection {
    /// The process for a load, and for messages that take `message_slot` ticks at the injection bandwidth (at least 1).
    ///
    /// A load that is not positive gives a silent source and one above 1 counts as 1; see [`InjectionSpec::check`]. So
    /// does a period of 2^63 ticks or more, whose first message no simulation would reach.
    pub fn new(spec: InjectionSpec, load: f64, message_slot: u64) -> Self {
        // Of NaN and 1 the smaller is 1, so NaN has to be caught first.
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

    /// The period is slot / load, and the load, a binary fraction, is exactly `mantissa / 2^shift`.
    fn periodic(load: f64, slot: u64) -> Self {
        let bits = load.to_bits();
        // A subnormal load has a period beyond 2^63 ticks, so the leading bit is there.
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        let zeros = mantissa.trailing_zeros();
        let unit = mantissa >> zeros;
        let shift = 1075 - (bits >> 52) as u32 - zeros;
        // Fits: slot * 2^shift = period * unit < 2^63 * 2^53.
        let period = u128::from(slot) << shift;
        Self::Periodic { whole: (period / u128::from(unit)) as u64, rest: (period % u128::from(unit)) as u64, unit }
    }

    /// The same process, faster at each draw and slower to make: for many nodes.
    pub fn for_many(mut self) -> Self {
        if let Self::Bernoulli { gaps, .. } = &mut self {
            gaps.tabulate();
        }
        self
    }

    /// Whether the next message is generated when the head of the previous one's last packet leaves, not by the clock.
    #[inline]
    pub fn is_backlogged(&self) -> bool {
        matches!(self, Self::Backlogged)
    }

    /// The time of a source's first message, in ticks from the start; `None` if there is none that a clock of 64 bits
    /// reaches.
    #[inline]
    pub fn first(&self, state: &mut InjectionState, draw: &mut (impl Draw + ?Sized)) -> Option<u64> {
        match *self {
            Self::Silent => None,
            Self::Backlogged => Some(0),
            // The first slot is slot 0, so the gap counts from the one before.
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

    /// The time of the message after one that was generated at `previous`. Of backlogged sources, `previous` is the
    /// time at which the head of the previous message's last packet has left, and the answer is that time.
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
    /// `Injection::next` of a Poisson process with a mean time between messages, in ticks. A function of its own: what a logarithm needs
    /// would be saved and restored for every process.
    #[inline(never)]
    fn next_of_poisson(&mut self, mean: f64, previous: u64, draw: &mut (impl Draw + ?Sized)) -> Option<u64> {
        let gap = -libm::log(draw.unit()) * mean;
        let whole = libm::floor(gap);
        let part = self.part + ((gap - whole) * POISSON_UNIT) as u64;
        self.part = part & ((1 << 32) - 1);
        previous.checked_add(whole as u64)?.checked_add(part >> 32)
    }
}

/// Failures before the next success, by inversion: floor(ln U / ln(1 - p)).
#[derive(Clone, Debug, PartialEq)]
pub struct Geometric {
    /// 1 / ln(1 - p): turns the logarithm of a draw into the number.
    scale: f64,
    /// By the highest 8 bits of a draw, the number that they alone decide, or `OPEN`.
    known: Option<Box<[u8; 256]>>,
}

/// The highest bits of a draw do not decide the number.
const OPEN: u8 = u8::MAX;

impl Geometric {
    /// Of success with a probability above 0 and up to 1.
    pub fn new(probability: f64) -> Self {
        // At probability 1 the scale is -0, and at tiny ones the number saturates.
        Self { scale: 1.0 / libm::log1p(-probability), known: None }
    }

    /// Makes the table that spares most logarithms, by 512 of them: for many draws.
    fn tabulate(&mut self) {
        let scale = self.scale;
        let known = |cell: u64| {
            // The number falls as the draw grows. What is next to an edge is left to the logarithm, which may round.
            let least = libm::log(unit_of(cell << 56 | u64::MAX >> 8)) * scale - 1e-6;
            let most = libm::log(unit_of(cell << 56)) * scale + 1e-6;
            let (least, most) = (least as u64, most as u64);
            if least == most && most < u64::from(OPEN) { most as u8 } else { OPEN }
        };
        self.known = Some(Box::new(std::array::from_fn(|cell| known(cell as u64))));
    }

    /// Draws a number.
    #[inline]
    pub fn draw(&self, draw: &mut (impl Draw + ?Sized)) -> u64 {
        let bits = draw.bits();
        match self.known.as_ref().map_or(OPEN, |known| known[(bits >> 56) as usize]) {
            OPEN => self.invert(bits),
            number => u64::from(number),
        }
    }

    /// The number that some bits stand for.
    #[inline(never)]
    fn invert(&self, bits: u64) -> u64 {
        (libm::log(unit_of(bits)) * self.scale) as u64
    }
}

#[cfg(test)]
#[path = "injection_tests.rs"]
mod tests;
