//! One run: warm up, measure, drain.
//!
//! Time is cut into batches of a fixed length, and every decision is taken at the end of a batch from counts of whole
//! partitions, so that it cannot depend on threads. A run warms up until MSER-5 finds the end of the transient in the
//! batches' latencies and accepted loads (or for as long as the experiment says), then measures until the confidence
//! interval of the mean latency is narrow enough, then lets the packets that were born in the measured interval arrive,
//! with the load kept up behind them.
//!
//! *Saturated*: the accepted load of some source is below 0.97 of what it has offered in the same time, by more than its
//! confidence interval at a level shared among all sources (Bonferroni). Past saturation source queues grow without end; the latency is
//! then that of the packets delivered in the interval, and the run ends when the accepted load is known.

use engine::statistics::{self, Batch as Mean, Estimate};
use fabric::{Batch, Grain};
use units::NodeId;
use workload::InjectionSpec;

use crate::benchmark;
use crate::clock::Stopwatch;
use crate::closed;
use crate::experiment::WarmUp;
use crate::machine::{self, Machine};
use crate::progress::{Phase, Progress};
use crate::result::{Measured, PointResult};
use crate::sources::Sources;
use crate::system::{Closed, System, SystemError};
use crate::traffic::{NodeTraffic, OpenTraffic};

/// Below this share of its offered load a source counts as held back.
pub const SATURATED_BELOW: f64 = 0.97;

/// Batches before the warm-up may end, and before measuring may.
const FEWEST_BATCHES: usize = 64;
/// Batches after which the warm-up ends even if no steady state was found.
const LONGEST_WARM_UP: usize = 400;
/// Batches of the measured interval after which a run ends even if it is not precise, unless the experiment says when.
const LONGEST_MEASURE: usize = 4096;
/// Packets that a batch should hold on average.
const PACKETS_A_BATCH: f64 = 2048.0;
/// Batches in one observation of the sources' accepted loads. Runs move on by so many at the most.
const BATCHES_AN_OBSERVATION: usize = 8;
/// Batches without a packet delivered, with packets in the network, that count as a standstill; more where batches are
/// shorter than ways.
pub(crate) const STANDSTILL: u32 = 16;

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The experiment cannot be built.
    #[error(transparent)]
    System(#[from] SystemError),
    /// Nothing moves any more.
    #[error("deadlock at {at_ns} ns: {in_flight} packets are in the network and none moves\n{cycle}")]
    Deadlock {
        /// Simulated time, in nanoseconds.
        at_ns: u64,
        /// Packets in the network.
        in_flight: i64,
        /// Which packet holds which buffer and waits for which.
        cycle: String,
    },
    /// The watcher has asked for it.
    #[error("the run was cancelled")]
    Cancelled,
}

/// How a run is carried out; of no consequence for its result.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads, at least 1.
    pub threads: usize,
    /// Partitions of a thread.
    pub grain: Grain,
    /// Who watches.
    pub progress: Progress,
}

/// Runs a system at its load.
///
/// # Errors
/// A routing that may deadlock, a deadlock, or the watcher's wish.
pub fn run(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    options.progress.set(Phase::Setup, 0.0);
    system.refuse_deadlock()?;
    simulate(system, options)
}

/// Runs a system that is known not to deadlock.
pub(crate) fn simulate(system: &System, options: &RunOptions) -> Result<PointResult, RunError> {
    match &system.closed {
        Some(Closed::Volumes(volumes)) => return closed::run(system, volumes, options),
        Some(Closed::Benchmark(benchmark)) => return benchmark::run(system, benchmark, options),
        None => {}
    }
    let sources = system.sources();
    let traffic = |nodes: &[u32]| NodeTraffic::Open(OpenTraffic::new(&sources, nodes));
    let machine = machine::build(system, options, traffic);
    let watch = Stopwatch::start();
    let mut run = Run::new(system, machine, &options.progress);
    run.warm_up()?;
    run.measure()?;
    run.drain()?;
    let measured = run.finish();
    options.progress.set(Phase::Done, 1.0);
    Ok(PointResult::new(system, measured, watch.seconds()))
}

