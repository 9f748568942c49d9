//! Workloads of volumes: phases that follow one another, each a set of flows.
//!
//! In a phase, nodes send at the rate of their links. A phase begins when the previous one has ended everywhere: the
//! barrier between them takes no time. Alone in a network, each phase starts on a new, empty machine. Beside other
//! jobs, the end of a phase is known before its last tail arrives, since a delivery is counted when its head leaves the
//! last router. So it suffices to poll at intervals of the ejection channel's delay to begin the next phase in time.

use std::sync::Arc;

use fabric::{ArrivedMessage, MessageKey};
use tasks::TaskGraph;
use topology::Topology;
use traffic::{PlacedPattern, Placement};
use units::{NodeId, TaskId};

use super::application::{self, CopyPlace, SetLoads, application_flows};
use super::closed::{self, ClosedCounts, Ending};
use super::exchange::Exchange;
use super::{
    Copies, DemandModel, JobCounts, RunContext, RunLength, RunState, RunTotals, Weights, Workload, WorkloadRun,
};
use ::experiment::MeasureSpec;
use ::network::traffic::{Flow, JobTraffic, VolumeTraffic};
use ::network::{Feature, Machine, Part};
use ::network::{Network, Packets};
use measure::Arrived;
use measure::{ApplicationResult, ClosedResult, MappingFigures, PhaseResult, PointResult};

/// Source of the phases.
#[derive(Clone, Debug)]
pub(crate) enum Phases {
    /// Nearest-neighbour exchange, dimension by dimension.
    Exchange(Exchange),
    /// Step of an application.
    Application(Arc<TaskGraph>),
}

/// Workload of volumes.
#[derive(Clone, Debug)]
pub(crate) struct Volumes {
    pub phases: Phases,
    pub placement: Arc<Placement>,
    pub pattern: Arc<PlacedPattern>,
    /// Size of a packet, in bytes.
    pub packet: u32,
    /// Computation before the first phase on the node that computes most, in picoseconds.
    pub compute: u64,
    pub topology: Arc<dyn Topology>,
    /// Nodes of an application's job.
    pub nodes: Vec<NodeId>,
    /// Traffic model for analyses. None unless routers copy multicasts.
    pub sets: Option<Arc<SetLoads>>,
}

impl Volumes {
    fn count(&self) -> usize {
        match &self.phases {
            Phases::Exchange(exchange) => exchange.phases.len(),
            Phases::Application(graph) => graph.phases.len(),
        }
    }

    /// Returns a phase's dimension or index, and its name.
    fn phase(&self, phase: usize) -> (u32, String) {
        match &self.phases {
            Phases::Exchange(exchange) => (exchange.phases[phase], format!("dimension {}", exchange.phases[phase])),
            Phases::Application(graph) => (phase as u32, graph.phases[phase].name.clone()),
        }
    }

    fn tasks(&self) -> u32 {
        match &self.phases {
            Phases::Exchange(_) => self.placement.len(),
            Phases::Application(graph) => graph.tasks(),
        }
    }
}

