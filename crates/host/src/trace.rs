//! What is recorded of the ranks of an executor, where that is asked for: operations, the work of processors, and when parts
//! of messages are handed over and arrive. It is enough to say at any time what each rank does and what it waits for,
//! and which chain of events has led to the last of them.
//!
//! Nothing is recorded unless [`crate::Executor::trace`] asks for it. Then an operation takes some 40 bytes, a message some 280.

use std::collections::VecDeque;

use crate::event::OpId;

/// An operation: its rank, and how many operations the rank had started before it. A message is known by its send.
pub type OpKey = (u32, u32);

/// The most operations that an executor records: a run with more has no trace.
pub const MOST_TRACED: usize = 1 << 22;

/// No operation.
pub const NO_OP: u32 = u32::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It calculates.
    #[default]
    Calc,
    /// It sends a message.
    Send,
    /// It receives a message.
    Recv,
    /// It polls for what has arrived.
    Poll,
    /// It takes part in an operation in the switches.
    Group,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedOp {
    /// What it does.
    pub kind: Kind,
    /// The operation of the same rank whose end has issued it, by its number; `NO_OP` for the start of the program.
    pub cause: u32,
    /// When it started, in picoseconds.
    pub started: u64,
    /// When it ended; `u64::MAX` if it has not.
    pub ended: u64,
    /// Of a send, the rank that the message is for; of an operation in the switches, the number of the group; of a receive, the rank that has sent what it has met, and of a probe what it has
    /// waited for, or `NO_OP`.
    pub peer: u32,
    /// Of one with such a message, the number of the operation that has sent it; of an operation in the switches, its first segment, which
    /// all members know it by; else `NO_OP`.
    pub sent_by: u32,
    /// Of a send, bytes.
    pub bytes: u64,
}

/// What a processor does for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A calculation.
    Calc,
    /// The overhead before the data of a send are handed over.
    Send,
    /// The overhead before the request of a send is handed over.
    Request,
    /// The overhead of reading a request.
    Read,
    /// The overhead before the answer to a request is handed over.
    Answer,
    /// The overheads of reading an answer and of handing the data over.
    Data,
    /// The overhead of a receive.
    Receive,
    /// The overhead of a call that only polls.
    Poll,
    /// A search of a queue, of a receive or a probe that starts or for a message that has come.
    Search,
    /// Seeing that a message has come that a probe waits for; takes no time.
    Probe,
    /// Writing the data of a send to the interface, or copying them within the node.
    Write,
    /// Copying the data of a receive within the node.
    Copy,
    /// The overhead before the notice is handed over that data have been fetched.
    Finish,
    /// The overhead of reading that notice.
    Fetched,
}

/// The work of a rank's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedWork {
    /// The rank.
    pub rank: u32,
    /// From when until when the processor is at it, in picoseconds.
    pub begin: u64,
    /// Its end.
    pub end: u64,
    /// What for.
    pub purpose: Purpose,
    /// The operation: of `Read` and `Answer` the send, else that of the rank.
    pub op: OpKey,
    /// What it takes without noise and interrupts.
    pub work: u64,
    /// Whether it is done beside the processor, which may compute meanwhile.
    pub beside: bool,
}

/// A part of a message that crosses the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TracedPart {
    /// The request of a send that waits for its receiver.
    Request,
    /// The answer to it.
    Answer,
    /// The data.
    Data,
    /// The notice that the data have been fetched.
    Notice,
}

/// What carries a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carriage {
    /// Nothing but the memory of the node.
    Memory,
    /// Packets, known by their `flow_id` and their mark.
    Packets(u32, u32),
    /// The link of the node, whole: when the first and the last byte arrive at the other node, in picoseconds.
    Link(u64, u64),
}

/// A part of a message at one end of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedFlight {
    /// The send.
    pub message: OpKey,
    /// What.
    pub part: TracedPart,
    /// Whether it has arrived, with its last byte; else it is handed over to the interface.
    pub arrived: bool,
    /// When, in picoseconds.
    pub at: u64,
    /// Where it is handed over, what carries it.
    pub by: Option<Carriage>,
}

