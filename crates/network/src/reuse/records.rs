//! Records of episodes, by keys that hold everything that an episode's outcome depends on.

use std::collections::BTreeMap;

use engine::statistics::Histogram;

use super::bench::UNKNOWN;
use super::naming::Use;

/// Moment of an episode at which something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// The first packet of a message of several packets arrives.
    First(u32),
    /// The last packet of a message arrives.
    Last(u32),
    /// The head of the last packet of all messages leaves its last router.
    Counted,
    /// What follows is not known yet: the simulation was paused.
    Paused,
}

/// Outcome for one message of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberOutcome {
    /// Latencies of its packets in parts of a tick, with their numbers.
    pub latencies: Vec<(u64, u64)>,
    /// Latencies of packets of skipped periods in parts of a tick: the first one, by how much each further one is
    /// larger, and their number.
    pub repeated: Vec<(u64, u64, u64)>,
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

impl MemberOutcome {
    /// Returns the bytes of memory that latencies take.
    pub fn bytes_of_latencies(&self) -> usize {
        size_of_val(&self.latencies[..]) + size_of_val(&self.repeated[..])
    }
}

/// Outcome of an episode. Times are in ticks from the release of its first message. Channels are named in the order in
/// which its messages use them.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Moments in the order of time.
    pub moments: Box<[(u64, Moment)]>,
    /// Index of `Moment::Counted` in `moments`. `u32::MAX`: it is not known yet.
    pub counted: u32,
    /// By channel, the time at which it may first be requested, and the time after which nothing of the episode is left
    /// in it.
    pub spans: Box<[(u64, u64)]>,
    /// By channel, the candidates that its arbiters have served last. `None`: the pointer has not moved.
    pub served: Box<[[Option<Use>; 2]]>,
    /// By channel, whether the outcome depends on the pointer of an arbiter at the begin.
    pub reads: Box<[bool]>,
    /// Time after which nothing of the episode is left.
    pub over: u64,
    pub members: Box<[MemberOutcome]>,
}

impl Record {
    /// Returns the time at which the simulation was paused. `UNKNOWN`: it is whole.
    pub fn until(&self) -> u64 {
        match self.moments.last() {
            Some(&(until, Moment::Paused)) => until,
            _ => UNKNOWN,
        }
    }

    /// Returns the bytes of memory that a record with a key takes, about.
    fn bytes(&self, key: &[u64]) -> usize {
        let latencies: usize = self.members.iter().map(MemberOutcome::bytes_of_latencies).sum();
        size_of::<Self>()
            + size_of_val(key)
            + size_of_val(&*self.moments)
            + size_of_val(&*self.spans)
            + size_of_val(&*self.served)
            + size_of_val(&*self.reads)
            + size_of_val(&*self.members)
            + latencies
    }
}

/// Record with the time of its last use.
#[derive(Clone, Debug)]
struct Kept {
    /// Bytes of memory that it takes with its key. 0: the place is free.
    bytes: usize,
    /// Number of uses of records before its last one.
    used_at: u64,
}

/// All records of a machine.
#[derive(Debug)]
pub(super) struct Records {
    pub numbers: BTreeMap<Box<[u64]>, u32>,
    pub all: Vec<Record>,
    kept: Vec<Kept>,
    free: Vec<u32>,
    uses: u64,
    /// Bytes of memory that records take.
    pub bytes: usize,
    /// Largest memory of records and paths, in bytes.
    pub most_bytes: usize,
    /// Latencies of the messages that dropped records have served, in parts of a tick.
    dropped: Histogram,
}

impl Records {
    /// Creates an empty table. `most_bytes`: the largest memory of records and paths.
    pub fn new(most_bytes: usize) -> Self {
        Self {
            numbers: BTreeMap::new(),
            all: Vec::new(),
            kept: Vec::new(),
            free: Vec::new(),
            uses: 0,
            bytes: 0,
            most_bytes,
            dropped: Histogram::new(),
        }
    }

    /// Returns the record of a key. The whole key is compared.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// Adds the record of a key.
    pub fn add(&mut self, key: &[u64], record: Record) -> u32 {
        let kept = Kept { bytes: record.bytes(key), used_at: self.uses };
        self.bytes += kept.bytes;
        let number = match self.free.pop() {
            Some(number) => {
                (self.all[number as usize], self.kept[number as usize]) = (record, kept);
                number
            }
            None => {
                self.all.push(record);
                self.kept.push(kept);
                self.all.len() as u32 - 1
            }
        };
        self.numbers.insert(key.into(), number);
        number
    }

    /// Replaces the record of a paused simulation by one that goes on.
    pub fn extend(&mut self, number: u32, key: &[u64], record: Record) {
        let kept = &mut self.kept[number as usize];
        self.bytes -= std::mem::replace(&mut kept.bytes, record.bytes(key));
        self.bytes += kept.bytes;
        self.all[number as usize] = record;
    }

    /// Notes that an episode uses a record.
    pub fn use_now(&mut self, number: u32) {
        self.uses += 1;
        self.kept[number as usize].used_at = self.uses;
    }

    /// Returns whether a record has not been dropped.
    pub fn has(&self, number: u32) -> bool {
        self.kept[number as usize].bytes > 0
    }

    /// Drops the least recently used records that are not `in_use`, until records take a quarter of the largest memory.
    /// Returns them.
    pub fn drop_oldest(&mut self, in_use: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut stays = vec![false; self.all.len()];
        in_use.for_each(|number| stays[number as usize] = true);
        let is_droppable = |&number: &u32| self.has(number) && !stays[number as usize];
        let mut order: Vec<u32> = (0..self.all.len() as u32).filter(is_droppable).collect();
        order.sort_unstable_by_key(|&number| self.kept[number as usize].used_at);
        let mut dropped = Vec::new();
        for number in order {
            if self.bytes <= self.most_bytes / 4 {
                break;
            }
            dropped.push(number);
            let record = std::mem::take(&mut self.all[number as usize]);
            count_latencies(&record, &mut self.dropped);
            self.bytes -= std::mem::take(&mut self.kept[number as usize].bytes);
            self.free.push(number);
        }
        let kept = &self.kept;
        self.numbers.retain(|_, number| kept[*number as usize].bytes > 0);
        dropped
    }

    /// Returns the latencies of all packets that have been counted, in parts of a tick.
    pub fn latencies(&self) -> Histogram {
        let mut all = self.dropped.clone();
        self.all.iter().for_each(|record| count_latencies(record, &mut all));
        all
    }
}

/// Adds the latencies of the packets that a record stands for.
fn count_latencies(record: &Record, to: &mut Histogram) {
    for outcome in record.members.iter().filter(|own| own.weight > 0) {
        for &(latency, packets) in &outcome.latencies {
            to.record_many(latency, packets * outcome.weight);
        }
        for &(first, step, times) in &outcome.repeated {
            (0..times).for_each(|number| to.record_many(first + number * step, outcome.weight));
        }
    }
}
