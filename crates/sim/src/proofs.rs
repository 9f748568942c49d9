//! What has been proven free of deadlock already: the points of a sweep mostly share topology and routing.

use std::sync::{Arc, Mutex, PoisonError};

use routing::trees::Trees;
use routing::{DependencyCycle, RoutingSpec};
use topology::NetworkSpec;

use crate::error::SystemError;
use crate::experiment::ExperimentSpec;
use crate::progress::Progress;
use crate::run::outcome::RunError;
use crate::system::System;

/// The verdict on each topology, routing and trees that have been checked together. Clones share what they know.
///
/// Each pair is checked once: points that run side by side wait for the one that came first, whose check uses all
/// threads. (They wait in threads of their own, never in one of the pool that the check runs on.)
#[derive(Clone, Debug, Default)]
pub struct Proofs(Arc<Mutex<Vec<(Pair, Entry)>>>);

type Pair = (NetworkSpec, Option<RoutingSpec>, Option<Arc<Trees>>);

/// The verdict on a pair, once it is found; locked while it is sought.
type Entry = Arc<Mutex<Option<Verdict>>>;

/// A cycle of channel dependencies if there is one, or why none can be sought.
type Verdict = Result<Option<DependencyCycle>, SystemError>;

impl Proofs {
    /// A cycle of channel dependencies, if the routing of a system has one; none if it is cancelled before it is known.
    pub(crate) fn dependency_cycle(&self, system: &System, progress: &Progress) -> Option<Verdict> {
        let ExperimentSpec { topology, routing, .. } = &system.spec;
        let pair = (topology.clone(), routing.clone(), system.network.trees().cloned());
        self.verdict(pair, || system.dependency_cycle_unless(progress))
    }

    /// Refuses a system that may deadlock, unless it is to run unproven.
    ///
    /// # Errors
    /// The cycle of channels that wait for one another; or that it was cancelled.
    pub(crate) fn refuse_deadlock(&self, system: &System, progress: &Progress) -> Result<(), RunError> {
        if system.spec.measure.unproven {
            return Ok(());
        }
        let verdict = self.dependency_cycle(system, progress).ok_or(RunError::Cancelled)?;
        Ok(system.refuse_cycle(verdict?)?)
    }

    /// The verdict on a pair, found by `check` unless it is known; one that is cancelled finds none.
    fn verdict(&self, pair: Pair, check: impl FnOnce() -> Option<Verdict>) -> Option<Verdict> {
        let known = self.entry(pair);
        let mut verdict = known.lock().unwrap_or_else(PoisonError::into_inner);
        if verdict.is_none() {
            *verdict = check();
        }
        verdict.clone()
    }

    /// Where the verdict on a pair is, or will be.
    fn entry(&self, pair: Pair) -> Entry {
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, verdict)) = pairs.iter().find(|(known, _)| *known == pair) {
            return Arc::clone(verdict);
        }
        let verdict = Arc::default();
        pairs.push((pair, Arc::clone(&verdict)));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use routing::algorithms::shortest_path::{ShortestPathSpec, VcRule};
    use topology::TopologySpec;
    use topology::families::torus::GridSpec;

    use super::*;

    #[test]
    fn a_sweep_checks_each_routing_once_side_by_side_too() {
        // Would catch points that check anew, or that take another routing's verdict for theirs.
        let (proofs, checks) = (Proofs::default(), AtomicU32::new(0));
        let topology =
            NetworkSpec { topology: TopologySpec::Torus(GridSpec { dims: vec![8], nodes_per_router: 1 }), planes: 1 };
        let verdict = |vc_rule: VcRule| {
            let routing = RoutingSpec::ShortestPath(ShortestPathSpec { vc_rule, ..ShortestPathSpec::default() });
            proofs.verdict((topology.clone(), Some(routing), None), || {
                checks.fetch_add(1, Ordering::Relaxed);
                // Long enough for the others to come.
                std::thread::yield_now();
                Some(match vc_rule {
                    VcRule::Single => Err(SystemError::new("routing", "a cycle")),
                    _ => Ok(None),
                })
            })
        };
        // What is cancelled is not known afterwards.
        let pair = (
            topology.clone(),
            Some(RoutingSpec::ShortestPath(ShortestPathSpec { vc_rule: VcRule::Hops, ..ShortestPathSpec::default() })),
            None,
        );
        assert!(proofs.verdict(pair, || None).is_none());
        std::thread::scope(|scope| {
            for point in 0..12 {
                let (vc_rule, verdict) = (if point % 2 == 0 { VcRule::Hops } else { VcRule::Single }, &verdict);
                scope.spawn(move || assert_eq!(verdict(vc_rule).unwrap().is_err(), vc_rule == VcRule::Single));
            }
        });
        assert_eq!(checks.into_inner(), 2);
    }
}
