//! Programs of ranks, with their names in the experiment file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, Time, input};

use super::chakra::ChakraSpec;
use super::collective::{CollectiveProgram, CollectiveSpec};
use super::fft::{Fft, FftSpec};
use super::halo::{Halo, HaloSpec};
use super::incast::{Incast, IncastSpec};
use super::lammps;
use super::lammps::spec::LammpsSpec;
use super::limits::{check_ending, check_room, check_time, shown};
use super::program_context::ProgramContext;
use super::recorded::TraceSpec;
use super::sweep::{Sweep, SweepSpec};
use super::training;
use super::training::spec::TrainingSpec;
use super::{Motif, MotifPrograms};
use mpi::communicator::Interconnect;
use mpi::program::{Programs, calls};
use mpi::schedule::goal;

/// Program of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "Program")]
#[schemars(extend("x-otherwise" = "a program of ranks in a file is of kind calls, goal, trace or chakra, and `cutthrough record` \
                                   makes a trace of an MPI program"))]
pub enum ProgramSpec {
    /// Schedule in the GOAL format of LogGOPSim.
    Goal(GoalSpec),
    /// Sequence of calls of each rank, from a file. Programs in Python are saved in this format.
    Calls(CallsSpec),
    /// Trace of a real program's MPI calls, recorded by `cutthrough record`.
    Trace(TraceSpec),
    /// Execution traces in the Chakra format of MLCommons, one file per rank.
    Chakra(ChakraSpec),
    /// Python function that is called back during the run, because its calls depend on the messages that it receives.
    CalledBack(CalledBackSpec),
    /// Halo exchange on a two-dimensional grid of ranks.
    #[serde(rename = "halo-2d")]
    Halo2d(HaloSpec),
    /// Halo exchange on a three-dimensional grid of ranks.
    #[serde(rename = "halo-3d")]
    Halo3d(HaloSpec),
    /// Wavefronts through a two-dimensional grid of ranks, from each corner in turn.
    Sweep(SweepSpec),
    /// Transposes of a three-dimensional FFT: all-to-all exchanges within each row, then within each column.
    Fft(FftSpec),
    /// Incast: all ranks send to a single rank, which receives from any source.
    Incast(IncastSpec),
    /// Repeated collective operation of all ranks, or of groups of ranks at once.
    Collective(CollectiveSpec),
    /// Training steps of a transformer with tensor, pipeline, data and expert parallelism.
    Training(TrainingSpec),
    /// Molecular dynamics after LAMMPS: spatial decomposition, halos in six exchanges, and sums over all ranks.
    Lammps(LammpsSpec),
}

impl Default for ProgramSpec {
    fn default() -> Self {
        Self::Halo2d(HaloSpec::default())
    }
}

/// File of a GOAL schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoalSpec {
    /// Path of the file, relative to the experiment file.
    pub file: PathBuf,
}

/// File of calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallsSpec {
    /// Path of the file, relative to the experiment file.
    pub file: PathBuf,
}

/// Program that exists only in the process that has created it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalledBackSpec {
    /// Identifier of the program within the process, written by `ct.Program`.
    pub name: String,
}

/// Largest message of a motif in bytes.
const LARGEST: u64 = 1 << 30;

impl ProgramSpec {
    /// Builds the program for `ranks` ranks, each on a separate node. A program from a file has its own number of
    /// ranks, which may not exceed `ranks`. Paths are relative to `base`.
    ///
    /// # Errors
    /// An unreadable file, more ranks than `ranks`, or inconsistent keys.
    pub fn build(&self, ranks: u32, base: &Path) -> Result<Arc<dyn Programs>, KeyError> {
        let nodes: Vec<u32> = (0..ranks).collect();
        self.build_on(&nodes, base)
    }

    /// Builds the program, given the node of each rank.
    ///
    /// # Errors
    /// As for `build`.
    pub fn build_on(&self, node_of: &[u32], base: &Path) -> Result<Arc<dyn Programs>, KeyError> {
        self.build_at(&ProgramContext {
            node_of,
            base,
            backend: None,
            interconnect: &Interconnect::default(),
            settle: Time(0),
        })
    }

    /// Whether the program may call collective operations, which a backend can carry out.
    pub const fn has_collectives(&self) -> bool {
        matches!(
            self,
            Self::Calls(_)
                | Self::CalledBack(_)
                | Self::Trace(_)
                | Self::Chakra(_)
                | Self::Collective(_)
                | Self::Training(_)
                | Self::Lammps(_)
        )
    }

