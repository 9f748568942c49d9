//! Steady state of workloads that never end by themselves: warm-up, measurement and drain of a run ([`SteadyRun`]).
//!
//! A [`Sampler`] is the workload's part of it. It counts what has ended in a batch: packets of open traffic, or
//! operations of groups.

use engine::statistics::{self, Batch as Mean, Estimate, Histogram};
use fabric::{Batch, ChannelUse};
use topology::ChannelSource;
use units::{Record, State};

use super::sources::{FEWEST_ARRIVALS, is_below};
use super::{JobCounts, RunContext, RunState, RunTotals, WorkloadRun};
use crate::progress::Phase;
use crate::run::outcome::RunError;
use ::experiment::WarmUp;
use ::network::traffic::JobTraffic;
use ::network::{Machine, Part};
use measure::{KindResult, Latencies, OpenResult, PointResult, Series, channels};

/// Smallest number of batches of the warm-up, and of the measurement.
pub(super) const FEWEST_BATCHES: usize = 64;

/// Largest number of batches of a warm-up that finds no steady state.
pub(super) const LONGEST_WARM_UP: usize = 400;

/// Largest number of measured batches of a run that does not become precise. Overridden by `measure.max_time`.
pub(super) const LONGEST_MEASURE: usize = 4096;

impl RunContext {
    /// Returns the time at which measuring ends at the latest, in ticks.
    fn last(&self) -> u64 {
        self.longest().min(self.span.end)
    }

    /// Returns the end of a warm-up of fixed length, in ticks. None for an automatic warm-up.
    fn fixed_warm_up(&self) -> Option<u64> {
        let WarmUp::Fixed(time) = self.measure.warm_up else { return None };
        let end = self.span.start.saturating_add(time.0.div_ceil(self.network.plan.tick().0));
        Some(if self.shared { end.next_multiple_of(self.batch) } else { end })
    }

    /// Whether the warm-up ends after `count` batches even without a steady state.
    fn warm_up_ends(&self, count: usize, now: u64) -> bool {
        let start = self.span.start;
        count >= LONGEST_WARM_UP || now.saturating_sub(start) >= self.last().saturating_sub(start) / 2
    }

    /// Whether `count` batches reach the minimum that the experiment asks for.
    fn is_long_enough(&self, count: usize) -> bool {
        let shortest = self.measure.min_time.map_or(0, |time| time.0 / self.network.plan.tick().0);
        count as u64 * self.batch >= shortest
    }

    /// Whether the measurement ends after `count` batches even if it is not precise. Ignores the end of the job.
    fn measure_ends(&self, count: usize) -> bool {
        let longest = if self.measure.max_time.is_some() { usize::MAX } else { LONGEST_MEASURE };
        count >= longest && self.is_long_enough(count)
    }

    /// Returns the latest end of the drain after a measurement between two times, in ticks.
    fn longest_drain(&self, (from, to): (u64, u64)) -> u64 {
        to.saturating_add(2 * (to - from)).saturating_add(self.batch.saturating_mul(64))
    }
}

/// End of a measured interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntervalEnd {
    /// The drain follows.
    BeforeDrain,
    /// The run ends too.
    WithRun,
}

/// Workload's part of the measurement of a steady state.
pub(super) trait Sampler: State {
    /// Counts of a batch.
    type Counts: Record;
    /// Largest number of batches from one decision to the next, and number of batches in an observation.
    const STEP: usize;
    /// Whether the measured interval is that of the counted batches. Otherwise batches of the drain count too, and the
    /// interval of a run that ends during its warm-up is empty.
    const IS_EXACT: bool;

