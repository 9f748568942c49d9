//! The memory of messages that nobody has expected: what each rank holds of them at present, and the most that one has held.
//!
//! A message whose data are sent without waiting for its receiver takes memory for all of its bytes from when it has come to its
//! rank, with its first packet, until a receive takes it. A message that waits for its receiver (rendezvous) takes none: only its
//! request has come.

/// Bytes of unexpected messages, by rank.
#[derive(Clone, Debug)]
pub(crate) struct UnexpectedBytes {
    held: Vec<u64>,
    most: u64,
}

impl UnexpectedBytes {
    /// No messages, of so many ranks.
    pub fn new(ranks: usize) -> Self {
        Self { held: vec![0; ranks], most: 0 }
    }

    /// A rank, by its number here, holds a message of so many bytes.
    #[inline]
    pub fn hold(&mut self, rank: u32, bytes: u64) {
        let held = &mut self.held[rank as usize];
        *held = held.saturating_add(bytes);
        self.most = self.most.max(*held);
    }

    /// A receive takes a message that the rank holds.
    #[inline]
    pub fn take(&mut self, rank: u32, bytes: u64) {
        let held = &mut self.held[rank as usize];
        *held = held.saturating_sub(bytes);
    }

    /// The most bytes that a rank has held at a time.
    pub fn most(&self) -> u64 {
        self.most
    }
}
