//! The file of one rank, as the recorder writes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use super::error::TraceError;
use super::limits::MOST_RANKS;
use super::members::Members;
use super::record::{Call, Ending, Record};
use super::source::Reader;

/// What it begins with: its name, and the version of the format.
const MAGIC: [u8; 8] = *b"CTRANK\0\x01";

/// Bytes that are read at a time.
const WINDOW: usize = 1 << 16;

/// A file of a rank that is being read, behind its head.
pub struct Part {
    /// Its records.
    pub reader: Reader<File>,
    /// The rank.
    pub rank: u32,
    /// How many ranks there are.
    pub ranks: u32,
}

impl Part {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = units::input::open(path).map_err(|error| TraceError::file(&error))?;
        let mut reader = Reader::new(file, WINDOW);
        for (place, wanted) in MAGIC.into_iter().enumerate() {
            match reader.byte()? {
                Some(byte) if byte == wanted => {}
                Some(version) if place == MAGIC.len() - 1 => {
                    return Err(TraceError::Version { version, known: wanted });
                }
                Some(_) => return Err(TraceError::NoTrace),
                None => return Err(TraceError::Cut("its head")),
            }
        }
        let rank = reader.number_32(MOST_RANKS - 1, "a rank")?;
        let ranks = reader.number_32(MOST_RANKS, "the number of ranks")?;
        if rank >= ranks {
            return Err(TraceError::garbled(format!("it is of rank {rank} of {ranks}")));
        }
        // What the clock takes has been taken off.
        reader.number()?;
        Ok(Self { reader, rank, ranks })
    }
}

/// What is known of a rank when its file has been read once.
#[derive(Debug, Default)]
pub struct Scanned {
    /// The rank, and how many there are.
    pub rank: u32,
    /// See `rank`.
    pub ranks: u32,
    /// Its communicators, by the numbers that it gives them.
    pub communicators: Vec<Members>,
    /// What each receive that does not block, from any rank or under any tag, has met, in their order; none of one that has met nothing.
    pub met: Vec<Option<(u32, u32)>>,
    /// Requests that are receives that have not ended, in ascending order.
    pub open: Vec<u32>,
    /// Records that are whole, but for the last one of a whole file.
    pub records: u64,
    /// Its last record, if it is whole.
    pub ending: Option<Ending>,
}

impl Scanned {
    /// Reads all of a file. What is behind its last whole record is not read.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let mut part = Part::open(path)?;
        let mut scan = Scan { made: 0, receives: BTreeMap::new(), found: Self::default() };
        (scan.found.rank, scan.found.ranks) = (part.rank, part.ranks);
        while scan.found.ending.is_none() {
            let at = part.reader.position();
            let record = match Record::read(&mut part.reader, part.ranks) {
                Ok(Some(record)) => record,
                Ok(None) | Err(TraceError::Cut(_)) => break,
                Err(error) => return Err(error.of_rank(part.rank, at)),
            };
            scan.take(record.call).map_err(|error| error.of_rank(part.rank, at))?;
        }
        scan.found.open = scan.receives.into_keys().collect();
        Ok(scan.found)
    }
}

/// A file that is being read for the first time.
struct Scan {
    /// Requests made so far.
    made: u32,
    /// Receives that have not ended, and the place of what a wildcard has met.
    receives: BTreeMap<u32, Option<usize>>,
    found: Scanned,
}

impl Scan {
    fn take(&mut self, call: Call) -> Result<(), TraceError> {
        match call {
            Call::End(ending) => {
                self.found.ending = Some(ending);
                return Ok(());
            }
            Call::Communicator(members) => self.found.communicators.push(members),
            Call::Recv { end, blocks: false, .. } => {
                let is_wild = end.any_source || end.any_tag;
                let place = is_wild.then_some(self.found.met.len());
                self.found.met.extend(is_wild.then_some(None));
                self.receives.insert(self.made, place);
                self.make(1)?;
            }
            Call::Send { .. } | Call::Recv { .. } | Call::Collective { .. } => self.make(1)?,
            Call::Exchange { receives, sends, .. } => self.make(receives.len() + sends.len())?,
            Call::Wait { age, count, met } => self.wait((age, count), met)?,
            Call::Poll | Call::Probe { .. } => {}
        }
        self.found.records += 1;
        Ok(())
    }

    fn wait(&mut self, (age, count): (u32, u32), met: Option<(u32, u32)>) -> Result<(), TraceError> {
        let first = self.made.checked_sub(age).filter(|_| count > 0 && count <= age);
        let first = first.ok_or_else(|| TraceError::garbled("it waits for a request that it has not made"))?;
        for request in first..first + count {
            let place = self.receives.remove(&request).flatten();
            match (place, met) {
                (Some(place), Some(_)) => self.found.met[place] = met,
                (None, None) => {}
                _ => return Err(TraceError::garbled("what a receive has met is missing, or is of none")),
            }
        }
        Ok(())
    }

    fn make(&mut self, requests: usize) -> Result<(), TraceError> {
        let made = u32::try_from(requests).ok().and_then(|requests| self.made.checked_add(requests));
        self.made = made.ok_or_else(|| TraceError::garbled("it makes too many requests"))?;
        Ok(())
    }
}
