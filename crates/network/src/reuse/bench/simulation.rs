//! Simulation of an episode, in a partition that is idle at its begin.

use std::sync::Arc;

use fabric::routers::{Arbiter, Routers, Sharing};
use fabric::{ChannelFacts, Counters, Partition, Plan, WorkerContext};
use topology::ChannelSource;

use super::interfaces::InterfaceTimes;
use super::periods::{Period, PeriodLog};
use super::traffic::BenchTraffic;
use super::{BenchChannel, BenchMessage, NONE_SERVED, Outcome, START, START_TIME, UNKNOWN, Unfinished, last_served};

/// Number of times within an episode of several messages at which its channels are inspected.
const INSPECTIONS: u64 = 128;

/// What all simulations use.
pub(super) struct Tools {
    /// All channels of the network, by the numbers of their outputs.
    pub facts: Vec<ChannelFacts>,
    /// Number of the first shared bus: those of channels and routers are lower.
    pub first_bus: u32,
    /// Longest time for which a side of a crossbar is busy after a packet has left its buffer, in ticks.
    side: u64,
    /// Longest time from a decision to the last event that it causes, in ticks.
    longest: u64,
    context: WorkerContext,
    /// Events by which periods are found. `None`: none are skipped.
    log: Option<PeriodLog>,
    /// Number of the simulation whose events these are, and of simulations so far.
    logged: u64,
    simulations: u64,
}

impl Tools {
    /// Creates the tools of a network with the given channels.
    pub fn new(plan: &Arc<Plan>, facts: Vec<ChannelFacts>, sharing: Sharing) -> Self {
        let mut counters = Counters::of_jobs(plan.topology().nodes(), 1, plan.units_per_tick());
        counters.job_mut(0).ignore_sources();
        // Without a buffer between crossbar and link, the crossbar is busy as long as the link: space may be free before.
        let longest = facts.iter().map(|own| own.delay_with_router + own.delay + 2 * own.full).max().unwrap_or(0);
        let side = facts.iter().map(|own| own.full).max().unwrap_or(0);
        let routers = if sharing.router.is_some() { plan.topology().routers() } else { 0 };
        let arbiters = [sharing.output, sharing.input, sharing.router];
        Self {
            first_bus: facts.len() as u32 + routers,
            facts,
            side: if sharing.has_sides { side } else { 0 },
            longest,
            context: WorkerContext::new(counters, 1),
            log: arbiters.iter().flatten().all(|own| own.has_pointer).then(PeriodLog::default),
            logged: 0,
            simulations: 0,
        }
    }

    /// Returns the number of a new simulation.
    pub fn next_number(&mut self) -> u64 {
        self.simulations += 1;
        self.simulations
    }

    /// Returns whether periods may be skipped.
    pub fn may_skip(&self) -> bool {
        self.log.as_ref().is_some_and(PeriodLog::may_log)
    }

    /// Forgets the logged events if they are not those of a simulation.
    pub fn log_only(&mut self, simulation: u64) {
        if std::mem::replace(&mut self.logged, simulation) != simulation {
            self.log.iter_mut().for_each(PeriodLog::reset);
        }
    }

    /// Returns whether a resource is a channel.
    pub fn is_channel(&self, resource: u32) -> bool {
        (resource as usize) < self.facts.len()
    }
}

/// Counts and compared state of a simulation at one time.
struct Snapshot {
    /// Packet-hops, and packets whose heads have left their last routers.
    hops: u64,
    left: u64,
    /// By channel, the bytes that it has sent. 0 for routers and buses.
    sent: Vec<u64>,
    /// Phase of the traffic.
    phase: u64,
    /// Times of the interfaces of each pair of ends.
    times: Vec<InterfaceTimes>,
    /// How full buffers and queues are, and the candidates that arbiters have served last.
    state: Vec<i64>,
}

