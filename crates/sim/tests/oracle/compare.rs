//! One experiment in both simulators.

use fabric::catalogue::{Arbitration as Rule, CreditReturn, CreditRule, InputQueueing, RouterSpec};
use sim::{Experiment, PointResult, RunOptions, System, run};
use testkit::oracle::{
    Arbitration, Architecture, Credits, Flow, Link, Network, Outcome, ReceiveBuffer, has_one_path, simulate,
};
use topology::ChannelClass;
use units::{ChannelId, NodeId, TaskId};

use crate::case::Case;

/// What became of a comparison.
pub enum Verdict {
    /// Both say the same, of a network of this kind.
    Agrees(String),
    /// They were not compared, and why.
    Left(String),
    /// They differ: of what kind, and how.
    Differs(String, String),
}

/// Runs an experiment in both simulators.
pub fn compare(case: &Case) -> Verdict {
    case.with_files(|| {
        let experiment = Experiment::load(&case.text(), "test.toml", &case.folder, &[]);
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}\n{case}"));
        let system = match System::build(&experiment.points()[0].spec, &case.folder) {
            Ok(system) => system,
            Err(error) => return Verdict::Left(format!("refused: {}", error.key)),
        };
        let node = |task| system.jobs[0].workload.placement().node(TaskId(task));
        let one_path = |src, dst| has_one_path(&*system.network.topology, &*system.network.routing, src, dst);
        if !case.messages().into_iter().flatten().all(|(from, to, _)| one_path(node(from), node(to))) {
            return Verdict::Left("has several paths".to_owned());
        }
        if system.refuse_deadlock().is_err() {
            return Verdict::Left("may deadlock".to_owned());
        }
        let behind = if system.spec.node.receive_buffer.is_some() { " before receive buffers" } else { "" };
        let kind = format!("{} on {}{behind}", system.spec.router.kind(), system.network.topology.kind());
        let want = Expected::of(case, &system);
        for (threads, grain) in case.divisions() {
            let options = RunOptions { threads, grain, ..RunOptions::default() };
            let found = run(&system, &options).unwrap_or_else(|error| panic!("{error}\n{case}"));
            if let Some(difference) = want.difference(&system, &found) {
                return Verdict::Differs(kind, format!("{threads} threads: {difference}"));
            }
        }
        Verdict::Agrees(kind)
    })
}

/// Picoseconds of the node that computes longest.
fn computation(case: &Case, system: &System) -> u64 {
    let on_node = |node| system.jobs[0].workload.placement().tasks(NodeId(node)).len() as u64;
    // Every task has a load of 1 in each graph, and the loads of graphs add up.
    (0..system.network.topology.nodes()).map(on_node).max().unwrap_or(0)
        * case.messages().len() as u64
        * case.time_per_load
}

/// What the oracle says.
struct Expected {
    compute: u64,
    phases: Vec<Outcome>,
}

impl Expected {
    fn of(case: &Case, system: &System) -> Self {
        let network = network(case, system);
        let run = |messages: Vec<(u32, u32, u64)>| {
            let mut flows = vec![Vec::new(); system.network.topology.nodes() as usize];
            let node = |task| system.jobs[0].workload.placement().node(TaskId(task));
            for (from, to, bytes) in messages.into_iter().filter(|&(from, to, _)| node(from) != node(to)) {
                flows[node(from).index()].push((from, Flow { dst: node(to), bytes }));
            }
            // Tasks of a node in ascending order.
            flows.iter_mut().for_each(|flows| flows.sort_by_key(|&(from, _)| from));
            let flows: Vec<Vec<Flow>> =
                flows.into_iter().map(|of| of.into_iter().map(|(_, flow)| flow).collect()).collect();
            simulate(&network, &flows).unwrap_or_else(|| panic!("the oracle has a deadlock\n{case}"))
        };
        Self { compute: computation(case, system), phases: case.messages().into_iter().map(run).collect() }
    }

    /// The first difference to a result.
    fn difference(&self, system: &System, found: &PointResult) -> Option<String> {
        let closed = found.closed.as_ref()?;
        let ns = |picoseconds: u64| picoseconds as f64 / 1e3;
        for (number, (want, got)) in self.phases.iter().zip(&closed.phases).enumerate() {
            let time = ns(want.arrivals.iter().copied().max().unwrap_or(0));
            if got.time_ns != Some(time) {
                return Some(format!("phase {number} takes {:?} ns, not {time}", got.time_ns));
            }
        }
        for (rank, &got) in closed.per_rank.iter().enumerate() {
            let node = system.jobs[0].workload.placement().node(TaskId(rank as u32)).index();
            let time = ns(self.compute + self.phases.iter().map(|phase| phase.arrivals[node]).sum::<u64>());
            if got != Some(time) {
                return Some(format!("rank {rank} on node {node} is done at {got:?} ns, not {time}"));
            }
        }
        let packets: u64 = self.phases.iter().map(|phase| phase.packets).sum();
        let hops: u64 = self.phases.iter().map(|phase| phase.hops).sum();
        if (found.packets, found.packet_hops) != (packets, hops) {
            return Some(format!("{} packets, {} hops, not {packets}, {hops}", found.packets, found.packet_hops));
        }
        self.channel_difference(system, found)
    }

