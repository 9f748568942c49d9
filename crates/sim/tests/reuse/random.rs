//! Random programs, networks and routers.

use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use network::{KeyField, NetworkModel, ReuseModel, StateRules};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{Held, as_text, both, build, result};

/// Network of 12 to 18 nodes with one path between two of them.
const NETWORKS: [&str; 9] = [
    r#"topology = { kind = "single-switch", ports = 12 }"#,
    r#"topology = { kind = "fat-tree", k = 4, n = 2 }
       routing = { kind = "d-mod-k" }"#,
    r#"topology = { kind = "xgft", m = [3, 2, 2], w = [1, 2, 2] }
       routing = { kind = "d-mod-k" }"#,
    r#"topology = { kind = "torus", dims = [5, 3] }
       routing = { kind = "dimension-order" }"#,
    r#"topology = { kind = "mesh", dims = [3, 2, 3] }
       routing = { kind = "dimension-order" }"#,
    r#"topology = { kind = "hyperx", dims = [2, 3], nodes_per_router = 2 }
       routing = { kind = "dimension-order" }"#,
    r#"topology = { kind = "dragonfly", h = 2 }
       routing = { kind = "minimal" }"#,
    r#"topology = { kind = "fat-tree", k = 4, n = 2, planes = 2 }
       routing = { kind = "d-mod-k" }"#,
    r#"node = { endpoints = 4, count = 4 }
       routing = { kind = "d-mod-k" }
       network = [
           { name = "near", topology = "single-switch:4", routing = { kind = "shortest-path" } },
           { name = "rail", topology = "fat-tree:k=4,n=2,planes=2", order = "by-rail", nic = { latency = "5 ns", bus = { bandwidth = "20 Gb/s", directions = "one", of = "node" } } },
       ]"#,
];

/// Networks with several planes.
const OF_SEVERAL_PLANES: [usize; 2] = [7, 8];

/// Rules by which messages take rails. Those that stripe messages do not go with times of messages that arrive.
const RAILS: [&str; 3] = [
    r#"rails = { policy = "by-destination" }"#,
    r#"rails = { policy = "hash" }"#,
    r#"rails = { stripe_above = "300 B" }"#,
];

/// Networks whose routings have two classes of virtual channels.
const OF_TWO_CLASSES: [usize; 2] = [3, 6];

const RANKS: u32 = 12;

/// Routers for any routing.
const ROUTERS: [&str; 9] = [
    r#"kind = "output-queued""#,
    r#"kind = "output-queued", credits = "row-counter""#,
    r#"kind = "output-queued", credits = "per-crosspoint""#,
    r#"kind = "output-queued", arbitration = "oldest-first""#,
    r#"kind = "output-queued", vcs = 4"#,
    r#"kind = "shared-buffer", memory = "6 packets""#,
    r#"kind = "shared-buffer", memory = "3 packets", vcs = 2, arbitration = "oldest-first""#,
    r#"kind = "input-crosspoint-queued", crosspoint_buffer = "1 packets", queueing = "fifo""#,
    r#"kind = "input-crosspoint-queued", crosspoint_buffer = "2 packets", vcs = 2"#,
];

/// Routers for routings with one class of virtual channels.
const OF_ONE_CLASS: [&str; 5] = [
    r#"kind = "input-output-queued", speedup = 2"#,
    r#"kind = "input-queued""#,
    r#"kind = "input-queued", arbitration = "oldest-first""#,
    r#"kind = "input-output-queued", output_buffer = "1 packets""#,
    r#"kind = "virtual-output-queued""#,
];

