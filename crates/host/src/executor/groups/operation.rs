//! Operation in the switches, as one of its members sees it.

use std::ops::Range;
use std::sync::Arc;

use mpi::collectives::{Data, Operation};
use mpi::program::{GroupCall, ProgramGroup};

use crate::context::GroupParams;
use crate::nic::Stream;
use crate::ranges::Ranges;

/// Largest number of segments of an operation. Segment numbers are distinguished up to half of 2^32.
const MOST_SEGMENTS: u64 = 1 << 30;

/// Largest segment on a network that takes messages whole, in bytes.
const MOST_WHOLE: u64 = 1 << 31;

/// Segment ranges of an operation's items.
#[derive(Clone, Debug)]
pub(super) enum Items {
    /// Every item has this number of segments.
    Even(u32),
    /// End of each item: the segment behind its last.
    Uneven(Arc<[u32]>),
}
units::record!(match Items {
    0 => Even { 0: count },
    1 => Uneven { 0: ends },
});

impl Items {
    /// Returns the segments of an item.
    #[inline]
    pub fn range(&self, item: u32) -> Range<u32> {
        match self {
            Self::Even(each) => item * each..(item + 1) * each,
            Self::Uneven(ends) => item.checked_sub(1).map_or(0, |before| ends[before as usize])..ends[item as usize],
        }
    }

    /// Returns the item of a segment.
    #[inline]
    pub fn item_of(&self, segment: u32) -> u32 {
        match self {
            Self::Even(each) => segment / each,
            Self::Uneven(ends) => ends.partition_point(|&end| end <= segment) as u32,
        }
    }
}

/// Operation of the network on segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Copy the segments of each item's member to all others.
    Copy,
    /// Combine the segments of all members for all of them.
    ForAll,
    /// Combine the segments of all members for each item's member: of all others, or also its own.
    ForOne,
    /// Combine each segment of all members for one of them, its owner, which returns the result to all. Members own
    /// segments in turn.
    ByOwners,
}
units::record!(
    enum Work {
        Copy,
        ForAll,
        ForOne,
        ByOwners,
    }
);

impl Work {
    const fn of(call: &GroupCall) -> Self {
        match call.operation {
            Operation::Allreduce if call.owners => Self::ByOwners,
            Operation::Broadcast | Operation::Allgather => Self::Copy,
            Operation::Reduce | Operation::ReduceScatter => Self::ForOne,
            _ => Self::ForAll,
        }
    }
}

/// Returns the network's operation for a call, and its items: the rank of each, which is the source of a copy or the
/// receiver of a result, and the bytes. The items of owners are taken to be as equal as whole elements allow.
pub fn group_items<'a>(call: &'a GroupCall, group: &'a ProgramGroup) -> (Work, impl Iterator<Item = (u32, u64)> + 'a) {
    let (work, members) = (Work::of(call), group.ranks.len() as u32);
    let element = u64::from(call.element.max(1));
    let item = move |item: u32| match work {
        Work::ByOwners => {
            (group.ranks[item as usize], Data::part(item, members).elements(call.bytes / element) * element)
        }
        _ => (rank_of(call, group, item), item_bytes(call, group, item)),
    };
    let count = if work == Work::ByOwners { members } else { items_of(call, group) };
    (work, (0..count).map(item))
}

/// Number of packets of a group's operation, by the operation of the network on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPackets {
    /// Packets copied to all members but one.
    pub copied: u64,
    /// Packets combined for all members. One stands for one packet of each member.
    pub for_all: u64,
    /// Packets combined for one member.
    pub for_one: u64,
    /// Packets combined for their owner, each of which returns to all members.
    pub by_owners: u64,
    /// Packets that acknowledge results for one member, each copied to all others: two for each full window, if results
    /// come in order.
    pub acknowledgements: u64,
}

