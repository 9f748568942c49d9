//! The queues of the flows of open traffic: without limit, and only their heads exist.
//!
//! The *front* is the place in its stream that a node has come to. A flow that may not send has a queue from the front on:
//! its first packet, and a cursor into the node's stream behind it. When the first packet leaves, the cursor goes on to the
//! flow's next one; as it reaches the front, the queue is empty and is given up. So memory is bounded by the flows that wait,
//! and a packet of theirs costs the drawing, once more, of those of other flows that were generated between.

use fabric::{Demand, Target};

use crate::traffic::open::{OpenTraffic, Source};

/// The queue of a flow.
#[derive(Debug)]
struct Queue {
    to: Target,
    /// Its first packet.
    head: Demand,
    /// What lies behind it in the node's stream,
    cursor: Source,
    /// and how many packets of the node are before that.
    drawn: u64,
}

/// What a node has drawn from its source.
#[derive(Debug, Default)]
struct NodeQueues {
    /// Its next packet, which belongs to no queue yet.
    front: Option<Demand>,
    /// Packets that it has drawn, the front's included.
    drawn: u64,
    /// The flows that have packets waiting.
    queues: Vec<Queue>,
}

/// The queues of some nodes.
#[derive(Debug)]
pub(super) struct Queues {
    nodes: Vec<NodeQueues>,
}

impl Queues {
    /// Bytes of a node with one flow that waits.
    pub const BYTES_A_NODE: usize = size_of::<NodeQueues>() + size_of::<Queue>();

    /// Empty queues of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes: (0..nodes).map(|_| NodeQueues::default()).collect() }
    }

    /// Draws a node's next packet, unless it has it.
    pub fn fill_front(&mut self, open: &mut OpenTraffic, node: usize, now: u64) {
        let own = &mut self.nodes[node];
        if own.front.is_none() {
            own.front = open.draw(node, now);
            own.drawn += u64::from(own.front.is_some());
        }
    }

    /// Takes the packet that a node has been given back, or has drawn and not sent.
    pub fn take_front(&mut self, node: usize) -> Option<Demand> {
        self.nodes[node].front.take()
    }

    /// Puts a packet back that a node does not send yet: one that was not due, and so came from its front.
    pub fn put_back(&mut self, node: usize, demand: Demand) {
        debug_assert!(self.nodes[node].front.is_none(), "a packet was drawn before the one before had gone");
        self.nodes[node].front = Some(demand);
    }

    /// Whether a flow has packets waiting.
    pub fn has(&self, node: usize, to: Target) -> bool {
        self.nodes[node].queues.iter().any(|queue| queue.to == to)
    }

    /// When the oldest packet of a node that waits was generated, in ticks, rounded down.
    pub fn oldest(&self, node: usize) -> Option<u64> {
        let NodeQueues { front, queues, .. } = &self.nodes[node];
        queues.iter().map(|queue| queue.head.generated_at).chain(front.map(|front| front.generated_at)).min()
    }

    /// The next packet of a node that may be sent: a function of what it is for and bytes.
    ///
    /// # Errors
    /// If there is none: when the packet at the front is due, in ticks, if there is one.
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
    /// Takes the oldest packet of the flows that wait and may send.
    fn take_oldest(&mut self, open: &OpenTraffic, may_send: &impl Fn(Target, u32) -> bool) -> Option<Demand> {
        let ready = |(_, queue): &(usize, &Queue)| may_send(queue.to, queue.head.bytes);
        // Packets of one source are generated one after the other: of one message, and so of one time, are those of one flow.
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
    /// The next packet of the flow among the first so many of the node.
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
