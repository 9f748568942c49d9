#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a tool for developers")]
use std::path::Path;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let sets: Vec<(String, String)> = args[2..]
        .iter()
        .filter(|a| a.contains('='))
        .map(|a| {
            let (k, v) = a.split_once('=').unwrap();
            (k.into(), v.into())
        })
        .collect();
    let threads: usize = std::env::var("THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or(1);
    let e = match sim::Experiment::read(Path::new(&args[1]), &sets) {
        Ok(e) => e,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    for p in e.points() {
        if std::env::var("ANALYZE").is_ok() {
            let a = sim::analyze_point(&e, p, &sim::Progress::new()).unwrap();
            let classes: Vec<_> =
                a.class_loads.iter().map(|c| format!("{} {:.4}/{:.4}", c.class, c.max, c.mean)).collect();
            println!("{:?} bound {:.5} {} in {:.2} s", p.keys, a.throughput_bound, classes.join(", "), a.wall_s);
            continue;
        }
        let o = sim::RunOptions { threads, ..Default::default() };
        match sim::run_point(&e, p, &o) {
            Ok(r) => {
                if std::env::var("FULL").is_ok() {
                    println!("{}", serde_json::to_string(&r).unwrap())
                } else {
                    println!(
                        "{:?} acc {:.4}±{:.4} min {:.4} lat {:.1}±{:.1} p99 {:.0} hops {:.2} sat {} steady {} conv {} drained {} n {} warm {:.0} meas {:.0} wall {:.2}s {:.2} Mh/s {:?}",
                        p.keys.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(),
                        r.accepted_load,
                        r.accepted_load_ci.unwrap_or(-1.),
                        r.accepted_load_min.unwrap_or(-1.),
                        r.latency_mean_ns.unwrap_or(-1.),
                        r.latency_ci_ns.unwrap_or(-1.),
                        r.latency_p99_ns.unwrap_or(-1.),
                        r.hops_mean.unwrap_or(-1.),
                        r.saturated,
                        r.steady,
                        r.converged,
                        r.drained,
                        r.packets,
                        r.warm_up_ns,
                        r.measured_ns,
                        r.wall_s,
                        r.packet_hops as f64 / r.wall_s / 1e6,
                        r.saturation_load
                    )
                }
            }
            Err(e) => println!("{e}"),
        }
    }
}
