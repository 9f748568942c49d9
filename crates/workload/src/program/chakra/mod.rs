//! Execution traces of the Chakra format (MLCommons): a file for each rank, of nodes that depend on one another.
//!
//! A file has messages of the schema one after the other, each behind its length as a variable-length number: `GlobalMetadata`, then
//! `Node`s. What the ranks of such files call is a program ([`Calls`]).
//!
//! Model choices. A rank calculates one node after the other, in an order in which each comes behind those that it depends on, and of those
//! that may be next the one that is first in the file: so is a stream of an accelerator. Sends, receives and collective operations go on beside
//! that. A calculation waits for all that it depends on; a message or an operation for calculations, and for others of its kind whose results it
//! needs (`data_deps`). Behind those that it only follows (`ctrl_deps`) it begins in order, and does not wait for their ends. `comm_size` is
//! what the rank puts in, as ASTRA-sim has it: one part of an allgather or a gather, all parts of an alltoall, a scatter or a reduce-scatter.

mod error;
mod nodes;
mod options;
mod order;
pub mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::calls::{Calls, CallsBuilder, MOST_RANKS};
use super::{Action, Context, Request, Step};
use crate::collectives::{Algorithm, Collective, Operation};
pub use error::ChakraError;
use nodes::{Kind, Work};
pub use options::Options;

/// The files of ranks `PREFIX.0.et`, `PREFIX.1.et` and so on, as many as there are without a gap.
///
/// # Errors
/// That there is none.
pub fn files(prefix: &Path) -> Result<Vec<PathBuf>, ChakraError> {
    let of = |rank: u32| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(format!(".{rank}.et"));
        PathBuf::from(name)
    };
    let all: Vec<PathBuf> = (0..MOST_RANKS).map(of).take_while(|file| file.is_file()).collect();
    if all.is_empty() { Err(ChakraError::NoFiles(prefix.display().to_string())) } else { Ok(all) }
}

/// What the ranks of some files call, the first file being that of rank 0.
///
/// # Errors
/// A file that cannot be read, and a node that cannot be carried out.
pub fn read(files: &[PathBuf], options: &Options) -> Result<Calls, ChakraError> {
    let mut calls = CallsBuilder::new(files.len() as u32);
    let mut groups = BTreeMap::new();
    for (name, ranks) in &options.groups {
        let number = calls.communicator(ranks.clone());
        groups.insert(name.as_str(), number.map_err(|error| ChakraError::Group { name: name.clone(), error })?);
    }
    for (rank, file) in (0..).zip(files) {
        let file = nodes::File::read(file, options)?;
        let order = order::of(&file)?;
        let requests = vec![Vec::new(); file.nodes.len()];
        let calls = &mut calls;
        Rank {
            calls,
            rank,
            ranks: files.len() as u32,
            groups: &groups,
            options,
            file: &file,
            requests,
            waited: Vec::new(),
        }
        .call_all(&order)?;
    }
    Ok(calls.build())
}

/// A rank whose nodes become calls.
struct Rank<'a> {
    calls: &'a mut CallsBuilder,
    rank: u32,
    ranks: u32,
    groups: &'a BTreeMap<&'a str, u32>,
    options: &'a Options,
    file: &'a nodes::File,
    /// By node, the requests that it stands for.
    requests: Vec<Vec<Request>>,
    /// By request, whether it has been waited for.
    waited: Vec<bool>,
}

impl Rank<'_> {
    fn call_all(mut self, order: &[u32]) -> Result<(), ChakraError> {
        order.iter().try_for_each(|&place| self.call(place))?;
        self.push(order.last().copied().unwrap_or(0), Step::WaitAll)
    }

    /// Calls what a node does.
    fn call(&mut self, place: u32) -> Result<(), ChakraError> {
        let node = &self.file.nodes[place as usize];
        let communicates = !matches!(node.kind, Kind::Calculates(_) | Kind::Joins);
        let orders = node.ctrl.iter().filter(|_| !communicates);
        let before = node.data.iter().chain(orders).flat_map(|&of| &self.requests[of as usize]).copied();
        let left: BTreeSet<Request> = before.filter(|&request| !self.waited[request as usize]).collect();
        if let Kind::Joins = node.kind {
            self.requests[place as usize] = left.into_iter().collect();
            return Ok(());
        }
        for request in left {
            self.push(place, Step::Wait(request))?;
            self.waited[request as usize] = true;
        }
        let step = match &node.kind {
            Kind::Joins | Kind::Calculates(0) => return Ok(()),
            Kind::Calculates(time) => return self.push(place, Step::Do(Action::Calc { time: *time })),
            Kind::Sends(work) => {
                let &Work { peer, tag, bytes, .. } = work;
                Step::Do(Action::Send { to: peer, bytes, tag, context: Context::WORLD })
            }
            Kind::Receives(work) => {
                let &Work { peer, tag, bytes, .. } = work;
                Step::Do(Action::Recv { from: Some(peer), bytes, tag: Some(tag), context: Context::WORLD })
            }
            Kind::Operates(operation, work) => Step::StartCollective(self.collective(place, *operation, work)?),
        };
        self.push(place, step)?;
        self.requests[place as usize].push(self.waited.len() as Request);
        self.waited.push(false);
        Ok(())
    }

    fn collective(&self, place: u32, operation: Operation, work: &Work) -> Result<Collective, ChakraError> {
        let (communicator, members) = match &work.group {
            Some(name) if !self.groups.is_empty() => {
                let number = self.groups.get(&**name).copied();
                let number = number.ok_or_else(|| self.wrong(place, format!("there is no process group `{name}`")))?;
                (number, self.options.groups.get(&**name).map_or(1, Vec::len) as u64)
            }
            _ => (0, u64::from(self.ranks)),
        };
        let bytes = match operation {
            Operation::Alltoall | Operation::Scatter => work.bytes.div_ceil(members.max(1)),
            Operation::Barrier => 0,
            _ => work.bytes,
        };
        Ok(Collective { communicator, root: work.peer, ..Collective::new(operation, Algorithm::Auto, bytes) })
    }

    fn push(&mut self, place: u32, step: Step) -> Result<(), ChakraError> {
        self.calls.push(self.rank, step).map_err(|error| self.wrong(place, error.to_string()))
    }

    fn wrong(&self, place: u32, reason: String) -> ChakraError {
        let node = self.file.nodes.get(place as usize).map_or(0, |node| node.id);
        ChakraError::Node { file: self.file.name.clone(), node, reason }
    }
}
