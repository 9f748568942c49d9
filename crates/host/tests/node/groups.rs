//! In-switch operations, on a network whose one switch copies and combines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use host::{Executor, GroupParams, NicParams, PartParams, PerByte, ProcessorParams, ProtocolParams};
use mpi::collectives::{Algorithm, Collective, Operation, algorithms};
use mpi::program::calls::{Calls, CallsBuilder};
use mpi::program::{Action, Programs, ScriptCall};
use proptest::prelude::*;

use crate::times::INTERFACE;
use crate::world::{Noted, Notes, TRANSIT, World};

pub const SEND: u64 = 60;
pub const RECEIVE: u64 = 14;
/// Time from an interface through the switch to another, in picoseconds.
pub const CROSS: u64 = 2 * TRANSIT;
/// Time of a packet on a link, in picoseconds.
pub const PACE: u64 = 20;

const SERVED: [Operation; 6] = [
    Operation::Broadcast,
    Operation::Reduce,
    Operation::Allreduce,
    Operation::Allgather,
    Operation::ReduceScatter,
    Operation::Barrier,
];

fn interface(window: u32) -> NicParams {
    NicParams {
        protocol: ProtocolParams { group: GroupParams { window, ..GroupParams::DEFAULT }, ..ProtocolParams::PLAIN },
        ..INTERFACE
    }
}

pub fn call(operation: Operation, bytes: u64) -> Collective {
    Collective::new(operation, Algorithm::InSwitch, bytes)
}

/// Returns the calls of ranks, each a list of steps.
pub fn calls(ranks: &[Vec<ScriptCall>]) -> Calls {
    with_communicators(ranks, &[])
}

fn with_communicators(ranks: &[Vec<ScriptCall>], groups: &[Vec<u32>]) -> Calls {
    let mut builder = CallsBuilder::new(ranks.len() as u32);
    groups.iter().for_each(|group| assert!(builder.communicator(group.clone()).is_ok()));
    for (rank, steps) in (0..).zip(ranks) {
        steps.iter().for_each(|&step| builder.push(rank, step).unwrap());
    }
    builder.build()
}

/// Run on nodes, divided over executors. All ranks end unless they `stay`.
pub struct Run {
    pub world: World,
    notes: Notes,
}

pub fn start(calls: Calls, interface: NicParams, (node_of, parts): (&[u32], u32)) -> Run {
    let notes: Notes = Arc::default();
    let programs: Arc<dyn Programs> =
        Arc::new(Noted { inner: Arc::new(calls.on_nodes(node_of)), notes: Arc::clone(&notes) });
    let mut world = World::new(&programs, interface, node_of, parts);
    world.waits_for_release = true;
    Run { world, notes }
}

impl Run {
    /// Runs to the end, at which nothing may be pending.
    pub fn finish(mut self) -> Self {
        self.world.run();
        for executor in &self.world.executors {
            assert_eq!((executor.error(), executor.progress().open), (None, 0), "{:?}", executor.waits());
            assert_eq!(executor.outstanding(), 0);
            assert!(executor.verified());
        }
        let sum = |of: fn(&Executor) -> i64| self.world.executors.iter().map(of).sum::<i64>();
        assert_eq!(sum(|own| own.progress().packets), 0, "packets that are counted twice or not at all");
        assert_eq!(sum(|own| own.progress().combining), 0);
        assert!(self.world.switch.is_empty(), "something is left in the switch");
        self
    }

    /// Returns the time at which the last operation of each rank has ended, in picoseconds.
    pub fn ends(&self) -> Vec<u64> {
        let mut ends: Vec<_> = self.world.executors.iter().flat_map(|own| own.ends()).collect();
        ends.sort_unstable();
        ends.into_iter().map(|(_, end)| end.unwrap()).collect()
    }

