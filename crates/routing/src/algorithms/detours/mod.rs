//! Detours: routings by way of a waypoint drawn at the source, and adaptive routings that choose between the direct
//! path and such a detour.
//!
//! Routings depend on the trait [`Detours`]. In networks of groups it is implemented by
//! [`GroupDetours`](super::dragonfly::GroupDetours), whose direct paths cross at most one global channel. In all others
//! but trees it is implemented by [`RouterDetours`], whose direct paths are shortest paths.
//!
//! Classes of virtual channels of [`RouterDetours`], for direct paths of C classes (2 of a torus, 1 of a mesh, in other
//! networks the largest distance between routers with nodes):
//!
//! | packets | classes |
//! |---|---|
//! | on the direct path, and behind the waypoint | 0 to C - 1 |
//! | on their way to the waypoint | C to 2C - 1 |
//! | on the first hop of a direct path that the next router may still leave (`par`) | 2C |
//!
//! If some routers have no nodes, as the spines of a dragonfly+, packets of adaptive routings have C more classes
//! behind the waypoint (`RouterDetours::separated`).
//!
//! Waypoints of [`RouterDetours`] are routers or, on topologies whose groups are a table, groups. A packet goes to a
//! group by a shortest path to one of its nearest routers, on as many upper classes as the longest of these paths has
//! channels, and directly on from the first router that it reaches there. C then covers the paths from these routers
//! too.

mod adaptive;
mod group_paths;
mod loads;
mod memory;
mod paths;
mod polarized;
mod routers;
mod several;
mod valiant;

use std::fmt::Debug;

use topology::{ChannelClass, Topology, View};
use units::{ChannelId, Draw, NodeId, PortId, RouterId};

use crate::{Hop, Probe, Representative, Route, RouteState, RouterTraffic};
pub use adaptive::{DetourKind, ParSpec, Queues, UgalGSpec, UgalLSpec};
pub(super) use memory::{Memory, Phase};
pub use polarized::PolarizedSpec;
use routers::RouterDetours;
pub use several::{AriesMode, AriesSpec, SlingshotSpec};
pub use valiant::{ValiantGroupSpec, ValiantNodeSpec};

/// Returns whether a topology has detours: it has channels between routers and is no tree, in which every path touches
/// the nearest common ancestors.
pub(crate) fn has_detours(topology: &dyn Topology) -> bool {
    // Beside injection and ejection, there are classes if there are channels between routers.
    !topology.views().has(Some(View::Levels)) && topology.class_names().len() > 2
}

