//! Traffic of nodes on a flat network, where destinations are not needed.

use std::sync::Arc;

use mpi::program::{Messages, Programs, Sizes};
use traffic::{Pattern, Placement, Shares};
use units::{Draw, TaskId};

/// Pattern of messages whose destinations are not listed.
#[derive(Debug)]
pub(crate) struct Unlisted;

impl Pattern for Unlisted {
    fn kind(&self) -> &'static str {
        "program"
    }

    fn sends(&self, _src: TaskId) -> bool {
        false
    }

    fn destination(&self, src: TaskId, _draw: &mut dyn Draw) -> TaskId {
        src
    }

    fn shares(&self, _src: TaskId) -> Shares {
        Shares::default()
    }
}

/// Bytes that the ranks of each node send to other nodes, summed from their messages.
#[derive(Clone, Debug)]
pub(super) struct SentBytes<'a> {
    placement: &'a Placement,
    pub by_node: Vec<u64>,
}

impl<'a> SentBytes<'a> {
    /// Creates zero sums.
    pub fn new(placement: &'a Placement) -> Self {
        Self { placement, by_node: vec![0; placement.nodes() as usize] }
    }

    /// Adds messages. An empty message is a packet of one byte.
    pub fn add(&mut self, messages: &Messages) {
        let [from, to] = [messages.from, messages.to].map(|rank| self.placement.node(TaskId(rank)));
        let bytes = if from == to { 0 } else { messages.bytes.max(1).saturating_mul(messages.count) };
        let own = &mut self.by_node[from.index()];
        *own = own.saturating_add(bytes);
    }
}

/// Returns the bytes to other nodes from the node that sends most.
pub(super) fn most_sent(programs: &dyn Programs, placement: &Placement) -> u64 {
    let mut sent = SentBytes::new(placement);
    programs.each_message(&mut |messages: Messages| sent.add(&messages));
    sent.by_node.into_iter().max().unwrap_or(0)
}

/// Returns the traffic of ranks on a flat network, from one pass over their messages: the number of messages of each
/// size, and the bytes that each node sends to other nodes, relative to the node that sends most.
pub(crate) fn volumes(programs: &dyn Programs, placement: &Placement) -> (Sizes, Arc<[f64]>) {
    let mut sizes = Sizes::default();
    let mut sent = SentBytes::new(placement);
    if programs.is_called_back() {
        // Nothing is known in advance: all nodes are assumed to send equally.
        sent.by_node.fill(1);
    }
    programs.each_message(&mut |messages: Messages| {
        sizes.add(messages.bytes, messages.count);
        sent.add(&messages);
    });
    sizes.settle();
    let most = sent.by_node.iter().copied().max().unwrap_or(0).max(1);
    (sizes, sent.by_node.into_iter().map(|bytes| bytes as f64 / most as f64).collect())
}
