//! Reference executor: operations, messages and events in plain vectors, searched from the front. It is written from
//! `docs/concepts/schedules.md` and `protocols.md`, and shares only the definition of operations with the executor.

mod matching;
mod protocols;

use std::collections::VecDeque;

use host::{NicParams, Searches, Wait};
use mpi::program::{Action, Context, Matched};

use super::caller::Caller;
use super::memory::Memory;
use super::network::{Flight, Link, Wire, arrivals};
use crate::world::Happened;

/// Started operation.
#[derive(Clone, Debug)]
struct Operation {
    rank: u32,
    /// Number of operations that its rank had started before it.
    number: u32,
    /// Identifier of the operation in the program.
    id: u32,
    action: Action,
    has_ended: bool,
}

/// Message that has been handed over, or its request.
#[derive(Clone, Debug)]
struct Message {
    send: usize,
    from: u32,
    to: u32,
    tag: u32,
    context: Context,
    bytes: u64,
    /// Number of bytes that have not arrived.
    missing: u64,
    /// Whether its first packet, or its request, has arrived.
    is_here: bool,
    /// Whether it has been delivered to its rank, in its turn.
    has_come: bool,
    asks: bool,
    /// Whether the receiver fetches its data, or has fetched them.
    fetched: bool,
    /// Time at which its request has been read.
    read_at: u64,
    receive: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    CalculationEnds(usize),
    /// The end of a calculation on an accelerator.
    KernelEnds(usize),
    /// The end of a call that has polled and has found nothing.
    LookEnds(usize),
    /// The end of a probe that has found a message.
    ProbeEnds(usize, usize),
    ReceiveEnds(usize),
    /// The handover of an eager message. `Request`, `Answer` and `Data` are those of a rendezvous.
    Send(usize),
    Request(usize),
    Answer(usize),
    Data(usize),
    /// The handover of the notice that data have been read. `Fetched` is the end of the send whose data have been
    /// fetched.
    Notice(usize),
    Fetched(usize),
    /// The end of the sender's copy within a node. At `Readable` the message can be read; `CopiedOut` is the end of the
    /// receiver's copy.
    CopiedIn(usize),
    Readable(usize),
    CopiedOut(usize),
}

/// Kind of packet, with its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Request(usize),
    Answer(usize),
    Data {
        message: usize,
        bytes: u32,
    },
    /// A credit for a message that has been received.
    Credit(usize),
}

/// Entry in the queue of a node's link: destination node, kind of packet, and bytes.
type Outgoing = (u32, Part, u64);

pub struct Naive {
    nic: NicParams,
    wire: Wire,
    node_of: Vec<u32>,
    callers: Vec<Caller>,
    /// Number of started operations, by rank. `free_at` is the time at which the rank's processor is free.
    started: Vec<u32>,
    free_at: Vec<u64>,
    /// Time at which the processor of a node's interface is free, by node. It handles messages of collective operations
    /// if it is configured to.
    nic_free_at: Vec<u64>,
    operations: Vec<Operation>,
    messages: Vec<Message>,
    /// Posted receives that wait, by rank. `unexpected` are unexpected messages, by rank.
    posted: Vec<Vec<usize>>,
    unexpected: Vec<Vec<usize>>,
    /// Waiting probes, by rank.
    probing: Vec<Vec<usize>>,
    /// Events: time, the rank and the number of the operation that they are ordered by, and content.
    events: Vec<(u64, u32, u32, What)>,
    /// Operations that start now.
    ready: VecDeque<(u32, u32, Action)>,
    /// Sends that wait for a credit. `credits_taken` has a pair of ranks for each credit taken.
    stalled: Vec<usize>,
    credits_taken: Vec<(u32, u32)>,
    links: Vec<(Link, Vec<Outgoing>)>,
    memory: Memory,
    flights: Vec<Flight<Part>>,
    now: u64,
    pub log: Vec<Vec<Happened>>,
    pub searches: [Searches; 2],
    /// Receiving ranks of messages that were larger than their receives.
    pub truncated: Vec<u32>,
    /// Maximum bytes of unexpected messages of a rank, bytes copied within nodes, and number of sends that have waited
    /// for credits.
    pub amounts: [u64; 3],
}

