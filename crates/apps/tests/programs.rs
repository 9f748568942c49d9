//! Programs: GOAL text, and the messages of motifs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apps::message_driven::{DrivenSpec, MessageDriven};
use apps::motifs::{
    CallsSpec, ChakraSpec, CollectiveSpec, FftSpec, GoalSpec, HaloSpec, IncastSpec, LammpsDeck, LammpsSpec,
    ProgramSpec, SweepSpec, TraceSpec, TrainingSpec,
};
use mpi::collectives::{Algorithm, Operation, Selection, algorithms};
use mpi::communicator::Interconnect;
use mpi::program::{Action, Context, Ended, GroupCall, Matched, Op, ProgramGroup, Programs, stridden};
use mpi::schedule::{ScheduleBuilder, goal};
use proptest::prelude::*;
use tasks::{ArcList, Group, GroupKind, Phase, TaskGraph};
use units::Bytes;

#[test]
fn a_goal_text_is_read_as_it_is_meant() {
    // Would catch nanoseconds taken for picoseconds, a label of another rank, and a comment that is read.
    let text = "num_ranks 2 // two\nrank 0 {\nl1: calc 100 cpu 0\nl2 requires l1 /* the label\ncomes later */\n\
                l2: send 8b to 1 tag 3 cpu 0 nic 0\n}\nrank 1 { l1: recv 10b from any tag any\n l2: calc 1.25\n l2 irequires l1 }";
    let mut builder = ScheduleBuilder::new(2);
    let (calc, send) = (builder.calc(0, 100_000), builder.send(0, 1, 8, 3));
    builder.requires(send, calc);
    let (recv, beside) = (builder.recv_any(1, None, 10, None), builder.calc(1, 1250));
    builder.irequires(beside, recv);
    assert_eq!(goal::read(text).unwrap(), builder.build().unwrap());
}

#[test]
fn what_is_wrong_with_a_goal_text_has_its_line() {
    // Would catch a panic, a line that is silently skipped, and an error without a position.
    let cases = [
        ("", "line 1: there is no `num_ranks`"),
        ("rank 0 {\n}", "line 1: `num_ranks` has to come first"),
        ("num_ranks 0", "line 1: 0 ranks: 1 to 16777216 are allowed"),
        ("num_ranks 2\nrank 2 {\n}", "line 2: there is no rank 2: 0 to 1 are allowed"),
        ("num_ranks 2\nrank 0 {\nl1: send 8 to 1 tag 0\n}", "line 3: `8` is not a size: bytes are written as `8b`"),
        ("num_ranks 2\nrank 0 {\nl1: send 8b to 5 tag 0\n}", "line 3: there is no rank 5: 0 to 1 are allowed"),
        ("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag any\n}", "line 3: `tag any` is for receives"),
        (
            "num_ranks 1\nrank 0 {\nl1: calc 0.1234\n}",
            "line 3: `0.1234` is not a time in nanoseconds, of three decimals at most",
        ),
        ("num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", "line 4: label `l1` comes twice in rank 0"),
        ("num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\n}", "line 4: rank 0 has no label `l2`"),
        ("num_ranks 2\nrank 1 {\n}", "line 3: rank 0 of 2 has no section; one without operations is `rank 0 { }`"),
        ("num_ranks 1\nrank 0 {\nl1: calc 1", "line 3: the last rank has no closing `}`"),
    ];
    for (text, message) in cases {
        assert_eq!(goal::read(text).unwrap_err().to_string(), message, "{text}");
    }
    let unmatched = "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 0\n}\nrank 1 { }";
    assert!(goal::read(unmatched).unwrap_err().to_string().contains("has 0 receives for them"));
    assert!(goal::read("num_ranks 1\nrank 0 {\nfly 3\n}").unwrap_err().to_string().starts_with("line 3: `fly 3`: "));
}

