//! The executor of schedules: one for each partition of a run, with the ranks of its nodes.
//!
//! An operation starts as soon as what it requires has ended (or begun), and
//! - a *calculation* takes its rank's processor for its time, after those before it;
//! - a *send* hands its message over to the node's network interface after the send overhead, and ends;
//! - a *receive* ends when the message has arrived and the receive overhead has passed since both that and its start.
//!
//! A message of more than the eager limit waits for its receiver (rendezvous): a control message is sent, the receiver
//! answers when the receive has started, and only then are the data sent and does the send end. A control message takes
//! both overheads as any other. Messages between ranks of one node do not enter the network and take the overheads
//! only. Overheads are latency: they keep neither the processor nor the interface busy.
//!
//! Times are picoseconds. The network has time in ticks: packets arrive at ticks, and what is handed over between two is
//! released to the network at the next. What happens between two ticks is handled at the later one, in the order of
//! times, before what happens at that tick.
//!
//! All state is in flat arrays indexed by operation; a message is identified by its send. Of one instant,
//! arrivals are handled first, then alarms, each in ascending order; what takes no time is done immediately.

use std::sync::Arc;

use workload::schedule::{OpKind, Schedule};

use crate::alarm::Alarm;
use crate::pending::Pending;
use crate::queues::Queues;

/// The time of an operation that has not started, or not ended.
pub const UNTOUCHED: u64 = u64::MAX;

/// What a network interface adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicParams {
    /// From a message's handing over to its first packet's, in picoseconds.
    pub send_overhead: u64,
    /// From a message's arrival to its end, in picoseconds.
    pub receive_overhead: u64,
    /// Messages of more bytes wait for their receivers; none: no message does.
    pub eager_limit: Option<u64>,
    /// Bytes of a control message.
    pub control: u32,
    /// Bytes of the largest packet.
    pub packet: u32,
    /// The time of such a packet on a node's link, in ticks.
    pub pace: u64,
    /// Picoseconds of a tick.
    pub tick: u64,
}

/// The ranks and nodes of a run, and which of them are this executor's.
#[derive(Clone, Debug)]
pub struct RankPlacement {
    /// By rank, its node.
    pub node_of: Arc<[u32]>,
    /// This executor's nodes, by their number there.
    pub nodes: Vec<u32>,
    /// The number of nodes of the machine.
    pub machine: u32,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its identifier on arrival.
    pub flow_id: u32,
    /// The node that it is for.
    pub dst: u32,
    /// Its bytes.
    pub bytes: u32,
    /// When it was released to the network, in ticks.
    pub generated_at: u64,
}

/// What an executor requests from the owner of the network.
pub trait HostContext {
    /// Requests that a node of this executor, by its number there, be polled for its next packet.
    fn wake(&mut self, node: u32);
    /// Sets an alarm for an operation at a tick after the present one.
    fn alarm(&mut self, at: u64, op: u32, what: Alarm);
}

/// What a packet is part of, as the lowest bits of its flow id.
const DATA: u32 = 0;
const REQUEST: u32 = 1;
const ANSWER: u32 = 2;
const PART_BITS: u32 = 2;
const _: () = assert!(Schedule::MOST <= 1 << (32 - PART_BITS), "a message and its part are one number");

/// What a message waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inbox {
    /// All of it has arrived, or its request has.
    arrived: bool,
    /// Its receive has started.
    wanted: bool,
}

/// The state of the ranks of some nodes.
#[derive(Debug)]
pub struct Executor {
    schedule: Arc<Schedule>,
    interface: NicParams,
    placed: RankPlacement,
    /// By node of the machine, its number here, or `u32::MAX`.
    local: Vec<u32>,
    /// By operation, what it still waits for.
    waits: Vec<u32>,
    started: Vec<u64>,
    ended: Vec<u64>,
    /// By send, at its receiver: packets' bytes that have not arrived.
    missing: Vec<u64>,
    /// By send, at its receiver.
    inbox: Vec<Inbox>,
    /// By send, at its receiver: when the last byte arrived, in ticks, or `UNTOUCHED`; empty unless it is noted.
    arrivals: Vec<u64>,
    /// By rank, when its processor is free.
    free_at: Vec<u64>,
    /// The present tick of the network.
    tick: u64,
    pending: Pending,
    queues: Queues,
    /// Operations that may start, kept for its memory.
    ready: Vec<u32>,
    /// This executor's operations that have not ended.
    open: u64,
}

impl Executor {
    /// The ranks of some nodes, before they start.
    pub fn new(schedule: Arc<Schedule>, interface: NicParams, placed: RankPlacement) -> Self {
        let (operations, ranks) = (schedule.len(), schedule.ranks());
        let mut local = vec![u32::MAX; placed.machine as usize];
        for (number, &node) in (0..).zip(&placed.nodes) {
            local[node as usize] = number;
        }
        let own = (0..ranks).filter(|&rank| local[placed.node_of[rank as usize] as usize] != u32::MAX);
        let open = own.map(|rank| schedule.of(rank).len() as u64).sum();
        // A message of no bytes is a packet of one.
        let bytes = |op: u32| if schedule.kind(op) == OpKind::Send { schedule.size(op).max(1) } else { 0 };
        Self {
            waits: schedule.waits().to_vec(),
            started: vec![UNTOUCHED; operations],
            ended: vec![UNTOUCHED; operations],
            missing: (0..operations as u32).map(bytes).collect(),
            inbox: vec![Inbox::default(); operations],
            arrivals: Vec::new(),
            free_at: vec![0; ranks as usize],
            tick: 0,
            pending: Pending::default(),
            queues: Queues::new(placed.nodes.len(), operations),
            ready: Vec::new(),
            open,
            schedule,
            interface,
            placed,
            local,
        }
    }

