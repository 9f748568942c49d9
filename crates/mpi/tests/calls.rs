//! Programs written as calls: their text, their messages, and the equivalent schedules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

use std::sync::Arc;

use mpi::collectives::{Algorithm, Collective, Operation};
use mpi::program::calls::{ANY_SIZE, CallError, Calls, CallsBuilder, NoSchedule, text};
use mpi::program::{Action, Burst, Context, Ended, Op, Programs, ScriptCall, stridden};
use mpi::schedule::{ScheduleBuilder, ScheduleError, goal};
use proptest::prelude::*;

fn send(to: u32, bytes: u64, tag: u32) -> ScriptCall {
    ScriptCall::Do(Action::send(to, bytes, tag))
}

fn recv(from: u32, bytes: u64, tag: u32) -> ScriptCall {
    ScriptCall::Do(Action::recv(Some(from), bytes, Some(tag)))
}

fn calc(time: u64) -> ScriptCall {
    ScriptCall::Do(Action::Calc { time })
}

/// Returns the program of some ranks, each with its calls.
fn calls(ranks: &[&[ScriptCall]]) -> Calls {
    let mut builder = CallsBuilder::new(ranks.len() as u32);
    for (rank, steps) in (0..).zip(ranks) {
        steps.iter().for_each(|&step| builder.push(rank, step).unwrap());
    }
    builder.build()
}

#[test]
fn a_text_is_read_as_it_is_meant() {
    // Would catch a unit, a default or a word that is read as another, and a comment that is read.
    let read = text::read(
        "# two ranks\nranks 2\nrank 0\n  calc 5 us # then\n  isend 4 KiB to 1 tag 3\n  irecv from any tag any\n  waitall\n\
         rank 1\n irecv 4 KiB from 0 tag 3\n wait 0\n isend 8 B to 0 times 2 stride 1\n waitany\n test\n",
    );
    let any = ScriptCall::Do(Action::recv(None, ANY_SIZE, None));
    let burst = ScriptCall::Burst(Burst { first: Action::send(0, 8, 0), count: 2, stride: 1 });
    let expected = calls(&[
        &[calc(5_000_000), send(1, 4096, 3), any, ScriptCall::WaitAll],
        &[recv(0, 4096, 3), ScriptCall::Wait(0), burst, ScriptCall::WaitAny, ScriptCall::Test],
    ]);
    assert_eq!(read.unwrap(), expected);
}

#[test]
fn collective_operations_are_read_as_they_are_meant() {
    // Would catch a communicator, a root, an algorithm or a time that is read as another.
    let read = text::read(
        "ranks 4\ncommunicator 1 of 3 1\nrank 1\n  start allreduce 1 KiB in 1 by ring per-byte 2 ps\n  barrier by linear\n wait 0\n\
         rank 3\n broadcast 8 B by binomial root 2 per-byte 1ns\n",
    );
    let ring = Collective {
        communicator: 1,
        time_per_byte: 2,
        ..Collective::new(Operation::Allreduce, Algorithm::Ring, 1024)
    };
    let barrier = Collective::new(Operation::Barrier, Algorithm::Linear, 0);
    let broadcast =
        Collective { root: 2, time_per_byte: 1000, ..Collective::new(Operation::Broadcast, Algorithm::Binomial, 8) };
    let mut builder = CallsBuilder::new(4);
    assert_eq!(builder.communicator(vec![3, 1]), Ok(1));
    for step in [ScriptCall::StartCollective(ring), ScriptCall::Collective(barrier), ScriptCall::Wait(0)] {
        builder.push(1, step).unwrap();
    }
    builder.push(3, ScriptCall::Collective(broadcast)).unwrap();
    let expected = builder.build();
    assert_eq!(read.unwrap(), expected);
    assert_eq!(text::read(&text::write(&expected)).unwrap(), expected);
}

