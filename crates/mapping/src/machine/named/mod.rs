//! Named machines: the catalogue of machines by name, one file each.
//!
//! A file has sections of an experiment file (`[topology]`, or `[node]` and `[[network]]`), and beside them
//!
//! - `about`: a description, and `assumed`: assumptions for `cutthrough map`, as sentences;
//! - `cores`: the number of cores of a node, and `used`: the number of first nodes that a job on the machine gets (an
//!   expression; default: all), both for mappings;
//! - `[parameters.NAME]`: parameters ([`parameters`]), and `limit`: an expression, and its largest value;
//! - `[[hosts]]`: rules for the names of hosts ([`hosts`]).
//!
//! The comment of each number of the sections names its source, and that of `[[hosts]]` the source of its rules: `seen`
//! for texts of the operator or the vendor, `secondary` for texts about them, `derived` for arithmetic on such numbers,
//! `unsourced` for assumptions. A node of the model is a network interface where the interfaces of a machine's node are
//! on different switches of one network.

mod hosts;
mod nodes;
mod parameters;

use serde::Deserialize;
use toml::{Table, Value};
use topology::NetworkSpec;
use units::{Bandwidth, Time};

use super::PresetLink;
use hosts::HostRule;
pub use hosts::{HostLimits, HostTable, hosts_of_list};
pub use nodes::{NODES, NamedNode};
use parameters::{Parameters, Values};

/// Names of a catalogue, and their files.
type Files = [(&'static str, &'static str)];

/// Lists the files of a folder by their names.
macro_rules! files {
    ($folder:literal: $($name:literal,)*) => {
        &[$(($name, include_str!(concat!($folder, $name, ".toml"))),)*]
    };
}
use files;

/// Names of the machines, and their files.
pub const MACHINES: &Files = files! {
    "":
    "alps",
    "aurora",
    "aurora-gpus",
    "deepseek",
    "deepseek-gpus",
    "dgx-superpod-b200-gpus",
    "dgx-superpod-h100",
    "dgx-superpod-h100-gpus",
    "edison",
    "frontier",
    "frontier-gpus",
    "fugaku",
    "gb200-nvl72",
    "jupiter",
    "leonardo",
    "lumi",
    "lumi-c",
    "marenostrum5",
    "marenostrum5-acc",
    "perlmutter",
    "perlmutter-cpu",
    "slim-fly-cscs",
    "summit",
    "theta",
    "tpu-v4",
    "tsubame2-hyperx",
    "tsubame2-tree",
    "bluegene-l",
    "bluegene-p",
    "bigben",
    "jaguar",
    "ranger",
    "abe",
};

/// Name of a machine that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NameError {
    /// Fault, as one sentence.
    pub message: String,
    /// The name at fault, as written.
    pub written: String,
    /// Names that are allowed in its place.
    pub allowed: Vec<String>,
}

impl NameError {
    fn new<'a>(message: String, written: &str, allowed: impl IntoIterator<Item = &'a String>) -> Self {
        Self { message, written: written.to_owned(), allowed: allowed.into_iter().cloned().collect() }
    }
}

/// File of a machine.
#[derive(Debug, Deserialize)]
struct MachineFile {
    about: String,
    #[serde(default)]
    assumed: String,
    #[serde(default = "one_core")]
    cores: u32,
    used: Option<Value>,
    limit: Option<(String, i64)>,
    #[serde(default)]
    parameters: Parameters,
    #[serde(default)]
    hosts: Vec<HostRule>,
    #[serde(flatten)]
    sections: Table,
    /// Keys of `[topology]` that parameters set.
    #[serde(skip)]
    by_parameters: Vec<String>,
}

impl MachineFile {
    /// Reads the file of a name with parameters, such as `lumi:groups=4`, and replaces the expressions of its sections.
    /// `noun` says what the catalogue `files` consists of.
    fn read(noun: &str, files: &Files, text: &str) -> Result<Self, NameError> {
        let (name, settings) = split(text);
        let Some(file) = file_of(files, name) else {
            let all: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
            return Err(NameError::new(format!("there is no {noun} `{}`", units::shortened(name)), name, &all));
        };
        let damaged = |problem: String| NameError::new(format!("the file of `{name}`: {problem}"), name, []);
        let mut file: Self = toml::from_str(file).map_err(|error| damaged(error.to_string()))?;
        let values = Values::read(name, settings, &file.parameters)?;
        if let Some((product, most)) = &file.limit
            && let Some(found) = values.product(product).map_err(damaged)?.filter(|found| found > most)
        {
            let message =
                format!("`{}` of `{name}` is {found}; at most {most} is allowed", product.replace('*', " * "));
            return Err(NameError::new(message, "", []));
        }
        let is_expression = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('$'));
        let topology = file.sections.get("topology").and_then(Value::as_table).into_iter().flatten();
        let by_parameters = topology.filter(|(_, value)| is_expression(value)).map(|(key, _)| key.clone());
        file.by_parameters = by_parameters.collect();
        file.sections.iter_mut().try_for_each(|(_, value)| values.fill(value)).map_err(damaged)?;
        file.used.iter_mut().try_for_each(|value| values.fill(value)).map_err(damaged)?;
        Ok(file)
    }
}

fn one_core() -> u32 {
    1
}

