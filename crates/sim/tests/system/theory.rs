//! Closed forms and exact chains of single switches and single queues.

use std::collections::BTreeMap;

use sim::analyze;

use crate::common::{Matrix, build, result};

/// A single switch under uniform traffic that includes the source: every output is as likely, as the theory has it.
fn switch(ports: u32, router: &str, workload: &str, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ports} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        workload = {{ kind = "traffic", {workload}, pattern = {{ kind = "uniform", include_self = true }} }}
        measure = {{ {measure} }}
        "#
    )
}

/// 256 bytes at 10 Gb/s.
const SLOT_NS: f64 = 204.8;
/// Two channels, the switch's default delay and one serialization.
const IDLE_NS: f64 = 20.0 + 90.0 + 20.0 + SLOT_NS;

/// How many heads of saturated FIFO inputs want the same output, the largest first.
type Heads = Vec<u8>;

/// The exact throughput of a saturated switch of FIFO inputs under uniform traffic, by the chain of Karol, Hluchyj and
/// Morgan (1987): in a slot every output that is wanted serves one head, and each input served shows a new head for a
/// random output. A state is the partition of the inputs over the outputs that their heads want (231 for N = 16), and
/// its stationary distribution is found by iteration.
fn head_of_line_throughput(ports: u8) -> f64 {
    let mut chances: BTreeMap<Heads, f64> = BTreeMap::from([(vec![ports], 1.0)]);
    let mut before = 0.0;
    loop {
        let served: f64 = chances.iter().map(|(heads, chance)| chance * heads.len() as f64).sum();
        if (served - before).abs() < 1e-11 {
            return served / f64::from(ports);
        }
        before = served;
        chances = slot(&chances, ports);
    }
}

/// The distribution of states one slot later.
fn slot(chances: &BTreeMap<Heads, f64>, ports: u8) -> BTreeMap<Heads, f64> {
    // By the number of heads that are there; the others draw their outputs one after the other.
    let mut drawn: Vec<BTreeMap<Heads, f64>> = vec![BTreeMap::new(); usize::from(ports) + 1];
    for (heads, chance) in chances {
        let left: Heads = heads.iter().map(|wants| wants - 1).filter(|&wants| wants > 0).collect();
        *drawn[usize::from(ports) - heads.len()].entry(left).or_default() += chance;
    }
    for here in 0..usize::from(ports) {
        for (heads, chance) in std::mem::take(&mut drawn[here]) {
            for (next, share) in one_more(&heads, ports) {
                *drawn[here + 1].entry(next).or_default() += chance * share;
            }
        }
    }
    drawn.pop().unwrap()
}

/// What becomes of a state when one more head draws its output, and with what probability.
fn one_more(heads: &Heads, ports: u8) -> Vec<(Heads, f64)> {
    let share = |outputs: usize| outputs as f64 / f64::from(ports);
    let mut fresh = heads.clone();
    fresh.push(1);
    let mut next = vec![(fresh, share(usize::from(ports) - heads.len()))];
    for (index, wants) in heads.iter().enumerate() {
        let mut more = heads.clone();
        more[index] = wants + 1;
        more.sort_unstable_by(|a, b| b.cmp(a));
        next.push((more, share(1)));
    }
    next
}

#[test]
fn the_chain_of_head_of_line_blocking_gives_the_published_numbers() {
    // Karol et al., table I, and exact fractions. Would catch a mistake in the oracle of the next test.
    for (ports, exact) in [(2, 0.75), (3, 43.0 / 63.0), (4, 325.0 / 496.0)] {
        assert!((head_of_line_throughput(ports) - exact).abs() < 1e-9);
    }
    assert!((head_of_line_throughput(8) - 0.618_390).abs() < 5e-7);
    let sixteen = head_of_line_throughput(16);
    assert!(2.0 - 2_f64.sqrt() < sixteen && sixteen < head_of_line_throughput(8), "{sixteen}");
}

