//! Machine of the flow model. It advances on one thread: every change of a rate may reach the whole network.

use engine::statistics::Histogram;
use fabric::{Actions, ArrivedMessage, Batch, ChannelUse, MessageKey};
use topology::ChannelSource;
use units::ChannelId;

use super::run::FlowRun;
use crate::handover::MessageRun;
use crate::machine::{Machine, PacketMachine};
use crate::traffic::NodeTraffic;

/// Machine whose messages are flows.
pub(super) struct FlowMachine {
    pub run: FlowRun,
    /// By packet class, the bytes that each channel had carried when the measurement began.
    pub before: Vec<Vec<f64>>,
}

impl Machine for FlowMachine {
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]) {
        let batches = (until - self.run.now).div_ceil(batch) as usize;
        self.run.count_batches(batch);
        self.run.run_until(until);
        for (class, counts) in self.run.counts.iter_mut().zip(counts) {
            class.take_batches(batches, counts);
        }
    }

    fn pass(&mut self, _settled: u64, until: u64) {
        self.run.count_batches(u64::MAX);
        self.run.run_until(until);
    }

    fn measured(&mut self, job: usize) -> (Histogram, u64) {
        let class = &self.run.counts[job];
        (class.latency.clone(), class.hops)
    }

    fn note_arrivals(&mut self, job: usize) {
        self.run.counts[job].arrivals = vec![0; self.run.plan.topology().nodes() as usize];
    }

    fn arrivals(&mut self, job: usize) -> Vec<u64> {
        self.run.counts[job].arrivals.clone()
    }

    fn measure_messages(&mut self, job: usize, key: MessageKey) {
        let nodes = self.run.plan.topology().nodes();
        self.run.counts[job].measure_messages(key, nodes);
    }

    fn take_messages(&mut self, job: usize) -> Vec<ArrivedMessage> {
        self.run.counts[job].messages.as_mut().map_or_else(Vec::new, |messages| messages.take())
    }

    fn channel_use(&self, job: usize, _until: u64) -> Vec<(ChannelSource, ChannelUse)> {
        let channels = self.run.plan.channels();
        let used = self.run.usage(job);
        let sent = |(channel, (used, before)): (u32, (f64, &f64))| {
            let bytes = (used - before).round() as u64;
            (channels.source(ChannelId(channel)), ChannelUse { bytes, before: 0, after: 0 })
        };
        (0..).zip(used.into_iter().zip(&self.before[job])).map(sent).collect()
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
}

/// Measurements that packets and flows have in common. Series, logs of transmissions and waiting packets are refused or
/// empty: there are no queues.
impl PacketMachine for FlowMachine {
    fn measure_from(&mut self, job: usize, start: u64) {
        let units = self.run.plan.units_per_tick();
        self.before[job] = self.run.usage(job);
        let class = &mut self.run.counts[job];
        class.measured = start.saturating_mul(units)..u64::MAX;
        class.by_source.fill(0);
    }

    fn measure_until(&mut self, job: usize, end: u64) {
        self.run.counts[job].measured.end = end.saturating_mul(self.run.plan.units_per_tick());
    }

    fn outstanding(&self, job: usize, end: u64) -> bool {
        let is_before = |generated_at: &u64| *generated_at < end;
        self.run.counts[job].measured_in_flight > 0 || self.progress_by_source(job).iter().any(is_before)
    }

    fn by_source(&self, job: usize) -> Vec<u64> {
        let mut all = self.run.counts[job].by_source.clone();
        all.resize(self.run.plan.topology().nodes() as usize, 0);
        all
    }

    fn progress_by_source(&self, job: usize) -> Vec<u64> {
        let mut times = vec![self.run.now; self.run.plan.topology().nodes() as usize];
        let planes = self.run.plan.channels().planes() as usize;
        for (source, head) in self.run.handover.heads.iter().enumerate() {
            let head = head.map(|head| head.generated_at);
            if let Some(generated_at) = self.run.handover.traffic.next_generation_time(job, source, head) {
                let earliest = &mut times[source / planes];
                *earliest = generated_at.min(*earliest);
            }
        }
        times
    }

    fn is_moving(&self, job: usize) -> bool {
        self.run.counts[job].open > 0
    }

    fn under_way(&self, job: usize) -> u64 {
        self.run.counts[job].under_way
    }
}
