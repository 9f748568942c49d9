//! Traffic of a workbench: the messages of the episode under simulation, and what becomes of their packets.

use std::collections::{BTreeMap, BTreeSet};

use fabric::{Actions, Demand, Target, Traffic, TrafficEvent};
use host::{Earlier, LeavingPacket, PacketParts};

use super::BenchMessage;
use super::interfaces::{InterfaceTimes, Lags, is_simple};
use super::periods::Period;
use crate::reuse::records::MemberOutcome;

/// Number of unsent packets from which on a message is long. Only long messages are searched for periods.
const LONG: u64 = 128;

/// Largest number of periods that are simulated as one.
const MOST_REPETITIONS: u64 = 64;

/// Packet on its way.
#[derive(Clone, Copy, Debug)]
struct BenchPacket {
    message: u32,
    /// Number in its message, from 0.
    number: u32,
    bytes: u32,
    /// Generation time in ticks, plus `Progress::earlier` at that time.
    generated_at: u64,
}

/// Progress of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes that have not arrived.
    pub missing: u64,
    /// Bytes that are not yet in packets.
    unsent: u64,
    /// Packets that were drawn, without skipped ones.
    drawn: u32,
    /// Lowest number of a packet that has not arrived. Skipped packets have no numbers.
    arrived: u32,
    /// Growth of latencies in all skipped periods, in ticks.
    earlier: u64,
}

/// Returns whether the `bytes` bytes left of a message are many enough that periods may be skipped.
fn is_long(bytes: u64, packet: u32) -> bool {
    bytes >= LONG * u64::from(packet)
}

/// Returns whether the simulation of messages may have steady states.
pub(super) fn have_steady_states(messages: &[BenchMessage], packet: u32) -> bool {
    messages.iter().all(is_simple) && messages.iter().any(|own| is_long(own.bytes.into(), packet))
}

/// Traffic of the episode under simulation.
#[derive(Clone, Debug)]
pub(super) struct BenchTraffic {
    /// Queues and interfaces of all nodes. Messages of a source take turns, packet by packet.
    pub parts: PacketParts,
    pub messages: Vec<BenchMessage>,
    /// By message, the place of its ends in `pairs`.
    pair_of: Vec<u32>,
    /// Different ends of messages. An episode of many messages may have few.
    pairs: Vec<[u32; 2]>,
    packets: Vec<BenchPacket>,
    pub members: Vec<(u64, MemberOutcome)>,
    /// By message.
    pub progress: Vec<Progress>,
    /// Messages and numbers of packets that have arrived before an earlier one of their message.
    ahead: BTreeSet<(u32, u32)>,
    /// Number of messages that are released.
    released: usize,
    /// Number of messages that are long.
    long: usize,
    /// Whether the interfaces of all messages may have steady states.
    is_simple: bool,
    /// Number of times that a message was released, that its last packet was sent or has arrived, and that periods were to
    /// be skipped.
    pub phase: u64,
    /// Messages and latencies of arrived packets, while they are noted.
    noted: Option<Vec<(u32, u64)>>,
    begin: u64,
    units: u64,
    pub delivered: usize,
}

impl BenchTraffic {
    /// Creates the traffic of no messages. `units`: parts of a tick in which latencies are counted.
    pub fn new(parts: PacketParts, units: u64) -> Self {
        Self {
            parts,
            messages: Vec::new(),
            pair_of: Vec::new(),
            pairs: Vec::new(),
            packets: Vec::new(),
            members: Vec::new(),
            progress: Vec::new(),
            ahead: BTreeSet::new(),
            released: 0,
            long: 0,
            is_simple: true,
            phase: 0,
            noted: None,
            begin: 0,
            units,
            delivered: 0,
        }
    }

    /// Lets the episode begin at tick `begin`.
    pub fn begin_at(&mut self, begin: u64) {
        self.begin = begin;
    }

    /// Adds messages to the episode.
    pub fn join(&mut self, messages: &[BenchMessage], actions: &mut Actions) {
        self.messages.extend(messages);
        for own in messages {
            let pair = self.pairs.iter().position(|&pair| pair == own.ends).unwrap_or(self.pairs.len());
            if pair == self.pairs.len() {
                self.pairs.push(own.ends);
            }
            self.pair_of.push(pair as u32);
        }
        self.is_simple &= messages.iter().all(is_simple);
        self.members.resize(self.messages.len(), (u64::MAX, MemberOutcome::default()));
        self.progress.extend(messages.iter().map(|own| {
            let bytes = own.bytes.into();
            Progress { missing: bytes, unsent: bytes, drawn: 0, arrived: 0, earlier: 0 }
        }));
        if self.released + messages.len() == self.messages.len() {
            self.set_alarm(actions);
        }
    }