impl GroupPackets {
    /// Counts the packets of a call, of at most `packet` bytes each.
    pub fn of(call: &GroupCall, group: &ProgramGroup, (packet, params): (u32, &GroupParams)) -> Self {
        let cut = Cut::new((packet, 0), params, call);
        let work = Work::of(call);
        let items = (0..items_of(call, group)).map(|item| item_bytes(call, group, item));
        let half_window = u64::from((params.window / 2).max(1));
        let (mut count, mut acknowledgements) = (0_u64, 0_u64);
        for bytes in items {
            let segments = cut.segments(bytes);
            count = count.saturating_add(segments);
            acknowledgements = acknowledgements.saturating_add(segments.div_ceil(half_window));
        }
        match work {
            Work::Copy => Self { copied: count, ..Self::default() },
            Work::ForAll => Self { for_all: count, ..Self::default() },
            Work::ForOne => Self { for_one: count, acknowledgements, ..Self::default() },
            Work::ByOwners => Self { by_owners: count, ..Self::default() },
        }
    }
}

/// Sizes by which bytes are cut into segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Size of a full segment in bytes: one packet, or several on a network that takes messages whole.
    pub packet: u32,
    /// Size of a control message in bytes, which stands for an item without bytes.
    pub control: u32,
    /// Number of leading segments of an item, and the size of each in bytes. The others have the size `packet`.
    pub heads: (u32, u32),
    /// Window in segments. `None` on a network of packets.
    pub ahead: Option<u32>,
}

/// Returns whether an operation is a stream: its packets are combined, and it is larger than `largest_small`.
fn is_stream(call: &GroupCall, params: &GroupParams) -> bool {
    Work::of(call) != Work::Copy && call.bytes > params.largest_small
}

impl Cut {
    /// Sizes without an operation.
    pub const NONE: Self = Self { packet: 1, control: 1, heads: (0, 0), ahead: None };

    /// Returns the sizes for an operation on a network that takes messages whole: an item has a segment for each of
    /// `GroupParams::parts`, of whole packets, and for each owner. In operations with acknowledgements, a part has two
    /// kinds of segments. The leading ones must be acknowledged before the member may send its last packets. The last
    /// one holds the other packets.
    pub fn whole(sizes: (u32, u32), params: &GroupParams, (call, group): (&GroupCall, &ProgramGroup)) -> Self {
        let cut = Self::new(sizes, params, call);
        let (packet, parts) = (u64::from(cut.packet), u64::from(params.parts));
        let is_divided = Work::of(call) == Work::ByOwners || is_of_members(call.operation);
        let members = if is_divided { group.ranks.len() as u64 } else { 1 };
        let packets = call.bytes.div_ceil(parts * members).div_ceil(packet).max(1);
        let window = (u64::from(params.window) / parts).max(1);
        let half = (window / 2).max(1);
        let head = match Work::of(call) {
            Work::ForOne => packets.saturating_sub(window).div_ceil(half) * half,
            _ => 0,
        };
        let (most, last) = (MOST_WHOLE / packet, packets - head);
        let heads = head.div_ceil(most);
        let each = head.div_ceil(heads.max(1));
        Self {
            packet: (last.min(most) * packet) as u32,
            heads: ((heads * parts) as u32, (each * packet) as u32),
            ahead: Some(((window / last).max(1) * parts) as u32),
            ..cut
        }
    }

    /// Returns the sizes for an operation. `packet` and `control` are the sizes of a packet and a control message in
    /// bytes.
    pub fn new((packet, control): (u32, u32), params: &GroupParams, call: &GroupCall) -> Self {
        let is_whole = Work::of(call) == Work::Copy || is_stream(call, params);
        let packet = if is_whole { packet } else { packet.min(params.small_packet.max(1)) };
        Self { packet, control: control.min(packet), ..Self::NONE }
    }

    /// Returns the number of segments of `bytes` bytes.
    fn segments(self, bytes: u64) -> u64 {
        let (heads, size) = (u64::from(self.heads.0), u64::from(self.heads.1));
        let all = match bytes.saturating_sub(heads * size) {
            0 => bytes.div_ceil(size.max(1)),
            behind => heads + behind.div_ceil(u64::from(self.packet)),
        };
        all.max(1)
    }

