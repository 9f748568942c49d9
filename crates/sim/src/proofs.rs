//! What has been proven free of deadlock already: the points of a sweep mostly share topology and routing.

use std::sync::{Arc, Mutex, PoisonError};

use routing::RoutingSpec;
use topology::TopologySpec;

/// The pairs of a topology and a routing that are known not to deadlock. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Proofs(Arc<Mutex<Vec<Pair>>>);

type Pair = (TopologySpec, Option<RoutingSpec>);

impl Proofs {
    /// Proves a pair free of deadlock, unless that is known, and remembers it.
    ///
    /// # Errors
    /// What the proof finds.
    pub(crate) fn once<E>(
        &self,
        topology: &TopologySpec,
        routing: Option<&RoutingSpec>,
        prove: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let known = |pairs: &[Pair]| pairs.iter().any(|(t, r)| t == topology && r.as_ref() == routing);
        if known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        // Not under the lock: points that run side by side may prove the same twice, which only costs time.
        prove()?;
        let mut pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known(&pairs) {
            pairs.push((topology.clone(), routing.cloned()));
        }
        Ok(())
    }
}
