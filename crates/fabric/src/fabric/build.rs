//! Construction of a partition's tables from the plan.

use std::sync::Arc;

use engine::{Owner, Stream, Wheel};
use topology::{ChannelClass, Endpoint};
use units::{ChannelId, PortId, RouterId};

use super::credits::{AheadChoices, CreditCounters};
use super::groups::GroupPackets;
use super::reservations::Reservations;
use super::spacing::Spacing;
use super::split::Multicasts;
use super::uses::ChannelUses;
use super::{Class, Classes, Fabric, LocalRouter, OddTime, Params, WorkLists};
use crate::catalogue::{CreditRule, RouterSpec};
use crate::context::WorkerContext;
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{CreditId, PacketSlot};
use crate::packet::Pool;
use crate::partition_map::{PartitionMap, Place};
use crate::plan::Plan;
use crate::port::{FarEnd, InputPort, LinkClass, MOST_LINK_CLASSES, NEAR_CREDITS, NO_PARTITION, OutputPort};
use crate::stations::Stations;
use crate::stations::combine::CombineUnits;

impl Fabric {
    /// Creates the shared state of one partition of a network.
    pub fn new(plan: Arc<Plan>, map: &PartitionMap, part: usize) -> Self {
        let planes = plan.topology.planes();
        let nodes: Vec<u32> = map.sources(part).map(|(node, _)| node.0).collect();
        let rule = plan.credit_rule();
        let ahead_shift = match rule {
            CreditRule::PerCrosspoint => u32::from(plan.max_ports).next_power_of_two().trailing_zeros(),
            _ => 0,
        };
        let credit_shift = plan.vc_shift + ahead_shift;
        let near = ahead_shift == 0 && usize::from(plan.vcs) <= NEAR_CREDITS;
        let words = usize::from(plan.max_ports).div_ceil(64).max(1);
        let routers = local_routers(&plan, map, part);
        let (outputs, stations) = outputs(&plan, map, part);
        let inputs = inputs(&plan, (map, part), &routers, credit_shift);
        let units = CombineUnits::new(&plan, map.routers(part));
        let has_tails = plan.tracks_tails();
        let reservations = plan.routing.adaptive_class().map(|class| (class, vec![0; outputs.len()]));
        let frees_at_head = plan.frees_at_head();
        let mut fabric = Self {
            params: Params {
                units_per_tick: plan.units_per_tick(),
                words,
                vc_shift: plan.vc_shift,
                full_bytes: plan.packet,
                reads_class: plan.routing.uses_input_port() && plan.vcs_per_class.iter().any(|&vcs| vcs != 1),
                exceeds_cache: outputs.len() > CACHED_OUTPUTS,
                frees_at_head,
                bypasses: frees_at_head
                    && !has_tails
                    && reservations.is_none()
                    && rule != CreditRule::PerCrosspoint
                    && stations.is_empty(),
            },
            credits: CreditCounters {
                rule,
                far: vec![0; if near { 0 } else { outputs.len() << credit_shift }],
                shift: credit_shift,
                ahead_shift,
                are_simple: near && stations.is_empty() && plan.vcs_per_class.iter().all(|&vcs| vcs == 1),
            },
            ahead: ahead_choices(&plan, (map, part), outputs.len()),
            work: WorkLists::new(
                routers.len(),
                nodes.len() + units.as_ref().map_or(0, |units| units.results.len()),
                inputs.len(),
                words,
            ),
            streams: routers.iter().map(|r| Stream::new(plan.seed, Owner::Router(r.id.0))).collect(),
            part: part as u16,
            pool: Pool::new(),
            wheel: Wheel::new(plan.horizon()),
            inputs,
            waiting: vec![0; if plan.routing.reads_classes() { outputs.len() << plan.vc_shift } else { 0 }],
            snapshot: Arc::default(),
            context: WorkerContext::default(),
            routers,
            nodes,
            planes,
            outputs,
            classes: classes(&plan),
            odd_times: Box::new([OddTime::default(); 256]),
            tails: has_tails.then(Vec::new),
            reservations: reservations.map(|(class, packets)| Reservations { class: class.0, packets }),
            uses: ChannelUses::new(),
            multicasts: Multicasts::default(),
            groups: GroupPackets::new(units),
            stations,
            reports: None,
            spacing: Spacing::default(),
            routing: Arc::clone(&plan.routing),
            plan,
        };
        fabric.fill_credits();
        fabric
    }
}

