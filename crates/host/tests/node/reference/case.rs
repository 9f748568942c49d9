//! Random programs: messages with their receives, and other calls between them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use host::{ForwardingParams, MemoryParams, NicParams, ProtocolParams, Rendezvous};
use mpi::program::{Action, Burst, Context, Script, ScriptCall, Seen};
use proptest::prelude::*;

use super::caller::UNITS;
use super::network::Wire;
use crate::times::INTERFACE;

/// Call of a rank.
#[derive(Clone, Debug)]
pub enum Call {
    Step(ScriptCall),
    /// Waits for the request made this number of requests ago.
    WaitBack(u32),
    /// Makes the next request begin after the request made this number of requests ago.
    AfterBack(u32),
    WaitAny,
    /// Waits for any request, and answers its sender if it is a receive.
    Reply,
    /// Probes, and receives the message found if the flag is set.
    Probe(Action, bool),
    /// Receives the message found by the previous probe.
    Receive(Context),
    /// Tests, and calculates for a time in picoseconds if nothing has ended; at most three times.
    Poll(u64),
}

/// Results seen by each rank at its calls.
pub type Sights = Arc<Mutex<Vec<Vec<Seen>>>>;

/// Rank that makes random calls.
#[derive(Clone, Debug)]
pub struct RandomRank {
    rank: u32,
    calls: VecDeque<Call>,
    /// Whether a request has been waited for, by request.
    waited: Vec<bool>,
    /// Number of tests left. Present while the rank is in the midst of a call.
    within: Option<u32>,
    replies: bool,
    sights: Sights,
}

impl RandomRank {
    pub fn new(rank: u32, calls: Vec<Call>, sights: &Sights) -> Self {
        let sights = Arc::clone(sights);
        Self { rank, calls: calls.into(), waited: Vec::new(), within: None, replies: false, sights }
    }

    fn is_any_open(&self) -> bool {
        self.waited.contains(&false)
    }

    /// Returns the next call, or none if the call makes no sense now.
    fn step_of(&mut self, call: &Call, seen: &Seen) -> Option<ScriptCall> {
        match *call {
            Call::Step(step) => {
                match step {
                    ScriptCall::Do(Action::Send { .. } | Action::Recv { .. })
                    | ScriptCall::Burst(_)
                    | ScriptCall::StartCalc { .. } => self.waited.push(false),
                    ScriptCall::WaitAll => self.waited.fill(true),
                    _ => {}
                }
                Some(step)
            }
            Call::WaitBack(_) | Call::AfterBack(_) if self.waited.is_empty() => None,
            Call::WaitBack(back) => {
                let made = self.waited.len() as u32;
                Some(ScriptCall::Wait(made - 1 - back % made))
            }
            Call::AfterBack(back) => {
                let made = self.waited.len() as u32;
                Some(ScriptCall::After(made - 1 - back % made))
            }
            Call::WaitAny => self.is_any_open().then_some(ScriptCall::WaitAny),
            Call::Reply if self.replies => {
                self.replies = false;
                let to = seen.matched?.source;
                self.waited.push(false);
                Some(ScriptCall::Do(Action::send(to, 77, 1)))
            }
            Call::Reply => {
                self.replies = self.is_any_open();
                if self.replies {
                    self.calls.push_front(Call::Reply);
                }
                self.replies.then_some(ScriptCall::WaitAny)
            }
            Call::Probe(probe, receives) => {
                if receives {
                    let Action::Probe { context, .. } = probe else { return None };
                    self.calls.push_front(Call::Receive(context));
                }
                Some(ScriptCall::Do(probe))
            }
            Call::Receive(context) => {
                let found = seen.matched?;
                self.waited.push(false);
                Some(ScriptCall::Do(Action::recv(Some(found.source), found.bytes, Some(found.tag)).within(context)))
            }
            Call::Poll(time) => self.poll(time, seen),
        }
    }

    fn poll(&mut self, time: u64, seen: &Seen) -> Option<ScriptCall> {
        let left = self.within.take();
        // An even number of remaining steps means that a test is next, an odd one that a calculation is.
        let step = match left.unwrap_or(6) {
            0 => return None,
            left if left.is_multiple_of(2) => (left - 1, ScriptCall::Test),
            _ if seen.request.is_some() => return None,
            left => (left - 1, ScriptCall::Do(Action::Calc { time })),
        };
        self.within = Some(step.0);
        self.calls.push_front(Call::Poll(time));
        Some(step.1)
    }
}

