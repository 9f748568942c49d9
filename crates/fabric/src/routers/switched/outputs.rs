//! Output buffers, and the links behind them.
//!
//! The packet on a link holds space of its buffer until its tail has gone, which is when the link becomes free.

use engine::Bits;

use super::Switched;
use crate::fabric::{Fabric, Outgoing, QUEUED};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;
use crate::profile::Profile;
use crate::routers::arbiter::Side;

/// Buffer of an output and virtual channel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub(super) struct Buffer {
    queue: Queue,
    /// Bytes of the packets in the queue.
    pub queued: u32,
}
units::record!(Buffer { queue, queued });

/// Output side of the crossbar, with a summary of its buffers. The mask of buffers with packets lies apart
/// (`Switched::filled`), since mostly none has any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputSide {
    /// Time from which the side is free, in ticks.
    pub free_at: u64,
    /// Bytes of the last packet, which holds space of its buffer until its tail has gone.
    leaving: u32,
    /// Virtual channel of the last packet.
    last_vc: u8,
    /// Candidate that was served last (`Side`).
    last: u8,
    /// Whether a wake-up is pending.
    pub waking: bool,
    /// Whether some buffer has packets.
    pub has_packets: bool,
}
units::record!(OutputSide { free_at, leaving, last_vc, last, waking, has_packets });

impl Side for OutputSide {
    #[inline(always)]
    fn last(&mut self) -> &mut u8 {
        &mut self.last
    }
}

impl OutputSide {
    /// Notes a packet that crosses and goes on at once on virtual channel `vc`.
    #[inline(always)]
    pub fn sends(&mut self, (bytes, vc): (u32, u8)) {
        debug_assert!(!self.has_packets, "a packet is passed over");
        (self.leaving, self.last_vc) = (bytes, vc);
    }

    /// Notes a packet that crosses and goes on at once, and keeps the crossbar's side busy until tick `until`.
    #[inline(always)]
    pub fn crossed(&mut self, until: u64, sent: (u32, u8)) {
        self.free_at = until;
        self.sends(sent);
    }
}

impl Switched {
    /// Returns the virtual channel on which the head of an input could go to an output now: with buffers, the virtual
    /// channel of its class whose buffer has the most room, the lowest in a tie, if the packet fits. Without buffers
    /// the link decides. `None`: there is none.
    #[inline(always)]
    pub(super) fn ready<P: Profile>(&self, fabric: &mut Fabric, output: usize, input: InputId, now: u64) -> Option<u8> {
        let fifo = &self.fifos[input.index()];
        let (class, bytes) = (fifo.class, fifo.head_size(fabric));
        self.ready_for::<P>(fabric, output, (fifo.queue.head(), class, bytes), now)
    }

    /// `ready` for a packet of a class and a size.
    #[inline(always)]
    pub(super) fn ready_for<P: Profile>(
        &self,
        fabric: &mut Fabric,
        output: usize,
        (packet, class, bytes): (PacketSlot, u8, u32),
        now: u64,
    ) -> Option<u8> {
        if self.buffers.is_empty() {
            return fabric.ready_vc(output, packet, (class, bytes));
        }
        let side = self.requests.side(output).0;
        let port = &fabric.outputs[output];
        let channels = &fabric.classes[port.class.0 as usize];
        let (vcs_per_class, depth) = (channels.vcs_per_class, channels.inner_depth);
        let first = class * vcs_per_class;
        let sending = port.free_at > now;
        if !P::PLAIN && fabric.reserves_several_vcs(output, class) {
            return self.promised_vc(fabric, (output, first), bytes, now);
        }
        if !sending && !side.has_packets {
            return Some(first);
        }
        let buffers = &self.buffers[(output << self.vc_shift) + usize::from(first)..][..usize::from(vcs_per_class)];
        let leaving = if sending { side.leaving } else { 0 };
        let mut best = (u32::MAX, first);
        for (vc, buffer) in (first..).zip(buffers) {
            let held = buffer.queued + if vc == side.last_vc { leaving } else { 0 };
            if held < best.0 {
                best = (held, vc);
            }
        }
        let (held, vc) = best;
        (u64::from(held) + u64::from(bytes) <= u64::from(depth)).then_some(vc)
    }