    /// Returns the times at which a rank's operations have ended, in the order of requests, in picoseconds.
    pub fn requests(&self, rank: u32) -> Vec<u64> {
        let notes = self.notes.lock().unwrap();
        let mut ends: Vec<_> = notes[&rank].iter().filter(|own| own.0).map(|own| (own.1, own.2)).collect();
        ends.sort_unstable();
        ends.into_iter().map(|own| own.1).collect()
    }
}

/// Returns the ends of ranks that call one operation, each on a separate node.
fn ends(ranks: u32, window: u32, call: Collective) -> Vec<u64> {
    let nodes: Vec<u32> = (0..ranks).collect();
    let steps = vec![vec![ScriptCall::Collective(call)]; ranks as usize];
    start(calls(&steps), interface(window), (&nodes, 1)).finish().ends()
}

#[test]
fn an_operation_takes_one_crossing() {
    // Would catch an overhead that is paid for each segment or by ranks that send nothing, a segment that waits for
    // another, a part that is sent by the wrong member, a root that sends its data to itself, and combining that takes
    // no time or is done by all.
    for ranks in [2_u32, 3, 8, 17] {
        let each = |end| vec![end; ranks as usize];
        let of_root = |root, others| (0..ranks).map(|rank| if rank == 1 { root } else { others }).collect::<Vec<_>>();
        assert_eq!(ends(ranks, 64, call(Operation::Barrier, 0)), each(SEND + CROSS + RECEIVE));
        for (bytes, segments) in [(0, 1), (8, 1), (100, 1), (101, 2), (1000, 10)] {
            let stream = SEND + (segments - 1) * PACE + CROSS + RECEIVE;
            let rooted = |operation| Collective { root: 1, time_per_byte: 3, ..call(operation, bytes) };
            assert_eq!(ends(ranks, 64, call(Operation::Allreduce, bytes)), each(stream));
            let combined = stream + 3 * bytes;
            assert_eq!(ends(ranks, 64, rooted(Operation::Reduce)), of_root(combined, SEND), "{bytes}");
            assert_eq!(ends(ranks, 64, rooted(Operation::Broadcast)), of_root(SEND, stream), "{bytes}");
            assert_eq!(ends(ranks, 64, call(Operation::Allgather, bytes)), each(stream));
            let scatter = Collective { time_per_byte: 3, ..call(Operation::ReduceScatter, bytes * u64::from(ranks)) };
            let part = |rank: u32| {
                // The last to contribute has sent the parts of all members before this one, except this one's part.
                let rest = if bytes == 0 { 32 } else { bytes - (segments - 1) * 100 };
                let item = (segments - 1) * PACE + rest * (PACE / 2) / 100 * 2;
                SEND + u64::from(rank.min(ranks - 2)) * item + (segments - 1) * PACE + CROSS + RECEIVE + 3 * bytes
            };
            assert_eq!(ends(ranks, 1000, scatter), (0..ranks).map(part).collect::<Vec<_>>(), "{bytes}");
        }
    }
}

#[test]
fn a_window_bounds_what_is_under_way() {
    // Would catch a window that is off by one, a window of copied packets, acknowledgements that are missing, late or
    // too many, and a contributor that ends before its last segment has been handed over.
    for (window, segments) in [(1_usize, 9_usize), (2, 9), (3, 20), (64, 200), (200, 200)] {
        let bytes = 100 * segments as u64;
        // Segment s leaves a packet's time after the previous one, and after the segment a window before is finished.
        let leave = |finished: &dyn Fn(&[u64], usize) -> u64| {
            let mut left: Vec<u64> = Vec::new();
            for segment in 0..segments {
                let after = left.last().map_or(SEND, |last| last + PACE);
                let known = segment.checked_sub(window).map_or(0, |finishing| finished(&left, finishing));
                left.push(after.max(known));
            }
            left
        };
        let all = leave(&|left, segment| left[segment] + CROSS);
        let end = all.last().unwrap() + CROSS + RECEIVE;
        assert_eq!(ends(4, window as u32, call(Operation::Allreduce, bytes)), [end; 4], "{window}");
        // A result is acknowledged with the last segment of its half window, or of all.
        let half = (window / 2).max(1);
        let acknowledged =
            |left: &[u64], segment: usize| left[((segment / half + 1) * half - 1).min(segments - 1)] + 2 * CROSS;
        let one = leave(&acknowledged);
        let root = one.last().unwrap() + CROSS + RECEIVE;
        // The last segment is handed over as soon as allowed, and leaves after those before it.
        let handed = segments.checked_sub(window + 1).map_or(SEND, |finished| acknowledged(&one, finished));
        assert_eq!(ends(4, window as u32, call(Operation::Reduce, bytes)), [root, handed, handed, handed], "{window}");
        let copied = SEND + (segments as u64 - 1) * PACE + CROSS + RECEIVE;
        assert_eq!(ends(4, window as u32, call(Operation::Broadcast, bytes)), [SEND, copied, copied, copied]);
    }
}