    /// Returns the bytes of `segments` full segments, the first `heads` of which are leading ones.
    #[inline]
    pub fn position(self, segments: u32, heads: u32) -> u64 {
        let heads = heads.min(segments);
        u64::from(heads) * u64::from(self.heads.1) + u64::from(segments - heads) * u64::from(self.packet)
    }

    /// Returns the bytes of a range of segments of an item of `all` bytes.
    #[inline]
    pub fn bytes(self, all: u64, Range { start, end }: Range<u32>) -> u64 {
        let position = |segment| self.position(segment, self.heads.0).min(all);
        if all == 0 { u64::from(self.control) } else { position(end) - position(start) }
    }
}

/// Segmentation of a group's operation, which is equal for all members.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub work: Work,
    pub items: Items,
    pub segments: u32,
    /// Window in segments on a network that takes messages whole (`Cut::ahead`).
    pub ahead: Option<u32>,
}
units::record!(Shape { work, items, segments, ahead });

impl Shape {
    /// Returns the segmentation of a call, or the number of its segments if they are too many.
    pub fn new(
        call: &GroupCall,
        group: &ProgramGroup,
        cut: Cut,
        known: &mut Option<(GroupCall, Items)>,
    ) -> Result<Self, u64> {
        let (work, count, ahead) = (Work::of(call), items_of(call, group), cut.ahead);
        if let Some((_, items)) = known.as_ref().filter(|known| known.0 == *call) {
            return Ok(Self { work, segments: items.range(count - 1).end, items: items.clone(), ahead });
        }
        let each = |item| cut.segments(item_bytes(call, group, item));
        let segments: u64 = (0..count).map(each).sum();
        if segments > MOST_SEGMENTS {
            return Err(segments);
        }
        let first = each(0);
        if segments == first * u64::from(count) && (0..count).all(|item| each(item) == first) {
            return Ok(Self { work, items: Items::Even(first as u32), segments: segments as u32, ahead });
        }
        let ends = (0..count).scan(0, |end, item| {
            *end += each(item) as u32;
            Some(*end)
        });
        let items = Items::Uneven(ends.collect());
        *known = Some((*call, items.clone()));
        Ok(Self { work, items, segments: segments as u32, ahead })
    }
}

/// Returns whether an operation has one item for each member, rather than one for all.
const fn is_of_members(operation: Operation) -> bool {
    matches!(operation, Operation::Allgather | Operation::ReduceScatter)
}

/// Returns the number of items of an operation.
fn items_of(call: &GroupCall, group: &ProgramGroup) -> u32 {
    if is_of_members(call.operation) { group.ranks.len() as u32 } else { 1 }
}

/// Returns the bytes of an item.
pub(super) fn item_bytes(call: &GroupCall, group: &ProgramGroup, item: u32) -> u64 {
    match call.operation {
        Operation::Barrier => 0,
        operation if is_of_members(operation) => group.part(call, item),
        _ => call.bytes,
    }
}

/// Returns the rank of an item: its source, or the receiver of its result.
pub(super) fn rank_of(call: &GroupCall, group: &ProgramGroup, item: u32) -> u32 {
    if is_of_members(call.operation) { group.ranks[item as usize] } else { call.root }
}

/// Owners of segments that members own in turn: each of some consecutive segments, one for each tree of the group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owners {
    pub members: u32,
    pub trees: u32,
}
units::record!(Owners { members, trees });

impl Owners {
    /// Returns the member that owns a segment.
    #[inline]
    pub const fn of(self, segment: u32) -> u32 {
        segment / self.trees % self.members
    }

    /// Returns the number of segments before `segment` that its owner owns.
    const fn number(self, segment: u32) -> u32 {
        segment / (self.trees * self.members) * self.trees + segment % self.trees
    }

    /// Returns the number of segments before `segments` that a member owns.
    fn count(self, member: u32, segments: u32) -> u32 {
        let turn = self.trees * self.members;
        segments / turn * self.trees + (segments % turn).saturating_sub(member * self.trees).min(self.trees)
    }
}

