//! One partition of a run: its routers, its sources, and the order of things within an instant.

use std::hint::black_box;
use std::sync::Arc;

use engine::Instant;
use routing::RouteState;
use units::NodeId;

use crate::context::{Mail, WorkerContext};
use crate::fabric::{ARRIVED, Fabric, event_kind};
use crate::packet::{NONE, Packet, UNDECIDED};
use crate::partition_map::PartitionMap;
use crate::plan::Plan;
use crate::routers::arbiter::Bits;
use crate::routers::{Arrival, Routers};

/// What a source wants to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// When it was generated, in ticks; may lie in the future.
    pub generated_at: u64,
    /// The node that it is for.
    pub dst: NodeId,
    /// The packet's size in bytes.
    pub bytes: u32,
    /// What it carries for its routing.
    pub state: RouteState,
    /// What the traffic knows it by, in its low `FLOW_BITS`: the number of the node that sends it, unless the traffic is
    /// notified of deliveries. Above them the number of its job.
    pub flow_id: u32,
}

/// Something that a traffic is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficEvent {
    /// The tail of a packet has reached its node.
    Arrival {
        /// What the traffic knows the packet by.
        flow_id: u32,
    },
    /// The time of an alarm has come.
    Alarm {
        /// For whom it was set, as the traffic numbers them.
        target: u32,
        /// For what, as the traffic numbers it.
        purpose: u32,
    },
}

/// What a traffic asks of its partition.
#[derive(Debug, Default)]
pub struct Actions {
    wakes: Vec<u32>,
    alarms: Vec<(u64, u32, u32)>,
}

impl Actions {
    /// Asks a node, by its number in the partition, for its next packet, if it has none under way.
    #[inline]
    pub fn wake(&mut self, node: u32) {
        self.wakes.push(node);
    }

    /// Sets an alarm for a time after the present, in ticks.
    #[inline]
    pub fn alarm(&mut self, at: u64, target: u32, purpose: u32) {
        self.alarms.push((at, target, purpose));
    }

    /// The nodes that are asked for their next packets.
    pub fn wakes(&self) -> &[u32] {
        &self.wakes
    }

    /// Moves all that another one asks for into this one, each alarm with a purpose of its own.
    pub fn take_over(&mut self, other: &mut Self, purpose: impl Fn(u32) -> u32) {
        self.wakes.append(&mut other.wakes);
        self.alarms.extend(other.alarms.drain(..).map(|(at, target, own)| (at, target, purpose(own))));
    }
}

/// The traffic of one partition's nodes: a queue without limit for each node, of which only the head exists; what is
/// behind it is regenerated from the node's stream.
pub trait Traffic: Send {
    /// The next packet of a node (by its number in the partition); asked at time 0, and at the time at which the one
    /// before has been sent. `None` if the node never sends again, or not before the traffic asks for it.
    fn next(&mut self, node: usize, now: u64) -> Option<Demand>;
    /// Reads what `next` will read, so that it is in a near cache then.
    fn before_next(&self, _node: usize) {}
    /// Whether it wants to be notified of deliveries.
    fn wants_events(&self) -> bool {
        false
    }
    /// What happens before nodes are asked for their first packets.
    fn begin(&mut self, _now: u64, _actions: &mut Actions) {}
    /// Something has happened to it. What happens at one instant comes in ascending order.
    fn on_event(&mut self, _what: TrafficEvent, _now: u64, _actions: &mut Actions) {}
    /// Takes back the packet that it last gave for a node, which is not due yet, so that `next` may give a more urgent
    /// one first; `false` if it always gives packets in the order of their times.
    fn take_back(&mut self, _node: usize) -> bool {
        false
    }
    /// The node that sends the packets that it knows by `flow_id`.
    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(flow_id)
    }
}

/// The first purpose of an alarm, as the argument of an event.
const FIRST: u32 = ARRIVED + 1;