/// Number of outputs whose state fits into a near cache.
const CACHED_OUTPUTS: usize = 1 << 13;

fn classes(plan: &Plan) -> Classes {
    let mut classes = Box::new([Class::default(); MOST_LINK_CLASSES]);
    for (class, (channel, [from, set])) in classes.iter_mut().zip(plan.link_classes()) {
        let (link, [from, to]) = (plan.links[usize::from(channel.0)], [from, set].map(|set| &plan.routers[set]));
        let leads_to_router = !plan.topology.is_ejection(channel) && channel != plan.internal;
        let (in_flight, unloaded) = if leads_to_router { plan.without_queue(channel, set) } else { (0, 0) };
        *class = Class {
            delay: link.delay,
            delay_with_router: link.delay + if leads_to_router { to.delay } else { 0 },
            full: link.full,
            crossing: link.full.div_ceil(u64::from(from.speedup)),
            depth: to.depths[usize::from(channel.0)],
            inner_depth: from.inner_depth,
            in_flight,
            unloaded,
            speedup: from.speedup,
            vcs: if channel == plan.internal { 1 } else { plan.vcs_on(channel) },
            vcs_per_class: plan.vcs_per_class[usize::from(channel.0)],
            channel,
        };
    }
    classes
}

/// Returns the random streams of the sources and the turns of the outputs, if credits are counted per crosspoint.
fn ahead_choices(plan: &Plan, (map, part): (&PartitionMap, usize), outputs: usize) -> AheadChoices {
    if plan.credit_rule() != CreditRule::PerCrosspoint {
        return AheadChoices::default();
    }
    let injector = |(node, plane)| plan.channels.injection_on(node, plane).0 - plan.channels.ports();
    let streams = map.sources(part).map(|source| Stream::new(plan.seed, Owner::Injector(injector(source))));
    AheadChoices { outs: Vec::new(), node_streams: streams.collect(), turns: vec![0; outputs] }
}

fn local_routers(plan: &Plan, map: &PartitionMap, part: usize) -> Vec<LocalRouter> {
    let router = |&id: &u32| {
        let id = RouterId(id);
        LocalRouter { id, base: map.port(id, PortId(0)).index, ports: plan.ports(id), turn: 0, arrived: 0, active: 0 }
    };
    map.routers(part).iter().map(router).collect()
}

fn outputs(plan: &Plan, map: &PartitionMap, part: usize) -> (Vec<OutputPort>, Stations) {
    let topology = &*plan.topology;
    let mut outputs = Vec::new();
    let mut stations = Stations::new(plan);
    for (owner, &router) in map.routers(part).iter().enumerate() {
        for port in 0..topology.ports(RouterId(router)) {
            let (router, port) = (RouterId(router), PortId(port));
            let class = plan.class_of(plan.channels.output(router, port));
            let (class, to, far_end) = match topology.endpoint(router, port) {
                Endpoint::Router(next, in_port) => (class, Some(next), far_router(map.port(next, in_port))),
                Endpoint::Node(_) => (class, None, stations.add().map_or(FarEnd::Node, FarEnd::Station)),
                Endpoint::Unconnected => (ChannelClass::INJECTION, None, FarEnd::Unconnected),
            };
            outputs.push(output(far_end, plan.link_class(class, [Some(router), to]), (owner, port.0, 0)));
        }
        for port in topology.ports(RouterId(router))..plan.ports(RouterId(router)) {
            let class = plan.link_class(plan.internal, [Some(RouterId(router)); 2]);
            outputs.push(output(FarEnd::Unit, class, (owner, port, OutputPort::INTERNAL)));
        }
    }
    for (owner, (node, plane)) in map.sources(part).enumerate() {
        let attached = topology.attachment_on(node, plane);
        let far_end = attached.map_or(FarEnd::Unconnected, |(router, port)| far_router(map.port(router, port)));
        let class = plan.link_class(topology.injection_class(plane), [None, attached.map(|(router, _)| router)]);
        outputs.push(output(far_end, class, (owner, 0, OutputPort::INJECTION)));
    }
    let mut owner = map.sources(part).count();
    for &router in map.routers(part) {
        for port in topology.ports(RouterId(router))..plan.ports(RouterId(router)) {
            let far_end = far_router(map.port(RouterId(router), PortId(port)));
            let class = plan.link_class(plan.internal, [Some(RouterId(router)); 2]);
            outputs.push(output(far_end, class, (owner, 0, OutputPort::INJECTION | OutputPort::INTERNAL)));
            owner += 1;
        }
    }
    (outputs, stations)
}

