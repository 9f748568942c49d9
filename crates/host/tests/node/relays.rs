//! Messages that pass relays, in closed form to the picosecond.
//!
//! Islands of two nodes each are joined by a fast network. Only the first node of an island has rails into the slow
//! network, which joins all islands: it is a relay for the other one.

use host::{
    DmaParams, Executor, GapParams, NicParams, PartParams, PerByte, ProtocolParams, RailPolicy, RelayCounts,
    RelayParams, Rendezvous, Way, Ways,
};
use mpi::program::ScriptCall;

use crate::processor::{recv, send};
use crate::ways::{FAST, Networks, PACKET, SLOW, WHOLE, interface, run};
use crate::world::{TRANSIT, World};

const NETWORKS: Networks = Networks { stripe_above: u64::MAX, has_relays: true };

fn one_rail() -> NicParams {
    interface(RailPolicy::ByRank, None)
}

fn chunks(packets: u64) -> RelayParams {
    RelayParams { chunk: Some(packets * PACKET), buffer: None }
}

fn counts(world: &World) -> RelayCounts {
    let mut all = RelayCounts::default();
    world.executors.iter().map(Executor::relay_counts).for_each(|own| all.add(&own));
    all
}

/// Runs one message on two islands. Returns the time at which it has been received, and the figures of relays.
fn alone(interface: NicParams, relays: RelayParams, (from, to): (u32, u32), bytes: u64) -> (u64, RelayCounts) {
    let mut ranks = vec![vec![]; 4];
    ranks[from as usize] = vec![send(to, bytes), ScriptCall::WaitAll];
    ranks[to as usize] = vec![recv(from, bytes), ScriptCall::WaitAll];
    let runs = [[0, 0, 0, 0], [0, 0, 1, 1]].map(|executor_of| {
        let (asked, world) = run(interface, (NETWORKS, relays), ranks.clone(), &executor_of);
        (asked[to as usize][2], counts(&world))
    });
    assert_eq!(runs[0], runs[1], "on one partition, and on two");
    runs[0]
}

/// Networks on the way of a message.
fn legs((from, to): (u32, u32)) -> Vec<u64> {
    [(from % 2 == 1).then_some(FAST), Some(SLOW), (to % 2 == 1).then_some(FAST)].into_iter().flatten().collect()
}

/// Returns the time at which the last of `packets` packets arrives, by a list of the times at which each is handed
/// over, leaves and arrives on each leg. Relays pass on chunks of `chunk` packets.
fn listed(legs: &[u64], packets: usize, chunk: usize) -> u64 {
    let mut handed = vec![0; packets];
    for &pace in legs {
        let mut free_at = 0;
        let arrived: Vec<u64> = handed
            .iter()
            .map(|&handed| {
                free_at = handed.max(free_at) + pace;
                free_at + TRANSIT
            })
            .collect();
        let last = |packet: usize| ((packet / chunk + 1) * chunk).min(packets) - 1;
        handed = (0..packets).map(|packet| arrived[last(packet)]).collect();
    }
    handed[packets - 1]
}

const PAIRS: [(u32, u32); 4] = [(1, 2), (0, 3), (1, 3), (0, 2)];

#[test]
fn relays_store_and_forward_messages_or_chunks() {
    // Would catch a relay that passes on before a chunk is whole, or waits for the message, a chunk that is a packet too
    // long, a relay at either end that is left out or passed twice, and times that depend on partitions.
    for pair in PAIRS {
        let own = legs(pair);
        let each = |packets: u64| own.iter().map(|pace| packets * pace + TRANSIT).sum::<u64>();
        for packets in [1_u64, 2, 5, 12] {
            let bytes = packets * PACKET;
            let (end, found) = alone(one_rail(), WHOLE, pair, bytes);
            assert_eq!(end, each(packets), "whole, {packets} packets on {own:?}");
            let relayed = (own.len() as u64 - 1) * bytes;
            let most_held = if relayed > 0 { bytes } else { 0 };
            assert_eq!(found, RelayCounts { bytes: relayed, most_held, waits: 0, waited: 0 });
            let slowest = own.iter().max().unwrap();
            assert_eq!(alone(one_rail(), chunks(1), pair, bytes).0, each(1) + (packets - 1) * slowest);
            for chunk in [2, 3, 4] {
                let end = alone(one_rail(), chunks(chunk), pair, bytes).0;
                assert_eq!(end, listed(&own, packets as usize, chunk as usize), "{chunk} of {packets}, {own:?}");
            }
        }
        // The last packet is half a packet, and takes half the time.
        let halves: u64 = own.iter().map(|pace| pace * 3 / 2 + TRANSIT).sum();
        assert_eq!(alone(one_rail(), WHOLE, pair, PACKET * 3 / 2).0, halves);
        assert_eq!(
            alone(one_rail(), WHOLE, pair, 0).0,
            each(0) + own.iter().map(|pace| pace.div_ceil(PACKET)).sum::<u64>()
        );
    }
}

