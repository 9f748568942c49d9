//! Benchmarks of one collective operation of all ranks, for each size in turn: IMB's Bcast, Allreduce, Alltoall,
//! Allgather and Barrier.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, Time};

use super::sizes::{powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::motifs::{ProgramContext, check_byte_times};
use mpi::collectives::{Algorithm, Collective, CollectiveError, Operation, Selection};
use mpi::communicator::{Communicator, Context, Group, NodeGroups};
use mpi::program::ScriptCall;

/// Collective operation of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperationSpec {
    /// Sizes; one row each. The size is that of the buffer that is sent or combined. For an allgather or
    /// alltoall it is that of one rank's part. Default: 0 B and the powers of two up to 4 MiB; for an allreduce, those
    /// that are multiples of its element of 4 bytes.
    #[schemars(extend("x-example" = "[\"0 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured operations for each size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up operations for each size, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Algorithm. `cutthrough list collectives` lists the algorithms of each operation.
    pub algorithm: Algorithm,
    /// Calculation time of a rank for each byte that it combines with another.
    pub reduction_time: Time,
    /// Time of a rank for each byte that it copies in its memory to bring parts of a buffer into another order.
    pub copy_time: Time,
}

impl Default for OperationSpec {
    fn default() -> Self {
        Self {
            sizes: None,
            repetitions: 10,
            warm_up: 1,
            algorithm: Algorithm::Auto,
            reduction_time: Time(0),
            copy_time: Time(0),
        }
    }
}

/// Broadcast of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BcastSpec {
    /// Sizes of the buffer; one row each. Default: 0 B and the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"0 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured broadcasts for each size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up broadcasts for each size, before the measured ones. If it is not 0 and the root changes, each
    /// measured root has one at least.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Algorithm. `cutthrough list collectives` lists the algorithms of a broadcast.
    pub algorithm: Algorithm,
    /// Rank that is the root. Default: each rank in turn, as in IMB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<u32>,
}

impl Default for BcastSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 10, warm_up: 1, algorithm: Algorithm::Auto, root: None }
    }
}

/// Barrier of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BarrierSpec {
    /// Measured barriers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up barriers, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Algorithm. `cutthrough list collectives` lists the algorithms of a barrier.
    pub algorithm: Algorithm,
}

impl Default for BarrierSpec {
    fn default() -> Self {
        Self { repetitions: 10, warm_up: 1, algorithm: Algorithm::Auto }
    }
}

/// Exercise of one collective operation of all ranks.
#[derive(Debug)]
struct Operations {
    /// Call of the first iteration, for each size.
    calls: Vec<Collective>,
    /// Whether the root changes from iteration to iteration.
    rotates: bool,
    nodes: Arc<NodeGroups>,
}

impl Exercise for Operations {
    fn call(&self, at: At, number: u32) -> Option<ScriptCall> {
        (number == 0).then(|| self.operation(at)).flatten().map(ScriptCall::Collective)
    }

    fn messages(&self, _at: At, _visit: &mut dyn FnMut(u32, u64, u64)) {}

    fn measures(&self, _rank: u32) -> bool {
        true
    }

    fn is_one_way(&self) -> bool {
        self.calls.iter().any(|call| call.operation == Operation::Broadcast)
    }

    fn operation(&self, at: At) -> Option<Collective> {
        let call = *self.calls.iter().find(|call| call.bytes == at.bytes)?;
        Some(if self.rotates { Collective { root: at.iteration % at.ranks.max(1), ..call } } else { call })
    }

    fn communicator(&self, rank: u32, ranks: u32) -> Communicator {
        Communicator::world(rank, ranks).on_nodes(Arc::clone(&self.nodes))
    }
}

/// Operation of a benchmark, and its algorithm.
struct Kind {
    name: &'static str,
    operation: Operation,
    algorithm: Algorithm,
    root: Option<u32>,
    /// Time for each byte that a rank combines, and for each byte that it copies.
    byte_times: (Time, Time),
}

