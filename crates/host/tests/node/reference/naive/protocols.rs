//! Protocols of messages, as `docs/concepts/protocols.md` describes them.

use host::{ForwardingParams, Rendezvous};
use mpi::program::{Action, Context, Matched};

use super::{Message, Naive, Operation, Part, What};

impl Naive {
    /// Continues a send that has passed its overhead.
    pub(super) fn send(&mut self, op: usize) {
        let Operation { rank, action: Action::Send { to, bytes, .. }, .. } = self.operations[op] else {
            panic!("not a send")
        };
        let asks = self.asks(rank, to, bytes);
        if self.same_node(rank, to) {
            return self.send_within(op, asks);
        }
        if self.nic.protocol.eager_credits.is_some() && !self.has_credit(op, &self.stalled) {
            self.amounts[2] += 1;
            match self.nic.protocol.asks_without_credit {
                true => self.send_across(op, true),
                false => self.stalled.push(op),
            }
        } else {
            self.send_across(op, asks);
        }
    }

    pub(super) fn send_across(&mut self, op: usize, asks: bool) {
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

    pub(super) fn send_within(&mut self, op: usize, asks: bool) {
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

    /// Begins the copy of a message. Event `end` of operation `op` happens at its end.
    pub(super) fn copy(&mut self, message: usize, op: usize, end: What) {
        let Message { to, bytes, .. } = self.messages[message];
        self.amounts[1] += bytes;
        match bytes {
            0 => self.happen(end),
            _ => self.memory.begin(self.node_of[to as usize], bytes, (op, end)),
        }
    }

    /// Schedules the ends of copies at this instant in their order within it.
    pub(super) fn copies_end(&mut self) {
        for (op, end) in self.memory.ended() {
            let Operation { rank, number, .. } = self.operations[op];
            self.events.push((self.now, rank, number, end));
        }
    }

    /// Returns whether a send may go, given the waiting sends before it.
    pub(super) fn has_credit(&self, op: usize, before: &[usize]) -> bool {
        let pair = |op: usize| match self.operations[op] {
            Operation { rank, action: Action::Send { to, bytes, .. }, .. } => (rank, to, self.asks(rank, to, bytes)),
            _ => panic!("not a send"),
        };
        let (from, to, asks) = pair(op);
        let is_first = !before.iter().any(|&other| (pair(other).0, pair(other).1) == (from, to));
        let taken = self.credits_taken.iter().filter(|&&taken| taken == (from, to)).count() as u32;
        is_first && (asks || self.nic.protocol.eager_credits.is_some_and(|credits| taken < credits))
    }

    /// Returns a credit, and continues sends that waited for it.
    pub(super) fn credit_comes_back(&mut self, message: usize) {
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

    pub(super) fn receive_ends(&mut self, message: usize) {
        let Message { receive, send, from, to, tag, bytes, asks, .. } = self.messages[message];
        self.end(receive.unwrap(), Some(Matched { source: from, tag, bytes }));
        if self.same_node(from, to) {
            return;
        }
        if asks && self.reads() {
            let at = match self.forwarding_of(message) {
                Some(own) => self.nic_work(to, own.send),
                None => self.now + self.nic.send_overhead,
            };
            self.at(at, send, What::Notice(message));
        } else if !asks && self.nic.protocol.eager_credits.is_some() {
            self.hand_over(to, from, Part::Credit(message), u64::from(self.nic.control));
        }
    }

    /// Returns the costs of the interfaces' processors for a message between two ranks, if they handle it: a message of
    /// a collective operation that leaves its node.
    pub(super) fn forwarding(&self, (from, to): (u32, u32), context: Context) -> Option<ForwardingParams> {
        self.nic.protocol.forwarding.filter(|_| context.is_collective() && !self.same_node(from, to))
    }

    pub(super) fn forwarding_of(&self, message: usize) -> Option<ForwardingParams> {
        let Message { from, to, context, .. } = self.messages[message];
        self.forwarding((from, to), context)
    }

    /// Occupies the processor of the interface of a rank's node for a time, after its earlier work. Returns the end.
    pub(super) fn nic_work(&mut self, rank: u32, time: u64) -> u64 {
        let free_at = &mut self.nic_free_at[self.node_of[rank as usize] as usize];
        *free_at = (*free_at).max(self.now) + time;
        *free_at
    }

    pub(super) fn reads(&self) -> bool {
        self.nic.protocol.rendezvous == Rendezvous::Read
    }

    /// Returns whether a message uses rendezvous.
    pub(super) fn asks(&self, from: u32, to: u32, bytes: u64) -> bool {
        let once = from != to && self.nic.protocol.memory.is_some_and(|memory| memory.single_copy);
        (!self.same_node(from, to) || once) && self.nic.eager_limit.is_some_and(|limit| bytes > limit)
    }

    pub(super) fn hand_over_data(&mut self, message: usize) {
        let Message { from, to, bytes, .. } = self.messages[message];
        self.hand_over(from, to, Part::Data { message, bytes: 0 }, bytes.max(1));
    }

    /// Adds the message of a send.
    pub(super) fn message(&mut self, send: usize, asks: bool) -> usize {
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

    pub(super) fn hand_over(&mut self, from: u32, to: u32, part: Part, bytes: u64) {
        let node = self.node_of[from as usize] as usize;
        self.links[node].1.push((self.node_of[to as usize], part, bytes));
    }

    /// Lets a free link of a node take a packet of the first message, which then becomes the last.
    pub(super) fn serve(&mut self, node: u32) {
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

    pub(super) fn arrive(&mut self, part: Part) {
        let (Part::Request(message) | Part::Answer(message) | Part::Data { message, .. } | Part::Credit(message)) =
            part;
        let Message { send, from, to, .. } = self.messages[message];
        match part {
            Part::Credit(_) => self.credit_comes_back(message),
            Part::Answer(_) if self.messages[message].fetched => {
                let at = match self.forwarding_of(message) {
                    Some(own) => self.nic_work(from, own.receive),
                    None => self.now + self.nic.receive_overhead,
                };
                self.at(at, send, What::Fetched(message));
            }
            Part::Answer(_) if self.reads() => {
                self.messages[message].fetched = true;
                self.hand_over_data(message);
            }
            Part::Answer(_) => {
                let at = match self.forwarding_of(message) {
                    Some(own) => self.nic_work(from, own.receive + own.send),
                    None => self.now + self.nic.receive_overhead + self.nic.send_overhead,
                };
                self.at(at, send, What::Data(message));
            }
            Part::Request(_) => {
                self.messages[message].is_here = true;
                let reading = if self.forwarding_of(message).is_some() { 0 } else { self.nic.receive_overhead };
                self.messages[message].read_at = self.now + reading;
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
}
