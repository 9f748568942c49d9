//! An operation in the switches as one of its members sees it.

use std::sync::Arc;

use workload::collectives::Operation;
use workload::program::{GroupCall, ProgramGroup};

use crate::context::GroupParams;
use crate::nic::Stream;
use crate::ranges::Ranges;

/// The most segments of an operation: numbers of segments are distinguished up to half of 2^32.
const MOST_SEGMENTS: u64 = 1 << 30;

/// Where the items of an operation begin, counted in its segments.
#[derive(Clone, Debug)]
pub(super) enum Items {
    /// So many segments each.
    Even(u32),
    /// By item, the segment behind its last.
    Uneven(Arc<[u32]>),
}

impl Items {
    /// The segments of an item: from one to before another.
    #[inline]
    pub fn range(&self, item: u32) -> (u32, u32) {
        match self {
            Self::Even(each) => (item * each, (item + 1) * each),
            Self::Uneven(ends) => (if item == 0 { 0 } else { ends[item as usize - 1] }, ends[item as usize]),
        }
    }

    /// The item of a segment.
    #[inline]
    pub fn item_of(&self, segment: u32) -> u32 {
        match self {
            Self::Even(each) => segment / each,
            Self::Uneven(ends) => ends.partition_point(|&end| end <= segment) as u32,
        }
    }
}

/// What the network does with the segments of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It copies those of each item's member to all others.
    Copy,
    /// It combines those of all members for all of them.
    ForAll,
    /// It combines those of all but each item's member for that one.
    ForOne,
}

impl Work {
    const fn of(operation: Operation) -> Self {
        match operation {
            Operation::Broadcast | Operation::Allgather => Self::Copy,
            Operation::Reduce | Operation::ReduceScatter => Self::ForOne,
            _ => Self::ForAll,
        }
    }
}

/// What the network does with a call, and its items: the rank of each, which is the one that sends what is copied or gets what is combined for
/// one, and the bytes.
pub fn group_items<'a>(call: &'a GroupCall, group: &'a ProgramGroup) -> (Work, impl Iterator<Item = (u32, u64)> + 'a) {
    let items = (0..items_of(call, group)).map(|item| (rank_of(call, group, item), item_bytes(call, group, item)));
    (Work::of(call.operation), items)
}

/// The packets of an operation of a group, by what the network does with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPackets {
    /// Those that it copies to all members but one.
    pub copied: u64,
    /// Those that it combines for all members, one of each member,
    pub for_all: u64,
    /// or for one of them.
    pub for_one: u64,
    /// Those that acknowledge what was combined for one of them, each copied to all others: two for each full window, if results come in order.
    pub acknowledgements: u64,
}

impl GroupPackets {
    /// Those of a call, of at most so many bytes each.
    pub fn of(call: &GroupCall, group: &ProgramGroup, (packet, params): (u32, &GroupParams)) -> Self {
        let cut = Cut::new((packet, 0), params, call);
        let (work, items) = group_items(call, group);
        let half_window = u64::from((params.window / 2).max(1));
        let (mut count, mut acknowledgements) = (0_u64, 0_u64);
        for (_, bytes) in items {
            let segments = cut.segments(bytes);
            count = count.saturating_add(segments);
            acknowledgements = acknowledgements.saturating_add(segments.div_ceil(half_window));
        }
        match work {
            Work::Copy => Self { copied: count, ..Self::default() },
            Work::ForAll => Self { for_all: count, ..Self::default() },
            Work::ForOne => Self { for_one: count, acknowledgements, ..Self::default() },
        }
    }
}

/// How bytes are cut into segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Bytes of the largest packet,
    pub packet: u32,
    /// and of a control message, which stands for an item without bytes.
    pub control: u32,
}

/// Whether an operation is a stream: its packets are combined, and it is larger than those that are none.
fn is_stream(call: &GroupCall, params: &GroupParams) -> bool {
    Work::of(call.operation) != Work::Copy && call.bytes > params.largest_small
}