/// Interfaces. From the fifth on they have parts, which packets pass.
const NICS: [&str; 11] = [
    r#"kind = "ideal""#,
    r#"send_overhead = "37 ns", receive_overhead = "11 ns""#,
    r#"send_overhead = "3 ns", receive_overhead = "5 ns", eager_limit = "300 B", control_size = "40 B""#,
    r#"send_overhead = "20 ns", receive_overhead = "30 ns", eager_limit = "500 B", occupies = true, eager_credits = 2"#,
    r#"kind = "loggp", send_overhead = "20 ns", gap = "60 ns", gap_per_byte = "1.1 ns""#,
    r#"kind = "loggp", receive_overhead = "9 ns", bus = { bandwidth = "9 Gb/s", per_packet = "13 ns", directions = "one" }"#,
    r#"kind = "loggp", send_overhead = "5 ns", gap = "20 ns", receive_gap = "0 ns", dma = { bandwidth = "16 Gb/s", setup = "45 ns", engines = 2 }, bus = { bandwidth = "6.4 Gb/s", of = "node" }"#,
    r#"kind = "loggp", pio = { bandwidth = "6 Gb/s", limit = "400 B" }, dma = { bandwidth = "7 Gb/s", setup = "11 ns" }, eager_limit = "900 B", control_size = "40 B""#,
    r#"kind = "loggp", charged_bytes = "all", receive_gap_per_byte = "0.7 ns", bus = { bandwidth = "15 Gb/s", directions = "one", of = "node" }"#,
    r#"kind = "loggp", send_overhead = "4 ns", connections = { mode = "on-demand", setup = "90 ns", cached = 2, miss = "70 ns" }"#,
    r#"kind = "loggp", receive_gap = "30 ns", matching = { per_entry = "7 ns", on = "nic" }, eager_limit = "300 B", rendezvous = "read", control_size = "40 B""#,
];

/// First interface with parts.
const WITH_PARTS: usize = 4;

/// Interfaces with a bus that both directions share.
const OF_ONE_DIRECTION: [usize; 2] = [5, 8];

/// Interfaces with times of messages that arrive.
const WITH_RECEIVE_GAP: [usize; 2] = [4, 10];

/// Messages of a round: sender, distance to the receiver, bytes.
type Round = Vec<(u32, u32, u32)>;

#[derive(Clone, Debug)]
struct Case {
    network: usize,
    router: usize,
    nic: usize,
    credit_return: bool,
    buffer: u32,
    links: usize,
    rails: usize,
    rounds: Vec<Round>,
    /// Rounds of the program: a round, and the calculations of ranks before it, by rank modulo 3.
    program: Vec<(usize, [u32; 3])>,
}

/// Sizes of messages, packets of the largest buffers, and how often a program repeats its rounds.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    sizes: &'static [u32],
    buffer: u32,
    times: (usize, usize),
}

const SHORT: Lengths = Lengths { sizes: &[1, 99, 100, 101, 250, 400, 900, 2000], buffer: 5, times: (8, 17) };

/// Messages with steady states.
const LONG: Lengths = Lengths { sizes: &[900, 20_000, 99_999, 100_000, 180_050], buffer: 40, times: (1, 2) };

fn round(sizes: &'static [u32]) -> impl Strategy<Value = Round> {
    let size = || prop::sample::select(sizes);
    let random = prop::collection::vec((0..RANKS, 1..RANKS, size()), 1..14);
    // The same step of all ranks, or of every other one.
    let shift = (1..RANKS, size(), 1..3_u32)
        .prop_map(|(by, bytes, every)| (0..RANKS).step_by(every as usize).map(|from| (from, by, bytes)).collect());
    let incast = (0..RANKS, size(), 2..5_u32)
        .prop_map(|(to, bytes, count)| (1..=count).map(|by| ((to + RANKS - by) % RANKS, by, bytes)).collect());
    prop_oneof![3 => random, 6 => shift, 2 => incast]
}

