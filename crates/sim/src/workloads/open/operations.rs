//! The operations of multicasts: when each of their destinations, and the last of them, has the whole message.

use std::collections::BTreeMap;

use engine::statistics::Histogram;
use fabric::ArrivedMessage;

use crate::network::Network;
use crate::results::{CollectiveResult, Latencies};

/// The measured operations that have begun to arrive.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// By source, generation time, in parts of a tick, and plane, what has arrived.
    all: BTreeMap<(u32, u64, u8), Arrived>,
    /// Latencies of whole messages to each destination, in parts of a tick.
    each: Histogram,
    /// Nodes that an operation is for, on average, as the file has it.
    fanout: f64,
}

/// What has arrived of an operation.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    copies: u32,
    /// The largest latency, in parts of a tick.
    last: u64,
}

impl Operations {
    /// None yet, of so many nodes on average.
    pub fn new(fanout: f64) -> Self {
        Self { fanout, ..Self::default() }
    }

    /// A message has arrived as a whole at one of its destinations, after a latency in parts of a tick.
    pub fn record(&mut self, message: &ArrivedMessage, latency: u64) {
        self.each.record(latency);
        let operation = self.all.entry((message.source.0, message.generated_at, message.plane.0)).or_default();
        operation.copies += 1;
        operation.last = operation.last.max(latency);
    }

    /// What has been measured; times only if all of it has arrived.
    pub fn result(&self, network: &Network, all_arrived: bool) -> CollectiveResult {
        let mut times = Histogram::default();
        self.all.values().for_each(|operation| times.record(operation.last));
        let copies: u64 = self.all.values().map(|operation| u64::from(operation.copies)).sum();
        let operations = self.all.len() as u64;
        let of =
            |histogram: &Histogram| if all_arrived { Latencies::of(histogram, network) } else { Latencies::default() };
        let (time, completion) = (of(&times), of(&self.each));
        CollectiveResult {
            operations,
            operation_time_mean_ns: time.mean,
            operation_time_p99_ns: time.p99,
            copies,
            fanout_mean: if operations > 0 && all_arrived { copies as f64 / operations as f64 } else { self.fanout },
            completion_mean_ns: completion.mean,
            last_begin_mean_ns: None,
            groups: None,
        }
    }
}
