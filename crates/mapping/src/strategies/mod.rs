//! Strategies, one file each, their catalogue, and the function that calls the chosen one.

pub mod affinity;
mod annealing;
mod applications;
mod auto;
mod axes;
mod bisection;
mod catalogue;
mod channel_load;
mod classics;
mod cost;
mod domains;
mod dynamic;
mod embedding;
mod geometric;
mod greedy;
mod grids;
mod layout;
mod meter;
mod near;
mod pace;
mod partition;
mod parts;
mod prices;
mod repair;
mod simple;

pub use catalogue::StrategyName;

use applications::namd::{self, Scheme};
use applications::openatom;
use classics::{contraction, genetic, pairwise};

use crate::{Mapping, MappingError, Objective, Problem};

/// Maps a graph on a machine. The mapping depends only on the problem, not on the number of threads.
///
/// # Errors
/// If the tasks do not fit, if the strategy does not support the graph or machine, or if the observer cancels the
/// search.
pub fn map(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    problem.room()?;
    if problem.spec.objective != Objective::HopBytes && problem.spec.strategy != StrategyName::Auto {
        let message = "only `auto` chooses by the load of channels; all others lower hop-bytes";
        return Err(MappingError::unfit("objective", message));
    }
    match problem.spec.strategy {
        StrategyName::Auto => auto::auto(problem),
        StrategyName::Identity => simple::identity(problem),
        StrategyName::ArrayBlocks => simple::array_blocks(problem),
        StrategyName::Greedy => greedy::greedy(problem),
        StrategyName::Random => simple::random(problem),
        StrategyName::Embedding => embedding::embedding(problem),
        StrategyName::Bisection => bisection::bisection(problem),
        StrategyName::Multilevel => auto::multilevel(problem),
        StrategyName::Hierarchical => auto::hierarchical(problem),
        StrategyName::PairwiseExchange => pairwise::pairwise(problem),
        StrategyName::Genetic => genetic::genetic(problem),
        StrategyName::Contraction => contraction::contraction(problem),
        StrategyName::Mincut => bisection::mincut(problem),
        StrategyName::Geometric => geometric::geometric(problem),
        StrategyName::Prisms => openatom::prisms(problem),
        StrategyName::NamdOblivious => namd::namd(problem, Scheme::Oblivious),
        StrategyName::NamdPatches => namd::namd(problem, Scheme::Patches),
        StrategyName::NamdTopology => namd::namd(problem, Scheme::Topology),
        StrategyName::Dynamic => dynamic::dynamic(problem),
        StrategyName::Annealing => annealing::annealing(problem),
    }
}