#[test]
fn fifo_inputs_saturate_where_head_of_line_blocking_says() {
    // Would catch unfair arbitration, a slot lost between packets, credits that limit, inputs that do not compete in
    // the same instant. Whom an output serves first does not matter, and of sources that are backlogged or offer a load
    // of 1 neither can run dry.
    let sources = [("random", "bernoulli"), ("round-robin", "backlogged"), ("oldest-first", "bernoulli")];
    for (index, ports) in [2, 3, 4, 8, 16].into_iter().enumerate() {
        let (arbitration, injection) = sources[index % sources.len()];
        let router = format!(r#"kind = "input-queued", buffer = "64 packets", arbitration = "{arbitration}""#);
        let workload = format!(r#"load = 1.0, injection = "{injection}""#);
        // 200,000 slots: a standard error of about 0.05 %.
        let measure = r#"warm_up = "1 ms", precision = 0.004, min_time = "40 ms""#;
        let found = result(&switch(ports, &router, &workload, measure));
        let exact = head_of_line_throughput(ports as u8);
        let error = (found.open().unwrap().accepted_load / exact - 1.0).abs();
        assert!(
            error < 0.005,
            "N = {ports}, {arbitration}: {} instead of {exact}",
            found.open().unwrap().accepted_load
        );
        assert!(found.open().unwrap().saturated, "{found:?}");
    }
}

#[test]
fn an_output_queue_makes_packets_wait_as_its_closed_form_says() {
    // Karol et al., equation 2: (N-1)/N * p / (2 (1-p)) slots. Would catch a slot too much or too little, an arbiter
    // that idles, an arrival process that is not Bernoulli.
    waits_as_an_output_queue(0.5, "40 ms");
    waits_as_an_output_queue(0.8, "100 ms");
}

#[test]
#[ignore = "long: make test-long"]
fn an_output_queue_at_high_load_makes_packets_wait_as_its_closed_form_says() {
    waits_as_an_output_queue(0.9, "400 ms");
}

fn waits_as_an_output_queue(load: f64, min_time: &str) {
    let ports = 8;
    let router = r#"kind = "output-queued", buffer = "2000 packets""#;
    let measure = format!(r#"warm_up = "2 ms", precision = 0.01, min_time = "{min_time}""#);
    let found = result(&switch(ports, router, &format!("load = {load}"), &measure));
    let n = f64::from(ports);
    let exact = (n - 1.0) / n * load / (2.0 * (1.0 - load));
    let waited = (found.latency_mean_ns.unwrap() - IDLE_NS) / SLOT_NS;
    assert!((waited / exact - 1.0).abs() < 0.02, "load {load}: waits {waited} slots instead of {exact}");
    assert!(!found.open().unwrap().saturated, "load {load}");
}

#[test]
fn a_source_queue_of_poisson_messages_waits_as_pollaczek_and_khinchine_say() {
    // One sender, so that the only queue is its own: M/D/1 waits p / (2 (1-p)) messages; and the packets of a message
    // wait for those before them, here for (0 + 1 + 2 + 3) / 4 packets. Would catch a latency that leaves the source
    // queue out or starts at injection, a load that is per packet, a Poisson process that is none.
    let matrix = Matrix::pair("poisson", 0, 1);
    for (load, message, packets) in [(0.5, "256 B", 1.0), (0.8, "256 B", 1.0), (0.7, "1 KiB", 4.0)] {
        let text = format!(
            r#"
            topology = {{ kind = "single-switch", ports = 2 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            workload = {{ kind = "traffic", load = {load}, injection = "poisson", message_size = "{message}",
                         pattern = {} }}
            measure = {{ warm_up = "2 ms", min_time = "600 ms", precision = 0.01 }}
            "#,
            matrix.pattern()
        );
        let found = result(&text);
        let exact = packets * load / (2.0 * (1.0 - load)) + (packets - 1.0) / 2.0;
        let waited = (found.latency_mean_ns.unwrap() - IDLE_NS) / SLOT_NS;
        assert!((waited / exact - 1.0).abs() < 0.02, "load {load}, {message}: waits {waited} slots, not {exact}");
    }
}

/// One sender whose packets take 204.8 ns and whose delays are 102.4 ns, but for the delay to the receiver.
fn one_sender(matrix: &Matrix, ejection: &str, workload: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = 2 }}
        router = {{ kind = "output-queued", delay = "102.4 ns" }}
        link = {{ bandwidth = "10 Gb/s", delay = "102.4 ns", ejection = {{ delay = "{ejection}" }} }}
        workload = {{ kind = "traffic", {workload}, pattern = {} }}
        measure = {{ warm_up = "20.48 us", max_time = "2068.48 us", precision = 0.0001 }}
        "#,
        matrix.pattern()
    )
}

#[test]
fn a_periodic_source_waits_half_a_tick_for_its_release_on_average() {
    // The tick is 1/64 of a packet's time, and the phase of the messages within it is spread evenly, for the period is
    // no multiple of it. Would catch generation times that are rounded to ticks, latencies that count from the release,
    // a release before the generation or a tick too late, and a tick that is finer than need be.
    let matrix = Matrix::pair("grid", 0, 1);
    let text = one_sender(&matrix, "102.4 ns", r#"load = 0.31, injection = "periodic""#);
    let system = build(&text).unwrap();
    assert_eq!((system.network.plan.tick().0, system.network.plan.generation_unit().0), (3200, 1));
    let found = result(&text);
    let idle = system.picoseconds(system.zero_load_latency(1)) as f64;
    let (mean, max) = (found.latency_mean_ns.unwrap() * 1e3 - idle, found.latency_max_ns.unwrap() * 1e3 - idle);
    assert!((mean - 1599.5).abs() < 32.0, "{mean} ps");
    assert!(max < 3199.5 && max > 3136.0, "{max} ps");
}

#[test]
fn a_grid_of_releases_delays_poisson_messages_by_half_a_tick_and_changes_nothing_else() {
    // A delay that is a picosecond longer forces a tick of a picosecond, on which the same messages are released as
    // they are generated. Each busy period of the source begins up to a tick later on the grid; a few of them merge.
    // Would catch other messages, a load that rounding changes, and a delay that adds up from message to message.
    let matrix = Matrix::pair("grid-poisson", 0, 1);
    for (load, message) in [(0.3, "256 B"), (0.8, "256 B"), (0.7, "600 B")] {
        let workload = format!(r#"load = {load}, injection = "poisson", message_size = "{message}""#);
        let [coarse, fine] = ["102.4 ns", "102.401 ns"].map(|ejection| one_sender(&matrix, ejection, &workload));
        let ticks = [&coarse, &fine].map(|text| build(text).unwrap().network.plan.tick().0 as f64);
        assert!(ticks[0] >= 800.0 && ticks[1] == 1.0, "{ticks:?}");
        let (coarse, fine) = (result(&coarse), result(&fine));
        assert_eq!(coarse.packets, fine.packets, "{load} {message}");
        let delay = (coarse.latency_mean_ns.unwrap() - fine.latency_mean_ns.unwrap()) * 1e3 + 1.0;
        assert!((0.3..0.6).contains(&(delay / ticks[0])), "{load} {message}: {delay} ps of {}", ticks[0]);
    }
}

#[test]
fn islip_fills_a_switch_under_uniform_traffic() {
    // McKeown 1999: 100 % for uniform independent arrivals. Would catch pointers that do not desynchronise. One per
    // cent is lost at most to finite queues and to the start.
    for ports in [4, 16] {
        let router = r#"kind = "virtual-output-queued", buffer = "4096 packets""#;
        for iterations in ["", ", iterations = 1"] {
            let measure = r#"warm_up = "20 ms", max_time = "60 ms""#;
            let found = result(&switch(ports, &format!("{router}{iterations}"), "load = 1.0", measure));
            assert!(
                found.open().unwrap().accepted_load > 0.99,
                "N = {ports}{iterations}: {}",
                found.open().unwrap().accepted_load
            );
        }
    }
}

#[test]
fn one_iteration_of_islip_is_less_than_a_maximal_matching() {
    // Would catch an `iterations` key that is not read: at load 0.9 one round makes packets wait longer.
    let wait = |iterations: &str| {
        let router = format!(r#"kind = "virtual-output-queued", buffer = "4096 packets"{iterations}"#);
        result(&switch(16, &router, "load = 0.9", r#"precision = 0.03"#)).latency_mean_ns.unwrap()
    };
    assert!(wait(", iterations = 1") > 1.2 * wait(""));
}

#[test]
fn a_crossbar_with_speed_up_comes_near_output_queues() {
    // Without speed-up the outputs' buffers never fill, and head-of-line blocking remains, exactly; FIFOs behind a
    // crossbar of four times the links' rate reach full load. Would catch a speed-up that is not applied, or output
    // buffers that are never freed.
    let at = |speedup: u32| {
        let router = format!(
            r#"kind = "input-output-queued", buffer = "512 packets", output_buffer = "64 packets",
               speedup = {speedup}, arbitration = "random""#
        );
        result(&switch(8, &router, "load = 1.0", r#"warm_up = "5 ms", max_time = "50 ms""#))
            .open()
            .unwrap()
            .accepted_load
    };
    let (one, four) = (at(1), at(4));
    let exact = head_of_line_throughput(8);
    assert!((one / exact - 1.0).abs() < 0.005, "{one} without speed-up instead of {exact}");
    assert!(four > 0.97, "{four}");
}

#[test]
fn where_one_packet_may_be_under_way_the_round_trip_of_its_credit_sets_the_rate() {
    // A line of two routers, a buffer of one packet. From a packet's head on the wire to the credit for the next: the
    // wire and the router's delay (the head is ready to leave), for `tail` its serialization besides, and the wire
    // back; but at least a slot. Would catch a credit that comes back too early or too late, by a picosecond.
    let matrix = Matrix::pair("round-trip", 0, 1);
    for (name, serialization_ns) in [("head", 0.0), ("tail", SLOT_NS)] {
        for router in crate::common::ROUTERS {
            let text = format!(
                r#"
                topology = {{ kind = "mesh", dims = [2] }}
                link = {{ bandwidth = "10 Gb/s", delay = "100 ns", injection = {{ delay = "150 ns" }} }}
                router = {{ kind = "{router}", delay = "90 ns", buffer = "1 packets", credit_return = "{name}" }}
                workload = {{ kind = "traffic", load = 1.0, pattern = {} }}
                measure = {{ warm_up = "100 us", max_time = "2 ms" }}
                "#,
                matrix.pattern()
            );
            // A packet that is admitted to a shared memory frees the buffer that its credit stands for as it arrives.
            let serialization_ns = if router == "shared-buffer" { 0.0 } else { serialization_ns };
            // The injection channel's round trip is the longer one: it binds.
            let exact = SLOT_NS / (150.0 + 90.0 + 150.0 + serialization_ns);
            let found = result(&text).open().unwrap().accepted_load;
            assert!((found / exact - 1.0).abs() < 1e-3, "{router}, {name}: {found} instead of {exact}");
        }
    }
}

#[test]
fn a_backlogged_source_sends_as_fast_as_its_channel_whatever_its_weight() {
    // Would catch loads of 2.0: a backlogged source has no rate that its weight could scale. Shifted by one, two
    // processes a node send half of their messages to the next node and half to themselves; the matrix has rows of
    // unequal weight.
    let matrix = Matrix::new("unequal", &[(0, 1, 10.0), (2, 3, 1.0)]);
    let two = "placement = { strategy = \"contiguous\", processes_per_node = 2 }";
    let shift = "{ kind = \"shift\", offset = 1 }".to_owned();
    for (pattern, placement, senders) in [(shift, two, 4), (matrix.pattern(), "", 2)] {
        let text = format!(
            "topology = {{ kind = \"single-switch\", ports = 4 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             {placement}\nworkload = {{ kind = \"traffic\", load = 1.0, injection = \"backlogged\", pattern = {pattern} }}"
        );
        let found = result(&text);
        assert!(
            found.open().unwrap().accepted_load <= 1.0 && found.open().unwrap().accepted_load > 0.999,
            "{}",
            found.open().unwrap().accepted_load
        );
        assert!(
            found.open().unwrap().accepted_load_min.unwrap() <= 1.0
                && found.open().unwrap().accepted_load_min.unwrap() > 0.999,
            "{found:?}"
        );
        assert!(!found.open().unwrap().saturated, "{found:?}");
        let analysis = analyze(&build(&text).unwrap()).unwrap();
        assert!((analysis.throughput_bound - 1.0).abs() < 1e-12);
        let full = |loads: &[f64]| loads.iter().filter(|&&load| (load - 1.0).abs() < 2e-3).count();
        // The injection and the ejection channels of those that send and receive, and no others.
        assert_eq!((full(&analysis.channel_loads), full(&found.channel_utilization)), (2 * senders, 2 * senders));
        assert!(analysis.channel_loads.iter().all(|&load| load < 1.0 + 1e-12), "{:?}", analysis.channel_loads);
    }
}