impl Naive {
    pub fn new(nic: NicParams, wire: Wire, node_of: &[u32], callers: Vec<Caller>) -> Self {
        let (ranks, nodes) = (node_of.len(), node_of.iter().max().map_or(0, |&node| node as usize + 1));
        Self {
            nic,
            wire,
            node_of: node_of.to_vec(),
            callers,
            started: vec![0; ranks],
            free_at: vec![0; ranks],
            nic_free_at: vec![0; nodes],
            operations: Vec::new(),
            messages: Vec::new(),
            posted: vec![Vec::new(); ranks],
            unexpected: vec![Vec::new(); ranks],
            probing: vec![Vec::new(); ranks],
            events: Vec::new(),
            ready: VecDeque::new(),
            stalled: Vec::new(),
            credits_taken: Vec::new(),
            links: vec![Default::default(); nodes],
            memory: Memory::new(nic.protocol.memory),
            flights: Vec::new(),
            now: 0,
            log: vec![Vec::new(); ranks],
            searches: Default::default(),
            truncated: Vec::new(),
            amounts: [0; 3],
        }
    }

    /// Runs until nothing is pending.
    pub fn run(&mut self) {
        for rank in 0..self.callers.len() {
            let starts = self.callers[rank].call(0);
            self.issue(rank as u32, starts);
            self.start_ready();
        }
        let mut next = Some(0);
        while let Some(now) = next {
            self.memory.go_on(now - self.now);
            self.now = now;
            if now.is_multiple_of(self.nic.tick) {
                for flight in arrivals(&mut self.flights, now / self.nic.tick) {
                    self.arrive(flight.what);
                    self.start_ready();
                }
            }
            self.copies_end();
            while let Some(first) = self.events.iter().filter(|event| event.0 == now).min().copied() {
                self.events.retain(|event| *event != first);
                self.happen(first.3);
                self.start_ready();
            }
            if now.is_multiple_of(self.nic.tick) {
                (0..self.links.len()).for_each(|node| self.serve(node as u32));
            }
            next = self.next();
        }
    }

    /// Returns the next instant at which anything happens.
    fn next(&self) -> Option<u64> {
        let tick = self.nic.tick;
        let events = self.events.iter().map(|event| event.0);
        let flights = self.flights.iter().map(|flight| flight.at * tick);
        let waiting = self.links.iter().filter(|(_, queue)| !queue.is_empty());
        let links = waiting.map(|(link, _)| link.free_at.max(self.now.div_ceil(tick)) * tick);
        let copies = self.memory.next().map(|time| self.now + time);
        events.chain(flights).chain(links).chain(copies).min()
    }

    /// Returns what each rank waits for.
    pub fn waits(&self) -> Vec<(u32, Wait)> {
        let receives = self.posted.iter().flatten().filter_map(|&place| {
            let Operation { rank, action: Action::Recv { from, tag, context, .. }, .. } = self.operations[place] else {
                return None;
            };
            Some((rank, Wait::Message { from, tag, context }))
        });
        let probes = self.probing.iter().flatten().filter_map(|&place| {
            let Operation { rank, action: Action::Probe { from, tag, context, .. }, .. } = self.operations[place]
            else {
                return None;
            };
            Some((rank, Wait::Probe { from, tag, context }))
        });
        let asks = |message: &&Message| message.asks && !self.operations[message.send].has_ended;
        let asking = self.messages.iter().filter(asks);
        let answers = asking.map(|&Message { from, to, tag, context, .. }| (from, Wait::Answer { to, tag, context }));
        let stalled = self.stalled.iter().filter_map(|&send| {
            let Operation { rank, action: Action::Send { to, tag, context, .. }, .. } = self.operations[send] else {
                return None;
            };
            Some((rank, Wait::Credit { to, tag, context }))
        });
        let mut all: Vec<_> = receives.chain(probes).chain(answers).chain(stalled).collect();
        all.sort_unstable();
        all
    }

