//! The reference: operations, messages and events in plain vectors, searched from the front. It is written from
//! `docs/concepts/schedules.md`, and shares with the executor nothing but what operations are.

use std::collections::VecDeque;

use host::{NicParams, Rendezvous, Searches, Wait};
use workload::program::{Action, Context, Matched};

use super::caller::Caller;
use super::memory::Memory;
use super::network::{Flight, Link, Wire, arrivals};
use crate::world::Happened;

/// An operation that has started.
#[derive(Clone, Debug)]
struct Operation {
    rank: u32,
    /// How many operations its rank had started before it.
    number: u32,
    /// What the program knows it by.
    id: u32,
    action: Action,
    has_ended: bool,
}

/// A message that has been handed over, or its request.
#[derive(Clone, Debug)]
struct Message {
    send: usize,
    from: u32,
    to: u32,
    tag: u32,
    context: Context,
    bytes: u64,
    /// Bytes of it that have not arrived.
    missing: u64,
    /// Its first packet has arrived, or its request has.
    is_here: bool,
    /// It has come to its rank, in its turn.
    has_come: bool,
    asks: bool,
    /// The receiver fetches its data, or has.
    fetched: bool,
    /// When its request has been read.
    read_at: u64,
    receive: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    CalculationEnds(usize),
    ReceiveEnds(usize),
    /// A message, its request, the answer to it or its data are handed over.
    Send(usize),
    Request(usize),
    Answer(usize),
    Data(usize),
    /// The notice that data have been read is handed over; the send of a message ends whose data have been fetched.
    Notice(usize),
    Fetched(usize),
    /// Within a node: the copies of sender and receiver end, and the message can be read.
    CopiedIn(usize),
    Readable(usize),
    CopiedOut(usize),
}

/// What a packet is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Request(usize),
    Answer(usize),
    Data {
        message: usize,
        bytes: u32,
    },
    /// Of a message that has been received.
    Credit(usize),
}

/// What waits for the link of a node: for which node, what it is part of, and bytes.
type Outgoing = (u32, Part, u64);

pub struct Naive {
    nic: NicParams,
    wire: Wire,
    node_of: Vec<u32>,
    callers: Vec<Caller>,
    /// By rank, operations started, and when the processor is free.
    started: Vec<u32>,
    free_at: Vec<u64>,
    operations: Vec<Operation>,
    messages: Vec<Message>,
    /// By rank, receives that wait, and messages that nobody has expected.
    posted: Vec<Vec<usize>>,
    unexpected: Vec<Vec<usize>>,
    /// Times, the operations that they are ordered by, and what happens.
    events: Vec<(u64, u32, u32, What)>,
    /// Operations that start now.
    ready: VecDeque<(u32, u32, Action)>,
    /// Sends that wait for a credit, and pairs of ranks by credit that is taken.
    stalled: Vec<usize>,
    credits_taken: Vec<(u32, u32)>,
    links: Vec<(Link, Vec<Outgoing>)>,
    memory: Memory,
    flights: Vec<Flight<Part>>,
    now: u64,
    pub log: Vec<Vec<Happened>>,
    pub searches: [Searches; 2],
    /// Messages that were larger than their receives, by the ranks that receive them.
    pub truncated: Vec<u32>,
    /// The most bytes of unexpected messages of a rank, bytes copied within nodes, and sends that have waited for credits.
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
            operations: Vec::new(),
            messages: Vec::new(),
            posted: vec![Vec::new(); ranks],
            unexpected: vec![Vec::new(); ranks],
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

    /// Runs until nothing happens any more.
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

    /// The next instant at which anything happens.
    fn next(&self) -> Option<u64> {
        let tick = self.nic.tick;
        let events = self.events.iter().map(|event| event.0);
        let flights = self.flights.iter().map(|flight| flight.at * tick);
        let waiting = self.links.iter().filter(|(_, queue)| !queue.is_empty());
        let links = waiting.map(|(link, _)| link.free_at.max(self.now.div_ceil(tick)) * tick);
        let copies = self.memory.next().map(|time| self.now + time);
        events.chain(flights).chain(links).chain(copies).min()
    }

