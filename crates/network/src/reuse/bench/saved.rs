//! Saved states: copies of simulations at the last release, and simulations that have been paused. The simulation with
//! further messages continues from one of them.

use fabric::Partition;
use fabric::routers::Routers;

use super::traffic::BenchTraffic;
use super::{BenchChannel, BenchMessage, NONE_SERVED, Outcome};

/// Largest memory of saved states, in bytes.
const MOST_BYTES: u64 = 1 << 29;

/// Rules for saved states.
#[derive(Clone, Copy, Debug)]
pub struct StateRules {
    /// Largest number of saved states, at least 1.
    pub most: usize,
    /// Bytes of a state that are copied in the time of a packet-hop, at least 1.
    pub bytes_per_hop: u64,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { most: 16, bytes_per_hop: 512 }
    }
}

/// Simulation of an episode. Times are in ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Simulation {
    pub begin: u64,
    /// Time of the last handled instant, and the time before which all have been handled, from the begin.
    pub now: u64,
    pub before: u64,
    pub channels: Vec<BenchChannel>,
    /// By channel, the bytes that it will have sent at the end.
    pub sent: Vec<u64>,
    /// Places of the channels in which something is left.
    pub open: Vec<usize>,
    /// Packets of all messages.
    pub packets: u64,
    /// Packets whose heads have left their last routers.
    pub left: u64,
    /// Packet-hops so far, and those at the last release.
    pub hops: u64,
    pub released_hops: u64,
    /// Time of the last alarm that was set before periods were skipped.
    pub last_alarm: u64,
    /// Packet-hops of skipped periods so far.
    pub skipped_hops: u64,
    /// Time before which channels are not inspected.
    pub inspected: u64,
    pub outcome: Outcome,
}

impl Simulation {
    /// Adds a channel, or the bytes that further messages send over it. `sent`: the bytes that the channel has sent so
    /// far. `None`: it is a router or a bus. `is_held`: whether the simulation lasts until it is idle.
    pub fn add(&mut self, place: usize, own: &BenchChannel, (sent, is_held): (Option<u64>, bool)) {
        let before = self.channels.get(place).map(|before| before.bytes);
        if before.is_none() {
            self.sent.push(sent.unwrap_or(0));
            self.outcome.channels.push((0, [NONE_SERVED; 2]));
        }
        let further = own.bytes - before.unwrap_or(0);
        if sent.is_some() {
            self.sent[place] += further;
        }
        if is_held && further > 0 && !self.open.contains(&place) {
            self.open.push(place);
        }
    }

    /// Returns whether the simulation of `messages` may continue from this one of `known` messages. Initial pointers are
    /// compared only at arbiters with several candidates.
    pub fn precedes(&self, known: &[BenchMessage], messages: &[BenchMessage], channels: &[BenchChannel]) -> bool {
        let alike = |(before, own): (&BenchChannel, &BenchChannel)| {
            let counts = |number: usize| own.are_contended[number];
            before.channel == own.channel && (0..2).all(|of| !counts(of) || before.arbiters[of] == own.arbiters[of])
        };
        messages.starts_with(known)
            && messages.get(known.len()).is_none_or(|next| next.at >= self.before)
            && self.channels.iter().zip(channels).all(alike)
    }
}

/// Saved simulation.
pub(super) struct Saved<R> {
    pub partition: Partition<R, BenchTraffic>,
    pub run: Simulation,
    /// Bytes of memory.
    bytes: u64,
}

/// Place of a saved simulation.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct SavedPlace {
    /// Place in the list. `None`: it is the paused simulation.
    pub place: Option<usize>,
    /// Packet-hops that were simulated before.
    pub hops: u64,
}

/// Saved simulations, the least recent first.
pub(super) struct SavedStates<R> {
    all: Vec<Saved<R>>,
    rules: StateRules,
    /// Bytes of the state of the network without packets.
    network: u64,
    /// Bytes of all saved simulations.
    bytes: u64,
}

impl<R: Routers> SavedStates<R> {
    /// Creates an empty list for a network whose state takes `network` bytes without packets.
    pub fn new(network: u64, rules: StateRules) -> Self {
        Self { all: Vec::new(), rules, network, bytes: 0 }
    }

    /// Returns the time in which a state without packets is copied, in packet-hops.
    pub fn copying(&self) -> u64 {
        self.network / self.rules.bytes_per_hop
    }

    /// Returns whether a state may be kept.
    pub fn fits(&self) -> bool {
        self.network <= MOST_BYTES
    }

    /// Returns the longest saved simulation from which that of `messages` may continue.
    pub fn find(&self, messages: &[BenchMessage], channels: &[BenchChannel]) -> Option<SavedPlace> {
        let precedes = |own: &Saved<R>| own.run.precedes(&own.partition.traffic().messages, messages, channels);
        let hops = |&(place, own): &(usize, &Saved<R>)| (own.run.hops, place);
        let found = self.all.iter().enumerate().filter(|own| precedes(own.1)).max_by_key(hops);
        found.map(|(place, own)| SavedPlace { place: Some(place), hops: own.run.hops })
    }

    /// Takes out a saved simulation.
    pub fn take(&mut self, place: usize) -> Saved<R> {
        let saved = self.all.remove(place);
        self.bytes -= saved.bytes;
        saved
    }

    /// Keeps a copy of a simulation, if copying is faster than simulating again. Returns the time of copying in
    /// packet-hops.
    pub fn save(&mut self, partition: &Partition<R, BenchTraffic>, run: &Simulation) -> u64 {
        let bytes = self.network + partition.traffic().bytes();
        let time = bytes / self.rules.bytes_per_hop;
        if bytes > MOST_BYTES || run.hops < time {
            return 0;
        }
        self.keep(partition.clone(), run.clone());
        time
    }

    /// Keeps a simulation, unless it is too large.
    pub fn keep(&mut self, partition: Partition<R, BenchTraffic>, run: Simulation) {
        let bytes = self.network + partition.traffic().bytes();
        if bytes > MOST_BYTES {
            return;
        }
        while self.all.len() >= self.rules.most || self.bytes + bytes > MOST_BYTES {
            self.bytes -= self.all.remove(0).bytes;
        }
        self.bytes += bytes;
        self.all.push(Saved { partition, run, bytes });
    }
}
