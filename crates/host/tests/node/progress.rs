//! Progress of programs: what is known of their operations beforehand, and what has ended.

use std::path::Path;

use apps::motifs::{
    CollectiveSpec, FftSpec, GoalSpec, HaloSpec, IncastSpec, LammpsSpec, ProgramSpec, SweepSpec, TrainingSpec,
};
use host::NicParams;
use mpi::collectives::Operation;
use units::Time;

use crate::times::INTERFACE;
use crate::world::World;

#[test]
fn all_that_communicates_is_known_beforehand_and_has_ended_at_the_end() {
    // Would catch progress that is complete before the run, as calculations, polls and probes count for messages, and
    // progress that never gets there.
    let grid = || Some(vec![4, 2]);
    let collective = |operation, compute| CollectiveSpec { operation, compute, iterations: 3, ..Default::default() };
    let calculates = Time(1_000_000);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let programs = [
        ProgramSpec::Training(TrainingSpec { tensor: 2, pipeline: 2, layers: 2, hidden: 8, ..TrainingSpec::default() }),
        ProgramSpec::Collective(CollectiveSpec { overlap: true, ..collective(Operation::Allreduce, calculates) }),
        ProgramSpec::Collective(collective(Operation::Alltoall, Time(0))),
        ProgramSpec::Collective(collective(Operation::Barrier, calculates)),
        ProgramSpec::Halo2d(HaloSpec { dims: grid(), compute: calculates, ..HaloSpec::default() }),
        ProgramSpec::Sweep(SweepSpec { dims: grid(), compute: calculates, ..SweepSpec::default() }),
        ProgramSpec::Fft(FftSpec { dims: grid(), compute: calculates, ..FftSpec::default() }),
        ProgramSpec::Incast(IncastSpec::default()),
        ProgramSpec::Lammps(LammpsSpec { steps: 30, ..LammpsSpec::default() }),
        ProgramSpec::Goal(GoalSpec { file: "pipeline.goal".into() }),
    ];
    for spec in programs {
        let ranks = if matches!(spec, ProgramSpec::Goal(_)) { 4 } else { 8 };
        let programs = spec.build(ranks, &examples).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
        let nodes: Vec<u32> = (0..ranks).collect();
        let mut world = World::new(&programs, NicParams { eager_limit: None, ..INTERFACE }, &nodes, 1);
        world.run();
        let progress = world.executors[0].progress();
        assert_eq!((progress.open, progress.communicated()), (0, programs.operations()), "{spec:?}");
        assert!(progress.communicated() > 0, "{spec:?}");
    }
}
