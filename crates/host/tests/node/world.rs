//! Network that delivers every packet after a fixed time, for executors, over one partition or several.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use host::{
    Arrived, Envelope, Executor, Groups, LocalRanks, NicParams, NodeParams, Outgoing, PacketContext, RelayParams, Ways,
};
use mpi::program::{Ended, Matched, Messages, Notify, Op, ProgramError, ProgramGroup, Programs, RankProgram};

use crate::switch::Switch;

pub const TRANSIT: u64 = 1000;

/// Packet in flight: the time at which it was generated, the node that sends it, and its arrival.
type Packet = (u64, u32, Arrived);

/// Requests of one executor.
#[derive(Default)]
pub struct Requests {
    pub alarms: Vec<u64>,
    pub woken: Vec<u32>,
    pub announced: Vec<(u32, Envelope)>,
}

impl PacketContext for Requests {
    fn wake(&mut self, node: u32) {
        self.woken.push(node);
    }

    fn alarm(&mut self, at: u64) {
        self.alarms.push(at);
    }

    fn announce(&mut self, node: u32, envelope: Envelope) {
        self.announced.push((node, envelope));
    }
}

/// Executors and their pending events, by time in ticks.
pub struct World {
    pub executors: Vec<Executor>,
    executor_of: Arc<[u16]>,
    number_of: Arc<[u32]>,
    interface: NicParams,
    /// By rail, the time of the largest packet on a link, in ticks.
    paces: Vec<u64>,
    alarms: BTreeMap<u64, Vec<u16>>,
    arrivals: BTreeMap<u64, Vec<Packet>>,
    /// Executors and their sources that have something to send.
    woken: Vec<(usize, u32)>,
    announced: BTreeMap<u64, Vec<(u32, Envelope)>>,
    /// Switch that carries packets of groups.
    pub switch: Switch,
    /// Function that returns a packet's delay beyond `TRANSIT`, given its rank and the time at which it was generated.
    pub delay: fn(u32, u64) -> u64,
    /// Whether a packet is in flight from its release on, rather than from its handover on.
    pub waits_for_release: bool,
    /// Whether a packet's tail arrives later than its head, by its time on the link.
    pub has_links: bool,
    pub now: u64,
}

impl World {
    /// Creates ranks on nodes, divided over `parts` executors.
    pub fn new(programs: &Arc<dyn Programs>, interface: NicParams, node_of: &[u32], parts: u32) -> Self {
        let nodes = node_of.iter().max().map_or(0, |node| node + 1);
        Self::divided(programs, interface, node_of, (0..nodes).map(|node| (node % parts) as u16).collect())
    }

    /// Creates ranks on nodes, each of which belongs to a given executor.
    pub fn divided(
        programs: &Arc<dyn Programs>,
        interface: NicParams,
        node_of: &[u32],
        executor_of: Arc<[u16]>,
    ) -> Self {
        let parts = executor_of.iter().max().map_or(1, |last| last + 1);
        let before = |node: usize| executor_of[..node].iter().filter(|&&part| part == executor_of[node]).count() as u32;
        let number_of: Arc<[u32]> = (0..executor_of.len()).map(before).collect();
        let groups = Arc::new(Groups::of(&**programs));
        let executor = |part: u16| {
            let count = executor_of.iter().filter(|&&own| own == part).count();
            let places = (Arc::clone(&executor_of), Arc::clone(&number_of));
            let placed = LocalRanks::new(node_of.into(), places, part, count);
            let executor = Executor::new(programs, interface, placed);
            if groups.is_empty() { executor } else { executor.with_groups(Arc::clone(&groups)) }
        };
        Self {
            executors: (0..parts).map(executor).collect(),
            executor_of: Arc::clone(&executor_of),
            number_of: Arc::clone(&number_of),
            interface,
            paces: vec![interface.pace; interface.rails.count as usize],
            alarms: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            woken: Vec::new(),
            announced: BTreeMap::new(),
            switch: Switch::new(Arc::clone(&groups), node_of.into(), interface.protocol.group.window),
            delay: |_, _| 0,
            waits_for_release: false,
            has_links: false,
            now: 0,
        }
    }

    /// Sets the processor of each node.
    pub fn equip(&mut self, node: impl Fn(u32) -> NodeParams) {
        let executors = std::mem::take(&mut self.executors).into_iter();
        self.executors = executors.map(|executor| executor.with_nodes(&node)).collect();
    }

    /// Joins the nodes by several networks.
    pub fn join(&mut self, ways: &Arc<dyn Ways>, relays: RelayParams) {
        self.paces = (0..self.interface.rails.count).map(|rail| ways.pace(rail)).collect();
        let executors = std::mem::take(&mut self.executors).into_iter();
        self.executors = executors.map(|executor| executor.with_ways(Arc::clone(ways), relays)).collect();
    }

    /// Has the segments of groups leave by rails in turn.
    pub fn group_rails(&mut self, rails: &[u32]) {
        let executors = std::mem::take(&mut self.executors).into_iter();
        self.executors = executors.map(|executor| executor.with_group_rails(|_, _| rails.to_vec())).collect();
    }