fn key_of(error: &CollectiveError) -> &'static str {
    match error {
        CollectiveError::Root { .. } => "root",
        CollectiveError::Element { .. } => "sizes",
        CollectiveError::CombinedOnNic => "reduction_time",
        CollectiveError::CopiedOnNic => "copy_time",
        _ => "algorithm",
    }
}

fn timed(
    kind: &Kind,
    (sizes, repetitions, warm_up): (&[Bytes], u32, u32),
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    let repetition = repetition(sizes, (repetitions, warm_up), context.settle)?;
    let group = Group::all(ranks);
    let nodes = NodeGroups::new(&group, context.node_of).among(context.interconnect, Context::WORLD);
    let nodes = Arc::new(nodes);
    let own = Communicator::world(0, ranks).on_nodes(Arc::clone(&nodes));
    let call = |&bytes: &u64| {
        let call = Collective {
            root: kind.root.unwrap_or(0),
            time_per_byte: kind.byte_times.0.0,
            copy_time: kind.byte_times.1.0,
            element: if kind.operation == Operation::Allreduce { ELEMENT } else { 1 },
            ..Collective::new(kind.operation, kind.algorithm, bytes)
        };
        let call = call.carried_by(context.backend, &Selection::built_in(), ranks)?;
        call.check(&own).map(|()| call)
    };
    let calls: Result<Vec<Collective>, CollectiveError> = repetition.sizes.iter().map(call).collect();
    let calls = calls.map_err(|error| KeyError::new(key_of(&error), error))?;
    let rows = Timed::rows(&repetition.sizes, repetitions, |_| TableRow { parts: 1, ..TableRow::default() });
    let rotates = kind.operation.has_root() && kind.root.is_none();
    let programs = Timed::new(Operations { calls, rotates, nodes }, (ranks, group), repetition);
    Ok(TableBenchmark { kind: kind.name, programs: Arc::new(programs), ranks, rows })
}

/// Size of an element of an allreduce in bytes, as in IMB.
const ELEMENT: u32 = 4;

/// Builds the benchmark of an operation without a root.
///
/// # Errors
/// [`KeyError`] for sizes or times out of range and for an algorithm that does not implement the operation.
pub(super) fn build(
    spec: &OperationSpec,
    (name, operation): (&'static str, Operation),
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    check_byte_times(spec.reduction_time, spec.copy_time)?;
    let byte_times = (spec.reduction_time, spec.copy_time);
    let sizes = spec.sizes.clone().unwrap_or_else(|| {
        let element = if operation == Operation::Allreduce { u64::from(ELEMENT) } else { 1 };
        powers(true).into_iter().filter(|size| size.0.is_multiple_of(element)).collect()
    });
    let kind = Kind { name, operation, algorithm: spec.algorithm, root: None, byte_times };
    timed(&kind, (&sizes, spec.repetitions, spec.warm_up), context)
}

/// Builds the benchmark of a broadcast.
///
/// # Errors
/// [`KeyError`] for sizes out of range, a root that does not exist, and an algorithm that does not implement a
/// broadcast.
pub(super) fn build_bcast(
    spec: &BcastSpec,
    name: &'static str,
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(true));
    let kind = Kind {
        name,
        operation: Operation::Broadcast,
        algorithm: spec.algorithm,
        root: spec.root,
        byte_times: (Time(0), Time(0)),
    };
    timed(&kind, (&sizes, spec.repetitions, spec.warm_up), context)
}

/// Builds the benchmark of a barrier.
///
/// # Errors
/// [`KeyError`] for an algorithm that does not implement a barrier.
pub(super) fn build_barrier(
    spec: &BarrierSpec,
    name: &'static str,
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let kind = Kind {
        name,
        operation: Operation::Barrier,
        algorithm: spec.algorithm,
        root: None,
        byte_times: (Time(0), Time(0)),
    };
    timed(&kind, (&[Bytes(0)], spec.repetitions, spec.warm_up), context)
}
