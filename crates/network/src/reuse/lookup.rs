//! Look-up of episodes by their keys, simulation of new ones, and the memory of records.

use std::collections::BTreeSet;
use std::sync::Arc;

use units::RouterId;

use super::bench::{
    BenchChannel, BenchMessage, Limits, NONE_SERVED, Origin, Outcome, SavedPlace, SavedWhen, Stretch, Task, UNKNOWN,
    Unfinished,
};
use super::episodes::{Episode, Episodes, Member, Message};
use super::naming::{Described, Named, Use};
use super::paths::{NONE, Path};
use super::records::{Moment, Record};

/// Reason for giving up.
pub(super) const TOO_LITTLE: &str = "too little repeats";

/// Memory.
impl Episodes {
    /// Drops records and paths that no episode under way uses if they take too much memory.
    pub fn trim(&mut self) {
        if self.gave_up.is_some() {
            // Nothing is used any more, and episodes may have no record yet.
            return;
        }
        let most = self.records.most_bytes / 2;
        if self.paths.bytes() > most {
            self.trim_paths();
        }
        if self.records.bytes > most {
            self.trim_records();
        }
        if self.paths.bytes() > most || self.records.bytes > most {
            self.give_up("the messages under way, or the records of their episodes, take too much memory".to_owned());
        }
    }

    fn trim_paths(&mut self) {
        let Self { paths, episodes, messages, bench, .. } = self;
        bench.drop_all_states();
        let mut new = vec![NONE; paths.paths.len()];
        // A message may still join an episode that is over, behind one that is under way.
        let held = || episodes.items.iter().flat_map(|own| &own.messages);
        for &message in held() {
            new[messages.items[message as usize].path as usize] = 0;
        }
        paths.keep(&mut new);
        for &message in held() {
            let path = &mut messages.items[message as usize].path;
            *path = new[*path as usize];
        }
    }

    fn trim_records(&mut self) {
        let Self { records, episodes, paths, bench, now, .. } = self;
        let under_way = episodes.items.iter().filter(|own| own.is_under_way(*now));
        let dropped = records.drop_oldest(under_way.map(|own| own.record));
        dropped.into_iter().for_each(|record| bench.drop_states(record));
        for path in &mut paths.paths {
            if path.recent.2 != NONE && !records.has(path.recent.2) {
                path.recent.2 = NONE;
            }
        }
    }
}

/// Records of episodes.
impl Episodes {
    /// Looks up an episode of several messages, or simulates it, and places it.
    pub fn look_up(&mut self, episode: u32) {
        self.describe(episode);
        for name in 0..self.naming.channels().len() {
            self.drop_over(self.naming.channels()[name].channel);
        }
        self.meets.clear();
        let mut moved = false;
        for name in 0..self.naming.channels().len() {
            for arbiter in 0..2 {
                if !self.naming.channels()[name].is_contended(arbiter) {
                    continue;
                }
                let last = self.last_served(episode, (name, arbiter));
                moved |= ![0, NONE_SERVED].contains(&last);
                self.pointers[name][arbiter] = last;
            }
        }
        if !self.meets.is_empty() {
            self.meets.push(episode);
            return self.merge();
        }
        self.add_orders();
        let own = &self.episodes.items[episode as usize];
        // It has been looked up before, and is now where its simulation was paused.
        let (is_paused, at) = (own.until <= self.now, self.now - own.start);
        self.counts.moved_pointers += u64::from(moved && !is_paused);
        let kept = self.records.find(&self.naming.key);
        let found = kept.filter(|&number| self.records.all[number as usize].until() > at);
        if found.is_none() {
            self.note_pointers(episode);
        }
        let base = self.episodes.items[episode as usize].record;
        let Some(record) = found.or_else(|| self.simulate_from(base, (kept, at))) else { return };
        let own = &mut self.episodes.items[episode as usize];
        own.record = record;
        self.records.use_now(record);
        for &message in &own.messages {
            let is_replayed = &mut self.messages.items[message as usize].is_replayed;
            *is_replayed = found.is_some() && (!is_paused || *is_replayed);
        }
        let last = own.messages.last().map_or(0, |&last| self.messages.items[last as usize].message.at);
        self.counts.joins += u64::from(last > own.start && !is_paused);
        for channel in std::mem::take(&mut own.channels) {
            self.spans[channel as usize].retain(|span| span.episode != episode);
        }
        let own = &mut self.episodes.items[episode as usize];
        own.channels.extend(self.naming.channels().iter().map(|named| named.channel));
        self.place(episode);
    }

