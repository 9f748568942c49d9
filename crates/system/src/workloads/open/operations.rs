//! Multicast operations: the times at which each destination, and the last one, has the whole message.

use engine::statistics::Histogram;
use fabric::ArrivedMessage;

use ::network::Network;
use measure::{CollectiveResult, Latencies};

/// Measured operations with at least one arrival.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// Arrivals of each source's operations, in ascending order of `Arrived::key`.
    all: Vec<Vec<Arrived>>,
    /// Latencies of whole messages to each destination, in parts of a tick.
    each: Histogram,
    /// Mean number of destinations, from the experiment.
    fanout: f64,
}
units::state!(Operations { all, each; rebuilt fanout });

/// Arrivals of one operation.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// Generation time in parts of a tick, and plane. Unique for each source.
    key: (u64, u8),
    copies: u32,
    /// Largest latency, in parts of a tick.
    last: u64,
}
units::record!(Arrived { key, copies, last });

/// Number of a source's latest operations that are searched first. Nearly all operations with copies still to come are
/// among them.
const RECENT: usize = 16;

impl Operations {
    /// Creates an empty record. `fanout` is the mean number of destinations.
    pub fn new(fanout: f64) -> Self {
        Self { fanout, ..Self::default() }
    }

    /// Records the arrival of a whole message at one of its destinations. `latency` is in parts of a tick.
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

    /// Returns the measurements. Times are given only if all messages have arrived.
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
