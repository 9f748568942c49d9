//! Molecular dynamics after LAMMPS: its spatial decomposition and the messages of a time step (Plimpton, "Fast parallel
//! algorithms for short-range molecular dynamics", J. Comput. Phys. 117, 1995).
//!
//! Each rank owns the atoms in its part of a periodic box. Forces and neighbour lists reach `cutoff` + `skin`, so a
//! rank needs the atoms of other ranks in a layer of that thickness around its part (ghosts). They arrive in six
//! sequential exchanges, down and up in each dimension. Each exchange forwards atoms of the previous ones, so that
//! corners need no messages. A step consists of:
//!
//! - If the deck checks whether to rebuild neighbour lists: a sum over all ranks.
//! - Communication before the calculation. In most steps: positions of ghosts by the six exchanges. In steps that
//!   rebuild neighbour lists: migration of atoms to their new owners (counts, then atoms), and new ghosts (counts, then
//!   atoms).
//! - The calculation.
//! - Forces on ghosts sent back, by the exchanges in reverse order and direction.
//! - In steps that output temperature and pressure: their sums over all ranks.
//!
//! Not modelled: uneven distributions of atoms, long-range forces, output, and the setup before the first step. A rank
//! that is its own neighbour sends nothing.

mod plan;
mod rank;
pub(super) mod spec;

use std::sync::Arc;

use units::KeyError;

use super::planned::Planned;
use super::program_context::ProgramContext;
use mpi::program::Programs;
use plan::Plan;
use rank::LammpsRank;
use spec::LammpsSpec;

/// Builds the run of ranks on a context.
///
/// # Errors
/// Inconsistent keys, an invalid grid, parts that are too small, and messages or times that are too large.
pub(super) fn build(spec: &LammpsSpec, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
    spec.check()?;
    Ok(Arc::new(Planned::new(Plan::new(spec, context)?, LammpsRank::new)))
}
