//! Properties of any system: what a seed decides and what it does not, conservation, and honest confidence intervals.

use fabric::Grain;
use proptest::prelude::*;

use crate::common::{Matrix, ROUTERS, as_text, build, digest, idle_ns, result, run_divided};

/// A small system of some kind.
#[derive(Clone, Debug)]
struct Any {
    text: String,
    seed: u64,
    load: f64,
    /// Windows of lookahead in its time, at the end of each of which threads wait for one another.
    windows: u64,
}

impl Any {
    fn with_seed(&self, seed: u64) -> String {
        format!("seed = {seed}\n{}", self.text)
    }

    fn text(&self) -> String {
        self.with_seed(self.seed)
    }
}

const TOPOLOGIES: &[&str] = &[
    r#"kind = "single-switch", ports = 6"#,
    r#"kind = "fat-tree", k = 3, n = 2"#,
    r#"kind = "torus", dims = [5, 2]"#,
    r#"kind = "mesh", dims = [3, 3], nodes_per_router = 2"#,
    r#"kind = "file", path = "data/cluster.edges""#,
];

const INJECTIONS: &[&str] = &["bernoulli", "poisson", "periodic"];

/// Sizes and times of any value; the rest follows from them.
fn sizes() -> impl Strategy<Value = (u64, u64, u64, u64, u64)> {
    (1_u64..40, 30_u64..200, 1_u64..500, 1_u64..600, 0_u64..100)
}

