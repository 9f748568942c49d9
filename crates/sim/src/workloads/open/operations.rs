//! The operations of multicasts: when each of their destinations, and the last of them, has the whole message.

use engine::statistics::Histogram;
use fabric::ArrivedMessage;

use crate::network::Network;
use crate::results::{CollectiveResult, Latencies};

/// The measured operations that have begun to arrive.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// By source, what has arrived, in ascending order of `Arrived::key`.
    all: Vec<Vec<Arrived>>,
    /// Latencies of whole messages to each destination, in parts of a tick.
    each: Histogram,
    /// Nodes that an operation is for, on average, as the file has it.
    fanout: f64,
}

/// What has arrived of an operation.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// When it was generated, in parts of a tick, and the plane by which it goes: no two of a source are alike.
    key: (u64, u8),
    copies: u32,
    /// The largest latency, in parts of a tick.
    last: u64,
}

/// Operations of a source that are searched first, from its last on: those whose copies are still to come are nearly always among them.
const RECENT: usize = 16;

impl Operations {
    /// None yet, of so many nodes on average.
    pub fn new(fanout: f64) -> Self {
        Self { fanout, ..Self::default() }
    }

    /// A message has arrived as a whole at one of its destinations, after a latency in parts of a tick.
    pub fn record(&mut self, message: &ArrivedMessage, latency: u64) {
        self.each.record(latency);
        let source = message.source.index();
        if self.all.len() <= source {
            self.all.resize(source + 1, Vec::new());
        }
        let own = &mut self.all[source];
        let key = (message.generated_at, message.plane.0);
        let recent = own.len().saturating_sub(RECENT);
        let found = match own[recent..].iter().rposition(|known| known.key <= key) {
            Some(last) if own[recent + last].key == key => Ok(recent + last),
            Some(last) => Err(recent + last + 1),
            None => own[..recent].binary_search_by_key(&key, |known| known.key),
        };
        let place = found.unwrap_or_else(|place| {
            own.insert(place, Arrived { key, copies: 0, last: 0 });
            place
        });
        let operation = &mut own[place];
        operation.copies += 1;
        operation.last = operation.last.max(latency);
    }

    /// What has been measured; times only if all of it has arrived.
    pub fn result(&self, network: &Network, all_arrived: bool) -> CollectiveResult {
        let mut times = Histogram::default();
        let (mut operations, mut copies) = (0, 0);
        for operation in self.all.iter().flatten() {
            times.record(operation.last);
            operations += 1;
            copies += u64::from(operation.copies);
        }
        let of =
            |histogram: &Histogram| if all_arrived { Latencies::of(histogram, network) } else { Latencies::default() };
        let (time, completion) = (of(&times), of(&self.each));
        CollectiveResult {
            operations,
            operation_time_mean_ns: time.mean,
            operation_time_ci_ns: None,
            operation_time_p99_ns: time.p99,
            copies,
            fanout_mean: if operations > 0 && all_arrived { copies as f64 / operations as f64 } else { self.fanout },
            completion_mean_ns: completion.mean,
            last_begin_mean_ns: None,
            groups: None,
        }
    }
}
