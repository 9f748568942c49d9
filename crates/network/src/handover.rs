//! Hand-over of whole messages: the traffic of all nodes on one thread, for models that do not cut messages into
//! packets.

use std::sync::Arc;

use engine::Calendar;
use fabric::{Actions, Demand, Notice, Plan, Traffic, TrafficEvent};

use crate::model::MachineRun;
use crate::part::Part;
use crate::traffic::{Division, NodeTraffic};

/// Expected distance of events, in ticks.
const DISTANCE: u64 = 1 << 14;

/// Event that the traffic has asked for. Events of an instant are handled by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Requested {
    /// The head of a source's queue is due.
    Due { source: u32 },
    /// An alarm.
    Alarm { target: u32, purpose: u32 },
    /// A notice arrives.
    Notice { place: u32 },
}

/// Traffic of all nodes, and the events of a model.
pub(crate) struct Handover<E> {
    pub traffic: NodeTraffic,
    /// Heads of the queues of sources that are not due, or that wait for the message before them.
    pub heads: Vec<Option<Demand>>,
    pub events: Calendar<E>,
    /// Events of the present instant that the traffic has to learn.
    pub learned: Vec<TrafficEvent>,
    /// Sources whose heads may be due.
    pub due: Vec<u32>,
    actions: Actions,
    wakes: Vec<u32>,
    notices: Vec<Option<Notice>>,
    /// Free places of `notices`.
    free: Vec<u32>,
}

/// Returns the traffic of all nodes of a run.
pub(crate) fn whole_traffic(plan: &Arc<Plan>, run: &MachineRun<'_>) -> NodeTraffic {
    let nodes: Vec<u32> = (0..plan.topology().nodes()).collect();
    let division = Division::new(nodes.len() as u32, std::iter::once(&nodes[..]), 1);
    (run.traffic)(Part { number: 0, nodes: &nodes, division: &division })
}

impl<E: Copy + Ord + From<Requested>> Handover<E> {
    /// Creates the state of `sources` sources.
    pub fn new(traffic: NodeTraffic, sources: usize) -> Self {
        Self {
            traffic,
            heads: vec![None; sources],
            events: Calendar::new(DISTANCE),
            learned: Vec::new(),
            due: Vec::new(),
            actions: Actions::default(),
            wakes: Vec::new(),
            notices: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Takes an event that the traffic has asked for.
    pub fn take(&mut self, event: Requested) {
        match event {
            Requested::Due { source } => self.due.push(source),
            Requested::Alarm { target, purpose } => self.learned.push(TrafficEvent::Alarm { target, purpose }),
            Requested::Notice { place } => {
                let notice = self.notices[place as usize].take();
                self.free.push(place);
                self.learned.extend(notice.map(TrafficEvent::Notice));
            }
        }
    }

    /// Schedules the alarms and notices that the traffic has requested.
    fn schedule(&mut self, now: u64) {
        for (at, target, purpose) in self.actions.take_alarms() {
            self.events.push(at.max(now), 0, Requested::Alarm { target, purpose }.into());
        }
        for (at, notice) in self.actions.take_notices() {
            let place = self.free.pop().unwrap_or(self.notices.len() as u32);
            match self.notices.get_mut(place as usize) {
                Some(free) => *free = Some(notice),
                None => self.notices.push(Some(notice)),
            }
            self.events.push(at.max(now), 0, Requested::Notice { place }.into());
        }
    }

    /// Returns the next message of a source that is due and may leave. Keeps one that is not due, or that `waits`, as
    /// the head of the source.
    fn next(&mut self, source: usize, waits: bool, now: u64) -> Option<Demand> {
        let next = self.traffic.next(source, now, &mut self.actions);
        self.schedule(now);
        let demand = next?;
        if demand.release > now {
            self.events.push(demand.release, 0, Requested::Due { source: source as u32 }.into());
        } else if !waits {
            return Some(demand);
        }
        self.heads[source] = Some(demand);
        None
    }
}

/// Running network to which traffic hands over whole messages.
pub(crate) trait MessageRun {
    type Event: Copy + Ord + From<Requested>;
    fn handover(&mut self) -> &mut Handover<Self::Event>;
    /// Returns the present, in ticks.
    fn now(&self) -> u64;
    /// Whether the messages of a source wait for the one before them.
    fn waits(&self, _source: usize) -> bool {
        false
    }
    /// Takes a message that is due.
    fn release(&mut self, source: usize, demand: &Demand);

    /// Starts the traffic.
    fn begin(&mut self) {
        let (now, handover) = (self.now(), self.handover());
        if handover.traffic.wants_events() {
            handover.traffic.begin(now, &mut handover.actions);
            // All sources are asked in any case.
            handover.actions.take_wakes(&mut handover.wakes);
            handover.wakes.clear();
            handover.schedule(now);
        }
        let sources = handover.heads.len();
        (0..sources).for_each(|source| self.query(source));
    }

    /// Asks a source for its messages, and releases each that is due and may leave.
    fn query(&mut self, source: usize) {
        let now = self.now();
        self.handover().heads[source] = None;
        loop {
            let waits = self.waits(source);
            let Some(demand) = self.handover().next(source, waits, now) else { return };
            self.release(source, &demand);
        }
    }

    /// Tells the traffic the events that are due at the present instant, and releases the heads that are due.
    fn hand_over(&mut self) {
        let (now, handover) = (self.now(), self.handover());
        if !handover.learned.is_empty() {
            handover.learned.sort_unstable();
            for what in handover.learned.drain(..) {
                handover.traffic.on_event(what, now, &mut handover.actions);
            }
            self.carry_out();
        }
        let mut due = std::mem::take(&mut self.handover().due);
        due.sort_unstable();
        for source in due.drain(..).map(|source| source as usize) {
            if !self.waits(source)
                && let Some(head) = self.handover().heads[source].take_if(|head| head.release <= now)
            {
                self.release(source, &head);
                self.query(source);
            }
        }
        self.handover().due = due;
    }

    /// Carries out the requests of the traffic.
    fn carry_out(&mut self) {
        let (now, handover) = (self.now(), self.handover());
        handover.schedule(now);
        let mut wakes = std::mem::take(&mut handover.wakes);
        handover.actions.take_wakes(&mut wakes);
        for source in wakes.drain(..).map(|source| source as usize) {
            let handover = self.handover();
            let is_early = handover.heads[source].is_some_and(|head| head.release > now);
            if handover.heads[source].is_none() || (is_early && handover.traffic.take_back(source)) {
                self.query(source);
            }
        }
        self.handover().wakes = wakes;
    }

    /// Lets `change` change the traffic, and carries out the requests that it makes.
    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {
        let handover = self.handover();
        change(&mut handover.traffic, &mut handover.actions);
        self.carry_out();
    }
}
