//! Segments that the network delivers to the members of groups.

use super::early::Run;
use super::member::Member;
use super::operation::{GroupOp, Work, item_bytes, rank_of};
use super::starting::cut_of;
use super::{Memberships, PassingPacket};
use crate::context::{GroupArrival, GroupWork, HostContext};
use crate::event::{Event, OpId};
use crate::executor::Executor;
use crate::groups::{contribution, without_segment};
use crate::nic::Fragment;
use crate::ranges::ahead_of;

impl Memberships {
    /// Returns the position of an arriving packet in its item. It is unknown for operations that the rank has not
    /// called.
    fn fragment(&self, packet: &PassingPacket) -> Fragment {
        let GroupArrival { segment, bytes, work, .. } = packet.arrival;
        let bytes = u64::from(bytes);
        if work == GroupWork::Acknowledge {
            return Fragment { bytes, is_first: true, is_last: true };
        }
        let own = &self.members[packet.member as usize];
        let Some((place, segment)) = own.find(segment) else {
            return Fragment { bytes, is_first: false, is_last: false };
        };
        let items = &own.ops[place].shape.items;
        let item = items.range(items.item_of(segment));
        Fragment { bytes, is_first: segment == item.start, is_last: segment + 1 == item.end }
    }

    /// Returns whether arriving segments of an operation are as expected, all of one item.
    fn is_right(&self, own: &Member, op: &GroupOp, run: &Run) -> bool {
        let Some(segment) = op.segment(run.from) else { return false };
        let item = op.shape.items.item_of(segment);
        let is_one_item = op.shape.items.item_of(run.to.wrapping_sub(op.first) - 1) == item;
        let group = self.groups.get(own.group);
        let rank = op.owner(group, segment);
        let members = group.ranks.len() as u32;
        let of_one = |rank| without_segment(contribution(rank, 0), 0);
        let of_all = |without| without_segment(self.groups.sum(own.group, without, 0), 0);
        let wanted = match op.shape.work {
            Work::Copy => (GroupWork::Multicast, 1, of_one(rank)),
            Work::ForAll => (GroupWork::CombineForAll, members, of_all(None)),
            Work::ByOwners if run.work == GroupWork::Return => (GroupWork::Return, 1, of_all(None)),
            Work::ForOne | Work::ByOwners => {
                let without = Some(rank).filter(|_| !op.call.owners);
                let count = members - u32::from(without.is_some());
                (GroupWork::CombineFor { node: self.nodes[rank as usize] }, count, of_all(without))
            }
        };
        is_one_item && op.gets(segment) && (run.work, run.contributions, run.sum) == wanted
    }

    /// Takes arriving segments of a member's operation. Returns its place among those that have not ended, and the
    /// segment up to which the others may be notified that the results for this member are finished.
    fn take(&mut self, member: u32, run: &Run, window: u32) -> Option<(u32, Option<u32>)> {
        let own = &self.members[member as usize];
        let (place, _) = own.find(run.from)?;
        let is_right = self.is_right(own, &own.ops[place], run);
        let own = &mut self.members[member as usize];
        let op = &mut own.ops[place];
        let owned = op.segment(run.from).filter(|_| op.shape.work == Work::ByOwners && run.work != GroupWork::Return);
        let is_new = match owned {
            Some(segment) => op.take_result(segment),
            None => op.got.add(run.from, run.to),
        };
        self.verified &= is_right && is_new;
        debug_assert!(is_right, "{run:?} is not what the group has contributed");
        debug_assert!(is_new, "{run:?} has come before");
        op.missing = op.missing.saturating_sub(run.to.wrapping_sub(run.from));
        if owned.is_some() {
            return Some((op.place, Some(run.from)));
        }
        if op.shape.work != Work::Copy {
            own.finished.add(run.from, run.to);
        }
        let acknowledged = (op.shape.work == Work::ForOne).then(|| {
            let (known, end) = (op.got.end_of(op.acknowledged), op.first.wrapping_add(op.own.end));
            let more = known.wrapping_sub(op.acknowledged);
            let is_told = more >= (window / 2).max(1) || (known == end && more > 0);
            is_told.then(|| {
                op.acknowledged = known;
                known.wrapping_sub(1)
            })
        });
        Some((op.place, acknowledged.flatten()))
    }

    /// Notes that the results for another member are finished up to a segment.
    fn acknowledged(&mut self, member: u32, arrival: &GroupArrival) {
        let own = &mut self.members[member as usize];
        let group = self.groups.get(own.group);
        let Some((place, segment)) = own.find(arrival.segment) else {
            // An operation that is over for this member is finished.
            debug_assert!(ahead_of(arrival.segment, own.finished.front()) < 0, "an acknowledgement of nothing");
            return;
        };
        let op = &own.ops[place];
        let item = op.shape.items.item_of(segment);
        let wanted = contribution(rank_of(&op.call, group, item), arrival.segment);
        let is_right = op.shape.work == Work::ForOne && (arrival.contributions, arrival.value) == (1, wanted);
        self.verified &= is_right;
        debug_assert!(is_right, "{arrival:?} is not of the member that the result is for");
        let begin = op.first.wrapping_add(op.shape.items.range(item).start);
        own.finished.add(begin, arrival.segment.wrapping_add(1));
    }
}

