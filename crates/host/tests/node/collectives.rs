//! Collective operations of ranks, on a network that delivers every packet after a fixed time.

use std::sync::{Arc, Mutex};

use host::{Executor, Wait};
use mpi::collectives::{Algorithm, Collective, Operation};
use mpi::program::{Action, Communicator, Context, Programs, Script, ScriptCall, Scripts, Seen};

use crate::times::INTERFACE;
use crate::world::{TRANSIT, World};

/// Time of a message in picoseconds.
const MESSAGE: u64 = 60 + 2 * TRANSIT + 14;

/// Times at which each rank has made its calls, in picoseconds, with the results.
type Asked = Arc<Mutex<Vec<Vec<Seen>>>>;

/// Prepared steps, with the communicators of a rank.
#[derive(Debug)]
struct Steps {
    rank: u32,
    steps: std::vec::IntoIter<ScriptCall>,
    communicators: Vec<Communicator>,
    asked: Asked,
}

impl Script for Steps {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        self.asked.lock().unwrap()[self.rank as usize].push(*seen);
        self.steps.next().unwrap_or(ScriptCall::End)
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        self.communicators.iter().find(|own| own.context().number() == number).cloned()
    }
}

type Make = dyn Fn(u32) -> (Vec<ScriptCall>, Vec<Communicator>) + Send + Sync;

/// Runs ranks on separate nodes. Returns the results of each call.
fn run(ranks: u32, parts: u32, make: Arc<Make>) -> (Vec<Vec<Seen>>, World) {
    let asked: Asked = Arc::new(Mutex::new(vec![Vec::new(); ranks as usize]));
    let notes = Arc::clone(&asked);
    let script = move |rank: u32| {
        let (steps, communicators) = make(rank);
        Steps { rank, steps: steps.into_iter(), communicators, asked: Arc::clone(&notes) }
    };
    let programs: Arc<dyn Programs> = Arc::new(Scripts::new(ranks, script));
    let mut world = World::new(&programs, INTERFACE, &(0..ranks).collect::<Vec<_>>(), parts);
    world.run();
    let asked = asked.lock().unwrap().clone();
    (asked, world)
}

/// Returns the time at which the last rank has ended a call, in picoseconds.
fn time(ranks: u32, call: Collective) -> u64 {
    let (asked, world) = run(ranks, 1, Arc::new(move |_| (vec![ScriptCall::Collective(call)], Vec::new())));
    assert_eq!(world.executors[0].progress().open, 0, "every rank ends");
    asked.iter().map(|seen| seen[1].now).max().unwrap()
}

#[test]
fn operations_take_the_rounds_of_theory() {
    // Would catch a round that begins before the previous one has ended, one round too many, and combining that takes
    // no time or is done by ranks that do not combine.
    use {Algorithm as A, Operation as O};
    let of = |operation, algorithm| Collective::new(operation, algorithm, 64);
    for (ranks, log) in [(2_u32, 1), (8, 3), (16, 4)] {
        let others = u64::from(ranks - 1);
        assert_eq!(time(ranks, of(O::Allreduce, A::RecursiveDoubling)), log * MESSAGE);
        assert_eq!(time(ranks, of(O::Allreduce, A::Rabenseifner)), 2 * log * MESSAGE);
        assert_eq!(time(ranks, of(O::Allreduce, A::Ring)), 2 * others * MESSAGE);
        assert_eq!(time(ranks, of(O::Alltoall, A::Pairwise)), others * MESSAGE);
        assert_eq!(time(ranks, of(O::Alltoall, A::Linear)), MESSAGE);
        assert_eq!(time(ranks, of(O::Broadcast, A::Binomial)), log * MESSAGE);
        assert_eq!(time(ranks, of(O::Barrier, A::Dissemination)), log * MESSAGE);
        let combined = |algorithm| Collective { time_per_byte: 5, ..of(O::Allreduce, algorithm) };
        assert_eq!(time(ranks, combined(A::RecursiveDoubling)), log * (MESSAGE + 64 * 5));
        let share = 64 / u64::from(ranks) * others;
        assert_eq!(time(ranks, combined(A::Rabenseifner)), 2 * log * MESSAGE + share * 5);
    }
    // A pipeline forwards a segment while the next one arrives: the first rank is done with a segment after its
    // overhead.
    for (ranks, segments) in [(2, 1), (2, 16), (7, 4), (16, 64)] {
        let chain = |operation| Collective { segment: 64 / segments, ..of(operation, A::Chain) };
        let pipeline = (ranks - 1) * MESSAGE + (segments - 1) * 60;
        assert_eq!(time(ranks as u32, chain(O::Broadcast)), pipeline);
        assert_eq!(time(ranks as u32, chain(O::Reduce)), pipeline);
        assert_eq!(time(ranks as u32, of(O::Scan, A::Chain)), (ranks - 1) * MESSAGE);
    }
    assert_eq!(time(15, of(O::Broadcast, A::Binary)), 3 * MESSAGE);
    assert_eq!(time(15, of(O::Allreduce, A::Binary)), 6 * MESSAGE);
    assert_eq!(time(16, of(O::Broadcast, A::ScatterDoubling)), 8 * MESSAGE);
    // The upper rank of a pair combines twice, for the ranks above and for itself.
    let scan = |operation| Collective { time_per_byte: 5, ..of(operation, A::RecursiveDoubling) };
    assert_eq!(time(8, scan(O::Scan)), 3 * (MESSAGE + 2 * 64 * 5));
    // The first arrival is not combined with anything yet.
    assert_eq!(time(8, scan(O::Exscan)), 3 * MESSAGE + 5 * 64 * 5);
    assert_eq!(time(2, scan(O::Exscan)), MESSAGE + 64 * 5);
    assert_eq!(time(2, Collective { algorithm: A::Chain, ..scan(O::Exscan) }), MESSAGE);
    assert_eq!(time(5, of(O::Barrier, A::Dissemination)), 3 * MESSAGE);
    assert_eq!(time(1, of(O::Alltoall, A::Bruck)), 0);
}

