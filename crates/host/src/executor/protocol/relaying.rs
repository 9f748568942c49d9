//! Messages on their way through relays ([`crate::relays`]).

use super::super::{Executor, NONE, Networks};
use super::hops::Hop;
use crate::context::{Arrived, HostContext};
use crate::event::{Event, OpId};
use crate::flow::{Part, part_of};
use crate::nic::{Fragment, Stream};
use crate::queues::{Outgoing, Piece, Room, Taken};
use crate::rank_pair::RankEnds;
use crate::relays::{RelayCounts, Relayed};
use crate::slots::{MessageSlot, SendSlot};

/// Flag of the mark of an answer on its way to a relay of the sender's executor. The other bits are its place among the
/// relayed messages.
const RELAYED: u32 = 1 << 31;

/// Goal of a packet that has arrived at a node.
enum Heading {
    /// Place of its message among the relayed messages: the node is a relay.
    Relayed(u32),
    /// Rank that it is for.
    Rank(u32),
}

impl Executor {
    /// Returns the figures of the relays.
    pub fn relay_counts(&self) -> RelayCounts {
        self.networks.as_ref().map_or(RelayCounts::default(), |own| own.relays.counts)
    }

    /// Returns whether a node of the machine is here.
    fn has_node(&self, node: u32) -> bool {
        self.placed.executor_of[node as usize] == self.placed.own
    }

    /// Sends bytes to a relay on their way to node `dst`.
    pub(super) fn send_to_relay(
        &mut self,
        mut hop: Hop,
        (dst, bytes): (u32, u64),
        now: u64,
        around: &mut impl HostContext,
    ) {
        if self.has_node(hop.message.dst) {
            self.expect(&mut hop, (dst, bytes));
        }
        if hop.claims && self.networks.as_ref().is_some_and(|own| own.relays.are_limited()) {
            return self.send_in_chunks(hop, now, around);
        }
        self.send_part(hop, now, around);
    }

    /// Lets a relay of this executor expect a message of `bytes` bytes to node `dst` of another executor, which would
    /// not know it otherwise.
    fn expect(&mut self, hop: &mut Hop, (dst, bytes): (u32, u64)) {
        let &mut Hop { op, message: Outgoing { flow_id, mark, dst: relay }, ranks, is_data, .. } = hop;
        if self.has_node(dst) || !hop.piece.begins {
            return;
        }
        let message = Outgoing { flow_id, mark, dst };
        let relayed = Relayed { op, message, ranks, relay, bytes, is_data, ..Relayed::NONE };
        match part_of(flow_id).1 {
            // The mark is the destination rank.
            Part::Credit => {}
            Part::Answer => hop.message.mark = self.add_relayed(relayed) | RELAYED,
            // Another share may have come to the relay.
            Part::Placed | Part::Numbered if self.is_expected(op, relay) => {}
            Part::Placed | Part::Numbered => drop(self.add_relayed(Relayed { is_in_table: true, ..relayed })),
        }
    }

    /// Returns whether a relay of this executor expects a message.
    fn is_expected(&self, op: OpId, relay: u32) -> bool {
        self.networks.as_ref().is_some_and(|own| own.relays.find(op, relay).is_some())
    }

    /// Adds a message that passes a relay of this executor.
    fn add_relayed(&mut self, mut message: Relayed) -> u32 {
        let Relayed { relay, ranks: RankEnds { from, to }, bytes, is_data, .. } = message;
        let (ends, is_striped) = ((self.placed.node(from), self.placed.node(to)), self.nics.rails.stripes(bytes));
        let Some(Networks { ways, relays }) = self.networks.as_deref_mut() else { return 0 };
        message.share = bytes.max(1);
        if is_data {
            let mut shares = std::mem::take(&mut relays.shares);
            ways.find_shares(ends, bytes, (self.interface.packet, is_striped), &mut shares);
            message.share = ways.through(relay, ends.1, &shares).max(1);
            let is_claimed = shares.iter().any(|share| share.way.to == relay && share.way.claims);
            message.is_claimed = is_claimed && relays.are_limited();
            relays.shares = shares;
        }
        relays.add(message)
    }

