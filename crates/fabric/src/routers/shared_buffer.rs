//! Shared-buffer routers with dynamic thresholds, as most Ethernet switches have them, but without loss.
//!
//! After A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (IEEE/ACM
//! Transactions on Networking 6(2), 1998): the queues of all outputs share one memory, and a queue may grow while it is
//! shorter than `alpha` times the free memory. In the paper further packets are dropped; here they wait upstream.
//!
//! Each input and virtual channel has a reserved buffer, which credits stand for. A packet that is admitted to the
//! shared memory leaves the reserved buffer, so that its credit is returned. Any other packet keeps its reserved space
//! until the memory admits it or it leaves the router. So an uncongested output takes as much of the memory as the
//! others leave, and a congested one exerts backpressure through its inputs' reserved buffers alone.
//!
//! Each output has a FIFO queue for each class of virtual channels, and arbitrates between these queues. The switch has
//! the internal bandwidth for all inputs at once.
//!
//! Freedom from deadlock: no packet waits for shared memory. A packet waits for the channel by which it leaves, behind
//! packets that leave by the same channel on the same class, so that the dependencies are those of the routing.
//!
//! A multicast packet is in the memory once, until its last copy has left, and in the queues of all its outputs. It is
//! admitted on arrival if the thresholds of all these queues allow it, and counts in each of them. Otherwise it keeps
//! its reserved space.
//!
//! Model choices: the threshold is compared with the shared memory that the output and class hold, including the packet
//! to be admitted. The packets of one output and class are admitted in order of arrival. When memory is freed for
//! several outputs and classes, they are served round robin.

use engine::Bits;

use crate::catalogue::{Arbitration, SharedBufferSpec};
use crate::fabric::{Arrival, Buffers, Fabric, Leaving, LocalRouter, Outgoing, QUEUED, Sent, Space};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::prefetch::Prefetch;
use crate::profile::{General, Profile};
use crate::router_params::RouterParams;
use crate::routers::arbiter::{ArbitrationContext, Candidates, Last, RequestTable, in_turn};
use crate::routers::{Arbiter, ArbiterFacts, CandidateLane, CandidatePort, Routers, SharedState, Sharing};

/// All shared-buffer routers of a partition.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    arbitration: Arbitration,
    /// Shared memories, by router.
    memories: Vec<Memory>,
    /// By output, its router.
    router_of: Vec<u32>,
    vc_shift: u32,
    /// Number of bits of a queue's number below the output's.
    class_shift: u32,
    /// Queues, by output, then class of virtual channels.
    queues: Vec<SharedQueue>,
    /// For each output, the classes that have packets.
    requests: RequestTable,
    /// By input (port, virtual channel), bytes of its reserved buffer in use.
    reserved: Vec<u32>,
    /// By place of the pool, the buffer space that the packet holds.
    claims: Vec<Claim>,
    /// By router, the queues that have packets in reserved space: a mask of (port, class).
    waiting: Vec<u64>,
    /// Words of a mask in `waiting`.
    words: usize,
    /// By router, the queue that last had a packet admitted from reserved space.
    last: Vec<u32>,
}
units::state!(SharedBuffer {
    queues, requests, reserved, claims, waiting, last;
    each memories;
    rebuilt arbitration, router_of, vc_shift, class_shift, words
});

/// Shared memory of a router.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Bytes that are free.
    free: u64,
    /// Threshold, as a multiple of the free memory.
    alpha: f64,
}
units::state!(Memory { free; rebuilt alpha });

/// Buffer space that a packet holds.
#[derive(Clone, Copy, Debug)]
struct Claim {
    space: Space,
    /// Next packet of the queue to be admitted to the shared memory, or `NONE`.
    next: PacketSlot,
    /// Whether the packet is a copy that keeps its reserved space.
    stays: bool,
}
units::record!(Claim { space, next, stays });

/// First and last packet of a list.
#[derive(Clone, Copy, Debug)]
struct PacketList {
    first: PacketSlot,
    last: PacketSlot,
}
units::record!(PacketList { first, last });