/// One partition of a run.
#[derive(Debug)]
pub struct Partition<R, T> {
    fabric: Fabric,
    routers: R,
    traffic: T,
    /// The packet at the head of each node's queue.
    heads: Vec<u32>,
    instant: Instant<{ event_kind::COUNT }>,
    /// The arrivals at some routers, kept for its memory.
    arrivals: Vec<Arrival>,
    /// What happens to the traffic in an instant, and what it asks for, kept for their memory.
    traffic_events: Vec<TrafficEvent>,
    actions: Actions,
}

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// A partition at time 0, its sources about to start.
    pub fn new(
        plan: &Arc<Plan>,
        map: &PartitionMap,
        part: usize,
        routers: impl FnOnce(&Fabric) -> R,
        traffic: T,
    ) -> Self {
        let fabric = Fabric::new(Arc::clone(plan), map, part);
        let routers = routers(&fabric);
        let nodes = fabric.nodes.len();
        let mut partition = Self {
            fabric,
            routers,
            traffic,
            heads: vec![NONE; nodes],
            instant: Instant::default(),
            arrivals: Vec::new(),
            traffic_events: Vec::new(),
            actions: Actions::default(),
        };
        if partition.traffic.wants_events() {
            partition.fabric.notify_deliveries = true;
            partition.traffic.begin(0, &mut partition.actions);
            partition.actions.wakes.clear();
            partition.set_alarms();
        }
        for node in 0..nodes {
            partition.next_demand(node, 0);
        }
        partition
    }

    /// Reads the state of all channels and packets once, as it lies in memory: sooner done than to get it piece by piece when
    /// it is needed, after others have had the near cache for a window.
    pub fn before_window(&self) {
        self.fabric.before_window();
        self.routers.before_window();
    }

    /// Handles everything that happens before a time, in ticks, and closes the batches that end before it or then.
    pub fn run_until(&mut self, until: u64, context: &mut WorkerContext) {
        std::mem::swap(&mut self.fabric.context, context);
        let mut instant = std::mem::take(&mut self.instant);
        let mut now = self.fabric.wheel.now();
        while now < until {
            now = self.fabric.context.counters.enter_batch(now).min(until);
            while self.fabric.wheel.next(now, &mut instant) {
                self.handle(&instant);
            }
        }
        self.instant = instant;
        self.fabric.context.counters.leave_batch();
        std::mem::swap(&mut self.fabric.context, context);
    }

    /// One instant: credits and arrivals, then arbitration and departures.
    #[inline]
    fn handle(&mut self, instant: &Instant<{ event_kind::COUNT }>) {
        let now = instant.now;
        let fabric = &mut self.fabric;
        for event in &instant.kinds[event_kind::CREDIT] {
            fabric.take_credit(event.target, event.arg);
        }
        if fabric.exceeds_cache {
            for event in &instant.kinds[event_kind::FREE] {
                self.routers.before_freed(fabric, event.target);
            }
        }
        for event in &instant.kinds[event_kind::FREE] {
            self.routers.freed(fabric, event.target, event.arg, now);
        }
        for event in &instant.kinds[event_kind::ARRIVAL] {
            // What is under way for long has grown cold: many at once are got sooner than one after the other.
            black_box(fabric.pool[event.arg].dst);
            fabric.mark_arrival(event.target, event.arg);
        }
        for event in &instant.kinds[event_kind::WAKE] {
            match event.arg {
                0 => fabric.woken(event.target),
                ARRIVED => self.traffic_events.push(TrafficEvent::Arrival { flow_id: event.target }),
                purpose => {
                    self.traffic_events.push(TrafficEvent::Alarm { target: event.target, purpose: purpose - FIRST })
                }
            }
        }
        if !self.traffic_events.is_empty() {
            self.notify_traffic(now);
        }
        // Nothing is marked while this goes on: what it causes comes later, as events.
        for group in 0..self.fabric.dirty_routers.groups() {
            for word in self.fabric.dirty_routers.take_group(group) {
                let routers = self.fabric.dirty_routers.take_word(word);
                if self.fabric.exceeds_cache {
                    self.routers.before_serve(&self.fabric, word * 64, routers);
                    self.enqueue_batch(word * 64, routers, now);
                }
                for router in Bits(routers) {
                    self.handle_router(word * 64 + router, now);
                }
            }
        }
        for group in 0..self.fabric.dirty_nodes.groups() {
            for word in self.fabric.dirty_nodes.take_group(group) {
                let nodes = self.fabric.dirty_nodes.take_word(word);
                if self.fabric.exceeds_cache {
                    for node in Bits(nodes) {
                        self.before_inject(word * 64 + node);
                    }
                }
                for node in Bits(nodes) {
                    self.inject(word * 64 + node, now);
                }
            }
        }
    }

    /// Notifies the traffic of what has happened in this instant, in an order that does not depend on memory.
    #[inline(never)]
    fn notify_traffic(&mut self, now: u64) {
        self.traffic_events.sort_unstable();
        for what in self.traffic_events.drain(..) {
            self.traffic.on_event(what, now, &mut self.actions);
        }
        self.carry_out(now);
    }

    /// Changes the traffic from outside, between windows, and does what it asks for then.
    pub fn visit_traffic(&mut self, visit: impl FnOnce(&mut T, &mut Actions)) {
        visit(&mut self.traffic, &mut self.actions);
        self.carry_out(self.fabric.wheel.now());
    }

    /// Does what the traffic has asked for.
    fn carry_out(&mut self, now: u64) {
        self.set_alarms();
        let mut wakes = std::mem::take(&mut self.actions.wakes);
        for node in wakes.drain(..) {
            if self.heads[node as usize] == NONE {
                self.next_demand(node as usize, now);
            } else {
                self.replace_head(node as usize, now);
            }
        }
        self.actions.wakes = wakes;
    }

    /// Asks a node again for its next packet, if the one that it has is not due yet and can be taken back.
    fn replace_head(&mut self, node: usize, now: u64) {
        let packet = self.heads[node];
        if self.fabric.pool[packet].generated_at <= now || !self.traffic.take_back(node) {
            return;
        }
        self.fabric.pool.free(packet);
        self.next_demand(node, now);
        let head = self.heads[node];
        if head != NONE {
            // The node is woken at the old time too, which does no harm: it sends nothing that is not due.
            let output = self.fabric.ports() + node;
            let ready = self.fabric.outputs[output].free_at.max(self.fabric.pool[head].generated_at);
            self.fabric.wheel.insert(ready, event_kind::WAKE, output as u32, 0);
        }
    }

    fn set_alarms(&mut self) {
        for (at, target, purpose) in self.actions.alarms.drain(..) {
            self.fabric.wheel.insert(at, event_kind::WAKE, target, purpose + FIRST);
        }
    }

    #[inline(always)]
    fn handle_router(&mut self, router: usize, now: u64) {
        let Self { fabric, routers: inside, .. } = self;
        fabric.each_arrival(router, |fabric, mut arrival| {
            fabric.decide(&mut arrival);
            inside.enqueue(fabric, &arrival, now);
        });
        inside.serve(fabric, router, now);
    }

    /// Lands what has arrived at some of the routers from `first` on, in the order of ports.
    #[inline(never)]
    fn enqueue_batch(&mut self, first: usize, routers: u64, now: u64) {
        let Self { fabric, routers: inside, arrivals, .. } = self;
        // In steps, each over all of them, so that much of the memory that a step needs is under way at once.
        for router in Bits(routers) {
            fabric.each_arrival(first + router, |_, arrival| arrivals.push(arrival));
        }
        for arrival in arrivals.iter() {
            black_box(fabric.pool[arrival.packet].dst);
            let input = (arrival.base as usize + arrival.port as usize) << fabric.plan.vc_shift | arrival.vc as usize;
            inside.before_input(fabric, input);
        }
        for arrival in arrivals.iter_mut() {
            fabric.decide(arrival);
        }
        for arrival in arrivals.iter() {
            inside.before_output(fabric, arrival.base as usize + arrival.out as usize);
        }
        for arrival in arrivals.drain(..) {
            inside.enqueue(fabric, &arrival, now);
        }
    }

    /// Reads what `inject` will read.
    #[inline(always)]
    fn before_inject(&self, node: usize) {
        let packet = self.heads[node];
        if packet != NONE {
            black_box(self.fabric.pool[packet].generated_at);
        }
        self.fabric.before_sending(self.fabric.ports() + node);
        self.traffic.before_next(node);
    }

    /// Sends a node's next packet, if it can be sent.
    #[inline]
    fn inject(&mut self, node: usize, now: u64) {
        let packet = self.heads[node];
        if packet == NONE {
            return;
        }
        let output = self.fabric.ports() + node;
        let ready = self.fabric.outputs[output].free_at.max(self.fabric.pool[packet].generated_at);
        if ready > now {
            self.fabric.wake_at(output, ready);
            return;
        }
        let Some(vc) = self.fabric.ready_vc(output, packet) else {
            self.fabric.block(output);
            return;
        };
        self.fabric.context.counters.injected(&self.fabric.pool[packet]);
        let bytes = self.fabric.pool[packet].bytes;
        self.fabric.transmit(output, (packet, bytes), vc, now);
        self.next_demand(node, now);
    }

    /// Draws what a node sends next, and wakes it when that is due.
    fn next_demand(&mut self, node: usize, now: u64) {
        let Some(demand) = self.traffic.next(node, now) else {
            self.heads[node] = NONE;
            return;
        };
        let fabric = &mut self.fabric;
        let packet = Packet {
            generated_at: demand.generated_at,
            flow_id: demand.flow_id,
            dst: demand.dst.0,
            state: demand.state,
            bytes: demand.bytes,
            next: NONE,
            out: UNDECIDED,
            class: 0,
            hops: 0,
        };
        self.heads[node] = fabric.admit(packet, demand.generated_at);
        let output = fabric.ports() + node;
        let ready = fabric.outputs[output].free_at.max(demand.generated_at);
        fabric.wake_at(output, ready);
    }

    /// The node that sent a packet.
    pub(crate) fn source_of(&self, flow_id: u32) -> NodeId {
        self.traffic.source(flow_id)
    }

    /// The traffic's state.
    pub fn traffic(&self) -> &T {
        &self.traffic
    }

    /// Takes in what another partition has sent to this one.
    pub fn take_in(&mut self, mail: &mut Mail) {
        self.fabric.take_in(mail);
    }

    /// The shared state.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Compares paths by a snapshot of the network's congestion from now on.
    pub fn take_snapshot(&mut self, snapshot: Arc<Vec<u32>>) {
        self.fabric.take_snapshot(snapshot);
    }

    /// The routers' state.
    pub fn routers(&self) -> &R {
        &self.routers
    }

    /// By node, the generation time of the packet at the head of its queue, in ticks; none if it never sends again.
    pub fn next_generation_times(&self) -> impl Iterator<Item = (NodeId, Option<u64>)> + '_ {
        let time = |&packet: &u32| (packet != NONE).then(|| self.fabric.pool[packet].generated_at);
        self.fabric.nodes.iter().map(|&node| NodeId(node)).zip(self.heads.iter().map(time))
    }

    /// Counts bytes on channels by job from now on, if there is more than one.
    pub fn count_channels_of_jobs(&mut self, jobs: usize) {
        self.fabric.count_jobs(jobs);
    }

    /// Starts the counts of a job's bytes on each channel anew.
    pub fn clear_channels(&mut self, job: usize) {
        self.fabric.clear_sent(job);
    }

    /// Bytes of a job sent on each channel since the counts were cleared.
    pub fn channel_bytes(&self, job: usize) -> impl Iterator<Item = (topology::ChannelSource, u64)> + '_ {
        (0..self.fabric.outputs.len()).map(move |output| (self.fabric.source(output), self.fabric.sent(output, job)))
    }
}
