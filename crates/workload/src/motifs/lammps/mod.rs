//! Molecular dynamics as LAMMPS has it (Plimpton, "Fast parallel algorithms for short-range molecular dynamics", J. Comput. Phys. 117, 1995):
//! its spatial decomposition, and the messages of a step.
//!
//! A rank has the atoms in its part of a periodic box. Forces and neighbour lists reach `cutoff` + `skin`, so that it needs the atoms of
//! others in a layer of that thickness around its part (ghosts). They come in six exchanges, down and up in each dimension, one after the
//! other; what has come in one goes on in the next, so that corners take no messages of their own. A step is
//!
//! 1. positions of ghosts by these exchanges; or, where lists are rebuilt, atoms to the ranks that have them now (numbers, then atoms), and
//!    ghosts anew (numbers, then atoms); before that, if the deck checks, a sum over all ranks;
//! 2. the calculation;
//! 3. forces on ghosts back, by the same exchanges in the opposite order and direction;
//! 4. where temperature and pressure are wanted, their sums over all ranks.
//!
//! Left out: that atoms are not evenly spread, long-range forces, output, and the setting up before the first step. A rank that is its own
//! neighbour sends nothing.

mod plan;
mod rank;
pub(super) mod spec;

use std::sync::Arc;

use super::planned::Planned;
use super::site::ProgramSite;
use crate::PatternError;
use crate::program::Programs;
use plan::Plan;
use rank::LammpsRank;
use spec::LammpsSpec;

/// The run of ranks on a site.
///
/// # Errors
/// Keys that do not go together, a grid that is none, parts that are too small, and messages or times that are too large.
pub(super) fn build(spec: &LammpsSpec, site: &ProgramSite<'_>) -> Result<Arc<dyn Programs>, PatternError> {
    spec.check()?;
    Ok(Arc::new(Planned::new(Plan::new(spec, site)?, LammpsRank::new)))
}
