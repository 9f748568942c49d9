//! Delay model: a machine that carries whole messages over a delay and a bandwidth, without routers.

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
use links::LinkParams;

/// Network of a delay and a bandwidth. Ticks are picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct DelayModel;

impl NetworkModel for DelayModel {
    fn features(&self) -> &'static [Feature] {
        &[]
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        let class = ChannelClass::INJECTION;
        let params = LinkParams { delay: plan.link_delay(class), bandwidth: plan.bandwidth(class) };
        machine::build(plan.topology().nodes(), params, run)
    }
}
