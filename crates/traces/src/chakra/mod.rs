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

/// Reads traces from files in order of ranks, from rank 0.
///
/// # Errors
/// A file that cannot be read, and a node that cannot be carried out.
pub fn read(files: &[PathBuf], options: &Options) -> Result<Traces, ChakraError> {
    let mut calls = CallsBuilder::new(files.len() as u32);
    let mut groups = Groups::default();
    for (name, ranks) in &options.groups {
        groups.number(&mut calls, name, ranks)?;
    }
    let mut tally = Tally::default();
    for (rank, path) in (0..).zip(files) {
        let file = File::read(path, options)?;
        check_ranks(&file, path, files.len(), &mut tally)?;
        tally.add(&file.tally);
        let order = order::of(&file)?;
        let requests = vec![None; file.nodes.len()];
        let units = units_of(&file);
        let ranks = files.len() as u32;
        let calls = &mut calls;
        Rank { calls, rank, ranks, groups: &mut groups, options, file: &file, requests, units, made: 0 }
            .call_all(&order)?;
    }
    Ok(Traces { calls: calls.build(), contents: tally.contents, notes: tally.notes() })
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
    ranks: u32,
    groups: &'a mut Groups,
    options: &'a Options,
    file: &'a File,
    /// Request that ends together with each node. `None` if the node ends at the start.
    requests: Vec<Option<Request>>,
    units: BTreeMap<Unit, u32>,
    /// Requests made so far.
    made: Request,
}

impl Rank<'_> {
    fn call_all(mut self, order: &[u32]) -> Result<(), ChakraError> {
        order.iter().try_for_each(|&place| self.call(place))?;
        self.push(order.last().copied().unwrap_or(0), ScriptCall::WaitAll)
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
                let &Work { peer, tag, bytes, .. } = work;
                ScriptCall::Do(Action::Send { to: peer, bytes, tag, context: Context::WORLD })
            }
            Kind::Receives(work) => {
                let &Work { peer, tag, bytes, .. } = work;
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

    fn collective(&mut self, place: u32, operation: Operation, work: &Work) -> Result<Collective, ChakraError> {
        let (communicator, members) = match &work.group {
            Some(name) => self.group(place, name)?,
            None => (0, u64::from(self.ranks)),
        };
        let bytes = match operation {
            Operation::Alltoall | Operation::Scatter => work.bytes.div_ceil(members.max(1)),
            Operation::Barrier => 0,
            _ => work.bytes,
        };
        Ok(Collective { communicator, root: work.peer, ..Collective::new(operation, Algorithm::Auto, bytes) })
    }

    /// Returns the communicator and the size of a process group. As in PyTorch and ASTRA-sim, a group "0" without a
    /// description is that of all ranks.
    fn group(&mut self, place: u32, name: &str) -> Result<(u32, u64), ChakraError> {
        let all = (0, u64::from(self.ranks));
        let ranks = match (self.options.groups.get(name), self.file.groups.get(name)) {
            (Some(ranks), _) => ranks.clone(),
            (None, Some(Described::Ranks(ranks))) if self.ranks > 1 => ranks.clone(),
            // A single trace, which has been noted.
            (None, Some(_)) => return Ok(all),
            (None, None) if name.is_empty() || name == "0" => return Ok(all),
            (None, None) => {
                let known: BTreeSet<&String> = self.options.groups.keys().chain(self.file.groups.keys()).collect();
                let known: Vec<String> = known.into_iter().take(8).map(|name| format!("`{name}`")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let reason = format!(
                    "there is no process group `{name}`: PREFIX.groups.json, or a node of the trace, has to say which \
                     ranks it has (known: {known})"
                );
                return Err(self.wrong(place, reason));
            }
        };
        let number = self.groups.number(self.calls, name, &ranks)?;
        Ok((number, ranks.len() as u64))
    }

    fn push(&mut self, place: u32, step: ScriptCall) -> Result<(), ChakraError> {
        self.calls.push(self.rank, step).map_err(|error| self.wrong(place, error.to_string()))
    }

    fn wrong(&self, place: u32, reason: String) -> ChakraError {
        let node = self.file.nodes.get(place as usize).map_or(0, |node| node.id);
        ChakraError::Node { file: self.file.name.clone(), node, reason }
    }
}
