//! Wake-ups: events that mark a port again, at most one pending for each port, and notifications of the traffic.

use super::Fabric;
use crate::event_kind;
use crate::port::OutputPort;
use crate::profile::Profile;

/// Kinds of notifications of the traffic, as the argument of an event of kind `TRAFFIC`.
pub(crate) mod notify {
    /// The tail of a packet has reached its node. The target is the packet, whose content is kept until now.
    pub const DELIVERED: u32 = 0;
    /// A notice has arrived. The target is its place.
    pub const NOTICE: u32 = 1;
    /// A combine unit has combined a packet, the target. The traffic is not notified of it.
    pub const COMBINED: u32 = 2;
    /// First of the traffic's alarms. The target is the traffic's.
    pub const ALARM: u32 = 3;
}

impl Fabric {
    /// Schedules a wake-up of an output at tick `at`, unless one is pending.
    #[inline(always)]
    pub(crate) fn wake_at(&mut self, output: usize, at: u64) {
        let port = &mut self.outputs[output];
        if port.flags & OutputPort::LINK_EVENT_PENDING == 0 {
            port.flags |= OutputPort::LINK_EVENT_PENDING;
            self.wheel.insert(at, event_kind::LINK, output as u32, 0);
        }
    }

    /// Schedules a wake-up of a side of the crossbar, `OUTPUT_SIDE` or `INPUT_SIDE`, at tick `at`. The architecture
    /// keeps track of pending wake-ups.
    #[inline(always)]
    pub(crate) fn wake_side(&mut self, port: usize, side: usize, at: u64) {
        self.wheel.insert(at, side, port as u32, 0);
    }

    /// Schedules a wake-up of a side of the crossbar if `waits`, without a branch: whether a packet waits is random.
    #[inline(always)]
    pub(crate) fn wake_side_if(&mut self, waits: bool, port: usize, side: usize, at: u64) {
        self.wheel.insert_if(waits, at, side, port as u32);
    }

    /// Handles the wake-up of an output's link.
    #[inline(always)]
    pub(crate) fn link_woken<P: Profile>(&mut self, output: usize) {
        self.outputs[output].flags &= !OutputPort::LINK_EVENT_PENDING;
        self.mark_owner::<P>(output);
    }
}
