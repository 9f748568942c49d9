//! Operations in the switches, from their call until they are handed to the interface.

use mpi::program::{GroupCall, ProgramGroup};

use super::operation::{Cut, GroupOp, Shape, Work};
use super::{Called, Memberships};
use crate::context::{GroupParams, HostContext, NicParams};
use crate::event::{Event, OpId};
use crate::executor::Executor;
use crate::local_ranks::LocalRank;
use crate::nic::{PerByte, Stream};
use crate::report::HostError;
use crate::trace::Purpose;

impl Memberships {
    /// Begins an operation of a member. Returns its place among the unfinished ones. Segments of a group are numbered
    /// without a wrap: trees and windows take them in turn, and neither number divides 2^32.
    ///
    /// # Errors
    /// The number of segments, of the operation or of all so far, if there are too many.
    fn begin(&mut self, called: Called, call: GroupCall, (cut, params): (Cut, &GroupParams)) -> Result<u32, u64> {
        let member = &mut self.members[called.member as usize];
        let group = self.groups.get(member.group);
        let shape = Shape::new(&call, group, cut, &mut self.items[member.group as usize])?;
        let first = member.next;
        if first.checked_add(shape.segments).is_none() {
            return Err(u64::from(first) + u64::from(shape.segments));
        }
        let mut op = GroupOp::new(call, (shape, first), (group, member.member, member.trees()), params);
        op.place = self.called.insert(Called { first, ..called });
        member.next = op.end();
        if op.shape.work == Work::Copy {
            member.finished.add(first, op.end());
        }
        let place = op.place;
        member.ops.push_back(op);
        Ok(place)
    }
}

/// Returns the sizes by which an interface cuts the bytes of an operation of a group into segments.
pub(super) fn cut_of(interface: &NicParams, call: &GroupCall, group: &ProgramGroup) -> Cut {
    let params = &interface.protocol.group;
    match interface.whole {
        true => Cut::whole((interface.packet, interface.control), params, (call, group)),
        false => Cut::new((interface.packet, interface.control), params, call),
    }
}

impl Executor {
    /// Returns the sizes by which the bytes of an operation of a member are cut into segments.
    #[inline]
    pub(super) fn cut(&self, member: u32, call: &GroupCall) -> Cut {
        let own = self.groups.as_ref();
        own.map_or(Cut::NONE, |own| cut_of(&self.interface, call, own.groups.get(own.members[member as usize].group)))
    }

    /// Starts an operation in the switches that a local rank calls.
    pub(in super::super) fn start_group(
        &mut self,
        rank: LocalRank,
        (op, id): (OpId, u32),
        call: GroupCall,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let (operation, params) = (call.operation, self.interface.protocol.group);
        let interface = &self.interface;
        let found = self.groups.as_mut().and_then(|own| Some((own.find(rank, call.context)?, own)));
        let Some((member, own)) = found else {
            return self.fail(HostError::NoGroup { rank: op.rank, operation, context: call.context });
        };
        let cut = cut_of(interface, &call, own.groups.get(own.members[member as usize].group));
        let place = match own.begin(Called { op, id, member, first: 0 }, call, (cut, &params)) {
            Ok(place) => place,
            Err(segments) => return self.fail(HostError::Segments { rank: op.rank, operation, segments }),
        };
        let member = &own.members[member as usize];
        let which = (member.group, own.called[place].first);
        self.trace_group(rank, op.number, which);
        let at = self.group_work(rank, op, place, now);
        self.take_early(place, now, around);
        self.later(at, op, Event::GroupData(place), now, around);
    }

    /// Accepts the work of a call on a member's processor. Returns the time at which its data are handed over.
    fn group_work(&mut self, rank: LocalRank, op: OpId, place: u32, now: u64) -> u64 {
        let Some((bytes, sends)) =
            self.group_op(place).map(|own| (own.outgoing, own.next_sent(0) < own.shape.segments))
        else {
            return now;
        };
        if !sends {
            return now;
        }
        let at = self.call_work(rank, (op, Purpose::Send), now, self.interface.sending(bytes));
        if let Some(time) = self.interface.parts.written(bytes).filter(|_| bytes > 0) {
            let until = self.call_work(rank, (op, Purpose::Write), at, time);
            let stream = Stream { from: at, per_byte: PerByte::ratio(until - at, bytes) };
            if let Some(own) = self.group_op(place) {
                (own.written, own.written_at) = (Some(stream), until);
            }
        }
        at
    }

    /// Returns an operation that has not ended, by its place.
    pub(super) fn group_op(&mut self, place: u32) -> Option<&mut GroupOp> {
        let own = self.groups.as_mut()?;
        let Called { member, first, .. } = own.called[place];
        own.members[member as usize].begun(first)
    }

    /// Hands an operation to the interface.
    pub(in super::super) fn group_handed(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(op) = self.group_op(place) else { return };
        op.handed = true;
        let Some(own) = &self.groups else { return };
        let member = own.called[place].member;
        self.release(member, now, around);
    }
}
