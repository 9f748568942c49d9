//! Traffic of a job behind a pacer. Each flow, from one node to another, has a queue, so that a flow that has to wait
//! does not block the node's other flows.
//!
//! Rules, in this order, whenever the link of a node may take a packet: 1. An acknowledgement goes before data. 2.
//! Among the flows that have packets waiting and may send, the one with the oldest packet goes. 3. Otherwise the source
//! generates its next packets. A packet of a flow that may not send, or that has packets waiting, enters the queue of
//! its flow if it is due. If it is not due, the node waits until it is, or until the flow may send.
//!
//! So behind a pacer that never holds anything back, packets leave as without a pacer. Like a source queue, the queue
//! of a flow has only a head: the packets behind it are drawn again from the node's stream (`queues`). Workloads that
//! know their traffic to each destination (volumes, ranks) have round-robin orders, and skip what may not be sent. A
//! backlogged source has one message at a time, generated when the previous one has left, so nothing can overtake a
//! waiting message.
//!
//! On several planes or networks, a node has a link into each, and a flow sends by all of them within one window, like
//! the congestion window of a connection whose packets are sprayed over its paths. Each link asks for its own packets.
//! An acknowledgement returns on the plane of its packet, and wakes the links of its node in the order in which they
//! were last given packets, the longest ago first: an idle link goes before a busy one. A packet of open traffic that
//! is not due is not in the window: it could keep another link from sending for long. A message that passes relays is a
//! flow on each leg.

mod acks;
mod flows;
mod queues;
mod spec;

use fabric::{Actions, Demand, FLOW_BITS, Notice, NoticeContent, Target, Traffic, TrafficEvent};
use units::NodeId;

use super::numbers::job_of;
use super::single::JobTraffic;
use super::volume::Flow;
use ::traffic::pacers::Pacer;
use acks::{Acknowledgements, Arrived};
use flows::Flows;
use queues::Queues;

pub use spec::PacedSpec;

/// Alarm purpose: a packet of a flow that may not send becomes due. The purposes of ranks are smaller.
const RETRY: u32 = 6;

/// Packet that a source was last given to send.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Nothing,
    Acknowledgement,
    Data(Demand),
}
units::record!(match Given {
    0 => Nothing {},
    1 => Acknowledgement {},
    2 => Data { 0: demand },
});

/// Traffic of a job behind a pacer, at the nodes of one partition.
#[derive(Debug)]
pub struct PacedTraffic {
    inner: JobTraffic,
    pacer: Box<dyn Pacer>,
    acks: Acknowledgements,
    /// Flows by node, whatever its sources.
    flows: Flows,
    /// Nodes of this partition in ascending order, each with its index.
    numbers: Vec<(NodeId, u32)>,
    /// Number of planes: the sources of a node.
    planes: u32,
    /// Sources of each node, the one that was given a packet the longest ago first.
    turns: Vec<u32>,
    /// Queues by source, as are the lists below.
    queues: Queues,
    /// Packet that each source was last given.
    given: Vec<Given>,
    /// Time of each source's alarm, in ticks. 0 without an alarm.
    alarms: Vec<u64>,
}
units::state!(PacedTraffic { inner, pacer, acks, flows, turns, queues, given, alarms; rebuilt numbers, planes });

impl PacedTraffic {
    /// Memory of a flow in bytes: its number by destination and its pacer's state. Includes the spare capacity of lists
    /// (half of their length).
    pub const BYTES_A_FLOW: u64 = (size_of::<(NodeId, u32)>() + size_of::<u64>()) as u64 * 3 / 2;
    /// Memory of a source with one waiting flow, in bytes.
    pub const BYTES_A_SOURCE: u64 =
        (Queues::BYTES_A_SOURCE + size_of::<(NodeId, u32)>() + size_of::<Given>() + 7 * size_of::<u64>()) as u64;

    /// Puts a pacer before the traffic of some nodes.
    ///
    /// # Errors
    /// If the pacer does nothing. The error is the traffic, unchanged.
    pub fn over(inner: JobTraffic, spec: &PacedSpec, nodes: &[u32]) -> Result<Self, JobTraffic> {
        let Some(pacer) = spec.pacer.build() else { return Err(inner) };
        let mut numbers: Vec<(NodeId, u32)> = nodes.iter().map(|&node| NodeId(node)).zip(0..).collect();
        numbers.sort_unstable();
        let planes = spec.planes();
        let sources = nodes.len() * planes as usize;
        Ok(Self {
            inner,
            pacer,
            acks: Acknowledgements::new(spec, nodes),
            flows: Flows::new(nodes.len()),
            numbers,
            planes,
            turns: (0..sources as u32).collect(),
            queues: Queues::new(sources),
            given: vec![Given::Nothing; sources],
            alarms: vec![0; sources],
        })
    }

    /// Returns the traffic without its pacer.
    pub fn inner(&self) -> &JobTraffic {
        &self.inner
    }

