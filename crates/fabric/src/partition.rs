//! Partition of a run: its routers, its sources, and the order of steps within an instant.

mod visits;

use std::sync::Arc;

use engine::{Bits, Event, Instant};
use topology::ChannelSource;
use units::{NodeId, State};

use crate::channel_use::ChannelUse;
use crate::context::{Mail, WorkerContext};
use crate::event_log::LoggedEvent;
use crate::fabric::{Arrival, Fabric, Outgoing, Reports, event_kind, notify};
use crate::index::PacketSlot;
use crate::notices::Notices;
use crate::packet::{Head, Packet};
use crate::partition_map::PartitionMap;
use crate::plan::Plan;
use crate::profile::{General, Plain, Profile};
use crate::routers::Routers;
use crate::target::Target;
use crate::traffic::{Actions, Alarm, Posted, Traffic, TrafficEvent};
use crate::transmissions::Transmission;

/// Partition of a run.
#[derive(Clone, Debug)]
pub struct Partition<R, T> {
    fabric: Fabric,
    routers: R,
    traffic: T,
    /// Packet at the head of each node's source queue.
    heads: Vec<Head>,
    instant: Instant<{ event_kind::COUNT }>,
    /// Arrivals at the routers that are visited. Kept to avoid allocation.
    arrivals: Vec<Arrival>,
    /// Copies of a multicast packet. Kept to avoid allocation.
    copies: Vec<Arrival>,
    /// Packets that combine units have combined in an instant.
    combined: Vec<PacketSlot>,
    /// Events of which the traffic is notified in an instant.
    traffic_events: Vec<TrafficEvent>,
    /// Requests of the traffic.
    actions: Actions,
    notices: Notices,
}
units::state!(generic [R: State, T: State] Partition<R, T> {
    fabric, routers, traffic, heads, actions, notices;
    rebuilt instant, arrivals, copies, combined, traffic_events
});

impl<R: Routers, T: Traffic> Partition<R, T> {
    /// Creates a partition at time 0, with its sources about to start.
    pub fn new(
        plan: &Arc<Plan>,
        map: &PartitionMap,
        part: usize,
        routers: impl FnOnce(&Fabric) -> R,
        traffic: T,
    ) -> Self {
        let fabric = Fabric::new(Arc::clone(plan), map, part);
        let routers = routers(&fabric);
        let (nodes, units) = (fabric.nodes.len(), fabric.unit_count());
        let mut partition = Self {
            fabric,
            routers,
            traffic,
            // Combine units send too. They are numbered after the nodes, and the traffic gives them nothing.
            heads: vec![Head::NONE; nodes + units],
            instant: Instant::default(),
            arrivals: Vec::new(),
            copies: Vec::new(),
            combined: Vec::new(),
            traffic_events: Vec::new(),
            actions: Actions::default(),
            notices: Notices::default(),
        };
        if partition.traffic.wants_events() {
            partition.fabric.reports = Some(Reports::default());
            partition.traffic.begin(0, &mut partition.actions);
            partition.actions.wakes.clear();
            partition.set_alarms();
        }
        for node in 0..nodes {
            partition.next_demand(node, 0);
        }
        partition
    }

    /// Reads the state of all channels and packets once. This pays if other partitions have evicted it from the cache.
    pub fn before_window(&self) {
        self.fabric.before_window();
        self.routers.before_window();
    }

    /// Handles all events before tick `until`, and closes the batches that end by then.
    pub fn run_until(&mut self, until: u64, context: &mut WorkerContext) {
        std::mem::swap(&mut self.fabric.context, context);
        // Notices that the traffic sent from `begin`, when there was no context to send them with.
        if !self.actions.notices.is_empty() {
            self.send_notices();
        }
        if self.fabric.is_plain() && self.routers.is_plain() {
            self.handle_until::<Plain>(until);
        } else {
            self.handle_until::<General>(until);
        }
        self.fabric.context.counters.leave_batch();
        std::mem::swap(&mut self.fabric.context, context);
    }

    /// Handles all instants before tick `until`. Compiled separately for plain networks (`Fabric::is_plain`).
    fn handle_until<P: Profile>(&mut self, until: u64) {
        let mut instant = std::mem::take(&mut self.instant);
        let mut now = self.fabric.wheel.now();
        while now < until {
            now = self.fabric.context.counters.enter_batch(now).min(until);
            while self.fabric.wheel.next(now, &mut instant) {
                self.handle::<P>(&instant);
            }
        }
        self.instant = instant;
    }

