//! Trial of FIFOs: the rates at which flows pass routers in which a packet waits for the packets before it.
//!
//! The head of a FIFO waits while its output serves another input, although the outputs of packets behind it are free.
//! If inputs and outputs are fully loaded, every order of packets may make some head wait. What this costs depends on
//! the order in which packets meet, and has no closed form (except for random orders: `fill/loss.rs`). So the packets
//! of the flows are sent in a trial, by the rules of the routers: a node sends a packet of each of its messages in
//! turn, an input offers the head of its FIFO, an output serves its inputs in turn, and a packet moves on if the next
//! FIFO has room.
//!
//! A node's packets stay in order, so that the trial changes the rates of all flows of a node by one factor. Nodes with
//! equal rates of flows get the mean of their factors: flows in equal conditions have to end together. The factor is 1
//! if the numbers of packets that arrive and that the rates allow differ by no more than that of the flows plus one.
//!
//! A settlement soon after a trial of some of its nodes keeps the factors, and is repeated when they are old. Trials
//! thus take no more than a constant number of times the work of the packets themselves.
//!
//! A trial needs flows on one path each, and FIFOs of one virtual channel: packets of several would pass one another.
//! Flows that do not belong to the set of the settlement send nothing in it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::fill::Fill;
use super::rates::{Behind, NONE, Rates, Strand};

/// Time before packets are counted, beyond the longest delay of a path, and time in which they are counted. Both are in
/// times of a packet on the fastest channel, a few of which pass until nodes repeat their order of packets.
const WARM_UP: u64 = 128;
const COUNTED: u64 = 256;

/// Time for which the factors of a trial are kept, in times of a packet.
const KEPT: u64 = 16;

/// Channel: an output that serves FIFOs, and the FIFO at its end. Times are in picoseconds.
#[derive(Clone, Debug, Default)]
struct Stage {
    channel: u32,
    /// Packets in the FIFO or on the way to it: their crossings, and the times at which they can leave.
    packets: VecDeque<(u32, u64)>,
    /// Largest number of packets.
    depth: usize,
    /// Time of a packet on the channel.
    service: u64,
    /// Time of a packet's head until it can leave the FIFO.
    delay: u64,
    /// Time from which on the channel is free.
    free_at: u64,
    /// Time from which on the FIFO's side of the crossbar is free.
    side_free_at: u64,
    /// Stages whose heads wait for the channel.
    waiting: Vec<u32>,
    /// Stage that was served last.
    last: u32,
    /// Node that sends by the channel.
    node: u32,
    /// A stage to which packets go on.
    next: u32,
    /// A stage from which packets come.
    before: u32,
    /// Whether packets go on to several stages.
    is_split: bool,
    /// Whether packets come from several stages.
    is_shared: bool,
}

/// Node.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Its flows in `senders`, and the next of them to send.
    senders: (u32, u32),
    next: u32,
    /// Packets in the measured time at the rates of the flows, the sum of the squares by flow, and packets that arrive.
    offered: f64,
    squares: f64,
    arrived: u32,
    factor: f64,
}

/// Flow of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sender {
    /// Stage of its node's channel.
    stage: u32,
    /// Number of its message, and its index among the included flows.
    number: u32,
    index: u32,
    /// Crossing of its node's channel. `NONE`: it ends there.
    place: u32,
}

/// Scratch memory of trials.
#[derive(Debug, Default)]
pub(super) struct FifoTrial {
    /// By channel, its stage in the present trial.
    places: Vec<u32>,
    /// Stages. The first `used` belong to the present trial.
    stages: Vec<Stage>,
    used: usize,
    nodes: Vec<Node>,
    senders: Vec<Sender>,
    /// Times at which stages may be able to act, and stages that may be able to act now.
    events: BinaryHeap<Reverse<(u64, u32)>>,
    active: Vec<u32>,
    order: Vec<u32>,
    /// Channels of nodes, with the included flows that cross them, by their indices.
    sources: Vec<(u32, u32)>,
}

