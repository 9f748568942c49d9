//! Several jobs, and workloads of volumes, on the flat network.

use sim::{JobResult, PointResult};

use crate::common::{digest, result};

/// 1 B/ns; overheads are primes.
const NETWORK: &str = r#"
topology = { kind = "flat", nodes = 16 }
link = { bandwidth = "8 Gb/s", delay = "700 ns" }
nic = { send_overhead = "1009 ns", receive_overhead = "503 ns" }
"#;

fn jobs(rest: &str, jobs: &[&str]) -> String {
    let jobs: String = jobs.iter().map(|job| format!("[[job]]\n{job}\n")).collect();
    format!("{NETWORK}{rest}\n{jobs}")
}

fn time(job: &JobResult) -> f64 {
    job.point.closed().unwrap().time_ns.unwrap()
}

fn used(point: &PointResult) -> f64 {
    point.class_utilization[0].mean
}

/// A rank on each of the nodes 1 to 3 sends so many bytes to node 0.
fn incast(name: &str, bytes: u32, rest: &str) -> String {
    format!(
        "name = \"{name}\"\nnodes = \"0-3\"\n{rest}\n\
         workload = {{ kind = \"program\", program = {{ kind = \"incast\", message_size = \"{bytes} B\" }} }}"
    )
}

#[test]
fn jobs_that_share_a_link_take_turns_on_it() {
    // Would catch jobs with links of their own, a turn that does not follow time, and a start that is not the job's.
    let free = |bytes: f64| 1009.0 + bytes + 700.0 + 503.0;
    let text = jobs("measure = { compare_alone = true }", &[&incast("one", 1000, ""), &incast("two", 300, "")]);
    let point = result(&text);
    assert_eq!(time(&point.jobs[0]), free(1000.0));
    assert_eq!(time(&point.jobs[1]), free(300.0) + 1000.0);
    assert_eq!(point.jobs[0].slowdown, Some(1.0));
    assert_eq!(point.jobs[1].slowdown, Some((free(300.0) + 1000.0) / free(300.0)));
    // The second has handed over when the first has 400 ns left on the link.
    let text = jobs("", &[&incast("two", 300, "start = \"600 ns\""), &incast("one", 1000, "")]);
    let point = result(&text);
    assert_eq!([0, 1].map(|job| time(&point.jobs[job])), [free(300.0) + 400.0, free(1000.0)]);
    // Three of 16 links carry 1300 B until the last job has ended.
    assert_eq!((used(&point) * 1e6).round(), (3.0 / 16.0 * 1300.0 / (600.0 + free(300.0) + 400.0) * 1e6).round());
}

#[test]
fn jobs_on_nodes_of_their_own_do_not_touch() {
    // Would catch a message that is delivered to the rank of another job.
    let ranks =
        "workload = { kind = \"program\", program = { kind = \"fft\", message_size = \"777 B\", iterations = 2 } }";
    let text = jobs(
        "measure = { compare_alone = true, timeline = true }",
        &[
            &format!("name = \"one\"\nnode_count = 6\nplacement = {{ strategy = \"random\" }}\n{ranks}"),
            &format!("name = \"two\"\nnode_count = 10\nstart = \"3 us\"\n{ranks}"),
        ],
    );
    let point = result(&text);
    assert!(point.jobs.iter().all(|job| job.slowdown == Some(1.0)));
    for job in &point.jobs {
        let closed = job.point.closed().unwrap();
        let path = &closed.explained.as_ref().unwrap().critical_path;
        assert_eq!((path.overhead_ns + path.network_ns).round(), time(job).round());
    }
}

#[test]
fn phases_take_what_the_fullest_node_sends_and_the_delay() {
    // Would catch a phase that begins before the last has ended, volumes that go at once, and a receiver that is a
    // bottleneck. Each of 16 tasks sends 1000 B in each direction of a dimension of its grid, of sizes 4 and 4.
    let step = "{ kind = \"exchange\", dims = [4, 4], volume = \"1000 B\" }";
    let point = result(&format!("{NETWORK}workload = {step}"));
    let closed = point.closed().unwrap().clone();
    let each: Vec<f64> = closed.phases.iter().map(|phase| phase.time_ns.unwrap()).collect();
    let sent = closed.phases[0].bytes as f64 / 16.0;
    assert_eq!(each, [sent + 700.0; 2]);
    assert_eq!(closed.time_ns, Some(2.0 * (sent + 700.0)));
    assert!((closed.phases[0].throughput.unwrap() - sent / (sent + 700.0)).abs() < 1e-9);
    // Beside ranks on nodes of their own, and alone with a late start.
    let volumes = format!("name = \"steps\"\nstart = \"5 us\"\nnodes = \"0-15\"\nworkload = {step}");
    assert_eq!(result(&jobs("", &[&volumes])).closed().unwrap().clone().time_ns, closed.time_ns);
    let half = "name = \"steps\"\nnodes = \"4-11\"\n\
                workload = { kind = \"exchange\", dims = [8], volume = \"1000 B\", phases = [0] }";
    let point = result(&jobs("measure = { compare_alone = true }", &[&incast("ranks", 4000, ""), half]));
    assert!(point.jobs.iter().all(|job| job.slowdown == Some(1.0)));
}

#[test]
fn an_application_computes_and_then_communicates() {
    // Would catch computation that is left out or overlaps with phases: the tasks of a node compute 3 loads of 1 us.
    let graph = "graph = \"stencil:48,bytes=900\", time_per_load = \"1 us\"";
    let placement = "placement = { strategy = \"contiguous\", processes_per_node = 3 }";
    let text = format!("{NETWORK}{placement}\nworkload = {{ kind = \"application\", {graph} }}");
    let closed = result(&text).closed().unwrap().clone();
    // A node of a ring sends one message to each side.
    assert_eq!(closed.time_ns, Some(3000.0 + 2.0 * 900.0 + 700.0));
    assert_eq!(closed.per_rank[0], Some(3000.0 + 2.0 * 900.0 + 700.0));
    let messages = result(&format!("measure = {{ messages = true }}\n{text}")).messages.unwrap();
    assert_eq!((messages.figures.count, messages.figures.latency_max_ns), (32, Some(2500.0)));
}

#[test]
fn threads_change_nothing() {
    // Would catch a turn on a link, or the end of a phase, that depends on the division: ranks, steps and a job behind
    // them on shared nodes.
    let ranks =
        |kind: &str| format!("{{ kind = \"program\", program = {{ kind = \"{kind}\", message_size = \"600 B\" }} }}");
    let all = [
        format!("name = \"ranks\"\nnodes = \"0-11\"\nworkload = {}", ranks("fft")),
        "name = \"steps\"\nnodes = \"4-15\"\nstart = \"1 us\"\n\
         workload = { kind = \"exchange\", dims = [4, 3], volume = \"3 KiB\" }"
            .to_owned(),
        format!("name = \"late\"\nstart = \"2 us\"\nworkload = {}", ranks("halo-2d")),
        format!("name = \"behind\"\nbackground = true\nend = \"9 us\"\nworkload = {}", ranks("sweep")),
    ];
    let text = jobs("measure = { compare_alone = true, messages = true }", &all.each_ref().map(String::as_str));
    let of = |threads| digest(&text, threads);
    assert_eq!(of(1), of(2));
    assert_eq!(of(1), of(5));
}
