//! Completion of a point: keys that were left out are written with the values that follow from the network, so that a
//! version with other defaults runs an identical system.

use routing::RoutingSpec;
use topology::Topology;
use units::Bytes;

use crate::experiment::Experiment;
use ::experiment::{ExperimentSpec, Point, WorkloadSpec};
use ::network::Feature;

/// Point with every key that follows from its network.
#[derive(Clone, Debug, PartialEq)]
pub struct Completed {
    /// Completed specification, which builds the system of the point.
    pub spec: ExperimentSpec,
    /// Paths of the keys that were left out.
    pub keys: Vec<String>,
}

/// Completes a point's routing, packet sizes, delays of links, and delay and buffer depths of its routers, if they are
/// left out and have a meaning in the network model. A point whose topology cannot be built is returned unchanged.
pub fn completed(experiment: &Experiment, point: &Point) -> Completed {
    let (mut spec, mut keys) = (point.spec.clone(), Vec::new());
    let Ok(topology) = experiment.parts().topology(&point.spec, experiment.base_dir()) else {
        return Completed { spec, keys };
    };
    if !spec.networks.is_empty() {
        keys.extend(system::complete_delays(&mut spec, &*topology).unwrap_or_default());
        complete_networks(&mut spec, &mut keys, &*topology);
        return Completed { spec, keys };
    }
    let model = system::model::of(&point.spec);
    if let Ok(own) = system::with_delays(&point.spec, (&*topology, &*model)) {
        keys.extend(own.of_lengths.iter().map(|class| format!("link.{class}.delay")));
        spec = own.spec.into_owned();
    }
    let links: Vec<_> = topology.class_names().into_iter().map(|class| spec.link.parameters(class)).collect();
    let default = fabric::packet_size(spec.link.of_class("injection").0);
    if !model.has(Feature::Routes) {
        let mut router = spec.router.clone();
        router.complete(&links, default, &*topology);
        // Nothing but the delay of routers counts, and a class of routers says its own.
        let delay = spec.router.size_keys().delay;
        if delay.is_none() && model.has(Feature::Routers) {
            *delay = *router.size_keys().delay;
            keys.push("router.delay".to_owned());
        }
        return Completed { spec, keys };
    }
    if spec.routing.is_none() {
        spec.routing = Some(RoutingSpec::default_for(&*topology));
        keys.push("routing".to_owned());
    }
    let packet = complete_packets(&mut spec, &mut keys, default);
    let written = spec.router.complete(&links, packet, &*topology);
    keys.extend(written.into_iter().map(|key| format!("router.{key}")));
    Completed { spec, keys }
}

/// Writes the default size of packets where it is left out, and returns the largest size.
fn complete_packets(spec: &mut ExperimentSpec, keys: &mut Vec<String>, default: Bytes) -> Bytes {
    let mut sizes: Vec<Bytes> = Vec::new();
    for (path, workload) in spec.workloads_mut() {
        let size = packet_size(workload);
        if size.is_none() {
            keys.push(format!("{path}.packet_size"));
        }
        sizes.push(*size.get_or_insert(default));
    }
    sizes.into_iter().max().unwrap_or(default)
}

/// Completes the sections of several networks.
fn complete_networks(spec: &mut ExperimentSpec, keys: &mut Vec<String>, topology: &dyn Topology) {
    let Some(joined) = topology.views().networks else { return };
    let (link, router, routing) = (spec.link.clone(), spec.router.clone(), spec.routing.clone());
    let fastest = spec.networks.iter().map(|own| own.link.as_ref().unwrap_or(&link).of_class("injection").0).max();
    let packet = complete_packets(spec, keys, fabric::packet_size(fastest.unwrap_or_default()));
    for (own, part) in spec.networks.iter_mut().zip(joined.parts()) {
        let names = part.island.class_names();
        let own_link = own.link.as_ref().unwrap_or(&link);
        let links: Vec<_> = names.into_iter().map(|class| own_link.parameters(class)).collect();
        if own.routing.is_none() {
            own.routing = Some(routing.clone().unwrap_or_else(|| RoutingSpec::default_for(&*part.island)));
            keys.push(format!("network.{}.routing", own.name));
        }
        let written = own.router.get_or_insert_with(|| router.clone()).complete(&links, packet, &*part.island);
        keys.extend(written.into_iter().map(|key| format!("network.{}.router.{key}", own.name)));
    }
}

fn packet_size(workload: &mut WorkloadSpec) -> &mut Option<Bytes> {
    match workload {
        WorkloadSpec::Traffic(spec) => &mut spec.packet_size,
        WorkloadSpec::Exchange(spec) => &mut spec.packet_size,
        WorkloadSpec::Collective(spec) => &mut spec.packet_size,
        WorkloadSpec::Application(spec) => &mut spec.packet_size,
        WorkloadSpec::Benchmark(spec) => &mut spec.packet_size,
        WorkloadSpec::Program(spec) => &mut spec.packet_size,
    }
}
