//! The state of one partition that all router architectures share: packets, links, credits and the event wheel.
//!
//! Everything is a flat array indexed by port. A *sender* is the near end of a channel (a router's output or a node's
//! injection), a *receiver* the far end at a router's input; both carry the number of their port. A hop costs one
//! arrival, one credit, and a wake-up only for an output whose queue is not empty when its link falls free: the times
//! at which links are free are read, not waited for.

use std::sync::Arc;

use engine::{Owner, Stream, Wheel};
use routing::{Choice, Hop, Route};
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::{ChannelId, Draw, NodeId, PortId, RouterId, VcId};

use crate::catalogue::CreditRule;
use crate::packet::{NONE, Packet, Pool, UNDECIDED};
use crate::partition_map::{PartitionMap, Place};
use crate::plan::Plan;
use crate::routers::Landing;
use crate::tally::Tally;

/// The lanes of the wheel, in the order in which an instant handles them.
pub(crate) mod lane {
    /// A credit has come back: target the counter, argument the bytes.
    pub const CREDIT: usize = 0;
    /// A buffer's space falls free: target and argument are the router architecture's.
    pub const FREE: usize = 1;
    /// A packet's head has passed a router's delay: target (port, virtual channel), argument the packet.
    pub const ARRIVAL: usize = 2;
    /// A sender may go on: target the sender.
    pub const WAKE: usize = 3;
    /// The number of lanes.
    pub const COUNT: usize = 4;
}

/// A sender's channel leads to a node.
const SINK: u16 = u16::MAX;
/// A sender's channel leads nowhere, and nothing may be sent.
const NOWHERE: u16 = u16::MAX - 1;

/// The near end of a channel. One cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Sender {
    /// The link is free from this time on.
    pub free_at: u64,
    /// Bytes sent since the counters were last cleared.
    pub sent: u64,
    /// From the head leaving to the head arriving; routers' delay included where it leads to a router.
    ahead: u64,
    /// Serialization of the largest packet.
    full: u64,
    /// Bytes in this router that wait for this channel.
    pub queued: u32,
    /// The far end's port in its partition.
    target: u32,
    /// The far end's partition, or `SINK` or `NOWHERE`.
    partition: u16,
    /// The candidate that was served last, for taking turns.
    pub last: u16,
    class: ChannelClass,
    /// A wake-up is under way.
    waking: bool,
    /// Packets wait, and none of them has credit.
    blocked: bool,
}

/// The far end of a channel at a router's input.
#[derive(Clone, Debug)]
struct Receiver {
    /// The router, by its number in this partition.
    router: u32,
    port: u16,
    /// The partition of the sender.
    partition: u16,
    /// The sender, in its partition.
    sender: u32,
    /// The first of the sender's credit counters, in its partition.
    counters: u32,
    class: ChannelClass,
    /// Delay of a credit back to the sender.
    delay: u64,
}

/// A router of this partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalRouter {
    pub id: RouterId,
    /// The number of its first port.
    pub base: u32,
    pub ports: u16,
}

/// What one partition sends to another: at the end of a window it changes hands.
#[derive(Debug, Default)]
pub struct Mail {
    /// Packets: time, input (port and virtual channel), packet.
    arrivals: Vec<(u64, u32, Packet)>,
    /// Credits: time, counter, bytes.
    credits: Vec<(u64, u32, u32)>,
}

