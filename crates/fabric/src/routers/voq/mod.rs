//! Virtual-output-queued routers: an input keeps a queue for each output, and iSLIP matches inputs to outputs.
//!
//! An input and an output are busy while a packet is on the output's link, at least until its tail has come from a
//! slower channel: crossing the crossbar is being on the link.
//!
//! The virtual channels of an input that have packets for the same output are served round robin: the first one that
//! could leave now, behind the one that the input has served last for that output.
//!
//! A multicast packet takes the space of one packet in the buffer, and has a copy in the queue of each of its outputs.
//! The copies cross one at a time, as the matching decides. Alternatively it waits in a multicast queue (`multicast`),
//! or each set of outputs has a queue (`sets`).

mod islip;
mod multicast;
mod queues;
mod sets;

use crate::catalogue::{MulticastQueueing, VirtualOutputQueuedSpec};
use crate::event_kind;
use crate::fabric::{Arrival, Buffers, Fabric, Leaving, Outgoing, QUEUED, Sent, Space};
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::prefetch::Prefetch;
use crate::profile::Profile;
use crate::routers::{Arbiter, ArbiterFacts, CandidateLane, CandidatePort, Routers, SharedState, Sharing};

use islip::Islip;
use multicast::MulticastQueues;
use queues::Queues;
use sets::SetQueues;

/// All virtual-output-queued routers of a partition.
#[derive(Clone, Debug)]
pub struct VirtualOutputQueued {
    vc_shift: u32,
    queues: Queues,
    /// Queues of multicast packets, if these wait in separate queues.
    multicasts: Option<MulticastQueues>,
    /// Queues of all packets, if each set of outputs has a queue.
    sets: Option<SetQueues>,
    islip: Islip,
    /// Input sides of the crossbar, by port.
    input_sides: Vec<InputSide>,
    /// By output port, the number of packets at the inputs that wait for it.
    wanted: Vec<u32>,
}
units::state!(VirtualOutputQueued { queues, islip, input_sides, wanted; each multicasts, sets; rebuilt vc_shift });

/// Input side of the crossbar.
#[derive(Clone, Copy, Debug, Default)]
struct InputSide {
    /// Time from which the side is free, in ticks.
    free_at: u64,
    /// Whether a wake-up is pending.
    waking: bool,
}
units::record!(InputSide { free_at, waking });

/// Packet that may cross the crossbar.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// First port of the router.
    base: usize,
    /// Input.
    input: InputId,
    /// Output, as a port of the router.
    out: usize,
    /// Virtual channel on which the packet leaves.
    vc: u8,
}

impl VirtualOutputQueued {
    /// Creates empty routers.
    pub fn new(fabric: &Fabric, spec: &VirtualOutputQueuedSpec) -> Self {
        let ports = fabric.ports();
        Self {
            vc_shift: fabric.plan.vc_shift,
            queues: Queues::new(fabric),
            multicasts: (spec.multicast == MulticastQueueing::Queue).then(|| MulticastQueues::new(fabric)),
            sets: (spec.multicast == MulticastQueueing::QueuePerSet).then(|| SetQueues::new(fabric)),
            islip: Islip::new(fabric, spec.iterations),
            input_sides: vec![InputSide::default(); ports],
            wanted: vec![0; ports],
        }
    }

    /// Returns whether an input could send now. If not, its router is visited when the input becomes free.
    #[inline]
    fn input_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let side = &mut self.input_sides[port];
        if side.free_at > now && !side.waking {
            side.waking = true;
            fabric.wake_side(port, event_kind::INPUT_SIDE, side.free_at);
        }
        side.free_at <= now
    }

    /// Returns whether an output could take a packet now. If not, its router is visited when the output becomes free.
    #[inline]
    fn output_free(&mut self, fabric: &mut Fabric, port: usize, now: u64) -> bool {
        let free = fabric.outputs[port].free_at;
        if free > now {
            fabric.wake_at(port, free);
        }
        free <= now
    }

    /// Takes a packet over the crossbar.
    fn cross<P: Profile>(&mut self, fabric: &mut Fabric, crossing: Crossing, now: u64) {
        let Crossing { base, input, out, vc } = crossing;
        let output = base + out;
        let packet = self.queues.pop(fabric, input, out);
        let bytes = fabric.pool[packet].bytes;
        self.wanted[output] -= 1;
        let Sent { time, .. } = fabric.transmit::<QUEUED, P>(output, Outgoing { packet, bytes, vc }, now);
        self.input_sides[input.port(self.vc_shift)].free_at = now + time;
        let space = Space { input, part: 0 };
        fabric.release_buffer::<P>(self, space, Leaving { packet, bytes, time, tail_in: 0 }, now);
    }

    /// Sends a copy that has been removed from its queue.
    fn send_copy<P: Profile>(
        &mut self,
        fabric: &mut Fabric,
        (input, output): (InputId, usize),
        outgoing: Outgoing,
        now: u64,
    ) {
        let Outgoing { packet, bytes, .. } = outgoing;
        let port = input.port(self.vc_shift);
        self.queues.count_out(fabric, port);
        self.wanted[output] -= 1;
        let Sent { time, .. } = fabric.transmit::<QUEUED, P>(output, outgoing, now);
        let side = &mut self.input_sides[port];
        side.free_at = side.free_at.max(now + time);
        let space = Space { input, part: 0 };
        fabric.release_buffer::<P>(self, space, Leaving { packet, bytes, time, tail_in: 0 }, now);
        if self.wanted[output] > 0 {
            self.output_free(fabric, output, now);
        }
    }
}

