//! Reports of deliveries to a traffic, and notices, in one partition and across several.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::sync::{Arc, Mutex};

use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::{
    Actions, Counters, Demand, Fabric, Grain, Ledger, Mail, Notice, NoticeContent, Partition, PartitionMap, Plan,
    Target, Traffic, TrafficEvent, WithRouters, WorkerContext,
};
use routing::RouteState;
use units::{NodeId, PlaneId};

use crate::common::network_of;

/// Number of packets of a node.
const PACKETS: u32 = 50;

/// Notifications of a traffic, with their times.
type Log = Arc<Mutex<Vec<(u64, TrafficEvent)>>>;

/// Traffic in which every node sends packets to others in turn, each marked with its number. Each delivery is answered
/// by a notice that arrives a window later.
struct Reported {
    /// Nodes of the partition. `sent` is the number of packets that each has sent.
    nodes: Vec<u32>,
    sent: Vec<u32>,
    all: u32,
    partition_of: Arc<[u16]>,
    window: u64,
    log: Log,
}

fn bytes_of(number: u32) -> u32 {
    if number.is_multiple_of(3) { 96 } else { 256 }
}

fn destination(node: u32, number: u32, all: u32) -> u32 {
    (node + 1 + number * 5) % all
}

impl Traffic for Reported {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        let (id, number) = (self.nodes[node], self.sent[node]);
        self.sent[node] = Some(number + 1).filter(|&sent| sent <= PACKETS)?;
        Some(Demand {
            generated_at: now,
            part: 0,
            release: now,
            to: Target::Node(NodeId(destination(id, number, self.all))),
            bytes: bytes_of(number),
            state: RouteState::default(),
            flow_id: id,
            mark: 1000 * id + number,
        })
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        self.log.lock().unwrap().push((now, what));
        if let TrafficEvent::Delivered { flow_id, node, bytes, mark, .. } = what {
            let notice =
                Notice { to: NodeId(flow_id), from: node, flow_id: mark, content: NoticeContent::Acknowledged(bytes) };
            actions.notice(now + self.window, self.partition_of[flow_id as usize], notice);
        }
    }
}

/// Run of a network, divided over partitions. Its result is the notifications of its traffic, in order.
struct Run {
    plan: Arc<Plan>,
    parts: u64,
    window: u64,
}

impl WithRouters for Run {
    type Output = Vec<(u64, TrafficEvent)>;

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Self::Output {
        let Self { plan, parts, window } = self;
        let map = PartitionMap::new(&plan, 1, Grain::Exactly(parts));
        assert_eq!(map.parts() as u64, parts);
        assert!(map.window() >= window);
        let all = plan.topology().nodes();
        let mut partition_of = vec![0; all as usize];
        (0..map.parts())
            .for_each(|part| map.nodes(part).iter().for_each(|&node| partition_of[node as usize] = part as u16));
        let (partition_of, log): (Arc<[u16]>, Log) = (partition_of.into(), Log::default());
        let partition = |part: usize| {
            let (nodes, partition_of, log) = (map.nodes(part).to_vec(), Arc::clone(&partition_of), Arc::clone(&log));
            let traffic = Reported { sent: vec![0; nodes.len()], nodes, all, partition_of, window, log };
            Partition::new(&plan, &map, part, &routers, traffic)
        };
        let mut partitions: Vec<_> = (0..map.parts()).map(partition).collect();
        let mut context = WorkerContext::new(Counters::new(all), map.parts());
        let mut mail: Vec<Mail> = (0..map.parts()).map(|_| Mail::default()).collect();
        for round in 1..400 {
            for (part, partition) in partitions.iter_mut().enumerate() {
                partition.take_in(&mut mail[part]);
                partition.run_until(round * window, &mut context);
                mail.iter_mut().zip(&mut context.outbox).for_each(|(mail, sent)| sent.move_to(mail));
            }
            if round % 23 == 0 {
                // Packets that are delivered and kept until their tail has arrived are no longer in the network.
                let mut ledger = Ledger::new(map.parts());
                let accounted = partitions.iter().zip(&mail).enumerate();
                accounted.for_each(|(part, (own, mail))| own.account(part as u16, mail, &mut ledger));
                assert_eq!(ledger.packets(), context.counters.in_flight);
            }
        }
        assert!(mail.iter().all(Mail::is_empty));
        drop(partitions);
        let mut log = Arc::into_inner(log).unwrap().into_inner().unwrap();
        // Partitions take turns in a window, each in the order of time.
        log.sort();
        log
    }
}

