//! Molecular dynamics: the messages between ranks, compared with geometry and with a real LAMMPS.

use std::path::Path;
use std::sync::Arc;

use apps::motifs::{LammpsDeck, LammpsSpec, LammpsVersion, ProgramSpec};
use mpi::program::{Messages, Programs};
use units::Time;

fn build(spec: &LammpsSpec, ranks: u32) -> Arc<dyn Programs> {
    ProgramSpec::Lammps(spec.clone()).build(ranks, Path::new(".")).unwrap()
}

fn messages(spec: &LammpsSpec, ranks: u32) -> Vec<Messages> {
    let mut found = Vec::new();
    build(spec, ranks).messages_of(0, &mut |own| found.push(own));
    found
}

/// Returns a run of steps without rebuilding, sums or checks.
fn plain(spec: LammpsSpec) -> LammpsSpec {
    LammpsSpec { steps: 1, rebuild_every: Some(100), thermo_every: Some(100), check: Some(false), ..spec }
}

#[test]
fn ghosts_are_those_of_a_layer_around_a_part() {
    // Would catch corners that are left out or counted twice, another density, forces that are not returned, and bytes
    // of another number of coordinates. A real LAMMPS of 32,000 atoms has 19,657 ghosts after 100 steps.
    let layer = |density: f64, atoms: f64, reach: f64| {
        let edge = (atoms / density).cbrt();
        density * ((edge + 2.0 * reach).powi(3) - edge.powi(3))
    };
    let ghosts = |spec: LammpsSpec, ranks| {
        messages(&plain(spec), ranks).iter().map(|own| own.bytes * own.count).sum::<u64>() as f64 / 24.0
    };
    let lj = LammpsSpec { newton: false, ..LammpsSpec::default() };
    let exact = layer(0.8442, 32_000.0, 2.8);
    assert!((ghosts(lj.clone(), 8) - exact).abs() < 6.0);
    assert!((exact / 19_657.0 - 1.0).abs() < 0.05);
    assert!((ghosts(LammpsSpec { newton: true, ..lj.clone() }, 8) - 2.0 * exact).abs() < 12.0);
    // With two ranks only one dimension has messages: two faces. It is the last dimension, so that it includes the
    // rank's ghosts of the others.
    let face = 0.8442 * 2.8 * ((32_000_f64 / 0.8442).cbrt() + 5.6).powi(2);
    assert!((ghosts(lj, 2) - 2.0 * face).abs() < 2.0);
    // The parts are thinner than forces reach: the layer spans several ranks.
    let thin =
        LammpsSpec { deck: LammpsDeck::Stouch, atoms_per_rank: Some(100), newton: false, ..LammpsSpec::default() };
    assert!((ghosts(thin, 27) - layer(0.1, 100.0, 12.0)).abs() < 10.0);
    // A box of fixed size has an equal number of atoms whatever the number of ranks.
    let fixed = LammpsSpec { atoms: Some(256_000), newton: false, ..LammpsSpec::default() };
    assert!((ghosts(fixed, 8) - exact).abs() < 6.0);
}

#[test]
fn a_step_has_the_messages_that_its_parts_ask_for() {
    // Would catch a rebuilding at another step, numbers of atoms that are not sent before atoms, a neighbour on both
    // sides that gets a message twice, and sums that no deck has.
    let spec = |steps| LammpsSpec { steps, rebuild_every: Some(2), thermo_every: Some(4), ..LammpsSpec::default() };
    let count = |spec: &LammpsSpec, ranks| build(spec, ranks).operations() / (2 * u64::from(ranks));
    // Positions and forces, by six exchanges.
    assert_eq!(count(&spec(1), 8), 12);
    // At a rebuilding: two exchanges for each dimension of two ranks, numbers and ghosts by six exchanges, and forces.
    assert_eq!(count(&spec(2), 8), 12 + 3 * 2 + 2 * 6 + 6);
    assert_eq!(count(&spec(2), 27), 12 + 3 * 4 + 2 * 6 + 6);
    // Four sums over eight ranks by recursive doubling, three messages each.
    assert_eq!(count(&spec(4), 8), 2 * (12 + 3 * 2 + 2 * 6 + 6) + 4 * 3);
    let checks = LammpsSpec { deck: LammpsDeck::Stouch, ..spec(1) };
    assert_eq!(count(&checks, 8), 12 + 3);
    assert_eq!(build(&spec(4), 1).operations(), 0);
    let rebuilt = |version| {
        let spec = LammpsSpec { version, steps: 1, rebuild_every: Some(1), newton: false, ..LammpsSpec::default() };
        messages(&spec, 8).iter().map(|own| own.bytes).max().unwrap()
    };
    assert_eq!(rebuilt(LammpsVersion::Fortran2001) * 6, rebuilt(LammpsVersion::Cpp2005) * 5);
}

#[test]
fn what_cannot_be_simulated_is_refused_at_its_key() {
    // Would catch a panic, a part that forces reach across a hundred times, and a time that overflows.
    let base = LammpsSpec::default;
    let cases = [
        (LammpsSpec { dims: Some(vec![2, 2]), ..base() }, "dims"),
        (LammpsSpec { dims: Some(vec![2, 2, 3]), ..base() }, "dims"),
        (LammpsSpec { atoms: Some(1), cutoff: Some(40.0), ..base() }, "atoms"),
        (LammpsSpec { atoms: Some(1), atoms_per_rank: Some(1), ..base() }, "atoms"),
        (LammpsSpec { atoms_per_rank: Some(1), cutoff: Some(1e6), ..base() }, "atoms_per_rank"),
        (LammpsSpec { density: Some(f64::NAN), ..base() }, "density"),
        (LammpsSpec { skin: Some(-1.0), ..base() }, "skin"),
        (LammpsSpec { atom_time: Some(Time(1 << 50)), ..base() }, "atom_time"),
        (LammpsSpec { atom_time: Some(Time(1 << 40)), atoms: Some(1 << 39), ..base() }, "atom_time"),
        (LammpsSpec { steps: 1 << 24, ..base() }, "steps"),
        (LammpsSpec { allreduce: mpi::collectives::Algorithm::Bruck, ..base() }, "allreduce"),
    ];
    for (spec, key) in cases {
        let error = ProgramSpec::Lammps(spec.clone()).build(8, Path::new(".")).unwrap_err();
        assert_eq!(error.key, key, "{spec:?}: {}", error.message);
    }
}
