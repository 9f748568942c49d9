//! Minimal routing on dragonflies: the direct path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::ChannelClass;
use topology::views::Groups;
use units::{KeyError, PortId, RouterId};

use super::candidates::{Classes, DirectPaths};
use super::loads;
use super::representatives::Representatives;
use crate::algorithms::detours::Memory;
use crate::{Hop, Representative, Route, Routing};
use crate::{OutputLoads, RouterTraffic};

/// Number of classes of virtual channels on local channels.
const LOCAL: u8 = 2;
/// Number of classes of virtual channels on global channels.
const GLOBAL: u8 = 1;

/// Dragonflies: at most one local, one global and one local hop (Prisacari et al., section II: "shortest path").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MinimalSpec {}

#[derive(Debug)]
struct Minimal {
    paths: DirectPaths,
}

impl MinimalSpec {
    /// Builds the routing on a dragonfly.
    ///
    /// # Errors
    /// If its tables would be larger than 1 GiB.
    pub fn build(&self, topology: &Groups) -> Result<impl Routing + 'static, KeyError> {
        Ok(Minimal { paths: DirectPaths::new(topology, Classes { behind_first: 1, behind_second: 1 })? })
    }
}

impl Routing for Minimal {
    fn kind(&self) -> &'static str {
        "minimal"
    }

    fn classes(&self) -> u8 {
        LOCAL
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        DirectPaths::classes_on(class, LOCAL, GLOBAL)
    }

    fn adaptive(&self) -> bool {
        false
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut memory = Memory::of(hop.state);
        let route = self.paths.to_node(at, hop.dst, &mut memory);
        hop.state = memory.state();
        route
    }

    fn port_lists(&self) -> &[PortId] {
        &self.paths.lists
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let mut packets = Representatives::new(&self.paths, at);
        packets.direct(0, 0, false);
        packets.direct(self.paths.classes.behind_first, 1, true);
        Some(packets.packets())
    }

    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        Some(self)
    }

    fn path_channels(&self, from: RouterId, to: RouterId) -> Option<u32> {
        Some(self.paths.fewest(from, to))
    }

    // Paths by way of a third group can be shorter if it happens to join both routers.
    fn minimal(&self) -> bool {
        false
    }

    fn max_routers(&self) -> u32 {
        self.paths.longest_exit() + self.paths.topology.group().diameter() + 1
    }
}

impl OutputLoads for Minimal {
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        loads::direct(&self.paths, &traffic.rows)
    }
}
