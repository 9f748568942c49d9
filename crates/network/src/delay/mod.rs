//! Delay model: a machine that carries whole messages over a delay and a bandwidth. The delay is that of the links of a
//! network without routers, or of an idle shortest path.

mod links;
mod machine;
mod volumes;
mod worker;

use std::sync::Arc;

use fabric::Plan;
use topology::ChannelClass;

use crate::feature::Feature;
use crate::machine::Machine;
use crate::model::{MachineRun, NetworkModel};
use crate::network::least_path;
use links::{LinkParams, MOST_PLACES};

/// Network of delays and a bandwidth. Ticks are picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct DelayModel {
    /// Whether messages cross routers. Otherwise they take the delay of a link.
    pub has_routers: bool,
}

impl DelayModel {
    /// Returns the largest memory of the kept delays of paths between `pairs` pairs of nodes and routers, in bytes.
    pub fn most_path_bytes(pairs: u64) -> u64 {
        pairs.min(MOST_PLACES as u64) * size_of::<(u64, u64)>() as u64
    }
}

impl NetworkModel for DelayModel {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn features(&self) -> &'static [Feature] {
        if self.has_routers { &[Feature::Routers] } else { &[] }
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        let class = ChannelClass::INJECTION;
        let delay = if self.has_routers { least_path(plan) } else { plan.link_delay(class) };
        let params = LinkParams { delay, bandwidth: plan.bandwidth(class), routers: self.has_routers.then_some(plan) };
        machine::build(plan.topology().nodes(), params, run)
    }
}