    /// Starts what waits for nothing, at a tick.
    pub fn begin(&mut self, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        for rank in 0..self.schedule.ranks() {
            if self.number_of(rank).is_some() {
                let own = self.schedule.of(rank).rev();
                self.ready.extend(own.filter(|&op| self.schedule.waits()[op as usize] == 0));
                self.start_ready(now, around);
            }
        }
    }

    /// The next packet of a node, by its number here; none if there is nothing to send.
    #[inline]
    pub fn next(&mut self, node: usize) -> Option<Outgoing> {
        self.next_of(node, |_, _| true)
    }

    /// The next packet of a node, by its number here, of its messages in turn the first that may be sent: a function of the
    /// destination and the bytes of the packet. None if there is none.
    #[inline]
    pub fn next_of(&mut self, node: usize, may_send: impl Fn(u32, u32) -> bool) -> Option<Outgoing> {
        let Self { schedule, placed, .. } = self;
        let ready =
            |entry: u32, bytes: u32| may_send(placed.node_of[schedule.rank(schedule.partner(entry)) as usize], bytes);
        let (packet, pace) = (self.interface.packet, self.interface.pace);
        let (entry, bytes, generated_at) = self.queues.take(node, packet, pace, ready)?;
        // A send's own entry carries its request or its data; the entry of its receive carries the answer.
        let (message, part) = match self.schedule.kind(entry) {
            OpKind::Recv => (self.schedule.partner(entry), ANSWER),
            _ if self.is_request(entry) => (entry, REQUEST),
            _ => (entry, DATA),
        };
        let to = self.schedule.partner(entry);
        let dst = self.placed.node_of[self.schedule.rank(to) as usize];
        Some(Outgoing { flow_id: message << PART_BITS | part, dst, bytes, generated_at })
    }

    /// The node that sends the packets of a `flow_id`.
    pub fn source(&self, flow_id: u32) -> u32 {
        let send = flow_id >> PART_BITS;
        let op = if flow_id & ((1 << PART_BITS) - 1) == ANSWER { self.schedule.partner(send) } else { send };
        self.placed.node_of[self.schedule.rank(op) as usize]
    }