#[test]
fn several_operations_of_a_communicator_do_not_meet() {
    // Would catch messages of an operation that another takes, a message that is taken by a wildcard receive, a request
    // that ends with its first round, and an order that depends on the division.
    let make = |rank: u32| {
        let ring = Collective { bytes: 640, ..Collective::new(Operation::Allreduce, Algorithm::Ring, 0) };
        let barrier = Collective::new(Operation::Barrier, Algorithm::Dissemination, 0);
        let parity = Communicator::world(rank, 6).split(Context::new(3).unwrap(), |member| Some(member % 2));
        let within =
            Collective { communicator: 3, root: 1, ..Collective::new(Operation::Reduce, Algorithm::Linear, 9) };
        let steps = vec![
            ScriptCall::Do(Action::recv(None, 1000, None)),
            ScriptCall::StartCollective(ring),
            ScriptCall::StartCollective(barrier),
            ScriptCall::StartCollective(within),
            ScriptCall::WaitAny,
            ScriptCall::Wait(1),
            ScriptCall::Do(Action::send((rank + 1) % 6, 7, 0)),
            ScriptCall::Wait(0),
            ScriptCall::WaitAll,
        ];
        (steps, vec![parity.unwrap()])
    };
    let (asked, world) = run(6, 1, Arc::new(make));
    assert_eq!(world.executors[0].progress().open, 0, "every rank ends");
    for (rank, seen) in (0_u32..).zip(&asked) {
        // The reduction takes one round: at ranks 2 and 3 that of its root, elsewhere only a send. The ring takes ten.
        let first = if matches!(rank, 2 | 3) { MESSAGE } else { 60 };
        assert_eq!((seen[5].request, seen[5].now), (Some(3), first), "rank {rank}");
        assert_eq!((seen[6].request, seen[6].now), (Some(1), 10 * MESSAGE), "rank {rank}");
        let own = seen[8].matched.unwrap();
        assert_eq!((own.source, own.bytes, seen[8].now), ((rank + 5) % 6, 7, 11 * MESSAGE), "rank {rank}");
    }
    assert_eq!(run(6, 3, Arc::new(make)).0, asked);
}

#[test]
fn communicators_keep_messages_apart() {
    // Would catch a message that a receive of another communicator takes, and a wait that does not name it.
    let other = Context::new(2).unwrap();
    let steps = [
        vec![ScriptCall::Do(Action::send(1, 5, 4).within(other)), ScriptCall::Do(Action::send(1, 6, 4))],
        vec![
            ScriptCall::Do(Action::recv(None, 9, None)),
            ScriptCall::Do(Action::recv(Some(0), 9, Some(4)).within(other)),
            ScriptCall::Do(Action::recv(None, 9, None).within(other)),
            ScriptCall::Wait(0),
            ScriptCall::Wait(1),
        ],
    ];
    let (asked, world) = run(2, 1, Arc::new(move |rank| (steps[rank as usize].clone(), Vec::new())));
    assert_eq!([4, 5].map(|call| asked[1][call].matched.unwrap().bytes), [6, 5]);
    let waits = world.executors[0].waits();
    assert_eq!(waits, [(1, Wait::Message { from: None, tag: None, context: other })]);
    assert_eq!(waits[0].1.to_string(), "a message from any rank under any tag of communicator 2");
}

#[test]
fn what_cannot_be_called_ends_the_run() {
    // Would catch a panic instead of an error that names the rank.
    let call = Collective { communicator: 5, ..Collective::new(Operation::Barrier, Algorithm::Linear, 0) };
    let (_, world) = run(2, 1, Arc::new(move |_| (vec![ScriptCall::Collective(call)], Vec::new())));
    let error = world.executors.iter().find_map(Executor::error).unwrap().to_string();
    assert_eq!(error, "rank 0: it is no member of communicator 5, or does not know it");
}
