//! Running network of flows: the messages that nodes hand over, their departures and their arrivals.
//!
//! A message starts as a flow when its node hands it over, and has left when its bytes have passed at the rates that it
//! has had. Its last byte arrives the delay of its path later. A message that fits into the buffers on its way, with
//! those before it, is two flows, one on the channel of its node and one through the network. It has left when both
//! have ended. Everything at one instant is handled before the rates are computed anew.

use std::sync::Arc;

use engine::split_mix;
use fabric::{Demand, FLOW_BITS, Plan, Target, Traffic, TrafficEvent};
use units::{NodeId, PlaneId};

use super::choices::Choices;
use super::combining::Operations;
use super::copies::TreeMessages;
use super::counts::{ClassCounts, Departed};
use super::limits::Windows;
use super::paths::{Ends, PathSet, Paths};
use super::rates::{NONE, PathPart, Rates};
use super::trees::TreeEnd;
use super::turns::MOST_SPLITS;
use crate::handover::{Handover, MessageRun, Requested};
use crate::traffic::{JobTraffic, NodeTraffic};

/// Time by which rounding errors may delay the end of a flow, in picoseconds.
const ROUNDING: f64 = 1e-3;

/// Message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub flow_id: u32,
    mark: u32,
    pub bytes: u32,
    /// Index of its source.
    pub source: u32,
    plane: PlaneId,
    to: NodeId,
    /// Generation time, in parts of a tick.
    generated_at: u64,
    /// Delay of its path, in ticks.
    delay: u64,
    routers: u32,
    /// Its destinations among the messages on trees. `NONE`: it has one, `to`.
    pub copies: u32,
    /// Whether it has a flow through the node's channel, and one through the network.
    pub is_split: bool,
    /// Bytes that wait in buffers, if it is not split.
    pub held: f64,
    /// Number of times that it has been split.
    pub splits: u32,
    /// Its flow, or its flows through the node's channel and through the network.
    pub flows: [FlowLeft; 2],
    /// Next free place.
    next: u32,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowLeft {
    /// Whether it has bytes left.
    pub is_open: bool,
    /// Bytes that were left at the time `since`, in ticks.
    pub left: f64,
    pub since: u64,
    /// Number of rates that it has had, in all messages of the place.
    pub rates: u32,
}

/// Event of a running network. Events of an instant are handled by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowEvent {
    /// A flow has ended, if its rate is the one of this number.
    Ends { flow: u32, rates: u32 },
    /// The buffers of a message are full or empty, if its flows have their rates of this number.
    Meets { message: u32, rates: u32 },
    /// A trial is old: flows that have kept its factors are to be settled again.
    Retries,
    /// The last byte of a message has arrived, at a destination by its number.
    Arrives { message: u32, end: u32 },
    /// The traffic has asked for it.
    Requested(Requested),
}

impl From<Requested> for FlowEvent {
    fn from(event: Requested) -> Self {
        Self::Requested(event)
    }
}

/// Network of flows.
pub(super) struct FlowRun {
    pub plan: Arc<Plan>,
    pub handover: Handover<FlowEvent>,
    pub(super) paths: Paths,
    pub(super) found: PathSet,
    /// Messages on trees.
    pub(super) trees: TreeMessages,
    pub(super) operations: Operations,
    windows: Windows,
    pub rates: Rates,
    pub(super) messages: Vec<Message>,
    free: u32,
    /// By source, whether a message is leaving, if sources send one message at a time. Otherwise empty.
    sending: Vec<bool>,
    /// By source, the number of messages that have started.
    numbers: Vec<u32>,
    /// Number of messages that have started.
    launched: u32,
    /// Largest number of times that a message is split, before it leaves its node.
    pub(super) most_splits: u32,
    /// By source, the message for which it waits, or `NONE`.
    pub(super) waits: Vec<u32>,
    /// Sources and messages whose rates have changed, and flows of a source. Kept to avoid allocation.
    pub(super) touched: Vec<u32>,
    pub(super) moved: Vec<u32>,
    pub(super) own: Vec<u32>,
    /// Flows whose rates have changed. Kept to avoid allocation.
    changed: Vec<(u32, f64)>,
    pub counts: Vec<ClassCounts>,
    /// Bytes that messages of each packet class have sent by each channel.
    used: Vec<Vec<f64>>,
    /// Begin of the present batches, and their length, in ticks.
    batches: (u64, u64),
    pub now: u64,
}

