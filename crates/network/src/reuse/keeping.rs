//! Records of episodes as bytes, which a later run reads.

use units::Record as _;

use super::bench::UNKNOWN;
use super::naming::{MORE_SHIFT, STREAM};
use super::records::{MemberOutcome, Moment, Record, Records};

/// Records of episodes that an earlier run has kept. They are right for networks with equal channels and routers only.
#[derive(Clone, Debug, Default)]
pub struct ReuseRecords {
    all: Vec<(Vec<u64>, Record)>,
}

/// Latest time of a record, in ticks or picoseconds. None is near.
const LAST: u64 = 1 << 60;

impl ReuseRecords {
    /// Reads records. `None`: they are cut or garbled.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let all: Vec<(Vec<u64>, Record)> = Vec::take(&mut bytes)?;
        (bytes.is_empty() && all.iter().all(|(key, record)| is_sound(record, key))).then_some(Self { all })
    }

    /// Appends the records to a file, in the order of their keys.
    pub fn put(&self, to: &mut Vec<u8>) {
        self.all.put(to);
    }
}

impl Records {
    /// Adds the records that an earlier run has kept.
    pub fn add_kept(&mut self, kept: &ReuseRecords) {
        for (key, record) in &kept.all {
            self.add(key, record.clone());
        }
    }

    /// Takes all whole records, in the order of their keys, for a later run.
    pub fn take(&mut self) -> ReuseRecords {
        let taken = |(key, number): (Box<[u64]>, u32)| {
            let mut record = std::mem::take(&mut self.all[number as usize]);
            // The weights belong to the run.
            record.members.iter_mut().for_each(|own| own.weight = 0);
            (key.into_vec(), record)
        };
        let all = std::mem::take(&mut self.numbers).into_iter().map(taken);
        ReuseRecords { all: all.filter(|(_, record)| record.until() == UNKNOWN).collect() }
    }
}

impl units::Record for Moment {
    fn put(&self, to: &mut Vec<u8>) {
        let (kind, message) = match *self {
            Self::First(message) => (0_u8, message),
            Self::Last(message) => (1, message),
            Self::Counted => (2, 0),
            Self::Paused => (3, 0),
        };
        (kind, message).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match <(u8, u32)>::take(from)? {
            (0, message) => Some(Self::First(message)),
            (1, message) => Some(Self::Last(message)),
            (2, 0) => Some(Self::Counted),
            _ => None,
        }
    }
}

impl units::Record for MemberOutcome {
    fn put(&self, to: &mut Vec<u8>) {
        // The weight belongs to the run.
        self.latencies.put(to);
        self.repeated.put(to);
        (self.last, self.packets, self.passed).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (latencies, repeated) = (Vec::take(from)?, Vec::take(from)?);
        let (last, packets, passed) = <(u64, u64, [u64; 2])>::take(from)?;
        Some(Self { latencies, repeated, last, packets, passed, weight: 0 })
    }
}

units::record!(Record { moments, counted, spans, served, reads, over, members });

/// Returns whether a record has what its key tells, so that nothing is looked up that is not there.
fn is_sound(record: &Record, key: &[u64]) -> bool {
    let Some(steps) = steps_of(key) else { return false };
    let (messages, channels) = (record.members.len(), record.spans.len());
    let is_known = |message: u32| (message as usize) < messages;
    let has_message = |moment: &(u64, Moment)| match moment.1 {
        Moment::First(message) | Moment::Last(message) => is_known(message),
        Moment::Counted => true,
        Moment::Paused => false,
    };
    let in_order = record.moments.is_sorted() && record.moments.iter().all(|own| own.0 <= record.over);
    let is_counted = record.moments.get(record.counted as usize).is_some_and(|own| own.1 == Moment::Counted);
    let has_step = |&(message, step, _): &(u32, u16, u8)| {
        steps.counts.get(message as usize).is_some_and(|&all| u64::from(step) < all)
    };
    let served = record.served.iter().flatten().flatten();
    messages == steps.counts.len()
        && [record.served.len(), record.reads.len(), steps.channels].iter().all(|&count| count == channels)
        && record.moments.iter().all(has_message)
        && in_order
        && is_counted
        && served.into_iter().all(has_step)
        && record.over <= LAST
        && record.members.iter().all(|own| own.last <= record.over && own.passed.iter().all(|&at| at <= LAST))
        && record.members.iter().all(has_few_latencies)
        && record.spans.iter().all(|span| span.0 <= span.1 && span.1 <= record.over)
}

/// Returns whether a message has no more latencies than packets, and none of them is too large.
fn has_few_latencies(own: &MemberOutcome) -> bool {
    let largest = |&(first, step, times): &(u64, u64, u64)| step.checked_mul(times)?.checked_add(first);
    let repeated: Option<u64> = own.repeated.iter().try_fold(0_u64, |sum, repeated| sum.checked_add(repeated.2));
    repeated.is_some_and(|all| all <= own.packets) && own.repeated.iter().all(|repeated| largest(repeated).is_some())
}

/// Messages and channels of a key.
struct Steps {
    /// Steps of each message.
    counts: Vec<u64>,
    /// Number of named channels.
    channels: usize,
}

/// Returns the steps that a key describes. `None`: it is no key.
fn steps_of(key: &[u64]) -> Option<Steps> {
    let (&count, mut rest) = key.split_first()?;
    let (mut counts, mut channels) = (Vec::new(), 0);
    for _ in 0..count {
        let ([_, _, counted], after) = rest.split_first_chunk()?;
        let (steps, more) = (counted & ((1 << MORE_SHIFT) - 1), (counted >> MORE_SHIFT) as usize);
        let (own, after) = after.split_at_checked(usize::try_from(steps).ok()?)?;
        let (interface, after) = after.split_at_checked(more)?;
        let buses = interface.get(STREAM..).unwrap_or_default();
        let names = own.iter().map(|step| step >> 16).chain(buses.iter().copied());
        channels = names.map(|name| name as usize + 1).fold(channels, usize::max);
        counts.push(steps);
        rest = after;
    }
    Some(Steps { counts, channels })
}
