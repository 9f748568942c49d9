//! Exact channel loads of a mapping under the machine's default routing.
//!
//! On a torus or mesh this is dimension-order routing with both directions of an even ring shared evenly, the default
//! of the simulator; it is walked arc by arc. Elsewhere it is the topology's default routing, by the exact analysis of
//! `routing::channel_loads`; adaptive routing is shared evenly over its candidates.

use std::collections::BTreeMap;

use routing::{Demand, RoutingSpec};
use tasks::TaskGraph;
use topology::families::networks::Networks;
use topology::{ChannelSource, Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, PortId, RouterId};

use super::messages::each_message;
use crate::hops::several;
use crate::{GridHops, Hops, Machine, Mapping, MappingError};

/// Bytes over every channel in a step of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelUse {
    /// Bytes by channel, as `topology::Channels` numbers channels.
    pub bytes: Vec<f64>,
    /// Largest load of a channel between routers, in bytes.
    pub max: f64,
    /// Mean load over all channels between routers, in bytes.
    pub mean: f64,
}

impl ChannelUse {
    /// Returns the channels between routers with the largest loads: router, port, bytes; at most `most` channels, ties
    /// by number.
    pub fn hottest(&self, topology: &dyn Topology, most: usize) -> Vec<(RouterId, PortId, f64)> {
        let channels = Channels::new(topology);
        let mut order: Vec<u32> = (0..channels.ports()).filter(|&channel| self.bytes[channel as usize] > 0.0).collect();
        order.sort_by(|&a, &b| self.bytes[b as usize].total_cmp(&self.bytes[a as usize]).then(a.cmp(&b)));
        let place = |&channel: &u32| match channels.source(ChannelId(channel)) {
            ChannelSource::Router(router, port) if is_link(topology, router, port) => {
                Some((router, port, self.bytes[channel as usize]))
            }
            _ => None,
        };
        order.iter().filter_map(place).take(most).collect()
    }
}

/// Computes the bytes over every channel under a mapping.
///
/// # Errors
/// If the topology's default routing cannot be built or analysed.
pub fn channel_use(graph: &TaskGraph, machine: &Machine, mapping: &Mapping) -> Result<ChannelUse, MappingError> {
    let flows = flows(graph, machine, mapping);
    let bytes = match (several(&**machine.topology()), machine.hops()) {
        (Some(networks), _) => over_networks(machine, networks, &flows)?,
        (None, Hops::Grid(_)) => over_planes(&**machine.topology(), walk(machine, &flows)),
        (None, Hops::Table(_)) => over_planes(&**machine.topology(), analyse(machine, &flows)?),
    };
    Ok(summarize(&**machine.topology(), bytes))
}

/// Divides the load that the first plane would carry alone evenly over all planes.
fn over_planes(topology: &dyn Topology, alone: Vec<f64>) -> Vec<f64> {
    let planes = topology.planes() as usize;
    if planes == 1 {
        return alone;
    }
    let (outputs, injections) = alone.split_at(Channels::new(topology).ports() as usize);
    let share = |first: &[f64]| first.iter().map(|bytes| bytes / planes as f64).collect::<Vec<_>>().repeat(planes);
    [share(&outputs[..outputs.len() / planes]), share(&injections[..injections.len() / planes])].concat()
}

fn is_link(topology: &dyn Topology, router: RouterId, port: PortId) -> bool {
    matches!(topology.endpoint(router, port), Endpoint::Router(..))
}

fn summarize(topology: &dyn Topology, bytes: Vec<f64>) -> ChannelUse {
    let channels = Channels::new(topology);
    let (mut max, mut sum, mut count) = (0.0_f64, 0.0, 0_u64);
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId).filter(|&port| is_link(topology, router, port)) {
            let load = bytes[channels.output(router, port).index()];
            max = max.max(load);
            sum += load;
            count += 1;
        }
    }
    ChannelUse { bytes, max, mean: if count > 0 { sum / count as f64 } else { 0.0 } }
}

/// Returns the bytes between places, each pair once, by source.
fn flows(graph: &TaskGraph, machine: &Machine, mapping: &Mapping) -> Vec<Vec<(u32, f64)>> {
    let mut flows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); machine.places() as usize];
    for phase in &graph.phases {
        each_message(phase, &mut |from, to, bytes| {
            let (from, to) = (mapping.place_of[from as usize], mapping.place_of[to as usize]);
            if from != to {
                flows[from as usize].push((to, bytes as f64));
            }
        });
    }
    for row in &mut flows {
        row.sort_by_key(|&(to, _)| to);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
    flows
}

fn analyse(machine: &Machine, flows: &[Vec<(u32, f64)>]) -> Result<Vec<f64>, MappingError> {
    let topology = &**machine.topology();
    let unfit = |message: String| MappingError::unfit("machine", message);
    let spec = RoutingSpec::default_for(topology).for_paths();
    let routing = spec.build(topology).map_err(|error| unfit(error.to_string()))?;
    let place: BTreeMap<NodeId, usize> =
        machine.nodes().iter().enumerate().map(|(place, &node)| (node, place)).collect();
    let traffic = |node: NodeId| {
        let row = place.get(&node).map_or(&[][..], |&place| &flows[place]);
        row.iter().map(|&(to, bytes)| (machine.nodes()[to as usize], bytes)).collect()
    };
    let loads = routing::channel_loads(topology, &*routing, &traffic).map_err(|error| unfit(error.to_string()))?;
    Ok(loads.load)
}