    /// A packet has arrived, at a tick.
    pub fn arrived(&mut self, flow_id: u32, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now.saturating_sub(1), around);
        let send = flow_id >> PART_BITS;
        let overhead = self.interface.receive_overhead;
        match flow_id & ((1 << PART_BITS) - 1) {
            REQUEST => self.later(now + overhead, send, Alarm::Requested, now, around),
            ANSWER => self.later(now + overhead, send, Alarm::Answered, now, around),
            _ => {
                let missing = &mut self.missing[send as usize];
                *missing = missing.saturating_sub(u64::from(self.interface.packet));
                if *missing == 0 {
                    if let Some(arrival) = self.arrivals.get_mut(send as usize) {
                        *arrival = tick;
                    }
                    self.all_arrived(send, now, around);
                }
            }
        }
        self.start_ready(now, around);
    }

    /// The tick of an alarm has come.
    pub fn alarm(&mut self, op: u32, what: Alarm, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now, around);
        self.act(op, what, now, around);
        self.start_ready(now, around);
    }

    /// Operations of this executor that have not ended.
    pub fn open(&self) -> u64 {
        self.open
    }

    /// By operation of the schedule, when it started and ended, in picoseconds; `UNTOUCHED` if it has not, or is not here.
    pub fn times(&self) -> (&[u64], &[u64]) {
        (&self.started, &self.ended)
    }

    /// Notes from now on when messages that cross the network have arrived.
    pub fn note_arrivals(&mut self) {
        self.arrivals = vec![UNTOUCHED; self.schedule.len()];
    }

    /// By send, when the last byte of its data has reached the receiver's node, in ticks: `UNTOUCHED` if it has not, or the
    /// receiver is not here. Empty unless it is noted.
    pub fn arrivals(&self) -> &[u64] {
        &self.arrivals
    }

    /// A rank's node, by its number here.
    #[inline]
    fn number_of(&self, rank: u32) -> Option<u32> {
        Some(self.local[self.placed.node_of[rank as usize] as usize]).filter(|&local| local != u32::MAX)
    }

    /// Whether a message waits for its receiver before its data go.
    #[inline]
    fn waits_for_receiver(&self, send: u32) -> bool {
        self.interface.eager_limit.is_some_and(|limit| self.schedule.size(send) > limit) && !self.stays(send)
    }

    /// Whether what a send has handed over is a request: its data go when it has ended.
    #[inline]
    fn is_request(&self, send: u32) -> bool {
        self.ended[send as usize] == UNTOUCHED
    }

    /// Whether a message stays in its node.
    #[inline]
    fn stays(&self, send: u32) -> bool {
        let node = |op: u32| self.placed.node_of[self.schedule.rank(op) as usize];
        node(send) == node(self.schedule.partner(send))
    }

    /// Goes on to a tick of the network; returns its time.
    #[inline]
    fn come_to(&mut self, tick: u64) -> u64 {
        self.tick = tick;
        tick.saturating_mul(self.interface.tick)
    }

    /// Does what has not been done yet and is not later than `last`.
    #[inline]
    fn catch_up(&mut self, last: u64, around: &mut impl HostContext) {
        while let Some((at, op, what)) = self.pending.take(last) {
            self.act(op, what, at, around);
            self.start_ready(at, around);
        }
    }

    /// Does something immediately if its time has come, and sets an alarm otherwise.
    #[inline]
    fn later(&mut self, at: u64, op: u32, what: Alarm, now: u64, around: &mut impl HostContext) {
        if at <= now {
            return self.act(op, what, now, around);
        }
        let tick = at.div_ceil(self.interface.tick);
        if tick > self.tick && at.is_multiple_of(self.interface.tick) {
            return around.alarm(tick, op, what);
        }
        self.pending.push(at, op, what);
        if tick > self.tick {
            around.alarm(tick, op, Alarm::BetweenTicks);
        }
    }

    fn start_ready(&mut self, now: u64, around: &mut impl HostContext) {
        while let Some(op) = self.ready.pop() {
            self.start(op, now, around);
        }
    }

    fn start(&mut self, op: u32, now: u64, around: &mut impl HostContext) {
        self.started[op as usize] = now;
        self.release(op, false);
        match self.schedule.kind(op) {
            OpKind::Calc => {
                let rank = self.schedule.rank(op) as usize;
                let end = self.free_at[rank].max(now).saturating_add(self.schedule.size(op));
                self.free_at[rank] = end;
                self.later(end, op, Alarm::End, now, around);
            }
            OpKind::Send => {
                let what = if self.waits_for_receiver(op) { Alarm::Request } else { Alarm::Data };
                self.later(now + self.interface.send_overhead, op, what, now, around);
            }
            OpKind::Recv => {
                let send = self.schedule.partner(op);
                self.inbox[send as usize].wanted = true;
                if self.inbox[send as usize].arrived {
                    self.meet(send, now, around);
                }
            }
        }
    }

    fn act(&mut self, op: u32, what: Alarm, now: u64, around: &mut impl HostContext) {
        match what {
            Alarm::End => self.end(op, now),
            Alarm::Data => {
                self.end(op, now);
                if self.stays(op) {
                    self.all_arrived(op, now, around);
                } else {
                    self.hand_over(op, self.schedule.size(op).max(1), around);
                }
            }
            Alarm::Request => self.hand_over(op, u64::from(self.interface.control), around),
            Alarm::Answer => {
                let recv = self.schedule.partner(op);
                self.hand_over(recv, u64::from(self.interface.control), around);
            }
            Alarm::Requested => {
                self.inbox[op as usize].arrived = true;
                if self.inbox[op as usize].wanted {
                    self.meet(op, now, around);
                }
            }
            Alarm::Answered => self.later(now + self.interface.send_overhead, op, Alarm::Data, now, around),
            // What has happened has been caught up with.
            Alarm::BetweenTicks => {}
        }
    }

    /// Queues bytes of an operation at its own node's interface; they are released to the network at the present tick.
    fn hand_over(&mut self, op: u32, bytes: u64, around: &mut impl HostContext) {
        if let Some(node) = self.number_of(self.schedule.rank(op)) {
            self.queues.push(node as usize, op, bytes, self.tick);
            around.wake(node);
        }
    }

    /// All of a message's data have arrived.
    fn all_arrived(&mut self, send: u32, now: u64, around: &mut impl HostContext) {
        let inbox = &mut self.inbox[send as usize];
        self.missing[send as usize] = 0;
        inbox.arrived = true;
        if inbox.wanted {
            self.meet(send, now, around);
        }
    }

    /// A message, or its request, has met its receive.
    fn meet(&mut self, send: u32, now: u64, around: &mut impl HostContext) {
        if self.missing[send as usize] == 0 {
            let recv = self.schedule.partner(send);
            self.later(now + self.interface.receive_overhead, recv, Alarm::End, now, around);
        } else {
            self.later(now + self.interface.send_overhead, send, Alarm::Answer, now, around);
        }
    }

    fn end(&mut self, op: u32, now: u64) {
        self.ended[op as usize] = now;
        self.open -= 1;
        self.release(op, true);
    }

    /// Releases the operations that have waited for an operation's end, or its start.
    fn release(&mut self, op: u32, is_end: bool) {
        let Self { schedule, waits, ready, .. } = self;
        let followers = if is_end { schedule.after_end(op) } else { schedule.after_start(op) };
        for &next in followers.iter().rev() {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
}