impl FlowRun {
    /// Creates the network at time 0, and starts its traffic. Sources of traffic at a rate send one message at a time, in
    /// the order of generation; ranks and volumes send all messages that are ready.
    pub fn new(
        plan: &Arc<Plan>,
        rates: (Paths, Rates),
        windows: Windows,
        (traffic, counts): (NodeTraffic, Vec<ClassCounts>),
    ) -> Self {
        let channels = plan.channels();
        let sources = plan.topology().nodes() as usize * channels.planes() as usize;
        let is_open =
            (0..counts.len()).all(|job| traffic.of_job(job).is_none_or(|own| matches!(own, JobTraffic::Open(_))));
        let mut run = Self {
            plan: Arc::clone(plan),
            handover: Handover::new(traffic, sources),
            paths: rates.0,
            found: PathSet::default(),
            trees: TreeMessages::default(),
            operations: Operations::default(),
            windows,
            rates: rates.1,
            messages: Vec::new(),
            free: NONE,
            sending: vec![false; if is_open { sources } else { 0 }],
            numbers: vec![0; sources],
            launched: 0,
            most_splits: if plan.topology().routers() > 1 { MOST_SPLITS } else { u32::MAX },
            waits: vec![NONE; sources],
            touched: Vec::new(),
            moved: Vec::new(),
            own: Vec::new(),
            changed: Vec::new(),
            used: vec![vec![0.0; channels.count() as usize]; counts.len()],
            counts,
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
        while let Some(at) = self.handover.events.first().filter(|&at| at < until) {
            self.now = at;
            while self.handover.events.first() == Some(at) {
                self.handle_instant();
            }
            self.settle();
        }
        self.now = until.max(self.now);
    }

    /// Handles all events of the present instant that are known.
    fn handle_instant(&mut self) {
        while let Some((_, _, event)) = self.handover.events.take(self.now) {
            match event {
                FlowEvent::Ends { flow, rates } => {
                    if self.messages[flow as usize / 2].flows[flow as usize % 2].rates == rates {
                        self.end(flow);
                    }
                }
                FlowEvent::Meets { message, rates } => {
                    let flows = &self.messages[message as usize].flows;
                    if flows[0].rates.wrapping_add(flows[1].rates) == rates {
                        self.meet(message);
                    }
                }
                FlowEvent::Retries => self.rates.settle_again(),
                FlowEvent::Arrives { message, end } => self.arrive(message, end),
                FlowEvent::Requested(event) => self.handover.take(event),
            }
        }
        self.hand_over();
    }

    /// Starts a message as a flow.
    fn start(&mut self, source: usize, demand: &Demand) {
        let Target::Node(to) = demand.to else { return self.start_on_tree(source, demand) };
        let seed = self.draw(source);
        let ends = Ends { to, ..self.ends_of(source, demand.bytes) };
        self.paths.find(&ends, seed, &mut self.found);
        self.take_window(demand.flow_id, &ends);
        let end = TreeEnd { node: to, delay: self.found.delay, routers: self.found.routers };
        self.launch(source, demand, end, NONE);
    }

    /// Limits a message to the window of its job's pacer. An acknowledgement comes back on an idle path.
    fn take_window(&mut self, flow_id: u32, ends: &Ends) {
        let job = (flow_id >> FLOW_BITS) as usize;
        let Some(window) = self.windows.size(job) else { return };
        let packet = ends.bytes.min(self.plan.packet()).max(1);
        let back = Ends { from: ends.to, to: ends.from, ..*ends };
        let mut path = Vec::new();
        let (back, _) = self.paths.follow(&back, &mut Choices::drawn(0, 1, 0), &mut path);
        let class = self.plan.topology().injection_class(ends.plane);
        let own = self.plan.serialization(class, packet) * self.plan.tick().0;
        let sent = (window / u64::from(packet)).max(1) * u64::from(packet);
        let pair = (job, ends.from.0, ends.to.0);
        self.windows.cross(pair, (sent, own + self.found.delay + back), &mut self.found, &mut self.rates);
    }

    /// Returns the ends of a message of a source to the source itself.
    pub(super) fn ends_of(&self, source: usize, bytes: u32) -> Ends {
        let planes = self.plan.channels().planes() as usize;
        let (from, plane) = (NodeId((source / planes) as u32), PlaneId((source % planes) as u8));
        Ends { from, plane, to: from, bytes }
    }

    /// Returns the seed of the next message of a source.
    pub(super) fn draw(&mut self, source: usize) -> u64 {
        let number = &mut self.numbers[source];
        let seed = split_mix(self.plan.seed() ^ split_mix((source as u64) << 32 | u64::from(*number)));
        *number = number.wrapping_add(1);
        seed
    }

    /// Starts a message on the paths that have been found. `copies` are its destinations, if it has several. Returns its
    /// place.
    pub(super) fn launch(&mut self, source: usize, demand: &Demand, end: TreeEnd, copies: u32) -> u32 {
        let &Demand { generated_at, part, bytes, flow_id, mark, .. } = demand;
        let TreeEnd { node: to, delay, routers } = end;
        let Ends { plane, .. } = self.ends_of(source, bytes);
        let generated_at = generated_at * self.plan.units_per_tick() + part;
        let message = Message {
            flow_id,
            mark,
            bytes,
            source: source as u32,
            plane,
            to,
            generated_at,
            delay,
            routers,
            copies,
            is_split: false,
            held: 0.0,
            splits: 0,
            flows: [FlowLeft::default(); 2],
            next: NONE,
        };
        let place = match self.free {
            NONE => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
            free => {
                let own = &mut self.messages[free as usize];
                self.free = own.next;
                *own = Message { flows: own.flows, ..message };
                free
            }
        };
        self.rates.start(2 * place, &self.found, PathPart::Whole);
        self.rates.flows[2 * place as usize].number = self.launched;
        self.launched = self.launched.wrapping_add(1);
        let own = &mut self.messages[place as usize].flows[0];
        (own.is_open, own.left, own.since) = (true, bytes.into(), self.now);
        if let Some(sending) = self.sending.get_mut(source) {
            *sending = true;
        }
        let class = &mut self.counts[(flow_id >> FLOW_BITS) as usize];
        (0..self.trees.count(copies)).for_each(|_| class.started(generated_at));
        place
    }

    /// Computes rates anew, and the times at which flows end.
    pub(super) fn compute_rates(&mut self) {
        self.rates.settle(self.now, &mut self.changed);
        if let Some(at) = self.rates.retry.take() {
            self.handover.events.push(at, 0, FlowEvent::Retries);
        }
        let (tick, packet) = (self.plan.tick().0 as f64, f64::from(self.plan.packet()));
        let mut changed = std::mem::take(&mut self.changed);
        for (flow, former) in changed.drain(..) {
            self.progress_at(flow, former);
            let Message { source, ref mut flows, .. } = self.messages[flow as usize / 2];
            self.touched.push(source);
            self.moved.push(flow / 2);
            let own = &mut flows[flow as usize % 2];
            own.rates += 1;
            let state = &mut self.rates.flows[flow as usize];
            let rate = state.rate;
            if rate > 0.0 {
                let before_last = (own.left - packet).max(0.0) / rate / tick;
                state.ends_from = self.now.saturating_add(before_last as u64);
                let ticks = (own.left / rate / tick - ROUNDING).ceil().max(1.0) as u64;
                let event = FlowEvent::Ends { flow, rates: own.rates };
                self.handover.events.push(self.now.saturating_add(ticks), flow.into(), event);
            }
        }
        self.changed = changed;
    }

    /// Counts the bytes of a flow that have passed until now.
    pub(super) fn progress(&mut self, flow: u32) {
        self.progress_at(flow, self.rates.flows[flow as usize].rate);
    }

    /// Counts the bytes of a flow that have passed until now, at a rate.
    fn progress_at(&mut self, flow: u32, rate: f64) {
        let own = &mut self.messages[flow as usize / 2].flows[flow as usize % 2];
        own.left = (own.left - rate * (self.now - own.since) as f64 * self.plan.tick().0 as f64).max(0.0);
        own.since = self.now;
    }

    /// Ends a flow. Its message has left if it is the last one.
    fn end(&mut self, flow: u32) {
        let place = flow / 2;
        if flow.is_multiple_of(2) {
            let own = &mut self.messages[place as usize].flows[0];
            (own.left, own.since) = (0.0, self.now);
            self.leave_node(place);
        }
        let message = &mut self.messages[place as usize];
        let own = &mut message.flows[flow as usize % 2];
        (own.is_open, own.left, own.since) = (false, 0.0, self.now);
        own.rates += 1;
        let &mut Message { flow_id, bytes, source, copies, flows, .. } = message;
        let used = &mut self.used[(flow_id >> FLOW_BITS) as usize];
        let paths = &mut self.paths;
        self.rates.visit(flow, &mut |channel, share| {
            let passed = f64::from(bytes) * share;
            used.get_mut(channel as usize).into_iter().for_each(|used| *used += passed);
            paths.release(channel, passed);
        });
        self.rates.end(flow);
        if flow.is_multiple_of(2) {
            let from = self.ends_of(source as usize, bytes).from;
            self.windows.leave(((flow_id >> FLOW_BITS) as usize, from.0, self.messages[place as usize].to.0));
        }
        self.touched.push(source);
        if let Some(sending) = self.sending.get_mut(source as usize).filter(|_| flow.is_multiple_of(2)) {
            *sending = false;
            self.handover.due.push(source);
        }
        if !flows.iter().any(|own| own.is_open) {
            self.leave(place);
            self.end_operation(copies);
        }
    }

    /// Counts a message that has left, and schedules its arrival.
    fn leave(&mut self, place: u32) {
        let Message { flow_id, bytes, plane, to, generated_at, delay, routers, copies, .. } =
            self.messages[place as usize];
        let batch = ((self.now - self.batches.0) / self.batches.1) as usize;
        for end in 0..self.trees.count(copies) {
            let own = self.trees.end(copies, end).unwrap_or(TreeEnd { node: to, delay, routers });
            let (to, routers, arrives) = (own.node, own.routers, self.now.saturating_add(own.delay));
            let departed = Departed { flow_id, bytes, plane, to, generated_at, arrives, routers };
            self.counts[(flow_id >> FLOW_BITS) as usize].departed(&departed, batch, self.plan.units_per_tick());
            self.handover.events.push(arrives, place.into(), FlowEvent::Arrives { message: place, end });
        }
    }

    /// Handles the arrival of a message's last byte at a destination.
    fn arrive(&mut self, place: u32, end: u32) {
        let Message { flow_id, mark, bytes, plane, to, copies, .. } = self.messages[place as usize];
        let class = &mut self.counts[(flow_id >> FLOW_BITS) as usize];
        class.under_way -= u64::from(bytes);
        class.open -= 1;
        let to = self.trees.end(copies, end).map_or(to, |end| end.node);
        let time = self.now;
        let event = match self.trees.packet(copies) {
            Some(of) => TrafficEvent::Collected { node: to, flow_id, of, bytes, mark },
            None => TrafficEvent::Delivered { node: to, plane, flow_id, bytes, mark, time },
        };
        if self.handover.traffic.wants_events() {
            self.handover.learned.push((event, 0));
        }
        if self.trees.has_arrived(copies) {
            self.messages[place as usize].next = std::mem::replace(&mut self.free, place);
        }
    }

    /// Returns the bytes that messages of a packet class have sent by each channel.
    pub fn usage(&self, class: usize) -> Vec<f64> {
        let mut all = self.used[class].clone();
        for (flow, own) in (0..).zip(self.messages.iter().flat_map(|message| &message.flows)) {
            let message = &self.messages[flow as usize / 2];
            if !own.is_open || (message.flow_id >> FLOW_BITS) as usize != class {
                continue;
            }
            let since = (self.now - own.since) as f64 * self.plan.tick().0 as f64;
            let sent = f64::from(message.bytes) - (own.left - self.rates.flows[flow as usize].rate * since).max(0.0);
            self.rates.visit(flow, &mut |channel, share| {
                all.get_mut(channel as usize).into_iter().for_each(|used| *used += sent * share);
            });
        }
        all
    }
}

impl MessageRun for FlowRun {
    type Event = FlowEvent;

    fn handover(&mut self) -> &mut Handover<FlowEvent> {
        &mut self.handover
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn waits(&self, source: usize) -> bool {
        self.sending.get(source) == Some(&true)
    }

    fn release(&mut self, source: usize, demand: &Demand) {
        self.start(source, demand);
    }
}