impl Workload for Volumes {
    fn demand(&self) -> DemandModel<'_> {
        let own = DemandModel::of(&self.pattern);
        match self.sets.as_deref() {
            None => own,
            Some(sets) => DemandModel {
                destinations: sets.fanout,
                weights: Weights::Given(&sets.sent),
                copies: Copies::Volumes(sets),
                ..own
            },
        }
    }

    fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    fn packets(&self) -> Packets {
        Packets { message: u64::from(self.packet), packet: self.packet }
    }

    fn partial_packets(&self) -> Vec<u64> {
        let rest = |bytes: u64| bytes % u64::from(self.packet);
        match &self.phases {
            Phases::Exchange(exchange) => vec![rest(exchange.volume)],
            Phases::Application(_) => {
                let flows = (0..self.count()).flat_map(|phase| self.flows(phase));
                flows.flatten().map(|flow| rest(flow.left)).collect()
            }
        }
    }

    fn batch(&self, network: &Network, _measure: &MeasureSpec) -> u64 {
        closed::poll_interval(network, self.packets())
    }

    fn run_length(&self, _network: &Network, _measure: &MeasureSpec, _batch: u64) -> RunLength {
        let flows = (0..self.count()).flat_map(|phase| self.flows(phase)).flatten();
        let packets = |flow: Flow| flow.left.div_ceil(u64::from(self.packet)) * flow.nodes().len() as u64;
        RunLength::Packets(flows.map(packets).sum())
    }

    fn least_time(&self, network: &Network, _measure: &MeasureSpec, _batch: u64) -> u64 {
        let phases = (0..self.count()).map(|phase| fullest_time(&self.flows(phase), self.packet, network));
        let compute = self.compute.div_ceil(network.plan.tick().0);
        phases.fold(compute, u64::saturating_add)
    }

    fn start(&self, context: &RunContext) -> Box<dyn WorkloadRun> {
        Box::new(VolumesRun::new(self.clone(), context.clone()))
    }

    fn phases(&self) -> usize {
        self.count()
    }

    fn flows(&self, phase: usize) -> Vec<Vec<Flow>> {
        match &self.phases {
            Phases::Exchange(exchange) => exchange.flows(phase, &self.placement),
            Phases::Application(graph) => {
                let copies = if self.sets.is_some() { CopyPlace::InRouters } else { CopyPlace::AtRoot };
                application_flows(&graph.phases[phase], &self.placement, copies)
            }
        }
    }

    fn only_phase(&self, phase: usize) -> Option<Arc<dyn Workload>> {
        let phases = match &self.phases {
            Phases::Exchange(own) => {
                Phases::Exchange(Exchange { phases: vec![*own.phases.get(phase)?], ..own.clone() })
            }
            Phases::Application(own) => {
                let mut graph = TaskGraph::clone(own);
                graph.phases = vec![graph.phases.get(phase)?.clone()];
                Phases::Application(Arc::new(graph))
            }
        };
        Some(Arc::new(Self { phases, compute: 0, ..self.clone() }))
    }

    fn mapping(&self) -> Option<MappingFigures> {
        match &self.phases {
            Phases::Exchange(_) => None,
            Phases::Application(graph) => application::figures(graph, &self.placement, (&self.topology, &self.nodes)),
        }
    }
}

/// Counts of a phase, in ticks and bytes.
#[derive(Debug)]
struct PhaseCounts {
    /// Time to the last arrival, or to the end of the run if that is earlier, in ticks.
    time: u64,
    finished: bool,
    bytes: u64,
    senders: u64,
    /// Bytes sent for each byte that arrives. Less than 1 if routers make copies.
    sent: f64,
    /// Time from the begin of the phase to the last arrival at each node, in ticks.
    arrivals: Vec<u64>,
}
units::record!(PhaseCounts { time, finished, bytes, senders, sent, arrivals });

/// Returns the bytes of a node's flows to each destination, in ascending order of destinations.
fn by_destination<'a>(flows: &'a [Flow]) -> Vec<(NodeId, u64)> {
    let of = |flow: &'a Flow| flow.nodes().iter().map(|&dst| (dst, flow.left));
    let mut all: Vec<(NodeId, u64)> = flows.iter().flat_map(of).collect();
    all.sort_unstable();
    all.dedup_by(|next, first| {
        let same = next.0 == first.0;
        first.1 += if same { next.1 } else { 0 };
        same
    });
    all
}

