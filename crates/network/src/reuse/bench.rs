//! Workbench: the packet engine, on which one episode at a time is simulated in a network that is idle at its begin. A
//! paused simulation stays in the partition.

mod interfaces;
mod periods;
mod saved;
mod traffic;

use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::routers::{Arbiter, Routers, Sharing};
use fabric::{
    ChannelFacts, Counters, Fabric, Grain, NetworkSize, Partition, PartitionMap, Plan, WithRouters, WorkerContext,
};
use host::{HandedOver, PacketParts};
use routing::RouteState;
use topology::ChannelSource;
use units::NodeId;

use super::records::MemberOutcome;
use interfaces::InterfaceTimes;
use periods::{Period, PeriodLog};
pub(super) use saved::SavedPlace;
pub use saved::StateRules;
use saved::{Saved, SavedStates, Simulation};
use traffic::BenchTraffic;

/// Time at which a workbench ends, in ticks: never.
const NEVER: u64 = u64::MAX / 2;

/// First tick of a workbench. The begin of an episode moves back by skipped periods, at most to tick 0.
const START: u64 = 1 << 42;

/// Number of times within an episode of several messages at which its channels are inspected.
const INSPECTIONS: u64 = 128;

/// Message to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BenchMessage {
    /// Number of the channel of its source.
    pub source: u32,
    /// Sources of its begin and, in the other direction, of its end.
    pub ends: [u32; 2],
    /// Places of its first and its last channel among those of the episode.
    pub channels: [u32; 2],
    /// Places of the shared buses that it crosses there. `NONE`: none.
    pub buses: [u32; 2],
    pub to: NodeId,
    pub state: RouteState,
    pub bytes: u32,
    /// Time of its release, in ticks from the begin.
    pub at: u64,
    pub handed: HandedOver,
}

/// Channel or shared bus that messages cross, or router that they share.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchChannel {
    pub channel: u32,
    /// Bytes that will cross it.
    pub bytes: u64,
    /// Arbiters, with the candidates that they have served last.
    pub arbiters: [Option<(Arbiter, u16)>; 2],
    /// Whether each arbiter decides between several candidates.
    pub are_contended: [bool; 2],
}

/// Time that is not known yet, in ticks. It is later than all others.
pub(super) const UNKNOWN: u64 = 1 << 60;

/// Outcome of a simulation. Times are in ticks from the begin. Those after `until` are `UNKNOWN`.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Time until which the simulation was paused. `None`: it is whole.
    pub until: Option<u64>,
    /// Outcome of each message, and the arrival of its first packet.
    pub members: Vec<(u64, MemberOutcome)>,
    /// Time at which the last head has left its last router. 0: not yet.
    pub counted: u64,
    /// By channel, the time after which nothing is left in it, and the candidates that its arbiters have served last.
    /// `NONE_SERVED`: the pointer has not moved.
    pub channels: Vec<(u64, [u16; 2])>,
    /// Packet-hops that were simulated. Those before a saved state do not count again.
    pub hops: u64,
    /// Packet-hops of periods that were skipped. Those before a saved state do not count again.
    pub skipped_hops: u64,
    /// Time in which its state was copied, in packet-hops. 0: it was not.
    pub copying: u64,
}

/// No candidate. As the candidate that was served last, it comes before the lowest.
pub(super) const NONE_SERVED: u16 = u16::MAX;

/// Least part of an episode after its last release that is simulated before the simulation is paused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Packet-hops.
    pub hops: u64,
    /// Time that has to be over, in ticks from the begin.
    pub after: u64,
}

/// Limits of a simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Part after which the simulation may be paused. `None`: it is not paused.
    pub stretch: Option<Stretch>,
    /// Largest number of packet-hops of one call.
    pub most: u64,
}

/// Reason why a simulation has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// Packets wait for one another for ever.
    Deadlock,
    /// The simulation exceeds `Limits::most`.
    TooLong,
}

