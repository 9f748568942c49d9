//! Joining of the recorder files of all ranks to one trace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::TraceError;
use super::index::{Index, MAGIC, RankSummary};
use super::members::Members;
use super::part::{Part, Scanned};
use super::record::{Call, End, Record};

/// Summary of a joined trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Number of ranks.
    pub ranks: u32,
    /// Records of all ranks.
    pub records: u64,
    /// Size of the trace in bytes.
    pub bytes: u64,
    /// Processor time between calls of all ranks, in nanoseconds.
    pub compute: u64,
    /// Longest time of a rank from the start of recording to its end, in nanoseconds.
    pub wall: u64,
    /// Number of ranks whose files have no end.
    pub cut: u32,
    /// Number of ranks with calls of several threads.
    pub threads: u32,
    /// Number of receives that have never ended. They are omitted.
    pub open: u64,
    /// Names of calls that are not recorded, each with its number of calls.
    pub unsupported: Vec<(String, u64)>,
}

/// Joins the recorder files in a folder to one trace.
///
/// # Errors
/// A file that is garbled or missing. A file that ends early is used to its last complete record.
pub fn join(folder: &Path, to: &Path) -> Result<Joined, TraceError> {
    let paths = paths(folder)?;
    let ranks = paths.len() as u32;
    let mut numbers = Numbers::default();
    for (rank, path) in (0..).zip(&paths) {
        let found = Scanned::of(path)?;
        if (found.rank, found.ranks) != (rank, ranks) {
            return Err(TraceError::Missing { rank: found.ranks.saturating_sub(1), ranks: found.ranks });
        }
        numbers.add(found.communicators, ranks)?;
    }
    let failed = |error: std::io::Error| TraceError::File(format!("it cannot be written: {}", units::reason(&error)));
    let mut writer = Writer {
        output: BufWriter::with_capacity(1 << 18, File::create(to).map_err(failed)?),
        written: MAGIC.len() as u64,
        index: Index::default(),
        joined: Joined { ranks, ..Joined::default() },
    };
    writer.output.write_all(&MAGIC).map_err(failed)?;
    for (path, own) in paths.iter().zip(&numbers.by_rank) {
        writer.rank(path, own)?;
    }
    writer.index.communicators = numbers.all;
    writer.finish().map_err(failed)
}

/// Returns the recorder files in a folder, in order of ranks.
fn paths(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut paths = Vec::new();
    loop {
        let path = folder.join(format!("rank-{}", paths.len()));
        if !path.is_file() {
            break;
        }
        paths.push(path);
    }
    if !paths.is_empty() {
        return Ok(paths);
    }
    std::fs::read_dir(folder).map_err(|error| TraceError::file(&error))?;
    Err(TraceError::Missing { rank: 0, ranks: 1 })
}

/// Numbering of communicators.
#[derive(Default)]
struct Numbers {
    /// Communicators other than that of all ranks, numbered from 1.
    all: Vec<Members>,
    /// Numbers of communicators, by their members and the number of earlier communicators with equal members.
    known: BTreeMap<(Members, u32), u32>,
    /// Numbers of the communicators of each rank.
    by_rank: Vec<Vec<u32>>,
}

impl Numbers {
    /// Adds the communicators of the next rank, in a program of `ranks` ranks. Members create communicators of equal
    /// members in one order.
    fn add(&mut self, own: Vec<Members>, ranks: u32) -> Result<(), TraceError> {
        let world = Members::Even { first: 0, stride: 1, count: ranks };
        if own.first() != Some(&world) {
            return Err(TraceError::garbled("its first communicator is not that of all ranks"));
        }
        let mut made: BTreeMap<Members, u32> = BTreeMap::new();
        let mut numbers = vec![0];
        for members in own.into_iter().skip(1) {
            let before = made.entry(members.clone()).or_default();
            let next = self.all.len() as u32 + 1;
            let number = *self.known.entry((members.clone(), *before)).or_insert(next);
            if number == next {
                self.all.push(members);
            }
            *before += 1;
            numbers.push(number);
        }
        self.by_rank.push(numbers);
        Ok(())
    }
}

/// Trace that is being written.
struct Writer {
    output: BufWriter<File>,
    written: u64,
    index: Index,
    joined: Joined,
}