/// Queue of an output and class.
#[derive(Clone, Copy, Debug, Default)]
struct SharedQueue {
    queue: Queue,
    /// Bytes of the shared memory that its packets hold.
    shared: u64,
    /// Its packets that hold reserved space: the first is the next to be admitted.
    waiting: Option<PacketList>,
}
units::record!(SharedQueue { queue, shared, waiting });

/// Part of a space that is the reserved buffer. Queue q of the shared memory is part q + 1.
const RESERVED: u32 = 0;

/// Flag in the number of a space: a queue of the shared memory, not an input.
const SHARED: u32 = 1 << 31;

impl Memory {
    fn of(router: &RouterParams) -> Self {
        Self { free: u64::from(router.inner_depth), alpha: router.alpha }
    }
}

impl SharedBuffer {
    /// Creates empty routers.
    pub fn new(fabric: &Fabric, spec: &SharedBufferSpec) -> Self {
        let (ports, vc_shift) = (fabric.ports(), fabric.plan.vc_shift);
        let classes = usize::from(fabric.plan.classes());
        let class_shift = classes.next_power_of_two().trailing_zeros();
        let words = (usize::from(fabric.plan.max_ports) << class_shift).div_ceil(64).max(1);
        Self {
            arbitration: spec.arbitration,
            memories: fabric.routers.iter().map(|router| Memory::of(fabric.plan.router(router.id))).collect(),
            router_of: fabric.inputs.iter().map(|port| port.router).collect(),
            vc_shift,
            class_shift,
            queues: vec![SharedQueue::default(); ports << class_shift],
            requests: RequestTable::new(ports, classes),
            reserved: vec![0; ports << vc_shift],
            claims: Vec::new(),
            waiting: vec![0; fabric.routers.len() * words],
            words,
            last: vec![0; fabric.routers.len()],
        }
    }

    /// Returns whether a packet for a queue may take shared memory of its router now.
    fn admits(&self, router: usize, queue: usize, bytes: u32) -> bool {
        let Memory { free, alpha } = self.memories[router];
        let length = self.queues[queue].shared + u64::from(bytes);
        u64::from(bytes) <= free && length as f64 <= alpha * free as f64
    }

    /// Gives a packet shared memory.
    fn admit(&mut self, router: usize, queue: usize, packet: PacketSlot, bytes: u32) {
        self.memories[router].free -= u64::from(bytes);
        self.count_in(queue, packet, bytes);
    }

    /// Counts a packet in shared memory for a queue.
    fn count_in(&mut self, queue: usize, packet: PacketSlot, bytes: u32) {
        self.queues[queue].shared += u64::from(bytes);
        self.claims[packet.index()].space.part = queue as u32 + 1;
    }

