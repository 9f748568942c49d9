//! Protocols: rendezvous by read, eager credits and memory within a node, on a network that delivers every packet after
//! a fixed time.

use std::collections::BTreeMap;
use std::sync::Arc;

use host::{Executor, MemoryParams, NicParams, ProcessorParams, ProgressMode, ProtocolParams, Rendezvous};
use mpi::program::Programs;
use mpi::schedule::{OpId, Schedule, ScheduleBuilder};

use crate::times::INTERFACE;
use crate::world::{Noted, TRANSIT, World};

/// Overheads, and the time of a packet in the network, in picoseconds.
const SEND: u64 = INTERFACE.send_overhead;
const RECEIVE: u64 = INTERFACE.receive_overhead;
const NETWORK: u64 = TRANSIT * INTERFACE.tick;

/// Outcome of a schedule.
struct Outcome {
    schedule: Schedule,
    ends: BTreeMap<u32, u64>,
    world: World,
}

impl Outcome {
    /// Returns the times at which operations have ended, in picoseconds.
    fn ends(&self, ops: &[OpId]) -> Vec<u64> {
        ops.iter().map(|&op| self.ends[&self.schedule.number(op)]).collect()
    }

    fn executor(&self) -> &Executor {
        &self.world.executors[0]
    }
}

/// Runs a schedule with ranks on given nodes.
fn run(builder: ScheduleBuilder, protocol: ProtocolParams, node_of: &[u32]) -> Outcome {
    run_with(builder, NicParams { protocol, ..INTERFACE }, node_of)
}

fn run_with(builder: ScheduleBuilder, interface: NicParams, node_of: &[u32]) -> Outcome {
    let schedule = builder.build().unwrap();
    let notes = Arc::default();
    let programs: Arc<dyn Programs> = Arc::new(Noted { inner: Arc::new(schedule.clone()), notes: Arc::clone(&notes) });
    let mut world = World::new(&programs, interface, node_of, 1);
    world.run();
    let happened = notes.lock().unwrap();
    let ends = happened.values().flatten().filter(|happened| happened.0).map(|&(_, op, at, _)| (op, at)).collect();
    drop(happened);
    Outcome { schedule, ends, world }
}

/// Returns a message of `bytes` bytes from rank 0 to rank 1, which receives it at `receives_at`, in picoseconds.
fn message(bytes: u64, receives_at: u64) -> (ScheduleBuilder, [OpId; 2]) {
    let mut builder = ScheduleBuilder::new(2);
    let before = builder.calc(1, receives_at);
    let ops = [builder.send(0, 1, bytes, 0), builder.recv(1, 0, bytes, 0)];
    builder.requires(ops[1], before);
    (builder, ops)
}

const READ: ProtocolParams = ProtocolParams { rendezvous: Rendezvous::Read, ..ProtocolParams::PLAIN };

#[test]
fn data_that_are_read_save_the_overheads_of_the_sender() {
    // Would catch a read that waits for the sender's processor, a send that ends before its data have been fetched, and
    // a notice that costs no overhead.
    let (builder, ops) = message(600, 0);
    let ends = run(builder, READ, &[0, 1]).ends(&ops);
    let received = 2 * SEND + 2 * RECEIVE + 3 * NETWORK;
    assert_eq!(ends, [received + SEND + NETWORK + RECEIVE, received]);
    // A rendezvous by write takes the sender's overheads for the answer and the data, and no notice.
    let (builder, ops) = message(600, 0);
    let ends = run(builder, ProtocolParams::PLAIN, &[0, 1]).ends(&ops);
    let written = 3 * SEND + 2 * RECEIVE + 2 * NETWORK;
    assert_eq!(ends, [written, written + NETWORK + RECEIVE]);
    // The request has been read when the late receive is posted.
    let late = 20_000;
    let (builder, ops) = message(600, late);
    let ends = run(builder, READ, &[0, 1]).ends(&ops);
    let received = late + SEND + 2 * NETWORK + RECEIVE;
    assert_eq!(ends, [received + SEND + NETWORK + RECEIVE, received]);
}

