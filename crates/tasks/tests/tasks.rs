//! Task graphs: generators in closed form, readers on good and bad files.
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tasks::{
    GraphFormat, GraphSpec, Group, GroupKind, TaskGraph, beside, combine, parse_graph, read_graph, shuffled,
    write_metis,
};

fn build(text: &str) -> TaskGraph {
    text.parse::<GraphSpec>().expect("a spec").build(Path::new("."), 1).expect("a graph")
}

fn arcs(graph: &TaskGraph) -> usize {
    graph.phases.iter().map(|phase| phase.arcs.len()).sum()
}

fn members(graph: &TaskGraph) -> usize {
    graph.phases.iter().flat_map(|phase| &phase.groups).map(|group| group.members.len()).sum()
}

#[test]
fn generators_have_the_tasks_and_messages_of_their_closed_forms() {
    // Would catch an edge that is lost or doubled. Stencils: 2 D arcs a task if periodic, 2 D (1 - 1/n) if not;
    // products of extents of 2 have one neighbour each; 3^D - 1 neighbours with diagonals.
    assert_eq!(arcs(&build("stencil:4x5x6")), 6 * 120);
    assert_eq!(arcs(&build("stencil:4x5,periodic=false")), 2 * (3 * 5 + 4 * 4));
    let double = build("stencil:2x5");
    assert_eq!((arcs(&double), double.total_bytes()), (3 * 10, 4 * 10 * 1024));
    assert_eq!(arcs(&build("stencil:4x4x4,diagonal_bytes=8")), 26 * 64);
    // An extent of 1 has no neighbours, so that it changes nothing.
    let flat = |dims: &str| build(&format!("stencil:{dims},diagonal_bytes=8")).phases;
    assert_eq!(flat("4x1x4"), flat("4x4"));
    assert_eq!(arcs(&build("stencil:3x3x3x3,diagonal_bytes=8")), 80 * 81);
    // Matrix multiplication: in each of three phases n - 1 messages a task, of N^2 / n^3 elements.
    let matmul = build("matmul:4,matrix=64");
    assert_eq!((matmul.phases.len(), arcs(&matmul), matmul.total_bytes()), (3, 3 * 64 * 3, 3 * 64 * 3 * 64 * 8));
    // MILC: eight faces of 8^3 sites of 48 bytes.
    let milc = build("milc:4x4x3x3");
    assert_eq!((arcs(&milc), milc.total_bytes()), (8 * 144, 8 * 144 * 512 * 48));
    assert!(!milc.notes.is_empty());
}

#[test]
fn namd_has_the_papers_patches_and_computes() {
    // Would catch pairs that are counted twice: ApoA1 has 144 patches, 144 computes of a patch with itself and 13 x 144
    // = 1872 of pairs; every patch has 27 computes.
    let graph = build("namd:6x6x4");
    assert_eq!((graph.tasks(), arcs(&graph)), (144 + 144 + 1872, 2 * (144 + 2 * 1872)));
    assert!((0..144).all(|patch| graph.phases[0].arcs.of(patch).count() == 27));
    assert_eq!(graph.loads.iter().sum::<f64>(), 72.0 + 1872.0);
    let multicast = build("namd:6x6x4,multicast=true");
    assert_eq!((arcs(&multicast), members(&multicast)), (0, 2 * 144 * 27));
    assert_eq!(multicast.total_bytes(), graph.total_bytes());
    // Two patches away there are 5^3 - 1 partners.
    let halved = build("namd:12x12x8,away=2");
    assert_eq!((halved.tasks(), arcs(&halved)), (1152 * (2 + 62), 2 * 1152 * 125));
    assert!((0..1152).all(|patch| halved.phases[0].arcs.of(patch).count() == 125));
}

#[test]
fn openatom_talks_by_states_and_by_planes() {
    // Would catch states and planes mixed up: with S states, P and R planes and B blocks, 2 S P R messages of the
    // transpose, and a multicast and a reduction of 2 B - 1 calculators for each of S P elements.
    let graph = build("openatom:water-32,states=8,planes=3,real_planes=4,block=2");
    assert_eq!(graph.tasks(), 8 * 3 + 8 * 4 + 4 * 4 * 3);
    assert_eq!((arcs(&graph), members(&graph)), (2 * 8 * 3 * 4, 2 * 8 * 3 * 7));
    let gspace = graph.array("gspace").expect("an array");
    assert_eq!(gspace.dims, [8, 3]);
    let calculators = graph.array("paircalculators").expect("an array").first;
    // G(5, 2) is in block 2 and talks to calculators of plane 2 only, and by transpose to its own state.
    let element = 5 + 8 * 2;
    let group = graph.phases[1].groups.iter().find(|group| group.root == element).expect("a group");
    assert!(group.members.iter().all(|&member| (member - calculators) / 16 == 2));
    assert!(graph.phases[0].arcs.of(element).all(|(to, ..)| (to - 24) % 8 == 5));
}

