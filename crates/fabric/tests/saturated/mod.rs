//! Single switch whose nodes always have another packet to send.

use std::path::Path;
use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::routers::Routers;
use fabric::{
    Actions, Counters, Demand, Fabric, FabricSpec, Grain, LinkParameters, Member, Partition, PartitionMap, Plan,
    Target, Traffic, WithRouters, WorkerContext,
};
use routing::{RouteState, RoutingSpec};
use topology::{ChannelClass, TopologySpec};
use units::{Bytes, Draw, NodeId};

/// Traffic in which every node always has another packet to send, to `fanout` random nodes, possibly including itself.
struct Backlog {
    fanout: usize,
    nodes: u32,
    streams: Vec<Stream>,
    members: Vec<Vec<Member>>,
}

impl Traffic for Backlog {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let mut all: Vec<u32> = (0..self.nodes).collect();
        let stream = &mut self.streams[node];
        let mut draw = |_| all.swap_remove(stream.below(all.len() as u32) as usize);
        let mut set: Vec<u32> = (0..self.fanout).map(&mut draw).collect();
        set.sort_unstable();
        self.members[node] =
            set.into_iter().map(|node| Member { node: NodeId(node), state: RouteState::default() }).collect();
        let (state, flow_id, bytes) = (RouteState::default(), node as u32, 256);
        Some(Demand { generated_at: now, part: 0, release: now, to: Target::Members, bytes, state, flow_id, mark: 0 })
    }

    fn members(&self, node: usize) -> &[Member] {
        &self.members[node]
    }

    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(flow_id)
    }
}

/// Measurement of the mean number of copies that an output receives in a slot.
struct Throughput {
    plan: Arc<Plan>,
    fanout: usize,
    slots: u64,
}

impl WithRouters for Throughput {
    type Output = f64;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> f64 {
        let Self { plan, fanout, slots } = self;
        let map = PartitionMap::new(&plan, 1, Grain::Coarse);
        let nodes = plan.topology().nodes();
        let streams = (0..nodes).map(|node| Stream::new(3, Owner::Node(node))).collect();
        let traffic = Backlog { fanout, nodes, streams, members: vec![Vec::new(); nodes as usize] };
        let mut partition = Partition::new(&plan, &map, 0, &routers, traffic);
        let mut context = WorkerContext::new(Counters::new(nodes), 1);
        let slot = plan.serialization(ChannelClass::INJECTION, 256);
        partition.run_until(1000 * slot, &mut context);
        context.counters.take_batches(0).count();
        partition.run_until((1000 + slots) * slot, &mut context);
        let delivered: u64 = context.counters.take_batches(0).map(|batch| batch.packets).sum();
        delivered as f64 / slots as f64 / f64::from(nodes)
    }
}

/// Number of simulated slots: a standard error of some 0.1 %.
pub const SLOTS: u64 = 60_000;

/// Returns the number of copies that an output of a switch receives in a slot, with each packet for `fanout` nodes.
/// Inputs have memory for `packets` packets. Memory freed at the beginning of a slot is filled again at its end, for
/// the credit takes a quarter of a slot, and the next packet a quarter on the link and half a slot through the
/// pipeline.
pub fn throughput(packets: u32, ports: usize, fanout: usize, router: &str) -> f64 {
    let topology = format!("single-switch:{ports}").parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let link = LinkParameters { bandwidth: "10 Gb/s".parse().unwrap(), delay: "51.2 ns".parse().unwrap() };
    let spec = FabricSpec {
        routing: RoutingSpec::default_for(&*topology).build(&*topology).unwrap(),
        links: vec![link; topology.class_names().len()],
        topology,
        router: toml::from_str(&format!("buffer = \"{packets} packets\"\ndelay = \"102.4 ns\"\n{router}")).unwrap(),
        packet: Bytes(256),
        other_packets: vec![],
        other_times: vec![],
        receive_buffer: None,
        multicasts: true,
        groups: None,
        continuous: false,
        seed: 5,
    };
    let kind = spec.router.clone();
    kind.with_routers(Throughput { plan: Arc::new(Plan::new(spec).unwrap()), fanout, slots: SLOTS })
}
