//! What traces have, and what of it is carried out otherwise than it is written.

use std::collections::BTreeMap;

/// What the files of all ranks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Nodes.
    pub nodes: u64,
    /// Data dependencies as they are listed.
    pub data_dependencies: u64,
    /// Control dependencies as they are listed.
    pub control_dependencies: u64,
    /// Collective operations, without nodes of the processor that only call one.
    pub collectives: u64,
    /// Bytes of collective operations (`comm_size`).
    pub collective_bytes: u64,
    /// Sends and receives.
    pub messages: u64,
    /// Bytes of sends and receives (`comm_size`).
    pub message_bytes: u64,
}

/// Counts of what is carried out otherwise than it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub contents: Contents,
    /// Control dependencies on nodes that are not there.
    pub absent: u64,
    /// Control dependencies between nodes that depend on one another.
    pub circular: u64,
    /// Communication nodes of the processor that have no size: they call an operation.
    pub calls: u64,
    /// Communication nodes with a size that say that the processor does them.
    pub flagged: u64,
    /// Collective operations without a size.
    pub unsized_: u64,
    /// Collective operations whose names say what they are.
    pub named: u64,
    /// Nodes of traces of the host alone.
    pub host: u64,
    /// Calls of the communication library that are no collective operation, by name.
    pub others: BTreeMap<String, u64>,
    /// Further notes.
    pub more: Vec<String>,
}

impl Tally {
    /// Adds those of another file.
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

    /// Sentences about all that is counted.
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
