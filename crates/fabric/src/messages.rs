//! What has arrived of the messages of a job, where a run measures messages.
//!
//! Packets of a message may arrive in any order, so bytes are counted until all are there. All packets for a node leave a plane
//! of the network by one channel, one after the other, and all planes' channels are of one partition. A destination keeps a sorted
//! list of the messages of which it has a part, which is as long as what is on its way to it.

use units::NodeId;

/// How the packets of a message are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKey {
    /// Every message has so many bytes; its packets have its source, its destination and its generation time.
    Size(u64),
    /// All that a node sends to another is one message, until it is taken (`Messages::take`).
    Pair,
}

/// What has arrived of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedMessage {
    /// The node that has sent it.
    pub source: NodeId,
    /// The node that it is for.
    pub dst: NodeId,
    /// The bytes that have arrived: all, if messages are recognised by their size.
    pub bytes: u64,
    /// When it was generated, in parts of a tick (`Plan::units_per_tick`); 0 of a pair.
    pub generated_at: u64,
    /// When the last byte that has arrived came, in ticks.
    pub at: u64,
}

/// A message of which a part has arrived.
#[derive(Clone, Copy, Debug)]
struct Partial {
    source: u32,
    generated_at: u64,
    bytes: u64,
    at: u64,
}

/// The messages of a job that arrive at some nodes.
#[derive(Clone, Debug)]
pub struct Messages {
    key: MessageKey,
    /// By destination, in ascending order of source and generation time.
    partial: Vec<Vec<Partial>>,
    arrived: Vec<ArrivedMessage>,
}

impl Messages {
    /// None yet, at so many nodes.
    pub fn new(key: MessageKey, nodes: u32) -> Self {
        Self { key, partial: vec![Vec::new(); nodes as usize], arrived: Vec::new() }
    }

    /// The last byte of a packet arrives at a time, in ticks; `source` has sent it.
    pub(crate) fn count(&mut self, (source, dst): (u32, NodeId), bytes: u32, generated_at: u64, at: u64) {
        let (size, generated_at) = match self.key {
            MessageKey::Size(size) => (size, generated_at),
            MessageKey::Pair => (u64::MAX, 0),
        };
        let partial = &mut self.partial[dst.index()];
        let place = partial.binary_search_by_key(&(source, generated_at), |known| (known.source, known.generated_at));
        let (before, last) = place.map_or((0, 0), |place| (partial[place].bytes, partial[place].at));
        let (bytes, at) = (u64::from(bytes) + before, at.max(last));
        if bytes >= size {
            if let Ok(place) = place {
                partial.remove(place);
            }
            self.arrived.push(ArrivedMessage { source: NodeId(source), dst, bytes, generated_at, at });
            return;
        }
        match place {
            Ok(place) => (partial[place].bytes, partial[place].at) = (bytes, at),
            Err(place) => partial.insert(place, Partial { source, generated_at, bytes, at }),
        }
    }

    /// Takes out the messages that have arrived since the last call; of pairs, what has arrived between each.
    pub fn take(&mut self) -> Vec<ArrivedMessage> {
        if self.key == MessageKey::Pair {
            for (dst, partial) in (0..).map(NodeId).zip(&mut self.partial) {
                let whole = |Partial { source, generated_at, bytes, at }| ArrivedMessage {
                    source: NodeId(source),
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

    #[test]
    fn a_message_has_arrived_with_its_last_byte_whatever_comes_between() {
        // Would catch messages of one source or of one time taken for one another, and a short last packet that is not waited for.
        let mut messages = Messages::new(MessageKey::Size(600), 4);
        let dst = NodeId(3);
        messages.count((1, dst), 256, 10, 100);
        messages.count((1, dst), 256, 20, 110);
        messages.count((2, dst), 256, 10, 120);
        messages.count((1, dst), 88, 10, 130);
        messages.count((1, NodeId(0)), 256, 10, 135);
        assert_eq!(messages.take(), []);
        messages.count((1, dst), 256, 10, 140);
        messages.count((2, dst), 344, 10, 150);
        let arrived = |source, at| ArrivedMessage { source: NodeId(source), dst, bytes: 600, generated_at: 10, at };
        assert_eq!(messages.take(), [arrived(1, 140), arrived(2, 150)]);
        assert_eq!(messages.take(), []);
    }

    #[test]
    fn pairs_are_taken_with_what_has_arrived_and_begin_anew() {
        // Would catch bytes that are counted twice after a phase, or under another pair.
        let mut messages = Messages::new(MessageKey::Pair, 2);
        for (generated_at, at) in [(7, 30), (9, 50)] {
            messages.count((1, NodeId(0)), 100, generated_at, at);
        }
        messages.count((0, NodeId(1)), 40, 7, 20);
        let arrived = |source, dst, bytes, at| ArrivedMessage {
            source: NodeId(source),
            dst: NodeId(dst),
            bytes,
            generated_at: 0,
            at,
        };
        assert_eq!(messages.take(), [arrived(1, 0, 200, 50), arrived(0, 1, 40, 20)]);
        messages.count((1, NodeId(0)), 100, 70, 90);
        assert_eq!(messages.take(), [arrived(1, 0, 100, 90)]);
    }
}
