//! Adaptive routings that choose between the direct path and a detour: UGAL (Singh 2005; Kim et al. 2008 for
//! dragonflies) and progressive adaptive routing (Jiang, Kim & Dally, ISCA 2009).
//!
//! Each packet draws a waypoint at its source, as under Valiant routing, and its router compares two paths. The cost of
//! a path is the congestion that it meets times its length in channels. The direct path is taken unless the detour
//! costs less by more than the threshold.
//! - *UGAL-L* reads the queues of the source router's own ports.
//! - *UGAL-G* reads the queues of the global channel by which each path leaves the source's group, wherever in the
//!   group that is. It reads them from a snapshot of the whole network that is taken at fixed times, so that a result
//!   does not depend on the order in which parts of the network are simulated.
//! - *PAR* decides as UGAL-L does, and again at every router of the source's group while the packet is on the direct
//!   path.
//!
//! Model choices: the congestion of a port is the bytes that wait in the router for it, plus the occupied buffer space
//! beyond it, over all its virtual channels. A packet whose destination is in its source's group goes directly, unless
//! intra-group traffic may take detours.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Groups;
use topology::{ChannelClass, Channels};
use units::{Draw, KeyError, NodeId, PortId, RouterId, Time};

use super::candidates::DirectPaths;
use super::detours::{Detours, IntraGroup, Rule, Waypoints};
use super::memory::{Memory, Phase};
use super::minimal::MinimalSpec;
use super::representatives::Representatives;
use super::valiant::{ValiantGroupSpec, ValiantNodeSpec};
use crate::{Hop, PathOption, Representative, Route, RouteState, Routing};

/// Detours of adaptive routings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DetourKind {
    /// By a random router, as in `valiant-node`.
    #[default]
    Node,
    /// By a random group, as in `valiant-group`.
    Group,
}

/// Default of `threshold`, in packets times channels: large enough that single packets in the way, which say nothing
/// about the load, do not cause detours.
const THRESHOLD: u32 = 4;

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
            /// Whether packets avoid waypoints in their source's group.
            pub exclude_source_group: bool,
            /// Whether packets avoid waypoints in their destination's group.
            pub exclude_destination_group: bool,
            /// Routing of packets that stay within their group: directly, or with the choice of a detour.
            pub intra_group: IntraGroup,
            $($(#[$extra_doc])* pub $extra: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    detour: DetourKind::Node,
                    threshold: THRESHOLD,
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
                    threshold: self.threshold,
                    group: ValiantGroupSpec { exclude_source_group, exclude_destination_group, intra_group },
                    node: ValiantNodeSpec { exclude_source_group, exclude_destination_group, intra_group },
                }
            }
        }
    };
}

choosing_spec! {
    /// Dragonflies: directly or by a detour, by the queues of the source's router (UGAL-L).
    UgalLSpec {}
}

choosing_spec! {
    /// Dragonflies: directly or by a detour, by the queues of the source group's global channels (UGAL-G).
    UgalGSpec {
        /// Period with which the queues are sampled.
        #[schemars(extend("minimum" = 1))]
        refresh: Time = Time(100_000),
    }
}

choosing_spec! {
    /// Dragonflies: as ugal-l, decided again at every router of the source's group (progressive adaptive routing).
    ParSpec {}
}

/// Keys that all adaptive routings have in common.
#[derive(Clone, Copy, Debug)]
struct Options {
    detour: DetourKind,
    threshold: u32,
    group: ValiantGroupSpec,
    node: ValiantNodeSpec,
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
enum Sight {
    /// Router of the source, at its own ports.
    Router,
    /// Router of the source, at its group's global channels, as of a snapshot.
    Group { refresh: Time },
    /// Every router of the source's group, at its own ports.
    Progressive,
}

#[derive(Debug)]
struct Choosing {
    kind: &'static str,
    sight: Sight,
    detours: Detours,
    threshold: u32,
    channels: Channels,
    /// Routings between which it chooses.
    options: Vec<Arc<dyn Routing>>,
}

impl UgalLSpec {
    /// Builds the routing on a dragonfly.
    ///
    /// # Errors
    /// If its tables would be larger than 1 GiB.
    pub fn build(&self, topology: &Groups) -> Result<impl Routing + 'static, KeyError> {
        Choosing::new("ugal-l", Sight::Router, topology, &self.options())
    }
}

impl UgalGSpec {
    /// Builds the routing on a dragonfly.
    ///
    /// # Errors
    /// If its tables would be larger than 1 GiB, or if `refresh` is 0.
    pub fn build(&self, topology: &Groups) -> Result<impl Routing + 'static, KeyError> {
        if self.refresh.0 == 0 {
            return Err(KeyError::new("refresh", "`refresh` must be longer than 0"));
        }
        Choosing::new("ugal-g", Sight::Group { refresh: self.refresh }, topology, &self.options())
    }
}

