//! Algorithms, protocols, channels and choices of NCCL against naive enumerations.

use std::collections::BTreeMap;

use super::{carry_out, worlds};
use mpi::collectives::nccl::{Case, Gpu, Nccl, NcclError, Times};
use mpi::collectives::{Algorithm, Collective, Operation, Protocol};

/// Messages by sender, receiver and size in bytes.
type Messages = BTreeMap<(u32, u32, u64), u64>;

/// Returns the messages of a call that its programs count.
fn counted(call: &Collective, ranks: u32) -> Messages {
    let mut found = Messages::new();
    for (rank, own) in (0..).zip(&worlds(ranks)) {
        let mut sizes = BTreeMap::new();
        call.each_message(own, &mut |to, bytes, count| {
            *found.entry((rank, to, bytes)).or_insert(0) += count;
            *sizes.entry(bytes).or_insert(0) += count;
        });
        let mut by_size = BTreeMap::new();
        call.each_size(own, &mut |bytes, count| *by_size.entry(bytes).or_insert(0) += count);
        assert_eq!(sizes, by_size, "{call:?}");
        assert_eq!(call.messages(own), sizes.values().sum::<u64>());
    }
    found
}

/// Adds the edges, from child to parent, of the tree of the vertices of a range: the vertex with the most trailing
/// zeros is the root.
fn edges(from: u32, to: u32, above: Option<u32>, found: &mut Vec<(u32, u32)>) {
    let Some(root) = (from..to).max_by_key(|vertex| vertex.trailing_zeros()) else { return };
    found.extend(above.map(|above| (root, above)));
    edges(from, root, Some(root), found);
    edges(root + 1, to, Some(root), found);
}

#[test]
fn each_tree_carries_half_of_the_buffer_up_and_down() {
    // Would catch a chain across servers, a tree that is not mirrored or shifted, a half that takes both trees, and a
    // segment too many.
    for ranks in 1_u32..=33 {
        for chain in [1_u32, 2, 3, 8] {
            let chains = ranks.div_ceil(chain.min(ranks));
            let mut tree = Vec::new();
            edges(0, chains, None, &mut tree);
            let second = |vertex: u32| match chains % 2 {
                0 => chains - 1 - vertex,
                _ => (vertex + 1) % chains,
            };
            let inside = (0..ranks).filter(|rank| rank % chain > 0).map(|rank| (rank, rank - 1));
            for segments in [1_u64, 3] {
                let mut expected = Messages::new();
                let between = tree.iter().flat_map(|&(own, above)| [(own, above), (second(own), second(above))]);
                let between = between.map(|(own, above)| (own * chain, above * chain));
                for (own, above) in between.chain(inside.clone().flat_map(|edge| [edge; 2])) {
                    for pair in [(own, above), (above, own)] {
                        *expected.entry((pair.0, pair.1, 8)).or_insert(0) += segments;
                    }
                }
                let call = Collective::new(Operation::Allreduce, Algorithm::DoubleTree, 16 * segments);
                let call = Collective { radix: chain, segment: if segments > 1 { 8 } else { 0 }, ..call };
                assert_eq!(counted(&call, ranks), expected, "{segments} segments, {ranks} ranks in chains of {chain}");
                carry_out(&call, worlds(ranks));
            }
        }
    }
}

#[test]
fn parts_on_equal_steps_of_their_trees_travel_together() {
    // Would catch a part that comes twice or not at all if the number of ranks is no power of two, and parts in messages
    // for themselves. By enumeration: offset o from the owner gets a part from o without its lowest bit.
    for ranks in 1_u32..=40 {
        let mut parts = BTreeMap::new();
        (1..ranks).for_each(|offset| *parts.entry(offset & offset.wrapping_neg()).or_insert(0) += 1);
        for (operation, size) in [(Operation::Allgather, 24), (Operation::ReduceScatter, 24 * u64::from(ranks))] {
            let mut expected = Messages::new();
            for (rank, (&distance, &count)) in (0..ranks).flat_map(|rank| parts.iter().map(move |own| (rank, own))) {
                let by = if operation == Operation::Allgather { distance } else { ranks - distance };
                expected.insert((rank, (rank + by) % ranks, 24 * count), 1);
            }
            let call = Collective::new(operation, Algorithm::Pat, size);
            assert_eq!(counted(&call, ranks), expected, "{operation:?} of {ranks}");
        }
    }
}

