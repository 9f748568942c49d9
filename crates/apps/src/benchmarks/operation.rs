//! Benchmarks of one collective operation of all ranks, for each size in turn: any operation with any algorithm, and
//! IMB's Bcast, Allreduce, Alltoall, Allgather and Barrier.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, Time};

use super::sizes::{Smallest, powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Repetition, Timed};
use crate::motifs::{CollectiveSpec, NcclSpec, ProgramContext, check_byte_times, key_of};
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

/// Any collective operation of all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AnyOperationSpec {
    /// Collective operation. A barrier has one row, without a size.
    pub operation: Operation,
    /// Algorithm. `cutthrough list collectives` lists the algorithms of each operation.
    pub algorithm: Algorithm,
    /// Sizes; one row each. The size is that of the buffer that is sent or combined. For gather, scatter, allgather and
    /// alltoall it is that of one rank's part. Default: the powers of two up to 4 MiB that are multiples of
    /// `element_size`.
    #[schemars(extend("x-example" = "[\"8 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured operations for each size. With 1, each operation follows a barrier.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up operations for each size, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Size of an element in bytes. Algorithms do not divide elements.
    #[schemars(extend("minimum" = 1))]
    pub element_size: Bytes,
    /// Root. Rooted operations only.
    pub root: u32,
    /// Radix of algorithms that have one. Default: that of the algorithm.
    #[schemars(range(min = 2, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
    /// Largest message in bytes, of algorithms that divide their messages. Default: no segmentation.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// Number of messages that a rank has outstanding in an alltoall by `linear-sync`. Default: that of the algorithm.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Calculation time of a rank for each byte that it combines with another.
    pub reduction_time: Time,
    /// Time of a rank for each byte that it copies in its memory to bring parts of a buffer into another order.
    pub copy_time: Time,
    /// Time of a rank for each byte that it writes in temporary buffers whose memory pages are new in each call.
    pub buffer_time: Time,
    /// Time of a rank before its first message of each operation: an exchange of addresses.
    pub start_time: Time,
    /// Time of a rank after the messages of each round: the software of a step.
    pub step_time: Time,
    /// Selection table by which `auto` chooses algorithms: `open-mpi-4.1`, `mpich-4`, or a file of rules, relative to the
    /// experiment file. Default: `mpich-4`.
    #[schemars(extend("x-example" = "\"open-mpi-4.1\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<PathBuf>,
    /// NCCL: its tuning model chooses algorithm, protocol and channels. Default: MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nccl: Option<NcclSpec>,
}

impl Default for AnyOperationSpec {
    fn default() -> Self {
        Self {
            operation: Operation::Allreduce,
            algorithm: Algorithm::Auto,
            sizes: None,
            repetitions: 1,
            warm_up: 1,
            element_size: Bytes(u64::from(ELEMENT)),
            root: 0,
            radix: None,
            segment: None,
            window: None,
            reduction_time: Time(0),
            copy_time: Time(0),
            buffer_time: Time(0),
            start_time: Time(0),
            step_time: Time(0),
            selection: None,
            nccl: None,
        }
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
    /// Predicted times of NCCL's candidates.
    notes: Vec<String>,
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
        use Operation as O;
        self.calls.iter().any(|call| call.operation.has_root() || matches!(call.operation, O::Scan | O::Exscan))
    }

    fn operation(&self, at: At) -> Option<Collective> {
        let call = *self.calls.iter().find(|call| call.bytes == at.bytes)?;
        Some(if self.rotates { Collective { root: at.iteration % at.ranks.max(1), ..call } } else { call })
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn communicator(&self, rank: u32, ranks: u32) -> Communicator {
        Communicator::world(rank, ranks).on_nodes(Arc::clone(&self.nodes))
    }
}

/// Returns the key of IMB's benchmarks that an error concerns.
fn key_in_imb(error: &CollectiveError) -> &'static str {
    match error {
        CollectiveError::Element { .. } => "sizes",
        error => key_of(error),
    }
}

/// Returns the call of each size, of one of IMB's benchmarks.
fn calls(call: Collective, sizes: &[Bytes], context: &ProgramContext<'_>) -> Result<Vec<Collective>, KeyError> {
    let ranks = context.node_of.len() as u32;
    let chosen = |size: &Bytes| {
        let element = if call.operation == Operation::Allreduce { ELEMENT } else { 1 };
        Collective { bytes: size.0, element, ..call }.carried_by(context.backend, &Selection::built_in(), ranks)
    };
    let calls: Result<_, CollectiveError> = sizes.iter().map(chosen).collect();
    calls.map_err(|error| KeyError::new(key_in_imb(&error), error))
}

