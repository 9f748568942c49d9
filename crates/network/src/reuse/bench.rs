//! Workbench: the packet engine, by which episodes are simulated. The simulation of an episode holds the routers on the
//! paths of its messages, and their nodes, and nothing else of the network.

mod interfaces;
mod periods;
mod saved;
mod simulation;
mod traffic;

use std::sync::Arc;

use fabric::catalogue::RouterSpec;
use fabric::routers::{Arbiter, Routers, Sharing};
use fabric::{ChannelFacts, Fabric, Grain, NetworkSize, Partition, PartitionMap, Plan, WithRouters};
use host::{HandedOver, PacketParts};
use routing::RouteState;
use units::{NodeId, PlaneId, RouterId};

use super::naming::Described;
use super::records::MemberOutcome;
use saved::SavedStates;
pub use saved::StateRules;
pub(super) use saved::{SavedPlace, SavedState, SavedWhen};
use simulation::{Simulation, Tools};
use traffic::BenchTraffic;

/// Time at which a simulation ends, in ticks: never.
const NEVER: u64 = u64::MAX / 2;

/// Latest tick at which a simulation begins. The begin of an episode moves back by skipped periods, at most to tick 0.
const START: u64 = 1 << 42;

/// Latest begin of a simulation, in picoseconds: interfaces count time in them.
const START_TIME: u64 = 1 << 62;

/// Message to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BenchMessage {
    /// Sources of its begin and, in the other direction, of its end. In a simulation, by their numbers there.
    pub ends: [u32; 2],
    /// Places of its first and its last channel among those of the episode.
    pub channels: [u32; 2],
    /// Places of the shared buses that it crosses there. `NONE`: none.
    pub buses: [u32; 2],
    pub to: NodeId,
    pub state: RouteState,
    pub bytes: u32,
    /// Time of its release, in ticks from the begin.
    pub at: u64,
    pub handed: HandedOver,
}

/// Channel or shared bus that messages cross, or router that they share.
#[derive(Clone, Copy, Debug)]
pub(super) struct BenchChannel {
    pub channel: u32,
    /// Bytes that will cross it.
    pub bytes: u64,
    /// Arbiters, with the candidates that they have served last. In a simulation, by their numbers there.
    pub arbiters: [Option<(Arbiter, u16)>; 2],
}

/// Episode as the packets of its messages were, or are to be, simulated.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Its messages, in ascending order of times.
    pub described: Vec<Described>,
    /// By name of a channel, the candidates that the arbiters have served last before it.
    pub pointers: Vec<[u16; 2]>,
    /// Routers on the paths of its messages, in ascending order.
    pub routers: Vec<RouterId>,
}

/// Episode to simulate.
#[derive(Debug)]
pub(super) struct Task {
    pub messages: Vec<BenchMessage>,
    pub channels: Vec<BenchChannel>,
    pub origin: Arc<Origin>,
}

/// Time that is not known yet, in ticks. It is later than all others.
pub(super) const UNKNOWN: u64 = 1 << 60;

/// Outcome of a simulation. Times are in ticks from the begin. Those after `until` are `UNKNOWN`.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Time until which the simulation was paused. `None`: it is whole.
    pub until: Option<u64>,
    /// Outcome of each message, and the arrival of its first packet.
    pub members: Vec<(u64, MemberOutcome)>,
    /// Time at which the last head has left its last router. 0: not yet.
    pub counted: u64,
    /// By channel, the time after which nothing is left in it, and the candidates that its arbiters have served last.
    /// `NONE_SERVED`: the pointer has not moved.
    pub channels: Vec<(u64, [u16; 2])>,
    /// Packet-hops that were simulated. Those before a saved state do not count again.
    pub hops: u64,
    /// Packet-hops of periods that were skipped. Those before a saved state do not count again.
    pub skipped_hops: u64,
    /// Time in which its state was copied, in packet-hops. 0: it was not.
    pub copying: u64,
}

/// No candidate. As the candidate that was served last, it comes before the lowest.
pub(super) const NONE_SERVED: u16 = u16::MAX;

/// Least part of an episode after its last release that is simulated before the simulation is paused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Packet-hops.
    pub hops: u64,
    /// Time that has to be over, in ticks from the begin.
    pub after: u64,
}

/// Limits of a simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Part after which the simulation may be paused. `None`: it is not paused.
    pub stretch: Option<Stretch>,
    /// Largest number of packet-hops of one call.
    pub most: u64,
}

/// Reason why a simulation has no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// Packets wait for one another for ever.
    Deadlock,
    /// The simulation exceeds `Limits::most`.
    TooLong,
}

