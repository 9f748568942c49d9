//! Benchmarks, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use super::comb::{self, CombSpec};
use super::connections::{self, ConnectionsSpec};
use super::operation::{self, AnyOperationSpec, BarrierSpec, BcastSpec, OperationSpec};
use super::pair::{self, Exchange, PairSpec};
use super::ring::{self, Neighbours, RingSpec};
use super::round_trips::Benchmark;
use super::sizes::Smallest;
use super::table::TableBenchmark;
use super::window::{self, ManyPairsSpec, Style, WindowSpec};
use super::{wicon, wocon};
use crate::motifs::ProgramContext;
use mpi::collectives::Operation;

/// Benchmark of messages between ranks, and its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "Benchmark")]
pub enum BenchmarkSpec {
    /// Latency without contention: one rank exchanges messages with every other rank, one at a time.
    Wocon(wocon::WoconSpec),
    /// Latency with contention: all ranks exchange messages in pairs, at once.
    Wicon(wicon::WiconSpec),
    /// IMB's PingPong: a message to another rank and back. The latency is half the time.
    #[serde(alias = "PingPong")]
    #[schemars(extend("x-aliases" = ["PingPong"]))]
    PingPong(PairSpec),
    /// IMB's PingPing: two ranks send to each other at once.
    #[serde(alias = "PingPing")]
    #[schemars(extend("x-aliases" = ["PingPing"]))]
    PingPing(PairSpec),
    /// IMB's Sendrecv: every rank sends to the next rank and receives from the previous one.
    #[serde(alias = "Sendrecv")]
    #[schemars(extend("x-aliases" = ["Sendrecv"]))]
    Sendrecv(RingSpec),
    /// IMB's Exchange: every rank exchanges messages with both neighbours in a ring.
    #[serde(alias = "Exchange")]
    #[schemars(extend("x-aliases" = ["Exchange"]))]
    ImbExchange(RingSpec),
    /// IMB's Bcast: a broadcast of all ranks.
    #[serde(alias = "Bcast")]
    #[schemars(extend("x-aliases" = ["Bcast"]))]
    Bcast(BcastSpec),
    /// IMB's Allreduce: a reduction whose result all ranks receive.
    #[serde(alias = "Allreduce")]
    #[schemars(extend("x-aliases" = ["Allreduce"]))]
    Allreduce(OperationSpec),
    /// IMB's Alltoall: every rank sends a different part to every rank.
    #[serde(alias = "Alltoall")]
    #[schemars(extend("x-aliases" = ["Alltoall"]))]
    Alltoall(OperationSpec),
    /// IMB's Allgather: every rank receives the parts of all ranks.
    #[serde(alias = "Allgather")]
    #[schemars(extend("x-aliases" = ["Allgather"]))]
    Allgather(OperationSpec),
    /// IMB's Barrier: a barrier of all ranks.
    #[serde(alias = "Barrier")]
    #[schemars(extend("x-aliases" = ["Barrier"]))]
    Barrier(BarrierSpec),
    /// Any collective operation of all ranks, by any algorithm.
    Collective(AnyOperationSpec),
    /// OSU latency: a message to another rank and back. The latency is half the time.
    #[serde(alias = "osu_latency")]
    #[schemars(extend("x-aliases" = ["osu_latency"]))]
    OsuLatency(PairSpec),
    /// OSU bandwidth: windows of messages to another rank, which answers each window.
    #[serde(alias = "osu_bw")]
    #[schemars(extend("x-aliases" = ["osu_bw"]))]
    OsuBw(WindowSpec),
    /// OSU bidirectional bandwidth: windows of messages between two ranks in both directions.
    #[serde(alias = "osu_bibw")]
    #[schemars(extend("x-aliases" = ["osu_bibw"]))]
    OsuBibw(WindowSpec),
    /// OSU multiple bandwidth and message rate: windows of messages of many pairs at once.
    #[serde(alias = "osu_mbw_mr")]
    #[schemars(extend("x-aliases" = ["osu_mbw_mr"]))]
    OsuMbwMr(ManyPairsSpec),
    /// Streaming bandwidth and message rate: a sequence of sends, and one answer when all messages have arrived.
    #[serde(alias = "message-rate")]
    #[schemars(extend("x-aliases" = ["message-rate"]))]
    Streaming(WindowSpec),
    /// COMB's polling: bandwidth and processor availability as functions of the time between two polls.
    CombPolling(CombSpec),
    /// Number of connections of ranks, and the memory that they take.
    #[serde(alias = "connections")]
    #[schemars(extend("x-aliases" = ["connections"]))]
    ConnectionMemory(ConnectionsSpec),
}