impl FifoTrial {
    /// Changes the rates of the flows `included` in `fill` to those at which their packets pass FIFOs, at `now` in ticks,
    /// which are picoseconds. Returns the time at which it has to be tried again, if factors of an earlier trial are kept.
    pub fn run(&mut self, state: &mut Rates, (included, now): (&[u32], u64), fill: &mut Fill) -> Option<u64> {
        self.list_sources(state, included);
        let has_paths = || included.iter().all(|&flow| path_of(state, flow).is_some());
        let may_wait = fill.is_limited() && has_paths();
        let until = self.sources.iter().map(|own| state.channels[own.0 as usize].tried_until).max();
        if let Some(until) = until.filter(|&until| may_wait && until > now) {
            self.keep_factors(state, fill);
            return Some(until);
        }
        for &(channel, _) in &self.sources {
            let own = &mut state.channels[channel as usize];
            (own.factor, own.tried_until) = (1.0, 0);
        }
        let (slot, delay) = if may_wait { self.gather(state, included, fill)? } else { return None };
        let begin = WARM_UP * slot + delay;
        let end = begin + COUNTED * slot;
        self.active.extend(0..self.used as u32);
        self.act(state, 0, false);
        while let Some(&Reverse((at, _))) = self.events.peek().filter(|next| next.0.0 < end) {
            while let Some(&Reverse((_, stage))) = self.events.peek().filter(|next| next.0.0 == at) {
                self.events.pop();
                self.active.push(stage);
            }
            self.act(state, at, at >= begin);
        }
        self.find_factors();
        for own in &self.senders {
            let Stage { channel, node, .. } = self.stages[own.stage as usize];
            let factor = self.nodes[node as usize].factor;
            fill.scale(own.index as usize, factor);
            let channel = &mut state.channels[channel as usize];
            (channel.factor, channel.tried_until) = (factor, now + KEPT * slot);
        }
        None
    }

    /// Lists the channels of nodes, in ascending order, with the included flows that cross them.
    fn list_sources(&mut self, state: &Rates, included: &[u32]) {
        self.sources.clear();
        for (index, &flow) in (0..).zip(included) {
            let mut strand = state.flows[flow as usize].first;
            while let Some(&Strand { next, .. }) = state.strands.get(strand as usize) {
                let channel = state.whole(state.crossings[strand as usize * state.stride].channel);
                // Strands of a tree may begin behind the channel of the node.
                if channel != NONE {
                    self.sources.push((channel, index));
                }
                strand = next;
            }
        }
        self.sources.sort_unstable();
        self.sources.dedup();
    }

    /// Multiplies rates by the factors of an earlier trial, as far as the channels of nodes carry them.
    fn keep_factors(&self, state: &mut Rates, fill: &mut Fill) {
        for own in self.sources.chunk_by(|one, next| one.0 == next.0) {
            let channel = &mut state.channels[own[0].0 as usize];
            let sum: f64 = own.iter().map(|own| fill.rate(own.1 as usize)).sum();
            channel.factor = channel.factor.min((channel.limits.capacity / sum).max(1.0));
            own.iter().for_each(|own| fill.scale(own.1 as usize, channel.factor));
        }
    }

    /// Gathers the flows, their channels and their nodes. Returns the time of a packet on the fastest channel, and
    /// the longest delay of a path. `None`: no packet waits for one to another output, or flows take several paths.
    fn gather(&mut self, state: &Rates, included: &[u32], fill: &Fill) -> Option<(u64, u64)> {
        self.stages[..self.used].iter().for_each(|own| self.places[own.channel as usize] = NONE);
        self.used = 0;
        self.places.resize(state.channels.len(), NONE);
        self.nodes.clear();
        self.senders.clear();
        self.events.clear();
        let (packet, mut longest) = (fill.arbiters.packet, 0);
        for (index, &flow) in (0..).zip(included) {
            let (place, len) = path_of(state, flow)?;
            let path = &state.crossings[place..place + len as usize];
            let stage = self.add_stage(state, state.whole(path[0].channel), packet);
            let place = if len > 1 { place as u32 } else { NONE };
            self.senders.push(Sender { stage, number: state.flows[flow as usize].number, index, place });
            let (mut before, mut delay) = (stage, 0);
            for own in &path[1..] {
                let next = self.add_stage(state, own.channel, packet);
                let own = &mut self.stages[before as usize];
                delay += own.delay;
                own.is_split |= own.next != NONE && own.next != next;
                own.next = next;
                let own = &mut self.stages[next as usize];
                own.is_shared |= own.before != NONE && own.before != before;
                own.before = std::mem::replace(&mut before, next);
            }
            longest = longest.max(delay);
        }
        let slot = self.stages[..self.used].iter().map(|own| own.service).min()?;
        self.can_wait(state).then(|| {
            self.add_nodes(fill, slot as f64 / packet);
            (slot, longest)
        })
    }

