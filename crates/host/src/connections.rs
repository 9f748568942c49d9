//! Connections of ranks, which an interface with connected transports needs before a message can go from one to the other.
//!
//! A connection is of two ranks on different nodes and serves both directions; it takes memory at both ends. It is there from the
//! start, or is set up by the rank that first sends: that takes its library a time, and messages behind it wait for it. The other end
//! has it when the first message has come. It is never taken down, as in MPI libraries, so that the high water is what is there in the
//! end.
//!
//! An interface may hold the state of so many connections; a message by one that it does not hold waits until it has been fetched
//! from memory, one after the other, and the least recently used gives way. Each rail has connections and a cache of its own. What
//! arrives finds its state there: the cache is of what is sent.

use crate::recent::Recent;
use crate::table::{Key, Table};

/// When connections are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionMode {
    /// None is needed.
    #[default]
    Connectionless,
    /// From the start, from every rank to every other on another node; that takes no time.
    AtStart,
    /// From when a rank first sends to another.
    OnDemand,
}

/// Connections between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionParams {
    /// When they are there.
    pub mode: ConnectionMode,
    /// The time of setting one up on demand, in picoseconds.
    pub setup: u64,
    /// How many an interface holds the state of; none: of all.
    pub cached: Option<u32>,
    /// The time of fetching the state of one, in picoseconds.
    pub miss: u64,
}

impl ConnectionParams {
    /// No connections.
    pub const NONE: Self = Self { mode: ConnectionMode::Connectionless, setup: 0, cached: None, miss: 0 };
}

impl ConnectionParams {
    /// Whether messages may wait for the state of their connection.
    pub(crate) fn fetches(&self) -> bool {
        self.mode != ConnectionMode::Connectionless && self.cached.is_some()
    }
}

/// How many connections there are at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// The most of a rank,
    pub most_of_rank: u64,
    /// and of all ranks of a node.
    pub most_of_node: u64,
    /// Messages that have waited for the state of their connection.
    pub misses: u64,
}

impl ConnectionCounts {
    /// Adds those of other nodes.
    pub fn add(&mut self, other: &Self) {
        self.most_of_rank = self.most_of_rank.max(other.most_of_rank);
        self.most_of_node = self.most_of_node.max(other.most_of_node);
        self.misses += other.misses;
    }
}

/// A rank, by its number here, and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair(u32, u32);

impl Key for Pair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.0), u64::from(self.1))
    }
}

/// What a send finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No connection: setting it up takes this time, and `Connections::ready` says when it is there.
    New(u64),
    /// One that is there from a time on.
    From(u64),
}

/// The connections of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Connections {
    params: ConnectionParams,
    /// On demand, from when connections are there.
    ready: Table<Pair, u64>,
    /// On demand, by rank, by its number here, how many it has.
    counts: Vec<u32>,
    cache: Option<Recent>,
    /// By source, when what fetches the state of connections is free.
    free_at: Vec<u64>,
    misses: u64,
}

impl Connections {
    /// None yet, of so many ranks and interfaces.
    pub fn new(params: ConnectionParams, ranks: usize, sources: usize) -> Self {
        let on_demand = params.mode == ConnectionMode::OnDemand;
        let cached = params.cached.filter(|_| params.fetches());
        Self {
            params,
            ready: Table::default(),
            counts: vec![0; if on_demand { ranks } else { 0 }],
            cache: cached.map(|most| Recent::new(sources, most)),
            free_at: vec![0; if cached.is_some() { sources } else { 0 }],
            misses: 0,
        }
    }

    /// Whether they are set up on demand.
    #[inline]
    pub fn on_demand(&self) -> bool {
        self.params.mode == ConnectionMode::OnDemand
    }

    /// A rank, by its number here, is about to send to another on another node.
    pub fn find(&mut self, rank: u32, to: u32) -> Found {
        if !self.on_demand() {
            return Found::From(0);
        }
        self.ready.get(Pair(rank, to)).map_or(Found::New(self.params.setup), Found::From)
    }

    /// A rank, by its number here, has a connection to another from a time on, unless it has one.
    #[inline]
    pub fn ready(&mut self, rank: u32, to: u32, at: u64) {
        if self.on_demand() && self.ready.get(Pair(rank, to)).is_none() {
            self.ready.get_or_insert(Pair(rank, to), at);
            self.counts[rank as usize] += 1;
        }
    }

    /// A message from one rank to another is handed over to the interface of a source: when that has the state of their connection.
    #[inline]
    pub fn fetch(&mut self, source: usize, (from, to): (u32, u32), now: u64) -> u64 {
        let Some(cache) = &mut self.cache else { return now };
        let key = u64::from(from) << 32 | u64::from(to);
        let fetched = self.free_at[source].max(now).saturating_add(self.params.miss);
        if let Some(there) = cache.use_key(source, key, fetched) {
            // It may not have come yet: messages of a connection keep their order.
            cache.use_key(source, key, there);
            return there.max(now);
        }
        self.misses += 1;
        self.free_at[source] = fetched;
        fetched
    }

    /// How many there are, given where the ranks of each node begin, and how many ranks there are in all.
    pub fn counts(&self, first: &[u32], ranks: u32) -> ConnectionCounts {
        let mut counts = ConnectionCounts { misses: self.misses, ..ConnectionCounts::default() };
        for pair in first.windows(2) {
            let own = pair[1] - pair[0];
            let (rank, node) = match self.params.mode {
                ConnectionMode::Connectionless => (0, 0),
                ConnectionMode::AtStart if own == 0 => (0, 0),
                ConnectionMode::AtStart => (u64::from(ranks - own), u64::from(own) * u64::from(ranks - own)),
                ConnectionMode::OnDemand => {
                    let own = &self.counts[pair[0] as usize..pair[1] as usize];
                    let all = || own.iter().map(|&count| u64::from(count));
                    (all().max().unwrap_or(0), all().sum())
                }
            };
            counts.most_of_rank = counts.most_of_rank.max(rank);
            counts.most_of_node = counts.most_of_node.max(node);
        }
        counts
    }
}
