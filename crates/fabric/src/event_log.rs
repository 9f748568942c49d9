//! Log of the events of an instant in routers and at nodes, for traffic that compares intervals of time.

use engine::{Event, Instant};

use crate::event_kind;
use crate::fabric::{Fabric, notify};
use crate::index::PacketSlot;

/// Kind of a logged event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoggedKind {
    /// A credit has come back.
    Credit,
    /// Space of a buffer is free.
    Free,
    /// A packet has come to a router.
    Arrival,
    /// The tail of a packet has reached its node.
    Delivery,
}

/// Event of a router or of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Kind of the event.
    pub kind: LoggedKind,
    /// Number in the partition of the credit counter, of the space, or of the input and virtual channel of an arrival. 0
    /// for a delivery.
    pub place: u32,
    /// Bytes of the credit or of the space, or mark of the packet.
    pub what: u32,
}

impl Fabric {
    /// Appends the events of an instant to a log, unsorted. Packets are identified by their marks. Requires traffic that
    /// wants events.
    pub(crate) fn log_events(&self, instant: &Instant<{ event_kind::COUNT }>, log: &mut Vec<LoggedEvent>) {
        let of_buffers = [(event_kind::CREDIT, LoggedKind::Credit), (event_kind::FREE, LoggedKind::Free)];
        for (kind, logged) in of_buffers {
            let event = |own: &Event| LoggedEvent { kind: logged, place: own.target, what: own.arg };
            log.extend(instant.kinds[kind].iter().map(event));
        }
        log.extend(instant.kinds[event_kind::ARRIVAL].iter().map(|own| LoggedEvent {
            kind: LoggedKind::Arrival,
            place: own.target,
            what: self.mark_of(PacketSlot(own.arg)),
        }));
        let delivered = instant.kinds[event_kind::TRAFFIC].iter().filter(|own| own.arg == notify::DELIVERED);
        log.extend(delivered.map(|own| LoggedEvent {
            kind: LoggedKind::Delivery,
            place: 0,
            what: self.mark_of(PacketSlot(own.target)),
        }));
    }
}
