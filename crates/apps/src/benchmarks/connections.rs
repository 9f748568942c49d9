//! Benchmark of the number of connections of ranks and of the memory that they take (`[nic.connections]`): each rank
//! sends a message to some other ranks.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, KeyResult};

use super::sizes::repetition;
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::motifs::ProgramContext;
use mpi::communicator::Group;
use mpi::program::{Action, Burst, ScriptCall};

/// Name in the experiment file.
pub(super) const KIND: &str = "connection-memory";

/// Ranks that send to other ranks, to set up connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionsSpec {
    /// Number of ranks that each rank sends to: the ranks that follow it. An interface whose connections are set up at
    /// the start has all connections in any case.
    #[schemars(range(min = 1))]
    pub peers: u32,
    /// Size of a message.
    pub message_size: Bytes,
}

impl Default for ConnectionsSpec {
    fn default() -> Self {
        Self { peers: 1, message_size: Bytes(0) }
    }
}

#[derive(Debug)]
struct Peers(u32);

impl Exercise for Peers {
    fn call(&self, at: At, number: u32) -> Option<ScriptCall> {
        let Self(count) = *self;
        let before = at.ranks - 1;
        match number {
            0 => {
                let first = Action::recv(Some((at.rank + before) % at.ranks), at.bytes, Some(0));
                Some(ScriptCall::Burst(Burst { first, count, stride: before }))
            }
            1 => {
                let first = Action::send((at.rank + 1) % at.ranks, at.bytes, 0);
                Some(ScriptCall::Burst(Burst { first, count, stride: 1 }))
            }
            2 => Some(ScriptCall::WaitAll),
            _ => None,
        }
    }

    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64)) {
        (1..=self.0)
            .for_each(|far| visit(((u64::from(at.rank) + u64::from(far)) % u64::from(at.ranks)) as u32, at.bytes, 1));
    }

    fn measures(&self, _rank: u32) -> bool {
        true
    }
}

/// Builds the benchmark.
///
/// # Errors
/// [`KeyError`] for more peers than the ranks allow and for a size out of range.
pub(super) fn build(spec: &ConnectionsSpec, context: &ProgramContext<'_>) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    let most = ranks.saturating_sub(1);
    if spec.peers == 0 || spec.peers > most {
        let message = format!("{} others of {ranks} ranks: 1 to {most} are allowed", spec.peers);
        return Err(KeyError::new("peers", message));
    }
    let repetition = repetition(&[spec.message_size], (1, 0), context.settle).at_key("message_size")?;
    let rows = Timed::rows(&repetition.sizes, 1, |_| TableRow { parts: 1, ..TableRow::default() });
    let programs = Timed::new(Peers(spec.peers), (ranks, Group::all(ranks)), repetition);
    Ok(TableBenchmark { kind: KIND, programs: Arc::new(programs), ranks, rows })
}
