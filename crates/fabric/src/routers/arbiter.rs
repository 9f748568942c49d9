//! Which of several candidates goes first.

use engine::{Bits, read_through};
use units::Draw;

use crate::catalogue::Arbitration;
use crate::fabric::Fabric;
use crate::footprint::bytes_of;

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

/// What an architecture keeps of an output beside who asks for it, and with it the candidate that was served last, so that half a cache line
/// holds all of it.
pub(crate) trait Side: Copy + Default {
    /// The candidate that was served last, where that is below 128.
    fn last(&mut self) -> &mut u8;
}

/// Nothing but the candidate that was served last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last(u8);

impl Side for Last {
    #[inline(always)]
    fn last(&mut self) -> &mut u8 {
        &mut self.0
    }
}

/// Who asks for each output of a partition: for each a set of candidates, and the one that was served last.
#[derive(Debug)]
pub(crate) struct Requests<S = Last> {
    lines: Vec<Line<S>>,
    /// Words of a set. One or two lie in the line.
    words: usize,
    /// By output, where that takes more words; else empty.
    wide: Vec<u64>,
    /// By output, the candidate that was served last; likewise.
    wide_last: Vec<u32>,
}

/// What is kept of an output: in one place, since it is used together.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Line<S> {
    /// The set, if one or two words are enough; else whether it is not empty, in the first.
    near: [u64; 2],
    /// The architecture's own.
    side: S,
}

/// The heads that ask for an output, as the architecture that queues them knows them. A trait, so that what is asked of each
/// candidate is compiled into the loops over them: a closure that several loops use is called instead.
pub(crate) trait Candidates {
    /// With what a candidate could be served now (a virtual channel), if it could.
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8>;
    /// When the candidate's packet was generated.
    fn generated_at(&self, fabric: &Fabric, candidate: usize) -> u64;
    /// Whether the candidate's packet is of a group's operation.
    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool;
}

/// How an output picks: the rule, the router whose stream is drawn from, and the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub rule: Arbitration,
    pub router: usize,
    pub output: usize,
}

impl<S> Line<S> {
    /// Whether anybody asks.
    #[inline(always)]
    fn asks(&self) -> bool {
        self.near[0] | self.near[1] != 0
    }
}

impl<S: Side> Requests<S> {
    /// No requests, for so many outputs and candidates of each.
    pub fn new(outputs: usize, candidates: usize) -> Self {
        let words = candidates.div_ceil(64).max(1);
        Self {
            lines: vec![Line::default(); outputs],
            words,
            wide: vec![0; if words > 2 { outputs * words } else { 0 }],
            wide_last: vec![0; if words > 2 { outputs } else { 0 }],
        }
    }

    /// Bytes of the requests for so many outputs and candidates of each.
    pub fn bytes(outputs: u64, candidates: u64) -> u64 {
        let words = candidates.div_ceil(64).max(1);
        let wide = if words > 2 { outputs } else { 0 };
        bytes_of::<Line<S>>(outputs) + bytes_of::<u64>(wide * words) + bytes_of::<u32>(wide)
    }

    /// Reads all lines once, in the order of memory.
    pub fn before_window(&self) {
        read_through(&self.lines, |line| line.near[0]);
    }

    /// Adds a candidate; returns whether it was not there yet.
    #[inline(always)]
    pub fn add(&mut self, output: usize, candidate: usize) -> bool {
        if self.words > 2 {
            return self.add_wide(output, candidate);
        }
        let word = &mut self.lines[output].near[candidate >> 6 & 1];
        let before = *word;
        *word |= 1 << (candidate & 63);
        before != *word
    }

    /// The same where a set takes more words than lie in the line.
    #[inline(never)]
    fn add_wide(&mut self, output: usize, candidate: usize) -> bool {
        self.lines[output].near[0] = 1;
        let word = &mut self.wide[output * self.words + (candidate >> 6)];
        let before = *word;
        *word |= 1 << (candidate & 63);
        before != *word
    }

