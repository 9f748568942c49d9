//! Occupation of processors and interfaces, in closed form to the picosecond.

use std::sync::{Arc, Mutex};

use host::{
    BufferRule, BusParams, ConnectionParams, DmaParams, GapParams, MatchingParams, NicParams, NodeParams, NoiseParams,
    PartParams, PerByte, ProcessorParams, ProgressMode, ProtocolParams, RailParams, RegisteredEnds, RegistrationParams,
};
use mpi::program::{Action, Programs, Script, ScriptCall, Scripts, Seen};

use crate::world::{TRANSIT, World};

/// LogGP parameters: o 60 and 14 ps, ticks of 1 ps, packets of 100 bytes that take no time on the link.
pub const LOGGP: NicParams = NicParams {
    send_overhead: 60,
    receive_overhead: 14,
    poll_overhead: 0,
    eager_limit: None,
    control: 32,
    packet: 100,
    whole: false,
    ends: false,
    pace: 0,
    tick: 1,
    overhead_per_byte: PerByte::FREE,
    copy: [PerByte::FREE; 2],
    first_byte_free: true,
    processor: ProcessorParams { host_driven: true, progress: ProgressMode::Calls, ..ProcessorParams::LATENCY },
    matching: MatchingParams { per_entry: 0, on_nic: false },
    registration: RegistrationParams::NONE,
    parts: PartParams::NONE,
    protocol: ProtocolParams::PLAIN,
    rails: RailParams::ONE,
    connections: ConnectionParams::NONE,
};

const fn gap(per_message: u64, per_byte: u64) -> GapParams {
    GapParams { per_message, per_byte: PerByte::of(per_byte), first_byte_free: true }
}

/// Prepared steps, with the times at which the rank made each of them.
#[derive(Debug)]
struct Timed {
    rank: u32,
    steps: std::vec::IntoIter<ScriptCall>,
    asked: Asked,
}

/// Times at which ranks made their steps, by rank.
pub type Asked = Arc<Mutex<Vec<Vec<u64>>>>;

impl Script for Timed {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        self.asked.lock().unwrap()[self.rank as usize].push(seen.now);
        self.steps.next().unwrap_or(ScriptCall::End)
    }
}

/// Runs ranks on separate nodes. Returns the time of each step, and of the end of the last.
pub fn run(interface: NicParams, ranks: Vec<Vec<ScriptCall>>) -> Vec<Vec<u64>> {
    run_world(interface, ranks, false)
}

/// Runs ranks on separate nodes whose links take time for packets.
pub fn run_linked(interface: NicParams, ranks: Vec<Vec<ScriptCall>>) -> Vec<Vec<u64>> {
    run_world(interface, ranks, true)
}

/// Returns programs of ranks, and the times at which each will have made its steps.
pub fn timed(ranks: Vec<Vec<ScriptCall>>) -> (Arc<dyn Programs>, Asked) {
    let count = ranks.len() as u32;
    let asked: Asked = Arc::new(Mutex::new(vec![Vec::new(); ranks.len()]));
    let own = Arc::clone(&asked);
    let make =
        move |rank: u32| Timed { rank, steps: ranks[rank as usize].clone().into_iter(), asked: Arc::clone(&own) };
    (Arc::new(Scripts::new(count, make)), asked)
}

fn run_world(interface: NicParams, ranks: Vec<Vec<ScriptCall>>, has_links: bool) -> Vec<Vec<u64>> {
    let nodes: Vec<u32> = (0..ranks.len() as u32).collect();
    let (programs, asked) = timed(ranks);
    let mut world = World::new(&programs, interface, &nodes, 1);
    world.waits_for_release = true;
    world.has_links = has_links;
    world.run();
    assert_eq!(world.executors[0].progress().open, 0, "every rank ends");
    assert_eq!(world.executors[0].error(), None);
    asked.lock().unwrap().clone()
}

/// Returns the time at which the last step of each rank has ended.
pub fn ends(interface: NicParams, ranks: Vec<Vec<ScriptCall>>) -> Vec<u64> {
    run(interface, ranks).iter().map(|asked| *asked.last().unwrap()).collect()
}

