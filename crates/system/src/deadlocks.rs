//! Proof that a system cannot deadlock, and refusal of a system that may.

use routing::{DependencyCycle, RoutingContractError};
use units::{KeyError, KeyResult};

use crate::progress::Progress;
use crate::run::outcome::RunError;
use crate::system::System;
use ::network::{Feature, Network};

/// Cycles of channel dependencies.
impl System {
    /// Returns a cycle of channel dependencies. If there is one, the routing may deadlock.
    ///
    /// # Errors
    /// If the routing breaks its contract: a bug, reported before the run.
    pub fn dependency_cycle(&self) -> Result<Option<DependencyCycle>, KeyError> {
        self.dependency_cycle_unless(&Progress::new()).unwrap_or(Ok(None))
    }

    /// Returns a cycle of channel dependencies ([`Self::dependency_cycle`]). None if the search is cancelled before it
    /// ends.
    pub fn dependency_cycle_unless(&self, progress: &Progress) -> Option<Result<Option<DependencyCycle>, KeyError>> {
        let Network { topology, routing, .. } = &self.network;
        if !self.network.has(Feature::Routes) {
            return Some(Ok(None));
        }
        let trees = self.network.trees().map(|trees| &**trees);
        let stops = || progress.is_cancelled();
        match routing::dependency_cycle_unless((&**topology, &**routing), trees, &stops) {
            Err(RoutingContractError::Stopped) => None,
            found => Some(found.at_key("routing")),
        }
    }

    /// Refuses a system that may deadlock. `measure.unproven` turns the check off.
    ///
    /// # Errors
    /// If channels may wait for one another in a cycle, or if the search is cancelled.
    pub fn refuse_deadlock_unless(&self, progress: &Progress) -> Result<(), RunError> {
        if self.spec.measure.unproven {
            return Ok(());
        }
        let cycle = self.dependency_cycle_unless(progress).ok_or(RunError::Cancelled)?;
        Ok(self.refuse_cycle(cycle?)?)
    }

    /// Refuses a system that may deadlock. `measure.unproven` turns the check off.
    ///
    /// # Errors
    /// If channels may wait for one another in a cycle.
    pub fn refuse_deadlock(&self) -> Result<(), KeyError> {
        if self.spec.measure.unproven {
            return Ok(());
        }
        self.refuse_cycle(self.dependency_cycle()?)
    }

    /// Refuses a system whose channels may wait for one another in a cycle.
    ///
    /// # Errors
    /// If `cycle` is a cycle; the error shows it.
    pub fn refuse_cycle(&self, cycle: Option<DependencyCycle>) -> Result<(), KeyError> {
        match cycle {
            None => Ok(()),
            Some(cycle) => Err(KeyError::new(
                "routing",
                format!(
                    "`{}` on this {} can deadlock: {cycle}\ngive packets more classes of virtual channels (for \
                     example vc_rule = \"hops\" for shortest-path) or another routing; with `measure.unproven = true` it \
                     runs all the same, until nothing moves any more",
                    self.network.routing.kind(),
                    self.network.topology.kind(),
                ),
            )),
        }
    }
}