    /// Sends bytes of data to a relay chunk by chunk, as there is room for them.
    fn send_in_chunks(&mut self, mut hop: Hop, now: u64, around: &mut impl HostContext) {
        let node = self.placed.number_of[hop.message.dst as usize] as usize;
        while hop.bytes > 0 {
            let Some(Networks { relays, .. }) = self.networks.as_deref_mut() else { return };
            if !relays.claim(node, relays.chunk(hop.bytes)) {
                return relays.wait(node, hop, now);
            }
            hop = self.send_chunk(hop, now, around);
        }
    }

    /// Sends the next chunk of bytes. Returns the rest.
    fn send_chunk(&mut self, hop: Hop, now: u64, around: &mut impl HostContext) -> Hop {
        let bytes = self.networks.as_ref().map_or(hop.bytes, |own| own.relays.chunk(hop.bytes));
        // What has been written while the chunk has waited is there.
        let come = |own: Stream| Stream { from: own.from.saturating_add(own.per_byte.time(hop.before)), ..own };
        let hop = Hop { written: hop.written.map(come), ..hop };
        let ends = hop.piece.ends && bytes == hop.bytes;
        self.send_part(Hop { bytes, before: 0, piece: Piece { ends, ..hop.piece }, ..hop }, now, around);
        Hop { bytes: hop.bytes - bytes, before: bytes, piece: Piece { begins: false, ..hop.piece }, ..hop }
    }

    /// Returns where a packet that has arrived at a node goes. `None`: to this node.
    fn heading(&self, node: u32, (flow_id, mark): (u32, u32)) -> Option<Heading> {
        let (source, part) = part_of(flow_id);
        Some(match part {
            Part::Numbered if self.placed.is_local(source) => {
                let op = OpId { rank: source, number: mark };
                Heading::Relayed(self.networks.as_ref()?.relays.find(op, node)?)
            }
            Part::Answer if mark & RELAYED != 0 => Heading::Relayed(mark & !RELAYED),
            Part::Answer => Heading::Rank(self.sends[SendSlot(mark)].op.rank),
            Part::Credit => Heading::Rank(mark),
            Part::Placed => Heading::Rank(self.arrivals[MessageSlot(mark)].envelope.to),
            Part::Numbered => Heading::Rank(self.arrivals[self.arrivals.find(source, mark)?].envelope.to),
        })
    }

    /// Returns the node that has sent a packet which arrives at a node of this executor now: the node of its rank, or
    /// the relay that has passed it on. The packet has a flow id and a mark.
    pub fn sender(&self, node: u32, packet: (u32, u32)) -> u32 {
        let mut at = self.source(packet.0);
        let Some(Networks { ways, relays }) = self.networks.as_deref() else { return at };
        let dst = match self.heading(node, packet) {
            Some(Heading::Relayed(place)) => relays[place].message.dst,
            Some(Heading::Rank(to)) => self.placed.node(to),
            None => node,
        };
        // The way of a message that needs a relay does not depend on its size.
        let mut next = ways.onward((at, dst)).to;
        while next != node && next != dst {
            (at, next) = (next, ways.onward((next, dst)).to);
        }
        at
    }

    /// Returns the message of a packet, if the packet has arrived at a relay and passes on.
    pub(in super::super) fn passes_relay(&mut self, packet: &Arrived) -> Option<u32> {
        let &Arrived { flow_id, mark, node, .. } = packet;
        let (source, part) = part_of(flow_id);
        let control = u64::from(self.interface.control);
        let to = match self.heading(node, (flow_id, mark))? {
            Heading::Relayed(place) => return Some(place),
            Heading::Rank(to) => to,
        };
        let dst = self.placed.node(to);
        if dst == node {
            return None;
        }
        let message = Outgoing { flow_id, mark, dst };
        let relayed =
            Relayed { message, ranks: RankEnds { from: source, to }, relay: node, bytes: control, ..Relayed::NONE };
        let place = match part {
            Part::Credit => return Some(self.add_relayed(Relayed { op: credit_op(source, to), ..relayed })),
            Part::Answer => return Some(self.add_relayed(Relayed { op: self.sends[SendSlot(mark)].op, ..relayed })),
            Part::Placed => MessageSlot(mark),
            Part::Numbered => self.arrivals.find(source, mark)?,
        };
        let message = &self.arrivals[place];
        let (op, is_data) = (message.send(), !message.envelope.rendezvous || message.is_here);
        let bytes = if is_data { message.envelope.bytes } else { control };
        let known = self.networks.as_ref()?.relays.find(op, node);
        known.or_else(|| Some(self.add_relayed(Relayed { op, bytes, is_data, is_in_table: true, ..relayed })))
    }

