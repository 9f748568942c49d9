//! What has been proven free of deadlock already: the points of a sweep mostly share topology and routing.

use std::sync::{Arc, Mutex, PoisonError};

use routing::trees::Trees;
use routing::{DependencyCycle, RoutingSpec};
use topology::NetworkSpec;

use crate::error::SystemError;
use crate::experiment::ExperimentSpec;
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
    /// A cycle of channel dependencies, if the routing of a system has one.
    ///
    /// # Errors
    /// If the routing breaks its contract.
    pub(crate) fn dependency_cycle(&self, system: &System) -> Verdict {
        self.verdict((&system.spec, system.network.trees()), || system.dependency_cycle())
    }

    /// Refuses a system that may deadlock, unless it is to run unproven.
    ///
    /// # Errors
    /// The cycle of channels that wait for one another.
    pub(crate) fn refuse_deadlock(&self, system: &System) -> Result<(), SystemError> {
        if system.spec.measure.unproven {
            return Ok(());
        }
        system.refuse_cycle(self.dependency_cycle(system)?)
    }

    /// The verdict on a system's topology and routing, found by `check` unless it is known.
    fn verdict(&self, of: (&ExperimentSpec, Option<&Arc<Trees>>), check: impl FnOnce() -> Verdict) -> Verdict {
        let known = self.entry(of);
        let mut verdict = known.lock().unwrap_or_else(PoisonError::into_inner);
        verdict.get_or_insert_with(check).clone()
    }

    /// Where the verdict on a system's topology and routing is, or will be.
    fn entry(&self, (spec, trees): (&ExperimentSpec, Option<&Arc<Trees>>)) -> Entry {
        let ExperimentSpec { topology, routing, .. } = spec;
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, verdict)) =
            pairs.iter().find(|((t, r, of), _)| t == topology && r == routing && of.as_ref() == trees)
        {
            return Arc::clone(verdict);
        }
        let verdict = Arc::default();
        pairs.push(((topology.clone(), routing.clone(), trees.cloned()), Arc::clone(&verdict)));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::experiment::Experiment;

    const SWEEP: &str = r#"
        [topology]
        kind = "torus"
        dims = [8]
        [link]
        bandwidth = "10 Gb/s"
        delay = "20 ns"
        [routing]
        kind = "shortest-path"
        [workload]
        kind = "traffic"
        pattern = "uniform"
        [sweep]
        "workload.load" = [0.1, 0.2, 0.3]
        "routing.vc_rule" = ["hops", "single"]
    "#;

    #[test]
    fn a_sweep_checks_each_routing_once_side_by_side_too() {
        // Would catch points that check anew, or that take another routing's verdict for theirs.
        let experiment = Experiment::load(SWEEP, "sweep.toml", Path::new("."), &[]).expect("an experiment");
        let (proofs, checks) = (experiment.proofs(), AtomicU32::new(0));
        let verdict = |spec: &ExperimentSpec| {
            let system = System::build(spec, Path::new(".")).expect("a system");
            proofs.verdict((spec, None), || {
                checks.fetch_add(1, Ordering::Relaxed);
                // Long enough for the others to come.
                std::thread::yield_now();
                system.dependency_cycle()
            })
        };
        std::thread::scope(|scope| {
            for point in experiment.points().iter().chain(experiment.points()) {
                scope.spawn(|| {
                    let on_one_class = point.keys.iter().any(|(_, value)| value == "single");
                    assert_eq!(verdict(&point.spec).expect("a verdict").is_some(), on_one_class);
                });
            }
        });
        assert_eq!((experiment.points().len(), checks.into_inner()), (6, 2));
    }
}