    /// Notes the initial pointers of the arbiters with one candidate, to which a message that joins may add another.
    fn note_pointers(&mut self, episode: u32) {
        for name in 0..self.naming.channels().len() {
            for arbiter in 0..2 {
                if !self.naming.channels()[name].is_contended(arbiter) {
                    self.pointers[name][arbiter] = self.last_served(episode, (name, arbiter));
                }
            }
        }
        self.meets.clear();
    }

    /// Returns the candidate that an arbiter of a named channel has served last before an episode. Notes the episodes
    /// before of which this is not known yet.
    fn last_served(&mut self, episode: u32, (name, arbiter): (usize, usize)) -> u16 {
        let named = &self.naming.channels()[name];
        let own = self.paths.arbiters(named.channel)[arbiter].filter(|own| own.1.has_pointer);
        let (channel, start) = (named.channel as usize, self.episodes.items[episode as usize].start + named.start);
        if own.is_none() {
            return NONE_SERVED;
        }
        for span in self.spans[channel].iter().rev().filter(|span| span.episode != episode && span.end < start) {
            let Episode { is_unsettled, until, .. } = self.episodes.items[span.episode as usize];
            if is_unsettled && until > self.now {
                // What it leaves is not known yet.
                self.meets.push(span.episode);
            }
            if span.served[arbiter] != NONE_SERVED {
                return span.served[arbiter];
            }
        }
        self.served[channel][arbiter]
    }

    /// Names the channels of an episode's messages.
    fn describe(&mut self, episode: u32) {
        let Self { episodes, messages, described, .. } = self;
        let own = &mut episodes.items[episode as usize];
        let message = |&number: &u32| &messages.items[number as usize];
        own.messages.sort_unstable_by_key(|number| {
            let Message { at, from, turn, .. } = message(number).message;
            (at, from, turn)
        });
        own.start = own.messages.first().map_or(0, |first| message(first).message.at);
        described.clear();
        let begin = own.start;
        described.extend(own.messages.iter().map(|number| {
            let &Member { path, message: Message { bytes, at, handed, .. }, .. } = message(number);
            Described { path, bytes, at: at - begin, handed }
        }));
        self.effort.describe(self.described.len());
        self.name_described();
    }

    /// Names the channels of the described messages.
    pub fn name_described(&mut self) {
        self.naming.describe(&self.described, &self.paths);
        self.pointers.clear();
        self.pointers.resize(self.naming.channels().len(), [NONE_SERVED; 2]);
    }

    /// Adds the orders of candidates at all contended arbiters to the key.
    fn add_orders(&mut self) {
        for name in 0..self.naming.channels().len() {
            for arbiter in 0..2 {
                let own = &self.naming.channels()[name];
                if !own.is_contended(arbiter) {
                    continue;
                }
                let is_router = own.channel as usize >= self.paths.facts.len();
                self.naming.add_order((name, arbiter), self.pointers[name][arbiter]);
                if is_router {
                    // What outputs do at one instant changes a shared router in the order of their numbers.
                    self.naming.add_order((name, arbiter), NONE_SERVED);
                }
            }
        }
    }

    /// Simulates the described messages of an episode whose last record is `base`, from a saved state of this record if
    /// that is possible.
    fn simulate_from(&mut self, base: u32, (kept, after): (Option<u32>, u64)) -> Option<u32> {
        let own = (self.described.clone(), self.pointers.clone());
        let from = [SavedWhen::Paused, SavedWhen::Released].into_iter().find_map(|when| self.move_to((base, when)));
        let record = self.simulate(from, (kept, after));
        if from.is_some() {
            self.described = own.0;
            self.name_described();
            self.pointers = own.1;
        }
        record
    }

