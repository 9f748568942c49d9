//! Queues of the flows of open traffic: unlimited in length, with only their heads in memory.
//!
//! The *front* is a node's current position in its stream. The queue of a flow that may not send covers the stream from
//! its first packet to the front. It consists of the first packet and a cursor into the node's stream behind it. When
//! the first packet leaves, the cursor advances to the flow's next packet; when it reaches the front, the queue is
//! empty and is dropped. So memory is bounded by the number of waiting flows. The cost of a packet is to draw again the
//! packets of other flows that were generated in between.

use fabric::{Demand, Target};

use crate::traffic::open::{OpenTraffic, Source};

/// Queue of a flow.
#[derive(Debug)]
struct Queue {
    to: Target,
    /// First packet of the flow.
    head: Demand,
    /// Cursor into the node's stream, behind the first packet.
    cursor: Source,
    /// Number of the node's packets before the cursor.
    drawn: u64,
}
units::record!(Queue { to, head, cursor, drawn });

/// Packets that a node has drawn from its source.
#[derive(Debug, Default)]
struct NodeQueues {
    /// Next packet of the node, which is in no queue yet.
    front: Option<Demand>,
    /// Number of packets drawn, the front's included.
    drawn: u64,
    /// Queues of the flows with waiting packets.
    queues: Vec<Queue>,
}
units::record!(NodeQueues { front, drawn, queues });

/// Queues of some nodes.
#[derive(Debug)]
pub(super) struct Queues {
    nodes: Vec<NodeQueues>,
}
units::state!(Queues { nodes });

impl Queues {
    /// Memory of a source with one waiting flow, in bytes.
    pub const BYTES_A_SOURCE: usize = size_of::<NodeQueues>() + size_of::<Queue>();

    /// Creates empty queues for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes: (0..nodes).map(|_| NodeQueues::default()).collect() }
    }

    /// Draws a node's next packet, unless there is one at the front.
    pub fn fill_front(&mut self, open: &mut OpenTraffic, node: usize, now: u64) {
        let own = &mut self.nodes[node];
        if own.front.is_none() {
            own.front = open.draw(node, now);
            own.drawn += u64::from(own.front.is_some());
        }
    }

    /// Takes the packet at the front of a node: drawn and not sent, or put back.
    pub fn take_front(&mut self, node: usize) -> Option<Demand> {
        self.nodes[node].front.take()
    }

    /// Puts back a packet that a node does not send yet. It was not due, so it came from the front.
    pub fn put_back(&mut self, node: usize, demand: Demand) {
        debug_assert!(self.nodes[node].front.is_none(), "a packet was drawn before the one before had gone");
        self.nodes[node].front = Some(demand);
    }

    /// Whether a flow has packets waiting.
    pub fn has(&self, node: usize, to: Target) -> bool {
        self.nodes[node].queues.iter().any(|queue| queue.to == to)
    }

    /// Returns the generation time of a node's oldest waiting packet, in ticks, rounded down.
    pub fn oldest(&self, node: usize) -> Option<u64> {
        let NodeQueues { front, queues, .. } = &self.nodes[node];
        queues.iter().map(|queue| queue.head.generated_at).chain(front.map(|front| front.generated_at)).min()
    }

    /// Returns a node's next packet for which `may_send` holds. `may_send` gets the target and the bytes of the packet.
    ///
    /// # Errors
    /// If no packet may be sent. The error is the time in ticks at which the packet at the front is due, if there is
    /// one.
    pub fn next(
        &mut self,
        open: &mut OpenTraffic,
        (node, now): (usize, u64),
        may_send: impl Fn(Target, u32) -> bool,
    ) -> Result<Demand, Option<u64>> {
        if let Some(demand) = self.nodes[node].take_oldest(open, &may_send) {
            return Ok(demand);
        }
        loop {
            self.fill_front(open, node, now);
            let own = &mut self.nodes[node];
            let front = own.front.ok_or(None)?;
            let waits = own.queues.iter().any(|queue| queue.to == front.to);
            if !waits && may_send(front.to, front.bytes) {
                own.front = None;
                return Ok(front);
            }
            if front.release > now || open.is_backlogged(node) {
                return Err(Some(front.release));
            }
            own.front = None;
            if !waits {
                let (cursor, drawn) = (open.cursor(node), own.drawn);
                own.queues.push(Queue { to: front.to, head: front, cursor, drawn });
            }
        }
    }
}

impl NodeQueues {
    /// Takes the oldest packet of the waiting flows that may send.
    fn take_oldest(&mut self, open: &OpenTraffic, may_send: &impl Fn(Target, u32) -> bool) -> Option<Demand> {
        let ready = |(_, queue): &(usize, &Queue)| may_send(queue.to, queue.head.bytes);
        // A source generates its packets in sequence: packets of one message, which have equal times, belong to one
        // flow.
        let age = |(_, queue): &(usize, &Queue)| (queue.head.generated_at, queue.head.part);
        let (place, _) = self.queues.iter().enumerate().filter(ready).min_by_key(age)?;
        let behind = self.drawn - u64::from(self.front.is_some());
        let queue = &mut self.queues[place];
        let demand = queue.head;
        match queue.advance(open, behind) {
            Some(head) => queue.head = head,
            None => drop(self.queues.swap_remove(place)),
        }
        Some(demand)
    }
}

impl Queue {
    /// Returns the flow's next packet among the first `end` packets of the node.
    fn advance(&mut self, open: &OpenTraffic, end: u64) -> Option<Demand> {
        while self.drawn < end {
            let demand = open.redraw(&mut self.cursor)?;
            self.drawn += 1;
            if demand.to == self.to {
                return Some(demand);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;