#[test]
fn a_chunk_waits_for_room() {
    // Would catch a chunk that is handed over before there is room for all of it, room that is free when a packet begins
    // to leave, a wait that is not counted, and a message larger than the room that stands still. With room for one
    // chunk of c packets, the next is handed over when the last packet of the one before has left the relay.
    let room = |packets: u64, buffer: u64| RelayParams { chunk: Some(packets * PACKET), buffer: Some(buffer * PACKET) };
    for chunk in [1_u64, 2, 3] {
        for count in [1, 2, 5] {
            let bytes = count * chunk * PACKET;
            let cycle = chunk * (FAST + SLOW) + TRANSIT;
            let (end, found) = alone(one_rail(), room(chunk, chunk), (1, 2), bytes);
            assert_eq!(end, count * cycle + TRANSIT, "{count} chunks of {chunk}");
            let (waits, waited) = (count - 1, (count - 1) * cycle);
            assert_eq!(found, RelayCounts { bytes, most_held: chunk * PACKET, waits, waited });
        }
    }
    // With room for all, nothing waits.
    let (end, found) = alone(one_rail(), room(2, 6), (1, 2), 6 * PACKET);
    assert_eq!((end, found.waits), (listed(&[FAST, SLOW], 6, 2), 0));
    // A message that is larger than the room uses it alone.
    let large = RelayParams { chunk: None, buffer: Some(PACKET) };
    assert_eq!(alone(one_rail(), large, (1, 2), 6 * PACKET).0, 6 * (FAST + SLOW) + 2 * TRANSIT);
}

#[test]
fn relays_serve_waiting_senders_in_their_order() {
    // Would catch a sender that takes all room, and a relay that holds more than its room. Two messages of 8 packets
    // share the room of a relay, each chunk of 2 in turn.
    let relays = RelayParams { chunk: Some(2 * PACKET), buffer: Some(4 * PACKET) };
    let mut ranks = vec![vec![]; 6];
    ranks[1] = vec![send(2, 8 * PACKET), send(4, 8 * PACKET), ScriptCall::WaitAll];
    ranks[2] = vec![recv(1, 8 * PACKET), ScriptCall::WaitAll];
    ranks[4] = vec![recv(1, 8 * PACKET), ScriptCall::WaitAll];
    let (asked, world) = run(one_rail(), (NETWORKS, relays), ranks, &[0; 6]);
    let found = counts(&world);
    assert!(found.most_held <= 4 * PACKET && found.bytes == 16 * PACKET, "{found:?}");
    assert_eq!(found.waits, 6, "all chunks but the first message's first two");
    // A chunk is granted when the second chunk before it has left. `left` has the times at which chunks have left.
    let (mut free_at, mut left, mut ends) = (0, Vec::<u64>::new(), [0, 0]);
    for (chunk, message) in [0, 0, 0, 1, 0, 1, 1, 1].into_iter().enumerate() {
        let granted = chunk.checked_sub(2).map_or(0, |before| left[before]);
        free_at = granted.max(free_at) + 2 * FAST;
        left.push((free_at + TRANSIT).max(left.last().copied().unwrap_or(0)) + 2 * SLOW);
        ends[message] = left[chunk] + TRANSIT;
    }
    assert_eq!([asked[2][2], asked[4][2]], ends);
}

