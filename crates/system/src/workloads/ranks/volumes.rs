//! Traffic of nodes with the delay model, where destinations are not needed.

use std::sync::Arc;

use mpi::program::{FanOut, Messages, Programs, Sizes};
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

    /// Adds equal messages of a rank to others. Returns their number, messages within the node included.
    fn add_fan_out(&mut self, from: u32, own: FanOut) -> u64 {
        let FanOut { to, bytes, count } = own;
        if to.len() == 1 {
            self.add(&Messages { from, to: to.start, bytes, count });
            return count;
        }
        let node = self.placement.node(TaskId(from));
        let tasks = self.placement.tasks(node);
        let below = |rank: u32| tasks.partition_point(|task| task.0 < rank);
        let near = below(to.end) - below(to.start);
        let far = (to.len() - near) as u64;
        let own = &mut self.by_node[node.index()];
        *own = own.saturating_add(bytes.max(1).saturating_mul(count).saturating_mul(far));
        count.saturating_mul(to.len() as u64 - u64::from(to.contains(&from)))
    }
}

/// Returns the bytes to other nodes from the node that sends most. If all ranks send alike, a lower bound: the bytes
/// from the node with most ranks.
pub(super) fn most_sent(programs: &dyn Programs, placement: &Placement) -> u64 {
    let mut sent = SentBytes::new(placement);
    let mut add = |rank: u32| {
        programs.fan_outs_of(rank, &mut |own| {
            sent.add_fan_out(rank, own);
        });
    };
    let fullest = placement.used().map(|node| placement.tasks(node)).max_by_key(|tasks| tasks.len());
    match fullest.filter(|_| programs.is_symmetric()) {
        Some(tasks) => tasks.iter().for_each(|task| add(task.0)),
        None => (0..programs.ranks()).for_each(add),
    }
    sent.by_node.into_iter().max().unwrap_or(0)
}

/// Returns the traffic of ranks with the delay model, from one pass over their messages: the number of messages of each
/// size, and the bytes that each node sends to other nodes, relative to the node that sends most.
pub(crate) fn volumes(programs: &dyn Programs, placement: &Placement) -> (Sizes, Arc<[f64]>) {
    let mut sizes = Sizes::default();
    let mut sent = SentBytes::new(placement);
    if programs.is_called_back() {
        // Nothing is known in advance: all nodes are assumed to send equally.
        sent.by_node.fill(1);
    }
    if programs.is_symmetric() && placement.used().count() == programs.ranks() as usize {
        placement.used().for_each(|node| sent.by_node[node.index()] = 1);
        sizes = Sizes::of(programs);
    } else {
        for rank in 0..programs.ranks() {
            programs.fan_outs_of(rank, &mut |own| {
                let bytes = own.bytes;
                sizes.add(bytes, sent.add_fan_out(rank, own));
            });
        }
        sizes.settle();
    }
    let most = sent.by_node.iter().copied().max().unwrap_or(0).max(1);
    (sizes, sent.by_node.into_iter().map(|bytes| bytes as f64 / most as f64).collect())
}