    /// Appends a packet to its queue, in reserved space so far. Returns the router and the queue.
    fn push<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, stays: bool) -> (usize, usize) {
        let Arrival { router, packet, out, class, .. } = *arrival;
        let (router, output) = (router as usize, arrival.output());
        let queue = output << self.class_shift | usize::from(class);
        self.queues[queue].queue.push(&mut fabric.pool, packet);
        self.requests.add(output, usize::from(class));
        fabric.activate::<P>(router, usize::from(out));
        let claim = Claim { space: self.reserved_of(arrival), next: PacketSlot::NONE, stays };
        if self.claims.len() <= packet.index() {
            self.claims.resize(packet.index() + 1, claim);
        }
        self.claims[packet.index()] = claim;
        (router, queue)
    }

    /// Returns the reserved space of a packet's input.
    fn reserved_of(&self, arrival: &Arrival) -> Space {
        Space { input: arrival.input(self.vc_shift), part: RESERVED }
    }

    /// Gives a packet reserved space, behind the packets of its queue that have some.
    fn reserve(&mut self, fabric: &Fabric, router: usize, queue: usize, (packet, bytes): (PacketSlot, u32)) {
        self.reserved[self.claims[packet.index()].space.input.index()] += bytes;
        let waiting = &mut self.queues[queue].waiting;
        if let Some(PacketList { last, .. }) = waiting {
            self.claims[last.index()].next = packet;
            *last = packet;
            return;
        }
        *waiting = Some(PacketList { first: packet, last: packet });
        let local = queue - ((fabric.routers[router].base as usize) << self.class_shift);
        self.waiting[router * self.words + (local >> 6)] |= 1 << (local & 63);
    }

    /// Removes the first packet of a queue from those in reserved space.
    fn forget_first(&mut self, fabric: &Fabric, router: usize, queue: usize) {
        let Some(PacketList { first, last }) = self.queues[queue].waiting else { return };
        if first != last {
            self.queues[queue].waiting = Some(PacketList { first: self.claims[first.index()].next, last });
            return;
        }
        self.queues[queue].waiting = None;
        let local = queue - ((fabric.routers[router].base as usize) << self.class_shift);
        self.waiting[router * self.words + (local >> 6)] &= !(1 << (local & 63));
    }

    /// Admits packets from reserved space as far as the memory of their router allows it now.
    #[inline(always)]
    fn admit_waiting(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let words = router * self.words..(router + 1) * self.words;
        if self.waiting[words.clone()].iter().any(|&word| word != 0) {
            self.admit_in_turn(fabric, router, words, now);
        }
    }

    /// `admit_waiting` for a router with packets in reserved space.
    #[inline(never)]
    fn admit_in_turn(&mut self, fabric: &mut Fabric, router: usize, words: std::ops::Range<usize>, now: u64) {
        let first = (fabric.routers[router].base as usize) << self.class_shift;
        while let Some((local, packet)) = self.next_admitted(fabric, router, words.clone()) {
            let queue = first + local;
            let bytes = fabric.pool[packet].bytes;
            let space = self.claims[packet.index()].space;
            self.forget_first(fabric, router, queue);
            self.reserved[space.input.index()] -= bytes;
            self.admit(router, queue, packet, bytes);
            self.last[router] = local as u32;
            fabric.return_credit::<General>(space, bytes, now);
        }
    }

    /// Returns the next queue of a router, round robin, of which a packet may be admitted: its number in the router, and
    /// the packet.
    fn next_admitted(
        &self,
        fabric: &Fabric,
        router: usize,
        words: std::ops::Range<usize>,
    ) -> Option<(usize, PacketSlot)> {
        let first = (fabric.routers[router].base as usize) << self.class_shift;
        in_turn(&self.waiting[words], (self.last[router] as usize + 1) % (self.words * 64)).find_map(|local| {
            let packet = self.queues[first + local].waiting?.first;
            let bytes = fabric.pool[packet].bytes;
            self.admits(router, first + local, bytes).then_some((local, packet))
        })
    }

    /// Sends the next packet of an output, if the link is free and a class has credit.
    #[inline(always)]
    fn send<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, output: usize, now: u64) {
        if !self.requests.any(output) {
            return;
        }
        let free_at = fabric.outputs[output].free_at;
        if free_at > now {
            return fabric.wake_at(output, free_at);
        }
        let heads = Heads { queues: &self.queues[output << self.class_shift..][..1 << self.class_shift], output };
        let turn = ArbitrationContext { rule: self.arbitration, router, output };
        let picked = self.requests.pick(fabric, turn, &heads);
        match picked {
            Some((class, vc)) => self.depart::<P>(fabric, (router, output), (class, vc), now),
            None => fabric.block(output),
        }
    }

    /// Removes the first packet from the queue of a class and sends it.
    #[inline(always)]
    fn depart<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        (router, output): (usize, usize),
        (class, vc): (usize, u8),
        now: u64,
    ) {
        let queue = &mut self.queues[output << self.class_shift | class].queue;
        let packet = queue.pop(&fabric.pool);
        let is_done = queue.is_empty();
        self.requests.serve(output, class, is_done);
        let bytes = fabric.pool[packet].bytes;
        let space = self.claims[packet.index()].space;
        if space.part == RESERVED && !self.claims[packet.index()].stays {
            self.forget_first(fabric, router, output << self.class_shift | class);
        }
        let Sent { time, more } = fabric.transmit::<QUEUED, P>(output, Outgoing { packet, bytes, vc }, now);
        if more {
            fabric.wake_at(output, now + time);
        }
        fabric.release_buffer::<P>(self, space, Leaving { packet, bytes, time, tail_in: 0 }, now);
        self.admit_waiting(fabric, router, now);
    }
}

