//! Crosspoints, and the arbitration of an output among their heads.
//!
//! The packet on a link holds room in its crosspoint until its tail has gone, which is when the link becomes free.

use super::{InputCrosspointQueued, Place, own_depth};
use crate::fabric::{Fabric, LocalRouter, Outgoing, QUEUED, Sent};
use crate::index::{InputId, PacketSlot};
use crate::profile::Profile;
use crate::routers::arbiter::{ArbitrationContext, Side};
use crate::routers::crosspoint::Column;

/// Last packet sent by an output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaving {
    /// Input, (port, virtual channel) in one number, by which the packet came into the router.
    candidate: u32,
    /// Size of the packet in bytes. 0 once the input has been notified that its room is free.
    bytes: u32,
    /// Candidate that was served last (`Side`).
    last: u8,
}
units::record!(Leaving { candidate, bytes, last });

impl Side for Leaving {
    #[inline(always)]
    fn last(&mut self) -> &mut u8 {
        &mut self.last
    }
}

impl InputCrosspointQueued {
    /// Returns whether the crosspoint of a packet at an input has room for it.
    #[inline(always)]
    pub(super) fn has_room(
        &self,
        fabric: &Fabric,
        (base, input): (usize, InputId),
        packet: PacketSlot,
        now: u64,
    ) -> bool {
        let waiting = &fabric.pool[packet];
        let out = usize::from(waiting.out);
        let output = base + out;
        let leaving = self.columns.side(output).0;
        let is_leaving =
            leaving.candidate as usize == input.candidate(base, self.vc_shift) && fabric.outputs[output].free_at > now;
        let held = self.crosspoints[input.index() * self.row + out].held + if is_leaving { leaving.bytes } else { 0 };
        u64::from(held) + u64::from(waiting.bytes) <= u64::from(self.depth)
    }

    /// Moves a packet of an input into its crosspoint.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        fabric: &mut Fabric,
        (base, input): (usize, InputId),
        (packet, bytes): (PacketSlot, u32),
    ) {
        let out = usize::from(fabric.pool[packet].out);
        let crosspoint = &mut self.crosspoints[input.index() * self.row + out];
        let was_empty = self.columns.add(base + out, input.candidate(base, self.vc_shift));
        crosspoint.queue.push(&mut fabric.pool, packet, was_empty);
        crosspoint.held += bytes;
    }

    /// Notes the packet that an output sends now.
    #[inline(always)]
    pub(super) fn note_leaving(&mut self, output: usize, candidate: usize, bytes: u32) {
        let leaving = self.columns.side_mut(output);
        (leaving.candidate, leaving.bytes) = (candidate as u32, bytes);
    }

    /// Frees the room of the last packet of an output if its link is free again: the packet's input may be able to
    /// send.
    #[inline(always)]
    pub(super) fn clear_left(&mut self, fabric: &Fabric, Place { router, base }: Place, out: usize, now: u64) {
        let Leaving { candidate, bytes, .. } = *self.columns.side(base + out).0;
        if bytes > 0 && fabric.outputs[base + out].free_at <= now {
            self.columns.side_mut(base + out).bytes = 0;
            self.mark_input(router, candidate as usize >> self.vc_shift);
        }
    }

    /// Sends the next packet from an output's crosspoints, if the link is free and one has credit.
    #[inline(always)]
    pub(super) fn send_out<P: Profile>(&mut self, fabric: &mut Fabric, place: Place, out: usize, now: u64) {
        let Place { router, base } = place;
        let output = base + out;
        let port = &fabric.outputs[output];
        if port.queued == 0 {
            return;
        }
        if port.free_at > now {
            let free_at = port.free_at;
            return fabric.wake_at(output, free_at);
        }
        if !self.columns.any(output) {
            return;
        }
        let first = InputId::new(base, 0, self.vc_shift);
        let turn = ArbitrationContext { rule: self.arbitration, router, output };
        let column = Column { crosspoints: &self.crosspoints, row: self.row, first, output, out };
        let Some((candidate, vc)) = self.columns.pick(fabric, turn, &column) else {
            return fabric.block(output);
        };
        let crosspoint = &mut self.crosspoints[first.plus(candidate).index() * self.row + out];
        let (packet, bytes, is_empty) = crosspoint.queue.pop(&mut fabric.pool);
        crosspoint.held -= bytes;
        self.columns.serve(output, candidate, is_empty);
        self.note_leaving(output, candidate, bytes);
        let Sent { time, more } = fabric.transmit::<QUEUED, P>(output, Outgoing { packet, bytes, vc }, now);
        if more {
            fabric.wake_at(output, now + time);
        }
    }

    /// Checks that the counts of an output's crosspoints agree with their contents.
    ///
    /// # Errors
    /// Says which count is wrong, and where.
    pub(super) fn check_column(&self, fabric: &Fabric, router: &LocalRouter, out: usize) -> Result<(), String> {
        let base = router.base as usize;
        let (first, output) = (InputId::new(base, 0, self.vc_shift), base + out);
        let lacking = self.depth - own_depth(fabric, base);
        for candidate in 0..usize::from(router.ports) << self.vc_shift {
            let crosspoint = &self.crosspoints[first.plus(candidate).index() * self.row + out];
            let bytes: u32 = crosspoint.queue.packets(&fabric.pool).map(|packet| fabric.pool[packet].bytes).sum();
            if bytes + lacking != crosspoint.held || bytes + lacking > self.depth {
                return Err(format!(
                    "crosspoint {candidate} of output {output} counts {} B of {bytes}",
                    crosspoint.held.wrapping_sub(lacking)
                ));
            }
            if self.columns.has(output, candidate) == crosspoint.queue.is_empty() {
                return Err(format!(
                    "crosspoint {candidate} of output {output} is not known to have packets, or has none"
                ));
            }
        }
        Ok(())
    }
}
