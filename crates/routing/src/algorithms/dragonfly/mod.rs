//! Dragonflies: minimal and Valiant routing, and those that choose between the two.
//!
//! A *direct* way goes by at most one global channel: through the own group to a router with a channel to the
//! destination's group (the nearest such router, the channels of equally near ones with the same probability), over it,
//! and through the destination's group. A *detour* first goes to a waypoint, a group or a router, and from there
//! directly on.
//!
//! Classes of virtual channels are counted for local and for global channels each, and a packet only ever goes up in the
//! order in which its way visits them, which is why nothing can wait in a circle (inside a group that is a flattened
//! butterfly the order of the dimensions does it):
//!
//! | routing | order of (l)ocal and (g)lobal classes | l | g |
//! |---|---|---|---|
//! | direct | l0 g0 l1 | 2 | 1 |
//! | detour by a group | l0 g0, l1 g1 l2 | 3 | 2 |
//! | detour by a router | l0 g0 l1, l2 g1 l3 | 4 | 2 |
//! | progressive | l0 first, then as above, one higher: l1 g0 l2, ... | +1 | 2 |

mod adaptive;
mod candidates;
mod loads;
mod minimal;
mod model;
mod representatives;
mod valiant;

pub use adaptive::{DetourKind, ParSpec, UgalGSpec, UgalLSpec};
pub use minimal::MinimalSpec;
pub use model::ImbalanceModel;
pub use valiant::{IntraGroup, ValiantGroupSpec, ValiantNodeSpec};

use crate::RouteState;

/// What a packet carries: the waypoint, the phase, and the classes on which it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// The waypoint: a router or a group.
    waypoint: u32,
    phase: Phase,
    /// The class of its next local channels.
    local: u8,
    /// The class of its next global channel.
    global: u8,
}

/// What a packet is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Going directly to its destination.
    #[default]
    Direct,
    /// On its way to the waypoint.
    Detour,
    /// Going directly, as long as the routers do not send it to the waypoint.
    Open,
    /// The same, after this router has decided for the direct way.
    Decided,
}

/// Bits of a waypoint: as many as a router's number may have.
const WAYPOINT_BITS: u32 = 24;

impl Memory {
    /// What a packet carries, as it is written in its state: 24 bits of waypoint, 2 of phase, 3 and 2 of classes.
    #[inline]
    fn of(state: RouteState) -> Self {
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
    fn state(self) -> RouteState {
        let bits = self.phase as u32 | u32::from(self.local) << 2 | u32::from(self.global) << 5;
        RouteState(bits << WAYPOINT_BITS | self.waypoint)
    }

    /// The same with another waypoint; without one, where the phase has none.
    fn with_waypoint(self, waypoint: u32) -> Self {
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
