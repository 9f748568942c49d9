//! Noise of operating systems: detours during which a processor does nothing for its rank.
//!
//! Each period has one detour. *Fixed* detours take a constant duration, and begin a period apart. The first one begins
//! at the rank's phase: anywhere in the first period, or at its beginning if all ranks are aligned. *Drawn* detours
//! take an exponentially distributed time with `duration` as its mean, at most the period, anywhere in their period.
//! Draws depend only on (seed, rank, number of the period), so that they can be made in any order.
//!
//! Work in progress goes on when the detour has ended. Work that would begin during a detour begins at its end. So a
//! calculation of c takes at most c + d ceil(c / (p - d)) with fixed detours of d in periods of p. Work without
//! duration is not delayed.

use engine::{Owner, Stream};
use units::Draw;

/// Noise of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoiseParams {
    /// Length of a period, in picoseconds.
    pub period: u64,
    /// Length of a detour, or its mean, in picoseconds. Less than the period.
    pub duration: u64,
    /// Whether times and durations are drawn. Otherwise they are fixed.
    pub drawn: bool,
    /// Whether all ranks have equal detours. Otherwise each rank has separate ones.
    pub aligned: bool,
    /// Seed of the draws.
    pub seed: u64,
}

/// Returns the stream of a rank in a period. The phase, which is drawn once, uses the last possible period.
fn stream(noise: &NoiseParams, rank: u32, period: u64) -> Stream {
    let owner = if noise.aligned { 0 } else { rank };
    Stream::new(noise.seed ^ period.wrapping_mul(0x9e37_79b9_7f4a_7c15), Owner::Noise(owner))
}

impl NoiseParams {
    /// Returns the begin of a rank's first fixed detour, in picoseconds.
    pub(crate) fn phase(&self, rank: u32) -> u64 {
        match self.aligned || self.drawn {
            true => 0,
            false => below(&mut stream(self, rank, u64::MAX), self.period),
        }
    }

    /// Returns the end of work of a rank with a phase. The work begins at `begin`.
    pub(crate) fn end(&self, (rank, phase): (u32, u64), begin: u64, work: u64) -> u64 {
        match (work, self.drawn) {
            (0, _) => begin,
            (_, false) => self.end_fixed(phase, begin, work),
            (_, true) => self.end_drawn(rank, begin, work),
        }
    }

    fn end_fixed(&self, phase: u64, begin: u64, work: u64) -> u64 {
        let before = phase.saturating_sub(begin);
        if work <= before {
            return begin + work;
        }
        // From here on, time is counted from the beginning of the first detour that may matter.
        let (mut at, mut left) = (begin.max(phase), work - before);
        let place = (at - phase) % self.period;
        at += self.duration.saturating_sub(place);
        let free = self.period - place.max(self.duration);
        if left <= free {
            return at.saturating_add(left);
        }
        left -= free;
        let whole = (left - 1) / (self.period - self.duration);
        left -= whole * (self.period - self.duration);
        let periods = whole.saturating_mul(self.period);
        at.saturating_add(free + self.duration).saturating_add(periods).saturating_add(left)
    }

    fn end_drawn(&self, rank: u32, begin: u64, work: u64) -> u64 {
        let (mut at, mut left) = (begin, work);
        let mut number = begin / self.period;
        loop {
            let (from, to) = self.detour(rank, number);
            let free = from.saturating_sub(at);
            if left <= free {
                return at.saturating_add(left);
            }
            left -= free;
            at = at.max(to);
            let rest = (number + 1).saturating_mul(self.period).saturating_sub(at);
            if left <= rest {
                return at.saturating_add(left);
            }
            (at, left, number) = (at + rest, left - rest, number + 1);
        }
    }

    /// Returns the begin and the end of the detour of a period.
    fn detour(&self, rank: u32, number: u64) -> (u64, u64) {
        let mut stream = stream(self, rank, number);
        let drawn = -libm::log(stream.unit()) * self.duration as f64;
        let duration = (libm::round(drawn) as u64).min(self.period);
        let from = number * self.period + below(&mut stream, self.period - duration + 1);
        (from, from + duration)
    }
}

/// Returns a number below `limit`, which is not 0. With 64 bits the bias is negligible.
fn below(stream: &mut Stream, limit: u64) -> u64 {
    ((u128::from(stream.bits()) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIXED: NoiseParams = NoiseParams { period: 1000, duration: 100, drawn: false, aligned: true, seed: 1 };

    #[test]
    fn fixed_detours_lengthen_work_by_themselves() {
        // Would catch a detour that is missed or counted twice at its edges: detours are at 0, 1000, 2000 and so on.
        for (begin, work, end) in [(0, 1, 101), (50, 900, 1000), (50, 901, 1101), (100, 900, 1000), (100, 901, 1101)] {
            assert_eq!(FIXED.end((0, 0), begin, work), end, "{work} from {begin}");
        }
        assert_eq!(FIXED.end((0, 0), 0, 900 * 1_000_000), 1_000_000_000);
        assert_eq!(FIXED.end((0, 300), 0, 300), 300);
        assert_eq!(FIXED.end((0, 300), 0, 301), 401);
        assert_eq!(FIXED.end((0, 300), 310, 0), 310, "nothing is not held up");
    }

    #[test]
    fn drawn_detours_have_their_mean() {
        // Would catch detours of another mean, outside their periods, or equal for all ranks: 10,000 of mean 100 ps,
        // cut at 10,000, within 4 standard deviations.
        let noise = NoiseParams { period: 10_000, drawn: true, aligned: false, ..FIXED };
        let detours: Vec<_> = (0..10_000).map(|number| (number, noise.detour(3, number))).collect();
        assert!(detours.iter().all(|&(number, (from, to))| from >= number * 10_000 && to <= (number + 1) * 10_000));
        let sum: u64 = detours.iter().map(|(_, (from, to))| to - from).sum();
        assert!(sum.abs_diff(1_000_000) < 40_000, "{sum}");
        assert_ne!(noise.detour(3, 0), noise.detour(4, 0));
        let aligned = NoiseParams { aligned: true, ..noise };
        assert_eq!(aligned.detour(3, 0), aligned.detour(4, 0));
    }

    proptest! {
        #[test]
        fn work_that_is_done_in_pieces_takes_as_long(
            (period, drawn, aligned) in (200_u64..3000, any::<bool>(), any::<bool>()),
            (begin, one, other) in (0_u64..20_000, 1_u64..9000, 1_u64..9000),
        ) {
            // Would catch work whose end depends on where it is cut, ends that come before the work, and detours that
            // exceed their share.
            let noise = NoiseParams { period, drawn, aligned, ..FIXED };
            let own = (7, noise.phase(7));
            let middle = noise.end(own, begin, one);
            let end = noise.end(own, begin, one + other);
            prop_assert_eq!(noise.end(own, middle, other), end);
            prop_assert!(middle >= begin + one);
            if !drawn {
                let work = one + other;
                prop_assert!(end - begin <= work + 100 * (work.div_ceil(period - 100) + 1));
            }
        }
    }
}
