//! Building and running small experiments.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fabric::Grain;
use fabric::catalogue::{OutputQueuedSpec, RouterSpec};
use sim::{Experiment, ExperimentSpec, PointResult, RunError, RunOptions, System, WorkloadSpec, run};
use topology::{ChannelClass, TopologySpec};
use units::{Bytes, Capacity, KeyError, NodeId, Time};

/// Every architecture of routers, as the experiment file names it.
pub const ROUTERS: [&str; 6] = [
    "output-queued",
    "input-queued",
    "virtual-output-queued",
    "input-output-queued",
    "shared-buffer",
    "input-crosspoint-queued",
];

/// The folder that the paths in these tests' experiments start from.
fn base() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system")
}

/// `count` nodes of some endpoints with a switch inside each node, and a rail for each endpoint of a node, with the
/// link of each network and further keys.
pub fn nodes_with_rails((endpoints, count): (u32, u32), [inside, rail]: [&str; 2], keys: &str) -> String {
    format!(
        r#"
        node = {{ endpoints = {endpoints}, count = {count} }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        {keys}
        [[network]]
        name = "inside"
        topology = "single-switch:{endpoints}"
        link = {{ {inside} }}
        [[network]]
        name = "rail"
        topology = "single-switch:{count}"
        order = "by-rail"
        link = {{ {rail} }}
        "#
    )
}

/// The system of an experiment's first point, or why there is none: a key and a message.
pub fn build(text: &str) -> Result<System, KeyError> {
    let experiment = Experiment::load(text, "test.toml", &base(), &[])
        .map_err(|error| KeyError::new(&*error.key, &error.message))?;
    let mut spec = experiment.points()[0].spec.clone();
    // A flat network has neither routers nor packets.
    if !matches!(spec.topology.topology, TopologySpec::Flat(_)) {
        if !text.contains("router = {") && !text.contains("[router]") {
            spec.router = RouterSpec::OutputQueued(OutputQueuedSpec::default());
        }
        fix(&mut spec);
    }
    System::build(&spec, &base())
}

/// The system of an experiment's first point, with the defaults where it leaves keys out.
pub fn build_by_default(text: &str) -> Result<System, KeyError> {
    let experiment = Experiment::load(text, "test.toml", &base(), &[])
        .map_err(|error| KeyError::new(&*error.key, &error.message))?;
    System::build(&experiment.points()[0].spec, &base())
}

/// Writes the parameters that these tests' expectations are worked out for where their texts leave them out: packets of
/// 256 B, routers with a delay of 90 ns, and buffers that do not depend on the links.
fn fix(spec: &mut ExperimentSpec) {
    let jobs = spec.jobs.iter_mut().map(|job| &mut job.workload);
    for workload in spec.workload.iter_mut().chain(jobs) {
        let size = match workload {
            WorkloadSpec::Traffic(spec) => &mut spec.packet_size,
            WorkloadSpec::Exchange(spec) => &mut spec.packet_size,
            WorkloadSpec::Collective(spec) => &mut spec.packet_size,
            WorkloadSpec::Application(spec) => &mut spec.packet_size,
            WorkloadSpec::Benchmark(spec) => &mut spec.packet_size,
            WorkloadSpec::Program(spec) => &mut spec.packet_size,
        };
        size.get_or_insert(Bytes(256));
    }
    if let RouterSpec::SharedBuffer(spec) = &mut spec.router {
        spec.memory.get_or_insert(Capacity::Packets(1024));
    }
    let packets = spec.router.least_packets();
    let keys = spec.router.size_keys();
    keys.buffer.get_or_insert(Capacity::Packets(packets).into());
    keys.delay.get_or_insert(Time(90_000));
}

/// The result of an experiment's first point.
pub fn run_on(text: &str, threads: usize) -> Result<PointResult, RunError> {
    run(&build(text)?, &RunOptions { threads, ..RunOptions::default() })
}

/// The same, where it has to work.
pub fn result(text: &str) -> PointResult {
    run_on(text, 1).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Everything that a run says but its wall-clock time, as text that differs if a bit of it does.
pub fn digest(text: &str, threads: usize) -> String {
    digest_of(text, threads, Grain::Fine)
}

/// The same of a run whose threads have more than one partition each.
pub fn digest_of(text: &str, threads: usize, grain: Grain) -> String {
    let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    as_text(&run_divided(&system, threads, grain))
}

/// The result of a system on so many threads and partitions, without the wall-clock time.
pub fn run_divided(system: &System, threads: usize, grain: Grain) -> PointResult {
    // `Grain::Fine` does not divide small flat networks.
    let is_flat = system.network.topology.kind() == "flat";
    let grain = if is_flat && grain == Grain::Fine { Grain::Exactly(1) } else { grain };
    let options = RunOptions { threads, grain, ..RunOptions::default() };
    let mut found = run(system, &options).unwrap_or_else(|error| panic!("{error}"));
    found.wall_s = 0.0;
    found.jobs.iter_mut().for_each(|job| job.point.wall_s = 0.0);
    found
}

/// A result as text that differs if a bit of it does.
pub fn as_text(found: &PointResult) -> String {
    serde_json::to_string(found).unwrap()
}

/// A file in the temporary folder, which goes when this does.
pub struct Held(PathBuf);

impl Held {
    /// A file of a text.
    pub fn new(name: &str, text: &str) -> Self {
        // Tests run side by side, and two may have a file of one name.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cutthrough-{}-{number}-{name}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    /// Its path, as experiments name it.
    pub fn display(&self) -> std::path::Display<'_> {
        self.0.display()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A traffic matrix in a file of its own, which goes when this does.
pub struct Matrix(Held);

impl Matrix {
    /// Lines of source, destination and weight.
    pub fn new(name: &str, lines: &[(u32, u32, f64)]) -> Self {
        let lines: String = lines.iter().map(|(src, dst, weight)| format!("{src},{dst},{weight}\n")).collect();
        Self(Held::new(name, &format!("src,dst,weight\n{lines}")))
    }

    /// One node that sends to one other.
    pub fn pair(name: &str, src: u32, dst: u32) -> Self {
        Self::new(&format!("{name}-{src}-{dst}"), &[(src, dst, 1.0)])
    }

    /// The pattern of an experiment.
    pub fn pattern(&self) -> String {
        format!("{{ kind = \"matrix\", path = '{}' }}", self.0.display())
    }
}

/// Routers on shortest paths, on average over the messages of a system's pattern.
pub fn mean_distance(system: &System) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for src in (0..system.network.topology.nodes()).map(NodeId) {
        let to = |&(dst, share): &(NodeId, f64)| share * f64::from(system.network.topology.routers_between(src, dst));
        sum +=
            system.weight(src) * system.jobs[0].workload.demand().pattern.distribution(src).iter().map(to).sum::<f64>();
        weights += system.weight(src);
    }
    sum / weights
}

/// What packets take on average that meet no others, through a mean number of routers: linear in it where all wires are
/// alike, and less than that if those between routers are the slowest. Of a message that ends in a short packet, none
/// is faster than that one.
pub fn idle_ns(system: &System, routers: f64) -> f64 {
    let ns = |ticks| system.picoseconds(ticks) as f64 / 1e3;
    let one = system.zero_load_latency(1);
    let hop = system.zero_load_latency(3) - system.zero_load_latency(2);
    let (packet, rest) = (system.packets().packet, system.packets().message % u64::from(system.packets().packet));
    let time = |bytes| system.network.plan.serialization(ChannelClass::EJECTION, bytes);
    let spared = if rest > 0 { time(packet) - time(rest as u32) } else { 0 };
    ns(one - spared) + ns(hop) * (routers - 1.0)
}