pub const fn send(to: u32, bytes: u64) -> ScriptCall {
    ScriptCall::Do(Action::send(to, bytes, 0))
}

pub const fn recv(from: u32, bytes: u64) -> ScriptCall {
    ScriptCall::Do(Action::recv(Some(from), bytes, Some(0)))
}

pub const fn calc(time: u64) -> ScriptCall {
    ScriptCall::Do(Action::Calc { time })
}

const fn sends(bytes: u64) -> [ScriptCall; 64] {
    [send(1, bytes); 64]
}

#[test]
fn a_round_trip_takes_twice_overheads_gap_and_latency() {
    // Would catch an overhead or a gap that is charged twice, to the wrong side or not at all: L + 2 o + (s - 1) G each
    // way, with O (s - 1) more at both ends.
    let bytes = 80;
    let per_byte = NicParams { overhead_per_byte: PerByte::of(3), ..LOGGP };
    for (interface, other) in [(LOGGP, 0), (per_byte, 2 * 3 * (bytes - 1))] {
        let parts = PartParams { send_gap: gap(1000, 6), ..PartParams::NONE };
        let interface = NicParams { parts, ..interface };
        let one_way = TRANSIT + 60 + 14 + (bytes - 1) * 6 + other;
        let ping = vec![send(1, bytes), recv(1, bytes), ScriptCall::WaitAll];
        let pong = vec![recv(0, bytes), ScriptCall::WaitAll, send(0, bytes), ScriptCall::WaitAll];
        assert_eq!(ends(interface, vec![ping, pong])[0], 2 * one_way);
    }
}

#[test]
fn overheads_occupy_the_processor() {
    // Would catch a processor that computes while it sends (64 sends of 60 ps, then a calculation), and a processor
    // that is occupied although overheads are latency.
    let program = |time| vec![[&sends(8)[..], &[calc(time), ScriptCall::WaitAll]].concat(), vec![recv(0, 8); 64]];
    assert_eq!(run(LOGGP, program(500))[0][65], 64 * 60 + 500);
    let latency = NicParams { processor: ProcessorParams::default(), ..LOGGP };
    assert_eq!(run(latency, program(500))[0][65], 500);
}

#[test]
fn the_slower_of_overhead_and_gap_limits_the_rate_of_messages() {
    // Would catch a gap that adds to the overhead, or is lost although the overhead is less: the n-th message arrives
    // after (n - 1) max(o, g + (s - 1) G) + o + (s - 1) G + L + o.
    let bytes = 11;
    for (g, per_byte) in [(40, 0), (200, 0), (40, 6), (0, 6), (0, 5)] {
        let parts = PartParams { send_gap: gap(g, per_byte), ..PartParams::NONE };
        let long = per_byte * (bytes - 1);
        let expected = 63 * (g + long).max(60) + 60 + long + TRANSIT + 14;
        let receiver = [vec![recv(0, bytes); 64], vec![ScriptCall::WaitAll]].concat();
        let all = ends(NicParams { parts, ..LOGGP }, vec![sends(bytes).to_vec(), receiver]);
        assert_eq!(all[1], expected, "g {g}, G {per_byte}");
    }
}

#[test]
fn an_incast_is_limited_by_its_receiver() {
    // Would catch a receiver that takes messages of several senders concurrently: n messages arrive together; the last
    // has passed the interface after n s G + (n - 1) g, or the processor after n o.
    let n = 20;
    let senders = || (0..n).map(|_| vec![send(n as u32, 50)]);
    let receiver = || [(0..n as u32).map(|rank| recv(rank, 50)).collect(), vec![ScriptCall::WaitAll]].concat();
    let run = |receive_gap| {
        let interface = NicParams { parts: PartParams { receive_gap, ..PartParams::NONE }, ..LOGGP };
        *ends(interface, senders().chain([receiver()]).collect()).last().unwrap()
    };
    let arrival = 60 + TRANSIT;
    assert_eq!(run(GapParams::NONE), arrival + n * 14);
    assert_eq!(run(gap(70, 6)), arrival + n * 49 * 6 + (n - 1) * 70 + 14);
    let all = GapParams { first_byte_free: false, ..gap(0, 6) };
    assert_eq!(run(all), arrival + n * 50 * 6 + 14);
}