impl Executor {
    /// Handles a packet of a group that has arrived at a local node, at tick `tick`.
    pub fn group_arrived(&mut self, node: usize, arrival: GroupArrival, tick: u64, around: &mut impl HostContext) {
        let now = self.come_to(tick);
        self.catch_up(now.saturating_sub(1), around);
        let Some(own) = &mut self.groups else { return };
        let Some(member) = own.at_node(node, arrival.group) else {
            own.verified = false;
            debug_assert!(false, "{arrival:?} at a node that has no member");
            return;
        };
        own.check_element(member, &arrival);
        match arrival.work {
            GroupWork::Multicast | GroupWork::Acknowledge | GroupWork::Return => self.progress.packets -= 1,
            GroupWork::CombineForAll => self.progress.combining -= 1,
            GroupWork::CombineFor { .. } => self.progress.combining -= i64::from(arrival.contributions),
        }
        let packet = PassingPacket { member, arrival };
        match self.nics.parts.receiving {
            true => self.pass_group(node, packet, now, around),
            false => self.take_arrival(&packet, now, around),
        }
        self.start_ready(now, around);
    }

    /// Passes a packet through the parts of the interface of a local node.
    fn pass_group(&mut self, node: usize, packet: PassingPacket, now: u64, around: &mut impl HostContext) {
        let source = node * self.nics.rails.count() as usize + packet.arrival.rail as usize;
        let Some(own) = &mut self.groups else { return };
        let fragment = own.fragment(&packet);
        own.arrived[node] = own.arrived[node].wrapping_add(1);
        let op = OpId { rank: own.members[packet.member as usize].of, number: own.arrived[node] };
        let place = own.passing.insert(packet);
        let at = self.receive_by(source, &fragment, now);
        self.later(at, op, Event::GroupPassed(place), now, around);
    }

    /// Handles a packet that has passed the interface.
    pub(in super::super) fn group_passed(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(own) = &mut self.groups else { return };
        let packet = own.passing.remove(place);
        self.take_arrival(&packet, now, around);
    }

    fn take_arrival(&mut self, packet: &PassingPacket, now: u64, around: &mut impl HostContext) {
        let &PassingPacket { member, arrival } = packet;
        let Some(own) = &mut self.groups else { return };
        let GroupArrival { segment, work, contributions, value, bytes, .. } = arrival;
        if work == GroupWork::Acknowledge {
            own.acknowledged(member, &arrival);
            return self.release(member, now, around);
        }
        let at = &mut own.members[member as usize];
        if ahead_of(segment, at.next) >= 0 {
            let is_new = at.early.add(at.next, &arrival);
            own.verified &= is_new;
            debug_assert!(is_new, "{arrival:?} has come before");
            return self.unexpected.hold(at.rank, u64::from(bytes));
        }
        let sum = without_segment(value, segment);
        let run = Run { from: segment, to: segment.wrapping_add(1), work, contributions, sum };
        self.take_run(member, &run, now, around);
    }

    /// Takes arriving segments of an operation that a member has called.
    fn take_run(&mut self, member: u32, run: &Run, now: u64, around: &mut impl HostContext) {
        // A segment of a network that takes messages whole stands for at least half a window.
        let window = if self.interface.whole { 1 } else { self.interface.protocol.group.window };
        let Some(own) = &mut self.groups else { return };
        let Some((place, acknowledged)) = own.take(member, run, window) else {
            own.verified = false;
            debug_assert!(false, "{run:?} of an operation that is over");
            return;
        };
        if let Some(segment) = acknowledged {
            let bytes = self.returned_bytes(member, segment);
            self.acknowledge(member, (segment, bytes), now, around);
        }
        if run.work != GroupWork::Multicast {
            self.release(member, now, around);
        }
        self.group_progress(place, now, around);
    }

    /// Returns the bytes of a packet that acknowledges a segment: of its result if it returns to all, or of a control
    /// message.
    fn returned_bytes(&self, member: u32, segment: u32) -> u64 {
        let control = u64::from(self.interface.control);
        let Some(own) = &self.groups else { return control };
        let found = own.members[member as usize]
            .find(segment)
            .map(|(place, at)| (&own.members[member as usize].ops[place], at));
        match found {
            Some((op, at)) if op.shape.work == Work::ByOwners => {
                self.cut(member, &op.call).bytes(op.call.bytes, at..at + 1)
            }
            _ => control,
        }
    }

    /// Takes the segments of an operation that came before its member called it.
    pub(super) fn take_early(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(own) = &self.groups else { return };
        let member = own.called[place].member;
        while let Some(own) = &mut self.groups
            && let at = &mut own.members[member as usize]
            && let Some(op) = at.ops.back()
            && let Some(run) = at.early.take(op.end())
        {
            // All segments of a run belong to one item.
            let (from, to) = (run.from.wrapping_sub(op.first), run.to.wrapping_sub(op.first));
            let item = op.shape.items.item_of(from);
            let begin = op.shape.items.range(item).start;
            let group = own.groups.get(at.group);
            let all = item_bytes(&op.call, group, item);
            let bytes = cut_of(&self.interface, &op.call, group).bytes(all, from - begin..to.saturating_sub(begin));
            let rank = at.rank;
            self.unexpected.take(rank, bytes);
            self.take_run(member, &run, now, around);
        }
    }
}
