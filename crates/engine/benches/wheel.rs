//! Speed of the engine's innermost operations: an event through the wheel, a value into a histogram.
//!
//!     cargo bench -p cutthrough-engine

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use engine::statistics::Histogram;
use engine::{Instant, Owner, Stream, Wheel};
use units::Draw;

/// Events pending in the wheel at any time, as in a network of some thousand channels.
const WAITING: u32 = 4096;
/// Events handled in one measurement.
const EVENTS: u64 = 65_536;

/// Runs `EVENTS` events through a wheel in the steady state: each event handed out inserts its successor `delay` later.
fn turn(wheel: &mut Wheel<4>, delay: &mut impl FnMut() -> u64) -> u32 {
    let mut instant = Instant::default();
    let (mut handled, mut sum) = (0, 0);
    while handled < EVENTS && wheel.next(u64::MAX, &mut instant) {
        let now = instant.now;
        for kind in 0..4 {
            for event in &instant.kinds[kind] {
                sum ^= event.arg;
                handled += 1;
                wheel.insert(now + delay(), (kind + 1) % 4, event.target, event.arg);
            }
        }
    }
    sum
}

/// Returns a wheel that holds `WAITING` events.
fn filled(horizon: u64, delay: &mut impl FnMut() -> u64) -> Wheel<4> {
    let mut wheel = Wheel::new(horizon);
    for id in 0..WAITING {
        wheel.insert(delay(), id as usize % 4, id, id);
    }
    wheel
}

/// Measures insertion and removal of an event, by the distance in time of the pending events.
fn wheel(c: &mut Criterion) {
    let mut group = c.benchmark_group("wheel: insert and next");
    group.throughput(Throughput::Elements(EVENTS));
    // In slots of a nanosecond nearly every event is a few ticks ahead; in picoseconds it is some hundred thousand
    // ahead.
    for (name, horizon) in [("1 to 32 ticks", 32), ("1 to 4000 ticks", 4000), ("1 to 400000 ticks", 400_000)] {
        let mut stream = Stream::new(1, Owner::Pattern);
        let mut delay = || 1 + u64::from(stream.below(horizon));
        let mut wheel = filled(u64::from(horizon), &mut delay);
        group.bench_function(name, |b| b.iter(|| black_box(turn(&mut wheel, &mut delay))));
    }
    group.finish();
}

/// Measures the recording of latencies.
fn histogram(c: &mut Criterion) {
    let mut stream = Stream::new(1, Owner::Pattern);
    let latencies: Vec<u64> = (0..EVENTS).map(|_| 500_000 + u64::from(stream.below(2_000_000))).collect();
    let mut group = c.benchmark_group("histogram");
    group.throughput(Throughput::Elements(EVENTS));
    group.bench_function("record", |b| {
        b.iter_batched_ref(
            Histogram::new,
            |histogram| latencies.iter().for_each(|&latency| histogram.record(latency)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    wheel(&mut criterion);
    histogram(&mut criterion);
    criterion.final_summary();
}