    /// The first channel with other bytes. A result has the share of time in which it sends.
    fn channel_difference(&self, system: &System, found: &PointResult) -> Option<String> {
        let span = found.measured_ns * 1e3 / system.network.plan.tick().0 as f64;
        let packet = system.packets().packet;
        for channel in 0..system.network.plan.channels().count() {
            let want: u64 = self.phases.iter().map(|phase| phase.channel_bytes[channel as usize]).sum();
            let class = match system.network.plan.channels().source(ChannelId(channel)) {
                topology::ChannelSource::Router(router, port) => system.network.topology.class(router, port),
                topology::ChannelSource::Node(..) => ChannelClass::INJECTION,
            };
            let full = system.network.plan.serialization(class, packet) as f64;
            let got = found.channel_utilization[channel as usize] * span / full * f64::from(packet);
            if got.round() as u64 != want {
                return Some(format!("channel {channel} carried {got} bytes, not {want}"));
            }
        }
        None
    }
}

/// The system as the oracle takes it.
fn network<'a>(case: &Case, system: &'a System) -> Network<'a> {
    let common = system.spec.router.common();
    let link = |class: &str| {
        let (bandwidth, delay) = system.spec.link.of_class(class);
        Link { bandwidth: bandwidth.0, delay: delay.0 }
    };
    let bytes = |capacity: units::Capacity| match capacity {
        units::Capacity::Packets(packets) => packets as u64 * case.packet,
        units::Capacity::Bytes(bytes) => bytes.0,
    };
    let classes = (0..system.network.topology.class_names().len() as u8).map(ChannelClass);
    Network {
        topology: &*system.network.topology,
        routing: &*system.network.routing,
        links: system.network.topology.class_names().into_iter().map(link).collect(),
        architecture: architecture(&system.spec.router, u64::from(system.network.plan.inner_buffer_bytes())),
        vcs: common.vcs,
        buffers: classes.clone().map(|class| u64::from(system.network.plan.buffer_bytes(class))).collect(),
        delay: system.network.plan.router_delay() * system.network.plan.tick().0,
        frees_at_tail: common.credit_return == CreditReturn::Tail,
        packet: case.packet,
        receive_buffer: system.spec.node.receive_buffer.map(|depth| ReceiveBuffer {
            depth: bytes(depth),
            drain: system.spec.node.drain.map_or_else(|| link("ejection").bandwidth, |drain| drain.0),
        }),
    }
}

fn architecture(router: &RouterSpec, inner: u64) -> Architecture {
    let arbitration = |rule: Rule| match rule {
        // Without groups both are the same.
        Rule::RoundRobin | Rule::GroupsFirst => Arbitration::RoundRobin,
        Rule::OldestFirst => Arbitration::OldestFirst,
        Rule::Random => panic!("the oracle draws nothing"),
    };
    match router {
        RouterSpec::OutputQueued(spec) => {
            let credits = match spec.credits {
                CreditRule::RowCounter => Credits::RowCounter,
                CreditRule::RowMinimum => Credits::RowMinimum,
                CreditRule::PerCrosspoint => Credits::PerCrosspoint,
            };
            Architecture::OutputQueued(credits, arbitration(spec.arbitration))
        }
        RouterSpec::InputQueued(spec) => Architecture::InputQueued(arbitration(spec.arbitration)),
        RouterSpec::VirtualOutputQueued(spec) => Architecture::VirtualOutputQueued(spec.iterations),
        RouterSpec::InputOutputQueued(spec) => Architecture::InputOutputQueued {
            arbitration: arbitration(spec.arbitration),
            speedup: u64::from(spec.speedup),
            output_buffer: inner,
        },
        RouterSpec::InputCrosspointQueued(spec) => Architecture::InputCrosspointQueued {
            arbitration: arbitration(spec.arbitration),
            fifo: spec.queueing == InputQueueing::Fifo,
            crosspoint: inner,
        },
        RouterSpec::SharedBuffer(spec) => {
            Architecture::SharedBuffer { arbitration: arbitration(spec.arbitration), memory: inner, alpha: spec.alpha }
        }
    }
}