#[test]
fn meshes_are_irregular_connected_in_the_main_and_drawn_from_the_seed() {
    // Would catch a mesh that is a grid, and a mesh that depends on anything but the seed.
    let (one, again) = (build("mesh:2500"), build("mesh:2500"));
    assert_eq!(one, again);
    assert!(one.tasks() > 2000 && one.tasks() < 2500 && one.positions.len() == 2 * one.tasks() as usize);
    let degrees: Vec<usize> = (0..one.tasks()).map(|task| one.phases[0].arcs.of(task).count()).collect();
    assert!(degrees.iter().max() > Some(&6) && degrees.iter().min() < Some(&3));
    let mean = degrees.iter().sum::<usize>() as f64 / degrees.len() as f64;
    // Of the lattice's 6 edge ends a point, nine in ten lead to an existing point.
    assert!((mean - 6.0 * 0.9).abs() < 0.4, "{mean}");
}

#[test]
fn spec_errors_say_what_is_allowed() {
    // Would catch a misspelt kind or key that is taken for another, and sizes that would take all memory.
    let error = |text: &str| match text.parse::<GraphSpec>() {
        Err(error) => error.to_string(),
        Ok(spec) => spec.build(Path::new("."), 1).expect_err(text).to_string(),
    };
    assert!(error("stensil:4x4").contains("did you mean `stencil`?"));
    assert!(error("stencil:4x4,perodic=false").contains("periodic"));
    assert!(error("stencil:4x4,bytes=-1").contains("bytes") || error("stencil:4x4,bytes=-1").contains("invalid"));
    assert!(error("stencil:0x4").contains("dims"));
    assert!(error("stencil:100000x100000").contains("tasks"));
    assert!(error("milc:4x4").contains('4'));
    assert!(error("openatom:water-32,block=7").contains("divides"));
    assert!(error("openatom:wter-32").contains("water-32"));
    assert!(error("namd:2x6x4").contains('3'));
    assert!(error("namd:6x6x4,away=2").contains('5'));
    assert!(error("namd:9x9x9,away=4").contains("1 to 3"));
    assert!(error("openatom:water-32,pair_load=-1").contains("negative"));
    assert!(error("missing.graph").contains("missing.graph"));
    assert!(error("random:1").contains("two"));
    assert!(error("stencil:4x4,bytes=0").contains("`bytes` is 0"));
    for huge in [
        "matmul:400",
        "stencil:90x90x90x90,diagonal_bytes=1",
        "openatom:water-32,states=1,block=1,planes=30000000,real_planes=30000000",
        "openatom:water-32,states=4000,block=1,planes=1,real_planes=1000000",
        "stencil:4,bytes=18446744073709551615",
        "matmul:2,matrix=18446744073709551615,element_bytes=18446744073709551615",
        "namd:6x6x4,atoms=18446744073709551615",
    ] {
        assert!(error(huge).contains("supported"), "{huge}: {}", error(huge));
    }
    assert!(error("nonsense").contains("kind of graph. Write"));
}

/// Returns the line that an error names.
fn line(text: &str, format: GraphFormat) -> Option<u64> {
    parse_graph(text.as_bytes(), format).expect_err(text).line
}

