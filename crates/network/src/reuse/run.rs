//! Running network with reuse: the traffic of nodes, the messages that they release, and arrivals.

use std::sync::Arc;

use fabric::{Batch, Demand, MessageKey, Messages, Plan, Target};
use host::HandedOver;
use units::{NodeId, PlaneId};

use super::episodes::{Counted, Episodes, Message};
use crate::handover::{Handover, MessageRun, Requested};
use crate::traffic::NodeTraffic;

/// Event of a running network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReuseEvent {
    /// A moment of an episode is due, if it still has this version.
    Moment { episode: u32, version: u64 },
    /// The traffic has asked for it.
    Requested(Requested),
}

impl From<Requested> for ReuseEvent {
    fn from(event: Requested) -> Self {
        Self::Requested(event)
    }
}

/// Counts of the job.
#[derive(Debug, Default)]
pub(super) struct ReuseTotals {
    pub batches: Vec<Batch>,
    /// Time of the last arrival by node, in ticks. Empty unless arrivals are noted.
    pub arrivals: Vec<u64>,
    pub messages: Option<Box<Messages>>,
    /// Bytes that have crossed each channel, by the number of its output.
    pub used: Vec<u64>,
    /// Routers that packets have traversed, summed.
    pub hops: u64,
    /// Last arrival, in ticks.
    pub last: u64,
}

/// Network with reuse.
pub(super) struct ReuseRun {
    pub plan: Arc<Plan>,
    pub handover: Handover<ReuseEvent>,
    pub episodes: Episodes,
    /// By node, the number of its messages so far.
    turns: Vec<u32>,
    /// Number of planes, and sources of a node.
    planes: u32,
    pub totals: ReuseTotals,
    /// Begin of the present batches, and their length, in ticks.
    batches: (u64, u64),
    pub now: u64,
}

impl ReuseRun {
    /// Creates the network at time 0, and starts its traffic.
    pub fn new(plan: &Arc<Plan>, traffic: NodeTraffic, episodes: Episodes) -> Self {
        let (nodes, planes) = (plan.topology().nodes(), plan.channels().planes());
        let used = vec![0; episodes.paths.places()];
        let mut run = Self {
            plan: Arc::clone(plan),
            handover: Handover::new(traffic, (nodes * planes) as usize),
            episodes,
            turns: vec![0; nodes as usize],
            planes,
            totals: ReuseTotals { used, ..ReuseTotals::default() },
            batches: (0, u64::MAX),
            now: 0,
        };
        run.begin();
        run.settle();
        run
    }

    /// Counts by batches of `length` ticks from now on.
    pub fn count_batches(&mut self, length: u64) {
        self.batches = (self.now, length.max(1));
    }

    /// Handles all events before `until`, in ticks.
    pub fn run_until(&mut self, until: u64) {
        while let Some(at) = self.handover.events.first().filter(|&at| at < until && self.episodes.gave_up.is_none()) {
            (self.now, self.episodes.now) = (at, at);
            self.handle_instant();
            self.settle();
        }
        self.now = until.max(self.now);
    }

    /// Handles all events of the present instant.
    fn handle_instant(&mut self) {
        while let Some((_, _, event)) = self.handover.events.take(self.now) {
            match event {
                ReuseEvent::Moment { episode, version } => {
                    self.episodes.pass((episode, version), self.now, &mut self.handover.learned);
                }
                ReuseEvent::Requested(event) => self.handover.take(event),
            }
        }
        self.hand_over();
    }

    /// Settles the episodes of this instant, and takes over what they have to do.
    pub fn settle(&mut self) {
        self.episodes.settle();
        for (at, episode, version) in self.episodes.due.drain(..) {
            self.handover.events.push(at, 0, ReuseEvent::Moment { episode, version });
        }
        let counted = std::mem::take(&mut self.episodes.counted);
        counted.iter().for_each(|own| self.count(own));
        self.episodes.counted = counted;
        self.episodes.counted.clear();
        self.episodes.trim();
    }

    /// Counts a message whose packets have all left their last routers.
    fn count(&mut self, own: &Counted) {
        let &Counted { message, path, arrives, packets, routers } = own;
        let totals = &mut self.totals;
        let batch = ((self.now - self.batches.0) / self.batches.1) as usize;
        if totals.batches.len() <= batch {
            totals.batches.resize(batch + 1, Batch::default());
        }
        let hops = packets * routers;
        totals.batches[batch].add(&Batch {
            entered: packets,
            packets,
            bytes: message.bytes.into(),
            hops,
            transmissions: hops,
            ..Batch::default()
        });
        totals.hops += hops;
        totals.last = totals.last.max(arrives);
        for step in self.episodes.paths.steps(path) {
            totals.used[step.channel as usize] += u64::from(message.bytes);
        }
        if let Some(last) = totals.arrivals.get_mut(message.to as usize) {
            *last = arrives.max(*last);
        }
        if let Some(messages) = &mut totals.messages {
            let generated_at = message.at * self.plan.units_per_tick();
            let ends = (message.from, PlaneId(message.plane), NodeId(message.to));
            messages.count(ends, message.bytes, generated_at, arrives);
        }
    }

    /// Measures messages by a key from now on.
    pub fn measure_messages(&mut self, key: MessageKey) {
        self.totals.messages = Some(Box::new(Messages::new(key, self.plan.topology().nodes())));
    }
}

impl MessageRun for ReuseRun {
    type Event = ReuseEvent;

    fn handover(&mut self) -> &mut Handover<ReuseEvent> {
        &mut self.handover
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn release(&mut self, source: usize, demand: &Demand) {
        let &Demand { to: Target::Node(to), bytes, flow_id, mark, .. } = demand else {
            self.episodes.gave_up.get_or_insert_with(|| "routers copy packets".to_owned());
            return;
        };
        if bytes >= MOST_BYTES {
            self.episodes.gave_up.get_or_insert_with(|| "a message has 2 GiB or more".to_owned());
        }
        let (from, plane) = (source as u32 / self.planes, (source as u32 % self.planes) as u8);
        let turn = self.turns[from as usize];
        self.turns[from as usize] += 1;
        let at = self.now;
        let ranks = if self.episodes.paths.have_parts() { self.handover.traffic.scheduled(0) } else { None };
        let handed = ranks.map_or(HandedOver::default(), |ranks| ranks.executor().handed_over());
        self.episodes.release(Message { flow_id, mark, bytes, from, plane, to: to.0, at, turn, handed });
    }
}

/// Least size of a message that its node hands over in several parts, in bytes.
const MOST_BYTES: u32 = 1 << 31;
