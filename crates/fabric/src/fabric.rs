//! The state of one partition that all router architectures share: packets, links, credits and the event wheel.
//!
//! Everything is a flat array indexed by port. An *output* is the near end of a channel (a router's output or a node's
//! injection), an *input port* the far end at a router's input; both carry the number of their port. A hop costs one
//! arrival, one credit, and a wake-up only for an output whose queue is not empty when its link falls free: the times
//! at which links are free are read, not waited for.

mod build;
mod choice;
mod credits;
pub(crate) mod marks;

use std::hint::black_box;
use std::sync::Arc;

use engine::{Stream, Wheel};
use topology::{ChannelClass, ChannelSource};
use units::{NodeId, PortId, RouterId};

use crate::catalogue::CreditRule;
use crate::context::{Mail, WorkerContext};
use crate::counters::FLOW_BITS;
use crate::packet::{Packet, Pool};
use crate::plan::Plan;
use crate::routers::Arrival;
use crate::routers::arbiter::Bits;
use marks::Marks;

/// The kinds of events, in the order in which an instant handles them.
pub(crate) mod event_kind {
    /// A credit has come back: target the counter, argument the bytes.
    pub const CREDIT: usize = 0;
    /// A buffer's space falls free: target and argument are the router architecture's.
    pub const FREE: usize = 1;
    /// A packet's head has passed a router's delay: target (port, virtual channel), argument the packet.
    pub const ARRIVAL: usize = 2;
    /// An output may go on: target the output, argument 0. With another argument, something for the traffic: what it has
    /// set an alarm for, or an arrival that it wants to hear of.
    pub const WAKE: usize = 3;
    /// The number of kinds.
    pub const COUNT: usize = 4;
}

/// The argument of the event that tells the traffic of a packet's arrival.
pub(crate) const ARRIVED: u32 = 1;

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// An output's channel leads to a node.
const SINK: u16 = u16::MAX;
/// An output's channel leads nowhere, and nothing may be sent.
const NOWHERE: u16 = u16::MAX - 1;

/// The near end of a channel, and what architectures keep of an output: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct OutputPort {
    /// The link is free from this time on.
    pub free_at: u64,
    /// Candidates for this channel, for architectures that need no more than two words.
    pub wanted: [u64; 2],
    /// The crossbar's side of the output is free from this time on.
    pub crossbar_free: u64,
    /// The virtual channels whose buffers at the output have packets.
    pub filled: u64,
    /// Bytes in this router that wait for this channel.
    pub queued: u32,
    /// Bytes of the packet that went last: it holds space of a buffer at the output until its tail has gone.
    pub leaving: u32,
    /// The far end's port in its partition.
    target: u32,
    /// Bytes sent since the counters were last cleared, without what `sent_before` has.
    sent: u32,
    /// The far end's partition, or `SINK` or `NOWHERE`.
    partition: u16,
    /// The candidate that was served last, for taking turns.
    pub last: u16,
    class: ChannelClass,
    /// The virtual channel of the packet that went last.
    pub last_vc: u8,
    /// A wake-up is under way.
    waking: bool,
    /// A wake-up for the crossbar's side is under way.
    pub crossbar_waking: bool,
}

/// The far end of a channel at a router's input, and what architectures keep of an input: half a cache line.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct InputPort {
    /// The crossbar's side of the input is free from this time on.
    pub crossbar_free: u64,
    /// The virtual channels that have packets.
    pub filled: u64,
    /// The router, by its number in this partition.
    router: u32,
    /// The first of the upstream output's credit counters, in its partition.
    counters: u32,
    /// The packet that has arrived in this instant, if the router has it marked.
    arrived: u32,
    /// The partition of the upstream output.
    partition: u16,
    class: ChannelClass,
    /// The virtual channel of `arrived`.
    arrived_vc: u8,
}