    /// Passes a packet that has arrived at a source of a relay through the interface.
    pub(in super::super) fn arrived_at_relay(
        &mut self,
        place: u32,
        (source, bytes): (usize, u32),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let (node, bytes) = (source / self.nics.rails.count() as usize, u64::from(bytes));
        let Some(Networks { relays, .. }) = self.networks.as_deref_mut() else { return };
        let Relayed { op, relay, share, came, is_data, .. } = relays[place];
        if is_data {
            relays.hold((node, relay), bytes);
        }
        relays[place].came += bytes;
        let mut at = now;
        if self.nics.parts.receiving {
            let fragment = Fragment { bytes, is_first: came == 0, is_last: came + bytes >= share };
            at = self.receive_by(source, &fragment, now);
        }
        self.later(at, op, Event::Relayed(place), now, around);
    }

    /// Handles a packet that has passed the interface of a relay: its chunk is passed on if it is complete.
    pub(in super::super) fn pass_on(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(Networks { ways, relays }) = self.networks.as_deref_mut() else { return };
        let Some((own, bytes)) = relays.pass(place) else { return };
        let Relayed { op, message, ranks, relay, share, left, is_data, is_claimed, rail, .. } = own;
        let (way, dst) = (ways.onward((relay, message.dst)), message.dst);
        let (begins, ends) = (left == share, left == bytes);
        let mut hop = Hop {
            op,
            message: Outgoing { dst: way.to, ..message },
            piece: Piece { begins, ends, room: if is_data { Room::Relay(is_claimed) } else { Room::None } },
            node: self.placed.number_of[relay as usize] as usize,
            rails: (way.rails.start, way.count()),
            rail,
            bytes,
            before: 0,
            written: None,
            is_data,
            is_striped: is_data && self.nics.rails.stripes(own.bytes),
            claims: false,
            ranks,
        };
        if begins && !hop.is_striped {
            hop.rail = self.choose_rail(hop);
        }
        if let Some(Networks { relays, .. }) = self.networks.as_deref_mut().filter(|_| !ends) {
            relays[place].rail = hop.rail;
        }
        if way.to != dst && self.has_node(way.to) {
            self.expect(&mut hop, (dst, own.bytes));
        }
        self.send_part(hop, now, around);
    }

    /// Notes that a packet of data is released to the network by a relay. Returns the event when its tail has left, with
    /// the operation that orders it.
    pub(super) fn leaves_relay(&mut self, source: usize, packet: &Taken) -> (OpId, Event) {
        let node = source / self.nics.rails.count() as usize;
        let (bytes, is_claimed) = (u64::from(packet.bytes), packet.room == Room::Relay(true));
        let (place, relay) = self.networks.as_mut().map_or((0, 0), |own| own.relays.release(node, bytes, is_claimed));
        // Nodes that wait for several relays are served in the order of relays, which does not depend on partitions.
        (OpId { rank: NONE, number: relay }, Event::LeftRelay(place))
    }

    /// Handles a packet whose tail has left a relay: waiting chunks are handed over.
    pub(in super::super) fn left_relay(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(Networks { relays, .. }) = self.networks.as_deref_mut() else { return };
        let node = relays.left(place);
        while let Some(Networks { relays, .. }) = self.networks.as_deref_mut()
            && let Some(hop) = relays.next(node, now, |relays, hop| relays.chunk(hop.bytes))
        {
            let rest = self.send_chunk(hop, now, around);
            self.send_in_chunks(rest, now, around);
        }
    }
}

/// Returns the operation that orders the events of a credit from a rank to another.
pub(super) fn credit_op(from: u32, to: u32) -> OpId {
    // Credits of one instant differ by their origins.
    OpId { rank: to, number: u32::MAX - from }
}
