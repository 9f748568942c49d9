//! Executor of programs: one for each partition of a run, with the ranks of its nodes.
//!
//! An operation starts as soon as the program of its rank issues it:
//! - a *calculation* takes its rank's processor for its time, after the earlier work of the processor;
//! - a *send* hands its message over to the node's network interface after the send overhead, and ends;
//! - a *receive* ends when the message has arrived and the receive overhead has passed since both the arrival and its
//!   start.
//!
//! A message is matched with the first matching receive posted at its rank, and a receive with the first matching
//! unexpected message ([`crate::matching`]). A message comes with its first packet. Messages of one pair of ranks come
//! in the order in which they were sent: one whose packets have overtaken another's waits for that one (MPI's
//! non-overtaking rule).
//!
//! A message above the eager limit uses the rendezvous protocol: a control message is sent, the receiver answers when
//! it has matched a receive, and only then are the data sent and does the send end. A control message takes both
//! overheads. Messages between ranks of one node, and of a rank to itself, do not enter the network and take the
//! overheads only. Overheads are latency, or occupy the processor of their rank ([`crate::processor`]). Interfaces are
//! made of parts that serve one packet at a time ([`crate::nic`]).
//!
//! Times are picoseconds. The network has time in ticks: packets arrive at ticks, and messages handed over between two
//! ticks are released to the network at the next. Events between two ticks are handled at the later one, in the order
//! of times, before the events of that tick.
//!
//! State is held for outstanding operations, for messages on their way, and for ranks. Events of one instant are
//! ordered by ranks and by the order in which these have started their operations, which does not depend on partitions:
//! arrivals first, in the order of nodes and rails, then the rest. Work without duration is done immediately.
//! Operations start in the order in which programs have issued them, so that messages of a pair keep their order even
//! if a send without duration lets its rank go on.

mod bursts;
mod forwarding;
mod groups;
mod inspect;
mod operations;
mod probing;
mod progress_tasks;
mod protocol;
mod state;
mod traced;

use std::sync::Arc;

use mpi::program::{Context, Programs};

use bursts::SendBurst;
use forwarding::Notified;
pub use groups::{CheckedElements, GroupPackets, SegmentWork, group_items};
use traced::Records;

use crate::completing::Completions;
use crate::connections::Connections;
use crate::context::{Arrived, HostContext, NicParams, Outgoing};
use crate::credits::Credits;
use crate::event::{Event, OpId, Pending};
use crate::flow::{Part, part_of};
use crate::inbound::{Arrivals, Envelope};
use crate::local_ranks::{LocalRank, LocalRanks};
use crate::matching::{BurstMatch, Matching};
use crate::memory::Memories;
use crate::nic::{Interfaces, Links, OtherWork, Rooms};
use crate::packet_parts::HandedOver;
use crate::probes::Probes;
use crate::processor::{NodeParams, Processors};
use crate::programs::RankPrograms;
use crate::queues::{self, Queues, Room};
use crate::rails::Rails;
use crate::ready::Ready;
use crate::registration::Registrations;
use crate::relays::{RelayParams, Relays};
use crate::report::{HostError, Progress};
use crate::slab::Slab;
use crate::slots::{MessageSlot, ReceiveSlot, SendSlot};
use crate::transit::Transit;
use crate::unexpected::UnexpectedBytes;
use crate::ways::{FoundWays, Ways};

/// Send that has started.
#[derive(Clone, Copy, Debug)]
struct PendingSend {
    op: OpId,
    rank: LocalRank,
    /// Identifier of the send in its program.
    id: u32,
    to: u32,
    tag: u32,
    context: Context,
    bytes: u64,
    /// Place of the message at the receiver's executor, if that is this one.
    placed: MessageSlot,
    /// Whether it uses the rendezvous protocol.
    rendezvous: bool,
    /// Whether the receiver fetches its data, or has fetched them: its next message then ends the send.
    read_complete: bool,
    /// Whether it waits for a credit, or behind a send that does.
    waiting_for_credit: bool,
    /// Time at which the processor has written its present data to the interface, in picoseconds.
    written_at: u64,
    /// Bytes that the processor writes to the interface at present. `None`: it writes nothing.
    written: Option<u64>,
    /// Rail that it has been handed over to, if it is not striped.
    rail: u32,
}

/// Receive that has started, or a burst of receives.
#[derive(Clone, Copy, Debug)]
struct PendingRecv {
    /// Operation. For a burst: the first one.
    op: OpId,
    rank: LocalRank,
    id: u32,
    bytes: u64,
    /// Number of receives that have not ended.
    left: u32,
}