    /// Builds the program for a program context, which also chooses the backend of collective operations.
    ///
    /// # Errors
    /// As for `build`.
    pub fn build_at(&self, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
        let (ranks, base) = (context.node_of.len() as u32, context.base);
        self.check_values()?;
        let motif: Arc<dyn Motif> = match self {
            Self::Goal(spec) => return spec.build(ranks, base),
            Self::Calls(spec) => return spec.build(context),
            Self::Trace(spec) => return spec.build(context),
            Self::Chakra(spec) => return spec.build(context),
            Self::CalledBack(spec) => return Err(spec.absent()),
            Self::Halo2d(spec) => Arc::new(Halo::new(spec, 2, ranks)?),
            Self::Halo3d(spec) => Arc::new(Halo::new(spec, 3, ranks)?),
            Self::Sweep(spec) => Arc::new(Sweep::new(spec, ranks)?),
            Self::Fft(spec) => Arc::new(Fft::new(spec, ranks)?),
            Self::Incast(spec) => Arc::new(Incast::new(spec, ranks)?),
            Self::Collective(spec) => return Ok(Arc::new(CollectiveProgram::new(spec, context)?)),
            Self::Training(spec) => return training::build(spec, context),
            Self::Lammps(spec) => return lammps::build(spec, context),
        };
        Ok(Arc::new(MotifPrograms { motif, ranks }))
    }

    /// Refuses messages and calculations that are too large.
    fn check_values(&self) -> Result<(), KeyError> {
        let (size, time) = match self {
            Self::Goal(_)
            | Self::Calls(_)
            | Self::Trace(_)
            | Self::Chakra(_)
            | Self::CalledBack(_)
            | Self::Collective(_)
            | Self::Training(_)
            | Self::Lammps(_) => return Ok(()),
            Self::Halo2d(spec) | Self::Halo3d(spec) => (spec.message_size, spec.compute.0),
            Self::Sweep(spec) => (spec.message_size, spec.compute.0),
            Self::Fft(spec) => (spec.message_size, spec.compute.0),
            Self::Incast(spec) => (spec.message_size, 0),
        };
        if !(1..=LARGEST).contains(&size.0) {
            return Err(KeyError::new("message_size", format!("{size} is out of range: 1 B to 1 GiB are allowed")));
        }
        check_time("compute", units::Time(time))
    }
}

impl GoalSpec {
    fn build(&self, ranks: u32, base: &Path) -> Result<Arc<dyn Programs>, KeyError> {
        let name = shown(&self.file);
        let wrong = |message: String| KeyError::new("file", format!("{name}: {message}"));
        let schedule = goal::read(&text_of(&self.file, base, "goal")?).map_err(|error| wrong(error.to_string()))?;
        check_room(schedule.ranks(), ranks).map_err(wrong)?;
        if let Some(op) = (0..schedule.len() as u32).find(|&op| schedule.lanes(op) != (0, 0)) {
            let (cpu, nic) = schedule.lanes(op);
            return Err(wrong(format!(
                "rank {} uses cpu {cpu} and nic {nic}; ranks have one processor and one interface, number 0",
                schedule.rank(op)
            )));
        }
        Ok(Arc::new(schedule))
    }
}

impl CallsSpec {
    fn build(&self, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
        let &ProgramContext { node_of, base, backend, interconnect, .. } = context;
        let name = shown(&self.file);
        let wrong = |message: String| KeyError::new("file", format!("{name}: {message}"));
        let calls =
            calls::text::read(&text_of(&self.file, base, "calls")?).map_err(|error| wrong(error.to_string()))?;
        let calls = calls.carried_by(backend).map_err(|error| wrong(error.to_string()))?;
        check_room(calls.ranks(), node_of.len() as u32).map_err(wrong)?;
        calls.check(None).map_err(|error| wrong(error.to_string()))?;
        let calls = calls.on_nodes(node_of).among(interconnect);
        calls.check_islands().map_err(|error| wrong(error.to_string()))?;
        Ok(Arc::new(calls))
    }
}

impl CalledBackSpec {
    /// Returns the error that no process has created the program.
    pub fn absent(&self) -> KeyError {
        let message = format!(
            "`{}` is a function in Python that is called back, and cannot be run from a file; run it where it is written, or save what it \
             has done in a run (`Program.recorded`)",
            self.name
        );
        KeyError::new("name", message)
    }
}

/// Reads the text of a file of programs of a kind.
fn text_of(file: &Path, base: &Path, kind: &str) -> Result<String, KeyError> {
    let wrong = |message: String| KeyError::new("file", format!("{}: {message}", shown(file)));
    check_ending(file, kind)?;
    input::PROGRAM.read_text(&base.join(file)).map_err(|error| wrong(format!("it {error}")))
}