/// Queues of an output, by class.
struct Heads<'a> {
    queues: &'a [SharedQueue],
    output: usize,
}

impl Candidates for Heads<'_> {
    #[inline(always)]
    fn ready(&self, fabric: &mut Fabric, class: usize) -> Option<u8> {
        let packet = self.queues[class].queue.head();
        let bytes = fabric.pool[packet].bytes;
        fabric.ready_vc(self.output, packet, (class as u8, bytes))
    }

    #[inline(always)]
    fn generated_at(&self, fabric: &Fabric, class: usize) -> u64 {
        fabric.pool[self.queues[class].queue.head()].generated_at
    }

    fn is_of_group(&self, fabric: &Fabric, class: usize) -> bool {
        fabric.pool[self.queues[class].queue.head()].is_of_group()
    }
}

impl Buffers for SharedBuffer {
    fn number(&self, space: Space) -> u32 {
        if space.part == RESERVED { space.input.0 } else { SHARED | (space.part - 1) }
    }

    fn space(&self, number: u32) -> Space {
        if number & SHARED == 0 {
            return Space { input: InputId(number), part: RESERVED };
        }
        // Shared space gives no credit, so that any input will do.
        Space { input: InputId(0), part: (number & !SHARED) + 1 }
    }

    #[inline(always)]
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32 {
        if space.part == RESERVED {
            self.reserved[space.input.index()] -= bytes;
            return bytes;
        }
        self.release_shared(space, bytes);
        let output = (space.part - 1) as usize >> self.class_shift;
        self.memories[self.router_of[output] as usize].free += u64::from(bytes);
        0
    }

    #[inline(always)]
    fn release_shared(&mut self, space: Space, bytes: u32) {
        if space.part != RESERVED {
            self.queues[(space.part - 1) as usize].shared -= u64::from(bytes);
        }
    }
}

impl Prefetch for SharedBuffer {}

impl Routers for SharedBuffer {
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, now: u64) {
        let Arrival { packet, bytes, .. } = *arrival;
        let (router, queue) = self.push::<P>(fabric, arrival, false);
        if self.queues[queue].waiting.is_none() && self.admits(router, queue, bytes) {
            self.admit(router, queue, packet, bytes);
            fabric.return_credit::<P>(self.reserved_of(arrival), bytes, now);
        } else {
            self.reserve(fabric, router, queue, (packet, bytes));
        }
    }

    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64) {
        let Some(first) = copies.first() else { return };
        let (bytes, router) = (first.bytes, first.router as usize);
        fabric.share_space(copies.iter().map(|copy| copy.packet));
        let is_admitted = copies.iter().fold(true, |all, copy| {
            let (_, queue) = self.push::<P>(fabric, copy, true);
            all && self.queues[queue].waiting.is_none() && self.admits(router, queue, bytes)
        });
        if !is_admitted {
            let Space { input, .. } = self.reserved_of(first);
            self.reserved[input.index()] += bytes;
            return;
        }
        self.memories[router].free -= u64::from(bytes);
        for copy in copies {
            let output = copy.output();
            self.count_in(output << self.class_shift | usize::from(copy.class), copy.packet, bytes);
        }
        fabric.return_credit::<P>(self.reserved_of(first), bytes, now);
    }

    fn space_freed(&mut self, fabric: &mut Fabric, space: Space, now: u64) {
        if space.part != RESERVED {
            let output = (space.part - 1) as usize >> self.class_shift;
            self.admit_waiting(fabric, self.router_of[output] as usize, now);
        }
    }

    fn side_woken<P: Profile>(&mut self, _fabric: &mut Fabric, _port: usize, _side: usize) {}

    #[inline(never)]
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        let base = fabric.routers[router].base as usize;
        for word in 0..if P::PLAIN { 1 } else { fabric.params.words } {
            for bit in Bits(fabric.take_active::<P>(router, word)) {
                self.send::<P>(fabric, router, base + word * 64 + bit, now);
            }
        }
    }

    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a {
        let LocalRouter { base, ports, .. } = fabric.routers[fabric.inputs[input.port(self.vc_shift)].router as usize];
        let (base, ports) = (base as usize, usize::from(ports));
        let queues = self.queues[base << self.class_shift..(base + ports) << self.class_shift].iter();
        // Packets of several inputs share a queue, so that any packet of the queue may belong to the input.
        let next = |&packet: &PacketSlot| Some(fabric.pool[packet].next).filter(|&packet| packet != PacketSlot::NONE);
        let packets = queues.filter(|queue| !queue.queue.is_empty());
        let packets = packets.flat_map(move |queue| std::iter::successors(Some(queue.queue.head()), next));
        let held = Space { input, part: RESERVED };
        packets.filter(move |&packet| self.claims[packet.index()].space == held)
    }

    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_ {
        std::iter::once((RESERVED, u64::from(self.reserved[input.index()])))
    }
}

