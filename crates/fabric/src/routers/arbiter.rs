//! Which of several candidates goes first.

use units::Draw;

use crate::catalogue::Arbitration;
use crate::fabric::Fabric;

/// A set of candidates, one bit each, over one or more words.
pub type Mask<'a> = &'a [u64];

/// The candidates of a mask from one on, then those before it.
pub fn in_turn(mask: Mask<'_>, from: usize) -> impl Iterator<Item = usize> + '_ {
    let split = from >> 6;
    let low = (1_u64 << (from & 63)) - 1;
    let words = mask.len();
    (0..=words).flat_map(move |step| {
        let index = (split + step) % words.max(1);
        let word = mask.get(index).copied().unwrap_or(0);
        let bits = match step {
            0 => word & !low,
            s if s == words => word & low,
            _ => word,
        };
        Bits(bits).map(move |bit| index * 64 + bit)
    })
}

/// The set bits of a word, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// What an arbiter knows of its owner.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The rule.
    pub rule: Arbitration,
    /// The router whose stream is drawn from.
    pub router: usize,
    /// The candidate that was served last.
    pub last: u16,
}

/// The first candidate behind the one that was served last that is ready, and with what.
#[inline(always)]
fn first_ready(
    fabric: &mut Fabric,
    mask: Mask<'_>,
    last: usize,
    mut ready: impl FnMut(&mut Fabric, usize) -> Option<u8>,
) -> Option<(usize, u8)> {
    // The word of the last one is visited twice: first what lies behind it, in the end the rest.
    let words = mask.len();
    let split = (last >> 6) % words;
    let behind = u64::MAX.checked_shl((last as u32 & 63) + 1).unwrap_or(0);
    let mut word = split;
    let mut bits = mask[word] & behind;
    for step in 0..=words {
        for bit in Bits(bits) {
            let candidate = word << 6 | bit;
            if let Some(vc) = ready(fabric, candidate) {
                return Some((candidate, vc));
            }
        }
        word = if word + 1 == words { 0 } else { word + 1 };
        bits = if step + 1 == words { mask[word] & !behind } else { mask[word] };
    }
    None
}

/// Picks one of the candidates that are ready: `ready` says with what it could be served (a virtual channel), `generated_at`
/// when its packet was generated.
#[inline(always)]
pub fn pick(
    fabric: &mut Fabric,
    turn: Turn,
    mask: Mask<'_>,
    mut ready: impl FnMut(&mut Fabric, usize) -> Option<u8>,
    generated_at: impl Fn(&Fabric, usize) -> u64,
) -> Option<(usize, u8)> {
    match turn.rule {
        Arbitration::RoundRobin => first_ready(fabric, mask, usize::from(turn.last), ready),
        Arbitration::OldestFirst => {
            let mut best: Option<(u64, usize, u8)> = None;
            for bit in in_turn(mask, 0) {
                let age = generated_at(fabric, bit);
                if best.is_none_or(|(oldest, ..)| age < oldest)
                    && let Some(vc) = ready(fabric, bit)
                {
                    best = Some((age, bit, vc));
                }
            }
            best.map(|(_, bit, vc)| (bit, vc))
        }
        Arbitration::Random => {
            let count = in_turn(mask, 0).filter(|&bit| ready(fabric, bit).is_some()).count() as u32;
            if count == 0 {
                return None;
            }
            let mut left = if count > 1 { fabric.stream(turn.router).below(count) } else { 0 };
            for bit in in_turn(mask, 0) {
                if let Some(vc) = ready(fabric, bit) {
                    if left == 0 {
                        return Some((bit, vc));
                    }
                    left -= 1;
                }
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_turn_visits_each_candidate_once_from_the_given_one(
            words in prop::collection::vec(any::<u64>(), 1..4), from in 0_usize..256,
        ) {
            // Would catch a candidate skipped or served twice at a word's edge.
            let from = from % (words.len() * 64);
            let all: Vec<usize> =
                (0..words.len() * 64).filter(|bit| words[bit / 64] >> (bit % 64) & 1 == 1).collect();
            let mut want: Vec<usize> = all.iter().copied().filter(|&bit| bit >= from).collect();
            want.extend(all.iter().filter(|&&bit| bit < from));
            prop_assert_eq!(in_turn(&words, from).collect::<Vec<_>>(), want);
        }
    }
}