    /// Handles instants before tick `until`. It stops after the first one at or after tick `from`, or after the one in
    /// which the packet of number `delivered` leaves its last router. Returns the time of the last one. `None`: there is
    /// none before `until`, and the clock is at `until`. Unlike `run_until` it counts no batches. Events are appended to
    /// `log`.
    pub fn step(
        &mut self,
        (from, until): (u64, u64),
        delivered: u64,
        context: &mut WorkerContext,
        mut log: Option<&mut Vec<LoggedEvent>>,
    ) -> Option<u64> {
        std::mem::swap(&mut self.fabric.context, context);
        let mut instant = std::mem::take(&mut self.instant);
        let mut last = None;
        while self.fabric.wheel.next(until, &mut instant) {
            if let Some(log) = log.as_deref_mut() {
                self.fabric.log_events(&instant, log);
            }
            self.handle::<General>(&instant);
            last = Some(instant.now);
            if instant.now >= from || self.fabric.context.counters.total_delivered >= delivered {
                break;
            }
        }
        self.instant = instant;
        std::mem::swap(&mut self.fabric.context, context);
        last
    }

    /// Handles one instant: first credits, freed space, arrivals and wake-ups, then arbitration and departures. Each
    /// step is a separate function that is not inlined here, so that its values stay in registers.
    #[inline]
    fn handle<P: Profile>(&mut self, instant: &Instant<{ event_kind::COUNT }>) {
        let now = instant.now;
        self.fabric.take_credits::<P>(&instant.kinds[event_kind::CREDIT]);
        for event in &instant.kinds[event_kind::FREE] {
            let space = self.routers.space(event.target);
            self.fabric.free::<P>(&mut self.routers, space, event.arg, now);
        }
        // Nobody takes space before all of it is freed, so that the order of events cannot matter.
        for event in &instant.kinds[event_kind::FREE] {
            let space = self.routers.space(event.target);
            self.routers.space_freed(&mut self.fabric, space, now);
        }
        self.fabric.mark_arrivals::<P>(R::VISITED_TOGETHER, &instant.kinds[event_kind::ARRIVAL]);
        self.take_wakes::<P>(&instant.kinds);
        self.take_notifications(&instant.kinds[event_kind::TRAFFIC]);
        if !self.traffic_events.is_empty() {
            self.notify_traffic(now);
        }
        self.visit_routers::<P>(instant.kinds[event_kind::ARRIVAL].len(), now);
        self.visit_nodes::<P>(now);
    }

    /// Marks ports whose links or sides of crossbars are free, and for which packets wait.
    #[inline(never)]
    fn take_wakes<P: Profile>(&mut self, events: &[Vec<Event>; event_kind::COUNT]) {
        let Self { fabric, routers, .. } = self;
        for event in &events[event_kind::LINK] {
            fabric.link_woken::<P>(event.target as usize);
        }
        for side in [event_kind::OUTPUT_SIDE, event_kind::INPUT_SIDE] {
            if fabric.params.exceeds_cache {
                for event in &events[side] {
                    routers.before_side(fabric, event.target as usize);
                }
            }
            for event in &events[side] {
                routers.side_woken::<P>(fabric, event.target as usize, side);
            }
        }
    }

    /// Collects the events of which the traffic is to be notified.
    #[inline(always)]
    fn take_notifications(&mut self, events: &[Event]) {
        let Self { fabric, traffic_events, notices, combined, .. } = self;
        for event in events {
            traffic_events.push(match event.arg {
                notify::DELIVERED => fabric.reported(PacketSlot(event.target)),
                notify::COMBINED => {
                    combined.push(PacketSlot(event.target));
                    continue;
                }
                notify::NOTICE => TrafficEvent::Notice(notices.take(event.target)),
                alarm => TrafficEvent::Alarm { target: event.target, purpose: alarm - notify::ALARM },
            });
        }
        if !combined.is_empty() {
            fabric.combine(combined);
        }
    }

    /// Visits every marked node.
    #[inline(never)]
    fn visit_nodes<P: Profile>(&mut self, now: u64) {
        for word in self.fabric.work.nodes.take_words() {
            let nodes = self.fabric.work.nodes.take_word(word);
            if self.fabric.params.exceeds_cache {
                self.fabric.before_injections(word * 64, nodes, &self.heads);
                Bits(nodes).for_each(|node| self.traffic.before_next(word * 64 + node));
            }
            for node in Bits(nodes) {
                self.inject::<P>(word * 64 + node, now);
            }
        }
    }

