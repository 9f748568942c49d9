//! Who gets how much of a channel that all want: the parking lot of Dally and Towles (Principles and Practices of
//! Interconnection Networks, chapter 15) against its closed form.

use units::NodeId;

use crate::common::{Matrix, build, result};

/// Four tasks in a row that send to the one behind them.
fn lot(router: &str) -> Matrix {
    let name: String = router.chars().filter(char::is_ascii_alphanumeric).collect();
    Matrix::new(&format!("lot-{name}"), &[0, 1, 2, 3].map(|src| (src, 4, 1.0)))
}

/// The load that each of four nodes in a row gets to the node behind them, as a share of the last channel.
fn shares(router: &str) -> [f64; 4] {
    let matrix = lot(router);
    let text = format!(
        r#"
        topology = {{ kind = "mesh", dims = [5] }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        workload = {{ kind = "traffic", load = 1.0, pattern = {} }}
        measure = {{ warm_up = "500 us", min_time = "4 ms", max_time = "4 ms" }}
        "#,
        matrix.pattern()
    );
    let (system, found) = (build(&text).unwrap(), result(&text));
    let channels = topology::Channels::new(&*system.network.topology);
    let used = |node| found.channel_utilization[channels.injection(NodeId(node)).index()];
    [0, 1, 2, 3].map(used)
}

/// Holds the shares to what is expected, with buffers of 16 packets where the keys of the router have none.
fn check(router: &str, expected: [f64; 4], within: f64) {
    let buffer = if router.contains("buffer =") { "" } else { ", buffer = \"16 packets\"" };
    let found = shares(&format!("{router}{buffer}"));
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < within);
    assert!(near, "{router}: {found:?} instead of {expected:?}");
}

const ARBITRATED: [&str; 4] = ["output-queued", "input-queued", "input-output-queued", "input-crosspoint-queued"];
/// Each router halves what is left between its own node and those behind it.
const LOCALLY_FAIR: [f64; 4] = [0.125, 0.125, 0.25, 0.5];

