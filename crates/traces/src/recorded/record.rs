//! Records: the calls of a rank in sequence.

use std::io::Read;

use super::error::TraceError;
use super::limits::LARGEST;
use super::members::Members;
use super::source::{Reader, put, put_all};
use mpi::collectives::Operation;

/// Longest time between two calls, in nanoseconds: more than eleven days.
const LONGEST: u64 = 1_000_000_000_000_000;

/// Flags in the first byte of a record, besides its kind.
const CALC: u8 = 16;
const BLOCKING: u8 = 32;
const SEVERAL: u8 = 32;
const ANY_SOURCE: u8 = 64;
const MET: u8 = 64;
const ANY_TAG: u8 = 128;

/// Record of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Processor time of the rank before the call, in nanoseconds.
    pub calc: u64,
    /// Call.
    pub call: Call,
}

/// Peer of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Communicator.
    pub comm: u32,
    /// Member number of the peer in the communicator.
    pub peer: u32,
    /// Tag.
    pub tag: u32,
    /// Whether the receive or probe accepted any source. `peer` is then the matched source.
    pub any_source: bool,
    /// Whether the receive or probe accepted any tag. `tag` is then the matched tag.
    pub any_tag: bool,
}

/// Part of an exchange with one member: member number and bytes.
pub type Part = (u32, u64);

/// Recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Send.
    Send { end: End, bytes: u64, blocks: bool },
    /// Receive of at most `bytes` bytes.
    Recv { end: End, bytes: u64, blocks: bool },
    /// Wait for `count` consecutive requests. The first is `age` requests before the next one. In a recorder file,
    /// `met` is the match of a wildcard receive.
    Wait { age: u32, count: u32, met: Option<(u32, u32)> },
    /// Tests or probes that have found nothing.
    Poll,
    /// Probe that has found a message.
    Probe { end: End },
    /// Collective operation whose members have equal parts.
    Collective { operation: Operation, comm: u32, bytes: u64, root: u32, blocks: bool },
    /// Messages of a member in a collective operation whose members have parts of different sizes.
    Exchange { comm: u32, receives: Vec<Part>, sends: Vec<Part>, blocks: bool },
    /// Communicator that includes the rank, with the next number. Recorder files only.
    Communicator(Members),
    /// Ending of a recorder file.
    End(Ending),
}

/// Ending of a recorder file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Nanoseconds from the start of recording to its end.
    pub wall: u64,
    /// Whether several threads have called.
    pub threads: bool,
    /// Names of calls that are not recorded, each with its number of calls.
    pub unsupported: Vec<(String, u64)>,
}

impl Record {
    /// Reads a record, in a program of `ranks` ranks. Returns `None` at the end.
    #[inline]
    pub fn read<R: Read>(reader: &mut Reader<R>, ranks: u32) -> Result<Option<Self>, TraceError> {
        let Some(first) = reader.byte()? else { return Ok(None) };
        let calc = if first & CALC == 0 { 0 } else { reader.number_to(LONGEST, "a time")? };
        let blocks = first & BLOCKING != 0;
        let call = match first & 15 {
            1 => Call::Send { end: end(reader, first)?, bytes: reader.number_to(LARGEST, "a size")?, blocks },
            2 => Call::Recv { end: end(reader, first)?, bytes: reader.number_to(LARGEST, "a size")?, blocks },
            3 => wait(reader, first)?,
            4 => Call::Poll,
            5 => Call::Probe { end: end(reader, first)? },
            6 => collective(reader, blocks)?,
            7 => {
                let comm = reader.number_32(u32::MAX, "a communicator")?;
                let (receives, sends) = (parts(reader, ranks)?, parts(reader, ranks)?);
                Call::Exchange { comm, receives, sends, blocks }
            }
            8 => Call::Communicator(Members::read(reader, ranks)?),
            9 => Call::End(ending(reader)?),
            kind => return Err(TraceError::garbled(format!("there is no record of kind {kind}"))),
        };
        Ok(Some(Self { calc, call }))
    }

    /// Writes the record in the format that `read` reads.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let wild = |end: &End| flag(end.any_source, ANY_SOURCE) | flag(end.any_tag, ANY_TAG);
        let first = match &self.call {
            Call::Send { blocks, .. } => 1 | flag(*blocks, BLOCKING),
            Call::Recv { end, blocks, .. } => 2 | flag(*blocks, BLOCKING) | wild(end),
            Call::Wait { count, met, .. } => 3 | flag(*count > 1, SEVERAL) | flag(met.is_some(), MET),
            Call::Poll => 4,
            Call::Probe { end } => 5 | wild(end),
            Call::Collective { blocks, .. } => 6 | flag(*blocks, BLOCKING),
            Call::Exchange { blocks, .. } => 7 | flag(*blocks, BLOCKING),
            Call::Communicator(_) => 8,
            Call::End(_) => 9,
        };
        bytes.push(first | flag(self.calc > 0, CALC));
        if self.calc > 0 {
            put(self.calc, bytes);
        }
        self.call.write(bytes);
    }
}

