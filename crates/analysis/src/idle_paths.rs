//! Channels that one fixed path for each pair of nodes leaves idle, although other paths are equally good.

use routing::{ChannelLoads, Demand, Routing, RoutingSpec, demand_loads};
use topology::{ChannelSource, Endpoint};
use units::{ChannelId, KeyError, KeyResult};

use ::system::System;

/// Largest product of routers and channels for which the paths of all pairs are followed: about an eighth of a second,
/// which every point takes.
const FOLLOWED: u64 = 1 << 23;

/// Channels that fixed paths leave idle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IdlePaths {
    /// Number of channels between routers that carry packets of no pair, and would if packets were spread.
    pub idle: usize,
    /// Number of channels between routers that would carry packets.
    pub of: usize,
    /// Bounds on the load of uniform traffic: with fixed paths, and with spread packets.
    pub bounds: (f64, f64),
}

/// Returns the channels that fixed paths leave idle. None if there are none, if the routing has no key that spreads
/// packets, or if the network is too large to follow every pair.
///
/// # Errors
/// If the routing breaks its contract.
pub(crate) fn of(system: &System) -> Result<Option<IdlePaths>, KeyError> {
    if system.network.ways.is_some() {
        return Ok(None);
    }
    let topology = &*system.network.topology;
    let own = || RoutingSpec::default_for(topology);
    let Some(spread) = system.spec.routing.clone().unwrap_or_else(own).spread() else { return Ok(None) };
    let channels = u64::from(system.network.plan.channels().count());
    if u64::from(topology.routers()) * channels > FOLLOWED {
        return Ok(None);
    }
    let fixed = uniform_loads(system, &*system.network.routing)?;
    let between = between_routers(system);
    if between.iter().all(|channel| fixed.load[channel.index()] > 0.0) {
        return Ok(None);
    }
    let spread = uniform_loads(system, &*spread.for_paths().build(topology).under("routing")?)?;
    let used = || between.iter().filter(|channel| spread.load[channel.index()] > 0.0);
    let idle = used().filter(|channel| fixed.load[channel.index()] == 0.0).count();
    let bound = |loads: &ChannelLoads| loads.throughput_bound(&|channel| system.capacity(channel));
    Ok((idle > 0).then(|| IdlePaths { idle, of: used().count(), bounds: (bound(&fixed), bound(&spread)) }))
}

/// Returns the loads of all channels if each node sends equally to all nodes.
fn uniform_loads(system: &System, routing: &dyn Routing) -> Result<ChannelLoads, KeyError> {
    let topology = &*system.network.topology;
    let everyone = 1.0 / f64::from(topology.nodes());
    let demands = |_| Demand { everyone, besides: Vec::new() };
    demand_loads(topology, routing, &demands, &|_| true).at_key("routing")
}

/// Returns the output channels of routers that lead to routers.
fn between_routers(system: &System) -> Vec<ChannelId> {
    let channels = system.network.plan.channels();
    let is_between = |channel: &ChannelId| match channels.source(*channel) {
        ChannelSource::Router(router, port) => {
            matches!(system.network.topology.endpoint(router, port), Endpoint::Router(..))
        }
        ChannelSource::Node(..) => false,
    };
    (0..channels.count()).map(ChannelId).filter(is_between).collect()
}
