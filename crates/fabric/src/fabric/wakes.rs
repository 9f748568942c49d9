//! Wake-ups: events that mark a port again, each at most once under way, and what the traffic is notified of.

use engine::Event;

use super::Fabric;
use crate::event_kind;
use crate::port::OutputPort;

/// Who is woken, as the argument of an event of kind `WAKE`; its target is the port.
pub(crate) mod wake {
    /// An output whose link falls free.
    pub const LINK: u32 = 0;
    /// An output's side of the crossbar falls free.
    pub const OUTPUT_SIDE: u32 = 1;
    /// An input's side of the crossbar falls free.
    pub const INPUT_SIDE: u32 = 2;
    /// The tail of a packet has reached its node: the target is what the traffic knows the packet by.
    pub const DELIVERED: u32 = 3;
    /// The same, where the traffic wants deliveries: the target is the packet, whose content is kept until now.
    pub const REPORTED: u32 = 4;
    /// A notice has come: the target is its place.
    pub const NOTICE: u32 = 5;
    /// The first of the traffic's alarms: the target is the traffic's.
    pub const ALARM: u32 = 6;
}

/// The wake-ups of ports in an instant by kind: of links, and of the two sides of the crossbar.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    /// By kind, the ports that are concerned: as many of them as `counts` says.
    ports: [Vec<u32>; KINDS],
    counts: [usize; KINDS],
}

/// Kinds that are told apart here.
const KINDS: usize = wake::INPUT_SIDE as usize + 1;

impl Woken {
    /// Sorts out the wake-ups of an instant: each is written to every list, and one of them becomes longer by it.
    #[inline(always)]
    pub fn sort_out(&mut self, events: &[Event]) {
        if self.ports[0].len() <= events.len() {
            self.ports.iter_mut().for_each(|ports| ports.resize(events.len() + 1, 0));
        }
        let mut counts = [0; KINDS];
        let lists = self.ports.each_mut().map(Vec::as_mut_slice);
        for event in events {
            for kind in 0..KINDS {
                lists[kind][counts[kind]] = event.target;
                counts[kind] += usize::from(event.arg == kind as u32);
            }
        }
        self.counts = counts;
    }

    /// The ports that wake-ups of a kind concern.
    #[inline(always)]
    pub fn of(&self, kind: u32) -> &[u32] {
        &self.ports[kind as usize][..self.counts[kind as usize]]
    }

    /// The number of wake-ups of ports; the others are notices for the traffic.
    #[inline(always)]
    pub fn ports(&self) -> usize {
        self.counts.iter().sum()
    }
}

impl Fabric {
    /// Marks an output at a time, in ticks, unless a wake-up is under way.
    #[inline(always)]
    pub(crate) fn wake_at(&mut self, output: usize, at: u64) {
        let port = &mut self.outputs[output];
        if port.flags & OutputPort::WAKING == 0 {
            port.flags |= OutputPort::WAKING;
            self.wheel.insert(at, event_kind::WAKE, output as u32, wake::LINK);
        }
    }

    /// Wakes a side of the crossbar at a time, in ticks; the architecture keeps account of what is under way.
    #[inline(always)]
    pub(crate) fn wake_side(&mut self, port: usize, side: u32, at: u64) {
        self.wheel.insert(at, event_kind::WAKE, port as u32, side);
    }

    /// The wake-up of an output's link has come.
    #[inline(always)]
    pub(crate) fn link_woken<const PLAIN: bool>(&mut self, output: usize) {
        self.outputs[output].flags &= !OutputPort::WAKING;
        self.mark_owner::<PLAIN>(output);
    }
}