impl Call {
    /// Writes the part after the processor time.
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Send { end, bytes: size, .. } | Self::Recv { end, bytes: size, .. } => {
                put_end(end, bytes);
                put(*size, bytes);
            }
            Self::Wait { age, count, met } => {
                put(u64::from(*age), bytes);
                if *count > 1 {
                    put(u64::from(*count), bytes);
                }
                if let Some((source, tag)) = met {
                    put_all([u64::from(*source), u64::from(*tag)], bytes);
                }
            }
            Self::Poll => {}
            Self::Probe { end } => put_end(end, bytes),
            Self::Collective { operation, comm, bytes: size, root, .. } => {
                put(number_of(*operation), bytes);
                put(u64::from(*comm), bytes);
                put(*size, bytes);
                if operation.has_root() {
                    put(u64::from(*root), bytes);
                }
            }
            Self::Exchange { comm, receives, sends, .. } => {
                put(u64::from(*comm), bytes);
                for parts in [receives, sends] {
                    put(parts.len() as u64, bytes);
                    parts.iter().for_each(|&(member, size)| put_all([u64::from(member), size], bytes));
                }
            }
            Self::Communicator(members) => members.write(bytes),
            Self::End(ending) => {
                put_all([ending.wall, u64::from(ending.threads), ending.unsupported.len() as u64], bytes);
                ending.unsupported.iter().for_each(|counted| put_counted(counted, bytes));
            }
        }
    }
}

#[inline]
fn end<R: Read>(reader: &mut Reader<R>, first: u8) -> Result<End, TraceError> {
    let comm = reader.number_32(u32::MAX, "a communicator")?;
    let peer = reader.number_32(u32::MAX, "a member")?;
    let tag = reader.number_32(u32::MAX, "a tag")?;
    Ok(End { comm, peer, tag, any_source: first & ANY_SOURCE != 0, any_tag: first & ANY_TAG != 0 })
}

fn put_end(end: &End, bytes: &mut Vec<u8>) {
    put_all([end.comm, end.peer, end.tag].map(u64::from), bytes);
}

#[inline]
fn wait<R: Read>(reader: &mut Reader<R>, first: u8) -> Result<Call, TraceError> {
    let age = reader.number_32(u32::MAX, "a request")?;
    let count = if first & SEVERAL == 0 { 1 } else { reader.number_32(age, "a number of requests")? };
    let met = match first & MET {
        0 => None,
        _ => Some((reader.number_32(u32::MAX, "a member")?, reader.number_32(u32::MAX, "a tag")?)),
    };
    Ok(Call::Wait { age, count, met })
}

fn collective<R: Read>(reader: &mut Reader<R>, blocks: bool) -> Result<Call, TraceError> {
    let number = reader.number()?;
    let operation = usize::try_from(number).ok().and_then(|place| Operation::ALL.get(place).copied());
    let operation = operation.ok_or_else(|| TraceError::garbled(format!("there is no operation {number}")))?;
    let comm = reader.number_32(u32::MAX, "a communicator")?;
    let bytes = reader.number_to(LARGEST, "a size")?;
    let root = if operation.has_root() { reader.number_32(u32::MAX, "a root")? } else { 0 };
    Ok(Call::Collective { operation, comm, bytes, root, blocks })
}

/// Returns the index of an operation in `Operation::ALL`.
fn number_of(operation: Operation) -> u64 {
    Operation::ALL.iter().position(|&other| other == operation).unwrap_or_default() as u64
}

fn parts<R: Read>(reader: &mut Reader<R>, ranks: u32) -> Result<Vec<Part>, TraceError> {
    let count = reader.number_32(ranks, "a number of members")?;
    // Memory grows with the bytes in the file, not with the number that it states.
    let mut parts = Vec::new();
    for _ in 0..count {
        parts.push((reader.number_32(u32::MAX, "a member")?, reader.number_to(LARGEST, "a size")?));
    }
    Ok(parts)
}

fn ending<R: Read>(reader: &mut Reader<R>) -> Result<Ending, TraceError> {
    let wall = reader.number()?;
    let threads = reader.number_to(1, "whether threads have called")? == 1;
    Ok(Ending { wall, threads, unsupported: counted(reader)? })
}

/// Reads names of calls and their numbers of calls.
pub fn counted<R: Read>(reader: &mut Reader<R>) -> Result<Vec<(String, u64)>, TraceError> {
    let count = reader.number_to(1000, "a number of names")?;
    (0..count).map(|_| Ok((reader.text(100, "the name of a call")?, reader.number()?))).collect()
}

/// Writes a name and a number of calls.
pub fn put_counted((name, count): &(String, u64), bytes: &mut Vec<u8>) {
    put(name.len() as u64, bytes);
    bytes.extend_from_slice(name.as_bytes());
    put(*count, bytes);
}
