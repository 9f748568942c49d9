//! Operations by islands of a first network and rails between them: data, messages between islands, groups and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use mpi::collectives::{
    Algorithm, Collective, CollectiveError, Fastest, FastestNetwork, FastestWithin, GroupNumbers, Operation, RailUse,
    algorithms, bound, bound_beside, is_segmented,
};
use mpi::communicator::{Communicator, Context, Group, Interconnect, NodeGroups, OffloadScope};

use super::{carry_out_at, crossing};

const BY_ISLANDS: [Algorithm; 6] = [
    Algorithm::Hierarchical,
    Algorithm::NvlsRing,
    Algorithm::NvlsDoubling,
    Algorithm::NvlsInSwitch,
    Algorithm::NvlsTree,
    Algorithm::CollNet,
];
const OPERATIONS: [Operation; 3] = [Operation::Allreduce, Operation::ReduceScatter, Operation::Allgather];

/// Returns the communicator of ranks on nodes of their own, in some islands, as each rank knows it.
fn in_islands(islands: &[u32], limits: &[((Context, u32), OffloadScope)]) -> Vec<Communicator> {
    let ranks = islands.len() as u32;
    let nodes: Vec<u32> = (0..ranks).collect();
    let interconnect = Interconnect {
        limits: limits.iter().copied().collect(),
        islands: islands.iter().map(|&island| Some(island)).collect(),
    };
    let groups = Arc::new(NodeGroups::new(&Group::all(ranks), &nodes).among(&interconnect, Context::WORLD));
    (0..ranks).map(|rank| Communicator::world(rank, ranks).on_nodes(Arc::clone(&groups))).collect()
}

/// Returns the islands of ranks, node after node or in turn.
fn placements(count: u32, size: u32) -> [Vec<u32>; 2] {
    [(0..count * size).map(|rank| rank / size).collect(), (0..count * size).map(|rank| rank % count).collect()]
}

