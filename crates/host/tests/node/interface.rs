//! Parts of interfaces, each alone and each with every other, in closed form to the picosecond; connections,
//! registrations and rails.

use host::{
    BufferRule, BusParams, ConnectionCounts, ConnectionMode, ConnectionParams, DmaParams, Executor, GapParams,
    MatchingParams, NicParams, PartParams, PerByte, RailParams, RailPolicy, RegisteredEnds, RegistrationParams,
    stripes,
};
use mpi::program::{Programs, ScriptCall};
use mpi::schedule::ScheduleBuilder;
use std::sync::Arc;

use crate::processor::{LOGGP, calc, ends, recv, run, send};
use crate::world::{TRANSIT, World};

/// Optional part of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    SendGap,
    ReceiveGap,
    OverheadPerByte,
    Pio,
    Dma,
    Bus,
    SharedBus,
    Matching,
    Setup,
    Miss,
    Rails,
}

const PARTS: [Part; 11] = [
    Part::SendGap,
    Part::ReceiveGap,
    Part::OverheadPerByte,
    Part::Pio,
    Part::Dma,
    Part::Bus,
    Part::SharedBus,
    Part::Matching,
    Part::Setup,
    Part::Miss,
    Part::Rails,
];

/// Times in picoseconds. A byte of sending gap, receiving gap, overhead, PIO, DMA and bus; a DMA's setup, a search, a
/// connection's setup and a miss.
const G_SEND: u64 = 2;
const G_RECEIVE: u64 = 6;
const O: u64 = 1;
const PIO: u64 = 3;
const DMA: u64 = 5;
const BUS: u64 = 4;
const DMA_SETUP: u64 = 1000;
const SEARCH: u64 = 7;
const SETUP: u64 = 900;
const MISS: u64 = 300;
/// Size of a packet in bytes.
const PACKET: u64 = 100;

/// Returns an interface with some parts.
fn interface(parts: &[Part]) -> NicParams {
    let has = |part| parts.contains(&part);
    let gap = |per_byte| GapParams { per_message: 0, per_byte: PerByte::of(per_byte), first_byte_free: false };
    let bus = BusParams { per_byte: PerByte::of(BUS), per_packet: 0, shared: has(Part::SharedBus), of_node: false };
    let dma = DmaParams { engines: 1, setup: DMA_SETUP, per_byte: PerByte::of(DMA) };
    NicParams {
        first_byte_free: false,
        overhead_per_byte: if has(Part::OverheadPerByte) { PerByte::of(O) } else { PerByte::FREE },
        matching: MatchingParams { per_entry: if has(Part::Matching) { SEARCH } else { 0 }, on_nic: false },
        parts: PartParams {
            latency: 0,
            pio: has(Part::Pio).then_some(PerByte::of(PIO)),
            pio_limit: if has(Part::Pio) { u64::MAX } else { 0 },
            pio_room: None,
            dma: if has(Part::Dma) { dma } else { DmaParams::NONE },
            bus: if has(Part::Bus) || has(Part::SharedBus) { bus } else { BusParams::NONE },
            send_gap: if has(Part::SendGap) { gap(G_SEND) } else { GapParams::NONE },
            receive_gap: if has(Part::ReceiveGap) { gap(G_RECEIVE) } else { GapParams::NONE },
        },
        connections: ConnectionParams {
            mode: if has(Part::Setup) { ConnectionMode::OnDemand } else { ConnectionMode::AtStart },
            setup: if has(Part::Setup) { SETUP } else { 0 },
            cached: has(Part::Miss).then_some(1),
            miss: if has(Part::Miss) { MISS } else { 0 },
        },
        rails: match has(Part::Rails) {
            true => RailParams { count: 3, policy: RailPolicy::RoundRobin, stripe_above: Some(0) },
            false => RailParams::ONE,
        },
        ..LOGGP
    }
}

