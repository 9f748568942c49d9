//! Rates of flows: closed forms, a naive oracle of max-min fairness, and changes against filling from scratch.

use engine::{Owner, Stream};
use units::Draw;

use super::fill::{Arbiters, Sharing, Waiting};
use super::paths::PathSet;
use super::rates::{Behind, ChannelLimits, NONE, PathPart, Rates};

fn by(sharing: Sharing) -> (Arbiters, f64, bool) {
    (Arbiters { sharing, waiting: Waiting::Memory, packet: 1.0, is_one_vc: true }, 1.0, false)
}

/// Channel of a capacity without buffers.
fn channel(capacity: f64) -> ChannelLimits {
    ChannelLimits { capacity, room: 0.0, behind: Behind::Crosspoint(0.0), from: NONE, to: NONE }
}

/// Network whose channels all have capacity 1, unless given.
fn network(channels: usize, sharing: Sharing) -> Rates {
    Rates::new((channels as u32, (0..channels).map(|_| channel(1.0))), 8, by(sharing))
}

/// Network in which the messages of nodes have one rate: channels 0 and 1 are those of nodes.
fn turns(channels: usize) -> Rates {
    let mut all = network(channels, Sharing::ByInput);
    for own in &mut all.channels[..2] {
        own.takes_turns = true;
    }
    all
}

/// Starts flows on single paths, and returns their rates.
fn rates(mut network: Rates, paths: &[&[u32]]) -> Vec<f64> {
    for (flow, channels) in (0..).zip(paths) {
        network.start(flow, &PathSet::of(&[(channels, 1.0)], 1.0), PathPart::Whole);
    }
    network.settle(0, &mut Vec::new());
    (0..paths.len()).map(|flow| network.flows[flow].rate).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9);
    assert!(near && found.len() == expected.len(), "{found:?} instead of {expected:?}");
}

#[test]
fn inputs_share_a_channel_whatever_comes_by_them() {
    // Would catch equal shares for all flows: flows 0 and 1 come to channel 9 by one input, channel 8, and flow 2 by
    // another. On routers that serve the oldest packet first each gets a third.
    let paths: [&[u32]; 3] = [&[0, 8, 9], &[1, 8, 9], &[2, 9]];
    assert_near(&rates(network(10, Sharing::ByInput), &paths), &[0.25, 0.25, 0.5]);
    assert_near(&rates(network(10, Sharing::ByFlow), &paths), &[1.0 / 3.0; 3]);
}

#[test]
fn far_nodes_of_a_parking_lot_get_least() {
    // Would catch shares of an input that do not follow the arbitration behind it: nodes 0 to 3 send along a line to
    // one node, and the farther away a node is, the less it gets (Dally and Towles, section 15.4).
    let paths: [&[u32]; 4] = [&[0, 13], &[1, 12, 13], &[2, 11, 12, 13], &[3, 10, 11, 12, 13]];
    assert_near(&rates(network(14, Sharing::ByInput), &paths), &[0.5, 0.25, 0.125, 0.125]);
    assert_near(&rates(network(14, Sharing::ByFlow), &paths), &[0.25; 4]);
}

#[test]
fn flows_with_less_to_send_leave_the_rest_to_others() {
    // Would catch a share that is lost: flow 0 shares channel 4 with flow 1, and channel 5 with flows 2 to 4, where it
    // gets a quarter.
    let paths: [&[u32]; 5] = [&[0, 4, 5], &[1, 4], &[2, 5], &[3, 5], &[6, 5]];
    assert_near(&rates(network(7, Sharing::ByInput), &paths), &[0.25, 0.75, 0.25, 0.25, 0.25]);
}

#[test]
fn messages_of_a_node_share_its_channel() {
    // Would catch flows of one node that do not share its injection channel.
    let paths: [&[u32]; 3] = [&[0, 1], &[0, 2], &[0, 3]];
    assert_near(&rates(network(4, Sharing::ByInput), &paths), &[1.0 / 3.0; 3]);
}

#[test]
fn a_message_that_waits_holds_up_the_others_of_its_node() {
    // Would catch messages of a node that do not take turns: message 0 shares channel 2 with two flows, and messages 1
    // and 2 of its node have a way to themselves.
    let paths: [&[u32]; 5] = [&[0, 2], &[0, 3], &[0, 4], &[1, 2], &[5, 2]];
    assert_near(&rates(turns(6), &paths), &[1.0 / 3.0; 5]);
    let mut turns = turns(8);
    let paths: [&[u32]; 5] = [&[0, 2], &[0, 3], &[1, 2], &[5, 2], &[6, 2]];
    for (flow, channels) in (0..).zip(paths) {
        turns.start(flow, &PathSet::of(&[(channels, 1.0)], 1.0), PathPart::Whole);
    }
    turns.settle(0, &mut Vec::new());
    assert_near(&[0, 1, 2, 3, 4].map(|flow| turns.flows[flow].rate), &[0.25; 5]);
}