#[test]
fn a_read_does_not_wait_for_a_sender_that_calculates() {
    // Would catch a read that the sender's library serves, and a notice that the library reads while its rank
    // calculates.
    let occupied = ProcessorParams { host_driven: true, progress: ProgressMode::Calls, ..ProcessorParams::LATENCY };
    let ends = |protocol| {
        let mut builder = ScheduleBuilder::new(2);
        let ops = [builder.send(0, 1, 600, 0), builder.calc(0, 50_000), builder.recv(1, 0, 600, 0)];
        run_with(builder, NicParams { processor: occupied, protocol, ..INTERFACE }, &[0, 1]).ends(&ops)
    };
    let calculated = SEND + 50_000;
    assert_eq!(ends(READ), [calculated + RECEIVE, calculated, 2 * SEND + 2 * RECEIVE + 3 * NETWORK]);
    let written = calculated + RECEIVE + SEND;
    // The network takes the data at the next tick.
    assert_eq!(ends(ProtocolParams::PLAIN), [written, calculated, written + NETWORK + RECEIVE]);
}

/// Returns a stream of messages of 8 bytes to a rank that receives them from `receives_at` on, in picoseconds.
fn stream(count: u32, receives_at: u64) -> (ScheduleBuilder, Vec<OpId>, Vec<OpId>) {
    let mut builder = ScheduleBuilder::new(2);
    let sends = (0..count).map(|_| builder.send(0, 1, 8, 0)).collect();
    let before = builder.calc(1, receives_at);
    let receive = |_| {
        let receive = builder.recv(1, 0, 8, 0);
        builder.requires(receive, before);
        receive
    };
    let receives = (0..count).map(receive).collect();
    (builder, sends, receives)
}

#[test]
fn credits_limit_a_stream_to_a_receiver_that_is_not_ready() {
    // Would catch credits that are not returned, are returned before the message has left the buffer, or cost an
    // overhead, and one message too many in the buffer.
    const READY: u64 = 50_000;
    let credits = ProtocolParams { eager_credits: Some(2), ..ProtocolParams::PLAIN };
    let (builder, sends, receives) = stream(6, READY);
    let outcome = run(builder, credits, &[0, 1]);
    // Round trip of a credit: the receive, the credit's way back, and the next message's way.
    let round = RECEIVE + 2 * NETWORK;
    let returned = |rounds: u64| READY + rounds * round - NETWORK;
    assert_eq!(outcome.ends(&sends), [SEND, SEND, returned(1), returned(1), returned(2), returned(2)]);
    let received = |rounds: u64| READY + rounds * round + RECEIVE;
    assert_eq!(outcome.ends(&receives), [0, 0, 1, 1, 2, 2].map(received));
    assert_eq!((outcome.executor().most_unexpected_bytes(), outcome.executor().credit_waits()), (2 * 8, 4));
    // Without credits all of them are in the buffer.
    let (builder, sends, receives) = stream(6, READY);
    let outcome = run(builder, ProtocolParams::PLAIN, &[0, 1]);
    assert_eq!((outcome.ends(&sends), outcome.ends(&receives)), (vec![SEND; 6], vec![READY + RECEIVE; 6]));
    assert_eq!((outcome.executor().most_unexpected_bytes(), outcome.executor().credit_waits()), (6 * 8, 0));
}

#[test]
fn requests_keep_their_place_behind_a_message_without_credit() {
    // Would catch a request that overtakes a message that waits for a credit, and a request that itself waits for a
    // credit.
    let credits = ProtocolParams { eager_credits: Some(1), ..ProtocolParams::PLAIN };
    let mut builder = ScheduleBuilder::new(2);
    let before = builder.calc(1, 50_000);
    let ops: Vec<OpId> = [8, 8, 600].into_iter().map(|bytes| builder.send(0, 1, bytes, 0)).collect();
    for bytes in [8, 8, 600] {
        let receive = builder.recv(1, 0, bytes, 0);
        builder.requires(receive, before);
    }
    let ends = run(builder, credits, &[0, 1]).ends(&ops);
    let returned = 50_000 + RECEIVE + NETWORK;
    // The request arrives with the second message; its receive has been posted.
    assert_eq!(ends, [SEND, returned, returned + 2 * NETWORK + 2 * SEND + 2 * RECEIVE]);
}

