//! Volumes that nodes send on a flat network: all of a phase is handed over as it begins, and a link carries what its node sends to another
//! whole, one after the other.
//!
//! When all of it arrives is known as it is handed over. A delivery counts as its last byte leaves, the delay of the network before
//! it arrives, so that the end of a phase is known in time for the next one to begin then.

use engine::statistics::Histogram;
use fabric::ArrivedMessage;
use host::WireParams;
use units::{Bytes, NodeId, PlaneId};

use crate::traffic::{Flow, Span, VolumeTraffic};

/// What a job of volumes has sent from the nodes of a partition.
#[derive(Debug)]
pub(super) struct Volumes {
    wire: WireParams,
    /// The nodes of the partition.
    nodes: Vec<u32>,
    /// When what has not been handed over is, if there is any.
    next: Option<u64>,
    /// When messages leave, with their bytes: the latest first.
    leaving: Vec<(u64, u64)>,
    /// Messages that have left, and their bytes.
    left: (u64, u64),
    /// Times from the handing over to the arrival, in picoseconds.
    pub latency: Histogram,
    /// By node of the partition, the bytes that its link has carried; empty of other jobs.
    pub by_node: Vec<u64>,
    /// By node of the partition, from when until when its link carries the volumes handed over last, in picoseconds.
    pub busy: Vec<Span>,
    /// By node of the machine, when the last message has arrived; empty unless it is noted.
    pub arrivals: Vec<u64>,
    /// What has arrived of each pair of nodes, if that is measured.
    pub messages: Option<Vec<ArrivedMessage>>,
}

impl Volumes {
    /// Nothing yet, of some nodes.
    pub fn new(wire: WireParams, nodes: &[u32]) -> Self {
        Self {
            wire,
            nodes: nodes.to_vec(),
            next: None,
            leaving: Vec::new(),
            left: (0, 0),
            latency: Histogram::new(),
            by_node: Vec::new(),
            busy: Vec::new(),
            arrivals: Vec::new(),
            messages: None,
        }
    }

    /// Learns when a phase begins.
    pub fn begin(&mut self, traffic: &VolumeTraffic) {
        self.next = traffic.starts_at();
        self.by_node.resize(self.nodes.len(), 0);
        self.busy.resize(self.nodes.len(), 0..0);
    }

    /// When volumes are handed over next.
    pub fn next_at(&self) -> Option<u64> {
        self.next
    }

    /// Notes arrivals at so many nodes from now on.
    pub fn note_arrivals(&mut self, nodes: usize) {
        self.arrivals = vec![0; nodes];
    }

    /// Hands over what is to be handed over before a time, given when the links of nodes are free.
    pub fn run_until(&mut self, end: u64, traffic: &mut VolumeTraffic, links: &mut [u64]) {
        let Some(at) = self.next.take_if(|at| *at < end) else { return };
        for (node, free_at) in links.iter_mut().enumerate() {
            let first = self.messages.as_ref().map_or(0, Vec::len);
            let begins = (*free_at).max(at);
            for flow in traffic.take_flows(node) {
                let begin = (*free_at).max(at);
                if begin >= traffic.end() {
                    break;
                }
                *free_at = begin.saturating_add(self.time(flow.left));
                self.send(node, flow, at, *free_at);
            }
            self.busy[node] = begins..begins.max(*free_at);
            if let Some(messages) = &mut self.messages {
                join(messages, first);
            }
        }
        self.leaving.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// A message is handed over, and has left at a time.
    fn send(&mut self, node: usize, Flow { dst, left: bytes, .. }: Flow, at: u64, leaves: u64) {
        let arrives = leaves.saturating_add(self.wire.delay);
        self.leaving.push((leaves, bytes));
        self.latency.record(arrives - at);
        self.by_node[node] += bytes;
        if let Some(last) = self.arrivals.get_mut(dst.index()) {
            *last = (*last).max(arrives);
        }
        if let Some(messages) = &mut self.messages {
            let source = NodeId(self.nodes[node]);
            messages.push(ArrivedMessage { source, plane: PlaneId(0), dst, bytes, generated_at: 0, at: arrives });
        }
    }

    /// The time of so many bytes on a link, in picoseconds, rounded up.
    fn time(&self, bytes: u64) -> u64 {
        self.wire.bandwidth.serialization(Bytes(bytes)).map_or(u64::MAX, |(time, _)| time.0)
    }

    /// Messages that have left by a time, and their bytes.
    pub fn left_by(&mut self, now: u64) -> (u64, u64) {
        while let Some((_, bytes)) = self.leaving.pop_if(|&mut (at, _)| at <= now) {
            self.left = (self.left.0 + 1, self.left.1 + bytes);
        }
        self.left
    }
}

/// Joins the messages of a node from a place on that are for the same node.
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