/// What all channels of a class have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Delay, in ticks.
    delay: u64,
    /// Serialization of the largest packet.
    full: u64,
    /// Virtual channels of a class of them.
    pub vcs_per_class: u8,
}

/// A router of this partition.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct LocalRouter {
    pub id: RouterId,
    /// The number of its first port.
    pub base: u32,
    pub ports: u16,
    /// Inputs at which a packet has arrived in this instant, where a word holds a bit for each port.
    arrived: u64,
    /// Outputs that may be able to send in this instant, likewise.
    active: u64,
}

/// The shared state of a partition.
#[derive(Debug)]
pub struct Fabric {
    pub(crate) plan: Arc<Plan>,
    /// The number of this partition.
    part: u16,
    pub(crate) pool: Pool,
    pub(crate) wheel: Wheel<{ event_kind::COUNT }>,
    pub(crate) routers: Vec<LocalRouter>,
    /// The nodes of this partition.
    pub(crate) nodes: Vec<u32>,
    /// Outputs of all routers, then injection channels.
    pub(crate) outputs: Vec<OutputPort>,
    pub(crate) inputs: Vec<InputPort>,
    /// By class of channels.
    classes: Vec<Class>,
    /// Bytes sent over each channel beyond what its output counts: multiples of 2^32.
    sent_before: Vec<u32>,
    /// By output and job, bytes sent since the job's counts were cleared; empty if there is only one job.
    sent_by_job: Vec<u64>,
    jobs: usize,
    /// Credits in bytes: by output and virtual channel (and the next router's output, where the rule counts those).
    credits: Vec<i32>,
    /// Bits of an index into `credits` below the output's.
    credit_shift: u32,
    /// Bits of an index into `credits` below the virtual channel's.
    ahead_shift: u32,
    /// A stream for each router.
    streams: Vec<Stream>,
    /// A stream for each node's choices ahead; only where the credit rule needs them.
    node_streams: Vec<Stream>,
    /// Words of a mask of ports.
    pub(crate) words: usize,
    /// What `LocalRouter` says of a router's ports, `words` words for each, where one is too few; else empty.
    wide_arrived: Vec<u64>,
    wide_active: Vec<u64>,
    /// Routers that this instant concerns.
    pub(crate) dirty_routers: Marks,
    /// Nodes that may be able to send in this instant.
    pub(crate) dirty_nodes: Marks,
    /// How congested the output channels of all routers were at the last snapshot, if the routing asks for them.
    snapshot: Arc<Vec<u32>>,
    /// By output: packets wait, and none of them has credit.
    blocked: Vec<bool>,
    /// The thread's, while this partition is being moved on.
    pub(crate) context: WorkerContext,
    rule: CreditRule,
    /// Everywhere a class is one virtual channel, with one counter of credits.
    one_vc_per_class: bool,
    /// Copies of the plan's, at hand: bits of a virtual channel, the largest packet.
    vc_shift: u32,
    pub(crate) full_bytes: u32,
    router_delay: u64,
    /// The routing reads on which class of virtual channels a packet came, where that takes a division.
    reads_class: bool,
    /// The state is larger than a near cache: it is worth the while to ask for the memory of many packets at once.
    pub(crate) exceeds_cache: bool,
    /// Some channels are faster than others, so that a packet may leave by a faster one than it comes by.
    mixed_rates: bool,
    /// By place of the pool, when the packet's tail is there, in ticks; empty unless channels differ in speed.
    tails: Vec<u64>,
    /// A buffer always falls free as the packet's head leaves.
    pub(crate) frees_at_head: bool,
    /// The traffic wants to hear of arrivals.
    pub(crate) notify_deliveries: bool,
}

impl Fabric {
    /// The number of ports of this partition: the first injection output.
    #[inline]
    pub(crate) fn ports(&self) -> usize {
        self.inputs.len()
    }