#[test]
fn ranks_that_wait_for_credits_say_so() {
    // Would catch a standstill that does not name the rank that waits for a credit: both messages are sent, the second
    // is received first.
    let credits = ProtocolParams { eager_credits: Some(1), ..ProtocolParams::PLAIN };
    let mut builder = ScheduleBuilder::new(2);
    builder.send(0, 1, 8, 1);
    builder.send(0, 1, 8, 2);
    let first = builder.recv(1, 0, 8, 2);
    let second = builder.recv(1, 0, 8, 1);
    builder.requires(second, first);
    let outcome = run(builder, credits, &[0, 1]);
    assert!(outcome.executor().progress().stands_still());
    let waits: Vec<String> = outcome.executor().waits().iter().map(|(rank, wait)| format!("{rank}: {wait}")).collect();
    let expected = ["0: credits of rank 1 for its message under tag 2", "1: a message from rank 0 under tag 2"];
    assert_eq!(waits, expected);
}

/// Memory that copies a byte in a picosecond.
const MEMORY: MemoryParams = MemoryParams { bandwidth: 8_000_000_000_000, latency: 50, single_copy: false };

fn with_memory(memory: MemoryParams) -> ProtocolParams {
    ProtocolParams { memory: Some(memory), ..ProtocolParams::PLAIN }
}

#[test]
fn messages_within_a_node_are_copied() {
    // Would catch a copy that takes no time, a latency that is charged twice or not at all, and a send that does not
    // wait for the single copy.
    let (builder, ops) = message(1000, 0);
    let outcome = run(builder, with_memory(MEMORY), &[0, 0]);
    let twice = SEND + 1000 + 50 + 1000 + RECEIVE;
    assert_eq!(outcome.ends(&ops), [SEND + 1000, twice]);
    assert_eq!(outcome.executor().copied_bytes(), 2000);
    let once = MemoryParams { single_copy: true, ..MEMORY };
    let (builder, ops) = message(1000, 0);
    let outcome = run(builder, with_memory(once), &[0, 0]);
    assert_eq!(outcome.ends(&ops), [SEND + 50 + 1000 + 50, SEND + 50 + 1000 + RECEIVE]);
    assert_eq!((outcome.executor().copied_bytes(), outcome.executor().most_unexpected_bytes()), (1000, 0));
    // The receive is posted late.
    let (builder, ops) = message(1000, 5000);
    assert_eq!(run(builder, with_memory(once), &[0, 0]).ends(&ops), [5000 + 1000 + 50, 5000 + 1000 + RECEIVE]);
    // The message is not above the eager limit.
    let (builder, ops) = message(500, 5000);
    let outcome = run(builder, with_memory(once), &[0, 0]);
    assert_eq!(outcome.ends(&ops), [SEND + 500, 5000 + 500 + RECEIVE]);
    assert_eq!((outcome.executor().copied_bytes(), outcome.executor().most_unexpected_bytes()), (1000, 500));
}

#[test]
fn copies_occupy_the_processors_that_make_them() {
    // Would catch a copy concurrent with a calculation of its rank, and a copy that occupies the processor longer than
    // its time alone.
    let occupied = ProcessorParams { host_driven: true, progress: ProgressMode::Calls, ..ProcessorParams::LATENCY };
    let interface = NicParams { processor: occupied, protocol: with_memory(MEMORY), ..INTERFACE };
    let mut builder = ScheduleBuilder::new(2);
    let ops = [builder.send(0, 1, 1000, 0), builder.calc(0, 300), builder.recv(1, 0, 1000, 0), builder.calc(1, 5000)];
    let ends = run_with(builder, interface, &[0, 0]).ends(&ops);
    // The receiver copies when its calculation has ended.
    assert_eq!(ends, [SEND + 1000, SEND + 1000 + 300, 5000 + 1000 + RECEIVE, 5000]);
}