/// Operation of a member.
#[derive(Clone, Debug)]
pub(super) struct GroupOp {
    pub call: GroupCall,
    /// Place of the operation among the unfinished ones.
    pub place: u32,
    /// Number of its first segment.
    pub first: u32,
    pub shape: Shape,
    /// Segments of the member's item, counted from the operation's first. Empty if members own segments in turn.
    pub own: Range<u32>,
    /// Owners of the segments, if members own segments in turn.
    pub owners: Owners,
    /// Results of segments that the member owns in turn and that have come, numbered among these.
    pub results: Ranges,
    /// Bytes that the member sends.
    pub outgoing: u64,
    /// Bytes that the member receives.
    pub incoming: u64,
    /// Whether the operation is a stream.
    pub is_stream: bool,
    /// Whether its send overhead has passed.
    pub handed: bool,
    /// Whether the operation is among the outstanding ones.
    pub is_let_in: bool,
    /// Whether the operation has waited to become outstanding.
    pub has_waited: bool,
    /// Whether its last segment has been handed to the interface.
    pub sent: bool,
    /// Number of segments that have not arrived.
    pub missing: u32,
    /// Segments that have arrived.
    pub got: Ranges,
    /// Whether all segments have arrived and been sent.
    pub complete: bool,
    /// Whether the operation has ended.
    pub ended: bool,
    /// Segments of the member's item that the others know to be finished, as a number of the group.
    pub acknowledged: u32,
    /// Stream in which the processor writes the data to the interface, if it does.
    pub written: Option<Stream>,
    /// End of the writing, in picoseconds.
    pub written_at: u64,
    /// Bytes of items that have been handed to the interface.
    pub handed_bytes: u64,
}
units::record!(GroupOp {
    call, place, first, shape, own, owners, results, outgoing, incoming, is_stream, handed, is_let_in, has_waited,
    sent, missing, got, complete, ended, acknowledged, written, written_at, handed_bytes;
});

impl GroupOp {
    /// Creates the operation of a member of a group, from segment `first` on.
    pub fn new(
        call: GroupCall,
        (shape, first): (Shape, u32),
        (group, member, trees): (&ProgramGroup, u32, u32),
        params: &GroupParams,
    ) -> Self {
        let owners = Owners { members: group.ranks.len() as u32, trees };
        let (rank, segments) = (group.ranks[member as usize], shape.segments);
        let is_copied = shape.work == Work::Copy;
        let own = match shape.work {
            Work::ForAll | Work::ByOwners => 0..0,
            _ if is_of_members(call.operation) => shape.items.range(member),
            _ if call.root == rank => 0..segments,
            _ => 0..0,
        };
        let part = if own == (0..0) { 0 } else { item_bytes(&call, group, member) };
        let all: u64 = match is_of_members(call.operation) {
            true => (0..group.ranks.len() as u32).map(|item| item_bytes(&call, group, item)).sum(),
            false => item_bytes(&call, group, 0),
        };
        let (outgoing, incoming, missing) = match shape.work {
            Work::ForAll => (all, all, segments),
            Work::Copy if call.owners => (part, all, segments),
            Work::Copy => (part, all - part, segments - (own.end - own.start)),
            Work::ForOne if call.owners => (all, part, own.end - own.start),
            Work::ForOne => (all - part, part, own.end - own.start),
            Work::ByOwners => (all, all, segments + owners.count(member, segments)),
        };
        let mut got = Ranges::new(first);
        let begin = first.wrapping_add(own.start);
        if shape.work == Work::Copy && !call.owners && !own.is_empty() {
            got.add(begin, first.wrapping_add(own.end));
        }
        Self {
            is_stream: is_stream(&call, params),
            call,
            place: 0,
            first,
            shape,
            own,
            owners,
            results: Ranges::new(0),
            outgoing,
            incoming,
            handed: false,
            is_let_in: is_copied,
            has_waited: false,
            sent: false,
            missing,
            got,
            complete: false,
            ended: false,
            acknowledged: begin,
            written: None,
            written_at: 0,
            handed_bytes: 0,
        }
    }

    /// Returns the number of the segment behind the last.
    #[inline]
    pub fn end(&self) -> u32 {
        self.first.wrapping_add(self.shape.segments)
    }