fn case(Lengths { sizes, buffer, times: (least, end) }: Lengths) -> impl Strategy<Value = Case> {
    let calc = || prop::sample::select(vec![0_u32, 0, 13, 150, 2000, 2000]);
    let calcs = || prop_oneof![Just([0; 3]), Just([2000; 3]), [calc(), calc(), calc()]];
    let machine = (
        0..NETWORKS.len(),
        0..ROUTERS.len() + OF_ONE_CLASS.len(),
        0..NICS.len(),
        any::<bool>(),
        1..buffer + 1,
        0..LINKS.len(),
        0..RAILS.len(),
    );
    let rounds = prop::collection::vec(round(sizes), 1..4);
    // A few rounds over and over, as programs of iterations have them.
    let program = (prop::collection::vec((0..3_usize, calcs()), 1..4), least..end);
    (machine, rounds, program).prop_map(
        |((network, router, nic, credit_return, buffer, links, rails), rounds, (program, times))| Case {
            network,
            router: if OF_TWO_CLASSES.contains(&network) { router % ROUTERS.len() } else { router },
            nic,
            credit_return,
            buffer,
            links,
            rails: if WITH_RECEIVE_GAP.contains(&nic) { rails % 2 } else { rails },
            program: program.repeat(times).into_iter().map(|(round, calc)| (round % rounds.len(), calc)).collect(),
            rounds,
        },
    )
}

const LINKS: [&str; 4] = [
    r#"{ bandwidth = "8 Gb/s", delay = "20 ns" }"#,
    r#"{ bandwidth = "8 Gb/s", delay = "7 ns", injection = { delay = "50 ns" } }"#,
    r#"{ bandwidth = "8 Gb/s", delay = "300 ns", ejection = { delay = "10 ns" } }"#,
    r#"{ bandwidth = "8 Gb/s", delay = "30 ns", injection = { bandwidth = "16 Gb/s" }, ejection = { bandwidth = "4 Gb/s" } }"#,
];

impl Case {
    /// Returns the program as a GOAL schedule.
    fn goal(&self) -> String {
        let mut text = format!("num_ranks {RANKS}\n");
        for rank in 0..RANKS {
            let _ = writeln!(text, "rank {rank} {{");
            let mut before: Vec<String> = Vec::new();
            for (number, (round, calcs)) in self.program.iter().enumerate() {
                let mut own = Vec::new();
                let calc = format!("c{number}");
                let _ = writeln!(text, "{calc}: calc {}", calcs[rank as usize % 3]);
                before.iter().for_each(|label| text.push_str(&format!("{calc} requires {label}\n")));
                for (place, &(from, by, bytes)) in self.rounds[*round].iter().enumerate() {
                    let (to, tag) = ((from + by) % RANKS, number * 100 + place);
                    if from == rank {
                        let _ = writeln!(text, "s{number}_{place}: send {bytes}b to {to} tag {tag}");
                        own.push(format!("s{number}_{place}"));
                    }
                    if to == rank {
                        let _ = writeln!(text, "r{number}_{place}: recv {bytes}b from {from} tag {tag}");
                        own.push(format!("r{number}_{place}"));
                    }
                }
                own.iter().for_each(|label| text.push_str(&format!("{label} requires {calc}\n")));
                before = if own.is_empty() { vec![calc] } else { own };
            }
            // Eager credits return before the last rank ends.
            text.push_str("last: calc 100000\n");
            before.iter().for_each(|label| text.push_str(&format!("last requires {label}\n")));
            text.push_str("}\n");
        }
        text
    }

    /// Returns the experiment, without `simulation.reuse`.
    fn experiment(&self, goal: &Held) -> String {
        let router = ROUTERS.iter().chain(&OF_ONE_CLASS).nth(self.router).copied().unwrap_or_default();
        // With deep buffers at inputs, those behind them are deep too.
        let router =
            if self.buffer > SHORT.buffer { router.replace(" packets", "0 packets") } else { router.to_owned() };
        let Self { network, nic, credit_return, buffer, links, rails, .. } = self;
        format!(
            r#"
            {}
            router = {{ {router}, delay = "23 ns", buffer = "{buffer} packets", credit_return = "{}" }}
            workload = {{ kind = "program", packet_size = "100 B", program = {{ kind = "goal", file = '{}' }} }}
            measure = {{ messages = true }}
            nic = {{ {}{} }}
            link = {}
            "#,
            NETWORKS[*network],
            if *credit_return { "head" } else { "tail" },
            goal.0.display(),
            NICS[*nic],
            if OF_SEVERAL_PLANES.contains(network) { format!(", {}", RAILS[*rails]) } else { String::new() },
            match network {
                4 => LINKS[*links].replacen("{ ", "{ dim2 = { delay = \"110 ns\" }, ", 1),
                _ => LINKS[*links].to_owned(),
            },
        )
    }
}

