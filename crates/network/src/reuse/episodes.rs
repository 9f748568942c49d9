//! Episodes: messages that share channels at the same time, and what is known of their outcome.
//!
//! A message begins as an episode alone. Its record tells for each channel the span of time from the earliest request
//! of the channel until nothing of the message is left in it: the channel is idle, its credits are home, and the buffer
//! and the input of the crossbar behind it are free. Routers whose messages share a memory, and buses of interfaces,
//! have spans like channels. Episodes whose spans do not meet do not affect one another: all state that an episode
//! finds or leaves lies in what it holds, which each finds idle. Only pointers of arbiters outlast a span. A pointer
//! counts if several candidates of the episode meet at the arbiter, and is then part of the key.
//!
//! Episodes whose spans meet are merged: their messages are described and looked up together, from the first release
//! on. The spans of the merged episode may meet further ones. Nothing that a message does has an effect before its
//! release, so that moments of a former record up to the present are those of the new one.
//!
//! A long simulation is paused, since a further message may join and make the rest void. The record then ends where it
//! was paused ([`Moment::Paused`]), and the episode holds all channels that are not idle by then. An episode that comes
//! there is looked up again, and the simulation goes on.

use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::{Plan, TrafficEvent};
use host::{HandedOver, PacketParts};
use units::{NodeId, PlaneId};

use super::bench::{NONE_SERVED, NetworkFacts, Workbench, workbench};
use super::effort::Effort;
use super::lookup::TOO_LITTLE;
use super::naming::{Described, Naming};
use super::paths::{InterfaceFacts, NONE, Paths};
use super::records::{Moment, Records};
use super::{ReuseCounts, ReuseModel};

/// Number of episodes that are dropped together at most.
const MOST_GATHERED: usize = 64;

/// Packet-hops after the last release after which a simulation is paused: one without steady states, and one in which
/// they may be found.
const STRETCHES: [u64; 2] = [1 << 12, 1 << 14];

/// Message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub flow_id: u32,
    pub mark: u32,
    pub bytes: u32,
    pub from: u32,
    pub plane: u8,
    pub to: u32,
    /// Time of its release, in ticks.
    pub at: u64,
    /// Number of the message among those of its node.
    pub turn: u32,
    pub handed: HandedOver,
}

/// Message of an episode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub message: Message,
    pub path: u32,
    is_counted: bool,
    /// Whether its latest record was there before.
    pub is_replayed: bool,
}

/// Time for which an episode holds a channel, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u64,
    pub end: u64,
    pub episode: u32,
    /// Candidates that the arbiters have served last after the span. `NONE_SERVED`: the pointer has not moved.
    pub served: [u16; 2],
    /// Whether the outcome depends on a pointer at the start.
    reads: bool,
}

/// Episode under way.
#[derive(Debug, Default)]
pub(super) struct Episode {
    /// Messages, in the order of release, node and turn once it is settled.
    pub messages: Vec<u32>,
    /// Channels, and buses, in which it has spans.
    pub channels: Vec<u32>,
    /// Time of its first release.
    pub start: u64,
    pub record: u32,
    /// Number of moments that are over.
    moment: usize,
    /// Identifier that changes with the record.
    version: u64,
    /// Time after which nothing of it is left.
    over: u64,
    /// Time until which its record reaches if its simulation was paused.
    pub until: u64,
    /// Whether it has to be looked up.
    pub is_unsettled: bool,
}

impl Episode {
    /// Returns whether something of the episode may be left, so that its record and its paths are needed.
    pub fn is_under_way(&self, now: u64) -> bool {
        !self.messages.is_empty() && (self.is_unsettled || self.over >= now)
    }
}

/// Counts of a message whose packets have all left their last routers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub message: Message,
    pub path: u32,
    /// Arrival of its last packet, in ticks.
    pub arrives: u64,
    pub packets: u64,
    pub routers: u64,
}

/// Moment that is due: its time, its episode and the episode's version.
pub(super) type Due = (u64, u32, u64);

