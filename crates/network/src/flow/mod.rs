//! Flow model: messages are flows that share channels at rates, and no single packets are simulated.
//!
//! A message takes the path, or the paths, of the routing. Its rate follows from the flows beside it and the
//! arbitration of routers ([`fill`]), and changes when one of them starts or ends ([`rates`]). Its last byte arrives
//! the delay of its path after it has left ([`run`]). Ticks are picoseconds.

mod counts;
mod fill;
mod machine;
mod paths;
mod rates;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use fabric::Plan;
use fabric::catalogue::Arbitration;

use crate::feature::Feature;
use crate::machine::Machine;
use crate::model::{MachineRun, NetworkModel};
use crate::part::Part;
use crate::traffic::Division;
use counts::ClassCounts;
use fill::Sharing;
use machine::FlowMachine;
use paths::Paths;
use rates::Rates;
use run::FlowRun;

/// Network of routers whose messages are flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowModel;

impl NetworkModel for FlowModel {
    fn name(&self) -> &'static str {
        "flow"
    }

    fn features(&self) -> &'static [Feature] {
        &[Feature::Packets, Feature::Flows, Feature::Routers, Feature::Routes, Feature::ReceiverLinks]
    }

    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine> {
        let nodes: Vec<u32> = (0..plan.topology().nodes()).collect();
        let division = Division::new(nodes.len() as u32, std::iter::once(&nodes[..]), 1);
        let traffic = (run.traffic)(Part { number: 0, nodes: &nodes, division: &division });
        let numbers = run.numbers;
        let knows_sources = |number: usize| number < numbers.jobs() && traffic.knows_sources(number);
        let counts = |number: usize| ClassCounts::new(if knows_sources(number) { nodes.len() } else { 0 });
        let counts: Vec<ClassCounts> = (0..numbers.total()).map(counts).collect();
        let sharing = match run.router.input_arbitration() {
            Some(Arbitration::OldestFirst) => Sharing::ByFlow,
            _ => Sharing::ByInput,
        };
        let ranks = (0..run.jobs.len()).find_map(|job| traffic.scheduled(job));
        let parts = ranks.map_or([0.0; 2], |ranks| ranks.executor().part_rates());
        let paths = Paths::new(plan, parts);
        let stride = plan.routing().max_routers() as usize + 1;
        let rates = Rates::new((plan.channels().ports(), paths.capacities()), stride, (sharing, true));
        let before = vec![vec![0.0; plan.channels().count() as usize]; counts.len()];
        Box::new(FlowMachine { run: FlowRun::new(plan, (paths, rates), traffic, counts), before })
    }
}
