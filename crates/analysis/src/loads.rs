//! Channel loads of a system's traffic, and the channels' bandwidths to compare them with.

use std::ops::Range;

use fabric::MulticastTurn;
use routing::islands::routing_of;
use routing::trees::TreeVolumes;
use routing::{ChannelLoads, Joins, MulticastTraffic, Routing, demand_loads, multicast_loads, network_loads};
use serde::Serialize;
use units::{ChannelId, KeyError, KeyResult, NodeId};

use ::network::traffic::Runs;
use ::system::{Copies, Job, Progress, SetLoads, System};

/// Accuracy of the share of one routing in a mixture.
const MIXTURE: f64 = 1e-9;

/// Returns the load of every channel of a system, per unit of offered load.
///
/// For a routing that chooses between two others for each packet, returns the loads of the mixture with the highest
/// throughput, in which all flows send one share of their packets by the first routing. A choice that differs from flow
/// to flow may carry more, so these loads are an estimate.
///
/// # Errors
/// If the routing breaks its contract.
pub fn loads(system: &System) -> Result<ChannelLoads, KeyError> {
    Ok(loads_of(system, &Progress::new())?.0)
}

/// Meaning of channel loads, in order from exact to estimated. Loads of several kinds together are of the last kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadsKind {
    /// Exact: the routing is oblivious, or all traffic goes along the trees of groups.
    Exact,
    /// Exact except for the acknowledgements of results that only one member of a group gets. Their number depends on
    /// the times at which results arrive.
    WithoutAcknowledgements,
    /// Upper bound: copies that arrive by several paths may be counted more than once.
    UpperBound,
    /// Estimate for an adaptive routing: the loads if packets spread evenly over the candidate outputs of each hop.
    EvenSpread,
}

/// Returns the load of every channel ([`loads`]) and the meaning of the loads.
pub(crate) fn loads_of(system: &System, progress: &Progress) -> Result<(ChannelLoads, LoadsKind), KeyError> {
    let mut all = loads_of_unicasts(system, progress)?;
    // Traffic along trees is not routed.
    let routed = match system.network.routing.adaptive() {
        true => LoadsKind::EvenSpread,
        false => LoadsKind::Exact,
    };
    let mut kind = if all.load.iter().any(|&load| load != 0.0) { routed } else { LoadsKind::Exact };
    for (job, share) in system.shares() {
        let demand = job.workload.demand();
        kind = kind.max(add_trees(system, (job, share), &mut all));
        if let Copies::Volumes(own) = demand.copies {
            kind = kind.max(routed).max(add_sets((system, job.part), (own, share), &mut all)?);
        }
        let Copies::Drawn(multicasts) = demand.copies else { continue };
        let sets = &multicasts.sets;
        let candidates: Vec<NodeId> = sets.nodes().collect();
        let nodes = (0..system.network.topology.nodes()).map(NodeId);
        let senders: Vec<(NodeId, f64)> = nodes.map(|node| (node, share * demand.weight(node))).collect();
        let (include_self, hit) = (sets.includes_self(), sets.hit());
        let runs = |runs| move |from: NodeId, one: NodeId, next: NodeId| Runs::joins(runs, from, [one, next]);
        let runs = multicasts.runs.as_ref().map(runs);
        let joins = runs.as_ref().map(|joins| Joins(joins));
        let traffic = MulticastTraffic { senders: &senders, candidates: &candidates, include_self, hit: &hit, joins };
        kind = kind.max(routed).max(add_multicasts((system, job.part), &traffic, &mut all)?);
    }
    Ok((all, kind))
}

/// Adds the load of multicasts that routers split, of a job on network `part`. Returns the meaning of the added load.
fn add_multicasts(
    (system, part): (&System, usize),
    traffic: &MulticastTraffic<'_>,
    all: &mut ChannelLoads,
) -> Result<LoadsKind, KeyError> {
    let routing = &**routing_of(&system.network.routing, part);
    let found = multicast_loads(&*system.network.topology, (part, routing), traffic).at_key("routing")?;
    all.load.iter_mut().zip(&found.loads.load).for_each(|(all, own)| *all += own);
    Ok(if found.exact { LoadsKind::Exact } else { LoadsKind::UpperBound })
}

/// Adds the load of a job's multicasts that are given beforehand and that routers split. Returns the meaning of the
/// added load.
fn add_sets(
    of: (&System, usize),
    (own, share): (&SetLoads, f64),
    all: &mut ChannelLoads,
) -> Result<LoadsKind, KeyError> {
    let mut kind = LoadsKind::Exact;
    for (sender, set, part) in &own.multicasts {
        let mut candidates = set.to_vec();
        candidates.sort_unstable();
        // A packet is for all members: a channel with members behind it carries one copy, any other none.
        let hit: Vec<f64> = (0..=candidates.len()).map(|behind| f64::from(u8::from(behind > 0))).collect();
        let senders = [(*sender, share * part)];
        let traffic = MulticastTraffic {
            senders: &senders,
            candidates: &candidates,
            include_self: false,
            hit: &hit,
            joins: None,
        };
        kind = kind.max(add_multicasts(of, &traffic, all)?);
    }
    Ok(kind)
}

