//! Matching: MPI's rules on random programs with wildcards, whatever the order of packets and the division.

use std::collections::BTreeMap;
use std::sync::Arc;

use host::{Executor, HostError, Wait};
use mpi::program::{Action, Burst, Context, Matched, Programs, Script, ScriptCall, Scripts, Seen};
use mpi::schedule::{Schedule, ScheduleBuilder};
use proptest::prelude::*;

use crate::times::INTERFACE;
use crate::world::{Happened, Noted, World};

/// Drawn message: sender, receiver, tag, whether it is large, the times at which it is sent and received, and whether
/// its receive takes any source and any tag.
type Drawn = (u32, u32, u32, bool, (u64, u64), (bool, bool));

const RANKS: u32 = 4;

/// Posted receive of a rank: its number in the schedule, source and tag.
type Posted = (u32, Option<u32>, Option<u32>);

/// Returns a schedule of drawn messages, and a receive for each, at their times. The size of a message is unique and
/// identifies it.
fn schedule(drawn: &[Drawn]) -> (Schedule, BTreeMap<u32, Posted>) {
    let mut builder = ScheduleBuilder::new(RANKS);
    let mut timed: Vec<(u64, usize, bool)> = drawn
        .iter()
        .enumerate()
        .flat_map(|(number, own)| [(own.4.0, number, true), (own.4.1, number, false)])
        .collect();
    timed.sort_unstable();
    let mut receives = Vec::new();
    let mut clocks = [0; RANKS as usize];
    for (at, number, sends) in timed {
        let (from, to, tag, large, _, (any_source, any_tag)) = drawn[number];
        let rank = if sends { from } else { to };
        // A rank calculates until the time of its next operation.
        let before = builder.calc(rank, at - clocks[rank as usize]);
        clocks[rank as usize] = at;
        let op = if sends {
            builder.send(from, to, number as u64 + if large { 501 } else { 1 }, tag)
        } else {
            let (source, tag) = ((!any_source).then_some(from), (!any_tag).then_some(tag));
            let op = builder.recv_any(to, source, 10_000, tag);
            receives.push((op, source, tag));
            op
        };
        builder.requires(op, before);
    }
    let schedule = builder.build().expect("nothing waits in a cycle");
    let posted = receives.into_iter().map(|(op, source, tag)| (schedule.number(op), (op, source, tag)));
    let posted = posted.map(|(number, (_, source, tag))| (number, (number, source, tag))).collect();
    (schedule, posted)
}

/// Returns a delay that lets packets overtake one another.
fn jumble(rank: u32, generated_at: u64) -> u64 {
    (u64::from(rank) + 1).wrapping_mul(generated_at.wrapping_mul(0x9e37_79b9) % 4093) % 1009
}

/// Outcome of a run: operations by rank, and waits.
type Run = (Vec<(u32, Vec<Happened>)>, Vec<(u32, Wait)>);

/// Runs a schedule on `parts` executors, with two ranks on each node.
fn run(schedule: &Schedule, parts: u32) -> Run {
    let notes = Arc::default();
    let programs: Arc<dyn Programs> = Arc::new(Noted { inner: Arc::new(schedule.clone()), notes: Arc::clone(&notes) });
    let mut world = World::new(&programs, INTERFACE, &[0, 1, 2, 0], parts);
    world.delay = jumble;
    world.run();
    let mut waits: Vec<_> = world.executors.iter().flat_map(Executor::waits).collect();
    waits.sort_unstable();
    let notes = std::mem::take(&mut *notes.lock().unwrap());
    (notes.into_iter().collect(), waits)
}

fn accepts(posted: &Posted, source: u32, tag: u32) -> bool {
    posted.1.is_none_or(|own| own == source) && posted.2.is_none_or(|own| own == tag)
}

