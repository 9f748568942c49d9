//! Schedules: the matching of their messages, and their refusals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

use mpi::schedule::{OpKind, ScheduleBuilder, ScheduleError};
use proptest::prelude::*;

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
        assert_eq!((schedule.partner(send), schedule.partner(recv)), (Some(recv), Some(send)));
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
    // Would catch an executor that waits for ever, or a panic on a user's input.
    let error = refused(|b| {
        b.send(0, 2, 1, 0);
    });
    assert_eq!(error, ScheduleError::NoSuchRank { rank: 2, ranks: 2 });
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
        b.send(0, 1, 2, 5);
        b.recv(1, 0, 1, 5);
    });
    assert_eq!(error, ScheduleError::Sizes { from: 0, to: 1, tag: 5, sent: 2, received: 1 });
    let error = refused(|b| {
        let (one, other) = (b.calc(0, 1), b.calc(1, 1));
        b.requires(one, other);
    });
    assert_eq!(error, ScheduleError::OtherRank { rank: 0, other: 1 });
    // Each rank waits for the other's message before it sends.
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
    // Would catch a rendezvous that hangs: both ranks send first, which works for small messages and not for large
    // ones.
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

#[test]
fn receives_may_be_larger_and_messages_may_stay() {
    // Would catch a receive that is refused because it has room to spare, and a rank that may not send to itself,
    // however large the message.
    let mut builder = ScheduleBuilder::new(2);
    builder.send(0, 1, 1, 5);
    builder.recv(1, 0, 2, 5);
    let send = builder.send(1, 1, 1000, 0);
    let recv = builder.recv(1, 1, 1000, 0);
    builder.requires(recv, send);
    assert_eq!(builder.build().unwrap().check_progress(Some(0)), Ok(()));
}

#[test]
fn nothing_is_known_beforehand_of_receives_from_any_rank() {
    // Would catch a schedule with wildcards that is refused for messages that are not received, and a schedule that is
    // accepted although it waits in a cycle within a rank.
    let mut builder = ScheduleBuilder::new(3);
    builder.send(0, 2, 1, 5);
    let any = builder.recv_any(2, None, 8, Some(5));
    let schedule = builder.clone().build().unwrap();
    let any_number = schedule.number(any);
    assert_eq!(
        (schedule.peer(any_number), schedule.tag(any_number), schedule.partner(any_number)),
        (None, Some(5), None)
    );
    let after = builder.recv_any(2, Some(0), 8, None);
    builder.requires(after, any);
    builder.requires(any, after);
    assert!(matches!(builder.build(), Err(ScheduleError::Cycle { rank: 2, .. })));
}

/// Returns, by trying, the operations that have to start after others of their rank with an equal label: operations in
/// the order of writing, as far as `waits` allows.
fn in_order(labels: &[Option<(u32, u32, u32)>], waits: &[(usize, usize, bool)]) -> Vec<(usize, usize, bool)> {
    let mut order: Vec<usize> = Vec::new();
    while let Some(next) = (0..labels.len()).find(|op| {
        !order.contains(op) && waits.iter().all(|&(waiting, before, _)| waiting != *op || order.contains(&before))
    }) {
        order.push(next);
    }
    let labelled = |place: usize| labels[order[place]].map(|label| (label, order[place] % 2));
    let pairs = (0..order.len()).flat_map(|place| (0..place).map(move |before| (place, before)));
    let same = pairs.filter(|&(place, before)| labelled(place).is_some() && labelled(place) == labelled(before));
    same.map(|(place, before)| (order[place], order[before], true)).collect()
}

/// Returns the sends that receives match: the n-th receive matches the n-th send of its label.
fn met(labels: &[Option<(u32, u32, u32)>], order: &[(usize, usize, bool)]) -> Vec<Option<usize>> {
    let place = |op: usize| order.iter().filter(|&&(after, ..)| after == op).count();
    let is_met = |recv: usize, send: usize| labels[send] == labels[recv] && place(send) == place(recv);
    let sends = |recv: usize| (1..labels.len()).step_by(2).find(|&send| is_met(recv, send));
    (0..labels.len()).map(|op| labels[op].filter(|_| op % 2 == 0).and_then(|_| sends(op))).collect()
}

/// Returns whether all operations end, by trying: everything that can happen happens. `from` is the send that each
/// operation receives; `waits` holds an operation, the one that it waits for, and whether it waits for the start only.
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
        // Would catch a cycle that is not found, and a cycle that is found where there is none.
        let mut builder = ScheduleBuilder::new(3);
        // Sends have odd numbers, and receives even ones.
        let (mut ops, mut labels) = (vec![(0, builder.calc(0, 1))], vec![None]);
        for (from, to, tag) in messages.into_iter().filter(|(from, to, _)| from != to) {
            labels.extend([Some((from, to, tag)); 2]);
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
        let order = in_order(&labels, &waits);
        let received = met(&labels, &order);
        waits.extend(&order);
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