impl Buffers for VirtualOutputQueued {
    fn dequeue_bytes(&mut self, space: Space, bytes: u32) -> u32 {
        self.queues.held[space.input.index()] -= bytes;
        bytes
    }
}

impl Prefetch for VirtualOutputQueued {}

impl Routers for VirtualOutputQueued {
    #[inline]
    fn enqueue<P: Profile>(&mut self, fabric: &mut Fabric, arrival: &Arrival, _now: u64) {
        let Arrival { packet, out, bytes, .. } = *arrival;
        let input = arrival.input(self.vc_shift);
        self.queues.held[input.index()] += bytes;
        if self.sets.is_some() {
            return self.push_to_set(fabric, input, std::slice::from_ref(arrival));
        }
        self.queues.push(fabric, input, usize::from(out), packet);
        self.wanted[arrival.output()] += 1;
    }

    fn enqueue_copies<P: Profile>(&mut self, fabric: &mut Fabric, copies: &[Arrival], now: u64) {
        let Some(first) = copies.first() else { return };
        let (input, bytes) = (first.input(self.vc_shift), first.bytes);
        fabric.share_space(copies.iter().map(|copy| copy.packet));
        if self.multicasts.is_some() {
            self.queues.held[input.index()] += bytes;
            return self.push_run(fabric, input, copies);
        }
        if self.sets.is_some() {
            self.queues.held[input.index()] += bytes;
            return self.push_to_set(fabric, input, copies);
        }
        copies.iter().for_each(|copy| self.enqueue::<P>(fabric, copy, now));
        // All of them take the space of one packet in the buffer.
        self.queues.held[input.index()] -= bytes * (copies.len() as u32 - 1);
    }

    fn side_woken<P: Profile>(&mut self, fabric: &mut Fabric, port: usize, _side: usize) {
        self.input_sides[port].waking = false;
        fabric.mark_router(fabric.inputs[port].router as usize);
    }

    #[inline]
    fn serve<P: Profile>(&mut self, fabric: &mut Fabric, router: usize, now: u64) {
        for word in 0..fabric.params.words {
            fabric.take_active::<P>(router, word);
        }
        if !self.queues.any(router) {
            return;
        }
        if self.sets.is_some() {
            self.match_sets::<P>(fabric, router, now);
        } else {
            self.allocate::<P>(fabric, router, now);
        }
    }

    fn heads<'a>(&'a self, fabric: &'a Fabric, input: InputId) -> impl Iterator<Item = PacketSlot> + 'a {
        let multicasts = self.multicasts.iter().flat_map(move |own| fabric.run(own.head(input)));
        let sets = self.sets.iter().flat_map(move |own| own.heads(input).flat_map(move |head| fabric.run(head)));
        self.queues.heads(input).chain(multicasts).chain(sets)
    }

    fn held(&self, input: InputId) -> impl Iterator<Item = (u32, u64)> + '_ {
        std::iter::once((0, u64::from(self.queues.held[input.index()])))
    }
}

impl SharedState for VirtualOutputQueued {
    fn sharing(&self) -> Sharing {
        let by = |port| Some(ArbiterFacts { port, lane: CandidateLane::None, has_pointer: true });
        let (output, input) = (by(CandidatePort::Input), by(CandidatePort::Output));
        Sharing { output, input, router: None, has_sides: true }
    }

    fn last_served(&self, arbiter: Arbiter) -> Option<usize> {
        self.islip.last_served(arbiter).map(|port| port << self.vc_shift)
    }

    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>) {
        self.islip.set_last_served(arbiter, candidate.map(|candidate| candidate >> self.vc_shift));
    }
}

impl VirtualOutputQueued {
    /// Returns the bytes of the queues and the matching of a network, without packets.
    pub(crate) fn bytes(size: &NetworkSize, spec: &VirtualOutputQueuedSpec) -> u64 {
        let multicasts = match spec.multicast {
            MulticastQueueing::Copies => 0,
            MulticastQueueing::Queue => MulticastQueues::bytes(size),
            MulticastQueueing::QueuePerSet => SetQueues::bytes(size),
        };
        let sides = bytes_of::<InputSide>(size.ports) + bytes_of::<u32>(size.ports);
        Queues::bytes(size) + multicasts + Islip::bytes(size) + sides
    }
}