#[test]
fn arbiters_that_are_fair_between_inputs_halve_a_parking_lot_at_every_router() {
    // Would catch an input that is preferred, a turn that is taken twice, a draw that is not even.
    for router in ARBITRATED {
        check(&format!(r#"kind = "{router}", arbitration = "round-robin""#), LOCALLY_FAIR, 0.002);
        // Without groups, all take turns.
        check(&format!(r#"kind = "{router}", arbitration = "groups-first""#), LOCALLY_FAIR, 0.002);
        // 20,000 packets: a standard error of 0.0035 for a half.
        check(&format!(r#"kind = "{router}", arbitration = "random""#), LOCALLY_FAIR, 0.015);
    }
    check(r#"kind = "virtual-output-queued""#, LOCALLY_FAIR, 0.002);
}

#[test]
fn an_arbiter_by_age_divides_a_parking_lot_evenly() {
    // Would catch an age that is that of the hop or of the router instead of the packet's own.
    for router in ARBITRATED {
        check(&format!(r#"kind = "{router}", arbitration = "oldest-first""#), [0.25; 4], 0.005);
    }
}

#[test]
fn shared_buffers_divide_a_parking_lot_by_what_is_reserved() {
    // Would catch a memory that admits from an input before its turn, and a rule between classes that decides between
    // inputs. Packets are admitted in the order in which they have come, and each input that is backlogged always has
    // its reserved buffer full or on the way: by Little's law inputs get shares in proportion to their buffers. A small
    // memory is full early.
    const MEMORY: &str = r#"kind = "shared-buffer", memory = "64 packets""#;
    for arbitration in ["round-robin", "oldest-first", "groups-first"] {
        check(&format!(r#"{MEMORY}, arbitration = "{arbitration}""#), LOCALLY_FAIR, 0.002);
    }
    let (third, rest) = (1.0 / 3.0, 2.0 / 3.0_f64);
    let expected = [rest.powi(3), rest.powi(2) * third, rest * third, third];
    check(&format!(r#"{MEMORY}, buffer = {{ injection = "8 packets", dim0 = "16 packets" }}"#), expected, 0.002);
}

/// Of a row of six nodes, the first of which multicasts to the last by a tree at a load while four others send to it as
/// fast as they can: what the tree and each of the four get of the last channel.
fn beside_a_tree(router: &str, load: f64) -> (f64, [f64; 4]) {
    let matrix = lot(&format!("{router}tree"));
    let text = format!(
        r#"
        topology = {{ kind = "mesh", dims = [6] }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router}, buffer = "16 packets" }}
        in_switch = {{ classes = "own" }}
        measure = {{ warm_up = "500 us", min_time = "4 ms", max_time = "4 ms" }}
        [[job]]
        name = "lot"
        nodes = "1-5"
        workload = {{ kind = "traffic", load = 1.0, pattern = {} }}
        [[job]]
        name = "tree"
        nodes = "0,5"
        workload = {{ kind = "collective", groups = "persistent", fanout = {{ mean = 1 }}, load = {load} }}
        "#,
        matrix.pattern()
    );
    let (system, found) = (build(&text).unwrap(), result(&text));
    let channels = topology::Channels::new(&*system.network.topology);
    let (router, port) = system.network.topology.attachment(NodeId(5));
    let used = |job: usize, channel: units::ChannelId| found.jobs[job].point.channel_utilization[channel.index()];
    (used(1, channels.output(router, port)), [1, 2, 3, 4].map(|node| used(0, channels.injection(NodeId(node)))))
}

#[test]
fn packets_of_groups_that_go_first_get_all_that_they_ask_for_and_leave_the_rest() {
    // Would catch a packet of a group that is taken for another one, and a rest that is not used. A tree with a load of
    // 0.7 gets it, however many others ask; in turn with them it gets no more than a half, the share of one of two
    // queues.
    for kind in ARBITRATED.into_iter().chain(["shared-buffer"]) {
        let keys = |rule: &str| {
            let memory = if kind == "shared-buffer" { r#", memory = "64 packets""# } else { "" };
            format!(r#"kind = "{kind}", arbitration = "{rule}"{memory}"#)
        };
        let (tree, others) = beside_a_tree(&keys("groups-first"), 0.7);
        let rest: f64 = others.iter().sum();
        // 14,000 packets of a Poisson process: a standard error of 0.006.
        assert!((tree - 0.7).abs() < 0.02 && (rest + tree - 1.0).abs() < 0.005, "{kind}: {tree} and {others:?}");
        let (in_turn, _) = beside_a_tree(&keys("round-robin"), 0.7);
        assert!(in_turn < 0.505, "{kind}: {in_turn} in turn");
        if kind == "shared-buffer" {
            // Each kind of packets has queues of its own, in the order of arrival.
            let near = others.iter().zip(LOCALLY_FAIR).all(|(found, share)| (found - share * rest).abs() < 0.003);
            assert!(near, "{others:?} of {rest}");
        }
    }
}

#[test]
fn the_least_accepted_load_is_that_of_the_slowest_flow_while_deep_buffers_fill() {
    // Would catch a load that counts packets when they enter: with deep buffers all enter for a long time, at equal pace,
    // and the least load would equal the mean. Each node of a transpose receives from one source.
    for router in [r#"kind = "input-queued", buffer = "256 packets""#, r#"kind = "shared-buffer", memory = "4 MiB""#] {
        let text = format!(
            r#"
            topology = {{ kind = "torus", dims = [8, 8] }}
            link = {{ bandwidth = "400 Gb/s", delay = "25 ns" }}
            router = {{ {router} }}
            workload = {{ kind = "traffic", load = 0.3, pattern = "transpose", packet_size = "4 KiB" }}
            measure = {{ warm_up = "100 us", min_time = "1 ms", max_time = "1 ms" }}
            "#
        );
        let (system, found) = (build(&text).unwrap(), result(&text));
        let channels = topology::Channels::new(&*system.network.topology);
        let receivers = (0..64).map(|node| (node % 8) * 8 + node / 8).filter(|dst| dst % 9 != 0);
        let ejection = |dst: u32| {
            let (router, port) = system.network.topology.attachment(NodeId(dst));
            channels.output(router, port)
        };
        let used = receivers.map(|dst| found.channel_utilization[ejection(dst).index()]);
        let slowest = used.fold(f64::INFINITY, f64::min);
        let least = found.open().unwrap().accepted_load_min.unwrap();
        assert!(
            found.open().unwrap().saturated && least < 0.98 * found.open().unwrap().accepted_load,
            "{router}: {least} of {}",
            found.open().unwrap().accepted_load
        );
        // The flow's own generation varies by some 2 % in 1 ms.
        assert!((0.95..1.05).contains(&(least / slowest)), "{router}: {least} instead of {slowest}");
    }
}