/// Adds the load of a job's traffic along the trees of its groups. Returns the meaning of the added load.
fn add_trees(system: &System, (job, share): (&Job, f64), all: &mut ChannelLoads) -> LoadsKind {
    let Some(groups) = system.network.plan.groups() else { return LoadsKind::Exact };
    let around = (&*system.network.topology, system.network.plan.channels());
    let turns_at_top = groups.turn == MulticastTurn::TopSwitch;
    let mut add = |own: Range<u32>, volumes: &TreeVolumes| {
        // Packets are striped over the trees in turn. The model gives each tree an equal share of bytes, although all
        // partial packets may fall on one tree. A load counts in links of the job's network, all planes together.
        let Some(plane) = own.clone().next().map(|tree| groups.trees.plane(tree)) else { return };
        let factor = share * (system.rate_of(job) / system.plane_rate(plane)) / f64::from(own.end - own.start);
        for tree in own {
            groups.trees.add_volumes(around, (tree, turns_at_top), (volumes, factor), &mut all.load);
        }
    };
    let demand = job.workload.demand();
    if let Some(operations) = demand.operations() {
        for (group, volumes) in (job.first_group..).zip(&operations.groups) {
            let members = groups.trees.members_of(group);
            let is_directed = groups.trees.trees_of(group).any(|tree| groups.trees.sender(tree).is_some());
            match is_directed {
                true => members.iter().for_each(|&sender| add(groups.trees.trees_for(group, sender), volumes)),
                false => add(groups.trees.trees_of(group), volumes),
            }
        }
        return if operations.exact { LoadsKind::Exact } else { LoadsKind::WithoutAcknowledgements };
    }
    let Copies::Sets { sets, by_routers: true } = demand.copies else { return LoadsKind::Exact };
    for sender in (0..system.network.topology.nodes()).map(NodeId) {
        let Some((group, _)) = sets.of(sender) else { continue };
        let members = groups.trees.members_of(job.first_group + group);
        let Ok(member) = members.binary_search(&sender) else { continue };
        let mut volumes = TreeVolumes::none(members.len());
        volumes.copied[member] = demand.weight(sender);
        add(groups.trees.trees_for(job.first_group + group, sender), &volumes);
    }
    LoadsKind::Exact
}

/// Returns the load of all packets with a single destination.
fn loads_of_unicasts(system: &System, progress: &Progress) -> Result<ChannelLoads, KeyError> {
    if system.network.ways.is_some() {
        return loads_by_network(system, progress);
    }
    let demands = |node| system.demand(node);
    let of = |routing: &dyn Routing| {
        let found = demand_loads(&*system.network.topology, routing, &demands, &|part| progress.analyzed(part));
        found.at_key("routing")
    };
    match &system.network.routing.options()[..] {
        [one] => of(&**one),
        [one, other] => Ok(best_mixture(system, &of(&**one)?, &of(&**other)?)),
        _ => of(&*system.network.routing),
    }
}

/// Returns the load of all packets with a single destination in several networks.
fn loads_by_network(system: &System, progress: &Progress) -> Result<ChannelLoads, KeyError> {
    let topology = &*system.network.topology;
    let demands = system.demands_by_network();
    let count = demands.len() as f64;
    let mut all = ChannelLoads { load: vec![0.0; system.network.plan.channels().count() as usize] };
    for (network, own) in demands.into_iter().enumerate() {
        let of_node = |node: NodeId| routing::Demand { everyone: 0.0, besides: own[node.index()].clone() };
        let report = |part: f64| progress.analyzed((network as f64 + part) / count);
        let of =
            |routing: &dyn Routing| network_loads(topology, (network, routing), &of_node, &report).at_key("routing");
        let routing = routing_of(&system.network.routing, network);
        let found = match &routing.options()[..] {
            [one] => of(&**one)?,
            [one, other] => best_mixture(system, &of(&**one)?, &of(&**other)?),
            _ => of(&**routing)?,
        };
        all.load.iter_mut().zip(found.load).for_each(|(all, own)| *all += own);
    }
    Ok(all)
}

/// Returns the mixture of two loads whose most used channel is used least.
fn best_mixture(system: &System, one: &ChannelLoads, other: &ChannelLoads) -> ChannelLoads {
    let channels = (0..one.load.len() as u32).map(|channel| system.capacity(ChannelId(channel)));
    let capacities: Vec<f64> = channels.collect();
    let mixed = |part: f64, (one, other): (&f64, &f64)| part * one + (1.0 - part) * other;
    let most = |part: f64| {
        let pairs = one.load.iter().zip(&other.load).zip(&capacities);
        pairs.map(|(loads, capacity)| mixed(part, loads) / capacity).fold(0.0, f64::max)
    };
    // A maximum of linear functions is convex, so a third that does not contain the minimum can be dropped.
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > MIXTURE {
        let third = (high - low) / 3.0;
        if most(low + third) <= most(high - third) { high -= third } else { low += third }
    }
    let part = f64::midpoint(low, high);
    let best = [0.0, 1.0].into_iter().fold(part, |best, end| if most(end) <= most(best) { end } else { best });
    ChannelLoads { load: one.load.iter().zip(&other.load).map(|loads| mixed(best, loads)).collect() }
}