    /// Returns the number of ended packets or operations, and the sum of their times.
    fn time_of(counts: &Self::Counts) -> Mean;
    /// Returns the accepted traffic.
    fn amount(counts: &Self::Counts) -> f64;
    /// Context of the run.
    fn context(&self) -> &RunContext;
    /// Offered load.
    fn load(&self) -> f64;
    /// Returns the accepted traffic of a batch at load 1.0.
    fn capacity(&self) -> f64;
    /// Creates the traffic of a partition.
    fn traffic(&self, part: Part<'_>) -> JobTraffic;
    /// Records what has ended since the last call.
    fn collect(&mut self, machine: &mut dyn Machine);
    /// Appends the counts since the last call, in which the batches `ended` have ended.
    fn take(&mut self, ended: &[Batch], counts: &mut Vec<Self::Counts>);
    /// Begins the measured interval.
    fn begin(&mut self, now: u64, machine: &mut dyn Machine);
    /// Observes the machine every [`Self::STEP`] measured batches.
    fn observe(&mut self, _now: u64, _machine: &dyn Machine) {}
    /// Whether the network holds back some source, with statistical confidence.
    fn is_held_back(&self) -> bool {
        false
    }
    /// Ends the measured interval.
    fn end(&mut self, interval: (u64, u64), machine: &dyn Machine, end: IntervalEnd);
    /// Whether all that began in the measured interval has ended.
    fn has_drained(&self, interval: (u64, u64), machine: &dyn Machine) -> bool;
    /// Returns the reason why the run cannot continue.
    fn error(&self, _machine: &dyn Machine) -> Option<RunError> {
        None
    }
    /// Takes over the final counts of the machine.
    fn leave(&mut self, _machine: &dyn Machine) {}
    /// Adds the workload's measurements to those of `run`.
    fn complete(run: &SteadyRun<Self>, totals: &RunTotals, results: (&mut OpenResult, &mut PointResult))
    where
        Self: Sized;
}

/// Stage of the run. `check_at` is the number of batches at the next decision; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    WarmUp { check_at: usize },
    Measure { check_at: usize },
    Drain { start: u64, longest: u64 },
    Done,
}
units::record!(match Stage {
    0 => WarmUp { check_at: check_at },
    1 => Measure { check_at: check_at },
    2 => Drain { start: start, longest: longest },
    3 => Done {},
});

/// State of a run that measures a steady state.
pub(super) struct SteadyRun<S: Sampler> {
    pub sampler: S,
    stage: Stage,
    /// Counts of the batches since the last stage began: warm-up, or measurement.
    pub batches: Vec<S::Counts>,
    /// Start and end of the measured interval, in ticks.
    pub measured: (u64, u64),
    /// Progress towards the precision, 0 to 1, at the last check.
    closeness: f64,
    settled: bool,
    converged: bool,
    pub drained: bool,
    saturated: bool,
    now: u64,
    pub found: FinalCounts,
}
units::state!(generic [S: Sampler] SteadyRun<S> {
    sampler, stage, batches, measured, closeness, settled, converged, drained, saturated, now;
    rebuilt found
});

/// Final counts of the machine.
#[derive(Default)]
pub(super) struct FinalCounts {
    pub latency: Histogram,
    pub hops: u64,
    channels: Vec<(ChannelSource, ChannelUse)>,
    pub series: Series,
}

impl<S: Sampler> SteadyRun<S> {
    /// Creates the state of a run that is about to begin.
    pub fn new(sampler: S) -> Self {
        Self {
            sampler,
            stage: Stage::WarmUp { check_at: FEWEST_BATCHES },
            batches: Vec::new(),
            measured: (0, 0),
            closeness: 0.5,
            settled: false,
            converged: false,
            drained: false,
            saturated: false,
            now: 0,
            found: FinalCounts::default(),
        }
    }

    fn context(&self) -> &RunContext {
        self.sampler.context()
    }

    /// Returns the time `batches` batches after `now`. With other jobs, `now` may lie inside a batch.
    fn after(&self, now: u64, batches: usize) -> u64 {
        let RunContext { batch, shared, .. } = *self.context();
        let begin = if shared { now - now % batch } else { now };
        begin.saturating_add(batch.saturating_mul(batches as u64))
    }

    /// Whether the measurement ends after `count` batches even if it is not precise.
    fn measure_ends(&self, count: usize) -> bool {
        self.context().measure_ends(count) || self.after(self.measured.0, count) >= self.context().last()
    }

    fn warm_up(&mut self, now: u64, check_at: usize, machine: &mut dyn Machine) {
        let count = self.batches.len();
        let ends = if let Some(end) = self.context().fixed_warm_up() {
            self.settled = now >= end;
            self.settled
        } else {
            if count >= check_at {
                self.settled = self.is_settled();
                self.stage = Stage::WarmUp { check_at: check_at + check_at / 2 };
            }
            self.settled || self.context().warm_up_ends(count, now)
        };
        if ends {
            self.start_measuring(now, machine);
        }
    }

    /// Whether times and accepted traffic have stopped drifting.
    fn is_settled(&self) -> bool {
        let mut last = 0.0;
        // A batch in which nothing has ended says nothing about times: it repeats the previous value.
        let time = |counts: &S::Counts| {
            let Mean { sum, weight } = S::time_of(counts);
            last = if weight > 0.0 { sum / weight } else { last };
            last
        };
        let times: Vec<f64> = self.batches.iter().map(time).collect();
        let amounts: Vec<f64> = self.batches.iter().map(S::amount).collect();
        statistics::mser5(&times).settled && statistics::mser5(&amounts).settled
    }

    fn start_measuring(&mut self, now: u64, machine: &mut dyn Machine) {
        self.measured = (now, now);
        self.batches.clear();
        machine.measure_from(self.context().job, now);
        self.sampler.begin(now, machine);
        self.stage = Stage::Measure { check_at: FEWEST_BATCHES };
    }