/// Packet engine over a whole network.
pub(super) trait Workbench: Send {
    /// Returns the facts of all channels, by the numbers of their outputs, and what messages share in routers.
    fn facts(&self) -> (Vec<ChannelFacts>, Sharing);
    /// Returns the candidate that an arbiter has served last.
    fn last_served(&self, arbiter: Arbiter) -> u16;
    /// Returns the saved state from which the simulation of messages may continue. `None`: there is none.
    fn saved(&self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<SavedPlace>;
    /// Simulates messages, in ascending order of times, and the channels that they cross, from the beginning or from a
    /// saved state. The simulation may be paused. If it is not finished, the workbench is of no more use.
    fn simulate(
        &mut self,
        messages: &[BenchMessage],
        channels: &[BenchChannel],
        from: (Option<SavedPlace>, Limits),
    ) -> Result<Outcome, Unfinished>;
    /// Returns whether the simulation of messages may skip periods.
    fn skips(&self, messages: &[BenchMessage]) -> bool;
    /// Returns the time in which a state without packets is copied, in packet-hops.
    fn copying(&self) -> u64;
}

/// Creates the workbench of a network.
pub(super) fn workbench(
    plan: &Arc<Plan>,
    (router, parts): (&RouterSpec, PacketParts),
    rules: StateRules,
) -> Box<dyn Workbench> {
    router.with_routers(Building { plan, router, parts, rules })
}

struct Building<'a> {
    plan: &'a Arc<Plan>,
    router: &'a RouterSpec,
    parts: PacketParts,
    rules: StateRules,
}

impl WithRouters for Building<'_> {
    type Output = Box<dyn Workbench>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Box<dyn Workbench> {
        let plan = self.plan;
        let map = PartitionMap::new(plan, 1, Grain::Exactly(1));
        let nodes = plan.topology().nodes();
        let mut counters = Counters::of_jobs(nodes, 1, plan.units_per_tick());
        counters.job_mut(0).ignore_sources();
        let planes = plan.channels().planes();
        let sources = map.sources(0).map(|(node, plane)| node.0 * planes + u32::from(plane.0)).collect();
        let traffic = BenchTraffic::new(self.parts, sources, plan.units_per_tick());
        let mut partition = Partition::new(plan, &map, 0, routers, traffic);
        let facts: Vec<ChannelFacts> = partition.fabric().channel_facts().collect();
        // Without a buffer between crossbar and link, the crossbar is busy as long as the link: space may be free before.
        let sharing = partition.routers().sharing();
        let longest = facts.iter().map(|own| own.delay_with_router + own.delay + 2 * own.full).max().unwrap_or(0);
        let arbiters = [sharing.output, sharing.input, sharing.router];
        let routers = if sharing.router.is_some() { plan.topology().routers() } else { 0 };
        let side = facts.iter().map(|own| own.full).max().unwrap_or(0);
        let first_source = partition.fabric().first_injection() as u32;
        partition.visit_traffic(|traffic, _| traffic.first_source = first_source);
        Box::new(Bench {
            partition,
            first_bus: facts.len() as u32 + routers,
            facts,
            side: if sharing.has_sides { side } else { 0 },
            context: WorkerContext::new(counters, map.parts()),
            now: START,
            longest,
            log: arbiters.iter().flatten().all(|own| own.has_pointer).then(PeriodLog::default),
            saved: SavedStates::new(NetworkSize::of_plan(plan).state_bytes(self.router), self.rules),
            paused: None,
            idle: None,
        })
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
    /// Times of the interfaces of each message.
    times: Vec<InterfaceTimes>,
    /// How full buffers and queues are, and the candidates that arbiters have served last.
    state: Vec<i64>,
}

