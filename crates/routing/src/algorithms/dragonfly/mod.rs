//! Dragonflies: minimal routing, and the direct paths and waypoints of their detours.
//!
//! A *direct* path uses at most one global channel: it goes through the source's group to a router with a channel to
//! the destination's group (the nearest such router; the channels of equally near ones are equally likely), over that
//! channel, and through the destination's group. A *detour* first goes to a waypoint, a group or a router, and directly
//! on from there.
//!
//! Classes of virtual channels are counted separately for local and for global channels. A packet only ever goes up in
//! the order in which its path visits them, so that no cycle of waiting packets can form (inside a group that is a
//! flattened butterfly the order of the dimensions prevents it):
//!
//! | routing | order of (l)ocal and (g)lobal classes | l | g |
//! |---|---|---|---|
//! | direct | l0 g0 l1 | 2 | 1 |
//! | detour by a group | l0 g0, l1 g1 l2 | 3 | 2 |
//! | detour by a router | l0 g0 l1, l2 g1 l3 | 4 | 2 |
//! | progressive | l0 first, then as above, one higher: l1 g0 l2, ... | +1 | 2 |

mod candidates;
mod detours;
mod loads;
mod minimal;
mod model;
mod representatives;

pub use detours::IntraGroup;
pub(super) use detours::{GroupDetours, Rule, Waypoints};
pub use minimal::MinimalSpec;
pub use model::ImbalanceModel;
