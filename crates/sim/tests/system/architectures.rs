//! What router architectures owe to theory where sizes are odd, large or many: fair turns, full rates, counters that
//! hold.

use crate::common::{Matrix, result};

/// A run of backlogged sources, with the rest of its sections.
fn backlogged(pattern: &str, packet: &str, rest: &str) -> sim::PointResult {
    result(&format!(
        r#"
        workload = {{ kind = "traffic", load = 1.0, injection = "backlogged", pattern = {pattern}, {packet} }}
        {rest}
        "#
    ))
}

#[test]
fn virtual_channels_of_an_input_take_turns_for_an_output() {
    // Flows of two virtual channels share an input of router 6 and meet a third flow there: iSLIP is fair between the
    // two inputs, and the input has to be fair between its virtual channels: 1/4, 1/4 and 1/2 of the channel. Would
    // catch one virtual channel being served before another whenever it has packets: the flow of the second one got
    // nothing.
    let flows = Matrix::new("turns", &[(10, 0, 1.0), (11, 14, 1.0), (12, 15, 1.0)]);
    let found = backlogged(
        &flows.pattern(),
        "",
        r#"
        topology = { kind = "torus", dims = [8], nodes_per_router = 2 }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        router = { kind = "virtual-output-queued" }
        measure = { warm_up = "100 us", min_time = "400 us", max_time = "500 us" }
        "#,
    );
    let least = found.open().unwrap().accepted_load_min.unwrap();
    assert!((least - 0.25).abs() < 0.005, "the flow that is served least gets {least}");
    assert!((found.open().unwrap().accepted_load - 1.0 / 3.0).abs() < 0.005, "{}", found.open().unwrap().accepted_load);
}

#[test]
fn more_virtual_channels_do_not_lengthen_the_tail_of_a_switch() {
    // Uniform traffic on a plain switch. Would catch virtual channels that starve one another: with eight of them the
    // 99th percentile more than doubled.
    let tail = |vcs: u32| {
        let text = format!(
            r#"
            topology = {{ kind = "single-switch", ports = 8 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ kind = "virtual-output-queued", vcs = {vcs} }}
            workload = {{ kind = "traffic", load = 0.85 }}
            measure = {{ warm_up = "100 us", min_time = "2 ms", max_time = "2100 us" }}
            "#
        );
        result(&text).latency_p99_ns.unwrap()
    };
    let (one, eight) = (tail(1), tail(8));
    assert!(eight < 1.3 * one, "99th percentile {eight} ns with 8 virtual channels, {one} ns with one");
}