    /// What each rank waits for.
    pub fn waits(&self) -> Vec<(u32, Wait)> {
        let receives = self.posted.iter().flatten().filter_map(|&place| {
            let Operation { rank, action: Action::Recv { from, tag, context, .. }, .. } = self.operations[place] else {
                return None;
            };
            Some((rank, Wait::Message { from, tag, context }))
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
        let mut all: Vec<_> = receives.chain(answers).chain(stalled).collect();
        all.sort_unstable();
        all
    }

    /// Ranks that have ended.
    pub fn has_ended(&self) -> bool {
        self.operations.iter().all(|operation| operation.has_ended)
    }

    /// What happens at a time, which may be now.
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
            Action::Send { to, bytes, .. } => {
                let asks = self.asks(rank, to, bytes);
                let what = if asks { What::Request(op) } else { What::Send(op) };
                self.at(self.now + self.nic.send_overhead, op, what);
            }
            Action::Recv { .. } => self.post(op),
            Action::Poll => self.end(op, None),
        }
    }

    fn same_node(&self, one: u32, other: u32) -> bool {
        self.node_of[one as usize] == self.node_of[other as usize]
    }

    fn happen(&mut self, what: What) {
        match what {
            What::CalculationEnds(op) => self.end(op, None),
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

    /// A send has passed its overhead.
    fn send(&mut self, op: usize) {
        let Operation { rank, action: Action::Send { to, bytes, .. }, .. } = self.operations[op] else {
            panic!("not a send")
        };
        let asks = self.asks(rank, to, bytes);
        if self.same_node(rank, to) {
            return self.send_within(op, asks);
        }
        if self.nic.protocol.eager_credits.is_some() && !self.has_credit(op, &self.stalled) {
            self.stalled.push(op);
            self.amounts[2] += 1;
        } else {
            self.send_across(op, asks);
        }
    }

    fn send_across(&mut self, op: usize, asks: bool) {
        if asks {
            let message = self.message(op, true);
            let Message { from, to, .. } = self.messages[message];
            return self.hand_over(from, to, Part::Request(message), u64::from(self.nic.control));
        }
        self.end(op, None);
        let message = self.message(op, false);
        let Message { from, to, .. } = self.messages[message];
        self.credits_taken.push((from, to));
        self.hand_over_data(message);
    }

    fn send_within(&mut self, op: usize, asks: bool) {
        if !self.memory.takes_time() {
            self.end(op, None);
            let message = self.message(op, false);
            self.messages[message].missing = 0;
            return self.happen(What::Readable(message));
        }
        let message = self.message(op, asks);
        if asks {
            self.at(self.now + self.memory.latency(), op, What::Readable(message));
        } else {
            self.copy(message, op, What::CopiedIn(message));
        }
    }

    /// A copy of a message begins, that ends with something of an operation.
    fn copy(&mut self, message: usize, op: usize, end: What) {
        let Message { to, bytes, .. } = self.messages[message];
        self.amounts[1] += bytes;
        match bytes {
            0 => self.happen(end),
            _ => self.memory.begin(self.node_of[to as usize], bytes, (op, end)),
        }
    }

    /// Copies that end now happen in their place in the order of this instant.
    fn copies_end(&mut self) {
        for (op, end) in self.memory.ended() {
            let Operation { rank, number, .. } = self.operations[op];
            self.events.push((self.now, rank, number, end));
        }
    }

    /// Whether a send may go, given those before it that wait.
    fn has_credit(&self, op: usize, before: &[usize]) -> bool {
        let pair = |op: usize| match self.operations[op] {
            Operation { rank, action: Action::Send { to, bytes, .. }, .. } => (rank, to, self.asks(rank, to, bytes)),
            _ => panic!("not a send"),
        };
        let (from, to, asks) = pair(op);
        let is_first = !before.iter().any(|&other| (pair(other).0, pair(other).1) == (from, to));
        let taken = self.credits_taken.iter().filter(|&&taken| taken == (from, to)).count() as u32;
        is_first && (asks || self.nic.protocol.eager_credits.is_some_and(|credits| taken < credits))
    }

    /// A credit has come back: sends go on that waited for it.
    fn credit_comes_back(&mut self, message: usize) {
        let Message { from, to, .. } = self.messages[message];
        let place = self.credits_taken.iter().position(|&taken| taken == (from, to));
        self.credits_taken.remove(place.unwrap());
        while let Some(place) =
            (0..self.stalled.len()).find(|&place| self.has_credit(self.stalled[place], &self.stalled[..place]))
        {
            let op = self.stalled.remove(place);
            let Operation { rank, action: Action::Send { to, bytes, .. }, .. } = self.operations[op] else { panic!() };
            self.send_across(op, self.asks(rank, to, bytes));
        }
    }

    fn receive_ends(&mut self, message: usize) {
        let Message { receive, send, from, to, tag, bytes, asks, .. } = self.messages[message];
        self.end(receive.unwrap(), Some(Matched { source: from, tag, bytes }));
        if self.same_node(from, to) {
            return;
        }
        if asks && self.reads() {
            self.at(self.now + self.nic.send_overhead, send, What::Notice(message));
        } else if !asks && self.nic.protocol.eager_credits.is_some() {
            self.hand_over(to, from, Part::Credit(message), u64::from(self.nic.control));
        }
    }

    fn reads(&self) -> bool {
        self.nic.protocol.rendezvous == Rendezvous::Read
    }

    /// Whether a message waits for its receiver.
    fn asks(&self, from: u32, to: u32, bytes: u64) -> bool {
        let once = from != to && self.nic.protocol.memory.is_some_and(|memory| memory.single_copy);
        (!self.same_node(from, to) || once) && self.nic.eager_limit.is_some_and(|limit| bytes > limit)
    }

    fn hand_over_data(&mut self, message: usize) {
        let Message { from, to, bytes, .. } = self.messages[message];
        self.hand_over(from, to, Part::Data { message, bytes: 0 }, bytes.max(1));
    }

    fn end(&mut self, op: usize, matched: Option<Matched>) {
        let Operation { rank, id, .. } = self.operations[op];
        self.operations[op].has_ended = true;
        self.log[rank as usize].push((true, id, self.now, matched));
        let starts = self.callers[rank as usize].ended(id, self.now, matched);
        self.issue(rank, starts);
    }

    /// The message of a send.
    fn message(&mut self, send: usize, asks: bool) -> usize {
        let Operation { rank: from, action: Action::Send { to, bytes, tag, context }, .. } = self.operations[send]
        else {
            panic!("only sends have messages")
        };
        let missing = bytes.max(1);
        let (is_here, has_come, fetched) = (false, false, false);
        self.messages.push(Message {
            send,
            from,
            to,
            tag,
            context,
            bytes,
            missing,
            is_here,
            has_come,
            asks,
            fetched,
            read_at: 0,
            receive: None,
        });
        self.messages.len() - 1
    }

    fn hand_over(&mut self, from: u32, to: u32, part: Part, bytes: u64) {
        let node = self.node_of[from as usize] as usize;
        self.links[node].1.push((self.node_of[to as usize], part, bytes));
    }

    /// A node's link takes a packet of the first message, which then is the last, if the link is free.
    fn serve(&mut self, node: u32) {
        let now = self.now / self.nic.tick;
        let (link, queue) = &mut self.links[node as usize];
        if link.free_at > now || queue.is_empty() {
            return;
        }
        let (to, mut part, left) = queue.remove(0);
        let taken = left.min(u64::from(self.nic.packet)) as u32;
        if left > u64::from(taken) {
            queue.push((to, part, left - u64::from(taken)));
        }
        if let Part::Data { bytes, .. } = &mut part {
            *bytes = taken;
        }
        self.flights.push(link.take(&self.wire, now, (node, to), (taken, part)));
    }

    fn arrive(&mut self, part: Part) {
        let (Part::Request(message) | Part::Answer(message) | Part::Data { message, .. } | Part::Credit(message)) =
            part;
        let Message { send, from, to, .. } = self.messages[message];
        match part {
            Part::Credit(_) => self.credit_comes_back(message),
            Part::Answer(_) if self.messages[message].fetched => {
                self.at(self.now + self.nic.receive_overhead, send, What::Fetched(message));
            }
            Part::Answer(_) if self.reads() => {
                self.messages[message].fetched = true;
                self.hand_over_data(message);
            }
            Part::Answer(_) => {
                let at = self.now + self.nic.receive_overhead + self.nic.send_overhead;
                self.at(at, send, What::Data(message));
            }
            Part::Request(_) => {
                self.messages[message].is_here = true;
                self.messages[message].read_at = self.now + self.nic.receive_overhead;
                self.come_in_turn(from, to);
            }
            Part::Data { bytes, .. } => {
                self.messages[message].missing -= u64::from(bytes);
                self.messages[message].is_here = true;
                if self.messages[message].missing == 0 && self.messages[message].receive.is_some() {
                    self.complete(message);
                }
                self.come_in_turn(from, to);
            }
        }
    }

    /// Messages of a pair of ranks come to the receiver in the order in which they have been handed over.
    fn come_in_turn(&mut self, from: u32, to: u32) {
        let of_pair = |message: &Message| (message.from, message.to) == (from, to) && !message.has_come;
        while let Some(message) = self.messages.iter().position(of_pair).filter(|&first| self.messages[first].is_here) {
            self.messages[message].has_come = true;
            self.come(message);
        }
    }

    fn takes(&self, receive: usize, message: usize) -> bool {
        let Action::Recv { from, tag, context, .. } = self.operations[receive].action else { return false };
        let message = &self.messages[message];
        context == message.context
            && from.is_none_or(|from| from == message.from)
            && tag.is_none_or(|tag| tag == message.tag)
    }

    /// A message has come: it meets the first receive posted that takes it, or is not expected.
    fn come(&mut self, message: usize) {
        let rank = self.messages[message].to as usize;
        let found = self.posted[rank].iter().position(|&receive| self.takes(receive, message));
        count(&mut self.searches[0], found, self.posted[rank].len());
        match found {
            Some(place) => {
                let receive = self.posted[rank].remove(place);
                self.meet(message, receive);
            }
            None => {
                self.unexpected[rank].push(message);
                let eager = self.unexpected[rank].iter().map(|&place| &self.messages[place]).filter(|own| !own.asks);
                self.amounts[0] = self.amounts[0].max(eager.map(|own| own.bytes).sum());
                self.searches[1].longest = self.searches[1].longest.max(self.unexpected[rank].len() as u32);
            }
        }
    }

    /// A receive is posted: it meets the first message that it takes, or waits.
    fn post(&mut self, receive: usize) {
        let rank = self.operations[receive].rank as usize;
        let found = self.unexpected[rank].iter().position(|&message| self.takes(receive, message));
        count(&mut self.searches[1], found, self.unexpected[rank].len());
        match found {
            Some(place) => {
                let message = self.unexpected[rank].remove(place);
                self.meet(message, receive);
            }
            None => {
                self.posted[rank].push(receive);
                self.searches[0].longest = self.searches[0].longest.max(self.posted[rank].len() as u32);
            }
        }
    }

    fn meet(&mut self, message: usize, receive: usize) {
        self.messages[message].receive = Some(receive);
        let Message { send, to, bytes, missing, asks, read_at, .. } = self.messages[message];
        let Action::Recv { bytes: room, .. } = self.operations[receive].action else { panic!("not a receive") };
        if bytes > room {
            self.truncated.push(to);
        }
        if missing == 0 {
            self.complete(message);
        } else if self.same_node(self.messages[message].from, to) {
            self.copy(message, receive, What::CopiedOut(message));
        } else if asks {
            self.at(read_at.max(self.now) + self.nic.send_overhead, send, What::Answer(message));
        }
    }

    fn complete(&mut self, message: usize) {
        let receive = self.messages[message].receive.unwrap();
        self.at(self.now + self.nic.receive_overhead, receive, What::ReceiveEnds(message));
    }
}

/// Counts a search that has found something at a place of a list of a length, or nothing.
fn count(searches: &mut Searches, found: Option<usize>, length: usize) {
    let depth = found.map_or(length, |place| place + 1) as u32;
    searches.count += 1;
    searches.depth += u64::from(depth);
    searches.deepest = searches.deepest.max(depth);
}