#[test]
fn a_late_member_delays_those_who_need_it() {
    // Would catch a result that comes without a member, a result that is lost because it comes before its receiver
    // calls, an overhead that is paid before the call, and contributions that the window does not hold back although
    // their root does not take them.
    const LATE: u64 = 50_000;
    let late = |window, rank: usize, call: Collective| {
        let mut steps = vec![vec![ScriptCall::Collective(call)]; 4];
        steps[rank].insert(0, ScriptCall::Do(Action::Calc { time: LATE }));
        start(calls(&steps), interface(window), (&[0, 1, 2, 3], 1)).finish()
    };
    let of_late = LATE + SEND + CROSS + RECEIVE;
    assert_eq!(late(64, 2, call(Operation::Barrier, 0)).ends(), [of_late; 4]);
    assert_eq!(late(64, 2, call(Operation::Broadcast, 1000)).ends()[2], LATE + RECEIVE);
    assert_eq!(late(64, 0, call(Operation::Reduce, 1000)).ends(), [LATE + RECEIVE, SEND, SEND, SEND]);
    let held = late(64, 0, call(Operation::Reduce, 1000));
    assert_eq!(held.world.executors[0].most_unexpected_bytes(), 1000);
    let run = late(4, 0, call(Operation::Reduce, 1000));
    assert_eq!(run.world.executors[0].most_unexpected_bytes(), 400, "no more than a window");
    assert!(run.ends().iter().all(|&end| end > LATE), "what is beyond the window waits for the root");
    assert_eq!(
        late(64, 2, call(Operation::Allgather, 250)).ends(),
        [LATE + SEND + 2 * PACE + CROSS + RECEIVE; 4][..2]
            .iter()
            .copied()
            .chain([LATE + SEND + RECEIVE, LATE + SEND + 2 * PACE + CROSS + RECEIVE])
            .collect::<Vec<_>>()
    );
}

#[test]
fn operations_overlap_and_stay_in_order() {
    // Would catch an operation that takes the segments of another, an operation that overtakes or waits for the end of
    // the previous one, groups that block one another, and requests that end in a wrong order.
    let all = |own: Collective| ScriptCall::StartCollective(own);
    let other = |own: Collective| ScriptCall::StartCollective(Collective { communicator: 1, ..own });
    let steps = vec![
        all(call(Operation::Allreduce, 1000)),
        other(call(Operation::Allreduce, 100)),
        all(call(Operation::Barrier, 0)),
        all(call(Operation::Broadcast, 300)),
        ScriptCall::WaitAll,
    ];
    for parts in [1, 2, 4] {
        let ranks = vec![steps.clone(); 4];
        let own = with_communicators(&ranks, &[vec![3, 1, 0, 2]]);
        let run = start(own, interface(64), (&[0, 1, 2, 3], parts)).finish();
        // Both groups take turns at the interface: the small one has the second packet; its queue does not delay
        // others.
        let first = SEND + 10 * PACE + CROSS + RECEIVE;
        let second = SEND + PACE + CROSS + RECEIVE;
        for rank in 0..4 {
            let [allreduce, small, barrier, broadcast] = run.requests(rank)[..] else { panic!("four requests") };
            assert_eq!((allreduce, small), (first, second));
            assert_eq!(barrier, first + PACE);
            // The barrier's packet of 32 bytes comes first, then two whole packets and the last.
            let after = 32 * PACE / 100 / 2 * 2 + PACE;
            assert_eq!(broadcast, if rank == 0 { SEND } else { first + after + 2 * PACE }, "rank {rank}");
        }
    }
}

