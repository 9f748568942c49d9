//! Messages of a job that have arrived, in full or in part, if a run measures messages.
//!
//! Packets of a message may arrive in any order, so bytes are counted until all are there. All packets for a node leave
//! a plane of the network by one channel, one at a time, and the channels of all planes belong to one partition. A
//! destination keeps a sorted list of its partly received messages, which is as long as the number of messages in
//! transit to it.

use units::{NodeId, PlaneId};

/// Rule by which the packets of a message are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKey {
    /// Every message has this number of bytes. Its packets share source, plane, destination and generation time.
    Size(u64),
    /// All bytes that a node sends to another are one message, until it is taken (`Messages::take`).
    Pair,
}
units::record!(match MessageKey {
    0 => Size { 0: bytes },
    1 => Pair {},
});

/// Message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedMessage {
    /// Source node.
    pub source: NodeId,
    /// Plane by which the message has come. 0 for a pair.
    pub plane: PlaneId,
    /// Destination node.
    pub dst: NodeId,
    /// Bytes that have arrived: all, if messages are recognised by their size.
    pub bytes: u64,
    /// Generation time, in parts of a tick (`Plan::units_per_tick`). 0 for a pair.
    pub generated_at: u64,
    /// Arrival time of the last byte so far, in ticks.
    pub at: u64,
}

units::record!(ArrivedMessage { source, plane, dst, bytes, generated_at, at });

/// Partly received message.
#[derive(Clone, Copy, Debug)]
struct Partial {
    source: u32,
    plane: PlaneId,
    generated_at: u64,
    bytes: u64,
    at: u64,
}
units::record!(Partial { source, plane, generated_at, bytes, at });

/// Messages of a job that arrive at the nodes of a partition.
#[derive(Clone, Debug)]
pub struct Messages {
    key: MessageKey,
    /// By destination, in ascending order of source, generation time and plane.
    partial: Vec<Vec<Partial>>,
    arrived: Vec<ArrivedMessage>,
}
units::record!(Messages { key, partial, arrived });

impl Messages {
    /// Creates an empty record for `nodes` nodes.
    pub fn new(key: MessageKey, nodes: u32) -> Self {
        Self { key, partial: vec![Vec::new(); nodes as usize], arrived: Vec::new() }
    }

    /// Counts a packet of `bytes` bytes whose last byte arrives at tick `at`. `source` has sent it by `plane`.
    pub fn count(&mut self, (source, plane, dst): (u32, PlaneId, NodeId), bytes: u32, generated_at: u64, at: u64) {
        let (size, generated_at, plane) = match self.key {
            MessageKey::Size(size) => (size, generated_at, plane),
            MessageKey::Pair => (u64::MAX, 0, PlaneId(0)),
        };
        let partial = &mut self.partial[dst.index()];
        let of = |known: &Partial| (known.source, known.generated_at, known.plane);
        let place = partial.binary_search_by_key(&(source, generated_at, plane), of);
        let (before, last) = place.map_or((0, 0), |place| (partial[place].bytes, partial[place].at));
        let (bytes, at) = (u64::from(bytes) + before, at.max(last));
        if bytes >= size {
            if let Ok(place) = place {
                partial.remove(place);
            }
            self.arrived.push(ArrivedMessage { source: NodeId(source), plane, dst, bytes, generated_at, at });
            return;
        }
        match place {
            Ok(place) => (partial[place].bytes, partial[place].at) = (bytes, at),
            Err(place) => partial.insert(place, Partial { source, plane, generated_at, bytes, at }),
        }
    }

    /// Takes out the messages that have arrived since the last call. For pairs: the bytes that have arrived between
    /// each pair.
    pub fn take(&mut self) -> Vec<ArrivedMessage> {
        if self.key == MessageKey::Pair {
            for (dst, partial) in (0..).map(NodeId).zip(&mut self.partial) {
                let whole = |Partial { source, plane, generated_at, bytes, at }| ArrivedMessage {
                    source: NodeId(source),
                    plane,
                    dst,
                    bytes,
                    generated_at,
                    at,
                };
                self.arrived.extend(partial.drain(..).map(whole));
            }
        }
        std::mem::take(&mut self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONLY: PlaneId = PlaneId(0);

    #[test]
    fn a_message_has_arrived_with_its_last_byte_whatever_comes_between() {
        // Would catch confusing messages of one source or of one time, and a short last packet that is not waited for.
        let mut messages = Messages::new(MessageKey::Size(600), 4);
        let dst = NodeId(3);
        messages.count((1, ONLY, dst), 256, 10, 100);
        messages.count((1, ONLY, dst), 256, 20, 110);
        messages.count((2, ONLY, dst), 256, 10, 120);
        messages.count((1, ONLY, dst), 88, 10, 130);
        messages.count((1, ONLY, NodeId(0)), 256, 10, 135);
        assert_eq!(messages.take(), []);
        messages.count((1, ONLY, dst), 256, 10, 140);
        messages.count((2, ONLY, dst), 344, 10, 150);
        let arrived =
            |source, at| ArrivedMessage { source: NodeId(source), plane: ONLY, dst, bytes: 600, generated_at: 10, at };
        assert_eq!(messages.take(), [arrived(1, 140), arrived(2, 150)]);
        assert_eq!(messages.take(), []);
    }

    #[test]
    fn messages_of_an_instant_by_two_planes_are_two() {
        // Would catch counting packets of two messages together, so that the first arrives too early.
        let mut messages = Messages::new(MessageKey::Size(600), 1);
        let count = |messages: &mut Messages, plane, bytes, at| {
            messages.count((0, PlaneId(plane), NodeId(0)), bytes, 10, at);
        };
        for (plane, bytes, at) in [(1, 300, 20), (0, 300, 30), (0, 300, 40), (1, 300, 50)] {
            count(&mut messages, plane, bytes, at);
        }
        let found: Vec<_> =
            messages.take().iter().map(|message| (message.plane.0, message.bytes, message.at)).collect();
        assert_eq!(found, [(0, 600, 40), (1, 600, 50)]);
    }

    #[test]
    fn pairs_are_taken_with_what_has_arrived_and_begin_anew() {
        // Would catch bytes that are counted twice after a phase, or for another pair.
        let mut messages = Messages::new(MessageKey::Pair, 2);
        for (generated_at, at) in [(7, 30), (9, 50)] {
            messages.count((1, ONLY, NodeId(0)), 100, generated_at, at);
        }
        messages.count((0, ONLY, NodeId(1)), 40, 7, 20);
        let arrived = |source, dst, bytes, at| ArrivedMessage {
            source: NodeId(source),
            plane: ONLY,
            dst: NodeId(dst),
            bytes,
            generated_at: 0,
            at,
        };
        assert_eq!(messages.take(), [arrived(1, 0, 200, 50), arrived(0, 1, 40, 20)]);
        messages.count((1, ONLY, NodeId(0)), 100, 70, 90);
        assert_eq!(messages.take(), [arrived(1, 0, 100, 90)]);
    }
}
