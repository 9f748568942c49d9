//! Starts and ends of operations, on a network that delivers every packet after a fixed time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::world::{Noted, TRANSIT, World};
use host::{
    ConnectionParams, MatchingParams, NicParams, PartParams, PerByte, ProcessorParams, ProtocolParams, RailParams,
    RegistrationParams,
};
use mpi::program::Programs;
use mpi::schedule::{OpId, Schedule, ScheduleBuilder};

pub const INTERFACE: NicParams = NicParams {
    send_overhead: 60,
    receive_overhead: 14,
    poll_overhead: 0,
    eager_limit: Some(500),
    control: 32,
    packet: 100,
    whole: false,
    ends: false,
    pace: 10,
    tick: 2,
    overhead_per_byte: PerByte::FREE,
    copy: [PerByte::FREE; 2],
    first_byte_free: false,
    processor: ProcessorParams::LATENCY,
    matching: MatchingParams { per_entry: 0, on_nic: false },
    registration: RegistrationParams::NONE,
    parts: PartParams::NONE,
    protocol: ProtocolParams::PLAIN,
    rails: RailParams::ONE,
    connections: ConnectionParams::NONE,
};

/// Runs a schedule, a rank on each node. Returns the start and the end of each operation, in picoseconds.
fn run(schedule: &Schedule, interface: NicParams) -> (Vec<u64>, Vec<u64>) {
    run_on(schedule, interface, (0..schedule.ranks()).collect())
}

/// Runs a schedule with ranks on given nodes. Returns the start and the end of each operation, in picoseconds.
fn run_on(schedule: &Schedule, interface: NicParams, node_of: Arc<[u32]>) -> (Vec<u64>, Vec<u64>) {
    let notes = Arc::default();
    let inner = Arc::new(schedule.clone());
    let programs: Arc<dyn Programs> = Arc::new(Noted { inner, notes: Arc::clone(&notes) });
    let mut world = World::new(&programs, interface, &node_of, 1);
    world.run();
    assert_eq!(world.executors[0].progress().open, 0, "every operation ends");
    let all: BTreeMap<(bool, u32), u64> =
        notes.lock().unwrap().values().flatten().map(|&(is_end, op, at, _)| ((is_end, op), at)).collect();
    let of = |is_end| (0..schedule.len() as u32).map(|op| all[&(is_end, op)]).collect();
    (of(false), of(true))
}

fn times(builder: ScheduleBuilder, ops: &[OpId]) -> Vec<(u64, u64)> {
    let schedule = builder.build().unwrap();
    let (started, ended) = run(&schedule, INTERFACE);
    ops.iter().map(|&op| schedule.number(op) as usize).map(|op| (started[op], ended[op])).collect()
}

/// Returns the ends of operations whose calculations are not whole ticks: 100 ps a tick, no overheads.
fn ends_on(node_of: &[u32], builder: ScheduleBuilder, ops: &[OpId]) -> Vec<u64> {
    let schedule = builder.build().unwrap();
    let coarse = NicParams { send_overhead: 0, receive_overhead: 0, eager_limit: None, tick: 100, ..INTERFACE };
    let (_, ended) = run_on(&schedule, coarse, node_of.into());
    ops.iter().map(|&op| ended[schedule.number(op) as usize]).collect()
}

#[test]
fn calculations_take_their_time_to_the_picosecond() {
    // Would catch a calculation that is rounded up to a tick: 300 ps instead of 91.
    let mut builder = ScheduleBuilder::new(2);
    let ops: Vec<OpId> = [1, 30, 60, 9].map(|time| builder.calc(0, time)).into();
    for pair in ops.windows(2) {
        builder.requires(pair[1], pair[0]);
    }
    assert_eq!(ends_on(&[0, 1], builder, &ops), [1, 31, 91, 100]);
}

#[test]
fn only_the_release_to_the_network_is_rounded_up() {
    // Would catch a packet that leaves between two ticks, and a send that ends at the tick.
    let mut builder = ScheduleBuilder::new(2);
    let before = builder.calc(0, 130);
    let send = builder.send(0, 1, 10, 0);
    builder.requires(send, before);
    let recv = builder.recv(1, 0, 10, 0);
    let after = builder.calc(1, 45);
    builder.requires(after, recv);
    let arrival = 200 + TRANSIT * 100;
    assert_eq!(ends_on(&[0, 1], builder, &[before, send, recv, after]), [130, 130, arrival, arrival + 45]);
}