/// Returns the time in ticks of the node whose links carry most in a phase. `flows` holds the flows of each node,
/// `packet` the size of packets in bytes.
fn fullest_time(flows: &[Vec<Flow>], packet: u32, network: &Network) -> u64 {
    let mut received = vec![0_u64; flows.len()];
    let mut most_sent = 0;
    for own in flows {
        let sent = own.iter().map(|flow| flow.left).fold(0, u64::saturating_add);
        most_sent = sent.max(most_sent);
        for flow in own {
            for node in flow.nodes() {
                let all = &mut received[node.index()];
                *all = all.saturating_add(flow.left);
            }
        }
    }
    let limits_receivers = network.has(Feature::ReceiverLinks);
    let most_received = received.into_iter().max().filter(|_| limits_receivers).unwrap_or(0);
    let of = |class, bytes| network.least_time(class, bytes, packet);
    of(network.injection(), most_sent).max(of(network.ejection(), most_received))
}

/// Run of phases.
struct VolumesRun {
    volumes: Volumes,
    context: RunContext,
    /// Flows of the current phase, its bytes, and the bytes delivered.
    flows: Vec<Vec<Flow>>,
    volume: u64,
    delivered: u64,
    /// Begin of the current phase, and latest end of the run, in the machine's ticks.
    begun: u64,
    longest: u64,
    done: Vec<PhaseCounts>,
    counted: ClosedCounts,
    /// Whether the phase has ended, or the time is up.
    ended: bool,
}
units::state!(VolumesRun { flows, volume, delivered, begun, longest, done, counted, ended; rebuilt volumes, context });

impl VolumesRun {
    fn new(volumes: Volumes, context: RunContext) -> Self {
        let tick = context.network.plan.tick().0;
        let compute = volumes.compute.div_ceil(tick);
        // Alone, the computation is over before the first machine starts.
        let (begun, longest) = match context.shared {
            true => (context.span.start.saturating_add(compute), context.longest().min(context.span.end)),
            false => (0, context.longest().saturating_sub(compute)),
        };
        let mut run = Self {
            flows: Vec::new(),
            volume: 0,
            delivered: 0,
            begun,
            longest,
            done: Vec::new(),
            counted: ClosedCounts::new(&context, volumes.packet, Some(0)),
            ended: volumes.count() == 0,
            volumes,
            context,
        };
        run.load_phase();
        run.skip_empty();
        run
    }

    /// Closes the empty phases with which a job begins beside others. The network draws the first packets of all jobs
    /// at their start, so that the first phase with flows must be known there.
    fn skip_empty(&mut self) {
        while self.context.shared && self.volume == 0 && !self.is_last() {
            let arrivals = vec![0; self.flows.len()];
            self.done.push(PhaseCounts { time: 0, finished: true, bytes: 0, sent: 0.0, senders: 0, arrivals });
            self.load_phase();
        }
    }

    /// Whether the current phase is the last.
    fn is_last(&self) -> bool {
        self.done.len() + 1 >= self.volumes.count()
    }

    /// Loads the flows of the next phase.
    fn load_phase(&mut self) {
        if self.done.len() < self.volumes.count() {
            self.flows = self.volumes.flows(self.done.len());
            self.volume = self.flows.iter().flatten().map(Flow::delivered).sum();
            self.delivered = 0;
        }
    }

    /// Records the counts of the current phase.
    fn close_phase(&mut self, machine: &mut dyn Machine) {
        let mut arrivals = machine.arrivals(self.context.job);
        self.record_messages(machine);
        arrivals.iter_mut().for_each(|arrival| *arrival = arrival.saturating_sub(self.begun));
        let finished = self.delivered == self.volume;
        let last = arrivals.iter().copied().max().unwrap_or(0);
        if !finished {
            self.counted.under_way = machine.under_way(self.context.job);
        }
        self.done.push(PhaseCounts {
            time: if finished { last } else { self.longest.saturating_sub(self.begun) },
            finished,
            bytes: self.delivered - if finished { 0 } else { self.counted.under_way },
            sent: self.flows.iter().flatten().map(|flow| flow.left).sum::<u64>() as f64 / self.volume.max(1) as f64,
            senders: self.flows.iter().filter(|flows| !flows.is_empty()).count() as u64,
            arrivals,
        });
    }

