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

/// Packet that a node was last given to send.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Nothing,
    Acknowledgement,
    Data(Demand),
}

/// Traffic of a job behind a pacer, at the nodes of one partition.
#[derive(Debug)]
pub struct PacedTraffic {
    inner: JobTraffic,
    pacer: Box<dyn Pacer>,
    acks: Acknowledgements,
    flows: Flows,
    /// Nodes of this partition in ascending order, each with its index.
    numbers: Vec<(NodeId, u32)>,
    queues: Queues,
    /// Packet that each node was last given.
    given: Vec<Given>,
    /// Time of each node's alarm, in ticks. 0 without an alarm.
    alarms: Vec<u64>,
}

impl PacedTraffic {
    /// Memory of a flow in bytes: its number by destination and its pacer's state. Includes the spare capacity of lists
    /// (half of their length).
    pub const BYTES_A_FLOW: u64 = (size_of::<(NodeId, u32)>() + size_of::<u64>()) as u64 * 3 / 2;
    /// Memory of a node with one waiting flow, in bytes.
    pub const BYTES_A_NODE: u64 =
        (Queues::BYTES_A_NODE + size_of::<(NodeId, u32)>() + size_of::<Given>() + 6 * size_of::<u64>()) as u64;

    /// Puts a pacer before the traffic of some nodes.
    ///
    /// # Errors
    /// If the pacer does nothing. The error is the traffic, unchanged.
    pub fn over(inner: JobTraffic, spec: &PacedSpec, nodes: &[u32]) -> Result<Self, JobTraffic> {
        let Some(pacer) = spec.pacer.build() else { return Err(inner) };
        let mut numbers: Vec<(NodeId, u32)> = nodes.iter().map(|&node| NodeId(node)).zip(0..).collect();
        numbers.sort_unstable();
        Ok(Self {
            inner,
            pacer,
            acks: Acknowledgements::new(spec, nodes),
            flows: Flows::new(nodes.len()),
            numbers,
            queues: Queues::new(nodes.len()),
            given: vec![Given::Nothing; nodes.len()],
            alarms: vec![0; nodes.len()],
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

    /// Returns the generation time of the oldest packet that a node has not sent, in ticks, rounded down. None if there
    /// is none.
    pub fn next_generation_time(&self, node: usize) -> Option<u64> {
        let given = match self.given[node] {
            Given::Data(demand) => Some(demand.generated_at),
            Given::Nothing | Given::Acknowledgement => None,
        };
        given.into_iter().chain(self.queues.oldest(node)).min()
    }

    /// Returns the index of a node in this partition.
    fn number(&self, node: NodeId) -> Option<u32> {
        let place = self.numbers.binary_search_by_key(&node, |&(node, _)| node);
        place.ok().map(|place| self.numbers[place].1)
    }

    /// Returns a node's next data packet that may be sent.
    fn next_data(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        let Self { inner, pacer, flows, queues, .. } = self;
        let may_send = |to: Target, bytes: u32| pacer.may_send(flows.find(node, to), bytes);
        let may_send_to = |dst: NodeId, bytes: u32| may_send(Target::Node(dst), bytes);
        match inner {
            JobTraffic::Open(open) => match queues.next(open, (node, now), may_send) {
                Ok(demand) => Some(demand),
                Err(due) => {
                    self.retry(node, due.filter(|&due| due > now)?, actions);
                    None
                }
            },
            JobTraffic::Volume(volume) => queues.take_front(node).or_else(|| volume.next_of(node, may_send_to)),
            JobTraffic::Scheduled(ranks) => {
                queues.take_front(node).or_else(|| ranks.next_of(node, (now, actions), may_send_to))
            }
        }
    }

    /// Sets an alarm to query the node again when a packet that may not be sent is due.
    fn retry(&mut self, node: usize, due: u64, actions: &mut Actions) {
        if self.alarms[node] != due {
            self.alarms[node] = due;
            actions.alarm(due, node as u32, RETRY);
        }
    }

    /// Records the acknowledgement of `bytes` bytes of a flow from `node`.
    fn acknowledged(&mut self, node: u32, dst: NodeId, bytes: u32, actions: &mut Actions) {
        let Some(flow) = self.flows.find(node as usize, Target::Node(dst)) else {
            debug_assert!(false, "an acknowledgement of a flow that has sent nothing");
            return;
        };
        self.pacer.acknowledged(flow, bytes);
        if self.given[node as usize] == Given::Nothing || self.queues.has(node as usize, Target::Node(dst)) {
            actions.wake(node);
        }
    }

    /// Whether a flow id belongs to an acknowledgement.
    fn is_acknowledgement(&self, flow_id: u32) -> bool {
        self.acks.number() == Some((flow_id >> FLOW_BITS) as usize)
    }
}

impl Traffic for PacedTraffic {
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        self.given[node] = Given::Nothing;
        if let JobTraffic::Open(open) = &mut self.inner {
            self.queues.fill_front(open, node, now);
        }
        if let Some(acknowledgement) = self.acks.next(node, now) {
            self.given[node] = Given::Acknowledgement;
            return Some(acknowledgement);
        }
        let demand = self.next_data(node, now, actions)?;
        let flow = self.flows.find_or_add(node, demand.to, &mut *self.pacer);
        self.pacer.sent(flow, demand.bytes);
        self.given[node] = Given::Data(demand);
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
            TrafficEvent::Delivered { flow_id, node, bytes, .. } => {
                self.inner.on_event(what, now, actions);
                if let Some(number) = self.number(node) {
                    let from = self.inner.source(job_of(flow_id).1);
                    self.acks.acknowledge(Arrived { node: (number, node), from, bytes }, now, actions);
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

    fn take_back(&mut self, node: usize) -> bool {
        // Acknowledgements are always due.
        if let Given::Data(demand) = std::mem::replace(&mut self.given[node], Given::Nothing) {
            if let Some(flow) = self.flows.find(node, demand.to) {
                self.pacer.taken_back(flow, demand.bytes);
            }
            self.queues.put_back(node, demand);
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