/// Facts of a network.
pub(super) struct NetworkFacts {
    /// All channels, by the numbers of their outputs.
    pub channels: Vec<ChannelFacts>,
    /// What messages share in routers.
    pub sharing: Sharing,
    /// Candidates that arbiters have served last before time 0.
    pub last_served: Box<dyn Fn(Arbiter) -> u16>,
}

/// Packet engine that simulates episodes.
pub(super) trait Workbench: Send {
    /// Returns a saved state of the simulation of a record. `None`: there is none.
    fn saved(&self, record: u32, when: SavedWhen) -> Option<SavedState<'_>>;
    /// Simulates an episode, from the beginning or from a saved state. The simulation may be paused.
    fn simulate(&mut self, task: &Task, from: (Option<SavedPlace>, Limits)) -> Result<Outcome, Unfinished>;
    /// Keeps the states that the last simulation has saved, as those of a record.
    fn keep(&mut self, record: u32);
    /// Drops the saved states of a record.
    fn drop_states(&mut self, record: u32);
    /// Drops all saved states, since numbers of paths change.
    fn drop_all_states(&mut self);
    /// Returns whether the simulation of messages may skip periods.
    fn skips(&self, messages: &[BenchMessage]) -> bool;
}

/// Creates the workbench of a network, and returns its facts.
pub(super) fn workbench(
    plan: &Arc<Plan>,
    (router, parts): (&RouterSpec, PacketParts),
    rules: StateRules,
) -> (Box<dyn Workbench>, NetworkFacts) {
    router.with_routers(Building { plan, router: router.clone(), parts, rules })
}

struct Building<'a> {
    plan: &'a Arc<Plan>,
    router: RouterSpec,
    parts: PacketParts,
    rules: StateRules,
}

impl WithRouters for Building<'_> {
    type Output = (Box<dyn Workbench>, NetworkFacts);

    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R + Send + 'static) -> Self::Output {
        let Self { plan, router, parts, rules } = self;
        let whole = PartitionMap::new(plan, 1, Grain::Exactly(1));
        let traffic = BenchTraffic::new(parts.idle(0), plan.units_per_tick());
        let partition = Partition::new(plan, &whole, 0, &routers, traffic);
        let channels: Vec<ChannelFacts> = partition.fabric().channel_facts().collect();
        let sharing = partition.routers().sharing();
        let bench = Bench {
            plan: Arc::clone(plan),
            routers: Box::new(routers),
            map: PartitionMap::of_none(plan),
            held: Vec::new(),
            parts,
            tools: Tools::new(plan, channels.clone(), sharing),
            size: NetworkSize::of_plan(plan),
            router,
            saved: SavedStates::new(rules),
        };
        let last_served = Box::new(move |arbiter: Arbiter| last_served(partition.routers(), arbiter));
        (Box::new(bench), NetworkFacts { channels, sharing, last_served })
    }
}

/// Packet engine with routers of one architecture.
struct Bench<R> {
    plan: Arc<Plan>,
    routers: Box<dyn Fn(&Fabric) -> R + Send>,
    /// Numbers in the present simulation.
    map: PartitionMap,
    /// Routers of the present simulation.
    held: Vec<RouterId>,
    /// Idle queues and interfaces.
    parts: PacketParts,
    tools: Tools,
    /// Sizes of the whole network, and architecture of its routers.
    size: NetworkSize,
    router: RouterSpec,
    saved: SavedStates<R>,
}

impl<R: Routers> Workbench for Bench<R> {
    fn saved(&self, record: u32, when: SavedWhen) -> Option<SavedState<'_>> {
        self.saved.get(record, when)
    }

    fn keep(&mut self, record: u32) {
        self.saved.keep(record);
    }

    fn drop_states(&mut self, record: u32) {
        self.saved.drop_record(record);
    }

    fn drop_all_states(&mut self) {
        self.saved.clear();
    }

    fn skips(&self, messages: &[BenchMessage]) -> bool {
        self.tools.may_skip() && traffic::have_steady_states(messages, self.parts.packet())
    }

    fn simulate(&mut self, task: &Task, (from, limits): (Option<SavedPlace>, Limits)) -> Result<Outcome, Unfinished> {
        let mut run = self.start(task, from);
        self.tools.log_only(run.number);
        let (tools, before) = (&mut self.tools, (run.hops, run.skipped_hops));
        let most = run.hops.saturating_add(limits.most);
        let last = task.messages.last().map_or(0, |message| message.at);
        if last > 0 && last >= run.before {
            while run.step(tools, run.begin + last, most)? {}
            (run.before, run.released_hops) = (last, run.hops);
            run.outcome.copying += self.saved.save(&run, &task.origin);
        }
        let mut pauses_at = None;
        while !run.is_over() {
            if let Some(own) = limits.stretch.filter(|own| run.passed() > own.after) {
                // A stretch without a further release is followed by one of twice its length.
                pauses_at.get_or_insert(run.hops + own.hops.max(run.hops - run.released_hops));
            }
            if pauses_at.is_some_and(|hops| run.hops >= hops) && run.outcome.counted == 0 {
                run.before = run.passed() + 1;
                while run.step(tools, run.begin + run.before, most)? {}
                let outcome = run.pause(tools, before);
                self.saved.pause(run, &task.origin);
                return Ok(outcome);
            }
            if !run.step(tools, NEVER, most)? {
                return Err(Unfinished::Deadlock);
            }
        }
        Ok(run.end(tools, before))
    }
}

