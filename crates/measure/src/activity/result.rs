//! Activity of ranks as results: breakdown, critical path and timeline.

use std::collections::BTreeSet;

use host::{Carriage, FlightEnd, Kind, OpId, TracedPart};

use super::wires::{ClassTimes, NetworkTimes};
use super::{Activity, Piece, State, Step, StepKind, Wires};
use crate::results::{
    BreakdownMean, BreakdownRanks, BreakdownResult, CriticalPathResult, Explained, PathClass, TimelineMessages,
    TimelinePath, TimelineResult,
};

/// Largest number of intervals, and of messages, in a timeline.
const MOST_KEPT: usize = 1 << 18;

fn ns(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e3
}

/// Explains the time of ranks. `classes` holds the names of the classes of channels.
pub fn explain(activity: &Activity, wires: &Wires, classes: &[&str]) -> Explained {
    let pieces: Vec<Vec<Piece>> = (0..activity.ranks()).map(|rank| activity.pieces(rank)).collect();
    let steps = activity.critical_path();
    Explained {
        breakdown: breakdown(activity, &pieces),
        critical_path: critical_path(activity, &steps, wires, classes),
        timeline: timeline(activity, &pieces, &steps),
    }
}

fn breakdown(activity: &Activity, pieces: &[Vec<Piece>]) -> BreakdownResult {
    let of = |state: State| {
        let time = |own: &Vec<Piece>| {
            let pieces = own.iter().filter(|piece| piece.state == state);
            pieces.map(|piece| piece.end - piece.begin).sum::<u64>()
        };
        pieces.iter().map(time).collect::<Vec<_>>()
    };
    let ended: Vec<u64> = activity.ends.iter().map(|end| activity.end() - end).collect();
    let [computing, overhead, late_sender, late_receiver, transfer, noise] = State::ALL.map(of);
    let all = |times: &[u64]| times.iter().map(|&time| ns(time)).collect::<Vec<_>>();
    let mean = |times: &[u64]| ns(times.iter().sum()) / times.len().max(1) as f64;
    BreakdownResult {
        mean: BreakdownMean {
            computing_ns: mean(&computing),
            overhead_ns: mean(&overhead),
            late_sender_ns: mean(&late_sender),
            late_receiver_ns: mean(&late_receiver),
            transfer_ns: mean(&transfer),
            noise_ns: mean(&noise),
            ended_ns: mean(&ended),
        },
        ranks: BreakdownRanks {
            computing_ns: all(&computing),
            overhead_ns: all(&overhead),
            late_sender_ns: all(&late_sender),
            late_receiver_ns: all(&late_receiver),
            transfer_ns: all(&transfer),
            noise_ns: all(&noise),
            ended_ns: all(&ended),
        },
    }
}

impl Activity {
    /// Adds the breakdown of a step over the network.
    fn add_message(&self, step: &Step, (message, part): (OpId, TracedPart), wires: &Wires, times: &mut NetworkTimes) {
        let is_own = step.from == step.rank && self.op(message).kind != Kind::Group;
        if is_own {
            // A copy, or a wait, at one rank.
            times.host += step.end - step.begin;
            return;
        }
        let handed = self.flight(message, part, FlightEnd::HandedOver);
        let at = |handed: u64| [step.begin, handed, step.end];
        match handed.and_then(|handed| Some((handed.at, handed.by?))) {
            None => times.unresolved += step.end - step.begin,
            Some((_, Carriage::Memory)) => times.host += step.end - step.begin,
            Some((handed, Carriage::Packets(flow_id, mark))) => {
                wires.add((step.from, step.rank), (flow_id, mark), at(handed), times);
            }
            Some((handed, Carriage::Link(first, last))) => wires.add_whole((first, last), at(handed), times),
        }
    }
}

/// Sums over the steps of a path, in picoseconds.
#[derive(Debug, Default)]
struct PathSum {
    computing: u64,
    overhead: u64,
    noise: u64,
    messages: u64,
    ranks: BTreeSet<u32>,
    network: NetworkTimes,
}

impl PathSum {
    /// Sums over `steps`. `classes` is the number of classes of channels.
    fn of(activity: &Activity, steps: &[Step], wires: &Wires, classes: usize) -> Self {
        let mut sum = Self { network: NetworkTimes::new(classes), ..Self::default() };
        for step in steps {
            sum.ranks.extend([step.from, step.rank]);
            match step.kind {
                StepKind::Computing => sum.computing += step.end - step.begin,
                StepKind::Overhead => sum.overhead += step.end - step.begin,
                StepKind::Noise => sum.noise += step.end - step.begin,
                StepKind::Unknown => sum.network.unresolved += step.end - step.begin,
                StepKind::Message(message, part) => {
                    sum.messages += 1;
                    activity.add_message(step, (message, part), wires, &mut sum.network);
                }
            }
        }
        sum
    }
}