    /// Reads the state of all channels and packets once, as it lies in memory.
    pub(crate) fn before_window(&self) {
        read_through(&self.outputs, |output| output.queued);
        read_through(&self.inputs, |input_port| input_port.router);
        read_through(&self.credits, |&credit| credit as u32);
        read_through(self.pool.places(), |packet| packet.dst);
    }

    // --- marking what an instant concerns -------------------------------------------------------------------------

    /// Marks the owner of an output: it may be able to send.
    #[inline(always)]
    pub(crate) fn mark_sender(&mut self, output: u32) {
        if let Some(&InputPort { router, .. }) = self.inputs.get(output as usize) {
            let port = output - self.routers[router as usize].base;
            self.mark_output(router as usize, port as usize);
        } else {
            self.dirty_nodes.mark(output as usize - self.inputs.len());
        }
    }

    /// Marks a router: an output of it may be able to send.
    #[inline(always)]
    pub(crate) fn mark_output(&mut self, router: usize, port: usize) {
        self.activate(router, port);
        self.dirty_routers.mark(router);
    }

    /// Notes a packet's arrival at an input, given as (port, virtual channel) in one number.
    #[inline(always)]
    pub(crate) fn mark_arrival(&mut self, input: u32, packet: u32) {
        let index = input >> self.vc_shift;
        let input_port = &mut self.inputs[index as usize];
        let router = input_port.router as usize;
        input_port.arrived = packet;
        input_port.arrived_vc = (input & ((1 << self.vc_shift) - 1)) as u8;
        let port = (index - self.routers[router].base) as usize;
        if self.words == 1 {
            self.routers[router].arrived |= 1 << (port & 63);
        } else {
            self.wide_arrived[router * self.words + (port >> 6)] |= 1 << (port & 63);
        }
        self.dirty_routers.mark(router);
    }

    /// Notes that a router's output may be able to send in this instant.
    #[inline(always)]
    pub(crate) fn activate(&mut self, router: usize, port: usize) {
        if self.words == 1 {
            self.routers[router].active |= 1 << (port & 63);
        } else {
            self.wide_active[router * self.words + (port >> 6)] |= 1 << (port & 63);
        }
    }

    /// Reads what sending over a channel reads.
    #[inline(always)]
    pub(crate) fn before_sending(&self, output: usize) {
        black_box(self.outputs[output].free_at);
        black_box(self.credits[output << self.credit_shift]);
    }

    /// Takes out the packets that have arrived at a router in this instant, in the order of ports.
    #[inline(always)]
    pub(crate) fn each_arrival(&mut self, router: usize, mut enqueue: impl FnMut(&mut Self, Arrival)) {
        let LocalRouter { id, base, .. } = self.routers[router];
        for word in 0..self.words {
            let arrived = std::mem::take(match self.words {
                1 => &mut self.routers[router].arrived,
                words => &mut self.wide_arrived[router * words + word],
            });
            for bit in Bits(arrived) {
                let port = word * 64 + bit;
                let InputPort { arrived: packet, arrived_vc, .. } = self.inputs[base as usize + port];
                let vc = u32::from(arrived_vc);
                enqueue(self, Arrival { router, id, base, port: port as u16, vc, packet, out: 0, class: 0, bytes: 0 });
            }
        }
    }

    /// A word of the mask of a router's outputs that may be able to send.
    #[inline(always)]
    pub(crate) fn active(&self, router: usize, word: usize) -> u64 {
        if self.words == 1 { self.routers[router].active } else { self.wide_active[router * self.words + word] }
    }

    /// Forgets and returns a word of the mask of a router's outputs that may be able to send.
    #[inline(always)]
    pub(crate) fn take_active(&mut self, router: usize, word: usize) -> u64 {
        std::mem::take(match self.words {
            1 => &mut self.routers[router].active,
            words => &mut self.wide_active[router * words + word],
        })
    }

    /// Where an output's channel starts.
    pub(crate) fn source(&self, output: usize) -> ChannelSource {
        if output >= self.inputs.len() {
            return ChannelSource::Node(NodeId(self.nodes[output - self.inputs.len()]));
        }
        let router = self.routers[self.inputs[output].router as usize];
        ChannelSource::Router(router.id, PortId((output as u32 - router.base) as u16))
    }

