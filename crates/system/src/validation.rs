//! Error of the flow model, measured by the packet model on a sample of the messages of a run.
//!
//! The sample of volumes that run alone is a set of whole phases, drawn by the seed. The sample of other workloads is
//! the stretch of time from the start of the run in which the flow model delivers half of the share: both runs start
//! empty and send equal messages. The packet model goes on for the same time again, so that the messages of the sample
//! arrive unless they take more than twice as long.

use ::experiment::{ExperimentSpec, Model, WarmUp, WorkloadSpec};
use apps::motifs::ProgramSpec;
use engine::split_mix;
use measure::{LoggedMessage, PointResult, ValidationResult};
use units::{KeyError, Time, counted};

use crate::run::outcome::{RunError, RunOptions};
use crate::run::simulate;
use crate::system::System;
use crate::workloads::RunLength;

/// Returns the experiment of a point in the packet model.
pub fn packet_point(spec: &ExperimentSpec) -> ExperimentSpec {
    let mut spec = spec.clone();
    (spec.simulation.model, spec.simulation.validate) = (Some(Model::Packet), None);
    spec
}

/// Refuses `simulation.validate` with a model that has no flows, and with a program that is called back.
///
/// # Errors
/// Names the key, and what is allowed.
pub(crate) fn check(spec: &ExperimentSpec, has_flows: bool) -> Result<(), KeyError> {
    if spec.simulation.validate.is_none() {
        return Ok(());
    }
    if !has_flows && spec.simulation.model != Some(Model::Flow) {
        let message = "`simulation.validate` compares flows with packets: it requires `simulation.model = \"flow\"`";
        return Err(KeyError::new("simulation.validate", message));
    }
    let is_called_back = |workload: &WorkloadSpec| matches!(workload, WorkloadSpec::Program(own) if matches!(own.program, ProgramSpec::CalledBack(_)));
    let mut workloads = spec.workload.iter().chain(spec.jobs.iter().map(|job| &job.workload));
    match workloads.any(is_called_back) {
        false => Ok(()),
        true => {
            let message =
                "`simulation.validate` runs the workload again: it requires a program that is not called back";
            Err(KeyError::new("simulation.validate", message))
        }
    }
}

/// Simulates a sample of a point packet by packet. `flow` and `packet` are the systems of the point in both models, and
/// `point` is the result of the flow model.
///
/// # Errors
/// If a run of the sample has no result.
pub fn validate(
    (flow, packet): (&System, &System),
    point: &PointResult,
    options: &RunOptions,
) -> Result<ValidationResult, RunError> {
    let share = flow.spec.simulation.validate.unwrap_or(1.0);
    match &flow.jobs[..] {
        [job] if job.workload.only_phase(0).is_some() => phases((flow, packet), share, options),
        _ => stretch((flow, packet), (share, point), options),
    }
}

/// Returns a system whose runs log their messages, and end at a time.
fn logging(system: &System, end: Option<Time>) -> System {
    let mut system = System { logs_messages: true, ..system.clone() };
    let measure = &mut system.spec.measure;
    (measure.messages, measure.compare_alone) = (true, false);
    if let Some(end) = end {
        (measure.warm_up, measure.min_time, measure.max_time) = (WarmUp::Fixed(Time(0)), Some(end), Some(end));
    }
    system
}

/// Runs a system, and returns its packets and the messages that have arrived: by job, source, destination, size and
/// begin.
fn messages_of(system: &System, options: &RunOptions) -> Result<(u64, Vec<(usize, LoggedMessage)>), RunError> {
    let mut point = simulate(system, options)?;
    let logs = point.jobs.iter_mut().filter_map(|job| job.point.messages.as_mut()).chain(point.messages.as_mut());
    let logs = logs.map(|own| std::mem::take(&mut own.log)).enumerate();
    let mut all: Vec<_> = logs.flat_map(|(job, log)| log.into_iter().map(move |message| (job, message))).collect();
    all.sort_unstable_by_key(|own| (key_of(own), begin_of(&own.1)));
    Ok((point.packets, all))
}

/// Returns what two models have in common of a message: its job, source, destination and size.
fn key_of(&(job, LoggedMessage { from, to, bytes, .. }): &(usize, LoggedMessage)) -> (usize, u32, u32, u64) {
    (job, from.0, to.0, bytes)
}

fn begin_of(message: &LoggedMessage) -> u64 {
    message.at - message.latency
}

/// Packets of all jobs of a system. None if a job has no end.
fn packets_of(system: &System) -> Option<u64> {
    let of = |job: &crate::job::Job| match job.workload.run_length(&system.network, &system.spec.measure, 1) {
        RunLength::Packets(packets) => Some(packets),
        RunLength::Time { .. } => None,
    };
    system.jobs.iter().map(of).sum()
}

