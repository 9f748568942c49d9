//! The barrier and the pool under loom, which runs a model in every order in which its threads may interleave.
//!
//! A deadlock in any order, such as a sleeper that nobody wakes, fails the test.

use super::*;
use crate::sync::without_one_order;

/// The most preemptions of one execution, where all of them would take minutes. Bugs of more are rare: see CHESS
/// (Musuvathi and Qadeer, PLDI 2007).
const PREEMPTIONS: usize = 3;

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// Passes a barrier `rounds` times, and counts before each.
fn pass((barrier, count): &(SpinBarrier, AtomicUsize), members: usize, rounds: usize) {
    for round in 1..=rounds {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(barrier.wait(), "nobody has died");
        assert!(count.load(Ordering::Relaxed) >= round * members, "somebody has not come yet");
    }
}

/// `members` threads that pass a barrier `rounds` times.
fn meet(members: usize, rounds: usize) {
    let shared = Arc::new((SpinBarrier::new(members), AtomicUsize::new(0)));
    let spawn = |_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || pass(&shared, members, rounds))
    };
    let others: Vec<_> = (1..members).map(spawn).collect();
    pass(&shared, members, rounds);
    for other in others {
        other.join().unwrap();
    }
}

#[test]
fn loom_two_threads_meet_in_every_round() {
    // Would catch a sleeper that is never woken, a thread that passes early, and what others have written before the
    // barrier that is not seen behind it.
    explore(|| meet(2, 2));
}

#[test]
fn loom_three_threads_meet() {
    // Would catch an alarm that wakes one sleeper of two.
    explore(|| meet(3, 1));
}

#[test]
fn loom_finds_a_planted_lost_wake_up() {
    // Would catch a model that cannot fail. Without one order of the store of the new round and the count of sleepers,
    // the last thread may see nobody asleep while the other one sees the old round, and sleeps for ever.
    let found = without_one_order(|| explore(|| meet(2, 1))).expect_err("a lost wake-up");
    let message = found.downcast_ref::<String>().map_or("", String::as_str);
    assert!(message.contains("deadlock"), "{message}");
}

#[test]
fn loom_a_broken_barrier_frees_who_waits() {
    // Would catch a thread that goes to sleep while the barrier is broken up.
    explore(|| {
        let barrier = Arc::new(SpinBarrier::new(2));
        let waiting = Arc::clone(&barrier);
        let waits = thread::spawn(move || waiting.wait());
        barrier.break_up();
        assert!(!waits.join().unwrap());
    });
}

#[test]
fn loom_a_pool_runs_every_window_once_and_ends() {
    // Would catch a command that a thread misses or reads twice, a worker that runs ahead, and a pool whose threads do
    // not end with it.
    explore(|| {
        let windows = Arc::new(AtomicUsize::new(0));
        let done = Arc::clone(&windows);
        let step = move |own: &mut usize, start, _| {
            done.fetch_add(1, Ordering::Relaxed);
            *own += 1;
            assert!(done.load(Ordering::Relaxed) > 2 * start as usize, "somebody is behind");
        };
        let mut pool = Pool::new(vec![0_usize; 2], step);
        pool.run(0..2, 1);
        assert!(pool.workers().all(|own| *own == 2));
        drop(pool);
        assert_eq!(windows.load(Ordering::Relaxed), 4);
    });
}