    /// A router's random stream.
    #[inline]
    pub(crate) fn stream(&mut self, router: usize) -> &mut Stream {
        &mut self.streams[router]
    }

    #[inline]
    fn now(&self) -> u64 {
        self.wheel.now()
    }

    // --- links ----------------------------------------------------------------------------------------------------

    /// Sends a packet of a size off on a virtual channel: the link must be free and the credit there. Returns the time that the
    /// packet takes on the link.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, index: usize, (packet, bytes): (u32, u32), vc: u8, now: u64) -> u64 {
        if self.jobs > 1 {
            self.count_for_job(index, packet, bytes);
        }
        let time = self.time_out(index, bytes).max(self.tail_in(packet, now));
        let output = &mut self.outputs[index];
        debug_assert!(output.free_at <= now, "two packets on a link");
        output.free_at = now + time;
        let (sent, over) = output.sent.overflowing_add(bytes);
        output.sent = sent;
        if over {
            self.sent_before[index] += 1;
        }
        let at = now + self.classes[output.class.0 as usize].delay;
        if output.partition == SINK {
            self.context.counters.delivered(&self.pool[packet], at + time);
            if self.notify_deliveries {
                self.wheel.insert(at + time, event_kind::WAKE, self.pool[packet].flow_id, ARRIVED);
            }
            self.pool.free(packet);
            return time;
        }
        let at = at + self.router_delay;
        let slot = match self.rule {
            CreditRule::PerCrosspoint => (vc as usize) << self.ahead_shift | self.pool[packet].out as usize,
            _ => vc as usize,
        };
        self.credits[index << self.credit_shift | slot] -= bytes as i32;
        debug_assert!(self.credits[index << self.credit_shift | slot] >= 0, "sent without credit");
        let input = output.target << self.vc_shift | u32::from(vc);
        if self.mixed_rates {
            self.tails[packet as usize] = at + time;
        }
        if output.partition == self.part {
            self.wheel.insert(at, event_kind::ARRIVAL, input, packet);
        } else {
            let tail = self.tails.get(packet as usize).copied();
            self.context.outbox[output.partition as usize].packet((at, tail), input, self.pool[packet]);
            self.pool.free(packet);
        }
        time
    }

    /// Takes a packet into the pool, whose tail is there at a time, and says where it lies.
    #[inline(always)]
    pub(crate) fn admit(&mut self, packet: Packet, tail: u64) -> u32 {
        let place = self.pool.put(packet);
        if self.mixed_rates {
            if self.tails.len() <= place as usize {
                self.tails.resize(place as usize + 1, 0);
            }
            self.tails[place as usize] = tail;
        }
        place
    }

    /// The time until a packet's tail has come, so that it can have left: 0 where no channel is faster than another.
    #[inline(always)]
    pub(crate) fn tail_in(&self, packet: u32, now: u64) -> u64 {
        if self.mixed_rates { self.tails[packet as usize].saturating_sub(now) } else { 0 }
    }

    /// The router of a port, in this partition's numbering.
    #[inline]
    pub(crate) fn router_of(&self, port: usize) -> usize {
        self.inputs[port].router as usize
    }

    /// The time that a packet takes on an output's channel.
    #[inline(always)]
    pub(crate) fn time_out(&self, output: usize, bytes: u32) -> u64 {
        self.time_on(self.outputs[output].class, bytes)
    }

    /// The time that a packet takes on the channel that feeds an input.
    #[inline(always)]
    pub(crate) fn time_in(&self, input: u32, bytes: u32) -> u64 {
        self.time_on(self.inputs[(input >> self.vc_shift) as usize].class, bytes)
    }

    #[inline(always)]
    fn time_on(&self, class: ChannelClass, bytes: u32) -> u64 {
        if bytes == self.full_bytes {
            self.classes[class.0 as usize].full
        } else {
            self.plan.serialization(class, bytes)
        }
    }

    /// Virtual channels of a class of them, on an output's channel.
    #[inline(always)]
    pub(crate) fn vcs_per_class(&self, output: usize) -> u8 {
        self.classes[self.outputs[output].class.0 as usize].vcs_per_class
    }

    /// Counts bytes on channels by job from now on, if there is more than one.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.jobs = jobs;
        self.sent_by_job = if jobs > 1 { vec![0; jobs * self.outputs.len()] } else { Vec::new() };
    }

    /// Out of line: where there is only one job, hops pay for the comparison alone.
    #[cold]
    #[inline(never)]
    fn count_for_job(&mut self, output: usize, packet: u32, bytes: u32) {
        let job = (self.pool[packet].flow_id >> FLOW_BITS) as usize;
        self.sent_by_job[output * self.jobs + job] += u64::from(bytes);
    }

    /// Bytes of a job sent over an output's channel since the counts were cleared.
    pub(crate) fn sent(&self, output: usize, job: usize) -> u64 {
        if self.sent_by_job.is_empty() {
            return u64::from(self.sent_before[output]) << 32 | u64::from(self.outputs[output].sent);
        }
        self.sent_by_job[output * self.jobs + job]
    }

    /// Starts the counts of a job's bytes on each channel anew.
    pub(crate) fn clear_sent(&mut self, job: usize) {
        if !self.sent_by_job.is_empty() {
            return self.sent_by_job.iter_mut().skip(job).step_by(self.jobs).for_each(|sent| *sent = 0);
        }
        self.sent_before.fill(0);
        for output in &mut self.outputs {
            output.sent = 0;
        }
    }

    /// Sees to it that an output is marked at a time, once.
    #[inline]
    pub(crate) fn wake_at(&mut self, output: usize, at: u64) {
        if !self.outputs[output].waking {
            self.outputs[output].waking = true;
            self.wheel.insert(at, event_kind::WAKE, output as u32, 0);
        }
    }

    /// A wake-up has come.
    #[inline]
    pub(crate) fn woken(&mut self, output: u32) {
        self.outputs[output as usize].waking = false;
        self.mark_sender(output);
    }

    /// Notes that an output has packets but no credit for any: the next credit will mark it.
    #[inline]
    pub(crate) fn block(&mut self, output: usize) {
        self.blocked[output] = true;
    }

    /// Whether an output's channel leads to a router, so that it needs credit.
    pub(crate) fn leads_to_router(&self, output: usize) -> bool {
        self.outputs[output].partition < NOWHERE
    }

    /// The credit counters of an output.
    pub(crate) fn credits_of(&self, output: usize) -> &[i32] {
        &self.credits[output << self.credit_shift..(output + 1) << self.credit_shift]
    }

    /// Takes in what another partition has sent.
    pub(crate) fn take_in(&mut self, mail: &mut Mail) {
        for (packet, (at, tail)) in mail.packets() {
            let place = self.admit(*packet, tail);
            self.wheel.insert(at, event_kind::ARRIVAL, packet.next, place);
        }
        for (at, counter, bytes) in mail.credits() {
            self.wheel.insert(at, event_kind::CREDIT, counter, bytes);
        }
        mail.clear();
    }
}

/// Reads one item of each cache line, in the order of memory.
pub(crate) fn read_through<T>(items: &[T], read: impl Fn(&T) -> u32) {
    for item in items.iter().step_by((CACHE_LINE / size_of::<T>()).max(1)) {
        black_box(read(item));
    }
}

impl OutputPort {
    /// How congested the channel is, for adaptive choices: bytes that wait for it, and one packet more while it sends.
    #[inline]
    fn congestion(&self, now: u64, packet: u32) -> u32 {
        self.queued + if self.free_at > now { packet } else { 0 }
    }
}
