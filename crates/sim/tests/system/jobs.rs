//! Several jobs at once: each in its own right, what they share, and the same bytes for any number of threads.

use fabric::Grain;
use sim::{JobResult, PointResult};

use crate::common::{ROUTERS, build, digest, digest_of, result, run_on};

const LINK: &str = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns" }"#;

fn experiment(topology: &str, rest: &str, jobs: &[&str]) -> String {
    let jobs: String = jobs.iter().map(|job| format!("[[job]]\n{job}\n")).collect();
    format!("topology = {{ {topology} }}\n{LINK}\n{rest}\n{jobs}")
}

fn switch(rest: &str, jobs: &[&str]) -> String {
    experiment(r#"kind = "single-switch", ports = 8"#, rest, jobs)
}

fn job<'a>(point: &'a PointResult, name: &str) -> &'a JobResult {
    point.jobs.iter().find(|job| job.name == name).unwrap()
}

fn time(job: &JobResult) -> f64 {
    job.point.closed().unwrap().time_ns.unwrap()
}

#[test]
fn one_job_alone_gives_the_bytes_of_the_same_workload() {
    // Would catch a job that starts late, draws from other streams or decides at other times than a workload.
    let torus = r#"kind = "torus", dims = [4, 2, 2]"#;
    let measure = r#"measure = { warm_up = "5 us", max_time = "40 us" }"#;
    for workload in [
        r#"{ kind = "traffic", load = 0.4 }"#,
        r#"{ kind = "traffic", load = 0.3, injection = "poisson", message_size = "600 B", pattern = "tornado" }"#,
        r#"{ kind = "exchange", volume = "3 KiB" }"#,
        r#"{ kind = "application", graph = "matmul:2,matrix=64", time_per_load = "3 us" }"#,
        r#"{ kind = "benchmark", benchmark = { kind = "wicon", pairs = "random", messages = 2, message_size = "600 B" } }"#,
    ] {
        for placement in ["contiguous", "random"] {
            let own = format!("workload = {workload}\nplacement = {{ strategy = \"{placement}\" }}");
            let alone = digest(&format!("topology = {{ {torus} }}\n{LINK}\n{measure}\n{own}"), 1);
            let job = experiment(torus, measure, &[&format!("name = \"only\"\n{own}")]);
            assert_eq!(digest(&job, 1), alone, "{job}");
        }
    }
}

#[test]
fn ranks_that_start_late_take_as_long_alone() {
    // Would catch ranks that begin at time 0 where they run alone, and are measured from their start.
    let ranks = r#"workload = { kind = "program", program = { kind = "fft", message_size = "3 KiB" } }"#;
    let jobs = [
        format!("name = \"late\"\nnodes = \"0-3\"\nstart = \"10 us\"\n{ranks}"),
        format!("name = \"early\"\nnodes = \"4-7\"\n{ranks}"),
    ];
    let point = result(&switch("measure = { compare_alone = true }", &jobs.each_ref().map(String::as_str)));
    assert_eq!(point.jobs.iter().map(|job| job.slowdown).collect::<Vec<_>>(), [Some(1.0), Some(1.0)]);
    assert_eq!(time(&point.jobs[0]), time(&point.jobs[1]));
    let only = result(&switch("", &[&jobs[0]]));
    assert_eq!(only.closed().unwrap().clone().time_ns, Some(time(&point.jobs[1])));
}

/// Jobs of every kind, some of which share nodes, start late, end early or go on behind.
const MIXTURE: &[&str] = &[
    "name = \"open\"\nworkload = { kind = \"traffic\", load = 0.3 }",
    "name = \"steps\"\nnodes = \"0-7\"\nstart = \"3 us\"\nworkload = { kind = \"exchange\", dims = [4, 2], volume = \"3 KiB\" }",
    "name = \"graph\"\nnode_count = 8\nworkload = { kind = \"application\", graph = \"matmul:2,matrix=64\", time_per_load = \"1 us\" }\n\
     placement = { strategy = \"greedy\" }",
    "name = \"ranks\"\nnodes = \"4-11\"\nstart = \"2 us\"\n\
     workload = { kind = \"benchmark\", benchmark = { kind = \"wicon\", pairs = \"random\", messages = 2, message_size = \"600 B\" } }",
    "name = \"behind\"\nnodes = \"1,3,5,7\"\nbackground = true\nend = \"20 us\"\n\
     workload = { kind = \"traffic\", load = 0.5, packet_size = \"100 B\", injection = \"periodic\" }",
];