impl Script for RandomRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        self.sights.lock().unwrap()[self.rank as usize].push(*seen);
        if let Some(request) = seen.request {
            self.waited[request as usize] = true;
        }
        while let Some(call) = self.calls.pop_front() {
            if let Some(step) = self.step_of(&call, seen) {
                return step;
            }
        }
        ScriptCall::End
    }
}

/// Test case: ranks on nodes, the calls of each, and the network.
#[derive(Clone, Debug)]
pub struct Case {
    pub nic: NicParams,
    pub wire: Wire,
    pub node_of: Vec<u32>,
    pub calls: Vec<Vec<Call>>,
    /// Number of executors that the nodes are divided over.
    pub parts: u32,
}

/// Way in which a rank receives a message.
#[derive(Clone, Copy, Debug)]
enum Receiver {
    Receives,
    /// The rank probes for the message first, waiting or not.
    Probes(bool),
    /// The rank receives the message found by a probe, which waits or not.
    ReceivesFound(bool),
}

/// Drawn message: sender and receiver, tag and context, bytes, the room of its receive, whether that takes any source
/// and any tag, and the way of receiving.
type Drawn = (u32, u32, (u32, Context), u64, u64, (bool, bool), Receiver);

fn message(ranks: u32) -> impl Strategy<Value = Drawn> {
    let bytes = prop::sample::select(vec![0, 1, 99, 100, 101, 499, 500, 501, 502, 1300]);
    let room = prop_oneof![9 => Just(2000_u64), 1 => Just(500)];
    let wild = (prop::bool::weighted(0.25), prop::bool::weighted(0.25));
    let collective = Context::WORLD.collective();
    let context = prop_oneof![3 => Just(Context::WORLD), 1 => Just(Context::from_bits(7)), 2 => Just(collective)];
    let receiver = prop_oneof![
        6 => Just(Receiver::Receives),
        1 => any::<bool>().prop_map(Receiver::Probes),
        1 => any::<bool>().prop_map(Receiver::ReceivesFound),
    ];
    (0..ranks, 0..ranks, (0_u32..2, context), bytes, room, wild, receiver)
}

fn other_call(ranks: u32) -> impl Strategy<Value = Call> {
    let time = prop::sample::select(vec![0_u64, 1, 50, 100, 777, 1000, 5000]);
    let burst = (0..ranks, 1_u32..4, 0..ranks, any::<bool>(), prop::bool::ANY);
    prop_oneof![
        4 => time.clone().prop_map(|time| Call::Step(ScriptCall::Do(Action::Calc { time }))),
        2 => (time.clone(), 0..UNITS).prop_map(|(time, unit)| Call::Step(ScriptCall::StartCalc { time, unit })),
        2 => (0_u32..6).prop_map(Call::AfterBack),
        1 => (0_u32..6).prop_map(Call::WaitBack),
        1 => Just(Call::WaitAny),
        1 => Just(Call::Reply),
        1 => Just(Call::Step(ScriptCall::WaitAll)),
        1 => time.prop_map(|time| Call::Poll(time.max(1))),
        1 => burst.prop_map(|(other, count, stride, sends, is_large)| {
            let bytes = if is_large { 650 } else { 60 };
            let first = match sends {
                true => Action::send(other, bytes, 0),
                false => Action::recv(Some(other), 2000, None),
            };
            Call::Step(ScriptCall::Burst(Burst { first, count, stride }))
        }),
    ]
}