/// Number of cases of each kind.
#[derive(Debug, Default)]
struct Seen {
    cases: u32,
    gave_up: u32,
    half_replayed: u32,
    joins: u32,
    merges: u32,
    /// Cases with simulations that go on from a saved state.
    continued: u32,
    /// Cases with simulations that are paused, some of whose messages are replayed.
    paused: u32,
    moved_pointers: u32,
    /// Cases with buffers of one or two packets, whose credits hold packets back, with iSLIP or with a shared memory,
    /// some of whose messages are replayed.
    bound: u32,
    /// Cases with replayed messages whose packets pass parts of interfaces.
    parts: u32,
    /// Cases of them whose interfaces have a bus for both directions.
    half_duplex: u32,
    /// Cases with replayed messages on several planes or networks.
    planes: u32,
    /// Cases in which at least half of the packet-hops were skipped.
    half_skipped: u32,
    /// Cases of them with joins.
    skipped_joins: u32,
    /// Cases of them whose packets pass parts of interfaces.
    skipped_parts: u32,
}

/// Compares `cases` random cases, and returns what they had.
fn compare(cases: u32, lengths: Lengths) -> Seen {
    let seen = Mutex::new(Seen::default());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let found = TestRunner::new(config).run(&case(lengths), |case| {
        let goal = Held::new(&case.goal());
        let text = case.experiment(&goal);
        // Most simulations are paused, some, or none.
        let stretch = Some([1, 100, 1000, u64::MAX / 4][case.program.len() % 4]);
        // States are copied where that is faster, and 16 are kept; or they are always copied, and few are kept.
        let any = |most| StateRules { most, bytes_per_hop: u64::MAX };
        let states = [StateRules::default(), any(1), any(4)][case.rounds.len() % 3];
        let patient = ReuseModel { least_trial: u64::MAX, stretch, states, ..ReuseModel::default() };
        let patient: Arc<dyn NetworkModel> = Arc::new(patient);
        let found = both(&text, Some(patient));
        let (with, without, reuse) = found.map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
        prop_assert_eq!(as_text(&with), as_text(&without), "{}\n{:?}", case.goal(), reuse);
        let mut seen = seen.lock().unwrap();
        seen.cases += 1;
        seen.gave_up += u32::from(reuse.gave_up.is_some());
        seen.half_replayed += u32::from(2 * reuse.replayed_messages >= reuse.messages && reuse.messages > 0);
        seen.joins += u32::from(reuse.joins > 0);
        seen.merges += u32::from(reuse.merges > 0);
        seen.continued += u32::from(reuse.continued > 0);
        seen.paused += u32::from(reuse.paused > 0 && reuse.replayed_messages > 0);
        seen.moved_pointers += u32::from(reuse.moved_pointers > 0);
        let is_bound = case.buffer <= 2 || text.contains("virtual-output") || text.contains("shared-buffer");
        seen.bound += u32::from(is_bound && reuse.replayed_messages > 0);
        let is_replayed = reuse.replayed_messages > 0;
        seen.parts += u32::from(is_replayed && case.nic >= WITH_PARTS);
        seen.half_duplex += u32::from(is_replayed && OF_ONE_DIRECTION.contains(&case.nic));
        seen.planes += u32::from(is_replayed && OF_SEVERAL_PLANES.contains(&case.network));
        let is_skipped = reuse.gave_up.is_none() && reuse.skipped_packet_hops >= reuse.simulated_packet_hops;
        seen.half_skipped += u32::from(is_skipped);
        seen.skipped_joins += u32::from(is_skipped && reuse.joins > 0);
        seen.skipped_parts += u32::from(is_skipped && case.nic >= WITH_PARTS);
        Ok(())
    });
    found.unwrap_or_else(|error| panic!("{error}"));
    seen.into_inner().unwrap()
}

