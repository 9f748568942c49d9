//! Tests of valid, cut and garbled traces.

use std::path::PathBuf;

use proptest::prelude::*;

use super::index::MAGIC;
use super::members::Members;
use super::record::{Call, End, Ending, Record};
use super::source::{Reader, put_all};
use super::*;
use mpi::collectives::{Algorithm, Collective, CollectiveBackend, Operation};
use mpi::communicator::Context;

/// Temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cutthrough-trace-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn join(&self) -> Result<Joined, TraceError> {
        join(&self.0, &self.trace())
    }

    fn trace(&self) -> PathBuf {
        self.0.join("all.trace")
    }

    fn open(&self, replay: Replay) -> Trace {
        Trace::open(&self.trace(), replay).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the recorder file of a rank. The communicator of all ranks comes first.
fn part(rank: u32, ranks: u32, records: &[Record]) -> Vec<u8> {
    let mut bytes = b"CTRANK\0\x01".to_vec();
    put_all([u64::from(rank), u64::from(ranks), 300], &mut bytes);
    let world = Members::Even { first: 0, stride: 1, count: ranks };
    Record { calc: 0, call: Call::Communicator(world) }.write(&mut bytes);
    records.iter().for_each(|record| record.write(&mut bytes));
    bytes
}

fn end(comm: u32, peer: u32, tag: u32) -> End {
    End { comm, peer, tag, any_source: false, any_tag: false }
}

fn after(calc: u64, call: Call) -> Record {
    Record { calc, call }
}

fn at_once(call: Call) -> Record {
    after(0, call)
}

fn wait(age: u32) -> Record {
    at_once(Call::Wait { age, count: 1, met: None })
}

fn ending() -> Record {
    at_once(Call::End(Ending { wall: 5000, threads: false, unsupported: vec![("MPI_Put".into(), 2)] }))
}

/// Returns the calls of a rank.
fn steps(trace: &Trace, rank: u32) -> Vec<ScriptCall> {
    let mut steps = trace.steps(rank);
    std::iter::from_fn(|| steps.next_step().unwrap()).collect()
}

/// Returns three ranks with a wildcard message, a receive that never ends, two communicators of equal members that
/// ranks know by different numbers, and exchanges.
fn example(name: &str) -> Folder {
    let folder = Folder::new(name);
    let wild = End { any_source: true, any_tag: true, ..end(0, 0, 0) };
    let pair = || at_once(Call::Communicator(Members::List(vec![2, 0])));
    let sum = |comm| {
        let operation = Operation::Allreduce;
        at_once(Call::Collective { operation, comm, bytes: 8, root: 0, blocks: true })
    };
    let exchange = |receives: Vec<(u32, u64)>, sends: Vec<(u32, u64)>| {
        at_once(Call::Exchange { comm: 0, receives, sends, blocks: true })
    };
    let first = [
        at_once(Call::Communicator(Members::Even { first: 0, stride: 1, count: 1 })),
        pair(),
        after(1000, Call::Recv { end: wild, bytes: 64, blocks: false }),
        // Never ends.
        after(500, Call::Recv { end: end(0, 1, 99), bytes: 64, blocks: false }),
        at_once(Call::Send { end: end(2, 0, 7), bytes: 10, blocks: false }),
        at_once(Call::Wait { age: 3, count: 1, met: Some((1, 5)) }),
        wait(1),
        pair(),
        sum(3),
        exchange(vec![(1, 3)], vec![(1, 4), (2, 5)]),
        ending(),
    ];
    let second = [
        after(2, Call::Send { end: end(0, 0, 5), bytes: 64, blocks: true }),
        at_once(Call::Poll),
        exchange(vec![(0, 4)], vec![(0, 3)]),
        ending(),
    ];
    let third = [
        pair(),
        pair(),
        at_once(Call::Probe { end: end(1, 1, 7) }),
        at_once(Call::Recv { end: end(1, 1, 7), bytes: 10, blocks: true }),
        sum(2),
        exchange(vec![(0, 5)], vec![]),
        ending(),
    ];
    for (rank, records) in (0..).zip([&first[..], &second, &third]) {
        std::fs::write(folder.0.join(format!("rank-{rank}")), part(rank, 3, records)).unwrap();
    }
    folder
}

#[test]
fn ranks_are_joined() {
    // Would catch a wildcard that gets another message, wrong request numbers after an omitted receive, ranks of one
    // communicator that know it by two numbers, and calculations that are lost.
    let folder = example("joined");
    let joined = folder.join().unwrap();
    assert_eq!((joined.ranks, joined.cut, joined.open, joined.compute), (3, 0, 1, 1502));
    assert_eq!(joined.unsupported, [("MPI_Put".to_owned(), 6)]);
    let trace = folder.open(Replay::default());
    let apart = Context::new(4).unwrap();
    let within = |number| Context::new(number).unwrap();
    let allreduce = Collective::new(Operation::Allreduce, Algorithm::Auto, 8);
    let sum = |communicator| ScriptCall::Collective(Collective { communicator, ..allreduce });
    let request = |action: Action| ScriptCall::Do(action);
    let first = [
        request(Action::Calc { time: 1_000_000 }),
        request(Action::recv(Some(1), 64, Some(5))),
        request(Action::Calc { time: 500_000 }),
        request(Action::send(2, 10, 7).within(within(2))),
        ScriptCall::Wait(0),
        ScriptCall::Wait(1),
        sum(3),
        request(Action::recv(Some(1), 3, Some(0)).within(apart)),
        request(Action::send(1, 4, 0).within(apart)),
        request(Action::send(2, 5, 0).within(apart)),
        ScriptCall::Wait(3),
        ScriptCall::Wait(4),
        ScriptCall::Wait(5),
    ];
    assert_eq!(steps(&trace, 0), first);
    let third = [
        request(Action::probe(Some(0), Some(7)).within(within(2))),
        request(Action::recv(Some(0), 10, Some(7)).within(within(2))),
        ScriptCall::Wait(0),
        sum(3),
        request(Action::recv(Some(0), 5, Some(0)).within(apart)),
        ScriptCall::Wait(2),
    ];
    assert_eq!(steps(&trace, 2), third);
    let wild = folder.open(Replay { wildcards: true, compute_scale: 0.5, backend: None });
    assert_eq!(steps(&wild, 0)[..2], [request(Action::Calc { time: 500_000 }), request(Action::recv(None, 64, None))]);
    // Messages of every rank, including those of the sum.
    let mut sent = Vec::new();
    trace.each_message(&mut |own| sent.push((own.from, own.to, own.bytes, own.count)));
    assert_eq!(
        sent,
        [(0, 2, 10, 1), (0, 1, 4, 1), (0, 2, 5, 1), (0, 2, 8, 1), (1, 0, 64, 1), (1, 0, 3, 1), (2, 0, 8, 1)]
    );
    assert!(trace.may_probe());
    // As calls that are written out, it can be checked: every message has a receive.
    trace.calls().unwrap();
}

#[test]
fn files_that_end_early_are_as_long_as_their_last_whole_record() {
    // Would catch an end that goes unnoticed, half a record that is used, and an off-by-one cut that loses everything.
    let folder = example("early");
    let path = folder.0.join("rank-1");
    let whole = std::fs::read(&path).unwrap();
    let head = part(1, 3, &[]).len();
    let mut longest = 0;
    for length in head..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let joined = folder.join().unwrap();
        assert_eq!((joined.ranks, joined.cut), (3, 1));
        let steps = steps(&folder.open(Replay::default()), 1).len();
        assert!(steps >= longest, "{steps} after {longest}");
        longest = steps;
    }
    assert_eq!(longest, 8);
    std::fs::write(&path, &whole[..3]).unwrap();
    assert_eq!(folder.join(), Err(TraceError::Cut("its head")));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(folder.join(), Err(TraceError::Missing { rank: 2, ranks: 3 }));
}

