//! Data that processors write to the interface (PIO), whose room may be limited.
//!
//! In the call of a send the processor writes the data that fit. The rest is library work: the processor writes it
//! packet by packet as room becomes free, when the library may react (`ProgressMode`), and the send ends when all has
//! been written. On a network that carries messages whole room is not limited.

use super::super::{Executor, PendingSend};
use super::sending::MessageEnds;
use crate::context::HostContext;
use crate::event::Event;
use crate::nic::{PerByte, Stream};
use crate::processor::{Occasion, ProgressTask, WorkStart};
use crate::queues::{Room, Taken};
use crate::slots::SendSlot;
use crate::trace::{Purpose, TracedPart};

impl Executor {
    /// Writes the data of a send that fit, from a time on.
    pub(in super::super) fn begin_writing(&mut self, place: SendSlot, from: u64, occasion: Occasion) {
        let PendingSend { op, rank, bytes, .. } = self.sends[place];
        let node = self.local_node(op.rank);
        let fits = self.nics.rooms.begin(node, bytes.max(1));
        let Some(time) = self.interface.parts.pio.map(|pio| pio.time(fits.min(bytes))) else { return };
        let what = (op, Purpose::Write);
        let written_at = self.library_work(occasion, rank, what, from, time);
        (self.sends[place].written, self.sends[place].written_at) = (Some(fits), written_at);
    }

    /// Returns whether some data of a send that is handed over have found no room.
    pub(super) fn is_cut(&self, place: SendSlot) -> bool {
        let PendingSend { bytes, written, .. } = self.sends[place];
        written.is_some_and(|written| written < bytes.max(1))
    }

    /// Cancels the writing of a send's data, which do not leave yet.
    pub(super) fn forget_writing(&mut self, place: SendSlot) {
        let PendingSend { op, written, .. } = self.sends[place];
        let node = self.local_node(op.rank);
        self.nics.rooms.give_back(node, written.unwrap_or(0));
        (self.sends[place].written, self.sends[place].written_at) = (None, 0);
    }

    /// Lets a send wait for room for the rest of its data.
    pub(super) fn wait_for_room(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let node = self.local_node(self.sends[place].op.rank);
        self.nics.rooms.wait(node, place);
        self.tell_room(node, now, around);
    }

    /// Continues the first waiting send of a node, if there is room for a packet.
    fn tell_room(&mut self, node: usize, now: u64, around: &mut impl HostContext) {
        if let Some(send) = self.nics.rooms.next(node) {
            self.enter_progress(self.sends[send].rank, ProgressTask::Write(send), WorkStart::at(now), around);
        }
    }

    /// Writes the part of the rest of a send that fits, from a time on.
    pub(in super::super) fn go_on_writing(
        &mut self,
        place: SendSlot,
        WorkStart { from, now }: WorkStart,
        around: &mut impl HostContext,
    ) {
        let PendingSend { op, rank, bytes, written, .. } = self.sends[place];
        let (node, all, written) = (self.local_node(op.rank), bytes.max(1), written.unwrap_or(0));
        let fits = self.nics.rooms.go_on(node, all - written);
        let time = self.interface.parts.pio.map_or(0, |pio| pio.time(fits));
        let at = self.reaction_work(rank, (op, Purpose::Write), from, time);
        let begin = self.processors.accepted().begin;
        let stream = Stream { from: begin, per_byte: PerByte::ratio(at - begin, fits) };
        let extent = MessageEnds { begins: written == 0, ends: written + fits == all };
        self.sends[place].written = Some(written + fits);
        self.hand_over_part(place, (fits, TracedPart::Data), (Some(stream), extent), now, around);
        if extent.ends {
            self.later(at, op, Event::Sent(place), now, around);
        }
        self.tell_room(node, now, around);
    }

    /// Notes that a packet of written or relayed data is released to the network: its room is free when its tail has
    /// left the link.
    #[inline(never)]
    pub(in super::super) fn leaves_room(&mut self, source: usize, packet: &Taken, tick: u64) {
        let bytes = u64::from(packet.bytes);
        let from = packet.generated_at.max(tick).saturating_mul(self.interface.tick);
        let at = from.saturating_add(self.on_link(source, bytes)).max(tick.saturating_mul(self.interface.tick) + 1);
        let (op, event) = match packet.room {
            Room::Relay(_) => self.leaves_relay(source, packet),
            _ => {
                let place = self.nics.rooms.release(source / self.nics.rails.count() as usize, bytes);
                (super::super::NOBODY, Event::Left(place))
            }
        };
        self.pending.push(at, op, event);
        let alarm = at.div_ceil(self.interface.tick);
        if alarm < self.clock.alarm {
            self.clock.alarm = alarm;
            self.clock.wanted = Some(alarm);
        }
    }

    /// Handles a packet of written data that has left.
    pub(in super::super) fn left(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let node = self.nics.rooms.left(place);
        self.tell_room(node, now, around);
    }
}
