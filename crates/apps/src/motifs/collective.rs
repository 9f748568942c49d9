//! Repeated collective operation of all ranks, or of groups of ranks at once.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, KeyResult, Time};

use super::limits::{check_byte_time, check_byte_times, check_time};
use super::nccl::NcclSpec;
use super::program_context::ProgramContext;
use super::ranks::{Grouping, Groups};
use mpi::collectives::{
    Algorithm, Collective, CollectiveError, Fastest, GroupNumbers, Operation, ProgramGroup, Selection, bound,
};
use mpi::communicator::Communicator;
use mpi::program::{
    Action, FanOut, GroupCall, Interval, Measure, Messages, Programs, RankProgram, Script, ScriptCall, ScriptedRank,
    Seen,
};

/// Repeated collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CollectiveSpec {
    /// Collective operation.
    pub operation: Operation,
    /// Algorithm. `cutthrough list collectives` shows which algorithms support which operation.
    pub algorithm: Algorithm,
    /// Size of the buffer that is sent or combined, in bytes. For gather, scatter, allgather and alltoall: size of one
    /// member's part.
    pub size: Bytes,
    /// Size of an element in bytes. Algorithms do not divide elements.
    #[schemars(extend("minimum" = 1))]
    pub element_size: Bytes,
    /// Root: member number within the group. Rooted operations only.
    pub root: u32,
    /// Radix of `k-nomial` (default: 4), `bruck` and `dissemination` (default: 2), or number of `chains` (default: 4).
    /// `double-tree`: consecutive members that form a chain (default: 1). Not with `nccl`, whose chains are servers.
    #[schemars(range(min = 2, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radix: Option<u32>,
    /// Largest message in bytes (segmentation). Trees and chains divide broadcasts, reductions and allreduces into
    /// segments; `ring` divides the parts of an allreduce. `rabenseifner-doubling` and `bine-bandwidth` divide the
    /// messages of the reduction of an allreduce. `linear-sync` of a gather: size of the first message of a part.
    /// Default: no segmentation.
    #[schemars(extend("minimum" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// Number of messages in each direction that a member of an alltoall by `linear-sync` has outstanding. Default: no
    /// limit.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Ranks per group. All groups carry out the operation at once. Default: a single group of all ranks.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_size: Option<u32>,
    /// Distance between consecutive ranks of a group.
    #[schemars(range(min = 1))]
    pub group_stride: u32,
    /// Number of consecutive operations.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// Time that a rank calculates before each operation. With `overlap`: during each operation.
    pub compute: Time,
    /// Start operations without blocking, calculate meanwhile, and then wait.
    pub overlap: bool,
    /// Calculation time per byte that a rank combines with another.
    pub reduction_time: Time,
    /// Time per byte that a rank copies in its memory to bring parts of a buffer into another order (`bruck`,
    /// `bine-permute`, `bine-datatype`, and `bine` of an alltoall).
    pub copy_time: Time,
    /// Time per byte that a rank writes in temporary buffers whose memory pages are new in each call.
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

