//! The executor against a naive one, on random programs.

mod caller;
pub mod case;
mod machine;
mod memory;
mod naive;
mod network;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use host::{Executor, HostError, Searches, Wait};
use mpi::program::{Programs, Scripts, Seen};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::world::{Happened, Noted};
use caller::Caller;
use case::{Case, RandomRank, Sights, cases};
use machine::Machine;
use naive::Naive;

/// Outcome by which two executors are compared.
#[derive(Debug, PartialEq)]
struct Run {
    /// Starts and ends of operations by rank, with their messages.
    log: Vec<Vec<Happened>>,
    /// Results of calls, by rank.
    sights: Vec<Vec<Seen>>,
    searches: [Searches; 2],
    waits: Vec<(u32, Wait)>,
    /// Lowest rank that receives a message too large for its receive.
    truncated: Option<u32>,
    /// Maximum bytes of unexpected messages of a rank, bytes copied within nodes, and number of sends that have waited
    /// for credits.
    amounts: [u64; 3],
}

fn sights(case: &Case) -> Sights {
    Arc::new(Mutex::new(vec![Vec::new(); case.node_of.len()]))
}

fn expected(case: &Case) -> (Run, bool) {
    let (ranks, seen) = (case.node_of.len() as u32, sights(case));
    let caller =
        |rank: u32| Caller::new(Box::new(RandomRank::new(rank, case.calls[rank as usize].clone(), &seen)), ranks);
    let mut naive = Naive::new(case.nic, case.wire, &case.node_of, (0..ranks).map(caller).collect());
    naive.run();
    let (waits, ends) = (naive.waits(), naive.has_ended());
    let sights = std::mem::take(&mut *seen.lock().unwrap());
    let Naive { log, searches, truncated, amounts, .. } = naive;
    (Run { log, sights, searches, waits, truncated: truncated.into_iter().min(), amounts }, ends)
}

/// Runs a case on the executor. `notes_each` logs each end; otherwise programs are notified only of the last of
/// several.
fn found(case: &Case, parts: u32, notes_each: bool) -> Run {
    let (ranks, seen, notes) = (case.node_of.len() as u32, sights(case), Arc::default());
    let (calls, own) = (case.calls.clone(), Arc::clone(&seen));
    let make = move |rank: u32| RandomRank::new(rank, calls[rank as usize].clone(), &own);
    let scripts: Arc<dyn Programs> = Arc::new(Scripts::new(ranks, make));
    let programs = match notes_each {
        true => Arc::new(Noted { inner: scripts, notes: Arc::clone(&notes) }),
        false => scripts,
    };
    let mut machine = Machine::new(&programs, (case.nic, case.wire), &case.node_of, parts);
    machine.run();
    let mut notes = std::mem::take(&mut *notes.lock().unwrap());
    let mut searches = <[Searches; 2]>::default();
    for executor in &machine.executors {
        searches.iter_mut().zip(executor.searches()).for_each(|(all, own)| all.add(&own));
    }
    let mut waits: Vec<_> = machine.executors.iter().flat_map(Executor::waits).collect();
    waits.sort_unstable();
    let sum = |of: fn(&Executor) -> u64| machine.executors.iter().map(of).sum::<u64>();
    let unexpected = machine.executors.iter().map(Executor::most_unexpected_bytes).max();
    let amounts = [unexpected.unwrap(), sum(Executor::copied_bytes), sum(Executor::credit_waits)];
    let errors = machine.executors.iter().filter_map(Executor::error);
    Run {
        log: (0..ranks).map(|rank| notes.remove(&rank).unwrap_or_default()).collect(),
        sights: std::mem::take(&mut *seen.lock().unwrap()),
        searches,
        waits,
        truncated: errors.map(HostError::rank).min(),
        amounts,
    }
}

/// Counts of rare outcomes of random programs.
#[derive(Clone, Copy, Debug, Default)]
struct Seldom {
    ended: u32,
    standing: u32,
    /// Sums of `Run::amounts` over all programs.
    amounts: [u64; 3],
}

/// Compares `programs` random programs.
fn compare(programs: u32) -> Seldom {
    let seldom = Cell::new(Seldom::default());
    let config = Config { cases: programs, failure_persistence: None, ..Config::default() };
    let compared = TestRunner::new(config).run(&cases(), |case| {
        let (expected, ends) = expected(&case);
        let mut counted = seldom.get();
        *if ends { &mut counted.ended } else { &mut counted.standing } += 1;
        counted.amounts.iter_mut().zip(expected.amounts).for_each(|(all, own)| *all += own);
        seldom.set(counted);
        prop_assert_eq!(&found(&case, 1, true), &expected);
        prop_assert_eq!(&found(&case, case.parts, true), &expected, "in {} parts", case.parts);
        let log = expected.log.clone();
        prop_assert_eq!(&Run { log, ..found(&case, case.parts, false) }, &expected, "notified of the last end");
        Ok(())
    });
    match compared {
        Ok(()) => seldom.get(),
        Err(TestError::Fail(reason, case)) => panic!("{reason}\n{case:?}"),
        Err(other) => panic!("{other}"),
    }
}

// Would catch an operation that ends a picosecond early or late, a message that matches another receive than MPI's
// rules and the order within an instant require, overtakes another of its pair or is lost, a search that is counted
// wrongly, a call that sees a request that has not ended, a standstill that names the wrong ranks, and any dependence
// of these on the division over partitions.

#[test]
fn random_programs_run_as_the_reference_runs_them() {
    let seldom = compare(1000);
    assert!(seldom.ended > 200 && seldom.standing > 100, "too few to compare: {seldom:?}");
    assert!(seldom.amounts.iter().all(|&amount| amount > 100), "too little to compare: {seldom:?}");
}

#[test]
#[ignore = "thousands of programs: make test-long"]
fn thousands_of_random_programs_run_as_the_reference_runs_them() {
    compare(20_000);
}
