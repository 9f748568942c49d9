//! Division of a network into partitions: the partition of each router, the worker of each partition, and the numbering
//! within a partition.
//!
//! A thread advances the partitions of its *worker* in sequence, a window of lookahead each. One partition would do.
//! Several are small enough for a near cache, and if a window holds many instants, all but the first find their state
//! there. Partitions are cut where channels are slow: the slower the channels between them, the longer the window.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use engine::Wheel;
use topology::{ChannelSource, Endpoint, Topology};
use units::{NodeId, PlaneId, PortId, RouterId};

use crate::event_kind;
use crate::footprint::{NetworkSize, bytes_of};
use crate::plan::Plan;
use crate::port::NO_PARTITION;

/// Division of a network. Each router, with its nodes, belongs to one partition. If there are several planes or
/// networks, all attachments of a node are in one partition (`Topology::bundles`).
#[derive(Debug)]
pub struct PartitionMap {
    /// Routers of each partition, in ascending order of locality.
    routers: Vec<Vec<u32>>,
    /// Nodes of each partition, in the order of their routers.
    nodes: Vec<Vec<u32>>,
    /// For each router: its partition, and the number of its first port there.
    home: Vec<(u16, u32)>,
    /// For each node: its partition, and its number there.
    node_home: Vec<(u16, u32)>,
    /// Injection channels of a node.
    planes: u32,
    /// Number of ports of each partition.
    ports: Vec<u32>,
    /// Worker of each partition, in ascending order.
    worker: Vec<u64>,
    /// Smallest delay of a channel between two partitions, in ticks. `u64::MAX`: there is no such channel.
    window: u64,
}

/// One end of a channel: its partition and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub partition: u16,
    pub index: u32,
}

/// Number of partitions of a worker. It does not affect results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grain {
    /// As many partitions as let each fit into a near cache, if that pays.
    #[default]
    Fine,
    /// One partition.
    Coarse,
    /// This number of partitions, limited by the number of routers.
    Exactly(u64),
}
units::record!(match Grain {
    0 => Fine {},
    1 => Coarse {},
    2 => Exactly { 0: parts },
});

/// Bytes of a partition that fits into a near cache, including the packets that its links and pipelines hold when half
/// busy. The near caches of today's cores have 1 to 2 MiB, which also hold the mail between partitions.
const CACHED: u64 = 3 << 18;

/// Bytes of a port.
const BYTES_A_PORT: u64 = 200;

/// Bytes of a virtual channel of a port, in routers with FIFOs. Other architectures need more, of which a window
/// touches little.
const BYTES_A_QUEUE: u64 = 32;

/// Largest number of ports of a cluster that is kept together. Tearing it apart would shorten windows to the delay of
/// its channels.
const CLUSTER_PORTS: u64 = 2048;

/// Smallest number of fine partitions of a worker. Fewer stay undivided, because the next cache holds them all.
const FEWEST: u64 = 3;

/// Shortest window of fine partitions, in times of a packet. Below it, switching between partitions costs more than it
/// gains.
const SHORTEST_WINDOW: u64 = 2;

/// Largest number of partitions.
const MOST: u64 = 1 << 10;

impl PartitionMap {
    /// Returns the bytes of the map of a network divided for one worker, and of the event wheels of its partitions.
    pub(crate) fn bytes(size: &NetworkSize) -> u64 {
        let parts = fine_parts(size, 1).unwrap_or(1);
        bytes_of::<((u16, u32), u32)>(size.routers + size.nodes) + parts * Wheel::<{ event_kind::COUNT }>::MAX_BYTES
    }