/// Partition that is the whole network.
struct Bench<R> {
    partition: Partition<R, BenchTraffic>,
    facts: Vec<ChannelFacts>,
    /// Number of the first shared bus: those of channels and routers are lower.
    first_bus: u32,
    /// Longest time for which a side of a crossbar is busy after a packet has left its buffer, in ticks.
    side: u64,
    context: WorkerContext,
    /// Present time of the simulation, or the time after which nothing is left of it.
    now: u64,
    saved: SavedStates<R>,
    /// Longest time from a decision to the last event that it causes, in ticks.
    longest: u64,
    /// Events by which periods are found. `None`: none are skipped.
    log: Option<PeriodLog>,
    /// Simulation whose state is that of the partition. `None`: the partition is idle.
    paused: Option<Simulation>,
    /// Idle network, and the time after which nothing is left in it. `None`: no simulation has been paused.
    idle: Option<(Partition<R, BenchTraffic>, u64)>,
}

impl<R: Routers> Workbench for Bench<R> {
    fn facts(&self) -> (Vec<ChannelFacts>, Sharing) {
        (self.facts.clone(), self.partition.routers().sharing())
    }

    fn last_served(&self, arbiter: Arbiter) -> u16 {
        self.partition.routers().last_served(arbiter).map_or(NONE_SERVED, |candidate| candidate as u16)
    }

