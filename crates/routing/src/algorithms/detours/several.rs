//! Adaptive routings that weigh several direct paths and several detours: those of the Slingshot and Aries networks.
//!
//! Both are published in outline only. A router weighs up to `minimal` direct paths and up to `nonminimal` detours, and
//! prefers direct paths by a bias.
//! - *Slingshot* (De Sensi et al., "An in-depth analysis of the Slingshot interconnect", SC 2020): up to four paths, by
//!   congestion and length, at the source's router. It reads the queues of this router and of its neighbours, of
//!   which acknowledgements tell.
//! - *Aries* (Alverson et al., "Cray XC series network", 2012): two minimal and two non-minimal paths, drawn at random,
//!   by the queues of the router. The bias has four modes (De Sensi, Di Girolamo and Hoefler, "Mitigating network
//!   noise on dragonfly networks through application-aware routing", SC 2019): none, one that increases towards the
//!   destination, a weak one, a strong one.
//!
//! Model choices:
//! - A direct path or a detour is that of UGAL, with its classes of virtual channels. The source draws the first
//!   waypoint of a packet. Each of the others has a distance from it, by rank, that depends on router and destination:
//!   all waypoints are equally likely, and those of a packet differ.
//! - A second direct path is drawn only if the router has several ports on direct paths. It may be the first one.
//! - The cost of a path is its congestion times its length in channels. The congestion is that of its first channel;
//!   for Slingshot, that of the second channel is added, as of a snapshot with the period `refresh`.
//! - Bytes on a busy channel count as its queue.
//! - The weak bias is 4 packets, the strong one four times larger. The increasing one is the weak bias for each
//!   channel by which the direct path has become shorter than the longest. In this mode all routers of the source's
//!   group decide (without groups: the first two), as under PAR.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, Time};

use super::adaptive::{Bias, DetourKind, MOST_PATHS, Options, Queues, REFRESH, Sight, THRESHOLD, check_paths};
use super::valiant::{ValiantGroupSpec, ValiantNodeSpec};
use crate::Routing;

/// Ratio of the strong bias to the weak one.
const STRONG: u32 = 4;

/// All topologies but trees: two to four paths, direct ones and detours, by congestion and length (Slingshot).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlingshotSpec {
    /// Number of direct paths that are weighed.
    #[schemars(range(min = 1, max = 3))]
    pub minimal: u16,
    /// Number of detours that are weighed. At most 4 paths are weighed in all.
    #[schemars(range(min = 1, max = 3))]
    pub nonminimal: u16,
    /// Cost advantage that a detour must exceed, in packets of the largest size times channels.
    #[schemars(range(max = 1000000))]
    pub threshold: u32,
    /// Kind of waypoint of a detour.
    pub detour: DetourKind,
    /// Period with which the queues of neighbours are sampled.
    #[schemars(extend("minimum" = 1))]
    pub refresh: Time,
}

impl Default for SlingshotSpec {
    fn default() -> Self {
        Self { minimal: 2, nonminimal: 2, threshold: THRESHOLD, detour: DetourKind::Node, refresh: REFRESH }
    }
}

/// All topologies but trees: two direct paths and two detours, by the queues of the source's router (Aries). With
/// `mode = "increasing"` later routers decide again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AriesSpec {
    /// Number of direct paths that are weighed.
    #[schemars(range(min = 1, max = 4))]
    pub minimal: u16,
    /// Number of detours that are weighed.
    #[schemars(range(min = 1, max = 4))]
    pub nonminimal: u16,
    /// Bias towards direct paths.
    pub mode: AriesMode,
    /// Kind of waypoint of a detour.
    pub detour: DetourKind,
}

impl Default for AriesSpec {
    fn default() -> Self {
        Self { minimal: 2, nonminimal: 2, mode: AriesMode::Weak, detour: DetourKind::Node }
    }
}

/// Bias of Aries towards direct paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AriesMode {
    /// No bias (ADAPTIVE_0).
    Unbiased,
    /// Bias that increases towards the destination (ADAPTIVE_1). Routers of the source's group decide again.
    Increasing,
    /// Weak bias (ADAPTIVE_2).
    #[default]
    Weak,
    /// Strong bias (ADAPTIVE_3).
    Strong,
}

impl SlingshotSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups.
    ///
    /// # Errors
    /// If a number of paths is out of range, if `refresh` is 0, or if a table would be larger than 1 GiB. Without
    /// groups: if a key speaks of groups, if routers cannot reach one another, or if more than 64 classes of virtual
    /// channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        if self.refresh.0 == 0 {
            return Err(KeyError::new("refresh", "`refresh` must be longer than 0"));
        }
        // At most `MOST_PATHS` in all.
        let paths = (self.minimal, self.nonminimal);
        check_paths(paths, MOST_PATHS - 1)?;
        if self.minimal + self.nonminimal > MOST_PATHS {
            let message = format!(
                "`nonminimal` is {}; with `minimal` = {}, at most {} are allowed ({MOST_PATHS} paths in all)",
                self.nonminimal,
                self.minimal,
                MOST_PATHS - self.minimal
            );
            return Err(KeyError::new("nonminimal", message));
        }
        options(self.detour, Bias::Even(self.threshold), paths).build(
            "slingshot",
            Sight::Neighbours { refresh: self.refresh },
            topology,
        )
    }
}

impl AriesSpec {
    /// Builds the routing on a topology: as a dragonfly, if it has groups.
    ///
    /// # Errors
    /// If a number of paths is out of range, or if a table would be larger than 1 GiB. Without groups: if a key speaks
    /// of groups, if routers cannot reach one another, or if more than 64 classes of virtual channels were needed.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        let (bias, sight) = match self.mode {
            AriesMode::Unbiased => (Bias::Even(0), Sight::Router),
            AriesMode::Increasing => (Bias::Increasing(THRESHOLD), Sight::Progressive),
            AriesMode::Weak => (Bias::Even(THRESHOLD), Sight::Router),
            AriesMode::Strong => (Bias::Even(STRONG * THRESHOLD), Sight::Router),
        };
        options(self.detour, bias, (self.minimal, self.nonminimal)).build("aries", sight, topology)
    }
}

/// Returns the keys of both, with the numbers of direct paths and of detours.
fn options(detour: DetourKind, bias: Bias, paths: (u16, u16)) -> Options {
    let (group, node) = (ValiantGroupSpec::default(), ValiantNodeSpec::default());
    Options {
        detour,
        queues: Some(Queues::Port),
        estimates_delay: false,
        bias,
        paths: (paths.0, Some(paths.1)),
        group,
        node,
    }
}