#[test]
fn every_rail_carries_its_slice_and_no_more() {
    // Would catch a slice that is lost or combined twice, parts in the order of ranks instead of places, a size that does
    // not divide evenly, and messages that leave an island by another rail or carry more than a slice: an allreduce of n
    // bytes in c islands of s members sends 2 (c - 1)/c n/s bytes from each member by a ring.
    for (count, size) in [(2, 2), (3, 2), (2, 5), (4, 8), (5, 3)] {
        for islands in placements(count, size) {
            for algorithm in BY_ISLANDS {
                for operation in OPERATIONS.into_iter().filter(|&own| algorithms(own).any(|other| other == algorithm)) {
                    for bytes in [u64::from(count * size) * 4, 4, 4 * 7, 0] {
                        let call = Collective { element: 4, ..Collective::new(operation, algorithm, bytes) };
                        let communicators = in_islands(&islands, &[]);
                        let own = communicators[0].nodes().unwrap().islands().unwrap();
                        let place = |rank: u32| own.place(rank);
                        let places: Vec<u32> =
                            (0..count * size).map(|rank| place(rank).1 * count + place(rank).0).collect();
                        carry_out_at(&call, communicators.clone(), &places);
                        if is_segmented(operation, algorithm) {
                            for segment in [4, 20, 1000] {
                                carry_out_at(&Collective { segment, ..call }, communicators.clone(), &places);
                            }
                        }
                        for (rank, communicator) in (0..).zip(&communicators) {
                            let mut sent = 0;
                            call.each_message(communicator, &mut |to, bytes, messages| {
                                let is_far = islands[to as usize] != islands[rank as usize];
                                assert_eq!(is_far, place(to).1 == place(rank).1, "{call:?}: from {rank} to {to}");
                                sent += if is_far { bytes * messages } else { 0 };
                            });
                            if algorithm == Algorithm::NvlsRing && bytes == u64::from(count * size) * 4 {
                                let slice = 4 * u64::from(count - 1);
                                let expected = match operation {
                                    Operation::Allreduce => 2 * slice,
                                    Operation::ReduceScatter => slice,
                                    _ => bytes * u64::from(count - 1),
                                };
                                assert_eq!(sent, expected, "{call:?}");
                            }
                        }
                        if matches!(algorithm, Algorithm::NvlsInSwitch | Algorithm::CollNet) {
                            assert_eq!(crossing(&call, &communicators, &islands), 0, "{call:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn members_of_one_island_or_one_rail_need_no_sequence() {
    // Would catch a stage of a single member, and an operation that nobody carries out.
    let chosen = |algorithm: Algorithm, islands: &[u32]| {
        let call = Collective::new(Operation::ReduceScatter, algorithm, 64);
        call.within(&in_islands(islands, &[])[0]).algorithm
    };
    for algorithm in [Algorithm::NvlsRing, Algorithm::NvlsDoubling, Algorithm::NvlsInSwitch] {
        assert_eq!(chosen(algorithm, &[3; 4]), Algorithm::Nvls);
        assert_eq!(chosen(algorithm, &[0, 0, 1, 1]), algorithm);
    }
    assert_eq!(chosen(Algorithm::NvlsRing, &[0, 1, 2]), Algorithm::Ring);
    assert_eq!(chosen(Algorithm::NvlsDoubling, &[0, 1, 2]), Algorithm::RecursiveHalving);
    assert_eq!(chosen(Algorithm::NvlsInSwitch, &[0, 1, 2]), Algorithm::InSwitch);
}

#[test]
fn groups_are_islands_and_rails() {
    // Would catch a group that is numbered twice, calls of a rail with the owners of islands, groups of which one member
    // has two under one context, and a size that is not that of a slice.
    let communicators = in_islands(&[0, 0, 0, 1, 1, 1], &[]);
    let call = Collective::new(Operation::Allreduce, Algorithm::NvlsInSwitch, 600);
    let (mut numbers, mut calls) = (GroupNumbers::default(), BTreeMap::new());
    for _ in 0..2 {
        numbers.add(&call, &communicators[0], &mut |number, call| {
            calls.entry(number).or_insert_with(Vec::new).push((call.operation, call.bytes, call.owners));
        });
    }
    let groups = numbers.groups();
    let ranks: Vec<&[u32]> = groups.iter().map(|group| &group.ranks[..]).collect();
    assert_eq!(ranks, [&[0, 1, 2][..], &[3, 4, 5], &[0, 3], &[1, 4], &[2, 5]]);
    let contexts = [0, 2].map(|group: usize| groups[group].context);
    assert!(contexts[0] != contexts[1] && contexts.iter().all(|own| *own != Context::WORLD.collective()));
    assert_eq!(contexts[0].number(), 0);
    let island = [(Operation::ReduceScatter, 600, true), (Operation::Allgather, 200, true)];
    assert_eq!(calls[&0], [island, island].concat());
    assert_eq!(calls[&2], [(Operation::Allreduce, 200, false); 2]);
    assert_eq!(call.in_switch(&communicators[4]).count(), 3);
    // A group without room leaves all to messages.
    let limits = [((contexts[1], 1), OffloadScope::UpTo(100))];
    let limited = in_islands(&[0, 0, 0, 1, 1, 1], &limits);
    assert!(!call.within(&limited[0]).algorithm.is_of_switches());
    assert_eq!(Collective { bytes: 100, ..call }.within(&limited[0]).algorithm, Algorithm::NvlsInSwitch);
}

#[test]
fn members_that_are_in_no_equal_islands_are_refused() {
    // Would catch slices that some island cannot hold, and a reason that is not the reason.
    let call = Collective::new(Operation::Allreduce, Algorithm::NvlsRing, 64);
    let refused = |communicator: &Communicator| call.check(communicator).unwrap_err().to_string();
    let unequal = refused(&in_islands(&[0, 0, 1], &[])[0]);
    assert!(unequal.contains("1 to 2 of its ranks"), "{unequal}");
    let one = refused(&Communicator::world(0, 4));
    assert!(one.starts_with("`nvls-ring` is for members in equal islands") && one.contains("one network"), "{one}");
    let interconnect = Interconnect { islands: Arc::new([Some(0), None, Some(1)]), ..Interconnect::default() };
    let refused_on = |node_of: &[u32]| {
        let nodes = NodeGroups::new(&Group::all(node_of.len() as u32), node_of).among(&interconnect, Context::WORLD);
        refused(&Communicator::world(0, node_of.len() as u32).on_nodes(Arc::new(nodes)))
    };
    assert!(refused_on(&[0, 1, 2]).contains("rank 1 has no port"));
    assert!(refused_on(&[0, 0, 2, 2]).contains("share an endpoint"));
    let broadcast = Collective { operation: Operation::Broadcast, ..call };
    assert!(broadcast.check(&in_islands(&[0, 0, 1, 1], &[])[0]).unwrap_err().to_string().contains("does not serve"));
}

#[test]
fn chunks_are_limited() {
    // Would catch a segment of a few bytes, whose groups are counted for minutes before a run begins.
    let communicators = in_islands(&[0, 0, 1, 1], &[]);
    let call = Collective::new(Operation::Allreduce, Algorithm::NvlsRing, 1 << 20);
    assert_eq!(Collective { segment: 64, ..call }.check(&communicators[0]), Ok(()));
    let refused = Collective { segment: 63, ..call }.check(&communicators[0]);
    assert_eq!(refused, Err(CollectiveError::Segment { segment: 63, least: 64 }));
}

#[test]
fn a_sequence_is_bound_by_each_network() {
    // Would catch the time of one network on the other, and a factor of a stage: islands of 4 on links of 0.1 bytes a
    // picosecond, and rails of 0.01.
    let network = |rate, islands: &[u32]| FastestNetwork {
        rate,
        islands: islands.iter().map(|&own| Some(own)).collect(),
        takes_all: true,
    };
    let fastest = Fastest {
        latency: 1000,
        per_byte: 1.0 / 0.11,
        rails: RailUse { count: 2, ..RailUse::ONE },
        limits_receivers: true,
        within: FastestWithin::default(),
        networks: vec![network(0.1, &[0, 0, 0, 0, 1, 1, 1, 1]), network(0.01, &[0, 1, 2, 3, 0, 1, 2, 3])],
    };
    let own = &in_islands(&[0, 0, 0, 0, 1, 1, 1, 1], &[])[0];
    let time = |operation, algorithm| bound(&Collective::new(operation, algorithm, 8000), own, &fastest);
    assert_eq!(time(Operation::Allreduce, Algorithm::NvlsRing), 1000 + 100_000 + 200_000);
    assert_eq!(time(Operation::Allreduce, Algorithm::NvlsInSwitch), 1000 + 100_000 + 200_000);
    let both = Collective::new(Operation::Allreduce, Algorithm::NvlsRing, 8000);
    assert_eq!(bound_beside(&both, own, &fastest), 1000 + 200_000, "rails");
    let pipeline = Collective { segment: 1000, ..Collective::new(Operation::Allreduce, Algorithm::NvlsRing, 8000) };
    assert_eq!(bound(&pipeline, own, &fastest), 1000 + 200_000, "both networks at once");
    assert_eq!(time(Operation::ReduceScatter, Algorithm::NvlsDoubling), 1000 + 80_000 + 100_000);
    assert_eq!(time(Operation::Allgather, Algorithm::NvlsRing), 1000 + 640_000 + 800_000);
    // By messages: slices of 2000 bytes cross a link inside and a rail, and a member then gathers three of them. Only
    // whole elements are sure.
    let element = u64::from(both.element);
    let hierarchical = |operation| time(operation, Algorithm::Hierarchical);
    assert_eq!(hierarchical(Operation::Allreduce), 1000 + (2000 - element) * 110 + 60_000);
    assert_eq!(hierarchical(Operation::ReduceScatter), 1000 + 20_000 + 100_000);
    assert_eq!(hierarchical(Operation::Allgather), 1000 + 800_000 + 480_000);
    // Relays may use the ports of others, and striped messages all networks: the bytes are those of all networks.
    let all = 1000 + (2.0 * 7.0 / 8.0 * 8000.0 / 0.11) as u64;
    let mut relayed = fastest.clone();
    relayed.networks[1].islands = (0..8).map(|rank| (rank % 4 < 2).then_some(rank % 4)).collect();
    let messages = Collective::new(Operation::Allreduce, Algorithm::Hierarchical, 8000);
    assert_eq!(bound(&messages, own, &relayed), all);
    // Trees are in the first network that joins all members, and take no other.
    let joined = Fastest { networks: vec![fastest.networks[0].clone(), network(0.02, &[0; 8])], ..fastest };
    let in_switch = Collective::new(Operation::Allreduce, Algorithm::InSwitch, 8000);
    assert_eq!(bound(&in_switch, own, &joined), 1000 + 400_000);
}