    /// Sets an alarm at the next release.
    fn set_alarm(&self, actions: &mut Actions) {
        self.next_release().into_iter().for_each(|at| actions.alarm(at, 0, 0));
    }

    /// Releases the messages that are due. None is due at an alarm that was set before periods were skipped.
    fn release(&mut self, now: u64, actions: &mut Actions) {
        while let Some(own) = self.messages.get(self.released).filter(|own| self.begin + own.at == now) {
            let &BenchMessage { ends, bytes, handed, .. } = own;
            self.parts.push(ends[0] as usize, (self.released as u32, bytes), handed, now);
            actions.wake(ends[0]);
            self.long += usize::from(self.is_unsent_long(self.released));
            self.released += 1;
            self.phase += 1;
            if self.messages.get(self.released).is_some_and(|next| self.begin + next.at > now) {
                self.set_alarm(actions);
            }
        }
    }

    fn is_unsent_long(&self, message: usize) -> bool {
        is_long(self.progress[message].unsent, self.parts.packet())
    }

    /// Counts bytes of a message that are sent.
    fn send(&mut self, message: usize, bytes: u64) {
        self.long -= usize::from(self.is_unsent_long(message));
        self.progress[message].unsent -= bytes;
        self.long += usize::from(self.is_unsent_long(message));
    }

    /// Returns whether some message has many packets to send, so that periods may be skipped.
    pub fn is_long(&self) -> bool {
        self.long > 0 && self.is_simple
    }

    /// Returns the message of a packet, and its lag: the number of packets that were drawn from this one on.
    pub fn lag_of(&self, mark: u32) -> (u32, u32) {
        let BenchPacket { message, number, .. } = self.packets[mark as usize];
        (message, self.progress[message as usize].drawn - number)
    }

    /// Returns the lag of the oldest packet of a message under way. 0: no packet is under way.
    pub fn longest_lag(&self, message: usize) -> u64 {
        u64::from(self.progress[message].drawn - self.progress[message].arrived)
    }

    /// Returns the time of the first release that is still to come, in ticks.
    pub fn next_release(&self) -> Option<u64> {
        self.messages.get(self.released).map(|own| self.begin + own.at)
    }

    /// Returns the bytes of memory that the packets and messages of the episode take.
    pub fn bytes(&self) -> u64 {
        let latencies: usize = self.members.iter().map(|own| own.1.bytes_of_latencies()).sum();
        let members = size_of_val(&self.members[..]) + size_of_val(&self.progress[..]) + size_of_val(&self.pair_of[..]);
        (size_of_val(&self.packets[..]) + size_of_val(&self.messages[..]) + members + latencies) as u64
    }

    /// Handles a packet whose tail arrives at tick `now`.
    fn arrived(&mut self, packet: BenchPacket, now: u64) {
        let BenchPacket { message, number, bytes, generated_at } = packet;
        let (first, own) = &mut self.members[message as usize];
        let is_first = *first == u64::MAX;
        (*first, own.last) = ((*first).min(now - self.begin), now - self.begin);
        let progress = &mut self.progress[message as usize];
        progress.missing -= u64::from(bytes);
        let is_last = progress.missing == 0;
        if number == progress.arrived {
            progress.arrived += 1;
            while !self.ahead.is_empty() && self.ahead.remove(&(message, progress.arrived)) {
                progress.arrived += 1;
            }
        } else {
            self.ahead.insert((message, number));
        }
        let latency = (now + progress.earlier - generated_at) * self.units;
        self.phase += u64::from(is_last);
        self.noted.iter_mut().for_each(|noted| noted.push((message, latency)));
        match own.latencies.last_mut() {
            Some(last) if last.0 == latency => last.1 += 1,
            _ => own.latencies.push((latency, 1)),
        }
        if self.parts.are_receiving() {
            let to = self.messages[message as usize].ends[1];
            let passed = self.parts.receive(to as usize, bytes, (is_first, is_last), now);
            own.passed[1] = passed - self.begin * self.parts.tick();
            if is_first {
                own.passed[0] = own.passed[1];
            }
        }
        self.delivered += 1;
    }
}

