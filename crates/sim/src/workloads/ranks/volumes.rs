//! What nodes send on a flat network, where nobody asks whom they send it to.

use std::sync::Arc;

use units::{Draw, TaskId};
use workload::program::{Messages, Programs, Sizes};
use workload::{Pattern, Placement};

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

    fn distribution(&self, _src: TaskId) -> Vec<(TaskId, f64)> {
        Vec::new()
    }
}

/// What ranks send on a flat network, from one look at their messages: how many of each size, and by node the bytes that its ranks send
/// to other nodes, as a share of the most that one sends.
pub(crate) fn volumes(programs: &dyn Programs, placement: &Placement) -> (Sizes, Arc<[f64]>) {
    let mut sizes = Sizes::default();
    let mut bytes = vec![0_u64; placement.nodes() as usize];
    if programs.is_called_back() {
        // Nothing is known beforehand: all nodes are taken to send alike.
        bytes.fill(1);
    }
    programs.each_message(&mut |messages: Messages| {
        sizes.add(messages.bytes, messages.count);
        let [from, to] = [messages.from, messages.to].map(|rank| placement.node(TaskId(rank)));
        let own = &mut bytes[from.index()];
        *own = own.saturating_add(if from == to { 0 } else { messages.bytes.max(1).saturating_mul(messages.count) });
    });
    sizes.settle();
    let most = bytes.iter().copied().max().unwrap_or(0).max(1);
    (sizes, bytes.into_iter().map(|bytes| bytes as f64 / most as f64).collect())
}
