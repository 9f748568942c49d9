//! Statistics of traces, and deviations of their execution.

use std::collections::BTreeMap;

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
    /// Further notes.
    pub more: Vec<String>,
}

impl Tally {
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
        self.more.extend(other.more.iter().cloned());
    }

    /// Returns sentences about all counts.
    pub fn notes(&self) -> Vec<String> {
        let counted = [
            (self.absent, "control dependencies are on nodes that the trace does not have; they are left out"),
            (self.circular, "control dependencies are between nodes that depend on one another; they are left out"),
            (
                self.calls,
                "communication nodes of the processor (`is_cpu_op`) have no size: each is the call of an operation, a \
                 calculation of its duration",
            ),
            (self.flagged, "communication nodes with a size have `is_cpu_op` set; they are communication all the same"),
            (
                self.unsized_,
                "collective operations have no `comm_size`: each takes its recorded duration, and sends nothing",
            ),
            (self.named, "collective operations have no `comm_type`; their names say which they are"),
            (
                self.host,
                "nodes are of PyTorch's trace of the host, which has no durations: they take no time, and collective \
                 operations follow one another",
            ),
        ];
        let mut notes: Vec<String> =
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !self.others.is_empty() {
            let all: Vec<String> = self.others.iter().map(|(name, count)| format!("{count} `{name}`")).collect();
            notes.push(format!("left out, since they are no collective operations: {}", all.join(", ")));
        }
        notes.extend(self.more.iter().cloned());
        notes
    }
}