/// Returns the notifications of the traffic of a mesh, and the lookahead window in ticks.
fn run(keys: &str, parts: u64) -> (Vec<(u64, TrafficEvent)>, u64) {
    let router: RouterSpec = toml::from_str(keys).unwrap();
    let mut spec = network_of("mesh:4x3", router.clone(), None, ["10 Gb/s"; 2]);
    spec.links.iter_mut().for_each(|link| link.delay = "500 ns".parse().unwrap());
    let plan = Plan::new(spec).unwrap();
    let window = 500_000 / plan.tick().0;
    (router.with_routers(Run { plan: Arc::new(plan), parts, window }), window)
}

#[test]
fn every_delivery_is_reported_once_with_what_the_packet_was() {
    // Would catch a mark that another packet's replaces in the pool or in the mail, a report before the tail has
    // arrived, and a notice that is lost between partitions, arrives twice, or not at its time.
    for keys in [
        "kind = \"output-queued\"",
        "kind = \"virtual-output-queued\"",
        "kind = \"input-queued\"\nbuffer = \"1 packets\"",
    ] {
        let (log, window) = run(keys, 1);
        let mut marks = Vec::new();
        let mut notices = Vec::new();
        for &(now, what) in &log {
            match what {
                TrafficEvent::Delivered { flow_id, node, bytes, mark, time, .. } => {
                    let (src, number) = (mark / 1000, mark % 1000);
                    assert_eq!((flow_id, time), (src, now));
                    assert_eq!((node.0, bytes), (destination(src, number, 12), bytes_of(number)));
                    marks.push(mark);
                    notices.push((now, NodeId(src), node, bytes, mark));
                }
                TrafficEvent::Notice(Notice { to, from, flow_id, content: NoticeContent::Acknowledged(bytes) }) => {
                    let is_it = |own: &(_, _, _, _, _)| (own.1, own.2, own.3, own.4) == (to, from, bytes, flow_id);
                    let place = notices.iter().position(is_it).expect("a notice that was not sent, or comes twice");
                    assert_eq!(now - notices.remove(place).0, window);
                }
                other => panic!("{other:?}"),
            }
        }
        marks.sort_unstable();
        let all: Vec<u32> = (0..12).flat_map(|node| (0..PACKETS).map(move |number| 1000 * node + number)).collect();
        assert_eq!(marks, all);
        assert!(notices.is_empty(), "{notices:?}");
        for parts in [2, 5, 12] {
            assert_eq!(run(keys, parts).0, log, "{parts} partitions: {keys}");
        }
    }
}

#[test]
fn deliveries_of_an_instant_are_ordered_by_node_and_plane() {
    // Would catch an order that depends on data that partitions change: the mark of a message (its place at the
    // receiver) and the low bits of its flow id.
    let delivery = |node, plane, flow_id, mark| TrafficEvent::Delivered {
        node: NodeId(node),
        plane: PlaneId(plane),
        flow_id,
        bytes: 8,
        mark,
        time: 7,
    };
    let expected = [(1, 0, 9, 9), (1, 1, 3, 5), (1, 2, 3, 2), (2, 0, 1, 1)];
    let mut events: Vec<_> =
        expected.iter().rev().map(|&(node, plane, flow, mark)| delivery(node, plane, flow, mark)).collect();
    events.sort_unstable();
    assert_eq!(events, expected.map(|(node, plane, flow, mark)| delivery(node, plane, flow, mark)));
}
