//! One network of a system, for analyses that hold for a network alone, whatever the traffic of the jobs.
//!
//! Islands and planes of a network are equal. An analysis follows the first island in the first plane, whose channels
//! and nodes have numbers of their own. A network without islands is one island.

use std::sync::Arc;

use routing::Routing;
use routing::islands::{Island, routing_of};
use topology::{Channels, Topology};
use units::{ChannelId, KeyError, NodeId};

use ::system::System;

use crate::analysis::check_channels;

/// First island of a network.
pub(crate) struct OneNetwork<'a> {
    system: &'a System,
    islands: Vec<Island<'a>>,
    /// Routing of the network.
    pub routing: &'a Arc<dyn Routing>,
    /// Path of the network's keys. Empty for a network without a name.
    section: String,
    /// Numbers of the island's channels.
    channels: Channels,
}

impl<'a> OneNetwork<'a> {
    /// Returns a network of a system by its name. `None`: the system's only network.
    ///
    /// # Errors
    /// If the system has no channels, if there is no such network, or if several are there and none is named.
    pub fn of(system: &'a System, name: Option<&str>) -> Result<Self, KeyError> {
        check_channels(system)?;
        let refused = |message: String| Err(KeyError::new("network", message));
        let known = names(system);
        let network = match name {
            None if known.is_empty() => 0,
            None => return refused(format!("the file has several networks: name one of {}", known.join(", "))),
            Some(_) if known.is_empty() => return refused("the file has one network, which has no name".to_owned()),
            Some(name) => match known.iter().position(|known| known == name) {
                Some(network) => network,
                None => return refused(format!("there is no network `{name}`: there are {}", known.join(", "))),
            },
        };
        let routing = routing_of(&system.network.routing, network);
        let islands = Island::all(&*system.network.topology, (network, &**routing));
        let channels = Channels::new(islands.first().map_or(&*system.network.topology, |island| island.topology));
        let section = name.map(|name| format!("network.{name}")).unwrap_or_default();
        Ok(Self { system, islands, routing, section, channels })
    }

    /// Returns the topology of the island.
    pub fn topology(&self) -> &'a dyn Topology {
        self.islands.first().map_or(&*self.system.network.topology, |island| island.topology)
    }

    /// Returns the routing whose paths are followed: for a routing that chooses by queues between direct paths and
    /// detours, that of direct paths.
    pub fn direct(&self) -> Arc<dyn Routing> {
        Arc::clone(self.routing.options().first().unwrap_or(self.routing))
    }

    /// Returns the nodes of the island that an endpoint has taken. `None`: all.
    pub fn nodes(&self) -> Option<Vec<NodeId>> {
        let first = self.islands.first()?;
        let all = (0..first.topology.nodes()).map(NodeId);
        let nodes: Vec<NodeId> = all.filter(|&own| first.node(own).is_some()).collect();
        Some(nodes).filter(|nodes| nodes.len() < first.topology.nodes() as usize)
    }

    /// Returns a permutation of the machine's endpoints that is a given permutation of nodes on each island. Endpoints
    /// that have no port in the network name themselves.
    pub fn on_islands(&self, to: &[NodeId]) -> Vec<NodeId> {
        let mut all: Vec<NodeId> = (0..self.system.network.topology.nodes()).map(NodeId).collect();
        for island in &self.islands {
            for (own, &target) in (0..).map(NodeId).zip(to) {
                if let Some((source, target)) = island.node(own).zip(island.node(target)) {
                    all[source.index()] = target;
                }
            }
        }
        all
    }

    /// Returns the number that a channel of the island has in the first plane of the system. `None`: it is the injection
    /// channel of a node that is left free.
    pub fn in_system(&self, channel: ChannelId) -> Option<ChannelId> {
        let mut first = None;
        let all = self.system.network.plan.channels();
        self.islands.first()?.copies((&self.channels, all), channel, |copy| first = first.or(Some(copy)));
        first
    }

    /// Returns the bandwidths of the channels of the island's routers, as multiples of that of an injection link.
    pub fn capacities(&self) -> Vec<f64> {
        let of = |channel| self.in_system(ChannelId(channel)).map_or(1.0, |channel| self.system.capacity(channel));
        (0..self.channels.ports()).map(of).collect()
    }

    /// Moves an error at a section of the network's keys to its path in the file.
    pub fn at(&self, section: &str, error: impl ToString) -> KeyError {
        KeyError::new(section, error).under(&self.section)
    }
}

/// Returns the names of a system's networks. Empty for a system with one network, which has no name.
pub(crate) fn names(system: &System) -> Vec<String> {
    let named = system.network.topology.views().networks.filter(|networks| networks.only().is_none());
    named.map(|networks| networks.parts().iter().map(|part| part.name.clone()).collect()).unwrap_or_default()
}