#[test]
fn speed_up_is_that_of_odd_packets_too() {
    // Messages of half a packet over a crossbar twice as fast as its links, where every delay is a multiple of their
    // time. Would catch a crossing time that is rounded up to the largest packet's grain: then the switch has the
    // throughput of speed-up 1, 0.62, and not that of packets of their size.
    let accepted = |packet: &str| {
        let rest = r#"
            topology = { kind = "single-switch", ports = 8 }
            link = { bandwidth = "8 Gb/s", delay = "100 ns" }
            router = { kind = "input-output-queued", delay = "100 ns", buffer = "8 KiB", output_buffer = "1 KiB", speedup = 2 }
            measure = { warm_up = "50 us", min_time = "450 us", max_time = "500 us" }
        "#;
        backlogged("{ kind = \"uniform\", include_self = true }", packet, rest).open().unwrap().accepted_load
    };
    let (odd, whole) =
        (accepted(r#"packet_size = "200 B", message_size = "100 B""#), accepted(r#"packet_size = "100 B""#));
    assert!(
        (odd - whole).abs() < 0.01 && odd > 0.88,
        "{odd} with packets of half the largest size, {whole} of the largest"
    );
}

#[test]
fn a_credit_returned_at_the_tail_waits_for_the_tail() {
    // One packet of buffer, so that the throughput is a packet over the credit's round trip: two delays of the channel,
    // the pipeline, and the packet's time, for the tail comes in at the link's rate however fast the crossbar is. Would
    // catch credit that comes back as the crossing ends.
    for speedup in [1, 2, 4] {
        let rest = format!(
            r#"
            topology = {{ kind = "mesh", dims = [2] }}
            link = {{ bandwidth = "10 Gb/s", delay = "10 ns", dim0 = {{ delay = "1 us" }} }}
            router = {{ kind = "input-output-queued", buffer = "1 packets", credit_return = "tail", speedup = {speedup} }}
            measure = {{ warm_up = "100 us", min_time = "2 ms", max_time = "2100 us" }}
            "#
        );
        let found = backlogged("\"neighbor\"", "", &rest).open().unwrap().accepted_load;
        let want = 204.8 / (2.0 * 1000.0 + 90.0 + 204.8);
        assert!((found / want - 1.0).abs() < 2e-3, "speed-up {speedup}: {found}, not {want}");
    }
}

#[test]
fn more_than_4_gib_may_wait_for_an_output() {
    // 64 sources fill crosspoints of 64 MiB, 4 GiB in all, for one output. Would catch a count of waiting bytes in 32
    // bits: it wraps to 0, and the output never sends again.
    let rest = r#"
        topology = { kind = "single-switch", ports = 65 }
        link = { bandwidth = "1 Tb/s", delay = "20 ns" }
        router = { kind = "output-queued", buffer = "64 MiB" }
        measure = { warm_up = "2 ms", min_time = "8 ms", max_time = "10 ms" }
    "#;
    let pattern = "{ kind = \"hotspot\", nodes = [64], fraction = 1.0 }";
    let found = backlogged(pattern, r#"packet_size = "1 MiB""#, rest);
    // Node 64 sends elsewhere at full load; the others share its ejection channel.
    assert!((found.open().unwrap().accepted_load - 2.0 / 65.0).abs() < 1e-3, "{}", found.open().unwrap().accepted_load);
    assert!(
        (found.open().unwrap().accepted_load_min.unwrap() - 1.0 / 64.0).abs() < 3e-3,
        "{:?}",
        found.open().unwrap().accepted_load_min
    );
}

#[test]
fn every_candidate_has_its_turn_where_there_are_more_than_65536() {
    // 1100 ports of 64 virtual channels are 70,400 candidates for an output, served in turn in 1.44 ms. Would catch a
    // pointer of 16 bits, which passes over those beyond: the last 75 sources got nothing.
    let rest = r#"
        topology = { kind = "single-switch", ports = 1100 }
        link = { bandwidth = "100 Gb/s", delay = "20 ns" }
        router = { kind = "input-queued", vcs = 64, buffer = "1 packets" }
        measure = { warm_up = "100 us", min_time = "1500 us", max_time = "1600 us" }
    "#;
    let found = backlogged("{ kind = \"hotspot\", nodes = [0], fraction = 1.0 }", "", rest);
    let least = found.open().unwrap().accepted_load_min.unwrap();
    assert!(least > 0.5 / 1099.0, "the source that is served least gets {least}");
}

/// The latency of packets that queue for hot outputs of a switch, in times of a packet.
fn hot_latency(hot: u32, router: &str) -> f64 {
    // Eight sources for each hot output, node 0 upward; each keeps its own.
    let flows: Vec<_> = (0..8 * hot).map(|source| (hot + source, source / 8, 1.0)).collect();
    let flows = Matrix::new(&format!("hot-{hot}"), &flows);
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = {} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "shared-buffer", {router} }}
        workload = {{ kind = "traffic", load = 1.0, injection = "backlogged", pattern = {} }}
        measure = {{ warm_up = "1 ms", min_time = "1 ms", max_time = "2 ms" }}
        "#,
        9 * hot,
        flows.pattern(),
    );
    result(&text).latency_mean_ns.unwrap() / 204.8
}