#[test]
fn metis_files_are_read_with_weights_and_held_to_their_rules() {
    // Would catch weights that are taken for neighbours, and invalid files that are accepted.
    let graph =
        parse_graph(b"% a triangle\n3 3 011\n5 2 7 3 8\n6 1 7 3 9\n4 1 8 2 9\n", GraphFormat::Metis).expect("a graph");
    assert_eq!((graph.loads.as_slice(), graph.total_bytes()), ([5.0, 6.0, 4.0].as_slice(), 2 * 24));
    let alone = parse_graph(b"3 1\n2\n1\n\n", GraphFormat::Metis).expect("a vertex without neighbours");
    assert_eq!((alone.tasks(), arcs(&alone)), (3, 2));
    for (text, place) in [
        ("", None),
        ("3\n", Some(1)),
        ("3 2 2\n2\n1 3\n2\n", Some(1)),
        ("2 1\n2\n1\n1\n", Some(4)),
        ("3 2\n2\n1 3\n", Some(3)),
        ("2 1\n1\n1\n", Some(2)),
        ("2 1\n5\n1\n", Some(2)),
        ("2 1 001\n2 -4\n1 -4\n", Some(2)),
        ("2 1 001\n2\n1 4\n", Some(2)),
        ("2 1 001\n2 0\n1 0\n", Some(2)),
        ("2 2\n2\n1\n", Some(1)),
        ("% c\n2 1 001\n2 3\n1 4\n", Some(3)),
        ("2 1 011 0\n1 2 3\n1 1 3\n", Some(1)),
        ("2 1 011 65\n1 2 3\n1 1 3\n", Some(1)),
        ("2 1 100\nx 2\n1 1\n", Some(2)),
        ("2 1 001\n2 9000000000000000000\n1 9000000000000000000\n", None),
        ("99999999999 1\n", Some(1)),
        ("2 1\nx\n1\n", Some(2)),
    ] {
        assert_eq!(line(text, GraphFormat::Metis), place, "{text:?}");
    }
}

#[test]
fn other_formats_are_read_and_held_to_their_rules() {
    // Would catch a matrix that is transposed, a triangle that is not mirrored, and a list whose header counts as an
    // edge.
    let sent = |graph: &TaskGraph| {
        graph.phases[0].arcs.iter().map(|(from, to, bytes, _)| (from, to, bytes)).collect::<Vec<_>>()
    };
    let market = b"%%MatrixMarket matrix coordinate integer general\n% c\n3 3 2\n1 2 7\n3 1 4.0\n";
    let graph = parse_graph(market, GraphFormat::MatrixMarket).expect("a graph");
    assert_eq!(sent(&graph), [(0, 1, 7), (2, 0, 4)]);
    let half = b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
    assert_eq!(sent(&parse_graph(half, GraphFormat::MatrixMarket).expect("a graph")), [(0, 1, 1), (1, 0, 1)]);
    let list = b"from,to,bytes,messages\n0,1,10,2\n# c\n1,0,5,1\n0,1,1,1\n";
    let graph = parse_graph(list, GraphFormat::Edges).expect("a graph");
    assert_eq!((sent(&graph), graph.phases[0].arcs.messages()[0]), (vec![(0, 1, 11), (1, 0, 5)], 3));
    let loads = b"from,to,bytes\ntask,4\n0,1,8\ntask,2,0.25\n";
    let graph = parse_graph(loads, GraphFormat::Edges).expect("a graph");
    assert_eq!((sent(&graph), graph.loads), (vec![(0, 1, 8)], vec![1.0, 1.0, 0.25, 1.0, 1.0]));
    let matrix = b"0 3 0\n1 0 2\n0,0,0\n";
    assert_eq!(sent(&parse_graph(matrix, GraphFormat::Matrix).expect("a graph")), [(0, 1, 3), (1, 0, 1), (1, 2, 2)]);
    for (text, format, place) in [
        ("nothing\n", GraphFormat::MatrixMarket, Some(1)),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n", GraphFormat::MatrixMarket, Some(2)),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n", GraphFormat::MatrixMarket, Some(3)),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n", GraphFormat::MatrixMarket, Some(3)),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1.5\n", GraphFormat::MatrixMarket, Some(3)),
        ("0,1,nan\n", GraphFormat::Edges, Some(1)),
        ("a b\n0 inf\n0 0\n", GraphFormat::Matrix, Some(2)),
        ("0 1\na b\n", GraphFormat::Matrix, Some(2)),
        ("0,0,4\n", GraphFormat::Edges, Some(1)),
        ("0,1\n", GraphFormat::Edges, Some(1)),
        ("0,1,-2\n", GraphFormat::Edges, Some(1)),
        ("0,1,2,0\n", GraphFormat::Edges, Some(1)),
        ("0,1,2,99999999999\n", GraphFormat::Edges, Some(1)),
        ("0,1,2000000000000000\n", GraphFormat::Edges, None),
        ("0,99999999999,1\n", GraphFormat::Edges, Some(1)),
        ("task,1,2,3\n", GraphFormat::Edges, Some(1)),
        ("0,1,2\ntask\n", GraphFormat::Edges, Some(2)),
        ("task,1,-1\n", GraphFormat::Edges, Some(1)),
        ("task,1,nan\n", GraphFormat::Edges, Some(1)),
        ("task,99999999999\n", GraphFormat::Edges, Some(1)),
        ("\n", GraphFormat::Edges, None),
        ("0 1\n1\n", GraphFormat::Matrix, Some(2)),
        ("1 0\n0 0\n", GraphFormat::Matrix, Some(1)),
        ("0 1\n", GraphFormat::Matrix, Some(1)),
    ] {
        assert_eq!(line(text, format), place, "{text:?}");
    }
}

