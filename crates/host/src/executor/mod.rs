//! The executor of programs: one for each partition of a run, with the ranks of its nodes.
//!
//! An operation starts as soon as the program of its rank says so, and
//! - a *calculation* takes its rank's processor for its time, after those before it;
//! - a *send* hands its message over to the node's network interface after the send overhead, and ends;
//! - a *receive* ends when the message has arrived and the receive overhead has passed since both that and its start.
//!
//! A message meets the first receive posted at its rank that takes it, and a receive the first message that has come and that
//! nobody has expected ([`crate::matching`]). A message comes with its first packet. Messages of one pair of ranks come in the
//! order in which they were sent: one whose packets have overtaken another's waits for that one (MPI's rule).
//!
//! A message of more than the eager limit waits for its receiver (rendezvous): a control message is sent, the receiver
//! answers when it has met a receive, and only then are the data sent and does the send end. A control message takes
//! both overheads as any other. Messages between ranks of one node, and of a rank to itself, do not enter the network and take
//! the overheads only. Overheads are latency: they keep neither the processor nor the interface busy.
//!
//! Times are picoseconds. The network has time in ticks: packets arrive at ticks, and what is handed over between two is
//! released to the network at the next. What happens between two ticks is handled at the later one, in the order of
//! times, before what happens at that tick.
//!
//! State is held of what is outstanding: of operations that have started, of messages on their way, of ranks. What happens at one
//! instant is ordered by ranks and by the order in which they have started their operations, which no partition changes:
//! arrivals first, then the rest; what takes no time is done immediately.

mod inspect;
mod protocol;

use std::sync::Arc;

use workload::program::{Action, Ended, Matched, Op, Programs, RankProgram};

use crate::context::{HostContext, NicParams, Outgoing};
use crate::event::{Event, OpId, Pending};
use crate::flow::{Part, part_of};
use crate::inbound::{Arrivals, Envelope};
use crate::label::{ANY_SOURCE, Label};
use crate::matching::Matching;
use crate::placed::RankPlacement;
use crate::queues::{self, Queues};
use crate::report::{Completed, HostError, Progress, Released};
use crate::slab::Slab;

/// A send that has started.
#[derive(Clone, Copy, Debug)]
struct Sending {
    op: OpId,
    /// The rank, by its number here, and what its program knows the send by.
    rank: u32,
    id: u32,
    to: u32,
    tag: u32,
    bytes: u64,
    /// Where the receiver's executor keeps the message, if that is this one.
    placed: u32,
    /// Its request has been handed over, and has not been answered.
    asks: bool,
}

/// A receive that has started.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    op: OpId,
    rank: u32,
    id: u32,
    label: Label,
    bytes: u64,
    /// The message that it has met, or `NONE`.
    message: u32,
}

const NONE: u32 = u32::MAX;

/// A rank of this executor.
#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    /// Operations that it has started.
    started: u32,
    /// Operations that have been issued and have not ended.
    open: u64,
    /// When its processor is free.
    free_at: u64,
    /// When its last operation ended.
    ended_at: u64,
}

/// The state of the ranks of some nodes.
#[derive(Debug)]
pub struct Executor {
    interface: NicParams,
    placed: RankPlacement,
    programs: Vec<Box<dyn RankProgram>>,
    ranks: Vec<Rank>,
    sends: Slab<Sending>,
    receives: Slab<Receiving>,
    arrivals: Arrivals,
    matching: Matching,
    pending: Pending,
    queues: Queues,
    /// Operations that start now, the next one last, with their ranks' numbers here.
    ready: Vec<(u32, Op)>,
    /// What a program issues, kept for its memory.
    issued: Vec<Op>,
    /// The present tick of the network, and the earliest tick for which an alarm is set.
    tick: u64,
    alarm: u64,
    progress: Progress,
    /// The first error, by rank.
    error: Option<HostError>,
    /// Messages that cross the network, if they are noted.
    notes: Option<(Vec<Released>, Vec<Completed>)>,
}