/// All episodes of a network.
pub(super) struct Episodes {
    pub paths: Paths,
    pub bench: Box<dyn Workbench>,
    pub records: Records,
    pub naming: Naming,
    pub messages: Slots<Member>,
    pub episodes: Slots<Episode>,
    /// By channel, the spans of episodes, in the order of time.
    pub spans: Vec<Vec<Span>>,
    /// By channel, the candidates that its arbiters have served last before the spans.
    pub served: Vec<[u16; 2]>,
    unsettled: Vec<u32>,
    version: u64,
    /// Present time, in ticks.
    pub now: u64,
    /// Whether the traffic wants to know of arrivals.
    pub wants_arrivals: bool,
    pub packet: u32,
    /// Picoseconds of a tick.
    tick: u64,
    /// Moments that have become due.
    pub due: Vec<Due>,
    /// Messages that have been counted.
    pub counted: Vec<Counted>,
    /// Messages that have not been counted.
    pub open: u64,
    pub effort: Effort,
    /// Packet-hops after which the simulation of several messages is paused: one without steady states, and another one.
    pub stretches: [u64; 2],
    pub counts: ReuseCounts,
    /// Reason why the run is to be simulated whole.
    pub gave_up: Option<String>,
    // Kept to avoid allocation.
    pub meets: Vec<u32>,
    gathered: Vec<u32>,
    pub described: Vec<Described>,
    /// Pointers of each named channel at the begin of the described episode.
    pub pointers: Vec<[u16; 2]>,
}

/// Places of items, which are used again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    pub items: Vec<T>,
    pub free: Vec<u32>,
}

impl<T> Slots<T> {
    pub const fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.items[place as usize] = item;
                place
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }
}

