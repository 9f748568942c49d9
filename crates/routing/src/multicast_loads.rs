//! Exact expected load of every channel under random multicasts that routers split, without simulation.
//!
//! Units as in `channel_loads`: the offered load of a sender is 1.0, in which a multicast counts once. A channel
//! carries a copy if any member lies behind it. With members drawn uniformly, so that all sets of a size are equally
//! likely, the probability of that depends on the number of candidates behind it and on the distribution of the size.
//!
//! Members with equal offered outputs stay together, so that one of several outputs is taken for all of them. As in
//! `channel_loads`, each output is taken equally often, which is exact for drawn choices and the best that adaptive
//! ones can reach on fat-trees. If members with several offered outputs can meet others at one of them, the copies that
//! they then share are counted separately: the loads are then an upper bound (`MulticastLoads::exact`).

use std::collections::BTreeMap;
use std::fmt;

use topology::{Channels, Endpoint, Topology};
use units::{NodeId, PortId, RouterId, VcClass};

use crate::islands::Island;
use crate::walk::RoutingContractError;
use crate::{ChannelLoads, Choice, Hop, Route, RouteState, Routing};

/// Random multicasts.
#[derive(Debug)]
pub struct MulticastTraffic<'a> {
    /// Sending nodes, with the offered load of each.
    pub senders: &'a [(NodeId, f64)],
    /// Candidate destinations of a multicast, in ascending order.
    pub candidates: &'a [NodeId],
    /// Whether the sender is among the candidates.
    pub include_self: bool,
    /// By number of candidates from 0 on, the probability that a set contains at least one of that many candidates.
    pub hit: &'a [f64],
    /// Rule by which a packet is for a run of nodes, if it cannot be for any set: whether a packet of the first node
    /// may be for both of two consecutive nodes of a set. A multicast then is one packet for each run of such nodes.
    pub joins: Option<Joins<'a>>,
}

/// Function that says whether a packet of the first node may be for both other nodes.
#[derive(Clone, Copy)]
pub struct Joins<'a>(pub &'a dyn Fn(NodeId, NodeId, NodeId) -> bool);

impl fmt::Debug for Joins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Joins")
    }
}

impl MulticastTraffic<'_> {
    /// Returns the mean number of copies of a sender's multicast on the way to some candidates, in ascending order. If
    /// packets may be for any set, it is one copy if any of these candidates is a member.
    ///
    /// With runs, there are as many copies as runs that touch these candidates. A run begins at a member whose
    /// predecessor does not join it: at the first candidate of a stretch with the probability of a member, and at
    /// another with that of a member without a member before it.
    fn copies(&self, sender: NodeId, group: &[Member]) -> f64 {
        let hit = |candidates: usize| self.hit.get(candidates).copied().unwrap_or(1.0);
        let Some(joins) = self.joins else {
            let own = !self.include_self && group.binary_search_by_key(&sender, |member| member.node).is_ok();
            return hit(group.len() - usize::from(own));
        };
        let counts = |member: &&Member| self.include_self || member.node != sender;
        let (mut copies, mut before) = (0.0, None);
        for &Member { node, .. } in group.iter().filter(counts) {
            let goes_on = before.is_some_and(|before| (joins.0)(sender, before, node));
            copies += if goes_on { hit(2) - hit(1) } else { hit(1) };
            before = Some(node);
        }
        copies
    }
}

/// Loads of multicasts.
#[derive(Clone, Debug, PartialEq)]
pub struct MulticastLoads {
    /// Loads by channel.
    pub loads: ChannelLoads,
    /// Whether the loads are exact for drawn choices, rather than an upper bound.
    pub exact: bool,
}

/// Reason why the loads are unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MulticastLoadsError {
    /// The routing breaks its contract.
    #[error(transparent)]
    Routing(#[from] RoutingContractError),
    /// Members do not stay together by their offered outputs.
    #[error(
        "the expected loads of multicasts are not known for `{0}`, which draws or weighs a path for each destination by itself; run it, \
         or analyze another routing"
    )]
    Apart(&'static str),
}