#[test]
fn fractions_of_bytes_are_rounded_up_and_headers_skipped() {
    // Means of a profiler over steps. Would catch messages of less than a byte that vanish, and a row of names that
    // counts.
    let sent = |text: &str, format| arcs_of(&parse_graph(text.as_bytes(), format).expect(text));
    let want = vec![(0, 1, 1), (1, 0, 4)];
    assert_eq!(sent("rank0 rank1\n0 0.25\n3.5 0.0\n", GraphFormat::Matrix), want);
    assert_eq!(sent("src,dst,weight\n0,1,0.1\n1,0,3.2e0\n", GraphFormat::Edges), want);
    let market = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n2 1 3.001\n";
    assert_eq!(sent(market, GraphFormat::MatrixMarket), want);
}

#[test]
fn lists_have_groups() {
    // Would catch a group of another kind, members that are taken for edges, and tasks that only groups name and that
    // are lost.
    let graph = parse_graph(b"multicast,4,100,0,7\nreduction,1,1.5,2\n0,1,8\n", GraphFormat::Edges).unwrap();
    assert_eq!((graph.tasks(), arcs(&graph)), (8, 1));
    let group = |kind, root, members: &[u32], bytes| Group { kind, root, members: members.to_vec(), bytes };
    let expected = [group(GroupKind::Multicast, 4, &[0, 7], 100), group(GroupKind::Reduction, 1, &[2], 2)];
    assert_eq!(graph.phases[0].groups, expected);
    for wrong in ["multicast,1,8", "multicast,1", "reduction,1,8,2,2", "multicast,1,8,0,1", "multicast,1,8,x"] {
        assert_eq!(line(&format!("0,1,8\n{wrong}\n"), GraphFormat::Edges), Some(2), "{wrong}");
    }
}

#[test]
fn a_dense_matrix_is_read_from_csv_where_it_is_no_list() {
    // Would catch a matrix that is read as edges, and conversely: three columns may be either.
    let read = |text: &str| parse_graph(text.as_bytes(), GraphFormat::Edges);
    let ring = |size: u32| {
        let row =
            |from| (0..size).map(|to| u32::from(to == (from + 1) % size).to_string()).collect::<Vec<_>>().join(",");
        (0..size).map(|from| row(from) + "\n").collect::<String>()
    };
    for size in [2, 4, 5, 9] {
        let want: Vec<(u32, u32, u64)> = (0..size).map(|from| (from, (from + 1) % size, 1)).collect();
        assert_eq!(arcs_of(&read(&ring(size)).expect("a matrix")), want, "{size}");
    }
    assert_eq!(arcs_of(&read("r0,r1\n0,2.5\n0,0\n").expect("a matrix")), [(0, 1, 3)]);
    for list in
        ["0,1,2\n2,0,1\n1,2,1\n", "from,to,bytes\n0,1,2\n1,0,3\n2,1,0\n", "task,4\n0,1,2\n", "0,1,2,1\n1,0,2,1\n"]
    {
        assert!(arcs(&read(list).expect(list)) >= 1 && arcs_of(&read(list).expect(list))[0] == (0, 1, 2), "{list}");
    }
    let error = read(&ring(3)).expect_err("either").to_string();
    assert!(error.contains("`from,to,bytes`") && error.contains(".txt"), "{error}");
    for (text, wrong) in [
        ("0,1,1,1,1\n1,0,1,1,1\n", "line 2: the matrix has 2 rows and 5 columns"),
        ("0\t1\n1\t2\n2\t0\n", "line 3: the matrix has more than 2 rows and 2 columns"),
        ("0 1\n1 2 3\n", "line 2: row 2 has 3 values, and the matrix 2 columns"),
    ] {
        for format in [GraphFormat::Edges, GraphFormat::Matrix] {
            let error = parse_graph(text.as_bytes(), format).expect_err(text).to_string();
            assert!(error.contains(wrong) && error.contains("lists edges"), "{error}");
        }
    }
}

