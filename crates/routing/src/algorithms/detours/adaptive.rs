//! Adaptive routings that choose between the direct path and a detour: UGAL (Singh 2005; Kim et al. 2008 for
//! dragonflies) and progressive adaptive routing (Jiang, Kim & Dally, ISCA 2009).
//!
//! Each packet draws a waypoint at its source, as under Valiant routing, and its router compares two paths. The cost of
//! a path is the congestion that it meets times its length in channels. The direct path is taken unless the detour
//! costs less by more than the threshold. With `nonminimal` above 1 the cheapest of several detours is compared, as
//! under Aries ([`super::several`]).
//! - *UGAL-L* reads the queues of the source router's own ports.
//! - *UGAL-G* reads the queues of the global channel by which each path leaves the source's group, wherever in the
//!   group that is. It reads them from a snapshot of the whole network that is taken at fixed times, so that a result
//!   does not depend on the order in which parts of the network are simulated. Without groups, the cost of a path is
//!   the sum of the queues of all its channels (Besta and Hoefler, SC 2014): the first channel's queue as of now, the
//!   others' from the snapshot. The path follows the first of equally near ports.
//! - *PAR* decides as UGAL-L does, and again while the packet is on the direct path: at every router of the source's
//!   group, or, without groups, at the second router of the path.
//!
//! Model choices: the congestion of a port is the bytes that wait in the router for it, plus the occupied buffer space
//! beyond it, over all its virtual channels. UGAL and PAR replace the bytes of a credit round trip, which a busy
//! channel without a queue has in flight, by the bytes of the packet and of the delay of channel and router, of a busy
//! and of an idle channel alike ([`Routing::estimates_delay`]). The cost of a path then estimates its delay, so that an
//! idle detour is not better than an idle direct path, and no threshold is needed. A packet whose destination is in its
//! source's group goes directly, unless intra-group traffic may take detours. With `queues = "ahead"`, UGAL-L and PAR
//! leave out the packets on other classes of virtual channels whose far end is full, since these do not hold a packet
//! up. They matter where direct paths and detours leave by the same ports, as from the leaves of a dragonfly+. (Kim et
//! al. 2008 compare the queues of virtual channels for the same reason: UGAL-L_VC.) Without groups, PAR could decide at
//! every router of the direct path, which would need a class of virtual channels for each. The second router is the
//! first that sees the queues of another router's ports, which is the gain over UGAL-L.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{ChannelClass, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId, Time};

use super::valiant::{Valiant, ValiantGroupSpec, ValiantNodeSpec};
use super::{Detours, Memory, Phase, RouterDetours};
use crate::algorithms::dragonfly::{GroupDetours, IntraGroup, MinimalSpec, Rule};
use crate::{Choice, Hop, PathOption, Probe, Representative, Route, RouteState, Routing};

/// Detours of adaptive routings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DetourKind {
    /// By a random router, as in `valiant-node`.
    #[default]
    Node,
    /// By a random group, as in `valiant-group`. Topologies with groups only.
    Group,
}

/// Packets that count as the congestion of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Queues {
    /// All packets that wait for the port.
    Port,
    /// Packets that hold this one up: on its class of virtual channels, and on classes whose far end has room.
    Ahead,
}

/// Bias of Slingshot, and weak bias of Aries, in packets times channels.
pub(super) const THRESHOLD: u32 = 4;

/// Largest number of direct paths, and of detours, that are weighed.
pub(super) const MOST_PATHS: u16 = 4;

/// Default of `refresh`.
pub(super) const REFRESH: Time = Time(100_000);