#[test]
fn jobs_of_every_kind_give_the_same_bytes_for_any_number_of_threads() {
    // Would catch a head that is replaced in the order of memory, a phase that begins when one partition knows of it
    // before another, and counts of one job in those of another. Each router has partitions on one thread, and two
    // threads.
    for (router, grain) in [(ROUTERS[0], Grain::Fine), (ROUTERS[3], Grain::Exactly(3))] {
        let rest = format!(
            "router = {{ kind = \"{router}\" }}\nmeasure = {{ warm_up = \"5 us\", max_time = \"40 us\", compare_alone = true }}"
        );
        let text = experiment(r#"kind = "torus", dims = [4, 4]"#, &rest, MIXTURE);
        let one = digest(&text, 1);
        assert_eq!(digest_of(&text, 1, Grain::Exactly(5)), one);
        assert_eq!(digest_of(&text, 2, grain), one);
        let point = result(&text);
        assert!(point.jobs.iter().all(|job| job.point.packets > 0), "{point:#?}");
        for name in ["steps", "graph", "ranks"] {
            assert!(job(&point, name).slowdown.unwrap() > 1.0, "{name}");
        }
        assert!(job(&point, "behind").slowdown.is_none());
        let all: u64 = point.jobs.iter().map(|job| job.point.packet_hops).sum();
        assert_eq!(point.packet_hops, all);
    }
}

#[test]
fn jobs_on_nodes_of_their_own_are_as_fast_as_alone() {
    // Would catch a barrier between phases that takes time, and a job that pays for another one's packets: on a switch
    // every output serves one job only.
    let exchange = r#"workload = { kind = "exchange", dims = [2, 2], volume = "3000 B" }"#;
    let jobs = [
        format!("name = \"one\"\nnodes = \"0-3\"\n{exchange}"),
        format!("name = \"two\"\nnodes = \"4-7\"\nstart = \"777 ns\"\n{exchange}"),
        r#"name = "other"
           nodes = "4-7"
           start = "1 ms"
           workload = { kind = "exchange", volume = "1 KiB" }"#
            .to_owned(),
    ];
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let point = result(&switch("measure = { compare_alone = true }", &jobs));
    for own in &point.jobs {
        assert_eq!(own.slowdown, Some(1.0), "{}: {:?}", own.name, own.point.closed());
        assert_eq!(own.nodes, 4);
    }
    let (one, two) = (job(&point, "one"), job(&point, "two"));
    assert_eq!(time(one), time(two));
    assert_eq!(two.start_ns, 777.0);
    assert_eq!(one.point.closed().unwrap().phases, two.point.closed().unwrap().phases);
    // All channels together are busy for as long as the jobs keep them busy, over the time in which any of them is
    // counted: `one` and `two` overlap, `other` comes long after. Would catch a sum of shares of different times, which
    // was 1.8 at nodes 4 to 7, and a gap that counts as idle although nobody has counted there.
    let other = job(&point, "other");
    assert!(time(one) > two.start_ns && other.start_ns > two.start_ns + time(two));
    let last = two.start_ns + time(two) + time(other);
    for (channel, &all) in point.channel_utilization.iter().enumerate() {
        let busy: f64 = point.jobs.iter().map(|job| job.point.channel_utilization[channel] * time(job)).sum();
        assert!((all * last - busy).abs() < 1e-6 * last && all <= 1.0, "channel {channel}: {all}");
    }
    assert!(point.class_utilization.iter().all(|class| class.max <= 1.0), "{:?}", point.class_utilization);
    // Channels of the one carry nothing of the other: injection of nodes 0 to 3, ejection likewise.
    let used = |job: &JobResult| job.point.channel_utilization.iter().filter(|&&share| share > 0.0).count();
    assert_eq!((used(one), used(two)), (8, 8));
}

#[test]
fn jobs_of_one_node_take_its_channel_in_turn() {
    // Would catch a job that starves another, and one that is held back by a packet that is not due yet. Three
    // backlogged jobs share a channel evenly; beside one, traffic of little load gets all that it asks for.
    let full = "workload = { kind = \"traffic\", load = 1.0, injection = \"backlogged\", pattern = { kind = \"shift\", offset = 1 } }";
    let measure = "measure = { precision = 0.05, warm_up = \"20 us\" }";
    let backlogged = |name: &str| format!("name = \"{name}\"\n{full}");
    let (a, b, c) = (backlogged("a"), backlogged("b"), backlogged("c"));
    let point = result(&switch(measure, &[&a, &b, &c]));
    for own in &point.jobs {
        assert!(
            (own.point.open().unwrap().accepted_load - 1.0 / 3.0).abs() < 0.002,
            "{}: {}",
            own.name,
            own.point.open().unwrap().accepted_load
        );
    }
    assert!((point.open().unwrap().accepted_load - 1.0 / 3.0).abs() < 0.002, "{}", point.open().unwrap().accepted_load);
    let little = full.replace("1.0, injection = \"backlogged\"", "0.2");
    let point = result(&switch(measure, &[&a, &format!("name = \"little\"\n{little}")]));
    let load = |name: &str| job(&point, name).point.open().unwrap().accepted_load;
    assert!((load("little") - 0.2).abs() < 0.01 && (load("a") - 0.8).abs() < 0.01, "{} {}", load("little"), load("a"));
    // It is served every other time at the worst: a queue of load 0.4, whose packets wait for less than two packets'
    // times.
    let latency = job(&point, "little").point.latency_mean_ns.unwrap();
    assert!(latency < 334.8 + 2.0 * 204.8, "{latency}");
}

#[test]
fn a_message_goes_before_a_packet_that_is_not_due() {
    // Would catch ranks that wait until the packet of another job is due: one comes in ten milliseconds, on average.
    let ranks = "name = \"ranks\"\nworkload = { kind = \"benchmark\", benchmark = { kind = \"wocon\", message_size = \"256 B\" } }";
    let rare = "name = \"rare\"\nbackground = true\nworkload = { kind = \"traffic\", load = 0.00002 }";
    let point = result(&switch("measure = { compare_alone = true }", &[rare, ranks]));
    let slowdown = job(&point, "ranks").slowdown.unwrap();
    assert!((slowdown - 1.0).abs() < 0.01, "{slowdown}");
}

#[test]
fn a_job_that_saturates_in_its_warm_up_is_marked() {
    // Would catch the mean latency of a job whose queues grow, shown without a mark because its warm-up has not ended.
    let kinds = [
        "kind = \"traffic\", pattern = { kind = \"shift\", offset = 7 }",
        "kind = \"collective\", operation = \"multicast\", fanout = { mean = 4 }",
        "kind = \"collective\", operation = \"allreduce\", groups = \"persistent\", senders = 8, fanout = { mean = 7 }",
    ];
    let cases = [(0.05, false), (0.6, true), (1.0, true)];
    for (kind, (load, saturated)) in kinds.into_iter().flat_map(|kind| cases.map(|case| (kind, case))) {
        let noise =
            format!("name = \"noise\"\nnodes = \"0-13\"\nbackground = true\nworkload = {{ load = {load}, {kind} }}");
        let short = "name = \"short\"\nnodes = \"14-15\"\nworkload = { kind = \"exchange\", volume = \"1150 KiB\" }";
        let line = r#"kind = "mesh", dims = [16]"#;
        let point = result(&experiment(line, r#"measure = { warm_up = "1 ms" }"#, &[&noise, short]));
        assert_eq!(job(&point, "noise").point.open().unwrap().saturated, saturated, "load {load}, {kind}");
    }
}

#[test]
fn a_job_that_ends_before_its_warm_up_is_not_saturated() {
    // Would catch the later half of a warm-up in which the job sends nothing: a load of 0.3 would be a third of it.
    let noise = "name = \"noise\"\nnodes = \"0-7\"\nbackground = true\nend = \"1700 us\"\n\
                 workload = { kind = \"traffic\", load = 0.3, pattern = { kind = \"shift\", offset = 1 } }";
    let long = "name = \"long\"\nnodes = \"8-15\"\nworkload = { kind = \"exchange\", volume = \"450 KiB\" }";
    let point =
        result(&experiment(r#"kind = "mesh", dims = [16]"#, r#"measure = { warm_up = "1 s" }"#, &[noise, long]));
    let time = job(&point, "long").point.closed().unwrap().time_ns.unwrap();
    assert!((2.2e6..3e6).contains(&time), "the end is in the later half: {time}");
    assert!(!job(&point, "noise").point.open().unwrap().saturated);
}

#[test]
fn a_job_sends_between_its_start_and_its_end() {
    // Would catch traffic before the start or after the end. Backlogged for 20 us, a node generates a packet each 204.8
    // ns, and at the start a second one as the head of the first leaves: 1 + 98.
    let full = "workload = { kind = \"traffic\", load = 1.0, injection = \"backlogged\", pattern = { kind = \"shift\", offset = 1 } }";
    let short =
        format!("name = \"short\"\nnodes = \"2-7\"\nbackground = true\nstart = \"10 us\"\nend = \"30 us\"\n{full}");
    let long = "name = \"long\"\nnodes = \"0-1\"\nworkload = { kind = \"exchange\", volume = \"100 KiB\" }";
    let point = result(&switch("", &[&short, long]));
    let (short, long) = (job(&point, "short"), job(&point, "long"));
    assert_eq!(short.point.packet_hops, 6 * 99);
    let alone = 100.0 * 1024.0 * 0.8 + 334.8 - 204.8;
    assert!((time(long) - alone).abs() < 1e-6, "{} {alone}", time(long));
}

#[test]
fn a_shared_channel_makes_two_exchanges_half_as_fast() {
    // Would catch a slowdown that is not against the same job in the same places.
    let job = |name: &str| {
        format!("name = \"{name}\"\nworkload = {{ kind = \"exchange\", dims = [8], volume = \"30 KiB\" }}")
    };
    let point = result(&switch("measure = { compare_alone = true }", &[&job("a"), &job("b")]));
    for own in &point.jobs {
        assert!((own.slowdown.unwrap() - 2.0).abs() < 0.05, "{:?}", own.slowdown);
    }
}

#[test]
fn jobs_whose_operations_switches_carry_out_run_alone_by_their_own_trees() {
    // Would catch a job that runs alone by the trees of another, whose packets come to nodes that wait for nothing: it
    // would never end. The jobs are below a switch each, and share neither channels nor units: each takes as long
    // beside the other.
    let job = |name: &str, operation: &str| {
        let program =
            format!(r#"kind = "collective", operation = "{operation}", algorithm = "in-switch", size = "3 KiB""#);
        format!("name = \"{name}\"\nnode_count = 4\nworkload = {{ kind = \"program\", program = {{ {program} }} }}")
    };
    for operations in [["allreduce", "reduce"], ["broadcast", "reduce-scatter"]] {
        let [a, b] = [job("a", operations[0]), job("b", operations[1])];
        let tree = r#"kind = "fat-tree", k = 4, n = 2"#;
        let point = result(&experiment(tree, "measure = { compare_alone = true }", &[&a, &b]));
        let slowdowns: Vec<_> = point.jobs.iter().map(|own| own.slowdown).collect();
        assert_eq!(slowdowns, [Some(1.0); 2], "{operations:?}");
    }
}

#[test]
fn nodes_are_taken_as_the_placement_has_them() {
    // Would catch two jobs on one node where each should have its own, and nodes that are not drawn.
    let job = |name: &str, strategy: &str, count: u32| {
        format!(
            "name = \"{name}\"\nnode_count = {count}\nworkload = {{ kind = \"traffic\", load = 0.1 }}\n\
             placement = {{ strategy = \"{strategy}\" }}"
        )
    };
    let nodes = |strategy: &str| -> Vec<Vec<u32>> {
        let jobs = [job("a", strategy, 6), job("b", strategy, 8), job("c", strategy, 2)];
        let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
        let system = build(&experiment(r#"kind = "dragonfly", p = 2, a = 2, h = 2, g = 4"#, "", &jobs)).unwrap();
        let of = |job: &sim::Job| {
            let placement = job.workload.placement();
            (0..placement.len()).map(|task| placement.node(units::TaskId(task)).0).collect()
        };
        system.jobs.iter().map(of).collect()
    };
    assert_eq!(nodes("contiguous"), [(0..6).collect::<Vec<_>>(), (6..14).collect(), vec![14, 15]]);
    for strategy in ["random", "random-groups"] {
        let drawn = nodes(strategy);
        assert_ne!(drawn, nodes("contiguous"));
        let mut all: Vec<u32> = drawn.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..16).collect::<Vec<_>>());
    }
    let error = build(&switch("", &[&job("a", "random", 6), &job("b", "random", 3)])).unwrap_err();
    assert_eq!(
        (error.key.as_str(), error.message.as_str()),
        ("job.b.node_count", "3 nodes are wanted, and 2 of 8 available")
    );
}

#[test]
fn what_is_wrong_with_a_job_is_refused_at_its_key() {
    // Would catch an error without its job, and jobs that cannot be run.
    let fine = "name = \"a\"\nworkload = { kind = \"traffic\", load = 0.1 }";
    let refused = |rest: &str, jobs: &[&str]| build(&switch(rest, jobs)).unwrap_err().key;
    let with = |keys: &str| format!("{}\n{keys}", fine.replace("\"a\"", "\"b\""));
    assert_eq!(refused("", &[fine, &with("nodes = \"5-9\"")]), "job.b.nodes");
    assert_eq!(refused("", &[fine, &with("nodes = \"5,6,5\"")]), "job.b.nodes");
    assert_eq!(refused("", &[fine, &with("placement = { strategy = \"greedy\" }")]), "job.b.placement.strategy");
    assert_eq!(refused("", &[fine, &with("node_count = 1")]), "job.b.workload.pattern.kind");
    assert_eq!(refused("", &[fine, fine]), "job[1].name");
    assert_eq!(refused("", &[&fine.replace("\"a\"", "\"a b\"")]), "job[0].name");
    assert_eq!(refused("", &[fine, &with("start = \"2 us\"\nend = \"2 us\"")]), "job.b.end");
    assert_eq!(refused("", &[fine, &with("nodes = \"1\"\nnode_count = 1")]), "job.b.node_count");
    assert_eq!(refused("", &[&with("background = true")]), "job.b.background");
    assert_eq!(refused("workload = { kind = \"traffic\", load = 0.1 }", &[fine]), "workload");
    assert_eq!(refused("placement = { strategy = \"random\" }", &[fine]), "placement");
    assert_eq!(refused("measure = { search = \"saturation\" }", &[fine, &with("")]), "measure.search");
    assert_eq!(refused("measure = { compare_alone = true }", &[fine]), "measure.compare_alone");
    let half = with("").replace("0.1", "0.5, injection = \"backlogged\"");
    assert_eq!(refused("", &[fine, &half]), "job.b.workload.load");
}

/// Packets of 256 B at 10 Gb/s that the channels of routers have carried since time 0, by their utilisation.
fn carried(point: &PointResult) -> f64 {
    let of_routers = point.class_utilization.iter().filter(|class| class.class != "injection");
    let busy: f64 = of_routers.map(|class| class.mean * f64::from(class.channels)).sum();
    busy * point.sim_time_ns / 204.8
}

/// Channels of routers.
fn channels(point: &PointResult) -> f64 {
    let of_routers = point.class_utilization.iter().filter(|class| class.class != "injection");
    of_routers.map(|class| f64::from(class.channels)).sum()
}

#[test]
fn packet_hops_are_the_packets_that_routers_have_sent() {
    // Would catch an architecture that sends past the count, injections that are counted, packets under way at the end
    // that are not, counts that partitions lose at the end of a batch, and a job that is given another's.
    let measure = "measure = { warm_up = \"0 ns\", max_time = \"20 us\" }";
    let torus = r#"kind = "torus", dims = [4, 4]"#;
    let traffic = |load: f64| format!("workload = {{ kind = \"traffic\", load = {load}, pattern = \"tornado\" }}");
    for router in ROUTERS {
        let rest = format!("{measure}\nrouter = {{ kind = \"{router}\", buffer = \"2 packets\" }}");
        let alone = run_on(&experiment(torus, &format!("{rest}\n{}", traffic(1.0)), &[]), 2).unwrap();
        let jobs = [("one", 0.7), ("two", 0.2)].map(|(name, load)| format!("name = \"{name}\"\n{}", traffic(load)));
        let shared = result(&experiment(torus, &rest, &jobs.each_ref().map(String::as_str)));
        for point in [&alone, &shared.jobs[0].point, &shared.jobs[1].point] {
            let delivered = point.packets as f64 * point.hops_mean.unwrap();
            assert!(point.packet_hops as f64 > delivered + 1.0, "{router}: nothing is under way: {point:?}");
            // Packets that the end cuts are counted as hops, and keep their channels busy by their part.
            let cut = point.packet_hops as f64 - carried(point);
            assert!((-1e-6..=channels(point)).contains(&cut), "{router}: {cut} {point:?}");
        }
    }
}