fn critical_path(activity: &Activity, steps: &[Step], wires: &Wires, names: &[&str]) -> CriticalPathResult {
    let PathSum { computing, overhead, noise, messages, ranks, network } =
        PathSum::of(activity, steps, wires, names.len());
    let NetworkTimes { classes, routers, host, unresolved } = network;
    let sum = |of: fn(&ClassTimes) -> u64| classes.iter().map(of).sum::<u64>();
    let (serialization, propagation) = (sum(|class| class.serialization), sum(|class| class.propagation));
    let queueing = sum(|class| class.queueing);
    let total = (activity.end() - activity.start).max(1) as f64;
    let class = |(&name, own): (&&str, &ClassTimes)| PathClass {
        class: name.into(),
        crossed: own.crossed,
        serialization_ns: ns(own.serialization),
        propagation_ns: ns(own.propagation),
        queueing_ns: ns(own.queueing),
        share: (own.serialization + own.propagation + own.queueing) as f64 / total,
    };
    CriticalPathResult {
        computing_ns: ns(computing),
        overhead_ns: ns(overhead),
        noise_ns: ns(noise),
        network_ns: ns(serialization + propagation + queueing + routers + host + unresolved),
        serialization_ns: ns(serialization),
        propagation_ns: ns(propagation),
        routers_ns: ns(routers),
        queueing_ns: ns(queueing),
        host_ns: ns(host),
        unresolved_ns: ns(unresolved),
        messages,
        ranks: ranks.len() as u64,
        classes: names.iter().zip(&classes).map(class).collect(),
    }
}

fn timeline(activity: &Activity, pieces: &[Vec<Piece>], steps: &[Step]) -> TimelineResult {
    let sends = |rank: u32| activity.ops_of(rank).iter().filter(|op| op.kind == Kind::Send).count();
    let kept = |every: usize| {
        let intervals: usize = pieces.iter().step_by(every).map(Vec::len).sum();
        let messages: usize = (0..activity.ranks()).step_by(every).map(sends).sum();
        intervals.max(messages)
    };
    let mut every = 1;
    while kept(every) > MOST_KEPT && every < pieces.len() {
        every *= 2;
    }
    let each = || (0..).zip(pieces).step_by(every).flat_map(|(rank, own)| own.iter().map(move |piece| (rank, piece)));
    TimelineResult {
        start_ns: ns(activity.start),
        end_ns: ns(activity.end()),
        every: every as u32,
        states: State::ALL.map(|state| state.name().to_owned()).to_vec(),
        rank: each().map(|(rank, _)| rank).collect(),
        state: each().map(|(_, piece)| piece.state as u8).collect(),
        begin_ns: each().map(|(_, piece)| ns(piece.begin)).collect(),
        interval_end_ns: each().map(|(_, piece)| ns(piece.end)).collect(),
        messages: messages(activity, every),
        path: path(steps),
    }
}

fn messages(activity: &Activity, every: usize) -> TimelineMessages {
    let mut all = TimelineMessages::default();
    for rank in (0..activity.ranks()).step_by(every) {
        let sends = (0..).zip(activity.ops_of(rank)).filter(|(_, op)| op.kind == Kind::Send);
        for (number, op) in sends.filter(|(_, op)| (op.peer as usize).is_multiple_of(every)) {
            let message = OpId { rank, number };
            let data = |end| activity.flight(message, TracedPart::Data, end);
            let (Some(handed), Some(arrived)) = (data(FlightEnd::HandedOver), data(FlightEnd::Arrived)) else {
                continue;
            };
            all.from.push(rank);
            all.to.push(op.peer);
            all.bytes.push(op.bytes);
            all.sent_ns.push(ns(activity.sent_at(message).unwrap_or(op.started)));
            all.handed_ns.push(ns(handed.at));
            all.arrived_ns.push(ns(arrived.at));
            all.received_ns.push(activity.receive_of(message).map(|receive| ns(activity.op(receive).ended)));
        }
    }
    all
}

fn path(steps: &[Step]) -> TimelinePath {
    let kind = |step: &Step| match step.kind {
        StepKind::Computing => 0,
        StepKind::Overhead => 1,
        StepKind::Message(..) | StepKind::Unknown => 2,
        StepKind::Noise => 3,
    };
    TimelinePath {
        kind: steps.iter().map(kind).collect(),
        from: steps.iter().map(|step| step.from).collect(),
        to: steps.iter().map(|step| step.rank).collect(),
        begin_ns: steps.iter().map(|step| ns(step.begin)).collect(),
        end_ns: steps.iter().map(|step| ns(step.end)).collect(),
    }
}
