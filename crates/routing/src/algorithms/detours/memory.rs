//! Routing state of packets that may take detours.

use std::hint::select_unpredictable;

use crate::RouteState;

/// Routing state of a packet: the waypoint (a router or a group), the phase, and the classes of its next local and
/// global channels. It is kept packed as in the packet, since a hop reads and changes little of it: 24 bits of
/// waypoint, 2 of phase, 3 and 2 of classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::algorithms) struct Memory(u32);

/// Phase of a packet's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::algorithms) enum Phase {
    /// On the direct path to its destination.
    #[default]
    Direct,
    /// On its way to the waypoint.
    Detour,
    /// On the direct path, unless a router sends the packet to the waypoint.
    Open,
    /// Like `Open`, after this router has decided for the direct path.
    Decided,
}

/// Bits of a waypoint, which hold a router's number.
const WAYPOINT_BITS: u32 = 24;
/// First bit of the phase, followed by those of the local and the global class.
const PHASE_AT: u32 = WAYPOINT_BITS;
const LOCAL_AT: u32 = PHASE_AT + 2;
const GLOBAL_AT: u32 = LOCAL_AT + 3;
/// First bit behind all others, which is 0.
const ZERO_AT: u32 = GLOBAL_AT + 2;
/// Mask of the local class.
const LOCAL: u32 = 7 << LOCAL_AT;

impl Memory {
    /// Creates the state of a packet with a phase, a waypoint (0: none), and the classes of its next local and global
    /// channels.
    pub fn new(phase: Phase, waypoint: u32, (local, global): (u8, u8)) -> Self {
        let classes = u32::from(local) << LOCAL_AT | u32::from(global) << GLOBAL_AT;
        Self(classes | (phase as u32) << PHASE_AT | waypoint)
    }

    /// Reads a packet's state.
    #[inline]
    pub fn of(state: RouteState) -> Self {
        Self(state.0)
    }

    /// Returns the state to store in the packet.
    #[inline]
    pub fn state(self) -> RouteState {
        RouteState(self.0)
    }

    /// Returns the waypoint: a router or a group.
    #[inline]
    pub fn waypoint(self) -> u32 {
        self.0 & ((1 << WAYPOINT_BITS) - 1)
    }

    #[inline]
    pub fn phase(self) -> Phase {
        match self.0 >> PHASE_AT & 3 {
            0 => Phase::Direct,
            1 => Phase::Detour,
            2 => Phase::Open,
            _ => Phase::Decided,
        }
    }

    /// Returns the class of the next local channels.
    #[inline]
    pub fn local(self) -> u8 {
        (self.0 >> LOCAL_AT & 7) as u8
    }

    /// Returns the class of the next global channel.
    #[inline]
    pub fn global(self) -> u8 {
        (self.0 >> GLOBAL_AT & 3) as u8
    }

    /// Returns the class of the next channel. At the end of its way through a group (`is_at_end`) that is a global
    /// channel or, inside the destination group (`is_inside`), a node's channel, of class 0. Before, it is a local
    /// channel.
    #[inline]
    pub fn class(self, is_at_end: bool, is_inside: bool) -> u8 {
        let at = select_unpredictable(is_inside, ZERO_AT, GLOBAL_AT);
        (self.0 >> select_unpredictable(is_at_end, at, LOCAL_AT) & 7) as u8
    }

    /// Returns the state behind a global channel. `local` is the class of the next local channels.
    #[inline]
    pub fn across(self, local: u8) -> Self {
        self.cross(Self::crossing(local))
    }

    /// Returns the increment of a state for `cross`. `local` is the class of the next local channels.
    #[inline]
    pub fn crossing(local: u8) -> u32 {
        (u32::from(local) << LOCAL_AT) + (1 << GLOBAL_AT)
    }

    /// Returns the state behind a global channel, by the increment of `crossing`.
    #[inline]
    pub fn cross(self, crossing: u32) -> Self {
        Self((self.0 & !LOCAL).wrapping_add(crossing))
    }

    /// Returns the state in another phase.
    #[inline]
    pub fn in_phase(self, phase: Phase) -> Self {
        Self(self.0 & !(3 << PHASE_AT) | (phase as u32) << PHASE_AT)
    }

    /// Returns the state on the direct path, without a waypoint.
    #[inline]
    pub fn direct(self) -> Self {
        Self(self.0 & (u32::MAX << LOCAL_AT))
    }

    /// Returns the state with another waypoint, if its phase has one.
    pub fn with_waypoint(self, waypoint: u32) -> Self {
        if self.phase() == Phase::Direct { self } else { Self(self.0 & (u32::MAX << WAYPOINT_BITS) | waypoint) }
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
                    let memory = Memory::of(Memory::new(phase, waypoint, (local, global)).state());
                    assert_eq!((memory.phase(), memory.waypoint()), (phase, waypoint));
                    assert_eq!((memory.local(), memory.global()), (local, global));
                    let decided = Memory::new(Phase::Decided, waypoint, (local, global));
                    assert_eq!(memory.in_phase(Phase::Decided), decided);
                    assert_eq!(memory.direct(), Memory::new(Phase::Direct, 0, (local, global)));
                    if global < 3 {
                        assert_eq!(memory.across(2), Memory::new(phase, waypoint, (2, global + 1)));
                    }
                }
            }
        }
        assert_eq!(Memory::default(), Memory::new(Phase::Direct, 0, (0, 0)));
    }
}
