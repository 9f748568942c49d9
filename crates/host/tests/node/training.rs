//! Training steps, on a network that delivers every packet after a fixed time.

use std::path::Path;
use std::sync::Arc;

use apps::motifs::{ProgramSpec, TrainingSpec};
use host::{Executor, NicParams};
use mpi::collectives::{Algorithm, Fastest, FastestWithin, RailUse};
use mpi::program::Interval;
use units::{Bytes, Time};

use crate::times::INTERFACE;
use crate::world::{TRANSIT, World};

/// Time of a message of any size, in picoseconds. `LAYER` is the time of a layer in both directions.
const MESSAGE: u64 = 60 + 2 * TRANSIT + 14;
const LAYER: u64 = 7000 + 11_000;

/// Returns a model of two layers, with three micro-batches a step.
fn model() -> TrainingSpec {
    TrainingSpec {
        layers: 2,
        hidden: 10,
        sequence: 40,
        micro_batches: 3,
        element_size: Bytes(1),
        forward_time: Time(7000),
        backward_time: Some(Time(11_000)),
        overlap: false,
        allreduce: Algorithm::Ring,
        alltoall: Algorithm::Pairwise,
        ..TrainingSpec::default()
    }
}

/// Returns the time of a ring allreduce of `ranks` ranks.
const fn ring(ranks: u64) -> u64 {
    2 * (ranks - 1) * MESSAGE
}

/// Runs a model. Returns the measured parts of a step by name: time from the first begin to the last end, the longest
/// time of a rank, and the lower bound, in picoseconds.
fn run(spec: TrainingSpec, ranks: u32) -> Vec<(String, u64, u64, Option<u64>)> {
    let programs = ProgramSpec::Training(spec).build(ranks, Path::new(".")).unwrap();
    let interface = NicParams { eager_limit: None, ..INTERFACE };
    let mut world = World::new(&programs, interface, &(0..ranks).collect::<Vec<_>>(), 1);
    world.run();
    assert_eq!(world.executors[0].progress().open, 0, "every rank ends");
    let of = |executor: &Executor| -> Vec<Interval> { executor.intervals().flat_map(|own| own.1.to_vec()).collect() };
    let intervals = of(&world.executors[0]);
    let fastest = Fastest {
        latency: MESSAGE,
        per_byte: 0.0,
        rails: RailUse::ONE,
        limits_receivers: true,
        within: FastestWithin::default(),
        networks: Vec::new(),
    };
    let measures = Arc::clone(&programs).measures(&fastest);
    let each = (0..).zip(measures).map(|(key, measure)| {
        let own = || intervals.iter().filter(|interval| interval.key == key);
        let span = own().map(|one| one.end).max().unwrap() - own().map(|one| one.start).min().unwrap();
        let longest = own().map(|one| one.end - one.start).max().unwrap();
        (measure.name, span, longest, measure.bound)
    });
    each.collect()
}

/// Returns the measurement with a name.
fn named(measured: &[(String, u64, u64, Option<u64>)], name: &str) -> (u64, u64, Option<u64>) {
    let own = measured.iter().find(|own| own.0 == name).unwrap_or_else(|| panic!("no {name}"));
    (own.1, own.2, own.3)
}

#[test]
fn gradients_come_behind_or_beside_what_is_calculated() {
    // Would catch a bucket of other layers, a bucket that begins before its last layer is complete, and a bucket that
    // waits for the step's end.
    let behind = run(model(), 4);
    assert_eq!(named(&behind, "step").0, 6 * LAYER + ring(4));
    assert_eq!(named(&behind, "compute"), (6 * LAYER, 6 * LAYER, Some(6 * LAYER)));
    assert_eq!(named(&behind, "gradient-allreduce"), (ring(4), ring(4), Some(MESSAGE)));
    // If each layer has one bucket, the first bucket is complete before the last layer.
    let beside = TrainingSpec { overlap: true, bucket_size: Bytes(1), ..model() };
    assert_eq!(named(&run(beside.clone(), 2), "step").0, 6 * LAYER + ring(2));
    let apart = TrainingSpec { overlap: false, ..beside };
    assert_eq!(named(&run(apart, 2), "step").0, 6 * LAYER + 2 * ring(2));
}

#[test]
fn tensors_and_tokens_are_exchanged_within_their_groups() {
    // Would catch a missing operation of a layer, an operation that is not waited for, and groups of other ranks.
    let tensor = run(TrainingSpec { tensor: 2, ..model() }, 2);
    assert_eq!(named(&tensor, "step").0, 6 * (LAYER + 4 * ring(2)));
    assert_eq!(named(&tensor, "tensor-allreduce"), (24 * ring(2), 24 * ring(2), Some(24 * MESSAGE)));
    assert!(tensor.iter().all(|own| own.0 != "gradient-allreduce"), "one replica has nothing to combine");
    let expert = run(TrainingSpec { expert: 4, ..model() }, 4);
    assert_eq!(named(&expert, "step").0, 6 * (LAYER + 4 * 3 * MESSAGE) + ring(4));
    assert_eq!(named(&expert, "expert-alltoall").1, 24 * 3 * MESSAGE);
}

#[test]
fn a_pipeline_fills_and_drains() {
    // Would catch a stage that waits for all micro-batches, a schedule that stands still, and stages in another order.
    for stages in [2_u32, 4] {
        let filling = u64::from(stages - 1);
        let spec = TrainingSpec { pipeline: stages, layers: stages, micro_batches: 1, ..model() };
        let exact = (1 + filling) * LAYER + 2 * filling * MESSAGE;
        let (step, _, bound) = named(&run(spec.clone(), stages), "step");
        assert_eq!((step, bound), (exact, Some(exact)));
        let many = run(TrainingSpec { micro_batches: 8, ..spec }, stages);
        let (step, _, bound) = named(&many, "step");
        let least = (8 + filling) * LAYER + 2 * filling * MESSAGE;
        assert_eq!(bound, Some(least));
        // A stage and the next wait for each other's messages at most twice a micro-batch.
        assert!(step >= least && step <= least + 2 * 8 * MESSAGE, "{step} {least}");
    }
}
