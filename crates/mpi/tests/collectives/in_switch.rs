//! In-switch operations: the posts of each member, the groups needed, and the lower bounds of their times.

use std::sync::Arc;

use mpi::collectives::{
    Algorithm, Collective, Fastest, FastestWithin, GroupCall, Operation, ProgramGroup, RailUse, algorithms, bound,
    stage, stages,
};
use mpi::communicator::{Communicator, Context, Group, NodeGroups};

const SERVED: [Operation; 6] = [
    Operation::Broadcast,
    Operation::Reduce,
    Operation::Allreduce,
    Operation::Allgather,
    Operation::ReduceScatter,
    Operation::Barrier,
];

fn call(operation: Operation, bytes: u64) -> Collective {
    Collective::new(operation, Algorithm::InSwitch, bytes)
}

/// Returns the communicator of all ranks on some nodes, as each rank knows it.
fn on_nodes(node_of: &[u32]) -> Vec<Communicator> {
    let nodes = Arc::new(NodeGroups::new(&Group::all(node_of.len() as u32), node_of));
    let ranks = 0..node_of.len() as u32;
    ranks.map(|rank| Communicator::world(rank, node_of.len() as u32).on_nodes(Arc::clone(&nodes))).collect()
}

#[test]
fn the_switches_carry_six_operations_out() {
    // Would catch an operation that is offered and cannot be carried out, an operation that is not offered, a choice of
    // `auto`, and segments or a radix that would have no effect.
    for operation in Operation::ALL {
        let serves = algorithms(operation).any(|own| own == Algorithm::InSwitch);
        assert_eq!(serves, SERVED.contains(&operation), "{operation:?}");
        for (ranks, bytes) in [(2, 0), (8, 8), (100, 1 << 20), (4096, 1 << 30)] {
            assert_ne!(call(operation, bytes).chosen(ranks).algorithm, Algorithm::Auto);
            assert_ne!(Collective::new(operation, Algorithm::Auto, bytes).chosen(ranks).algorithm, Algorithm::InSwitch);
        }
    }
    let refused = call(Operation::Alltoall, 8).check(&Communicator::world(0, 4)).unwrap_err().to_string();
    assert!(refused.starts_with("`in-switch` does not serve `alltoall`: `auto`, `linear`"), "{refused}");
    let segment = Collective { segment: 4, ..call(Operation::Allreduce, 8) };
    let refused = segment.check(&Communicator::world(0, 4)).unwrap_err().to_string();
    assert!(refused.starts_with("`in-switch` of `allreduce` has no segments"), "{refused}");
    assert!(!Algorithm::InSwitch.has_radix());
}

#[test]
fn each_member_posts_one_action_and_no_message() {
    // Would catch a message in addition to the action, an action of a rank that does not lead its node, a root given by
    // its member number instead of its rank, and messages within a node that are left out or belong to no tree.
    for operation in SERVED {
        let root = if operation.has_root() { 3 } else { 0 };
        let own = Collective { root, ..call(operation, 40) };
        let posted = GroupCall {
            operation,
            bytes: 40,
            element: 1,
            root: 0,
            owners: false,
            context: Context::WORLD.collective(),
        };
        for rank in 0..5 {
            let world = Communicator::world(rank, 5);
            own.each_message(&world, &mut |_, _, _| panic!("a message"));
            assert_eq!(own.in_switch(&world).collect::<Vec<_>>(), [GroupCall { root, ..posted }], "{operation:?}");
        }
        assert_eq!(own.in_switch(&on_nodes(&[7; 5])[1]).count(), 0, "all on one node");
        // Nodes 9, 4 and 8, which ranks 0, 2 and 3 lead; rank 1 shares the first, rank 4 the second.
        let shared = on_nodes(&[9, 9, 4, 8, 4]);
        let leads: Vec<_> = shared.iter().map(|rank| own.in_switch(rank).next().is_some()).collect();
        assert_eq!(leads, [true, false, true, true, false]);
        let on_second = Collective { root: if operation.has_root() { 4 } else { 0 }, ..own };
        let led_by = if operation.has_root() { 2 } else { 0 };
        let calls: Vec<_> = on_second.in_switch(&shared[0]).collect();
        assert_eq!(calls, [GroupCall { root: led_by, ..posted }], "the root's leader");
        let within: Vec<u64> = shared.iter().map(|rank| own.messages(rank)).collect();
        let wanted = match operation {
            // The root is alone on its node.
            Operation::Broadcast => [1, 0, 1, 0, 0],
            Operation::Reduce => [0, 1, 0, 0, 1],
            _ => [1, 1, 1, 0, 1],
        };
        assert_eq!(within, wanted, "{operation:?}");
    }
    assert_eq!(stages(&call(Operation::Barrier, 0)), 3);
    let middle = stage(&call(Operation::Barrier, 0), &Communicator::world(1, 2), (1, 0)).unwrap();
    assert!(middle.phases.is_empty() && middle.in_switch.is_some());
}

