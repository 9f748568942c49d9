//! What nodes send on a flat network, where nobody asks whom they send it to.

use std::sync::Arc;

use units::{Draw, TaskId};
use workload::program::{Messages, Programs, Sizes};
use workload::{Pattern, Placement, Shares};

/// A pattern of messages that are not known one by one.
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

/// The bytes that the ranks of each node send to other nodes, given their messages one by one: a rank, another, and the bytes.
#[derive(Clone, Debug)]
pub(super) struct SentBytes<'a> {
    placement: &'a Placement,
    pub by_node: Vec<u64>,
}

impl<'a> SentBytes<'a> {
    /// Nothing yet.
    pub fn new(placement: &'a Placement) -> Self {
        Self { placement, by_node: vec![0; placement.nodes() as usize] }
    }

    /// Adds messages. One of no bytes is a packet of one.
    pub fn add(&mut self, messages: &Messages) {
        let [from, to] = [messages.from, messages.to].map(|rank| self.placement.node(TaskId(rank)));
        let bytes = if from == to { 0 } else { messages.bytes.max(1).saturating_mul(messages.count) };
        let own = &mut self.by_node[from.index()];
        *own = own.saturating_add(bytes);
    }
}

/// The bytes that the ranks of the node with most of them send to other nodes.
pub(super) fn most_sent(programs: &dyn Programs, placement: &Placement) -> u64 {
    let mut sent = SentBytes::new(placement);
    programs.each_message(&mut |messages: Messages| sent.add(&messages));
    sent.by_node.into_iter().max().unwrap_or(0)
}

/// What ranks send on a flat network, from one look at their messages: how many of each size, and by node the bytes that its ranks send
/// to other nodes, as a share of the most that one sends.
pub(crate) fn volumes(programs: &dyn Programs, placement: &Placement) -> (Sizes, Arc<[f64]>) {
    let mut sizes = Sizes::default();
    let mut sent = SentBytes::new(placement);
    if programs.is_called_back() {
        // Nothing is known beforehand: all nodes are taken to send alike.
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