    /// Those who ask for an output.
    fn mask(&self, output: usize) -> Mask<'_> {
        match self.words {
            1 | 2 => &self.lines[output].near[..self.words],
            words => &self.wide[output * words..(output + 1) * words],
        }
    }

    /// Those who ask for an output, in ascending order.
    pub fn candidates(&self, output: usize) -> impl Iterator<Item = usize> + '_ {
        in_turn(self.mask(output), 0)
    }

    /// Whether a candidate asks for an output.
    pub fn has(&self, output: usize, candidate: usize) -> bool {
        let word = match self.words {
            1 | 2 => self.lines[output].near[candidate >> 6 & 1],
            words => self.wide[output * words + (candidate >> 6)],
        };
        word >> (candidate & 63) & 1 == 1
    }

    /// Takes a candidate out.
    #[inline(always)]
    pub fn remove(&mut self, output: usize, candidate: usize) {
        if self.words > 2 {
            return self.remove_wide(output, candidate);
        }
        self.lines[output].near[candidate >> 6 & 1] &= !(1 << (candidate & 63));
    }

    /// The same where a set takes more words than lie in the line.
    #[inline(never)]
    fn remove_wide(&mut self, output: usize, candidate: usize) {
        let words = &mut self.wide[output * self.words..(output + 1) * self.words];
        words[candidate >> 6] &= !(1 << (candidate & 63));
        self.lines[output].near[0] = u64::from(words.iter().any(|&word| word != 0));
    }

    /// The candidate is served: it is taken out if it has nothing more, and the others come first next time.
    #[inline(always)]
    pub fn serve(&mut self, output: usize, candidate: usize, is_done: bool) {
        if self.words > 2 {
            return self.serve_wide(output, candidate, is_done);
        }
        let line = &mut self.lines[output];
        line.near[candidate >> 6 & 1] &= !(u64::from(is_done) << (candidate & 63));
        *line.side.last() = candidate as u8;
    }

    /// The same where a set takes more words than lie in the line.
    #[inline(never)]
    fn serve_wide(&mut self, output: usize, candidate: usize, is_done: bool) {
        if is_done {
            self.remove_wide(output, candidate);
        }
        self.wide_last[output] = candidate as u32;
    }

    /// A candidate is served that did not have to ask, for nobody else does: the others come first next time. Returns what the architecture
    /// keeps of the output.
    #[inline(always)]
    pub fn bypass(&mut self, output: usize, candidate: usize) -> &mut S {
        debug_assert!(!self.any(output), "a candidate is passed over");
        if self.words > 2 {
            self.serve_wide(output, candidate, false);
            return &mut self.lines[output].side;
        }
        let side = &mut self.lines[output].side;
        *side.last() = candidate as u8;
        side
    }

    /// The same as `serve` of a candidate that has nothing more for now; returns what the architecture keeps of the output, and whether
    /// anybody else asks for it.
    #[inline(always)]
    pub fn served(&mut self, output: usize, candidate: usize) -> (&mut S, bool) {
        if self.words > 2 {
            self.serve_wide(output, candidate, true);
            let line = &mut self.lines[output];
            let any = line.asks();
            return (&mut line.side, any);
        }
        let line = &mut self.lines[output];
        line.near[candidate >> 6 & 1] &= !(1 << (candidate & 63));
        *line.side.last() = candidate as u8;
        let any = line.asks();
        (&mut line.side, any)
    }

    /// Whether masks lie in their lines.
    pub fn is_near(&self) -> bool {
        self.words <= 2
    }

    /// The candidate of an output whose turn it is, where masks lie in their lines; there must be one.
    #[inline(always)]
    pub fn first_in_turn(&self, output: usize) -> usize {
        let Line { near: [low, high], mut side } = self.lines[output];
        let first = u32::from(*side.last()) + 1;
        if self.words == 1 {
            return (low.rotate_right(first & 63).trailing_zeros() + first) as usize & 63;
        }
        let turned = (u128::from(high) << 64 | u128::from(low)).rotate_right(first & 127);
        (turned.trailing_zeros() + first) as usize & 127
    }

    /// What the architecture keeps of an output, and whether anybody asks for it.
    #[inline(always)]
    pub fn side(&self, output: usize) -> (&S, bool) {
        let line = &self.lines[output];
        (&line.side, line.asks())
    }

    /// What the architecture keeps of an output.
    #[inline(always)]
    pub fn side_mut(&mut self, output: usize) -> &mut S {
        &mut self.lines[output].side
    }

    /// Whether anybody asks for an output.
    #[inline(always)]
    pub fn any(&self, output: usize) -> bool {
        self.lines[output].asks()
    }

    /// Some candidate of an output, of those in the near words; 127 without one.
    #[inline(always)]
    pub fn guess(&self, output: usize) -> usize {
        let [low, high] = self.lines[output].near;
        ((u128::from(high) << 64 | u128::from(low)).trailing_zeros() & 127) as usize
    }

    /// Picks one of the candidates that are ready, and with what it is served (a virtual channel).
    #[inline(always)]
    pub fn pick(&self, fabric: &mut Fabric, turn: Turn, heads: &impl Candidates) -> Option<(usize, u8)> {
        if turn.rule != Arbitration::RoundRobin || self.words > 2 {
            return self.pick_by_rule(fabric, turn, heads);
        }
        let Line { near: [low, high], mut side } = self.lines[turn.output];
        // Turned so that the candidate behind the last one comes lowest.
        let first = u32::from(*side.last()) + 1;
        if self.words == 1 {
            for place in Bits(low.rotate_right(first & 63)) {
                let candidate = (place + first as usize) & 63;
                if let Some(vc) = heads.ready(fabric, candidate) {
                    return Some((candidate, vc));
                }
            }
            return None;
        }
        let mut rest = (u128::from(high) << 64 | u128::from(low)).rotate_right(first & 127);
        while rest != 0 {
            let candidate = ((rest.trailing_zeros() + first) & 127) as usize;
            if let Some(vc) = heads.ready(fabric, candidate) {
                return Some((candidate, vc));
            }
            rest &= rest - 1;
        }
        None
    }

    /// The candidate behind the one that was served last.
    fn next(&self, output: usize) -> usize {
        let Line { mut side, .. } = self.lines[output];
        let last = if self.words > 2 { self.wide_last[output] } else { u32::from(*side.last()) };
        (last as usize + 1) % (self.words * 64)
    }

    /// The same by any rule, over masks of any width.
    #[inline(never)]
    fn pick_by_rule(
        &self,
        fabric: &mut Fabric,
        Turn { rule, router, output }: Turn,
        heads: &impl Candidates,
    ) -> Option<(usize, u8)> {
        let mask = self.mask(output);
        match rule {
            Arbitration::RoundRobin => in_turn(mask, self.next(output))
                .find_map(|candidate| Some((candidate, heads.ready(fabric, candidate)?))),
            Arbitration::GroupsFirst => groups_first(fabric, in_turn(mask, self.next(output)), heads),
            Arbitration::OldestFirst => oldest(fabric, mask, heads),
            Arbitration::Random => {
                let count =
                    in_turn(mask, 0).filter(|&candidate| heads.ready(fabric, candidate).is_some()).count() as u32;
                if count == 0 {
                    return None;
                }
                let drawn = if count > 1 { fabric.stream(router).below(count) } else { 0 };
                let mut all =
                    in_turn(mask, 0).filter_map(|candidate| Some((candidate, heads.ready(fabric, candidate)?)));
                all.nth(drawn as usize)
            }
        }
    }
}