    /// Returns the index of a segment of the group in this operation, if it belongs to it.
    #[inline]
    pub fn segment(&self, number: u32) -> Option<u32> {
        let segment = number.wrapping_sub(self.first);
        (segment < self.shape.segments).then_some(segment)
    }

    /// Returns the first segment from `segment` on that the member sends. If there is none it is the one behind the
    /// last.
    #[inline]
    pub fn next_sent(&self, segment: u32) -> u32 {
        let Range { start: from, end: to } = self.own;
        match self.shape.work {
            Work::Copy if segment < to => segment.max(from),
            Work::Copy => self.shape.segments,
            Work::ForOne if !self.call.owners && (from..to).contains(&segment) => to,
            _ => segment,
        }
    }

    /// Returns whether the member receives anything.
    pub fn gets_any(&self) -> bool {
        match self.shape.work {
            Work::ForAll | Work::ByOwners => true,
            Work::Copy => self.call.owners || self.own.end - self.own.start < self.shape.segments,
            Work::ForOne => !self.own.is_empty(),
        }
    }

    /// Returns whether the member receives a segment.
    pub fn gets(&self, segment: u32) -> bool {
        let is_own = self.own.contains(&segment);
        match self.shape.work {
            Work::ForAll | Work::ByOwners => true,
            Work::Copy => self.call.owners || !is_own,
            Work::ForOne => is_own,
        }
    }

    /// Returns the rank of a segment: its source, or the receiver of its result.
    pub fn owner(&self, group: &ProgramGroup, segment: u32) -> u32 {
        match self.shape.work {
            Work::ByOwners => group.ranks[self.owners.of(segment) as usize],
            _ => rank_of(&self.call, group, self.shape.items.item_of(segment)),
        }
    }

    /// Returns whether a segment is the first, and whether it is the last, of the segments that a member owns in turn.
    pub fn ends_of_returns(&self, member: u32, segment: u32) -> (bool, bool) {
        let number = self.owners.number(segment);
        (number == 0, number + 1 == self.owners.count(member, self.shape.segments))
    }

    /// Notes the result of a segment that the member owns in turn. Returns whether it is the first.
    pub fn take_result(&mut self, segment: u32) -> bool {
        let number = self.owners.number(segment);
        self.results.add(number, number + 1)
    }

    /// Returns whether the rank waits for others in this operation.
    pub fn is_waiting(&self) -> bool {
        !self.complete && self.handed
    }
}

#[cfg(test)]
mod tests {
    use mpi::program::Context;

    use super::*;

    #[test]
    fn whole_segments_await_what_packets_await() {
        // Would catch a last segment that is larger than the window, a short operation of several segments, lost bytes,
        // and leading segments of an operation without acknowledgements.
        let group = ProgramGroup { context: Context::WORLD, ranks: (0..4).collect(), first: Vec::new() };
        let call = |operation, bytes| {
            let (element, root, owners, context) = (1, 0, false, Context::WORLD);
            GroupCall { operation, bytes, element, root, owners, context }
        };
        for (window, parts) in [(1, 1), (8, 1), (9, 1), (16, 2), (64, 4)] {
            let params = GroupParams { window, parts, ..GroupParams::DEFAULT };
            for bytes in [0, 1, 100, 799, 801, 5000, 12_345, 1 << 20, 10 << 30] {
                let cut = |operation| Cut::whole((100, 10), &params, (&call(operation, bytes), &group));
                let (own, most) = (cut(Operation::Reduce), u64::from(window / parts * 100));
                let segments = own.segments(bytes) as u32;
                let all: u64 = (0..segments).map(|segment| own.bytes(bytes, segment..segment + 1)).sum();
                assert_eq!(all, if bytes == 0 { 10 } else { bytes });
                assert!(u64::from(own.packet) <= most, "{bytes} B, window {window}");
                assert!(bytes > most * u64::from(parts) || segments <= parts, "{bytes} B, window {window}");
                assert!(own.heads.0 == 0 || u64::from(own.packet) * 2 >= most, "{bytes} B, window {window}");
                assert_eq!(cut(Operation::Allreduce).heads, (0, 0));
            }
        }
    }
}
