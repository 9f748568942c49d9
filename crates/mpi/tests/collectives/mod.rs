//! Collective operations: every algorithm delivers the operation's result, with the messages and the bytes of theory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod in_switch;
mod islands;
mod libraries;
mod nccl;
mod walker;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::walker::{Buffer, Run, Sent};
use mpi::collectives::{Algorithm, Collective, Data, Operation, algorithms, is_segmented};
use mpi::communicator::{Communicator, Context, Group, NodeGroups};

/// Returns the number of elements of the buffer of a call.
fn elements(call: &Collective, ranks: u32) -> u64 {
    match call.operation {
        Operation::Barrier => 1,
        _ if call.algorithm == Algorithm::AllgatherReduce => u64::from(ranks) * call.bytes / u64::from(call.element),
        operation => operation.buffer(call.bytes, ranks) / u64::from(call.element),
    }
}

/// Returns the range of a member's part.
fn part(call: &Collective, ranks: u32, member: u32) -> std::ops::Range<usize> {
    let mut range = 0..0;
    Data::part(member, ranks).each_range(elements(call, ranks), &mut |from, end| range = from as usize..end as usize);
    range
}

/// Returns a number for an element that a rank has for another, or for all.
fn content(from: u32, to: u32, element: usize) -> u64 {
    1 << 40 | u64::from(from) << 32 | u64::from(to) << 24 | element as u64
}

/// Position of each member's part.
type Places = [u32];

/// Returns the buffer of a rank before an operation.
fn before(call: &Collective, places: &Places, rank: u32) -> Buffer {
    let ranks = places.len() as u32;
    let all = elements(call, ranks) as usize;
    let of_root = |element| if rank == call.root { content(rank, 0, element) } else { 0 };
    match call.operation {
        Operation::Allreduce if call.algorithm == Algorithm::AllgatherReduce => {
            let own = part(call, ranks, rank);
            (0..all).map(|element| if own.contains(&element) { content(rank, 0, element) } else { 0 }).collect()
        }
        Operation::Alltoall if call.algorithm == Algorithm::Bine => {
            let bytes = (call.bytes / u64::from(call.element)) as usize;
            let to = |element: usize| libraries::reached((element / bytes) as u32, 0, ranks);
            (0..all).map(|element| content(rank, to(element), element % bytes)).collect()
        }
        Operation::Broadcast | Operation::Scatter => (0..all).map(of_root).collect(),
        Operation::Reduce | Operation::Allreduce | Operation::ReduceScatter | Operation::Barrier => {
            vec![1 << rank; all]
        }
        Operation::Scan | Operation::Exscan => vec![1 << rank; all],
        Operation::Gather | Operation::Allgather => {
            let own = part(call, ranks, places[rank as usize]);
            (0..all).map(|element| if own.contains(&element) { content(rank, 0, element) } else { 0 }).collect()
        }
        Operation::Alltoall if call.algorithm == Algorithm::Hierarchical => {
            let mut buffer = vec![0; all * ranks as usize];
            for to in 0..ranks {
                let part = square(call, ranks, (places[rank as usize], places[to as usize]));
                part.clone().for_each(|element| buffer[element] = content(rank, to, element - part.start));
            }
            buffer
        }
        Operation::Alltoall => {
            let bytes = (call.bytes / u64::from(call.element)) as usize;
            let ahead = |element: usize| (rank + (element / bytes) as u32) % ranks;
            (0..all).map(|element| content(rank, ahead(element), element % bytes)).collect()
        }
    }
}

/// Returns the range of the part in a row and a column of a square.
fn square(call: &Collective, ranks: u32, (row, column): (u32, u32)) -> std::ops::Range<usize> {
    let each = (call.bytes / u64::from(call.element)) as usize;
    let first = (row * ranks + column) as usize * each;
    first..first + each
}

