//! Trace of the ranks of an executor, recorded on request: operations, the work of processors, and the times at which
//! parts of messages are handed over and arrive. It suffices to tell at any time what each rank does and waits for, and
//! which chain of events has led to the last of them.
//!
//! Nothing is recorded unless [`crate::Executor::trace`] is called. Then an operation takes some 40 bytes, a message
//! some 280.

use std::collections::VecDeque;

use units::Record;

use crate::event::OpId;
use crate::local_ranks::LocalRank;

/// Largest number of operations that an executor records. A run with more has no trace.
pub const MOST_TRACED: usize = 1 << 22;

/// No operation.
pub const NO_OP: u32 = u32::MAX;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Calculation.
    #[default]
    Calc,
    /// Send.
    Send,
    /// Receive.
    Recv,
    /// Poll for messages that have arrived.
    Poll,
    /// Operation in the switches.
    Group,
}

/// Operation of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedOp {
    /// Kind of the operation.
    pub kind: Kind,
    /// Number of the operation of this rank whose end has issued this one. `NO_OP`: the start of the program.
    pub cause: u32,
    /// Start time, in picoseconds.
    pub started: u64,
    /// End time, in picoseconds. `u64::MAX`: it has not ended.
    pub ended: u64,
    /// Peer. For a send: the destination rank. For a receive: the source of the matched message. For a probe: the
    /// source of the message that it has waited for, or `NO_OP`. For an operation in the switches: the number of the
    /// group.
    pub peer: u32,
    /// Number of the send of the message that a receive has matched or a probe has found. For an operation in the
    /// switches: its first segment, by which all members identify it. Otherwise `NO_OP`.
    pub sent_by: u32,
    /// Bytes of a send.
    pub bytes: u64,
}

/// Purpose of a processor's work for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Calculation.
    Calc,
    /// Overhead before the data of a send are handed over.
    Send,
    /// Overhead before the request of a send is handed over.
    Request,
    /// Overhead of reading a request.
    Read,
    /// Overhead before the answer to a request is handed over.
    Answer,
    /// Overheads of reading an answer and of handing the data over.
    Data,
    /// Overhead of a receive.
    Receive,
    /// Overhead of a call that only polls.
    Poll,
    /// Search of a queue, for a receive or a probe that starts or for a message that has arrived.
    Search,
    /// Detection of the message that a probe waits for. Takes no time.
    Probe,
    /// Writing the data of a send to the interface, or copying them within the node.
    Write,
    /// Copying the data of a receive within the node.
    Copy,
    /// Overhead before handing over the notice that data have been fetched.
    Finish,
    /// Overhead of reading the notice that data have been fetched.
    Fetched,
}

/// Work of a rank's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedWork {
    /// Rank.
    pub rank: u32,
    /// Begin of the work, in picoseconds.
    pub begin: u64,
    /// End of the work, in picoseconds.
    pub end: u64,
    /// Purpose of the work.
    pub purpose: Purpose,
    /// Operation. For `Read` and `Answer` it is the send, otherwise the operation of the rank.
    pub op: OpId,
    /// Duration without noise and interrupts, in picoseconds.
    pub work: u64,
    /// Whether the work is done beside the processor, which may compute meanwhile.
    pub beside: bool,
}

/// Part of a message that crosses the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TracedPart {
    /// Rendezvous request of a send.
    Request,
    /// Answer to a rendezvous request.
    Answer,
    /// Data of the message.
    Data,
    /// Notice that the data have been fetched.
    Notice,
}

/// Carrier of a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carriage {
    /// Memory of the node: no network.
    Memory,
    /// Packets, identified by their `flow_id` and their mark.
    Packets(u32, u32),
    /// Link of the node, which carries the part whole: arrival times of the first and the last byte at the other node,
    /// in picoseconds.
    Link(u64, u64),
}

/// End of the way of a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlightEnd {
    /// The part is handed over to the sender's interface.
    HandedOver,
    /// The last byte of the part has arrived.
    Arrived,
}

/// Part of a message at one end of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedFlight {
    /// Send of the message.
    pub message: OpId,
    /// Part of the message.
    pub part: TracedPart,
    /// End of the way at which the part is.
    pub end: FlightEnd,
    /// Time of the event, in picoseconds.
    pub at: u64,
    /// Carrier of a part that is handed over.
    pub by: Option<Carriage>,
}

units::record!(
    enum Kind {
        Calc,
        Send,
        Recv,
        Poll,
        Group,
    }
);
units::record!(TracedOp { kind, cause, started, ended, peer, sent_by, bytes });
units::record!(
    enum Purpose {
        Calc,
        Send,
        Request,
        Read,
        Answer,
        Data,
        Receive,
        Poll,
        Search,
        Probe,
        Write,
        Copy,
        Finish,
        Fetched,
    }
);
units::record!(TracedWork { rank, begin, end, purpose, op, work, beside });
units::record!(
    enum TracedPart {
        Request,
        Answer,
        Data,
        Notice,
    }
);
units::record!(
    enum FlightEnd {
        HandedOver,
        Arrived,
    }
);
units::record!(TracedFlight { message, part, end, at, by });