/// The shared state of a partition.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) plan: Arc<Plan>,
    /// The number of this partition.
    part: u16,
    pub(crate) pool: Pool,
    pub(crate) wheel: Wheel<{ lane::COUNT }>,
    pub(crate) routers: Vec<LocalRouter>,
    /// The nodes of this partition.
    pub(crate) nodes: Vec<u32>,
    /// Outputs of all routers, then injection channels.
    pub(crate) senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// Credits in bytes: by sender and virtual channel (and the next router's output, where the rule counts those).
    credits: Vec<i32>,
    /// Bits of an index into `credits` below the sender's.
    credit_shift: u32,
    /// Bits of an index into `credits` below the virtual channel's.
    ahead_shift: u32,
    /// A stream for each router.
    streams: Vec<Stream>,
    /// A stream for each node's choices ahead; only where the credit rule needs them.
    node_streams: Vec<Stream>,
    /// Words of a mask of ports.
    pub(crate) words: usize,
    /// Inputs at which a packet has arrived in this instant, by router.
    pub(crate) arrived: Vec<u64>,
    /// Outputs that may be able to send in this instant, by router.
    pub(crate) active: Vec<u64>,
    /// The packet that has arrived at an input, and its virtual channel.
    pub(crate) arrival: Vec<(u32, u32)>,
    dirty: Vec<bool>,
    pub(crate) dirty_routers: Vec<u32>,
    pub(crate) dirty_nodes: Vec<u32>,
    /// What is to be sent to each other partition at the end of the window.
    pub(crate) outbox: Vec<Mail>,
    /// What has been counted.
    pub tally: Tally,
    rule: CreditRule,
    /// Copies of the plan's, at hand: virtual channels of a class, bits of a virtual channel, the largest packet.
    lanes: u8,
    vc_shift: u32,
    full_bytes: u32,
    /// A buffer always falls free as the packet's head leaves.
    pub(crate) frees_at_once: bool,
}

impl Fabric {
    /// The shared state of one part of a network.
    pub fn new(plan: Arc<Plan>, map: &PartitionMap, part: usize) -> Self {
        let ports = map.ports(part) as usize;
        let nodes = map.nodes(part).to_vec();
        let rule = plan.credit_rule();
        let ahead_shift = match rule {
            CreditRule::PerCrosspoint => u32::from(plan.max_ports).next_power_of_two().trailing_zeros(),
            _ => 0,
        };
        let credit_shift = plan.vc_shift + ahead_shift;
        let words = usize::from(plan.max_ports).div_ceil(64).max(1);
        let routers = local_routers(&plan, map, part);
        let senders = senders(&plan, map, part);
        Self {
            part: part as u16,
            pool: Pool::new(),
            wheel: Wheel::new(plan.horizon()),
            receivers: receivers(&plan, map, &routers, credit_shift),
            credits: vec![plan.depth as i32; senders.len() << credit_shift],
            credit_shift,
            ahead_shift,
            streams: routers.iter().map(|r| Stream::new(plan.seed, Owner::Router(r.id.0))).collect(),
            node_streams: match rule {
                CreditRule::PerCrosspoint => {
                    nodes.iter().map(|&n| Stream::new(plan.seed, Owner::Injector(n))).collect()
                }
                _ => Vec::new(),
            },
            words,
            arrived: vec![0; routers.len() * words],
            active: vec![0; routers.len() * words],
            arrival: vec![(0, 0); ports],
            dirty: vec![false; routers.len()],
            dirty_routers: Vec::new(),
            dirty_nodes: Vec::new(),
            outbox: (0..map.parts()).map(|_| Mail::default()).collect(),
            tally: Tally::new(plan.topology.nodes()),
            routers,
            nodes,
            senders,
            rule,
            lanes: plan.lanes,
            vc_shift: plan.vc_shift,
            full_bytes: plan.packet,
            frees_at_once: plan.frees_at_once(),
            plan,
        }
    }

    /// The number of ports of this partition: the first injection sender.
    #[inline]
    pub(crate) fn ports(&self) -> usize {
        self.receivers.len()
    }

    // --- marking what an instant concerns -------------------------------------------------------------------------

    /// Marks the owner of a sender: it may be able to send.
    #[inline(always)]
    pub(crate) fn mark_sender(&mut self, sender: u32) {
        if (sender as usize) < self.receivers.len() {
            let receiver = &self.receivers[sender as usize];
            let (router, port) = (receiver.router as usize, receiver.port as usize);
            self.active[router * self.words + (port >> 6)] |= 1 << (port & 63);
            self.mark_router(router);
        } else {
            self.dirty_nodes.push(sender - self.receivers.len() as u32);
        }
    }

    /// Notes a packet's arrival at an input, given as (port, virtual channel) in one number.
    #[inline(always)]
    pub(crate) fn mark_arrival(&mut self, input: u32, packet: u32) {
        let place = (input >> self.vc_shift) as usize;
        let receiver = &self.receivers[place];
        let (router, port) = (receiver.router as usize, receiver.port as usize);
        self.arrival[place] = (packet, input & ((1 << self.vc_shift) - 1));
        self.arrived[router * self.words + (port >> 6)] |= 1 << (port & 63);
        self.mark_router(router);
    }

