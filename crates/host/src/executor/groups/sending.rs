//! Segments from the interface to the network.

use super::Memberships;
use super::member::{HandOver, Release};
use super::operation::{Cut, Work, item_bytes};
use super::starting::cut_of;
use crate::context::{GroupPacket, GroupWork, HostContext, Outgoing};
use crate::event::Event;
use crate::executor::Executor;
use crate::flow::{Part, flow_of};
use crate::groups::contribution;
use crate::nic::{Interfaces, Stream};
use crate::processor::{ProgressTask, WorkStart};
use crate::queues::{self, Taken};
use crate::ranges::ahead_of;

/// Flag of an acknowledgement in a mark. The other bits are the member.
const ACKNOWLEDGEMENT: u32 = 1 << 31;

impl Memberships {
    /// Hands an item of an operation, by its index, to the interface, where it arrives as a message.
    fn hand_over(&mut self, member: u32, (place, item): (usize, u32), cut: Cut, interfaces: &mut Interfaces) {
        let own = &mut self.members[member as usize];
        let group = self.groups.get(own.group);
        let op = &mut own.ops[place];
        if !interfaces.sending {
            return;
        }
        let bytes = item_bytes(&op.call, group, item);
        let range = op.shape.items.range(item);
        let [first, end] = [range.start, range.end].map(|segment| op.first.wrapping_add(segment));
        let (written, before) = (op.written, op.handed_bytes);
        op.handed_bytes += bytes;
        if let Some(written) = written {
            let stream = Stream { from: written.passage(before, 0).head, ..written };
            return own.streams.push_back((first, None, stream));
        }
        for lane in 0..own.lanes.len() {
            let segments = own.count_in_lane(lane, (first, end));
            if segments > 0 {
                // All segments but the last of an item are full.
                let last = own.lane_of(end.wrapping_sub(1)) == lane;
                let heads = own.count_in_lane(lane, (first, first.wrapping_add(cut.heads.0)));
                let full = cut.position(segments, heads);
                let missing = cut.position(end.wrapping_sub(first), cut.heads.0).saturating_sub(bytes);
                let own_bytes = if last { full - missing } else { full };
                let source = own.lanes[lane].source as usize;
                let stream = interfaces.fetch(source, own_bytes.max(1), own.released_at.now);
                own.streams.push_back((first, Some(lane), stream));
            }
        }
    }

    /// Returns the stream in which a segment of an item comes to the interface by a lane, behind the item's segments
    /// before it. `first` is the first segment of the item, and `cut` has the size of full segments.
    fn stream(&mut self, member: u32, (first, number): (u32, u32), lane: usize, cut: Cut) -> Stream {
        let own = &mut self.members[member as usize];
        // Other lanes may be behind by an item.
        let is_over = |begin: u32| own.lanes.iter().all(|lane| ahead_of(lane.taken, begin) >= 0);
        let over = own.streams.iter().take_while(|stream| stream.0 != first && is_over(first)).count();
        own.streams.drain(..over);
        let released_at = own.released_at.now;
        let found = own.streams.iter().find(|own| own.0 == first && own.1.is_none_or(|of| of == lane));
        let (before, heads) = match found {
            Some((_, None, _)) | None => (number.wrapping_sub(first), cut.heads.0),
            Some(_) => {
                let count = |to| own.count_in_lane(lane, (first, to));
                (count(number), count(first.wrapping_add(cut.heads.0)))
            }
        };
        let before = cut.position(before, heads);
        match found {
            Some((.., stream)) => Stream { from: stream.passage(before, 0).head.max(released_at), ..*stream },
            None => Stream::whole(released_at),
        }
    }