#[test]
fn what_is_ready_first_within_a_tick_has_the_processor_first() {
    // Would catch operations of one tick that are handled in the order of their numbers: `late` before `early`.
    let mut builder = ScheduleBuilder::new(2);
    let long = builder.calc(0, 150);
    let late = builder.calc(0, 10);
    builder.requires(late, long);
    let recv = builder.recv(0, 1, 8, 0);
    let early = builder.calc(0, 20);
    builder.requires(early, recv);
    let other = builder.calc(1, 120);
    let send = builder.send(1, 0, 8, 0);
    builder.requires(send, other);
    // Both ranks are on node 0, so that the message arrives at 120 ps; `early` waits for `long`, and `late` for both.
    assert_eq!(ends_on(&[0, 0], builder, &[other, recv, long, early, late]), [120, 120, 150, 170, 180]);
}

#[test]
fn alarms_on_a_tick_follow_those_before_it() {
    // Would catch an event on a tick that follows from an event between ticks, and is lost or handled too late.
    let mut builder = ScheduleBuilder::new(2);
    let first = builder.calc(0, 50);
    let second = builder.calc(0, 150);
    let third = builder.calc(0, 100);
    builder.requires(second, first);
    builder.requires(third, second);
    let beside = builder.calc(1, 170);
    let last = builder.calc(1, 30);
    builder.requires(last, beside);
    assert_eq!(ends_on(&[0, 1], builder, &[first, second, third, beside, last]), [50, 200, 300, 170, 200]);
}

#[test]
fn requirements_order_ends_and_starts() {
    // Would catch `irequires` taken for `requires`, and concurrent calculations of one rank.
    let mut builder = ScheduleBuilder::new(2);
    let first = builder.calc(0, 200);
    let beside = builder.calc(0, 100);
    let after = builder.calc(0, 50);
    let with = builder.send(0, 1, 10, 0);
    builder.requires(after, first);
    builder.irequires(with, first);
    let other = builder.calc(1, 30);
    let recv = builder.recv(1, 0, 10, 0);
    builder.requires(recv, other);
    // `beside` is ready at 0 and runs after `first`; `after` runs after both.
    let found = times(builder, &[first, beside, after, with, other, recv]);
    assert_eq!(found, [(0, 200), (0, 300), (200, 350), (0, 60), (0, 30), (30, 2 * (30 + TRANSIT + 7))]);
}

#[test]
fn a_receive_ends_after_both_its_start_and_the_arrival() {
    // Would catch a message that is lost because no receive has been posted for it.
    let mut builder = ScheduleBuilder::new(2);
    let late = builder.calc(1, 8000);
    let send = builder.send(0, 1, 450, 0);
    let recv = builder.recv(1, 0, 450, 0);
    builder.requires(recv, late);
    assert_eq!(times(builder, &[send, recv]), [(0, 60), (8000, 8014)]);
}

#[test]
fn a_large_message_waits_for_its_receive() {
    // Would catch data that are sent without an answer, and a send that ends before its data have left.
    let mut builder = ScheduleBuilder::new(2);
    let late = builder.calc(1, 8000);
    let send = builder.send(0, 1, 501, 0);
    let recv = builder.recv(1, 0, 501, 0);
    builder.requires(recv, late);
    let answered = 8000 + 2 * (30 + TRANSIT + 7 + 30);
    assert_eq!(times(builder, &[send, recv]), [(0, answered), (8000, answered + 2 * (TRANSIT + 7))]);
}

#[test]
fn a_message_of_no_bytes_is_a_message() {
    // Would catch an empty message that never arrives.
    let mut builder = ScheduleBuilder::new(2);
    let send = builder.send(0, 1, 0, 0);
    let recv = builder.recv(1, 0, 0, 0);
    assert_eq!(times(builder, &[send, recv]), [(0, 60), (0, 2 * (30 + TRANSIT + 7))]);
}

#[test]
fn without_overheads_a_chain_takes_the_time_of_its_paths() {
    // Would catch an alarm for an event of the current instant.
    let mut builder = ScheduleBuilder::new(4);
    let mut last = None;
    for rank in 0..3 {
        let send = builder.send(rank, rank + 1, 64, 0);
        if let Some(before) = last {
            builder.requires(send, before);
        }
        last = Some(builder.recv(rank + 1, rank, 64, 0));
    }
    let schedule = builder.build().unwrap();
    let idle = NicParams { send_overhead: 0, receive_overhead: 0, ..INTERFACE };
    let (_, ended) = run(&schedule, idle);
    assert_eq!(ended.iter().max(), Some(&(2 * 3 * TRANSIT)));
}
