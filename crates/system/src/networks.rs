//! Several networks of a point as one: their joint topology, and the sections of an experiment that has one network.
//!
//! A class of channels or of routers of network N is named `N.CLASS` in the joint network. The links and routers of the
//! networks become exceptions for these classes, so that everything behind this module knows one network. Errors are
//! moved back to the keys of `[[network]]`.

use std::path::Path;
use std::sync::Arc;

use fabric::catalogue::{Depths, RouterSpec};
use mpi::program::{FanOut, Programs};
use topology::families::networks::{Networks, Part};
use topology::{NetworkSpec, Places, PlacesRule, RelayRule, RouterClasses, Topology, TopologySpec, WayRule};
use traffic::Placement;
use units::{Bytes, KeyError, NodeId, TaskId, Time};

use crate::build_cache::BuildCache;
use crate::job::JobBuilder;
use ::experiment::{ExperimentSpec, JoinedNetworkSpec, LinkClassSpec, LinkSpec, RelaySide};
use ::network::{Network, TransferRule};
use host::{LoggpNicSpec, RelayParams, StripeOver};

/// Returns the specification of the islands of a network in one plane.
pub(crate) fn island(own: &JoinedNetworkSpec) -> NetworkSpec {
    NetworkSpec { planes: 1, ..own.topology.clone() }
}

/// Returns the joint topology of several networks.
///
/// # Errors
/// If a topology cannot be built, or if endpoints do not fit it. The error names the key at fault.
pub(crate) fn topology(spec: &ExperimentSpec, base: &Path, parts: &BuildCache) -> Result<Arc<dyn Topology>, KeyError> {
    let mut islands = Vec::new();
    for own in &spec.networks {
        let at = |error: KeyError| error.under(&format!("network.{}", own.name));
        if matches!(own.topology.topology, TopologySpec::Flat(_)) {
            let message = "several networks consist of routers, and a flat network has none";
            return Err(at(KeyError::new("topology", message)));
        }
        islands.push(parts.island(&island(own), base).map_err(|error| at(error.under("topology")))?);
    }
    let per_node = spec.node.endpoints.unwrap_or(1);
    let members = |own: &JoinedNetworkSpec| own.endpoints.as_ref().map_or(per_node, |own| own.len() as u32);
    let fitting = spec.networks.iter().zip(&islands).map(|(own, island)| island.nodes() / members(own));
    let nodes = spec.node.count.or(fitting.max()).unwrap_or(1).max(1);
    let mut joined = Vec::new();
    for (own, island) in spec.networks.iter().zip(islands) {
        let at = |error: KeyError| error.under(&format!("network.{}", own.name));
        let members = own.endpoints.clone();
        let (order, rail_nodes, island_nodes) = (own.order.into(), own.rail_nodes, island.nodes());
        let rule = PlacesRule { nodes, per_node, members, order, rail_nodes, island: island_nodes };
        let places = Places::by_rule(&rule).map_err(at)?;
        if places.islands() > 1 && !places.ports().is_multiple_of(island.nodes()) {
            let message = format!(
                "{} endpoints do not fill islands of {} nodes: choose a topology whose number of nodes divides theirs, or \
                 `node.count`",
                places.ports(),
                island.nodes()
            );
            return Err(at(KeyError::new("topology", message)));
        }
        let is_undivided = spec.relay.as_ref().is_some_and(|relay| relay.network == own.name);
        let (name, planes, hop_cost) = (own.name.clone(), own.topology.planes, own.hop_cost);
        joined.push(Part { name, island, planes, places, is_undivided, hop_cost });
    }
    let networks = Networks::new(joined).map_err(|error| error.under("network"))?;
    Ok(Arc::new(networks.with_rule(way_rule(spec))))
}