/// Returns messages and other calls, each with a key for each of its ends: a rank calls in the order of keys.
fn calls(ranks: u32) -> impl Strategy<Value = Vec<Vec<Call>>> {
    let messages = prop::collection::vec((message(ranks), (0_u32..1000, 0_u32..1000)), 0..24);
    let others = prop::collection::vec((0..ranks, 0_u32..1000, other_call(ranks)), 0..16);
    let waits = prop::collection::vec(any::<bool>(), ranks as usize);
    (messages, others, waits).prop_map(move |(messages, others, waits)| {
        let mut keyed: Vec<Vec<(u32, Call)>> = vec![Vec::new(); ranks as usize];
        for ((from, to, (tag, context), bytes, room, (any_source, any_tag), receiver), (sent, received)) in messages {
            keyed[from as usize].push((sent, Call::Step(ScriptCall::Do(Action::send(to, bytes, tag).within(context)))));
            let (source, tag) = ((!any_source).then_some(from), (!any_tag).then_some(tag));
            let receive = Action::recv(source, room, tag).within(context);
            let probe = |waits| Action::Probe { from: source, tag, context, waits };
            let calls = match receiver {
                Receiver::Receives => vec![Call::Step(ScriptCall::Do(receive))],
                Receiver::Probes(waits) => vec![Call::Probe(probe(waits), false), Call::Step(ScriptCall::Do(receive))],
                Receiver::ReceivesFound(waits) => vec![Call::Probe(probe(waits), true)],
            };
            keyed[to as usize].extend(calls.into_iter().map(|call| (received, call)));
        }
        others.into_iter().for_each(|(rank, key, call)| keyed[rank as usize].push((key, call)));
        let of_rank = |(mut keyed, waits): (Vec<(u32, Call)>, bool)| {
            keyed.sort_by_key(|call| call.0);
            let last = waits.then_some(Call::Step(ScriptCall::WaitAll));
            keyed.into_iter().map(|call| call.1).chain(last).collect()
        };
        keyed.into_iter().zip(waits).map(of_rank).collect()
    })
}

fn protocol() -> impl Strategy<Value = ProtocolParams> {
    let rendezvous = prop::sample::select(vec![Rendezvous::Write, Rendezvous::Read]);
    let credits = prop::sample::select(vec![None, Some(1), Some(2)]);
    let bandwidth = prop::sample::select(vec![800_000_000_000, 240_000_000_000]);
    let memory = (bandwidth, prop::sample::select(vec![0, 50]), any::<bool>());
    let memory = memory.prop_map(|(bandwidth, latency, single_copy)| MemoryParams { bandwidth, latency, single_copy });
    let forwarding = prop::sample::select(vec![(70, 30), (0, 45), (2000, 900)]);
    let forwarding = forwarding.prop_map(|(send, receive)| ForwardingParams { send, receive, combine: 1 });
    let all = (rendezvous, (credits, any::<bool>()), prop::option::of(memory), prop::option::of(forwarding));
    all.prop_map(|(rendezvous, (eager_credits, asks_without_credit), memory, forwarding)| ProtocolParams {
        asks_without_credit,
        rendezvous,
        eager_credits,
        memory,
        forwarding,
        ..ProtocolParams::PLAIN
    })
}

fn nic() -> impl Strategy<Value = NicParams> {
    // Overheads of sends, receives and calls that only poll.
    let overheads = prop::sample::select(vec![(60, 14, 0), (0, 0, 0), (0, 35, 9), (41, 0, 5)]);
    let limit = prop::sample::select(vec![None, Some(500), Some(0)]);
    let tick = prop::sample::select(vec![1, 2, 7, 100]);
    (overheads, limit, tick, protocol()).prop_map(
        |((send_overhead, receive_overhead, poll_overhead), eager_limit, tick, protocol)| NicParams {
            send_overhead,
            receive_overhead,
            poll_overhead,
            eager_limit,
            tick,
            protocol,
            ..INTERFACE
        },
    )
}

fn wire() -> impl Strategy<Value = Wire> {
    let jitter = prop::sample::select(vec![0, 3, 4000]);
    (1_u64..3, 1_u64..300, jitter).prop_map(|(per_byte, delay, jitter)| Wire { per_byte, delay, jitter })
}

pub fn cases() -> impl Strategy<Value = Case> {
    let placed = (1_u32..6).prop_flat_map(|ranks| (prop::collection::vec(0_u32..3, ranks as usize), calls(ranks)));
    (nic(), wire(), placed, 1_u32..4).prop_map(|(nic, wire, (node_of, calls), parts)| {
        let nodes = node_of.iter().max().map_or(1, |node| node + 1);
        Case { nic, wire, node_of, calls, parts: parts.min(nodes) }
    })
}
