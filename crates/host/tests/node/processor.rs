//! What keeps processors and interfaces busy, in closed form to the picosecond.

use std::sync::{Arc, Mutex};

use host::{GapParams, NicParams, PartParams, PerByte, ProcessorParams, ProgressMode};
use workload::program::{Action, Programs, Script, Scripts, Seen, Step};

use crate::world::{TRANSIT, World};

/// o 60 and 14 ps, ticks of 1 ps, packets of 100 bytes that take no time on the link.
const LOGGP: NicParams = NicParams {
    send_overhead: 60,
    receive_overhead: 14,
    eager_limit: None,
    control: 32,
    packet: 100,
    pace: 0,
    tick: 1,
    overhead_per_byte: PerByte::FREE,
    spares_first: true,
    processor: ProcessorParams { occupied: true, progress: ProgressMode::Calls },
    parts: PartParams::NONE,
};

const fn gap(per_message: u64, per_byte: u64) -> GapParams {
    GapParams { per_message, per_byte: PerByte::of(per_byte), spares_first: true }
}

/// Steps that are written down, and when the rank was asked for each of them.
#[derive(Debug)]
struct Timed {
    rank: u32,
    steps: std::vec::IntoIter<Step>,
    asked: Asked,
}

/// By rank, when it was asked for its steps.
type Asked = Arc<Mutex<Vec<Vec<u64>>>>;

impl Script for Timed {
    fn next(&mut self, seen: &Seen) -> Step {
        self.asked.lock().unwrap()[self.rank as usize].push(seen.now);
        self.steps.next().unwrap_or(Step::End)
    }
}

/// Runs ranks on nodes of their own: when each was asked for each step, and for the one behind the last.
fn run(interface: NicParams, ranks: Vec<Vec<Step>>) -> Vec<Vec<u64>> {
    let count = ranks.len() as u32;
    let asked: Asked = Arc::new(Mutex::new(vec![Vec::new(); ranks.len()]));
    let own = Arc::clone(&asked);
    let make =
        move |rank: u32| Timed { rank, steps: ranks[rank as usize].clone().into_iter(), asked: Arc::clone(&own) };
    let programs: Arc<dyn Programs> = Arc::new(Scripts::new(count, make));
    let nodes: Vec<u32> = (0..count).collect();
    let mut world = World::new(&programs, interface, &nodes, 1);
    world.waits_for_release = true;
    world.run();
    assert_eq!(world.executors[0].progress().open, 0, "every rank ends");
    assert_eq!(world.executors[0].error(), None);
    let asked = asked.lock().unwrap().clone();
    asked
}

/// When the last step of each rank has ended.
fn ends(interface: NicParams, ranks: Vec<Vec<Step>>) -> Vec<u64> {
    run(interface, ranks).iter().map(|asked| *asked.last().unwrap()).collect()
}

const fn send(to: u32, bytes: u64) -> Step {
    Step::Do(Action::send(to, bytes, 0))
}

const fn recv(from: u32, bytes: u64) -> Step {
    Step::Do(Action::recv(Some(from), bytes, Some(0)))
}

const fn calc(time: u64) -> Step {
    Step::Do(Action::Calc { time })
}

const fn sends(bytes: u64) -> [Step; 64] {
    [send(1, bytes); 64]
}

#[test]
fn a_round_trip_takes_twice_overheads_gap_and_latency() {
    // Would catch an overhead or a gap that is charged twice, to the wrong side or not at all: L + 2 o + (s - 1) G each way, with
    // O (s - 1) more at both ends.
    let bytes = 80;
    let per_byte = NicParams { overhead_per_byte: PerByte::of(3), ..LOGGP };
    for (interface, other) in [(LOGGP, 0), (per_byte, 2 * 3 * (bytes - 1))] {
        let parts = PartParams { send_gap: gap(1000, 6), receive_gap: GapParams::NONE };
        let interface = NicParams { parts, ..interface };
        let one_way = TRANSIT + 60 + 14 + (bytes - 1) * 6 + other;
        let ping = vec![send(1, bytes), recv(1, bytes), Step::WaitAll];
        let pong = vec![recv(0, bytes), Step::WaitAll, send(0, bytes), Step::WaitAll];
        assert_eq!(ends(interface, vec![ping, pong])[0], 2 * one_way);
    }
}

#[test]
fn overheads_occupy_the_processor() {
    // Would catch a processor that computes while it sends: 64 sends of 60 ps, then a calculation; and one that is kept although
    // overheads are latency.
    let program = |time| vec![[&sends(8)[..], &[calc(time), Step::WaitAll]].concat(), vec![recv(0, 8); 64]];
    assert_eq!(run(LOGGP, program(500))[0][65], 64 * 60 + 500);
    let latency = NicParams { processor: ProcessorParams::default(), ..LOGGP };
    assert_eq!(run(latency, program(500))[0][65], 500);
}