const NONE: u32 = u32::MAX;

impl PendingSend {
    /// Creates a send without bytes in the communicator of all ranks, to rank `to` under `tag`. `id` identifies it in
    /// its program.
    #[inline]
    fn new(op: OpId, (rank, id): (LocalRank, u32), (to, tag): (u32, u32)) -> Self {
        let (placed, rendezvous, read_complete, waiting_for_credit) = (MessageSlot::NONE, false, false, false);
        let context = Context::WORLD;
        Self {
            op,
            rank,
            id,
            to,
            tag,
            context,
            bytes: 0,
            placed,
            rendezvous,
            read_complete,
            waiting_for_credit,
            written_at: 0,
            written: None,
            rail: 0,
        }
    }

    /// Returns the envelope of its message. `place` is the slot of the send.
    fn envelope(&self, place: SendSlot) -> Envelope {
        let &Self { op: OpId { rank: source, number }, to, tag, context, bytes, rendezvous, .. } = self;
        Envelope { source, number, turn: 0, to, tag, context, bytes, place, rendezvous }
    }

    /// Writes it to its place, field by field (`Slab::vacant`).
    #[inline(always)]
    fn write(self, own: &mut Self) {
        own.op.rank = self.op.rank;
        own.op.number = self.op.number;
        own.rank = self.rank;
        own.id = self.id;
        own.to = self.to;
        own.tag = self.tag;
        own.context = self.context;
        own.bytes = self.bytes;
        own.placed = self.placed;
        own.rendezvous = self.rendezvous;
        own.read_complete = self.read_complete;
        own.waiting_for_credit = self.waiting_for_credit;
        own.written_at = self.written_at;
        own.written = self.written;
        own.rail = self.rail;
    }
}

/// Operation of work that is done immediately, and need not be ordered.
const NOBODY: OpId = OpId { rank: NONE, number: NONE };

/// Rank of this executor.
#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    /// Number of operations that it has started.
    started: u32,
    /// Number of operations that have been issued and have not ended.
    open: u64,
    /// Time at which its last operation ended, in picoseconds.
    ended_at: u64,
    /// Whether its program is notified only when no operation is open.
    notify_last: bool,
    /// Number of ended operations that its program has not been notified of.
    unnotified: u32,
}

/// Network interfaces of the nodes of an executor.
#[derive(Debug)]
struct Nics {
    parts: Interfaces,
    rooms: Rooms,
    connections: Connections,
    registrations: Registrations,
    queues: Queues,
    rails: Rails,
    links: Links,
    /// Last message that was handed over to a network that passes packets through the parts.
    handed: HandedOver,
    /// Time at which the next arrival has passed the parts, in picoseconds, as such a network reports it.
    passed_at: u64,
}

impl Nics {
    /// Creates the idle interfaces of `nodes` nodes with `ranks` ranks.
    fn new(of: &NicParams, nodes: usize, ranks: usize) -> Self {
        let rails = of.rails.count as usize;
        let sources = nodes * rails;
        Self {
            parts: Interfaces::new(of.served_parts(), Self::other_work(of), sources, rails),
            rooms: Rooms::new(of.parts.pio_room, of.packet, nodes),
            connections: Connections::new(of.connections, ranks, sources),
            registrations: Registrations::new(of.registration, ranks),
            queues: Queues::new(sources, of.protocol.order),
            rails: Rails::new(of.rails, nodes),
            links: Links { packet: of.packet, tick: of.tick, pace: of.pace, paces: Vec::new() },
            handed: HandedOver::default(),
            passed_at: 0,
        }
    }

    /// Returns the work of interfaces beside passing packets.
    fn other_work(of: &NicParams) -> OtherWork {
        OtherWork {
            processing: of.matching.on_nic || of.protocol.forwarding.is_some(),
            fetching: of.connections.fetches(),
        }
    }

    /// Gives the interfaces of `nodes` nodes the parts that networks have.
    fn differ(&mut self, of: &NicParams, ways: &dyn Ways, nodes: usize) {
        self.links.paces = (0..of.rails.count).map(|rail| ways.pace(rail)).collect();
        let rails: Vec<_> = (0..of.rails.count).map(|rail| ways.parts(rail)).collect();
        if rails.iter().any(Option::is_some) {
            self.parts = Interfaces::differing(of.parts, &rails, Self::other_work(of), nodes * rails.len());
        }
    }
}

/// Several networks that join nodes.
#[derive(Debug)]
struct Networks {
    ways: FoundWays,
    relays: Relays<protocol::Hop>,
}