/// The first candidate that is ready with a packet of a group; without one, the first that is ready.
fn groups_first(
    fabric: &mut Fabric,
    candidates: impl Iterator<Item = usize>,
    heads: &impl Candidates,
) -> Option<(usize, u8)> {
    let mut other = None;
    for candidate in candidates {
        let is_of_group = heads.is_of_group(fabric, candidate);
        if !is_of_group && other.is_some() {
            continue;
        }
        let Some(vc) = heads.ready(fabric, candidate) else { continue };
        if is_of_group {
            return Some((candidate, vc));
        }
        other = Some((candidate, vc));
    }
    other
}

/// The candidate whose packet is the oldest of those that are ready; of equals the lowest.
#[inline(always)]
fn oldest(fabric: &mut Fabric, mask: Mask<'_>, heads: &impl Candidates) -> Option<(usize, u8)> {
    let mut best: Option<(u64, usize, u8)> = None;
    for (index, &word) in mask.iter().enumerate() {
        for bit in Bits(word) {
            let candidate = index << 6 | bit;
            let age = heads.generated_at(fabric, candidate);
            if best.is_none_or(|(oldest, ..)| age < oldest)
                && let Some(vc) = heads.ready(fabric, candidate)
            {
                best = Some((age, candidate, vc));
            }
        }
    }
    best.map(|(_, candidate, vc)| (candidate, vc))
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

        #[test]
        fn the_first_in_turn_is_behind_the_one_that_was_served_last(
            candidates in prop::collection::btree_set(0_usize..128, 1..20), room in prop::sample::select(vec![40_usize, 64, 65, 128]),
            last in 0_usize..128,
        ) {
            // Would catch a turn that begins at the one that was served last, or that does not go round at the end of one word or two.
            let (candidates, last): (Vec<usize>, usize) = (candidates.iter().map(|own| own % room).collect(), last % room);
            let mut requests = Requests::<Last>::new(3, room);
            requests.serve(1, last, false);
            for &candidate in &candidates {
                requests.add(1, candidate);
            }
            let behind = candidates.iter().copied().filter(|&own| own > last).min();
            prop_assert_eq!(Some(requests.first_in_turn(1)), behind.or(candidates.iter().copied().min()));
        }
    }
}
