//! Cables of a network, and the delays that follow from their lengths.
//!
//! A cable is a wire between two routers or between a node and a router. It has both directions, and each of parallel
//! wires counts. All planes count.
//!
//! The fabric knows one delay for each class of channels. It is that of the mean length of the class's cables, to the
//! nearest nanosecond (20 cm): channels of a class whose lengths differ keep their mean delay, not their own.

use std::borrow::Cow;

use ::experiment::ExperimentSpec;
use ::network::{Feature, NetworkModel};
use topology::{ChannelClass, Endpoint, Topology};
use units::{KeyError, Length, NodeId, PortId, RouterId, Time};

use crate::floor::Floor;

/// Delay of a millimetre of cable, in picoseconds: 5 ns a metre, as in glass of refractive index 1.5 and in copper.
const PER_MILLIMETRE: u128 = 5;

/// Precision of delays, and the shortest one, in picoseconds.
const NANOSECOND: u128 = 1_000;

/// Calls `call` with the classes of the two directions of each cable, the lower class first, and with the cable's
/// length on a floor.
pub fn each_cable(
    topology: &dyn Topology,
    floor: Option<&Floor>,
    call: &mut dyn FnMut((ChannelClass, ChannelClass), Option<Length>),
) {
    let mut add = |(one, other): (ChannelClass, ChannelClass), racks: &dyn Fn(&Floor) -> (u32, u32)| {
        let length = floor.map(|floor| {
            let (from, to) = racks(floor);
            floor.length(from, to)
        });
        call((one.min(other), one.max(other)), length);
    };
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            // Each wire is met at both ends; it counts at the lower one.
            let Endpoint::Router(far, far_port) = topology.endpoint(router, port) else { continue };
            if (router, port) < (far, far_port) {
                let classes = (topology.class(router, port), topology.class(far, far_port));
                add(classes, &|floor| (floor.of_router(router), floor.of_router(far)));
            }
        }
    }
    for plane in topology.all_planes() {
        let classes = (topology.injection_class(plane), topology.ejection_class(plane));
        for node in (0..topology.nodes()).map(NodeId) {
            let Some((router, _)) = topology.attachment_on(node, plane) else { continue };
            add(classes, &|floor| (floor.of_node(node), floor.of_router(router)));
        }
    }
}

/// Specification of a point with the delay of every class of channels.
#[derive(Clone, Debug)]
pub struct WithDelays<'a> {
    /// Specification.
    pub spec: Cow<'a, ExperimentSpec>,
    /// Classes of channels whose delays follow from the lengths of cables.
    pub of_lengths: Vec<String>,
}

/// Returns a point's specification with the delay of every class of channels. If `link.delay` is left out, delays that
/// are not given follow from the lengths of cables.
///
/// # Errors
/// At `link.delay`, if it is left out, and there is no layout or the network has no cables.
pub fn with_delays<'a>(
    spec: &'a ExperimentSpec,
    (topology, model): (&dyn Topology, &dyn NetworkModel),
) -> Result<WithDelays<'a>, KeyError> {
    if spec.link.delay.is_some() {
        return Ok(WithDelays { spec: Cow::Borrowed(spec), of_lengths: Vec::new() });
    }
    let refused = |why: &str| KeyError::new("link.delay", format!("`delay` is left out, {why}: give `link.delay`"));
    let layout = spec.layout.ok_or_else(|| refused("and there is no [layout], whose lengths of cables give it"))?;
    if !model.has(Feature::Routers) {
        return Err(refused("and this network has no cables whose lengths give it"));
    }
    let names = topology.class_names();
    let floor = Floor::new(topology, layout, spec.node.endpoints.unwrap_or(1));
    // Sum of lengths in millimetres, and number of cables.
    let mut sums = vec![(0_u128, 0_u128); names.len()];
    each_cable(topology, Some(&floor), &mut |(one, other), length| {
        let length = u128::from(length.map_or(0, |length| length.0));
        for class in [Some(one), Some(other).filter(|&other| other != one)].into_iter().flatten() {
            let (sum, count) = &mut sums[usize::from(class.0)];
            (*sum, *count) = (*sum + length, *count + 1);
        }
    });
    let (mut own, mut of_lengths) = (spec.clone(), Vec::new());
    for (name, (sum, count)) in names.into_iter().zip(sums) {
        let mean = (sum * PER_MILLIMETRE + count * NANOSECOND / 2) / (count.max(1) * NANOSECOND);
        let delay = Time((mean.max(1) * NANOSECOND) as u64);
        let given = &mut own.link.classes.entry(name.to_owned()).or_default().delay;
        if given.is_none() {
            *given = Some(delay);
            of_lengths.push(name.to_owned());
        }
    }
    Ok(WithDelays { spec: Cow::Owned(own), of_lengths })
}
