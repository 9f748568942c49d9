//! Compares queues that are drawn again with queues that are stored.

use std::collections::VecDeque;
use std::path::Path;

use units::{Draw, NodeId};

use super::*;
use crate::traffic::{Division, JobTraffic};
use crate::workloads::Part;
use crate::{Experiment, System};
use engine::{Owner, Stream};

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

/// Returns the sources of two nodes, and the slot of a message in ticks.
fn open(workload: &str, seed: u64) -> (OpenTraffic, u64) {
    let text = format!(
        "seed = {seed}\ntopology = {{ kind = \"single-switch\", ports = 6 }}\n\
         link = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\nworkload = {{ kind = \"traffic\", {workload} }}"
    );
    let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap();
    let system = System::build(&experiment.points()[0].spec, Path::new(".")).unwrap();
    let course = system.jobs[0].workload.course(&system.setting(0, system.batch()));
    let (nodes, division) = ([2, 4], Division::new(system.network.topology.nodes(), std::iter::empty(), u64::MAX));
    match course.traffic(Part { number: 0, nodes: &nodes, division: &division }) {
        JobTraffic::Open(open) => (open, system.network.slot(system.packets())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn queues_that_are_drawn_again_give_what_queues_that_are_kept_give() {
    // Would catch a packet that is lost, sent twice, or sent before an older one of its flow or of another flow that
    // may send; a message whose rest is forgotten; a cursor that passes the front, and a packet that is put back and
    // lost.
    let workloads = [
        r#"load = 0.9"#,
        r#"load = 0.7, injection = "poisson", message_size = "600 B""#,
        r#"load = 0.8, injection = "periodic", message_size = "1 KiB""#,
        r#"load = 0.9, pattern = { kind = "shift", offset = 1 }"#,
    ];
    for (number, workload) in workloads.iter().enumerate() {
        for seed in 1..5 {
            let (mut again, slot) = open(workload, seed);
            let mut kept = Kept { open: open(workload, seed).0, waiting: VecDeque::new(), front: None };
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
                assert_eq!(found, kept.next(1, now, may_send), "{workload}, seed {seed}, at {now}");
                let waiting = kept.waiting.iter().chain(&kept.front).map(|demand| demand.generated_at).min();
                assert_eq!(
                    queues.oldest(1).filter(|_| waiting.is_some()),
                    waiting,
                    "{workload}, seed {seed}, at {now}"
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
            assert!(sent > 200 && most > 3, "{workload}: {sent} sent, up to {most} waiting");
        }
    }
}

#[test]
fn a_backlogged_source_has_one_message_at_a_time() {
    // Would catch a source that generates without end while its flows wait.
    let (mut open, _) = open("load = 1.0, injection = \"backlogged\"", 3);
    let mut queues = Queues::new(2);
    let first = queues.next(&mut open, (0, 5), |_, _| false).unwrap_err();
    assert_eq!(first, Some(0));
    assert_eq!(queues.next(&mut open, (0, 900), |_, _| false), Err(Some(0)));
    let sent = queues.next(&mut open, (0, 1000), |_, _| true).unwrap();
    assert_eq!(sent.generated_at, 0);
    assert_eq!(queues.next(&mut open, (0, 1000), |_, _| true).unwrap().generated_at, 1000);
}
