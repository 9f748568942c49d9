//! Recorder file: the file of one rank, as the recorder writes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use super::error::TraceError;
use super::limits::MOST_RANKS;
use super::members::Members;
use super::record::{Call, Ending, Record};
use super::source::Reader;

/// First bytes of the file: its name, and the version of the format.
const MAGIC: [u8; 8] = *b"CTRANK\0\x01";

/// Size of a read in bytes.
const WINDOW: usize = 1 << 16;

/// Recorder file that is being read, positioned after its header.
pub struct Part {
    /// Records.
    pub reader: Reader<File>,
    /// Rank.
    pub rank: u32,
    /// Number of ranks.
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
        // The overhead of the clock has been subtracted already.
        reader.number()?;
        Ok(Self { reader, rank, ranks })
    }
}

/// Result of a first reading of a recorder file.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Communicators of the rank, by the rank's numbers for them.
    pub communicators: Vec<Members>,
    /// Source and tag that each nonblocking wildcard receive has matched, in order. `None` if it has matched nothing.
    pub met: Vec<Option<(u32, u32)>>,
    /// Requests of receives that have not ended, in ascending order.
    pub open: Vec<u32>,
    /// Number of complete records. Excludes the ending of a complete file.
    pub records: u64,
    /// Ending of the file, if complete.
    pub ending: Option<Ending>,
}

impl Scanned {
    /// Reads a file to its last complete record.
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
        let at = part.reader.position();
        if scan.found.ending.is_some() && !matches!(Record::read(&mut part.reader, part.ranks), Ok(None)) {
            return Err(TraceError::garbled("the file goes on behind its end").of_rank(part.rank, at));
        }
        scan.found.open = scan.receives.into_keys().collect();
        Ok(scan.found)
    }
}

/// State of a first reading.
struct Scan {
    /// Requests made so far.
    made: u32,
    /// Receives that have not ended, with the index of a wildcard's match.
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
