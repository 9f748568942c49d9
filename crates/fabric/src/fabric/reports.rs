//! Deliveries that the traffic is notified of, and the log of transmissions.

use units::PlaneId;

use super::{Fabric, notify};
use crate::counters::FLOW_BITS;
use crate::event_kind;
use crate::index::PacketSlot;
use crate::packet::Packet;
use crate::traffic::TrafficEvent;
use crate::transmissions::{Transmission, Transmissions};

/// State for reporting deliveries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// Marks that the traffic gave the packets, by slot of the pool.
    marks: Vec<u32>,
    /// Log of the transmissions of channels, if a job requests it. A logged packet is known by its mark.
    pub transmissions: Option<Box<Transmissions>>,
}
units::record!(Reports { marks, transmissions });

impl Reports {
    /// Returns the mark of a packet. 0 if it has none.
    pub fn mark_of(&self, packet: PacketSlot) -> u32 {
        self.marks.get(packet.index()).copied().unwrap_or(0)
    }
}

impl Fabric {
    /// Notifies the traffic of a delivery at tick `at`. A reported packet keeps its slot until then, and stores its
    /// plane instead of the port by which it left its last router.
    #[inline(never)]
    pub(super) fn announce(&mut self, plane: PlaneId, packet: PacketSlot, at: u64) {
        self.pool[packet].out = u16::from(plane.0);
        self.wheel.insert(at, event_kind::TRAFFIC, packet.0, notify::DELIVERED);
    }

    /// Returns the delivery event of a packet whose tail has reached its node.
    pub(crate) fn reported(&mut self, packet: PacketSlot) -> TrafficEvent {
        if let Some(tag) = self.tag_of(packet) {
            return self.collected(packet, &tag);
        }
        let Packet { flow_id, bytes, out, .. } = self.pool[packet];
        let node = self.pool[packet].dst();
        let (mark, time) = (self.mark_of(packet), self.now());
        self.pool.free(packet);
        TrafficEvent::Delivered { flow_id, node, bytes, mark, time, plane: PlaneId(out as u8) }
    }

    /// Returns the mark that the traffic has given a packet. 0 if it has given none.
    pub(crate) fn mark_of(&self, packet: PacketSlot) -> u32 {
        self.reports.as_ref().map_or(0, |reports| reports.mark_of(packet))
    }

    /// Stores the mark that the traffic has given a packet, if deliveries are reported.
    #[inline(never)]
    pub(crate) fn mark_packet(&mut self, packet: PacketSlot, mark: u32) {
        let Some(Reports { marks, .. }) = &mut self.reports else { return };
        if marks.len() <= packet.index() {
            marks.resize(packet.index() + 1, 0);
        }
        marks[packet.index()] = mark;
    }

    /// Logs a packet that is sent over an output's channel and keeps it busy for `time` ticks.
    #[inline(never)]
    pub(super) fn log_transmission(&mut self, output: usize, packet: PacketSlot, time: u64) {
        let (now, sent) = (self.now(), self.pool[packet]);
        let Some(reports) = &mut self.reports else { return };
        let mark = reports.mark_of(packet);
        if let Some(log) = &mut reports.transmissions {
            let of = Transmission::new(&sent, mark, now);
            log.push((sent.flow_id >> FLOW_BITS) as usize, (output, time), &of);
        }
    }
}
