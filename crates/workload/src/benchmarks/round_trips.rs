//! What the benchmarks are made of: round trips between pairs of ranks, written as schedules.

use std::sync::Arc;

use crate::PatternError;
use crate::schedule::{OpId, Schedule, ScheduleBuilder};

/// A benchmark: its schedule, and which of its operations are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// What every rank does.
    pub schedule: Arc<Schedule>,
    /// Bytes of a message.
    pub message_size: u64,
    /// The pairs of ranks, the one that begins first.
    pub pairs: Vec<(u32, u32)>,
    /// The round trips, pair by pair: the send that begins and the receive that ends it, by their numbers in the schedule.
    pub trips: Vec<(u32, u32)>,
}

/// The most operations of a benchmark: each takes some 150 bytes to build, and 50 of every thread that runs it.
const MOST: u64 = 1 << 24;

/// Refuses benchmarks without pairs, and those with too many operations: a round trip is four.
pub(super) fn check_size(pairs: u64, ranks: u32, messages: u32) -> Result<(), PatternError> {
    if pairs == 0 {
        let message = format!("a benchmark needs two ranks, and there is {ranks}");
        return Err(PatternError::new("kind", message));
    }
    let most = MOST / (4 * pairs);
    if u64::from(messages) > most {
        let message = format!("{messages} round trips of {pairs} pairs are too many: up to {most} are supported");
        return Err(PatternError::new("messages", message));
    }
    Ok(())
}

/// The operations of a pair's round trips: of the rank that begins, and of its partner.
pub(super) struct Trips {
    /// The first send and the last receive of the rank that begins.
    pub(super) ends: Option<(OpId, OpId)>,
    /// The partner's last send.
    pub(super) last_reply: Option<OpId>,
    pub(super) measured: Vec<(OpId, OpId)>,
}

/// Writes round trips one after the other, the first after two operations, of the rank that begins and of its partner.
pub(super) fn round_trips(
    builder: &mut ScheduleBuilder,
    (rank, partner): (u32, u32),
    (messages, bytes): (u32, u64),
    after: (Option<OpId>, Option<OpId>),
) -> Trips {
    let mut trips = Trips { ends: None, last_reply: after.1, measured: Vec::new() };
    let mut last = after.0;
    for _ in 0..messages {
        let send = builder.send(rank, partner, bytes, 0);
        let received = builder.recv(partner, rank, bytes, 0);
        let reply = builder.send(partner, rank, bytes, 0);
        let recv = builder.recv(rank, partner, bytes, 0);
        for (op, before) in [(send, last), (received, trips.last_reply)] {
            if let Some(before) = before {
                builder.requires(op, before);
            }
        }
        builder.requires(reply, received);
        builder.requires(recv, send);
        trips.measured.push((send, recv));
        trips.last_reply = Some(reply);
        trips.ends = Some((trips.ends.map_or(send, |ends| ends.0), recv));
        last = Some(recv);
    }
    trips
}

/// The benchmark of a schedule under construction.
pub(super) fn finish(
    builder: ScheduleBuilder,
    message_size: u64,
    pairs: Vec<(u32, u32)>,
    trips: &[(OpId, OpId)],
) -> Result<Benchmark, PatternError> {
    let schedule = builder.build().map_err(|error| PatternError::new("messages", error.to_string()))?;
    let trips = trips.iter().map(|&(send, recv)| (schedule.number(send), schedule.number(recv))).collect();
    Ok(Benchmark { schedule: Arc::new(schedule), message_size, pairs, trips })
}
