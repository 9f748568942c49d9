//! Algorithms of MPI libraries and of Bine trees: messages and bytes by rank against naive enumeration.

use std::collections::BTreeSet;

use super::{carry_out, sent, worlds};
use mpi::collectives::{Algorithm, Collective, Operation};

use {Algorithm as A, Operation as O};

/// Returns the partner of a member in a step of a Bine butterfly, by the sum of its distance: 1 - 2 + 4 - ...
fn partner(own: u32, step: u32, ranks: u32) -> u32 {
    let distance: i64 = (0..=step).map(|digit| (-2_i64).pow(digit)).sum();
    let ahead = if own.is_multiple_of(2) { distance } else { -distance };
    (i64::from(own) + ahead).rem_euclid(i64::from(ranks)) as u32
}

/// Returns the member that is reached from `from` by the steps of a label. Its highest bit stands for the first step.
pub fn reached(label: u32, from: u32, ranks: u32) -> u32 {
    let steps = ranks.ilog2();
    let taken = (0..steps).filter(|step| label >> (steps - 1 - step) & 1 == 1);
    taken.fold(from, |at, step| partner(at, step, ranks))
}

fn label_of(member: u32, ranks: u32) -> u32 {
    (0..ranks).find(|&label| reached(label, 0, ranks) == member).unwrap()
}

/// Returns the member from which a part has come that is at `place` of `rank` after a Bine alltoall: in each step, from
/// the last one, a part whose bit differs from that of the label of its holder has come from the partner.
pub fn source(rank: u32, place: u32, ranks: u32) -> u32 {
    let steps = ranks.ilog2();
    (0..steps).rev().fold(rank, |at, step| {
        let differs = (place ^ label_of(at, ranks)) >> (steps - 1 - step) & 1 == 1;
        if differs { partner(at, step, ranks) } else { at }
    })
}

/// Returns whether an algorithm of an operation is for a number of members.
pub fn is_for(operation: Operation, algorithm: Algorithm, ranks: u32) -> bool {
    match algorithm {
        A::NeighborExchange | A::BineBlocks => ranks == 1 || ranks.is_multiple_of(2),
        A::Bine if operation == O::Allreduce => true,
        A::Bine | A::BineDoubling | A::BinePermute | A::BineTwo | A::BineDatatype => ranks.is_power_of_two(),
        _ => true,
    }
}

#[test]
fn butterflies_send_the_messages_and_bytes_of_theory() {
    // Would catch a butterfly that sends the wrong half, one whose parts travel twice, a part that is remapped although
    // it is in its place, and memory that is copied once too often or too rarely.
    for ranks in [2_u32, 4, 8, 16, 32] {
        let (one, log) = (u64::from(ranks) * 60, u64::from(ranks.ilog2()));
        let (others, share) = (u64::from(ranks - 1), 60 * u64::from(ranks - 1));
        let each = |operation, algorithm, messages: u64, bytes: u64, local: (u64, u64)| {
            let size = if operation == O::Allgather || operation == O::Alltoall { 60 } else { one };
            let of = sent(operation, algorithm, size, ranks);
            let all = ranks as usize;
            let expected = (vec![messages; all], vec![bytes; all], vec![local; all]);
            assert_eq!((of.messages, of.bytes, of.local), expected, "{operation:?} {algorithm:?} of {ranks}");
        };
        each(O::Allreduce, A::Bine, log, log * one, (0, 0));
        each(O::Allreduce, A::BineBandwidth, 2 * log, 2 * share, (0, 0));
        each(O::Allreduce, A::RabenseifnerDoubling, 2 * log, 2 * share, (0, 0));
        each(O::Allreduce, A::BineBlocks, 2 * others, 2 * share, (0, 0));
        each(O::Allreduce, A::AllgatherReduce, log, others * one, (0, others * one));
        each(O::ReduceScatter, A::BinePermute, log, share, (one, 0));
        each(O::ReduceScatter, A::BineBlocks, others, share, (0, 0));
        each(O::Allgather, A::BinePermute, log, share, (one, 0));
        each(O::Allgather, A::BineBlocks, others, share, (0, 0));
        each(O::Allgather, A::Sparbit, others, share, (0, 0));
        each(O::Allgather, A::NeighborExchange, u64::from(ranks / 2), share, (0, 0));
        each(O::Alltoall, A::Bine, log, log * one / 2, (one * (2 + log), 0));
        each(O::Alltoall, A::Bruck, log, log * one / 2, (one * (2 + log), 0));
        each(O::Alltoall, A::LinearSync, others, share, (0, 0));
        for (operation, algorithm) in [
            (O::ReduceScatter, A::BineSend),
            (O::Allgather, A::BineSend),
            (O::ReduceScatter, A::RecursiveDistanceDoubling),
        ] {
            let label = |rank: u32| match algorithm {
                A::BineSend => label_of(rank, ranks),
                _ => rank.reverse_bits() >> (32 - ranks.ilog2()),
            };
            let moved: Vec<u64> = (0..ranks).map(|rank| u64::from(label(rank) != rank)).collect();
            let of = sent(operation, algorithm, if operation == O::Allgather { 60 } else { one }, ranks);
            assert_eq!(
                of.messages,
                moved.iter().map(|own| log + own).collect::<Vec<_>>(),
                "{operation:?} {algorithm:?}"
            );
            assert_eq!(of.bytes, moved.iter().map(|own| share + 60 * own).collect::<Vec<_>>());
        }
    }
}