impl SharedState for SharedBuffer {
    fn sharing(&self) -> Sharing {
        let by_class = |port, rule| Some(ArbiterFacts::of((port, CandidateLane::Class), rule));
        let output = by_class(CandidatePort::None, self.arbitration);
        let router = by_class(CandidatePort::Output, Arbitration::RoundRobin);
        Sharing { output, input: None, router, has_sides: false }
    }

    fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        match arbiter {
            Arbiter::Output(output) => Some(self.requests.last(output)),
            Arbiter::Input(_) => None,
            Arbiter::Router(port) => {
                let last = self.last[self.router_of[port] as usize] as usize;
                let (local, class) = (last >> self.class_shift, last & ((1 << self.class_shift) - 1));
                (last < self.words * 64).then_some(local << self.vc_shift | class)
            }
        }
    }

    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        match arbiter {
            Arbiter::Output(output) => self.requests.set_last(output, candidate),
            Arbiter::Input(_) => {}
            Arbiter::Router(port) => {
                let class = |candidate: usize| candidate & ((1 << self.vc_shift) - 1);
                let queue = |candidate: usize| (candidate >> self.vc_shift) << self.class_shift | class(candidate);
                // A turn further, so that a pointer that has not moved differs from one that has moved to this queue.
                let last = 2 * self.words * 64 - 1;
                let last = candidate.map_or(last, |candidate| queue(candidate) + self.words * 64);
                self.last[self.router_of[port] as usize] = last as u32;
            }
        }
    }

    fn is_empty(&self, fabric: &Fabric, port: usize) -> bool {
        let router = self.router_of[port] as usize;
        self.memories[router].free == u64::from(fabric.plan.router(fabric.routers[router].id).inner_depth)
    }

    fn append_backlog(&self, _fabric: &Fabric, output: usize, to: &mut Vec<i64>) {
        let queues = output << self.class_shift..(output + 1) << self.class_shift;
        to.extend(self.queues[queues].iter().map(|queue| queue.shared.cast_signed()));
    }
}

impl SharedBuffer {
    /// Returns the bytes of the queues of a network, without packets. There are at most as many classes as virtual
    /// channels.
    pub(crate) fn bytes(size: &NetworkSize) -> u64 {
        let words = (size.max_ports << size.vc_shift()).div_ceil(64).max(1);
        bytes_of::<SharedQueue>(size.inputs())
            + RequestTable::<Last>::bytes(size.ports, 1 << size.vc_shift())
            + bytes_of::<u32>(size.inputs() + size.ports + size.routers)
            + bytes_of::<u64>(size.routers * words)
            + bytes_of::<Memory>(size.routers)
    }
}