#[test]
fn gaps_of_long_messages_are_of_all_their_packets() {
    // Would catch a gap per message that is charged for every packet, and a first byte that is free in each: 950 bytes
    // are 10 packets.
    let parts = PartParams { send_gap: gap(500, 6), receive_gap: gap(500, 6), ..PartParams::NONE };
    let two = vec![send(1, 950), send(1, 950)];
    let receiver = vec![recv(0, 950), recv(0, 950), ScriptCall::WaitAll];
    let end = ends(NicParams { parts, ..LOGGP }, vec![two, receiver])[1];
    // Packets that take no time on the link arrive as a whole: the receiver is one packet of 100 bytes behind the
    // sender.
    assert_eq!(end, 60 + 2 * 949 * 6 + 500 + TRANSIT + 100 * 6 + 14);
}

/// Runs a receiver that calculates for 5000 ps, and then for `second`, while the message of a rendezvous arrives.
/// Returns the times at which the send, the calculations and the receive have ended.
fn overlapped(progress: ProgressMode, second: u64) -> [u64; 4] {
    let processor = ProcessorParams { progress, interrupt_cost: 100, ..LOGGP.processor };
    let interface = NicParams { eager_limit: Some(500), processor, ..LOGGP };
    let sender = vec![send(1, 600), ScriptCall::WaitAll];
    let receiver = vec![recv(0, 600), calc(5000), calc(second), ScriptCall::WaitAll];
    let asked = run(interface, vec![sender, receiver]);
    [asked[0][2], asked[1][2], asked[1][3], asked[1][4]]
}

#[test]
fn requests_are_answered_when_progress_allows() {
    // Would catch an answer that does not wait for the library, or that is sent between two calculations without a
    // call; an interrupt that costs the calculation nothing, and an interrupt that is paid twice.
    let request = 60 + TRANSIT;
    let answer = request + 14 + 60 + TRANSIT;
    let data = answer + 14 + 60 + TRANSIT;
    assert_eq!(overlapped(ProgressMode::Independent, 300), [answer + 74, 5000, 5300, 5300]);
    // The request is answered at the end of the second calculation.
    let late = 5300 + 14 + 60 + TRANSIT + 14 + 60;
    assert_eq!(overlapped(ProgressMode::Calls, 300), [late, 5000, 5300, late + TRANSIT + 14]);
    // Three interrupts would be three times 100: one for the request, with the answer, and one for the data.
    let end = 5000 + (100 + 14 + 60) + (100 + 14);
    assert_eq!(overlapped(ProgressMode::Interrupt, 300), [answer + 100 + 74, end, end + 300, end + 300]);
    assert!(data + 200 < 5000);
}

#[test]
fn a_call_lets_the_library_react() {
    // Would catch a rank that is in the library only while it waits: the send between two calculations reacts to the
    // request.
    let interface = NicParams { eager_limit: Some(500), ..LOGGP };
    let sender = vec![send(1, 600), recv(1, 8), ScriptCall::WaitAll];
    let receiver = vec![recv(0, 600), calc(5000), send(0, 8), calc(300), ScriptCall::WaitAll];
    let asked = run(interface, vec![sender, receiver]);
    // The send's overhead, then reading and answering, then the calculation.
    let calculated = 5000 + 60 + 14 + 60 + 300;
    assert_eq!(asked[1][4], calculated);
    // The sender reads the small message, which has come first, and then the answer.
    let sent = 5000 + 60 + 14 + 60 + TRANSIT + 14 + 60;
    assert_eq!(asked[0][3], sent);
    assert_eq!(asked[1][5], sent + TRANSIT + 14);
}