    fn saved(&self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<SavedPlace> {
        let known = &self.partition.traffic().messages;
        let paused = self.paused.as_ref().filter(|run| run.precedes(known, messages, channels));
        let paused = paused.map(|run| SavedPlace { place: None, hops: run.hops });
        self.saved.find(messages, channels).into_iter().chain(paused).max_by_key(|own| own.hops)
    }

    fn copying(&self) -> u64 {
        self.saved.copying()
    }

    fn skips(&self, messages: &[BenchMessage]) -> bool {
        self.log.as_ref().is_some_and(PeriodLog::may_log) && self.partition.traffic().have_steady_states(messages)
    }

    fn simulate(
        &mut self,
        messages: &[BenchMessage],
        channels: &[BenchChannel],
        (from, limits): (Option<SavedPlace>, Limits),
    ) -> Result<Outcome, Unfinished> {
        let stretch = limits.stretch.filter(|_| self.saved.fits());
        if stretch.is_some() && self.paused.is_none() && self.idle.is_none() {
            self.idle = Some((self.partition.clone(), self.now));
        }
        // The log is right for the paused simulation only.
        if from.is_none_or(|own| own.place.is_some()) {
            self.log.iter_mut().for_each(PeriodLog::reset);
        }
        let mut run = match from {
            Some(from) => self.go_on(from, messages, channels).ok_or(Unfinished::Deadlock)?,
            None => self.begin(messages, channels),
        };
        let before = (run.hops, run.skipped_hops);
        let most = run.hops.saturating_add(limits.most);
        let last = messages.last().map_or(0, |message| message.at);
        run.outcome.copying = 0;
        if last > 0 && last >= run.before {
            while self.step(run.begin + last, most, &mut run)? {}
            (run.before, run.released_hops) = (last, run.hops);
            run.outcome.copying = self.saved.save(&self.partition, &run);
        }
        let mut pauses_at = None;
        while !run.open.is_empty() || self.partition.traffic().delivered < run.packets as usize {
            if let Some(own) = stretch.filter(|own| run.now > own.after) {
                // A stretch without a further release is followed by one of twice its length.
                pauses_at.get_or_insert(run.hops + own.hops.max(run.hops - run.released_hops));
            }
            if pauses_at.is_some_and(|hops| run.hops >= hops) && run.outcome.counted == 0 {
                run.before = run.now + 1;
                while self.step(run.begin + run.before, most, &mut run)? {}
                return Ok(self.pause(run, messages, before));
            }
            if !self.step(NEVER, most, &mut run)? {
                return Err(Unfinished::Deadlock);
            }
        }
        let (begin, mut outcome) = (run.begin, std::mem::take(&mut run.outcome));
        (outcome.until, outcome.hops, outcome.skipped_hops) = (None, run.hops - before.0, run.skipped_hops - before.1);
        let members = &mut outcome.members;
        self.partition.visit_traffic(|traffic, _| *members = std::mem::take(&mut traffic.members));
        self.hold(messages, channels, (&run, &mut outcome));
        let over = outcome.channels.iter().map(|own| begin + own.0).max().unwrap_or(0);
        self.now = over.max(self.now).max(run.last_alarm);
        Ok(outcome)
    }
}

impl<R: Routers> Bench<R> {
    /// Begins the simulation of messages in the idle network.
    fn begin(&mut self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Simulation {
        if let (Some(run), Some((idle, over))) = (self.paused.take(), &self.idle) {
            self.saved.keep(std::mem::replace(&mut self.partition, idle.clone()), run);
            // What was paused may have begun long before.
            self.now = self.now.max(*over);
        }
        // Discard alarms that were set before periods were skipped.
        while self.partition.step((0, self.now + 1), u64::MAX, &mut self.context, None).is_some() {}
        let mut run = Simulation { begin: self.now + 1, ..Simulation::default() };
        self.partition.visit_traffic(|traffic, _| traffic.clear(run.begin));
        self.add(&mut run, messages, channels);
        run
    }

    /// Goes on with all messages from a saved state.
    fn go_on(&mut self, from: SavedPlace, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<Simulation> {
        let mut run = match from.place {
            None => self.paused.take()?,
            Some(place) => {
                let Saved { partition, run, .. } = self.saved.take(place);
                let before = std::mem::replace(&mut self.partition, partition);
                if let Some(paused) = self.paused.take() {
                    self.saved.keep(before, paused);
                }
                run
            }
        };
        let known = self.partition.traffic().messages.len();
        if known < messages.len() {
            self.add(&mut run, &messages[known..], channels);
        }
        Some(run)
    }

    /// Pauses a simulation, and returns its outcome so far.
    fn pause(&mut self, run: Simulation, messages: &[BenchMessage], before: (u64, u64)) -> Outcome {
        let traffic = self.partition.traffic();
        let mut outcome = Outcome { members: traffic.members.clone(), ..run.outcome.clone() };
        for ((_, own), progress) in outcome.members.iter_mut().zip(&traffic.progress) {
            own.last = if progress.missing > 0 { UNKNOWN } else { own.last };
        }
        for &place in &run.open {
            outcome.channels[place].0 = UNKNOWN;
        }
        self.hold(messages, &run.channels, (&run, &mut outcome));
        (outcome.until, outcome.hops) = (Some(run.now), run.hops - before.0);
        outcome.skipped_hops = run.skipped_hops - before.1;
        self.paused = Some(run);
        outcome
    }

    /// Adds messages to a simulation. `channels` are those of the former messages, and then those of the new ones.
    fn add(&mut self, run: &mut Simulation, messages: &[BenchMessage], channels: &[BenchChannel]) {
        for (arbiter, last) in channels[run.channels.len()..].iter().flat_map(|own| own.arbiters).flatten() {
            let last = (last != NONE_SERVED).then_some(last.into());
            self.partition.routers_mut().set_last_served(arbiter, last);
        }
        let sent = |own: &BenchChannel| {
            let channel = own.channel as usize;
            (channel < self.facts.len()).then(|| self.partition.fabric().sent(channel))
        };
        for (place, own) in channels.iter().enumerate() {
            run.add(place, own, (sent(own), own.channel < self.first_bus));
        }
        run.channels = channels.to_vec();
        self.partition.visit_traffic(|traffic, actions| traffic.join(messages, actions));
        let packet = self.partition.traffic().parts.packet();
        run.packets += messages.iter().map(|own| u64::from(own.bytes.div_ceil(packet))).sum::<u64>();
        run.outcome.counted = 0;
    }

    /// Handles instants before tick `until`, up to the next inspection, and notes what has become idle. Returns `None` if
    /// nothing happens.
    fn advance(&mut self, until: u64, run: &mut Simulation) -> Option<()> {
        let counts = |context: &WorkerContext| [context.counters.transmissions(), context.counters.total_delivered];
        let before = counts(&self.context);
        let is_alone = self.partition.traffic().messages.len() == 1;
        let is_counted = run.outcome.counted > 0;
        let is_logged = self.log.as_ref().is_some_and(|log| log.is_on);
        let from = if is_alone || is_counted || is_logged { 0 } else { run.inspected };
        let delivered = if is_counted { u64::MAX } else { before[1] + run.packets - run.left };
        let logged = self.log.as_mut().filter(|_| is_logged).map(|log| &mut log.logged);
        let now = self.partition.step((from, until), delivered, &mut self.context, logged)?;
        (self.now, run.now) = (now, now - run.begin);
        let after = counts(&self.context);
        run.hops += after[0] - before[0];
        self.log.iter_mut().for_each(|log| {
            log.count(after[0] - before[0]);
            log.take_in(self.partition.traffic(), now);
        });
        run.left += after[1] - before[1];
        if !is_counted && run.left == run.packets {
            run.outcome.counted = run.now;
        }
        if is_alone || now >= run.inspected || run.outcome.counted > 0 {
            run.inspected = now + run.now / INSPECTIONS;
            self.note_idle(run);
        }
        Some(())
    }

    /// Handles instants as `advance` does, and then skips periods if a steady state is found. `most`: packet-hops after
    /// which the simulation takes too long. Returns whether something has happened.
    fn step(&mut self, until: u64, most: u64, run: &mut Simulation) -> Result<bool, Unfinished> {
        let is_over = self.advance(until, run).is_none();
        let log = self.log.as_mut().filter(|_| !is_over);
        if let Some(period) = log.and_then(|log| log.find(self.partition.traffic(), self.longest)) {
            let count = self.partition.traffic().repetitions(&period);
            self.skip(&period.times(count), until, run);
        }
        if run.hops <= most { Ok(!is_over) } else { Err(Unfinished::TooLong) }
    }

    /// Simulates one more period. If the state recurs, skips the further periods that end before tick `until` and before
    /// the next release. The clock does not change: the begin of the episode moves back.
    fn skip(&mut self, period: &Period, until: u64, run: &mut Simulation) {
        let end = self.now + period.ticks;
        let until = self.partition.traffic().next_release().map_or(until, |next| next.min(until));
        if end >= until {
            return;
        }
        // Each skipped period adds the counts of one more simulated period.
        let before = self.snapshot(run);
        self.partition.visit_traffic(|traffic, _| traffic.note_arrivals());
        while self.advance(end + 1, run).is_some() {}
        self.now = end;
        let after = self.snapshot(run);
        let traffic = self.partition.traffic();
        let recurs = after.phase == before.phase && after.state == before.state;
        let goes_on = recurs && self.log.as_ref().is_some_and(|log| log.goes_on(period));
        let lags = if goes_on { traffic.lags(period, &before.times) } else { None };
        let most = traffic.most_periods(period).min((until - 1 - end) / period.ticks).min(run.begin / period.ticks);
        let times = if lags.is_some() { most } else { 0 };
        run.last_alarm = run.last_alarm.max(traffic.next_release().unwrap_or(0));
        self.note_idle(run);
        let lags = lags.unwrap_or_default();
        self.partition.visit_traffic(|traffic, actions| traffic.skip((period, times), &lags, actions));
        run.begin -= times * period.ticks;
        run.now = self.now - run.begin;
        run.inspected = self.now;
        let hops = times * (after.hops - before.hops);
        run.skipped_hops += hops;
        self.log.iter_mut().for_each(|log| log.count(hops));
        run.left += times * (after.left - before.left);
        let sent = after.sent.iter().zip(&before.sent).map(|(after, before)| times * (after - before));
        run.sent.iter_mut().zip(sent).for_each(|(target, skipped)| *target -= skipped);
    }

    /// Returns the counts of a simulation, and the part of its state that is compared.
    fn snapshot(&self, run: &Simulation) -> Snapshot {
        let (fabric, routers) = (self.partition.fabric(), self.partition.routers());
        let (mut sent, mut state) = (Vec::new(), Vec::new());
        for own in &run.channels {
            let output = own.channel as usize;
            let is_channel = output < self.facts.len();
            sent.push(if is_channel { fabric.sent(output) } else { 0 });
            if is_channel {
                fabric.append_backlog(output, &mut state);
            }
            if output < fabric.first_injection() {
                routers.append_backlog(fabric, output, &mut state);
            }
            state.extend(own.arbiters.iter().flatten().map(|own| i64::from(self.last_served(own.0))));
        }
        let traffic = self.partition.traffic();
        let (phase, times) = (traffic.phase, traffic.interface_times());
        Snapshot { hops: run.hops, left: run.left, sent, phase, times, state }
    }

    /// Notes which candidates were served last. Holds channels until the sides of crossbars behind them are free and
    /// nothing is left in the parts of interfaces at their ends, and shared buses until they are free and the last packet
    /// has left or arrived.
    fn hold(&self, messages: &[BenchMessage], channels: &[BenchChannel], (run, outcome): (&Simulation, &mut Outcome)) {
        for (own, (idle, served)) in channels.iter().zip(&mut outcome.channels) {
            let delay = self.facts.get(own.channel as usize).map_or(self.side, |facts| facts.delay);
            *idle += self.side.saturating_sub(delay);
            *served = own.arbiters.map(|arbiter| arbiter.map_or(NONE_SERVED, |own| self.last_served(own.0)));
        }
        let begin = run.begin;
        let traffic = self.partition.traffic();
        if !traffic.parts.are_sending() && !traffic.parts.are_receiving() {
            return;
        }
        for (message, (_, member)) in messages.iter().zip(&outcome.members) {
            for end in [0, 1] {
                let arrived = if end == 0 { 0 } else { member.last };
                let free = traffic.parts.free_at(message.ends[end] as usize, end == 1).into_iter().flatten().max();
                let free = free.unwrap_or(0).div_ceil(traffic.parts.tick()).saturating_sub(begin);
                let own = &mut outcome.channels[message.channels[end] as usize].0;
                *own = (*own).max(free).max(arrived);
                let idle = *own;
                let Some(bus) = channels.get(message.buses[end] as usize) else { continue };
                let free = traffic.parts.bus_free_at(bus.channel - self.first_bus).saturating_sub(begin);
                let own = &mut outcome.channels[message.buses[end] as usize].0;
                *own = (*own).max(free).max(idle);
            }
        }
    }

    /// Notes the times of the open channels that are idle, and removes them. A router is idle once all messages have left
    /// by its outputs and it is empty.
    fn note_idle(&self, run: &mut Simulation) {
        let Simulation { begin, channels, sent, open, outcome, .. } = run;
        let fabric = self.partition.fabric();
        let mut awaited = Vec::new();
        if channels.iter().any(|own| own.channel as usize >= self.facts.len()) {
            let router = |&place: &usize| match self.facts.get(channels[place].channel as usize)?.source {
                ChannelSource::Router(router, _) if fabric.sent(channels[place].channel as usize) != sent[place] => {
                    Some(router.0)
                }
                _ => None,
            };
            awaited.extend(open.iter().filter_map(router));
            awaited.sort_unstable();
        }
        open.retain(|&place| {
            let own = &channels[place];
            let idle = match own.arbiters[0] {
                Some((Arbiter::Router(port), _)) => {
                    let has_passed = awaited.binary_search(&(own.channel - self.facts.len() as u32)).is_err();
                    (has_passed && self.partition.routers().is_empty(fabric, port)).then_some(self.now)
                }
                _ => {
                    let output = own.channel as usize;
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