#[test]
fn who_waits_for_a_group_is_said() {
    // Would catch a run that hangs instead of reporting a standstill, a wait without its operation, and an unknown
    // group.
    let barrier = vec![ScriptCall::Collective(call(Operation::Barrier, 0))];
    let mut run = start(calls(&[barrier.clone(), barrier.clone(), vec![]]), interface(64), (&[0, 1, 2], 1));
    run.world.run();
    let own = &run.world.executors[0];
    assert_eq!(
        own.waits().iter().map(|(rank, wait)| format!("{rank}: {wait}")).collect::<Vec<_>>(),
        ["0: the in-switch barrier of group 0", "1: the in-switch barrier of group 0"]
    );
    assert!(own.progress().waits_for_members() && !own.progress().stands_still());
    assert_eq!(own.progress().combining, 2);
    // A broadcast whose root never calls it stands still.
    let broadcast = vec![ScriptCall::Collective(call(Operation::Broadcast, 9))];
    let mut run = start(calls(&[vec![], broadcast]), interface(64), (&[0, 1], 1));
    run.world.run();
    assert!(run.world.executors[0].progress().stands_still());
    // An operation without a group.
    let notes: Notes = Arc::default();
    let programs: Arc<dyn Programs> = Arc::new(Noted { inner: Arc::new(calls(&[barrier.clone(), barrier])), notes });
    let placed = host::LocalRanks::whole([0, 1].into(), 2);
    let mut executor = Executor::new(&programs, interface(64), placed);
    executor.begin(0, &mut crate::world::Requests::default());
    assert_eq!(
        executor.error().unwrap().to_string(),
        "rank 0 calls barrier by `in-switch` in the collective operations of communicator 0, which the switches have no group for: groups are \
         those of the calls that are known before the run"
    );
}

#[test]
fn numbers_of_segments_do_not_wrap() {
    // Would catch a segment that is taken for the one 2^32 before it, in another tree or place of the window: the fourth
    // operation of 2^30 packets would end at number 2^32.
    let packets = u64::from(interface(64).packet) << 30;
    let steps = vec![ScriptCall::StartCollective(call(Operation::Allreduce, packets)); 4];
    let notes: Notes = Arc::default();
    let inner = Arc::new(calls(&[steps.clone(), steps]).on_nodes(&[0, 1]));
    let programs: Arc<dyn Programs> = Arc::new(Noted { inner, notes });
    let placed = host::LocalRanks::whole([0, 1].into(), 2);
    let mut executor = Executor::new(&programs, interface(64), placed);
    executor = executor.with_groups(Arc::new(host::Groups::of(&*programs)));
    executor.begin(0, &mut crate::world::Requests::default());
    assert_eq!(
        executor.error().unwrap().to_string(),
        "rank 0 calls allreduce in the switches, up to packet 4294967296 of its group: at most 2^30 packets of an operation and 2^32 - 1 of a \
         run are allowed"
    );
}

#[test]
fn ranks_of_a_node_combine_within_it() {
    // Would catch a leader that does not wait for its node, and one that does not notify it.
    let (within, crossing) = (SEND + RECEIVE, SEND + CROSS + RECEIVE);
    // The root's node is the last to combine, when the contributions of its ranks have arrived, and the first to
    // receive what the root sends.
    for (operation, end) in [
        (Operation::Allreduce, within + crossing + within),
        (Operation::Reduce, within + crossing + RECEIVE),
        (Operation::Broadcast, SEND + crossing + within),
    ] {
        let steps = vec![vec![ScriptCall::Collective(call(operation, 8))]; 6];
        let run = start(calls(&steps), interface(64), (&[0, 0, 1, 1, 2, 2], 1)).finish();
        assert_eq!(run.ends().into_iter().max(), Some(end), "{operation:?}");
    }
}

