//! What has been proven free of deadlock already: the points of a sweep mostly share topology and routing.

use std::sync::{Arc, Mutex, PoisonError};

use routing::RoutingSpec;
use topology::TopologySpec;

use crate::error::SystemError;
use crate::experiment::ExperimentSpec;
use crate::system::System;

/// The pairs of a topology and a routing that are known not to deadlock. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Proofs(Arc<Mutex<Vec<Pair>>>);

type Pair = (TopologySpec, Option<RoutingSpec>);

impl Proofs {
    /// Refuses a system that may deadlock, and remembers one that cannot.
    ///
    /// # Errors
    /// The cycle of channels that wait for one another.
    pub(crate) fn refuse_deadlock(&self, system: &System) -> Result<(), SystemError> {
        let ExperimentSpec { topology, routing, .. } = &system.spec;
        let known = |pairs: &[Pair]| pairs.iter().any(|(t, r)| t == topology && r == routing);
        if known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        // Not under the lock: points that run side by side may prove the same twice, which only costs time.
        system.refuse_deadlock()?;
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known(&pairs) {
            pairs.push((topology.clone(), routing.clone()));
        }
        Ok(())
    }
}
