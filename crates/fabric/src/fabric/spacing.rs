//! Check of the order on channels, in debug builds: a packet's head comes to a router no earlier than the packet before
//! it on the channel has passed, whichever partition sent them. Two packets of one instant, packets that change places,
//! and a packet that is sent on a busy channel all break this.

use engine::Event;

use super::Fabric;
use crate::index::{InputId, PacketSlot};

/// Earliest time at which the next head may come, by input port, in ticks. Empty in release builds.
#[derive(Clone, Debug, Default)]
pub(super) struct Spacing(Vec<u64>);
units::record!(Spacing { 0 });

impl Spacing {
    /// Notes a packet that has come at tick `now` and takes `time` ticks. Returns whether the packets before it had
    /// passed.
    fn note(&mut self, port: usize, now: u64, time: u64) -> bool {
        if self.0.len() <= port {
            self.0.resize(port + 1, 0);
        }
        std::mem::replace(&mut self.0[port], now + time) <= now
    }
}

impl Fabric {
    /// Checks the packets that have come in this instant.
    pub(super) fn check_spacing(&mut self, events: &[Event]) {
        let now = self.now();
        for &Event { target, arg: packet } in events {
            let port = InputId(target).port(self.params.vc_shift);
            let time = self.time_on(self.inputs[port].class, self.pool[PacketSlot(packet)].bytes);
            assert!(
                self.spacing.note(port, now, time),
                "two packets on the channel to input port {port} at tick {now}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_overlap_on_a_channel_are_found() {
        // Would catch a check that compares packets of different ports, or only those of one instant.
        let mut spacing = Spacing::default();
        assert!(spacing.note(3, 100, 20));
        assert!(spacing.note(1, 100, 20), "another channel");
        assert!(spacing.note(3, 120, 10), "as soon as the first has passed");
        assert!(!spacing.note(3, 129, 1), "a tick too early");
    }
}