struct Run<'a> {
    system: &'a System,
    machine: Box<dyn Machine>,
    progress: &'a Progress,
    /// Length of a batch, in ticks.
    batch: u64,
    now: u64,
    /// Accepted load that all sources together would have at load 1.0, in bytes a batch.
    capacity: f64,
    /// Batches without a packet delivered, with packets in the network, and how many of them are a standstill.
    still: u32,
    patience: u32,
    /// Start and end of the measured interval.
    measured: (u64, u64),
    batches: Vec<Batch>,
    sources: Sources,
    settled: bool,
    converged: bool,
    drained: bool,
    saturated: bool,
    packet_hops: u64,
}

impl<'a> Run<'a> {
    fn new(system: &'a System, machine: Box<dyn Machine>, progress: &'a Progress) -> Self {
        let batch = batch_length(system);
        let weights = weights(system);
        let bytes = injection_bytes(system, batch);
        Self {
            system,
            machine,
            progress,
            batch,
            now: 0,
            capacity: weights.iter().sum::<f64>() * bytes,
            still: 0,
            patience: STANDSTILL.max((2 * longest_way(system) / batch) as u32),
            measured: (0, 0),
            batches: Vec::new(),
            sources: Sources::new(
                weights,
                system.traffic.injection == InjectionSpec::Backlogged,
                bytes * BATCHES_AN_OBSERVATION as f64,
            ),
            settled: false,
            converged: false,
            drained: false,
            saturated: false,
            packet_hops: 0,
        }
    }

    /// Moves on by some batches, and looks whether anything still moves: the counts of each.
    fn step(&mut self, batches: usize) -> Result<Vec<Batch>, RunError> {
        self.move_to(self.now + self.batch * batches as u64)
    }

    fn move_to(&mut self, time: u64) -> Result<Vec<Batch>, RunError> {
        if self.progress.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let mut in_flight = self.machine.in_flight();
        let all = self.machine.advance(time, self.batch);
        self.now = time;
        for counts in &all {
            self.packet_hops += counts.hops;
            in_flight += counts.entered as i64 - counts.packets as i64;
            self.still = if counts.packets == 0 && in_flight > 0 { self.still + 1 } else { 0 };
        }
        if self.still > self.patience {
            return Err(deadlock(self.system, &mut *self.machine, self.now));
        }
        Ok(all)
    }

