//! Execution traces in the Chakra format (MLCommons): one file per rank, with nodes that depend on one another.
//!
//! A protobuf file has messages of the schema, each preceded by its length as a variable-length integer:
//! `GlobalMetadata`, then `Node`s. A JSON file has the form of Chakra's feeder, of protobuf, or of PyTorch's host
//! trace. The ranks of such files become a program ([`Calls`]).
//!
//! The model follows ASTRA-sim's feeder. A node begins when all its dependencies (`data_deps`, `ctrl_deps`) have ended
//! and its unit is free. The units of a rank are its processor (`is_cpu_op`) and each stream of its accelerator
//! (`stream`). A unit carries out one calculation at a time, and takes the ready one with the lowest number.
//! Communication runs concurrently. As in ASTRA-sim, `comm_size` is the contribution of the rank: one part of an
//! allgather or a gather, all parts of an alltoall, a scatter or a reduce-scatter.

mod components;
mod error;
mod files;
mod groups;
mod json;
mod nodes;
mod notes;
mod operations;
mod options;
mod order;
mod pytorch;
mod scale;
pub mod schema;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use error::ChakraError;
pub use files::{files, read_together};
use groups::Described;
use mpi::collectives::{Algorithm, Collective, Operation};
use mpi::program::calls::{Calls, CallsBuilder};
use mpi::program::{Action, Context, Request, ScriptCall};
use nodes::{File, Kind, Unit, Work};
pub use notes::Contents;
use notes::Tally;
pub use options::{Options, read_groups};
use scale::Scale;
use units::counted;

/// Traces of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Calls of the ranks.
    pub calls: Calls,
    /// Statistics of the files' content.
    pub contents: Contents,
    /// Deviations of the execution from the traces, as sentences.
    pub notes: Vec<String>,
}

/// Reads the traces of all ranks. `path` is their prefix or the file of any rank. Process groups come from
/// `PREFIX.groups.json` if `options` has none.
///
/// # Errors
/// A rank without a file, a file that cannot be read, and a node that cannot be carried out.
pub fn open(path: &Path, mut options: Options) -> Result<Traces, ChakraError> {
    options.check()?;
    let (prefix, files) = files(path)?;
    let beside = files::groups_of(&prefix);
    if options.groups.is_empty() && beside.is_file() {
        options.groups = read_groups(&beside)?;
    }
    read(&files, &options)
}

/// Reads traces from files in order of ranks, from rank 0, and scales them to the ranks of the options.
///
/// # Errors
/// A file that cannot be read, a node that cannot be carried out, and a number of ranks that the process groups do not
/// allow.
pub fn read(files: &[PathBuf], options: &Options) -> Result<Traces, ChakraError> {
    let mut tally = Tally::default();
    let Some(wanted) = options.ranks else {
        let scale = Scale::identity(files.len() as u32);
        let mut conversion = Conversion::new(&scale, options)?;
        for (rank, path) in (0..).zip(files) {
            let file = File::read(path, options)?;
            check_ranks(&file, path, files.len(), &mut tally)?;
            conversion.add(rank, &file, &order::of(&file)?, &mut tally)?;
        }
        return Ok(conversion.finish(tally));
    };
    let mut held = Vec::new();
    for path in files {
        let file = File::read(path, options)?;
        check_ranks(&file, path, files.len(), &mut tally)?;
        held.push(file);
    }
    let orders = held.iter().map(order::of).collect::<Result<Vec<_>, _>>()?;
    let scale = Scale::of(&held, options, wanted)?;
    let mut conversion = Conversion::new(&scale, options)?;
    for rank in 0..scale.ranks() {
        let source = scale.source(rank) as usize;
        conversion.add(rank, &held[source], &orders[source], &mut tally)?;
    }
    Ok(conversion.finish(tally))
}

/// Conversion of the files of all ranks to calls.
struct Conversion<'a> {
    calls: CallsBuilder,
    groups: Groups,
    scale: &'a Scale,
    options: &'a Options,
}

impl<'a> Conversion<'a> {
    /// Creates a conversion with the communicators of the options' groups.
    fn new(scale: &'a Scale, options: &'a Options) -> Result<Self, ChakraError> {
        let mut calls = CallsBuilder::new(scale.ranks());
        let mut groups = Groups::default();
        for (name, ranks) in &options.groups {
            let wrong = |reason: String| ChakraError::Scale { ranks: scale.ranks(), reason };
            for ranks in scale.groups(name, ranks).map_err(wrong)? {
                groups.number(&mut calls, name, &ranks)?;
            }
        }
        Ok(Self { calls, groups, scale, options })
    }

    /// Adds the calls of a rank, which acts as the file.
    fn add(&mut self, rank: u32, file: &File, order: &[u32], tally: &mut Tally) -> Result<(), ChakraError> {
        tally.add(&file.tally);
        let requests = vec![None; file.nodes.len()];
        let (units, sharded) = (units_of(file), shards_of(file));
        let Self { calls, groups, scale, options } = self;
        let changed = Changed::default();
        let rank = Rank { calls, rank, groups, scale, options, file, requests, units, sharded, changed, made: 0 };
        tally.change(rank.call_all(order)?);
        Ok(())
    }