    /// Runs until nothing is pending.
    pub fn run(&mut self) {
        for part in 0..self.executors.len() {
            self.call(part, |executor, requests| executor.begin(0, requests));
        }
        self.serve();
        let next = |world: &Self| {
            let times = [world.alarms.keys().next(), world.arrivals.keys().next(), world.announced.keys().next()];
            times.into_iter().flatten().copied().chain(world.switch.next()).min()
        };
        while let Some(now) = next(self) {
            self.now = now;
            for (node, envelope) in self.announced.remove(&now).unwrap_or_default() {
                self.executors[usize::from(self.executor_of[node as usize])].announced(envelope);
            }
            let mut arrived = self.arrivals.remove(&now).unwrap_or_default();
            // Sorted by node and rail, as the fabric delivers packets, whatever the division; here a rail may deliver
            // several packets in a tick.
            arrived.sort_unstable_by_key(|&(generated_at, from, Arrived { flow_id, node, rail, .. })| {
                (node, rail, flow_id >> 2, generated_at, from)
            });
            for (_, _, packet) in arrived {
                let part = usize::from(self.executor_of[packet.node as usize]);
                self.call(part, |executor, requests| executor.arrived(packet, now, requests));
            }
            for (node, arrival) in self.switch.take(now) {
                let part = usize::from(self.executor_of[node as usize]);
                let number = self.number_of[node as usize] as usize;
                self.call(part, |executor, requests| executor.group_arrived(number, arrival, now, requests));
            }
            for part in self.alarms.remove(&now).unwrap_or_default() {
                self.call(usize::from(part), |executor, requests| executor.alarm(now, requests));
            }
            self.serve();
        }
    }

    /// Calls an executor, and carries out its requests.
    fn call(&mut self, part: usize, call: impl FnOnce(&mut Executor, &mut Requests)) {
        let mut requests = Requests::default();
        call(&mut self.executors[part], &mut requests);
        for at in requests.alarms {
            assert!(at > self.now, "an alarm for the past");
            self.alarms.entry(at).or_default().push(part as u16);
        }
        for announced in requests.announced {
            self.announced.entry(self.now + TRANSIT / 2).or_default().push(announced);
        }
        self.woken.extend(requests.woken.into_iter().map(|source| (part, source)));
    }

    /// Takes the packets of the sources that executors have named in this instant, after all its events, as the fabric
    /// does.
    fn serve(&mut self) {
        for (part, source) in std::mem::take(&mut self.woken) {
            while let Some(packet) = self.executors[part].next(source as usize, self.now) {
                assert!(packet.bytes <= self.interface.packet && packet.generated_at >= self.now);
                let from = if self.waits_for_release { packet.generated_at } else { self.now };
                let whole = u64::from(self.interface.packet);
                let rail = source % self.interface.rails.count;
                let on_link = (self.paces[rail as usize] * u64::from(packet.bytes)).div_ceil(whole);
                let on_link = if self.has_links { on_link } else { 0 };
                let at = from + TRANSIT + on_link + (self.delay)(packet.flow_id >> 2, packet.generated_at);
                if packet.dst == Outgoing::GROUP {
                    let content = self.executors[part].group_packet(source as usize);
                    let from = self.executors[part].source(packet.flow_id);
                    self.switch.send((from, packet.bytes, rail), content, at);
                    continue;
                }
                let Outgoing { flow_id, mark, bytes, .. } = packet;
                let arrived = Arrived { flow_id, mark, bytes, node: packet.dst, rail };
                let number = source / self.interface.rails.count;
                let is_it =
                    |&node: &usize| usize::from(self.executor_of[node]) == part && self.number_of[node] == number;
                let from = (0..self.number_of.len()).find(is_it).unwrap() as u32;
                self.arrivals.entry(at).or_default().push((packet.generated_at, from, arrived));
            }
            if let Some(at) = self.executors[part].wanted_alarm() {
                self.alarms.entry(at).or_default().push(part as u16);
            }
        }
    }
}

/// Start or end of an operation of a rank: whether it has ended, its number in the program, the time, and its message.
pub type Happened = (bool, u32, u64, Option<Matched>);

/// Starts and ends of operations, by rank.
pub type Notes = Arc<Mutex<BTreeMap<u32, Vec<Happened>>>>;

/// Programs that note the start and the end of their operations.
#[derive(Debug)]
pub struct Noted {
    pub inner: Arc<dyn Programs>,
    pub notes: Notes,
}

#[derive(Debug)]
struct NotedRank {
    rank: u32,
    inner: Box<dyn RankProgram>,
    notes: Notes,
}

impl NotedRank {
    fn note(&self, happened: Happened) {
        self.notes.lock().unwrap().entry(self.rank).or_default().push(happened);
    }

    fn note_starts(&self, starts: &[Op], at: u64) {
        // A burst starts all of its operations.
        let each = starts.iter().flat_map(|op| (0..op.count).map(|_| op.id));
        each.for_each(|id| self.note((false, id, at, None)));
    }
}

impl RankProgram for NotedRank {
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        let before = starts.len();
        self.inner.begin(now, starts)?;
        self.note_starts(&starts[before..], now);
        // Its notes have each end.
        Ok(Notify::Each)
    }

    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        self.note((true, ended.id, ended.at, ended.matched));
        let before = starts.len();
        self.inner.ended(ended, starts)?;
        self.note_starts(&starts[before..], ended.at);
        // Its notes have each end.
        Ok(Notify::Each)
    }
}

impl Programs for Noted {
    fn may_probe(&self) -> bool {
        self.inner.may_probe()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let inner = Arc::clone(&self.inner).rank(rank);
        Box::new(NotedRank { rank, inner, notes: Arc::clone(&self.notes) })
    }

    fn operations(&self) -> u64 {
        self.inner.operations()
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        self.inner.messages_of(rank, visit);
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.inner.groups()
    }
}