    /// Notifies the traffic of the events of this instant, in an order that does not depend on memory.
    #[inline(never)]
    fn notify_traffic(&mut self, now: u64) {
        self.traffic_events.sort_unstable();
        for what in self.traffic_events.drain(..) {
            self.traffic.on_event(what, now, &mut self.actions);
        }
        self.carry_out(now);
    }

    /// Lets `visit` change the traffic between windows, and carries out the requests that it makes.
    pub fn visit_traffic(&mut self, visit: impl FnOnce(&mut T, &mut Actions)) {
        visit(&mut self.traffic, &mut self.actions);
        self.carry_out(self.fabric.wheel.now());
    }

    /// Carries out the requests of the traffic.
    fn carry_out(&mut self, now: u64) {
        self.set_alarms();
        self.send_notices();
        let mut wakes = std::mem::take(&mut self.actions.wakes);
        for node in wakes.drain(..) {
            if self.heads[node as usize].packet == PacketSlot::NONE {
                self.next_demand(node as usize, now);
            } else {
                self.replace_head(node as usize, now);
            }
        }
        self.actions.wakes = wakes;
    }

    /// Asks a node again for its next packet, if its present head is not due yet and can be taken back.
    fn replace_head(&mut self, node: usize, now: u64) {
        let Head { packet, release } = self.heads[node];
        if release <= now || !self.traffic.take_back(node) {
            return;
        }
        self.fabric.discard(packet);
        self.next_demand(node, now);
        let head = self.heads[node];
        if head.packet != PacketSlot::NONE {
            // The node is woken at the old time too, which does no harm: it sends nothing that is not due.
            let output = self.fabric.ports() + node;
            let ready = self.fabric.outputs[output].free_at.max(head.release);
            self.fabric.wheel.insert(ready, event_kind::LINK, output as u32, 0);
        }
    }

    /// Sends the notices of the traffic: by mail, or directly within this partition.
    fn send_notices(&mut self) {
        for Posted { partition, at, notice } in self.actions.notices.drain(..) {
            if partition == self.fabric.part {
                self.notices.insert(&mut self.fabric.wheel, at, notice);
            } else {
                self.fabric.context.outbox[partition as usize].notice(at, notice);
            }
        }
    }

    /// Sets the alarms that the traffic has requested.
    fn set_alarms(&mut self) {
        for Alarm { at, target, purpose } in self.actions.alarms.drain(..) {
            self.fabric.wheel.insert(at, event_kind::TRAFFIC, target, purpose + notify::ALARM);
        }
    }

    /// Sends a node's next packet, if it can be sent.
    #[inline]
    fn inject<P: Profile>(&mut self, node: usize, now: u64) {
        let Head { packet, release } = self.heads[node];
        if packet == PacketSlot::NONE {
            return self.inject_result(node, now);
        }
        let output = self.fabric.ports() + node;
        let ready = self.fabric.outputs[output].free_at.max(release);
        if ready > now {
            self.fabric.wake_at(output, ready);
            return;
        }
        let bytes = self.fabric.pool[packet].bytes;
        // Packets are injected on class 0.
        let Some(vc) = self.fabric.ready_vc(output, packet, (0, bytes)) else {
            self.fabric.block(output);
            return;
        };
        self.fabric.inject::<P>(output, Outgoing { packet, bytes, vc }, now);
        self.next_demand(node, now);
    }

    /// Sends the next packet of a combine unit, which counts as a node after all others. Does nothing for a node.
    #[inline(never)]
    fn inject_result(&mut self, node: usize, now: u64) {
        if let Some(unit) = node.checked_sub(self.fabric.nodes.len()) {
            self.fabric.send_result(unit, now);
        }
    }

