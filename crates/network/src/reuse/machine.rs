//! Machine of the packet model with reuse. It advances on one thread.

use std::cell::Cell;

use engine::statistics::Histogram;
use fabric::{Actions, ArrivedMessage, Batch, ChannelUse, MessageKey};
use topology::ChannelSource;
use units::ChannelId;

use super::paths::NONE;
use super::run::ReuseRun;
use super::{ReuseCounts, ReuseRecords};
use crate::handover::MessageRun;
use crate::machine::{Machine, PacketMachine};
use crate::traffic::NodeTraffic;

/// Machine that replays episodes.
pub(super) struct ReuseMachine {
    pub run: ReuseRun,
    /// Time after which no packet may arrive, since channels are counted until then, in ticks.
    pub counted_until: Cell<u64>,
}

impl Machine for ReuseMachine {
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]) {
        let batches = (until - self.run.now).div_ceil(batch) as usize;
        self.run.count_batches(batch);
        self.run.run_until(until);
        for counts in counts.iter_mut() {
            counts.clear();
            counts.append(&mut self.run.totals.batches);
            counts.resize(batches, Batch::default());
        }
    }

    fn pass(&mut self, _settled: u64, until: u64) {
        self.run.count_batches(u64::MAX);
        self.run.run_until(until);
    }

    fn measured(&mut self, _job: usize) -> (Histogram, u64) {
        (self.run.episodes.records.latencies(), self.run.totals.hops)
    }

    fn note_arrivals(&mut self, _job: usize) {
        self.run.totals.arrivals = vec![0; self.run.plan.topology().nodes() as usize];
    }

    fn arrivals(&mut self, _job: usize) -> Vec<u64> {
        self.run.totals.arrivals.clone()
    }

    fn measure_messages(&mut self, _job: usize, key: MessageKey) {
        self.run.measure_messages(key);
    }

    fn take_messages(&mut self, _job: usize) -> Vec<ArrivedMessage> {
        self.run.totals.messages.as_mut().map_or_else(Vec::new, |messages| messages.take())
    }

    fn channel_use(&self, _job: usize, until: u64) -> Vec<(ChannelSource, ChannelUse)> {
        self.counted_until.set(until.min(self.counted_until.get()));
        let channels = self.run.plan.channels();
        let of = |channel: u32| {
            let output = self.run.episodes.paths.output_of[channel as usize];
            let bytes = if output == NONE { 0 } else { self.run.totals.used[output as usize] };
            (channels.source(ChannelId(channel)), ChannelUse { bytes, before: 0, after: 0 })
        };
        (0..channels.count()).map(of).collect()
    }

    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic)) {
        visit(&self.run.handover.traffic);
    }

    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {
        self.run.change_traffic(change);
        self.run.settle();
    }

    fn packets(&self) -> Option<&dyn PacketMachine> {
        Some(self)
    }

    fn packets_mut(&mut self) -> Option<&mut dyn PacketMachine> {
        Some(self)
    }

    fn reuse(&self) -> Option<ReuseCounts> {
        Some(self.run.episodes.counts)
    }

    fn take_records(&mut self) -> Option<ReuseRecords> {
        Some(self.run.episodes.records.take())
    }

    fn gave_up(&self, ended: bool) -> Option<String> {
        let episodes = &self.run.episodes;
        let is_cut = ended && (episodes.open > 0 || self.run.totals.last > self.counted_until.get());
        episodes.gave_up.clone().or_else(|| is_cut.then(|| "packets are under way when the run ends".to_owned()))
    }
}

/// Workloads that finish ask for none of this but the start of the measurement, which is that of the run.
impl PacketMachine for ReuseMachine {
    fn measure_from(&mut self, _job: usize, _start: u64) {}

    fn measure_until(&mut self, _job: usize, _end: u64) {}

    fn outstanding(&self, _job: usize, _end: u64) -> bool {
        self.run.episodes.open > 0
    }

    fn by_source(&self, _job: usize) -> Vec<u64> {
        vec![0; self.run.plan.topology().nodes() as usize]
    }

    fn progress_by_source(&self, _job: usize) -> Vec<u64> {
        vec![self.run.now; self.run.plan.topology().nodes() as usize]
    }

    fn under_way(&self, _job: usize) -> u64 {
        0
    }
}