proptest! {
    #[test]
    fn messages_meet_receives_as_mpi_has_it(
        drawn in prop::collection::vec(
            (0..RANKS, 0..RANKS, 0_u32..2, prop::bool::weighted(0.3), (0_u64..9000, 0_u64..9000), any::<(bool, bool)>()),
            1..24,
        )
    ) {
        // Would catch a message that is lost, received twice or by a receive that does not match it, a message that
        // overtakes another of its pair, a receive that waits although there is a matching message, and bytes that
        // depend on the division.
        let (schedule, posted) = schedule(&drawn);
        let (notes, waits) = run(&schedule, 1);
        prop_assert_eq!(&run(&schedule, 3), &(notes.clone(), waits.clone()));
        let mut met: BTreeMap<usize, u32> = BTreeMap::new();
        let mut starts: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, happened) in &notes {
            for (place, &(is_end, op, _, matched)) in happened.iter().enumerate() {
                if !is_end {
                    starts.insert(op, place);
                }
                let Some(Matched { source, tag, bytes }) = matched else { continue };
                let number = (bytes - if bytes > 500 { 501 } else { 1 }) as usize;
                prop_assert_eq!((drawn[number].0, drawn[number].2), (source, tag));
                prop_assert!(accepts(&posted[&op], source, tag));
                prop_assert_eq!(met.insert(number, op), None, "received twice");
            }
        }
        let sent_before = |one: usize, other: usize| (drawn[one].4.0, one) < (drawn[other].4.0, other);
        let same_pair = |one: usize, other: usize| (drawn[one].0, drawn[one].1) == (drawn[other].0, drawn[other].1);
        let pairs = met.iter().flat_map(|one| met.iter().map(move |other| (one, other)));
        for ((&one, receive), (&other, overtaking)) in pairs {
            if same_pair(one, other) && sent_before(one, other) && starts[overtaking] < starts[receive] {
                let (source, _, tag, ..) = drawn[one];
                prop_assert!(!accepts(&posted[overtaking], source, tag), "{other} has overtaken {one}: {drawn:?}");
            }
        }
        // The remaining messages and receives do not match.
        let left: Vec<usize> = (0..drawn.len()).filter(|number| !met.contains_key(number)).collect();
        let waiting = waits.iter().filter(|(_, wait)| matches!(wait, Wait::Message { .. }));
        for (rank, wait) in waiting {
            let Wait::Message { from, tag, .. } = *wait else { continue };
            let fits = |&&number: &&usize| drawn[number].1 == *rank && accepts(&(0, from, tag), drawn[number].0, drawn[number].2);
            prop_assert_eq!(left.iter().find(fits), None);
        }
        prop_assert_eq!(left.is_empty(), waits.is_empty());
    }
}

/// Prepared steps.
#[derive(Debug)]
struct Steps(std::vec::IntoIter<ScriptCall>);

impl Script for Steps {
    fn next(&mut self, _: &Seen) -> ScriptCall {
        self.0.next().unwrap_or(ScriptCall::End)
    }
}

/// Runs the steps of two ranks on separate nodes. Returns their executor.
fn executor(steps: [Vec<ScriptCall>; 2]) -> World {
    let make = move |rank: u32| Steps(steps[rank as usize].clone().into_iter());
    let programs: Arc<dyn Programs> = Arc::new(Scripts::new(2, make));
    let mut world = World::new(&programs, INTERFACE, &[0, 1], 1);
    world.run();
    world
}

const fn send(to: u32, bytes: u64, tag: u32) -> ScriptCall {
    ScriptCall::Do(Action::send(to, bytes, tag))
}

const fn recv(from: Option<u32>, bytes: u64, tag: Option<u32>) -> ScriptCall {
    ScriptCall::Do(Action::recv(from, bytes, tag))
}

#[test]
fn ranks_that_wait_for_ever_say_for_what() {
    // Would catch a standstill that is taken for the end of a run, and a standstill that does not name who waits for
    // whom.
    let world = executor([
        vec![recv(None, 8, Some(3)), send(1, 600, 7)],
        vec![recv(Some(0), 8, None), recv(Some(0), 8, Some(9))],
    ]);
    let executor = &world.executors[0];
    assert!(executor.progress().stands_still());
    let waits: Vec<String> = executor.waits().iter().map(|(rank, wait)| format!("{rank}: {wait}")).collect();
    // Rank 1's first receive has matched the message, which is too large for it.
    assert_eq!(waits, ["0: a message from any rank under tag 3", "1: a message from rank 0 under tag 9"]);
    let error =
        HostError::Truncated { rank: 1, source_rank: 0, tag: 7, context: Context::WORLD, sent: 600, received: 8 };
    assert_eq!(executor.error(), Some(&error));
}

