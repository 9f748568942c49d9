//! Job of the current process, from the variables that Slurm sets.

use std::collections::BTreeMap;

use super::importers::hostlist;
use units::{LocatedError, counted};

/// Job as described by its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The hosts, in the order of ranks.
    pub hosts: Vec<String>,
    /// Number of tasks of each host, in the order of `hosts`; empty if unknown.
    pub tasks: Vec<u32>,
    /// The switches above this host and its own name (`SLURM_TOPOLOGY_ADDR`), from the top; empty if unknown.
    pub address: Vec<String>,
}

impl Job {
    /// Reads the variables `SLURM_JOB_NODELIST` (or `SLURM_NODELIST`), `SLURM_TASKS_PER_NODE` and
    /// `SLURM_TOPOLOGY_ADDR`.
    ///
    /// # Errors
    /// If there is no list of nodes, or a variable is invalid; the error names the variable.
    pub fn from_environment(variables: &BTreeMap<String, String>) -> Result<Self, LocatedError> {
        let names = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
        let Some((name, list)) = names.iter().find_map(|&name| variables.get(name).map(|list| (name, list))) else {
            let message = "there is no SLURM_JOB_NODELIST: this is not within a job of Slurm; name the machine and the \
                           allocation instead";
            return Err(LocatedError::key("job", message));
        };
        let hosts =
            hostlist::hosts(list).map_err(|error| LocatedError::key("job", format!("{name}: {}", error.message)))?;
        let tasks = variables.get("SLURM_TASKS_PER_NODE").map_or(Ok(Vec::new()), |text| counts(text))?;
        if !tasks.is_empty() && tasks.len() != hosts.len() {
            let message = format!(
                "SLURM_TASKS_PER_NODE is for {}, {name} has {}",
                counted(tasks.len() as u64, ["node", "nodes"]),
                hosts.len()
            );
            return Err(LocatedError::key("job", message));
        }
        let address = variables
            .get("SLURM_TOPOLOGY_ADDR")
            .map_or_else(Vec::new, |text| text.split('.').map(str::to_owned).collect());
        Ok(Self { hosts, tasks, address })
    }
}

/// Expands counts: `2(x3),1` is 2, 2, 2, 1.
fn counts(text: &str) -> Result<Vec<u32>, LocatedError> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (count, times) = part
            .trim()
            .split_once("(x")
            .map_or((part.trim(), "1"), |(count, times)| (count, times.trim_end_matches(')')));
        let (Ok(count), Ok(times)) = (count.parse::<u32>(), times.parse::<usize>()) else {
            let message = format!("SLURM_TASKS_PER_NODE has `{}`, which is not like 2(x3)", part.escape_debug());
            return Err(LocatedError::key("job", message));
        };
        if times > hostlist::MAX_HOSTS || all.len() > hostlist::MAX_HOSTS {
            return Err(LocatedError::key("job", "SLURM_TASKS_PER_NODE is for more nodes than are supported"));
        }
        all.extend(std::iter::repeat_n(count, times));
    }
    Ok(all)
}