    /// Records messages that have arrived whole in the current phase. All messages are generated as the phase begins.
    fn record_messages(&mut self, machine: &mut dyn Machine) {
        let Some(messages) = &mut self.counted.messages else { return };
        let arrived = machine.take_messages(self.context.job);
        let volumes: Vec<Vec<(NodeId, u64)>> = self.flows.iter().map(|flows| by_destination(flows)).collect();
        for ArrivedMessage { source, dst, bytes, at, .. } in arrived {
            let own = &volumes[source.index()];
            let whole = own.binary_search_by_key(&dst, |&(dst, _)| dst).is_ok_and(|place| own[place].1 == bytes);
            if whole {
                let units = self.context.network.plan.units_per_tick();
                let [latency, at] = [at - self.begun, at].map(|time| time.saturating_mul(units));
                messages.record(Arrived { from: source, to: dst, bytes, latency, at });
            }
        }
    }

    /// Ends a phase whose bytes have been delivered, or whose time is up.
    fn check_phase(&mut self, now: u64, machine: &mut dyn Machine) {
        while !self.ended && (self.delivered >= self.volume || now >= self.longest) {
            let goes_on = self.context.shared && self.delivered >= self.volume && !self.is_last();
            self.close_phase(machine);
            if !goes_on {
                self.ended = true;
                return;
            }
            self.begun += self.done.last().map_or(0, |phase| phase.time);
            self.load_phase();
            let (job, flows, at) = (self.context.job, &self.flows, self.begun);
            machine.change_traffic(&mut |traffic, actions| traffic.begin_phase(job, flows, at, actions));
        }
    }

    /// Returns a lower bound of the time in ticks to deliver the rest of the current phase.
    fn least_left(&self) -> u64 {
        let network = &self.context.network;
        let packet = self.volumes.packet;
        let nodes = u64::from(network.topology.nodes()) * u64::from(network.planes());
        let packets = (self.volume - self.delivered) / u64::from(packet) / nodes.max(1);
        packets.saturating_sub(1) * network.plan.serialization(network.ejection(), packet)
    }
}