/// Returns the expected load of every channel under random multicasts in one island of a network, given the routing of
/// an island: the one in which nodes send. Loads are in units of the network's injection links.
///
/// # Errors
/// If the routing draws the initial states of members, or weighs paths (`Choice::Weighed`, `Choice::Escape`), and if it
/// breaks its contract.
pub fn multicast_loads(
    topology: &dyn Topology,
    (network, routing): (usize, &dyn Routing),
    traffic: &MulticastTraffic<'_>,
) -> Result<MulticastLoads, MulticastLoadsError> {
    let all = Channels::new(topology);
    let mut load_of_all = vec![0.0; all.count() as usize];
    let senders = || traffic.senders.iter().copied().filter(|&(_, weight)| weight > 0.0);
    let has_senders = |island: &Island<'_>| senders().any(|(sender, _)| island.own(sender).is_some());
    let Some(island) = Island::all(topology, (network, routing)).into_iter().find(has_senders) else {
        return Ok(MulticastLoads { loads: ChannelLoads { load: load_of_all }, exact: true });
    };
    let Island { topology, .. } = island;
    let candidates: Vec<(NodeId, NodeId)> =
        traffic.candidates.iter().filter_map(|&node| Some((node, island.own(node)?))).collect();
    let channels = Channels::new(topology);
    let load = vec![0.0; channels.count() as usize];
    let mut walk = SetWalk { topology, routing, traffic, channels, load, exact: true };
    // If the port of a sender does not matter, the senders of a router are equivalent.
    let mut together: BTreeMap<(RouterId, Option<PortId>), Senders> = BTreeMap::new();
    for (sender, weight) in senders() {
        let Some(own) = island.own(sender) else { continue };
        let (router, port) = topology.attachment(own);
        let port = (routing.uses_input_port() || routing.fixed_by_flow()).then_some(port);
        together.entry((router, port)).or_default().push((sender, weight));
    }
    for ((router, port), senders) in together {
        let Some(first) = senders.first().and_then(|&(first, _)| island.own(first)) else { continue };
        let mut members = Vec::with_capacity(candidates.len());
        for &(node, own) in &candidates {
            let [(state, _)] = routing.initial_distribution(first, own)[..] else {
                return Err(MulticastLoadsError::Apart(routing.kind()));
            };
            members.push(Member { node, own, state });
        }
        for &(sender, weight) in &senders {
            let packets = traffic.joins.map_or(1.0, |_| traffic.copies(sender, &members));
            let own = island.own(sender).unwrap_or(first);
            walk.load[walk.channels.injection(own).index()] += weight * packets;
        }
        let in_port = port.unwrap_or_else(|| topology.attachment(first).1);
        let at = Place { router, in_port, vc_class: VcClass(0), routers: 1 };
        walk.visit(at, &members, &senders, 1.0)?;
    }
    let SetWalk { load, exact, .. } = walk;
    island.add(&all, &load, &mut load_of_all);
    Ok(MulticastLoads { loads: ChannelLoads { load: load_of_all }, exact })
}

/// Sending nodes, with the offered load of each.
type Senders = Vec<(NodeId, f64)>;

/// Position of a set, and the number of routers that it has entered.
#[derive(Clone, Copy)]
struct Place {
    router: RouterId,
    in_port: PortId,
    vc_class: VcClass,
    routers: u32,
}

struct SetWalk<'a> {
    topology: &'a dyn Topology,
    routing: &'a dyn Routing,
    traffic: &'a MulticastTraffic<'a>,
    channels: Channels,
    load: Vec<f64>,
    exact: bool,
}

/// Candidate destination on its way.
#[derive(Clone, Copy)]
struct Member {
    node: NodeId,
    /// Its number in the island.
    own: NodeId,
    /// Routing state of a packet to it.
    state: RouteState,
}

impl SetWalk<'_> {
    /// Follows the members that come to a router together, with a probability, from some senders.
    fn visit(
        &mut self,
        at: Place,
        members: &[Member],
        senders: &[(NodeId, f64)],
        share: f64,
    ) -> Result<(), MulticastLoadsError> {
        for (route, group) in self.groups(at, members)? {
            let copies = share * self.copies(&group, senders) / f64::from(route.count);
            for port in route.ports(self.routing.port_lists()) {
                self.load[self.channels.output(at.router, port).index()] += copies;
                if let Endpoint::Router(router, in_port) = self.endpoint(at, port, group[0].own)? {
                    let next = Place { router, in_port, vc_class: route.vc_class, routers: at.routers + 1 };
                    self.visit(next, &group, senders, share / f64::from(route.count))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the members grouped by their offered outputs.
    fn groups(&mut self, at: Place, members: &[Member]) -> Result<BTreeMap<Route, Vec<Member>>, MulticastLoadsError> {
        let mut groups: BTreeMap<Route, Vec<Member>> = BTreeMap::new();
        for &member in members {
            let Member { own, state, .. } = member;
            let mut hop = Hop { dst: own, state, in_port: at.in_port, vc_class: at.vc_class };
            let route = self.routing.route(at.router, &mut hop);
            if route.choice.is_weighed() || route.choice == Choice::Escape {
                return Err(MulticastLoadsError::Apart(self.routing.kind()));
            }
            groups.entry(route).or_default().push(Member { state: hop.state, ..member });
        }
        if groups.len() > 1 && groups.keys().any(|route| route.count > 1) {
            let lists = self.routing.port_lists();
            let mut ports: Vec<_> = groups.keys().flat_map(|route| route.ports(lists)).collect();
            let all = ports.len();
            ports.sort_unstable();
            ports.dedup();
            self.exact &= ports.len() == all;
        }
        Ok(groups)
    }

    /// Returns the mean number of copies to a group from all senders together.
    fn copies(&self, group: &[Member], senders: &[(NodeId, f64)]) -> f64 {
        senders.iter().map(|&(sender, weight)| weight * self.traffic.copies(sender, group)).sum()
    }

    /// Returns the end of a port, for a packet that may still go on.
    fn endpoint(&self, at: Place, port: PortId, dst: NodeId) -> Result<Endpoint, RoutingContractError> {
        let max_routers = self.routing.max_routers();
        match self.topology.endpoint(at.router, port) {
            Endpoint::Unconnected => Err(RoutingContractError::DeadEnd { dst, router: at.router, port }),
            Endpoint::Router(..) if at.routers >= max_routers => {
                Err(RoutingContractError::Wanders { dst, router: at.router, max_routers })
            }
            end => Ok(end),
        }
    }
}