#[test]
fn searches_are_counted_as_a_list_would_be_searched() {
    // Would catch a depth that omits entries already taken, or counts other ranks' entries: tags 0 to 9 are posted in
    // ascending order and arrive in descending order.
    let tags = |descending: bool| (0..10).map(move |tag| if descending { 9 - tag } else { tag });
    let posts = tags(false).map(|tag| recv(Some(0), 8, Some(tag)));
    let sends = tags(true).map(|tag| send(1, 8, tag));
    let late = [ScriptCall::Do(Action::Calc { time: 5000 })];
    let world = executor([late.iter().copied().chain(sends).collect(), posts.collect()]);
    let [posted, unexpected] = world.executors[0].searches();
    assert_eq!((posted.count, posted.depth, posted.deepest, posted.longest), (10, 55, 10, 10));
    assert_eq!((unexpected.count, unexpected.depth, unexpected.longest), (10, 0, 0));
    // Conversely, all messages have arrived before the first receive.
    let posts = tags(false).map(|tag| recv(Some(0), 8, Some(tag)));
    let sends = tags(true).map(|tag| send(1, 8, tag));
    let world = executor([sends.collect(), late.into_iter().chain(posts).collect()]);
    let [posted, unexpected] = world.executors[0].searches();
    assert_eq!((posted.count, posted.depth), (10, 0));
    assert_eq!((unexpected.count, unexpected.depth, unexpected.deepest, unexpected.longest), (10, 55, 10, 10));
}

#[test]
fn what_is_held_is_what_is_outstanding() {
    // Would catch operations and messages that are kept after their end: a thousand round trips, of which one is
    // pending.
    let trip = |rank: u32| {
        let (one, other) = (send(1 - rank, 8, 0), recv(Some(1 - rank), 8, Some(0)));
        let both = if rank == 0 {
            [one, ScriptCall::WaitAll, other, ScriptCall::WaitAll]
        } else {
            [other, ScriptCall::WaitAll, one, ScriptCall::WaitAll]
        };
        std::iter::repeat_n(both, 1000).flatten().collect::<Vec<_>>()
    };
    let world = executor([trip(0), trip(1)]);
    let executor = &world.executors[0];
    assert_eq!((executor.progress().open, executor.progress().ended, executor.outstanding()), (0, 4000, 0));
    assert!(executor.places() <= 4, "{} places", executor.places());
}

#[test]
fn bursts_and_messages_to_oneself_are_messages() {
    // Would catch a burst that ends with its first message, and a rank that waits for itself.
    let burst = |first| ScriptCall::Burst(Burst { first, count: 4, stride: 1 });
    let all = |rank: u32| {
        let sends = burst(Action::send(rank, 700, rank));
        let receives = burst(Action::recv(None, 700, None));
        vec![receives, sends, ScriptCall::Wait(0), ScriptCall::Wait(1)]
    };
    let world = executor([all(0), all(1)]);
    assert_eq!(world.executors[0].progress().open, 0);
    assert_eq!(world.executors[0].progress().ended, 16);
}

/// Rank that tests until its request has ended, with a calculation between tests.
#[derive(Debug)]
struct Polls {
    calls: u32,
    time: u64,
    found: Arc<std::sync::Mutex<Vec<(u64, u32)>>>,
}

impl Script for Polls {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        self.calls += 1;
        if self.calls == 1 {
            return recv(None, 8, None);
        }
        if let Some(request) = seen.request {
            self.found.lock().unwrap().push((seen.now, request));
            return ScriptCall::End;
        }
        if self.calls.is_multiple_of(2) || self.time == 0 {
            ScriptCall::Test
        } else {
            ScriptCall::Do(Action::Calc { time: self.time })
        }
    }
}

#[test]
fn a_rank_that_tests_sees_a_message_at_its_next_test() {
    // Would catch a test that waits, and a rank that tests for ever at one instant.
    let run = |time: u64| {
        let found = Arc::new(std::sync::Mutex::new(Vec::new()));
        let own = Arc::clone(&found);
        let make = move |rank: u32| -> Either {
            match rank {
                0 => Either::Steps(Steps(vec![send(1, 8, 0)].into_iter())),
                _ => Either::Polls(Polls { calls: 0, time, found: Arc::clone(&own) }),
            }
        };
        let programs: Arc<dyn Programs> = Arc::new(Scripts::new(2, make));
        let mut world = World::new(&programs, INTERFACE, &[0, 1], 1);
        world.run();
        let found = found.lock().unwrap().clone();
        (found, world.executors[0].error().cloned())
    };
    // The message arrives after 60 ps, 1000 ticks of 2 ps and 14 ps: at 2074.
    assert_eq!(run(100), (vec![(2100, 0)], None));
    let (found, error) = run(0);
    assert!(found.is_empty());
    assert!(matches!(error, Some(HostError::Program { rank: 1, .. })), "{error:?}");
}

/// One of two scripts.
#[derive(Debug)]
enum Either {
    Steps(Steps),
    Polls(Polls),
}

impl Script for Either {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        match self {
            Self::Steps(script) => script.next(seen),
            Self::Polls(script) => script.next(seen),
        }
    }
}