impl Cut {
    /// How the bytes of an operation are cut, where a packet and a control message have so many.
    pub fn new((packet, control): (u32, u32), params: &GroupParams, call: &GroupCall) -> Self {
        let is_whole = Work::of(call.operation) == Work::Copy || is_stream(call, params);
        let packet = if is_whole { packet } else { packet.min(params.small_packet.max(1)) };
        Self { packet, control: control.min(packet) }
    }

    /// The segments of so many bytes.
    fn segments(self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.packet)).max(1)
    }

    /// Bytes of the segments of an item of so many bytes, from one to before another.
    #[inline]
    pub fn bytes(self, all: u64, (from, to): (u32, u32)) -> u64 {
        let packet = u64::from(self.packet);
        match all {
            0 => u64::from(self.control),
            _ => (u64::from(to) * packet).min(all) - (u64::from(from) * packet).min(all),
        }
    }
}

/// The shape of an operation of a group: the same for all members.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub work: Work,
    pub items: Items,
    pub segments: u32,
}

impl Shape {
    /// That of a call; the number of its segments if they are too many.
    pub fn new(
        call: &GroupCall,
        group: &ProgramGroup,
        cut: Cut,
        known: &mut Option<(GroupCall, Items)>,
    ) -> Result<Self, u64> {
        let work = Work::of(call.operation);
        let count = items_of(call, group);
        if let Some((_, items)) = known.as_ref().filter(|known| known.0 == *call) {
            return Ok(Self { work, segments: items.range(count - 1).1, items: items.clone() });
        }
        let each = |item| cut.segments(item_bytes(call, group, item));
        let segments: u64 = (0..count).map(each).sum();
        if segments > MOST_SEGMENTS {
            return Err(segments);
        }
        let first = each(0);
        if segments == first * u64::from(count) && (0..count).all(|item| each(item) == first) {
            return Ok(Self { work, items: Items::Even(first as u32), segments: segments as u32 });
        }
        let ends = (0..count).scan(0, |end, item| {
            *end += each(item) as u32;
            Some(*end)
        });
        let items = Items::Uneven(ends.collect());
        *known = Some((*call, items.clone()));
        Ok(Self { work, items, segments: segments as u32 })
    }
}

/// Whether an operation has an item for each member, and not one for all.
const fn is_of_members(operation: Operation) -> bool {
    matches!(operation, Operation::Allgather | Operation::ReduceScatter)
}

/// The number of items of an operation.
fn items_of(call: &GroupCall, group: &ProgramGroup) -> u32 {
    if is_of_members(call.operation) { group.ranks.len() as u32 } else { 1 }
}

/// The bytes of an item.
pub(super) fn item_bytes(call: &GroupCall, group: &ProgramGroup, item: u32) -> u64 {
    match call.operation {
        Operation::Barrier => 0,
        operation if is_of_members(operation) => group.part(call, item),
        _ => call.bytes,
    }
}

/// The rank that an item is of: its source, or who gets the result.
pub(super) fn rank_of(call: &GroupCall, group: &ProgramGroup, item: u32) -> u32 {
    if is_of_members(call.operation) { group.ranks[item as usize] } else { call.root }
}

/// An operation of a member.
#[derive(Clone, Debug)]
pub(super) struct GroupOp {
    pub call: GroupCall,
    /// Its place among those that have not ended.
    pub place: u32,
    /// The number of its first segment.
    pub first: u32,
    pub shape: Shape,
    /// The segments of the member's own item, counted from the first: from one to before another.
    pub own: (u32, u32),
    /// Bytes that the member sends, and gets.
    pub bytes: (u64, u64),
    /// Whether it is a stream.
    pub is_stream: bool,
    /// Its send overhead has passed.
    pub handed: bool,
    /// It is among those that may be under way; and it has waited for that.
    pub is_let_in: bool,
    pub has_waited: bool,
    /// Its last segment has been handed to the interface.
    pub sent: bool,
    /// Segments that have not come, and those that have.
    pub missing: u32,
    pub got: Ranges,
    /// All has come and been sent; and it has ended.
    pub complete: bool,
    pub ended: bool,
    /// Segments of the own item that the others know to be finished, as a number of the group.
    pub acknowledged: u32,
    /// How the processor writes its data to the interface, if it does, and until when.
    pub written: Option<Stream>,
    pub written_at: u64,
    /// Bytes of items that have been handed to the interface.
    pub handed_bytes: u64,
}