/// What has been recorded.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// By rank, by its number in the executor, its operations in the order in which they started.
    pub ops: Vec<Vec<TracedOp>>,
    /// The work of processors, in no order.
    pub work: Vec<TracedWork>,
    /// Parts of messages, in no order.
    pub flights: Vec<TracedFlight>,
    /// Whether there was more than is recorded.
    pub is_cut: bool,
    /// By operation that is ready to start, as the executor's queue of them, the number of the one that has issued it.
    causes: VecDeque<u32>,
    /// By rank, by its number here, the issuers of operations that the processor has postponed, in order.
    postponed: Vec<VecDeque<u32>>,
    /// By rank likewise, the place of its last calculation's work.
    last_calc: Vec<u32>,
    /// The operation that has just ended.
    ended: u32,
    count: usize,
}

impl Trace {
    /// Nothing, of so many ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            ops: vec![Vec::new(); ranks],
            postponed: vec![VecDeque::new(); ranks],
            last_calc: vec![0; ranks],
            ended: NO_OP,
            ..Self::default()
        }
    }

    /// Operations are issued by what has just ended or by the start of a program.
    pub(crate) fn issued(&mut self, count: usize) {
        self.causes.extend(std::iter::repeat_n(self.ended, count));
        self.ended = NO_OP;
    }

    /// The next operation starts, of a rank by its number here.
    pub(crate) fn started(&mut self, rank: u32, now: u64, kind: Kind) {
        let cause = self.causes.pop_front().unwrap_or(NO_OP);
        self.count += 1;
        if self.count > MOST_TRACED {
            return self.cut();
        }
        let op = TracedOp { kind, cause, started: now, ended: u64::MAX, peer: NO_OP, sent_by: NO_OP, bytes: 0 };
        self.ops[rank as usize].push(op);
    }

    /// Gives up: memory is bounded.
    fn cut(&mut self) {
        self.is_cut = true;
        self.ops.iter_mut().for_each(|ops| *ops = Vec::new());
        (self.work, self.flights) = (Vec::new(), Vec::new());
    }

    /// An operation of a rank, by its number here, if it is known.
    fn op(&mut self, rank: u32, number: u32) -> Option<&mut TracedOp> {
        self.ops[rank as usize].get_mut(number as usize)
    }

    /// A send is for a rank.
    pub(crate) fn sends(&mut self, rank: u32, number: u32, (to, bytes): (u32, u64)) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.bytes) = (to, bytes);
        }
    }

    /// An operation in the switches is that of a group which begins with a segment.
    pub(crate) fn in_group(&mut self, rank: u32, number: u32, (group, first): (u32, u32)) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.sent_by) = (group, first);
        }
    }

    /// A receive has met a message.
    pub(crate) fn met(&mut self, rank: u32, number: u32, message: OpId) {
        if let Some(op) = self.op(rank, number) {
            (op.peer, op.sent_by) = (message.rank, message.number);
        }
    }

    /// An operation ends.
    pub(crate) fn ended(&mut self, rank: u32, number: u32, now: u64) {
        self.ended = number;
        if let Some(op) = self.op(rank, number) {
            op.ended = now;
        }
    }

    /// The next operation is postponed, of a rank by its number here.
    pub(crate) fn postponed(&mut self, rank: u32) {
        let cause = self.causes.pop_front().unwrap_or(NO_OP);
        self.postponed[rank as usize].push_back(cause);
    }

    /// The operation of a rank that has been postponed longest is the next to start.
    pub(crate) fn resumed(&mut self, rank: u32) {
        if let Some(cause) = self.postponed[rank as usize].pop_front() {
            self.causes.push_front(cause);
        }
    }

    /// A rank's processor, by its number here, works for an operation.
    pub(crate) fn work(&mut self, number: u32, work: TracedWork) {
        if self.is_cut {
            return;
        }
        if work.purpose == Purpose::Calc && !work.beside {
            self.last_calc[number as usize] = self.work.len() as u32;
        }
        self.work.push(work);
    }

    /// The calculation of a rank, by its number here, goes on until a later time.
    pub(crate) fn calc_until(&mut self, number: u32, end: u64) {
        if let Some(work) = self.work.get_mut(self.last_calc[number as usize] as usize) {
            work.end = end;
        }
    }

    /// A part of a message is handed over, or has arrived.
    pub(crate) fn flight(&mut self, flight: TracedFlight) {
        if !self.is_cut {
            self.flights.push(flight);
        }
    }
}