/// Direct paths of a topology, and waypoints by which packets may go instead.
pub(super) trait Detours: Debug + Send + Sync {
    /// Returns the number of classes of virtual channels: see `Routing::classes`.
    fn classes(&self) -> u8;
    /// Returns the number of classes on a class of channels: see `Routing::classes_on`.
    fn classes_on(&self, class: ChannelClass) -> u8;
    /// Returns the lists of ports of routes.
    fn port_lists(&self) -> &[PortId];
    /// Returns the number of waypoints.
    fn waypoints(&self) -> u32;
    /// Draws a waypoint. `None`: the packet goes directly.
    fn draw(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> Option<u32>;
    /// Returns all waypoints that may be drawn, all equally likely. `None`: the packet goes directly.
    fn all(&self, src: NodeId, dst: NodeId) -> Option<Vec<u32>>;
    /// Returns the routing state of a packet that sets out for a waypoint.
    fn with_waypoint(&self, waypoint: u32) -> Memory;
    /// Returns the routing state of a packet that has reached its waypoint.
    fn behind_waypoint(&self) -> Memory;
    /// Returns whether a packet is at its waypoint.
    fn has_arrived(&self, at: RouterId, waypoint: u32) -> bool;
    /// Returns whether a router is that of a node.
    fn is_home(&self, at: RouterId, dst: NodeId) -> bool;
    /// Returns the next hop of a packet that goes directly, for now at least, or has set out for its waypoint.
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route;
    /// Returns the routing state of a packet for which a router has decided on the direct path, if later routers may
    /// decide again.
    fn decided(&self, open: Memory) -> Memory;
    /// Returns the routing state of such a packet at the next router.
    fn undecided(&self, decided: Memory) -> Memory;
    /// Returns the numbers of channels of the direct path and of the detour by a waypoint.
    fn lengths(&self, at: RouterId, waypoint: u32, dst: NodeId) -> [u32; 2];
    /// Returns the channels of the direct path and of the detour by a waypoint whose congestion counts, if snapshots
    /// are taken.
    fn probes(&self, at: RouterId, waypoint: u32, dst: NodeId) -> [Probe; 2];
    /// Returns the congestion behind a path's first channel: see `Routing::congestion_behind`.
    fn congestion_behind(&self, first: (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64;
    /// Returns the number of channels of the longest direct path.
    fn longest_direct(&self) -> u32;
    /// Returns the router that a port leads to. `None`: it leads to a node.
    fn next(&self, at: RouterId, port: PortId) -> Option<RouterId>;
    /// Returns the channel that leaves a router by a port.
    fn channel(&self, at: RouterId, port: PortId) -> ChannelId;
    /// Returns the order of the waypoints that a packet at a router may have. `None`: it may have none.
    fn ranks(&self, at: RouterId, dst: NodeId) -> Option<Ranks>;
    /// Returns representative packets: see `Routing::representatives`.
    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>>;
    /// Returns the largest number of routers that a packet can traverse.
    fn max_routers(&self) -> u32;
    /// Returns the loads of output channels if every packet visits its waypoint: see `OutputLoads`.
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64>;
    /// Returns whether there are no such sums, so that packets have to be followed.
    fn lacks_loads(&self) -> bool {
        false
    }

    /// Returns the state in which a packet on its way to a waypoint goes on from there: see `Routing::behind_waypoint`.
    fn behind(&self, state: RouteState) -> RouteState {
        if Memory::of(state).phase() == Phase::Detour { self.behind_waypoint().state() } else { state }
    }

    /// Returns the waypoint with a number, from 1, other than the first waypoint of a packet: by rank at a distance that
    /// depends on router and destination. `None`: there are fewer waypoints.
    fn another(&self, (at, dst): (RouterId, NodeId), first: u32, number: u32) -> Option<u32> {
        let ranks = self.ranks(at, dst)?;
        let others = ranks.count.checked_sub(1).filter(|&others| number <= others)?;
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = (ranks.home ^ at.0.rotate_left(16)).wrapping_mul(0x9e37_79b9) >> 8;
        let distance = 1 + (hash + number - 1) % others;
        Some(ranks.waypoint((ranks.rank(first) + distance) % ranks.count))
    }

    /// Returns the waypoint that a packet is on its way to.
    fn current_waypoint(&self, at: RouterId, state: RouteState) -> Option<u32> {
        let memory = Memory::of(state);
        let is_ahead = memory.phase() == Phase::Detour && !self.has_arrived(at, memory.waypoint());
        is_ahead.then_some(memory.waypoint())
    }
}

/// Order of the waypoints that are not excluded. Waypoints come in blocks of `block` (the routers of a group), and
/// whole blocks are excluded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    /// Number of waypoints.
    pub count: u32,
    pub block: u32,
    pub excluded: Excluded,
    /// Number of the destination's router.
    pub home: u32,
}

impl Ranks {
    /// Returns the rank of a waypoint.
    #[inline]
    pub fn rank(&self, waypoint: u32) -> u32 {
        self.excluded.rank(waypoint / self.block) * self.block + waypoint % self.block
    }

    /// Returns the waypoint with a rank.
    #[inline]
    pub fn waypoint(&self, rank: u32) -> u32 {
        self.excluded.other(rank / self.block) * self.block + rank % self.block
    }
}

/// At most two numbers that may not be drawn, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excluded([u32; 2]);

impl Excluded {
    const NONE: u32 = u32::MAX;

    pub fn new(one: Option<u32>, other: Option<u32>) -> Self {
        let (one, other) = (one.unwrap_or(Self::NONE), other.unwrap_or(Self::NONE));
        let other = if other == one { Self::NONE } else { other };
        Self([one.min(other), one.max(other)])
    }

    pub fn count(self) -> u32 {
        self.0.iter().filter(|&&number| number != Self::NONE).count() as u32
    }

    pub fn has(self, number: u32) -> bool {
        self.0.contains(&number)
    }

    /// Returns the rank of a number among the numbers that are not excluded. An excluded number has the rank of the next
    /// one.
    #[inline]
    pub fn rank(self, number: u32) -> u32 {
        number - self.0.iter().filter(|&&excluded| excluded < number).count() as u32
    }

    /// Returns the number with a rank among the numbers that are not excluded.
    #[inline]
    pub fn other(self, rank: u32) -> u32 {
        let number = rank + u32::from(rank >= self.0[0]);
        number + u32::from(number >= self.0[1])
    }
}