fn any_system() -> impl Strategy<Value = Any> {
    let kinds =
        (prop::sample::select(TOPOLOGIES), prop::sample::select(&ROUTERS[..]), prop::sample::select(INJECTIONS));
    (kinds, sizes(), 0.02_f64..0.2, any::<u32>()).prop_map(|((topology, router, injection), sizes, load, seed)| {
        let (gigabits, wire, packet, extra, delay) = sizes;
        let message = packet + extra;
        // 600 messages of each node.
        let time = (600.0 * (message * 8 / gigabits + 1) as f64 / load) as u64;
        let text = format!(
            r#"
            topology = {{ {topology} }}
            link = {{ bandwidth = "{gigabits} Gb/s", delay = "{wire} ns" }}
            router = {{ kind = "{router}", delay = "{delay} ns", buffer = "16 KiB" }}
            workload = {{ kind = "traffic", load = {load}, injection = "{injection}", packet_size = "{packet} B",
                         message_size = "{message} B" }}
            measure = {{ warm_up = "{} ns", max_time = "{time} ns" }}
            "#,
            time / 10
        );
        Any { text, seed: u64::from(seed), load, windows: time / wire }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_seed_decides_everything_but_the_statistics(any in any_system()) {
        // Would catch a result that depends on memory, time or threads; a seed that is not read; packets that are lost
        // or made; latencies below the paths' own; percentiles out of order.
        let system = build(&any.text()).unwrap();
        let found = run_divided(&system, 1, Grain::Fine);
        let one = as_text(&found);
        // Threads wait for one another at every window: where there are few. Else partitions, on one thread.
        let few = any.windows < 2_000;
        let (threads, grain) = if few { (2, Grain::Fine) } else { (1, Grain::Exactly(3)) };
        prop_assert_eq!(&one, &as_text(&run_divided(&system, threads, grain)), "{}", any.text());
        prop_assert_ne!(&one, &digest(&any.with_seed(any.seed ^ 1), 1), "another seed, the same result");

        prop_assert!(!found.open().unwrap().saturated && found.open().unwrap().drained, "{}{found:?}", any.text());
        let ratio = found.open().unwrap().accepted_load / any.load;
        let noise = found.open().unwrap().accepted_load_ci.unwrap_or(0.0) / any.load;
        prop_assert!((ratio - 1.0).abs() < 0.02 + 3.0 * noise, "{ratio} of what is offered: {}{found:?}", any.text());
        prop_assert!(found.open().unwrap().accepted_load_min.unwrap() <= found.open().unwrap().accepted_load * 1.001);

        let hops = found.hops_mean.unwrap();
        prop_assert!((1.0..=f64::from(system.network.routing.max_routers())).contains(&hops));
        let (mean, max) = (found.latency_mean_ns.unwrap(), found.latency_max_ns.unwrap());
        prop_assert!(mean >= idle_ns(&system, hops) - 1e-6, "{mean} {}{found:?}", any.text());
        prop_assert!(found.latency_p50_ns <= found.latency_p99_ns && found.latency_p99_ns.unwrap() <= max && mean <= max);

        // What goes in comes out: all but what is in the network as the measured interval begins and ends.
        let bytes = |class: &str| {
            let class = found.class_utilization.iter().find(|found| found.class == class).unwrap();
            class.mean * f64::from(class.channels)
        };
        prop_assert!((bytes("injection") / bytes("ejection") - 1.0).abs() < 0.02, "{found:?}");
    }
}

#[test]
fn confidence_intervals_hold_the_truth_as_often_as_they_say() {
    // The mean wait of an output queue is known; of 40 intervals at 95 %, 38 should hold it. Would catch intervals that
    // ignore the correlation of what follows one another, and a mean that leaves out the late ones.
    let exact_ns = |load: f64| 20.0 + 90.0 + 20.0 + 204.8 * (1.0 + 0.75 * load / (2.0 * (1.0 - load)));
    for load in [0.4, 0.8] {
        let inside = (1..=40).filter(|seed| {
            let found = result(&format!(
                r#"
                seed = {seed}
                topology = {{ kind = "single-switch", ports = 4 }}
                link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                router = {{ kind = "output-queued", buffer = "2000 packets" }}
                workload = {{ kind = "traffic", load = {load}, pattern = {{ kind = "uniform", include_self = true }} }}
                "#
            ));
            let off = (found.latency_mean_ns.unwrap() - exact_ns(load)).abs();
            assert!(off < 0.1 * exact_ns(load), "seed {seed}: {found:?}");
            off <= found.open().unwrap().latency_ci_ns.unwrap()
        });
        let inside = inside.count();
        assert!(inside >= 34, "load {load}: {inside} of 40 intervals hold the truth");
    }
}

#[test]
fn other_seeds_give_the_same_mean_within_their_intervals() {
    // Would catch a result that hangs on one stream, such as a random permutation that is not meant to.
    let text = |seed: u32| {
        format!(
            r#"
            seed = {seed}
            topology = {{ kind = "fat-tree", k = 4, n = 3 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            workload = {{ kind = "traffic", load = 0.5 }}
            measure = {{ precision = 0.005 }}
            "#
        )
    };
    let means = [5, 6, 7].map(|seed| result(&text(seed)).latency_mean_ns.unwrap());
    for pair in means.windows(2) {
        assert!(pair[0] != pair[1] && (pair[0] / pair[1] - 1.0).abs() < 0.02, "{means:?}");
    }
}

#[test]
fn one_stream_more_changes_no_other() {
    // Two pairs of nodes that share no channel: the second pair's presence does not change the first pair's packets.
    // Would catch a stream that is shared between nodes. The time measured is 64 batches of whole ticks, so that all
    // runs end then, precise or not.
    let latency = |lines: &[(u32, u32, f64)]| {
        let matrix = Matrix::new("streams", lines);
        let found = result(&format!(
            r#"
            topology = {{ kind = "single-switch", ports = 4 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            workload = {{ kind = "traffic", load = 0.6, injection = "poisson", pattern = {} }}
            measure = {{ warm_up = "100 us", max_time = "2.66 ms" }}
            "#,
            matrix.pattern()
        ));
        (found.latency_mean_ns.unwrap(), found.latency_max_ns.unwrap(), found.packets)
    };
    let (first, second) = (latency(&[(0, 1, 1.0)]), latency(&[(2, 3, 1.0)]));
    let both = latency(&[(0, 1, 1.0), (2, 3, 1.0)]);
    assert_eq!(both.2, first.2 + second.2);
    assert!((both.1 - first.1.max(second.1)).abs() < 1e-6, "{both:?} of {first:?} and {second:?}");
    let mean = (first.0 * first.2 as f64 + second.0 * second.2 as f64) / both.2 as f64;
    assert!((both.0 / mean - 1.0).abs() < 1e-9, "{both:?} of {first:?} and {second:?}");
}
