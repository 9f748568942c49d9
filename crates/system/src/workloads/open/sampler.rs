//! Sampler of open traffic: counts packets, and records messages, operations and the progress of sources.

use std::sync::Arc;

use engine::statistics::Batch as Mean;
use fabric::{ArrivedMessage, Batch, MessageKey};
use topology::ChannelSource;
use traffic::InjectionSpec;
use units::NodeId;

use super::Open;
use super::operations::Operations;
use crate::workloads::sources::Sources;
use crate::workloads::steady::{IntervalEnd, Sampler, SteadyRun, finite};
use crate::workloads::{RunContext, RunTotals, Workload};
use ::network::traffic::{GroupTrees, JobTraffic, OpenTraffic, OpenTrafficSpec, Packets};
use ::network::{Feature, Network};
use ::network::{Machine, Part};
use measure::{Arrived, MessageTimes, OpenResult, PointResult};

/// Sampler of open traffic.
pub(super) struct OpenSampler {
    open: Open,
    context: RunContext,
    /// Accepted traffic of all sources together at load 1.0, in bytes per batch.
    capacity: f64,
    /// Number of nodes that send.
    senders: usize,
    sources: Sources,
    /// Latencies of messages. None unless messages are measured.
    messages: Option<MessageTimes>,
    /// Collective operations. None unless messages have several destinations.
    operations: Option<Operations>,
}
units::state!(OpenSampler { sources; each messages, operations; rebuilt open, context, capacity, senders });

impl OpenSampler {
    pub fn new(open: Open, context: RunContext) -> Self {
        let weights = open.demand().all_weights(context.network.topology.nodes());
        let bytes = injection_bytes(&open, &context);
        let backlogged = open.injection == InjectionSpec::Backlogged;
        Self {
            capacity: weights.iter().sum::<f64>() * bytes,
            senders: weights.iter().filter(|&&weight| weight > 0.0).count(),
            sources: Sources::new(weights, backlogged, bytes * Self::STEP as f64),
            operations: open.multicasts.as_ref().map(|_| Operations::new(open.fanout())),
            messages: context
                .measure
                .messages
                .then(|| MessageTimes::new(&context.network, open.packets().packet).logged(context.logs_messages)),
            open,
            context,
        }
    }

    /// Returns the bytes of each source that have entered the network since the measurement began, once for each
    /// destination. None if the copies of a packet are not known.
    fn entered(&self, machine: &dyn Machine, now: u64) -> Option<Vec<f64>> {
        let mut entered = vec![0.0; self.context.network.topology.nodes() as usize];
        for (from, used) in machine.channel_use(self.context.job, now) {
            if let ChannelSource::Node(node, _) = from {
                entered[node.index()] += used.bytes as f64 * self.open.deliveries(node)?;
            }
        }
        Some(entered)
    }
}

impl Sampler for OpenSampler {
    type Counts = Batch;
    const STEP: usize = 8;
    const IS_EXACT: bool = true;

    /// Returns the latencies of the delivered packets, in the unit of generation times.
    fn time_of(batch: &Batch) -> Mean {
        Mean { sum: batch.latency as f64, weight: batch.packets as f64 }
    }

    fn amount(batch: &Batch) -> f64 {
        batch.bytes as f64
    }

    fn context(&self) -> &RunContext {
        &self.context
    }

    fn load(&self) -> f64 {
        self.open.load
    }