/// Checks the buffer of a rank after an operation.
fn check(call: &Collective, places: &Places, rank: u32, buffer: &Buffer) {
    let ranks = places.len() as u32;
    let part = |member: u32| part(call, ranks, places[member as usize]);
    let everyone = u64::MAX >> (64 - ranks);
    let is_root = rank == call.root;
    match call.operation {
        Operation::Broadcast => assert_eq!(*buffer, before(call, places, call.root)),
        Operation::Allreduce if call.algorithm == Algorithm::AllgatherReduce => {
            let all = (0..ranks).all(|other| part(other).all(|element| buffer[element] == content(other, 0, element)));
            assert!(all, "{call:?}: {rank}");
        }
        Operation::Allreduce | Operation::Barrier => {
            assert!(buffer.iter().all(|&element| element == everyone), "{call:?} of {ranks}: {rank}");
        }
        Operation::Reduce => assert!(!is_root || buffer.iter().all(|&element| element == everyone)),
        Operation::ReduceScatter => {
            assert!(buffer[part(rank)].iter().all(|&element| element == everyone));
        }
        Operation::Scatter => {
            let own = part(rank);
            assert!(own.clone().all(|element| buffer[element] == content(call.root, 0, element)));
        }
        Operation::Gather | Operation::Allgather => {
            let is_there = |element: usize, other| buffer[element] == content(other, 0, element);
            let all = (0..ranks).all(|other| part(other).all(|element| is_there(element, other)));
            assert!(all || (call.operation == Operation::Gather && !is_root), "{call:?} of {ranks}: {rank}");
        }
        Operation::Scan => assert!(buffer.iter().all(|&element| element == everyone >> (ranks - 1 - rank))),
        Operation::Exscan => assert!(buffer.iter().all(|&element| element == (1 << rank) - 1)),
        Operation::Alltoall if call.algorithm == Algorithm::Hierarchical => {
            for from in 0..ranks {
                let part = square(call, ranks, (places[from as usize], places[rank as usize]));
                assert!(part.clone().all(|element| buffer[element] == content(from, rank, element - part.start)));
            }
        }
        Operation::Alltoall if call.algorithm == Algorithm::Bine => {
            let bytes = (call.bytes / u64::from(call.element)) as usize;
            let mut from: Vec<u32> = (0..ranks).map(|place| libraries::source(rank, place, ranks)).collect();
            for (element, &came) in buffer.iter().enumerate() {
                assert_eq!(came, content(from[element / bytes], rank, element % bytes), "{call:?} of {ranks}: {rank}");
            }
            from.sort_unstable();
            assert!(from.into_iter().eq(0..ranks), "parts of every member");
        }
        Operation::Alltoall => {
            let bytes = (call.bytes / u64::from(call.element)) as usize;
            for (element, &came) in buffer.iter().enumerate() {
                let back = (rank + ranks - (element / bytes) as u32) % ranks;
                assert_eq!(came, content(back, rank, element % bytes));
            }
        }
    }
}

/// Returns whether parts are in the order of nodes.
fn is_by_nodes(algorithm: Algorithm) -> bool {
    algorithm == Algorithm::Hierarchical || algorithm.is_of_switches()
}

/// Carries out a call on the ranks of a communicator whose parts are at some places, and checks their buffers. Returns
/// the messages sent.
fn carry_out_at(call: &Collective, communicators: Vec<Communicator>, places: &Places) -> Sent {
    let ranks = communicators.len() as u32;
    let buffers = (0..ranks).map(|rank| before(call, places, rank)).collect();
    let (buffers, sent) = Run::new(*call, communicators, buffers).run();
    (0..).zip(&buffers).for_each(|(rank, buffer)| check(call, places, rank, buffer));
    sent
}

/// Carries out a call on the ranks of a communicator, and checks their buffers. Returns the messages sent.
fn carry_out(call: &Collective, communicators: Vec<Communicator>) -> Sent {
    let ranks = communicators.len() as u32;
    let mut places: Vec<u32> = (0..ranks).collect();
    if let Some(nodes) = communicators[0].nodes().filter(|_| is_by_nodes(call.algorithm)) {
        (0..).zip(nodes.ranks()).for_each(|(place, &rank)| places[rank as usize] = place);
    }
    carry_out_at(call, communicators, &places)
}

fn worlds(ranks: u32) -> Vec<Communicator> {
    (0..ranks).map(|rank| Communicator::world(rank, ranks)).collect()
}