/// Skipping of periods.
impl BenchTraffic {
    /// Returns the times of the interfaces of each pair of ends.
    pub fn interface_times(&self) -> Vec<InterfaceTimes> {
        let times = |&ends: &[u32; 2]| InterfaceTimes {
            generated_at: self.parts.generated_at(ends[0] as usize),
            free_at: [0, 1].map(|end| self.parts.free_at(ends[end] as usize, end == 1)),
            services: [0, 1].map(|end| self.parts.services(ends[end] as usize, end == 1)),
            stream: self.parts.slowest_stream(ends[0] as usize),
        };
        self.pairs.iter().map(times).collect()
    }

    /// Returns the longest time from tick `now` to the generation of the next packet of a source, in ticks.
    pub fn longest_wait(&self, now: u64) -> u64 {
        let next = |ends: &[u32; 2]| self.parts.generated_at(ends[0] as usize);
        self.pairs.iter().map(next).max().unwrap_or(0).saturating_sub(now)
    }

    /// Notes arrived packets from now on.
    pub fn note_arrivals(&mut self) {
        self.noted = Some(Vec::new());
    }

    /// Returns how many periods can be skipped so that each message still has an unsent byte, and all packets are whole.
    pub fn most_periods(&self, period: &Period) -> u64 {
        let packet = u64::from(self.parts.packet());
        let periods = |(own, &packets): (&Progress, &u64)| (own.unsent.saturating_sub(1) / packet).checked_div(packets);
        self.progress.iter().zip(&period.packets).filter_map(periods).min().unwrap_or(0)
    }

    /// Returns the number of periods after which parts that the links wait for have passed packets for a whole number of
    /// ticks. 1: there are no such parts, or the number is too large.
    pub fn repetitions(&self, period: &Period) -> u64 {
        if !self.parts.are_sending() {
            return 1;
        }
        let tick = self.parts.tick();
        let mut times: BTreeMap<u32, u64> = BTreeMap::new();
        for (own, packets) in self.messages.iter().zip(&period.packets).filter(|own| *own.1 > 0) {
            let source = own.ends[0] as usize;
            let slowest = self.parts.services(source, false).into_iter().max().unwrap_or(0);
            let is_waited_for = slowest > self.parts.pace(source) * tick;
            *times.entry(own.ends[0]).or_default() += if is_waited_for { slowest * packets % tick } else { 0 };
        }
        let is_whole = |&count: &u64| times.values().all(|time| (time * count).is_multiple_of(tick));
        (1..=MOST_REPETITIONS).find(is_whole).unwrap_or(1)
    }

    /// Returns the lags of the interfaces of each pair of ends after a period that began at the times `before`. `None`:
    /// further periods may have other lags.
    pub fn lags(&self, period: &Period, before: &[InterfaceTimes]) -> Option<Vec<Lags>> {
        let mut packets = [BTreeMap::new(), BTreeMap::new()];
        for (own, count) in self.messages.iter().zip(&period.packets).filter(|own| *own.1 > 0) {
            for end in [0, 1] {
                *packets[end].entry(own.ends[end]).or_default() += count;
            }
        }
        let now = self.interface_times();
        let grown: Vec<u64> = now.iter().zip(before).map(|own| own.0.generated_at - own.1.generated_at).collect();
        if !self.grow_by(period, &grown) {
            return None;
        }
        let lags = |((ends, now), before): ((&[u32; 2], &InterfaceTimes), &InterfaceTimes)| {
            let packets = [0, 1].map(|end| packets[end].get(&ends[end]).copied().unwrap_or(0));
            let pace = self.parts.pace(ends[0] as usize);
            now.lags(before, (packets, pace), (period.ticks, self.parts.tick()))
        };
        self.pairs.iter().zip(&now).zip(before).map(lags).collect()
    }