/// Returns the time at which a message of `packets` whole packets that waits for nothing has been received.
///
/// Of parts in a row that take bytes as they arrive the slowest counts. A packet passes the parts of the sender, the
/// network, and the parts of the receiver. With n packets of P bytes, at most a ps a byte before the network and b
/// after it, the last packet has arrived ((n - 1) max(a, b) + a + b) P after the first byte.
fn expected(parts: &[Part], packets: u64) -> u64 {
    let has = |part| parts.contains(&part);
    let of = |part, time| if has(part) { time } else { 0 };
    let bytes = packets * PACKET;
    let bus = of(Part::Bus, BUS).max(of(Part::SharedBus, BUS));
    let source = of(Part::Pio, PIO).max(of(Part::Dma, DMA));
    let (before, behind) = (source.max(bus).max(of(Part::SendGap, G_SEND)), bus.max(of(Part::ReceiveGap, G_RECEIVE)));
    let overhead = |own: u64| own + of(Part::OverheadPerByte, O * bytes);
    let handed = overhead(60) + of(Part::Setup, SETUP);
    let begin = handed + of(Part::Miss, MISS) + of(Part::Dma, DMA_SETUP);
    let rails = if has(Part::Rails) { 3 } else { 1 };
    // First and last packet of each stripe; the processor writes the stripes in sequence.
    let (mut first, mut last) = (u64::MAX, 0);
    for stripe in stripes(bytes, PACKET as u32, rails) {
        let begin = begin + of(Part::Pio, PIO * stripe.before) + TRANSIT;
        first = first.min(begin + PACKET * (before + behind));
        last = last.max(begin + PACKET * ((stripe.bytes / PACKET - 1) * before.max(behind) + before + behind));
    }
    // The search begins with the first packet that arrives.
    last.max(first + of(Part::Matching, SEARCH)) + overhead(14)
}

#[test]
fn every_part_takes_its_time_alone_and_with_any_other() {
    // Would catch a part that is left out, charged at the wrong end or by the wrong server, and a part that is charged
    // before or after another although both work concurrently.
    let excluded = [[Part::Pio, Part::Dma], [Part::Bus, Part::SharedBus]];
    let subset =
        |set: u32| PARTS.into_iter().zip(0..).filter_map(move |(part, bit)| (set >> bit & 1 == 1).then_some(part));
    let sets = (0..1 << PARTS.len()).map(|set| subset(set).collect::<Vec<Part>>());
    let sets = sets.filter(|set| !excluded.iter().any(|pair| pair.iter().all(|part| set.contains(part))));
    for parts in sets {
        for packets in [1, 2, 3, 10] {
            let bytes = packets * PACKET;
            let ends = ends(
                interface(&parts),
                vec![vec![send(1, bytes), ScriptCall::WaitAll], vec![recv(0, bytes), ScriptCall::WaitAll]],
            );
            assert_eq!(ends[1], expected(&parts, packets), "{parts:?}, {packets} packets");
        }
    }
}

#[test]
fn a_rendezvous_takes_registration_and_connections_alone_and_together() {
    // Would catch a registration at one end only, a connection that the answer sets up again, and a search that a
    // request does not need.
    for number in 0..16_u32 {
        let [registers, setup, miss, searches] = [0, 1, 2, 3].map(|bit| number >> bit & 1 == 1);
        let registration = RegistrationParams {
            time: 500,
            per_page: 20,
            page: 256,
            cached: 0,
            buffers: BufferRule::ByPeer,
            ends: RegisteredEnds::Both,
        };
        let parts: Vec<Part> = [(setup, Part::Setup), (miss, Part::Miss), (searches, Part::Matching)]
            .into_iter()
            .filter_map(|(has, part)| has.then_some(part))
            .collect();
        let own = if registers { registration } else { RegistrationParams::NONE };
        let interface = NicParams { eager_limit: Some(500), registration: own, ..interface(&parts) };
        let ends =
            ends(interface, vec![vec![send(1, 600), ScriptCall::WaitAll], vec![recv(0, 600), ScriptCall::WaitAll]]);
        let of = |has: bool, time: u64| if has { time } else { 0 };
        let pages = of(registers, 500 + 3 * 20);
        let request = 60 + pages + of(setup, SETUP) + of(miss, MISS) + TRANSIT;
        let answer = 14 + of(searches, SEARCH) + 60 + pages + of(miss, MISS) + TRANSIT;
        assert_eq!(ends[1], request + answer + 14 + 60 + TRANSIT + 14, "{parts:?}, registration: {registers}");
    }
}

