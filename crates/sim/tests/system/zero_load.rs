//! Latencies of packets that meet no other are the sum of the stages, to the picosecond.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::common::{build, result};

/// A traffic matrix in which one node sends to one other.
fn pair(name: &str, src: u32, dst: u32) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cutthrough-{}-{name}-{src}-{dst}.csv", std::process::id()));
    std::fs::write(&path, format!("src,dst,weight\n{src},{dst},1\n")).unwrap();
    path
}

const ROUTERS: [&str; 4] = ["output-queued", "input-queued", "virtual-output-queued", "input-output-queued"];

fn experiment(topology: &str, router: &str, matrix: &str, extra: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "3 Gb/s", delay = "7 ns", injection = {{ delay = "5 ns" }}, ejection = {{ delay = "11 ns" }} }}
        router = {{ kind = "{router}", delay = "13 ns", buffer = "4 packets" }}
        workload = {{ kind = "traffic", load = 0.05, packet_size = "100 B", {extra}
                     pattern = {{ kind = "matrix", path = '{matrix}' }} }}
        measure = {{ warm_up = "10 us", max_time = "400 us" }}
        "#
    )
    .replace("{extra}\n", "\n")
}

/// Runs one pair and compares with the sum of stages for so many routers.
fn check(topology: &str, router: &str, (src, dst): (u32, u32)) {
    let matrix = pair(router, src, dst);
    let text = experiment(topology, router, &matrix.display().to_string(), "").replace(",  \n", ", ");
    let system = build(&text).unwrap();
    let routers = system.topology.routers_between(units::NodeId(src), units::NodeId(dst));
    let found = result(&text);
    std::fs::remove_file(matrix).unwrap();
    // 100 bytes at 3 Gb/s are 266,666 2/3 ps, rounded up.
    let exact_ps = 5_000 + 11_000 + 7_000 * u64::from(routers - 1) + 13_000 * u64::from(routers) + 266_667;
    let mut seen = String::new();
    for (what, value) in
        [("mean", found.latency_mean_ns), ("median", found.latency_p50_ns), ("max", found.latency_max_ns)]
    {
        write!(seen, "{what} {value:?} ").unwrap();
    }
    let max_ps = (found.latency_max_ns.unwrap() * 1e3).round() as u64;
    let mean_ps = found.latency_mean_ns.unwrap() * 1e3;
    assert!(max_ps == exact_ps && (mean_ps - exact_ps as f64).abs() < 1e-3, "{text}: {exact_ps} ps, but {seen}");
    assert_eq!(found.hops_mean, Some(f64::from(routers)));
}

#[test]
fn the_sum_of_stages_is_exact_for_every_router_and_hop_count() {
    // Would catch a delay charged twice or not at all, store-and-forward in place of cut-through, a slot of waiting
    // without contention, rounding of times.
    for router in ROUTERS {
        check(r#"{ kind = "single-switch", ports = 4 }"#, router, (0, 3));
        for dst in [1, 2, 4, 15] {
            check(r#"{ kind = "fat-tree", k = 2, n = 4 }"#, router, (0, dst));
        }
        for dst in [1, 2, 5, 10, 15] {
            check(r#"{ kind = "torus", dims = [4, 4] }"#, router, (0, dst));
            check(r#"{ kind = "mesh", dims = [4, 4] }"#, router, (0, dst));
        }
    }
}