#[test]
fn ranges_of_bine_trees_are_two_messages_where_they_wrap() {
    // Would catch a range that begins at the wrong member, a wrapped range in one message, and a pack of a range that
    // does not wrap. By enumeration: the members that a member reaches from the farthest step to the nearest.
    for ranks in [2_u32, 4, 8, 16, 32, 64] {
        let mut ranges = vec![vec![BTreeSet::new(); ranks.ilog2() as usize + 1]; ranks as usize];
        for (own, ranges) in (0..).zip(&mut ranges) {
            ranges[0].insert(own);
        }
        for step in 0..ranks.ilog2() {
            for own in 0..ranks {
                let other = ranges[partner(own, step, ranks) as usize][step as usize].clone();
                let all = ranges[own as usize][step as usize].union(&other).copied().collect();
                ranges[own as usize][step as usize + 1] = all;
            }
        }
        let wraps = |own: u32, step: u32| {
            let range = &ranges[own as usize][step as usize];
            u64::from(range.contains(&0) && range.contains(&(ranks - 1)) && range.len() as u32 != ranks)
        };
        let steps = || 0..ranks.ilog2();
        for (operation, size) in [(O::Allgather, 60), (O::ReduceScatter, 60 * u64::from(ranks))] {
            let sender = |own, step| if operation == O::Allgather { own } else { partner(own, step, ranks) };
            let receiver = |own, step| if operation == O::Allgather { partner(own, step, ranks) } else { own };
            let two = sent(operation, A::BineTwo, size, ranks);
            let one = sent(operation, A::BineDatatype, size, ranks);
            for own in 0..ranks {
                let messages: u64 = steps().map(|step| 1 + wraps(sender(own, step), step)).sum();
                assert_eq!(two.messages[own as usize], messages, "{operation:?} {own} of {ranks}");
                let packed =
                    |step: u32| (wraps(sender(own, step), step) + wraps(receiver(own, step), step)) * (60 << step);
                assert_eq!(one.local[own as usize], (steps().map(packed).sum(), 0), "{operation:?} {own} of {ranks}");
                assert_eq!(one.messages[own as usize], u64::from(ranks.ilog2()));
                assert_eq!([one.bytes[own as usize], two.bytes[own as usize]], [60 * u64::from(ranks - 1); 2]);
            }
        }
    }
}