/// Carries out a call in the communicator of all ranks. Returns the messages sent.
fn sent(operation: Operation, algorithm: Algorithm, bytes: u64, ranks: u32) -> Sent {
    carry_out(&Collective::new(operation, algorithm, bytes), worlds(ranks))
}

#[test]
fn every_algorithm_does_what_its_operation_means() {
    // Would catch a part that is lost, combined twice or sent to the wrong member, a root other than 0, numbers of
    // members that are not powers, buffers with fewer elements than members, and a rank that waits for a message that
    // is never sent.
    for ranks in 1..=40 {
        for operation in Operation::ALL {
            for algorithm in algorithms(operation).filter(|&own| own != Algorithm::Hierarchical && !own.is_of_islands())
            {
                for (bytes, radix) in [(0, 2), (4, 3), (12, 4), (4 * 37, 5)] {
                    let root = if operation.has_root() { (ranks * 2 / 3).min(ranks - 1) } else { 0 };
                    let call = Collective { root, radix, element: 4, ..Collective::new(operation, algorithm, bytes) };
                    let call = Collective { window: radix - 2, ..call };
                    let is_for = libraries::is_for(operation, algorithm, ranks);
                    assert_eq!(call.check(&worlds(ranks)[0]).is_ok(), is_for, "{call:?} of {ranks}");
                    if !is_for {
                        continue;
                    }
                    if bytes > 0 || operation != Operation::Alltoall {
                        carry_out(&call, worlds(ranks));
                    }
                    for segment in [4, 8, 40, 1000] {
                        if is_segmented(operation, algorithm) {
                            carry_out(&Collective { segment, ..call }, worlds(ranks));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn hierarchical_operations_cross_the_network_once_a_node() {
    // Would catch a root that does not lead its node, a node whose ranks are not neighbours, and a part that is left
    // out.
    let by_nodes = |operation| {
        algorithms(operation).filter(|&own| is_by_nodes(own) && !own.is_of_islands()).map(move |own| (operation, own))
    };
    for ranks in [1_u32, 2, 5, 8, 12, 27] {
        for per_node in [1, 2, 3, 8] {
            for (operation, algorithm) in Operation::ALL.into_iter().flat_map(by_nodes) {
                let nodes = ranks.div_ceil(per_node);
                // Node after node, and round-robin.
                for node_of in [|rank: u32, nodes: u32| rank % nodes, |rank: u32, nodes: u32| rank * nodes / 27 % nodes]
                {
                    let node_of: Vec<u32> = (0..ranks).map(|rank| node_of(rank, nodes)).collect();
                    let groups = Arc::new(NodeGroups::new(&Group::all(ranks), &node_of));
                    let on_nodes = |own: Communicator| own.on_nodes(Arc::clone(&groups));
                    for root in if operation.has_root() { 0..ranks } else { 0..1 } {
                        for bytes in [24, 7] {
                            let call = Collective { root, ..Collective::new(operation, algorithm, bytes) };
                            let communicators: Vec<_> = worlds(ranks).into_iter().map(on_nodes).collect();
                            carry_out(&call, communicators.clone());
                            let crossing = crossing(&call, &communicators, &node_of);
                            let most = match algorithm {
                                // The switches carry everything.
                                algorithm if algorithm.is_of_switches() => 0,
                                _ => most_crossing(operation, u64::from(groups.len())),
                            };
                            assert!(
                                crossing <= most,
                                "{operation:?}: {crossing} messages between {} nodes",
                                groups.len()
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn messages_that_are_counted_by_size_are_those_that_are_sent() {
    // Would catch a ring whose larger parts are counted once too often or too rarely (buffers that are not multiples of
    // the ranks, fewer elements than ranks), segments that are forgotten, and another algorithm's messages that change.
    for ranks in 1..=17 {
        for operation in Operation::ALL {
            for algorithm in algorithms(operation).filter(|&algorithm| !is_by_nodes(algorithm)) {
                for (bytes, segment) in [(0, 0), (3, 0), (37, 0), (51, 0), (60 * u64::from(ranks), 10)] {
                    let segment = if is_segmented(operation, algorithm) { segment } else { 0 };
                    let call = Collective { segment, ..Collective::new(operation, algorithm, bytes) };
                    let communicators = worlds(ranks);
                    if call.check(&communicators[0]).is_err() {
                        continue;
                    }
                    let of = carry_out(&call, communicators.clone());
                    for (rank, communicator) in communicators.iter().enumerate() {
                        let (mut messages, mut sum) = (0, 0);
                        call.each_message(communicator, &mut |_, bytes, count| {
                            messages += count;
                            sum += bytes * count;
                        });
                        assert_eq!((messages, sum), (of.messages[rank], of.bytes[rank]), "{call:?} of {ranks}: {rank}");
                        assert_eq!(call.messages(communicator), messages, "{call:?} of {ranks}: {rank}");
                        let (mut messages, mut sum) = (0, 0);
                        call.each_size(communicator, &mut |bytes, count| {
                            messages += count;
                            sum += bytes * count;
                        });
                        assert_eq!((messages, sum), (of.messages[rank], of.bytes[rank]), "{call:?} of {ranks}: {rank}");
                        assert_eq!(by_range(&call, communicator), by_rank(&call, communicator), "{call:?} of {ranks}");
                    }
                }
            }
        }
    }
}

/// Returns the destinations, sizes and numbers of a member's messages, from a visit of each rank.
fn by_rank(call: &Collective, communicator: &Communicator) -> BTreeMap<(u32, u64), u64> {
    let mut sent = BTreeMap::new();
    call.each_message(communicator, &mut |to, bytes, count| *sent.entry((to, bytes)).or_default() += count);
    sent
}

/// Returns the destinations, sizes and numbers of a member's messages, from visits of ranges of ranks.
fn by_range(call: &Collective, communicator: &Communicator) -> BTreeMap<(u32, u64), u64> {
    let (mut sent, own) = (BTreeMap::new(), communicator.group().rank(communicator.own()));
    call.each_fan_out(communicator, &mut |ranks, bytes, count| {
        ranks.filter(|&to| to != own).for_each(|to| *sent.entry((to, bytes)).or_default() += count);
    });
    sent
}

#[test]
fn messages_to_all_ranks_are_few_visits() {
    // Would catch estimates that are quadratic in ranks: a visit of every pair of an alltoall.
    for algorithm in [Algorithm::Linear, Algorithm::Pairwise] {
        for operation in [Operation::Alltoall, Operation::ReduceScatter] {
            let call = Collective::new(operation, algorithm, 65_536 * 64);
            let world = Communicator::world(5, 65_536);
            let (mut visits, mut sizes) = (0, 0);
            call.each_fan_out(&world, &mut |_, _, _| visits += 1);
            call.each_size(&world, &mut |_, _| sizes += 1);
            assert_eq!((visits, sizes, call.messages(&world)), (1, 1, 65_535), "{operation:?} {algorithm:?}");
        }
    }
}

#[test]
fn messages_in_rings_are_few_visits() {
    // Would catch estimates that are quadratic in ranks: a visit of every message that circulates.
    for (operation, bytes) in
        [(Operation::Allreduce, 1 << 20), (Operation::Allreduce, 1_000_003), (Operation::Allgather, 64)]
    {
        let call = Collective::new(operation, Algorithm::Ring, bytes);
        let mut visits = 0;
        call.each_message(&Communicator::world(5, 65_536), &mut |_, _, _| visits += 1);
        assert!((1..=4).contains(&visits), "{operation:?}: {visits}");
    }
}

/// Returns the number of messages between nodes, of all members.
fn crossing(call: &Collective, communicators: &[Communicator], node_of: &[u32]) -> u64 {
    let mut crossing = 0;
    for (from, communicator) in communicators.iter().enumerate() {
        let mut visit = |to: u32, _, count| crossing += count * u64::from(node_of[from] != node_of[to as usize]);
        call.each_message(communicator, &mut visit);
    }
    crossing
}

/// Returns the maximum number of messages between `nodes` nodes of which one rank each takes part.
fn most_crossing(operation: Operation, nodes: u64) -> u64 {
    let log = u64::from(nodes.next_power_of_two().ilog2());
    match operation {
        Operation::Broadcast | Operation::Reduce | Operation::Gather | Operation::Scatter => nodes - 1,
        Operation::Alltoall => nodes * (nodes - 1),
        _ => nodes * 2 * log,
    }
}

fn log2(ranks: u32) -> u64 {
    u64::from(ranks.next_power_of_two().ilog2())
}

#[test]
fn messages_and_bytes_are_those_of_theory() {
    // Would catch an algorithm that is correct but slow: a ring that sends whole buffers, a tree that is a chain.
    use {Algorithm as A, Operation as O};
    for ranks in [2_u32, 4, 8, 16, 32] {
        let (one, share) = (u64::from(ranks) * 60, 60 * u64::from(ranks - 1));
        let each = |messages: u64, bytes: u64, of: Sent| {
            assert_eq!((of.messages, of.bytes), (vec![messages; ranks as usize], vec![bytes; ranks as usize]));
        };
        let log = log2(ranks);
        each(2 * u64::from(ranks - 1), 2 * share, sent(O::Allreduce, A::Ring, one, ranks));
        each(log, log * one, sent(O::Allreduce, A::RecursiveDoubling, one, ranks));
        each(2 * log, 2 * share, sent(O::Allreduce, A::Rabenseifner, one, ranks));
        each(log, share, sent(O::ReduceScatter, A::RecursiveHalving, one, ranks));
        each(u64::from(ranks - 1), share, sent(O::ReduceScatter, A::Pairwise, one, ranks));
        each(log, share, sent(O::Allgather, A::RecursiveDoubling, 60, ranks));
        each(log, log * u64::from(ranks / 2) * 60, sent(O::Alltoall, A::Bruck, 60, ranks));
    }
    for ranks in 2_u32..=20 {
        let others = u64::from(ranks - 1);
        let all = |of: &Sent| (of.messages.iter().sum::<u64>(), of.bytes.iter().sum::<u64>());
        for algorithm in [A::Linear, A::Binomial, A::KNomial] {
            assert_eq!(all(&sent(O::Broadcast, algorithm, 100, ranks)), (others, others * 100));
            assert_eq!(all(&sent(O::Reduce, algorithm, 100, ranks)), (others, others * 100));
        }
        // Along a tree every part is sent once a level.
        let gather = sent(O::Gather, A::Binomial, 10, ranks);
        let levels: u64 = (1..ranks).map(|rank| u64::from(rank.count_ones()) * 10).sum();
        assert_eq!(all(&gather), (others, levels));
        assert_eq!(u64::from(sent(O::Broadcast, A::Binomial, 1, ranks).rounds[0]), log2(ranks));
        for (operation, algorithm, bytes) in [(O::Allgather, A::Bruck, 10 * others), (O::Barrier, A::Dissemination, 0)]
        {
            let of = sent(operation, algorithm, 10, ranks);
            assert!(of.messages.iter().all(|&own| own == log2(ranks)) && of.bytes.iter().all(|&own| own == bytes));
        }
        for (operation, algorithm) in [(O::Alltoall, A::Linear), (O::Alltoall, A::Pairwise), (O::Allgather, A::Ring)] {
            let of = sent(operation, algorithm, 10, ranks);
            assert!(of.messages.iter().all(|&own| own == others) && of.bytes.iter().all(|&own| own == 10 * others));
        }
    }
}

#[test]
fn segments_and_scans_are_those_of_theory() {
    // Would catch a pipeline that sends whole buffers, a member that waits for its last segment before it sends the
    // first, segments that exceed the maximum size, and a scan whose members all do equal work.
    use {Algorithm as A, Operation as O};
    for ranks in [2_u32, 5, 8, 13] {
        let others = ranks as usize - 1;
        for (operation, algorithm) in [(O::Broadcast, A::Chain), (O::Broadcast, A::Binary), (O::Reduce, A::Binomial)] {
            let call = Collective { element: 4, segment: 30, ..Collective::new(operation, algorithm, 400) };
            // Segments of at most 7 elements: 15 of them.
            let of = carry_out(&call, worlds(ranks));
            assert_eq!(of.messages.iter().sum::<u64>(), 15 * others as u64);
            assert_eq!(of.bytes.iter().sum::<u64>(), 400 * others as u64);
            call.each_message(&worlds(ranks)[usize::from(operation == O::Reduce)], &mut |_, bytes, _| {
                assert!(bytes <= 28)
            });
            let inner = of.rounds.iter().filter(|&&rounds| rounds == 16).count();
            assert!(of.rounds.iter().all(|rounds| [15, 16].contains(rounds)) && inner < others, "{:?}", of.rounds);
        }
        let chain =
            carry_out(&Collective { segment: 40, ..Collective::new(O::Broadcast, A::Chain, 400) }, worlds(ranks));
        assert_eq!(chain.messages, [vec![10; others], vec![0]].concat());
        // A ring of segments sends an equal number of bytes in more messages.
        let ring = Collective { segment: 10, ..Collective::new(O::Allreduce, A::Ring, 60 * u64::from(ranks)) };
        let of = carry_out(&ring, worlds(ranks));
        assert_eq!(of.messages, vec![7 * others as u64; others + 1]);
        assert_eq!(of.bytes, vec![2 * 60 * others as u64; others + 1]);
        let scan = sent(O::Scan, A::Chain, 100, ranks);
        assert_eq!(scan.messages, [vec![1; others], vec![0]].concat());
        let scan = sent(O::Exscan, A::RecursiveDoubling, 100, ranks);
        let peers = |rank: u32| (0..log2(ranks)).filter(|round| rank ^ (1 << round) < ranks).count() as u64;
        assert_eq!(scan.messages, (0..ranks).map(peers).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_be_called_is_refused() {
    // Would catch a panic within an algorithm.
    let world = Communicator::world(0, 4);
    let check = |call: Collective| call.check(&world).unwrap_err().to_string();
    let call = Collective::new(Operation::Broadcast, Algorithm::Binomial, 8);
    assert_eq!(
        check(Collective { algorithm: Algorithm::Bruck, ..call }),
        "`bruck` does not serve `broadcast`: `auto`, `linear`, `binomial`, `k-nomial`, `scatter-allgather`, `hierarchical`, `chain`, `binary`, \
         `scatter-doubling`, `in-switch`, `chains`, `split-binary`, `bine`, `bine-doubling`, `bine-bandwidth` are allowed"
    );
    assert_eq!(check(Collective { root: 4, ..call }), "there is no member 4: 0 to 3 are allowed");
    assert_eq!(check(Collective { element: 3, ..call }), "8 bytes are not whole elements of 3 bytes");
    assert_eq!(check(Collective { radix: 1, ..call }), "1 is no radix: 2 and more are allowed");
    let segmented = |algorithm, segment| check(Collective { algorithm, segment, bytes: 1 << 30, ..call });
    assert_eq!(
        segmented(Algorithm::ScatterAllgather, 8),
        "`scatter-allgather` of `broadcast` has no segments; `binomial`, `k-nomial`, `chain`, `binary`, `chains`, \
         `split-binary`, `bine`, `bine-doubling` have"
    );
    assert_eq!(segmented(Algorithm::Chain, 8), "8 bytes are no segment here: 1024 and more are allowed");
    let hierarchical = Collective { algorithm: Algorithm::Hierarchical, ..call };
    assert!(check(hierarchical).starts_with("the nodes of communicator 0 are not known"));
}

#[test]
fn parts_of_a_communicator_have_its_ranks_in_their_order() {
    // Would catch members of another colour, a wrong member number of this rank, and a progression that exceeds its
    // length.
    let group = Group::Progression { first: 3, stride: 2, count: 4 };
    assert_eq!((0..4).map(|member| group.rank(member)).collect::<Vec<_>>(), [3, 5, 7, 9]);
    assert_eq!([3, 4, 9, 11, 1].map(|rank| group.member(rank)), [Some(0), None, Some(3), None, None]);
    let context = Context::new(7).unwrap();
    let split = |rank| Communicator::world(rank, 7).split(context, |member| (member != 6).then_some(member % 2));
    let odd = split(5).unwrap();
    assert_eq!((odd.own(), odd.len(), odd.rank(1), odd.context()), (2, 3, 3, context));
    assert_eq!(split(6), None);
}
