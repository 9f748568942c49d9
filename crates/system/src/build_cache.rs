//! Cache of topologies, routings and worst permutations that points share, and registry of programs that no file can
//! express.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mpi::program::Programs;
use routing::algorithms::flat::NoRouting;
use routing::algorithms::networks::NetworksRouting;
use routing::{Routing, RoutingSpec};
use topology::families::networks::Part;
use topology::{NetworkSpec, Topology};
use units::{KeyError, KeyResult, NodeId};

use crate::capacity::Capacities;
use crate::networks;
use crate::progress::Progress;
use ::experiment::{ExperimentSpec, JoinedNetworkSpec};
use ::network::{Feature, NetworkModel};

/// Number of values of each kind that are kept. A sweep mostly returns to recent ones, and large ones take
/// memory.
const KEPT: usize = 8;

/// Programs made by the process that no file can express, by name.
pub type GivenPrograms = BTreeMap<String, Arc<dyn Programs>>;

/// Topologies, routings and worst permutations used most recently. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct BuildCache {
    topologies: Arc<Cache<NetworkSpec, Arc<dyn Topology>>>,
    routings: Arc<Cache<Pair, Arc<dyn Routing>>>,
    worst: Arc<Cache<Among, Arc<[NodeId]>>>,
    /// Programs that `ProgramSpec::CalledBack` names.
    pub programs: Arc<GivenPrograms>,
    /// Progress of the build, which may cancel it.
    pub progress: Progress,
}

/// Topology, and the routing on it if the experiment sets one.
type Pair = (NetworkSpec, Option<RoutingSpec>);

/// Topology with the bandwidths of its channels, and the nodes that send. `None`: all nodes.
pub(crate) type Among = (NetworkSpec, Capacities, Option<Vec<NodeId>>);

impl BuildCache {
    /// Returns the topology of a point. Relative paths in it start from `base`, which is equal for all points.
    ///
    /// # Errors
    /// If the topology cannot be built. The error names the key at fault.
    pub fn topology(&self, spec: &ExperimentSpec, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
        match spec.networks.is_empty() {
            true => self.island(&spec.topology, base).under("topology"),
            false => networks::topology(spec, base, self),
        }
    }

    /// Returns the topology of a network, or of an island of one of several.
    pub(crate) fn island(&self, spec: &NetworkSpec, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
        self.topologies.get_or_build(spec, || mapping::build_topology(spec, base))
    }

    /// Returns the routing of a point, on its topology and in its network model.
    ///
    /// # Errors
    /// If the routing cannot be built. The error names the key at fault.
    pub fn routing(
        &self,
        spec: &ExperimentSpec,
        (topology, model): (&dyn Topology, &dyn NetworkModel),
        base: &Path,
    ) -> Result<Arc<dyn Routing>, KeyError> {
        if !model.has(Feature::Routes) {
            return Ok(Arc::new(NoRouting));
        }
        let build = |of: &NetworkSpec, own: &Option<RoutingSpec>, topology: &dyn Topology| {
            let kind = || own.clone().unwrap_or_else(|| RoutingSpec::default_for(topology));
            self.routings.get_or_build(&(of.clone(), own.clone()), || kind().build_in(topology, base).under("routing"))
        };
        let Some(joined) = topology.views().networks.filter(|_| !spec.networks.is_empty()) else {
            return build(&spec.topology, &spec.routing, topology);
        };
        let of = |(own, part): (&JoinedNetworkSpec, &Part)| {
            let routing = own.routing.clone().or_else(|| spec.routing.clone());
            let built = build(&networks::island(own), &routing, &*part.island);
            built.map_err(|error| error.under(&format!("network.{}", own.name)))
        };
        let all = spec.networks.iter().zip(joined.parts()).map(of).collect::<Result<_, _>>()?;
        Ok(Arc::new(NetworksRouting::new(joined, all)?))
    }

    /// Returns, by node, the partner in the worst permutation of some nodes. `search` finds it.
    pub(crate) fn worst(
        &self,
        among: &Among,
        search: impl FnOnce() -> Result<Arc<[NodeId]>, KeyError>,
    ) -> Result<Arc<[NodeId]>, KeyError> {
        self.worst.get_or_build(among, search)
    }
}

/// Cache of recently built values, by their specification.
#[derive(Debug)]
struct Cache<K, V>(Mutex<Vec<(K, Slot<V>)>>);

/// Cached value. Locked while it is built, so that other threads wait for it and do not build it too.
type Slot<V> = Arc<Mutex<Option<V>>>;

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + PartialEq, V: Clone> Cache<K, V> {
    /// Returns the value of a key, and builds it if it is not in the cache. Failures are not cached.
    fn get_or_build<E>(&self, key: &K, build: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut value = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        Ok(value.insert(build()?).clone())
    }

    /// Returns the slot of a key, and marks it as the most recently used.
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
        let kept = Cache::<u32, u32>::default();
        let mut built = Vec::new();
        for key in [1, 2, 1, 3, 4, 5, 6, 7, 8, 1, 9, 1, 2] {
            let value = kept.get_or_build(&key, || {
                built.push(key);
                Ok::<u32, ()>(10 * key)
            });
            assert_eq!(value, Ok(10 * key));
        }
        assert_eq!(built, [1, 2, 3, 4, 5, 6, 7, 8, 9, 2]);
        assert_eq!(kept.get_or_build(&10, || Err("no")), Err("no"));
        assert_eq!(kept.get_or_build(&10, || Ok::<u32, &str>(60)), Ok(60));
    }
}
