//! Counts of the messages of each job. A message counts as one packet, and as delivered when its last byte leaves its
//! node. So the end of a phase is known in time for the next one to begin then.

use std::ops::Range;

use engine::statistics::Histogram;
use fabric::{Batch, FLOW_BITS, MessageKey, Messages};
use units::{NodeId, PlaneId};

/// Message that has left its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    /// Identifier in its traffic, with its packet class.
    pub flow_id: u32,
    pub bytes: u32,
    pub plane: PlaneId,
    pub to: NodeId,
    /// Generation time, in parts of a tick (`fabric::Plan::units_per_tick`), and time of arrival, in ticks.
    pub generated_at: u64,
    pub arrives: u64,
    pub routers: u32,
}

/// Counts of a packet class.
#[derive(Debug)]
pub(super) struct ClassCounts {
    batches: Vec<Batch>,
    /// Interval of generation times whose messages are measured.
    pub measured: Range<u64>,
    pub latency: Histogram,
    /// Routers traversed by measured messages, summed.
    pub hops: u64,
    /// Measured messages that have started and have not left.
    pub measured_in_flight: i64,
    /// Bytes that have left since the measurement began, by source. Empty if messages do not identify their sources.
    pub by_source: Vec<u64>,
    /// Time of the last arrival by node, in ticks. Empty unless arrivals are noted.
    pub arrivals: Vec<u64>,
    pub messages: Option<Box<Messages>>,
    /// Bytes that have left and have not arrived.
    pub under_way: u64,
    /// Messages that have started and have not arrived. A message to several nodes counts for each.
    pub open: u64,
}

impl ClassCounts {
    /// Creates the counts of a class. `sources` is the number of nodes, or 0 if messages do not identify their sources.
    pub fn new(sources: usize) -> Self {
        Self {
            batches: Vec::new(),
            measured: u64::MAX..u64::MAX,
            latency: Histogram::new(),
            hops: 0,
            measured_in_flight: 0,
            by_source: vec![0; sources],
            arrivals: Vec::new(),
            messages: None,
            under_way: 0,
            open: 0,
        }
    }

    /// Measures messages by a key from now on.
    pub fn measure_messages(&mut self, key: MessageKey, nodes: u32) {
        self.messages = Some(Box::new(Messages::new(key, nodes)));
    }

    /// Counts a message that starts.
    pub fn started(&mut self, generated_at: u64) {
        self.open += 1;
        self.measured_in_flight += i64::from(self.measured.contains(&generated_at));
    }

    /// Counts a message that has left, in the given batch. `units` is the number of parts of a tick.
    pub fn departed(&mut self, message: &Departed, batch: usize, units: u64) {
        let &Departed { flow_id, bytes, plane, to, generated_at, arrives, routers } = message;
        let latency = arrives.saturating_mul(units).saturating_sub(generated_at);
        if self.batches.len() <= batch {
            self.batches.resize(batch + 1, Batch::default());
        }
        let hops = u64::from(routers);
        self.batches[batch].add(&Batch {
            entered: 1,
            packets: 1,
            bytes: bytes.into(),
            latency: latency.into(),
            hops,
            transmissions: hops,
            ..Batch::default()
        });
        self.under_way += u64::from(bytes);
        let source = flow_id & ((1 << FLOW_BITS) - 1);
        if let Some(all) = self.by_source.get_mut(source as usize) {
            *all += u64::from(bytes);
        }
        if let Some(last) = self.arrivals.get_mut(to.index()) {
            *last = arrives.max(*last);
        }
        if self.measured.contains(&generated_at) {
            self.latency.record(latency);
            self.hops += hops;
            self.measured_in_flight -= 1;
            if let Some(messages) = &mut self.messages {
                messages.count((source, plane, to), bytes, generated_at, arrives);
            }
        }
    }

    /// Moves the counts of the batches so far to `counts`, as `batches` batches.
    pub fn take_batches(&mut self, batches: usize, counts: &mut Vec<Batch>) {
        std::mem::swap(counts, &mut self.batches);
        counts.resize(batches, Batch::default());
        self.batches.clear();
    }
}