/// Returns the links of a network.
fn link_of<'a>(spec: &'a ExperimentSpec, own: &'a JoinedNetworkSpec) -> Result<&'a LinkSpec, KeyError> {
    let link = own.link.as_ref().unwrap_or(&spec.link);
    let missing = |key: &str| {
        let message = format!("`{key}` of network `{}` is missing, and there is no [link]", own.name);
        Err(KeyError::new(format!("network.{}.link", own.name), message))
    };
    match (link.bandwidth.0, link.delay) {
        (0, _) => missing("link"),
        (_, None) if spec.layout.is_some() => Ok(link),
        (_, None) if link.classes.values().any(|class| class.delay.is_none()) || link.classes.is_empty() => {
            missing("link.delay")
        }
        _ => Ok(link),
    }
}

/// Returns the routers of a network.
fn router_of<'a>(spec: &'a ExperimentSpec, own: &'a JoinedNetworkSpec) -> &'a RouterSpec {
    own.router.as_ref().unwrap_or(&spec.router)
}

/// Returns a point with links and routers of the joint network.
///
/// # Errors
/// If a network has no links, or if routers differ in more than what classes of routers may.
pub(crate) fn lowered(spec: &ExperimentSpec, networks: &Networks) -> Result<ExperimentSpec, KeyError> {
    let mut made = spec.clone();
    made.link = LinkSpec::default();
    for (own, part) in spec.networks.iter().zip(networks.parts()) {
        let link = link_of(spec, own)?;
        let names = part.island.class_names();
        if let Some(class) = link.classes.keys().find(|class| !names.contains(&class.as_str())) {
            let message = format!("the topology has no class of channels `{class}`: it has {}", names.join(", "));
            return Err(KeyError::new(format!("network.{}.link.{class}", own.name), message));
        }
        for name in names {
            let delay = link.classes.get(name).and_then(|class| class.delay).or(link.delay);
            let class = LinkClassSpec { bandwidth: Some(link.of_class(name).0), delay };
            made.link.classes.insert(format!("{}.{name}", own.name), class);
        }
        made.link.bandwidth = made.link.bandwidth.max(link.of_class("injection").0);
        made.link.delay = made.link.delay.max(Some(link.of_class("injection").1));
    }
    if made.link.classes.values().any(|class| class.delay.is_none()) {
        made.link.delay = None;
    }
    let common = |own: &JoinedNetworkSpec| router_of(spec, own).without_class_keys();
    if let Some(first) = spec.networks.first() {
        made.router = common(first);
        if let Some(other) = spec.networks.iter().find(|own| common(own) != made.router) {
            let message = format!(
                "networks differ in the keys of classes of routers only, {}, and `{}` and `{}` differ in others",
                made.router.class_keys().join(", "),
                first.name,
                other.name
            );
            return Err(KeyError::new(format!("network.{}.router", other.name), message));
        }
    }
    write_routers(spec, &mut made, networks, None)?;
    Ok(made)
}

/// Writes the routers of all networks as exceptions by class. With the size of packets, delays and depths that are left
/// out follow from the network of the routers.
pub(crate) fn write_routers(
    spec: &ExperimentSpec,
    made: &mut ExperimentSpec,
    networks: &Networks,
    packet: Option<Bytes>,
) -> Result<(), KeyError> {
    for (own, part) in spec.networks.iter().zip(networks.parts()) {
        let mut router = router_of(spec, own).clone();
        let known = RouterClasses::of(&*part.island);
        if let Some(class) = router.common().classes.keys().find(|class| !known.names().contains(class)) {
            let message = format!("the topology has no class of routers `{class}`");
            return Err(KeyError::new(format!("network.{}.router.{class}", own.name), message));
        }
        if let Some(packet) = packet {
            let joint = |class: &str| made.link.parameters(&format!("{}.{class}", own.name));
            let links: Vec<_> = part.island.class_names().into_iter().map(joint).collect();
            router.complete(&links, packet, &*part.island);
        }
        let all = [String::new()];
        let names = if known.names().is_empty() { &all[..] } else { known.names() };
        for name in names {
            let mut class = router.of_class(name).as_class();
            if let Some(Depths::ByClass(depths)) = &mut class.buffer {
                let of_joined = std::mem::take(depths).into_iter();
                *depths = of_joined.map(|(class, depth)| (format!("{}.{class}", own.name), depth)).collect();
            }
            let name = if name.is_empty() { own.name.clone() } else { format!("{}.{name}", own.name) };
            made.router.size_keys().classes.insert(name, class);
        }
    }
    Ok(())
}