#[test]
fn protocols_pass_relays() {
    // Would catch a request, an answer, a notice or a credit that finds no way, takes the place of data at a relay, or
    // waits for more bytes. Control messages have 20 bytes, a fifth of a packet.
    for pair in PAIRS {
        let own = legs(pair);
        let control: u64 = own.iter().map(|pace| pace / 5 + TRANSIT).sum();
        let data: u64 = own.iter().map(|pace| 3 * pace + TRANSIT).sum();
        for rendezvous in [Rendezvous::Write, Rendezvous::Read] {
            let protocol = ProtocolParams { rendezvous, ..ProtocolParams::PLAIN };
            let interface = NicParams { eager_limit: Some(0), protocol, ..one_rail() };
            assert_eq!(alone(interface, WHOLE, pair, 300).0, 2 * control + data);
            let mut ranks = vec![vec![]; 4];
            ranks[pair.0 as usize] = vec![send(pair.1, 300), ScriptCall::WaitAll];
            ranks[pair.1 as usize] = vec![recv(pair.0, 300), ScriptCall::WaitAll];
            let asked = run(interface, (NETWORKS, chunks(1)), ranks, &[0, 0, 1, 1]).0;
            let received = 2 * control + listed(&own, 3, 1);
            let ended = if rendezvous == Rendezvous::Read { received + control } else { 2 * control };
            assert_eq!([asked[pair.0 as usize][2], asked[pair.1 as usize][2]], [ended, received]);
        }
        // One credit: the second message leaves when the credit of the first has come back.
        let protocol = ProtocolParams { eager_credits: Some(1), ..ProtocolParams::PLAIN };
        let mut ranks = vec![vec![]; 4];
        ranks[pair.0 as usize] = vec![send(pair.1, 300), send(pair.1, 300), ScriptCall::WaitAll];
        ranks[pair.1 as usize] = vec![recv(pair.0, 300), recv(pair.0, 300), ScriptCall::WaitAll];
        for executor_of in [[0, 0, 0, 0], [0, 0, 1, 1]] {
            let interface = NicParams { protocol, ..one_rail() };
            let asked = run(interface, (NETWORKS, WHOLE), ranks.clone(), &executor_of).0;
            assert_eq!(asked[pair.1 as usize][3], 2 * data + control);
        }
    }
}

#[test]
fn parts_of_a_relay_are_passed() {
    // Would catch a relay whose parts take no time, or whose gap is charged for each packet. The slowest part counts: a
    // DMA engine of the relay fetches what has come whole, and its receiving gap follows the message.
    let parts = PartParams {
        dma: DmaParams { engines: 1, setup: 700, per_byte: PerByte::FREE },
        receive_gap: GapParams { per_message: 0, per_byte: PerByte::of(2), first_byte_free: false },
        ..PartParams::NONE
    };
    let interface = NicParams { parts, ..one_rail() };
    // A packet of 200 passes a gap as fast as it comes from a link of 40 and of 100, but for the difference.
    let leg = |pace: u64, packets: u64| 700 + pace + TRANSIT + packets * 2 * PACKET - pace;
    assert_eq!(alone(interface, WHOLE, (1, 2), 4 * PACKET).0, leg(FAST, 4) + leg(SLOW, 4));
    assert_eq!(alone(interface, WHOLE, (1, 3), PACKET).0, leg(FAST, 1) + leg(SLOW, 1) + leg(FAST, 1));
}

#[test]
fn chunks_are_striped_over_the_rails_of_a_relay() {
    // Would catch a relay that uses one rail of several, and stripes that lose bytes.
    let interface = interface(RailPolicy::RoundRobin, Some(PACKET));
    for packets in [2_u64, 3, 8, 9] {
        let end = alone(interface, WHOLE, (1, 2), packets * PACKET).0;
        assert_eq!(end, packets * FAST + packets.div_ceil(2) * SLOW + 2 * TRANSIT);
    }
}

/// Nodes in a row, each joined to the next by a link.
#[derive(Debug)]
struct Row;

impl Ways for Row {
    fn find(&self, ends: (u32, u32), _: u64, ways: &mut Vec<Way>) {
        ways.push(self.onward(ends));
    }

    fn onward(&self, (at, to): (u32, u32)) -> Way {
        let to = if to > at { at + 1 } else { at - 1 };
        Way { rails: 0..1, to, claims: false, weight: 1 }
    }