/// Returns the time of each step of a rank that runs alone, with noise and speed of its processor.
fn alone(interface: NicParams, node: NodeParams, steps: Vec<ScriptCall>) -> Vec<u64> {
    let asked: Asked = Arc::new(Mutex::new(vec![Vec::new()]));
    let own = Arc::clone(&asked);
    let make = move |rank| Timed { rank, steps: steps.clone().into_iter(), asked: Arc::clone(&own) };
    let programs: Arc<dyn Programs> = Arc::new(Scripts::new(1, make));
    let mut world = World::new(&programs, interface, &[0], 1);
    world.equip(|_| node);
    world.run();
    asked.lock().unwrap()[0].clone()
}

#[test]
fn noise_and_speed_are_of_calculations_and_noise_of_overheads() {
    // Would catch a speed that divides the wrong way or applies to overheads, and noise that is lost on overheads or on
    // latencies.
    let noise = NoiseParams { period: 1000, duration: 100, drawn: false, aligned: true, seed: 1 };
    let noisy = NicParams { processor: ProcessorParams { noise: Some(noise), ..LOGGP.processor }, ..LOGGP };
    let steps = vec![calc(1500), send(0, 8), recv(0, 8), ScriptCall::WaitAll];
    let slow = NodeParams { speed: 0.5, noisy: false };
    let quick = NodeParams { speed: 2.0, noisy: true };
    // 1500 take 3000; then 60 and 14.
    assert_eq!(alone(noisy, slow, steps.clone())[4], 3000 + 74);
    // 750 from 100 on.
    assert_eq!(alone(noisy, quick, steps.clone())[1..], [850, 850, 850, 924]);
    let long = vec![calc(1780), send(0, 8), recv(0, 8), ScriptCall::WaitAll];
    // 890 from 100 on end at 990: the send continues after the detour.
    assert_eq!(alone(noisy, quick, long.clone())[1..], [990, 990, 990, 990 + 100 + 74]);
    let latency = NicParams { processor: ProcessorParams { noise: Some(noise), ..ProcessorParams::LATENCY }, ..LOGGP };
    assert_eq!(alone(latency, quick, long)[4], 990 + 74);
}

#[test]
fn a_poll_lets_the_library_react() {
    // Would catch a test that does not enter the library: a rank that computes and tests would never see the message.
    // The message has arrived at 1060; the third test, at 1200, receives it.
    let polls =
        [calc(400), ScriptCall::Test, calc(400), ScriptCall::Test, calc(400), ScriptCall::Test, ScriptCall::End];
    let receiver = [&[recv(0, 8)], &polls[..]].concat();
    let asked = run(LOGGP, vec![vec![send(1, 8)], receiver]);
    assert_eq!(asked[1][1..], [0, 400, 400, 800, 800, 1200, 1214]);
}

#[test]
fn searches_take_the_processor_or_the_interface() {
    // Would catch a search that is not charged, charged for the wrong entries, or charged to both: the message is
    // behind 9 unexpected messages and, conversely, behind 9 receives.
    let tagged = |tag| ScriptCall::Do(Action::send(1, 8, tag));
    let wanted = |tag| ScriptCall::Do(Action::recv(Some(0), 8, Some(tag)));
    for on_nic in [false, true] {
        let interface = NicParams { matching: MatchingParams { per_entry: 7, on_nic }, ..LOGGP };
        let sender = || (0..10).map(tagged).collect::<Vec<_>>();
        let receiver = vec![calc(9000), wanted(9), ScriptCall::Wait(0), calc(1), ScriptCall::End];
        // All messages arrive during the calculation. On the host they are matched when the rank waits, after its
        // receive has been posted: all but the last visit one receive.
        let asked = run(interface, vec![sender(), receiver]);
        let searched = 10 * 7;
        assert_eq!(asked[1][3], 9000 + searched + 14, "on the interface: {on_nic}");
        // Ten receives; the first message matches the last of them.
        let receiver = [(0..10).rev().map(wanted).collect(), vec![ScriptCall::Wait(9)]].concat();
        let asked = run(interface, vec![sender(), receiver]);
        assert_eq!(asked[1][11], 60 + TRANSIT + searched + 14, "on the interface: {on_nic}");
    }
}