    #[inline(always)]
    fn mark_router(&mut self, router: usize) {
        if !self.dirty[router] {
            self.dirty[router] = true;
            self.dirty_routers.push(router as u32);
        }
    }

    /// Forgets the mark of a router that is being handled.
    #[inline]
    pub(crate) fn unmark_router(&mut self, router: usize) {
        self.dirty[router] = false;
    }

    // --- credits --------------------------------------------------------------------------------------------------

    /// Takes a credit in; a sender that waited for one is marked.
    #[inline(always)]
    pub(crate) fn take_credit(&mut self, counter: u32, bytes: u32) {
        self.credits[counter as usize] += bytes as i32;
        let sender = counter >> self.credit_shift;
        if self.senders[sender as usize].blocked {
            self.senders[sender as usize].blocked = false;
            self.mark_sender(sender);
        }
    }

    /// Gives credit for an input's buffer back to its sender; `out` is the crosspoint, where the rule counts those.
    #[inline(always)]
    pub(crate) fn release(&mut self, input: u32, out: u16, bytes: u32, at: u64) {
        let receiver = &self.receivers[(input >> self.vc_shift) as usize];
        let vc = input & ((1 << self.vc_shift) - 1);
        let slot = match self.rule {
            CreditRule::PerCrosspoint => vc << self.ahead_shift | u32::from(out),
            _ => vc,
        };
        let counter = receiver.counters | slot;
        let at = at + receiver.delay;
        if receiver.partition == self.part {
            self.wheel.insert(at, lane::CREDIT, counter, bytes);
        } else {
            self.outbox[receiver.partition as usize].credits.push((at, counter, bytes));
        }
    }

    /// The virtual channel on which a packet can leave by a sender now, if there is one: of its class's lanes the one
    /// with the most credit, the lowest of equals.
    #[inline(always)]
    pub(crate) fn ready_vc(&mut self, sender: usize, packet: u32) -> Option<u8> {
        let Packet { class, bytes, .. } = self.pool[packet];
        if self.senders[sender].partition == SINK {
            return Some(0);
        }
        if self.rule == CreditRule::PerCrosspoint {
            return self.ready_ahead(sender, packet);
        }
        let first = class * self.lanes;
        let base = sender << self.credit_shift;
        if self.lanes == 1 {
            return (self.credits[base + first as usize] >= bytes as i32).then_some(first);
        }
        self.best_lane(base, first, bytes)
    }

    /// Whether a virtual channel has credit for so many bytes.
    #[inline]
    pub(crate) fn has_credit(&self, sender: usize, vc: u8, bytes: u32) -> bool {
        self.senders[sender].partition == SINK
            || self.credits[sender << self.credit_shift | vc as usize] >= bytes as i32
    }

    /// Of a class's lanes with room the one with the most credit.
    fn best_lane(&self, base: usize, first: u8, bytes: u32) -> Option<u8> {
        let mut best = (bytes as i32 - 1, None);
        for vc in first..first + self.lanes {
            let credit = self.credits[base + vc as usize];
            if credit > best.0 {
                best = (credit, Some(vc));
            }
        }
        best.1
    }

    /// The same where credits are counted for each crosspoint: chooses the next router's output too, and keeps that
    /// choice once it does not depend on credits any more.
    fn ready_ahead(&mut self, sender: usize, packet: u32) -> Option<u8> {
        let Packet { class, bytes, dst, state, .. } = self.pool[packet];
        let (router, port) = self.far_end(sender)?;
        let lanes = self.lanes;
        for vc in class * lanes..(class + 1) * lanes {
            let mut hop = Hop { dst: NodeId(dst), state, in_port: port, vc: VcId(class) };
            let route = self.plan.routing.route(router, &mut hop);
            let base = (sender << self.credit_shift) + ((vc as usize) << self.ahead_shift);
            let chosen = match route.choice {
                Choice::LeastLoaded if route.count > 1 => self.most_credit(sender, base, &route, bytes),
                _ => self.fixed_ahead(sender, base, &route, packet, bytes),
            };
            if let Some(out) = chosen {
                self.pool[packet].out = out;
                return Some(vc);
            }
        }
        None
    }

