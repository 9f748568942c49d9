//! Sources: the channels of nodes into the planes, and the queues of the jobs at them.

use std::collections::{BTreeMap, VecDeque};

use routing::RouteState;
use topology::{ChannelClass, Endpoint};
use units::{NodeId, PlaneId, PortId, RouterId, VcClass};

use super::combine::Part;
use super::packet::{Content, Packet};
use super::{Flow, Mutant, NoDraw, Simulator, Window};

/// Channel of a node into a plane.
#[derive(Debug)]
pub(super) struct Source {
    node: NodeId,
    plane: PlaneId,
    queues: Vec<Queue>,
    /// Job served last. Initially the last, so that the first goes first.
    served: usize,
    /// Packet that goes next.
    next: Option<Packet>,
}

/// Queue of a job at a source.
#[derive(Debug, Default)]
struct Queue {
    /// Flows, in the order of their turns.
    flows: VecDeque<Flow>,
    /// Generation time of the next packet, in picoseconds.
    generated: u64,
    /// Packet that has been taken from the flows and has to wait.
    head: Option<Packet>,
    acknowledgements: VecDeque<Packet>,
    /// Part in an allreduce.
    part: Option<Part>,
    /// Unacknowledged bytes of each flow, by destination.
    outstanding: BTreeMap<NodeId, u64>,
}

impl Source {
    pub fn new(node: NodeId, plane: PlaneId, jobs: usize) -> Self {
        let queues = (0..jobs).map(|_| Queue::default()).collect();
        Self { node, plane, queues, served: jobs.saturating_sub(1), next: None }
    }

    pub fn set_part(&mut self, job: usize, part: Part) {
        self.queues[job].part = Some(part);
    }
}