impl WorkloadRun for VolumesRun {
    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        let nodes = part.nodes;
        let RunContext { network, seed, span, .. } = &self.context;
        let own = nodes.iter().map(|&node| (NodeId(node), &self.flows[node as usize][..]));
        let own: Vec<_> = own.collect();
        let packet = (self.volumes.packet, network.slot(self.volumes.packets()));
        let span = self.begun..if self.context.shared { span.end } else { u64::MAX };
        let planes = (network.topology.planes(), network.own_planes());
        let traffic = VolumeTraffic::new(&network.routing, (*seed, planes), packet, span, &own);
        JobTraffic::Volume(match network.has(Feature::Flows) || network.has(Feature::Messages) {
            true => traffic.whole(),
            false => traffic,
        })
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        machine.note_arrivals(self.context.job);
        machine.measure_from(self.context.job, 0);
        if self.counted.messages.is_some() {
            machine.measure_messages(self.context.job, MessageKey::Pair);
        }
        self.ended = self.volumes.count() == 0;
        self.check_phase(0, machine);
    }

    fn next_decision(&self, now: u64) -> u64 {
        let RunContext { network, batch, shared, .. } = &self.context;
        if !shared {
            return self.longest.min(now.saturating_add(*batch));
        }
        let end = self.longest.max(now + 1).min(self.context.end_of_batch(now));
        if self.is_last() {
            return end;
        }
        let soon = network.plan.link_delay(network.ejection()).max(1);
        end.min(now.max(self.begun).saturating_add(soon.max(self.least_left())))
    }

    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine) {
        self.counted.counts.add(&counts.sum);
        self.delivered = self.counted.counts.bytes - self.done.iter().map(|phase| phase.bytes).sum::<u64>();
        self.check_phase(now, machine);
    }

    fn state(&self) -> RunState {
        if self.ended {
            return RunState::Ended;
        }
        let part = self.delivered as f64 / self.volume.max(1) as f64;
        RunState::Running((self.done.len() as f64 + part) / self.volumes.count().max(1) as f64)
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        if !self.ended {
            self.longest = now;
            self.close_phase(machine);
        }
        let span = match self.done.split_last() {
            // Alone, each phase is a machine that begins at time 0, after the computation and the earlier phases.
            Some((last, before)) if !self.context.shared => {
                let compute = self.volumes.compute.div_ceil(self.context.network.plan.tick().0);
                (compute + before.iter().map(|phase| phase.time).sum::<u64>(), last.time)
            }
            _ => (0, u64::MAX),
        };
        // The tail of the last packet may arrive after the present.
        let end = self.done.last().map_or(self.begun, |phase| self.begun + phase.time);
        let of_machine = if self.context.shared { now } else { end };
        self.counted.series.extend(machine.samples(of_machine), self.context.job, span);
        self.counted.channels.extend(machine.channel_use(self.context.job, end));
        self.counted.latency.merge(&machine.measured(self.context.job).0);
    }

    fn continues(&mut self) -> bool {
        let finished = self.done.last().is_some_and(|phase| phase.finished);
        if self.context.shared || !finished || self.done.len() == self.volumes.count() {
            return false;
        }
        self.longest = self.longest.saturating_sub(self.done.last().map_or(0, |phase| phase.time));
        self.load_phase();
        true
    }

    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult {
        let Self { volumes, context, done, counted, .. } = *self;
        let network = &context.network;
        let tick = network.plan.tick().0;
        let compute = volumes.compute.min(context.longest().saturating_mul(tick));
        let ns = |picoseconds: u64| picoseconds as f64 / 1e3;
        // Bytes that a sender's links carry in a tick.
        let rate = f64::from(network.planes()) * f64::from(volumes.packet) / network.slot(volumes.packets()) as f64;
        let throughput = |phase: &PhaseCounts| match phase.time {
            _ if !phase.finished && phase.bytes == 0 => None,
            0 => Some(0.0),
            time => Some(phase.sent * phase.bytes as f64 / (time as f64 * phase.senders as f64 * rate)),
        };
        let time = compute + done.iter().map(|phase| phase.time).sum::<u64>() * tick;
        let finished = done.len() == volumes.count() && done.iter().all(|phase| phase.finished);
        let of_node =
            |node: NodeId| compute + tick * done.iter().map(|phase| phase.arrivals[node.index()]).sum::<u64>();
        let of_phase = |(number, phase): (usize, &PhaseCounts)| {
            let (dimension, name) = volumes.phase(number);
            let time_ns = phase.finished.then(|| network.ns(phase.time));
            PhaseResult { dimension, name, time_ns, bytes: phase.bytes, throughput: throughput(phase) }
        };
        let closed = ClosedResult {
            time_ns: finished.then(|| ns(time)),
            bandwidth_bytes_per_s: counted.bandwidth(ns(time), finished),
            per_rank: (0..volumes.tasks())
                .map(|task| finished.then(|| ns(of_node(volumes.placement.node(TaskId(task))))))
                .collect(),
            phases: done.iter().enumerate().map(of_phase).collect(),
            application: volumes.application(ns(compute)),
            ..ClosedResult::default()
        };
        let (offered, senders) = volumes.demand().offered(network.topology.nodes());
        let RunTotals { packet_hops, wall_s, .. } = *totals;
        let ending = Ending { time, finished, rate, offered, senders, packet_hops, wall_s };
        closed::result(&context, &counted, &ending, closed)
    }
}

impl Volumes {
    /// Returns the results that only an application has. None for an exchange.
    pub(super) fn application(&self, compute_ns: f64) -> Option<ApplicationResult> {
        match &self.phases {
            Phases::Exchange(_) => None,
            Phases::Application(_) => Some(ApplicationResult { compute_ns, mapping: self.mapping() }),
        }
    }
}