#[test]
fn a_wrong_sum_is_seen() {
    // Would catch a check that cannot fail: the switch leaves one contribution out, or takes it twice.
    for (operation, copies) in [(Operation::Allreduce, 0), (Operation::Allreduce, 2), (Operation::ReduceScatter, 0)] {
        let steps = vec![vec![ScriptCall::Collective(call(operation, 900))]; 3];
        let mut run = start(calls(&steps), interface(64), (&[0, 1, 2], 1));
        run.world.switch.wrong = Some((1, copies));
        let ran = catch_unwind(AssertUnwindSafe(|| {
            run.world.run();
            run.world.executors[0].verified()
        }));
        assert!(ran.map_or(true, |verified| !verified), "{operation:?}");
    }
}

#[test]
fn packets_pass_the_parts_of_interfaces() {
    // Would catch packets that pass no gap, a gap charged for each packet instead of each item, a DMA engine or a
    // processor that writes nothing, and overheads that do not occupy the processor.
    let gap = |per_message| host::GapParams { per_message, per_byte: PerByte::of(2), first_byte_free: false };
    let run = |parts: PartParams, operation, bytes| {
        let interface = NicParams { parts, ..interface(64) };
        let steps = vec![vec![ScriptCall::Collective(call(operation, bytes)); 2]; 3];
        start(calls(&steps), interface, (&[0, 1, 2], 1)).finish().ends()[2]
    };
    let sending = PartParams { send_gap: gap(5000), ..PartParams::NONE };
    // Two packets of 200 ps each, one item; the tail of a packet does not leave its link before it has passed.
    let once = SEND + 2 * 200 - PACE + CROSS + RECEIVE;
    assert_eq!(
        run(sending, Operation::Allreduce, 200),
        (SEND + 400 + 5000).max(once + SEND) + 400 - PACE + CROSS + RECEIVE
    );
    let receiving = PartParams { receive_gap: gap(0), ..PartParams::NONE };
    let came = SEND + CROSS - PACE + 400 + RECEIVE;
    assert_eq!(run(receiving, Operation::Allreduce, 200), 2 * came);
    let dma = host::DmaParams { engines: 1, setup: 700, per_byte: PerByte::of(1) };
    let fetched = PartParams { dma, ..PartParams::NONE };
    assert_eq!(run(fetched, Operation::Allreduce, 200), 2 * (SEND + 700 + 200 - PACE + CROSS + RECEIVE));
    let written = PartParams { pio: Some(PerByte::of(4)), pio_limit: 1000, ..PartParams::NONE };
    assert_eq!(run(written, Operation::Allreduce, 200), 2 * (SEND + 800 - PACE + CROSS + RECEIVE));
    let occupied = ProcessorParams { host_driven: true, ..ProcessorParams::LATENCY };
    let steps = vec![
        ScriptCall::StartCollective(call(Operation::Barrier, 0)),
        ScriptCall::StartCollective(call(Operation::Barrier, 0)),
        ScriptCall::WaitAll,
    ];
    let interface = NicParams { processor: occupied, ..interface(64) };
    let run = start(calls(&vec![steps; 2]), interface, (&[0, 1], 1)).finish();
    assert_eq!(run.requests(0), [SEND + CROSS + RECEIVE, 2 * SEND + CROSS + RECEIVE]);
}

/// Drawn operation: its communicator, the operation (every second time by owners, if it has any), its bytes, its root,
/// whether ranks wait for it at once, and the time that some of them calculate before.
type Drawn = (usize, usize, u64, u32, bool, u64);