/// Writes the delays of channels that follow from lengths of cables into the networks of a point. Returns the paths of
/// their keys.
///
/// # Errors
/// If a network has no links.
pub fn complete_delays(spec: &mut ExperimentSpec, topology: &dyn Topology) -> Result<Vec<String>, KeyError> {
    let Some(networks) = topology.views().networks else { return Ok(Vec::new()) };
    let lowered = lowered(spec, networks)?;
    let own = crate::cables::with_delays(&lowered, (topology, &*crate::model::of(spec)))?;
    let common = spec.link.clone();
    for network in &mut spec.networks {
        let mut of_network =
            own.of_lengths.iter().filter_map(|class| class.strip_prefix(&format!("{}.", network.name)));
        let Some(first) = of_network.next() else { continue };
        let link = network.link.get_or_insert_with(|| common.clone());
        for class in std::iter::once(first).chain(of_network) {
            let delay = own.spec.link.classes.get(&format!("{}.{class}", network.name)).and_then(|own| own.delay);
            link.classes.entry(class.to_owned()).or_default().delay = delay;
        }
    }
    let path = |class: &String| class.split_once('.').map(|(name, class)| format!("network.{name}.link.{class}.delay"));
    Ok(own.of_lengths.iter().filter_map(path).collect())
}

/// Reason why a job whose messages do not choose networks is refused.
pub(crate) const NOT_JOINED: &str = "no network joins all endpoints of this traffic, which takes one network: place it \
                                     on endpoints of one island, or let ranks send (kind = \"program\")";

/// Returns the number of the network that a job uses if its messages do not choose networks: the first that joins all
/// of its endpoints. Ranks choose a network for each message, and this is one of them.
///
/// # Errors
/// If no network joins the endpoints of a job whose messages do not choose networks, or if no network or relay joins
/// two ranks.
pub(crate) fn of_job(spec: &ExperimentSpec, network: &Network, job: &JobBuilder) -> Result<usize, KeyError> {
    let Some(networks) = network.topology.views().networks.filter(|_| !spec.networks.is_empty()) else { return Ok(0) };
    let placement = job.workload.placement();
    let Some(first) = placement.used().next() else { return Ok(0) };
    let joins = |part: &Part| placement.used().all(|node| node == first || part.places.joins(first, node));
    let found = networks.parts().iter().position(joins);
    if let Some(found) = found {
        return Ok(found);
    }
    let key = if job.name.is_empty() { "network".to_owned() } else { format!("job.{}.placement", job.name) };
    if job.workload.programs().is_none() {
        return Err(KeyError::new(key, NOT_JOINED));
    }
    match job.workload.programs().and_then(|programs| unjoined(&**programs, placement, network)) {
        None => Ok(0),
        Some((from, to)) => {
            let message = format!(
                "no network joins endpoints {from} and {to}, and no relay; name a network by which they are relayed in \
                 [relay]"
            );
            Err(KeyError::new(key, message))
        }
    }
}

/// Largest number of pairs of ranks whose ways are tried.
const TRIED: usize = 1 << 22;

