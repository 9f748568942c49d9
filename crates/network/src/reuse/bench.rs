//! Workbench: the packet engine, on which one episode at a time is simulated. The network is idle before and after.

use std::collections::VecDeque;
use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::{
    Actions, ChannelFacts, Counters, Demand, Fabric, Grain, Partition, PartitionMap, Plan, Target, Traffic,
    TrafficEvent, WithRouters, WorkerContext,
};
use routing::RouteState;
use units::NodeId;

use super::records::MemberOutcome;

/// Time at which a workbench ends, in ticks: never.
const NEVER: u64 = u64::MAX / 2;

/// Number of times within an episode of several messages at which its channels are inspected.
const INSPECTIONS: u64 = 128;

/// Message to simulate.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchMessage {
    /// Number of the channel of its source.
    pub source: u32,
    pub to: NodeId,
    pub state: RouteState,
    pub bytes: u32,
    /// Time of its release, in ticks from the begin.
    pub at: u64,
}

/// Channel that messages cross.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchChannel {
    pub channel: u32,
    /// Bytes that will cross it.
    pub bytes: u64,
    /// Candidate that its arbiter has served last, if that counts.
    pub last: Option<u16>,
}

/// Outcome of a simulation. Times are in ticks from the begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Outcome of each message, and the arrival of its first packet.
    pub members: Vec<(u64, MemberOutcome)>,
    /// Time at which the last head has left its last router.
    pub counted: u64,
    /// By channel, the time after which nothing is left in it, and the candidate that its arbiter has served last.
    pub channels: Vec<(u64, u16)>,
}

/// Packet engine over a whole network.
pub(super) trait Workbench: Send {
    /// Returns the facts of all channels, by the numbers of their outputs.
    fn facts(&self) -> Vec<ChannelFacts>;
    /// Simulates messages, in ascending order of times, and the channels that they cross. `None`: packets wait for one
    /// another for ever. The workbench is then of no more use.
    fn simulate(&mut self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<Outcome>;
}

/// Creates the workbench of a network.
pub(super) fn workbench(plan: &Arc<Plan>, router: &RouterSpec) -> Box<dyn Workbench> {
    // Without a buffer between crossbar and link, the crossbar is busy as long as the link: space may be free before.
    let has_sides = matches!(router, RouterSpec::InputQueued(_) | RouterSpec::InputOutputQueued(_));
    router.with_routers(Building { plan, has_sides })
}

struct Building<'a> {
    plan: &'a Arc<Plan>,
    has_sides: bool,
}

impl WithRouters for Building<'_> {
    type Output = Box<dyn Workbench>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Box<dyn Workbench> {
        let plan = self.plan;
        let map = PartitionMap::new(plan, 1, Grain::Exactly(1));
        let nodes = plan.topology().nodes();
        let mut counters = Counters::of_jobs(nodes, 1, plan.units_per_tick());
        counters.job_mut(0).ignore_sources();
        let sources = map.sources(0).count();
        let class = plan.topology().injection_class(units::PlaneId(0));
        let traffic = BenchTraffic {
            rings: vec![Ring::default(); sources],
            packet: plan.packet(),
            pace: plan.serialization(class, plan.packet()),
            units: plan.units_per_tick(),
            ..BenchTraffic::default()
        };
        let partition = Partition::new(plan, &map, 0, routers, traffic);
        let facts: Vec<ChannelFacts> = partition.fabric().channel_facts().collect();
        let side = facts.iter().map(|own| own.full).max().unwrap_or(0);
        Box::new(Bench {
            first_source: partition.fabric().first_injection() as u32,
            partition,
            facts,
            side: if self.has_sides { side } else { 0 },
            context: WorkerContext::new(counters, map.parts()),
            now: 0,
        })
    }
}

/// Messages of a source, served round robin, packet by packet, as interfaces do.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// Messages with the bytes that are not yet in packets.
    messages: VecDeque<(u32, u32)>,
    /// Time at which the next packet may be generated, in ticks.
    generated_at: u64,
}

/// Packet on its way.
#[derive(Clone, Copy, Debug)]
struct BenchPacket {
    message: u32,
    generated_at: u64,
}

/// Traffic of the episode under simulation.
#[derive(Debug, Default)]
struct BenchTraffic {
    rings: Vec<Ring>,
    /// Messages with their sources' numbers. Times are the workbench's.
    messages: Vec<BenchMessage>,
    packets: Vec<BenchPacket>,
    members: Vec<(u64, MemberOutcome)>,
    begin: u64,
    packet: u32,
    pace: u64,
    units: u64,
    delivered: usize,
}

impl BenchTraffic {
    /// Loads an episode that begins at tick `begin`.
    fn load(&mut self, messages: &[BenchMessage], (begin, first_source): (u64, u32), actions: &mut Actions) {
        self.rings.iter_mut().for_each(|ring| ring.generated_at = 0);
        self.begin = begin;
        self.packets.clear();
        self.delivered = 0;
        self.members = vec![(u64::MAX, MemberOutcome::default()); messages.len()];
        self.messages.clear();
        self.messages.extend(messages.iter().map(|own| BenchMessage { source: own.source - first_source, ..*own }));
        let mut first = 0;
        for alike in messages.chunk_by(|one, next| one.at == next.at) {
            actions.alarm(begin + alike[0].at, first as u32, alike.len() as u32);
            first += alike.len();
        }
    }
}

