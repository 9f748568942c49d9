//! One experiment in both simulators.

use std::collections::BTreeSet;

use fabric::catalogue::{Arbitration as Rule, CreditReturn, CreditRule, InputQueueing, RouterSpec};
use sim::{Experiment, PointResult, RunOptions, System, run};
use testkit::oracle::{
    self, Arbitration, Architecture, CombineUnit, Credits, Flow, Groups, Link, Mutant, Network, Outcome, ReceiveBuffer,
    RouterModel, Window, draws_nothing, simulate,
};
use topology::ChannelClass;
use units::{ChannelId, NodeId, RouterId, TaskId};

use crate::case::Case;
use crate::work::Message;

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
    compare_with(case, None)
}

/// Runs an experiment in both simulators, the naive one with a planted mistake.
pub fn compare_with(case: &Case, mutant: Option<Mutant>) -> Verdict {
    case.with_files(|| {
        let experiment = Experiment::load(&case.text(), "test.toml", &case.folder, &[]);
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}\n{case}"));
        let system = match System::build(&experiment.points()[0].spec, &case.folder) {
            Ok(system) => system,
            Err(error) => return Verdict::Left(format!("refused: {}", error.key)),
        };
        let jobs: Vec<oracle::Job> = (0..case.jobs.len()).map(|job| job_of(case, &system, job)).collect();
        if system.spec.router.counts_crosspoints() && takes_turns(&system) {
            return Verdict::Left("the sender takes the turns".to_owned());
        }
        if !jobs.iter().all(|job| draws_nothing_each(&system, job)) {
            return Verdict::Left("draws paths".to_owned());
        }
        if system.refuse_deadlock().is_err() {
            return Verdict::Left("may deadlock".to_owned());
        }
        let behind = if system.spec.node.receive_buffer.is_some() { " before receive buffers" } else { "" };
        let kind = format!("{} on {}{behind}", system.spec.router.kind(), system.network.topology.kind());
        let network = Network { mutant, ..network(case, &system) };
        let Some(outcomes) = expect(&network, &jobs) else {
            return Verdict::Differs(kind, "the oracle has a deadlock".to_owned());
        };
        for (threads, grain) in case.divisions() {
            let options = RunOptions { threads, grain, ..RunOptions::default() };
            let found = run(&system, &options).unwrap_or_else(|error| panic!("{error}\n{case}"));
            if let Some(difference) = difference((case, &system), &outcomes, &found) {
                return Verdict::Differs(kind, format!("{threads} threads: {difference}"));
            }
        }
        Verdict::Agrees(kind)
    })
}

fn node(system: &System, job: usize, task: u32) -> NodeId {
    system.jobs[job].workload.placement().node(TaskId(task))
}

/// A job as the oracle takes it: messages between nodes.
fn job_of(case: &Case, system: &System, number: usize) -> oracle::Job {
    let job = &case.jobs[number];
    let phase = |messages: &Vec<Message>| {
        let mut flows = vec![Vec::new(); system.network.topology.nodes() as usize];
        for Message { from, to, bytes } in messages {
            let src = node(system, number, *from);
            let to: BTreeSet<NodeId> = to.iter().map(|&task| node(system, number, task)).collect();
            let to: Vec<NodeId> = to.into_iter().filter(|&dst| dst != src).collect();
            if !to.is_empty() {
                flows[src.index()].push(Flow { to, bytes: *bytes });
            }
        }
        flows
    };
    let phases = job.messages().iter().map(phase).collect();
    let window = job.window.map(|(bytes, ack)| Window { bytes, ack });
    oracle::Job { start: job.start, phases, allreduce: job.allreduce(), window }
}

/// Whether routers choose outputs in turn.
fn takes_turns(system: &System) -> bool {
    let routing = serde_json::to_string(&system.spec.routing).unwrap();
    routing.contains("round-robin")
}

fn draws_nothing_each(system: &System, job: &oracle::Job) -> bool {
    let known = |src, dst| draws_nothing(&*system.network.topology, &*system.network.routing, src, dst);
    let nodes = || (0..).map(NodeId);
    job.phases.iter().all(|flows| {
        nodes().zip(flows).all(|(src, flows)| flows.iter().flat_map(|flow| &flow.to).all(|&dst| known(src, dst)))
    })
}

/// What the oracle says of each job. A job that is alone begins each phase in an idle network.
fn expect(network: &Network<'_>, jobs: &[oracle::Job]) -> Option<Vec<Outcome>> {
    let [job] = jobs else { return simulate(network, jobs) };
    let mut all = Outcome { channel_bytes: vec![0; network.channels()], ..Outcome::default() };
    for phase in &job.phases {
        let alone = oracle::Job { phases: vec![phase.clone()], ..job.clone() };
        for outcome in simulate(network, &[alone])? {
            all.arrivals.extend(outcome.arrivals);
            all.channel_bytes.iter_mut().zip(outcome.channel_bytes).for_each(|(all, own)| *all += own);
            all.packets += outcome.packets;
            all.hops += outcome.hops;
        }
    }
    Some(vec![all])
}