/// Returns the arcs of a graph's first phase: from, to, bytes.
fn arcs_of(graph: &TaskGraph) -> Vec<(u32, u32, u64)> {
    graph.phases[0].arcs.iter().map(|(from, to, bytes, _)| (from, to, bytes)).collect()
}

/// Returns a NumPy file of format 1.0.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn arrays_of_numpy_are_read() {
    // Would catch a matrix that is transposed, the other order of bytes, and arrays that are accepted although they are
    // not matrices.
    let header = |descr: &str, order: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}   \n")
    };
    let real: Vec<u8> = [0.0, 2.5, 7.0, 0.0_f64].iter().flat_map(|value| value.to_le_bytes()).collect();
    let whole: Vec<u8> = [0, 3, 7, 0_u16].iter().flat_map(|value| value.to_be_bytes()).collect();
    let read = |file: &[u8]| parse_graph(file, GraphFormat::Npy);
    for (order, want) in [("False", [(0, 1, 3), (1, 0, 7)]), ("True", [(0, 1, 7), (1, 0, 3)])] {
        for (descr, data) in [("<f8", &real), (">u2", &whole)] {
            assert_eq!(arcs_of(&read(&npy(&header(descr, order, "(2, 2)"), data)).expect(descr)), want);
        }
    }
    let good = header("<f8", "False", "(2, 2)");
    for (file, why) in [
        (b"0 1\n1 0\n".to_vec(), "no NumPy array"),
        (npy(&good, &real[1..]), "31 bytes"),
        (npy(&header("<f8", "False", "(4,)"), &real), "1 dimension;"),
        (npy(&header("<f8", "False", "(1, 4)"), &real), "square"),
        (npy(&header("<c8", "False", "(2, 2)"), &real), "type `<c8`"),
        (npy("{}", &real), "no `descr`"),
        (npy(&good, &[1.0, 0.0, 0.0, 0.0_f64].map(f64::to_le_bytes).concat()), "sends to itself"),
        (npy(&good, &[0.0, -1.0, 0.0, 0.0_f64].map(f64::to_le_bytes).concat()), "row 0, column 1: -1"),
        (npy(&good, &[0.0, f64::NAN, 0.0, 0.0].map(f64::to_le_bytes).concat()), "NaN"),
    ] {
        let error = read(&file).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Dump made with charm4py 1.1 (Charm++ 8.0.1): eight elements of an array on two processors, element i sends 100 (i +
/// 1) bytes to the next and 50 to the previous one, nine times until the step that was dumped.
const DUMP: &[u8] = include_bytes!("data/ring.lbdump");

#[test]
fn a_dump_of_charm_is_what_charm_prints_of_it() {
    // Would catch an object that may not migrate taken for a task, records that are cut wrongly, and senders that are
    // processors.
    let graph = parse_graph(DUMP, GraphFormat::CharmLb).expect("a dump");
    let next = [2448, 3312, 4176, 5184, 6048, 6912, 7776, 8784];
    let ring = (0..8_u32).flat_map(|task| [(task, (task + 1) % 8, next[task as usize]), (task, (task + 7) % 8, 2016)]);
    let mut expected: Vec<(u32, u32, u64)> = ring.collect();
    expected.sort_unstable();
    assert_eq!(arcs_of(&graph), expected);
    assert!(graph.phases[0].arcs.iter().all(|(.., messages)| messages == 9));
    let seconds = [0.012871, 0.033387, 0.124610, 0.009767, 0.112771, 0.139322, 0.128755, 0.072804];
    assert!(graph.loads.iter().zip(seconds).all(|(load, printed)| (load - printed).abs() < 1e-6), "{:?}", graph.loads);
}

#[test]
fn a_dump_that_does_not_fit_is_refused() {
    // Would catch records of another release that are taken for something else, and a panic at the end of a file.
    for length in 0..DUMP.len() {
        parse_graph(&DUMP[..length], GraphFormat::CharmLb).expect_err("a part of a dump");
    }
    let with = |at: usize, byte: u8| {
        let mut dump = DUMP.to_vec();
        dump[at] = byte;
        dump
    };
    for (dump, why) in [
        (with(0, 0), "does not begin as one"),
        (with(10, 0), "64 bits and little-endian"),
        (with(16, 2), "its version is 2"),
        (with(24, 9), "8 objects may migrate, where 9 may"),
        (with(28, 3), "3 processors, where there are 2"),
        (with(35, 1), "processors, and room for"),
        (with(68, 7), "7 is neither 0 nor 1"),
        (with(69, 6), "9 objects, where its processors have 10"),
        (with(73, 2), "there is no processor 2 of 2"),
        ([DUMP, b"x"].concat(), "1 byte is left"),
    ] {
        let error = parse_graph(&dump, GraphFormat::CharmLb).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn multicasts_of_a_dump_go_to_each_member() {
    // Would catch members that are left out, and a multicast whose length is read wrongly.
    let first = DUMP.windows(4).position(|bytes| bytes == [0xff; 4]).expect("a record");
    let (sender, receiver) = (first + 4..first + 16, first + 17..first + 29);
    let mut dump = DUMP[..first + 16].to_vec();
    dump.push(3);
    dump.extend(2_u64.to_le_bytes());
    dump.extend(&DUMP[receiver]);
    dump.extend(&DUMP[sender]);
    dump.extend(&DUMP[first + 33..]);
    let graph = parse_graph(&dump, GraphFormat::CharmLb).expect("a dump");
    assert_eq!(arcs_of(&graph), arcs_of(&parse_graph(DUMP, GraphFormat::CharmLb).expect("a dump")));
}

#[test]
fn several_graphs_are_one() {
    // Would catch weights that are lost, tasks of two applications that are mixed up, and arrays that hide one another.
    let (grid, line, multicast) = (build("stencil:4x4"), build("stencil:16"), build("namd:3x3x3,multicast=true"));
    let both = combine(&[grid.clone(), line.clone()], &[1.0, 3.0]).expect("a graph");
    assert_eq!((both.tasks(), both.total_bytes()), (16, grid.total_bytes() + line.total_bytes()));
    assert_eq!(both.phases.iter().map(|phase| phase.weight).collect::<Vec<_>>(), [1.0, 3.0]);
    assert_eq!(both.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["step", "step-2"]);
    assert!(both.phases[1].arcs == line.phases[0].arcs && both.loads == [2.0; 16]);
    for (graphs, weights) in [(vec![], vec![]), (vec![grid.clone()], vec![0.0]), (vec![grid.clone()], vec![f64::NAN])] {
        combine(&graphs, &weights).expect_err("bad weights");
    }
    combine(&[grid.clone(), line.clone()], &[1.0]).expect_err("a weight is missing");
    let error = combine(&[grid.clone(), multicast.clone()], &[1.0, 1.0]).expect_err("other tasks");
    assert!(error.to_string().contains("16 tasks"), "{error}");

    let joint = beside(&[grid.clone(), multicast.clone(), line.clone()]).expect("a graph");
    assert_eq!((joint.tasks(), joint.phases.len()), (16 + 405 + 16, 2));
    assert_eq!(joint.total_bytes(), grid.total_bytes() + multicast.total_bytes() + line.total_bytes());
    assert_eq!(joint.array("grid-2").map(|array| array.first), Some(16 + 405));
    let owner = |task: u32| u32::from(task >= 16) + u32::from(task >= 16 + 405);
    assert!(joint.phases[0].arcs.iter().all(|(from, to, ..)| owner(from) == owner(to)));
    let groups = joint.phases.iter().flat_map(|phase| &phase.groups);
    assert!(groups.clone().count() == 54 && groups.clone().all(|group| owner(group.root) == 1));
    assert!(groups.flat_map(|group| &group.members).all(|&member| owner(member) == 1));
    let mut critical = line.clone();
    critical.phases[0].weight = 2.0;
    beside(&[grid, critical]).expect_err("weights differ");
    beside(&[]).expect_err("nothing");
}

/// Returns the path of a real graph, if the graphs are present.
fn data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CUTTHROUGH_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join("graphs").join(name);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

#[test]
fn real_graphs_are_read() {
    // Would catch faults that fixtures do not show: edges as the files' first lines count them.
    for (name, tasks, edges) in [
        ("4elt.graph", 15_606, 45_878),
        ("4elt_q512.graph", 512, 1_369),
        ("lulesh_1000.graph", 1_000, 11_468),
        ("minife_1024.graph", 1_024, 11_636),
        ("cloverleaf_1152.graph", 1_152, 3_385),
    ] {
        let Some(path) = data(name) else { return };
        let graph = read_graph(&path, name, None).expect(name);
        assert_eq!((graph.tasks(), arcs(&graph)), (tasks, 2 * edges), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_again(tasks in 2_u32..40, degree in 1_u32..4, seed in any::<u64>()) {
        // Would catch a weight, an edge or a load that is lost.
        let spec: GraphSpec = format!("random:{tasks},degree={degree},bytes=50").parse().expect("a spec");
        let mut graph = spec.build(Path::new("."), seed).expect("a graph");
        graph.loads.iter_mut().zip(0..).for_each(|(load, task)| *load = f64::from(task % 3));
        let again = parse_graph(write_metis(&graph).as_bytes(), GraphFormat::Metis).expect("a graph");
        prop_assert_eq!(&again.loads, &graph.loads);
        prop_assert_eq!(&again.phases[0].arcs.bytes(), &graph.phases[0].arcs.bytes());
        prop_assert_eq!(&again.phases[0].arcs.targets(), &graph.phases[0].arcs.targets());
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[0-9 ,.\\n%-]{0,80}") {
        // Would catch a panic, or memory allocated for a number that a line only claims.
        for format in [GraphFormat::Metis, GraphFormat::MatrixMarket, GraphFormat::Edges, GraphFormat::Matrix] {
            let _ = parse_graph(&bytes, format);
            let _ = parse_graph(text.as_bytes(), format);
        }
    }

    #[test]
    fn shuffling_keeps_the_graph(seed in any::<u64>()) {
        // Would catch loads that are not moved when tasks are renumbered.
        let graph = build("stencil:4x3,periodic=false");
        let other = shuffled(&graph, seed);
        prop_assert_eq!(other.total_bytes(), graph.total_bytes());
        prop_assert_eq!(other.phases[0].arcs.asymmetric(), None);
        let degrees = |graph: &TaskGraph| {
            let mut all: Vec<usize> = (0..graph.tasks()).map(|task| graph.phases[0].arcs.of(task).count()).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(degrees(&other), degrees(&graph));
    }
}

#[test]
fn what_is_listed_twice_or_left_out_is_noted() {
    // Would catch pairs and groups that are added up, and weights that are left out, without a note.
    for (text, format, note) in [
        ("0,1,1000\n1,0,5\n0,1,1000\n", GraphFormat::Edges, "1 entry is for a pair"),
        ("multicast,0,8,1,2\nmulticast,0,8,1,2\n", GraphFormat::Edges, "1 group is listed before"),
        (
            "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 8\n1 2 8\n2 3 9\n",
            GraphFormat::MatrixMarket,
            "1 entry is for a pair",
        ),
        ("2 2 001\n2 8 2 8\n1 8 1 8\n", GraphFormat::Metis, "2 entries are for a pair"),
        ("2 1 011 2\n5 7 2 8\n6 7 1 8\n", GraphFormat::Metis, "1 further weight of each vertex is left out"),
        ("2 1 101\n5 2 8\n6 1 8\n", GraphFormat::Metis, "1 size of each vertex is left out"),
    ] {
        let graph = parse_graph(text.as_bytes(), format).expect(text);
        assert!(graph.notes.iter().any(|found| found.starts_with(note)), "{text}: {:?}", graph.notes);
    }
    assert!(parse_graph(b"0,1,8\n1,0,8\n", GraphFormat::Edges).unwrap().notes.is_empty());
}

#[test]
fn a_heading_in_a_comment_is_obeyed_and_a_decimal_comma_refused() {
    // Would catch arcs in the wrong direction, messages that are taken for bytes, a remark about the format that is
    // taken for a heading, and a row that has two separators.
    let sent = |text: &str| arcs_of(&parse_graph(text.as_bytes(), GraphFormat::Edges).expect(text));
    assert_eq!(sent("# dst,src,bytes\n1,0,1000\n2,1,50\n"), [(0, 1, 1000), (1, 2, 50)]);
    assert_eq!(sent("# src dst messages bytes\n1 0 5 1000\n"), [(1, 0, 1000)]);
    assert_eq!(sent("# from,to,bytes[,messages]\n1,0,1000,2\n"), [(1, 0, 1000)]);
    assert!(parse_graph(b"0;1;1000,5\n", GraphFormat::Edges).is_err());
}