    /// Returns whether the generation times of all packets that are under way, or have arrived in the last period, grow by
    /// the times of their pairs of ends in each period: packets that arrive were drawn long ago, when the times may have
    /// grown in another way.
    fn grow_by(&self, period: &Period, grown: &[u64]) -> bool {
        let mut later: Vec<Vec<u64>> = vec![Vec::new(); self.messages.len()];
        let first = |message: usize| u64::from(self.progress[message].arrived).saturating_sub(period.packets[message]);
        let counted = |&(message, _): &(usize, &u64)| u64::from(self.progress[message].drawn) - first(message);
        let sent = || period.packets.iter().enumerate().filter(|own| *own.1 > 0);
        let mut missing: u64 = sent().map(|own| counted(&own)).sum();
        for own in self.packets.iter().rev() {
            if missing == 0 {
                break;
            }
            let message = own.message as usize;
            if period.packets[message] > 0 && u64::from(own.number) >= first(message) {
                later[message].push(own.generated_at);
                missing -= 1;
            }
        }
        sent().all(|(message, &packets)| {
            let (own, grown) = (&later[message], grown[self.pair_of[message] as usize]);
            own.iter().zip(own.iter().skip(packets as usize)).all(|(next, before)| next - before == grown)
        })
    }

    /// Skips `times` repetitions of the last period, whose arrivals have been noted. `lags`: lags of the interfaces, by
    /// pair of ends. The clock does not change: the begin of the episode moves back.
    pub fn skip(&mut self, (period, times): (&Period, u64), lags: &[Lags], actions: &mut Actions) {
        let noted = self.noted.take().unwrap_or_default();
        self.phase += 1;
        if times == 0 {
            return;
        }
        for (message, latency) in noted {
            let lag = lags[self.pair_of[message as usize] as usize].latency;
            let (step, own) = (lag * self.units, &mut self.members[message as usize].1);
            match step {
                0 => own.latencies.push((latency, times)),
                step => own.repeated.push((latency + step, step, times)),
            }
        }
        for (own, &pair) in self.progress.iter_mut().zip(&self.pair_of) {
            own.earlier += lags[pair as usize].latency * times;
        }
        self.skip_at_interfaces((period, times), lags);
        let packet = u64::from(self.parts.packet());
        for (message, &packets) in period.packets.iter().enumerate().filter(|own| *own.1 > 0) {
            let packets = packets * times;
            self.send(message, packets * packet);
            self.progress[message].missing -= packets * packet;
            self.members[message].1.packets += packets;
            self.delivered += packets as usize;
        }
        self.begin -= period.ticks * times;
        self.set_alarm(actions);
    }

    /// Removes the bytes of skipped periods from the queues, and moves the times of interfaces.
    fn skip_at_interfaces(&mut self, (period, times): (&Period, u64), lags: &[Lags]) {
        let skipped = times * u64::from(self.parts.packet());
        let mut ends: Vec<(bool, u32, Lags)> = Vec::new();
        for (own, &lags) in self.pairs.iter().zip(lags) {
            ends.extend([(false, own[0], lags), (true, own[1], lags)]);
        }
        ends.sort_unstable_by_key(|own| (own.0, own.1));
        ends.dedup_by_key(|own| (own.0, own.1));
        for (arrives, source, lags) in ends {
            let shift = lags.parts[usize::from(arrives)].map(|lag| -lag * times.cast_signed());
            self.parts.shift(source as usize, arrives, shift);
            if !arrives {
                let earlier = Earlier { handed: period.ticks * times, generated: lags.latency * times };
                self.parts.leave_out(source as usize, |message| period.packets[message as usize] * skipped, earlier);
            }
        }
    }
}

impl Traffic for BenchTraffic {
    fn next(&mut self, node: usize, _now: u64, _actions: &mut Actions) -> Option<Demand> {
        // A new partition asks all nodes.
        self.messages.first()?;
        let LeavingPacket { message, bytes, generated_at } = self.parts.next(node)?;
        let BenchMessage { to, state, .. } = self.messages[message as usize];
        let mark = self.packets.len() as u32;
        let own = &mut self.progress[message as usize];
        let (number, later) = (own.drawn, generated_at + own.earlier);
        own.drawn += 1;
        self.packets.push(BenchPacket { message, number, bytes, generated_at: later });
        self.members[message as usize].1.packets += 1;
        self.send(message as usize, bytes.into());
        self.phase += u64::from(self.progress[message as usize].unsent == 0);
        let (to, release) = (Target::Node(to), generated_at);
        Some(Demand { generated_at, part: 0, release, to, bytes, state, flow_id: 0, mark })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        match what {
            TrafficEvent::Alarm { .. } => self.release(now, actions),
            TrafficEvent::Delivered { mark, time, .. } => self.arrived(self.packets[mark as usize], time),
            TrafficEvent::Collected { .. } | TrafficEvent::Notice(_) => {}
        }
    }
}