    /// Divides a network among `workers` workers, at most one a router, with nearly equal numbers of ports. Keeps
    /// routers together that fast channels join or that are near one another in the topology.
    pub fn new(plan: &Plan, workers: usize, grain: Grain) -> Self {
        let topology = plan.topology();
        let workers = (workers as u64).clamp(1, u64::from(topology.routers()).clamp(1, MOST));
        let most = MOST / workers;
        match grain {
            Grain::Coarse => Self::divide(plan, workers, 1),
            Grain::Exactly(parts) => Self::divide(plan, workers, parts.clamp(1, most)),
            Grain::Fine => {
                let coarse = Self::divide(plan, workers, 1);
                let size = NetworkSize::of_plan(plan);
                let parts = fine_parts(&size, workers);
                // The cache is no reason for workers to synchronize more often.
                let together = if workers > 1 { coarse.window } else { 0 };
                let least = together.max(shortest_window(&size));
                let fine = parts.map(|parts| Self::divide(plan, workers, parts));
                fine.filter(|fine| fine.window >= least).unwrap_or(coarse)
            }
        }
    }

    /// Creates the map of no partition.
    fn empty(topology: &dyn Topology) -> Self {
        Self {
            routers: Vec::new(),
            nodes: Vec::new(),
            home: vec![(NO_PARTITION, 0); topology.routers() as usize],
            node_home: vec![(NO_PARTITION, 0); topology.nodes() as usize],
            planes: topology.planes(),
            ports: Vec::new(),
            worker: Vec::new(),
            window: u64::MAX,
        }
    }

    /// Creates the map of one partition that holds no router yet ([`Self::hold`]).
    pub fn of_none(plan: &Plan) -> Self {
        let mut map = Self::empty(plan.topology());
        map.begin(0);
        map
    }

    /// Lets the only partition hold some routers and their nodes, and no others. Packets may not leave it.
    pub fn hold(&mut self, plan: &Plan, routers: &[RouterId]) {
        self.routers[0].drain(..).for_each(|router| self.home[router as usize] = (NO_PARTITION, 0));
        self.nodes[0].drain(..).for_each(|node| self.node_home[node as usize] = (NO_PARTITION, 0));
        self.ports[0] = 0;
        self.adopt(plan, routers);
    }

    /// Returns the sizes of a partition of a network of the given sizes.
    pub fn size(&self, part: usize, whole: &NetworkSize) -> NetworkSize {
        let (routers, nodes) = (self.routers[part].len() as u64, self.nodes[part].len() as u64);
        let (nodes, ports) = (nodes * u64::from(self.planes), self.ports[part].into());
        NetworkSize { routers, nodes, ports, under_way: 0, ..*whole }
    }

    fn divide(plan: &Plan, workers: u64, blocks: u64) -> Self {
        let topology = plan.topology();
        let (parts, total) = (workers * blocks, u64::from(plan.channels().ports()));
        let mut map = Self::empty(topology);
        let most = if parts == 1 { u64::MAX } else { (total / workers / 2).min(CLUSTER_PORTS) };
        let (mut before, mut last) = (0, None);
        let bundles = Bundles::new(topology);
        for cluster in bundles.clusters(plan, most) {
            let part = (before * parts / total.max(1)).min(parts - 1);
            if last != Some(part) {
                last = Some(part);
                map.begin(part / blocks);
            }
            for bundle in cluster {
                let bundle = &bundles.routers[bundle];
                map.adopt(plan, bundle);
                before += ports_of(topology, bundle);
            }
        }
        if map.routers.is_empty() {
            map.begin(0);
        }
        map.window = map.least_delay(plan);
        map
    }

    /// Begins a new partition of a worker.
    fn begin(&mut self, worker: u64) {
        self.worker.push(worker);
        self.routers.push(Vec::new());
        self.nodes.push(Vec::new());
        self.ports.push(0);
    }

    /// Adds a bundle of routers and their nodes to the last partition.
    fn adopt(&mut self, plan: &Plan, bundle: &[RouterId]) {
        let topology = plan.topology();
        let part = self.routers.len() - 1;
        for &router in bundle {
            self.routers[part].push(router.0);
            self.home[router.index()] = (part as u16, self.ports[part]);
            self.ports[part] += u32::from(plan.ports(router));
            for port in (0..topology.ports(router)).map(PortId) {
                let Endpoint::Node(node) = topology.endpoint(router, port) else { continue };
                let home = &mut self.node_home[node.index()];
                if home.0 == NO_PARTITION {
                    *home = (part as u16, self.nodes[part].len() as u32);
                    self.nodes[part].push(node.0);
                }
            }
        }
    }