proptest! {
    #[test]
    fn a_schedule_that_is_written_is_read_again(
        messages in prop::collection::vec((0_u32..3, 0_u32..3, 0_u32..4, 0_u64..9000, any::<bool>()), 0..12),
        lanes in prop::collection::vec((0_u8..3, 0_u8..3), 3),
    ) {
        // Would catch an operation, a requirement, a processor or an interface that is not written, or is read
        // differently.
        let mut builder = ScheduleBuilder::new(3);
        let mut last = [None; 3];
        for (from, to, tag, size, starts) in messages {
            let pair = [(from, builder.send(from, to, size, tag)), (to, builder.recv(to, from, size, tag))];
            let calc = (from, builder.calc(from, size));
            for (rank, op) in [pair[0], calc, pair[1]] {
                builder.on(op, lanes[rank as usize].0, if op == calc.1 { 0 } else { lanes[rank as usize].1 });
                if let Some(before) = last[rank as usize].replace(op) {
                    if starts { builder.irequires(op, before) } else { builder.requires(op, before) }
                }
            }
        }
        if let Ok(schedule) = builder.build() {
            prop_assert_eq!(goal::read(&goal::write(&schedule)).unwrap(), schedule);
        }
    }
}

#[test]
fn a_file_of_another_kind_of_program_is_refused_with_its_kind() {
    // Would catch a reader that meets the file of another kind and says only that it understands nothing.
    let spec = |kind: &str, file: PathBuf| match kind {
        "goal" => ProgramSpec::Goal(GoalSpec { file }),
        "calls" => ProgramSpec::Calls(CallsSpec { file }),
        "trace" => ProgramSpec::Trace(TraceSpec { file, wildcards: false, compute_scale: 1.0 }),
        _ => ProgramSpec::Chakra(ChakraSpec { file, compute_scale: 1.0, ops_per_second: None, groups: None }),
    };
    for kind in ["goal", "calls", "trace", "chakra"] {
        for (name, of) in [
            ("a.goal", "goal"),
            ("a.calls", "calls"),
            ("a.trace", "trace"),
            ("a.0.et", "chakra"),
            ("a.0.json", "chakra"),
        ] {
            let error = spec(kind, name.into()).build(2, Path::new("nowhere")).unwrap_err().to_string();
            let refused = error.contains(&format!("{name}: `kind = \"{of}\"` reads such files"));
            assert_eq!(refused, kind != of, "{kind}: {error}");
        }
    }
}

fn build(spec: &ProgramSpec, ranks: u32) -> Arc<dyn Programs> {
    spec.build(ranks, Path::new(".")).unwrap()
}

/// Returns the numbers of messages that a program declares, by sender and receiver.
fn said(programs: &dyn Programs) -> BTreeMap<(u32, u32), u64> {
    let mut pairs = BTreeMap::new();
    programs.each_message(&mut |messages| *pairs.entry((messages.from, messages.to)).or_default() += messages.count);
    pairs
}

/// Iterates over the operations of a burst among `ranks` ranks.
fn each(op: Op, ranks: u32) -> impl Iterator<Item = Op> {
    (0..op.count).map(move |number| {
        let other = |rank| stridden(rank, (op.stride, number), ranks);
        let action = match op.action {
            Action::Send { to, bytes, tag, context } => Action::Send { to: other(to), bytes, tag, context },
            Action::Recv { from, bytes, tag, context } => Action::Recv { from: from.map(other), bytes, tag, context },
            alone => alone,
        };
        Op { count: 1, action, ..op }
    })
}

/// Posted receive: the rank, its request, source and tag if they are given, and the context.
type Posted = (u32, u32, Option<u32>, Option<u32>, Context);