/// Compares `cases` random cases, and checks that enough of them have what is difficult.
fn check(cases: u32) {
    let seen = compare(cases, SHORT);
    println!("{seen:?}");
    let least = |found: u32, tenths: u32| found * 10 >= cases * tenths;
    assert!(least(seen.half_replayed, 5) && least(seen.joins, 2) && least(seen.merges, 1), "{seen:?}");
    assert!(least(seen.moved_pointers, 1) && least(seen.bound, 1) && !least(seen.gave_up, 1), "{seen:?}");
    assert!(least(seen.continued, 1) && least(seen.paused, 1), "{seen:?}");
    assert!(least(seen.parts, 3) && least(seen.half_duplex, 1) && least(seen.planes, 1), "{seen:?}");
}

/// Compares `cases` random cases of long messages, and checks that enough of them skip periods.
fn check_long(cases: u32) {
    let seen = compare(cases, LONG);
    println!("{seen:?}");
    let least = |found: u32, hundredths: u32| found * 100 >= cases * hundredths;
    assert!(least(seen.half_skipped, 15) && least(seen.skipped_joins, 10) && least(seen.skipped_parts, 10), "{seen:?}");
}

#[test]
fn random_programs_give_the_bytes_of_a_run_without_reuse() {
    // Would catch a field of the state that the key leaves out, a pointer that is not written back, spans that end too
    // early, and messages that are announced or counted at another time.
    check(500);
}

#[test]
#[ignore = "the same with 100,000 cases, for `make test-long`"]
fn many_random_programs_give_the_bytes_of_a_run_without_reuse() {
    check(100_000);
}

#[test]
fn long_messages_whose_periods_are_skipped_give_the_bytes_of_a_run_without_reuse() {
    // Would catch a state that is taken for an equal one, and whatever is not moved by the time that is skipped.
    check_long(200);
}

#[test]
fn a_packet_that_others_overtake_for_long_is_part_of_the_state() {
    // Would catch periods that are skipped while a packet waits on a virtual channel that is not served in them.
    let incast = [0, 2, 4, 6, 8, 10].map(|from| (from, 7, 20_000)).to_vec();
    let case = Case {
        router: 4,
        credit_return: false,
        links: 0,
        program: vec![(0, [0; 3]), (1, [0; 3])],
        ..rounds_apart(6, vec![incast, vec![(2, 1, 20_000), (1, 2, 20_000), (0, 3, 20_000)]])
    };
    let goal = Held::new(&case.goal());
    let (with, without, reuse) = both(&case.experiment(&goal), None).unwrap();
    assert_eq!(as_text(&with), as_text(&without));
    assert!(reuse.skipped_packet_hops > 0, "{reuse:?}");
}

#[test]
#[ignore = "the same with 20,000 cases, for `make test-long`"]
fn many_long_messages_give_the_bytes_of_a_run_without_reuse() {
    check_long(20_000);
}

#[test]
fn records_that_are_dropped_are_made_again() {
    // Would catch a record or a path that is dropped while an episode or a saved state uses it, and latencies that are
    // dropped with it.
    let (finished, again) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let found = TestRunner::new(config).run(&case(SHORT), |case| {
        let goal = Held::new(&case.goal());
        let text = format!("{}\nsimulation = {{ reuse = true }}", case.experiment(&goal));
        let with = |most_bytes| {
            let states = StateRules { bytes_per_hop: u64::MAX, ..StateRules::default() };
            let model = ReuseModel { most_bytes, states, stretch: Some(100), ..ReuseModel::default() };
            let model: Arc<dyn NetworkModel> = Arc::new(model);
            let mut point = result(&build(&text, Some(model)).unwrap()).unwrap();
            (point.reuse.take().unwrap(), as_text(&point))
        };
        let ((few, little), (all, whole)) = (with(60_000), with(usize::MAX));
        prop_assert_eq!(little, whole, "{}", text);
        finished.set(finished.get() + u32::from(few.gave_up.is_none()));
        again.set(again.get() + u32::from(few.gave_up.is_none() && few.records > all.records));
        Ok(())
    });
    found.unwrap_or_else(|error| panic!("{error}"));
    assert!(finished.get() > 10 && again.get() > 5, "{finished:?} {again:?}");
}

