//! Schedules: what is matched with what, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

use proptest::prelude::*;
use workload::schedule::{OpKind, ScheduleBuilder, ScheduleError};

#[test]
fn messages_meet_their_receives_in_the_order_of_writing() {
    // Would catch a match across tags, across pairs or out of order.
    let mut builder = ScheduleBuilder::new(3);
    let second = builder.recv(2, 0, 20, 7);
    let sends =
        [builder.send(0, 2, 20, 7), builder.send(0, 2, 30, 8), builder.send(1, 2, 20, 7), builder.send(0, 2, 20, 7)];
    let recvs = [second, builder.recv(2, 0, 30, 8), builder.recv(2, 1, 20, 7), builder.recv(2, 0, 20, 7)];
    let schedule = builder.build().unwrap();
    for (send, recv) in sends.iter().zip(&recvs) {
        let (send, recv) = (schedule.number(*send), schedule.number(*recv));
        assert_eq!((schedule.partner(send), schedule.partner(recv)), (recv, send));
        assert_eq!((schedule.kind(send), schedule.kind(recv)), (OpKind::Send, OpKind::Recv));
    }
    let mut messages: Vec<_> = schedule.messages().collect();
    messages.sort_unstable();
    assert_eq!(messages, [(0, 2, 20), (0, 2, 20), (0, 2, 30), (1, 2, 20)]);
}

fn refused(write: impl FnOnce(&mut ScheduleBuilder)) -> ScheduleError {
    let mut builder = ScheduleBuilder::new(2);
    write(&mut builder);
    builder.build().unwrap_err()
}

#[test]
fn what_cannot_run_is_refused_with_its_reason() {
    // Would catch an executor that waits for ever, or a panic on what a user writes.
    let error = refused(|b| {
        b.send(0, 2, 1, 0);
    });
    assert_eq!(error, ScheduleError::NoSuchRank { rank: 2, ranks: 2 });
    assert_eq!(
        refused(|b| {
            b.send(1, 1, 1, 0);
        }),
        ScheduleError::ToItself { rank: 1 }
    );
    let error = refused(|b| {
        b.send(0, 1, 1, 5);
        b.send(0, 1, 1, 5);
        b.recv(1, 0, 1, 5);
    });
    assert_eq!(error, ScheduleError::Unmatched { from: 0, to: 1, tag: 5, sent: 2, received: 1 });
    let error = refused(|b| {
        b.send(0, 1, 1, 4);
        b.recv(1, 0, 1, 5);
    });
    assert_eq!(error, ScheduleError::Unmatched { from: 0, to: 1, tag: 4, sent: 1, received: 0 });
    let error = refused(|b| {
        b.send(0, 1, 1, 5);
        b.recv(1, 0, 2, 5);
    });
    assert_eq!(error, ScheduleError::Sizes { from: 0, to: 1, tag: 5, sent: 1, received: 2 });
    let error = refused(|b| {
        let (one, other) = (b.calc(0, 1), b.calc(1, 1));
        b.requires(one, other);
    });
    assert_eq!(error, ScheduleError::OtherRank { rank: 0, other: 1 });
    // Each waits for the other's message before it sends its own.
    let error = refused(|b| {
        for (rank, other) in [(0, 1), (1, 0)] {
            let recv = b.recv(rank, other, 1, 0);
            let send = b.send(rank, other, 1, 0);
            b.requires(send, recv);
        }
    });
    let what = "receive from rank 1".to_owned();
    assert_eq!(error, ScheduleError::Cycle { rank: 0, index: 0, what });
}

#[test]
fn two_that_send_before_they_receive_need_room() {
    // Would catch a rendezvous that hangs: both send first, which does for small messages and not for large ones.
    let mut builder = ScheduleBuilder::new(2);
    for (rank, other) in [(0, 1), (1, 0)] {
        let send = builder.send(rank, other, 1000, 0);
        let recv = builder.recv(rank, other, 1000, 0);
        builder.requires(recv, send);
    }
    let schedule = builder.build().unwrap();
    schedule.check_progress(Some(1000)).unwrap();
    let what = "send to rank 1".to_owned();
    assert_eq!(schedule.check_progress(Some(999)), Err(ScheduleError::Cycle { rank: 0, index: 0, what }));
}

/// Whether operations all end, by trying: whatever can happen happens. Of each the partner that it receives from; then
/// which waits for which, and whether for its start only.
fn ends(from: &[Option<usize>], waits: &[(usize, usize, bool)], rendezvous: bool) -> bool {
    let answered_by = |send: usize| from.iter().position(|&other| rendezvous && other == Some(send));
    let (mut started, mut ended) = (vec![false; from.len()], vec![false; from.len()]);
    loop {
        let mut moved = false;
        for op in 0..from.len() {
            let met =
                |&&(_, before, start): &&(usize, usize, bool)| if start { started[before] } else { ended[before] };
            let ready = waits.iter().filter(|wait| wait.0 == op).all(|wait| met(&wait));
            if !started[op] && ready {
                (started[op], moved) = (true, true);
            }
            let met = from[op].is_none_or(|send| started[send]) && answered_by(op).is_none_or(|recv| started[recv]);
            if started[op] && !ended[op] && met {
                (ended[op], moved) = (true, true);
            }
        }
        if !moved {
            return ended.iter().all(|&end| end);
        }
    }
}

proptest! {
    #[test]
    fn a_schedule_is_refused_if_and_only_if_it_hangs(
        messages in prop::collection::vec((0_u32..3, 0_u32..3, 0_u32..2), 1..6),
        pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 0..8),
    ) {
        // Would catch a cycle that is not found, and one that is found where there is none.
        let mut builder = ScheduleBuilder::new(3);
        let (mut ops, mut received) = (vec![(0, builder.calc(0, 1))], vec![None]);
        for (from, to, tag) in messages.into_iter().filter(|(from, to, _)| from != to) {
            received.extend([None, Some(ops.len())]);
            ops.push((from, builder.send(from, to, 8, tag)));
            ops.push((to, builder.recv(to, from, 8, tag)));
        }
        let mut waits = Vec::new();
        for (op, before, start) in pairs {
            let (op, before) = (op.index(ops.len()), before.index(ops.len()));
            let ((rank, one), (other, two)) = (ops[op], ops[before]);
            if rank == other {
                waits.push((op, before, start));
                if start { builder.irequires(one, two) } else { builder.requires(one, two) }
            }
        }
        match builder.build() {
            Ok(schedule) => {
                prop_assert!(ends(&received, &waits, false));
                prop_assert!(schedule.check_progress(Some(8)).is_ok());
                prop_assert_eq!(schedule.check_progress(Some(7)).is_ok(), ends(&received, &waits, true));
            }
            Err(error) => {
                prop_assert!(!ends(&received, &waits, false), "{}", error);
                prop_assert!(matches!(error, ScheduleError::Cycle { .. }), "{}", error);
            }
        }
    }
}