/// Runs a program whose messages arrive as soon as they are sent. Returns the numbers of messages by sender and
/// receiver, the number of operations that never end, and the total time of calculations.
fn sent(programs: &Arc<dyn Programs>) -> (BTreeMap<(u32, u32), u64>, usize, u64) {
    let ranks_of = programs.ranks();
    let mut ranks: Vec<_> = (0..ranks_of).map(|rank| Arc::clone(programs).rank(rank)).collect();
    let (mut pairs, mut starts, mut open) = (BTreeMap::new(), Vec::new(), Vec::new());
    // Posted receives, and in `messages` unexpected messages: sender, receiver, tag, context.
    let mut receives: Vec<Posted> = Vec::new();
    let mut messages: Vec<(u32, u32, u32, Context)> = Vec::new();
    for (rank, program) in (0..).zip(&mut ranks) {
        program.begin(0, &mut starts).unwrap();
        open.extend(starts.drain(..).flat_map(|op| each(op, ranks_of)).map(|op| (rank, op)));
    }
    let (mut left, mut computed) = (0, 0);
    let (groups, mut posted) = (programs.groups(), Vec::new());
    // Number of operations called, by rank and context.
    let mut called: BTreeMap<(u32, Context), u32> = BTreeMap::new();
    while !open.is_empty() {
        let (rank, op) = open.remove(0);
        let mut ended = Vec::new();
        match op.action {
            Action::Calc { time } | Action::Kernel { time } => {
                computed += time;
                ended.push((rank, op.id, None));
            }
            Action::Poll | Action::Probe { .. } | Action::OnNic(_) => ended.push((rank, op.id, None)),
            Action::Send { to, tag, context, .. } => {
                *pairs.entry((rank, to)).or_default() += 1;
                ended.push((rank, op.id, None));
                messages.push((rank, to, tag, context));
                left += 1;
            }
            Action::Recv { from, tag, context, .. } => receives.push((rank, op.id, from, tag, context)),
            // The call of the last member ends the operation for all members that have called it.
            Action::Group(call) => {
                let of = |group: &&ProgramGroup| group.context == call.context && group.ranks.contains(&rank);
                let group = groups.iter().find(of).expect("a group that is not listed");
                let number = called.entry((rank, call.context)).or_default();
                let operation = (call, *number);
                *number += 1;
                posted.push((rank, op.id, operation));
                let is_own = |own: &(u32, u32, (GroupCall, u32))| own.2 == operation && group.ranks.contains(&own.0);
                if posted.iter().filter(|own| is_own(own)).count() == group.ranks.len() {
                    ended.extend(posted.iter().filter(|own| is_own(own)).map(|&(rank, id, _)| (rank, id, None)));
                    posted.retain(|own| !is_own(own));
                }
            }
        }
        while let Some((receive, message)) = receives.iter().enumerate().find_map(|(receive, own)| {
            let fits = |message: &(u32, u32, u32, Context)| {
                message.1 == own.0
                    && own.2.is_none_or(|from| from == message.0)
                    && own.3.is_none_or(|tag| tag == message.2)
                    && own.4 == message.3
            };
            Some((receive, messages.iter().position(fits)?))
        }) {
            let (rank, id, ..) = receives.remove(receive);
            let (source, _, tag, _) = messages.remove(message);
            ended.push((rank, id, Some(Matched { source, tag, bytes: 1 })));
            left -= 1;
        }
        for (rank, id, matched) in ended {
            ranks[rank as usize].ended(&Ended { id, at: 0, matched, count: 1 }, &mut starts).unwrap();
            open.extend(starts.drain(..).flat_map(|op| each(op, ranks_of)).map(|op| (rank, op)));
        }
    }
    (pairs, left + receives.len() + posted.len(), computed)
}

#[test]
fn motifs_send_what_they_say_and_end() {
    // Would catch a message without a receive, a message that is not counted, and a rank that waits for ever.
    let halo = HaloSpec { iterations: 3, ..HaloSpec::default() };
    let open = HaloSpec { periodic: false, dims: Some(vec![3, 1, 2]), ..halo.clone() };
    let cases = [
        (ProgramSpec::Halo2d(halo.clone()), 12),
        (ProgramSpec::Halo2d(HaloSpec { dims: Some(vec![2, 2]), ..halo.clone() }), 4),
        (ProgramSpec::Halo3d(halo), 24),
        (ProgramSpec::Halo3d(open), 6),
        (ProgramSpec::Sweep(SweepSpec { blocks: 2, ..SweepSpec::default() }), 12),
        (ProgramSpec::Fft(FftSpec { iterations: 2, ..FftSpec::default() }), 12),
        (ProgramSpec::Incast(IncastSpec { root: 2, messages: 3, ..IncastSpec::default() }), 5),
    ];
    let collective = |operation, algorithm| {
        let size = Bytes(10);
        ProgramSpec::Collective(CollectiveSpec {
            operation,
            algorithm,
            size,
            iterations: 2,
            ..CollectiveSpec::default()
        })
    };
    let training = |tensor, pipeline, expert, overlap| {
        let (layers, micro_batches, hidden, sequence) = (4, 3, 12, 5);
        let sizes = TrainingSpec { layers, micro_batches, hidden, sequence, steps: 2, ..TrainingSpec::default() };
        let bucket_size = Bytes(1000);
        ProgramSpec::Training(TrainingSpec { tensor, pipeline, expert, overlap, bucket_size, ..sizes })
    };
    let lammps = |deck, atoms| {
        let (steps, rebuild_every, thermo_every) = (6, Some(2), Some(3));
        let atoms_per_rank = Some(atoms);
        ProgramSpec::Lammps(LammpsSpec {
            deck,
            atoms_per_rank,
            steps,
            rebuild_every,
            thermo_every,
            ..LammpsSpec::default()
        })
    };
    let more = [
        (lammps(LammpsDeck::Lj, 100), 18),
        (lammps(LammpsDeck::Stouch, 30), 12),
        (lammps(LammpsDeck::Lj, 1000), 1),
        (collective(Operation::Allreduce, Algorithm::Rabenseifner), 6),
        (collective(Operation::Alltoall, Algorithm::Linear), 5),
        (collective(Operation::Allgather, Algorithm::Bruck), 7),
        (training(1, 1, 1, true), 4),
        (training(2, 2, 1, false), 12),
        (training(2, 2, 3, true), 24),
        (training(1, 4, 2, true), 8),
    ];
    for (spec, ranks) in cases.into_iter().chain(more) {
        let programs = build(&spec, ranks);
        let (pairs, left, _) = sent(&programs);
        assert_eq!((pairs, left), (said(&*programs), 0), "{spec:?}");
    }
}

