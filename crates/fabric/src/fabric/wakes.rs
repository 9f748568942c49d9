//! Wake-ups: events that mark a port again, each at most once under way, and what the traffic is notified of.

use super::Fabric;
use crate::event_kind;
use crate::port::OutputPort;

/// What the traffic is notified of, as the argument of an event of kind `TRAFFIC`.
pub(crate) mod notify {
    /// The tail of a packet has reached its node: the target is what the traffic knows the packet by.
    pub const DELIVERED: u32 = 0;
    /// The same, where the traffic wants deliveries: the target is the packet, whose content is kept until now.
    pub const REPORTED: u32 = 1;
    /// A notice has come: the target is its place.
    pub const NOTICE: u32 = 2;
    /// A combine unit has combined a packet: the target. The traffic is not notified of it.
    pub const COMBINED: u32 = 3;
    /// The first of the traffic's alarms: the target is the traffic's.
    pub const ALARM: u32 = 4;
}

impl Fabric {
    /// Marks an output at a time, in ticks, unless a wake-up is under way.
    #[inline(always)]
    pub(crate) fn wake_at(&mut self, output: usize, at: u64) {
        let port = &mut self.outputs[output];
        if port.flags & OutputPort::WAKING == 0 {
            port.flags |= OutputPort::WAKING;
            self.wheel.insert(at, event_kind::LINK, output as u32, 0);
        }
    }

    /// Wakes a side of the crossbar, `OUTPUT_SIDE` or `INPUT_SIDE`, at a time, in ticks; the architecture keeps account of what
    /// is under way.
    #[inline(always)]
    pub(crate) fn wake_side(&mut self, port: usize, side: usize, at: u64) {
        self.wheel.insert(at, side, port as u32, 0);
    }

    /// The same if somebody waits for it, which is as random as the packets.
    #[inline(always)]
    pub(crate) fn wake_side_if(&mut self, waits: bool, port: usize, side: usize, at: u64) {
        self.wheel.insert_if(waits, at, side, port as u32);
    }

    /// The wake-up of an output's link has come.
    #[inline(always)]
    pub(crate) fn link_woken<const PLAIN: bool>(&mut self, output: usize) {
        self.outputs[output].flags &= !OutputPort::WAKING;
        self.mark_owner::<PLAIN>(output);
    }
}
