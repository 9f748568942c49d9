//! Flow model: messages are flows that share channels at rates, and no single packets are simulated.
//!
//! A message takes the path, or the paths, of the routing. Its rate follows from the flows beside it and the
//! arbitration of routers ([`fill`]), and changes when one of them starts or ends ([`rates`]). Its last byte arrives
//! the delay of its path after it has left ([`run`]). Ticks are picoseconds.

mod channels;
mod choices;
#[cfg(test)]
mod choices_tests;
mod combining;
mod copies;
mod counts;
mod fill;
mod limits;
mod machine;
mod paths;
mod rates;
mod run;
#[cfg(test)]
mod tests;
mod trees;
mod trial;
mod turns;

use std::sync::Arc;

use fabric::Plan;
use fabric::catalogue::{Arbitration, HeadOfLine, RouterSpec};
use host::BusParams;

use crate::feature::Feature;
use crate::handover::whole_traffic;
use crate::machine::Machine;
use crate::model::{MachineRun, NetworkModel};
use combining::Units;
use counts::ClassCounts;
use fill::{Arbiters, Sharing, Waiting};
use limits::{Buses, Windows};
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
        let traffic = whole_traffic(plan, run);
        let numbers = run.numbers;
        let nodes = plan.topology().nodes() as usize;
        let knows_sources = |number: usize| number < numbers.jobs() && traffic.knows_sources(number);
        let counts = |number: usize| ClassCounts::new(if knows_sources(number) { nodes } else { 0 });
        let counts: Vec<ClassCounts> = (0..numbers.total()).map(counts).collect();
        let ranks = (0..run.jobs.len()).find_map(|job| traffic.scheduled(job));
        let parts = ranks.map_or([0.0; 2], |ranks| ranks.executor().part_rates());
        let mut paths = Paths::new(plan, run.router, parts);
        // On a tree, a path leads up to the root and down again.
        let deepest = plan.groups().and_then(|own| (0..own.trees.len()).map(|tree| own.trees.depth(tree)).max());
        let stride = plan.routing().max_routers().max(deepest.map_or(0, |depth| 2 * depth + 1)) as usize + 1;
        let arbiters = arbiters(run.router, plan);
        // Classes of virtual channels do not hold up one another. With one of them, no channel waits for itself.
        let holds_up = arbiters.waiting != Waiting::Memory && plan.routing().classes() == 1;
        let arbiters = (arbiters, drain(run.router), holds_up);
        let mut rates = Rates::new((plan.channels().ports(), paths.limits()), stride, arbiters);
        let bus = ranks.map_or(BusParams::NONE, |ranks| ranks.executor().bus());
        let planes = plan.channels().planes();
        paths.buses = Buses::add(&bus, (nodes as u32, planes), plan.packet(), &mut rates);
        paths.add_crossbars(&mut rates);
        paths.units = Units::add(plan, drain(run.router), &mut rates);
        let windows = Windows::new(run.jobs.iter().map(|job| job.pacer));
        let before = vec![vec![0.0; plan.channels().count() as usize]; counts.len()];
        Box::new(FlowMachine { run: FlowRun::new(plan, (paths, rates), windows, (traffic, counts)), before })
    }
}

/// Returns the rules by which routers divide channels among flows.
fn arbiters(router: &RouterSpec, plan: &Plan) -> Arbiters {
    let sharing = match router.input_arbitration() {
        Some(Arbitration::OldestFirst) => Sharing::ByFlow,
        _ => Sharing::ByInput,
    };
    let waiting = match (router, router.head_of_line()) {
        (RouterSpec::SharedBuffer(_), _) => Waiting::Memory,
        (RouterSpec::OutputQueued(_), _) => Waiting::Crosspoints,
        (_, Some(HeadOfLine::Input)) => Waiting::Fifos,
        _ => Waiting::Queues,
    };
    Arbiters { sharing, waiting, packet: plan.packet().into(), is_one_vc: plan.vcs() == 1 }
}

/// Returns the bandwidth at which the packets of an input leave it, over that of its channel.
fn drain(router: &RouterSpec) -> f64 {
    match router {
        RouterSpec::OutputQueued(_) | RouterSpec::SharedBuffer(_) => f64::INFINITY,
        _ => router.speedup().into(),
    }
}