fn far_router(place: Place) -> FarEnd {
    FarEnd::Router { partition: place.partition, port: place.index }
}

fn output(far_end: FarEnd, class: LinkClass, (owner, port, flags): (usize, u16, u8)) -> OutputPort {
    OutputPort {
        free_at: 0,
        queued: 0,
        sent: 0,
        credits: [0; NEAR_CREDITS],
        far_end,
        owner: owner as u32,
        port,
        class,
        flags,
    }
}

fn inputs(
    plan: &Plan,
    (map, part): (&PartitionMap, usize),
    routers: &[LocalRouter],
    credit_shift: u32,
) -> Vec<InputPort> {
    let topology = &*plan.topology;
    let mut inputs = Vec::new();
    let mut unit = map.first_unit(part);
    for (number, router) in routers.iter().enumerate() {
        for port in 0..router.ports {
            if port >= topology.ports(router.id) {
                let (partition, counters) = (part as u16, CreditId(unit << credit_shift));
                unit += 1;
                let class = plan.link_class(plan.internal, [Some(router.id); 2]);
                let router = number as u32;
                inputs.push(InputPort { router, counters, arrived: PacketSlot::NONE, partition, class, arrived_vc: 0 });
                continue;
            }
            let (upstream, channel, from) = match topology.endpoint(router.id, PortId(port)) {
                Endpoint::Router(from, out) => (map.port(from, out), plan.channels.output(from, out), Some(from)),
                Endpoint::Node(node) => {
                    let plane = topology.plane_of(router.id);
                    (map.injection(node, plane), plan.channels.injection_on(node, plane), None)
                }
                Endpoint::Unconnected => (Place { partition: NO_PARTITION, index: 0 }, ChannelId(0), None),
            };
            inputs.push(InputPort {
                router: number as u32,
                counters: CreditId(upstream.index << credit_shift),
                arrived: PacketSlot::NONE,
                partition: upstream.partition,
                class: plan.link_class(plan.class_of(channel), [from, Some(router.id)]),
                arrived_vc: 0,
            });
        }
    }
    inputs
}

impl Fabric {
    /// Returns the bytes of the state that all architectures share, for all partitions together, without packets and
    /// events.
    pub(crate) fn bytes(size: &NetworkSize, router: &RouterSpec) -> u64 {
        let outputs = size.ports + size.nodes;
        let ahead = router.counts_crosspoints();
        let counters = if ahead { size.max_ports.next_power_of_two() } else { 1 };
        let near = !ahead && usize::from(size.vcs) <= NEAR_CREDITS;
        let wide = if size.port_words() > 1 { 2 * size.routers * size.port_words() } else { 0 };
        // A router's stream; a node's number and the head of its queue.
        bytes_of::<OutputPort>(outputs)
            + bytes_of::<InputPort>(size.ports)
            + bytes_of::<i32>(if near { 0 } else { (outputs << size.vc_shift()) * counters })
            + bytes_of::<LocalRouter>(size.routers)
            + bytes_of::<Stream>(size.routers + if ahead { size.nodes } else { 0 })
            + bytes_of::<u32>(if ahead { outputs } else { 0 })
            + bytes_of::<u64>(wide)
            + bytes_of::<[u32; 2]>(size.nodes)
    }
}