impl Episodes {
    /// Creates the episodes of a network, of which there are none.
    pub fn new(
        plan: &Arc<Plan>,
        (router, parts): (&RouterSpec, PacketParts),
        (wants_arrivals, model): (bool, &ReuseModel),
        effort: Effort,
    ) -> Self {
        let sources = plan.topology().nodes() as usize * plan.channels().planes() as usize;
        let interfaces = InterfaceFacts::new(&parts, sources);
        let (bench, NetworkFacts { channels, sharing, last_served }) = workbench(plan, (router, parts), model.states);
        let paths = Paths::new(plan, (channels, sharing), interfaces);
        let resources = paths.resources();
        let at_begin = |place| paths.arbiters(place).map(|own| own.map_or(NONE_SERVED, |own| last_served(own.0)));
        Self {
            served: (0..resources as u32).map(at_begin).collect(),
            paths,
            bench,
            records: Records::new(model.most_bytes),
            naming: Naming::new(resources, model.left_out),
            messages: Slots::new(),
            episodes: Slots::new(),
            spans: vec![Vec::new(); resources],
            unsettled: Vec::new(),
            version: 0,
            now: 0,
            wants_arrivals,
            packet: plan.packet(),
            tick: plan.tick().0,
            due: Vec::new(),
            counted: Vec::new(),
            open: 0,
            effort,
            stretches: model.stretch.map_or(STRETCHES, |stretch| [stretch; 2]),
            counts: ReuseCounts::default(),
            gave_up: None,
            meets: Vec::new(),
            gathered: Vec::new(),
            described: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Releases a message now.
    pub fn release(&mut self, message: Message) {
        if self.gave_up.is_some() {
            return;
        }
        let Message { from, to, at, bytes, handed, .. } = message;
        let source = from * self.paths.planes() + u32::from(message.plane);
        let Some(path) = self.paths.find(source, NodeId(to)) else {
            return self.give_up(format!("the routing has no single path from node {from} to node {to}"));
        };
        if !self.paths.is_end_late(path) {
            return self.give_up(format!("the link to node {to} is too fast for the parts of its interface"));
        }
        self.open += 1;
        let (.., mut record) = self.paths.paths[path as usize].recent;
        let (mut is_replayed, mut is_unsettled) = (true, false);
        if self.paths.paths[path as usize].recent != (bytes, handed, record) || record == NONE {
            self.described.clear();
            self.described.push(Described { path, bytes, at: 0, handed });
            self.name_described();
            // The order in which virtual channels are served depends on pointers.
            is_unsettled = self.naming.is_contended();
            if !is_unsettled {
                let found = self.records.find(&self.naming.key);
                is_replayed = found.is_some();
                let Some(found) = found.or_else(|| self.simulate(None, (None, 0))) else { return };
                record = found;
                self.paths.paths[path as usize].recent = (bytes, handed, record);
            }
        }
        let routers = self.paths.routers(path);
        self.effort.release(message.bytes.div_ceil(self.packet).into(), routers);
        let message = self.messages.insert(Member { message, path, is_counted: false, is_replayed });
        self.counts.episodes += 1;
        let until = u64::MAX;
        let episode = Episode { messages: vec![message], start: at, record, until, is_unsettled, ..Episode::default() };
        let episode = self.episodes.insert(episode);
        if is_unsettled {
            return self.unsettled.push(episode);
        }
        self.records.use_now(record);
        for name in 0..self.paths.held(path) {
            let channel = self.paths.holds(path, name);
            self.drop_over(channel);
            self.episodes.items[episode as usize].channels.push(channel);
        }
        self.place(episode);
    }

    /// Looks up all episodes that are not settled.
    pub fn settle(&mut self) {
        if !self.effort.pays() {
            self.give_up(TOO_LITTLE.to_owned());
        }
        // Messages of an instant are all placed before merged episodes are looked up. Otherwise, each message that joins
        // an episode would make a new simulation of it.
        while !self.unsettled.is_empty() {
            for episode in std::mem::take(&mut self.unsettled) {
                if self.gave_up.is_none() && self.episodes.items[episode as usize].is_unsettled {
                    self.look_up(episode);
                }
            }
        }
    }

    /// Handles the moments of an episode that are due.
    pub fn pass(&mut self, (episode, version): (u32, u64), now: u64, arrived: &mut Vec<(TrafficEvent, u64)>) {
        let own = &mut self.episodes.items[episode as usize];
        if own.version != version {
            return;
        }
        let record = &self.records.all[own.record as usize];
        while let Some(&(at, moment)) = record.moments.get(own.moment).filter(|moment| own.start + moment.0 <= now) {
            debug_assert_eq!(own.start + at, now, "a moment is missed");
            own.moment += 1;
            let (message, is_first) = match moment {
                Moment::First(message) => (message, true),
                Moment::Last(message) => (message, false),
                Moment::Counted | Moment::Paused => continue,
            };
            let member = &self.messages.items[own.messages[message as usize] as usize];
            let Message { flow_id, mark, bytes, to, plane, .. } = member.message;
            let passed = record.members[message as usize].passed[usize::from(!is_first)];
            let passed_at = if passed > 0 { own.start * self.tick + passed } else { 0 };
            let bytes = match is_first {
                true => self.packet,
                false if bytes > self.packet => bytes - self.packet,
                false => bytes,
            };
            let (node, plane) = (NodeId(to), PlaneId(plane));
            arrived.push((TrafficEvent::Delivered { node, plane, flow_id, bytes, mark, time: now }, passed_at));
        }
        if own.until <= now {
            (own.version, own.is_unsettled) = (0, true);
            return self.unsettled.push(episode);
        }
        if let Some(next) = record.moments.get(own.moment) {
            self.due.push((own.start + next.0, episode, version));
        }
        self.count_if_left(episode);
    }

    /// Counts the messages of an episode whose packets have all left their last routers.
    fn count_if_left(&mut self, episode: u32) {
        let own = &self.episodes.items[episode as usize];
        let record = &mut self.records.all[own.record as usize];
        if own.moment <= record.counted as usize {
            return;
        }
        for (place, &message) in own.messages.iter().enumerate() {
            let member = &mut self.messages.items[message as usize];
            if std::mem::replace(&mut member.is_counted, true) {
                continue;
            }
            let outcome = &mut record.members[place];
            outcome.weight += 1;
            let (arrives, packets) = (own.start + outcome.last, outcome.packets);
            let &mut Member { message, path, is_replayed, .. } = member;
            let routers = self.paths.routers(path);
            self.open -= 1;
            self.counts.messages += 1;
            self.counts.replayed += u64::from(is_replayed);
            self.counts.packet_hops += packets * routers;
            self.counted.push(Counted { message, path, arrives, packets, routers });
        }
    }

    pub fn give_up(&mut self, reason: String) {
        self.gave_up.get_or_insert(reason);
    }
}

/// Spans in channels.
impl Episodes {
    /// Places the spans of an episode by its record. Merges it with the episodes that they meet, or else schedules its
    /// moments.
    pub fn place(&mut self, episode: u32) {
        let own = &mut self.episodes.items[episode as usize];
        let record = &self.records.all[own.record as usize];
        (own.is_unsettled, own.over, own.until) = (false, own.start + record.over, own.start + record.until());
        let (start, count) = (own.start, record.spans.len());
        self.meets.clear();
        for name in 0..count {
            let own = &self.episodes.items[episode as usize];
            let record = &self.records.all[own.record as usize];
            let (channel, span, reads) = (own.channels[name], record.spans[name], record.reads[name]);
            let mut served = [NONE_SERVED; 2];
            for (arbiter, by) in record.served[name].into_iter().enumerate() {
                let Some((message, step, lane)) = by else { continue };
                let path = self.messages.items[own.messages[message as usize] as usize].path;
                let lanes = self.paths.steps(path)[usize::from(step)].arbiters[arbiter];
                served[arbiter] = lanes.first + u16::from(lane);
            }
            let own = Span { start: start + span.0, end: start + span.1, episode, served, reads };
            self.insert(channel, own);
        }
        if self.meets.is_empty() {
            return self.schedule(episode);
        }
        self.meets.push(episode);
        self.merge();
    }

    /// Inserts a span of a channel, and notes the episodes that it meets. A span before one that reads the pointer meets
    /// it.
    fn insert(&mut self, channel: u32, own: Span) {
        let spans = &mut self.spans[channel as usize];
        let meets = |other: &&Span| own.start <= other.end && (other.start <= own.end || other.reads);
        self.meets.extend(spans.iter().filter(meets).map(|other| other.episode));
        let place = spans.partition_point(|other| other.start < own.start);
        spans.insert(place, own);
    }

    /// Drops the episodes at the begin of a channel of which nothing is left. An episode is dropped in all its channels at
    /// once, with the episodes before it there, so that the pointers before each kept episode are known.
    pub fn drop_over(&mut self, channel: u32) {
        while let Some(first) = self.spans[channel as usize].first()
            && self.gather(first.episode)
        {
            for &episode in &self.gathered {
                let mut own = std::mem::take(&mut self.episodes.items[episode as usize]);
                for &channel in &own.channels {
                    let spans = &mut self.spans[channel as usize];
                    // The last of them that moves a pointer leaves it.
                    let dropped = spans.iter().take_while(|span| self.gathered.contains(&span.episode)).count();
                    for span in spans.drain(..dropped) {
                        let all = self.served[channel as usize].iter_mut().zip(span.served);
                        all.filter(|own| own.1 != NONE_SERVED).for_each(|(last, served)| *last = served);
                    }
                }
                self.messages.free.append(&mut own.messages);
                self.episodes.free.push(episode);
            }
        }
    }

    /// Gathers an episode and all those before it in its channels. Returns whether nothing is left of any of them.
    fn gather(&mut self, episode: u32) -> bool {
        self.gathered.clear();
        self.gathered.push(episode);
        let mut next = 0;
        while let Some(&episode) = self.gathered.get(next) {
            let own = &self.episodes.items[episode as usize];
            if own.is_unsettled || own.over >= self.now || next == MOST_GATHERED {
                return false;
            }
            for &channel in &own.channels {
                for span in self.spans[channel as usize].iter().take_while(|span| span.episode != episode) {
                    if !self.gathered.contains(&span.episode) {
                        self.gathered.push(span.episode);
                    }
                }
            }
            next += 1;
        }
        true
    }

    /// Merges the episodes of `meets` into the one of them that has most messages, which is then to be looked up.
    pub fn merge(&mut self) {
        let mut all = std::mem::take(&mut self.meets);
        all.sort_unstable();
        all.dedup();
        let size = |&episode: &u32| self.episodes.items[episode as usize].messages.len();
        let Some(into) = all.iter().copied().max_by_key(size) else { return };
        let under_way = all.iter().filter(|&&one| self.episodes.items[one as usize].start < self.now).count() as u64;
        self.counts.merges += under_way.saturating_sub(1);
        for other in all.drain(..).filter(|&other| other != into) {
            let mut own = std::mem::take(&mut self.episodes.items[other as usize]);
            for &channel in &own.channels {
                let spans = self.spans[channel as usize].iter_mut().filter(|span| span.episode == other);
                spans.for_each(|span| span.episode = into);
            }
            let joint = &mut self.episodes.items[into as usize];
            joint.messages.append(&mut own.messages);
            joint.channels.append(&mut own.channels);
            self.episodes.free.push(other);
        }
        self.meets = all;
        let joint = &mut self.episodes.items[into as usize];
        (joint.version, joint.until, joint.is_unsettled) = (0, u64::MAX, true);
        self.unsettled.push(into);
    }

    /// Schedules the next moment of an episode.
    fn schedule(&mut self, episode: u32) {
        self.version += 1;
        let own = &mut self.episodes.items[episode as usize];
        own.version = self.version;
        let moments = &self.records.all[own.record as usize].moments;
        own.moment = moments.partition_point(|moment| own.start + moment.0 <= self.now);
        if let Some(next) = moments.get(own.moment) {
            self.due.push((own.start + next.0, episode, own.version));
        }
        // An episode under way may have passed this moment with its former record, or be counted by it.
        self.count_if_left(episode);
    }
}