#[test]
fn queues_of_a_shared_buffer_are_as_long_as_dynamic_thresholds_let_them() {
    // With n congested outputs each queue grows to alpha M / (1 + n alpha) of a memory M (Choudhury and Hahne, equation
    // 3). A packet waits for those, for the 8 that have reserved space because they are not admitted, for its source's
    // turn among 8 at a credit, and takes a packet's time itself. Would catch a threshold of the wrong queue or memory,
    // memory that is not given back, and packets that keep reserved space although the memory has room.
    for (hot, alpha) in [(1, 0.5), (1, 1.0), (1, 4.0), (3, 1.0), (2, 2.0)] {
        let keys = format!(r#"memory = "600 packets", buffer = "1 packets", alpha = {alpha}"#);
        let found = hot_latency(hot, &keys);
        let n = f64::from(hot);
        let want = alpha * 600.0 / (1.0 + n * alpha) + 17.0;
        assert!((found / want - 1.0).abs() < 0.01, "{hot} hot outputs, alpha {alpha}: {found} packets, not {want}");
    }
}

/// What node 1 accepts of node 0, which sends as fast as it can, with keys of `[node]`.
fn accepted_behind(node: &str) -> f64 {
    let flow = Matrix::pair("receive", 0, 1);
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = 4 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns", ejection = {{ delay = "50 ns" }} }}
        node = {{ {node} }}
        workload = {{ kind = "traffic", load = 1.0, injection = "backlogged", pattern = {} }}
        measure = {{ warm_up = "100 us", min_time = "2 ms", max_time = "2100 us" }}
        "#,
        flow.pattern()
    );
    result(&text).open().unwrap().accepted_load
}

#[test]
fn a_receive_buffer_gives_its_drain_s_rate_or_its_depth_over_the_round_trip() {
    // A packet of 256 B takes T = 204.8 ns on the link; with room for n packets, n go in each round trip: delay, T, the
    // drain's time, and the delay of the credit; but never more than link or drain take. Would catch a drain that is
    // charged twice or not at all, credit that comes back as the packet arrives, and a node without a limit.
    let time = 204.8;
    for (packets, drain, slower) in
        [(1, "10 Gb/s", 1.0), (2, "10 Gb/s", 1.0), (8, "10 Gb/s", 1.0), (1, "5 Gb/s", 2.0), (16, "2500 Mb/s", 4.0)]
    {
        let found = accepted_behind(&format!(r#"receive_buffer = "{packets} packets", drain = "{drain}""#));
        let round_trip = 2.0 * 50.0 + time + slower * time;
        let want = (f64::from(packets) * time / round_trip).min(1.0 / slower).min(1.0);
        assert!((found / want - 1.0).abs() < 2e-3, "{packets} packets drained at {drain}: {found}, not {want}");
    }
    assert!((accepted_behind("") - 1.0).abs() < 1e-3);
}

#[test]
fn an_incast_on_slow_receivers_pushes_back_into_the_network() {
    // Seven nodes send to one that takes half of its link's rate. All that is sent is accepted at that rate, in equal
    // shares, for every architecture. Would catch a router that sends without credit to a node, or is never woken by
    // its credit.
    for router in crate::common::ROUTERS {
        let rest = format!(
            r#"
            topology = {{ kind = "fat-tree", k = 2, n = 3 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ kind = "{router}" }}
            node = {{ receive_buffer = "4 packets", drain = "5 Gb/s" }}
            measure = {{ warm_up = "400 us", min_time = "1600 us", max_time = "2 ms" }}
            "#
        );
        let flows: Vec<_> = (1..8).map(|source| (source, 0, 1.0)).collect();
        let flows = Matrix::new(&format!("incast-{router}"), &flows);
        let found = backlogged(&flows.pattern(), "", &rest);
        assert!(
            (found.open().unwrap().accepted_load - 0.5 / 7.0).abs() < 1e-3,
            "{router}: {}",
            found.open().unwrap().accepted_load
        );
        assert!(
            found.open().unwrap().accepted_load_min.unwrap() > 0.01,
            "{router}: {:?}",
            found.open().unwrap().accepted_load_min
        );
    }
}