impl Record for Carriage {
    fn put(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Memory => 0_u8.put(to),
            Self::Packets(flow_id, mark) => (1_u8, flow_id, mark).put(to),
            Self::Link(first, last) => (2_u8, first, last).put(to),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(Self::Memory),
            1 => Some(Self::Packets(u32::take(from)?, u32::take(from)?)),
            2 => Some(Self::Link(u64::take(from)?, u64::take(from)?)),
            _ => None,
        }
    }
}

/// Recorded data.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Operations by rank, numbered in the executor, in the order in which they started.
    pub ops: Vec<Vec<TracedOp>>,
    /// Work of processors, in no order.
    pub work: Vec<TracedWork>,
    /// Parts of messages, in no order.
    pub flights: Vec<TracedFlight>,
    /// Whether the trace is incomplete because there were too many operations.
    pub is_cut: bool,
    /// Number of the issuing operation, for each operation that is ready to start, in the order of the executor's
    /// queue.
    causes: VecDeque<u32>,
    /// By local rank, the issuers of operations that the processor has postponed, in order.
    postponed: Vec<VecDeque<u32>>,
    /// By local rank, the index of the work of its last calculation.
    last_calc: Vec<u32>,
    /// Operation that has just ended.
    ended: u32,
    count: usize,
}
units::record!(Trace { ops, work, flights, is_cut, causes, postponed, last_calc, ended, count });

impl TracedOp {
    /// Returns the send of the message that a receive or a probe has matched.
    pub fn matched(&self) -> OpId {
        OpId { rank: self.peer, number: self.sent_by }
    }
}

impl Trace {
    /// Creates an empty trace of `ranks` ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            ops: vec![Vec::new(); ranks],
            postponed: vec![VecDeque::new(); ranks],
            last_calc: vec![0; ranks],
            ended: NO_OP,
            ..Self::default()
        }
    }

    /// Notes the issuer of `count` operations: the operation that has just ended, or the start of a program.
    pub(crate) fn issued(&mut self, count: usize) {
        self.causes.extend(std::iter::repeat_n(self.ended, count));
        self.ended = NO_OP;
    }

    /// Records the start of the next operation, of a local rank.
    pub(crate) fn started(&mut self, rank: LocalRank, now: u64, kind: Kind) {
        let cause = self.causes.pop_front().unwrap_or(NO_OP);
        self.count += 1;
        if self.count > MOST_TRACED {
            return self.cut();
        }
        let op = TracedOp { kind, cause, started: now, ended: u64::MAX, peer: NO_OP, sent_by: NO_OP, bytes: 0 };
        self.ops[rank.index()].push(op);
    }

    /// Discards the records and stops recording, to bound the memory.
    fn cut(&mut self) {
        self.is_cut = true;
        self.ops.iter_mut().for_each(|ops| *ops = Vec::new());
        (self.work, self.flights) = (Vec::new(), Vec::new());
    }

    /// Returns an operation of a local rank, if it is recorded.
    fn op(&mut self, rank: LocalRank, number: u32) -> Option<&mut TracedOp> {
        self.ops[rank.index()].get_mut(number as usize)
    }

    /// Records the destination and the size of a send.
    pub(crate) fn sends(&mut self, rank: LocalRank, number: u32, (to, bytes): (u32, u64)) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.bytes) = (to, bytes);
        }
    }

    /// Records the group and the first segment of an operation in the switches.
    pub(crate) fn in_group(&mut self, rank: LocalRank, number: u32, (group, first): (u32, u32)) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.sent_by) = (group, first);
        }
    }

    /// Records the message that a receive has matched.
    pub(crate) fn met(&mut self, rank: LocalRank, number: u32, message: OpId) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.sent_by) = (message.rank, message.number);
        }
    }

    /// Records the end of an operation.
    pub(crate) fn ended(&mut self, rank: LocalRank, number: u32, now: u64) {
        self.ended = number;
        if let Some(op) = self.op(rank, number) {
            op.ended = now;
        }
    }

    /// Notes that the next operation, of a local rank, is postponed.
    pub(crate) fn postponed(&mut self, rank: LocalRank) {
        let cause = self.causes.pop_front().unwrap_or(NO_OP);
        self.postponed[rank.index()].push_back(cause);
    }

    /// Notes that the longest postponed operation of a rank is the next to start.
    pub(crate) fn resumed(&mut self, rank: LocalRank) {
        if let Some(cause) = self.postponed[rank.index()].pop_front() {
            self.causes.push_front(cause);
        }
    }

    /// Records work of the processor of a local rank.
    pub(crate) fn work(&mut self, rank: LocalRank, work: TracedWork) {
        if self.is_cut {
            return;
        }
        if work.purpose == Purpose::Calc && !work.beside {
            self.last_calc[rank.index()] = self.work.len() as u32;
        }
        self.work.push(work);
    }

    /// Extends the last calculation of a local rank to a later end.
    pub(crate) fn calc_until(&mut self, rank: LocalRank, end: u64) {
        if let Some(work) = self.work.get_mut(self.last_calc[rank.index()] as usize) {
            work.end = end;
        }
    }

    /// Records that a part of a message is handed over, or has arrived.
    pub(crate) fn flight(&mut self, message: TracedFlight) {
        if !self.is_cut {
            self.flights.push(message);
        }
    }
}
