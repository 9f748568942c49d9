//! Synthetic traffic as a workload, for runs and analyses.

use std::sync::Arc;

use traffic::{InjectionSpec, Placement};
use units::{NodeId, Time};

use super::Open;
use super::sampler::OpenSampler;
use crate::workloads::steady::{FEWEST_BATCHES, LONGEST_MEASURE, LONGEST_WARM_UP, SteadyRun};
use crate::workloads::{Copies, DemandModel, RunContext, RunLength, Weights, Workload, WorkloadRun};
use ::experiment::{MeasureSpec, WarmUp};
use ::network::{Network, Packets};

/// Mean number of packets in a batch.
const PACKETS_A_BATCH: f64 = 2048.0;

/// Returns the length of a batch in ticks: `slots` slots of `slot` ticks, but at least the time of a packet on the
/// longest path. If `measure.max_time` ends the run, batches are short enough that there are `FEWEST_BATCHES` of them.
pub(in crate::workloads) fn batch_length(network: &Network, measure: &MeasureSpec, (slot, slots): (u64, u64)) -> u64 {
    let wanted = slot.saturating_mul(slots);
    let wanted = wanted.max(network.longest_path()).checked_next_multiple_of(slot).unwrap_or(u64::MAX);
    let Some(end) = measure.max_time else { return wanted };
    let warm_up = match measure.warm_up {
        WarmUp::Fixed(time) => time.0,
        WarmUp::Auto => end.0 / 2,
    };
    let measured = end.0.saturating_sub(warm_up) / network.plan.tick().0;
    // Rounded up, so that the fewest batches fill the time.
    wanted.min(measured.div_ceil(FEWEST_BATCHES as u64)).max(slot)
}

/// Returns the length of a run of open traffic. `batch` is the length of a batch in ticks.
pub(in crate::workloads) fn extent(network: &Network, measure: &MeasureSpec, batch: u64) -> RunLength {
    let ticks = |time: Time| time.0.div_ceil(network.plan.tick().0);
    let batches = |count: usize| batch.saturating_mul(count as u64);
    let (warm, longest_warm) = match measure.warm_up {
        WarmUp::Fixed(time) => (ticks(time), ticks(time)),
        WarmUp::Auto => (batches(FEWEST_BATCHES), batches(LONGEST_WARM_UP)),
    };
    let least = batches(FEWEST_BATCHES).max(measure.min_time.map_or(0, ticks));
    let end = measure.max_time.map(ticks);
    let longest = end.unwrap_or_else(|| longest_warm.saturating_add(batches(LONGEST_MEASURE)));
    let limited = |warm: u64| warm.saturating_add(least).min(end.unwrap_or(u64::MAX));
    RunLength::Time { usual: limited(warm), saturated: limited(longest_warm), longest }
}

impl Workload for Open {
    fn demand(&self) -> DemandModel<'_> {
        let copies = match &self.multicasts {
            None => Copies::None,
            Some(own) => match own.fixed.as_deref() {
                Some(sets) => Copies::Sets { sets, by_routers: own.by_routers },
                None if own.by_routers => Copies::Drawn(own),
                None => Copies::None,
            },
        };
        let is_backlogged = self.injection == InjectionSpec::Backlogged;
        let weights = if is_backlogged { Weights::Equal } else { Weights::Pattern };
        DemandModel { load: self.load, destinations: self.fanout(), weights, copies, ..DemandModel::of(&self.pattern) }
    }

    fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    fn at_load(&self, load: f64) -> Result<Arc<dyn Workload>, String> {
        self.injection.check(load).map_err(|error| error.to_string())?;
        let mut other = self.clone();
        other.load = load;
        Ok(Arc::new(other))
    }

    fn packets(&self) -> Packets {
        self.packets
    }

    fn partial_packets(&self) -> Vec<u64> {
        vec![self.packets.message % u64::from(self.packets.packet)]
    }

    fn is_open(&self) -> bool {
        true
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        self.multicasts.as_ref().and_then(|own| own.by_trees()).map_or_else(Vec::new, |fixed| fixed.groups())
    }

    fn is_continuous(&self) -> bool {
        matches!(self.injection, InjectionSpec::Poisson | InjectionSpec::Periodic)
    }

    fn batch(&self, network: &Network, measure: &MeasureSpec) -> u64 {
        let rate = f64::from(network.topology.nodes()) * self.load;
        let slots = (PACKETS_A_BATCH / rate).ceil().max(4.0) as u64;
        batch_length(network, measure, (network.slot(self.packets()), slots.div_ceil(self.packets().count()).max(1)))
    }

    fn run_length(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> RunLength {
        match extent(network, measure, batch) {
            // A backlogged source generates a message when it can send it, so latencies do not grow.
            RunLength::Time { usual, longest, .. } if self.injection == InjectionSpec::Backlogged => {
                RunLength::Time { usual, saturated: usual, longest }
            }
            found => found,
        }
    }

    fn start(&self, context: &RunContext) -> Box<dyn WorkloadRun> {
        Box::new(SteadyRun::new(OpenSampler::new(self.clone(), context.clone())))
    }
}