    /// Moves the described episode to the channels of a saved state from which its simulation may go on: there, its
    /// messages have an equal key. `None`: it may not, and the episode is where it was.
    fn move_to(&mut self, (record, when): (u32, SavedWhen)) -> Option<SavedPlace> {
        let state = self.bench.saved(record, when)?;
        let (origin, before, hops) = (Arc::clone(state.origin), state.before, state.hops);
        let known = origin.described.len();
        let alike = |(one, own): (&Described, &Described)| Described { path: own.path, ..*one } == *own;
        let is_continued = known <= self.described.len() && origin.described.iter().zip(&self.described).all(alike);
        if !is_continued || self.described.get(known).is_some_and(|next| next.at < before) {
            return None;
        }
        let is_here = origin.described[..] == self.described[..known];
        let path_there = |own: &Described| {
            let place = self.described[..known].iter().position(|before| before.path == own.path);
            if is_here { Some(own.path) } else { place.map(|place| origin.described[place].path) }
        };
        let new: Option<Vec<u32>> = self.described[known..].iter().map(path_there).collect();
        let there: Vec<u32> = origin.described.iter().map(|own| own.path).chain(new?).collect();
        let key = self.naming.key.clone();
        let own = (self.described.clone(), self.pointers.clone());
        self.described.iter_mut().zip(there).for_each(|(own, path)| own.path = path);
        self.name_described();
        let (count, first) = (self.pointers.len(), origin.pointers.len());
        let pointers = origin.pointers.iter().chain(own.1.iter().skip(first));
        self.pointers.iter_mut().zip(pointers).for_each(|(pointer, &own)| *pointer = own);
        self.add_orders();
        // Other episodes may have given the record to messages on other paths.
        if count == own.1.len() && self.naming.key == key && self.routers() == origin.routers {
            return Some(SavedPlace { record, when, hops, messages: known });
        }
        self.described = own.0;
        self.name_described();
        self.pointers = own.1;
        self.naming.key = key;
        None
    }

    /// Returns the routers on the paths of the described messages, in ascending order.
    fn routers(&self) -> Vec<RouterId> {
        let paths: BTreeSet<u32> = self.described.iter().map(|own| own.path).collect();
        let all: BTreeSet<RouterId> = paths.into_iter().flat_map(|path| self.paths.routers_of(path)).collect();
        all.into_iter().collect()
    }

    /// Returns the described messages and their channels, for a simulation.
    fn task(&self) -> Task {
        let Self { paths, naming, described, pointers, .. } = self;
        let name = |resource: u32| naming.name_of(resource);
        let message = |own: &Described| {
            let Path { ends, to, state, buses, .. } = paths.paths[own.path as usize];
            let steps = paths.steps(own.path);
            let (channels, buses) =
                ([&steps[0], &steps[steps.len() - 1]].map(|step| name(step.channel)), buses.map(name));
            let &Described { bytes, at, handed, .. } = own;
            BenchMessage { ends, channels, buses, to, state, bytes, at, handed }
        };
        // An arbiter with one candidate serves it again.
        let last = |name: usize, arbiter: usize| match (
            &naming.channels()[name].arbiters[arbiter][..],
            pointers[name][arbiter],
        ) {
            ([only], NONE_SERVED) => only.candidate,
            (_, last) => last,
        };
        let pointers: Vec<[u16; 2]> =
            (0..pointers.len()).map(|name| [0, 1].map(|arbiter| last(name, arbiter))).collect();
        let channel = |(own, last): (&Named, &[u16; 2])| {
            let arbiters = paths.arbiters(own.channel);
            let arbiters = [0, 1].map(|number| arbiters[number].map(|own| (own.0, last[number])));
            BenchChannel { channel: own.channel, bytes: own.bytes, arbiters }
        };
        Task {
            messages: described.iter().map(message).collect(),
            channels: naming.channels().iter().zip(&pointers).map(channel).collect(),
            origin: Arc::new(Origin { described: described.clone(), pointers, routers: self.routers() }),
        }
    }