macro_rules! choosing_spec {
    ($(#[$doc:meta])* $name:ident { $($(#[$extra_doc:meta])* $extra:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Kind of waypoint of a detour.
            pub detour: DetourKind,
            /// Cost advantage that a detour must exceed, in packets of the largest size times channels.
            #[schemars(range(max = 1000000))]
            pub threshold: u32,
            /// Number of detours that are weighed. Their waypoints differ. Default: 4 in networks that are neither
            /// grids nor grids of cliques and have no groups (as Slim Fly and Jellyfish), else 1.
            #[schemars(range(min = 1, max = 4))]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub nonminimal: Option<u16>,
            /// Whether packets avoid waypoints in their source's group. Without groups: at their source's router.
            pub exclude_source_group: bool,
            /// Whether packets avoid waypoints in their destination's group. Without groups: at their destination's
            /// router.
            pub exclude_destination_group: bool,
            /// Routing of packets that stay within their group: directly, or with the choice of a detour. Dragonflies,
            /// and other groups with `detour` = "group".
            pub intra_group: IntraGroup,
            $($(#[$extra_doc])* pub $extra: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    detour: DetourKind::Node,
                    threshold: 0,
                    nonminimal: None,
                    exclude_source_group: true,
                    exclude_destination_group: true,
                    intra_group: IntraGroup::Minimal,
                    $($extra: $default,)*
                }
            }
        }

        impl $name {
            fn options(&self) -> Options {
                let (exclude_source_group, exclude_destination_group, intra_group) =
                    (self.exclude_source_group, self.exclude_destination_group, self.intra_group);
                Options {
                    detour: self.detour,
                    queues: None,
                    estimates_delay: true,
                    bias: Bias::Even(self.threshold),
                    paths: (1, self.nonminimal),
                    group: ValiantGroupSpec {
                        exclude_source_group,
                        exclude_destination_group,
                        intra_group,
                        ..ValiantGroupSpec::default()
                    },
                    node: ValiantNodeSpec {
                        exclude_source_group,
                        exclude_destination_group,
                        intra_group,
                        ..ValiantNodeSpec::default()
                    },
                }
            }
        }
    };
}

choosing_spec! {
    /// All topologies but trees: directly or by a detour, by the queues of the source's router (UGAL-L).
    UgalLSpec {
        /// Packets that count as the congestion of a port. Default: `ahead` if some
        /// routers have no nodes, as in a dragonfly+, else `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queues: Option<Queues> = None,
    }
}

choosing_spec! {
    /// All topologies but trees: directly or by a detour, by the queues of channels beyond the source's router
    /// (UGAL-G).
    UgalGSpec {
        /// Period with which the queues are sampled.
        #[schemars(extend("minimum" = 1))]
        refresh: Time = REFRESH,
    }
}

choosing_spec! {
    /// All topologies but trees: as ugal-l, decided again on the direct path (progressive adaptive routing).
    ParSpec {
        /// Packets that count as the congestion of a port. Default: `ahead` if some
        /// routers have no nodes, as in a dragonfly+, else `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queues: Option<Queues> = None,
    }
}

/// Keys that all adaptive routings have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub detour: DetourKind,
    /// Default: by the topology.
    pub queues: Option<Queues>,
    /// Whether the congestion of a channel estimates a packet's delay: see `Routing::estimates_delay`.
    pub estimates_delay: bool,
    pub bias: Bias,
    /// Numbers of direct paths and of detours that are weighed. Default of the latter: by the topology.
    pub paths: (u16, Option<u16>),
    pub group: ValiantGroupSpec,
    pub node: ValiantNodeSpec,
}

/// Bias towards direct paths, in packets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bias {
    /// At every router.
    Even(u32),
    /// For each channel by which the direct path is shorter than the longest.
    Increasing(u32),
}

impl Options {
    fn rule(&self) -> Rule {
        match self.detour {
            DetourKind::Group => (&self.group).into(),
            DetourKind::Node => (&self.node).into(),
        }
    }
}

/// Router that decides, and the channels whose queues it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Router of the source, at its own ports.
    Router,
    /// Router of the source, at channels of the whole network, as of a snapshot.
    Snapshot { refresh: Time },
    /// Router of the source, at its own ports and, as of a snapshot, at those of the next router of each path.
    Neighbours { refresh: Time },
    /// Routers at the begin of the direct path, each at its own ports.
    Progressive,
}

/// Routing that chooses between the direct path and the detour by a waypoint.
#[derive(Debug)]
struct Choosing<D> {
    kind: &'static str,
    sight: Sight,
    detours: D,
    queues: Queues,
    estimates_delay: bool,
    bias: Bias,
    /// Numbers of direct paths and of detours that are weighed.
    paths: (u16, u16),
    /// Routings between which it chooses.
    options: Vec<Arc<dyn Routing>>,
}

impl UgalLSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups with closed forms.
    ///
    /// # Errors
    /// If `nonminimal` is out of range, or if a table would be larger than 1 GiB. Without closed forms: if a key speaks
    /// of groups that the topology or `detour` does not have, if routers cannot reach one another, or if more than 64
    /// classes of virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        Options { queues: self.queues, ..self.options() }.build("ugal-l", Sight::Router, topology)
    }
}

impl UgalGSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups with closed forms.
    ///
    /// # Errors
    /// If `refresh` is 0 or `nonminimal` is out of range, or if a table would be larger than 1 GiB. Without closed
    /// forms: if a key speaks of groups that the topology or `detour` does not have, if routers cannot reach one
    /// another, or if more than 64 classes of virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        if self.refresh.0 == 0 {
            return Err(KeyError::new("refresh", "`refresh` must be longer than 0"));
        }
        self.options().build("ugal-g", Sight::Snapshot { refresh: self.refresh }, topology)
    }
}

