//! Molecular dynamics on whole systems: a step to the picosecond, and the same bytes for any number of threads and
//! partitions.

use crate::common::{digest, digest_of, result};
use crate::program::experiment;
use fabric::Grain;

#[test]
fn a_step_takes_its_calculation_and_its_exchanges() {
    // Would catch an exchange that begins before another has ended, a calculation that is divided wrongly, a layer of
    // another size, and a measure that is of something else.
    let program = "{ kind = \"lammps\", atoms_per_rank = 1000, steps = 3, density = 1, cutoff = 2, skin = 0.5, atom_time = \"10 ns\", \
                   rebuild_every = 9, thermo_every = 9 }";
    let point = result(&experiment("{ kind = \"single-switch\", ports = 8 }", program, ""));
    // Edges of 10, layers of 2.5, 24 bytes an atom and 2 ns a byte; overheads, links and the switch.
    let layers =
        [250.0 * 100.0 / 100.0, 2.5 * 10.0 * 15.0, 2.5 * 15.0 * 15.0].map(|atoms: f64| atoms.round() * 24.0 * 2.0);
    let each = 1009.0 + 503.0 + 50.0 + 110.0 + 13.0;
    let step = 10_000.0 + layers.iter().map(|bytes| 4.0 * (bytes + each)).sum::<f64>();
    let closed = point.closed().unwrap().clone();
    let time = closed.per_rank.iter().flatten().fold(0.0, |most: f64, &end| most.max(end));
    // What is handed over between two ticks is released at the next.
    assert!((time - 3.0 * step).abs() <= 3.0 * 12.0, "{time} {}", 3.0 * step);
    assert_eq!(closed.program.unwrap().program_messages, 8 * 3 * 12);
}

#[test]
fn any_division_gives_the_same_bytes() {
    // Would catch a count of atoms, a sum or a wait that depends on the order of an instant.
    let program = "{ kind = \"lammps\", deck = \"stouch\", atoms_per_rank = 40, steps = 4, rebuild_every = 2, thermo_every = 3, \
                   atom_time = \"50 ns\", version = \"fortran-2001\" }";
    let machines = [
        ("{ kind = \"torus\", dims = [4, 3] }", "placement = { strategy = \"random\", processes_per_node = 2 }"),
        ("{ kind = \"fat-tree\", k = 4, n = 2 }", ""),
    ];
    for (index, (topology, rest)) in machines.into_iter().enumerate() {
        let text = experiment(topology, program, rest).replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"600 B\" }");
        let (threads, grain) = [(2, Grain::Exactly(3)), (2, Grain::Fine)][index];
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}");
    }
}