#[test]
fn what_does_not_wait_is_copied_and_what_waits_is_not() {
    // Would catch a copy at the other end, a copy of a message that goes from memory to memory, and a copy of control
    // messages.
    for (copy, bytes) in [([2, 0], 400), ([0, 3], 400), ([2, 3], 500), ([2, 3], 501)] {
        let interface = NicParams { eager_limit: Some(500), copy: copy.map(PerByte::of), ..interface(&[]) };
        let ends =
            ends(interface, vec![vec![send(1, bytes), ScriptCall::WaitAll], vec![recv(0, bytes), ScriptCall::WaitAll]]);
        let exact = match bytes <= 500 {
            true => 60 + copy[0] * bytes + TRANSIT + 14 + copy[1] * bytes,
            false => 3 * (60 + TRANSIT + 14),
        };
        assert_eq!(ends[1], exact, "{copy:?}, {bytes} bytes");
    }
}

#[test]
fn only_the_receiver_registers_where_the_processor_writes_what_is_sent() {
    // Would catch a registration at the sender.
    let ends_of = |of: RegisteredEnds| {
        let registration =
            RegistrationParams { time: 500, per_page: 20, page: 256, cached: 0, buffers: BufferRule::ByPeer, ends: of };
        let interface = NicParams { eager_limit: Some(500), registration, ..interface(&[]) };
        ends(interface, vec![vec![send(1, 600), ScriptCall::WaitAll], vec![recv(0, 600), ScriptCall::WaitAll]])[1]
    };
    assert_eq!(ends_of(RegisteredEnds::Both), 3 * (60 + TRANSIT + 14) + 2 * 560);
    assert_eq!(ends_of(RegisteredEnds::Receiver), 3 * (60 + TRANSIT + 14) + 560);
}

/// Runs a schedule, a rank on each node, on several executors, and adds up their counts.
fn counted(
    interface: NicParams,
    builder: ScheduleBuilder,
    node_of: &[u32],
    parts: u32,
) -> (ConnectionCounts, (u64, u64)) {
    let schedule: Arc<dyn Programs> = Arc::new(builder.build().unwrap());
    let mut world = World::new(&schedule, interface, node_of, parts);
    world.run();
    let of = |executor: &Executor| {
        assert_eq!(executor.progress().open, 0);
        (executor.connections(), executor.registrations())
    };
    let mut all = (ConnectionCounts::default(), (0, 0));
    for (connections, (made, spared)) in world.executors.iter().map(of) {
        all.0.add(&connections);
        all.1 = (all.1.0 + made, all.1.1 + spared);
    }
    all
}

/// Returns a schedule in which every rank sends a message to each of the next `reach` ranks, and receives `reach`.
fn ring(ranks: u32, reach: u32, bytes: u64) -> ScheduleBuilder {
    let mut builder = ScheduleBuilder::new(ranks);
    for rank in 0..ranks {
        for step in 1..=reach {
            builder.send(rank, (rank + step) % ranks, bytes, step);
            builder.recv(rank, (rank + ranks - step) % ranks, bytes, step);
        }
    }
    builder
}

#[test]
fn connections_are_counted_in_closed_form() {
    // Would catch a connection for each direction or for each message, a connection within a node, and a connection of
    // another executor that is missed.
    let connections = |mode| NicParams { connections: ConnectionParams { mode, ..ConnectionParams::NONE }, ..LOGGP };
    for parts in [1, 3] {
        for (ranks, per_node, reach) in [(12, 1, 1), (12, 1, 3), (12, 2, 1), (12, 2, 4), (12, 3, 2)] {
            let node_of: Vec<u32> = (0..ranks).map(|rank| rank / per_node).collect();
            // Returns the ranks that each rank exchanges messages with on other nodes, to either side.
            let peers = |rank: u32| {
                let sides = (1..=reach).flat_map(|step| [(rank + step) % ranks, (rank + ranks - step) % ranks]);
                let mut others: Vec<u32> = sides.filter(|&other| other / per_node != rank / per_node).collect();
                others.sort_unstable();
                others.dedup();
                others.len() as u64
            };
            let of_node = |node: u32| (node * per_node..(node + 1) * per_node).map(peers).sum::<u64>();
            let exact = [
                (ConnectionMode::Connectionless, (0, 0)),
                (ConnectionMode::AtStart, (u64::from(ranks - per_node), u64::from(per_node * (ranks - per_node)))),
                (
                    ConnectionMode::OnDemand,
                    ((0..ranks).map(peers).max().unwrap(), (0..ranks / per_node).map(of_node).max().unwrap()),
                ),
            ];
            for (mode, (most_of_rank, most_of_node)) in exact {
                let (counts, _) = counted(connections(mode), ring(ranks, reach, 8), &node_of, parts);
                assert_eq!(
                    counts,
                    ConnectionCounts { most_of_rank, most_of_node, misses: 0 },
                    "{mode:?} {ranks} {per_node} {reach}"
                );
            }
        }
    }
}