/// Returns the benchmark of a call for each size. The root changes from iteration to iteration if `rotates`.
fn timed(
    kind: &'static str,
    (calls, rotates, notes): (Vec<Collective>, bool, Vec<String>),
    repetition: Repetition,
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, CollectiveError> {
    let ranks = context.node_of.len() as u32;
    let group = Group::all(ranks);
    let nodes = NodeGroups::new(&group, context.node_of).among(context.interconnect, Context::WORLD);
    let nodes = Arc::new(nodes);
    let own = Communicator::world(0, ranks).on_nodes(Arc::clone(&nodes));
    calls.iter().try_for_each(|call| call.check(&own))?;
    let row = |_| TableRow { parts: 1, ..TableRow::default() };
    let rows = Timed::rows(&repetition.sizes, repetition.measured, row);
    let programs = Timed::new(Operations { calls, rotates, nodes, notes }, (ranks, group), repetition);
    Ok(TableBenchmark { kind, programs: Arc::new(programs), ranks, rows })
}

/// Size of an element of an allreduce in bytes, as in IMB.
const ELEMENT: u32 = 4;

/// Returns IMB's sizes that are whole elements of `element` bytes.
fn whole(sizes: Vec<Bytes>, element: u64) -> Vec<Bytes> {
    sizes.into_iter().filter(|size| size.0.is_multiple_of(element)).collect()
}

/// Builds the benchmark of any operation, which has the operation's name.
///
/// # Errors
/// [`KeyError`] for values out of range, and keys that the operation or its algorithm do not have.
pub(super) fn build_any(spec: &AnyOperationSpec, context: &ProgramContext<'_>) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    let of_size = |size: Bytes| CollectiveSpec {
        operation: spec.operation,
        algorithm: spec.algorithm,
        size,
        element_size: spec.element_size,
        root: spec.root,
        radix: spec.radix,
        segment: spec.segment,
        window: spec.window,
        reduction_time: spec.reduction_time,
        copy_time: spec.copy_time,
        buffer_time: spec.buffer_time,
        start_time: spec.start_time,
        step_time: spec.step_time,
        selection: spec.selection.clone(),
        nccl: spec.nccl.clone(),
        ..CollectiveSpec::default()
    };
    of_size(Bytes(0)).check(ranks)?;
    let sizes = match (&spec.sizes, spec.operation) {
        (Some(_), Operation::Barrier) => return Err(KeyError::new("sizes", "a `barrier` has no size")),
        (None, Operation::Barrier) => vec![Bytes(0)],
        (sizes, _) => sizes.clone().unwrap_or_else(|| whole(powers(Smallest::Byte), spec.element_size.0)),
    };
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), context.settle)?;
    let calls = sizes.iter().map(|&size| of_size(size).call(ranks, context)).collect::<Result<_, _>>()?;
    let notes = sizes.iter().flat_map(|&size| of_size(size).note(ranks, context)).collect();
    timed(spec.operation.name(), (calls, false, notes), repetition, context).map_err(|error| match error {
        CollectiveError::Element { .. } => KeyError::new("sizes", error),
        error => KeyError::new(key_of(&error), error),
    })
}

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
    let element = if operation == Operation::Allreduce { u64::from(ELEMENT) } else { 1 };
    let sizes = spec.sizes.clone().unwrap_or_else(|| whole(powers(Smallest::Empty), element));
    let (time_per_byte, copy_time) = (spec.reduction_time.0, spec.copy_time.0);
    let call = Collective { time_per_byte, copy_time, ..Collective::new(operation, spec.algorithm, 0) };
    imb(name, (call, false), (&sizes, spec.repetitions, spec.warm_up), context)
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
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(Smallest::Empty));
    let root = spec.root.unwrap_or(0);
    let call = Collective { root, ..Collective::new(Operation::Broadcast, spec.algorithm, 0) };
    imb(name, (call, spec.root.is_none()), (&sizes, spec.repetitions, spec.warm_up), context)
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
    let call = Collective::new(Operation::Barrier, spec.algorithm, 0);
    imb(name, (call, false), (&[Bytes(0)], spec.repetitions, spec.warm_up), context)
}

/// Builds one of IMB's benchmarks, with a call of no size.
fn imb(
    name: &'static str,
    (call, rotates): (Collective, bool),
    (sizes, repetitions, warm_up): (&[Bytes], u32, u32),
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let repetition = repetition(sizes, (repetitions, warm_up), context.settle)?;
    let calls = calls(call, sizes, context)?;
    timed(name, (calls, rotates, Vec::new()), repetition, context)
        .map_err(|error| KeyError::new(key_in_imb(&error), error))
}