impl Traffic for BenchTraffic {
    fn next(&mut self, node: usize, _now: u64, _actions: &mut Actions) -> Option<Demand> {
        let ring = &mut self.rings[node];
        let (number, left) = ring.messages.pop_front()?;
        let BenchMessage { to, state, at, .. } = self.messages[number as usize];
        let bytes = left.min(self.packet);
        if left > bytes {
            ring.messages.push_back((number, left - bytes));
        }
        let generated_at = ring.generated_at.max(self.begin + at);
        ring.generated_at = generated_at + host::time_of(bytes.into(), self.packet, self.pace);
        let mark = self.packets.len() as u32;
        self.packets.push(BenchPacket { message: number, generated_at });
        self.members[number as usize].1.packets += 1;
        let (to, release) = (Target::Node(to), generated_at);
        Some(Demand { generated_at, part: 0, release, to, bytes, state, flow_id: 0, mark })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, _now: u64, actions: &mut Actions) {
        match what {
            // The purpose is the number of messages that are released.
            TrafficEvent::Alarm { target: first, purpose: count } => {
                for number in first..first + count {
                    let BenchMessage { source, bytes, .. } = self.messages[number as usize];
                    self.rings[source as usize].messages.push_back((number, bytes));
                    actions.wake(source);
                }
            }
            TrafficEvent::Delivered { mark, time, .. } => {
                let BenchPacket { message, generated_at } = self.packets[mark as usize];
                let (first, own) = &mut self.members[message as usize];
                (*first, own.last) = ((*first).min(time - self.begin), time - self.begin);
                let latency = (time - generated_at) * self.units;
                match own.latencies.last_mut() {
                    Some(last) if last.0 == latency => last.1 += 1,
                    _ => own.latencies.push((latency, 1)),
                }
                self.delivered += 1;
            }
            TrafficEvent::Collected { .. } | TrafficEvent::Notice(_) => {}
        }
    }
}

/// Partition that is the whole network.
struct Bench<R> {
    partition: Partition<R, BenchTraffic>,
    facts: Vec<ChannelFacts>,
    first_source: u32,
    /// Longest time for which a side of a crossbar is busy after a packet has left its buffer, in ticks.
    side: u64,
    context: WorkerContext,
    /// Time after which nothing is left of the episodes before.
    now: u64,
}

impl<R: Routers> Workbench for Bench<R> {
    fn facts(&self) -> Vec<ChannelFacts> {
        self.facts.clone()
    }

    fn simulate(&mut self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<Outcome> {
        let begin = self.now + 1;
        for own in channels {
            if let Some(last) = own.last {
                self.partition.routers_mut().set_last_served(own.channel as usize, last.into());
            }
        }
        let total: u64 =
            messages.iter().map(|own| u64::from(own.bytes.div_ceil(self.partition.traffic().packet))).sum();
        let before = self.context.counters.total_delivered;
        let sent: Vec<u64> =
            channels.iter().map(|own| self.partition.fabric().sent(own.channel as usize) + own.bytes).collect();
        let first_source = self.first_source;
        self.partition.visit_traffic(|traffic, actions| traffic.load(messages, (begin, first_source), actions));
        let mut outcome = Outcome { channels: vec![(0, 0); channels.len()], ..Outcome::default() };
        let mut open: Vec<usize> = (0..channels.len()).collect();
        let mut inspected = 0;
        while !open.is_empty() || self.partition.traffic().delivered < total as usize {
            let now = self.partition.step(NEVER, &mut self.context)?;
            self.now = now;
            if outcome.counted == 0 && self.context.counters.total_delivered == before + total {
                outcome.counted = now - begin;
            }
            if messages.len() > 1 && now < inspected && outcome.counted == 0 {
                continue;
            }
            inspected = now + now.saturating_sub(begin) / INSPECTIONS;
            let fabric = self.partition.fabric();
            open.retain(|&place| {
                let output = channels[place].channel as usize;
                let idle = (fabric.sent(output) == sent[place]).then(|| fabric.idle_from(output)).flatten();
                if let Some(idle) = idle {
                    outcome.channels[place].0 = idle.max(begin) - begin;
                }
                idle.is_none()
            });
        }
        let members = &mut outcome.members;
        self.partition.visit_traffic(|traffic, _| *members = std::mem::take(&mut traffic.members));
        for (own, (idle, served)) in channels.iter().zip(&mut outcome.channels) {
            let delay = self.facts[own.channel as usize].delay;
            *idle += self.side.saturating_sub(delay);
            if own.channel < self.first_source {
                *served = self.partition.routers().last_served(own.channel as usize).unwrap_or(0) as u16;
            }
            self.now = self.now.max(begin + *idle);
        }
        Some(outcome)
    }
}