impl Writer {
    /// Writes the calls of a rank. `numbers` are the numbers of its communicators.
    fn rank(&mut self, path: &Path, numbers: &[u32]) -> Result<(), TraceError> {
        let found = Scanned::of(path)?;
        let mut part = Part::open(path)?;
        let mut rewriter = Rewriter { numbers, open: &found.open, met: found.met.iter(), made: 0, left: 0 };
        let (begin, mut bytes) = (self.written, Vec::new());
        // In a complete file, the ending follows the records.
        let last = found.records + u64::from(found.ending.is_some());
        for _ in 0..last {
            let at = part.reader.position();
            let Some(Record { calc, call }) = Record::read(&mut part.reader, part.ranks)? else { break };
            self.joined.compute = self.joined.compute.saturating_add(calc);
            let call = rewriter.call(call).map_err(|error| error.of_rank(part.rank, at))?;
            // The calculation before an omitted record is added to the next record.
            let calc = calc.saturating_add(std::mem::take(&mut rewriter.left));
            let Some(call) = call else {
                rewriter.left = calc;
                continue;
            };
            bytes.clear();
            Record { calc, call }.write(&mut bytes);
            self.joined.records += 1;
            self.put(&bytes)?;
        }
        let ending = found.ending.clone().unwrap_or_default();
        self.joined.cut += u32::from(found.ending.is_none());
        self.joined.threads += u32::from(ending.threads);
        self.joined.wall = self.joined.wall.max(ending.wall);
        self.joined.open += found.open.len() as u64;
        for (name, count) in ending.unsupported {
            match self.index.unsupported.iter_mut().find(|own| own.0 == name) {
                Some(own) => own.1 = own.1.saturating_add(count),
                None => self.index.unsupported.push((name, count)),
            }
        }
        let (whole, threads) = (found.ending.is_some(), ending.threads);
        self.index.ranks.push(RankSummary { begin, bytes: self.written - begin, whole, threads, wall: ending.wall });
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.written += bytes.len() as u64;
        let failed = |error| TraceError::File(format!("it cannot be written: {}", units::reason(&error)));
        self.output.write_all(bytes).map_err(failed)
    }

    /// Writes the index.
    fn finish(mut self) -> std::io::Result<Joined> {
        self.index.unsupported.sort();
        let index = self.index.write(self.written);
        self.output.write_all(&index)?;
        self.output.flush()?;
        self.joined.bytes = self.written + index.len() as u64;
        self.joined.unsupported = self.index.unsupported;
        Ok(self.joined)
    }
}

/// Conversion of the records of a rank to those of a trace.
struct Rewriter<'a> {
    /// Numbers of the rank's communicators.
    numbers: &'a [u32],
    /// Omitted requests, in ascending order.
    open: &'a [u32],
    /// Matches of the nonblocking wildcard receives that follow.
    met: std::slice::Iter<'a, Option<(u32, u32)>>,
    /// Requests made so far, including omitted ones.
    made: u32,
    /// Calculation time before omitted records, in nanoseconds.
    left: u64,
}

impl Rewriter<'_> {
    /// Converts a call. Returns `None` if it is omitted.
    fn call(&mut self, call: Call) -> Result<Option<Call>, TraceError> {
        let request = self.made;
        Ok(Some(match call {
            Call::Communicator(_) | Call::End(_) => return Ok(None),
            Call::Poll => Call::Poll,
            Call::Probe { end } => Call::Probe { end: self.end(end)? },
            Call::Send { end, bytes, blocks } => {
                self.made += 1;
                Call::Send { end: self.end(end)?, bytes, blocks }
            }
            Call::Recv { end, bytes, blocks } => {
                self.made += 1;
                let is_wild = !blocks && (end.any_source || end.any_tag);
                let met = if is_wild { self.met.next().copied().flatten() } else { None };
                if self.open.binary_search(&request).is_ok() {
                    return Ok(None);
                }
                let (peer, tag) = met.unwrap_or((end.peer, end.tag));
                Call::Recv { end: self.end(End { peer, tag, ..end })?, bytes, blocks }
            }
            Call::Wait { age, count, .. } => {
                // Excludes omitted requests in between.
                let first = self.made - age;
                let left = |before: u32| self.open.partition_point(|&open| open < before) as u32;
                Call::Wait { age: age - (left(self.made) - left(first)), count, met: None }
            }
            Call::Collective { operation, comm, bytes, root, blocks } => {
                self.made += 1;
                Call::Collective { operation, comm: self.number(comm)?, bytes, root, blocks }
            }
            Call::Exchange { comm, receives, sends, blocks } => {
                self.made += (receives.len() + sends.len()) as u32;
                Call::Exchange { comm: self.number(comm)?, receives, sends, blocks }
            }
        }))
    }

    fn end(&self, end: End) -> Result<End, TraceError> {
        Ok(End { comm: self.number(end.comm)?, ..end })
    }

    fn number(&self, own: u32) -> Result<u32, TraceError> {
        let number = self.numbers.get(own as usize).copied();
        number.ok_or_else(|| TraceError::garbled(format!("there is no communicator {own}")))
    }
}
