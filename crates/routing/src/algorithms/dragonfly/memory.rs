//! What packets carry through a dragonfly.

use crate::RouteState;

/// What a packet carries: the waypoint, the phase, and the classes on which it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// The waypoint: a router or a group.
    pub waypoint: u32,
    pub phase: Phase,
    /// The class of its next local channels.
    pub local: u8,
    /// The class of its next global channel.
    pub global: u8,
}

/// What a packet is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Going directly to its destination.
    #[default]
    Direct,
    /// On its way to the waypoint.
    Detour,
    /// Going directly, as long as the routers do not send it to the waypoint.
    Open,
    /// The same, after this router has decided for the direct path.
    Decided,
}

/// Bits of a waypoint: as many as a router's number may have.
const WAYPOINT_BITS: u32 = 24;

impl Memory {
    /// What a packet carries, as it is written in its state: 24 bits of waypoint, 2 of phase, 3 and 2 of classes.
    #[inline]
    pub fn of(state: RouteState) -> Self {
        let bits = state.0 >> WAYPOINT_BITS;
        Self {
            waypoint: state.0 & ((1 << WAYPOINT_BITS) - 1),
            phase: match bits & 3 {
                0 => Phase::Direct,
                1 => Phase::Detour,
                2 => Phase::Open,
                _ => Phase::Decided,
            },
            local: (bits >> 2 & 7) as u8,
            global: (bits >> 5 & 3) as u8,
        }
    }

    #[inline]
    pub fn state(self) -> RouteState {
        let bits = self.phase as u32 | u32::from(self.local) << 2 | u32::from(self.global) << 5;
        RouteState(bits << WAYPOINT_BITS | self.waypoint)
    }

    /// The same with another waypoint; without one, where the phase has none.
    pub fn with_waypoint(self, waypoint: u32) -> Self {
        if self.phase == Phase::Direct { self } else { Self { waypoint, ..self } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_packet_carries_survives_its_state() {
        // Would catch fields that overlap.
        for phase in [Phase::Direct, Phase::Detour, Phase::Open, Phase::Decided] {
            for waypoint in [0, 1, (1 << WAYPOINT_BITS) - 1] {
                for (local, global) in [(0, 0), (4, 1), (7, 3)] {
                    let memory = Memory { waypoint, phase, local, global };
                    assert_eq!(Memory::of(memory.state()), memory);
                }
            }
        }
        assert_eq!(Memory::default().state(), RouteState::default());
    }
}
