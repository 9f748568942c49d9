//! Ranks that run programs.

mod described;
mod interface;
mod measured;
mod operations;
mod processors;
mod run_state;
mod table;
mod volumes;

use std::collections::BTreeSet;
use std::sync::Arc;

use mpi::program::{ProgramGroup, Programs};
use traffic::Placement;
use units::{NodeId, TaskId, Time};

use super::closed;
use super::{Copies, DemandModel, RunContext, RunLength, Weights, Workload, WorkloadRun};
use crate::last_time::LAST_TIME;
use ::experiment::MeasureSpec;
use ::network::{Network, Packets};
use measure::MappingFigures;
use run_state::RanksRun;

pub(crate) use described::Ranks;
pub(crate) use measured::{BenchmarkPairs, HostCounts, LimitedGroups, Measured, Steps, of_groups};
pub use operations::OperationVolumes;
pub(crate) use processors::NodeProcessors;
pub(crate) use run_state::{arithmetic, first_error, traffic_of};
use volumes::most_sent;
pub(crate) use volumes::{Unlisted, volumes};

impl Workload for Ranks {
    fn demand(&self) -> DemandModel<'_> {
        let weights = self.volumes.as_deref().map_or(Weights::Pattern, Weights::Given);
        let copies = self.operations.as_deref().map_or(Copies::None, Copies::Groups);
        DemandModel { weights, copies, ..DemandModel::of(&self.pattern) }
    }

    fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    fn packets(&self) -> Packets {
        Packets { message: u64::from(self.packet), packet: self.packet }
    }

    fn partial_packets(&self) -> Vec<u64> {
        let rest = |bytes: u64| bytes % u64::from(self.packet);
        // An empty message is a packet of one byte.
        let mut rests: BTreeSet<u64> = self.sizes.iter().map(|(bytes, _)| rest(bytes.max(1))).collect();
        // If the time of one byte is whole, a tick that divides it divides that of any size.
        rests.extend(self.has_unknown_sizes().then_some(1));
        let host = self.nic.host();
        rests.extend(host.has_control().then(|| rest(host.control().0)));
        rests.into_iter().collect()
    }

    fn has_unknown_sizes(&self) -> bool {
        self.programs.is_called_back() || !self.programs.groups().is_empty()
    }

    fn host_times(&self) -> Vec<Time> {
        interface::times(self)
    }

    fn batch(&self, network: &Network, _measure: &MeasureSpec) -> u64 {
        closed::poll_interval(network, self.packets())
    }

    fn run_length(&self, _network: &Network, _measure: &MeasureSpec, _batch: u64) -> RunLength {
        let packets = self.sizes.iter().map(|(bytes, count)| self.packets_of(bytes).saturating_mul(count));
        RunLength::Packets(packets.fold(0, u64::saturating_add))
    }

    fn packets_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.packet)).max(1) + self.nic.host().controls(bytes)
    }

    fn least_time(&self, network: &Network, _measure: &MeasureSpec, _batch: u64) -> u64 {
        let all = self.sizes.iter().map(|(bytes, count)| bytes.saturating_mul(count)).fold(0, u64::saturating_add);
        let time = |bytes| network.least_time(network.injection(), bytes, self.packet);
        if network.picoseconds(time(all)) <= LAST_TIME.0 {
            // The clock suffices even if one node sent everything. A search of each message might take long.
            return 0;
        }
        time(most_sent(&*self.programs, &self.placement))
    }

    fn start(&self, context: &RunContext) -> Box<dyn WorkloadRun> {
        Box::new(RanksRun::new(self, context))
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        let nodes = |group: &ProgramGroup| group.ranks.iter().map(|&rank| self.placement.node(TaskId(rank))).collect();
        self.programs.groups().iter().map(nodes).collect()
    }

    fn programs(&self) -> Option<&Arc<dyn Programs>> {
        Some(&self.programs)
    }

    fn mapping(&self) -> Option<MappingFigures> {
        self.measured.steps().and_then(Steps::mapping)
    }
}
