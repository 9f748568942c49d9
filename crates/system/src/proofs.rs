//! Cache of deadlock proofs: most points of a sweep share topology and routing.

use std::sync::{Arc, Mutex, PoisonError};

use routing::trees::Trees;
use routing::{DependencyCycle, RoutingSpec};
use topology::NetworkSpec;
use units::KeyError;

use crate::progress::Progress;
use crate::run::outcome::RunError;
use crate::system::System;
use ::experiment::{ExperimentSpec, JoinedNetworkSpec};

/// Verdicts on topologies, routings and trees that have been checked together. Clones share them.
///
/// Each combination is checked once. Concurrent points wait for the first one, whose check uses all threads. (They wait
/// in separate threads, never in one of the pool that runs the check.)
#[derive(Clone, Debug, Default)]
pub struct Proofs(Arc<Mutex<Vec<(Pair, Entry)>>>);

/// Topologies and routings, of each of several networks, and trees.
type Pair = (Vec<(NetworkSpec, Option<RoutingSpec>)>, Option<Arc<Trees>>);

/// Cached verdict. Locked while the check runs.
type Entry = Arc<Mutex<Option<Verdict>>>;

/// Cycle of channel dependencies, if there is one, or the reason why the check failed.
type Verdict = Result<Option<DependencyCycle>, KeyError>;

impl Proofs {
    /// Returns a cycle of channel dependencies, if the routing of a system has one. None if the check is cancelled
    /// before it ends.
    pub fn dependency_cycle(&self, system: &System, progress: &Progress) -> Option<Verdict> {
        let ExperimentSpec { topology, routing, networks, .. } = &system.spec;
        let of = |own: &JoinedNetworkSpec| (own.topology.clone(), own.routing.clone().or_else(|| routing.clone()));
        let networks = networks.iter().map(of).chain([(topology.clone(), routing.clone())]);
        self.verdict((networks.collect(), system.network.trees().cloned()), || system.dependency_cycle_unless(progress))
    }

    /// Refuses a system that may deadlock. `measure.unproven` turns the check off.
    ///
    /// # Errors
    /// If channels may wait for one another in a cycle, or if the check is cancelled.
    pub fn refuse_deadlock(&self, system: &System, progress: &Progress) -> Result<(), RunError> {
        if system.spec.measure.unproven {
            return Ok(());
        }
        let verdict = self.dependency_cycle(system, progress).ok_or(RunError::Cancelled)?;
        Ok(system.refuse_cycle(verdict?)?)
    }

    /// Returns the verdict on a combination. Runs `check` if it is unknown. None if the check is cancelled.
    fn verdict(&self, pair: Pair, check: impl FnOnce() -> Option<Verdict>) -> Option<Verdict> {
        let known = self.entry(pair);
        let mut verdict = known.lock().unwrap_or_else(PoisonError::into_inner);
        if verdict.is_none() {
            *verdict = check();
        }
        verdict.clone()
    }

    /// Returns the cache entry of a combination.
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
        let topology = NetworkSpec::from(TopologySpec::Torus(GridSpec::new(&[8], 1)));
        let verdict = |vc_rule: VcRule| {
            let routing = RoutingSpec::ShortestPath(ShortestPathSpec { vc_rule, ..ShortestPathSpec::default() });
            proofs.verdict((vec![(topology.clone(), Some(routing))], None), || {
                checks.fetch_add(1, Ordering::Relaxed);
                // Gives the other threads time to arrive.
                std::thread::yield_now();
                Some(match vc_rule {
                    VcRule::Single => Err(KeyError::new("routing", "a cycle")),
                    _ => Ok(None),
                })
            })
        };
        // A cancelled check leaves no verdict.
        let hops = ShortestPathSpec { vc_rule: VcRule::Hops, ..ShortestPathSpec::default() };
        let pair = (vec![(topology.clone(), Some(RoutingSpec::ShortestPath(hops)))], None);
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