impl ParSpec {
    /// Builds the routing on a dragonfly.
    ///
    /// # Errors
    /// If its tables would be larger than 1 GiB.
    pub fn build(&self, topology: &Groups) -> Result<impl Routing + 'static, KeyError> {
        Choosing::new("par", Sight::Progressive, topology, &self.options())
    }
}

impl Choosing {
    fn new(kind: &'static str, sight: Sight, topology: &Groups, options: &Options) -> Result<Self, KeyError> {
        let detour: Arc<dyn Routing> = match options.detour {
            DetourKind::Group => Arc::new(options.group.build(topology)?),
            DetourKind::Node => Arc::new(options.node.build(topology)?),
        };
        Ok(Self {
            kind,
            sight,
            detours: Detours::new(topology, options.rule(), u8::from(sight == Sight::Progressive))?,
            threshold: options.threshold,
            channels: Channels::new(topology),
            options: vec![Arc::new(MinimalSpec {}.build(topology)?), detour],
        })
    }

    fn open(waypoint: u32) -> RouteState {
        Memory::new(Phase::Open, waypoint, (0, 0)).state()
    }

    /// Returns the routing state of a packet that goes directly from a router that has weighed its paths.
    fn decided(&self, open: Memory) -> Memory {
        match self.sight {
            Sight::Progressive => open.in_phase(Phase::Decided),
            Sight::Router | Sight::Group { .. } => open.direct(),
        }
    }

    fn probe(&self, at: RouterId, group: u32) -> Option<units::ChannelId> {
        if !matches!(self.sight, Sight::Group { .. }) || self.detours.paths.topology.place(at).0 == group {
            return None;
        }
        let (router, port) = self.detours.paths.exit_channel(at, group);
        Some(self.channels.output(router, port))
    }

    fn group_of(&self, waypoint: u32) -> u32 {
        match self.detours.rule.waypoints {
            Waypoints::Groups => waypoint,
            Waypoints::Routers => self.detours.paths.topology.place(RouterId(waypoint)).0,
        }
    }

    /// Returns the number of channels to a waypoint and from there to a router.
    fn detour_length(&self, at: RouterId, waypoint: u32, home: RouterId) -> u32 {
        let paths = &self.detours.paths;
        let (entry, before) = match self.detours.rule.waypoints {
            Waypoints::Groups => paths.entry(at, waypoint),
            Waypoints::Routers => (RouterId(waypoint), paths.length(at, RouterId(waypoint))),
        };
        before + paths.length(entry, home)
    }
}

impl Routing for Choosing {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn classes(&self) -> u8 {
        self.detours.local_classes()
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        DirectPaths::classes_on(class, self.detours.local_classes(), Detours::GLOBAL_CLASSES)
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
        if phase == Phase::Open && self.detours.paths.home(hop.dst).0 != at {
            return Route::UGAL;
        }
        let route = self.detours.route(at, hop);
        if phase == Phase::Decided {
            let memory = Memory::of(hop.state);
            // Outside the source's group there is nothing left to decide.
            hop.state = match memory.global() {
                0 => memory.in_phase(Phase::Open),
                _ => memory.direct(),
            }
            .state();
        }
        route
    }

    fn candidates(&self, at: RouterId, hop: &Hop) -> [PathOption; 2] {
        let open = Memory::of(hop.state);
        let paths = &self.detours.paths;
        let home = paths.home(hop.dst).0;
        let [direct, detour] = self.candidate_states(at, hop);
        let direct = PathOption {
            state: direct,
            channels: paths.length(at, home),
            bias: 0,
            probe: self.probe(at, paths.topology.place(home).0),
        };
        let detour = PathOption {
            state: detour,
            channels: self.detour_length(at, open.waypoint(), home),
            bias: self.threshold,
            probe: self.probe(at, self.group_of(open.waypoint())),
        };
        [direct, detour]
    }

    #[inline]
    fn candidate_states(&self, _at: RouterId, hop: &Hop) -> [RouteState; 2] {
        let open = Memory::of(hop.state);
        [self.decided(open).state(), self.detours.with_waypoint(open.waypoint()).state()]
    }

    fn snapshot_period(&self) -> Option<Time> {
        match self.sight {
            Sight::Group { refresh } => Some(refresh),
            Sight::Router | Sight::Progressive => None,
        }
    }

    fn port_lists(&self) -> &[PortId] {
        &self.detours.paths.lists
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

    fn initial_states(&self) -> Vec<RouteState> {
        vec![RouteState::default(), Self::open(0)]
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let mut packets = Representatives::new(&self.detours.paths, at);
        packets.valiant(&self.detours);
        if self.sight == Sight::Progressive {
            packets.undecided(&self.detours);
        }
        Some(packets.packets())
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        self.options.clone()
    }

    fn minimal(&self) -> bool {
        false
    }

    fn max_routers(&self) -> u32 {
        let before = if self.sight == Sight::Progressive { self.detours.paths.longest_exit() - 1 } else { 0 };
        self.detours.max_routers(before)
    }
}