/// Returns the load of every channel of several networks: of each, that of the legs of flows, evenly over its planes.
fn over_networks(machine: &Machine, networks: &Networks, flows: &[Vec<(u32, f64)>]) -> Result<Vec<f64>, MappingError> {
    let unfit = |message: String| MappingError::unfit("machine", message);
    let mut demands = vec![BTreeMap::<NodeId, BTreeMap<NodeId, f64>>::new(); networks.parts().len()];
    for (&from, row) in machine.nodes().iter().zip(flows) {
        for &(to, bytes) in row {
            let (mut at, to) = (from, machine.nodes()[to as usize]);
            for leg in networks.legs(from, to, 0).unwrap_or_default() {
                *demands[leg.network].entry(at).or_default().entry(leg.to).or_default() += bytes;
                at = leg.to;
            }
        }
    }
    let topology = &**machine.topology();
    let mut load = vec![0.0; Channels::new(topology).count() as usize];
    for (number, (part, demands)) in networks.parts().iter().zip(&demands).enumerate() {
        let routing = RoutingSpec::default_for(&*part.island).for_paths().build(&*part.island);
        let routing = routing.map_err(|error| unfit(error.to_string()))?;
        let row = |node: NodeId| {
            let sent = demands.get(&node).into_iter().flatten();
            Demand { everyone: 0.0, besides: sent.map(|(&to, &bytes)| (to, bytes / f64::from(part.planes))).collect() }
        };
        let own = routing::network_loads(topology, (number, &*routing), &row, &|_| true);
        let own = own.map_err(|error| unfit(error.to_string()))?;
        load.iter_mut().zip(own.load).for_each(|(sum, own)| *sum += own);
    }
    Ok(load)
}

/// Follows every flow along the dimensions in ascending order.
fn walk(machine: &Machine, flows: &[Vec<(u32, f64)>]) -> Vec<f64> {
    let topology = &**machine.topology();
    let channels = Channels::new(topology);
    let mut bytes = vec![0.0; channels.count() as usize];
    let Hops::Grid(grid) = machine.hops() else { return bytes };
    let walker = Walker { channels: &channels, grid };
    for (from, row) in (0_u32..).zip(flows) {
        let node = machine.nodes()[from as usize];
        for &(to, amount) in row {
            let target = machine.nodes()[to as usize];
            let (router, port) = topology.attachment(target);
            bytes[channels.injection(node).index()] += amount;
            bytes[channels.output(router, port).index()] += amount;
            walker.follow(from, to, amount, &mut |channel, amount| bytes[channel] += amount);
        }
    }
    bytes
}

/// Maximum number of dimensions of a grid.
const MAX_DIMS: usize = 24;

/// Walker of paths through a grid.
pub(crate) struct Walker<'a> {
    pub(crate) channels: &'a Channels,
    pub(crate) grid: &'a GridHops,
}

impl Walker<'_> {
    /// Calls `add` with every channel between routers that a flow between two places uses, and the amount on it.
    #[inline]
    pub(crate) fn follow(&self, from: u32, to: u32, amount: f64, add: &mut impl FnMut(usize, f64)) {
        let mut at = [0_u32; MAX_DIMS];
        for (at, &start) in at.iter_mut().zip(self.grid.of(from)) {
            *at = u32::from(start);
        }
        for (dim, &target) in self.grid.of(to).iter().enumerate() {
            let (size, here, target) = (self.grid.dims[dim], at[dim], u32::from(target));
            let up = (target + size - here) % size;
            let down = size - up;
            if up == 0 {
                continue;
            }
            if !self.grid.wraps[dim] {
                self.go(&at, (dim, target > here), here.abs_diff(target), amount, add);
            } else if up == down {
                self.go(&at, (dim, true), up, amount / 2.0, add);
                self.go(&at, (dim, false), down, amount / 2.0, add);
            } else {
                self.go(&at, (dim, up < down), up.min(down), amount, add);
            }
            at[dim] = target;
        }
    }

    /// Calls `add` with the channels of `steps` steps in one direction.
    #[inline]
    fn go(&self, from: &[u32], (dim, up): (usize, bool), steps: u32, amount: f64, add: &mut impl FnMut(usize, f64)) {
        let dims = &self.grid.dims;
        let stride: u32 = dims[..dim].iter().product();
        let size = dims[dim];
        let base: u32 = dims.iter().zip(from).rev().fold(0, |sum, (&size, &at)| sum * size + at);
        let corner = base - from[dim] * stride;
        let port = PortId(2 * dim as u16 + u16::from(!up));
        let mut at = from[dim];
        for _ in 0..steps {
            add(self.channels.output(RouterId(corner + at * stride), port).index(), amount);
            at = if up { (at + 1) % size } else { (at + size - 1) % size };
        }
    }
}