    /// Returns the virtual channel for a packet whose credit is reserved: the one with the most room among those whose
    /// credit also covers the packets in their buffers, if that is enough.
    #[cold]
    fn promised_vc(&self, fabric: &Fabric, (output, first): (usize, u8), bytes: u32, now: u64) -> Option<u8> {
        let side = self.requests.side(output).0;
        let sending = fabric.outputs[output].free_at > now;
        let queued = |vc: u8| self.buffers[output << self.vc_shift | usize::from(vc)].queued;
        let leaving = |vc: u8| if sending && vc == side.last_vc { side.leaving } else { 0 };
        let vcs = first..first + fabric.vcs_per_class(output);
        let covered =
            vcs.filter(|&vc| u64::from(fabric.credit_on(output, vc)) >= u64::from(queued(vc)) + u64::from(bytes));
        let vc = covered.min_by_key(|&vc| queued(vc))?;
        let held = [queued(vc), leaving(vc), bytes].map(u64::from).iter().sum::<u64>();
        let depth = fabric.classes[usize::from(fabric.outputs[output].class.0)].inner_depth;
        (held <= u64::from(depth)).then_some(vc)
    }

    /// Returns the time that a packet takes over the crossbar to an output, in ticks. Without buffers it is the time on
    /// the link: at least until the tail has come, or until a combine unit is done with the packet.
    #[inline(always)]
    pub(super) fn crossing_time(&self, fabric: &Fabric, output: usize, bytes: u32, tail_in: u64) -> u64 {
        let class = fabric.outputs[output].class;
        let time = if bytes == fabric.params.full_bytes {
            fabric.classes[class.0 as usize].crossing
        } else {
            fabric.time_on(class, bytes).div_ceil(fabric.classes[class.0 as usize].speedup.into())
        };
        match self.buffers.is_empty() {
            true => fabric.time_in_unit(output, bytes, tail_in).unwrap_or(time.max(tail_in)),
            false => time,
        }
    }

    /// Puts a packet that crosses into its output buffer.
    #[inline(never)]
    pub(super) fn put_into_buffer(&mut self, fabric: &mut Fabric, output: usize, crossed: Outgoing) {
        let Outgoing { packet, bytes, vc } = crossed;
        self.requests.side_mut(output).has_packets = true;
        self.filled[output] |= 1 << vc;
        let buffer = &mut self.buffers[output << self.vc_shift | usize::from(vc)];
        fabric.pool[packet].next = PacketSlot::NONE;
        buffer.queue.push(&mut fabric.pool, packet);
        buffer.queued += bytes;
    }

    /// Sends the next packet from an output's buffers, round robin over the virtual channels, if its link can take one.
    #[inline(never)]
    pub(super) fn send_buffered<P: Profile>(&mut self, fabric: &mut Fabric, output: usize, now: u64) {
        let free_at = fabric.outputs[output].free_at;
        if free_at > now {
            return fabric.wake_at(output, free_at);
        }
        let (&OutputSide { last_vc, .. }, is_asked) = self.requests.side(output);
        let filled = self.filled[output];
        // Rotated so that the virtual channel after the round-robin pointer comes lowest.
        let turn = (u32::from(last_vc) + 1) & 63;
        let first = output << self.vc_shift;
        for place in Bits(filled.rotate_right(turn)) {
            let vc = (place + turn as usize) & 63;
            let buffer = &mut self.buffers[first | vc];
            let packet = buffer.queue.head();
            let bytes = fabric.pool[packet].bytes;
            if !fabric.has_credit::<P>(output, vc as u8, bytes) {
                continue;
            }
            buffer.queue.pop(&fabric.pool);
            buffer.queued -= bytes;
            let left = filled & !(u64::from(buffer.queue.is_empty()) << vc);
            let side = self.requests.side_mut(output);
            (side.has_packets, side.leaving, side.last_vc) = (left != 0, bytes, vc as u8);
            self.filled[output] = left;
            let sent = fabric.transmit::<QUEUED, P>(output, Outgoing { packet, bytes, vc: vc as u8 }, now);
            // Other packets leave when the link becomes free, or may lack the room that this packet then gives back.
            if left != 0 || is_asked {
                fabric.wake_at(output, now + sent.time);
            }
            return;
        }
        fabric.block(output);
    }
}