    fn measure(&mut self, now: u64, check_at: usize, machine: &mut dyn Machine) {
        let count = self.batches.len();
        if count.is_multiple_of(S::STEP) {
            self.sampler.observe(now, machine);
        }
        if count >= check_at && self.context().is_long_enough(count) {
            self.converged = self.is_precise();
            let ratio = self.context().measure.precision / self.time().relative_half_width();
            self.closeness = (ratio * ratio).clamp(0.3, 1.0);
            self.stage = Stage::Measure { check_at: check_at + check_at / 4 };
        }
        if self.converged || self.measure_ends(count) {
            machine.measure_until(self.context().job, now);
            self.end(now, machine, IntervalEnd::BeforeDrain);
            let longest = self.context().longest_drain(self.measured);
            self.stage = Stage::Drain { start: now, longest };
            self.drain(now, longest, machine);
        }
    }

    /// Ends the measured interval.
    fn end(&mut self, now: u64, machine: &dyn Machine, end: IntervalEnd) {
        self.measured.1 = now;
        self.saturated = self.is_saturated();
        self.sampler.end(self.measured, machine, end);
    }

    /// Waits for the end of all that began in the measured interval. Past saturation the last of it never would end.
    fn drain(&mut self, now: u64, longest: u64, machine: &dyn Machine) {
        self.drained = self.sampler.has_drained(self.measured, machine);
        if self.drained || self.saturated || now > longest {
            self.stage = Stage::Done;
        }
    }

    fn is_precise(&self) -> bool {
        let precision = self.context().measure.precision;
        let time = self.time();
        if time.independent && time.relative_half_width() <= precision {
            return true;
        }
        // Past saturation the time has no mean, but the accepted load has one.
        self.accepted().relative_half_width() <= precision && self.is_saturated()
    }

    fn is_saturated(&self) -> bool {
        is_below(&self.accepted(), self.sampler.load()) || self.sampler.is_held_back()
    }

    /// Whether the later half of a warm-up that the end of the run has cut accepted less than was offered. A saturated
    /// job may never settle.
    fn falls_behind(&self) -> bool {
        // A job may end before its warm-up: it sends nothing in later batches.
        let RunContext { span, batch, .. } = self.context();
        let sending = (span.end.saturating_sub(span.start) / batch).min(self.batches.len() as u64) as usize;
        let later = &self.batches[sending / 2..sending];
        let ended: f64 = later.iter().map(|counts| S::time_of(counts).weight).sum();
        ended >= FEWEST_ARRIVALS as f64 && is_below(&self.accepted_in(later), self.sampler.load())
    }

    /// Estimates the mean time of what has ended in the measured interval.
    pub fn time(&self) -> Estimate {
        self.estimate(&self.batches, S::time_of)
    }

    /// Estimates the accepted load.
    pub fn accepted(&self) -> Estimate {
        self.accepted_in(&self.batches)
    }

    fn accepted_in(&self, batches: &[S::Counts]) -> Estimate {
        let capacity = self.sampler.capacity();
        self.estimate(batches, |counts| Mean { sum: S::amount(counts) / capacity, weight: 1.0 })
    }

    fn estimate(&self, batches: &[S::Counts], of: impl Fn(&S::Counts) -> Mean) -> Estimate {
        let batches: Vec<Mean> = batches.iter().map(of).collect();
        statistics::estimate(&batches, self.context().measure.confidence)
    }
}

