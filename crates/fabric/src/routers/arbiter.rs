//! Arbiter of an output: request sets and the rules that pick one of several candidates.

use engine::{Bits, read_through};
use units::{Draw, Record};

use crate::catalogue::Arbitration;
use crate::fabric::Fabric;
use crate::footprint::bytes_of;
use crate::routers::Arbiter;

/// A set of candidates, one bit each, over one or more words.
pub type Mask<'a> = &'a [u64];

/// Returns the candidates of a mask from `from` on, then those below it.
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

/// State that an architecture keeps for an output beside its requests. It includes the round-robin pointer, so that all
/// of it fits in half a cache line.
pub(crate) trait Side: Copy + Default {
    /// Returns the round-robin pointer: the candidate that was served last, if below 128.
    fn last(&mut self) -> &mut u8;
}

/// State that consists of the round-robin pointer alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last(u8);
units::record!(Last { 0 });

impl Side for Last {
    #[inline(always)]
    fn last(&mut self) -> &mut u8 {
        &mut self.0
    }
}

/// Request table of a partition: for each output the set of candidates that request it, and the candidate that was
/// served last.
#[derive(Clone, Debug)]
pub(crate) struct RequestTable<S = Last> {
    lines: Vec<OutputEntry<S>>,
    /// Words of a set. One or two lie in the line.
    words: usize,
    /// Sets by output, if they need more than two words. Empty otherwise.
    wide: Vec<u64>,
    /// Candidate that was served last, by output, if sets need more than two words. Empty otherwise.
    wide_last: Vec<u32>,
}
units::state!(generic [S: Record] RequestTable<S> { lines, wide, wide_last; rebuilt words });

/// Requests and state of one output, in one place because they are used together.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct OutputEntry<S> {
    /// The set, if one or two words are enough. Otherwise the first word says whether the set is non-empty.
    near: [u64; 2],
    /// State of the architecture.
    side: S,
}
units::record!(generic [S: Record] OutputEntry<S> { near, side });

/// Heads that request an output, as the architecture that queues them knows them. A trait rather than a closure, so
/// that its methods are inlined into the loops over candidates: a closure that several loops use is called instead.
pub(crate) trait Candidates {
    /// Returns the virtual channel on which a candidate could be served now, if there is one.
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8>;
    /// Returns the time at which the candidate's packet was generated.
    fn generated_at(&self, fabric: &Fabric, candidate: usize) -> u64;
    /// Returns whether the candidate's packet belongs to a group's operation.
    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool;
}

/// Context of one arbitration: the rule, the router whose random stream is used, and the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArbitrationContext {
    pub rule: Arbitration,
    pub router: usize,
    pub output: usize,
}

impl<S> OutputEntry<S> {
    /// Returns whether any candidate requests the output.
    #[inline(always)]
    fn is_requested(&self) -> bool {
        self.near[0] | self.near[1] != 0
    }
}

impl<S: Side> RequestTable<S> {
    /// Creates an empty table for `outputs` outputs with `candidates` candidates each.
    pub fn new(outputs: usize, candidates: usize) -> Self {
        let words = candidates.div_ceil(64).max(1);
        Self {
            lines: vec![OutputEntry::default(); outputs],
            words,
            wide: vec![0; if words > 2 { outputs * words } else { 0 }],
            wide_last: vec![0; if words > 2 { outputs } else { 0 }],
        }
    }

    /// Returns the bytes of a table for `outputs` outputs with `candidates` candidates each.
    pub fn bytes(outputs: u64, candidates: u64) -> u64 {
        let words = candidates.div_ceil(64).max(1);
        let wide = if words > 2 { outputs } else { 0 };
        bytes_of::<OutputEntry<S>>(outputs) + bytes_of::<u64>(wide * words) + bytes_of::<u32>(wide)
    }

    /// Reads all lines once, in the order of memory.
    pub fn before_window(&self) {
        read_through(&self.lines, |line| line.near[0]);
    }