    /// Returns whether all ranks have ended.
    pub fn has_ended(&self) -> bool {
        self.operations.iter().all(|operation| operation.has_ended)
    }

    /// Schedules an event at a time, which may be now.
    fn at(&mut self, time: u64, order: usize, what: What) {
        if time <= self.now {
            return self.happen(what);
        }
        let Operation { rank, number, .. } = self.operations[order];
        self.events.push((time, rank, number, what));
    }

    fn issue(&mut self, rank: u32, starts: Vec<(u32, Action)>) {
        for (id, action) in starts {
            self.log[rank as usize].push((false, id, self.now, None));
            self.ready.push_back((rank, id, action));
        }
    }

    fn start_ready(&mut self) {
        while let Some((rank, id, action)) = self.ready.pop_front() {
            let number = self.started[rank as usize];
            self.started[rank as usize] += 1;
            let op = self.operations.len();
            self.operations.push(Operation { rank, number, id, action, has_ended: false });
            self.start(op);
        }
    }

    fn start(&mut self, op: usize) {
        let Operation { rank, action, .. } = self.operations[op];
        match action {
            Action::Calc { time } => {
                let free_at = self.free_at[rank as usize].max(self.now) + time;
                self.free_at[rank as usize] = free_at;
                self.at(free_at, op, What::CalculationEnds(op));
            }
            Action::Kernel { time } => self.at(self.now + time, op, What::KernelEnds(op)),
            Action::Send { to, bytes, context, .. } => {
                let asks = self.asks(rank, to, bytes);
                let what = if asks { What::Request(op) } else { What::Send(op) };
                let at = match self.forwarding((rank, to), context) {
                    Some(own) => self.nic_work(rank, own.send),
                    None => self.now + self.nic.send_overhead,
                };
                self.at(at, op, what);
            }
            Action::Recv { .. } => self.post(op),
            Action::Probe { waits, .. } => self.probe(op, waits),
            Action::Poll => self.at(self.now + self.nic.poll_overhead, op, What::LookEnds(op)),
            Action::Group(_) | Action::OnNic(_) => unreachable!("random ranks have no groups, and hand nothing over"),
        }
    }

    fn same_node(&self, one: u32, other: u32) -> bool {
        self.node_of[one as usize] == self.node_of[other as usize]
    }

    fn happen(&mut self, what: What) {
        match what {
            What::CalculationEnds(op) | What::KernelEnds(op) | What::LookEnds(op) => self.end(op, None),
            What::ProbeEnds(op, message) => {
                let Message { from: source, tag, bytes, .. } = self.messages[message];
                self.end(op, Some(Matched { source, tag, bytes }));
            }
            What::ReceiveEnds(message) => self.receive_ends(message),
            What::Request(op) | What::Send(op) => self.send(op),
            What::Answer(message) | What::Notice(message) => {
                let Message { from, to, .. } = self.messages[message];
                self.hand_over(to, from, Part::Answer(message), u64::from(self.nic.control));
            }
            What::Data(message) => {
                self.end(self.messages[message].send, None);
                self.hand_over_data(message);
            }
            What::Fetched(message) => self.end(self.messages[message].send, None),
            What::CopiedIn(message) => {
                let send = self.messages[message].send;
                self.end(send, None);
                self.at(self.now + self.memory.latency(), send, What::Readable(message));
            }
            What::Readable(message) => {
                self.messages[message].is_here = true;
                self.come_in_turn(self.messages[message].from, self.messages[message].to);
            }
            What::CopiedOut(message) => {
                self.complete(message);
                if self.messages[message].asks {
                    let send = self.messages[message].send;
                    self.at(self.now + self.memory.latency(), send, What::Fetched(message));
                }
            }
        }
    }

    fn end(&mut self, op: usize, matched: Option<Matched>) {
        let Operation { rank, id, .. } = self.operations[op];
        self.operations[op].has_ended = true;
        self.log[rank as usize].push((true, id, self.now, matched));
        let starts = self.callers[rank as usize].ended(id, self.now, matched);
        self.issue(rank, starts);
    }
}