    fn finish(self, tally: Tally) -> Traces {
        Traces { calls: self.calls.build(), contents: tally.contents, notes: tally.notes() }
    }
}

/// Refuses traces whose stated number of ranks differs from the number of files. For a single file, this is only noted.
fn check_ranks(file: &File, path: &Path, count: usize, tally: &mut Tally) -> Result<(), ChakraError> {
    let sizes = file.groups.values().filter_map(|group| match group {
        Described::All(size) => *size,
        Described::Ranks(_) => None,
    });
    let Some(said) = file.ranks.into_iter().chain(sizes).find(|&said| said != count as u64) else { return Ok(()) };
    if count == 1 {
        tally.more.push(format!(
            "{} says that it is of {}, and is alone: its collective operations are among 1 rank",
            file.name,
            counted(said, ["rank", "ranks"])
        ));
        return Ok(());
    }
    let why = format!(
        "{} says that it is of {}, and there are {}",
        file.name,
        counted(said, ["rank", "ranks"]),
        counted(count as u64, ["file", "files"])
    );
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("et");
    let prefix = path.with_extension("").with_extension("");
    Err(ChakraError::Missing { file: files::file_of(&prefix, count as u32, ending).display().to_string(), why })
}

/// Returns the numbers of a rank's units. 0 is its processor.
fn units_of(file: &File) -> BTreeMap<Unit, u32> {
    let of = |node: &nodes::Step| match node.kind {
        Kind::Calculates(_, unit) if unit != Unit::Processor => Some(unit),
        _ => None,
    };
    let used: BTreeSet<Unit> = file.nodes.iter().filter_map(of).collect();
    used.into_iter().zip(1..).chain([(Unit::Processor, 0)]).collect()
}

/// Returns the group and the size of each buffer that a reduce-scatter of the file divides. An allgather in the group
/// whose parts have this size together collects the shards of such a buffer.
fn shards_of(file: &File) -> BTreeSet<(Option<&str>, u64)> {
    let works = file.nodes.iter().filter_map(|node| match &node.kind {
        Kind::Operates(Operation::ReduceScatter, work) => Some(work),
        _ => None,
    });
    works.map(|work| (work.group.as_deref(), work.bytes)).collect()
}

/// Changes of the content of a rank's file by scaling.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    /// Bytes of the operations in scaled groups, in the file and after scaling.
    before: u64,
    after: u64,
    /// Allgathers in groups that change their size, whose members keep their bytes.
    kept: u64,
}

/// Numbers of communicators, by name and ranks of the process group.
#[derive(Debug, Default)]
struct Groups(BTreeMap<(String, Vec<u32>), u32>);

impl Groups {
    /// Returns the number of a group's communicator, and creates it if needed.
    fn number(&mut self, calls: &mut CallsBuilder, name: &str, ranks: &[u32]) -> Result<u32, ChakraError> {
        let key = (name.to_owned(), ranks.to_vec());
        if let Some(&number) = self.0.get(&key) {
            return Ok(number);
        }
        let number = calls.communicator(ranks.to_vec());
        let number = number.map_err(|error| ChakraError::Group { name: name.to_owned(), error })?;
        self.0.insert(key, number);
        Ok(number)
    }
}

/// Conversion of the nodes of a rank to calls.
struct Rank<'a> {
    calls: &'a mut CallsBuilder,
    rank: u32,
    groups: &'a mut Groups,
    scale: &'a Scale,
    options: &'a Options,
    file: &'a File,
    /// Request that ends together with each node. `None` if the node ends at the start.
    requests: Vec<Option<Request>>,
    units: BTreeMap<Unit, u32>,
    /// Groups and sizes of buffers whose shards the members hold.
    sharded: BTreeSet<(Option<&'a str>, u64)>,
    changed: Changed,
    /// Requests made so far.
    made: Request,
}

