//! Running network with reuse: the traffic of nodes, the messages that they release, and arrivals.

use std::sync::Arc;

use engine::Calendar;
use fabric::{Actions, Batch, Demand, MessageKey, Messages, Notice, Plan, Target, Traffic, TrafficEvent};
use units::{NodeId, PlaneId};

use super::episodes::{Counted, Episodes, Message};
use crate::traffic::NodeTraffic;

/// Expected distance of events, in ticks.
const DISTANCE: u64 = 1 << 14;

/// Event of a running network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReuseEvent {
    /// A moment of an episode is due, if it still has this version.
    Moment { episode: u32, version: u64 },
    /// The head of a source's queue is due.
    Due { source: u32 },
    /// An alarm of the traffic.
    Alarm { target: u32, purpose: u32 },
    /// A notice of the traffic arrives.
    Notice { place: u32 },
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
    pub traffic: NodeTraffic,
    pub episodes: Episodes,
    actions: Actions,
    wakes: Vec<u32>,
    /// Heads of the queues of sources that are not due.
    pub heads: Vec<Option<Demand>>,
    /// By source, the number of its messages so far.
    turns: Vec<u32>,
    events: Calendar<ReuseEvent>,
    notices: Vec<Notice>,
    /// Events of the present instant.
    traffic_events: Vec<TrafficEvent>,
    due: Vec<u32>,
    pub totals: ReuseTotals,
    /// Begin of the present batches, and their length, in ticks.
    batches: (u64, u64),
    pub now: u64,
}

impl ReuseRun {
    /// Creates the network at time 0, and starts its traffic.
    pub fn new(plan: &Arc<Plan>, traffic: NodeTraffic, episodes: Episodes) -> Self {
        let sources = plan.topology().nodes() as usize;
        let used = vec![0; episodes.paths.facts.len()];
        let mut run = Self {
            plan: Arc::clone(plan),
            traffic,
            episodes,
            actions: Actions::default(),
            wakes: Vec::new(),
            heads: vec![None; sources],
            turns: vec![0; sources],
            events: Calendar::new(DISTANCE),
            notices: Vec::new(),
            traffic_events: Vec::new(),
            due: Vec::new(),
            totals: ReuseTotals { used, ..ReuseTotals::default() },
            batches: (0, u64::MAX),
            now: 0,
        };
        if run.traffic.wants_events() {
            run.traffic.begin(0, &mut run.actions);
            run.actions.take_wakes(&mut run.wakes);
            run.wakes.clear();
            run.set_alarms();
        }
        (0..sources).for_each(|source| run.query(source));
        run.settle();
        run
    }

    /// Counts by batches of `length` ticks from now on.
    pub fn count_batches(&mut self, length: u64) {
        self.batches = (self.now, length.max(1));
    }

    /// Handles all events before `until`, in ticks.
    pub fn run_until(&mut self, until: u64) {
        while let Some(at) = self.events.first().filter(|&at| at < until && self.episodes.gave_up.is_none()) {
            (self.now, self.episodes.now) = (at, at);
            self.handle_instant();
            self.settle();
        }
        self.now = until.max(self.now);
    }

    /// Handles all events of the present instant.
    fn handle_instant(&mut self) {
        while let Some((_, _, event)) = self.events.take(self.now) {
            match event {
                ReuseEvent::Moment { episode, version } => {
                    self.episodes.pass((episode, version), self.now, &mut self.traffic_events);
                }
                ReuseEvent::Due { source } => self.due.push(source),
                ReuseEvent::Alarm { target, purpose } => {
                    self.traffic_events.push(TrafficEvent::Alarm { target, purpose });
                }
                ReuseEvent::Notice { place } => {
                    self.traffic_events.push(TrafficEvent::Notice(self.notices[place as usize]));
                }
            }
        }
        if !self.traffic_events.is_empty() {
            self.traffic_events.sort_unstable();
            for what in self.traffic_events.drain(..) {
                self.traffic.on_event(what, self.now, &mut self.actions);
            }
            self.carry_out();
        }
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        for source in due.drain(..) {
            if let Some(head) = self.heads[source as usize].take_if(|head| head.release <= self.now) {
                self.release(source as usize, &head);
                self.query(source as usize);
            }
        }
        self.due = due;
    }

    /// Lets `visit` change the traffic, and carries out the requests that it makes.
    pub fn change_traffic(&mut self, visit: impl FnOnce(&mut NodeTraffic, &mut Actions)) {
        visit(&mut self.traffic, &mut self.actions);
        self.carry_out();
        self.settle();
    }

    /// Carries out the requests of the traffic.
    fn carry_out(&mut self) {
        self.set_alarms();
        let mut wakes = std::mem::take(&mut self.wakes);
        self.actions.take_wakes(&mut wakes);
        for source in wakes.drain(..).map(|source| source as usize) {
            if self.heads[source].is_none() {
                self.query(source);
            }
        }
        self.wakes = wakes;
    }

    /// Sets the alarms that the traffic has requested, and sends its notices.
    fn set_alarms(&mut self) {
        for (at, target, purpose) in self.actions.take_alarms() {
            self.events.push(at.max(self.now), 0, ReuseEvent::Alarm { target, purpose });
        }
        for (at, notice) in self.actions.take_notices() {
            let place = self.notices.len() as u32;
            self.notices.push(notice);
            self.events.push(at.max(self.now), 0, ReuseEvent::Notice { place });
        }
    }

    /// Asks a source for its messages, and releases each that is due.
    fn query(&mut self, source: usize) {
        self.heads[source] = None;
        while let Some(demand) = self.traffic.next(source, self.now, &mut self.actions) {
            self.set_alarms();
            if demand.release > self.now {
                self.heads[source] = Some(demand);
                self.events.push(demand.release, 0, ReuseEvent::Due { source: source as u32 });
                return;
            }
            self.release(source, &demand);
        }
        self.set_alarms();
    }

    /// Releases a message.
    fn release(&mut self, source: usize, demand: &Demand) {
        let &Demand { to: Target::Node(to), bytes, flow_id, mark, .. } = demand else {
            self.episodes.gave_up.get_or_insert_with(|| "routers copy packets".to_owned());
            return;
        };
        if bytes >= MOST_BYTES {
            self.episodes.gave_up.get_or_insert_with(|| "a message has 2 GiB or more".to_owned());
        }
        let turn = self.turns[source];
        self.turns[source] += 1;
        let at = self.now;
        self.episodes.release(Message { flow_id, mark, bytes, from: source as u32, to: to.0, at, turn });
    }

    /// Settles the episodes of this instant, and takes over what they have to do.
    fn settle(&mut self) {
        self.episodes.settle();
        for (at, episode, version) in self.episodes.due.drain(..) {
            self.events.push(at, 0, ReuseEvent::Moment { episode, version });
        }
        let counted = std::mem::take(&mut self.episodes.counted);
        counted.iter().for_each(|own| self.count(own));
        self.episodes.counted = counted;
        self.episodes.counted.clear();
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
            messages.count((message.from, PlaneId(0), NodeId(message.to)), message.bytes, generated_at, arrives);
        }
    }

    /// Measures messages by a key from now on.
    pub fn measure_messages(&mut self, key: MessageKey) {
        self.totals.messages = Some(Box::new(Messages::new(key, self.plan.topology().nodes())));
    }
}

/// Least size of a message that its node hands over in several parts, in bytes.
const MOST_BYTES: u32 = 1 << 31;
