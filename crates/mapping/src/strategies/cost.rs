//! Cost by which strategies compare mappings.

use super::affinity::{Affinity, Edge};
use crate::{Mapping, Problem};

/// Returns the sum over edges of weight times hops.
pub(crate) fn cost(problem: &Problem<'_>, affinity: &Affinity, mapping: &Mapping) -> f64 {
    let hops = problem.machine.hops();
    let row = |task: u32| {
        let here = mapping.place_of[task as usize];
        let pay =
            |edge: &Edge| f64::from(edge.weight) * f64::from(hops.hops(here, mapping.place_of[edge.target as usize]));
        affinity.of(task).iter().map(pay).sum::<f64>()
    };
    workers::map(0..affinity.tasks(), row).iter().sum::<f64>() / 2.0
}
