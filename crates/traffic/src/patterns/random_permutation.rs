//! Random permutation: every task sends to a single partner, drawn once from the experiment's seed.
//!
//! Uniform over the permutations without fixed points, so that every task sends and every task receives. Seed and
//! number of tasks determine the permutation on every platform, independent of other random draws of the experiment.

use units::{KeyError, shuffle};

use super::Permutation;
use units::NamedStream;

/// Name in the experiment file.
pub const KIND: &str = "random-permutation";

/// Builds the pattern for `tasks` tasks.
///
/// # Errors
/// If there is only one task, which has no partner.
pub fn build(tasks: u32, seed: u64) -> Result<Permutation, KeyError> {
    let mut to: Vec<u32> = (0..tasks).collect();
    if tasks > 1 {
        let mut stream = NamedStream::new(seed, KIND);
        shuffle(&mut to, &mut stream);
        // A random permutation has no fixed point with probability 1/e: on average 2.7 shuffles find one.
        while to.iter().zip(0..).any(|(&dst, src)| dst == src) {
            shuffle(&mut to, &mut stream);
        }
    }
    Permutation::new(KIND, tasks, |src| to[src as usize])
}
