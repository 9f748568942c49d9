//! Checkpoints of a run: files from which another run goes on, with the same result.
//!
//! A checkpoint consists of *sections*: the state that all processes share, and the state of each worker. Each process
//! writes the sections of its workers to one file, forces it to disk and renames it. Then process 0 writes the manifest
//! in the same way, which lists the sections with their checksums. A checkpoint exists when its manifest does; after
//! that, process 0 removes the files of the former one. All processes write to one folder.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use engine::Exchange;
use units::{KeyError, Record, State, input, reason};

use super::is_called_back;
use super::outcome::RunError;
use crate::clock::Stopwatch;
use crate::files::{checksum, replace};
use crate::system::System;
use ::network::{DivisionRule, Feature, Machine};

/// Refuses what checkpoints cannot hold, if the experiment asks for them.
///
/// # Errors
/// Names `measure.checkpoint`, and what it requires.
pub(crate) fn check(system: &System) -> Result<(), KeyError> {
    let refused = |message: String| Err(KeyError::new("measure.checkpoint", message));
    if system.spec.measure.checkpoint.is_none() {
        return Ok(());
    }
    if !system.model.has(Feature::Processes) {
        let name = system.model.name();
        return refused(format!("checkpoints require the packet model: the {name} model has none; leave the key out"));
    }
    match system.jobs.iter().any(is_called_back) {
        true => refused("checkpoints require programs that are not called back, whose state they cannot hold".into()),
        false => Ok(()),
    }
}

/// Place and identity of the checkpoints of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlace {
    /// Folder of the checkpoints, which is created. All processes have to reach it.
    pub folder: PathBuf,
    /// Text that is equal for runs with equal results only. A checkpoint of another run is refused.
    pub identity: String,
    /// Number of checkpoints after which the run is cancelled. None: it is not.
    pub most: Option<u64>,
}

/// Totals of a run over its machines so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Transmissions of each job's packets by routers.
    pub packet_hops: Vec<u64>,
    /// Wall-clock time of the simulation, in seconds.
    pub seconds: f64,
    /// Simulated time of finished machines, in ticks.
    pub before: u64,
}
units::record!(Totals { packet_hops, seconds, before });

/// Section of a checkpoint.
#[derive(Clone, Debug)]
struct Section {
    content: Content,
    /// Process whose file holds it, and its place there, in bytes.
    file: u32,
    offset: u64,
    length: u64,
    checksum: u64,
}
units::record!(Section { content, file, offset, length, checksum });

/// Content of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Totals, measurements and the control of the run.
    Run,
    /// State of the machine that is equal in all processes.
    Machine,
    /// State of a worker, by its number.
    Worker(usize),
}
units::record!(match Content {
    0 => Run {},
    1 => Machine {},
    2 => Worker { 0: number },
});

/// Content of a manifest.
#[derive(Clone, Debug)]
struct Manifest {
    identity: String,
    number: u64,
    division: DivisionRule,
    sections: Vec<Section>,
}
units::record!(Manifest { identity, number, division, sections });

/// Name of the manifest, and its first bytes.
const MANIFEST: &str = "manifest";
const MAGIC: &[u8] = b"cutthrough checkpoint\n";

/// Largest size of a manifest that is read, in bytes: a section of each worker.
const MOST_BYTES: u64 = 1 << 24;

/// Returns the name of the file of a process.
fn part(number: u64, rank: u32) -> String {
    format!("{number}-{rank}.part")
}

impl Manifest {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        self.put(&mut bytes);
        checksum(&bytes).put(&mut bytes);
        bytes
    }

    /// Reads a manifest. None if it is cut or garbled.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, mut sum) = bytes.split_at_checked(bytes.len().checked_sub(size_of::<u64>())?)?;
        let mut rest = content.strip_prefix(MAGIC)?;
        let manifest = Self::take(&mut rest)?;
        (u64::take(&mut sum)? == checksum(content) && rest.is_empty()).then_some(manifest)
    }
}

/// Checkpoints of one run in one process.
pub(super) struct Checkpoints<'a> {
    /// Place, and the interval between two checkpoints in seconds. None for a run without checkpoints.
    kept: Option<(&'a CheckpointPlace, f64)>,
    exchange: &'a dyn Exchange,
    since: Stopwatch,
    /// Number of the last checkpoint, from 1, and the number of checkpoints that this run has written.
    number: u64,
    written: u64,
    /// Checkpoint that the run goes on from, with the bytes of its section `Content::Run` that have not been loaded.
    found: Option<(Manifest, Vec<u8>)>,
    /// Totals at the start of the present machine, and the time since.
    pub totals: Totals,
    pub watch: Stopwatch,
}