#[test]
fn traces_that_have_been_cut_off_are_refused() {
    // Would catch a trace with a missing end that is accepted as a shorter one.
    let folder = example("cut");
    folder.join().unwrap();
    let whole = std::fs::read(folder.trace()).unwrap();
    for length in 0..whole.len() {
        std::fs::write(folder.trace(), &whole[..length]).unwrap();
        assert!(Trace::open(&folder.trace(), Replay::default()).is_err(), "of {length} bytes");
    }
}

/// Returns any record that a trace may have, valid or not.
fn any_record() -> impl Strategy<Value = Record> {
    let end = (0_u32..4, 0_u32..4, 0_u32..200, any::<(bool, bool)>())
        .prop_map(|(comm, peer, tag, (any_source, any_tag))| End { comm, peer, tag, any_source, any_tag });
    let parts = || proptest::collection::vec((0_u32..4, 0_u64..1 << 20), 0..4);
    let call = prop_oneof![
        (end.clone(), 0_u64..1 << 40, any::<bool>()).prop_map(|(end, bytes, blocks)| {
            Call::Send { end: End { any_source: false, any_tag: false, ..end }, bytes, blocks }
        }),
        (end.clone(), 0_u64..1 << 40, any::<bool>()).prop_map(|(end, bytes, blocks)| Call::Recv { end, bytes, blocks }),
        (1_u32..9, 1_u32..4).prop_map(|(age, count)| Call::Wait { age, count: count.min(age), met: None }),
        Just(Call::Poll),
        end.prop_map(|end| Call::Probe { end }),
        (0..Operation::ALL.len(), 0_u32..4, 0_u64..1 << 30, any::<bool>()).prop_map(|(place, comm, bytes, blocks)| {
            Call::Collective { operation: Operation::ALL[place], comm, bytes, root: 0, blocks }
        }),
        (0_u32..4, parts(), parts(), any::<bool>()).prop_map(|(comm, receives, sends, blocks)| Call::Exchange {
            comm,
            receives,
            sends,
            blocks
        }),
    ];
    (0_u64..1 << 40, call).prop_map(|(calc, call)| Record { calc, call })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_are_read_as_they_are_written(records in proptest::collection::vec(any_record(), 0..20), window in 1_usize..40) {
        // Would catch a field that is lost or swapped, and a record across two windows.
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.write(&mut bytes));
        let mut reader = Reader::new(&bytes[..], window);
        let read: Vec<Record> = std::iter::from_fn(|| Record::read(&mut reader, 8).unwrap()).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn garbled_traces_are_refused_or_run(
        records in proptest::collection::vec(any_record(), 0..12),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        // Would catch a panic, an infinite loop, and memory allocated by a number in the file.
        let folder = Folder::new(&format!("garbled-{}-{}", records.len(), changes.len()));
        for rank in 0..2 {
            let mut own = vec![at_once(Call::Communicator(Members::Even { first: 0, stride: 1, count: 2 }))];
            own.extend(records.iter().cloned());
            own.push(ending());
            std::fs::write(folder.0.join(format!("rank-{rank}")), part(rank, 2, &own)).unwrap();
        }
        // Most of these have nonexistent requests or members. They are joined nevertheless.
        if folder.join().is_ok() {
            let mut bytes = std::fs::read(folder.trace()).unwrap();
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            std::fs::write(folder.trace(), &bytes).unwrap();
            if let Ok(trace) = Trace::open(&folder.trace(), Replay::default()) {
                prop_assert!(trace.operations() < 1 << 32);
                let _ = trace.calls();
            }
        }
        let path = folder.0.join("rank-0");
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte) in &changes {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        let _ = folder.join();
    }
}