#[test]
fn the_slower_of_overhead_and_gap_limits_the_rate_of_messages() {
    // Would catch a gap that comes on top of the overhead, or is lost where the overhead is less: the n-th message arrives after
    // (n - 1) max(o, g + (s - 1) G) + o + (s - 1) G + L + o.
    let bytes = 11;
    for (g, per_byte) in [(40, 0), (200, 0), (40, 6), (0, 6), (0, 5)] {
        let parts = PartParams { send_gap: gap(g, per_byte), receive_gap: GapParams::NONE };
        let long = per_byte * (bytes - 1);
        let expected = 63 * (g + long).max(60) + 60 + long + TRANSIT + 14;
        let receiver = [vec![recv(0, bytes); 64], vec![Step::WaitAll]].concat();
        let all = ends(NicParams { parts, ..LOGGP }, vec![sends(bytes).to_vec(), receiver]);
        assert_eq!(all[1], expected, "g {g}, G {per_byte}");
    }
}

#[test]
fn an_incast_is_limited_by_its_receiver() {
    // Would catch a receiver that takes messages of several senders at a time: n messages arrive together; the last has passed the
    // interface after n s G + (n - 1) g, or the processor after n o.
    let n = 20;
    let senders = || (0..n).map(|_| vec![send(n as u32, 50)]);
    let receiver = || [(0..n as u32).map(|rank| recv(rank, 50)).collect(), vec![Step::WaitAll]].concat();
    let run = |receive_gap| {
        let interface = NicParams { parts: PartParams { send_gap: GapParams::NONE, receive_gap }, ..LOGGP };
        *ends(interface, senders().chain([receiver()]).collect()).last().unwrap()
    };
    let arrival = 60 + TRANSIT;
    assert_eq!(run(GapParams::NONE), arrival + n * 14);
    assert_eq!(run(gap(70, 6)), arrival + n * 49 * 6 + (n - 1) * 70 + 14);
    let all = GapParams { spares_first: false, ..gap(0, 6) };
    assert_eq!(run(all), arrival + n * 50 * 6 + 14);
}

#[test]
fn gaps_of_long_messages_are_of_all_their_packets() {
    // Would catch a gap per message that is charged for every packet, and a first byte that is free in each: 950 bytes are 10 packets.
    let parts = PartParams { send_gap: gap(500, 6), receive_gap: gap(500, 6) };
    let two = vec![send(1, 950), send(1, 950)];
    let receiver = vec![recv(0, 950), recv(0, 950), Step::WaitAll];
    let end = ends(NicParams { parts, ..LOGGP }, vec![two, receiver])[1];
    // Packets that take no time on the link come as a whole: the receiver is one of 100 bytes behind the sender.
    assert_eq!(end, 60 + 2 * 949 * 6 + 500 + TRANSIT + 100 * 6 + 14);
}

/// A calculation of 5000 ps at a receiver whose message of the rendezvous arrives meanwhile, and another behind it: when the sender's
/// send has ended, when the calculations have, and the receive.
fn overlapped(progress: ProgressMode, second: u64) -> [u64; 4] {
    let processor = ProcessorParams { occupied: true, progress };
    let interface = NicParams { eager_limit: Some(500), processor, ..LOGGP };
    let sender = vec![send(1, 600), Step::WaitAll];
    let receiver = vec![recv(0, 600), calc(5000), calc(second), Step::WaitAll];
    let asked = run(interface, vec![sender, receiver]);
    [asked[0][2], asked[1][2], asked[1][3], asked[1][4]]
}

#[test]
fn requests_are_answered_when_progress_allows() {
    // Would catch an answer that does not wait for the library, or that goes between two calculations without a call; an interrupt
    // that costs the calculation nothing, and one that is paid twice.
    let request = 60 + TRANSIT;
    let answer = request + 14 + 60 + TRANSIT;
    let data = answer + 14 + 60 + TRANSIT;
    assert_eq!(overlapped(ProgressMode::Independent, 300), [answer + 74, 5000, 5300, 5300]);
    // Asked at the end of the second calculation.
    let late = 5300 + 14 + 60 + TRANSIT + 14 + 60;
    assert_eq!(overlapped(ProgressMode::Calls, 300), [late, 5000, 5300, late + TRANSIT + 14]);
    // Three interrupts would be three times 100: the request's, with the answer; and the data's.
    let interrupt = ProgressMode::Interrupt { cost: 100 };
    let end = 5000 + (100 + 14 + 60) + (100 + 14);
    assert_eq!(overlapped(interrupt, 300), [answer + 100 + 74, end, end + 300, end + 300]);
    assert!(data + 200 < 5000);
}

#[test]
fn a_call_lets_the_library_react() {
    // Would catch a rank that is inside the library only while it waits: the send between two calculations reacts to the request.
    let interface = NicParams { eager_limit: Some(500), ..LOGGP };
    let sender = vec![send(1, 600), recv(1, 8), Step::WaitAll];
    let receiver = vec![recv(0, 600), calc(5000), send(0, 8), calc(300), Step::WaitAll];
    let asked = run(interface, vec![sender, receiver]);
    // The send's overhead, then reading and answering, then the calculation.
    let calculated = 5000 + 60 + 14 + 60 + 300;
    assert_eq!(asked[1][4], calculated);
    // The sender reads the small message, which has come first, and then the answer.
    let sent = 5000 + 60 + 14 + 60 + TRANSIT + 14 + 60;
    assert_eq!(asked[0][3], sent);
    assert_eq!(asked[1][5], sent + TRANSIT + 14);
}