/// Receives of compact messages (`protocol/compact`).
#[derive(Debug)]
struct CompactReceives {
    /// Whether messages can be compact.
    are_possible: bool,
    /// Receives that have not ended, by rank.
    completing: Completions,
}

/// Time of an executor, in ticks of the network.
#[derive(Debug)]
struct Clock {
    /// Present tick.
    tick: u64,
    /// Earliest tick for which an alarm is set.
    alarm: u64,
    /// Alarm set while packets are taken, until `wanted_alarm` returns it.
    wanted: Option<u64>,
}

/// Announcement of a message: its tick, and its position in that tick.
#[derive(Debug)]
struct Announced {
    tick: u64,
    turn: u32,
}

/// State of the ranks of some nodes.
#[derive(Debug)]
pub struct Executor {
    interface: NicParams,
    placed: LocalRanks,
    programs: RankPrograms,
    ranks: Vec<Rank>,
    processors: Processors,
    nics: Nics,
    sends: Slab<PendingSend, SendSlot>,
    receives: Slab<PendingRecv, ReceiveSlot>,
    /// Ends of operations on interfaces that ranks have not been notified of.
    notified: Slab<Notified>,
    /// Bursts of sends of which some have not been handed over.
    bursts: Slab<SendBurst>,
    /// Messages that a burst of receives has matched as it was posted. Kept to avoid allocation.
    met: Vec<BurstMatch>,
    arrivals: Arrivals,
    compact: CompactReceives,
    matching: Matching,
    probes: Probes,
    unexpected: UnexpectedBytes,
    credits: Option<Credits>,
    memories: Memories,
    pending: Pending,
    /// Messages in transit, if the network carries them whole.
    transit: Option<Transit>,
    /// Ways of messages, if there are several networks.
    networks: Option<Box<Networks>>,
    /// Members of groups whose operations switches carry out, if there are any.
    groups: Option<Box<groups::Memberships>>,
    ready: Box<Ready>,
    /// Buffer for operations that start, which is removed while in use.
    starting: Option<Box<Ready>>,
    clock: Clock,
    /// Last message that was announced to another executor.
    announced: Announced,
    progress: Progress,
    /// Sends that have started, less receives.
    unmatched: i64,
    /// First error, by rank.
    error: Option<HostError>,
    records: Records,
}

impl Executor {
    /// Creates the ranks of some nodes, before they start.
    pub fn new(programs: &Arc<dyn Programs>, interface: NicParams, placed: LocalRanks) -> Self {
        let ranks = placed.ranks().len();
        Self {
            programs: RankPrograms::new(programs, placed.ranks()),
            ranks: vec![Rank::default(); ranks],
            processors: Processors::new(interface.processor, ranks),
            nics: Nics::new(&interface, placed.nodes(), ranks),
            sends: Slab::default(),
            receives: Slab::default(),
            notified: Slab::default(),
            bursts: Slab::default(),
            met: Vec::new(),
            arrivals: Arrivals::default(),
            compact: CompactReceives { are_possible: false, completing: Completions::new(ranks) },
            matching: Matching::new(ranks),
            probes: Probes::new(programs.may_probe()),
            unexpected: UnexpectedBytes::new(ranks),
            credits: interface.protocol.eager_credits.map(Credits::new),
            memories: Memories::new(interface.protocol.memory.map_or(0, |_| placed.nodes())),
            pending: Pending::default(),
            transit: None,
            networks: None,
            groups: None,
            ready: Box::default(),
            starting: Some(Box::default()),
            clock: Clock { tick: 0, alarm: u64::MAX, wanted: None },
            announced: Announced { tick: u64::MAX, turn: 0 },
            // Until they begin, something is to happen by itself.
            progress: Progress { open: ranks as u64, is_busy: true, ..Progress::default() },
            unmatched: 0,
            error: None,
            records: Records::default(),
            interface,
            placed,
        }
    }

    /// Gives the processors of nodes individual parameters, by node of the machine.
    #[must_use]
    pub fn with_nodes(mut self, node: impl Fn(u32) -> NodeParams) -> Self {
        let placed = &self.placed;
        self.processors.differ(placed.ranks().iter().map(|&rank| (rank, node(placed.node(rank)))));
        self
    }

    /// Sends messages over several networks. Must be called before the programs begin.
    #[must_use]
    pub fn with_ways(mut self, ways: Arc<dyn Ways>, relays: RelayParams) -> Self {
        debug_assert!(relays.buffer.is_none() || self.interface.parts.pio_room.is_none(), "one waits for the other");
        self.nics.differ(&self.interface, &*ways, self.placed.nodes());
        let relays = Relays::new(relays, self.interface.packet, self.placed.nodes());
        self.networks = Some(Box::new(Networks { ways: FoundWays::new(ways), relays }));
        self
    }