impl<S: Sampler> WorkloadRun for SteadyRun<S> {
    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        self.sampler.traffic(part)
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        let fixed = self.context().fixed_warm_up();
        if fixed.map_or_else(|| self.context().warm_up_ends(0, 0), |end| end == 0) {
            self.settled = fixed.is_some();
            self.start_measuring(0, machine);
        }
    }

    fn next_decision(&self, now: u64) -> u64 {
        let (context, count) = (self.context(), self.batches.len());
        let first = |decides: &dyn Fn(usize) -> bool| (1..S::STEP).find(|&n| decides(count + n)).unwrap_or(S::STEP);
        let batches = match self.stage {
            Stage::WarmUp { check_at } => {
                if let Some(end) = context.fixed_warm_up() {
                    return end.max(now + 1).min(self.after(now, S::STEP));
                }
                first(&|n| n >= check_at || context.warm_up_ends(n, self.after(now, n - count)))
            }
            Stage::Measure { check_at } => first(&|n| {
                n.is_multiple_of(S::STEP) || n >= check_at && context.is_long_enough(n) || self.measure_ends(n)
            }),
            // If batches are short, several at once: the last packet is under way for some time.
            Stage::Drain { .. } if S::STEP > 1 => (context.network.longest_path() / 4 / context.batch).max(1) as usize,
            Stage::Drain { .. } => 1,
            Stage::Done => return u64::MAX,
        };
        self.after(now, batches)
    }

    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine) {
        self.now = now;
        self.sampler.collect(machine);
        let warms_up = matches!(self.stage, Stage::WarmUp { .. });
        let is_fixed = warms_up && self.context().fixed_warm_up().is_some();
        let is_early = warms_up && now <= self.context().span.start;
        // Inside a batch, and before the job begins, only a warm-up of fixed length ends.
        if !is_fixed && (is_early || counts.batches.is_empty()) {
            return;
        }
        let is_over = S::IS_EXACT && matches!(self.stage, Stage::Drain { .. } | Stage::Done);
        if !is_early && !is_over {
            self.sampler.take(&counts.batches, &mut self.batches);
        }
        match self.stage {
            Stage::WarmUp { check_at } => self.warm_up(now, check_at, machine),
            Stage::Measure { check_at } => self.measure(now, check_at, machine),
            Stage::Drain { longest, .. } => self.drain(now, longest, machine),
            Stage::Done => {}
        }
    }

    fn state(&self) -> RunState {
        let share = |check_at: usize| (self.batches.len() as f64 / check_at as f64).min(1.0);
        RunState::Running(match self.stage {
            Stage::WarmUp { check_at } => match self.context().fixed_warm_up() {
                Some(end) => 0.2 * self.now as f64 / end.max(1) as f64,
                None => 0.2 * share(check_at),
            },
            Stage::Measure { check_at } => 0.2 + 0.7 * share(check_at) * self.closeness,
            Stage::Drain { start, longest } => {
                0.9 + 0.1 * self.now.saturating_sub(start) as f64 / (longest - start) as f64
            }
            Stage::Done => return RunState::Steady,
        })
    }

    fn error(&self, machine: &dyn Machine) -> Option<RunError> {
        self.sampler.error(machine)
    }

    fn doing(&self) -> Phase {
        match self.stage {
            Stage::WarmUp { .. } => Phase::WarmUp,
            Stage::Measure { .. } => Phase::Measuring,
            Stage::Drain { .. } | Stage::Done => Phase::Draining,
        }
    }

    fn origin(&self) -> u64 {
        self.measured.0
    }

    fn may_be_stuck(&self) -> bool {
        self.stage == Stage::Done && !self.drained
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        let RunContext { batch, job, .. } = *self.context();
        self.sampler.collect(machine);
        match self.stage {
            Stage::WarmUp { .. } => {
                self.saturated = self.falls_behind();
                if S::IS_EXACT {
                    self.measured = (now.saturating_sub(self.batches.len() as u64 * batch), now);
                }
            }
            Stage::Measure { .. } => self.end(now, machine, IntervalEnd::WithRun),
            _ => {}
        }
        self.sampler.leave(machine);
        let (latency, hops) = machine.measured(job);
        let mut series = Series::default();
        series.extend(machine.samples(now), job, (0, u64::MAX));
        self.found = FinalCounts { latency, hops, channels: machine.channel_use(job, now), series };
        self.now = now;
    }

    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult {
        let network = &self.context().network;
        let (accepted, packets) = (self.accepted(), self.found.latency.count());
        let latency = if self.drained { Latencies::of(&self.found.latency, network) } else { Latencies::default() };
        let used = channels::utilization(network, &self.found.channels, (totals.end - self.measured.0).max(1) as f64);
        let mut open = OpenResult {
            offered_load: self.sampler.load(),
            // Without a batch it is not a number, which `min` would turn into 1.
            accepted_load: accepted.mean.clamp(0.0, 1.0),
            accepted_load_ci: finite(accepted.half_width),
            saturated: self.saturated,
            steady: self.settled && self.converged && self.drained,
            converged: self.converged,
            drained: self.drained,
            warm_up_ns: network.ns(self.measured.0),
            ..OpenResult::default()
        };
        let mut point = PointResult {
            latency_mean_ns: latency.mean,
            latency_p50_ns: latency.p50,
            latency_p99_ns: latency.p99,
            latency_max_ns: latency.max,
            hops_mean: (packets > 0).then(|| self.found.hops as f64 / packets as f64),
            packets,
            packet_hops: totals.packet_hops,
            measured_ns: network.ns(self.measured.1.saturating_sub(self.measured.0)),
            sim_time_ns: network.ns(totals.end),
            wall_s: totals.wall_s,
            ..PointResult::of_channels(network, used)
        };
        S::complete(&self, totals, (&mut open, &mut point));
        point.kind = KindResult::Open(Box::new(open));
        point
    }
}

/// Returns a number unless it is infinite or none.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