#[test]
fn messages_wait_for_a_connection_that_is_being_set_up() {
    // Would catch a second setup, and a message that overtakes the first because its processor is free: overheads are
    // latency.
    let own = ConnectionParams { mode: ConnectionMode::OnDemand, setup: SETUP, ..ConnectionParams::NONE };
    let interface = NicParams { connections: own, processor: Default::default(), ..LOGGP };
    let asked = run(
        interface,
        vec![vec![send(1, 8), send(1, 8), ScriptCall::WaitAll], vec![recv(0, 8), recv(0, 8), ScriptCall::WaitAll]],
    );
    assert_eq!(asked[1][3], SETUP + 60 + TRANSIT + 14);
    // Later messages find the connection, and so does the other end: a ping-pong pays once.
    let ping = vec![send(1, 8), recv(1, 8), ScriptCall::WaitAll, send(1, 8), recv(1, 8), ScriptCall::WaitAll];
    let pong = vec![
        recv(0, 8),
        ScriptCall::WaitAll,
        send(0, 8),
        ScriptCall::WaitAll,
        recv(0, 8),
        ScriptCall::WaitAll,
        send(0, 8),
        ScriptCall::WaitAll,
    ];
    assert_eq!(ends(interface, vec![ping, pong])[0], SETUP + 4 * (60 + TRANSIT + 14));
}

#[test]
fn an_interface_fetches_the_state_of_connections_that_it_does_not_hold() {
    // Would catch a cache that forgets the newest entry, or fetches entries at once that it has to fetch in sequence.
    // Rank 0 sends to ranks 1 to 3 in turn, twice: with room for 3 the second round finds all, with room for 2 none.
    for (cached, misses) in [(3, 3), (2, 6), (1, 6)] {
        let own = ConnectionParams { mode: ConnectionMode::AtStart, setup: 0, cached: Some(cached), miss: MISS };
        let free = NicParams { send_overhead: 0, receive_overhead: 0, connections: own, ..LOGGP };
        let sender: Vec<ScriptCall> =
            (0..6).map(|number| send(1 + number % 3, 8)).chain([ScriptCall::WaitAll]).collect();
        let receiver = || vec![recv(0, 8), recv(0, 8), ScriptCall::WaitAll];
        let ends = ends(free, vec![sender, receiver(), receiver(), receiver()]);
        assert_eq!(ends[3], misses * MISS + TRANSIT, "{cached}");
    }
}

#[test]
fn what_is_passed_on_from_the_same_buffer_is_registered_once() {
    // Would catch a receive buffer and a send buffer that are taken for two although the tag names one buffer. Rank 1
    // passes on the received data, from that buffer or from another.
    let made = |tag| {
        let mut builder = ScheduleBuilder::new(3);
        builder.send(0, 1, 600, 5);
        let received = builder.recv(1, 0, 600, 5);
        let sent = builder.send(1, 2, 600, tag);
        builder.requires(sent, received);
        builder.recv(2, 1, 600, tag);
        let registration = RegistrationParams {
            time: 500,
            per_page: 20,
            page: 256,
            cached: 4,
            buffers: BufferRule::ByTag,
            ends: RegisteredEnds::Both,
        };
        let interface = NicParams { eager_limit: Some(500), registration, ..LOGGP };
        counted(interface, builder, &[0, 1, 2], 1).1
    };
    assert_eq!(made(5), (3, 1));
    assert_eq!(made(6), (4, 0));
}