#[test]
fn a_collective_operation_that_cannot_be_has_its_line() {
    // Would catch an operation whose fault a run would find only later, and words that are skipped.
    let cases = [
        ("allreduce 8 B", "line 3: `by ALGORITHM` is missing: auto, linear, "),
        ("allreduce 8 B by rinng", "line 3: there is no algorithm `rinng`: auto, linear, "),
        ("barrier by linear root", "line 3: `root` has no value"),
        ("barrier by linear of 3", "line 3: `of` may not stand here: `in`, `by`, `root`, `segment` and `per-byte` may"),
        ("broadcast 8 B by linear root 4", "line 3: there is no member 4: 0 to 3 are allowed"),
        ("barrier in 1 by linear", "line 3: it is no member of communicator 1, or does not know it"),
        ("start", "line 3: the name of a collective operation is missing"),
        ("communicator 1 of 2", "line 3: `communicator 1 of 2` is no call"),
    ];
    for (line, message) in cases {
        let error = text::read(&format!("ranks 4\nrank 0\n{line}\n")).unwrap_err().to_string();
        assert!(error.starts_with(message), "{line}: {error}");
    }
    let twice = text::read("ranks 4\ncommunicator 2 of 0 1\n").unwrap_err().to_string();
    assert!(twice.contains("numbered from 1 on in their order, and this is number 1"), "{twice}");
}

#[test]
fn a_schedule_of_collective_operations_has_their_messages() {
    // Would catch messages of an operation that match those of another, and a program that is taken for one that ends.
    let both = |calls: &mut CallsBuilder, rank: u32| {
        for algorithm in [Algorithm::RecursiveDoubling, Algorithm::Binomial] {
            calls.push(rank, ScriptCall::Collective(Collective::new(Operation::Allreduce, algorithm, 64))).unwrap();
        }
    };
    let mut builder = CallsBuilder::new(5);
    (0..5).for_each(|rank| both(&mut builder, rank));
    let calls = builder.build();
    let schedule = calls.schedule().unwrap();
    let (mut said, mut written) = (Vec::new(), Vec::new());
    calls.each_message(&mut |messages| said.push((messages.from, messages.to, messages.bytes)));
    schedule.each_message(&mut |messages| written.push((messages.from, messages.to, messages.bytes)));
    said.sort_unstable();
    written.sort_unstable();
    assert_eq!(said, written);
    // Recursive doubling of 5: a pair is folded and unfolded, and 4 exchange twice; a binomial tree has 4 edges, up and
    // down.
    assert_eq!(said.len(), 2 + 8 + 8);
    let mut builder = CallsBuilder::new(5);
    (0..4).for_each(|rank| both(&mut builder, rank));
    assert!(matches!(builder.build().check(None), Err(ScheduleError::Unequal { .. })));
}

#[test]
fn a_schedule_tells_messages_of_communicators_apart() {
    // Would catch messages of one tag in two communicators that match in a schedule, although the receives come in
    // another order, and a tag of all ranks that another communicator's messages get.
    let text = "ranks 2\ncommunicator 1 of 1 0\nrank 0\n  isend 8 B to 1 tag 1073741824\n  isend 16 B to 1 tag 1073741824 in 1\n\
                rank 1\n  irecv 16 B from 0 tag 1073741824 in 1\n  wait 0\n  irecv 8 B from 0 tag 1073741824\n";
    let calls = text::read(text).unwrap();
    let schedule = calls.schedule().unwrap();
    schedule.check_progress(None).unwrap();
    let mut sent = Vec::new();
    schedule.each_message(&mut |own| sent.push((own.from, own.to, own.bytes)));
    assert_eq!(sent, [(0, 1, 8), (0, 1, 16)]);
}