#[test]
fn parts_of_bine_subtrees_are_two_messages_where_they_wrap() {
    // Would catch a subtree whose members are not consecutive, and a wrapped range in one message. By enumeration of the
    // tree from the farthest members to the nearest.
    for (ranks, root) in [2_u32, 4, 8, 16, 32].into_iter().flat_map(|ranks| [0, 1, ranks - 1].map(|root| (ranks, root)))
    {
        let mut below: Vec<BTreeSet<u32>> = (0..ranks).map(|own| BTreeSet::from([own])).collect();
        let (mut holders, mut parents) = (vec![0], Vec::new());
        for step in (0..ranks.ilog2()).rev() {
            let reached: Vec<u32> = holders.iter().map(|&own| partner(own, step, ranks)).collect();
            parents.extend(reached.iter().copied().zip(holders.iter().copied()));
            holders.extend(reached);
        }
        for &(own, parent) in parents.iter().rev() {
            let all = below[own as usize].clone();
            below[parent as usize].extend(all);
        }
        let wraps = |&(own, _): &(u32, u32)| {
            let members: BTreeSet<u32> = below[own as usize].iter().map(|own| (own + root) % ranks).collect();
            let ends = members.contains(&0) && members.contains(&(ranks - 1));
            ends && members.len() as u32 != members.last().unwrap() - members.first().unwrap() + 1
        };
        let messages = u64::from(ranks - 1) + parents.iter().filter(|own| wraps(own)).count() as u64;
        let parts: u64 = parents.iter().map(|&(own, _)| below[own as usize].len() as u64).sum();
        for operation in [O::Gather, O::Scatter] {
            let of = carry_out(&Collective { root, ..Collective::new(operation, A::Bine, 10) }, worlds(ranks));
            assert_eq!(of.messages.iter().sum::<u64>(), messages, "{operation:?} of {ranks} at {root}");
            assert_eq!(of.bytes.iter().sum::<u64>(), 10 * parts, "{operation:?} of {ranks} at {root}");
        }
    }
}

#[test]
fn any_number_of_members_sends_no_more_than_it_has_to() {
    // Would catch a part that comes twice, a tree with a member too many, a chain that is not as long as the others, and
    // a window that is larger than it may be.
    for ranks in 1_u32..=40 {
        let others = u64::from(ranks - 1);
        let all = |of: &[u64]| of.iter().sum::<u64>();
        for algorithm in
            [A::Sparbit, A::NeighborExchange, A::BineBlocks].into_iter().filter(|&own| is_for(O::Allgather, own, ranks))
        {
            let of = sent(O::Allgather, algorithm, 10, ranks);
            assert_eq!(all(&of.bytes), 10 * others * u64::from(ranks), "{algorithm:?} of {ranks}");
        }
        for algorithm in [A::Chains, A::SplitBinary, A::Bine, A::BineDoubling]
            .into_iter()
            .filter(|&own| is_for(O::Broadcast, own, ranks))
        {
            let call =
                Collective { radix: 3, root: ranks / 3, segment: 30, ..Collective::new(O::Broadcast, algorithm, 120) };
            let of = carry_out(&call, worlds(ranks));
            assert_eq!(all(&of.bytes), 120 * others, "{algorithm:?} of {ranks}");
            let extra = u64::from(algorithm == A::SplitBinary);
            // A split tree sends two halves in two segments each, along the tree and then in one message of a half.
            let messages = if extra == 1 { 2 * others + others } else { 4 * others };
            assert_eq!(all(&of.messages), messages, "{algorithm:?} of {ranks}");
        }
        let chains = sent(O::Broadcast, A::Chains, 100, ranks);
        assert_eq!(chains.messages[0], others.min(2), "{ranks}");
        for root in [0, ranks - 1] {
            let call = Collective { root, ..Collective::new(O::Reduce, A::InOrderBinary, 100) };
            let of = carry_out(&call, worlds(ranks));
            assert_eq!(all(&of.messages), others + u64::from(root != ranks - 1), "{ranks}");
        }
        let barrier = sent(O::Barrier, A::DoubleRing, 0, ranks);
        assert!(barrier.messages.iter().all(|&own| own == 2 * u64::from(ranks > 1)));
        let call = Collective { segment: 4, ..Collective::new(O::Gather, A::LinearSync, 10) };
        let of = carry_out(&call, worlds(ranks));
        assert_eq!((of.messages[0], of.bytes[0]), (others, 0));
        assert!((1..ranks as usize).all(|rank| (of.messages[rank], of.bytes[rank]) == (2, 10)));
        let call = Collective { window: 3, ..Collective::new(O::Alltoall, A::LinearSync, 10) };
        let of = carry_out(&call, worlds(ranks));
        assert!(of.rounds.iter().all(|&rounds| u64::from(rounds) == others.div_ceil(3)), "{ranks}");
        let of = sent(O::ReduceScatter, A::Nonoverlapping, 10 * u64::from(ranks), ranks);
        assert_eq!(all(&of.bytes), others * 10 * u64::from(ranks) + others * 10);
    }
}

