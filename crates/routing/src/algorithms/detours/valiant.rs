//! Valiant routing: every packet by way of a waypoint drawn at its source (Valiant 1982).
//!
//! `valiant-group` draws a group and leaves it from the first router that it reaches there (Kim et al. 2008; the
//! ValiantRestricted of Prisacari et al.). `valiant-node` draws a router (their ValiantAny). Both draw uniformly among
//! the waypoints that are not excluded. In a network of groups, the groups of source and destination are excluded
//! unless the keys say otherwise: a waypoint there would be no detour. If no waypoint is left (two groups) packets go
//! directly. Traffic within a group stays on the direct path unless `intra_group = "valiant"`.
//!
//! Without the groups of a dragonfly, `valiant-node` excludes the routers of source and destination instead.
//! `valiant-group` fits all topologies with groups (a dragonfly+, the groups of a file): see [`RouterDetours`].
//!
//! A packet may come to its destination's router on the way to its waypoint. It goes on to the waypoint, unless
//! `early_delivery` is set. The deadlock check follows the packets that go on, which do all that the others do.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{ChannelClass, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId};

use super::{Detours, Memory, RouterDetours};
use crate::algorithms::dragonfly::{GroupDetours, IntraGroup, Rule, Waypoints};
use crate::{Hop, OutputLoads, Representative, Route, RouteState, RouterTraffic, Routing};

/// Dragonflies and other groups: Valiant routing by way of a random group, left from the first router reached there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ValiantGroupSpec {
    /// Whether packets avoid waypoints in their source's group.
    pub exclude_source_group: bool,
    /// Whether packets avoid waypoints in their destination's group.
    pub exclude_destination_group: bool,
    /// Routing of packets that stay within their group.
    pub intra_group: IntraGroup,
    /// Whether a packet is delivered if it comes to its destination's router on the way to its waypoint.
    pub early_delivery: bool,
}

/// All topologies but trees: Valiant routing by way of a random router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ValiantNodeSpec {
    /// Whether packets avoid waypoints in their source's group. Without groups: at their source's router.
    pub exclude_source_group: bool,
    /// Whether packets avoid waypoints in their destination's group. Without groups: at their destination's router.
    pub exclude_destination_group: bool,
    /// Routing of packets that stay within their group. Dragonflies only.
    pub intra_group: IntraGroup,
    /// Whether a packet is delivered if it comes to its destination's router on the way to its waypoint.
    pub early_delivery: bool,
}

impl Default for ValiantGroupSpec {
    fn default() -> Self {
        Self {
            exclude_source_group: true,
            exclude_destination_group: true,
            intra_group: IntraGroup::Minimal,
            early_delivery: false,
        }
    }
}

impl Default for ValiantNodeSpec {
    fn default() -> Self {
        Self {
            exclude_source_group: true,
            exclude_destination_group: true,
            intra_group: IntraGroup::Minimal,
            early_delivery: false,
        }
    }
}

impl From<&ValiantGroupSpec> for Rule {
    fn from(spec: &ValiantGroupSpec) -> Self {
        Self {
            waypoints: Waypoints::Groups,
            exclude_source: spec.exclude_source_group,
            exclude_destination: spec.exclude_destination_group,
            intra_group: spec.intra_group,
        }
    }
}

impl From<&ValiantNodeSpec> for Rule {
    fn from(spec: &ValiantNodeSpec) -> Self {
        Self {
            waypoints: Waypoints::Routers,
            exclude_source: spec.exclude_source_group,
            exclude_destination: spec.exclude_destination_group,
            intra_group: spec.intra_group,
        }
    }
}

/// Routing of every packet by way of its waypoint.
#[derive(Debug)]
pub(super) struct Valiant<D> {
    pub kind: &'static str,
    pub detours: D,
    /// The routing without early delivery, if this one has it.
    complete: Option<Arc<dyn Routing>>,
}

impl<D: Detours + 'static> Valiant<D> {
    /// Creates the routing without early delivery.
    pub fn new(kind: &'static str, detours: D) -> Self {
        Self { kind, detours, complete: None }
    }

    /// Creates the routing with or without early delivery. `detours` makes its waypoints and paths.
    fn with(
        kind: &'static str,
        early_delivery: bool,
        detours: impl Fn() -> Result<D, KeyError>,
    ) -> Result<Arc<dyn Routing>, KeyError> {
        let complete = Self::new(kind, detours()?);
        if !early_delivery {
            return Ok(Arc::new(complete));
        }
        Ok(Arc::new(Self { complete: Some(Arc::new(complete)), ..Self::new(kind, detours()?) }))
    }
}

/// Builds a routing of a kind by a rule: as on a dragonfly, if the topology has groups with closed forms.
fn build(
    topology: &dyn Topology,
    (kind, rule): (&'static str, Rule),
    early_delivery: bool,
) -> Result<Arc<dyn Routing>, KeyError> {
    if let Some(groups) = topology.views().groups {
        return Valiant::with(kind, early_delivery, || GroupDetours::new(groups, rule, 0));
    }
    rule.refuse_without_groups(topology)?;
    Valiant::with(kind, early_delivery, || RouterDetours::new(topology, (kind, rule), false))
}

impl ValiantGroupSpec {
    /// Builds the routing on a topology that has groups: as a dragonfly, if they have closed forms.
    ///
    /// # Errors
    /// If a table would be larger than 1 GiB, or if there are no groups. Without closed forms: if more than 64 classes of
    /// virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        build(topology, ("valiant-group", Rule::from(self)), self.early_delivery)
    }
}

impl ValiantNodeSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups with closed forms.
    ///
    /// # Errors
    /// If a table would be larger than 1 GiB. Without closed forms: if `intra_group` is not minimal, if routers cannot
    /// reach one another, or if more than 64 classes of virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        build(topology, ("valiant-node", Rule::from(self)), self.early_delivery)
    }
}

impl<D: Detours> Routing for Valiant<D> {
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
        false
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        let waypoint = self.detours.draw(src, dst, draw);
        waypoint.map(|waypoint| self.detours.with_waypoint(waypoint).state()).unwrap_or_default()
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        let Some(all) = self.detours.all(src, dst) else { return vec![(RouteState::default(), 1.0)] };
        let probability = 1.0 / all.len() as f64;
        all.into_iter().map(|waypoint| (self.detours.with_waypoint(waypoint).state(), probability)).collect()
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        if self.complete.is_some() && self.detours.is_home(at, hop.dst) {
            hop.state = self.behind_waypoint(hop.state);
        }
        self.detours.route(at, hop)
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
        vec![RouteState::default(), self.detours.with_waypoint(0).state()]
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        self.detours.representatives(at)
    }

    fn covering(&self) -> Option<Arc<dyn Routing>> {
        self.complete.clone()
    }

    /// The sums take every packet to its waypoint.
    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        (self.complete.is_none() && !self.detours.lacks_loads()).then_some(self)
    }

    fn minimal(&self) -> bool {
        false
    }

    fn max_routers(&self) -> u32 {
        self.detours.max_routers()
    }
}

impl<D: Detours> OutputLoads for Valiant<D> {
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        self.detours.output_loads(traffic)
    }
}
