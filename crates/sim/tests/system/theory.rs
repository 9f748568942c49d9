//! Closed forms of single switches.

use crate::common::result;

fn switch(ports: u32, router: &str, load: f64, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ports} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        workload = {{ kind = "traffic", load = {load}, pattern = {{ kind = "uniform", include_self = true }} }}
        measure = {{ {measure} }}
        "#
    )
}

#[test]
fn fifo_inputs_saturate_where_head_of_line_blocking_says() {
    // Karol, Hluchyj and Morgan 1987, table I; 43/63 and 325/496 exactly; N = 16 from the same recursion by
    // simulation of the synchronous model (0.6013 +- 0.0005). Would catch unfair arbitration, a slot lost between
    // packets, credits that limit, inputs that do not compete in the same instant.
    for (ports, exact) in [(2, 0.75), (3, 43.0 / 63.0), (4, 325.0 / 496.0), (8, 0.618390), (16, 0.6013)] {
        let router = r#"kind = "input-queued", buffer = "64 packets", arbitration = "random""#;
        // 200,000 slots and more: a standard error of about 0.05 %.
        let found = result(&switch(ports, router, 1.0, r#"warm_up = "1 ms", precision = 0.004, min_time = "40 ms""#));
        assert!(found.saturated);
        let error = (found.accepted_load / exact - 1.0).abs();
        assert!(error < 0.005, "N = {ports}: {} instead of {exact}", found.accepted_load);
    }
}

#[test]
fn an_output_queue_makes_packets_wait_as_its_closed_form_says() {
    // Karol et al., equation 2: (N-1)/N * p / (2 (1-p)) slots. Would catch a slot too much or too little, an arbiter
    // that idles, an arrival process that is not Bernoulli.
    let (ports, slot_ns, idle_ns) = (8, 204.8, 20.0 + 20.0 + 90.0 + 204.8);
    for (load, min_time) in [(0.5, "40 ms"), (0.8, "100 ms"), (0.9, "400 ms")] {
        let router = r#"kind = "output-queued", buffer = "2000 packets""#;
        let measure = format!(r#"warm_up = "2 ms", precision = 0.01, min_time = "{min_time}""#);
        let found = result(&switch(ports, router, load, &measure));
        let n = f64::from(ports);
        let exact = (n - 1.0) / n * load / (2.0 * (1.0 - load));
        let waited = (found.latency_mean_ns.unwrap() - idle_ns) / slot_ns;
        assert!((waited / exact - 1.0).abs() < 0.02, "load {load}: waits {waited} slots instead of {exact}");
    }
}

#[test]
fn islip_fills_a_switch_under_uniform_traffic() {
    // McKeown 1999: 100 % for uniform independent arrivals. Would catch pointers that do not desynchronise. Two per
    // cent are lost at most to finite queues and to the start.
    for ports in [4, 8, 16] {
        let router = r#"kind = "virtual-output-queued", buffer = "4096 packets""#;
        let found = result(&switch(ports, router, 1.0, r#"warm_up = "20 ms", max_time = "60 ms""#));
        assert!(found.accepted_load > 0.99, "N = {ports}: {}", found.accepted_load);
    }
}

#[test]
fn one_iteration_of_islip_is_less_than_a_maximal_matching() {
    // Would catch an `iterations` key that is not read: at load 0.9 one round makes packets wait longer.
    let wait = |iterations: &str| {
        let router = format!(r#"kind = "virtual-output-queued", buffer = "4096 packets"{iterations}"#);
        result(&switch(16, &router, 0.9, r#"precision = 0.03"#)).latency_mean_ns.unwrap()
    };
    assert!(wait(", iterations = 1") > 1.2 * wait(""));
}

#[test]
fn a_crossbar_with_speed_up_comes_near_output_queues() {
    // Chuang et al. 1999: a speed-up of 2 suffices in principle; FIFOs with 4 reach full load. Would catch a speed-up
    // that is not applied, or output buffers that are never freed.
    let at = |speedup: u32| {
        let router = format!(
            r#"kind = "input-output-queued", buffer = "512 packets", output_buffer = "64 packets", speedup = {speedup},
               arbitration = "random""#
        )
        .replace('\n', " ");
        result(&switch(8, &router, 1.0, r#"warm_up = "5 ms", max_time = "30 ms""#)).accepted_load
    };
    let (one, four) = (at(1), at(4));
    assert!((0.60..0.70).contains(&one), "without speed-up head-of-line blocking remains: {one}");
    assert!(four > 0.97, "{four}");
}
