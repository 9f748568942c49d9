//! `[[job]]`: several workloads that share a network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::place::PlaceSpec;
use crate::workload::WorkloadSpec;

/// Latest start and end of a job in ps: 1000 s.
const LATEST: u64 = 1_000_000_000_000_000;

/// An example of two jobs, as TOML.
const EXAMPLE: &str = r#"[[job]]
name = "victim"
nodes = "0-7"
workload = { kind = "traffic", load = 0.2 }

[[job]]
name = "aggressor"
node_count = 8
start = "10 us"
workload = { kind = "traffic", load = 0.8, pattern = "random-permutation" }"#;

/// One of several workloads that share a network. The tables `workload` and `placement` have the keys of the sections
/// of these names. The path of a key in a sweep or an option is, for example, `job.NAME.workload.load`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = EXAMPLE))]
pub struct JobSpec {
    /// Name of the job in results and in paths of keys: letters, digits, `-` and `_`.
    #[schemars(extend("x-example" = "\"victim\""))]
    pub name: String,
    /// Nodes of the job, in order, such as "0-35,40". Other jobs may use them too. Default: all nodes, unless
    /// `node_count` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "\"0-35,40\""))]
    pub nodes: Option<String>,
    /// Number of nodes of the job. It gets the first nodes that no earlier job has, in the order in which its placement
    /// takes nodes.
    #[schemars(range(min = 1), extend("x-rules" = ["excludes job.nodes"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Simulated time at which the job starts.
    #[schemars(extend("maximum" = LATEST))]
    #[serde(default)]
    pub start: Time,
    /// Simulated time from which the job generates no more messages. Default: no end.
    #[schemars(extend("maximum" = LATEST, "x-rules" = ["above job.start"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Time>,
    /// Whether the run may end before the job does. A background job continues while any foreground job runs.
    #[serde(default)]
    pub background: bool,
    /// Messages and their times.
    pub workload: WorkloadSpec,
    /// Placement of the job's tasks on its nodes.
    #[serde(default)]
    pub placement: PlaceSpec,
}

/// Returns the first fault of jobs that no rule beside a key states: the path of the key to show, and the message.
pub(crate) fn contradiction(jobs: &[JobSpec]) -> Option<(String, String)> {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    for (index, job) in jobs.iter().enumerate() {
        let at = |key: &str| format!("job[{index}].{key}");
        if job.name.is_empty() || !job.name.chars().all(named) {
            let message = format!("`{}` is no name of a job: letters, digits, `-` and `_` are allowed", job.name);
            return Some((at("name"), message));
        }
        if jobs[..index].iter().any(|other| other.name == job.name) {
            return Some((at("name"), format!("there are two jobs `{}`: each needs a name of its own", job.name)));
        }
    }
    if jobs.len() > fabric::MAX_JOBS {
        return Some((
            "job".into(),
            format!("there are {} jobs; at most {} are allowed", jobs.len(), fabric::MAX_JOBS),
        ));
    }
    if !jobs.is_empty() && jobs.iter().all(|job| job.background) {
        let message = "all jobs are in the background, so that none ends the run; leave one in the foreground";
        return Some(("job[0].background".into(), message.into()));
    }
    None
}
