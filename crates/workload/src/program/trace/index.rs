//! The file of a trace: what its ranks have called, one rank after the other, and then an index.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::error::TraceError;
use super::limits::MOST_RANKS;
use super::members::Members;
use super::record::{counted, put_counted};
use super::source::{Reader, put};
use crate::communicator::{Communicator, Context, Group};

/// What a trace begins and ends with: its name, and the version of the format.
pub const MAGIC: [u8; 8] = *b"CTTRACE\x01";

/// Bytes behind the index: where it begins, and `MAGIC`.
const TAIL: u64 = 16;

/// The most bytes of an index.
const LARGEST_INDEX: u64 = 1 << 28;

/// What is known of a rank beside what it called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSummary {
    /// Where what it called begins in the file,
    pub begin: u64,
    /// and how many bytes that has.
    pub bytes: u64,
    /// Whether it is whole: the rank has come to its end.
    pub whole: bool,
    /// Whether several of its threads have called.
    pub threads: bool,
    /// Nanoseconds from the begin of recording to its end; 0 if it is not whole.
    pub wall: u64,
}

/// What is known of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// By rank.
    pub ranks: Vec<RankSummary>,
    /// Communicators but that of all ranks, numbered from 1 on.
    pub communicators: Vec<Members>,
    /// The same as groups, with that of all ranks before them.
    pub groups: Vec<Group>,
    /// Calls that are not recorded, and how many of each.
    pub unsupported: Vec<(String, u64)>,
}

impl Index {
    /// The same, with the groups of its communicators.
    #[must_use]
    pub fn with_groups(mut self) -> Self {
        let all = Group::all(self.ranks.len() as u32);
        self.groups = std::iter::once(all).chain(self.communicators.iter().map(Members::group)).collect();
        self
    }

    /// The ranks of a communicator by its number.
    pub fn group(&self, number: u32) -> Option<&Group> {
        self.groups.get(number as usize)
    }

    /// A communicator by its number, as a rank knows it.
    pub fn communicator(&self, number: u32, rank: u32) -> Option<Communicator> {
        Communicator::new(Context::new(number)?, self.group(number)?.clone(), rank)
    }

    /// The context of the messages of a communicator's exchanges, which is none of a communicator that is recorded.
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

    /// Writes it as it is read, with what is behind it, where it begins at a byte.
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

/// Refuses files that do not begin as a trace does.
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
