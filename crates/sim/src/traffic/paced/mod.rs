//! The traffic of a job with a pacer: a queue for each flow, from a node to another, so that a flow that has to wait does not
//! block the node's other flows.
//!
//! The rules, in this order, whenever the link of a node may take a packet:
//! 1. an acknowledgement goes before data;
//! 2. of the flows that have packets waiting and may send, that goes whose packet is the oldest;
//! 3. else the source is asked for its next packets. One of a flow that may not send, or has packets waiting, is put into the
//!    queue of its flow if it is due. If it is not, the node waits: until it is, or the flow may send.
//!
//! So with a pacer that never holds anything back, packets leave as without one. As a source queue, that of a flow has only a
//! head: what is behind it is drawn again from the node's stream (`queues`). Workloads that know what they have for each
//! destination (volumes, ranks) skip, in their own turn, what may not be sent. A backlogged source has one message at a time,
//! generated as the one before has gone, so that there is nothing that could overtake a message that waits.

mod acks;
mod flows;
mod queues;
mod spec;

use fabric::{Actions, Demand, FLOW_BITS, Notice, NoticeContent, Target, Traffic, TrafficEvent};
use units::NodeId;

use super::numbers::job_of;
use super::single::JobTraffic;
use super::volume::Flow;
use crate::pacers::Pacer;
use acks::{Acknowledgements, Arrived};
use flows::Flows;
use queues::Queues;

pub use spec::PacedSpec;

/// The purpose of the alarm at the time at which a packet of a flow that may not send is due. Those of ranks are below.
const RETRY: u32 = 6;

/// What a node has last been given to send.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Nothing,
    Acknowledgement,
    Data(Demand),
}

/// The traffic of a job with a pacer, at the nodes of one partition.
#[derive(Debug)]
pub struct PacedTraffic {
    inner: JobTraffic,
    pacer: Box<dyn Pacer>,
    acks: Acknowledgements,
    flows: Flows,
    /// By node of this partition: the node and its number here, in ascending order of nodes.
    numbers: Vec<(NodeId, u32)>,
    queues: Queues,
    /// By node, what it has been given last.
    given: Vec<Given>,
    /// By node, for when an alarm is set, in ticks; 0 for never.
    alarms: Vec<u64>,
}

impl PacedTraffic {
    /// Bytes of a flow: its number by destination, and its pacer's state; lists have room for half as much again.
    pub(crate) const BYTES_A_FLOW: u64 = (size_of::<(NodeId, u32)>() + size_of::<u64>()) as u64 * 3 / 2;
    /// Bytes of a node, with one flow that waits.
    pub(crate) const BYTES_A_NODE: u64 =
        (Queues::BYTES_A_NODE + size_of::<(NodeId, u32)>() + size_of::<Given>() + 6 * size_of::<u64>()) as u64;

    /// Puts a pacer before the traffic of some nodes.
    ///
    /// # Errors
    /// The traffic as it is, if the pacer does nothing.
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

    /// The traffic without its pacer.
    pub fn inner(&self) -> &JobTraffic {
        &self.inner
    }

    /// Has the job send further volumes from a time on.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        self.inner.begin_phase(flows, at, actions);
    }

    /// When the oldest packet that a node has not sent was generated, in ticks, rounded down; none if there is none.
    pub fn next_generation_time(&self, node: usize) -> Option<u64> {
        let given = match self.given[node] {
            Given::Data(demand) => Some(demand.generated_at),
            Given::Nothing | Given::Acknowledgement => None,
        };
        given.into_iter().chain(self.queues.oldest(node)).min()
    }

    /// The number of a node of this partition.
    fn number(&self, node: NodeId) -> Option<u32> {
        let place = self.numbers.binary_search_by_key(&node, |&(node, _)| node);
        place.ok().map(|place| self.numbers[place].1)
    }

    /// The next data packet of a node that may be sent.
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

    /// Asks the node again when a packet that may not be sent is due.
    fn retry(&mut self, node: usize, due: u64, actions: &mut Actions) {
        if self.alarms[node] != due {
            self.alarms[node] = due;
            actions.alarm(due, node as u32, RETRY);
        }
    }

    /// A packet of a flow from a node has been acknowledged.
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

    /// Whether a flow id is of an acknowledgement.
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
        // One that has waited was due before.
        Some(Demand { release: demand.release.max(now), ..demand })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
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
            TrafficEvent::Arrival { .. }
            | TrafficEvent::Collected { .. }
            | TrafficEvent::Alarm { .. }
            | TrafficEvent::Notice(_) => self.inner.on_event(what, now, actions),
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