impl Rank<'_> {
    fn call_all(mut self, order: &[u32]) -> Result<Changed, ChakraError> {
        order.iter().try_for_each(|&place| self.call(place))?;
        self.push(order.last().copied().unwrap_or(0), ScriptCall::WaitAll)?;
        Ok(self.changed)
    }

    /// Makes the calls of a node.
    fn call(&mut self, place: u32) -> Result<(), ChakraError> {
        let node = &self.file.nodes[place as usize];
        let before: BTreeSet<Request> = node.after.iter().filter_map(|&of| self.requests[of as usize]).collect();
        if matches!(node.kind, Kind::Joins | Kind::Calculates(0, _)) && before.len() < 2 {
            self.requests[place as usize] = before.first().copied();
            return Ok(());
        }
        let step = match &node.kind {
            Kind::Joins => ScriptCall::StartCalc { time: 0, unit: 0 },
            Kind::Calculates(time, unit) => {
                ScriptCall::StartCalc { time: *time, unit: self.units.get(unit).copied().unwrap_or(0) }
            }
            Kind::Sends(work) => {
                let &Work { tag, bytes, .. } = work;
                let peer = self.peer(place, work.peer)?;
                ScriptCall::Do(Action::Send { to: peer, bytes, tag, context: Context::WORLD })
            }
            Kind::Receives(work) => {
                let &Work { tag, bytes, .. } = work;
                let peer = self.peer(place, work.peer)?;
                ScriptCall::Do(Action::Recv { from: Some(peer), bytes, tag: Some(tag), context: Context::WORLD })
            }
            Kind::Operates(operation, work) => ScriptCall::StartCollective(self.collective(place, *operation, work)?),
        };
        before.into_iter().try_for_each(|request| self.push(place, ScriptCall::After(request)))?;
        self.push(place, step)?;
        self.requests[place as usize] = Some(self.made);
        self.made += 1;
        Ok(())
    }

    fn peer(&self, place: u32, peer: u32) -> Result<u32, ChakraError> {
        self.scale.peer(self.rank, peer).map_err(|reason| self.wrong(place, reason))
    }

    fn collective(&mut self, place: u32, operation: Operation, work: &Work) -> Result<Collective, ChakraError> {
        let (communicator, (before, members)) = match &work.group {
            Some(name) => self.group(place, name)?,
            None => (0, self.all()),
        };
        let is_sharded = self.sharded.contains(&(work.group.as_deref(), work.bytes.saturating_mul(before)));
        let scaled = self.scale.bytes(operation, work.bytes, (before, members), is_sharded);
        let bytes = scaled.map_err(|reason| self.wrong(place, reason))?;
        if before != members {
            self.changed.before = self.changed.before.saturating_add(work.bytes);
            self.changed.after = self.changed.after.saturating_add(bytes);
            self.changed.kept += u64::from(operation == Operation::Allgather && !is_sharded);
        }
        let bytes = match operation {
            Operation::Alltoall | Operation::Scatter => bytes.div_ceil(members.max(1)),
            Operation::Barrier => 0,
            _ => bytes,
        };
        let root = self.root(place, work)?;
        Ok(Collective { communicator, root, ..Collective::new(operation, Algorithm::Auto, bytes) })
    }

    /// Returns the root of an operation among the members of its group.
    fn root(&self, place: u32, work: &Work) -> Result<u32, ChakraError> {
        if self.scale.is_identity() {
            return Ok(work.peer);
        }
        let all: Vec<u32> = (0..self.scale.before()).collect();
        let own = work.group.as_deref().and_then(|name| self.described(name)).unwrap_or(&all);
        let name = work.group.as_deref().unwrap_or(scale::ALL);
        let after = self.scale.group(self.rank, name, own).map_err(|reason| self.wrong(place, reason))?;
        self.scale.root(work.peer, own, &after.ranks).map_err(|reason| self.wrong(place, reason))
    }

    /// Returns the ranks of a group in the trace, if they are described.
    fn described(&self, name: &str) -> Option<&Vec<u32>> {
        match (self.options.groups.get(name), self.file.groups.get(name)) {
            (Some(ranks), _) => Some(ranks),
            (None, Some(Described::Ranks(ranks))) if self.scale.before() > 1 => Some(ranks),
            _ => None,
        }
    }

    /// Returns the numbers of all ranks in the trace and after scaling.
    fn all(&self) -> (u64, u64) {
        (self.scale.before().into(), self.scale.ranks().into())
    }

    /// Returns the communicator of a process group, and its sizes in the trace and after scaling. As in PyTorch and
    /// ASTRA-sim, a group "0" without a description is that of all ranks.
    fn group(&mut self, place: u32, name: &str) -> Result<(u32, (u64, u64)), ChakraError> {
        let Some(ranks) = self.described(name) else {
            // A single trace with a described group has been noted.
            if self.file.groups.contains_key(name) || name.is_empty() || name == scale::ALL {
                return Ok((0, self.all()));
            }
            let known: BTreeSet<&String> = self.options.groups.keys().chain(self.file.groups.keys()).collect();
            let known: Vec<String> = known.into_iter().take(8).map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let reason = format!(
                "there is no process group `{name}`: PREFIX.groups.json, or a node of the trace, has to say which ranks \
                 it has (known: {known})"
            );
            return Err(self.wrong(place, reason));
        };
        let members = self.scale.group(self.rank, name, ranks).map_err(|reason| self.wrong(place, reason))?;
        let number = self.groups.number(self.calls, name, &members.ranks)?;
        Ok((number, (members.before, members.ranks.len() as u64)))
    }

    fn push(&mut self, place: u32, step: ScriptCall) -> Result<(), ChakraError> {
        self.calls.push(self.rank, step).map_err(|error| self.wrong(place, error.to_string()))
    }

    fn wrong(&self, place: u32, reason: String) -> ChakraError {
        let node = self.file.nodes.get(place as usize).map_or(0, |node| node.id);
        ChakraError::Node { file: self.file.name.clone(), node, reason }
    }
}
