//! Reader of the calls of a rank, which checks them as it reads.

use std::sync::Arc;

use super::error::TraceError;
use super::index::Index;
use super::record::{Call, End, Part, Record};
use super::source::{FilePart, Reader};
use mpi::communicator::Group;

/// Largest number of requests of a rank. They are counted in 32 bits.
const MOST_REQUESTS: u32 = 1 << 31;

/// Reader of the calls of a rank. Members, communicators and requests in its output exist.
#[derive(Debug)]
pub struct RankReader {
    reader: Reader<FilePart>,
    index: Arc<Index>,
    rank: u32,
    /// Requests made so far.
    made: u32,
    /// Communicators other than that of all ranks that are known to include the rank.
    known: Vec<u32>,
}

impl RankReader {
    /// Creates a reader at the start of a rank's calls.
    pub const fn new(reader: Reader<FilePart>, index: Arc<Index>, rank: u32) -> Self {
        Self { reader, index, rank, made: 0, known: Vec::new() }
    }

    /// Returns the index of the trace.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the next record, and the number of requests made before it. `None` at the end.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(Record, u32)>, TraceError> {
        let at = self.reader.position();
        let read = Record::read(&mut self.reader, self.index.ranks.len() as u32);
        let checked = read.and_then(|record| {
            let Some(record) = record else { return Ok(None) };
            let before = self.made;
            self.check(&record.call)?;
            Ok(Some((record, before)))
        });
        checked.map_err(|error| error.of_rank(self.rank, at))
    }

    #[inline]
    fn check(&mut self, call: &Call) -> Result<(), TraceError> {
        match call {
            Call::Send { end, .. } | Call::Recv { end, .. } => {
                self.check_end(end)?;
                self.make(1)
            }
            Call::Probe { end } => self.check_end(end),
            Call::Wait { age, count, met: None } => match *count > 0 && count <= age && *age <= self.made {
                true => Ok(()),
                false => Err(TraceError::garbled("it waits for a request that it has not made")),
            },
            Call::Poll => Ok(()),
            Call::Collective { comm, root, .. } => {
                let members = self.group(*comm)?.len();
                self.make(1)?;
                if *root < members { Ok(()) } else { Err(TraceError::garbled(format!("there is no member {root}"))) }
            }
            Call::Exchange { comm, receives, sends, .. } => {
                let members = self.group(*comm)?.len();
                let is_absent = |part: &&Part| part.0 >= members;
                if let Some(part) = receives.iter().chain(sends).find(is_absent) {
                    return Err(TraceError::garbled(format!("there is no member {}", part.0)));
                }
                self.make(receives.len() + sends.len())
            }
            Call::Wait { met: Some(_), .. } | Call::Communicator(_) | Call::End(_) => {
                Err(TraceError::garbled("it is what only the file of a rank has"))
            }
        }
    }

    fn make(&mut self, requests: usize) -> Result<(), TraceError> {
        let made = u32::try_from(requests).ok().and_then(|requests| self.made.checked_add(requests));
        let made = made.filter(|&made| made <= MOST_REQUESTS);
        self.made = made.ok_or_else(|| TraceError::garbled("it makes too many requests"))?;
        Ok(())
    }

    #[inline]
    fn check_end(&mut self, end: &End) -> Result<(), TraceError> {
        if end.peer < self.group(end.comm)?.len() {
            return Ok(());
        }
        Err(TraceError::garbled(format!("there is no member {}", end.peer)))
    }

    /// Returns the ranks of a communicator that includes this rank.
    #[inline]
    fn group(&mut self, number: u32) -> Result<&Group, TraceError> {
        let group = self.index.group(number);
        let group = group.ok_or_else(|| TraceError::garbled(format!("there is no communicator {number}")))?;
        if number > 0 && self.known.last() != Some(&number) {
            match self.known.iter().position(|&known| known == number) {
                Some(place) => self.known.swap_remove(place),
                None if group.member(self.rank).is_some() => number,
                None => return Err(TraceError::garbled(format!("it is no member of communicator {number}"))),
            };
            // The last communicator is mostly used again.
            self.known.push(number);
        }
        Ok(group)
    }
}