    /// Of a route's crosspoints with room the one with the most, ties at random.
    fn most_credit(&mut self, sender: usize, base: usize, route: &Route, bytes: u32) -> Option<u16> {
        let plan = Arc::clone(&self.plan);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let most = outs().map(|out| self.credits[base + out as usize]).max()?;
        if most < bytes as i32 {
            return None;
        }
        let ties = outs().filter(|&out| self.credits[base + out as usize] == most).count() as u32;
        let pick = if ties > 1 { self.stream_of(sender).below(ties) } else { 0 };
        outs().filter(|&out| self.credits[base + out as usize] == most).nth(pick as usize)
    }

    /// An oblivious choice ahead: drawn once for a packet and kept while it waits.
    fn fixed_ahead(&mut self, sender: usize, base: usize, route: &Route, packet: u32, bytes: u32) -> Option<u16> {
        let kept = self.pool[packet].out;
        let out = if kept != UNDECIDED {
            kept
        } else if route.count == 1 {
            route.first.0
        } else {
            let pick = self.stream_of(sender).below(u32::from(route.count)) as u16;
            route.port(pick, self.plan.routing.port_lists()).0
        };
        self.pool[packet].out = out;
        (self.credits[base + out as usize] >= bytes as i32).then_some(out)
    }

    /// The stream that the owner of a sender draws from.
    fn stream_of(&mut self, sender: usize) -> &mut Stream {
        if sender < self.receivers.len() {
            &mut self.streams[self.receivers[sender].router as usize]
        } else {
            &mut self.node_streams[sender - self.receivers.len()]
        }
    }

    /// The router and port that a sender's channel leads to.
    fn far_end(&self, sender: usize) -> Option<(RouterId, PortId)> {
        let end = match self.source(sender) {
            ChannelSource::Router(router, port) => self.plan.topology.endpoint(router, port),
            ChannelSource::Node(node) => {
                let (router, port) = self.plan.topology.attachment(node);
                Endpoint::Router(router, port)
            }
        };
        match end {
            Endpoint::Router(router, port) => Some((router, port)),
            _ => None,
        }
    }

    /// Where a sender's channel starts.
    pub(crate) fn source(&self, sender: usize) -> ChannelSource {
        if sender >= self.receivers.len() {
            return ChannelSource::Node(NodeId(self.nodes[sender - self.receivers.len()]));
        }
        let receiver = &self.receivers[sender];
        ChannelSource::Router(self.routers[receiver.router as usize].id, PortId(receiver.port))
    }

    // --- routing --------------------------------------------------------------------------------------------------

    /// Decides by which output a packet that has landed will leave, and notes output and class in it. Returns the
    /// output and the packet's size.
    #[inline(always)]
    pub(crate) fn decide(&mut self, landing: &Landing) -> (u16, u32) {
        let Landing { router, id, base, port, vc, packet } = *landing;
        let place = &mut self.pool[packet];
        let class = if self.lanes == 1 { vc as u8 } else { vc as u8 / self.lanes };
        let mut hop = Hop { dst: NodeId(place.dst), state: place.state, in_port: PortId(port), vc: VcId(class) };
        let route = self.plan.routing.route(id, &mut hop);
        let bytes = place.bytes;
        place.state = hop.state;
        place.class = route.vc.0;
        place.hops += 1;
        place.next = NONE;
        if self.rule == CreditRule::PerCrosspoint {
            // The sender has chosen; the place is free for this router's own choice ahead.
            return (std::mem::replace(&mut place.out, UNDECIDED), bytes);
        }
        if route.count == 1 {
            place.out = route.first.0;
            return (route.first.0, bytes);
        }
        let out = self.choose(router, base as usize, &route);
        self.pool[packet].out = out;
        (out, bytes)
    }

    fn choose(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        if route.choice == Choice::Random {
            let pick = self.streams[router].below(u32::from(route.count)) as u16;
            return route.port(pick, self.plan.routing.port_lists()).0;
        }
        if route.list != Route::CONSECUTIVE {
            return self.choose_listed(router, base, route);
        }
        let first = base + route.first.0 as usize;
        let now = self.now();
        let full = self.full_bytes;
        let mut least = u32::MAX;
        let mut ties = 0;
        let mut best = 0;
        for (offset, sender) in self.senders[first..first + route.count as usize].iter().enumerate() {
            let load = sender.congestion(now, full);
            if load < least {
                (least, ties, best) = (load, 1, offset as u16);
            } else if load == least {
                ties += 1;
            }
        }
        if ties > 1 {
            best = self.pick_tie(router, first, route.count, least, ties);
        }
        route.first.0 + best
    }