#[test]
fn an_interface_that_matches_answers_by_itself() {
    // Would catch a rendezvous that waits for the processor although the interface matches: the data arrive before the
    // calculation has ended, and only the receive overhead remains.
    let matching = MatchingParams { per_entry: 0, on_nic: true };
    let interface = NicParams { eager_limit: Some(500), matching, ..LOGGP };
    let receiver = vec![recv(0, 600), calc(9000), ScriptCall::WaitAll];
    let asked = run(interface, vec![vec![send(1, 600), ScriptCall::WaitAll], receiver]);
    assert_eq!((asked[0][2], asked[1][3]), (60 + 2 * TRANSIT, 9000 + 14));
}

#[test]
fn the_processor_writes_while_the_interface_sends() {
    // Would catch PIO that precedes or follows the sending, and a processor that is free meanwhile: 950 bytes at 3 ps a
    // byte, on a gap of 2 ps a byte that is hidden, or of 6 ps that is not.
    for per_byte in [0, 2, 6] {
        let send_gap = GapParams { first_byte_free: false, ..gap(0, per_byte) };
        let parts = PartParams { pio: Some(PerByte::of(3)), pio_limit: u64::MAX, send_gap, ..PartParams::NONE };
        let sender = vec![send(1, 950), calc(10), ScriptCall::Wait(0)];
        let asked = run(NicParams { parts, ..LOGGP }, vec![sender, vec![recv(0, 950), ScriptCall::WaitAll]]);
        assert_eq!(asked[0][2..], [60 + 950 * 3 + 10; 2]);
        assert_eq!(asked[1][2], 60 + 950 * per_byte.max(3) + TRANSIT + 14, "G {per_byte}");
    }
}

#[test]
fn what_does_not_fit_is_written_at_calls() {
    // Would catch room without a limit, room that becomes free before a packet has left, and a rest that a processor
    // writes while it computes. Room for 2 packets of 100 bytes, 3 ps a byte to write and 10 ps a byte on the link; 5
    // packets.
    let parts = PartParams { pio: Some(PerByte::of(3)), pio_limit: u64::MAX, pio_room: Some(200), ..PartParams::NONE };
    let interface = NicParams { parts, pace: 1000, ..LOGGP };
    let receiver = || vec![recv(0, 500), ScriptCall::WaitAll];
    // If the rank waits: 2 packets in the call, and another whenever a packet has left.
    let asked = run_linked(interface, vec![vec![send(1, 500), ScriptCall::Wait(0)], receiver()]);
    assert_eq!((asked[0][2], asked[1][2]), (60 + 3000 + 300, 60 + 5000 + TRANSIT + 14));
    // If the rank computes: 2 packets in the call, 2 when it has computed, and one when one of these packets has left.
    let asked = run_linked(interface, vec![vec![send(1, 500), calc(10_000), ScriptCall::Wait(0)], receiver()]);
    let computed = 60 + 600 + 10_000;
    assert_eq!((asked[0][3], asked[1][2]), (computed + 1000 + 300, computed + 3000 + TRANSIT + 14));
    // A second send has no room before the first has been written.
    let receiver = vec![recv(0, 500), recv(0, 100), ScriptCall::WaitAll];
    let asked = run_linked(interface, vec![vec![send(1, 500), send(1, 100), ScriptCall::WaitAll], receiver]);
    assert_eq!(asked[1][3], 60 + 6000 + TRANSIT + 14);
}

#[test]
fn engines_read_what_the_processor_does_not_write() {
    // Would catch a setup that is not paid, or is paid by the processor, and a limit that is off by one: two engines
    // take two messages concurrently.
    let dma = DmaParams { engines: 2, setup: 1000, per_byte: PerByte::of(5) };
    let parts = PartParams { pio: Some(PerByte::of(3)), pio_limit: 90, dma, ..PartParams::NONE };
    let run = |bytes| run(NicParams { parts, ..LOGGP }, vec![vec![send(1, bytes); 3], vec![recv(0, bytes); 3]]);
    // Writing occupies the processor; reading does not.
    let last = |bytes| {
        let receiver = [vec![recv(0, bytes); 3], vec![ScriptCall::WaitAll]].concat();
        ends(NicParams { parts, ..LOGGP }, vec![vec![send(1, bytes); 3], receiver])
    };
    assert_eq!(last(90)[1], 3 * (60 + 90 * 3) + TRANSIT + 14);
    // The third waits until the first has been read.
    assert_eq!(last(91)[1], 60 + 2 * (1000 + 91 * 5) + TRANSIT + 14);
    assert_eq!(run(91)[0].len(), 4);
}