    fn warm_up(&mut self) -> Result<(), RunError> {
        if let WarmUp::Fixed(time) = self.system.spec.measure.warm_up {
            let end = time.0.div_ceil(self.system.plan.tick().0);
            while self.now < end {
                self.move_to(end.min(self.now + self.batch * BATCHES_AN_OBSERVATION as u64))?;
                self.progress.set(Phase::WarmUp, 0.2 * self.now as f64 / end as f64);
            }
            self.settled = true;
            return Ok(());
        }
        let (mut latency, mut accepted) = (Vec::new(), Vec::new());
        let mut look = FEWEST_BATCHES;
        let ends = |now: u64, count: usize, last: u64| count >= LONGEST_WARM_UP || now >= last / 2;
        while !ends(self.now, latency.len(), self.last_tick()) {
            let (now, before, last) = (self.now, latency.len(), self.last_tick());
            let decides = |n: usize| before + n >= look || ends(now + n as u64 * self.batch, before + n, last);
            let stops = |n: usize| n >= BATCHES_AN_OBSERVATION || decides(n);
            for counts in self.step(until(stops))? {
                // A batch without deliveries says nothing of the latency: it repeats what was.
                let mean = counts.latency as f64 / counts.packets as f64;
                latency.push(if counts.packets == 0 { latency.last().copied().unwrap_or(0.0) } else { mean });
                accepted.push(counts.bytes as f64);
            }
            self.progress.set(Phase::WarmUp, 0.2 * latency.len() as f64 / look as f64);
            if latency.len() >= look {
                if statistics::mser5(&latency).settled && statistics::mser5(&accepted).settled {
                    self.settled = true;
                    break;
                }
                look += look / 2;
            }
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<(), RunError> {
        self.measured = (self.now, self.now);
        self.machine.measure_from(self.now);
        self.sources.begin(self.machine.progress_by_source(), self.now);
        let shortest = self.system.spec.measure.min_time.map_or(0, |time| time.0 / self.system.plan.tick().0);
        let mut look = FEWEST_BATCHES;
        let longest = if self.system.spec.measure.max_time.is_some() { usize::MAX } else { LONGEST_MEASURE };
        let (start, batch, last) = (self.now, self.batch, self.last_tick());
        let span = |count: usize| count as u64 * batch;
        let ends =
            |count: usize| count > 0 && (count >= longest && span(count) >= shortest || start + span(count) >= last);
        let looks = |count: usize, look: usize| count >= look && span(count) >= shortest;
        while !self.converged && !ends(self.batches.len()) {
            let before = self.batches.len();
            let observes = |count: usize| count.is_multiple_of(BATCHES_AN_OBSERVATION);
            let stops = |n: usize| observes(before + n) || looks(before + n, look) || ends(before + n);
            let counts = self.step(until(stops))?;
            self.batches.extend(counts);
            let count = self.batches.len();
            if observes(count) {
                let delivered = self.machine.by_source();
                self.sources.observe(delivered, self.machine.progress_by_source(), self.now);
            }
            let done = count as f64 / look as f64;
            self.progress.set(Phase::Measuring, 0.2 + 0.7 * done.min(1.0) * self.closeness());
            if looks(count, look) {
                self.converged = self.is_precise();
                look += look / 4;
            }
        }
        self.measured.1 = self.now;
        self.machine.measure_until(self.now);
        self.saturated = self.is_saturated();
        Ok(())
    }

    /// How near the precision is, 0 to 1: the time that has been needed over the time that will have been.
    fn closeness(&self) -> f64 {
        if self.batches.len() < FEWEST_BATCHES {
            return 0.5;
        }
        let ratio = self.system.spec.measure.precision / self.latency().relative_half_width();
        (ratio * ratio).clamp(0.3, 1.0)
    }

    fn is_precise(&self) -> bool {
        let precision = self.system.spec.measure.precision;
        let latency = self.latency();
        if latency.independent && latency.relative_half_width() <= precision {
            return true;
        }
        // Past saturation the latency has no mean; the accepted load has.
        let accepted = self.accepted();
        accepted.relative_half_width() <= precision && self.is_saturated()
    }

    fn is_saturated(&self) -> bool {
        let (load, confidence) = (self.system.traffic.load, self.system.spec.measure.confidence);
        let accepted = self.accepted();
        accepted.mean + accepted.half_width < SATURATED_BELOW * load || self.sources.held_back(confidence)
    }

    /// Mean latency of the packets delivered in the measured interval, in ticks.
    fn latency(&self) -> Estimate {
        let batch = |b: &Batch| Mean { sum: b.latency as f64, weight: b.packets as f64 };
        self.estimate(batch)
    }

    /// Accepted load.
    fn accepted(&self) -> Estimate {
        self.estimate(|b: &Batch| Mean { sum: b.bytes as f64 / self.capacity, weight: 1.0 })
    }

    fn estimate(&self, of: impl Fn(&Batch) -> Mean) -> Estimate {
        let batches: Vec<Mean> = self.batches.iter().map(of).collect();
        statistics::estimate(&batches, self.system.spec.measure.confidence)
    }

    /// Lets the measured packets arrive. Past saturation the last of them never would.
    fn drain(&mut self) -> Result<(), RunError> {
        let longest = self.now + 2 * (self.measured.1 - self.measured.0) + 64 * self.batch;
        let start = self.now;
        // Where batches are short, several at once: the last packet is on its way for some time.
        let batches = (longest_way(self.system) / 4 / self.batch).max(1) as usize;
        while self.machine.outstanding(self.measured.1) {
            if self.saturated || self.now > longest {
                return self.refuse_cycle();
            }
            self.step(batches)?;
            let part = (self.now - start) as f64 / (longest - start) as f64;
            self.progress.set(Phase::Draining, 0.9 + 0.1 * part);
        }
        self.drained = true;
        Ok(())
    }

    /// Packets that wait for one another in a cycle are stuck even while others still move.
    ///
    /// Waits that look like a cycle dissolve within a batch or two unless they are one, so it has to last.
    fn refuse_cycle(&mut self) -> Result<(), RunError> {
        let topology = &*self.system.topology;
        let mut stuck = fabric::waiting_cycle(topology, self.machine.waiting());
        for _ in 0..self.patience {
            if stuck.is_empty() {
                return Ok(());
            }
            self.step(1)?;
            let waiting = self.machine.waiting();
            stuck.retain(|packet| waiting.contains(packet));
        }
        if stuck.is_empty() { Ok(()) } else { Err(deadlock(self.system, &mut *self.machine, self.now)) }
    }

    /// The simulated time at which a run ends, in ticks.
    fn last_tick(&self) -> u64 {
        self.system.spec.measure.max_time.map_or(u64::MAX, |time| time.0 / self.system.plan.tick().0)
    }

    fn finish(mut self) -> Measured {
        let (latency, hops) = self.machine.measured();
        let mut delivered = Batch::default();
        for batch in &self.batches {
            delivered.add(batch);
        }
        Measured {
            delivered,
            accepted: self.accepted(),
            // All may have generated less than their load has it; the least is not above the mean.
            accepted_min: self.sources.least(self.system.traffic.load).map(|least| least.min(self.accepted().mean)),
            latency_interval: self.latency(),
            latency,
            hops,
            packet_hops: self.packet_hops,
            span: self.measured,
            end: self.now,
            channel_bytes: self.machine.channel_bytes(),
            measured_to: self.now,
            saturated: self.saturated,
            settled: self.settled,
            converged: self.converged,
            drained: self.drained,
        }
    }
}

/// Nothing moves any more: who waits for whom.
pub(crate) fn deadlock(system: &System, machine: &mut dyn Machine, now: u64) -> RunError {
    let cycle = fabric::waiting_cycle(&*system.topology, machine.waiting());
    let lines: Vec<String> = cycle.iter().map(ToString::to_string).collect();
    RunError::Deadlock {
        at_ns: system.picoseconds(now) / 1000,
        in_flight: machine.in_flight(),
        cycle: if lines.is_empty() {
            "no cycle of packets was found: this is a bug in the simulator".into()
        } else {
            lines.join(";\n") + ";\nthe last waits for a buffer that the first holds"
        },
    }
}

/// The first number, from 1 on, for which something holds.
fn until(holds: impl Fn(usize) -> bool) -> usize {
    (1..).find(|&count| holds(count)).unwrap_or(1)
}

/// A batch is as long as a packet is in the network at the longest, and long enough to deliver some; but where the
/// experiment ends its runs by time, short enough that there are `FEWEST_BATCHES` of them.
fn batch_length(system: &System) -> u64 {
    let slot = system.slot();
    let rate = f64::from(system.topology.nodes()) * system.traffic.load;
    let slots = (PACKETS_A_BATCH / rate).ceil().max(4.0) as u64;
    let packets_a_message = system.packets().message.div_ceil(u64::from(system.packets().packet));
    let wanted = (slot * slots.div_ceil(packets_a_message).max(1)).max(longest_way(system)).next_multiple_of(slot);
    let Some(end) = system.spec.measure.max_time else { return wanted };
    let warm_up = match system.spec.measure.warm_up {
        WarmUp::Fixed(time) => time.0,
        WarmUp::Auto => end.0 / 2,
    };
    let measured = end.0.saturating_sub(warm_up) / system.plan.tick().0;
    wanted.min(measured / FEWEST_BATCHES as u64).max(slot)
}

/// How long a packet that meets no other is on its way at the most, in ticks.
fn longest_way(system: &System) -> u64 {
    system.zero_load_latency(system.routing.max_routers())
}

pub(crate) fn weights(system: &System) -> Vec<f64> {
    (0..system.topology.nodes()).map(|node| system.pattern.weight(NodeId(node))).collect()
}

/// Bytes that one source at load 1.0 sends in a span of ticks.
fn injection_bytes(system: &System, ticks: u64) -> f64 {
    ticks as f64 * system.packets().message as f64 / system.slot() as f64
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Experiment;

    fn system(text: &str) -> System {
        let experiment = Experiment::load(text, "test.toml", Path::new("."), &[]).unwrap();
        System::build(&experiment.points()[0].spec, Path::new(".")).unwrap()
    }

    const RING: &str = r#"
        topology = { kind = "torus", dims = [8] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        router = { kind = "output-queued", buffer = "1 packets", credits = "row-counter", vcs = 1 }
        routing = { kind = "shortest-path", vc_rule = "single" }
        workload = { kind = "traffic", load = 1.0, pattern = "tornado" }
    "#;

    #[test]
    fn a_ring_on_one_virtual_channel_is_refused_with_the_cycle_of_channels() {
        // Would catch a dependency check that is not asked before a run.
        let error = run(&system(RING), &RunOptions::default()).unwrap_err();
        assert!(matches!(&error, RunError::System(error) if error.key == "routing"), "{error}");
        assert!(error.to_string().contains("waits for"), "{error}");
    }

    #[test]
    fn the_watchdog_sees_the_ring_stand_still_and_names_who_waits_for_whom() {
        // Would catch a run that goes on for ever, or ends with a throughput of 0, in a deadlock.
        for threads in [1, 2] {
            let options = RunOptions { threads, ..RunOptions::default() };
            let error = simulate(&system(RING), &options).unwrap_err();
            let RunError::Deadlock { in_flight, cycle, .. } = &error else { panic!("{error}") };
            assert!(*in_flight > 0);
            let links = cycle.matches("holds the buffer of router").count();
            assert!(links == 8, "a ring of 8 routers has a cycle of 8: {cycle}");
        }
    }

    #[test]
    fn a_packet_that_is_long_on_its_way_alone_is_no_deadlock() {
        // A packet every 40 us takes 8 us, which are 26 of the batches that so short a run has. Would catch a watchdog that
        // counts batches in which nothing was on its way, or takes a long way for a standstill.
        let text = r#"
            topology = { kind = "torus", dims = [8] }
            link = { bandwidth = "10 Gb/s", delay = "2 us" }
            router = { kind = "output-queued" }
            workload = { kind = "traffic", load = 0.005, injection = "periodic", pattern = "tornado" }
            measure = { warm_up = "5 us", max_time = "25 us" }
        "#;
        let seeds = (1..20).map(|seed| run(&system(&format!("seed = {seed}\n{text}")), &RunOptions::default()));
        assert!(seeds.map(Result::unwrap).any(|found| found.packets > 0));
    }

    #[test]
    fn a_cancelled_run_ends() {
        // Would catch a run that cannot be interrupted.
        let options = RunOptions::default();
        options.progress.cancel();
        let fine = RING.replace("vc_rule = \"single\"", "vc_rule = \"hops\"").replace(", vcs = 1", "");
        assert_eq!(run(&system(&fine), &options), Err(RunError::Cancelled));
    }
}