#[test]
fn channels_divide_messages_and_protocols_expand_them() {
    // Would catch elements that are divided, a channel without elements that sends, a share that is lost, and flags that
    // are counted once for all channels.
    let pairs = [
        (Operation::Allreduce, Algorithm::Ring),
        (Operation::Allreduce, Algorithm::DoubleTree),
        (Operation::Allgather, Algorithm::Ring),
        (Operation::ReduceScatter, Algorithm::Pat),
        (Operation::Alltoall, Algorithm::Linear),
        (Operation::Broadcast, Algorithm::Chain),
    ];
    for (operation, algorithm) in pairs {
        for (ranks, elements, channels) in [(2, 12, 5), (3, 36, 4), (8, 8000, 3), (5, 7, 24)] {
            for (protocol, data, wire) in [(Protocol::Ll, 8, 16), (Protocol::Ll128, 120, 128), (Protocol::Simple, 1, 1)]
            {
                let call = Collective { element: 4, ..Collective::new(operation, algorithm, 4 * elements) };
                let mut expected = Messages::new();
                for ((from, to, bytes), count) in counted(&call, ranks) {
                    let mut shares = vec![0_u64; channels as usize];
                    (0..bytes / 4).for_each(|element| shares[(element % u64::from(channels)) as usize] += 1);
                    let first = shares[0];
                    let shares = shares.into_iter().filter(|&own| own > 0).chain((first == 0).then_some(0));
                    for share in shares {
                        let lines = (share * 4).div_ceil(data);
                        *expected.entry((from, to, lines * wire)).or_insert(0) += count;
                    }
                }
                let divided = Collective { protocol, channels, ..call };
                assert_eq!(counted(&divided, ranks), expected, "{divided:?} of {ranks}");
            }
        }
    }
}

#[test]
fn lanes_cross_between_servers_at_all_places() {
    // Would catch a lane that carries another lane's share, data that are combined twice, and a lane that leaves a server
    // at the place of another one. An allreduce of n bytes by a ring crosses at each place of each server with 1/s of
    // 2 (P - 1)/P n.
    for (servers, size) in [(2_u32, 2_u32), (2, 4), (4, 4), (6, 1), (2, 3), (4, 8)] {
        let ranks = servers * size;
        for algorithm in [Algorithm::Ring, Algorithm::DoubleTree] {
            let call = Collective::new(Operation::Allreduce, algorithm, u64::from(ranks * size) * 8);
            let radix = if algorithm == Algorithm::DoubleTree { size } else { 2 };
            let call = Collective { radix, channels: 2 * size, per_server: size, ..call };
            carry_out(&call, worlds(ranks));
            for ((from, to, bytes), count) in counted(&call, ranks) {
                let is_far = from / size != to / size;
                assert!(!is_far || from % size == to % size, "{call:?}: {from} to {to}");
                if is_far && algorithm == Algorithm::Ring {
                    assert_eq!(bytes * count, 2 * u64::from(ranks - 1) * 8, "{call:?}: {from} to {to}");
                }
            }
        }
    }
}

fn case(gpu: Gpu, operation: Operation, ranks: u32, bytes: u64) -> Case {
    Case { gpu, operation, ranks, per_node: ranks, bytes, element: 2, collnet: false }
}

/// Returns the algorithm and the protocol with the least predicted time.
fn chosen(case: &Case) -> (Algorithm, Protocol) {
    let own = case.candidates()[0];
    (own.algorithm, own.protocol)
}

#[test]
fn the_tuning_model_predicts_latency_and_bandwidth() {
    // Would catch a figure of another row or column, a step too many, and a candidate without the switches it needs. By
    // hand, for an allreduce of 1 MiB on 8 H100: a ring by LL takes 6.6 + 14 x 0.6 us and 14/8 of the data at 141 GB/s;
    // NVLS takes 25 us and 14/8 of the data at 2 x 8 x 40 x 0.85 x 7/8 GB/s.
    let case = |bytes| case(Gpu::H100, Operation::Allreduce, 8, bytes);
    let time = |algorithm, protocol| {
        let found =
            case(1 << 20).candidates().into_iter().find(|own| (own.algorithm, own.protocol) == (algorithm, protocol));
        found.map(|own| own.time)
    };
    let data = f64::from(1 << 20) * 1e-3 * 14.0 / 8.0;
    let close = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
    close(time(Algorithm::Ring, Protocol::Ll), 6.6 + 14.0 * 0.6 + data / 141.0);
    close(time(Algorithm::Ring, Protocol::Ll128), 14.0 + 14.0 * 1.9 + data / (360.0 * 0.92));
    close(time(Algorithm::Ring, Protocol::Simple), 8.4 + 14.0 * 3.4 + data / 360.0);
    close(time(Algorithm::Nvls, Protocol::Simple), 25.0 + data / (2.0 * 8.0 * 40.0 * 0.85 * 7.0 / 8.0));
    assert_eq!(time(Algorithm::NvlsTree, Protocol::Simple), None);
    // NVLS is chosen on 8 H100 from 10 us / (14/8 (1/141 - 1/476) us/kB) = 1144.8 kB on: the least power of two is 2 MiB.
    let first = (1_u64 << 19..1 << 21).step_by(1024).find(|&bytes| chosen(&case(bytes)).0 == Algorithm::Nvls).unwrap();
    assert_eq!(first, 1119 << 10);
    assert_eq!(chosen(&case(1 << 20)), (Algorithm::Ring, Protocol::Ll));
    assert_eq!(chosen(&case(1 << 30)), (Algorithm::Nvls, Protocol::Simple));
    // int8 sums, two GPUs and A100 have no NVLS.
    assert_eq!(chosen(&Case { element: 1, ..case(1 << 30) }), (Algorithm::Ring, Protocol::Simple));
    assert_eq!(chosen(&Case { ranks: 2, per_node: 2, ..case(1 << 30) }).0, Algorithm::Ring);
    assert_eq!(chosen(&Case { gpu: Gpu::A100, ..case(1 << 30) }).0, Algorithm::Ring);
}

