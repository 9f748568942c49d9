//! Traffic of a workbench: the messages of the episode under simulation, and what becomes of their packets.

use fabric::{Actions, Demand, Target, Traffic, TrafficEvent};
use host::{LeavingPacket, PacketParts};

use super::BenchMessage;
use crate::reuse::records::MemberOutcome;

/// Packet on its way.
#[derive(Clone, Copy, Debug)]
struct BenchPacket {
    message: u32,
    bytes: u32,
    generated_at: u64,
}

/// Traffic of the episode under simulation.
#[derive(Clone, Debug)]
pub(super) struct BenchTraffic {
    /// Queues and interfaces of all nodes. Messages of a source take turns, packet by packet.
    pub parts: PacketParts,
    /// By number in the partition, the source.
    sources: Vec<u32>,
    /// Number of the injection channel of the first source in the partition.
    pub first_source: u32,
    pub messages: Vec<BenchMessage>,
    packets: Vec<BenchPacket>,
    pub members: Vec<(u64, MemberOutcome)>,
    /// By message, the bytes that have not arrived.
    pub missing: Vec<u64>,
    begin: u64,
    units: u64,
    pub delivered: usize,
}

impl BenchTraffic {
    /// Creates the traffic of no episode. `sources`: by number in the partition, the source. `units`: parts of a tick in
    /// which latencies are counted.
    pub fn new(parts: PacketParts, sources: Vec<u32>, units: u64) -> Self {
        Self {
            parts,
            sources,
            first_source: 0,
            messages: Vec::new(),
            packets: Vec::new(),
            members: Vec::new(),
            missing: Vec::new(),
            begin: 0,
            units,
            delivered: 0,
        }
    }

    /// Begins an episode at tick `begin`.
    pub fn clear(&mut self, begin: u64) {
        self.begin = begin;
        self.packets.clear();
        self.delivered = 0;
        self.members.clear();
        self.messages.clear();
        self.missing.clear();
    }

    /// Adds messages to the episode.
    pub fn join(&mut self, messages: &[BenchMessage], actions: &mut Actions) {
        let mut first = self.messages.len();
        self.messages.extend(messages);
        self.members.resize(self.messages.len(), (u64::MAX, MemberOutcome::default()));
        self.missing.extend(messages.iter().map(|own| u64::from(own.bytes)));
        for alike in messages.chunk_by(|one, next| one.at == next.at) {
            actions.alarm(self.begin + alike[0].at, first as u32, alike.len() as u32);
            first += alike.len();
        }
    }

    /// Returns the bytes of memory that the packets and messages of the episode take.
    pub fn bytes(&self) -> u64 {
        let latencies: usize = self.members.iter().map(|own| size_of_val(&own.1.latencies[..])).sum();
        let all = [size_of_val(&self.packets[..]), size_of_val(&self.messages[..]), size_of_val(&self.members[..])];
        (all.iter().sum::<usize>() + latencies) as u64
    }

    /// Handles a packet whose tail arrives at tick `now`.
    fn arrived(&mut self, packet: BenchPacket, now: u64) {
        let BenchPacket { message, bytes, generated_at } = packet;
        let (first, own) = &mut self.members[message as usize];
        let is_first = *first == u64::MAX;
        (*first, own.last) = ((*first).min(now - self.begin), now - self.begin);
        self.missing[message as usize] -= u64::from(bytes);
        let latency = (now - generated_at) * self.units;
        match own.latencies.last_mut() {
            Some(last) if last.0 == latency => last.1 += 1,
            _ => own.latencies.push((latency, 1)),
        }
        if self.parts.are_receiving() {
            let (to, is_last) = (self.messages[message as usize].ends[1], self.missing[message as usize] == 0);
            let passed = self.parts.receive(to as usize, bytes, (is_first, is_last), now);
            own.passed[1] = passed - self.begin * self.parts.tick();
            if is_first {
                own.passed[0] = own.passed[1];
            }
        }
        self.delivered += 1;
    }
}

impl Traffic for BenchTraffic {
    fn next(&mut self, node: usize, _now: u64, _actions: &mut Actions) -> Option<Demand> {
        let LeavingPacket { message, bytes, generated_at } = self.parts.next(self.sources[node] as usize)?;
        let BenchMessage { to, state, .. } = self.messages[message as usize];
        let mark = self.packets.len() as u32;
        self.packets.push(BenchPacket { message, bytes, generated_at });
        self.members[message as usize].1.packets += 1;
        let (to, release) = (Target::Node(to), generated_at);
        Some(Demand { generated_at, part: 0, release, to, bytes, state, flow_id: 0, mark })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        match what {
            // The purpose is the number of messages that are released.
            TrafficEvent::Alarm { target: first, purpose: count } => {
                for number in first..first + count {
                    let BenchMessage { source, ends, bytes, handed, .. } = self.messages[number as usize];
                    self.parts.push(ends[0] as usize, (number, bytes), handed, now);
                    actions.wake(source - self.first_source);
                }
            }
            TrafficEvent::Delivered { mark, time, .. } => self.arrived(self.packets[mark as usize], time),
            TrafficEvent::Collected { .. } | TrafficEvent::Notice(_) => {}
        }
    }
}