    /// Returns the smallest delay of a channel between two partitions, in ticks.
    fn least_delay(&self, plan: &Plan) -> u64 {
        let part = |router: RouterId| self.home[router.index()].0;
        let crossing = links(plan).filter(|link| part(link.from) != part(link.to));
        crossing.map(|link| link.delay).min().unwrap_or(u64::MAX)
    }

    /// Returns the number of partitions.
    pub fn parts(&self) -> usize {
        self.routers.len()
    }

    /// Iterates over the partitions of each worker that has any.
    pub fn workers(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let ends = (1..=self.parts()).filter(|&end| self.worker.get(end) != Some(&self.worker[end - 1]));
        ends.scan(0, |first, end| Some(std::mem::replace(first, end)..end))
    }

    /// Returns the worker of a partition.
    pub fn worker(&self, part: usize) -> usize {
        self.worker[part] as usize
    }

    /// Returns the pairs of partitions that a channel joins, in both directions.
    pub fn neighbors(&self, plan: &Plan) -> BTreeSet<(usize, usize)> {
        let part = |router: RouterId| usize::from(self.home[router.index()].0);
        let pairs = links(plan).map(|link| (part(link.from), part(link.to))).filter(|(from, to)| from != to);
        pairs.flat_map(|(from, to)| [(from, to), (to, from)]).collect()
    }

    /// Returns the window of lookahead, in ticks: nothing that a partition sends reaches another one sooner.
    /// `u64::MAX`: partitions do not communicate.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the routers of a partition.
    pub fn routers(&self, part: usize) -> &[u32] {
        &self.routers[part]
    }

    /// Returns the nodes of a partition.
    pub fn nodes(&self, part: usize) -> &[u32] {
        &self.nodes[part]
    }

    /// Iterates over the sources of a partition in the order of their numbers: its nodes, each once for every plane.
    pub fn sources(&self, part: usize) -> impl Iterator<Item = (NodeId, PlaneId)> + '_ {
        let planes = self.planes as u8;
        self.nodes[part].iter().flat_map(move |&node| (0..planes).map(move |plane| (NodeId(node), PlaneId(plane))))
    }

    /// Returns the number of a channel's output in its partition ([`Fabric::channel_facts`](crate::Fabric::channel_facts)).
    pub fn output(&self, channel: ChannelSource) -> usize {
        let place = match channel {
            ChannelSource::Router(router, port) => self.port(router, port),
            ChannelSource::Node(node, plane) => self.injection(node, plane),
        };
        place.index as usize
    }

    /// Returns the number of a source in its partition: the position in [`Self::sources`].
    pub fn source(&self, node: NodeId, plane: PlaneId) -> usize {
        (self.node_home[node.index()].1 * self.planes) as usize + usize::from(plane.0)
    }

    /// Returns the number of a port, which its input and its output channel share.
    pub(crate) fn port(&self, router: RouterId, port: PortId) -> Place {
        let (partition, first) = self.home[router.index()];
        Place { partition, index: first + u32::from(port.0) }
    }

    /// Returns the output of the first combine unit of a partition, into its router. Units come after all injection
    /// channels.
    pub(crate) fn first_unit(&self, part: usize) -> u32 {
        self.ports[part] + self.nodes[part].len() as u32 * self.planes
    }

    /// Returns a node's injection channel into a plane. Injection channels come after all ports of their partition.
    pub(crate) fn injection(&self, node: NodeId, plane: PlaneId) -> Place {
        let partition = self.node_home[node.index()].0;
        let ports = self.ports.get(usize::from(partition)).copied().unwrap_or(0);
        Place { partition, index: ports + self.source(node, plane) as u32 }
    }
}

/// Channel from router to router, with its delay in ticks.
struct Link {
    from: RouterId,
    to: RouterId,
    delay: u64,
}

fn links(plan: &Plan) -> impl Iterator<Item = Link> + '_ {
    (0..plan.topology().routers()).flat_map(move |router| links_of(plan, RouterId(router)))
}