impl Executor {
    /// The ranks of some nodes, before they start.
    pub fn new(programs: &Arc<dyn Programs>, interface: NicParams, placed: RankPlacement) -> Self {
        let ranks = placed.ranks().len();
        Self {
            programs: placed.ranks().iter().map(|&rank| Arc::clone(programs).rank(rank)).collect(),
            ranks: vec![Rank::default(); ranks],
            sends: Slab::default(),
            receives: Slab::default(),
            arrivals: Arrivals::default(),
            matching: Matching::new(ranks),
            pending: Pending::default(),
            queues: Queues::new(placed.nodes()),
            ready: Vec::new(),
            issued: Vec::new(),
            tick: 0,
            alarm: u64::MAX,
            // Until they begin, something is to happen by itself.
            progress: Progress { open: ranks as u64, is_busy: true, ..Progress::default() },
            error: None,
            notes: None,
            interface,
            placed,
        }
    }

    /// Begins the programs, at a tick.
    pub fn begin(&mut self, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.progress.is_busy = false;
        for rank in 0..self.programs.len() as u32 {
            let begun = self.programs[rank as usize].begin(now, &mut self.issued);
            self.take_issued(rank, begun.map_err(|error| HostError::Program { rank: self.rank(rank), error }));
            self.start_ready(now, around);
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
        let taken = self.queues.take(node, self.interface.packet, self.interface.pace, may_send)?;
        self.progress.packets += 1;
        let queues::Outgoing { flow_id, mark, dst } = taken.message;
        Some(Outgoing { flow_id, mark, dst, bytes: taken.bytes, generated_at: taken.generated_at })
    }

    /// The node that sends the packets of a `flow_id`.
    pub fn source(&self, flow_id: u32) -> u32 {
        self.placed.node(part_of(flow_id).0)
    }

    /// A message is announced that another executor sends.
    pub fn announced(&mut self, envelope: Envelope) {
        let rank = self.placed.number(envelope.to);
        self.arrivals.announce_remote(rank, envelope);
    }

    /// A packet has arrived, at a tick.
    pub fn arrived(&mut self, (flow_id, mark): (u32, u32), tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now.saturating_sub(1), around);
        self.progress.packets -= 1;
        let (source, part) = part_of(flow_id);
        let place = match part {
            Part::Answer => {
                let at = now + self.interface.receive_overhead + self.interface.send_overhead;
                self.later(at, self.sends[mark].op, Event::Data(mark), now, around);
                None
            }
            Part::Placed => Some(mark),
            Part::Numbered => self.arrivals.find(source, mark),
        };
        debug_assert!(place.is_some() || part == Part::Answer, "a packet of a message that was not announced");
        if let Some(place) = place {
            self.packet_arrived(place, now, around);
        }
        self.start_ready(now, around);
    }

