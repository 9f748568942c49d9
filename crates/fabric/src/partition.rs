//! One partition of a run: its routers, its sources, and the order of things within an instant.

use std::hint::black_box;
use std::sync::Arc;

use engine::Instant;
use routing::RouteState;
use units::NodeId;

use crate::desk::{Desk, Mail};
use crate::fabric::{ARRIVED, Fabric, lane};
use crate::packet::{NONE, Packet, UNDECIDED};
use crate::partition_map::PartitionMap;
use crate::plan::Plan;
use crate::routers::arbiter::Bits;
use crate::routers::{Landing, Routers};

/// What a source wants to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// When it was generated, in ticks; may lie in the future.
    pub birth: u64,
    /// The node that it is for.
    pub dst: NodeId,
    /// The packet's size in bytes.
    pub bytes: u32,
    /// What it carries for its routing.
    pub state: RouteState,
    /// What the traffic knows it by: the number of the node that sends it, unless the traffic hears of arrivals.
    pub origin: u32,
}

/// Something that happens to a traffic that hears of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// The tail of a packet has reached its node.
    Arrival {
        /// What the traffic knows the packet by.
        origin: u32,
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
pub struct Calls {
    wakes: Vec<u32>,
    alarms: Vec<(u64, u32, u32)>,
}

impl Calls {
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
}

/// The traffic of one partition's nodes: a queue without limit for each node, of which only the head exists; what is
/// behind it is regenerated from the node's stream.
pub trait Traffic: Send {
    /// The next packet of a node (by its number in the partition); asked at time 0, and at the time at which the one
    /// before has been sent. `None` if the node never sends again, or not before the traffic calls for it.
    fn next(&mut self, node: usize, now: u64) -> Option<Demand>;
    /// Reads what `next` will read, so that it is in a near cache then.
    fn before_next(&self, _node: usize) {}
    /// Whether it hears of arrivals, and calls and is called.
    fn hears(&self) -> bool {
        false
    }
    /// What happens before nodes are asked for their first packets, at time 0.
    fn begin(&mut self, _calls: &mut Calls) {}
    /// Something has happened to it. What happens at one instant comes in ascending order.
    fn happen(&mut self, _what: Happening, _now: u64, _calls: &mut Calls) {}
    /// The node that sends the packets that it knows by `origin`.
    fn source(&self, origin: u32) -> NodeId {
        NodeId(origin)
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
    instant: Instant<{ lane::COUNT }>,
    /// The arrivals at some routers, kept for its memory.
    landings: Vec<Landing>,
    /// What happens to the traffic in an instant, and what it asks for, kept for their memory.
    happenings: Vec<Happening>,
    calls: Calls,
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
            landings: Vec::new(),
            happenings: Vec::new(),
            calls: Calls::default(),
        };
        if partition.traffic.hears() {
            partition.fabric.tells_arrivals = true;
            partition.traffic.begin(&mut partition.calls);
            partition.calls.wakes.clear();
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
    pub fn run_until(&mut self, until: u64, desk: &mut Desk) {
        std::mem::swap(&mut self.fabric.desk, desk);
        let mut instant = std::mem::take(&mut self.instant);
        let mut now = self.fabric.wheel.now();
        while now < until {
            now = self.fabric.desk.tally.enter_batch(now).min(until);
            while self.fabric.wheel.next(now, &mut instant) {
                self.handle(&instant);
            }
        }
        self.instant = instant;
        self.fabric.desk.tally.leave_batch();
        std::mem::swap(&mut self.fabric.desk, desk);
    }

    /// One instant: credits and arrivals, then arbitration and departures.
    #[inline]
    fn handle(&mut self, instant: &Instant<{ lane::COUNT }>) {
        let now = instant.now;
        let fabric = &mut self.fabric;
        for event in &instant.lanes[lane::CREDIT] {
            fabric.take_credit(event.target, event.arg);
        }
        if fabric.spread {
            for event in &instant.lanes[lane::FREE] {
                self.routers.before_freed(fabric, event.target);
            }
        }
        for event in &instant.lanes[lane::FREE] {
            self.routers.freed(fabric, event.target, event.arg, now);
        }
        for event in &instant.lanes[lane::ARRIVAL] {
            // What is under way for long has grown cold: many at once are got sooner than one after the other.
            black_box(fabric.pool[event.arg].dst);
            fabric.mark_arrival(event.target, event.arg);
        }
        for event in &instant.lanes[lane::WAKE] {
            match event.arg {
                0 => fabric.woken(event.target),
                ARRIVED => self.happenings.push(Happening::Arrival { origin: event.target }),
                purpose => self.happenings.push(Happening::Alarm { target: event.target, purpose: purpose - FIRST }),
            }
        }
        if !self.happenings.is_empty() {
            self.tell_traffic(now);
        }
        // Nothing is marked while this goes on: what it causes comes later, as events.
        for group in 0..self.fabric.dirty_routers.groups() {
            for word in self.fabric.dirty_routers.take_group(group) {
                let routers = self.fabric.dirty_routers.take_word(word);
                if self.fabric.spread {
                    self.routers.before_serve(&self.fabric, word * 64, routers);
                    self.land_together(word * 64, routers, now);
                }
                for router in Bits(routers) {
                    self.handle_router(word * 64 + router, now);
                }
            }
        }
        for group in 0..self.fabric.dirty_nodes.groups() {
            for word in self.fabric.dirty_nodes.take_group(group) {
                let nodes = self.fabric.dirty_nodes.take_word(word);
                if self.fabric.spread {
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

    /// Tells the traffic what has happened in this instant, in an order that does not depend on how it came into memory.
    #[inline(never)]
    fn tell_traffic(&mut self, now: u64) {
        self.happenings.sort_unstable();
        for what in self.happenings.drain(..) {
            self.traffic.happen(what, now, &mut self.calls);
        }
        self.set_alarms();
        let mut wakes = std::mem::take(&mut self.calls.wakes);
        for node in wakes.drain(..) {
            if self.heads[node as usize] == NONE {
                self.next_demand(node as usize, now);
            }
        }
        self.calls.wakes = wakes;
    }

    fn set_alarms(&mut self) {
        for (at, target, purpose) in self.calls.alarms.drain(..) {
            self.fabric.wheel.insert(at, lane::WAKE, target, purpose + FIRST);
        }
    }

    #[inline(always)]
    fn handle_router(&mut self, router: usize, now: u64) {
        let Self { fabric, routers: inside, .. } = self;
        fabric.each_arrival(router, |fabric, mut landing| {
            fabric.decide(&mut landing);
            inside.land(fabric, &landing, now);
        });
        inside.serve(fabric, router, now);
    }

    /// Lands what has arrived at some of the routers from `first` on, in the order of ports.
    #[inline(never)]
    fn land_together(&mut self, first: usize, routers: u64, now: u64) {
        let Self { fabric, routers: inside, landings, .. } = self;
        // In steps, each over all of them, so that much of the memory that a step needs is under way at once.
        for router in Bits(routers) {
            fabric.each_arrival(first + router, |_, landing| landings.push(landing));
        }
        for landing in landings.iter() {
            black_box(fabric.pool[landing.packet].dst);
            let input = (landing.base as usize + landing.port as usize) << fabric.plan.vc_shift | landing.vc as usize;
            inside.before_input(fabric, input);
        }
        for landing in landings.iter_mut() {
            fabric.decide(landing);
        }
        for landing in landings.iter() {
            inside.before_output(fabric, landing.base as usize + landing.out as usize);
        }
        for landing in landings.drain(..) {
            inside.land(fabric, &landing, now);
        }
    }

    /// Reads what `inject` will read.
    #[inline(always)]
    fn before_inject(&self, node: usize) {
        let packet = self.heads[node];
        if packet != NONE {
            black_box(self.fabric.pool[packet].birth);
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
        let sender = self.fabric.ports() + node;
        let ready = self.fabric.senders[sender].free_at.max(self.fabric.pool[packet].birth);
        if ready > now {
            self.fabric.wake_at(sender, ready);
            return;
        }
        let Some(vc) = self.fabric.ready_vc(sender, packet) else {
            self.fabric.block(sender);
            return;
        };
        self.fabric.desk.tally.injected(&self.fabric.pool[packet]);
        let bytes = self.fabric.pool[packet].bytes;
        self.fabric.transmit(sender, (packet, bytes), vc, now);
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
            birth: demand.birth,
            origin: demand.origin,
            dst: demand.dst.0,
            state: demand.state,
            bytes: demand.bytes,
            next: NONE,
            out: UNDECIDED,
            class: 0,
            hops: 0,
        };
        self.heads[node] = fabric.admit(packet, demand.birth);
        let sender = fabric.ports() + node;
        let ready = fabric.senders[sender].free_at.max(demand.birth);
        fabric.wake_at(sender, ready);
    }

    /// The node that sent a packet.
    pub(crate) fn source_of(&self, origin: u32) -> NodeId {
        self.traffic.source(origin)
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

    /// Has ways weighed by a snapshot of the network's congestion from now on.
    pub fn take_snapshot(&mut self, snapshot: Arc<Vec<u32>>) {
        self.fabric.take_snapshot(snapshot);
    }

    /// The routers' state.
    pub fn routers(&self) -> &R {
        &self.routers
    }

    /// The births of the packets at the heads of the nodes' queues, in ticks; nodes that never send again are left out.
    pub fn next_births(&self) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        let nodes = self.fabric.nodes.iter().map(|&node| NodeId(node));
        let heads = nodes.zip(&self.heads).filter(|&(_, &packet)| packet != NONE);
        heads.map(|(node, &packet)| (node, self.fabric.pool[packet].birth))
    }

    /// Starts the counts of bytes on each channel anew.
    pub fn clear_channels(&mut self) {
        self.fabric.clear_sent();
    }

    /// Bytes sent on each channel since the counts were cleared.
    pub fn channel_bytes(&self) -> impl Iterator<Item = (topology::ChannelSource, u64)> + '_ {
        (0..self.fabric.senders.len()).map(|s| (self.fabric.source(s), self.fabric.sent(s)))
    }
}