    /// Returns the packet of a member's segment.
    fn packet(&self, member: u32, place: usize, segment: u32) -> GroupPacket {
        let own = &self.members[member as usize];
        let (op, group) = (&own.ops[place], self.groups.get(own.group));
        let number = op.first.wrapping_add(segment);
        let work = match op.shape.work {
            Work::Copy => GroupWork::Multicast,
            Work::ForAll => GroupWork::CombineForAll,
            Work::ForOne | Work::ByOwners => {
                let rank = op.owner(group, segment);
                GroupWork::CombineFor { node: self.nodes[rank as usize] }
            }
        };
        GroupPacket {
            group: own.group,
            segment: number,
            work,
            owners: op.call.owners,
            value: contribution(own.of, number),
            element: self.groups.element(own.of, number),
        }
    }
}

impl Executor {
    /// Hands over to the interface all segments that a member may send.
    pub(super) fn release(&mut self, member: u32, now: u64, around: &mut impl HostContext) {
        let params = self.interface.protocol.group;
        let tick = self.clock.tick;
        while let Some(own) = &mut self.groups
            && let Some(release) = own.members[member as usize].release(&params)
        {
            match release {
                Release::Sent(place) => self.group_progress(place, now, around),
                Release::Waits => own.waited += 1,
                Release::Segments { op, item, begins } => {
                    own.members[member as usize].released_at = HandOver { now, tick };
                    if begins {
                        let at = &own.members[member as usize];
                        let cut = cut_of(&self.interface, &at.ops[op].call, own.groups.get(at.group));
                        own.hand_over(member, (op, item), cut, &mut self.nics.parts);
                    }
                }
            }
        }
        let lanes = self.groups.as_ref().map_or(0, |own| own.members[member as usize].lanes.len());
        for lane in 0..lanes {
            if let Some(source) = self.queue_segment(member, lane) {
                around.wake(source);
            }
        }
    }

    /// Puts a member's next segment of a lane into the queue of its interface, if there is one and none is queued.
    /// Returns its source.
    fn queue_segment(&mut self, member: u32, lane: usize) -> Option<u32> {
        let own = self.groups.as_mut()?;
        let at = &mut own.members[member as usize];
        if at.lanes[lane].is_queued {
            return None;
        }
        let Some((place, segment)) = at.next_taken(lane) else {
            at.settle();
            return None;
        };
        at.lanes[lane].is_queued = true;
        let op = &at.ops[place];
        let item = op.shape.items.item_of(segment);
        let begin = op.shape.items.range(item).start;
        let all = item_bytes(&op.call, own.groups.get(at.group), item);
        let cut = cut_of(&self.interface, &op.call, own.groups.get(at.group));
        let within = segment - begin;
        let bytes = cut.bytes(all, within..within + 1);
        let (first, source, tick) = (op.first.wrapping_add(begin), at.lanes[lane].source, at.released_at.tick);
        let number = op.first.wrapping_add(segment);
        let message = queues::Outgoing { flow_id: flow_of(at.of, Part::Credit), mark: member, dst: Outgoing::GROUP };
        let stream = own.stream(member, (first, number), lane, cut);
        self.nics.queues.push(source as usize, message, bytes, (tick, stream));
        Some(source)
    }

    /// Sends a packet of `bytes` bytes that acknowledges the segments that have been combined for a member, up to
    /// `segment`. It returns the result of that segment if the member owns segments in turn.
    pub(super) fn acknowledge(
        &mut self,
        member: u32,
        (segment, bytes): (u32, u64),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let Some(own) = &mut self.groups else { return };
        let at = &mut own.members[member as usize];
        at.acknowledgements.push_back(segment);
        let mark = member | ACKNOWLEDGEMENT;
        let message = queues::Outgoing { flow_id: flow_of(at.of, Part::Credit), mark, dst: Outgoing::GROUP };
        let source = at.lanes[at.lane_of(segment)].source;
        self.nics.queues.push(source as usize, message, bytes, (self.clock.tick, Stream::whole(now)));
        around.wake(source);
    }

