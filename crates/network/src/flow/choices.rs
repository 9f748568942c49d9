//! Choices on the way of a packet: which paths a flow takes, and how much of it takes each.

use engine::split_mix;
use routing::{Choice, Route};
use units::Draw;

/// Number of combinations of bits that strands take in turn: as in three dimensions with two directions.
const BITS_IN_TURN: u32 = 8;

/// Choices of a packet, or of the packets of a strand: in its initial state, and among candidates.
pub(super) struct Choices {
    /// Number of the strand, of which each choice takes a digit, and the number of strands at most.
    number: u32,
    most: u32,
    /// Offsets of the digits, or random bits.
    offsets: u64,
    /// Whether random choices are drawn. Otherwise strands take the alternatives in turn.
    is_drawn: bool,
    /// Number of paths that choices in turn distinguish.
    pub paths: u32,
    /// Whether there was a random choice, and one by congestion.
    pub is_random: bool,
    pub is_adaptive: bool,
}

impl Choices {
    /// Creates the choices of strand `number` of `most`, which take alternatives in turn.
    pub fn in_turn(number: u32, most: u32, seed: u64) -> Self {
        Self { number, most, offsets: seed, is_drawn: false, paths: 1, is_random: false, is_adaptive: false }
    }

    /// Creates the choices of packet `number`, whose random choices are drawn.
    pub fn drawn(number: u32, most: u32, seed: u64) -> Self {
        let offsets = split_mix(seed ^ split_mix(number.into()));
        Self { is_drawn: true, ..Self::in_turn(number, most, offsets) }
    }

    /// Returns the candidate of a route. `load` returns the load of a candidate.
    pub fn candidate(&mut self, route: &Route, load: impl Fn(u16) -> f64) -> u16 {
        match route.choice {
            _ if route.count == 1 => 0,
            Choice::LeastLoaded | Choice::Escape | Choice::Weighed | Choice::WeighedAny => {
                self.is_adaptive = true;
                let least = (0..route.count).map(&load).fold(f64::INFINITY, f64::min);
                let is_least = |&candidate: &u16| load(candidate) <= least;
                let ties = (0..route.count).filter(is_least).count() as u32;
                let tie = self.random(ties.max(1));
                (0..route.count).filter(is_least).nth(tie as usize).unwrap_or(0)
            }
            Choice::Random => self.below(route.count.into()) as u16,
            Choice::RoundRobin => self.digit(route.count.into()) as u16,
        }
    }

    /// Returns a random number below `count`.
    fn random(&mut self, count: u32) -> u32 {
        self.offsets = split_mix(self.offsets);
        (((self.offsets >> 32) * u64::from(count)) >> 32) as u32
    }

    /// Returns a number below `count`. Strands with successive numbers get different ones.
    fn digit(&mut self, count: u32) -> u32 {
        self.offsets = split_mix(self.offsets);
        self.paths = self.paths.saturating_mul(count);
        let (digit, rest) = match count > self.most {
            // Not all can be taken: the strands take some at equal distances.
            true => ((u64::from(self.number) * u64::from(count) / u64::from(self.most)) as u32, 0),
            false => (self.number % count, self.number / count),
        };
        self.number = rest;
        ((u64::from(digit) + self.offsets % u64::from(count)) % u64::from(count)) as u32
    }
}

impl Draw for Choices {
    fn bits(&mut self) -> u64 {
        self.is_random = true;
        if self.is_drawn {
            self.offsets = split_mix(self.offsets);
            return self.offsets;
        }
        let digit = self.digit(BITS_IN_TURN);
        (u64::from(digit) << 32) | (self.offsets >> 32)
    }

    fn below(&mut self, n: u32) -> u32 {
        self.is_random = true;
        if self.is_drawn { self.random(n) } else { self.digit(n) }
    }
}