#[test]
fn motifs_have_the_messages_of_their_grids() {
    // Would catch neighbours in a wrong dimension, an edge that is crossed, and a row taken for a column.
    let halo = |periodic| HaloSpec { dims: Some(vec![3, 4]), iterations: 1, periodic, ..HaloSpec::default() };
    let of = |periodic| said(&*build(&ProgramSpec::Halo2d(halo(periodic)), 12));
    assert_eq!(of(true).len(), 12 * 4);
    assert!(of(true).contains_key(&(0, 9)) && of(true).contains_key(&(0, 2)));
    assert_eq!(of(false).len(), 2 * (2 * 4 + 3 * 3));
    let fft = FftSpec { dims: Some(vec![3, 4]), ..FftSpec::default() };
    let fft = said(&*build(&ProgramSpec::Fft(fft), 12));
    assert_eq!(fft.len(), 12 * (2 + 3));
    assert!(fft.contains_key(&(0, 2)) && fft.contains_key(&(0, 9)) && !fft.contains_key(&(0, 4)));
    // Four sweeps cross each of 2 * 4 + 3 * 3 edges twice in each direction.
    let sweep = SweepSpec { dims: Some(vec![3, 4]), sweeps: 4, blocks: 5, ..SweepSpec::default() };
    let sweep = said(&*build(&ProgramSpec::Sweep(sweep), 12));
    assert_eq!(sweep.len(), 2 * (2 * 4 + 3 * 3));
    assert!(sweep.values().all(|&count| count == 2 * 5));
}

