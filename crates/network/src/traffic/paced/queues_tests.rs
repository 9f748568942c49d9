//! Compares queues that are drawn again with queues that are stored.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use ::traffic::{InjectionSpec, PatternSpec, PlacedPattern, Placement, Shape};
use engine::{Owner, Stream};
use routing::RoutingSpec;
use topology::TopologySpec;
use units::{Draw, NodeId};

use super::*;
use crate::network::Packets;
use crate::traffic::OpenTrafficSpec;

/// Reference queues of one node: every packet that has been drawn and not sent, in order.
struct Kept {
    open: OpenTraffic,
    waiting: VecDeque<Demand>,
    front: Option<Demand>,
}

impl Kept {
    fn next(&mut self, node: usize, now: u64, may_send: impl Fn(Target, u32) -> bool) -> Option<Demand> {
        // First packet of each flow, in order.
        let mut seen = 0_u64;
        let first = |place: &usize| {
            let bit = 1 << self.waiting[*place].to.node().unwrap_or_default().0;
            let is_first = seen & bit == 0;
            seen |= bit;
            is_first
        };
        let ready = |place: &usize| may_send(self.waiting[*place].to, self.waiting[*place].bytes);
        if let Some(place) = (0..self.waiting.len()).filter(first).find(ready) {
            return self.waiting.remove(place);
        }
        loop {
            let front = self.front.take().or_else(|| self.open.draw(node, now))?;
            if may_send(front.to, front.bytes) && !self.waiting.iter().any(|before| before.to == front.to) {
                return Some(front);
            }
            if front.release > now {
                self.front = Some(front);
                return None;
            }
            self.waiting.push_back(front);
        }
    }
}

/// Size of a packet, in bytes.
const PACKET: u32 = 256;

/// Traffic of six nodes of a switch.
struct Case {
    load: f64,
    injection: InjectionSpec,
    /// Size of a message, in bytes.
    message: u64,
    /// Pattern as JSON.
    pattern: &'static str,
}

const CASE: Case =
    Case { load: 0.9, injection: InjectionSpec::Bernoulli, message: 256, pattern: r#"{ "kind": "uniform" }"# };

/// Returns the sources of two nodes, and the slot of a message in ticks of a tenth of a nanosecond, at 10 Gb/s.
fn open(case: &Case, seed: u64) -> (OpenTraffic, u64) {
    let topology: TopologySpec = serde_json::from_str(r#"{ "kind": "single-switch", "ports": 6 }"#).unwrap();
    let topology = topology.build(Path::new(".")).unwrap();
    let routing = RoutingSpec::default_for(&*topology).build_in(&*topology, Path::new(".")).unwrap();
    let pattern: PatternSpec = serde_json::from_str(case.pattern).unwrap();
    let pattern = pattern.build(&Shape::of(&*topology), seed, Path::new(".")).unwrap();
    let placement = Arc::new(Placement::new((0..6).collect(), 6));
    let (load, slot) = (case.load, 8 * case.message);
    let spec = OpenTrafficSpec {
        pattern: Arc::new(PlacedPattern::new(pattern, &placement, false)),
        multicasts: None,
        groups: None,
        routing,
        injection: case.injection,
        load: Arc::new(move |_| load),
        slot,
        units_per_tick: 1,
        packets: Packets { message: case.message, packet: PACKET },
        seed,
        planes: 1,
        own_planes: 0..1,
        span: 0..u64::MAX,
    };
    (OpenTraffic::new(&spec, &[2, 4]), slot)
}

#[test]
fn queues_that_are_drawn_again_give_what_queues_that_are_kept_give() {
    // Would catch a packet that is lost, sent twice, or sent before an older one of its flow or of another flow that
    // may send; a message whose rest is forgotten; a cursor that passes the front, and a packet that is put back and
    // lost.
    let cases = [
        CASE,
        Case { load: 0.7, injection: InjectionSpec::Poisson, message: 600, ..CASE },
        Case { load: 0.8, injection: InjectionSpec::Periodic, message: 1024, ..CASE },
        Case { pattern: r#"{ "kind": "shift", "offset": 1 }"#, ..CASE },
    ];
    for (number, case) in cases.iter().enumerate() {
        for seed in 1..5 {
            let (mut again, slot) = open(case, seed);
            let mut kept = Kept { open: open(case, seed).0, waiting: VecDeque::new(), front: None };
            let mut queues = Queues::new(2);
            let mut draw = Stream::new(seed, Owner::Router(number as u32));
            let (mut now, mut sent, mut most) = (0, 0, 0);
            for _ in 0..1500 {
                // Up to three slots pass at times; a flow may send or may not, short packets rather than long ones.
                let step = if draw.below(2) == 0 { u64::from(draw.below(3 * slot as u32)) } else { 0 };
                let mask = draw.bits();
                now += step;
                let may_send = |to: Target, bytes: u32| {
                    mask >> (2 * to.node().unwrap_or_default().0 + u32::from(bytes < 256)) & 1 == 1
                };
                let found = queues.next(&mut again, (1, now), may_send).ok();
                assert_eq!(found, kept.next(1, now, may_send), "case {number}, seed {seed}, at {now}");
                let waiting = kept.waiting.iter().chain(&kept.front).map(|demand| demand.generated_at).min();
                assert_eq!(
                    queues.oldest(1).filter(|_| waiting.is_some()),
                    waiting,
                    "case {number}, seed {seed}, at {now}"
                );
                for to in (0..6).map(|node| Target::Node(NodeId(node))) {
                    assert_eq!(queues.has(1, to), kept.waiting.iter().any(|demand| demand.to == to));
                }
                most = kept.waiting.len().max(most);
                match found.filter(|found| found.release > now) {
                    Some(early) => {
                        queues.put_back(1, early);
                        kept.front = Some(early);
                    }
                    None => sent += u32::from(found.is_some()),
                }
            }
            assert!(sent > 200 && most > 3, "case {number}: {sent} sent, up to {most} waiting");
        }
    }
}

#[test]
fn a_backlogged_source_has_one_message_at_a_time() {
    // Would catch a source that generates without end while its flows wait.
    let (mut open, _) = open(&Case { load: 1.0, injection: InjectionSpec::Backlogged, ..CASE }, 3);
    let mut queues = Queues::new(2);
    let first = queues.next(&mut open, (0, 5), |_, _| false).unwrap_err();
    assert_eq!(first, Some(0));
    assert_eq!(queues.next(&mut open, (0, 900), |_, _| false), Err(Some(0)));
    let sent = queues.next(&mut open, (0, 1000), |_, _| true).unwrap();
    assert_eq!(sent.generated_at, 0);
    assert_eq!(queues.next(&mut open, (0, 1000), |_, _| true).unwrap().generated_at, 1000);
}