impl ParSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups with closed forms.
    ///
    /// # Errors
    /// If `nonminimal` is out of range, or if a table would be larger than 1 GiB. Without closed forms: if a key speaks
    /// of groups that the topology or `detour` does not have, if routers cannot reach one another, or if more than 64
    /// classes of virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        Options { queues: self.queues, ..self.options() }.build("par", Sight::Progressive, topology)
    }
}

impl Options {
    /// Returns the name of the routing in which every packet takes its detour.
    fn waypoint_routing(&self) -> &'static str {
        match self.detour {
            DetourKind::Group => "valiant-group",
            DetourKind::Node => "valiant-node",
        }
    }

    pub fn build(
        &self,
        kind: &'static str,
        sight: Sight,
        topology: &dyn Topology,
    ) -> Result<Arc<dyn Routing>, KeyError> {
        let &Self { bias, estimates_delay, .. } = self;
        let paths = (self.paths.0, self.paths.1.unwrap_or_else(|| default_detours(topology)));
        check_paths(paths, MOST_PATHS)?;
        let progressive = sight == Sight::Progressive;
        let Some(groups) = topology.views().groups else {
            self.rule().refuse_without_groups(topology)?;
            let detours = RouterDetours::new(topology, (kind, self.rule()), progressive)?.separated(topology, kind)?;
            let direct = RouterDetours::without_waypoints(Arc::clone(detours.paths()), self.rule());
            let other = detours.decided_once();
            let fitting = if detours.are_separated() { Queues::Ahead } else { Queues::Port };
            let queues = self.queues.unwrap_or(fitting);
            let options: Vec<Arc<dyn Routing>> = vec![
                Arc::new(Valiant::new("shortest-path", direct)),
                Arc::new(Valiant::new(self.waypoint_routing(), other)),
            ];
            return Ok(Arc::new(Choosing { kind, sight, detours, queues, estimates_delay, bias, paths, options }));
        };
        let detour: Arc<dyn Routing> = match self.detour {
            DetourKind::Group => self.group.build(topology)?,
            DetourKind::Node => self.node.build(topology)?,
        };
        let detours = GroupDetours::new(groups, self.rule(), u8::from(progressive))?;
        let options = vec![Arc::new(MinimalSpec {}.build(groups)?) as Arc<dyn Routing>, detour];
        let queues = self.queues.unwrap_or(Queues::Port);
        Ok(Arc::new(Choosing { kind, sight, detours, queues, estimates_delay, bias, paths, options }))
    }
}

/// Returns the number of detours that UGAL and PAR weigh: one on grids, grids of cliques and networks of groups, for
/// which they are published so, and in others the number that Besta and Hoefler (SC 2014) found best for a Slim Fly.
fn default_detours(topology: &dyn Topology) -> u16 {
    let views = topology.views();
    let is_regular = views.grid.is_some() || views.cliques.is_some();
    if is_regular || views.groups.is_some() || views.group_table.is_some() { 1 } else { MOST_PATHS }
}

/// Refuses numbers of direct paths and of detours that are not from 1 to `most`.
pub(super) fn check_paths((minimal, nonminimal): (u16, u16), most: u16) -> Result<(), KeyError> {
    let counts = [("minimal", minimal), ("nonminimal", nonminimal)];
    let Some((key, count)) = counts.into_iter().find(|(_, count)| !(1..=most).contains(count)) else { return Ok(()) };
    Err(KeyError::new(key, format!("`{key}` is {count}; 1 to {most} paths are allowed")))
}

impl<D: Detours> Choosing<D> {
    fn open(waypoint: u32) -> RouteState {
        Memory::new(Phase::Open, waypoint, (0, 0)).state()
    }

    /// Returns the routing state of a packet that goes directly from a router that has weighed its paths.
    fn decided(&self, open: Memory) -> Memory {
        match self.sight {
            Sight::Progressive => self.detours.decided(open),
            Sight::Router | Sight::Snapshot { .. } | Sight::Neighbours { .. } => open.direct(),
        }
    }