impl Default for BenchmarkSpec {
    fn default() -> Self {
        Self::Wocon(wocon::WoconSpec::default())
    }
}

/// Benchmark that is ready to run.
#[derive(Clone, Debug)]
pub enum Built {
    /// Benchmark of round trips between pairs of ranks.
    RoundTrips(Benchmark),
    /// Benchmark whose result is a table.
    Table(TableBenchmark),
}

impl BenchmarkSpec {
    /// Builds the benchmark for the ranks of a program context. `seed` is that of the experiment.
    ///
    /// # Errors
    /// [`KeyError`] for a rank that does not exist, too few ranks, and values out of range.
    pub fn build(&self, context: &ProgramContext<'_>, seed: u64) -> Result<Built, KeyError> {
        let ranks = context.node_of.len() as u32;
        let kind = self.kind();
        let table = match self {
            Self::Wocon(spec) => return wocon::build(spec, ranks).map(Built::RoundTrips),
            Self::Wicon(spec) => return wicon::build(spec, ranks, seed).map(Built::RoundTrips),
            Self::PingPong(spec) => pair::build(spec, (kind, Exchange::InTurn, Smallest::Empty), context),
            Self::PingPing(spec) => pair::build(spec, (kind, Exchange::AtOnce, Smallest::Empty), context),
            Self::OsuLatency(spec) => pair::build(spec, (kind, Exchange::InTurn, Smallest::Byte), context),
            Self::Sendrecv(spec) => ring::build(spec, (kind, Neighbours::Next), context),
            Self::ImbExchange(spec) => ring::build(spec, (kind, Neighbours::Both), context),
            Self::Bcast(spec) => operation::build_bcast(spec, kind, context),
            Self::Allreduce(spec) => operation::build(spec, (kind, Operation::Allreduce), context),
            Self::Alltoall(spec) => operation::build(spec, (kind, Operation::Alltoall), context),
            Self::Allgather(spec) => operation::build(spec, (kind, Operation::Allgather), context),
            Self::Barrier(spec) => operation::build_barrier(spec, kind, context),
            Self::Collective(spec) => operation::build_any(spec, context),
            Self::OsuBw(spec) => window::build(spec, Style { kind, both: false, window: 64, rates: false }, context),
            Self::OsuBibw(spec) => window::build(spec, Style { kind, both: true, window: 64, rates: false }, context),
            Self::Streaming(spec) => {
                window::build(spec, Style { kind, both: false, window: 160, rates: true }, context)
            }
            Self::OsuMbwMr(spec) => window::build_many(spec, kind, context),
            Self::CombPolling(spec) => comb::build(spec, context),
            Self::ConnectionMemory(spec) => connections::build(spec, context),
        };
        table.map(Built::Table)
    }

    /// Returns the benchmark's name, as the experiment file writes it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Wocon(_) => wocon::KIND,
            Self::Wicon(_) => wicon::KIND,
            Self::PingPong(_) => "ping-pong",
            Self::PingPing(_) => "ping-ping",
            Self::Sendrecv(_) => "sendrecv",
            Self::ImbExchange(_) => "imb-exchange",
            Self::Bcast(_) => "bcast",
            Self::Allreduce(_) => "allreduce",
            Self::Alltoall(_) => "alltoall",
            Self::Allgather(_) => "allgather",
            Self::Barrier(_) => "barrier",
            Self::Collective(_) => "collective",
            Self::OsuLatency(_) => "osu-latency",
            Self::OsuBw(_) => "osu-bw",
            Self::OsuBibw(_) => "osu-bibw",
            Self::OsuMbwMr(_) => "osu-mbw-mr",
            Self::Streaming(_) => "streaming",
            Self::CombPolling(_) => comb::KIND,
            Self::ConnectionMemory(_) => connections::KIND,
        }
    }

    /// Returns whether the benchmark is a collective operation, so that its backend can be chosen.
    pub const fn is_collective(&self) -> bool {
        use BenchmarkSpec as B;
        matches!(
            self,
            B::Bcast(_) | B::Allreduce(_) | B::Alltoall(_) | B::Allgather(_) | B::Barrier(_) | B::Collective(_)
        )
    }

    /// Returns the size of a message in bytes. `None` for benchmarks without a single key for it.
    pub const fn message_size(&self) -> Option<u64> {
        match self {
            Self::Wocon(spec) => Some(spec.message_size.0),
            Self::Wicon(spec) => Some(spec.message_size.0),
            _ => None,
        }
    }
}