#[test]
fn a_group_is_the_leaders_and_what_they_stand_for() {
    // Would catch a group that is listed for messages, a group of a single node, members in the order of nodes'
    // numbers, parts whose sum is not the buffer, and a part of a leader alone instead of its node.
    let shared = on_nodes(&[9, 9, 4, 8, 4]);
    let group = ProgramGroup::of(&call(Operation::Barrier, 0), &shared[4]).unwrap();
    assert_eq!((&group.ranks[..], &group.first[..]), (&[0, 2, 3][..], &[0, 2, 4, 5][..]));
    assert_eq!(group.context, Context::WORLD.collective());
    let linear = Collective::new(Operation::Barrier, Algorithm::Linear, 0);
    assert_eq!(ProgramGroup::of(&linear, &shared[0]), None);
    assert_eq!(ProgramGroup::of(&call(Operation::Barrier, 0), &on_nodes(&[3; 4])[0]), None);
    let part = |operation, bytes, element| {
        let own = Collective { element, ..call(operation, bytes) }.in_switch(&shared[0]).next().unwrap();
        [0, 1, 2].map(|member| group.part(&own, member))
    };
    assert_eq!(part(Operation::Allgather, 100, 1), [200, 200, 100]);
    assert_eq!(part(Operation::ReduceScatter, 100, 1), [40, 40, 20]);
    // 7 elements over 5 ranks begin at 0, 1, 2, 4 and 5.
    assert_eq!(part(Operation::ReduceScatter, 28, 4), [8, 12, 8]);
    let alone = ProgramGroup::of(&call(Operation::Allreduce, 8), &Communicator::world(2, 3)).unwrap();
    assert_eq!((alone.ranks, alone.first), (vec![0, 1, 2], vec![0, 1, 2, 3]));
}

#[test]
fn links_carry_the_buffer_once_each_way_at_least() {
    // Would catch a bound of messages for operations that switches combine (2(P-1)/P n/B), or a bound without the time
    // of the shortest message.
    let fastest = Fastest {
        latency: 1000,
        per_byte: 10.0,
        rails: RailUse::ONE,
        limits_receivers: true,
        within: FastestWithin::default(),
        networks: Vec::new(),
    };
    let bound = |call: Collective, ranks| bound(&call, &Communicator::world(0, ranks), &fastest);
    for ranks in [2, 5, 64] {
        assert_eq!(bound(call(Operation::Allreduce, 640), ranks), 1000 + 6400);
        assert_eq!(bound(call(Operation::Reduce, 640), ranks), 1000 + 6400);
        assert_eq!(bound(call(Operation::Broadcast, 640), ranks), 1000 + 6400);
        assert_eq!(bound(call(Operation::Barrier, 0), ranks), 1000);
        let others = u64::from(ranks - 1);
        assert_eq!(bound(call(Operation::Allgather, 8), ranks), 1000 + 80 * others);
        assert_eq!(bound(call(Operation::ReduceScatter, 6400), ranks), 1000 + 64_000 * others / u64::from(ranks));
        let ring = Collective::new(Operation::Allreduce, Algorithm::Ring, 640);
        assert_eq!(bound(ring, ranks), 1000 + 2 * 6400 * others / u64::from(ranks));
    }
}

#[test]
fn bounds_use_the_rails_that_the_policy_gives_ranks() {
    // Would catch a rank that is given all rails of its node: 8 rails, 4 nodes of 2 ranks. Ranks 0, 2, 4 and 6 have
    // rail 0, the others rail 1.
    let rails = |from: Option<Vec<u32>>, to: Option<Vec<u32>>, striped_above| RailUse {
        count: 8,
        striped_above,
        from: from.map(Arc::from),
        to: to.map(Arc::from),
    };
    let of = |rails, call: &Collective, communicator: &Communicator| {
        bound(
            call,
            communicator,
            &Fastest {
                latency: 1000,
                per_byte: 10.0,
                rails,
                limits_receivers: true,
                within: FastestWithin::default(),
                networks: Vec::new(),
            },
        )
    };
    let node_of: Vec<u32> = (0..8).map(|rank| rank / 2).collect();
    let even = Group::list([0, 2, 4, 6]);
    let own = Communicator::new(Context::WORLD, even.clone(), 0).unwrap();
    let own = own.on_nodes(Arc::new(NodeGroups::new(&even, &node_of)));
    let all = Communicator::world(0, 8).on_nodes(Arc::new(NodeGroups::new(&Group::all(8), &node_of)));
    let ring = Collective::new(Operation::Allreduce, Algorithm::Ring, 6400);
    let by_rank = || Some((0..8).map(|rank| rank % 2).collect());
    let by_node = || Some(node_of.clone());
    let needed = 2 * 64_000 * 3 / 4;
    assert_eq!(of(rails(None, None, None), &ring, &own), 1000 + needed);
    assert_eq!(of(rails(by_rank(), None, None), &ring, &own), 1000 + 8 * needed);
    assert_eq!(of(rails(by_rank(), None, Some(6400)), &ring, &own), 1000 + 8 * needed);
    assert_eq!(of(rails(by_rank(), None, Some(6399)), &ring, &own), 1000 + needed);
    assert_eq!(of(rails(by_rank(), None, None), &ring, &all), 1000 + 4 * needed);
    // All data for a node arrive by one rail.
    assert_eq!(of(rails(None, by_node(), None), &ring, &all), 1000 + 8 * needed);
    // A message that is not striped takes one rail, whatever the policy.
    let message = |striped_above| Fastest {
        latency: 1000,
        per_byte: 10.0,
        rails: rails(None, None, striped_above),
        limits_receivers: true,
        within: FastestWithin::default(),
        networks: Vec::new(),
    };
    assert_eq!(message(None).message(10), 1800);
    assert_eq!(message(Some(9)).message(10), 1100);
}
