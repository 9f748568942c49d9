//! Records of episodes, by keys that hold everything that an episode's outcome depends on.

use std::collections::BTreeMap;

/// Moment of an episode at which something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The first packet of a message of several packets arrives.
    First(u32),
    /// The last packet of a message arrives.
    Last(u32),
    /// The head of the last packet of all messages leaves its last router.
    Counted,
}

/// Outcome for one message of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberOutcome {
    /// Latencies of its packets in parts of a tick, with their numbers.
    pub latencies: Vec<(u64, u64)>,
    /// Arrival of its last packet, in ticks from the begin of the episode.
    pub last: u64,
    /// Times at which its first and its last packet have passed the interface of their node, in picoseconds from the
    /// begin of the episode.
    pub passed: [u64; 2],
    /// Packets.
    pub packets: u64,
    /// Number of messages that have had this outcome.
    pub weight: u64,
}

/// Outcome of an episode. Times are in ticks from the release of its first message. Channels are named in the order in
/// which its messages use them.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Moments in the order of time.
    pub moments: Box<[(u64, Moment)]>,
    /// Index of `Moment::Counted` in `moments`.
    pub counted: usize,
    /// By channel, the time at which it may first be requested, and the time after which nothing of the episode is left
    /// in it.
    pub spans: Box<[(u64, u64)]>,
    /// By channel, a message and its step whose candidate the output's arbiter has served last.
    pub served: Box<[(u32, u16)]>,
    /// By channel, whether the outcome depends on the pointer of the output's arbiter at the begin.
    pub reads: Box<[bool]>,
    /// Time after which nothing of the episode is left.
    pub over: u64,
    pub members: Box<[MemberOutcome]>,
    /// Packet-hops of its messages.
    pub hops: u64,
}

impl Record {
    /// Returns the bytes of memory that a record with a key takes, about.
    fn bytes(&self, key: &[u64]) -> usize {
        let latencies: usize = self.members.iter().map(|own| own.latencies.len() * size_of::<(u64, u64)>()).sum();
        size_of::<Self>()
            + size_of_val(key)
            + size_of_val(&*self.moments)
            + size_of_val(&*self.spans)
            + size_of_val(&*self.served)
            + size_of_val(&*self.members)
            + latencies
    }
}

/// All records of a machine.
#[derive(Debug, Default)]
pub(super) struct Records {
    numbers: BTreeMap<Box<[u64]>, u32>,
    pub all: Vec<Record>,
    /// Bytes of memory that records take.
    pub bytes: usize,
}

impl Records {
    /// Returns the record of a key. The whole key is compared.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// Adds the record of a key.
    pub fn add(&mut self, key: &[u64], record: Record) -> u32 {
        let number = self.all.len() as u32;
        self.bytes += record.bytes(key);
        self.numbers.insert(key.into(), number);
        self.all.push(record);
        number
    }
}