#[test]
fn messages_of_communicators_are_read_written_and_refused() {
    // Would catch a communicator that is lost in conversion to text, messages of ranks that are not members, and a
    // schedule of receives of any tag that would match messages of all ranks.
    let text = "ranks 3\ncommunicator 1 of 2 0\nrank 0\n  isend 8 B to 2 tag 4 in 1\n  irecv from any tag any in 1 times 2 stride 0\n  \
                iprobe from 2 tag 1 in 1\nrank 1\nrank 2\n";
    let calls = text::read(text).unwrap();
    assert_eq!(text::write(&calls), text);
    let context = Context::new(1).unwrap();
    assert_eq!(calls.of(0)[0], ScriptCall::Do(Action::send(2, 8, 4).within(context)));
    assert!(calls.schedule().unwrap_err().to_string().contains("beside messages of communicators"));
    for (line, expected) in [
        ("isend 8 B to 1 tag 0 in 1", "line 4: rank 1 is no member of communicator 1"),
        ("isend 8 B to 2 tag 0 in 2", "line 4: it is no member of communicator 2, or does not know it"),
        ("probe from 1 in 1", "line 4: rank 1 is no member of communicator 1"),
        ("isend 8 B to 2 in x", "line 4: `x` is not the number of a communicator"),
    ] {
        let wrong = format!("ranks 3\ncommunicator 1 of 2 0\nrank 0\n{line}\n");
        assert_eq!(text::read(&wrong).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_is_wrong_with_a_text_has_its_line() {
    // Would catch a panic, a line that is silently skipped, and an error without a position.
    let cases = [
        ("", "line 1: there is no `ranks N`"),
        ("rank 0", "line 1: `ranks N` has to come first"),
        ("ranks 0", "line 1: 0 ranks: 1 to 16777216 are allowed"),
        ("ranks 2\nranks 2", "line 2: `ranks` comes twice"),
        ("ranks 2\ncalc 1 us", "line 2: `rank N` has to come before what it calls"),
        ("ranks 2\nrank 2", "line 2: there is no rank 2: 0 to 1 are allowed"),
        ("ranks 2\nrank 0\nisend 8 B to 2", "line 3: there is no rank 2: 0 to 1 are allowed"),
        ("ranks 2\nrank 0\nisend 8 B to 1 tag any", "line 3: `tag any` is for receives"),
        ("ranks 2\nrank 0\nisend 8 B to any", "line 3: a send is to a rank, not to `any`"),
        ("ranks 2\nrank 0\nisend 8 B", "line 3: `to RANK` is missing"),
        ("ranks 2\nrank 0\nisend 1025 GiB to 1", "line 3: 1025 GiB is too large: a message has at most 1 TiB"),
        ("ranks 2\nrank 0\ncalc 1001 s", "line 3: 1001 s is too long: a calculation takes at most 1000 s"),
        ("ranks 2\nrank 0\nisend 8 B to 1 times 0", "line 3: a burst is of at least one send or receive"),
        (
            "ranks 2\nrank 0\nisend 8 B to 1 twice",
            "line 3: `twice`: `times N stride S` may stand here, and nothing else",
        ),
        ("ranks 2\nrank 0\nwait 0", "line 3: it waits for request 0, and has made 0 before"),
    ];
    for (source, message) in cases {
        assert_eq!(text::read(source).unwrap_err().to_string(), message, "{source}");
    }
    let error = text::read("ranks 1\nrank 0\ncalc 3 ns\nrank 0\n").unwrap_err().to_string();
    assert_eq!(error, "line 4: rank 0 comes twice");
    let error = text::read("ranks 1\nrank 0\nfly 3").unwrap_err().to_string();
    assert!(error.starts_with("line 3: `fly 3` is no call; a line begins with one of ranks, communicator"), "{error}");
    assert!(text::read("ranks 1\nrank 0\ncalc 5").unwrap_err().to_string().starts_with("line 3: "));
}

#[test]
fn what_a_rank_cannot_call_is_refused() {
    // Would catch a call whose fault a run would find only later, or not at all.
    let mut builder = CallsBuilder::new(2);
    assert_eq!(builder.push(2, calc(1)), Err(CallError::NoSuchRank { rank: 2, last: 1 }));
    assert_eq!(builder.push(0, recv(7, 1, 0)), Err(CallError::NoSuchRank { rank: 7, last: 1 }));
    let burst = Burst { first: Action::Calc { time: 1 }, count: 2, stride: 0 };
    assert_eq!(builder.push(0, ScriptCall::Burst(burst)), Err(CallError::EmptyBurst));
    builder.push(0, send(1, 1, 0)).unwrap();
    assert_eq!(builder.push(0, ScriptCall::Wait(1)), Err(CallError::NoSuchRequest { request: 1, made: 1 }));
    builder.push(0, ScriptCall::Wait(0)).unwrap();
}

#[test]
fn calls_are_the_schedule_that_says_what_waits_for_what() {
    // Would catch an operation that does not wait for all that its rank has waited for, and one that waits for more.
    let found = calls(&[
        &[recv(1, ANY_SIZE, 0), send(1, 8, 0), calc(5), send(1, 9, 1), ScriptCall::WaitAll, calc(7)],
        &[recv(0, 10, 0), ScriptCall::Wait(0), send(0, 4, 0), recv(0, 9, 1), ScriptCall::Wait(2)],
    ]);
    let mut builder = ScheduleBuilder::new(2);
    let (first, second, busy) = (builder.recv(0, 1, 4, 0), builder.send(0, 1, 8, 0), builder.calc(0, 5));
    let third = builder.send(0, 1, 9, 1);
    builder.requires(third, busy);
    let join = builder.calc(0, 0);
    [first, second, third].into_iter().for_each(|op| builder.requires(join, op));
    let last = builder.calc(0, 7);
    builder.requires(last, join);
    let met = builder.recv(1, 0, 10, 0);
    for op in [builder.send(1, 0, 4, 0), builder.recv(1, 0, 9, 1)] {
        builder.requires(op, met);
    }
    let schedule = found.schedule().unwrap();
    assert_eq!(schedule, builder.build().unwrap());
    assert_eq!(goal::read(&goal::write(&schedule)).unwrap(), schedule);
}

#[test]
fn what_no_schedule_can_say_is_named() {
    // Would catch a program that is written as another one.
    let any = calls(&[&[send(1, 8, 0), ScriptCall::WaitAny], &[recv(0, 8, 0)]]);
    assert_eq!(any.schedule(), Err(NoSchedule::Call { rank: 0, call: "waitany".to_owned() }));
    assert_eq!(any.check(None), Ok(()));
}

#[test]
fn messages_without_receives_and_ranks_that_wait_for_themselves_are_found_before_a_run() {
    // Would catch a program whose fault is found only when it stands still, or never.
    let lost = calls(&[&[send(1, 8, 0)], &[]]);
    assert!(matches!(lost.check(None), Err(ScheduleError::Unmatched { from: 0, to: 1, sent: 1, received: 0, .. })));
    let blocked: [&[ScriptCall]; 2] =
        [&[send(1, 8, 0), ScriptCall::Wait(0), recv(1, 8, 0)], &[send(0, 8, 0), ScriptCall::Wait(0), recv(0, 8, 0)]];
    let blocked = calls(&blocked);
    assert_eq!(blocked.check(None), Ok(()));
    assert!(matches!(blocked.check(Some(4)), Err(ScheduleError::Cycle { .. })));
    let never = calls(&[
        &[recv(1, 8, 0), ScriptCall::Wait(0), send(1, 8, 0)],
        &[recv(0, 8, 0), ScriptCall::Wait(0), send(0, 8, 0)],
    ]);
    assert!(matches!(never.check(None), Err(ScheduleError::Cycle { .. })));
}

/// Returns the operations that a rank starts if each ends as soon as it starts.
fn started(programs: &Arc<dyn Programs>, rank: u32) -> Vec<Action> {
    let mut state = Arc::clone(programs).rank(rank);
    let (mut starts, mut all): (Vec<Op>, Vec<Action>) = (Vec::new(), Vec::new());
    state.begin(0, &mut starts).unwrap();
    while !starts.is_empty() {
        let op = starts.remove(0);
        for number in 0..op.count {
            let other = |rank| stridden(rank, (op.stride, number), 3);
            all.push(match op.action {
                Action::Send { to, bytes, tag, context } => Action::Send { to: other(to), bytes, tag, context },
                Action::Recv { from, bytes, tag, context } => {
                    Action::Recv { from: from.map(other), bytes, tag, context }
                }
                alone => alone,
            });
            state.ended(&Ended { id: op.id, at: 0, matched: None, count: 1 }, &mut starts).unwrap();
        }
    }
    all
}

/// Returns any call of one of three ranks that does not wait for a single request.
fn any_step() -> impl Strategy<Value = ScriptCall> {
    let action = prop_oneof![
        (0_u32..3, 0_u64..9000, 0_u32..4).prop_map(|(to, bytes, tag)| Action::send(to, bytes, tag)),
        (prop::option::of(0_u32..3), prop::option::of(0_u64..9000), prop::option::of(0_u32..4))
            .prop_map(|(from, bytes, tag)| Action::recv(from, bytes.unwrap_or(ANY_SIZE), tag)),
    ];
    prop_oneof![
        action.clone().prop_map(ScriptCall::Do),
        (action, 1_u32..5, 0_u32..4).prop_map(|(first, count, stride)| ScriptCall::Burst(Burst {
            first,
            count,
            stride
        })),
        (0_u64..1 << 50).prop_map(|time| calc(time.min(1_000_000_000_000_000))),
        Just(ScriptCall::WaitAll),
        Just(ScriptCall::Test),
    ]
}

proptest! {
    #[test]
    fn calls_that_are_written_are_read_again(ranks in prop::collection::vec(prop::collection::vec(any_step(), 0..12), 3)) {
        // Would catch a call, a burst or a wildcard that is not written, or is read differently.
        let ranks: Vec<&[ScriptCall]> = ranks.iter().map(|steps| &steps[..]).collect();
        let written = calls(&ranks);
        prop_assert_eq!(text::read(&text::write(&written)).unwrap(), written);
    }

    #[test]
    fn a_program_says_the_messages_that_its_ranks_send(ranks in prop::collection::vec(prop::collection::vec(any_step(), 0..12), 3)) {
        // Would catch a burst that is counted once or whose stride is left out, and a wrong number of operations.
        let ranks: Vec<&[ScriptCall]> = ranks.iter().map(|steps| &steps[..]).collect();
        let programs: Arc<dyn Programs> = Arc::new(calls(&ranks));
        let mut said = Vec::new();
        programs.each_message(&mut |messages| (0..messages.count).for_each(|_| said.push((messages.from, messages.to, messages.bytes))));
        let (mut sent, mut operations) = (Vec::new(), 0);
        for rank in 0..3 {
            for action in started(&programs, rank) {
                operations += u64::from(action.communicates());
                if let Action::Send { to, bytes, .. } = action {
                    sent.push((rank, to, bytes));
                }
            }
        }
        said.sort_unstable();
        sent.sort_unstable();
        prop_assert_eq!(said, sent);
        // Calculations are no progress.
        prop_assert_eq!(programs.operations(), operations);
    }
}

#[test]
fn collective_operations_that_differ_are_named_by_rank() {
    // Would catch messages of operations that are shown under tags which the user has not written.
    let error = |zero: &str, one: &str| {
        let read = text::read(&format!("ranks 2\nrank 0\n{zero}\nrank 1\n{one}\n")).unwrap();
        read.check(None).unwrap_err().to_string()
    };
    let none = error("barrier by dissemination", "barrier by dissemination\nbarrier by dissemination");
    assert!(
        none.contains("number 2 of communicator 0 is none of rank 0, and `barrier by dissemination` of rank 1"),
        "{none}"
    );
    let sizes = error("allreduce 16 B by recursive-doubling", "allreduce 8 B by recursive-doubling");
    assert!(sizes.contains("`allreduce 16 B by recursive-doubling` of rank 0, and `allreduce 8 B by"), "{sizes}");
    let lost = error("isend 8 B to 1 tag 4", "calc 1 ns");
    assert_eq!(lost, "rank 0 sends 1 message to rank 1 under tag 4, which has 0 receives for them");
}

#[test]
fn calls_in_the_switches_are_checked_and_grouped() {
    // Would catch a group that is not found behind a blocking call, a group without its nodes, members that call
    // different operations, a cycle through two communicators, a schedule without the operation, and a text that is
    // read differently.
    let text = |second: &str| {
        format!(
            "ranks 4\ncommunicator 1 of 3 1\nrank 0\n barrier by in-switch\nrank 1\n start reduce 8 KiB in 1 by in-switch root 1\n barrier by in-switch\n \
             waitall\nrank 2\n {second}\nrank 3\n reduce 8 KiB in 1 by in-switch root 1\n barrier by in-switch\n"
        )
    };
    let own = text::read(&text("barrier by in-switch")).unwrap();
    assert_eq!(text::read(&text::write(&own)).unwrap(), own);
    own.check(Some(100)).unwrap();
    let groups =
        |calls: &Calls| calls.groups().into_iter().map(|own| (own.context.number(), own.ranks)).collect::<Vec<_>>();
    assert_eq!(groups(&own), [(0, vec![0, 1, 2, 3]), (1, vec![3, 1])]);
    assert_eq!(own.operations(), 6);
    let shared = own.clone().on_nodes(&[0, 0, 1, 1]);
    assert_eq!(groups(&shared), [(0, vec![0, 2]), (1, vec![3, 1])]);
    let mut pairs = Vec::new();
    shared.each_message(&mut |own| pairs.push((own.from, own.to)));
    assert_eq!(pairs, [(0, 1), (1, 0), (2, 3), (3, 2)], "within nodes only");
    // Two messages of each pair are a send and a receive each, and six operations of leaders.
    assert_eq!(shared.operations(), 2 * 4 + 2 + 2);
    assert_eq!(
        own.schedule().unwrap_err().to_string(),
        "rank 0 calls `barrier by in-switch`, which a schedule cannot say: the switches carry it out, and no messages"
    );
    let unequal = |second: &str| text::read(&text(second)).unwrap().check(None).unwrap_err().to_string();
    for (second, called) in [("barrier by linear", "`barrier by linear`"), ("calc 1 ns", "none")] {
        assert_eq!(
            unequal(second),
            format!(
                "ranks 0 and 2 do not call the same collective operations: number 1 of communicator 0 is `barrier by in-switch` of rank 0, \
                 and {called} of rank 2"
            )
        );
    }
    let crossed = "ranks 2\ncommunicator 1 of 0 1\nrank 0\n barrier by in-switch\n barrier in 1 by in-switch\nrank 1\n barrier in 1 by in-switch\n \
                   barrier by in-switch\n";
    assert!(text::read(crossed).unwrap().check(None).is_err(), "each waits for the other");
}

#[test]
fn members_call_one_operation_even_where_its_messages_meet() {
    // Would catch a reduction of one rank that is run as the gather of another, since both send one message to the
    // root, and a broadcast that is longer for its root than for the others.
    for (one, other) in [
        ("reduce 64 B by linear", "gather 64 B by linear"),
        ("broadcast 64 B by linear", "broadcast 128 B by linear"),
        ("broadcast 64 B by linear", "broadcast 64 B by linear root 1"),
    ] {
        let calls = text::read(&format!("ranks 2\nrank 0\n{one}\nrank 1\n{other}\n")).unwrap();
        assert!(matches!(calls.check(None), Err(ScheduleError::Unequal { .. })), "{one}, {other}");
    }
    let same =
        text::read("ranks 2\nrank 0\nreduce 64 B by linear per-byte 1 ns\nrank 1\nreduce 64 B by linear\n").unwrap();
    assert_eq!(same.check(None), Ok(()));
}