    /// Simulates the described messages, and keeps the record. `kept`: the record of a paused simulation, which is to go
    /// on beyond tick `after` of the episode. `None`: the run is to be simulated whole.
    pub fn simulate(&mut self, from: Option<SavedPlace>, (kept, after): (Option<u32>, u64)) -> Option<u32> {
        let task = self.task();
        let Self { paths, described, packet, .. } = self;
        let hops = |own: &Described| u64::from(own.bytes.div_ceil(*packet)) * paths.routers(own.path);
        let left = described.iter().map(hops).sum::<u64>() - from.map_or(0, |from| from.hops);
        let skips = self.bench.skips(&task.messages);
        let hops = self.stretches[usize::from(skips)];
        // A message alone has one record for all its lengths of time.
        let stretch = (task.messages.len() > 1 && left > hops).then_some(Stretch { hops, after });
        // From the beginning, all releases but the last are to be simulated before the stretch.
        let is_short = from.is_some() || task.messages.last().is_none_or(|last| last.at == 0);
        // How much of a simulation is skipped is not known before it.
        let (expected, most) = match skips {
            true => (0, self.effort.allowance()),
            false => (stretch.filter(|_| is_short).map_or(left, |own| left.min(2 * own.hops)), u64::MAX),
        };
        self.effort.simulate(expected);
        if !self.effort.pays() {
            self.give_up(TOO_LITTLE.to_owned());
            return None;
        }
        let outcome = match self.bench.simulate(&task, (from, Limits { stretch, most })) {
            Ok(outcome) => outcome,
            Err(Unfinished::Deadlock) => {
                self.give_up("packets wait for one another for ever".to_owned());
                return None;
            }
            Err(Unfinished::TooLong) => {
                self.counts.simulated_hops += most;
                self.give_up(TOO_LITTLE.to_owned());
                return None;
            }
        };
        self.counts.simulated_hops += outcome.hops;
        self.counts.skipped_hops += outcome.skipped_hops;
        self.counts.paused += u64::from(outcome.until.is_some());
        self.effort.correct(expected, outcome.hops);
        self.effort.copy(outcome.copying);
        let record = self.record(outcome);
        let number = match kept {
            Some(number) => {
                self.records.extend(number, &self.naming.key, record);
                number
            }
            None => {
                self.counts.continued += u64::from(from.is_some());
                self.counts.records += 1;
                self.records.add(&self.naming.key, record)
            }
        };
        self.bench.keep(number);
        Some(number)
    }

    /// Returns the record of the described messages.
    fn record(&self, outcome: Outcome) -> Record {
        let mut moments = match outcome.until {
            None => vec![(outcome.counted, Moment::Counted)],
            Some(until) => vec![(until, Moment::Paused)],
        };
        for ((place, own), (first, member)) in (0..).zip(&self.described).zip(&outcome.members) {
            if self.wants_arrivals {
                moments.extend((own.bytes > self.packet).then_some((*first, Moment::First(place))));
                moments.push((member.last, Moment::Last(place)));
            }
        }
        moments.retain(|moment| moment.0 < UNKNOWN);
        moments.sort_unstable();
        let channels = self.naming.channels();
        let served = |(named, (_, last)): (&Named, &(u64, [u16; 2]))| {
            let of = |arbiter: usize| -> Option<Use> {
                let mut all = named.arbiters[arbiter].iter();
                all.find(|own| own.candidate == last[arbiter]).map(|own| own.first)
            };
            [of(0), of(1)]
        };
        let reads = |named: &Named| {
            let all = self.paths.arbiters(named.channel);
            (0..2).any(|number| named.is_contended(number) && all[number].is_some_and(|own| own.1.has_pointer))
        };
        let span = |(named, &(end, _)): (&Named, &(u64, [u16; 2]))| (named.start, end.min(UNKNOWN));
        let spans: Box<[(u64, u64)]> = channels.iter().zip(&outcome.channels).map(span).collect();
        let paused = outcome.until.map(|_| UNKNOWN);
        let ends = spans.iter().map(|span| span.1).chain(moments.iter().map(|moment| moment.0)).chain(paused);
        let over = ends.max().unwrap_or(0);
        let mut members: Vec<_> = outcome.members.into_iter().map(|member| member.1).collect();
        members.iter_mut().for_each(|member| {
            member.latencies.sort_unstable();
            member.latencies.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0 };
                same
            });
        });
        let counted = moments.iter().position(|moment| moment.1 == Moment::Counted).map_or(u32::MAX, |at| at as u32);
        Record {
            counted,
            moments: moments.into(),
            served: channels.iter().zip(&outcome.channels).map(served).collect(),
            reads: channels.iter().map(reads).collect(),
            spans,
            over,
            members: members.into(),
        }
    }
}
