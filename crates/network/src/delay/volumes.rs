//! Volumes in the delay model: all messages of a phase are handed over as it begins, and a node's link carries its
//! messages whole, in sequence.
//!
//! Arrival times are known at the hand-over. A delivery is counted when its last byte leaves, earlier than its arrival
//! by the delay of the network. So the end of a phase is known in time for the next one to begin then.

use fabric::ArrivedMessage;
use units::{NodeId, PlaneId};

use super::links::{Carried, Links};

use crate::traffic::{Flow, Span, VolumeTraffic};

/// Volumes of a job that the nodes of a partition have sent.
#[derive(Debug)]
pub(super) struct Volumes {
    /// Nodes of the partition.
    nodes: Vec<u32>,
    /// Time of the next hand-over, in picoseconds. None if nothing is left.
    next: Option<u64>,
    /// Departure times and bytes of messages, latest first.
    leaving: Vec<(u64, u64)>,
    /// Period in which each link carries the last volumes handed over, in picoseconds, by node of the partition. Empty
    /// for other jobs.
    pub busy: Vec<Span>,
    /// Time of the last arrival, by node of the machine. Empty unless arrivals are recorded.
    pub arrivals: Vec<u64>,
    /// Arrived messages, joined for each pair of nodes. None unless messages are measured.
    pub messages: Option<Vec<ArrivedMessage>>,
}

impl Volumes {
    /// Creates the state of the given nodes without any messages.
    pub fn new(nodes: &[u32]) -> Self {
        Self {
            nodes: nodes.to_vec(),
            next: None,
            leaving: Vec::new(),
            busy: Vec::new(),
            arrivals: Vec::new(),
            messages: None,
        }
    }

    /// Records the start of a phase.
    pub fn begin(&mut self, traffic: &VolumeTraffic) {
        self.next = traffic.starts_at();
        self.busy.resize(self.nodes.len(), 0..0);
    }

    /// Returns the time of the next hand-over, in picoseconds.
    pub fn next_at(&self) -> Option<u64> {
        self.next
    }

    /// Records arrivals at `nodes` nodes from now on.
    pub fn note_arrivals(&mut self, nodes: usize) {
        self.arrivals = vec![0; nodes];
    }

    /// Hands over the volumes that are due before `end` to the links of their nodes.
    pub fn run_until(&mut self, end: u64, traffic: &mut VolumeTraffic, links: &mut Links, carried: &mut Carried) {
        let Some(at) = self.next.take_if(|at| *at < end) else { return };
        for node in 0..self.nodes.len() {
            let first = self.messages.as_ref().map_or(0, Vec::len);
            let begins = links.free_at[node].max(at);
            for flow in traffic.take_flows(node) {
                let begin = links.free_at[node].max(at);
                if begin >= traffic.end() {
                    break;
                }
                let leaves = begin.saturating_add(links.time(flow.left));
                links.free_at[node] = leaves;
                carried.by_node[node] += flow.left;
                let arrives = leaves.saturating_add(links.delay(node, flow.dst.0));
                carried.latency.record(arrives - at);
                self.send(node, flow, (leaves, arrives));
            }
            self.busy[node] = begins..begins.max(links.free_at[node]);
            if let Some(messages) = &mut self.messages {
                join(messages, first);
            }
        }
        self.leaving.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// Records a message that is handed over, by the times at which it has left its node and arrives.
    fn send(&mut self, node: usize, Flow { dst, left: bytes, .. }: Flow, (leaves, arrives): (u64, u64)) {
        self.leaving.push((leaves, bytes));
        if let Some(last) = self.arrivals.get_mut(dst.index()) {
            *last = (*last).max(arrives);
        }
        if let Some(messages) = &mut self.messages {
            let source = NodeId(self.nodes[node]);
            messages.push(ArrivedMessage { source, plane: PlaneId(0), dst, bytes, generated_at: 0, at: arrives });
        }
    }

    /// Counts the messages that have left by `now`, and their bytes.
    pub fn leave(&mut self, now: u64, carried: &mut Carried) {
        while let Some((_, bytes)) = self.leaving.pop_if(|&mut (at, _)| at <= now) {
            carried.messages += 1;
            carried.bytes += bytes;
        }
    }
}

/// Joins messages for one destination, among the messages from index `first` on, which have one source.
fn join(messages: &mut Vec<ArrivedMessage>, first: usize) {
    messages[first..].sort_by_key(|message| message.dst);
    let mut kept = first;
    for next in first..messages.len() {
        let message = messages[next];
        match messages[first..kept].last_mut() {
            Some(last) if last.dst == message.dst => {
                (last.bytes, last.at) = (last.bytes + message.bytes, last.at.max(message.at));
            }
            _ => {
                messages[kept] = message;
                kept += 1;
            }
        }
    }
    messages.truncate(kept);
}