/// Simulation of an episode. Times are in ticks.
#[derive(Clone, Debug)]
pub(super) struct Simulation<R> {
    partition: Partition<R, BenchTraffic>,
    /// Number by which its logged events are known.
    pub number: u64,
    /// Begin of the episode, and the last handled instant.
    pub begin: u64,
    now: u64,
    /// Time before which all instants have been handled, from the begin.
    pub before: u64,
    /// Channels, routers and shared buses, and the numbers of channels and buses in the partition.
    channels: Vec<(BenchChannel, u32)>,
    /// By channel, the bytes that it will have sent at the end.
    sent: Vec<u64>,
    /// Places of the channels in which something is left.
    open: Vec<usize>,
    /// Packets of all messages.
    packets: u64,
    /// Packets whose heads have left their last routers.
    left: u64,
    /// Packet-hops so far, and those at the last release.
    pub hops: u64,
    pub released_hops: u64,
    /// Packet-hops of skipped periods so far.
    pub skipped_hops: u64,
    /// Time before which channels are not inspected.
    inspected: u64,
    pub outcome: Outcome,
    /// Bytes of memory of the partition without packets.
    bytes: u64,
}

impl<R: Routers> Simulation<R> {
    /// Begins the simulation of no messages in a partition at time 0, which takes `bytes` bytes of memory.
    pub fn begin(mut partition: Partition<R, BenchTraffic>, bytes: u64, tools: &mut Tools) -> Self {
        let begin = START.min(START_TIME / partition.traffic().parts.tick());
        partition.step((0, begin), u64::MAX, &mut tools.context, None);
        partition.visit_traffic(|traffic, _| traffic.begin_at(begin));
        Self {
            partition,
            number: tools.next_number(),
            begin,
            now: begin,
            before: 0,
            channels: Vec::new(),
            sent: Vec::new(),
            open: Vec::new(),
            packets: 0,
            left: 0,
            hops: 0,
            released_hops: 0,
            skipped_hops: 0,
            inspected: 0,
            outcome: Outcome::default(),
            bytes,
        }
    }

    /// Returns this copy of a simulation, with a number that no other has.
    pub fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Returns the time of the last handled instant, from the begin.
    pub fn passed(&self) -> u64 {
        self.now - self.begin
    }

