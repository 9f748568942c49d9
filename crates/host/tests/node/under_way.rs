//! Limits of the pending operations of a group in the switches, and of streams among them.

use host::{GroupParams, NicParams, ProtocolParams};
use mpi::collectives::{Collective, Operation};
use mpi::program::{Action, ScriptCall};

use crate::groups::{CROSS, PACE, RECEIVE, Run, SEND, call, calls, start};
use crate::times::INTERFACE;

const FREE: GroupParams = GroupParams { window: 1000, ..GroupParams::DEFAULT };

fn interface(group: GroupParams) -> NicParams {
    NicParams { protocol: ProtocolParams { group, ..ProtocolParams::PLAIN }, ..INTERFACE }
}

/// Runs four ranks that begin some operations at once.
fn at_once(operations: &[Collective], group: GroupParams) -> Run {
    let mut steps: Vec<ScriptCall> = operations.iter().map(|&own| ScriptCall::StartCollective(own)).collect();
    steps.push(ScriptCall::WaitAll);
    start(calls(&vec![steps; 4]), interface(group), (&[0, 1, 2, 3], 1)).finish()
}

fn waits(run: &Run) -> u64 {
    run.world.executors.iter().map(host::Executor::group_waits).sum()
}

#[test]
fn the_rate_is_bounded_by_the_gap_and_by_what_is_under_way() {
    // Would catch a limit that is off by one, a limit that counts packets, a limit that waits for all earlier
    // operations, and operations whose wait is not counted or counted twice. With k operations pending, each of latency
    // L, behind a gap of g, the rate is min(1/g, k/L).
    const COUNT: usize = 200;
    for packets in [1_u64, 3] {
        let operations = vec![call(Operation::Allreduce, 100 * packets); COUNT];
        for k in [1_usize, 2, 5, 40, 400] {
            let run = at_once(&operations, GroupParams { outstanding: k as u32, ..FREE });
            let mut left: Vec<u64> = Vec::new();
            for number in 0..COUNT {
                // The first packet leaves after the packets before it, and when the operation k before is finished.
                let after = left.last().map_or(SEND, |last| last + packets * PACE);
                let known = number.checked_sub(k).map_or(0, |own| left[own] + (packets - 1) * PACE + CROSS);
                left.push(after.max(known));
            }
            let ends: Vec<u64> = left.iter().map(|at| at + (packets - 1) * PACE + CROSS + RECEIVE).collect();
            assert_eq!(run.requests(2), ends, "{k} under way, of {packets} packets");
            let (gap, latency) = ((packets * PACE) as f64, ((packets - 1) * PACE + CROSS) as f64);
            let rate = (COUNT - 1) as f64 / (ends[COUNT - 1] - ends[0]) as f64;
            let bound = (1.0 / gap).min(k as f64 / latency);
            assert!((rate / bound - 1.0).abs() < k as f64 / COUNT as f64 || k >= COUNT, "{rate} for {bound}");
            let held = run.world.switch.most_held as u64;
            assert!(held <= packets * k as u64, "{held} partial sums with {k} operations under way");
            // Every operation that finds k operations before it waits, once, on each of four nodes.
            let waiting = COUNT.saturating_sub(k) as u64;
            assert!(waits(&run) <= 4 * waiting && (waits(&run) > 0) == (waiting > 0), "{}", waits(&run));
        }
    }
}

#[test]
fn a_limit_holds_back_who_would_run_ahead_of_the_root() {
    // Would catch members that end a reduction when they hand it over, whatever is pending, a root that waits for
    // itself, and a multicast that waits. The root calculates first; the others may begin two reductions, and the third
    // when the root has acknowledged the first.
    const LATE: u64 = 50_000;
    let reductions = [ScriptCall::Collective(call(Operation::Reduce, 100)); 3];
    let mut steps = vec![reductions.to_vec(); 4];
    steps[0].insert(0, ScriptCall::Do(Action::Calc { time: LATE }));
    let limited = GroupParams { outstanding: 2, ..FREE };
    let run = start(calls(&steps), interface(limited), (&[0, 1, 2, 3], 1)).finish();
    let acknowledged = LATE + CROSS;
    assert_eq!(run.ends()[1..], [acknowledged; 3]);
    let first: Vec<u64> = start(calls(&steps), interface(FREE), (&[0, 1, 2, 3], 1)).finish().ends();
    assert_eq!(first[1..], [3 * SEND; 3], "without a limit they hand over one after the other");
    let copied = vec![call(Operation::Allgather, 100); 5];
    let (bounded, free) = (at_once(&copied, GroupParams { outstanding: 1, ..FREE }), at_once(&copied, FREE));
    assert_eq!((bounded.ends(), waits(&bounded)), (free.ends(), 0), "what is copied is not held back");
}

#[test]
fn streams_have_a_limit_and_packets_of_their_own() {
    // Would catch concurrent streams, a small operation that waits for a stream without being behind it, packets of the
    // wrong size, and a size that is counted wrongly at the limit. Up to 100 bytes, an operation is small, in packets
    // of 40.
    let group = GroupParams { streams: 1, largest_small: 100, small_packet: 40, ..FREE };
    let of = |bytes| call(Operation::Allreduce, bytes);
    let time = |bytes: u64| bytes * (PACE / 2) / 100 * 2;
    let run = at_once(&[of(300), of(100), of(101)], group);
    let stream = SEND + 2 * PACE + CROSS;
    let small = SEND + 3 * PACE + 2 * time(40) + CROSS;
    let second = (SEND + 3 * PACE + 2 * time(40) + time(20)).max(stream) + PACE + CROSS;
    assert_eq!(run.requests(0), [stream + RECEIVE, small + RECEIVE, second + RECEIVE]);
    assert_eq!(run.world.switch.sent[2], 4 * (3 + 3 + 2));
    assert_eq!(waits(&run), 4);
    // Multicasts have whole packets, and are not streams.
    let copied = at_once(&[call(Operation::Broadcast, 300); 2], group);
    assert_eq!((copied.world.switch.sent[0], waits(&copied)), (6, 0));
}