    /// Begins the programs, at tick `tick`.
    pub fn begin(&mut self, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.progress.is_busy = false;
        self.compact.are_possible = self.has_compact();
        for rank in (0..self.programs.len() as u32).map(LocalRank) {
            let begun = self.programs.begin(rank.index(), now, self.ready.issue());
            self.take_issued(rank, begun);
            self.start_ready(now, around);
        }
    }

    /// Returns the next packet of a source (`HostContext::wake`), at tick `tick`. `None`: there is nothing to send.
    #[inline]
    pub fn next(&mut self, source: usize, tick: u64) -> Option<Outgoing> {
        self.next_of(source, tick, |_, _| true)
    }

    /// Returns the tick of an alarm that taking a packet has set. Must be called after `next`.
    #[inline]
    pub fn wanted_alarm(&mut self) -> Option<u64> {
        self.clock.wanted.take()
    }

    /// Returns the next packet of a source: round robin over its messages, the first that may be sent. `may_send`
    /// decides by the destination and the bytes of the packet. `None`: there is none.
    #[inline]
    pub fn next_of(&mut self, source: usize, tick: u64, may_send: impl Fn(u32, u32) -> bool) -> Option<Outgoing> {
        let (largest, pace) = self.largest_part(source);
        let mut taken = self.nics.queues.take(source, largest, pace, may_send)?;
        if taken.message.dst == Outgoing::GROUP {
            self.give_group_packet(source, &mut taken);
        }
        if self.nics.parts.sending {
            self.pass_sending(source, &mut taken);
        }
        if taken.room != Room::None {
            self.leaves_room(source, &taken, tick);
        }
        self.progress.packets += self.arrivals_of(taken.bytes);
        let queues::Outgoing { flow_id, mark, dst } = taken.message;
        Some(Outgoing { flow_id, mark, dst, bytes: taken.bytes, generated_at: taken.generated_at })
    }

    /// Returns the node that sends the packets of a `flow_id`.
    pub fn source(&self, flow_id: u32) -> u32 {
        self.placed.node(part_of(flow_id).0)
    }

    /// Takes the announcement of a message that another executor sends.
    pub fn announced(&mut self, envelope: Envelope) {
        let rank = self.placed.local_rank(envelope.to);
        self.arrivals.announce_remote(rank, envelope);
    }

    /// Handles a packet that has arrived by a rail of its node, at tick `tick`.
    pub fn arrived(&mut self, packet: Arrived, tick: u64, around: &mut impl HostContext) {
        let Arrived { flow_id, mark, bytes, node, rail } = packet;
        let now = self.come_to(tick);
        self.catch_up(now.saturating_sub(1), around);
        self.progress.packets -= 1;
        let relayed = if self.networks.is_some() { self.passes_relay(&packet) } else { None };
        if let Some(place) = relayed {
            return self.arrived_at_relay(place, (self.source_at(node, rail), bytes), now, around);
        }
        let (source, part) = part_of(flow_id);
        let arrived = match part {
            Part::Answer => Some(Event::Answered(SendSlot(mark))),
            Part::Credit => self.credit_returns(self.placed.local_rank(mark), source),
            Part::Placed => Some(Event::Packet(MessageSlot(mark))),
            Part::Numbered => self.arrivals.find(source, mark).map(Event::Packet),
        };
        debug_assert!(arrived.is_some(), "a packet of a message that was not announced");
        if let Some(arrived) = arrived {
            self.arrived_whole(arrived, bytes);
            let (at, op) = if self.nics.parts.receiving {
                self.pass_receiving(arrived, (self.source_at(node, rail), bytes), now)
            } else {
                (now, NOBODY)
            };
            self.later(at, op, arrived, now, around);
        }
        self.start_ready(now, around);
    }