/// Returns two nodes of ranks that exchange messages and that no way joins, if there are any. Of many ranks some are
/// tried, and of a program that is called back all pairs.
fn unjoined(programs: &dyn Programs, placement: &Placement, network: &Network) -> Option<(NodeId, NodeId)> {
    let ways = network.ways.as_deref()?;
    let ranks = programs.ranks();
    let step = (ranks as usize * ranks as usize / TRIED).max(1);
    (0..ranks).step_by(step).find_map(|rank| {
        let (from, mut lost) = (placement.node(TaskId(rank)), None);
        let mut try_all = |to: std::ops::Range<u32>| {
            let nodes = to.map(|rank| placement.node(TaskId(rank)));
            let is_lost = |to: &NodeId| *to != from && ways.networks().next(from, *to, 0).is_none();
            lost = lost.or_else(|| nodes.into_iter().find(is_lost));
        };
        match programs.is_called_back() {
            true => try_all(0..ranks),
            false => programs.fan_outs_of(rank, &mut |FanOut { to, .. }| try_all(to)),
        }
        lost.map(|to| (from, to))
    })
}

/// Returns the rule by which messages take networks.
fn way_rule(spec: &ExperimentSpec) -> WayRule {
    let number = |name: &str| spec.networks.iter().position(|own| own.name == name);
    let relay = spec.relay.as_ref();
    let relay = relay.and_then(|relay| {
        Some(RelayRule { network: number(&relay.network)?, at_source: relay.at == RelaySide::Source })
    });
    WayRule { sizes: spec.networks.iter().map(|own| (own.above, own.up_to)).collect(), relay }
}

/// Returns the delays of packets by interfaces into some networks, which a tick should divide. `sizes` are the sizes of
/// packets.
pub(crate) fn interface_times(spec: &ExperimentSpec, sizes: &[u64]) -> Vec<Time> {
    let spared = u64::from(spec.nic.parts().is_none_or(LoggpNicSpec::is_first_byte_free));
    let times = |(key, time): (&str, Time)| -> Vec<Time> {
        match key.ends_with("_per_byte") {
            // Packets that are not the first of their messages are charged whole.
            true => sizes
                .iter()
                .flat_map(|&size| [size, size.saturating_sub(spared)])
                .map(|size| Time(time.0.saturating_mul(size)))
                .collect(),
            false => vec![time],
        }
    };
    let nics = spec.networks.iter().filter_map(|own| own.nic.as_ref());
    nics.flat_map(|nic| nic.times()).filter(|(_, time)| time.0 > 0).flat_map(times).collect()
}

/// Returns the rule by which messages are striped over networks, and passed on by relays and interfaces.
pub(crate) fn transfer_rule(spec: &ExperimentSpec) -> TransferRule {
    let relays = spec.relay.as_ref().map_or_else(RelayParams::default, |relay| {
        let [chunk, buffer] = [relay.chunk, relay.buffer].map(|size| size.map(|bytes| bytes.0));
        RelayParams { chunk, buffer }
    });
    let host = spec.nic.host();
    let planes: u32 = spec.networks.iter().map(|own| own.topology.planes).sum();
    let is_striped = host.rails.as_ref().is_some_and(|rails| rails.stripe_over == StripeOver::AllNetworks);
    let first_byte_free = spec.nic.parts().is_none_or(LoggpNicSpec::is_first_byte_free);
    let parts = spec.networks.iter().map(|own| own.nic.as_ref().map(|nic| nic.params(first_byte_free))).collect();
    TransferRule { striped_above: host.rails(planes).stripe_above.filter(|_| is_striped), relays, parts }
}

/// Moves an error at a key of the joint network to the key of `[[network]]`.
pub(crate) fn at_network(spec: &ExperimentSpec, error: KeyError) -> KeyError {
    let moved = |section: &str| {
        let rest = error.key.strip_prefix(section)?.strip_prefix('.')?;
        let of = |own: &&JoinedNetworkSpec| rest.strip_prefix(&*own.name).filter(|rest| rest.starts_with('.'));
        let own = spec.networks.iter().find(|own| of(own).is_some())?;
        Some(format!("network.{}.{section}{}", own.name, of(&own)?))
    };
    match ["link", "router"].into_iter().find_map(moved) {
        Some(key) => KeyError::new(key, error.message),
        None => error,
    }
}
