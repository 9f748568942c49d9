//! The flat network: what goes with it, and the machine that runs ranks on it.

mod machine;

use crate::error::SystemError;
use crate::experiment::{Execution, ExperimentSpec, WorkloadSpec};
use crate::pacers::PacerSpec;

pub(crate) use machine::build;

/// The largest message that is a packet by itself. (Larger ones are too; it is what sizes of control messages are compared with.)
pub(crate) const WHOLE: u64 = 1 << 30;

/// Why there are no channel loads.
pub(crate) const NO_CHANNELS: &str = "a flat network has no channels between routers, and so no loads of channels to work out: \
                                      `analyze` is for the other kinds of topology";

/// Refuses what a flat network does not have, instead of ignoring it.
///
/// # Errors
/// At the first key that has no meaning on it.
pub(crate) fn check(spec: &ExperimentSpec) -> Result<(), SystemError> {
    let found = network(spec).or_else(|| workload(spec)).or_else(|| measure(spec));
    found.map_or(Ok(()), |(key, message)| Err(SystemError::new(key, message)))
}

/// A key and what is wrong with it.
type Wrong = (String, String);

fn network(spec: &ExperimentSpec) -> Option<Wrong> {
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("a flat network has {what}; leave it out")));
    if spec.routing.is_some() {
        return wrong("routing", "no routes: every message takes the same delay");
    }
    if spec.router != fabric::catalogue::RouterSpec::default() {
        return wrong("router", "no routers");
    }
    if let Some(class) = spec.link.classes.keys().next() {
        return wrong(&format!("link.{class}"), "one kind of link: a delay and a bandwidth");
    }
    spec.node.receive_buffer.and_then(|_| wrong("node.receive_buffer", "no credits: nodes take messages as they come"))
}

fn workload(spec: &ExperimentSpec) -> Option<Wrong> {
    if let Some(job) = spec.jobs.first() {
        let message = "a flat network runs one [workload]: jobs that share a network need one with channels to share";
        return Some((format!("job.{}", job.name), message.to_owned()));
    }
    let (packet_size, pacer) = match spec.workload.as_ref()? {
        WorkloadSpec::Benchmark(own) => (own.packet_size, &own.pacer),
        WorkloadSpec::Program(own) => (own.packet_size, &own.pacer),
        WorkloadSpec::Application(own) if own.execution == Execution::MessageDriven => (own.packet_size, &own.pacer),
        WorkloadSpec::Traffic(_)
        | WorkloadSpec::Exchange(_)
        | WorkloadSpec::Collective(_)
        | WorkloadSpec::Application(_) => {
            let message = "a flat network carries messages of ranks, not packets: \"program\", \"benchmark\" and \
                           message-driven applications are allowed";
            return Some(("workload.kind".into(), message.into()));
        }
    };
    let wrong = |key: &str, what: &str| Some((key.to_owned(), format!("a flat network has {what}; leave it out")));
    if packet_size.is_some() {
        return wrong("workload.packet_size", "no packets: messages go whole");
    }
    if *pacer == PacerSpec::default() { None } else { wrong("workload.pacer", "no packets to hold back") }
}

fn measure(spec: &ExperimentSpec) -> Option<Wrong> {
    if spec.measure.timeline {
        let message = "a timeline needs packets to follow; leave it out on a flat network";
        return Some(("measure.timeline".into(), message.to_owned()));
    }
    let message = "a flat network has no queues to sample; leave it out";
    spec.measure.series.map(|_| ("measure.series".into(), message.to_owned()))
}