    /// Handles an alarm at tick `tick`.
    pub fn alarm(&mut self, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now, around);
        if self.clock.alarm <= tick {
            self.clock.alarm = u64::MAX;
        }
        if let Some(first) = self.pending.first() {
            self.set_alarm(first, around);
        }
    }

    /// Returns the source of a rail of a node of the machine that is here.
    #[inline]
    fn source_at(&self, node: u32, rail: u32) -> usize {
        self.placed.number_of[node as usize] as usize * self.nics.rails.count() as usize + rail as usize
    }

    /// Returns the number of a local rank among all ranks.
    fn rank(&self, rank: LocalRank) -> u32 {
        self.placed.ranks()[rank.index()]
    }

    /// Keeps an error: the first one of the lowest rank.
    fn fail(&mut self, error: HostError) {
        if self.error.as_ref().is_none_or(|known| error.rank() < known.rank()) {
            self.error = Some(error);
        }
    }

    /// Returns whether a message of `bytes` bytes that leaves its node uses the rendezvous protocol.
    #[inline]
    fn waits_for_receiver(&self, bytes: u64) -> bool {
        self.interface.eager_limit.is_some_and(|limit| bytes > limit)
    }

    /// Returns whether two ranks share a node, one of which is here.
    #[inline]
    fn is_within(&self, one: u32, other: u32) -> bool {
        self.placed.share_node(one, other)
    }

    /// Returns whether a message of one rank to another uses the rendezvous protocol. A message of a rank to itself
    /// never does.
    #[inline]
    fn uses_rendezvous(&self, from: u32, to: u32, bytes: u64) -> bool {
        let single_copy = || self.interface.protocol.memory.is_some_and(|memory| memory.single_copy);
        self.waits_for_receiver(bytes) && (!self.is_within(from, to) || (from != to && single_copy()))
    }

    /// Advances to a tick of the network. Returns its time in picoseconds.
    #[inline]
    fn come_to(&mut self, tick: u64) -> u64 {
        self.clock.tick = tick;
        tick.saturating_mul(self.interface.tick)
    }

    /// Handles all pending events up to `last`.
    #[inline]
    fn catch_up(&mut self, last: u64, around: &mut impl HostContext) {
        while let Some((at, op, event)) = self.pending.take(last) {
            self.act(op, event, at, around);
            self.start_ready(at, around);
        }
    }

    /// Handles an event immediately if its time has come, and schedules it otherwise.
    #[inline]
    fn later(&mut self, at: u64, op: OpId, event: Event, now: u64, around: &mut impl HostContext) {
        if at <= now {
            return self.act(op, event, now, around);
        }
        self.pending.push(at, op, event);
        if self.transit.is_none() {
            self.set_alarm(at, around);
        }
    }

    /// Sets an alarm for a time, unless one is set that is not later. Events up to the present tick are handled now.
    #[inline]
    fn set_alarm(&mut self, at: u64, around: &mut impl HostContext) {
        let tick = at.div_ceil(self.interface.tick);
        if tick > self.clock.tick && tick < self.clock.alarm {
            self.clock.alarm = tick;
            around.alarm(tick);
        }
    }

    fn act(&mut self, op: OpId, event: Event, now: u64, around: &mut impl HostContext) {
        match event {
            Event::Calculated(id) => self.calculated(op, id, now, around),
            Event::Received(place) => self.received(place, now, around),
            Event::Request(place) => self.send_request(place, now, around),
            Event::Data(place) => self.send_data(place, now, around),
            Event::NextOfBurst(place) => self.send_next(place, (now, true), around),
            Event::Sent(place) => self.sent(place, now),
            Event::Left(place) => self.left(place, now, around),
            Event::Relayed(place) => self.pass_on(place, now, around),
            Event::LeftRelay(place) => self.left_relay(place, now, around),
            Event::Polled(id) => self.end(self.placed.local_rank(op.rank), (op.number, id), now, None),
            Event::Probed(place) => self.probed(place, now),
            Event::Answer(place) => self.answer(place, now, around),
            Event::Packet(place) => self.packet_arrived(place, now, around),
            Event::Arrived(place) => self.handle_arrival(op, place, now, around),
            Event::Arrives(place) => self.first_arrives(place, now, around),
            Event::Passes(place) => self.traversed_nic(place, now, around),
            Event::Completes(place) => self.completes(place, now),
            Event::Answered(place) => self.answer_arrived(place, now, around),
            Event::Credit(place) => self.credit_arrived(place, now, around),
            Event::Finish(place) => self.finish(place, now, around),
            Event::Fetched(place) => self.fetched(place, now),
            Event::CopiedIn(place) => self.copied_in(place, now, around),
            Event::Readable(place) => self.come_in_turn(place, now, around),
            Event::CopyOut(place) => self.copy_out(place, now, around),
            Event::Copied(place) => self.copied(place, now, around),
            Event::Notified(place) => self.notified(place, now),
            Event::OnNic(id) => self.end(self.placed.local_rank(op.rank), (op.number, id), now, None),
            Event::GroupData(place) => self.group_handed(place, now, around),
            Event::GroupPassed(place) => self.group_passed(place, now, around),
            Event::GroupEnded(place) => self.group_ended(place, now),
            Event::Memory(node) => self.copies_end(node, now, around),
        }
    }
}
