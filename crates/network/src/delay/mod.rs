//! Delay model: a machine that carries whole messages over a delay and a bandwidth, without routers.

mod machine;
mod volumes;
mod worker;

use std::sync::Arc;

use fabric::Plan;
use host::WireParams;
use topology::ChannelClass;

use crate::feature::Feature;
use crate::machine::Machine;
use crate::model::{MachineRun, NetworkModel};

/// Network of a delay and a bandwidth. Ticks are picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct DelayModel;

impl NetworkModel for DelayModel {
    fn features(&self) -> &'static [Feature] {
        &[]
    }

    fn wire(&self, plan: &Plan) -> Option<WireParams> {
        Some(wire(plan))
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        machine::build(plan.topology().nodes(), wire(plan), run)
    }
}

/// Returns the links of nodes.
fn wire(plan: &Plan) -> WireParams {
    WireParams { delay: plan.link_delay(ChannelClass::INJECTION), bandwidth: plan.bandwidth(ChannelClass::INJECTION) }
}