    /// The least loaded of ports that are not consecutive, ties at random.
    #[cold]
    fn choose_listed(&mut self, router: usize, base: usize, route: &Route) -> u16 {
        let plan = Arc::clone(&self.plan);
        let (now, full) = (self.now(), self.full_bytes);
        let outs = || route.ports(plan.routing.port_lists()).map(|port| port.0);
        let load = |senders: &[Sender], out: u16| senders[base + out as usize].congestion(now, full);
        let least = outs().map(|out| load(&self.senders, out)).min().unwrap_or(0);
        let ties = outs().filter(|&out| load(&self.senders, out) == least).count() as u32;
        let pick = if ties > 1 { self.streams[router].below(ties) } else { 0 };
        outs().filter(|&out| load(&self.senders, out) == least).nth(pick as usize).unwrap_or(route.first.0)
    }

    fn pick_tie(&mut self, router: usize, first: usize, count: u16, least: u32, ties: u32) -> u16 {
        let (now, full) = (self.now(), self.full_bytes);
        let mut left = self.streams[router].below(ties);
        for (offset, sender) in self.senders[first..first + count as usize].iter().enumerate() {
            if sender.congestion(now, full) == least {
                if left == 0 {
                    return offset as u16;
                }
                left -= 1;
            }
        }
        0
    }

    /// A router's random stream.
    #[inline]
    pub(crate) fn stream(&mut self, router: usize) -> &mut Stream {
        &mut self.streams[router]
    }

    #[inline]
    fn now(&self) -> u64 {
        self.wheel.now()
    }

    // --- links ----------------------------------------------------------------------------------------------------

    /// Sends a packet off on a virtual channel: the link must be free and the credit there. Returns the time that the
    /// packet takes on the link.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, index: usize, packet: u32, vc: u8, now: u64) -> u64 {
        let Packet { bytes, .. } = self.pool[packet];
        let sender = &mut self.senders[index];
        let time = if bytes == self.full_bytes { sender.full } else { self.plan.serialization(sender.class, bytes) };
        sender.free_at = now + time;
        sender.sent += u64::from(bytes);
        let at = now + sender.ahead;
        if sender.partition == SINK {
            self.tally.delivered(&self.pool[packet], at + time);
            self.pool.free(packet);
            return time;
        }
        let slot = match self.rule {
            CreditRule::PerCrosspoint => (vc as usize) << self.ahead_shift | self.pool[packet].out as usize,
            _ => vc as usize,
        };
        self.credits[index << self.credit_shift | slot] -= bytes as i32;
        let input = sender.target << self.vc_shift | u32::from(vc);
        if sender.partition == self.part {
            self.wheel.insert(at, lane::ARRIVAL, input, packet);
        } else {
            self.outbox[sender.partition as usize].arrivals.push((at, input, self.pool[packet]));
            self.pool.free(packet);
        }
        time
    }

    /// The router of a port, in this partition's numbering.
    #[inline]
    pub(crate) fn router_of(&self, port: usize) -> usize {
        self.receivers[port].router as usize
    }

    /// The time that a packet takes on a sender's channel.
    #[inline]
    pub(crate) fn time_out(&self, sender: usize, bytes: u32) -> u64 {
        self.plan.serialization(self.senders[sender].class, bytes)
    }

    /// The time that a packet takes on the channel that feeds an input.
    #[inline]
    pub(crate) fn time_in(&self, input: u32, bytes: u32) -> u64 {
        self.plan.serialization(self.receivers[(input >> self.vc_shift) as usize].class, bytes)
    }

    /// Sees to it that a sender is marked at a time, once.
    #[inline]
    pub(crate) fn wake_at(&mut self, sender: usize, at: u64) {
        if !self.senders[sender].waking {
            self.senders[sender].waking = true;
            self.wheel.insert(at, lane::WAKE, sender as u32, 0);
        }
    }

    /// A wake-up has come.
    #[inline]
    pub(crate) fn woken(&mut self, sender: u32) {
        self.senders[sender as usize].waking = false;
        self.mark_sender(sender);
    }

    /// Notes that a sender has packets but no credit for any: the next credit will mark it.
    #[inline]
    pub(crate) fn block(&mut self, sender: usize) {
        self.senders[sender].blocked = true;
    }

    /// Whether a sender waits for credit.
    pub(crate) fn is_blocked(&self, sender: usize) -> bool {
        self.senders[sender].blocked
    }

    /// The credit counters of a sender.
    pub(crate) fn credits_of(&self, sender: usize) -> &[i32] {
        &self.credits[sender << self.credit_shift..(sender + 1) << self.credit_shift]
    }

    /// The sender that feeds an input port of this partition.
    pub(crate) fn feeder(&self, port: usize) -> Place {
        Place { partition: self.receivers[port].partition, index: self.receivers[port].sender }
    }

    /// Takes in what another partition has sent.
    pub(crate) fn take_in(&mut self, mail: &mut Mail) {
        for (at, input, packet) in mail.arrivals.drain(..) {
            let packet = self.pool.put(packet);
            self.wheel.insert(at, lane::ARRIVAL, input, packet);
        }
        for (at, counter, bytes) in mail.credits.drain(..) {
            self.wheel.insert(at, lane::CREDIT, counter, bytes);
        }
    }
}