    fn pace(&self, _: u32) -> u64 {
        FAST
    }
}

#[test]
fn relays_in_a_row_belong_to_either_executor() {
    // Would catch a second relay at the sender's side that does not know a message or an answer, and relays whose times
    // depend on the executor that has them. A message from each end of a row of four, with requests and answers.
    let interface = NicParams { eager_limit: Some(PACKET), ..one_rail() };
    let mut ranks = vec![vec![]; 4];
    for (from, to) in [(0, 3), (3, 0)] {
        ranks[from as usize].extend([send(to, PACKET), send(to, 5 * PACKET), ScriptCall::WaitAll]);
        ranks[to as usize].splice(0..0, [recv(from, PACKET), recv(from, 5 * PACKET)]);
    }
    let control = FAST / 5 + TRANSIT;
    for executor_of in [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]] {
        let (asked, world) = run(interface, (Row, chunks(1)), ranks.clone(), &executor_of);
        // The request follows the packet of the first message, on every link.
        let requested = 3 * (FAST + TRANSIT) + FAST / 5;
        let answered = requested + 3 * control;
        let received = answered + 4 * FAST + 3 * (FAST + TRANSIT);
        assert_eq!([asked[0].last(), asked[3].last()], [Some(&received); 2], "{executor_of:?}");
        assert_eq!(counts(&world).bytes, 2 * 2 * (6 * PACKET + 2 * 20));
    }
}

/// Returns ranks of which each sends messages of several sizes to each other at once.
fn all_to_all(nodes: u32) -> Vec<Vec<ScriptCall>> {
    let mut ranks = vec![vec![]; nodes as usize];
    for bytes in [1300, 90, 0, 550, 100] {
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            if from != to {
                ranks[from as usize].push(send(to, bytes));
                ranks[to as usize].push(recv(from, bytes));
            }
        }
    }
    ranks.iter_mut().for_each(|own| own.push(ScriptCall::WaitAll));
    ranks
}

#[test]
fn messages_keep_their_order_and_results_do_not_depend_on_partitions() {
    // Would catch a message that overtakes another of its pair (a receive of 90 bytes would get 1300), bytes that are
    // lost or sent twice, and relays whose order or room depends on partitions, with and without relays, stripes, parts,
    // protocols and room.
    let gap = GapParams { per_message: 30, per_byte: PerByte::of(1), first_byte_free: false };
    let dma = DmaParams { engines: 2, setup: 70, per_byte: PerByte::of(1) };
    let parts = PartParams { dma, send_gap: gap, receive_gap: gap, ..PartParams::NONE };
    let written = PartParams { pio: Some(PerByte::of(1)), pio_limit: 1000, pio_room: Some(600), ..parts };
    let credits = ProtocolParams { eager_credits: Some(2), ..ProtocolParams::PLAIN };
    let read = ProtocolParams { rendezvous: Rendezvous::Read, ..credits };
    let free = interface(RailPolicy::RoundRobin, Some(500));
    let interfaces = [
        free,
        NicParams { eager_limit: Some(500), parts, ..free },
        NicParams { eager_limit: Some(500), parts: written, protocol: credits, ..free },
        NicParams {
            eager_limit: Some(99),
            protocol: read,
            parts: PartParams { pio_room: None, ..written },
            ..interface(RailPolicy::Hash, Some(0))
        },
    ];
    let small = RelayParams { chunk: Some(300), buffer: Some(700) };
    for (number, interface) in interfaces.into_iter().enumerate() {
        for relays in [WHOLE, chunks(1), chunks(4), small, RelayParams { chunk: None, buffer: Some(600) }] {
            if relays.buffer.is_some() && interface.parts.pio_room.is_some() {
                continue;
            }
            for networks in [NETWORKS, Networks { stripe_above: 200, has_relays: false }] {
                let of = |executor_of: &[u16]| {
                    let (asked, world) = run(interface, (networks, relays), all_to_all(6), executor_of);
                    (asked, counts(&world))
                };
                let expected = of(&[0; 6]);
                for executor_of in [[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]] {
                    assert_eq!(of(&executor_of), expected, "interface {number}, {relays:?}, {networks:?}");
                }
            }
        }
    }
}