impl<R: Routers> Bench<R> {
    /// Begins a simulation, or goes on from a saved state.
    fn start(&mut self, task: &Task, from: Option<SavedPlace>) -> Simulation<R> {
        self.saved.drop_new();
        self.hold(&task.origin.routers);
        let known = from.map_or(0, |from| from.messages);
        let saved = match from {
            // Nothing joins a simulation that was paused: it goes on.
            Some(from) if known == task.messages.len() => self.saved.take(from).map(|run| (run, 0)),
            Some(from) => self.saved.copy(from).map(|(run, time)| (run.with_number(self.tools.next_number()), time)),
            None => None,
        };
        let (mut run, copying) = saved.unwrap_or_else(|| (self.begin(), 0));
        run.outcome.copying = copying;
        if known < task.messages.len() {
            let place = Place { plan: &self.plan, map: &self.map, tools: &self.tools };
            let messages: Vec<BenchMessage> = task.messages[known..].iter().map(|own| place.message(own)).collect();
            let channels = task.channels.iter().map(|own| place.channel(own)).collect();
            run.add(&self.tools, &messages, channels);
        }
        run
    }

    /// Begins a simulation of the routers that are held.
    fn begin(&mut self) -> Simulation<R> {
        let sources = self.map.sources(0).count();
        let traffic = BenchTraffic::new(self.parts.idle(sources), self.plan.units_per_tick());
        let partition = Partition::new(&self.plan, &self.map, 0, &*self.routers, traffic);
        let bytes = self.map.size(0, &self.size).state_bytes(&self.router);
        Simulation::begin(partition, bytes, &mut self.tools)
    }

    /// Numbers routers and their nodes for a simulation.
    fn hold(&mut self, routers: &[RouterId]) {
        if self.held != routers {
            self.map.hold(&self.plan, routers);
            self.held.clear();
            self.held.extend_from_slice(routers);
        }
    }
}

/// Numbers in a simulation.
struct Place<'a> {
    plan: &'a Plan,
    map: &'a PartitionMap,
    tools: &'a Tools,
}

impl Place<'_> {
    /// Returns the number of a source.
    fn source(&self, source: u32) -> u32 {
        let planes = self.plan.channels().planes();
        self.map.source(NodeId(source / planes), PlaneId((source % planes) as u8)) as u32
    }

    /// Returns the number of an output.
    fn output(&self, output: usize) -> usize {
        self.map.output(self.tools.facts[output].source)
    }

    fn message(&self, own: &BenchMessage) -> BenchMessage {
        BenchMessage { ends: own.ends.map(|source| self.source(source)), ..*own }
    }

    /// Returns a channel, and its number or that of the bus.
    fn channel(&self, own: &BenchChannel) -> (BenchChannel, u32) {
        let arbiter = |of: Arbiter| match of {
            Arbiter::Output(output) => Arbiter::Output(self.output(output)),
            Arbiter::Input(port) => Arbiter::Input(self.output(port)),
            Arbiter::Router(port) => Arbiter::Router(self.output(port)),
        };
        let arbiters = own.arbiters.map(|own| own.map(|(of, last)| (arbiter(of), last)));
        let number = match own.channel.checked_sub(self.tools.first_bus) {
            Some(bus) => 2 * self.source(bus / 2) + bus % 2,
            None if self.tools.is_channel(own.channel) => self.output(own.channel as usize) as u32,
            None => 0,
        };
        (BenchChannel { arbiters, ..*own }, number)
    }
}

/// Returns the candidate that an arbiter has served last.
fn last_served(routers: &impl Routers, arbiter: Arbiter) -> u16 {
    routers.last_served(arbiter).map_or(NONE_SERVED, |candidate| candidate as u16)
}