#[test]
fn a_bus_of_one_direction_is_shared_by_both() {
    // Would catch a bus that serves both directions concurrently although it is shared: two nodes send each other 20
    // messages of a packet, which take 2 ps a byte and 10 ps each on each bus.
    let bus = |shared| BusParams { per_byte: PerByte::of(2), per_packet: 10, shared, of_node: false };
    let end = |bus| {
        let own =
            |other: u32| [vec![recv(other, 100); 20], vec![send(other, 100); 20], vec![ScriptCall::WaitAll]].concat();
        let free = NicParams { send_overhead: 0, receive_overhead: 0, ..LOGGP };
        ends(NicParams { parts: PartParams { bus, ..PartParams::NONE }, ..free }, vec![own(1), own(0)])[0]
    };
    // Packets arrive when the bus is free of leaving packets.
    assert_eq!(end(bus(false)), 210 + TRANSIT + 20 * 210);
    assert_eq!(end(bus(true)), 20 * 210 + 20 * 210);
}

#[test]
fn memory_is_registered_at_both_ends_unless_it_is_known() {
    // Would catch a registration that is paid by eager messages, at one end only, or for registered memory: of 3
    // messages one is new.
    let registration = RegistrationParams {
        time: 300,
        per_page: 20,
        page: 256,
        cached: 1,
        buffers: BufferRule::ByPeer,
        ends: RegisteredEnds::Both,
    };
    let interface = NicParams { eager_limit: Some(500), registration, ..LOGGP };
    let run = |bytes| {
        let sender = vec![send(1, bytes), ScriptCall::WaitAll, send(1, bytes), ScriptCall::WaitAll];
        let receiver = vec![recv(0, bytes), ScriptCall::WaitAll, recv(0, bytes), ScriptCall::WaitAll];
        run(interface, vec![sender, receiver])[1].clone()
    };
    let trip = 60 + TRANSIT + 14 + 60 + TRANSIT + 14 + 60 + TRANSIT + 14;
    let cost = 300 + 3 * 20;
    assert_eq!(run(600)[2], trip + 2 * cost);
    assert_eq!(run(500)[2], 60 + TRANSIT + 14);
    // The second begins when the sender has handed over the first.
    assert_eq!(run(600)[4], 2 * trip + 2 * cost - TRANSIT - 14);
}

#[test]
fn calls_that_only_look_take_their_overhead() {
    // Would catch tests and probes that take no time, or of which one in four takes another time, a receive that does
    // not wait for the call in progress when its message arrives, and a receive whose end is found by the call before
    // it. The message arrives at 60 + 1000.
    let interface = NicParams { poll_overhead: 100, ..LOGGP };
    let polls = [ScriptCall::Test, ScriptCall::Do(Action::iprobe(Some(0), Some(7)))];
    for poll in polls {
        let asked = run(interface, vec![vec![send(1, 8)], [vec![recv(0, 8)], vec![poll; 13]].concat()]);
        // The call from 1000 to 1100 finds nothing; the receive follows it, and then the call that finds it.
        let until = (0..=11).map(|call| 100 * call);
        assert_eq!(
            asked[1],
            [0].into_iter().chain(until).chain([1100 + 14 + 100, 1100 + 14 + 200]).collect::<Vec<_>>()
        );
    }
    // If overheads are latency, so are those of calls.
    let latency = NicParams { processor: ProcessorParams::LATENCY, ..interface };
    let asked = run(latency, vec![vec![send(1, 8)], vec![recv(0, 8), ScriptCall::Test, ScriptCall::Test]]);
    assert_eq!(asked[1], [0, 0, 100, 200]);
}
