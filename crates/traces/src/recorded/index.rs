//! File of a trace: the calls of its ranks in sequence, followed by an index.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::error::TraceError;
use super::limits::MOST_RANKS;
use super::members::Members;
use super::record::{counted, put_counted};
use super::source::{Reader, put};
use mpi::communicator::{Communicator, Context, Group};

/// First and last bytes of a trace: its name, and the version of the format.
pub const MAGIC: [u8; 8] = *b"CTTRACE\x01";

/// Bytes after the index: its offset, and `MAGIC`.
const TAIL: u64 = 16;

/// Largest size of an index in bytes.
const LARGEST_INDEX: u64 = 1 << 28;

/// Facts about a rank besides its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSummary {
    /// Offset of the rank's calls in the file, in bytes.
    pub begin: u64,
    /// Length of the rank's calls in bytes.
    pub bytes: u64,
    /// Whether the rank's calls are complete: the rank has reached its end.
    pub whole: bool,
    /// Whether several threads of the rank have called.
    pub threads: bool,
    /// Nanoseconds from the start of recording to its end. 0 if the calls are not complete.
    pub wall: u64,
}

/// Index of a trace: facts about all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Summary of each rank.
    pub ranks: Vec<RankSummary>,
    /// Communicators other than that of all ranks, numbered from 1.
    pub communicators: Vec<Members>,
    /// Groups of all communicators, by number. Number 0 is that of all ranks.
    pub groups: Vec<Group>,
    /// Names of calls that are not recorded, each with its number of calls.
    pub unsupported: Vec<(String, u64)>,
}

impl Index {
    /// Fills in the groups of the communicators.
    #[must_use]
    pub fn with_groups(mut self) -> Self {
        let all = Group::all(self.ranks.len() as u32);
        self.groups = std::iter::once(all).chain(self.communicators.iter().map(Members::group)).collect();
        self
    }

    /// Returns the ranks of a communicator.
    pub fn group(&self, number: u32) -> Option<&Group> {
        self.groups.get(number as usize)
    }

    /// Returns a communicator as seen by a rank.
    pub fn communicator(&self, number: u32, rank: u32) -> Option<Communicator> {
        Communicator::new(Context::new(number)?, self.group(number)?.clone(), rank)
    }

    /// Returns the context of the messages of a communicator's exchanges. It differs from the contexts of all recorded
    /// communicators.
    pub fn exchanging(&self, number: u32) -> u32 {
        self.groups.len() as u32 + number
    }

    fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, TraceError> {
        let ranks = reader.number_32(MOST_RANKS, "the number of ranks")?;
        if ranks == 0 {
            return Err(TraceError::garbled("there are no ranks"));
        }
        let mut index = Self::default();
        let count = reader.number_32(Context::MOST / 4, "the number of communicators")?;
        for _ in 0..count {
            index.communicators.push(Members::read(reader, ranks)?);
        }
        let mut begin = MAGIC.len() as u64;
        for _ in 0..ranks {
            let bytes = reader.number_to(u64::MAX / 2 - begin, "the bytes of a rank")?;
            let flags = reader.number_to(3, "the flags of a rank")?;
            let (whole, threads) = (flags & 1 != 0, flags & 2 != 0);
            index.ranks.push(RankSummary { begin, bytes, whole, threads, wall: reader.number()? });
            begin += bytes;
        }
        index.unsupported = counted(reader)?;
        Ok(index.with_groups())
    }

    /// Returns the bytes of the index and of the trailer after it. `at` is the offset of the index in the file.
    pub fn write(&self, at: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(self.ranks.len() as u64, &mut bytes);
        put(self.communicators.len() as u64, &mut bytes);
        self.communicators.iter().for_each(|members| members.write(&mut bytes));
        for rank in &self.ranks {
            put(rank.bytes, &mut bytes);
            put(u64::from(rank.whole) | u64::from(rank.threads) << 1, &mut bytes);
            put(rank.wall, &mut bytes);
        }
        put(self.unsupported.len() as u64, &mut bytes);
        self.unsupported.iter().for_each(|own| put_counted(own, &mut bytes));
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes
    }
}

/// Opens a trace and reads its index.
pub fn open(path: &Path) -> Result<(File, Index), TraceError> {
    let failed = |error: std::io::Error| TraceError::file(&error);
    let mut file = units::input::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut head = [0; 8];
    let begun = file.read(&mut head).map_err(failed)?;
    check_magic(&head[..begun])?;
    if length < TAIL + MAGIC.len() as u64 {
        return Err(TraceError::Cut("what its ranks called"));
    }
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(length - TAIL)).map_err(failed)?;
    file.read_exact(&mut tail).map_err(failed)?;
    let (at, magic) = tail.split_at(8);
    if magic != MAGIC {
        return Err(TraceError::Cut("the trace: the index behind it is missing"));
    }
    let at = u64::from_le_bytes(at.try_into().unwrap_or_default());
    let size = (length - TAIL).checked_sub(at).filter(|&size| size <= LARGEST_INDEX);
    let size = size.ok_or_else(|| TraceError::garbled("its index is not where it should be"))?;
    file.seek(SeekFrom::Start(at)).map_err(failed)?;
    let mut reader = Reader::new(Read::by_ref(&mut file).take(size), 1 << 16);
    let index = Index::read(&mut reader)?;
    let ends = index.ranks.last().map_or(0, |rank| rank.begin + rank.bytes);
    if ends != at || reader.byte()?.is_some() {
        return Err(TraceError::garbled("its index does not say what it has"));
    }
    Ok((file, index))
}

/// Refuses files that do not begin like a trace.
fn check_magic(head: &[u8]) -> Result<(), TraceError> {
    let (name, version) = MAGIC.split_at(MAGIC.len() - 1);
    match head.split_at_checked(name.len()) {
        Some((own, own_version)) if own == name => match own_version {
            [] => Err(TraceError::Cut("its head")),
            _ if own_version == version => Ok(()),
            _ => Err(TraceError::Version { version: own_version[0], known: version[0] }),
        },
        _ => Err(TraceError::NoTrace),
    }
}