    /// Adds a candidate. Returns whether it was absent before.
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

    /// `add` for sets of more than two words.
    #[inline(never)]
    fn add_wide(&mut self, output: usize, candidate: usize) -> bool {
        self.lines[output].near[0] = 1;
        let word = &mut self.wide[output * self.words + (candidate >> 6)];
        let before = *word;
        *word |= 1 << (candidate & 63);
        before != *word
    }

    /// Returns the candidates that request an output.
    fn mask(&self, output: usize) -> Mask<'_> {
        match self.words {
            1 | 2 => &self.lines[output].near[..self.words],
            words => &self.wide[output * words..(output + 1) * words],
        }
    }

    /// Returns the candidates that request an output, in ascending order.
    pub fn candidates(&self, output: usize) -> impl Iterator<Item = usize> + '_ {
        in_turn(self.mask(output), 0)
    }

    /// Returns whether a candidate requests an output.
    pub fn has(&self, output: usize, candidate: usize) -> bool {
        let word = match self.words {
            1 | 2 => self.lines[output].near[candidate >> 6 & 1],
            words => self.wide[output * words + (candidate >> 6)],
        };
        word >> (candidate & 63) & 1 == 1
    }

    /// Removes a candidate.
    #[inline(always)]
    pub fn remove(&mut self, output: usize, candidate: usize) {
        if self.words > 2 {
            return self.remove_wide(output, candidate);
        }
        self.lines[output].near[candidate >> 6 & 1] &= !(1 << (candidate & 63));
    }

    /// `remove` for sets of more than two words.
    #[inline(never)]
    fn remove_wide(&mut self, output: usize, candidate: usize) {
        let words = &mut self.wide[output * self.words..(output + 1) * self.words];
        words[candidate >> 6] &= !(1 << (candidate & 63));
        self.lines[output].near[0] = u64::from(words.iter().any(|&word| word != 0));
    }

    /// Serves a candidate: removes it if `is_done`, and moves the round-robin pointer to it.
    #[inline(always)]
    pub fn serve(&mut self, output: usize, candidate: usize, is_done: bool) {
        if self.words > 2 {
            return self.serve_wide(output, candidate, is_done);
        }
        let line = &mut self.lines[output];
        line.near[candidate >> 6 & 1] &= !(u64::from(is_done) << (candidate & 63));
        *line.side.last() = candidate as u8;
    }

    /// `serve` for sets of more than two words.
    #[inline(never)]
    fn serve_wide(&mut self, output: usize, candidate: usize, is_done: bool) {
        if is_done {
            self.remove_wide(output, candidate);
        }
        self.wide_last[output] = candidate as u32;
    }

    /// Serves a candidate that made no request, because nobody else requests the output. Moves the round-robin pointer
    /// to it, and returns the architecture's state of the output.
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

    /// Serves a candidate that has nothing more for now. Returns the architecture's state of the output, and whether
    /// any other candidate requests it.
    #[inline(always)]
    pub fn served(&mut self, output: usize, candidate: usize) -> (&mut S, bool) {
        if self.words > 2 {
            self.serve_wide(output, candidate, true);
            let line = &mut self.lines[output];
            let any = line.is_requested();
            return (&mut line.side, any);
        }
        let line = &mut self.lines[output];
        line.near[candidate >> 6 & 1] &= !(1 << (candidate & 63));
        *line.side.last() = candidate as u8;
        let any = line.is_requested();
        (&mut line.side, any)
    }

    /// Returns whether sets lie in their lines.
    pub fn is_near(&self) -> bool {
        self.words <= 2
    }

    /// Returns the first requesting candidate after the round-robin pointer. Requires sets that lie in their lines, and
    /// at least one request.
    #[inline(always)]
    pub fn first_in_turn(&self, output: usize) -> usize {
        let OutputEntry { near: [low, high], mut side } = self.lines[output];
        let first = u32::from(*side.last()) + 1;
        if self.words == 1 {
            return (low.rotate_right(first & 63).trailing_zeros() + first) as usize & 63;
        }
        let turned = (u128::from(high) << 64 | u128::from(low)).rotate_right(first & 127);
        (turned.trailing_zeros() + first) as usize & 127
    }

    /// Returns the architecture's state of an output, and whether any candidate requests it.
    #[inline(always)]
    pub fn side(&self, output: usize) -> (&S, bool) {
        let line = &self.lines[output];
        (&line.side, line.is_requested())
    }

    /// Returns the architecture's state of an output.
    #[inline(always)]
    pub fn side_mut(&mut self, output: usize) -> &mut S {
        &mut self.lines[output].side
    }

    /// Returns whether any candidate requests an output.
    #[inline(always)]
    pub fn any(&self, output: usize) -> bool {
        self.lines[output].is_requested()
    }

    /// Returns some candidate of an output from the set in its line, or 127 if that is empty.
    #[inline(always)]
    pub fn guess(&self, output: usize) -> usize {
        let [low, high] = self.lines[output].near;
        ((u128::from(high) << 64 | u128::from(low)).trailing_zeros() & 127) as usize
    }

    /// Picks one of the candidates that are ready, and returns it with its virtual channel.
    #[inline(always)]
    pub fn pick(&self, fabric: &mut Fabric, turn: ArbitrationContext, heads: &impl Candidates) -> Option<(usize, u8)> {
        if turn.rule != Arbitration::RoundRobin || self.words > 2 {
            return self.pick_by_rule(fabric, turn, heads);
        }
        let OutputEntry { near: [low, high], mut side } = self.lines[turn.output];
        // Rotated so that the candidate behind the round-robin pointer comes lowest.
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

    /// Returns the candidate that was served last.
    pub fn last(&self, output: usize) -> usize {
        let OutputEntry { mut side, .. } = self.lines[output];
        if self.words > 2 { self.wide_last[output] as usize } else { usize::from(*side.last()) }
    }

    /// Returns the candidate that an arbiter has served last, if the table is that of the outputs.
    pub fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        match arbiter {
            Arbiter::Output(output) => Some(self.last(output)),
            Arbiter::Input(_) | Arbiter::Router(_) => None,
        }
    }

    /// Moves the round-robin pointer of an arbiter to a candidate, if the table is that of the outputs.
    pub fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        if let Arbiter::Output(output) = arbiter {
            self.set_last(output, candidate);
        }
    }

    /// Moves the round-robin pointer to a candidate. `None`: before the lowest.
    pub fn set_last(&mut self, output: usize, candidate: Option<usize>) {
        self.serve(output, candidate.unwrap_or(self.words * 64 - 1), false);
    }

    /// Returns the candidate behind the round-robin pointer.
    fn next(&self, output: usize) -> usize {
        (self.last(output) + 1) % (self.words * 64)
    }

    /// `pick` for any rule and sets of any width.
    #[inline(never)]
    fn pick_by_rule(
        &self,
        fabric: &mut Fabric,
        ArbitrationContext { rule, router, output }: ArbitrationContext,
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

/// Returns the first ready candidate with a packet of a group, else the first ready candidate.
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

/// Returns the ready candidate with the oldest packet. A tie goes to the lowest.
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
            // Would catch a pointer that stays at the candidate that was served last, or that does not wrap at the end
            // of one word or two.
            let (candidates, last): (Vec<usize>, usize) = (candidates.iter().map(|own| own % room).collect(), last % room);
            let mut requests = RequestTable::<Last>::new(3, room);
            requests.serve(1, last, false);
            for &candidate in &candidates {
                requests.add(1, candidate);
            }
            let behind = candidates.iter().copied().filter(|&own| own > last).min();
            prop_assert_eq!(Some(requests.first_in_turn(1)), behind.or(candidates.iter().copied().min()));
        }
    }
}
