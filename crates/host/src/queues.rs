//! What network interfaces still have to send: for each node a ring of messages, served packet by packet in turn.

/// No message.
const NONE: u32 = u32::MAX;

/// The time that bytes of a packet take, where a whole one of so many bytes takes `pace`, rounded down.
#[inline]
pub fn time_of(bytes: u64, packet: u32, pace: u64) -> u64 {
    match bytes == u64::from(packet) {
        true => pace,
        false => (u128::from(pace) * u128::from(bytes) / u128::from(packet)) as u64,
    }
}

/// What waits to be sent, linked through flat arrays: by node the ring, by entry its rest and the entry behind it.
#[derive(Debug)]
pub(crate) struct Queues {
    head: Vec<u32>,
    tail: Vec<u32>,
    next: Vec<u32>,
    /// Bytes of each entry that are not yet in packets.
    left: Vec<u64>,
    /// When each entry was handed over.
    since: Vec<u64>,
    /// By node, when its next packet may be generated: a packet's time on the link after the last, so that routers that
    /// serve the oldest packet first do not favour a node whose packets wait here.
    generated_at: Vec<u64>,
}

impl Queues {
    /// Empty queues of so many nodes, for so many entries.
    pub fn new(nodes: usize, entries: usize) -> Self {
        Self {
            head: vec![NONE; nodes],
            tail: vec![NONE; nodes],
            next: vec![NONE; entries],
            left: vec![0; entries],
            since: vec![0; entries],
            generated_at: vec![0; nodes],
        }
    }

    /// Adds an entry that is in no queue.
    #[inline]
    pub fn push(&mut self, node: usize, entry: u32, bytes: u64, now: u64) {
        self.left[entry as usize] = bytes;
        self.since[entry as usize] = now;
        self.append(node, entry);
    }

    #[inline]
    fn append(&mut self, node: usize, entry: u32) {
        self.next[entry as usize] = NONE;
        match self.tail[node] {
            NONE => self.head[node] = entry,
            tail => self.next[tail as usize] = entry,
        }
        self.tail[node] = entry;
    }

    /// Takes the next packet of a node, of at most so many bytes: its entry, its bytes and its generation time. `pace`
    /// is the time of a whole packet on the node's link. Entries whose packet is not ready keep their place.
    #[inline]
    pub fn take(
        &mut self,
        node: usize,
        packet: u32,
        pace: u64,
        ready: impl Fn(u32, u32) -> bool,
    ) -> Option<(u32, u32, u64)> {
        let size = |left: u64| left.min(u64::from(packet));
        let (mut before, mut entry) = (NONE, self.head[node]);
        while entry != NONE && !ready(entry, size(self.left[entry as usize]) as u32) {
            (before, entry) = (entry, self.next[entry as usize]);
        }
        if entry == NONE {
            return None;
        }
        let behind = self.next[entry as usize];
        match before {
            NONE => self.head[node] = behind,
            before => self.next[before as usize] = behind,
        }
        if behind == NONE {
            self.tail[node] = before;
        }
        let bytes = size(self.left[entry as usize]);
        self.left[entry as usize] -= bytes;
        if self.left[entry as usize] > 0 {
            self.append(node, entry);
        }
        let generated_at = self.generated_at[node].max(self.since[entry as usize]);
        self.generated_at[node] = generated_at + time_of(bytes, packet, pace);
        Some((entry, bytes as u32, generated_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_take_turns_and_none_is_lost() {
        // Would catch a ring that drops its rest, or serves one message to its end.
        let mut queues = Queues::new(2, 4);
        queues.push(0, 3, 250, 7);
        queues.push(0, 1, 100, 9);
        queues.push(1, 0, 1, 0);
        let taken: Vec<_> = std::iter::from_fn(|| queues.take(0, 100, 10, |_, _| true)).collect();
        assert_eq!(taken, [(3, 100, 7), (1, 100, 17), (3, 100, 27), (3, 50, 37)]);
        assert_eq!(queues.take(1, 100, 10, |_, _| true), Some((0, 1, 0)));
        queues.push(0, 1, 5, 100);
        assert_eq!(queues.take(0, 100, 10, |_, _| true), Some((1, 5, 100)));
        assert_eq!(queues.take(0, 100, 10, |_, _| true), None);
    }

    #[test]
    fn what_is_not_ready_is_passed_over_and_keeps_its_place() {
        // Would catch a ring that loses what stands before, between or behind what is taken out of it.
        let mut queues = Queues::new(1, 3);
        (0..3).for_each(|entry| queues.push(0, entry, 150, 0));
        let mut take = |blocked: &[u32]| {
            queues.take(0, 100, 10, |entry, _| !blocked.contains(&entry)).map(|taken| (taken.0, taken.1))
        };
        assert_eq!(take(&[0, 1, 2]), None);
        assert_eq!(take(&[0]), Some((1, 100)));
        assert_eq!(take(&[0, 2]), Some((1, 50)));
        assert_eq!(take(&[0]), Some((2, 100)));
        assert_eq!(take(&[]), Some((0, 100)));
        assert_eq!(take(&[2]), Some((0, 50)));
        assert_eq!(take(&[]), Some((2, 50)));
        assert_eq!(take(&[]), None);
        queues.push(0, 1, 1, 0);
        assert_eq!(queues.take(0, 100, 10, |_, _| true).map(|taken| taken.0), Some(1));
    }
}
