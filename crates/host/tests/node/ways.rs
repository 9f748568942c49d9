//! Messages over several networks, in closed form to the picosecond.
//!
//! Islands of two nodes each are joined by a fast network with one rail, and all nodes by a slow one with two rails.

use std::sync::Arc;

use host::{NicParams, PartParams, PerByte, RailParams, RailPolicy, RelayParams, Way, Ways, stripes};
use mpi::collectives::Operation;
use mpi::program::ScriptCall;

use crate::groups::{call, calls, start};
use crate::processor::{LOGGP, recv, send, timed};
use crate::times::INTERFACE;
use crate::world::{TRANSIT, World};

/// Time of a packet on a link of the fast and of the slow network, in ticks of a picosecond.
pub const FAST: u64 = 40;
pub const SLOW: u64 = 100;
/// Rails of the fast and of the slow network.
const RAILS: [std::ops::Range<u32>; 2] = [0..1, 1..3];
/// Size of a packet in bytes.
pub const PACKET: u64 = 100;
/// Relays that pass on whole messages.
pub const WHOLE: RelayParams = RelayParams { chunk: None, buffer: None };

/// Returns the interface of a node: no overheads, three rails.
pub fn interface(policy: RailPolicy, stripe_above: Option<u64>) -> NicParams {
    NicParams {
        send_overhead: 0,
        receive_overhead: 0,
        control: 20,
        rails: RailParams { count: 3, policy, stripe_above },
        ..LOGGP
    }
}

/// Networks of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Networks {
    /// Size above which messages within an island are striped over both networks.
    pub stripe_above: u64,
    /// Whether only the first node of an island has rails into the slow network.
    pub has_relays: bool,
}

fn fast(to: u32) -> Way {
    Way { rails: RAILS[0].clone(), to, claims: false, weight: 1000 / FAST }
}

fn slow(to: u32) -> Way {
    Way { rails: RAILS[1].clone(), to, claims: false, weight: 1000 / SLOW }
}

impl Networks {
    /// Returns the next node on the way from a node to another by the slow network.
    fn next(&self, from: u32, to: u32) -> Way {
        match self.has_relays {
            true if from / 2 == to / 2 => fast(to),
            true if from % 2 == 1 => Way { claims: true, ..fast(from - 1) },
            true => slow(to - to % 2),
            false => slow(to),
        }
    }
}

impl Ways for Networks {
    fn find(&self, (from, to): (u32, u32), bytes: u64, ways: &mut Vec<Way>) {
        let within = from / 2 == to / 2;
        if within {
            ways.push(fast(to));
        }
        if !within || (!self.has_relays && bytes > self.stripe_above) {
            ways.push(self.next(from, to));
        }
    }

    fn onward(&self, (at, to): (u32, u32)) -> Way {
        self.next(at, to)
    }

    fn pace(&self, rail: u32) -> u64 {
        if RAILS[0].contains(&rail) { FAST } else { SLOW }
    }
}