    /// Builds a packet of a group that is removed from the queue of a source.
    pub(in super::super) fn give_group_packet(&mut self, source: usize, taken: &mut Taken) {
        let Some(own) = &mut self.groups else { return };
        let mark = taken.message.mark;
        let member = mark & !ACKNOWLEDGEMENT;
        let at = &mut own.members[member as usize];
        let others = own.groups.get(at.group).ranks.len() as i64 - 1;
        let lane = at.lanes.iter().position(|lane| lane.source as usize == source).unwrap_or(0);
        let packet = if mark == member {
            let Some((place, segment)) = at.find(at.lanes[lane].taken) else { return };
            let items = &at.ops[place].shape.items;
            let item = items.range(items.item_of(segment));
            (taken.is_first, taken.is_last) = (segment == item.start, segment + 1 == item.end);
            at.lanes[lane].is_queued = false;
            at.lanes[lane].taken = at.lanes[lane].taken.wrapping_add(1);
            own.packet(member, place, segment)
        } else {
            let first = at.acknowledgements.iter().position(|&segment| at.lane_of(segment) == lane);
            let segment = first.and_then(|first| at.acknowledgements.remove(first)).unwrap_or(0);
            let group = at.group;
            let returned = at.find(segment).filter(|&(place, _)| at.ops[place].shape.work == Work::ByOwners);
            let (work, value) = match returned {
                Some((place, within)) => {
                    let op = &at.ops[place];
                    (taken.is_first, taken.is_last) = op.ends_of_returns(at.member, within);
                    (GroupWork::Return, own.groups.sum(group, None, segment))
                }
                None => (GroupWork::Acknowledge, contribution(at.of, segment)),
            };
            GroupPacket { group, segment, work, owners: returned.is_some(), value, element: 0 }
        };
        taken.message.mark = packet.segment;
        own.given[source] = packet;
        // One packet is given to the network, and one arrives for each of the others.
        match packet.work {
            GroupWork::Multicast | GroupWork::Acknowledge | GroupWork::Return => {
                self.progress.packets += others - 1 + i64::from(packet.owners);
            }
            GroupWork::CombineForAll | GroupWork::CombineFor { .. } => {
                self.progress.packets -= 1;
                self.progress.combining += 1;
            }
        }
        if mark == member {
            self.queue_segment(member, lane);
        }
    }

    /// Ends an operation if all its segments have come and been sent.
    pub(super) fn group_progress(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(own) = &mut self.groups else { return };
        let super::Called { op, member, first, .. } = own.called[place];
        let at = &mut own.members[member as usize];
        let rank = at.rank;
        let Some(done) = at.begun(first).filter(|done| done.sent && done.missing == 0 && !done.complete) else {
            return;
        };
        done.complete = true;
        let (gets, written_at) = (done.gets_any(), done.written_at);
        match gets {
            true => self.enter_progress(rank, ProgressTask::Group(place), WorkStart::at(now), around),
            false => self.later(written_at.max(now), op, Event::GroupEnded(place), now, around),
        }
    }

    /// Accepts the library work of an operation whose segments have all come. Returns the time at which it ends.
    pub(in super::super) fn group_came(&mut self, place: u32, from: u64) -> (u64, crate::event::OpId) {
        let Some(own) = &self.groups else { return (from, crate::event::OpId::FIRST) };
        let (op, rank) = (own.called[place].op, own.members[own.called[place].member as usize].rank);
        let bytes = self.group_op(place).map_or(0, |own| own.incoming);
        let work = self.interface.receiving(bytes);
        (self.reaction_work(rank, (op, crate::trace::Purpose::Receive), from, work), op)
    }

    /// Ends an operation.
    pub(in super::super) fn group_ended(&mut self, place: u32, now: u64) {
        let Some(own) = &mut self.groups else { return };
        let super::Called { op, id, member, first } = own.called.remove(place);
        let at = &mut own.members[member as usize];
        if let Some(done) = at.begun(first) {
            done.ended = true;
        }
        let rank = at.rank;
        at.settle();
        self.end(rank, (op.number, id), now, None);
    }
}