    /// Starts further volumes of the job at `at`, in ticks.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        self.inner.begin_phase(flows, at, actions);
    }

    /// Returns the generation time of the oldest packet that a source has not sent, in ticks, rounded down. None if
    /// there is none.
    pub fn next_generation_time(&self, source: usize) -> Option<u64> {
        let given = match self.given[source] {
            Given::Data(demand) => Some(demand.generated_at),
            Given::Nothing | Given::Acknowledgement => None,
        };
        given.into_iter().chain(self.queues.oldest(source)).min()
    }

    /// Returns the index of a node in this partition.
    fn number(&self, node: NodeId) -> Option<u32> {
        let place = self.numbers.binary_search_by_key(&node, |&(node, _)| node);
        place.ok().map(|place| self.numbers[place].1)
    }

    /// Returns the index in this partition of the node of a source.
    fn node_of(&self, source: usize) -> usize {
        match self.planes {
            1 => source,
            planes => source / planes as usize,
        }
    }

    /// Returns the next data packet of a source that may be sent, for which its flow has room in the pacer.
    fn next_data(&mut self, source: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        // A packet that was put back has its room still.
        if !matches!(self.inner, JobTraffic::Open(_))
            && let Some(demand) = self.queues.take_front(source)
        {
            return Some(demand);
        }
        let node = self.node_of(source);
        let Self { inner, pacer, flows, queues, .. } = self;
        let may_send = |to: Target, bytes: u32| pacer.may_send(flows.find(node, to), bytes);
        let may_send_to = |dst: NodeId, bytes: u32| may_send(Target::Node(dst), bytes);
        let demand = match inner {
            JobTraffic::Open(open) => match queues.next(open, (source, now), may_send) {
                Ok(demand) if self.planes > 1 && demand.release > now => {
                    queues.put_back(source, demand);
                    return self.retry(source, demand.release, actions);
                }
                Ok(demand) => demand,
                Err(due) => return self.retry(source, due.filter(|&due| due > now)?, actions),
            },
            JobTraffic::Volume(volume) => volume.next_of(source, may_send_to)?,
            JobTraffic::Scheduled(ranks) => ranks.next_of(source, (now, actions), may_send_to)?,
        };
        let flow = flows.find_or_add(node, demand.to, &mut **pacer);
        pacer.sent(flow, demand.bytes);
        Some(demand)
    }

    /// Sets an alarm to query a source again when a packet that may not be sent is due. Returns no packet.
    fn retry(&mut self, source: usize, due: u64, actions: &mut Actions) -> Option<Demand> {
        if self.alarms[source] != due {
            self.alarms[source] = due;
            actions.alarm(due, source as u32, RETRY);
        }
        None
    }

    /// Notes what a source is given to send.
    fn give(&mut self, source: usize, given: Given) {
        self.given[source] = given;
        if self.planes > 1 {
            let first = source - source % self.planes as usize;
            let turns = &mut self.turns[first..first + self.planes as usize];
            if let Some(own) = turns.iter().position(|&other| other as usize == source) {
                turns[own..].rotate_left(1);
            }
        }
    }

    /// Records the acknowledgement of `bytes` bytes of a flow from `node`.
    fn acknowledged(&mut self, node: u32, dst: NodeId, bytes: u32, actions: &mut Actions) {
        let to = Target::Node(dst);
        let Some(flow) = self.flows.find(node as usize, to) else {
            debug_assert!(false, "an acknowledgement of a flow that has sent nothing");
            return;
        };
        self.pacer.acknowledged(flow, bytes);
        let first = (node * self.planes) as usize;
        for &source in &self.turns[first..first + self.planes as usize] {
            if self.given[source as usize] == Given::Nothing || self.queues.has(source as usize, to) {
                actions.wake(source);
            }
        }
    }

    /// Whether a flow id belongs to an acknowledgement.
    fn is_acknowledgement(&self, flow_id: u32) -> bool {
        self.acks.number() == Some((flow_id >> FLOW_BITS) as usize)
    }
}

impl Traffic for PacedTraffic {
    fn next(&mut self, source: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        self.given[source] = Given::Nothing;
        if let JobTraffic::Open(open) = &mut self.inner {
            self.queues.fill_front(open, source, now);
        }
        if let Some(acknowledgement) = self.acks.next(source, now) {
            self.give(source, Given::Acknowledgement);
            return Some(acknowledgement);
        }
        let demand = self.next_data(source, now, actions)?;
        self.give(source, Given::Data(demand));
        // A packet that has waited was due before.
        Some(Demand { release: demand.release.max(now), ..demand })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        if self.inner.wants_events() {
            self.inner.begin(now, actions);
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        match what {
            TrafficEvent::Delivered { flow_id, node, mark, .. } if self.is_acknowledgement(flow_id) => {
                if let Some(number) = self.number(node) {
                    self.acknowledged(number, NodeId(job_of(flow_id).1), mark, actions);
                }
            }
            TrafficEvent::Delivered { flow_id, node, plane, bytes, mark, .. } => {
                let from = self.inner.sender(node, (flow_id, mark));
                self.inner.on_event(what, now, actions);
                if let Some(number) = self.number(node) {
                    let source = number * self.planes + u32::from(plane.0);
                    self.acks.acknowledge(Arrived { node, source, from, bytes }, now, actions);
                }
            }
            TrafficEvent::Notice(Notice { to, from, content: NoticeContent::Acknowledged(bytes), .. }) => {
                if let Some(number) = self.number(to) {
                    self.acknowledged(number, from, bytes, actions);
                }
            }
            TrafficEvent::Alarm { target, purpose: RETRY } => actions.wake(target),
            TrafficEvent::Collected { .. } | TrafficEvent::Alarm { .. } | TrafficEvent::Notice(_) => {
                self.inner.on_event(what, now, actions)
            }
        }
    }

    fn take_back(&mut self, source: usize) -> bool {
        // Acknowledgements are always due.
        if let Given::Data(demand) = std::mem::replace(&mut self.given[source], Given::Nothing) {
            // Open traffic chooses again. Other packets have been handed over, and keep their room.
            if matches!(self.inner, JobTraffic::Open(_))
                && let Some(flow) = self.flows.find(self.node_of(source), demand.to)
            {
                self.pacer.taken_back(flow, demand.bytes);
            }
            self.queues.put_back(source, demand);
        }
        true
    }

    fn source(&self, flow_id: u32) -> NodeId {
        match self.is_acknowledgement(flow_id) {
            true => NodeId(job_of(flow_id).1),
            false => self.inner.source(job_of(flow_id).1),
        }
    }
}