/// The first difference of a result from what the oracle says.
fn difference((case, system): (&Case, &System), outcomes: &[Outcome], found: &PointResult) -> Option<String> {
    for (job, want) in outcomes.iter().enumerate() {
        let found = found.jobs.get(job).map_or(found, |own| &own.point);
        if let Some(difference) = job_difference((case, system), job, want, found) {
            return Some(format!("job {job}: {difference}"));
        }
    }
    // Acknowledgements go on when the last packet has arrived, as long as the run is not stopped.
    let hops: u64 = outcomes.iter().map(|outcome| outcome.hops).sum();
    (!has_acknowledgements(case) && found.packet_hops != hops)
        .then(|| format!("{} hops, not {hops}", found.packet_hops))
}

fn has_acknowledgements(case: &Case) -> bool {
    case.jobs.iter().any(|job| job.window.is_some_and(|(_, ack)| ack.is_some()))
}

fn job_difference((case, system): (&Case, &System), job: usize, want: &Outcome, found: &PointResult) -> Option<String> {
    let closed = found.closed()?;
    let ns = |picoseconds: u64| picoseconds as f64 / 1e3;
    for (number, (arrivals, got)) in want.arrivals.iter().zip(&closed.phases).enumerate() {
        let time = ns(arrivals.iter().copied().max().unwrap_or(0));
        if got.time_ns != Some(time) {
            return Some(format!("phase {number} takes {:?} ns, not {time}", got.time_ns));
        }
    }
    let compute = computation(case, system, job);
    for (rank, &got) in closed.per_rank.iter().enumerate() {
        let node = node(system, job, rank as u32).index();
        let time = ns(compute + want.arrivals.iter().map(|arrivals| arrivals[node]).sum::<u64>());
        if got != Some(time) {
            return Some(format!("rank {rank} on node {node} is done at {got:?} ns, not {time}"));
        }
    }
    if found.packets != want.packets {
        return Some(format!("{} packets, not {}", found.packets, want.packets));
    }
    if has_acknowledgements(case) { None } else { channel_difference(system, want, found) }
}

/// Picoseconds of the node that computes longest for a job.
fn computation(case: &Case, system: &System, job: usize) -> u64 {
    let on_node = |node| system.jobs[job].workload.placement().tasks(NodeId(node)).len() as u64;
    // Every task has a load of 1 in each graph, and the loads of graphs add up.
    (0..system.network.topology.nodes()).map(on_node).max().unwrap_or(0)
        * case.jobs[job].messages().len() as u64
        * case.jobs[job].time_per_load
}

/// The first channel with other bytes. A result has the share of time in which it sends.
fn channel_difference(system: &System, want: &Outcome, found: &PointResult) -> Option<String> {
    let span = found.measured_ns * 1e3 / system.network.plan.tick().0 as f64;
    let packet = system.packets().packet;
    for (channel, &want) in want.channel_bytes.iter().enumerate() {
        let class = match system.network.plan.channels().source(ChannelId(channel as u32)) {
            topology::ChannelSource::Router(router, port) => system.network.topology.class(router, port),
            topology::ChannelSource::Node(..) => ChannelClass::INJECTION,
        };
        let full = system.network.plan.serialization(class, packet) as f64;
        let got = found.channel_utilization[channel] * span / full * f64::from(packet);
        if got.round() as u64 != want {
            return Some(format!("channel {channel} carried {got} bytes, not {want}"));
        }
    }
    None
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
    let (topology, plan) = (&*system.network.topology, &*system.network.plan);
    let classes = (0..topology.class_names().len() as u8).map(ChannelClass);
    let router = |router: u32| {
        let set = plan.router_sets().number(RouterId(router));
        RouterModel {
            architecture: architecture(plan.router_sets().keys(RouterId(router)), plan.inner_buffer_bytes(set).into()),
            buffers: classes.clone().map(|class| u64::from(plan.buffer_bytes(class, set))).collect(),
            delay: plan.router_delay(RouterId(router)) * plan.tick().0,
        }
    };
    Network {
        topology,
        routing: &*system.network.routing,
        links: system.network.topology.class_names().into_iter().map(link).collect(),
        routers: (0..topology.routers()).map(router).collect(),
        vcs: common.vcs,
        frees_at_tail: common.credit_return == CreditReturn::Tail,
        packet: case.packet,
        receive_buffer: system.spec.node.receive_buffer.map(|depth| ReceiveBuffer {
            depth: bytes(depth),
            drain: system.spec.node.drain.map_or_else(|| link("ejection").bandwidth, |drain| drain.0),
        }),
        groups: system.network.plan.groups().and_then(groups),
        mutant: None,
    }
}

/// Groups and combine units as the oracle takes them.
fn groups(spec: &fabric::GroupsSpec) -> Option<Groups<'_>> {
    let fabric::CombineSpec { cycle, header_cycles, word, words_per_cycle, window, .. } = spec.units?;
    let units = CombineUnit {
        cycle: cycle.0,
        header_cycles: u64::from(header_cycles),
        word: word.0,
        words_per_cycle: u64::from(words_per_cycle),
        window,
    };
    Some(Groups { trees: &spec.trees, units })
}

fn architecture(router: &RouterSpec, inner: u64) -> Architecture {
    let arbitration = |rule: Rule| match rule {
        // Packets of groups are not mixed with others, so that both are the same.
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