    /// The tick of an alarm has come.
    pub fn alarm(&mut self, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now, around);
        if self.alarm <= tick {
            self.alarm = u64::MAX;
        }
        if let Some(first) = self.pending.first() {
            self.set_alarm(first, around);
        }
    }

    /// A rank by its number here.
    fn rank(&self, number: u32) -> u32 {
        self.placed.ranks()[number as usize]
    }

    /// Keeps an error: that of the lowest rank, of each the first.
    fn fail(&mut self, error: HostError) {
        if self.error.as_ref().is_none_or(|known| error.rank() < known.rank()) {
            self.error = Some(error);
        }
    }

    /// Whether a message of a size that leaves its node waits for its receiver before its data go.
    #[inline]
    fn waits_for_receiver(&self, bytes: u64) -> bool {
        self.interface.eager_limit.is_some_and(|limit| bytes > limit)
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
        while let Some((at, op, event)) = self.pending.take(last) {
            self.act(op, event, at, around);
            self.start_ready(at, around);
        }
    }

    /// Does something immediately if its time has come, and otherwise then.
    #[inline]
    fn later(&mut self, at: u64, op: OpId, event: Event, now: u64, around: &mut impl HostContext) {
        if at <= now {
            return self.act(op, event, now, around);
        }
        self.pending.push(at, op, event);
        self.set_alarm(at, around);
    }

    /// Sets an alarm for a time, unless one is set that is not later. What comes until the present tick is caught up with now.
    #[inline]
    fn set_alarm(&mut self, at: u64, around: &mut impl HostContext) {
        let tick = at.div_ceil(self.interface.tick);
        if tick > self.tick && tick < self.alarm {
            self.alarm = tick;
            around.alarm(tick);
        }
    }

    /// Takes over what the program of a rank, by its number here, has issued.
    fn take_issued(&mut self, rank: u32, issued: Result<(), HostError>) {
        let state = &mut self.ranks[rank as usize];
        state.open += self.issued.len() as u64;
        if state.open == 0 {
            self.progress.open -= 1;
        }
        self.ready.extend(self.issued.drain(..).rev().map(|op| (rank, op)));
        if let Err(error) = issued {
            self.fail(error);
        }
    }

    fn start_ready(&mut self, now: u64, around: &mut impl HostContext) {
        while let Some((rank, op)) = self.ready.pop() {
            self.start(rank, op, now, around);
        }
    }

    fn start(&mut self, rank: u32, op: Op, now: u64, around: &mut impl HostContext) {
        let state = &mut self.ranks[rank as usize];
        let id = OpId { rank: self.placed.ranks()[rank as usize], number: state.started };
        state.started = state.started.wrapping_add(1);
        let ranks = self.placed.node_of.len() as u32;
        match op.action {
            Action::Calc { time } => {
                let end = state.free_at.max(now).saturating_add(time);
                state.free_at = end;
                self.later(end, id, Event::Calculated(op.id), now, around);
            }
            Action::Send { to: other, .. } | Action::Recv { from: Some(other), .. } if other >= ranks => {
                self.fail(HostError::NoSuchRank { rank: id.rank, other, ranks });
            }
            Action::Send { to, bytes, tag } => {
                let asks = self.waits_for_receiver(bytes) && self.placed.node(to) != self.placed.node(id.rank);
                let sending = Sending { op: id, rank, id: op.id, to, tag, bytes, placed: NONE, asks };
                let place = self.sends.insert(sending);
                let event = if asks { Event::Request(place) } else { Event::Data(place) };
                self.later(now + self.interface.send_overhead, id, event, now, around);
            }
            Action::Recv { from, bytes, tag } => {
                let label = Label { source: from.unwrap_or(ANY_SOURCE), tag };
                let receiving = Receiving { op: id, rank, id: op.id, label, bytes, message: NONE };
                let place = self.receives.insert(receiving);
                if let Some(message) = self.matching.receive(rank, label, place) {
                    self.meet(message, place, now, around);
                }
            }
        }
    }

    fn act(&mut self, op: OpId, event: Event, now: u64, around: &mut impl HostContext) {
        match event {
            Event::Calculated(id) => self.end(self.placed.number(op.rank), id, now, None),
            Event::Received(place) => self.received(place, now),
            Event::Request(place) => self.send_request(place, around),
            Event::Data(place) => self.send_data(place, now, around),
            Event::Answer(place) => self.answer(place, around),
        }
    }

    /// An operation of a rank, by its number here, ends.
    fn end(&mut self, rank: u32, id: u32, now: u64, matched: Option<Matched>) {
        let state = &mut self.ranks[rank as usize];
        state.open -= 1;
        state.ended_at = now;
        self.progress.ended += 1;
        let ended = self.programs[rank as usize].ended(&Ended { id, at: now, matched }, &mut self.issued);
        self.take_issued(rank, ended.map_err(|error| HostError::Program { rank: self.rank(rank), error }));
    }
}