impl Simulator<'_> {
    /// Begins the next phase of a job, and the phases after it as long as they are empty.
    pub(super) fn begin_phase(&mut self, now: u64, job: usize) {
        while !self.jobs.is_waiting(job)
            && let Some((begin, flows)) = self.jobs.next_phase(job)
        {
            let bytes = self.jobs.of(job).allreduce.filter(|_| self.jobs.is_first_phase(job)).unwrap_or(0);
            let results = self.begin_allreduce(job, bytes);
            self.jobs.expect(job, results);
            for source in 0..self.sources.len() {
                let Source { node, plane, .. } = self.sources[source];
                let own = flows[node.index()].iter().filter_map(|flow| self.stripe(flow, plane));
                let own: VecDeque<Flow> = own.collect();
                let copies = own.iter().map(|flow| flow.bytes.div_ceil(self.network.packet) * flow.to.len() as u64);
                self.jobs.expect(job, copies.sum());
                let queue = &mut self.sources[source].queues[job];
                (queue.flows, queue.generated) = (own, begin);
                self.put_back(now, source);
                self.choose(now, source);
            }
        }
    }

    /// Returns a plane's part of a flow: whole packets, as evenly as possible, the first planes one
    /// packet more.
    fn stripe(&self, flow: &Flow, plane: PlaneId) -> Option<Flow> {
        let planes = u64::from(self.network.topology.planes());
        let plane = match self.network.mutant {
            Some(Mutant::SwappedPlanes) => planes - 1 - u64::from(plane.0),
            _ => u64::from(plane.0),
        };
        let packets = flow.bytes.div_ceil(self.network.packet);
        let before = |plane: u64| (packets / planes * plane + plane.min(packets % planes)) * self.network.packet;
        let bytes = before(plane + 1).min(flow.bytes) - before(plane).min(flow.bytes);
        (bytes > 0).then(|| Flow { bytes, ..flow.clone() })
    }

    /// Sends a source's next packet if its channel is free and has credit for it.
    pub(super) fn inject(&mut self, now: u64, source: usize) {
        let channel = self.channels.ports() as usize + source;
        self.put_back(now, source);
        self.choose(now, source);
        let Some(packet) = &self.sources[source].next else { return };
        let packet = packet.clone();
        let ready = packet.generated.max(self.senders[channel].free_at);
        if ready > now {
            self.events.visit_source(ready, source);
        } else if let Some(vc) = self.vc_with_room(channel, &packet) {
            let own = &mut self.sources[source];
            (own.next, own.served) = (None, packet.job);
            self.transmit(now, channel, vc, Packet { tail: now, ..packet });
            self.choose(now, source);
        } else {
            self.senders[channel].starved = true;
        }
    }

    /// Puts a source's next packet back into its queue, if it is not due.
    fn put_back(&mut self, now: u64, source: usize) {
        let Source { next, queues, .. } = &mut self.sources[source];
        if let Some(packet) = next.take_if(|packet| packet.generated > now) {
            let queue = &mut queues[packet.job];
            queue.release(&packet);
            queue.head = Some(packet);
        }
    }

    /// Chooses a source's next packet if it has none: the first, in the turn of jobs, that is due; if none is due, the
    /// one that is due first.
    fn choose(&mut self, now: u64, source: usize) {
        if self.sources[source].next.is_some() {
            return;
        }
        let jobs = self.sources[source].queues.len();
        let first = match self.network.mutant {
            Some(Mutant::FirstJobFirst) => 0,
            _ => self.sources[source].served + 1,
        };
        let mut heads = Vec::new();
        for job in (first..first + jobs).map(|job| job % jobs) {
            heads.extend(self.head(now, source, job));
        }
        let Some(at) = (0..heads.len()).min_by_key(|&at| heads[at].generated.max(now)) else { return };
        let chosen = heads.remove(at);
        let own = &mut self.sources[source];
        for other in heads {
            own.queues[other.job].keep(other);
        }
        own.queues[chosen.job].occupy(&chosen);
        let ready = chosen.generated.max(self.senders[self.channels.ports() as usize + source].free_at);
        own.next = Some(chosen);
        self.events.visit_source(ready.max(now), source);
    }

    /// Takes the packet that a job would send next from its queue.
    fn head(&mut self, now: u64, source: usize, job: usize) -> Option<Packet> {
        let queue = &mut self.sources[source].queues[job];
        if let Some(acknowledgement) = queue.acknowledgements.pop_front() {
            return Some(Packet { generated: now, ..acknowledgement });
        }
        queue.head.take().or_else(|| self.generate(source, job))
    }

    /// Returns the next packet of a job's flows, which take turns. A flow whose window is full is passed over. Packets
    /// are generated as fast as the channel can take them.
    fn generate(&mut self, source: usize, job: usize) -> Option<Packet> {
        if let Some(mut part) = self.sources[source].queues[job].part.clone() {
            let (bytes, place) = self.contribute(self.sources[source].node, &mut part)?;
            self.sources[source].queues[job].part = Some(part);
            return Some(Packet { bytes, tree: Some(place), ..self.new_packet(job, self.sources[source].node, &[]) });
        }
        let full = self.serialization(ChannelClass::INJECTION, self.network.packet);
        let (packet, window) = (self.network.packet, self.window(job));
        let Source { node, queues, .. } = &mut self.sources[source];
        let (node, queue) = (*node, &mut queues[job]);
        let may_send = |flow: &Flow| {
            let outstanding = queue.outstanding.get(&flow.to[0]).copied().unwrap_or(0);
            window.is_none_or(|window| outstanding + flow.bytes.min(packet) <= window)
        };
        let turn = queue.flows.iter().position(may_send)?;
        queue.flows.rotate_left(turn);
        let flow = queue.flows.pop_front()?;
        let bytes = flow.bytes.min(packet);
        if flow.bytes > bytes {
            queue.flows.push_back(Flow { bytes: flow.bytes - bytes, ..flow.clone() });
        }
        let generated = queue.generated;
        queue.generated += full * bytes / packet;
        Some(Packet { bytes, generated, ..self.new_packet(job, node, &flow.to) })
    }

    /// Returns the bytes of a job's windows.
    fn window(&self, job: usize) -> Option<u64> {
        let Window { bytes, .. } = self.jobs.of(job).window?;
        Some(bytes - u64::from(self.network.mutant == Some(Mutant::ShortWindow)))
    }

    fn new_packet(&self, job: usize, src: NodeId, to: &[NodeId]) -> Packet {
        let start = |&dst: &NodeId| (dst, self.network.routing.start(src, dst, &mut NoDraw));
        let members: Vec<(NodeId, RouteState)> = to.iter().map(start).collect();
        Packet {
            job,
            src,
            content: Content::Data,
            bytes: 0,
            generated: 0,
            members,
            tree: None,
            in_port: PortId(0),
            vc: 0,
            vc_class: VcClass(0),
            out: 0,
            class: VcClass(0),
            run: 0,
            share: None,
            time_in: 0,
            tail: 0,
        }
    }

    // --- deliveries and acknowledgements --------------------------------------------------------------------------

    /// Notes that a packet's tail will be at a node at `at`. The end of a phase is known now, and the next phase begins
    /// then.
    pub(super) fn arrive_at_node(&mut self, now: u64, (node, channel): (NodeId, usize), at: u64, packet: Packet) {
        let job = packet.job;
        let is_data = packet.content == Content::Data;
        if self.jobs.of(job).window.is_some() || packet.tree.is_some() {
            let router = self.channels.source(units::ChannelId(channel as u32));
            let topology::ChannelSource::Router(router, _) = router else { return };
            let plane = self.network.topology.plane_of(router);
            self.events.deliver(at, self.source_of(node, plane), packet);
        }
        if is_data && self.jobs.deliver(job, node, at) {
            self.begin_phase(now, job);
        }
    }

    fn source_of(&self, node: NodeId, plane: PlaneId) -> usize {
        self.channels.injection_on(node, plane).index() - self.channels.ports() as usize
    }

    /// Acknowledges a packet whose tail is at the node of a source, or takes the acknowledgement that it is.
    pub(super) fn delivered(&mut self, now: u64, source: usize, packet: &Packet) {
        let Source { node, plane, .. } = self.sources[source];
        if let (Some(part), Some(place)) = (&mut self.sources[source].queues[packet.job].part, packet.tree) {
            part.finish(place.segment);
            return self.events.visit_source(now, source);
        }
        let (job, back) = (packet.job, self.source_of(packet.src, plane));
        match (packet.content, self.jobs.of(job).window) {
            (Content::Acknowledgement { bytes }, _) => self.acknowledged(now, source, (job, packet.src), bytes),
            (Content::Data, Some(Window { ack: Some(size), .. })) => {
                let content = Content::Acknowledgement { bytes: packet.bytes };
                let acknowledgement = Packet { bytes: size, content, ..self.new_packet(job, node, &[packet.src]) };
                self.sources[source].queues[job].acknowledgements.push_back(acknowledgement);
                self.events.visit_source(now, source);
            }
            (Content::Data, _) => {
                let at = now + self.idle_path(node, packet.src);
                self.events.acknowledge(at, back, (job, node), packet.bytes);
            }
        }
    }

    /// Opens the window of a flow.
    pub(super) fn acknowledged(&mut self, now: u64, source: usize, (job, dst): (usize, NodeId), bytes: u64) {
        if let Some(outstanding) = self.sources[source].queues[job].outstanding.get_mut(&dst) {
            *outstanding -= bytes;
        }
        self.events.visit_source(now, source);
    }

    /// Returns the delay of the idle path between two nodes: of all channels and routers on the shortest path that
    /// takes the lowest port at each router.
    fn idle_path(&self, from: NodeId, to: NodeId) -> u64 {
        let topology = self.network.topology;
        let delay = |class: ChannelClass| self.network.links[class.0 as usize].delay;
        let (mut at, end) = (topology.attachment(from).0, topology.attachment(to).0);
        let of_router = |router: RouterId| self.network.routers[router.index()].delay;
        let mut time = delay(ChannelClass::INJECTION) + delay(ChannelClass::EJECTION) + of_router(at);
        while at != end {
            let nearer = |port: PortId| match topology.endpoint(at, port) {
                Endpoint::Router(next, _) if topology.distance(next, end) < topology.distance(at, end) => {
                    Some((next, port))
                }
                _ => None,
            };
            let Some((next, port)) = (0..topology.ports(at)).map(PortId).find_map(nearer) else { break };
            time += delay(topology.class(at, port)) + of_router(next);
            at = RouterId(next.0);
        }
        time
    }
}

impl Queue {
    /// Counts a data packet as unacknowledged.
    fn occupy(&mut self, packet: &Packet) {
        if packet.content == Content::Data && packet.tree.is_none() {
            *self.outstanding.entry(packet.members[0].0).or_insert(0) += packet.bytes;
        }
    }

    /// Takes back `occupy`.
    fn release(&mut self, packet: &Packet) {
        if let (Content::Data, Some((dst, _))) = (packet.content, packet.members.first())
            && let Some(outstanding) = self.outstanding.get_mut(dst)
        {
            *outstanding -= packet.bytes;
        }
    }

    /// Keeps a packet that another job's packet goes before.
    fn keep(&mut self, packet: Packet) {
        match packet.content {
            Content::Data => self.head = Some(packet),
            Content::Acknowledgement { .. } => self.acknowledgements.push_front(packet),
        }
    }
}