#[test]
fn servers_and_switches_between_them_add_candidates() {
    // Would catch CollNet without switches that combine, and PAT with several GPUs in a server.
    let names = |case: Case| {
        let mut names: Vec<_> = case.candidates().into_iter().map(|own| own.algorithm).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    use Algorithm as A;
    let own = Case { per_node: 8, ..case(Gpu::H100, Operation::Allreduce, 32, 1 << 20) };
    assert_eq!(names(own), [A::Ring, A::NvlsTree, A::DoubleTree]);
    assert_eq!(
        names(Case { collnet: true, ..own }),
        [A::Ring, A::NvlsInSwitch, A::NvlsTree, A::CollNet, A::DoubleTree]
    );
    let gathers = Case { operation: Operation::Allgather, ..own };
    assert_eq!(names(gathers), [A::Ring]);
    assert_eq!(names(Case { per_node: 1, ..gathers }), [A::Ring, A::Pat]);
    assert_eq!(names(Case { operation: Operation::Gather, ..own }), []);
}

#[test]
fn fixed_choices_are_kept_or_refused() {
    // Would catch a protocol or an algorithm that is replaced without a word.
    let times = Times { launch: 5, steps: [1, 2, 3], nvls: 4, copy_rate: Some(8_000_000_000_000) };
    let own = Nccl { gpu: Gpu::H100, protocol: None, channels: None, collnet: false, nvls_efficiency: None, times };
    let call = |algorithm| Collective { element: 2, ..Collective::new(Operation::Allreduce, algorithm, 1 << 24) };
    let nvls = own.tuned(&call(Algorithm::Auto), 8, 8).unwrap();
    assert_eq!((nvls.algorithm, nvls.launch_time, nvls.step_time), (Algorithm::Nvls, 5 + 4, 0));
    let fixed = Nccl { protocol: Some(Protocol::Ll128), channels: Some(3), ..own };
    let ring = fixed.tuned(&call(Algorithm::Ring), 8, 8).unwrap();
    assert_eq!((ring.protocol, ring.channels, ring.step_time), (Protocol::Ll128, 3, 2));
    // The launch, the last step, and one part at a picosecond a byte.
    assert_eq!(ring.launch_time, 5 + 2 + (1 << 21));
    let sends = Collective::new(Operation::Alltoall, Algorithm::Auto, 1 << 24);
    // The own part, and of seven others 512 KiB on each of four channels.
    assert_eq!(own.tuned(&sends, 8, 8).unwrap().launch_time, 5 + (1 << 24) + 7 * 4 * (1 << 19));
    let tree = own.tuned(&call(Algorithm::DoubleTree), 8, 8).unwrap();
    assert!(tree.radix == 8 && tree.segment.is_multiple_of(u64::from(tree.channels)));
    let error = fixed.tuned(&call(Algorithm::Nvls), 8, 8).unwrap_err();
    assert_eq!(error, NcclError::Protocol { protocol: Protocol::Ll128, allowed: "`simple`".into() });
    let error = own.tuned(&call(Algorithm::Bruck), 8, 8).unwrap_err();
    assert!(error.to_string().ends_with("`ring`, `nvls`, `double-tree` are allowed"), "{error}");
    let scan = Collective::new(Operation::Scan, Algorithm::Auto, 8);
    assert_eq!(own.tuned(&scan, 8, 8), Err(NcclError::Operation(Operation::Scan)));
}