#[test]
fn strands_of_a_flow_have_one_rate() {
    // Would catch strands with rates that do not keep their shares, and capacity that they leave unused: half of flow 0
    // takes channel 2, which it shares with flows 1 and 2.
    let mut network = network(6, Sharing::ByInput);
    network.start(0, &PathSet::of(&[(&[0, 2, 5], 0.5), (&[0, 3, 5], 0.5)], 1.0), PathPart::Whole);
    network.start(1, &PathSet::of(&[(&[1, 2], 1.0)], 1.0), PathPart::Whole);
    network.start(2, &PathSet::of(&[(&[4, 2], 1.0)], 1.0), PathPart::Whole);
    network.settle(0, &mut Vec::new());
    assert_near(&[0, 1, 2].map(|flow| network.flows[flow].rate), &[2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
}

#[test]
fn slow_channels_are_shared_behind_fast_ones() {
    // Would catch a channel with one input that is taken for as wide as the input: both flows come to channel 3 by
    // channel 2, which is four times as fast.
    let capacities = [1.0, 1.0, 1.0, 0.25].map(channel);
    let mut network = Rates::new((4, capacities.into_iter()), 8, by(Sharing::ByInput));
    for flow in 0..2 {
        network.start(flow, &PathSet::of(&[(&[flow, 2, 3], 1.0)], 0.25), PathPart::Whole);
    }
    network.settle(0, &mut Vec::new());
    assert_near(&[0, 1].map(|flow| network.flows[flow].rate), &[0.125; 2]);
}

/// Returns a random path through layers of channels.
fn draw_path(draw: &mut Stream, (layers, width): (u32, u32)) -> Vec<u32> {
    (0..layers).map(|layer| layer * width + draw.below(width)).collect()
}

/// Returns the max-min fair rates of flows on channels of capacity 1: the rates of all flows grow together until a
/// channel is full, whose flows then stop.
fn max_min(paths: &[Vec<u32>], channels: usize) -> Vec<f64> {
    let (mut rates, mut is_fixed) = (vec![0.0; paths.len()], vec![false; paths.len()]);
    while is_fixed.contains(&false) {
        let crosses = |flow: usize, channel: u32| paths[flow].contains(&channel);
        let slack = |channel: u32| {
            let own = || (0..paths.len()).filter(move |&flow| crosses(flow, channel));
            let open = own().filter(|&flow| !is_fixed[flow]).count();
            let left: f64 = 1.0 - own().map(|flow| rates[flow]).sum::<f64>();
            if open > 0 { left / open as f64 } else { f64::INFINITY }
        };
        let slacks: Vec<f64> = (0..channels as u32).map(slack).collect();
        let least = slacks.iter().copied().fold(f64::INFINITY, f64::min);
        let before = is_fixed.clone();
        for flow in (0..paths.len()).filter(|&flow| !before[flow]) {
            rates[flow] += least;
            is_fixed[flow] = paths[flow].iter().any(|&channel| slacks[channel as usize] <= least + 1e-12);
        }
    }
    rates
}

#[test]
fn routers_that_serve_the_oldest_first_are_max_min_fair() {
    // Would catch a flow that gets less than it could without taking from a smaller one, or more than a channel has.
    let mut draw = Stream::new(7, Owner::Pattern);
    for _ in 0..200 {
        let shape = (1 + draw.below(4), 1 + draw.below(6));
        let paths: Vec<Vec<u32>> = (0..1 + draw.below(20)).map(|_| draw_path(&mut draw, shape)).collect();
        let channels = (shape.0 * shape.1) as usize;
        let found = rates(network(channels, Sharing::ByFlow), &paths.iter().map(|path| &path[..]).collect::<Vec<_>>());
        assert_near(&found, &max_min(&paths, channels));
    }
}

#[test]
fn changes_give_the_rates_of_a_new_start() {
    // Would catch a flow whose rate changes and that is not reached, a list or an input that is not updated, a channel
    // that carries more than it can, and one that is taken for full when it is not: flows start and end at random, some
    // together. Shares by input may have several solutions, in all of which every flow crosses a full channel.
    for sharing in [Sharing::ByFlow, Sharing::ByInput] {
        let mut draw = Stream::new(11, Owner::Pattern);
        let shape = (4, 8);
        let mut changing = network(32, sharing);
        let mut present: Vec<(u32, Vec<u32>)> = Vec::new();
        for step in 0..600 {
            for _ in 0..1 + draw.below(3) {
                if present.len() > 4 && draw.below(present.len() as u32 + 20) > 20 {
                    let (flow, _) = present.swap_remove(draw.below(present.len() as u32) as usize);
                    changing.end(flow);
                } else {
                    let flow = (0..).find(|flow| present.iter().all(|own| own.0 != *flow)).unwrap();
                    let path = draw_path(&mut draw, shape);
                    changing.start(flow, &PathSet::of(&[(&path, 1.0)], 1.0), PathPart::Whole);
                    present.push((flow, path));
                }
            }
            changing.settle(0, &mut Vec::new());
            let rate = |flow: u32| changing.flows[flow as usize].rate;
            if sharing == Sharing::ByFlow {
                let paths: Vec<&[u32]> = present.iter().map(|own| &own.1[..]).collect();
                let found: Vec<f64> = present.iter().map(|own| rate(own.0)).collect();
                assert_near(&found, &rates(network(32, sharing), &paths));
            }
            let load = |channel: &u32| -> f64 {
                present.iter().filter(|own| own.1.contains(channel)).map(|own| rate(own.0)).sum()
            };
            for (flow, path) in &present {
                let most = path.iter().map(load).fold(0.0, f64::max);
                assert!((most - 1.0).abs() < 1e-4, "step {step} of {sharing:?}: {most} on the path of flow {flow}");
            }
        }
    }
}

#[test]
fn a_flow_whose_buffers_are_full_holds_up_others_on_its_way() {
    // Would catch a channel that passes packets behind one that waits: flows 0 and 1 come to channel 4 by two inputs,
    // and flow 0 has a third of channel 5. Before its buffers are full flow 1 has the rest of channel 4.
    let paths: [&[u32]; 4] = [&[0, 4, 5], &[1, 4, 6], &[2, 5], &[3, 5]];
    for waits in [false, true] {
        let channels = (0..7).map(|_| channel(1.0));
        let (arbiters, speedup, _) = by(Sharing::ByInput);
        let mut network = Rates::new((7, channels), 8, (arbiters, speedup, true));
        for (flow, channels) in (0..).zip(paths) {
            network.start(flow, &PathSet::of(&[(channels, 1.0)], 1.0), PathPart::Whole);
        }
        network.flows[0].waits = waits;
        network.settle(0, &mut Vec::new());
        let third = 1.0 / 3.0;
        let other = if waits { third } else { 2.0 * third };
        assert_near(&[0, 1, 2, 3].map(|flow| network.flows[flow].rate), &[third, other, third, third]);
    }
}

#[test]
fn drawn_paths_cost_bandwidth() {
    // Would catch a channel that random packets fill, a loss that is taken twice, and a loss on channels 5 and 6, where
    // all packets of a flow come together. Halves of both flows meet on channel 2 behind crosspoints of 4 packets,
    // whose queues are empty for (1 - 1/2) / (2 x 4) of the time; queues that share 4 packets have 2 each. FIFOs with
    // two inputs carry 3/4 (Karol, Hluchyj and Morgan 1987).
    let flow = |from: u32, other: u32| {
        let mut paths = PathSet::of(&[(&[from, 2, 5 + from], 0.5), (&[from, other, 5 + from], 0.5)], 1.0);
        paths.is_random = true;
        paths
    };
    let cases = [
        (Waiting::Crosspoints, 16.0 / 17.0),
        (Waiting::Queues, 8.0 / 9.0),
        (Waiting::Fifos, 0.75),
        (Waiting::Memory, 1.0),
    ];
    for (waiting, expected) in cases {
        let (arbiters, speedup, holds_up) = by(Sharing::ByInput);
        let channels = (0..7).map(|_| ChannelLimits { room: 4.0, ..channel(1.0) });
        let mut network = Rates::new((7, channels), 8, (Arbiters { waiting, ..arbiters }, speedup, holds_up));
        network.start(0, &flow(0, 3), PathPart::Whole);
        network.start(1, &flow(1, 4), PathPart::Whole);
        network.settle(0, &mut Vec::new());
        assert_near(&[0, 1].map(|flow| network.flows[flow].rate), &[expected; 2]);
    }
}

#[test]
fn flows_share_the_buffers_on_their_way() {
    // Would catch a buffer that is counted for each of the flows that share it, one behind the channel that limits a
    // flow, and a memory that one output has alone: flows 0 and 1 come by channel 4, and with flow 2 they fill channel
    // 5.
    let memory = Behind::Memory { bytes: 900.0, alpha: 1.0 };
    let limits = |to: u32| ChannelLimits { room: 60.0, behind: memory, from: to.wrapping_sub(1), to, ..channel(1.0) };
    let channels = [0, 0, 1, 1, 1, 2, 3].map(limits);
    let mut network = Rates::new((7, channels.into_iter()), 8, by(Sharing::ByInput));
    let paths: [&[u32]; 3] = [&[0, 4, 5, 6], &[1, 4, 5, 6], &[2, 5, 6]];
    for (flow, channels) in (0..).zip(paths) {
        network.start(flow, &PathSet::of(&[(channels, 1.0)], 1.0), PathPart::Whole);
    }
    network.settle(0, &mut Vec::new());
    // Channel 0 has 60 bytes, and half of an output's memory, 450 bytes, before channel 4. Channel 4 has 60 bytes for
    // two flows, and of the memory before channel 5 half again.
    assert_near(&[network.room(0)], &[60.0 + 225.0 + 30.0 + 225.0]);
    assert_near(&[network.room(2)], &[60.0 + 225.0]);
}

/// Starts flows on single paths through FIFOs at time 0. Channels 0 and 1 are those of nodes. A packet takes 100 ps.
fn fifos(paths: &[&[u32]]) -> Rates {
    let (arbiters, speedup, holds_up) = by(Sharing::ByInput);
    let behind = Behind::Output { bytes: 0.0, fifo: 4.0, delay: 1 };
    let limits = |channel: u32| ChannelLimits { behind, to: if channel < 2 { 0 } else { NONE }, ..self::channel(0.01) };
    let arbiters = Arbiters { waiting: Waiting::Fifos, ..arbiters };
    let mut network = Rates::new((5, (0..5).map(limits)), 8, (arbiters, speedup, holds_up));
    for (flow, channels) in (0..).zip(paths) {
        network.start(flow, &PathSet::of(&[(channels, 1.0)], 0.01), PathPart::Whole);
        network.flows[flow as usize].number = flow;
    }
    network.settle(0, &mut Vec::new());
    network
}

#[test]
fn factors_of_a_trial_are_kept_for_some_packets() {
    // Would catch a trial at every change, factors that are never old, factors that are kept where no channel limits the
    // flows, and nodes that send more than their channels carry.
    let paths: [&[u32]; 6] = [&[0, 2], &[0, 3], &[0, 4], &[1, 2], &[1, 4], &[1, 3]];
    let mut network = fifos(&paths);
    network.end(5);
    network.settle(100, &mut Vec::new());
    assert_eq!(network.retry.take(), Some(1600));
    // The other node is not in the set.
    let rates = |network: &Rates| [3, 4].map(|flow| network.flows[flow].rate);
    assert_near(&rates(&network), &[0.75 * 0.005; 2]);
    network.settle_again();
    network.settle(1600, &mut Vec::new());
    assert_eq!(network.retry, None);
    assert_near(&rates(&network), &[0.005; 2]);
    (1..4).for_each(|flow| network.end(flow));
    network.settle(1700, &mut Vec::new());
    assert_near(&[network.flows[0].rate], &[0.01]);
    assert_eq!(network.retry, None);
}

#[test]
fn packets_that_wait_for_others_in_fifos_cost_bandwidth() {
    // Would catch rates by bandwidth alone, and a loss where packets find an order without waits. The messages of two
    // nodes take three outputs in opposite orders, in which each node waits in every fourth slot. In equal orders one
    // node follows the other, and a node with one message uses every slot that the other one leaves.
    let fifos = |paths: &[&[u32]]| {
        let network = fifos(paths);
        (0..paths.len()).map(|flow| 100.0 * network.flows[flow].rate).collect::<Vec<f64>>()
    };
    assert_near(&fifos(&[&[0, 2], &[0, 3], &[0, 4], &[1, 2], &[1, 4], &[1, 3]]), &[0.25; 6]);
    assert_near(&fifos(&[&[0, 2], &[0, 3], &[1, 2], &[1, 3]]), &[0.5; 4]);
    assert_near(&fifos(&[&[0, 2], &[0, 3], &[1, 2]]), &[0.5; 3]);
}