#[test]
fn programs_list_the_groups_that_switches_serve() {
    // Would catch a group of a stride or a parallelism that is not listed or listed twice, members in another order, a
    // rank whose node has another leader, messages between nodes, a run that waits for ever, and operations that are
    // not counted.
    let spec = |operation, group_size| CollectiveSpec {
        operation,
        algorithm: Algorithm::InSwitch,
        group_size: Some(group_size),
        group_stride: 2,
        iterations: 3,
        ..CollectiveSpec::default()
    };
    let each: Vec<u32> = (0..8).collect();
    let ranks_of = |programs: &dyn Programs| programs.groups().into_iter().map(|own| own.ranks).collect::<Vec<_>>();
    let by_switches = |spec: ProgramSpec, node_of: &[u32]| {
        let programs = spec.build_on(node_of, Path::new(".")).unwrap();
        let (pairs, left, _) = sent(&programs);
        assert_eq!((&pairs, left), (&said(&*programs), 0), "{spec:?}");
        assert!(pairs.keys().all(|&(one, other)| node_of[one as usize] == node_of[other as usize]), "{spec:?}");
        programs
    };
    for operation in Operation::ALL.into_iter().filter(|&own| algorithms(own).any(|own| own == Algorithm::InSwitch)) {
        let alone = by_switches(ProgramSpec::Collective(spec(operation, 4)), &each);
        assert_eq!(ranks_of(&*alone), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(alone.operations(), 8 * 3);
        assert!(apps::pattern_of(&alone, 8).is_ok(), "a traffic matrix without messages");
        // Ranks 0 to 3 share a node, and so do 4 to 7.
        let shared = by_switches(ProgramSpec::Collective(spec(operation, 4)), &[5, 5, 5, 5, 2, 2, 2, 2]);
        assert_eq!(ranks_of(&*shared), [[0, 4], [1, 5]]);
        assert_eq!(ranks_of(&*by_switches(ProgramSpec::Collective(spec(operation, 4)), &[0; 8])), [[0; 0]; 0]);
    }
    let training =
        |allreduce| ProgramSpec::Training(TrainingSpec { tensor: 2, allreduce, steps: 2, ..TrainingSpec::default() });
    let groups = by_switches(training(Algorithm::InSwitch), &each).groups();
    let all: Vec<_> = groups.iter().map(|own| (own.context.number(), own.ranks.clone())).collect();
    let tensor = (0..4).map(|group| (1, vec![2 * group, 2 * group + 1]));
    let data = (0..2).map(|first| (2, vec![first, first + 2, first + 4, first + 6]));
    assert_eq!(all, tensor.chain(data).collect::<Vec<_>>());
    assert_eq!(training(Algorithm::Ring).build(8, Path::new(".")).unwrap().groups(), []);
    let path = std::env::temp_dir().join(format!("cutthrough-{}-in-switch.csv", std::process::id()));
    std::fs::write(&path, "allreduce,0,1 KiB,in-switch\n").unwrap();
    let chosen = |size| {
        let selection = Some(path.clone());
        let spec = CollectiveSpec { size: Bytes(size), selection, ..CollectiveSpec::default() };
        ProgramSpec::Collective(spec).build(8, Path::new(".")).unwrap().groups().len()
    };
    assert_eq!([chosen(1023), chosen(1024)], [0, 1], "what a table chooses");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn programs_that_cannot_be_are_refused_at_their_key() {
    // Would catch a panic, or a program of something else than was requested.
    let halo = |dims: &[u32]| HaloSpec { dims: Some(dims.to_vec()), ..HaloSpec::default() };
    let training = ProgramSpec::Training;
    let cases = [
        (ProgramSpec::Halo2d(halo(&[3, 4])), 13, "dims"),
        (ProgramSpec::Halo2d(halo(&[2, 2, 3])), 12, "dims"),
        (ProgramSpec::Halo3d(halo(&[u32::MAX, u32::MAX, 2])), 12, "dims"),
        (ProgramSpec::Incast(IncastSpec { root: 4, ..IncastSpec::default() }), 4, "root"),
        (ProgramSpec::Incast(IncastSpec { messages: 1_000_000, ..IncastSpec::default() }), 100, "messages"),
        (ProgramSpec::Incast(IncastSpec::default()), 1, "kind"),
        (ProgramSpec::Goal(apps::motifs::GoalSpec { file: "absent.goal".into() }), 4, "file"),
        (training(TrainingSpec { tensor: 3, ..TrainingSpec::default() }), 8, "tensor"),
        (training(TrainingSpec { tensor: 0, ..TrainingSpec::default() }), 8, "pipeline"),
        (training(TrainingSpec { pipeline: 5, ..TrainingSpec::default() }), 8, "pipeline"),
        (training(TrainingSpec { data: Some(4), ..TrainingSpec::default() }), 8, "data"),
        (training(TrainingSpec { expert: 3, ..TrainingSpec::default() }), 8, "expert"),
        (training(TrainingSpec { pipeline: 8, layers: 12, ..TrainingSpec::default() }), 8, "layers"),
        (training(TrainingSpec { tensor: 8, hidden: 12, ..TrainingSpec::default() }), 8, "hidden"),
        (training(TrainingSpec { allreduce: Algorithm::Bruck, ..TrainingSpec::default() }), 8, "allreduce"),
        (training(TrainingSpec { expert: 2, alltoall: Algorithm::Ring, ..TrainingSpec::default() }), 8, "alltoall"),
        (training(TrainingSpec { bucket_size: Bytes(0), ..TrainingSpec::default() }), 8, "bucket_size"),
        (training(TrainingSpec { element_size: Bytes(0), ..TrainingSpec::default() }), 8, "element_size"),
    ];
    for (spec, ranks, key) in cases {
        let error = spec.build(ranks, Path::new(".")).unwrap_err();
        assert_eq!(error.key, key, "{spec:?}");
    }
}

#[test]
fn a_table_chooses_by_operation_members_and_size() {
    // Would catch a rule that is read from another column, a rule that fits and is skipped, and a table that is not
    // read to its end.
    let path = std::env::temp_dir().join(format!("cutthrough-{}-selection.csv", std::process::id()));
    let choose = |text: &str, ranks, bytes| {
        std::fs::write(&path, text).unwrap();
        Selection::read(&path).map(|own| own.choose(Operation::Allreduce, ranks, (bytes, 1)))
    };
    let text = "operation,min_ranks,min_bytes,algorithm\nallreduce,0,0,linear # all\nallreduce, 4, 1 KiB, ring\nbarrier,0,0,linear\n";
    for (ranks, bytes, algorithm) in
        [(3, 5000, Algorithm::Linear), (4, 1023, Algorithm::Linear), (4, 1024, Algorithm::Ring)]
    {
        assert_eq!(choose(text, ranks, bytes).unwrap(), (algorithm, 0));
    }
    assert_eq!(choose("allreduce,0,1,ring,64 KiB\n", 8, 4).unwrap(), (Algorithm::Ring, 65_536));
    // A segment in the heading does not require one in each row.
    let text =
        "operation, min_ranks, min_bytes, algorithm, segment\nallreduce, 0, 0, linear\nallreduce, 8, 4, ring, 1 MiB\n";
    assert_eq!(choose(text, 4, 4).unwrap(), (Algorithm::Linear, 0));
    assert_eq!(choose(text, 8, 4).unwrap(), (Algorithm::Ring, 1 << 20));
    // Operations that a table leaves out are chosen by the built-in table.
    assert_eq!(choose("barrier,0,0,linear\n", 8, 4).unwrap(), (Algorithm::RecursiveDoubling, 0));
    for (text, error) in [
        ("allreduce,0,0,rings\n", ":1: `rings` is no algorithm of `allreduce`: "),
        ("allreduce,0,0,auto\n", ":1: `auto` is no algorithm of `allreduce`: "),
        ("a,b,c,d\nallreduce,0,0,ring\n", ":1: `a` is no column; there are operation,"),
        ("allreduced,0,0,ring\n", "did you mean `allreduce`?"),
        ("allreduce,0,0\n", ":1: it has 3 columns; there are operation, min_ranks, min_bytes, algorithm and, if"),
        ("allreduce,0,0,rabenseifner,8\n", ":1: `rabenseifner` of `allreduce` has no segments"),
        ("allreduce,0,0,chain,eight\n", ":1: `eight` is no size"),
        ("allreduce,-1,0,ring\n", ":1: `-1` is no number of ranks"),
        ("allreduce,1,1 parsec,ring\n", ":1: `1 parsec` is no size: bytes, or for example `4 KiB`"),
        ("# nothing\n", "it has no rules"),
    ] {
        let found = choose(text, 4, 4).unwrap_err();
        assert!(found.contains(error), "{found}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(Selection::read(&path).unwrap_err().contains("does not exist"));
}

#[test]
fn the_built_in_table_has_the_limits_of_mpich() {
    // Would catch a limit that is off by a byte or a member, a limit of a part that is taken for that of all parts, and
    // a power of two that is not required.
    use {Algorithm as A, Operation as O};
    let of = |operation, ranks, bytes| Selection::built_in().choose(operation, ranks, (bytes, 4)).0;
    let cases = [
        (O::Broadcast, 16, 12_287, A::Binomial),
        (O::Broadcast, 16, 12_288, A::ScatterDoubling),
        (O::Broadcast, 15, 12_288, A::ScatterAllgather),
        (O::Broadcast, 7, 1 << 30, A::Binomial),
        (O::Broadcast, 8, 524_287, A::ScatterDoubling),
        (O::Broadcast, 8, 524_288, A::ScatterAllgather),
        (O::Reduce, 4, 2048, A::Binomial),
        (O::Reduce, 4, 2052, A::Rabenseifner),
        (O::Allreduce, 2, 2048, A::RecursiveDoubling),
        (O::Allreduce, 2, 2052, A::Rabenseifner),
        // 513 elements are fewer than 1024, and not fewer than 512.
        (O::Allreduce, 1500, 2052, A::RecursiveDoubling),
        (O::Allreduce, 1023, 2052, A::Rabenseifner),
        (O::Allreduce, 64, 1 << 30, A::Rabenseifner),
        (O::Allgather, 64, 8191, A::RecursiveDoubling),
        (O::Allgather, 64, 8192, A::Ring),
        (O::Allgather, 10, 8191, A::Bruck),
        (O::Allgather, 10, 8192, A::Ring),
        (O::ReduceScatter, 9, 524_287, A::RecursiveHalving),
        (O::ReduceScatter, 9, 524_288, A::Pairwise),
        (O::Alltoall, 8, 256, A::Bruck),
        (O::Alltoall, 7, 256, A::Linear),
        (O::Alltoall, 8, 257, A::Linear),
        (O::Alltoall, 8, 32_768, A::Linear),
        (O::Alltoall, 8, 32_769, A::Pairwise),
        (O::Gather, 100, 1 << 20, A::Binomial),
        (O::Scatter, 100, 1 << 20, A::Binomial),
        (O::Scan, 100, 1 << 20, A::RecursiveDoubling),
        (O::Barrier, 100, 0, A::Dissemination),
    ];
    for (operation, ranks, bytes, algorithm) in cases {
        assert_eq!(of(operation, ranks, bytes), algorithm, "{operation:?} of {bytes} bytes over {ranks}");
    }
}

#[test]
fn the_built_in_table_has_algorithms_that_serve() {
    // Would catch a rule that names an algorithm of another operation, and an operation without a rule.
    for operation in Operation::ALL {
        for (ranks, bytes) in [(1, 0), (2, 8), (8, 300), (100, 1 << 15), (5000, 1 << 30)] {
            let (chosen, _) = Selection::built_in().choose(operation, ranks, (bytes, 1));
            assert!(chosen != Algorithm::Auto && algorithms(operation).any(|one| one == chosen), "{operation:?}");
        }
    }
}

/// Drawn phase of a task graph: arcs (from, to, bytes, messages), and groups (whether it is a reduction, root,
/// members).
type DrawnPhase = (Vec<(u32, u32, u64, u32)>, Vec<(bool, u32, Vec<u32>)>);

fn drawn_graph(tasks: u32, loads: &[u32], phases: &[DrawnPhase]) -> TaskGraph {
    let mut graph = TaskGraph::new("drawn", ArcList::new(tasks).build());
    graph.loads = loads.iter().take(tasks as usize).map(|&load| f64::from(load)).collect();
    graph.phases.clear();
    for (arcs, groups) in phases {
        let mut list = ArcList::new(tasks);
        arcs.iter().for_each(|&(from, to, bytes, messages)| list.add(from % tasks, to % tasks, bytes, messages));
        let mut phase = Phase::of("drawn", list.build());
        for (reduces, root, members) in groups {
            let mut members: Vec<u32> =
                members.iter().map(|member| member % tasks).filter(|member| member != &(root % tasks)).collect();
            members.sort_unstable();
            members.dedup();
            let kind = if *reduces { GroupKind::Reduction } else { GroupKind::Multicast };
            phase.groups.push(Group { kind, root: root % tasks, members, bytes: 7 });
        }
        graph.phases.push(phase);
    }
    graph
}

proptest! {
    #[test]
    fn message_driven_graphs_end_and_compute_what_they_have(
        loads in prop::collection::vec(0_u32..5, 9),
        phases in prop::collection::vec((
            prop::collection::vec((0_u32..9, 0_u32..9, 0_u64..20, 1_u32..4), 0..20),
            prop::collection::vec((any::<bool>(), 0_u32..9, prop::collection::vec(0_u32..9, 0..6)), 0..4),
        ), 1..5),
        (tasks, ranks, iterations) in (1_u32..9, 1_u32..4, 1_u32..5),
    ) {
        // Would catch a message that is lost, sent twice, or counted for another iteration; an entry method that never
        // runs or runs twice; a reduction that waits for itself; and a load that is spent more or less often than once
        // an iteration. With groups in the switches, would also catch a part of an operation that a member does not
        // take, or takes in another order.
        let graph = drawn_graph(tasks, &loads, &phases);
        let rank_of: Vec<u32> = (0..tasks).map(|task| task * 7 % 5 % ranks).collect();
        for interconnect in [None, Some(&Interconnect::default())] {
            let spec = DrivenSpec { rank_of: &rank_of, ranks, time_per_load: 11.0, iterations, interconnect };
            let driven = Arc::new(MessageDriven::new(&graph, &spec).unwrap());
            let programs: Arc<dyn Programs> = driven;
            let (pairs, left, computed) = sent(&programs);
            prop_assert_eq!((pairs, left), (said(&*programs), 0));
            let all: u64 = graph.loads.iter().map(|load| (load * 11.0) as u64).sum();
            prop_assert_eq!(computed, u64::from(iterations) * all);
            prop_assert!(interconnect.is_some() || programs.groups().is_empty());
        }
    }
}