fn links_of(plan: &Plan, from: RouterId) -> impl Iterator<Item = Link> + '_ {
    let topology = plan.topology();
    (0..topology.ports(from)).map(PortId).filter_map(move |port| match topology.endpoint(from, port) {
        Endpoint::Router(to, _) => Some(Link { from, to, delay: plan.link_delay(topology.class(from, port)) }),
        _ => None,
    })
}

/// Returns the number of partitions of each of `workers` workers that fit into a near cache. `None`: dividing does not
/// pay.
fn fine_parts(size: &NetworkSize, workers: u64) -> Option<u64> {
    let ports = size.ports * BYTES_A_PORT + size.inputs() * BYTES_A_QUEUE;
    let bytes = ports.saturating_add(NetworkSize::packet_bytes(size.under_way / 2));
    let parts = bytes.div_ceil(CACHED * workers).min(size.routers.div_ceil(workers));
    (parts >= FEWEST && size.longest_delay >= shortest_window(size)).then(|| parts.min(MOST / workers))
}

/// Returns the shortest window, in ticks, for which fine partitions pay.
fn shortest_window(size: &NetworkSize) -> u64 {
    size.shortest_packet.saturating_mul(SHORTEST_WINDOW)
}

/// Returns the number of ports of some routers.
fn ports_of(topology: &dyn Topology, routers: &[RouterId]) -> u64 {
    routers.iter().map(|&router| u64::from(topology.ports(router))).sum()
}

/// Routers that are divided together.
struct Bundles {
    routers: Vec<Vec<RouterId>>,
    /// Bundle of each router.
    of: Vec<u32>,
    /// Bundles in ascending order of the locality of their first router.
    order: Vec<usize>,
}

impl Bundles {
    fn new(topology: &dyn Topology) -> Self {
        let routers = topology.bundles();
        let mut of = vec![0; topology.routers() as usize];
        for (number, bundle) in (0..).zip(&routers) {
            bundle.iter().for_each(|router| of[router.index()] = number);
        }
        let mut order: Vec<usize> = (0..routers.len()).collect();
        order.sort_by_key(|&bundle| topology.locality(routers[bundle][0]));
        Self { routers, of, order }
    }

    /// Returns clusters of bundles, in ascending order of the locality of a cluster's first router. Channels between
    /// clusters have at least some delay: the largest for which no cluster has more than `most` ports.
    fn clusters(&self, plan: &Plan, most: u64) -> Vec<Vec<usize>> {
        let topology = plan.topology();
        let delays: BTreeSet<Reverse<u64>> = links(plan).map(|link| Reverse(link.delay)).collect();
        for Reverse(delay) in delays {
            let clusters = self.joined_below(plan, delay);
            let ports = |cluster: &Vec<usize>| -> u64 {
                cluster.iter().map(|&bundle| ports_of(topology, &self.routers[bundle])).sum()
            };
            if clusters.iter().map(ports).max() <= Some(most) {
                return clusters;
            }
        }
        self.order.iter().map(|&bundle| vec![bundle]).collect()
    }

    /// Returns clusters of bundles, each joined by channels with a delay below `delay`.
    fn joined_below(&self, plan: &Plan, delay: u64) -> Vec<Vec<usize>> {
        let mut cluster_of = vec![usize::MAX; self.order.len()];
        let mut count = 0;
        for &first in &self.order {
            if cluster_of[first] != usize::MAX {
                continue;
            }
            let mut found = vec![first];
            cluster_of[first] = count;
            while let Some(bundle) = found.pop() {
                let links = self.routers[bundle].iter().flat_map(|&router| links_of(plan, router));
                for link in links.filter(|link| link.delay < delay) {
                    let next = self.of[link.to.index()] as usize;
                    if cluster_of[next] == usize::MAX {
                        cluster_of[next] = count;
                        found.push(next);
                    }
                }
            }
            count += 1;
        }
        let mut clusters = vec![Vec::new(); count];
        for &bundle in &self.order {
            clusters[cluster_of[bundle]].push(bundle);
        }
        clusters
    }
}