#[test]
fn segments_of_halving_are_no_longer_than_they_may_be() {
    // Would catch a segment that is lost or too long, and parts of segments that are not those of the steps.
    for (ranks, segment) in
        [2_u32, 5, 8, 16, 24].into_iter().flat_map(|ranks| [4, 8, 28, 400].map(|segment| (ranks, segment)))
    {
        for algorithm in [A::BineBandwidth, A::RabenseifnerDoubling] {
            let call = Collective { element: 4, segment, ..Collective::new(O::Allreduce, algorithm, 404) };
            let whole = carry_out(&Collective { segment: 0, ..call }, worlds(ranks));
            let of = carry_out(&call, worlds(ranks));
            assert_eq!(of.bytes, whole.bytes, "{call:?} of {ranks}");
            // Of a power of two of members, the first step sends half of the buffer.
            let least = if ranks.is_power_of_two() { 202_u64.div_ceil(segment) } else { 1 };
            assert!(
                of.messages.iter().zip(&whole.messages).all(|(own, whole)| *own >= whole - 1 + least || *whole < 3)
            );
            // `rabenseifner-doubling` sends the segments of a step at once, `bine-bandwidth` one in each round.
            let at_once = algorithm == A::RabenseifnerDoubling;
            assert!(if at_once { of.rounds == whole.rounds } else { of.rounds >= whole.rounds }, "{call:?} of {ranks}");
        }
    }
}

#[test]
fn doubling_sends_the_segments_of_a_step_at_once() {
    // Would catch a segment that is lost, and segments that take a round each.
    for (ranks, algorithm) in
        [2_u32, 6, 8].into_iter().flat_map(|ranks| [A::RecursiveDoubling, A::Bine].map(|own| (ranks, own)))
    {
        let call = Collective { element: 4, segment: 100, ..Collective::new(O::Allreduce, algorithm, 404) };
        let whole = carry_out(&Collective { segment: 0, ..call }, worlds(ranks));
        let of = carry_out(&call, worlds(ranks));
        assert_eq!((&of.bytes, &of.rounds), (&whole.bytes, &whole.rounds), "{call:?} of {ranks}");
        let steps = u64::from(ranks.ilog2());
        assert_eq!(of.messages[ranks as usize - 1], whole.messages[ranks as usize - 1] + 4 * steps);
    }
}

#[test]
fn numbers_of_members_that_an_algorithm_is_not_for_are_refused() {
    // Would catch an algorithm that hangs or loses data on other numbers, and an error that does not say which are allowed.
    let refused = |operation, algorithm, ranks: u32| {
        Collective::new(operation, algorithm, 8).check(&worlds(ranks)[0]).unwrap_err().to_string()
    };
    assert_eq!(
        refused(O::Allgather, A::NeighborExchange, 5),
        "`neighbor-exchange` of `allgather` is for an even number of members, and there are 5"
    );
    assert_eq!(
        refused(O::Broadcast, A::Bine, 6),
        "`bine` of `broadcast` is for a power of two of members, and there are 6"
    );
}