    fn capacity(&self) -> f64 {
        self.capacity
    }

    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        let nodes = part.nodes;
        let RunContext { network, seed, span, .. } = &self.context;
        let (open, load) = (self.open.clone(), self.open.load);
        let spec = OpenTrafficSpec {
            pattern: Arc::clone(&open.pattern),
            routing: Arc::clone(&network.routing),
            multicasts: open.multicasts.clone(),
            groups: GroupTrees::of(network, self.context.first_group),
            injection: open.injection,
            slot: network.slot(open.packets()),
            units_per_tick: network.plan.units_per_tick(),
            packets: match network.has(Feature::Flows) {
                true => Packets { packet: open.packets().message as u32, ..open.packets() },
                false => open.packets(),
            },
            load: Arc::new(move |node: NodeId| load * open.demand().weight(node)),
            seed: *seed,
            planes: network.topology.planes(),
            own_planes: network.own_planes(),
            span: span.clone(),
        };
        JobTraffic::Open(OpenTraffic::new(&spec, nodes))
    }

    fn collect(&mut self, machine: &mut dyn Machine) {
        if self.messages.is_none() && self.operations.is_none() {
            return;
        }
        let units = self.context.network.plan.units_per_tick();
        for message in machine.take_messages(self.context.job) {
            let ArrivedMessage { source, dst, bytes, generated_at, at, .. } = message;
            let latency = at.wrapping_mul(units).wrapping_sub(generated_at);
            if let Some(messages) = &mut self.messages {
                messages.record(Arrived { from: source, to: dst, bytes, latency, at: at.saturating_mul(units) });
            }
            if let Some(operations) = &mut self.operations {
                operations.record(&message, latency);
            }
        }
    }

    fn take(&mut self, ended: &[Batch], counts: &mut Vec<Batch>) {
        counts.extend(ended);
    }

    fn begin(&mut self, now: u64, machine: &mut dyn Machine) {
        let job = self.context.job;
        if self.messages.is_some() || self.operations.is_some() {
            machine.measure_messages(job, MessageKey::Size(self.open.packets().message));
        }
        if let Some(packets) = machine.packets() {
            self.sources.begin(packets.progress_by_source(job), now);
        }
    }

    fn observe(&mut self, now: u64, machine: &dyn Machine) {
        let job = self.context.job;
        if let Some(packets) = machine.packets() {
            self.sources.observe(packets.by_source(job), packets.progress_by_source(job), now);
        }
    }

    fn is_held_back(&self) -> bool {
        self.sources.held_back(self.context.measure.confidence)
    }

    fn end(&mut self, (_, now): (u64, u64), machine: &dyn Machine, end: IntervalEnd) {
        if end == IntervalEnd::WithRun {
            return;
        }
        if let Some((entered, packets)) = self.entered(machine, now).zip(machine.packets()) {
            self.sources.end(&entered, &packets.by_source(self.context.job));
        }
    }

    fn has_drained(&self, (_, end): (u64, u64), machine: &dyn Machine) -> bool {
        !machine.packets().is_some_and(|packets| packets.outstanding(self.context.job, end))
    }

    fn complete(run: &SteadyRun<Self>, _totals: &RunTotals, (open, point): (&mut OpenResult, &mut PointResult)) {
        let (own, interval) = (&run.sampler, run.time());
        let network = &own.context.network;
        let mut delivered = Batch::default();
        run.batches.iter().for_each(|batch| delivered.add(batch));
        // Packets that have not arrived would be missing in the tail. If there are any, only the mean of the delivered
        // ones is reported.
        if !run.drained {
            point.packets = delivered.packets;
            point.hops_mean = (delivered.packets > 0).then(|| delivered.hops as f64 / delivered.packets as f64);
            point.latency_mean_ns = finite(ns(network, interval.mean));
        }
        // No arrival says nothing about an interval that is shorter than a packet's path.
        let is_long = run.measured.1.saturating_sub(run.measured.0) >= network.longest_path();
        let is_measured = open.accepted_load.is_finite() && (delivered.bytes > 0 || is_long);
        if !is_measured {
            open.accepted_load = f64::NAN;
        }
        open.accepted_load_min = own.sources.least(own.open.load, open.accepted_load).filter(|_| is_measured);
        open.latency_ci_ns = finite(ns(network, interval.half_width));
        open.collective = own.operations.as_ref().map(|operations| operations.result(network, run.drained));
        point.nic_overhead_ns = own.context.nic_overhead_ns;
        point.messages = own.messages.as_ref().map(|messages| messages.result(run.drained));
        point.series = run.found.series.result(network, own.capacity / own.context.batch as f64, own.senders);
    }
}

/// Converts a latency to nanoseconds.
fn ns(network: &Network, units: f64) -> f64 {
    units * network.plan.generation_unit().0 as f64 / 1e3
}

/// Returns the bytes of one node that arrive in a batch at load 1.0, sent over all of its injection links. Multicasts
/// count at each destination.
fn injection_bytes(open: &Open, context: &RunContext) -> f64 {
    let sent = context.batch as f64 * open.packets().message as f64 / context.network.slot(open.packets()) as f64;
    f64::from(context.network.planes()) * sent * open.fanout()
}