/// Returns whether a case differs if keys leave a field out.
fn differs_without(field: KeyField, case: &Case) -> bool {
    let goal = Held::new(&case.goal());
    let text = case.experiment(&goal);
    let reuse = format!("{text}\nsimulation = {{ reuse = true }}");
    let without = result(&build(&text, None).unwrap()).unwrap();
    // A wrong record may break what the run relies on.
    let with = std::panic::catch_unwind(|| {
        let model: Arc<dyn NetworkModel> = Arc::new(ReuseModel { left_out: Some(field), ..ReuseModel::default() });
        result(&build(&reuse, Some(model)).unwrap())
    });
    let Ok(Ok(mut with)) = with else { return true };
    with.reuse = None;
    as_text(&with) != as_text(&without)
}

/// Returns a case whose rounds follow one another at long distances.
fn rounds_apart(network: usize, rounds: Vec<Round>) -> Case {
    let program = (0..rounds.len()).map(|round| (round, [100_000; 3])).collect();
    Case { network, router: 0, nic: 0, credit_return: true, buffer: 1, links: 2, rails: 0, rounds, program }
}

#[test]
fn keys_need_each_of_their_fields() {
    // Would catch random cases that do not tell whether a field of the key counts.
    for field in [KeyField::Time, KeyField::Bytes, KeyField::Channels, KeyField::Order] {
        let config = Config { cases: 1000, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
        let found = TestRunner::new(config).run(&case(SHORT), |case| {
            prop_assert!(!differs_without(field, &case));
            Ok(())
        });
        assert!(found.is_err(), "nothing differs without {field:?}");
    }
    // A hop in each dimension of a mesh, of which one has longer channels.
    let hops = rounds_apart(4, vec![vec![(0, 1, 100)], vec![(0, 3, 100)], vec![(0, 6, 100)]]);
    assert!(differs_without(KeyField::Set, &hops));
    // Pairs of messages of two hops on a ring of five routers. Where they share a channel, they are on one virtual channel
    // or on two, by their positions relative to the wrap.
    let message = |from: u32| (from, ((from + 2) % 5 + RANKS - from) % RANKS, 2000);
    let of =
        |from: u32| (0..5).filter(move |&other| other != from).map(move |other| vec![message(from), message(other)]);
    let pairs = rounds_apart(3, (0..5).flat_map(of).collect());
    assert!(differs_without(KeyField::VirtualChannel, &pairs));
    // A message that waits for the state of its connection, and one that does not.
    let twice = Case { nic: 9, ..rounds_apart(0, vec![vec![(0, 1, 100)], vec![(0, 1, 100)]]) };
    assert!(differs_without(KeyField::Stream, &twice));
    // Three messages in a ring and in a row, by nodes whose buses have one direction at a time.
    let ring = vec![(0, 1, 2000), (1, 1, 2000), (2, 10, 2000)];
    let row = vec![(4, 1, 2000), (5, 1, 2000), (6, 1, 2000)];
    let ring = Case { nic: 5, ..rounds_apart(0, vec![ring, row]) };
    assert!(differs_without(KeyField::Bus, &ring));
    // Two messages by two planes that share a bus. They arrive at one instant, the earlier one by the first plane or by
    // the second one.
    let rounds = vec![vec![(4, 8, 100), (2, 10, 100)], vec![(10, 8, 100), (5, 1, 100)]];
    let program = vec![(0, [100_000, 100_000, 100_086]), (1, [100_000; 3])];
    let planes = Case { nic: 8, rails: 1, links: 0, program, ..rounds_apart(7, rounds) };
    assert!(differs_without(KeyField::Plane, &planes));
    for case in [hops, pairs, twice, ring, planes] {
        let goal = Held::new(&case.goal());
        let (with, without, _) = both(&case.experiment(&goal), None).unwrap();
        assert_eq!(as_text(&with), as_text(&without));
    }
}