/// Returns the calls of ranks for some operations, all in one order.
fn drawn(groups: &[Vec<u32>], ranks: u32, operations: &[Drawn]) -> Vec<Vec<ScriptCall>> {
    let mut steps = vec![Vec::new(); ranks as usize];
    for (number, &(group, operation, bytes, root, waits, late)) in operations.iter().enumerate() {
        let communicator = group % groups.len();
        let owners = operation >= SERVED.len();
        let operation = SERVED[operation % SERVED.len()];
        let owners = owners && algorithms(operation).any(|own| own == Algorithm::Nvls);
        let algorithm = if owners { Algorithm::Nvls } else { Algorithm::InSwitch };
        let root = if operation.has_root() { root % groups[communicator].len() as u32 } else { 0 };
        let own = Collective {
            communicator: communicator as u32 + 1,
            root,
            time_per_byte: 1,
            algorithm,
            ..call(operation, bytes)
        };
        for &rank in &groups[communicator] {
            let steps = &mut steps[rank as usize];
            if (u64::from(rank) + number as u64).is_multiple_of(3) && late > 0 {
                steps.push(ScriptCall::Do(Action::Calc { time: late }));
            }
            steps.push(if waits { ScriptCall::Collective(own) } else { ScriptCall::StartCollective(own) });
        }
    }
    steps.iter_mut().for_each(|steps| steps.push(ScriptCall::WaitAll));
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn operations_end_whatever_the_network_does(
        groups in prop::collection::vec(prop::sample::subsequence((0..7_u32).collect::<Vec<_>>(), 1..=7).prop_shuffle(), 1..5),
        operations in prop::collection::vec(
            (0..5_usize, 0..12_usize, prop_oneof![0_u64..40, 0_u64..3000], 0..7_u32, any::<bool>(), prop_oneof![Just(0), 0_u64..9000]),
            1..14,
        ),
        window in prop_oneof![Just(1_u32), Just(2), Just(5), Just(64)],
        per_node in 1_u32..3,
        occupied in any::<bool>(),
        has_parts in any::<bool>(),
        reorders in any::<bool>(),
        (outstanding, streams) in (prop_oneof![1_u32..4, Just(u32::MAX)], prop_oneof![1_u32..3, Just(u32::MAX)]),
        (largest_small, small_packet) in (prop_oneof![0_u64..2000, Just(u64::MAX)], prop_oneof![7_u32..150, Just(u32::MAX)]),
    ) {
        // Would catch a deadlock of windows or of limits of pending operations, a segment that is lost, comes twice or
        // belongs to another operation, a wrong sum, more segments in the switch than a window, members that number
        // segments differently, an operation that never ends, and a result that depends on the division.
        let node_of: Vec<u32> = (0..7).map(|rank| rank / per_node).collect();
        let calls = with_communicators(&drawn(&groups, 7, &operations), &groups);
        let parts = PartParams {
            send_gap: host::GapParams { per_message: 90, per_byte: PerByte::of(1), first_byte_free: false },
            receive_gap: host::GapParams { per_message: 50, per_byte: PerByte::of(1), first_byte_free: true },
            dma: host::DmaParams { engines: 2, setup: 30, per_byte: PerByte::of(1) },
            ..PartParams::NONE
        };
        let interface = NicParams {
            processor: ProcessorParams { host_driven: occupied, ..ProcessorParams::LATENCY },
            parts: if has_parts { parts } else { PartParams::NONE },
            protocol: ProtocolParams {
                group: GroupParams { window, outstanding, streams, largest_small, small_packet, parts: 1 },
                ..ProtocolParams::PLAIN
            },
            ..INTERFACE
        };
        let run = |parts| {
            let mut run = start(calls.clone(), interface, (&node_of, parts));
            if reorders {
                run.world.delay = |rank, at| (u64::from(rank) * 7919 + at * 104_729) % 1500;
            }
            let run = run.finish();
            let notes = run.notes.lock().unwrap().clone();
            (run.ends(), notes, run.world.switch.sent)
        };
        let alone = run(1);
        prop_assert_eq!(&run(3).0, &alone.0);
        prop_assert_eq!(run(3).1, alone.1);
    }
}