    /// Whether a packet can wait for an output that other FIFOs use while packets behind it go to another output.
    fn can_wait(&self, state: &Rates) -> bool {
        let stage = |channel: u32| &self.stages[self.places[state.whole(channel) as usize] as usize];
        self.senders.iter().filter(|own| own.place != NONE).any(|own| {
            let (place, strand) = (own.place as usize, own.place as usize / state.stride);
            let path = &state.crossings[place..place + state.strands[strand].len as usize];
            path.windows(2).any(|pair| stage(pair[0].channel).is_split && stage(pair[1].channel).is_shared)
        })
    }

    /// Returns the stage of a channel.
    fn add_stage(&mut self, state: &Rates, channel: u32, packet: f64) -> u32 {
        let place = &mut self.places[channel as usize];
        if *place == NONE {
            *place = self.used as u32;
            self.used += 1;
            if self.stages.len() < self.used {
                self.stages.push(Stage::default());
            }
            let limits = &state.channels[channel as usize].limits;
            let (depth, delay) = match limits.behind {
                Behind::Output { bytes, fifo, delay } if limits.to != NONE => ((bytes + fifo) / packet, delay),
                _ => (f64::INFINITY, 0),
            };
            let own = &mut self.stages[*place as usize];
            own.packets.clear();
            own.waiting.clear();
            *own = Stage {
                channel,
                packets: std::mem::take(&mut own.packets),
                waiting: std::mem::take(&mut own.waiting),
                depth: depth.max(1.0) as usize,
                service: ((packet / limits.capacity) as u64).max(1),
                delay,
                free_at: 0,
                side_free_at: 0,
                last: 0,
                node: NONE,
                next: NONE,
                before: NONE,
                is_split: false,
                is_shared: false,
            };
        }
        *place
    }

    /// Adds the nodes of the flows. At a rate of 1 byte per picosecond, `per_rate` packets pass in a slot.
    fn add_nodes(&mut self, fill: &Fill, per_rate: f64) {
        self.senders.sort_unstable();
        let mut end = 0;
        for own in self.senders.chunk_by(|one, other| one.stage == other.stage) {
            let begin = end;
            end += own.len() as u32;
            let (mut offered, mut squares) = (0.0, 0.0);
            for sender in own.iter().filter(|own| own.place != NONE) {
                let rate = fill.rate(sender.index as usize) * per_rate;
                (offered, squares) = (offered + rate, squares + rate * rate);
            }
            let offered = offered * COUNTED as f64;
            self.stages[own[0].stage as usize].node = self.nodes.len() as u32;
            self.nodes.push(Node { senders: (begin, end), next: begin, offered, squares, arrived: 0, factor: 1.0 });
        }
    }

    /// Lets the active stages act: the heads of their FIFOs ask for outputs, and their channels take packets. Packets
    /// that arrive are counted if `counts`.
    fn act(&mut self, state: &Rates, now: u64, counts: bool) {
        let asking = self.active.len();
        for place in 0..asking {
            self.ask(state, self.active[place], now);
        }
        self.active.sort_unstable();
        self.active.dedup();
        while let Some(stage) = self.active.pop() {
            self.serve(state, stage, now, counts);
        }
    }

    /// Lets the head of a FIFO ask for its output, if it can leave.
    fn ask(&mut self, state: &Rates, stage: u32, now: u64) {
        let own = &self.stages[stage as usize];
        let Some(&(place, ready)) = own.packets.front() else { return };
        if ready > now || own.side_free_at > now {
            return;
        }
        let to = self.places[state.crossings[place as usize + 1].channel as usize];
        let waiting = &mut self.stages[to as usize].waiting;
        if !waiting.contains(&stage) {
            waiting.push(stage);
            self.active.push(to);
        }
    }