/// Runs ranks on separate nodes, each of which belongs to a given executor. Returns the time of each step.
pub fn run(
    interface: NicParams,
    (ways, relays): (impl Ways + 'static, RelayParams),
    ranks: Vec<Vec<ScriptCall>>,
    executor_of: &[u16],
) -> (Vec<Vec<u64>>, World) {
    let nodes: Vec<u32> = (0..ranks.len() as u32).collect();
    let (programs, asked) = timed(ranks);
    let mut world = World::divided(&programs, interface, &nodes, executor_of.into());
    world.join(&(Arc::new(ways) as Arc<dyn Ways>), relays);
    world.waits_for_release = true;
    world.has_links = true;
    world.run();
    for executor in &world.executors {
        assert_eq!((executor.progress().open, executor.error()), (0, None), "every rank ends");
        assert_eq!(executor.outstanding(), 0, "nothing is left");
    }
    assert_eq!(world.executors.iter().map(|own| own.progress().packets).sum::<i64>(), 0, "no packet is lost");
    let asked = asked.lock().unwrap().clone();
    (asked, world)
}

/// Returns the time at which node `to` has received a message of node 0 that is alone.
fn alone(interface: NicParams, stripe_above: u64, to: u32, bytes: u64) -> u64 {
    let mut ranks = vec![vec![]; 4];
    ranks[0] = vec![send(to, bytes), ScriptCall::WaitAll];
    ranks[to as usize] = vec![recv(0, bytes), ScriptCall::WaitAll];
    *run(interface, (Networks { stripe_above, has_relays: false }, WHOLE), ranks, &[0; 4]).0[to as usize]
        .last()
        .unwrap()
}

#[test]
fn a_message_has_the_bandwidth_of_its_network() {
    // Would catch a message on the rails of another network, a packet that is released at the pace of another, a stripe
    // over rails of another network, and a partial packet that takes the time of a whole one.
    for packets in [1_u64, 2, 3, 10] {
        for rest in [0, 50] {
            let bytes = packets * PACKET - rest;
            for (stripe_above, rails) in [(None, 1), (Some(0), 2)] {
                let interface = interface(RailPolicy::RoundRobin, stripe_above);
                assert_eq!(alone(interface, u64::MAX, 1, bytes), TRANSIT + bytes * FAST / PACKET);
                let longest = stripes(bytes, PACKET as u32, rails).map(|stripe| stripe.bytes).max().unwrap();
                assert_eq!(alone(interface, u64::MAX, 2, bytes), TRANSIT + longest * SLOW / PACKET, "{bytes} bytes");
            }
        }
    }
}

#[test]
fn a_message_is_striped_over_networks_in_proportion_to_their_bandwidths() {
    // Would catch equal shares of unequal networks, a network whose rails count as one although it has two, or as two
    // although a message takes one of them, and shares that lose or repeat bytes.
    for packets in 1..40_u64 {
        for (stripe_above, rails) in [(None, 1), (Some(0), 2)] {
            let times = (0..=packets).map(|own| (own * FAST).max((packets - own).div_ceil(rails) * SLOW));
            let interface = interface(RailPolicy::RoundRobin, stripe_above);
            assert_eq!(alone(interface, 0, 1, packets * PACKET), TRANSIT + times.min().unwrap(), "{packets} packets");
        }
    }
}

#[test]
fn data_that_the_processor_writes_in_pieces_are_striped() {
    // Would catch a piece that is divided as if it were the message, pieces of one share on several rails, and bytes
    // that are lost at the boundary of a piece. The rate of the processor decides: 3 ps a byte, less than the rails.
    let parts = PartParams { pio: Some(PerByte::of(3)), pio_limit: u64::MAX, pio_room: Some(450), ..PartParams::NONE };
    for stripe_above in [None, Some(0)] {
        for packets in [1, 5, 13, 28] {
            let interface = NicParams { parts, ..interface(RailPolicy::RoundRobin, stripe_above) };
            let end = alone(interface, 0, 1, packets * PACKET);
            let least = packets * PACKET * 3 + TRANSIT;
            assert!((least..least + 2 * SLOW).contains(&end), "{end} for {packets} packets");
        }
    }
}

#[test]
fn rails_of_a_network_are_chosen_by_the_policy() {
    // Would catch a policy that counts the rails of other networks, and turns that networks share. Node 0 sends four
    // messages of one packet at once over the slow network, and one between them over the fast one.
    let ends = |policy, nodes: &[u32]| -> Vec<u64> {
        let mut ranks = vec![vec![]; 14];
        for (number, &to) in nodes.iter().enumerate() {
            ranks[0].push(send(to, PACKET));
            ranks[to as usize].push(recv(0, PACKET));
            if number == 1 {
                ranks[0].push(send(1, PACKET));
                ranks[1].push(recv(0, PACKET));
            }
        }
        ranks.iter_mut().for_each(|own| own.push(ScriptCall::WaitAll));
        let asked = run(
            interface(policy, None),
            (Networks { stripe_above: u64::MAX, has_relays: false }, WHOLE),
            ranks,
            &[0; 14],
        )
        .0;
        assert_eq!(asked[1].last(), Some(&(TRANSIT + FAST)));
        nodes.iter().map(|&to| (asked[to as usize].last().unwrap() - TRANSIT) / SLOW).collect()
    };
    assert_eq!(ends(RailPolicy::RoundRobin, &[2, 3, 4, 5]), [1, 1, 2, 2]);
    assert_eq!(ends(RailPolicy::ByRank, &[2, 3, 4, 5]), [1, 2, 3, 4]);
    assert_eq!(ends(RailPolicy::ByDestination, &[2, 4, 6, 3]), [1, 2, 3, 1]);
    let all: Vec<u32> = (2..14).collect();
    let hashed = ends(RailPolicy::Hash, &all);
    assert!((6..10).contains(hashed.iter().max().unwrap()), "{hashed:?}: both rails are used");
    assert_ne!(hashed, ends(RailPolicy::RoundRobin, &all));
}

#[test]
fn groups_use_their_rail() {
    // Would catch members whose packets leave by the first rail, or pass the parts of another, and segments that take
    // two rails and do not pass both in half the time.
    let of = |count, rails: &[u32], operations: &[Operation]| {
        let interface = NicParams {
            rails: RailParams { count, policy: RailPolicy::RoundRobin, stripe_above: None },
            parts: PartParams {
                receive_gap: host::GapParams { per_byte: PerByte::of(30), per_message: 90, ..host::GapParams::NONE },
                dma: host::DmaParams { engines: 1, per_byte: PerByte::of(20), ..host::DmaParams::NONE },
                ..PartParams::NONE
            },
            ..INTERFACE
        };
        let steps = |_| operations.iter().map(|&operation| ScriptCall::Collective(call(operation, 750))).collect();
        let mut world = start(calls(&(0..4).map(steps).collect::<Vec<_>>()), interface, (&[0, 1, 2, 3], 2));
        world.world.group_rails(rails);
        world.finish().ends()
    };
    let all = [Operation::Allreduce, Operation::Reduce, Operation::Broadcast];
    let expected = of(1, &[0], &all);
    assert_eq!(
        [of(2, &[0], &all), of(2, &[1], &all), of(3, &[2], &all)],
        [expected.clone(), expected.clone(), expected]
    );
    let time = |rails: &[u32], operation| *of(2, rails, &[operation]).iter().max().unwrap();
    for operation in [Operation::Allreduce, Operation::Reduce, Operation::Broadcast, Operation::Allgather] {
        let (one, two) = (time(&[0], operation), time(&[0, 1], operation));
        assert!(two < one && one < 2 * two, "{operation:?}: {two} on two rails, {one} on one");
    }
}

#[test]
fn results_are_equal_for_any_partitions() {
    // Would catch a message that finds its way, its rail or its turn by the number of an executor.
    let mut ranks = vec![vec![]; 6];
    for (number, (from, to)) in (0..6_u32).flat_map(|from| (0..6_u32).map(move |to| (from, to))).enumerate() {
        if from != to {
            let bytes = (number as u64 * 347) % 1500;
            ranks[from as usize].push(send(to, bytes));
            ranks[to as usize].push(recv(from, bytes));
        }
    }
    ranks.iter_mut().for_each(|own| own.push(ScriptCall::WaitAll));
    let whole = interface(RailPolicy::RoundRobin, Some(600));
    let interface = NicParams { eager_limit: Some(500), ..whole };
    let of = |executor_of: &[u16]| {
        run(interface, (Networks { stripe_above: 300, has_relays: false }, WHOLE), ranks.clone(), executor_of).0
    };
    let expected = of(&[0; 6]);
    assert_eq!([of(&[0, 1, 2, 0, 1, 2]), of(&[2, 1, 1, 0, 0, 0])], [expected.clone(), expected]);
}