/// Entry of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineEntry {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub about: String,
    /// Assumptions for mappings, as sentences; empty if there are none.
    pub assumed: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// The file, whose comments name the sources of its numbers.
    pub text: &'static str,
}

impl MachineEntry {
    /// Returns description and assumptions as sentences.
    pub fn summary(&self) -> String {
        format!("{}. {}", self.about, self.assumed).trim_end().to_owned()
    }
}

/// Machine of the catalogue with values of its parameters.
#[derive(Clone, Debug)]
pub struct NamedMachine {
    /// Description.
    pub about: String,
    /// Assumptions for mappings, as sentences; empty if there are none.
    pub assumed: String,
    /// Number of cores of a node, for mappings.
    pub cores: u32,
    /// Number of first nodes that a job gets from a mapping. `None`: all.
    pub used: Option<u32>,
    /// Sections of an experiment file.
    sections: Table,
    /// Keys of `[topology]` that parameters set.
    by_parameters: Vec<String>,
    hosts: Vec<HostRule>,
}

/// Keys of `[topology]` that do not change the nodes of hosts.
const WIRES: [&str; 4] = ["wires", "global_wires", "local_wires", "planes"];

impl NamedMachine {
    /// Returns all machines, without a machine whose file cannot be read, which tests exclude.
    pub fn entries() -> Vec<MachineEntry> {
        entries(MACHINES)
    }

    /// Returns whether a text names a machine of the catalogue, with or without parameters.
    pub fn is_name(text: &str) -> bool {
        file_of(MACHINES, split(text).0).is_some()
    }

    /// Returns the machine of a name such as `lumi` or `lumi:groups=4`.
    ///
    /// # Errors
    /// If there is no such machine, or if a parameter does not exist, has an invalid value or is missing.
    pub fn find(text: &str) -> Result<Self, NameError> {
        let file = MachineFile::read("machine", MACHINES, text)?;
        let used = file.used.as_ref().and_then(Value::as_integer).and_then(|used| u32::try_from(used).ok());
        let MachineFile { about, assumed, cores, sections, hosts, by_parameters, .. } = file;
        Ok(Self { about, assumed, cores, used, sections, by_parameters, hosts })
    }

    /// Returns the sections of the machine as the text of an experiment file.
    pub fn text(&self) -> String {
        self.sections.to_string()
    }

    /// Returns whether the machine has several networks, and no topology.
    pub fn is_joined(&self) -> bool {
        !self.sections.contains_key("topology")
    }

    /// Returns the topology of the machine.
    ///
    /// # Errors
    /// If the machine has several networks. If the section of the file is wrong, which tests exclude.
    pub fn topology(&self) -> Result<NetworkSpec, NameError> {
        if self.is_joined() {
            return Err(NameError::new("the machine has several networks, and no topology of one".to_owned(), "", []));
        }
        let section = self.sections.get("topology").cloned().unwrap_or(Value::Boolean(false));
        section.try_into().map_err(|error| NameError::new(format!("[topology] of the machine: {error}"), "", []))
    }

    /// Returns the first key of `[topology]` by which a network differs from that of the machine's hosts. Numbers of wires,
    /// and keys that parameters set, may differ. `None` also if the names of hosts are not known.
    pub fn foreign_key(&self, network: &NetworkSpec) -> Option<String> {
        if self.hosts.is_empty() {
            return None;
        }
        let keys = |spec: &NetworkSpec| match serde_json::to_value(spec) {
            Ok(serde_json::Value::Object(keys)) => keys,
            _ => serde_json::Map::new(),
        };
        let (own, other) = (keys(&self.topology().ok()?), keys(network));
        let is_free = |key: &str| WIRES.contains(&key) || self.by_parameters.iter().any(|own| own == key);
        let all = std::iter::once("kind").chain(own.keys().chain(other.keys()).map(String::as_str));
        all.filter(|key| !is_free(key)).find(|&key| own.get(key) != other.get(key)).map(str::to_owned)
    }

    /// Returns bandwidth and delay of a channel; a delay of zero if it is not known.
    pub fn link(&self) -> Option<PresetLink> {
        let link = self.sections.get("link")?;
        let quantity = |key: &str| link.get(key)?.as_str();
        let bandwidth: Bandwidth = quantity("bandwidth")?.parse().ok()?;
        let delay: Time = quantity("delay").and_then(|text| text.parse().ok()).unwrap_or_default();
        Some(PresetLink { bytes_per_s: bandwidth.0 as f64 / 8.0, delay_ns: delay.as_ns() })
    }
}

/// Returns the name and the settings of a text.
fn split(text: &str) -> (&str, &str) {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    (name.trim(), settings)
}

/// Returns the entries of a catalogue.
fn entries(files: &Files) -> Vec<MachineEntry> {
    let entry = |(name, text): &(&'static str, &'static str)| {
        let MachineFile { about, assumed, parameters, .. } = toml::from_str(text).ok()?;
        Some(MachineEntry { name, about, assumed, parameters: parameters.into_keys().collect(), text })
    };
    files.iter().filter_map(entry).collect()
}

fn file_of(files: &Files, name: &str) -> Option<&'static str> {
    files.iter().find(|(own, _)| *own == name).map(|(_, file)| *file)
}
