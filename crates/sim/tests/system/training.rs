//! Training steps on whole systems: closed forms to the picosecond, lower bounds, and the same bytes for any number of threads.

use crate::common::{digest, digest_of, result};
use fabric::Grain;
use sim::{MeasureResult, PointResult};

/// Overheads, links and routers take whole nanoseconds; 100 bytes at 4 Gb/s are 200 ns. Layers have 12 parameters of 100 bytes.
fn experiment(topology: &str, program: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {topology}
        router = {{ kind = "output-queued", delay = "13 ns", buffer = "64 KiB" }}
        nic = {{ send_overhead = "1009 ns", receive_overhead = "503 ns" }}
        {rest}
        [workload]
        kind = "program"
        packet_size = "100 B"
        [workload.program]
        kind = "training"
        hidden = 10
        sequence = 40
        element_size = "1 B"
        allreduce = "ring"
        alltoall = "pairwise"
        forward_time = "7 us"
        backward_time = "11 us"
        {program}
        [link]
        bandwidth = "4 Gb/s"
        delay = "70 ns"
        injection = {{ delay = "50 ns" }}
        ejection = {{ delay = "110 ns" }}
        "#
    )
}

fn switch(ports: u32) -> String {
    format!("{{ kind = \"single-switch\", ports = {ports} }}")
}

/// A message through a switch without its length, and a layer in both directions, in nanoseconds.
const MESSAGE: f64 = 1009.0 + 503.0 + 50.0 + 110.0 + 13.0;
const LAYER: f64 = 7000.0 + 11_000.0;

/// What is measured under a name.
fn measure(point: &PointResult, name: &str) -> MeasureResult {
    let times = point.closed.as_ref().unwrap().program.as_ref().unwrap().times.clone().unwrap();
    times.measures.into_iter().find(|own| own.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The ring allreduce of so many ranks, in nanoseconds, where the bytes are a multiple of theirs.
fn ring(ranks: f64, bytes: f64) -> f64 {
    2.0 * (ranks - 1.0) * (MESSAGE + bytes / ranks * 2.0)
}

fn span(program: &str, ports: u32) -> (f64, f64, PointResult) {
    let point = result(&experiment(&switch(ports), program, ""));
    let step = measure(&point, "step");
    (step.span_mean_ns.unwrap(), step.bound_ns.unwrap(), point)
}

#[test]
fn gradients_come_behind_or_beside_what_is_calculated() {
    // Would catch a bucket of other layers, one that begins before its last layer is through, or waits for the step's end.
    let common = "layers = 2\nmicro_batches = 3\nsteps = 2";
    let (behind, bound, point) = span(&format!("{common}\noverlap = false"), 4);
    assert_eq!(behind, 3.0 * 2.0 * LAYER + ring(4.0, 2400.0));
    assert_eq!(bound, 3.0 * 2.0 * LAYER + MESSAGE + 1.5 * 2400.0 * 2.0);
    assert_eq!(measure(&point, "gradient-allreduce").span_mean_ns, Some(ring(4.0, 2400.0)));
    assert_eq!(measure(&point, "compute").time_mean_ns, Some(6.0 * LAYER));
    assert_eq!(point.closed.unwrap().time_ns, Some(2.0 * behind));
    // A bucket a layer: the first is hidden if the last layer takes longer.
    let each = format!("{common}\nbucket_size = \"1 B\"");
    let (beside, _, point) = span(&each, 4);
    let ring_of_one = ring(4.0, 1200.0);
    assert!(ring_of_one > 11_000.0, "the first bucket is not through when the second begins");
    assert!(beside < behind && beside > 3.0 * 2.0 * LAYER + ring_of_one, "{beside}");
    assert!(measure(&point, "gradient-allreduce").span_mean_ns.unwrap() > ring_of_one);
    let (hidden, bound, _) = span("layers = 2\nbucket_size = \"1 B\"\nmicro_batches = 1\nreduction_time = \"0 ps\"", 2);
    assert_eq!(hidden, 2.0 * LAYER + ring(2.0, 1200.0));
    assert_eq!(bound, 2.0 * LAYER + MESSAGE + 1200.0 * 2.0);
}

#[test]
fn tensors_and_tokens_are_exchanged_within_their_groups() {
    // Would catch an operation too few a layer, one that is not waited for, and groups of other ranks.
    let (step, bound, point) = span("tensor = 2\nlayers = 2\nmicro_batches = 3", 2);
    let combine = ring(2.0, 400.0);
    assert_eq!(step, 6.0 * (LAYER + 4.0 * combine));
    assert_eq!(bound, 6.0 * (LAYER + 4.0 * (MESSAGE + 400.0 * 2.0)));
    assert_eq!(measure(&point, "tensor-allreduce").time_mean_ns, Some(24.0 * combine));
    let (step, _, point) = span("expert = 4\ntop_k = 2\nlayers = 2\nmicro_batches = 3\noverlap = false", 4);
    // 400 elements to two experts each, a quarter of them to each member.
    let exchange = 3.0 * (MESSAGE + 200.0 * 2.0);
    assert_eq!(step, 6.0 * (LAYER + 4.0 * exchange) + ring(4.0, 800.0));
    assert_eq!(measure(&point, "expert-alltoall").time_mean_ns, Some(24.0 * exchange));
}

#[test]
fn a_pipeline_fills_and_drains() {
    // Would catch a stage that waits for all micro-batches, a schedule that stands still, and stages in another order.
    let between = MESSAGE + 400.0 * 2.0;
    for stages in [2_u32, 4] {
        let filling = f64::from(stages - 1);
        let (step, bound, _) = span(&format!("pipeline = {stages}\nlayers = {stages}\nmicro_batches = 1"), stages);
        assert_eq!([step, bound], [(1.0 + filling) * LAYER + 2.0 * filling * between; 2]);
        let (step, bound, point) = span(&format!("pipeline = {stages}\nlayers = {stages}\nmicro_batches = 8"), stages);
        assert_eq!(bound, (8.0 + filling) * LAYER + 2.0 * filling * between);
        // A stage and the next wait for each other's messages once a micro-batch at most.
        assert!(step >= bound && step <= bound + 2.0 * 8.0 * between, "{step} {bound}");
        assert!(measure(&point, "pipeline-wait").time_max_ns.unwrap() >= filling * LAYER);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch operations of several communicators that meet one another's messages where partitions change the order.
    let program =
        "tensor = 2\npipeline = 2\nexpert = 3\nlayers = 4\nmicro_batches = 3\nbucket_size = \"1 KiB\"\nsteps = 2";
    let rest =
        "placement = { strategy = \"random\", processes_per_node = 2 }\nrouting = { kind = \"minimal-adaptive\" }";
    let text = experiment("{ kind = \"torus\", dims = [4, 3, 2] }", program, rest);
    let text = text.replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"300 B\" }");
    assert_eq!(digest_of(&text, 2, Grain::Exactly(3)), digest(&text, 1), "{text}");
}