#[test]
fn ranks_of_a_node_share_its_memory() {
    // Would catch a separate memory for each rank, a memory shared by nodes, and a memory that serves copies in
    // sequence: k pairs of a node copy concurrently, each as if it had a k-th of the bandwidth.
    for pairs in [1_u32, 2, 3] {
        let mut builder = ScheduleBuilder::new(2 * pairs + 2);
        let mut ops = Vec::new();
        for pair in 0..=pairs {
            ops.extend([builder.send(2 * pair, 2 * pair + 1, 1000, 0), builder.recv(2 * pair + 1, 2 * pair, 1000, 0)]);
        }
        // The last pair is alone on its node.
        let node_of: Vec<u32> = (0..2 * pairs + 2).map(|rank| u32::from(rank >= 2 * pairs)).collect();
        let outcome = run(builder, with_memory(MEMORY), &node_of);
        let times = |share: u64| [SEND + share * 1000, SEND + 2 * share * 1000 + 50 + RECEIVE];
        let expected: Vec<u64> = (0..pairs).flat_map(|_| times(u64::from(pairs))).chain(times(1)).collect();
        assert_eq!(outcome.ends(&ops), expected);
        assert_eq!(outcome.executor().copied_bytes(), u64::from(pairs + 1) * 2000);
    }
}

#[test]
fn small_messages_within_a_node_do_not_overtake_large_ones() {
    // Would catch a message that arrives as soon as its copy has ended: the receive of any tag matches the message sent
    // first.
    let mut builder = ScheduleBuilder::new(2);
    let sends = [builder.send(0, 1, 400, 1), builder.send(0, 1, 1, 2)];
    let receives = [builder.recv_any(1, Some(0), 400, None), builder.recv_any(1, Some(0), 400, None)];
    let outcome = run(builder, with_memory(MEMORY), &[0, 0]);
    // The copies of 1 and 400 bytes share the memory for 2 ps.
    assert_eq!(outcome.ends(&sends), [SEND + 401, SEND + 2]);
    let come = SEND + 401 + 50;
    assert_eq!(outcome.ends(&receives), [come + 401 + RECEIVE, come + 2 + RECEIVE]);
}

#[test]
fn memory_of_unexpected_messages_is_of_those_that_have_come_with_data() {
    // Would catch requests that are counted, a receive that frees nothing, and a sum over ranks instead of a maximum.
    let mut builder = ScheduleBuilder::new(3);
    for (from, bytes) in [(0, 100), (0, 8), (0, 600), (2, 70)] {
        builder.send(from, 1, bytes, 0);
    }
    builder.send(1, 2, 60, 0);
    let late = builder.calc(1, 50_000);
    let mut last = late;
    for (from, bytes) in [(0, 100), (0, 8), (0, 600), (2, 70)] {
        let receive = builder.recv(1, from, bytes, 0);
        builder.requires(receive, last);
        last = receive;
    }
    // 150 more come when 100 and 8 have been received.
    let after = builder.calc(0, 52_000);
    let send = builder.send(0, 1, 150, 0);
    builder.requires(send, after);
    let receive = builder.recv(1, 0, 150, 0);
    builder.requires(receive, last);
    let other = builder.recv(2, 1, 60, 0);
    let late = builder.calc(2, 50_000);
    builder.requires(other, late);
    let outcome = run(builder, ProtocolParams::PLAIN, &[0, 1, 2]);
    assert_eq!(outcome.executor().progress().open, 0);
    assert_eq!(outcome.executor().most_unexpected_bytes(), 70 + 150);
}