    /// Lets a channel take the next packet in turn, of a FIFO or of its node, if it is free and its FIFO has room.
    fn serve(&mut self, state: &Rates, stage: u32, now: u64, counts: bool) {
        let own = &mut self.stages[stage as usize];
        if own.free_at > now || own.packets.len() >= own.depth {
            return;
        }
        let (until, last) = (now + own.service, own.last);
        let from = own.waiting.iter().copied().min_by_key(|&from| (from <= last, from));
        let place = match (from, own.node) {
            (Some(from), _) => {
                own.waiting.retain(|&other| other != from);
                own.last = from;
                let sender = &mut self.stages[from as usize];
                sender.side_free_at = until;
                let Some((place, _)) = sender.packets.pop_front() else { return };
                if let Some(&(_, ready)) = sender.packets.front() {
                    self.events.push(Reverse((until.max(ready), from)));
                }
                self.active.push(from);
                place as usize + 1
            }
            (None, NONE) => return,
            (None, node) => match self.nodes[node as usize].send(&self.senders) {
                Some(place) => place as usize,
                None => return,
            },
        };
        self.events.push(Reverse((until, stage)));
        let own = &mut self.stages[stage as usize];
        own.free_at = until;
        let (strand, hop) = (place / state.stride, place % state.stride);
        if hop + 1 < state.strands[strand].len as usize {
            let ready = now + own.delay;
            if own.packets.is_empty() {
                self.events.push(Reverse((ready.max(own.side_free_at), stage)));
            }
            own.packets.push_back((place as u32, ready));
        } else if counts {
            let first = state.whole(state.crossings[place - hop].channel);
            let node = self.stages[self.places[first as usize] as usize].node;
            self.nodes[node as usize].arrived += 1;
        }
    }

    /// Computes the factors of nodes.
    fn find_factors(&mut self) {
        for node in &mut self.nodes {
            let (begin, end) = node.senders;
            let missing = node.offered - f64::from(node.arrived);
            if missing.abs() > f64::from(end - begin) + 1.0 {
                node.factor = f64::from(node.arrived) / node.offered;
            }
        }
        self.order.clear();
        self.order.extend(0..self.nodes.len() as u32);
        let nodes = &mut self.nodes;
        let compare = |nodes: &[Node], one: u32, other: u32| {
            let [one, other] = [one, other].map(|own| nodes[own as usize]);
            let count = |own: &Node| own.senders.1 - own.senders.0;
            let by_rates = one.offered.total_cmp(&other.offered).then(one.squares.total_cmp(&other.squares));
            count(&one).cmp(&count(&other)).then(by_rates)
        };
        self.order.sort_unstable_by(|&one, &other| compare(nodes, one, other));
        let mut begin = 0;
        while begin < self.order.len() {
            let first = self.order[begin];
            let rest = &self.order[begin..];
            let len = rest.partition_point(|&own| compare(nodes, own, first) == Ordering::Equal);
            let mean = rest[..len].iter().map(|&own| nodes[own as usize].factor).sum::<f64>() / len as f64;
            rest[..len].iter().for_each(|&own| nodes[own as usize].factor = mean);
            begin += len;
        }
    }
}

impl Node {
    /// Returns the crossing of the next packet.
    fn send(&mut self, senders: &[Sender]) -> Option<u32> {
        let (begin, end) = self.senders;
        let next = (self.next..end).chain(begin..self.next).find(|&own| senders[own as usize].place != NONE)?;
        self.next = if next + 1 < end { next + 1 } else { begin };
        Some(senders[next as usize].place)
    }
}

/// Returns the first crossing and the length of the path of a flow. `None`: it takes several, or has limits beyond it.
fn path_of(state: &Rates, flow: u32) -> Option<(usize, u32)> {
    let own = &state.flows[flow as usize];
    let Strand { len, limit, next, .. } = *state.strands.get(own.first as usize)?;
    (own.is_single && limit.is_none() && next == NONE).then_some((own.first as usize * state.stride, len))
}