    /// Returns the bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.partition.traffic().bytes()
    }

    /// Returns whether nothing is left of the episode.
    pub fn is_over(&self) -> bool {
        self.open.is_empty() && self.partition.traffic().delivered >= self.packets as usize
    }

    /// Returns the outcome of the whole episode. `before`: packet-hops that were simulated and skipped before.
    pub fn end(mut self, tools: &Tools, before: (u64, u64)) -> Outcome {
        let mut outcome = std::mem::take(&mut self.outcome);
        let members = &mut outcome.members;
        self.partition.visit_traffic(|traffic, _| *members = std::mem::take(&mut traffic.members));
        self.hold(tools, &mut outcome);
        Outcome { until: None, hops: self.hops - before.0, skipped_hops: self.skipped_hops - before.1, ..outcome }
    }

    /// Returns the outcome so far.
    pub fn pause(&self, tools: &Tools, before: (u64, u64)) -> Outcome {
        let traffic = self.partition.traffic();
        let mut outcome = Outcome { members: traffic.members.clone(), ..self.outcome.clone() };
        for ((_, own), progress) in outcome.members.iter_mut().zip(&traffic.progress) {
            own.last = if progress.missing > 0 { UNKNOWN } else { own.last };
        }
        for &place in &self.open {
            outcome.channels[place].0 = UNKNOWN;
        }
        self.hold(tools, &mut outcome);
        let (hops, skipped_hops) = (self.hops - before.0, self.skipped_hops - before.1);
        Outcome { until: Some(self.passed()), hops, skipped_hops, ..outcome }
    }

    /// Adds messages. `channels` are those of the former messages, and then those of the new ones.
    pub fn add(&mut self, tools: &Tools, messages: &[BenchMessage], channels: Vec<(BenchChannel, u32)>) {
        let new = channels[self.channels.len()..].iter().flat_map(|own| own.0.arbiters);
        for (arbiter, last) in new.flatten() {
            let last = (last != NONE_SERVED).then_some(last.into());
            self.partition.routers_mut().set_last_served(arbiter, last);
        }
        for (place, (own, _)) in channels.iter().enumerate() {
            let before = self.channels.get(place).map(|before| before.0.bytes);
            let is_channel = tools.is_channel(own.channel);
            if before.is_none() {
                self.sent.push(0);
                self.outcome.channels.push((0, [NONE_SERVED; 2]));
            }
            let further = own.bytes - before.unwrap_or(0);
            self.sent[place] += if is_channel { further } else { 0 };
            // Buses are held by what passes them.
            if own.channel < tools.first_bus && further > 0 && !self.open.contains(&place) {
                self.open.push(place);
            }
        }
        self.channels = channels;
        self.partition.visit_traffic(|traffic, actions| traffic.join(messages, actions));
        let packet = self.partition.traffic().parts.packet();
        self.packets += messages.iter().map(|own| u64::from(own.bytes.div_ceil(packet))).sum::<u64>();
        self.outcome.counted = 0;
    }

    /// Handles instants before tick `until`, up to the next inspection, and notes what has become idle. Returns `None` if
    /// nothing happens.
    fn advance(&mut self, until: u64, tools: &mut Tools) -> Option<()> {
        let counts = |context: &WorkerContext| [context.counters.transmissions(), context.counters.total_delivered];
        let before = counts(&tools.context);
        let is_alone = self.partition.traffic().messages.len() == 1;
        let is_counted = self.outcome.counted > 0;
        let is_logged = tools.log.as_ref().is_some_and(|log| log.is_on);
        let from = if is_alone || is_counted || is_logged { 0 } else { self.inspected };
        let delivered = if is_counted { u64::MAX } else { before[1] + self.packets - self.left };
        let logged = tools.log.as_mut().filter(|_| is_logged).map(|log| &mut log.logged);
        self.now = self.partition.step((from, until), delivered, &mut tools.context, logged)?;
        let after = counts(&tools.context);
        self.hops += after[0] - before[0];
        tools.log.iter_mut().for_each(|log| {
            log.count(after[0] - before[0]);
            log.take_in(self.partition.traffic(), self.now);
        });
        self.left += after[1] - before[1];
        if !is_counted && self.left == self.packets {
            self.outcome.counted = self.passed();
        }
        if is_alone || self.now >= self.inspected || self.outcome.counted > 0 {
            self.inspected = self.now + self.passed() / INSPECTIONS;
            self.note_idle(tools);
        }
        Some(())
    }

    /// Handles instants as `advance` does, and then skips periods if a steady state is found. `most`: packet-hops after
    /// which the simulation takes too long. Returns whether something has happened.
    pub fn step(&mut self, tools: &mut Tools, until: u64, most: u64) -> Result<bool, Unfinished> {
        let is_over = self.advance(until, tools).is_none();
        let log = tools.log.as_mut().filter(|_| !is_over);
        if let Some(period) = log.and_then(|log| log.find(self.partition.traffic(), tools.longest)) {
            let count = self.partition.traffic().repetitions(&period);
            self.skip(&period.times(count), until, tools);
        }
        if self.hops <= most { Ok(!is_over) } else { Err(Unfinished::TooLong) }
    }

    /// Simulates one more period. If the state recurs, skips the further periods that end before tick `until` and before
    /// the next release. The clock does not change: the begin of the episode moves back.
    fn skip(&mut self, period: &Period, until: u64, tools: &mut Tools) {
        let end = self.now + period.ticks;
        let until = self.partition.traffic().next_release().map_or(until, |next| next.min(until));
        if end >= until {
            return;
        }
        // Each skipped period adds the counts of one more simulated period.
        let before = self.snapshot(tools);
        self.partition.visit_traffic(|traffic, _| traffic.note_arrivals());
        while self.advance(end + 1, tools).is_some() {}
        self.now = end;
        let after = self.snapshot(tools);
        let traffic = self.partition.traffic();
        let recurs = after.phase == before.phase && after.state == before.state;
        let goes_on = recurs && tools.log.as_ref().is_some_and(|log| log.goes_on(period));
        let lags = if goes_on { traffic.lags(period, &before.times) } else { None };
        let most = traffic.most_periods(period).min((until - 1 - end) / period.ticks).min(self.begin / period.ticks);
        let times = if lags.is_some() { most } else { 0 };
        self.note_idle(tools);
        let lags = lags.unwrap_or_default();
        self.partition.visit_traffic(|traffic, actions| traffic.skip((period, times), &lags, actions));
        self.begin -= times * period.ticks;
        self.inspected = self.now;
        let hops = times * (after.hops - before.hops);
        self.skipped_hops += hops;
        tools.log.iter_mut().for_each(|log| log.count(hops));
        self.left += times * (after.left - before.left);
        let sent = after.sent.iter().zip(&before.sent).map(|(after, before)| times * (after - before));
        self.sent.iter_mut().zip(sent).for_each(|(target, skipped)| *target -= skipped);
    }

    /// Returns the counts, and the part of the state that is compared.
    fn snapshot(&self, tools: &Tools) -> Snapshot {
        let (fabric, routers) = (self.partition.fabric(), self.partition.routers());
        let (mut sent, mut state) = (Vec::new(), Vec::new());
        for &(ref own, number) in &self.channels {
            let output = number as usize;
            let is_channel = tools.is_channel(own.channel);
            sent.push(if is_channel { fabric.sent(output) } else { 0 });
            if is_channel {
                fabric.append_backlog(output, &mut state);
                if output < fabric.first_injection() {
                    routers.append_backlog(fabric, output, &mut state);
                }
            }
            state.extend(own.arbiters.iter().flatten().map(|own| i64::from(last_served(routers, own.0))));
        }
        let traffic = self.partition.traffic();
        let (phase, times) = (traffic.phase, traffic.interface_times());
        Snapshot { hops: self.hops, left: self.left, sent, phase, times, state }
    }

    /// Notes which candidates were served last. Holds channels until the sides of crossbars behind them are free and
    /// nothing is left in the parts of interfaces at their ends, and shared buses until they are free and the last packet
    /// has left or arrived.
    fn hold(&self, tools: &Tools, outcome: &mut Outcome) {
        for ((own, _), (idle, served)) in self.channels.iter().zip(&mut outcome.channels) {
            let delay = tools.facts.get(own.channel as usize).map_or(tools.side, |facts| facts.delay);
            *idle += tools.side.saturating_sub(delay);
            let last = |arbiter| last_served(self.partition.routers(), arbiter);
            *served = own.arbiters.map(|own| own.map_or(NONE_SERVED, |own| last(own.0)));
        }
        let (begin, traffic) = (self.begin, self.partition.traffic());
        if !traffic.parts.are_sending() && !traffic.parts.are_receiving() {
            return;
        }
        for (message, (_, member)) in traffic.messages.iter().zip(&outcome.members) {
            for end in [0, 1] {
                let arrived = if end == 0 { 0 } else { member.last };
                let free = traffic.parts.free_at(message.ends[end] as usize, end == 1).into_iter().flatten().max();
                let free = free.unwrap_or(0).div_ceil(traffic.parts.tick()).saturating_sub(begin);
                let own = &mut outcome.channels[message.channels[end] as usize].0;
                *own = (*own).max(free).max(arrived);
                let idle = *own;
                let Some((_, bus)) = self.channels.get(message.buses[end] as usize) else { continue };
                let free = traffic.parts.bus_free_at(*bus).saturating_sub(begin);
                let own = &mut outcome.channels[message.buses[end] as usize].0;
                *own = (*own).max(free).max(idle);
            }
        }
    }

    /// Notes the times of the open channels that are idle, and removes them. A router is idle once all messages have left
    /// by its outputs and it is empty.
    fn note_idle(&mut self, tools: &Tools) {
        let Self { partition, begin, channels, sent, open, outcome, now, .. } = self;
        let fabric = partition.fabric();
        let mut awaited = Vec::new();
        if channels.iter().any(|own| !tools.is_channel(own.0.channel)) {
            let router = |&place: &usize| match tools.facts.get(channels[place].0.channel as usize)?.source {
                ChannelSource::Router(router, _) if fabric.sent(channels[place].1 as usize) != sent[place] => {
                    Some(router.0)
                }
                _ => None,
            };
            awaited.extend(open.iter().filter_map(router));
            awaited.sort_unstable();
        }
        open.retain(|&place| {
            let (own, number) = &channels[place];
            let idle = match own.arbiters[0] {
                Some((Arbiter::Router(port), _)) => {
                    let has_passed = awaited.binary_search(&(own.channel - tools.facts.len() as u32)).is_err();
                    (has_passed && partition.routers().is_empty(fabric, port)).then_some(*now)
                }
                _ => {
                    let output = *number as usize;
                    (fabric.sent(output) == sent[place]).then(|| fabric.idle_from(output)).flatten()
                }
            };
            if let Some(idle) = idle {
                outcome.channels[place].0 = idle.max(*begin) - *begin;
            }
            idle.is_none()
        });
    }
}
