//! Statistics of traces, and deviations of their execution.

use std::collections::{BTreeMap, BTreeSet};

use units::{Notes, counted, shortened};

use super::Changed;
use super::pytorch::OTHER;
use super::schema::Node;
use super::values::READ;

/// The most names of attributes in a note.
const MOST_NAMES: usize = 12;

/// Statistics of the files of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of nodes.
    pub nodes: u64,
    /// Number of listed data dependencies.
    pub data_dependencies: u64,
    /// Number of listed control dependencies.
    pub control_dependencies: u64,
    /// Number of collective operations. Excludes processor nodes that only call one.
    pub collectives: u64,
    /// Bytes of collective operations (`comm_size`).
    pub collective_bytes: u64,
    /// Number of sends and receives.
    pub messages: u64,
    /// Bytes of sends and receives (`comm_size`).
    pub message_bytes: u64,
}

/// Counts of deviations of the execution from the traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub contents: Contents,
    /// Control dependencies on nodes that do not exist.
    pub absent: u64,
    /// Control dependencies within a cycle.
    pub circular: u64,
    /// Communication nodes of the processor without a size. They only call an operation.
    pub calls: u64,
    /// Communication nodes with a size that are marked as the processor's.
    pub flagged: u64,
    /// Collective operations without a size.
    pub unsized_: u64,
    /// Collective operations that are identified by their names.
    pub named: u64,
    /// Nodes of host traces.
    pub host: u64,
    /// Calls of the communication library other than collective operations, by name.
    pub others: BTreeMap<String, u64>,
    /// Attributes of nodes that are not read, by name.
    pub attributes: BTreeMap<String, u64>,
    /// Keys of files in JSON that are not read.
    pub keys: BTreeSet<String>,
    /// Allgathers whose group is scaled, and whose members keep their bytes.
    pub kept: u64,
    /// Further notes.
    pub more: Vec<String>,
}

impl Tally {
    /// Counts the attributes of a node that are not read.
    pub fn leave_out(&mut self, node: &Node) {
        for own in node.attr.iter().filter(|own| !READ.contains(&own.name.as_str()) && own.name != OTHER) {
            *self.attributes.entry(shortened(&own.name)).or_default() += 1;
        }
    }

    /// Adds the counts of another file.
    pub fn add(&mut self, other: &Self) {
        let (own, its) = (&mut self.contents, &other.contents);
        own.nodes += its.nodes;
        own.data_dependencies += its.data_dependencies;
        own.control_dependencies += its.control_dependencies;
        own.collectives += its.collectives;
        own.collective_bytes = own.collective_bytes.saturating_add(its.collective_bytes);
        own.messages += its.messages;
        own.message_bytes = own.message_bytes.saturating_add(its.message_bytes);
        self.absent += other.absent;
        self.circular += other.circular;
        self.calls += other.calls;
        self.flagged += other.flagged;
        self.unsized_ += other.unsized_;
        self.named += other.named;
        self.host += other.host;
        for (name, count) in &other.others {
            *self.others.entry(name.clone()).or_default() += count;
        }
        self.keys.extend(other.keys.iter().cloned());
        for (name, count) in &other.attributes {
            *self.attributes.entry(name.clone()).or_default() += count;
        }
        self.more.extend(other.more.iter().cloned());
    }

    /// Adds the changes of a rank's content by scaling.
    pub fn change(&mut self, changed: Changed) {
        let bytes = &mut self.contents.collective_bytes;
        *bytes = bytes.saturating_sub(changed.before).saturating_add(changed.after);
        self.kept += changed.kept;
    }

    /// Returns sentences about all counts.
    pub fn notes(&self) -> Vec<String> {
        const DEPENDENCIES: [&str; 2] = ["control dependency", "control dependencies"];
        const OPERATIONS: [&str; 2] = ["collective operation", "collective operations"];
        let (is, has) = (["is", "are"], ["has", "have"]);
        let mut held = Notes::default();
        let rest = "left out, on nodes that the trace does not have";
        held.count(self.absent, DEPENDENCIES, is, rest);
        held.count(self.circular, DEPENDENCIES, is, "left out, between nodes that depend on one another");
        let things =
            ["communication node of the processor (`is_cpu_op`)", "communication nodes of the processor (`is_cpu_op`)"];
        let rest = "no size: each is the call of an operation, a calculation of its duration";
        held.count(self.calls, things, has, rest);
        let things = ["communication node with a size", "communication nodes with a size"];
        held.count(self.flagged, things, has, "`is_cpu_op` set: each is communication all the same");
        let rest = "no `comm_size`: each takes its recorded duration, and sends nothing";
        held.count(self.unsized_, OPERATIONS, has, rest);
        held.count(self.named, OPERATIONS, has, "no `comm_type`: the name of the node says which it is");
        let rest = "of PyTorch's trace of the host, which has no durations: each takes no time, and collective operations \
                    follow one another";
        held.count(self.host, ["node", "nodes"], is, rest);
        let rest = "scaled groups, and no reduce-scatter of the same buffer: each member keeps its bytes";
        held.count(self.kept, ["allgather", "allgathers"], has, rest);
        let mut notes = held.sentences().to_vec();
        if !self.others.is_empty() {
            let all: Vec<String> = self.others.iter().map(|(name, count)| format!("{count} `{name}`")).collect();
            notes.push(format!("left out, since they are no collective operations: {}", all.join(", ")));
        }
        let attributes = self.attributes.iter().map(|(name, count)| format!("{count} `{name}`"));
        for (what, names) in [
            ("attributes of nodes", attributes.collect::<Vec<_>>()),
            ("keys beside the nodes", self.keys.iter().map(|key| format!("`{key}`")).collect()),
        ] {
            let further = names.len().saturating_sub(MOST_NAMES) as u64;
            let rest = (further > 0).then(|| counted(further, ["further name", "further names"]));
            let all: Vec<String> = names.into_iter().take(MOST_NAMES).chain(rest).collect();
            if !all.is_empty() {
                notes.push(format!("{what} that are left out: {}", all.join(", ")));
            }
        }
        notes.extend(self.more.iter().cloned());
        notes
    }
}