/// Compares whole phases of volumes, in an order that the seed draws, until they have the share of the packets.
fn phases((flow, packet): (&System, &System), share: f64, options: &RunOptions) -> Result<ValidationResult, RunError> {
    let count = flow.jobs[0].workload.phases();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|&phase| split_mix(flow.jobs[0].seed ^ split_mix(phase as u64)));
    let all = packets_of(packet).unwrap_or(0) as f64;
    let (mut found, mut chosen) = (Comparison::default(), 0);
    for phase in order {
        let own = |system: &System| {
            let mut own = logging(system, None);
            own.jobs[0].workload = own.jobs[0].workload.only_phase(phase)?;
            Some(own)
        };
        let Some((flow, packet)) = own(flow).zip(own(packet)) else { break };
        chosen += 1;
        let (_, expected) = messages_of(&flow, options)?;
        let (packets, arrived) = messages_of(&packet, options)?;
        found.packets += packets;
        found.compare(&expected, &arrived, None);
        if found.messages > 0 && found.packets as f64 >= share * all {
            break;
        }
    }
    Ok(found.result(format!("{chosen} of {}", counted(count as u64, ["phase", "phases"]))))
}

/// Compares the messages that the flow model delivers in a stretch of time from the start of the run.
fn stretch(
    (flow, packet): (&System, &System),
    (share, point): (f64, &PointResult),
    options: &RunOptions,
) -> Result<ValidationResult, RunError> {
    let all = (point.sim_time_ns * 1e3).ceil().max(1.0) as u64;
    let wanted = packets_of(packet).map(|packets| (packets as f64 * share / 2.0).ceil() as u64);
    let size = u64::from(packet.network.packet).max(1);
    let mut end = ((all as f64 * share / 2.0).ceil() as u64).clamp(1, all);
    let (mut expected, end) = loop {
        let (_, mut arrived) = messages_of(&logging(flow, Some(Time(end))), options)?;
        let by_time = |own: &(usize, LoggedMessage)| (own.1.at, key_of(own), begin_of(&own.1));
        arrived.sort_unstable_by_key(by_time);
        let mut packets = 0;
        let packets_until = |(_, own): &(usize, LoggedMessage)| {
            packets += own.bytes.div_ceil(size);
            packets
        };
        let last = match wanted {
            None => arrived.len().checked_sub(1),
            Some(wanted) => arrived.iter().map(packets_until).position(|packets| packets >= wanted),
        };
        match last {
            Some(last) => break (arrived.clone(), arrived[last].1.at.max(1)),
            None if end >= all => break (arrived, all),
            None => end = end.saturating_mul(2).min(all),
        }
    };
    expected.retain(|own| own.1.at <= end);
    expected.sort_unstable_by_key(|own| (key_of(own), begin_of(&own.1)));
    let limit = end.saturating_mul(2);
    let (packets, arrived) = messages_of(&logging(packet, Some(Time(limit))), options)?;
    let mut found = Comparison { packets, ..Comparison::default() };
    found.compare(&expected, &arrived, Some(limit));
    let [part, whole] = [end, all].map(|time| time as f64 / 1e6);
    Ok(found.result(format!("the messages that arrive in the first {part:.2} us of {whole:.2} us")))
}

/// Comparison of the messages of a sample.
#[derive(Clone, Debug, Default)]
struct Comparison {
    packets: u64,
    messages: u64,
    late: u64,
    /// Sum of all errors, and the largest.
    errors: f64,
    largest: f64,
    /// Latencies in the flow model and in the packet model, summed, in picoseconds.
    times: [f64; 2],
}

impl Comparison {
    /// Adds messages. Both lists are sorted by key and begin. `end` is the end of the packet run, in picoseconds.
    fn compare(&mut self, expected: &[(usize, LoggedMessage)], arrived: &[(usize, LoggedMessage)], end: Option<u64>) {
        let (mut before, mut place) = (None, 0);
        for own in expected {
            let key = key_of(own);
            if before != Some(key) {
                place = arrived.partition_point(|other| key_of(other) < key);
                before = Some(key);
            }
            let found = arrived.get(place).filter(|other| key_of(other) == key);
            place += usize::from(found.is_some());
            let flow = own.1.latency.max(1) as f64;
            let packet = match found {
                Some(found) => found.1.latency.max(1) as f64,
                None => end.unwrap_or(own.1.at).saturating_sub(begin_of(&own.1)).max(1) as f64,
            };
            let error = (flow / packet - 1.0).abs();
            self.messages += 1;
            (self.errors, self.largest) = (self.errors + error, self.largest.max(error));
            match found {
                Some(_) => self.times = [self.times[0] + flow, self.times[1] + packet],
                None => self.late += 1,
            }
        }
    }

    fn result(&self, sample: String) -> ValidationResult {
        let has_messages = self.messages > 0;
        ValidationResult {
            sample,
            packets: self.packets,
            messages: self.messages,
            late_messages: self.late,
            error_mean: has_messages.then(|| self.errors / self.messages as f64),
            error_max: has_messages.then_some(self.largest),
            time_ratio: (self.times[1] > 0.0).then(|| self.times[0] / self.times[1]),
        }
    }
}