    /// Returns the congestion of the channel behind a path's first, as of a snapshot. Of several ports it is the first.
    fn congestion_of_next(&self, (at, port): (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64 {
        let Some(next) = self.detours.next(at, port) else { return 0 };
        let port = self.detours.route(next, &mut hop.clone()).port(0, self.detours.port_lists());
        // Channels to nodes are not sampled.
        snapshot.get(self.detours.channel(next, port).index()).copied().unwrap_or(0)
    }
}

impl<D: Detours> Routing for Choosing<D> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn classes(&self) -> u8 {
        self.detours.classes()
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        self.detours.classes_on(class)
    }

    fn adaptive(&self) -> bool {
        true
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        self.detours.draw(src, dst, draw).map(Self::open).unwrap_or_default()
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        let Some(all) = self.detours.all(src, dst) else { return vec![(RouteState::default(), 1.0)] };
        let probability = 1.0 / all.len() as f64;
        all.into_iter().map(|waypoint| (Self::open(waypoint), probability)).collect()
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let phase = Memory::of(hop.state).phase();
        if phase == Phase::Open && !self.detours.is_home(at, hop.dst) {
            return Route::weighed(self.paths.0 + self.paths.1, Choice::Weighed);
        }
        let route = self.detours.route(at, hop);
        if phase == Phase::Decided {
            hop.state = self.detours.undecided(Memory::of(hop.state)).state();
        }
        route
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        let state = self.candidate_state(at, hop, number)?;
        let is_detour = number >= self.paths.0;
        let index = usize::from(is_detour);
        let waypoint = if is_detour { Memory::of(state).waypoint() } else { Memory::of(hop.state).waypoint() };
        let lengths = self.detours.lengths(at, waypoint, hop.dst);
        let probe = match self.sight {
            Sight::Snapshot { .. } => self.detours.probes(at, waypoint, hop.dst)[index],
            Sight::Neighbours { .. } => Probe::Next,
            Sight::Router | Sight::Progressive if self.queues == Queues::Ahead => Probe::Ahead,
            Sight::Router | Sight::Progressive => Probe::First,
        };
        let bias = match self.bias {
            _ if !is_detour => 0,
            Bias::Even(bias) => bias,
            Bias::Increasing(bias) => bias.saturating_mul(self.detours.longest_direct().saturating_sub(lengths[0])),
        };
        Some(PathOption { state, channels: lengths[index], bias, probe })
    }

    fn congestion_behind(&self, first: (RouterId, PortId), hop: &Hop, snapshot: &[u64]) -> u64 {
        match self.sight {
            Sight::Neighbours { .. } => self.congestion_of_next(first, hop, snapshot),
            _ => self.detours.congestion_behind(first, hop, snapshot),
        }
    }

    #[inline]
    fn candidate_state(&self, at: RouterId, hop: &Hop, number: u16) -> Option<RouteState> {
        let (open, (minimal, nonminimal)) = (Memory::of(hop.state), self.paths);
        if let Some(detour) = number.checked_sub(minimal) {
            let waypoint = match detour {
                0 => open.waypoint(),
                1.. if detour < nonminimal => self.detours.another((at, hop.dst), open.waypoint(), detour.into())?,
                _ => return None,
            };
            return Some(self.detours.with_waypoint(waypoint).state());
        }
        let state = self.decided(open).state();
        // The ports of another direct path are those of the first.
        let has_several = || self.detours.route(at, &mut Hop { state, ..*hop }).count > 1;
        (number == 0 || has_several()).then_some(state)
    }

    fn estimates_delay(&self, _class: ChannelClass) -> bool {
        self.estimates_delay
    }

    fn reads_classes(&self) -> bool {
        self.queues == Queues::Ahead && matches!(self.sight, Sight::Router | Sight::Progressive)
    }

    fn snapshot_period(&self) -> Option<Time> {
        match self.sight {
            Sight::Snapshot { refresh } | Sight::Neighbours { refresh } => Some(refresh),
            Sight::Router | Sight::Progressive => None,
        }
    }

    fn port_lists(&self) -> &[PortId] {
        self.detours.port_lists()
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn waypoints(&self) -> u32 {
        self.detours.waypoints()
    }

    fn current_waypoint(&self, at: RouterId, state: RouteState) -> Option<u32> {
        self.detours.current_waypoint(at, state)
    }

    fn with_waypoint(&self, state: RouteState, waypoint: u32) -> RouteState {
        Memory::of(state).with_waypoint(waypoint).state()
    }

    fn behind_waypoint(&self, state: RouteState) -> RouteState {
        self.detours.behind(state)
    }

    fn initial_states(&self) -> Vec<RouteState> {
        // The source's router decides at once, while a packet holds no channel between routers.
        let decided = self.decided(Memory::of(Self::open(0))).state();
        let mut states = vec![RouteState::default(), decided, self.detours.with_waypoint(0).state()];
        states.dedup();
        states
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        self.detours.representatives(at)
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        self.options.clone()
    }

    fn minimal(&self) -> bool {
        false
    }

    fn max_routers(&self) -> u32 {
        self.detours.max_routers()
    }
}
