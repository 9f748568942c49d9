//! The tables of a partition, made from the plan.

use std::sync::Arc;

use engine::{Owner, Stream, Wheel};
use topology::{ChannelClass, Endpoint};
use units::{ChannelId, NodeId, PortId, RouterId};

use super::marks::Marks;
use super::{Class, Fabric, InputPort, LocalRouter, NOWHERE, OutputPort, SINK};
use crate::catalogue::CreditRule;
use crate::context::WorkerContext;
use crate::packet::{NONE, Pool};
use crate::partition_map::{PartitionMap, Place};
use crate::plan::{Link, Plan};

impl Fabric {
    /// The shared state of one part of a network.
    pub fn new(plan: Arc<Plan>, map: &PartitionMap, part: usize) -> Self {
        let nodes = map.nodes(part).to_vec();
        let rule = plan.credit_rule();
        let ahead_shift = match rule {
            CreditRule::PerCrosspoint => u32::from(plan.max_ports).next_power_of_two().trailing_zeros(),
            _ => 0,
        };
        let credit_shift = plan.vc_shift + ahead_shift;
        let words = usize::from(plan.max_ports).div_ceil(64).max(1);
        let routers = local_routers(&plan, map, part);
        let outputs = outputs(&plan, map, part);
        Self {
            part: part as u16,
            pool: Pool::new(),
            wheel: Wheel::new(plan.horizon()),
            inputs: inputs(&plan, map, &routers, credit_shift),
            credits: vec![plan.depth as i32; outputs.len() << credit_shift],
            credit_shift,
            ahead_shift,
            streams: routers.iter().map(|r| Stream::new(plan.seed, Owner::Router(r.id.0))).collect(),
            node_streams: match rule {
                CreditRule::PerCrosspoint => {
                    nodes.iter().map(|&n| Stream::new(plan.seed, Owner::Injector(n))).collect()
                }
                _ => Vec::new(),
            },
            words,
            wide_arrived: vec![0; if words > 1 { routers.len() * words } else { 0 }],
            wide_active: vec![0; if words > 1 { routers.len() * words } else { 0 }],
            dirty_routers: Marks::new(routers.len()),
            dirty_nodes: Marks::new(nodes.len()),
            snapshot: Arc::default(),
            exceeds_cache: outputs.len() > SPREAD,
            sent_before: vec![0; outputs.len()],
            sent_by_job: Vec::new(),
            jobs: 1,
            blocked: vec![false; outputs.len()],
            context: WorkerContext::default(),
            routers,
            nodes,
            outputs,
            rule,
            classes: classes(&plan),
            one_vc_per_class: plan.vcs_per_class.iter().all(|&vcs_per_class| vcs_per_class == 1)
                && rule != CreditRule::PerCrosspoint,
            vc_shift: plan.vc_shift,
            full_bytes: plan.packet,
            router_delay: plan.delay,
            reads_class: plan.routing.uses_input_port()
                && plan.vcs_per_class.iter().any(|&vcs_per_class| vcs_per_class != 1),
            notify_deliveries: false,
            frees_at_head: plan.frees_at_head(),
            mixed_rates: plan.has_mixed_rates(),
            tails: Vec::new(),
            plan,
        }
    }
}

/// Senders whose state fits into a near cache.
const SPREAD: usize = 1 << 13;

fn classes(plan: &Plan) -> Vec<Class> {
    let class = |(link, &vcs_per_class): (&Link, &u8)| Class { delay: link.delay, full: link.full, vcs_per_class };
    plan.links.iter().zip(&plan.vcs_per_class).map(class).collect()
}

fn local_routers(plan: &Plan, map: &PartitionMap, part: usize) -> Vec<LocalRouter> {
    let router = |&id: &u32| {
        let id = RouterId(id);
        LocalRouter { id, base: map.port(id, PortId(0)).index, ports: plan.topology.ports(id), arrived: 0, active: 0 }
    };
    map.routers(part).iter().map(router).collect()
}

fn outputs(plan: &Plan, map: &PartitionMap, part: usize) -> Vec<OutputPort> {
    let topology = &*plan.topology;
    let mut outputs = Vec::new();
    for &router in map.routers(part) {
        for port in 0..topology.ports(RouterId(router)) {
            let (router, port) = (RouterId(router), PortId(port));
            let class = plan.class_of(plan.channels.output(router, port));
            outputs.push(match topology.endpoint(router, port) {
                Endpoint::Router(next, in_port) => output(class, map.port(next, in_port)),
                Endpoint::Node(node) => output(class, Place { partition: SINK, index: node.0 }),
                Endpoint::Unconnected => output(ChannelClass::INJECTION, Place { partition: NOWHERE, index: 0 }),
            });
        }
    }
    for &node in map.nodes(part) {
        let (router, port) = topology.attachment(NodeId(node));
        outputs.push(output(ChannelClass::INJECTION, map.port(router, port)));
    }
    outputs
}

fn output(class: ChannelClass, target: Place) -> OutputPort {
    OutputPort {
        free_at: 0,
        wanted: [0; 2],
        crossbar_free: 0,
        filled: 0,
        queued: 0,
        leaving: 0,
        target: target.index,
        sent: 0,
        partition: target.partition,
        last: 0,
        class,
        last_vc: 0,
        waking: false,
        crossbar_waking: false,
    }
}

fn inputs(plan: &Plan, map: &PartitionMap, routers: &[LocalRouter], credit_shift: u32) -> Vec<InputPort> {
    let topology = &*plan.topology;
    let mut inputs = Vec::new();
    for (number, router) in routers.iter().enumerate() {
        for port in 0..router.ports {
            let (feeder, channel) = match topology.endpoint(router.id, PortId(port)) {
                Endpoint::Router(from, out) => (map.port(from, out), plan.channels.output(from, out)),
                Endpoint::Node(node) => (map.injection(node), plan.channels.injection(node)),
                Endpoint::Unconnected => (Place { partition: NOWHERE, index: 0 }, ChannelId(0)),
            };
            inputs.push(InputPort {
                crossbar_free: 0,
                filled: 0,
                router: number as u32,
                counters: feeder.index << credit_shift,
                arrived: NONE,
                partition: feeder.partition,
                class: plan.class_of(channel),
                arrived_vc: 0,
            });
        }
    }
    inputs
}