impl Default for CollectiveSpec {
    fn default() -> Self {
        Self {
            operation: Operation::Allreduce,
            algorithm: Algorithm::Auto,
            size: Bytes(64 * 1024),
            element_size: Bytes(1),
            root: 0,
            radix: None,
            segment: None,
            window: None,
            group_size: None,
            group_stride: 1,
            iterations: 1,
            compute: Time(0),
            overlap: false,
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

/// Largest size in bytes. Sums over all ranks are counted in 64 bits.
const LARGEST: u64 = 1 << 40;

/// Largest number of operations of all ranks together. Start and end of each are stored.
const MOST_INTERVALS: u64 = 1 << 26;

/// Returns the key that an error concerns.
pub(crate) fn key_of(error: &CollectiveError) -> &'static str {
    match error {
        CollectiveError::Root { .. } => "root",
        CollectiveError::Element { .. } => "element_size",
        CollectiveError::Radix { .. } => "radix",
        CollectiveError::CombinedOnNic => "reduction_time",
        CollectiveError::WorkOnNic { key } => key,
        CollectiveError::NoSegments { .. } | CollectiveError::Segment { .. } => "segment",
        _ => "algorithm",
    }
}

impl CollectiveSpec {
    /// Refuses values that are invalid for any grouping.
    pub(crate) fn check(&self, ranks: u32) -> Result<(), KeyError> {
        if self.size.0 > LARGEST {
            return Err(KeyError::new("size", format!("{} is too large: at most 1 TiB is allowed", self.size)));
        }
        if !(1..=1 << 20).contains(&self.element_size.0) {
            let message = format!("{} is out of range: 1 B to 1 MiB are allowed", self.element_size);
            return Err(KeyError::new("element_size", message));
        }
        if self.root != 0 && !self.operation.has_root() {
            return Err(KeyError::new("root", format!("`{}` has no root", self.operation.name())));
        }
        if self.radix.is_some() && !self.algorithm.has_radix() {
            let message = format!(
                "`{}` has no radix that can be chosen; `k-nomial`, `bruck`, `dissemination`, `chains` and `double-tree` have",
                self.algorithm.name()
            );
            return Err(KeyError::new("radix", message));
        }
        if self.window.is_some() && (self.operation, self.algorithm) != (Operation::Alltoall, Algorithm::LinearSync) {
            let (operation, algorithm) = (self.operation.name(), self.algorithm.name());
            let message = format!("`{algorithm}` of `{operation}` has no window; `linear-sync` of `alltoall` has");
            return Err(KeyError::new("window", message));
        }
        if self.selection.is_some() && self.algorithm != Algorithm::Auto {
            let message = format!("it is for `algorithm = \"auto\"`, and that is `{}`", self.algorithm.name());
            return Err(KeyError::new("selection", message));
        }
        if self.selection.is_some() && self.nccl.is_some() {
            return Err(KeyError::new(
                "selection",
                "NCCL's tuning model chooses algorithms; leave out one of the keys",
            ));
        }
        if self.radix.is_some() && self.nccl.is_some() {
            return Err(KeyError::new("radix", "the chains of NCCL's trees are servers; leave it out, or `nccl`"));
        }
        if let Some(nccl) = &self.nccl {
            nccl.check()?;
        }
        if self.segment == Some(Bytes(0)) {
            return Err(KeyError::new("segment", "a segment has at least one element; without the key there are none"));
        }
        if self.segment.is_some() && self.algorithm == Algorithm::Auto {
            return Err(KeyError::new(
                "segment",
                "`auto` chooses segments too; name an algorithm, or a table with segments",
            ));
        }
        check_byte_times(self.reduction_time, self.copy_time)?;
        check_byte_time("buffer_time", self.buffer_time)?;
        let own = [("start_time", self.start_time), ("step_time", self.step_time)];
        own.into_iter().try_for_each(|(key, time)| check_time(key, time))?;
        let with_nccl = own.into_iter().chain([("buffer_time", self.buffer_time)]).find(|(_, time)| time.0 > 0);
        if let Some((key, _)) = with_nccl.filter(|_| self.nccl.is_some()) {
            return Err(KeyError::new(key, "NCCL has other times of operations and steps; leave it out, or `nccl`"));
        }
        if u64::from(self.iterations) * u64::from(ranks) > MOST_INTERVALS {
            let message = format!("{} operations of {ranks} ranks are too many: up to 2^26 in all", self.iterations);
            return Err(KeyError::new("iterations", message));
        }
        check_time("compute", self.compute)
    }

    /// Returns the call, with the algorithm chosen for groups of `members` members.
    pub(crate) fn call(&self, members: u32, context: &ProgramContext<'_>) -> Result<Collective, KeyError> {
        let base = context.base;
        let selection = match &self.selection {
            Some(file) => Selection::given(base, file).at_key("selection")?,
            None => Selection::built_in(),
        };
        let own = Collective {
            element: self.element_size.0 as u32,
            root: self.root,
            segment: self.segment.map_or(0, |segment| segment.0),
            window: self.window.unwrap_or(0),
            time_per_byte: self.reduction_time.0,
            copy_time: self.copy_time.0,
            buffer_time: self.buffer_time.0,
            launch_time: self.start_time.0,
            step_time: self.step_time.0,
            ..Collective::new(self.operation, self.algorithm, self.size.0)
        };
        if let Some(nccl) = &self.nccl {
            return nccl.tuned(&own, (members, self.group_stride), context);
        }
        let call = own
            .carried_by(context.backend, &selection, members)
            .map_err(|error| KeyError::new(key_of(&error), error))?;
        let default = match call.algorithm {
            Algorithm::KNomial | Algorithm::Chains => 4,
            Algorithm::DoubleTree => 1,
            _ => 2,
        };
        Ok(Collective { radix: self.radix.unwrap_or(default), ..call })
    }

    /// Returns a note on the candidates of NCCL for groups of `members` members, if NCCL chooses.
    pub(crate) fn note(&self, members: u32, context: &ProgramContext<'_>) -> Vec<String> {
        let element = self.element_size.0 as u32;
        let call = Collective { element, ..Collective::new(self.operation, self.algorithm, self.size.0) };
        let note = self.nccl.as_ref().and_then(|nccl| nccl.note(&call, (members, self.group_stride), context));
        note.into_iter().collect()
    }
}

/// Program of a repeated collective operation.

#[derive(Debug)]
pub(super) struct CollectiveProgram {
    call: Collective,
    groups: Groups,
    ranks: u32,
    iterations: u32,
    compute: u64,
    overlap: bool,
    /// Messages of all ranks in all operations.
    messages: u64,
    /// In-switch calls of all ranks in all operations.
    in_switch: u64,
    /// Predicted times of NCCL's candidates.
    notes: Vec<String>,
}

impl CollectiveProgram {
    /// Builds the program of ranks on a context.
    ///
    /// # Errors
    /// Inconsistent keys, ranks that cannot be divided into groups, or an unreadable file.
    pub fn new(spec: &CollectiveSpec, context: &ProgramContext<'_>) -> Result<Self, KeyError> {
        let ranks = context.node_of.len() as u32;
        spec.check(ranks)?;
        let grouping =
            Grouping::new(ranks, spec.group_size.unwrap_or(ranks), spec.group_stride).at_key("group_size")?;
        let mut program = Self {
            call: spec.call(grouping.size(), context)?,
            groups: Groups::new(grouping, 0, (context.node_of, context.interconnect)),
            ranks,
            iterations: spec.iterations,
            compute: spec.compute.0,
            overlap: spec.overlap,
            messages: 0,
            in_switch: 0,
            notes: spec.note(grouping.size(), context),
        };
        program.call.check(&program.groups.communicator(0)).map_err(|error| KeyError::new(key_of(&error), error))?;
        let mut messages = 0_u64;
        program.each_size(&mut |_, count| messages = messages.saturating_add(count));
        program.messages = messages;
        let members: Vec<u64> = program.groups().iter().map(|group| group.ranks.len() as u64).collect();
        let mut in_switch = 0_u64;
        program.each_group_call(&mut |place, _, count| {
            in_switch = in_switch.saturating_add(members[place].saturating_mul(count));
        });
        program.in_switch = in_switch;
        Ok(program)
    }
}

impl Programs for CollectiveProgram {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let ranks = self.ranks;
        let state =
            CollectiveRank { rank, done: 0, place: Place::Before, begin: 0, intervals: Vec::new(), program: self };
        Box::new(ScriptedRank::new(state, rank, ranks))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn operations(&self) -> u64 {
        2 * self.messages + self.in_switch
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        self.groups.each_in_switch(&self.call, &mut numbers, &mut |_, _| {});
        numbers.groups()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        let mut visit = |place: usize, call: &GroupCall| visit(place, call, u64::from(self.iterations));
        self.groups.each_in_switch(&self.call, &mut GroupNumbers::default(), &mut visit);
    }

    fn messages_of(&self, from: u32, visit: &mut dyn FnMut(Messages)) {
        self.call.each_message(&self.groups.communicator(from), &mut |to, bytes, count| {
            visit(Messages { from, to, bytes, count: count * u64::from(self.iterations) });
        });
    }

    fn fan_outs_of(&self, rank: u32, visit: &mut dyn FnMut(FanOut)) {
        let iterations = u64::from(self.iterations);
        self.call.each_fan_out(&self.groups.communicator(rank), &mut |to, bytes, count| {
            visit(FanOut { to, bytes, count: count * iterations });
        });
    }

    fn is_symmetric(&self) -> bool {
        let own = self.groups.communicator(0);
        own.len() == self.ranks && self.call.is_symmetric(&own)
    }

    fn sizes_of(&self, rank: u32, visit: &mut dyn FnMut(u64, u64)) {
        let iterations = u64::from(self.iterations);
        self.call.each_size(&self.groups.communicator(rank), &mut |bytes, count| visit(bytes, count * iterations));
    }

    fn measures(&self, fastest: &Fastest) -> Vec<Measure> {
        let bounds = self.groups.firsts().map(|own| bound(&self.call, &own, fastest));
        let bound = bounds.max();
        vec![Measure { name: self.call.operation.name().to_owned(), bound }]
    }
}

/// Progress of a rank within an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The operation has not begun.
    Before,
    /// The calculation before the operation is over.
    Calculated,
    /// A nonblocking operation is in progress.
    Started,
    /// The overlapped calculation is over.
    Overlapped,
    /// The operation has ended.
    Over,
}

/// Rank that takes part.
#[derive(Debug)]
struct CollectiveRank {
    program: Arc<CollectiveProgram>,
    rank: u32,
    /// Operations completed.
    done: u32,
    place: Place,
    /// Start of the current operation, in picoseconds.
    begin: u64,
    intervals: Vec<Interval>,
}

impl Script for CollectiveRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        let CollectiveProgram { call, compute, overlap, iterations, .. } = *self.program;
        let calculate = ScriptCall::Do(Action::Calc { time: compute });
        loop {
            match self.place {
                Place::Before if self.done == iterations => return ScriptCall::End,
                Place::Before => {
                    self.place = Place::Calculated;
                    if compute > 0 && !overlap {
                        return calculate;
                    }
                }
                Place::Calculated => {
                    self.begin = seen.now;
                    self.place = if overlap { Place::Started } else { Place::Over };
                    return if overlap { ScriptCall::StartCollective(call) } else { ScriptCall::Collective(call) };
                }
                Place::Started => {
                    self.place = Place::Overlapped;
                    if compute > 0 {
                        return calculate;
                    }
                }
                Place::Overlapped => {
                    self.place = Place::Over;
                    // The operations of a rank are its only requests.
                    return ScriptCall::Wait(self.done);
                }
                Place::Over => {
                    self.intervals.push(Interval { key: self.done, start: self.begin, end: seen.now });
                    (self.done, self.place) = (self.done + 1, Place::Before);
                }
            }
        }
    }

    fn communicator(&self, _number: u32) -> Option<Communicator> {
        Some(self.program.groups.communicator(self.rank))
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
