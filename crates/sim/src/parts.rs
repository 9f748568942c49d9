//! Topologies and routings, built once for all points that share them; and programs that no file can say.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use routing::algorithms::flat::{NoRouting, is_flat};
use routing::{Routing, RoutingSpec};
use topology::{Topology, TopologySpec};
use workload::program::Programs;

use crate::error::SystemError;
use crate::experiment::ExperimentSpec;

/// How many of each are kept. A sweep mostly returns to those that it has used last, and large ones take memory.
const KEPT: usize = 4;

/// Programs that a process has made and that no file can say, by their names.
pub type GivenPrograms = BTreeMap<String, Arc<dyn Programs>>;

/// The topologies and routings that have been used last. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    topologies: Arc<Kept<TopologySpec, Arc<dyn Topology>>>,
    routings: Arc<Kept<Pair, Arc<dyn Routing>>>,
    /// What `ProgramSpec::CalledBack` names.
    pub programs: Arc<GivenPrograms>,
}

/// A topology and the routing on it, if one is written.
type Pair = (TopologySpec, Option<RoutingSpec>);

impl Parts {
    /// The topology of a point; paths in it start from `base`, which is the same for all points.
    ///
    /// # Errors
    /// What is wrong with it, at its key.
    pub fn topology(&self, spec: &ExperimentSpec, base: &Path) -> Result<Arc<dyn Topology>, SystemError> {
        let wrong = |error: topology::TopologyError| SystemError::new(format!("topology.{}", error.key), error.message);
        self.topologies.get_or_build(&spec.topology, || mapping::build_topology(&spec.topology, base).map_err(wrong))
    }

    /// The routing of a point, on its topology.
    ///
    /// # Errors
    /// What is wrong with it, at its key.
    pub fn routing(
        &self,
        spec: &ExperimentSpec,
        topology: &dyn Topology,
        base: &Path,
    ) -> Result<Arc<dyn Routing>, SystemError> {
        if is_flat(topology) {
            return Ok(Arc::new(NoRouting));
        }
        let kind = || spec.routing.clone().unwrap_or_else(|| RoutingSpec::default_for(topology));
        let wrong = |error: routing::RoutingError| SystemError::new(format!("routing.{}", error.key), error.message);
        let key = (spec.topology.clone(), spec.routing.clone());
        self.routings.get_or_build(&key, || kind().build_in(topology, base).map_err(wrong))
    }
}

/// Values that were built last, by what they were built from.
#[derive(Debug)]
struct Kept<K, V>(Mutex<Vec<(K, Slot<V>)>>);

/// A value, once it is built; locked while it is, so that others wait for it instead of building it too.
type Slot<V> = Arc<Mutex<Option<V>>>;

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + PartialEq, V: Clone> Kept<K, V> {
    /// The value of a key, built unless it is kept. What cannot be built is not kept.
    fn get_or_build<E>(&self, key: &K, build: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut value = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        Ok(value.insert(build()?).clone())
    }

    /// The slot of a key, which is now the last used.
    fn slot(&self, key: &K) -> Slot<V> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match slots.iter().position(|(own, _)| own == key) {
            Some(place) => slots.remove(place).1,
            None => Slot::default(),
        };
        if slots.len() >= KEPT {
            slots.remove(0);
        }
        slots.push((key.clone(), Arc::clone(&slot)));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_built_once() {
        // Would catch a value of another key, one that is built anew, and one that is kept for ever.
        let kept = Kept::<u32, u32>::default();
        let mut built = Vec::new();
        for key in [1, 2, 1, 3, 4, 1, 5, 1, 2] {
            let value = kept.get_or_build(&key, || {
                built.push(key);
                Ok::<u32, ()>(10 * key)
            });
            assert_eq!(value, Ok(10 * key));
        }
        assert_eq!(built, [1, 2, 3, 4, 5, 2]);
        assert_eq!(kept.get_or_build(&6, || Err("no")), Err("no"));
        assert_eq!(kept.get_or_build(&6, || Ok::<u32, &str>(60)), Ok(60));
    }
}