impl<'a> Checkpoints<'a> {
    /// Opens the folder of a run, which may have a checkpoint. `kept` is the place, and the interval in seconds.
    ///
    /// # Errors
    /// If the folder cannot be used, or holds a checkpoint that cannot be read or is of another run.
    pub fn open(kept: Option<(&'a CheckpointPlace, f64)>, exchange: &'a dyn Exchange) -> Result<Self, RunError> {
        let (watch, totals) = (Stopwatch::start(), Totals::default());
        let mut own = Self { kept, exchange, since: watch, number: 0, written: 0, found: None, totals, watch };
        let Some((place, _)) = kept else { return Ok(own) };
        // Process 0 reads the manifest, so that all processes go on from one checkpoint.
        let read = if exchange.rank() == 0 { own.read_manifest() } else { Ok(Vec::new()) };
        let mut bytes = own.agree(read)?;
        exchange.broadcast(&mut bytes);
        if bytes.is_empty() {
            return Ok(own);
        }
        let manifest = Manifest::of_bytes(&bytes).ok_or_else(|| own.damaged(MANIFEST))?;
        if manifest.identity != place.identity {
            return Err(own.refused("is of another experiment, seed or version of Cutthrough"));
        }
        own.number = manifest.number;
        let run = own.agree(own.section(&manifest, Content::Run))?;
        own.found = Some((manifest, run));
        Ok(own)
    }

    fn folder(&self) -> &Path {
        self.kept.map_or(Path::new(""), |(place, _)| &place.folder)
    }

    /// Returns the manifest's bytes. Empty without a checkpoint.
    fn read_manifest(&self) -> Result<Vec<u8>, RunError> {
        fs::create_dir_all(self.folder()).map_err(|error| self.unwritable(&error))?;
        match self.read(MANIFEST, 0, MOST_BYTES) {
            Ok(bytes) if bytes.is_empty() => Err(self.damaged(MANIFEST)),
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(self.unreadable(MANIFEST, &error)),
        }
    }

    /// Reads at most `length` bytes of a file from `offset` on.
    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut file = input::open(&self.folder().join(name))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn refused(&self, why: &str) -> RunError {
        RunError::Checkpoint(format!(
            "the checkpoint in {} {why}: remove this folder, or choose `--fresh`, to begin the point again",
            self.folder().display()
        ))
    }

    fn damaged(&self, name: &str) -> RunError {
        self.refused(&format!("is damaged ({name})"))
    }

    fn unreadable(&self, name: &str, error: &io::Error) -> RunError {
        self.refused(&format!("cannot be read ({name}: {})", reason(error)))
    }

    fn unwritable(&self, error: &io::Error) -> RunError {
        RunError::Checkpoint(format!("cannot write a checkpoint to {}: {}", self.folder().display(), reason(error)))
    }

    /// Returns the value of this process if no process has an error, and otherwise an error in each.
    fn agree<T>(&self, own: Result<T, RunError>) -> Result<T, RunError> {
        let failed = own.as_ref().err().map(ToString::to_string);
        let failed = self.exchange.share(failed.into_iter().collect::<Vec<String>>());
        own.and_then(|value| failed.into_iter().next().map_or(Ok(value), |message| Err(RunError::Elsewhere(message))))
    }

    /// Returns the bytes of a section.
    fn section(&self, found: &Manifest, content: Content) -> Result<Vec<u8>, RunError> {
        let section = found.sections.iter().find(|section| section.content == content);
        let section = section.ok_or_else(|| self.damaged(MANIFEST))?;
        let name = part(found.number, section.file);
        let bytes = self.read(&name, section.offset, section.length).map_err(|error| self.unreadable(&name, &error))?;
        match bytes.len() as u64 == section.length && checksum(&bytes) == section.checksum {
            true => Ok(bytes),
            false => Err(self.damaged(&name)),
        }
    }

    /// Returns the division of the run that this one goes on with.
    pub fn division(&self) -> Option<DivisionRule> {
        self.found.as_ref().map(|(manifest, _)| manifest.division)
    }

    /// Loads the next state of the run's own section with `load`, which returns `None` if the bytes do not fit. Returns
    /// whether there is a checkpoint to go on from.
    pub fn resume(&mut self, load: impl FnOnce(&mut &[u8]) -> Option<()>) -> Result<bool, RunError> {
        let Some((_, run)) = &mut self.found else { return Ok(false) };
        let mut rest = &run[..];
        let loaded = load(&mut rest);
        *run = rest.to_vec();
        loaded.map(|()| true).ok_or_else(|| self.damaged(MANIFEST))
    }

    /// Loads the totals of the run.
    pub fn resume_totals(&mut self) -> Result<(), RunError> {
        let mut totals = self.totals.clone();
        self.resume(|from| totals.load(from))?;
        self.totals = totals;
        Ok(())
    }

    /// Loads the state of a machine that is built alike. Returns whether there is a checkpoint to go on from.
    pub fn resume_machine(&self, machine: &mut dyn Machine) -> Result<bool, RunError> {
        let Some((found, _)) = &self.found else { return Ok(false) };
        let load = |content: Content, load: &mut dyn FnMut(&mut &[u8]) -> Option<()>| {
            let bytes = self.section(found, content)?;
            let mut rest = &bytes[..];
            load(&mut rest).filter(|()| rest.is_empty()).ok_or_else(|| self.damaged(MANIFEST))
        };
        let loaded = machine.checkpointed().ok_or_else(|| self.damaged(MANIFEST)).and_then(|machine| {
            load(Content::Machine, &mut |from| machine.load_common(from))?;
            machine
                .workers()
                .into_iter()
                .try_for_each(|worker| load(Content::Worker(worker), &mut |from| machine.load_worker(worker, from)))
        });
        self.agree(loaded).map(|()| true)
    }

    /// Ends the resumption: everything has been loaded.
    pub fn resumed(&mut self) {
        self.found = None;
    }

    /// Returns whether the next checkpoint is due, by the clock of process 0.
    pub fn is_due(&self) -> bool {
        let Some((_, interval)) = self.kept else { return false };
        let is_due = self.exchange.rank() == 0 && self.since.seconds() >= interval;
        self.exchange.largest(is_due.into()) > 0
    }

    /// Writes a checkpoint. `run` is the state of the run that follows its totals.
    ///
    /// # Errors
    /// If some process cannot write, or if this was the last checkpoint before the run is to be cancelled.
    pub fn write(&mut self, machine: &mut dyn Machine, run: &[u8]) -> Result<(), RunError> {
        let Some((machine, (place, _))) = machine.checkpointed().zip(self.kept) else { return Ok(()) };
        self.number += 1;
        let rank = self.exchange.rank() as u32;
        let (mut bytes, mut sections) = (Vec::new(), Vec::new());
        let mut section = |content: Content, save: &dyn Fn(&mut Vec<u8>)| {
            let offset = bytes.len();
            save(&mut bytes);
            let own = &bytes[offset..];
            let (offset, length) = (offset as u64, own.len() as u64);
            sections.push(Section { content, file: rank, offset, length, checksum: checksum(own) });
        };
        if rank == 0 {
            let totals = Totals { seconds: self.totals.seconds + self.watch.seconds(), ..self.totals.clone() };
            section(Content::Run, &|to| {
                totals.put(to);
                to.extend_from_slice(run);
            });
            section(Content::Machine, &|to| machine.save_common(to));
        }
        for worker in machine.workers() {
            section(Content::Worker(worker), &|to| machine.save_worker(worker, to));
        }
        self.agree(self.replace(&part(self.number, rank), &bytes))?;
        let (identity, number) = (place.identity.clone(), self.number);
        let sections = self.exchange.collect(sections);
        let manifest = Manifest { identity, number, division: machine.division(), sections };
        self.agree(if rank == 0 { self.publish(&manifest) } else { Ok(()) })?;
        self.written += 1;
        self.since = Stopwatch::start();
        if place.most == Some(self.written) { Err(RunError::Cancelled) } else { Ok(()) }
    }

    /// Writes the manifest, and removes the files of other checkpoints.
    fn publish(&self, manifest: &Manifest) -> Result<(), RunError> {
        self.replace(MANIFEST, &manifest.to_bytes())?;
        let own = format!("{}-", self.number);
        let remove = || -> io::Result<()> {
            for file in fs::read_dir(self.folder())? {
                let name = file?.file_name();
                let name = name.to_string_lossy();
                if name != MANIFEST && !name.starts_with(&own) {
                    fs::remove_file(self.folder().join(&*name))?;
                }
            }
            Ok(())
        };
        remove().map_err(|error| self.unwritable(&error))
    }

    /// Writes a file under a temporary name, forces it to disk and renames it.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        replace(&self.folder().join(name), bytes).map_err(|error| self.unwritable(&error))
    }
}