#[test]
fn registrations_are_of_buffers() {
    // Would catch a hit in another's buffer, in a buffer that is too short or has been evicted, and a rule that has no
    // effect. Rank 0 sends to 1, 2, 1, 2 and so on, 6 messages; each is registered at both ends.
    let messages = |sizes: [u64; 6], tags: [u32; 6]| {
        let mut builder = ScheduleBuilder::new(3);
        let (mut before, mut other) = (None, [None, None]);
        for ((number, bytes), tag) in (0..).zip(sizes).zip(tags) {
            let to = 1 + number % 2;
            let (sent, received) = (builder.send(0, to, bytes, tag), builder.recv(to, 0, bytes, tag));
            for (after, before) in [(sent, before.replace(sent)), (received, other[to as usize - 1].replace(received))]
            {
                before.into_iter().for_each(|before| builder.requires(after, before));
            }
        }
        builder
    };
    let tagged = |cached, buffers, sizes, tags| {
        let registration =
            RegistrationParams { time: 500, per_page: 20, page: 256, cached, buffers, ends: RegisteredEnds::Both };
        let interface = NicParams { eager_limit: Some(500), registration, ..LOGGP };
        let (_, (made, spared)) = counted(interface, messages(sizes, tags), &[0, 1, 2], 1);
        assert_eq!(made + spared, 12);
        made
    };
    let made = |cached, buffers, sizes| tagged(cached, buffers, sizes, [0, 1, 2, 3, 4, 5]);
    let same = [600; 6];
    // Every message registers, without a cache or if no two messages share a buffer.
    assert_eq!(made(0, BufferRule::ByPeer, same), 12);
    assert_eq!(made(9, BufferRule::Fresh, same), 12);
    // A buffer for each peer: two at the sender, one at each receiver. With room for one, the sender's two buffers
    // evict each other.
    assert_eq!(made(2, BufferRule::ByPeer, same), 4);
    assert_eq!(made(1, BufferRule::ByPeer, same), 6 + 2);
    // One buffer for all sends.
    assert_eq!(made(1, BufferRule::One, same), 3);
    // A longer message registers its buffer again, and shorter ones find it: pages of 256 bytes.
    assert_eq!(made(2, BufferRule::ByPeer, [600, 600, 1000, 600, 600, 700]), 4 + 2);
    // By tags, buffers are shared by peers. The sender's are 0, 0, 1, 0, 1, 2, rank 1's 0, 1, 1 and rank 2's 0, 0, 2.
    // With room for one, two of the sender's are registered again.
    let tags = [0, 0, 1, 0, 1, 2];
    assert_eq!(tagged(3, BufferRule::ByTag, same, tags), 3 + 2 + 2);
    assert_eq!(tagged(1, BufferRule::ByTag, same, tags), 5 + 2 + 2);
    assert_eq!(tagged(9, BufferRule::ByTag, same, [7; 6]), 3);
    assert_eq!(made(9, BufferRule::ByTag, same), 12);
}

#[test]
fn gaps_are_of_rails() {
    // Would catch rails that share a gap, and a rail that serves messages out of turn: 64 messages of 8 bytes, and a
    // gap far above the overhead.
    let gap = GapParams { per_message: 100_000, per_byte: PerByte::FREE, first_byte_free: false };
    for count in [1, 2, 4] {
        let rails = RailParams { count, policy: RailPolicy::RoundRobin, stripe_above: None };
        let parts = PartParams { send_gap: gap, ..PartParams::NONE };
        let ends = ends(
            NicParams { parts, rails, ..LOGGP },
            vec![vec![send(1, 8); 64], [vec![recv(0, 8); 64], vec![ScriptCall::WaitAll]].concat()],
        );
        let [each, count] = [64 / u64::from(count), u64::from(count)];
        assert_eq!(ends[1], 60 * count + (each - 1) * 100_000 + TRANSIT + 14);
    }
    assert_eq!(ends(LOGGP, vec![vec![calc(1)]]), [1]);
}