    /// Draws the next packet of a node, and wakes the node when the packet is due.
    fn next_demand(&mut self, node: usize, now: u64) {
        let Some(demand) = self.traffic.next(node, now, &mut self.actions) else {
            self.heads[node] = Head::NONE;
            self.set_alarms();
            return;
        };
        let fabric = &mut self.fabric;
        let generated_at = demand.generated_at * fabric.params.units_per_tick + demand.part;
        let dst = if let Target::Node(node) = demand.to { node } else { NodeId::default() };
        let packet = Packet::new(generated_at, demand.flow_id, dst, (demand.state, demand.bytes));
        debug_assert!(
            demand.release >= demand.generated_at + u64::from(demand.part > 0),
            "sent before it is generated"
        );
        let place = fabric.admit(packet, demand.release);
        match demand.to {
            Target::Node(_) => {}
            Target::Members => fabric.address(place, self.traffic.members(node).iter().copied()),
            Target::Tree => {
                if let Some(of) = self.traffic.tree_packet(node) {
                    fabric.send_by_tree(place, NodeId(fabric.nodes[node]), of);
                }
            }
        }
        self.heads[node] = Head { packet: place, release: demand.release };
        let output = fabric.ports() + node;
        let ready = fabric.outputs[output].free_at.max(demand.release);
        fabric.wake_at(output, ready);
        if fabric.reports.is_some() {
            fabric.mark_packet(place, demand.mark);
            self.set_alarms();
        }
    }

    /// Returns the node that sent a packet.
    pub(crate) fn source_of(&self, flow_id: u32) -> NodeId {
        self.traffic.source(flow_id)
    }

    /// Returns the traffic.
    pub fn traffic(&self) -> &T {
        &self.traffic
    }

    /// Takes in the mail that another partition has sent to this one.
    pub fn take_in(&mut self, mail: &mut Mail) {
        for (at, notice) in mail.notices() {
            self.notices.insert(&mut self.fabric.wheel, at, notice);
        }
        self.fabric.take_in(mail);
    }

    /// Returns the state that all architectures share.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Sets the snapshot of the network's congestion by which paths are compared from now on.
    pub fn take_snapshot(&mut self, snapshot: Arc<Vec<u64>>) {
        self.fabric.take_snapshot(snapshot);
    }

    /// Returns the state of the routers.
    pub fn routers(&self) -> &R {
        &self.routers
    }

    /// Returns the state of the routers, to set their pointers between two instants.
    pub fn routers_mut(&mut self) -> &mut R {
        &mut self.routers
    }

    /// Returns the packet at the head of each node's queue.
    pub(crate) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// Iterates over the nodes with the generation time of the packet at the head of their queues, in ticks, rounded
    /// down. `None`: the node never sends again.
    pub fn next_generation_times(&self) -> impl Iterator<Item = (NodeId, Option<u64>)> + '_ {
        let units = self.fabric.params.units_per_tick;
        let time = move |&Head { packet, .. }: &Head| {
            (packet != PacketSlot::NONE).then(|| self.fabric.pool[packet].generated_at / units)
        };
        self.fabric.nodes.iter().map(|&node| NodeId(node)).zip(self.heads.iter().map(time))
    }

    /// Counts bytes on channels by job from now on, if there is more than one.
    pub fn count_channels_of_jobs(&mut self, jobs: usize) {
        self.fabric.count_jobs(jobs);
    }

    /// Logs the transmissions of a job from now on. The deliveries of the job must be reported.
    pub fn log_transmissions(&mut self, job: usize) {
        debug_assert!(self.fabric.reports.is_some(), "packets are known by their marks");
        if let Some(reports) = &mut self.fabric.reports {
            reports.transmissions.get_or_insert_default().add_job(job);
        }
    }

    /// Returns the log of all jobs, each entry with the source of its channel, and the number of transmissions. The log
    /// is empty if there were too many.
    pub fn transmissions(&self) -> (Vec<(Transmission, ChannelSource)>, usize) {
        let log = self.fabric.reports.as_ref().and_then(|reports| reports.transmissions.as_ref());
        let Some(log) = log else { return (Vec::new(), 0) };
        let (logged, count) = log.logged(|output| self.fabric.source(output));
        (logged.collect(), count)
    }

    /// Resets the counts of a job's bytes on each channel at tick `at`.
    pub fn clear_channels(&mut self, job: usize, at: u64) {
        self.fabric.clear_sent(job, at);
    }

    /// Returns the longest time for which packets have waited at any one combine unit, in ticks. Packets that still
    /// wait are left out.
    pub fn longest_wait(&self) -> u64 {
        self.fabric().longest_wait()
    }

    /// Iterates over the channels with their use by a job, from the last reset of the counts to tick `until`.
    pub fn channel_use(&self, job: usize, until: u64) -> impl Iterator<Item = (ChannelSource, ChannelUse)> + '_ {
        let channels = (0..self.fabric.outputs.len()).filter(|&output| self.fabric.is_channel(output));
        channels.map(move |output| (self.fabric.source(output), self.fabric.channel_use(output, job, until)))
    }
}