impl GroupOp {
    /// The operation of a member of a group, from a segment on.
    pub fn new(
        call: GroupCall,
        (shape, first): (Shape, u32),
        (group, member): (&ProgramGroup, u32),
        params: &GroupParams,
    ) -> Self {
        let (rank, segments) = (group.ranks[member as usize], shape.segments);
        let is_copied = shape.work == Work::Copy;
        let own = match shape.work {
            Work::ForAll => (0, 0),
            _ if is_of_members(call.operation) => shape.items.range(member),
            _ if call.root == rank => (0, segments),
            _ => (0, 0),
        };
        let part = if own == (0, 0) { 0 } else { item_bytes(&call, group, member) };
        let all: u64 = match is_of_members(call.operation) {
            true => (0..group.ranks.len() as u32).map(|item| item_bytes(&call, group, item)).sum(),
            false => item_bytes(&call, group, 0),
        };
        let (bytes, missing) = match shape.work {
            Work::ForAll => ((all, all), segments),
            Work::Copy => ((part, all - part), segments - (own.1 - own.0)),
            Work::ForOne => ((all - part, part), own.1 - own.0),
        };
        let mut got = Ranges::new(first);
        if shape.work == Work::Copy && own.0 < own.1 {
            got.add(first.wrapping_add(own.0), first.wrapping_add(own.1));
        }
        Self {
            is_stream: is_stream(&call, params),
            call,
            place: 0,
            first,
            shape,
            own,
            bytes,
            handed: false,
            is_let_in: is_copied,
            has_waited: false,
            sent: false,
            missing,
            got,
            complete: false,
            ended: false,
            acknowledged: first.wrapping_add(own.0),
            written: None,
            written_at: 0,
            handed_bytes: 0,
        }
    }

    /// The number of the segment behind its last.
    #[inline]
    pub fn end(&self) -> u32 {
        self.first.wrapping_add(self.shape.segments)
    }

    /// Whether a segment of the group is its, and which one.
    #[inline]
    pub fn segment(&self, number: u32) -> Option<u32> {
        let segment = number.wrapping_sub(self.first);
        (segment < self.shape.segments).then_some(segment)
    }

    /// The first segment from one on that the member sends; of none the one behind the last.
    #[inline]
    pub fn next_sent(&self, segment: u32) -> u32 {
        let (from, to) = self.own;
        match self.shape.work {
            Work::Copy if segment < to => segment.max(from),
            Work::Copy => self.shape.segments,
            _ if (from..to).contains(&segment) => to,
            _ => segment,
        }
    }

    /// Whether the member gets anything.
    pub fn gets_any(&self) -> bool {
        match self.shape.work {
            Work::ForAll => true,
            Work::Copy => self.own.1 - self.own.0 < self.shape.segments,
            Work::ForOne => self.own.0 < self.own.1,
        }
    }

    /// Whether the member gets a segment.
    pub fn gets(&self, segment: u32) -> bool {
        let is_own = (self.own.0..self.own.1).contains(&segment);
        match self.shape.work {
            Work::ForAll => true,
            Work::Copy => !is_own,
            Work::ForOne => is_own,
        }
    }

    /// Whether the rank waits for others in it.
    pub fn is_waiting(&self) -> bool {
        !self.complete && self.handed
    }
}
