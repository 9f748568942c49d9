//! Connections of ranks, which an interface with connected transports needs before messages between them.
//!
//! A connection joins two ranks on different nodes and serves both directions. It takes memory at both ends. It exists
//! from the start, or is set up by the rank that first sends: that takes time of its library, and later messages wait
//! for it. The other end has it when the first message has come. As in MPI libraries it is never taken down, so that
//! the largest number of connections is the number at the end.
//!
//! An interface may hold the state of a limited number of connections. A message on another connection waits until the
//! state has been fetched from memory, one at a time, and the least recently used state is evicted. Each rail has
//! separate connections and a separate cache. Arrivals always find their state: the cache is for sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rank_pair::{RankEnds, RankPair};
use crate::recent::Recent;
use crate::table::Table;

/// Time at which connections are set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ConnectionModeSpec")]
pub enum ConnectionMode {
    /// When the ranks begin: between all ranks on different nodes.
    #[default]
    AtStart,
    /// When a rank first sends to another rank, or first receives a message from it.
    OnDemand,
    /// Never: datagrams.
    Connectionless,
}

/// Connections between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionParams {
    /// Time at which connections are set up.
    pub mode: ConnectionMode,
    /// Time of setting up a connection on demand, in picoseconds.
    pub setup: u64,
    /// Number of connections whose state an interface holds. `None`: all.
    pub cached: Option<u32>,
    /// Time of fetching the state of a connection, in picoseconds.
    pub miss: u64,
}

impl ConnectionParams {
    /// No connections.
    pub const NONE: Self = Self { mode: ConnectionMode::Connectionless, setup: 0, cached: None, miss: 0 };

    /// Returns whether messages may wait for the state of their connection.
    pub(crate) fn fetches(&self) -> bool {
        self.mode != ConnectionMode::Connectionless && self.cached.is_some()
    }
}

/// Numbers of connections at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Largest number of connections of a rank.
    pub most_of_rank: u64,
    /// Largest number of connections of all ranks of a node.
    pub most_of_node: u64,
    /// Number of messages that have waited for the state of their connection.
    pub misses: u64,
}

units::record!(ConnectionCounts { most_of_rank, most_of_node, misses });

impl ConnectionCounts {
    /// Adds the numbers of other nodes.
    pub fn add(&mut self, other: &Self) {
        self.most_of_rank = self.most_of_rank.max(other.most_of_rank);
        self.most_of_node = self.most_of_node.max(other.most_of_node);
        self.misses += other.misses;
    }
}

/// Connection that a send finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No connection: setting it up takes this time, and `Connections::ready` must be called with the time at which it
    /// is there.
    New(u64),
    /// A connection that is there from this time on.
    From(u64),
}

impl Found {
    /// Returns the setup time. 0 if the connection exists.
    #[inline]
    pub fn setup(self) -> u64 {
        if let Self::New(setup) = self { setup } else { 0 }
    }

    /// Returns the time from which the connection is there. 0 if it is new.
    #[inline]
    pub fn there_from(self) -> u64 {
        if let Self::From(at) = self { at } else { 0 }
    }
}

/// Connections of an executor's ranks.
#[derive(Debug)]
pub(crate) struct Connections {
    params: ConnectionParams,
    /// Times from which connections set up on demand are there.
    ready: Table<RankPair, u64>,
    /// By local rank, its number of connections set up on demand.
    counts: Vec<u32>,
    cache: Option<Recent>,
    /// By source, the time from which the fetching of states is free.
    free_at: Vec<u64>,
    misses: u64,
}
units::state!(Connections { ready, counts, free_at, misses; each cache; rebuilt params });

impl Connections {
    /// Creates the connections of `ranks` ranks and `sources` interfaces. None is set up yet.
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

    /// Returns whether connections are set up on demand.
    #[inline]
    pub fn on_demand(&self) -> bool {
        self.params.mode == ConnectionMode::OnDemand
    }

    /// Returns the connection for a send of a local rank to a rank on another node.
    pub fn find(&self, pair: RankPair) -> Found {
        if !self.on_demand() {
            return Found::From(0);
        }
        self.ready.get(pair).map_or(Found::New(self.params.setup), Found::From)
    }

    /// Notes that a local rank has a connection to another from tick `at` on, unless it has one.
    #[inline]
    pub fn ready(&mut self, pair: RankPair, at: u64) {
        if self.on_demand() && self.ready.get(pair).is_none() {
            self.ready.get_or_insert(pair, at);
            self.counts[pair.local.index()] += 1;
        }
    }

    /// Returns the time at which the interface of a source has the state of the connection for a message that is handed
    /// over now.
    #[inline]
    pub fn fetch(&mut self, source: usize, RankEnds { from, to }: RankEnds, now: u64) -> u64 {
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

    /// Returns the numbers of connections. `first` has the first rank of each node, `ranks` is the number of all ranks.
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