#[test]
fn other_files_are_no_traces() {
    // Would catch a text that is accepted as a trace, and a later format that is read as this version.
    let folder = Folder::new("other");
    let open = |bytes: &[u8]| {
        std::fs::write(folder.trace(), bytes).unwrap();
        Trace::open(&folder.trace(), Replay::default()).unwrap_err()
    };
    assert_eq!(open(b"num_ranks 2\nrank 0 {\n}\n"), TraceError::NoTrace);
    assert_eq!(open(b""), TraceError::NoTrace);
    assert_eq!(open(b"CTTRACE\x02 and so on and on"), TraceError::Version { version: 2, known: 1 });
    // An index whose stated length exceeds the file, and an index with a huge stated length.
    let mut huge = [MAGIC.to_vec(), vec![255; 9], 8_u64.to_le_bytes().to_vec(), MAGIC.to_vec()].concat();
    assert!(matches!(open(&huge), TraceError::Garbled(_) | TraceError::Cut(_)));
    let length = huge.len();
    huge[length - 16..length - 8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(matches!(open(&huge), TraceError::Garbled(_)));
}

#[test]
fn switches_get_what_all_members_call_alike() {
    // Would catch a group with too many or too few calls, and members that would wait for one another forever.
    let call = |operation, bytes| at_once(Call::Collective { operation, comm: 0, bytes, root: 0, blocks: true });
    let sum = || call(Operation::Allreduce, 8);
    let hardware = Replay { backend: Some(CollectiveBackend::Hardware), ..Replay::default() };
    let open = |name: &str, second: &[Record]| {
        let folder = Folder::new(name);
        let first = [sum(), call(Operation::Broadcast, 64), sum(), ending()];
        for (rank, records) in [&first[..], second].into_iter().enumerate() {
            std::fs::write(folder.0.join(format!("rank-{rank}")), part(rank as u32, 2, records)).unwrap();
        }
        folder.join().unwrap();
        Trace::open(&folder.trace(), hardware).map_err(|error| error.to_string())
    };
    let trace = open("alike", &[sum(), call(Operation::Broadcast, 64), sum(), ending()]).unwrap();
    assert_eq!(trace.groups().iter().map(|group| group.ranks.clone()).collect::<Vec<_>>(), [[0, 1]]);
    let mut calls = Vec::new();
    trace.each_group_call(&mut |place, call, count| calls.push((place, call.operation, call.bytes, count)));
    calls.sort_by_key(|&(.., bytes, _)| bytes);
    assert_eq!(calls, [(0, Operation::Allreduce, 8, 2), (0, Operation::Broadcast, 64, 1)]);
    // Equal operations in a different order, different sizes, and a member without calls.
    for (name, second, why) in [
        ("order", vec![call(Operation::Broadcast, 64), sum(), sum(), ending()], "do not call the same operations"),
        ("bytes", vec![sum(), call(Operation::Broadcast, 65), sum(), ending()], "do not call the same operations"),
        ("none", vec![ending()], "1 of the 2 members of communicator 0"),
    ] {
        let error = open(name, &second).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
