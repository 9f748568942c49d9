//! Ranks that run programs.

mod course;
mod described;
mod interface;
mod measured;
mod processors;

use std::collections::BTreeSet;
use std::sync::Arc;

use units::Time;
use workload::program::{Messages, Programs};
use workload::{PlacedPattern, Placement};

use super::closed;
use super::{Course, Extent, Setting, Workload};
use crate::experiment::MeasureSpec;
use crate::network::{Network, Packets};
use course::RanksCourse;

pub(crate) use described::Ranks;
pub(crate) use measured::{BenchmarkPairs, Measured};
pub(crate) use processors::NodeProcessors;

impl Workload for Ranks {
    fn pattern(&self) -> &Arc<PlacedPattern> {
        &self.pattern
    }

    fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    fn packets(&self) -> Packets {
        Packets { message: u64::from(self.packet), packet: self.packet }
    }

    fn rests(&self) -> Vec<u64> {
        let rest = |bytes: u64| bytes % u64::from(self.packet);
        let mut rests = BTreeSet::new();
        // A message of no bytes is a packet of one.
        self.programs.each_message(&mut |messages: Messages| {
            rests.insert(rest(messages.bytes.max(1)));
        });
        rests.extend(self.nic.host().eager_limit.map(|_| rest(self.nic.host().control().0)));
        rests.into_iter().collect()
    }

    fn host_times(&self) -> Vec<Time> {
        interface::times(self)
    }

    fn batch(&self, network: &Network, _measure: &MeasureSpec) -> u64 {
        closed::poll_interval(network, self.packets())
    }

    fn extent(&self, _network: &Network, _measure: &MeasureSpec, _batch: u64) -> Extent {
        // A message that asks first has two control messages.
        let controls =
            |bytes: u64| if self.nic.host().eager_limit.is_some_and(|limit| bytes > limit.0) { 2 } else { 0 };
        let of = |bytes: u64| bytes.div_ceil(u64::from(self.packet)).max(1) + controls(bytes);
        let mut packets = 0_u64;
        self.programs.each_message(&mut |messages: Messages| {
            packets = packets.saturating_add(of(messages.bytes).saturating_mul(messages.count));
        });
        Extent::Packets(packets)
    }

    fn course(&self, setting: &Setting) -> Box<dyn Course> {
        Box::new(RanksCourse::new(self, setting))
    }

    fn programs(&self) -> Option<&Arc<dyn Programs>> {
        Some(&self.programs)
    }
}