impl Sender {
    /// How congested the channel is, for adaptive choices: bytes that wait for it, and one packet more while it sends.
    #[inline]
    fn congestion(&self, now: u64, packet: u32) -> u32 {
        self.queued + if self.free_at > now { packet } else { 0 }
    }
}

fn local_routers(plan: &Plan, map: &PartitionMap, part: usize) -> Vec<LocalRouter> {
    let router = |&id: &u32| {
        let id = RouterId(id);
        LocalRouter { id, base: map.port(id, PortId(0)).index, ports: plan.topology.ports(id) }
    };
    map.routers(part).iter().map(router).collect()
}

fn senders(plan: &Plan, map: &PartitionMap, part: usize) -> Vec<Sender> {
    let topology = &*plan.topology;
    let mut senders = Vec::new();
    for &router in map.routers(part) {
        for port in 0..topology.ports(RouterId(router)) {
            let (router, port) = (RouterId(router), PortId(port));
            let class = plan.class_of(plan.channels.output(router, port));
            senders.push(match topology.endpoint(router, port) {
                Endpoint::Router(next, in_port) => sender(plan, class, map.port(next, in_port), plan.delay),
                Endpoint::Node(node) => sender(plan, class, Place { partition: SINK, index: node.0 }, 0),
                Endpoint::Unconnected => {
                    sender(plan, ChannelClass::INJECTION, Place { partition: NOWHERE, index: 0 }, 0)
                }
            });
        }
    }
    for &node in map.nodes(part) {
        let (router, port) = topology.attachment(NodeId(node));
        senders.push(sender(plan, ChannelClass::INJECTION, map.port(router, port), plan.delay));
    }
    senders
}

fn sender(plan: &Plan, class: ChannelClass, target: Place, router_delay: u64) -> Sender {
    let link = plan.links[class.0 as usize];
    Sender {
        free_at: 0,
        sent: 0,
        ahead: link.delay + router_delay,
        full: link.full,
        queued: 0,
        target: target.index,
        partition: target.partition,
        last: 0,
        class,
        waking: false,
        blocked: false,
    }
}

fn receivers(plan: &Plan, map: &PartitionMap, routers: &[LocalRouter], credit_shift: u32) -> Vec<Receiver> {
    let topology = &*plan.topology;
    let mut receivers = Vec::new();
    for (number, router) in routers.iter().enumerate() {
        for port in 0..router.ports {
            let (feeder, channel) = match topology.endpoint(router.id, PortId(port)) {
                Endpoint::Router(from, out) => (map.port(from, out), plan.channels.output(from, out)),
                Endpoint::Node(node) => (map.injection(node), plan.channels.injection(node)),
                Endpoint::Unconnected => (Place { partition: NOWHERE, index: 0 }, ChannelId(0)),
            };
            let class = plan.class_of(channel);
            receivers.push(Receiver {
                router: number as u32,
                port,
                partition: feeder.partition,
                sender: feeder.index,
                counters: feeder.index << credit_shift,
                class,
                delay: plan.links[class.0 as usize].delay,
            });
        }
    }
    receivers
}
