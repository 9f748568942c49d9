//! Reserved credit: adaptive routing with escape channels (`Choice::Escape`, Duato 1993).
//!
//! A packet may take a channel of the adaptive class only if the credit there, less the reserved credit, covers it. The
//! reservation lasts until the packet leaves, so that packets wait only for the credit of escape channels.

use routing::{Hop, Route};
use units::Draw;

use super::{Arrival, Fabric};
use crate::index::{CreditSlot, PacketSlot};

/// Output on which a packet never waits for credit, or that of its escape channel.
pub(super) struct OpenPort {
    pub out: u16,
    pub class: u8,
    /// Whether credit has been reserved.
    pub reserved: bool,
}

/// Reserved credit of the outputs.
#[derive(Clone, Debug)]
pub(super) struct Reservations {
    /// Class of packets whose credit is reserved when they arrive.
    pub class: u8,
    /// By output, the number of packets in this router whose credit there is reserved.
    pub packets: Vec<u32>,
}
units::state!(Reservations { packets; rebuilt class });

impl Fabric {
    /// Chooses the least congested of the adaptive ports on which a packet never waits for credit, ties at random, and
    /// reserves the credit. Chooses the escape channel if there is no such port.
    #[inline(never)]
    pub(super) fn choose_or_escape(&mut self, arrival: &mut Arrival, route: &Route, hop: &Hop) {
        let OpenPort { out, class, .. } = self.open_port_or_escape(arrival, route, hop);
        (arrival.out, arrival.class) = (out, class);
    }

    /// Returns the output and the class of the packet.
    pub(super) fn open_port_or_escape(&mut self, arrival: &Arrival, route: &Route, hop: &Hop) -> OpenPort {
        let base = arrival.base as usize;
        let open = |fabric: &Self| fabric.open_ports(base, route).map(|(_, load)| load).min();
        let Some(least) = open(self) else {
            let (port, vc_class) = self.routing.escape(arrival.id, hop);
            return OpenPort { out: port.0, class: vc_class.0, reserved: false };
        };
        let ties = self.open_ports(base, route).filter(|&(_, load)| load == least).count() as u32;
        let pick = if ties > 1 { self.streams[arrival.router as usize].below(ties) } else { 0 };
        let mut best = self.open_ports(base, route).filter(|&(_, load)| load == least);
        let out = best.nth(pick as usize).map_or(route.first().0, |(out, _)| out);
        drop(best);
        if let Some(reservations) = &mut self.reservations {
            reservations.packets[base + usize::from(out)] += 1;
        }
        OpenPort { out, class: route.vc_class.0, reserved: true }
    }

    /// Iterates over the ports of a route with unreserved credit, and their congestion.
    fn open_ports<'a>(&'a self, base: usize, route: &Route) -> impl Iterator<Item = (u16, u64)> + 'a {
        let (now, full, class) = (self.now(), u64::from(self.params.full_bytes), route.vc_class.0);
        let ports = route.ports(self.routing.port_lists()).map(move |port| (port.0, base + usize::from(port.0)));
        let open = ports.filter(move |&(_, output)| self.has_unreserved_slot(output, class));
        open.map(move |(out, output)| (out, self.outputs[output].congestion(now, full)))
    }

    /// Returns whether an output has unreserved credit on a class for one more packet of the largest size. Slots of
    /// whole packets count, separately for each virtual channel: a packet of any size takes at most one of them, on the
    /// virtual channel with the most credit, so that a reservation can always be honoured.
    fn has_unreserved_slot(&self, output: usize, class: u8) -> bool {
        let vcs_per_class = self.vcs_per_class(output);
        let vcs = class * vcs_per_class..(class + 1) * vcs_per_class;
        let slots = vcs.map(|vc| self.credit_on(output, vc) / self.params.full_bytes).sum::<u32>();
        self.reservations.as_ref().is_some_and(|reservations| slots > reservations.packets[output])
    }

    /// Releases the reservation of a packet that leaves, if it has one.
    pub(super) fn release_reservation(&mut self, output: usize, packet: PacketSlot) {
        if let Some(reservations) = &mut self.reservations
            && reservations.class == self.pool[packet].class()
        {
            debug_assert!(reservations.packets[output] > 0, "an adaptive channel without a reservation");
            reservations.packets[output] -= 1;
        }
    }

    /// Returns whether a packet's credit is reserved, so that it waits for the link only.
    pub(crate) fn has_reservation(&self, packet: PacketSlot) -> bool {
        self.reserves_class(self.pool[packet].class())
    }

    /// Returns whether packets of a class leave by reserved credit.
    #[inline(always)]
    fn reserves_class(&self, class: u8) -> bool {
        self.reservations.as_ref().is_some_and(|reservations| reservations.class == class)
    }

    /// Returns whether no credit is reserved any more.
    pub(crate) fn no_reservations_left(&self) -> bool {
        self.reservations.iter().flat_map(|reservations| &reservations.packets).all(|&reserved| reserved == 0)
    }

    /// Returns whether packets of a class leave by reserved credit, on several virtual channels. A packet may then
    /// enter an output's buffer only for a virtual channel whose credit also covers all packets that wait there
    /// already. There always is one.
    #[inline(always)]
    pub(crate) fn reserves_several_vcs(&self, output: usize, class: u8) -> bool {
        self.reserves_class(class) && self.vcs_per_class(output) > 1
    }

    /// Returns the credit of an output's virtual channel, in bytes.
    pub(crate) fn credit_on(&self, output: usize, vc: u8) -> u32 {
        self.credit(output, CreditSlot(vc.into())).max(0) as u32
    }
}
