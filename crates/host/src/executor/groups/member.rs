//! Member of a group: its operations, and the progress of its sends.

use std::collections::VecDeque;
use std::ops::Range;

use super::early::Early;
use super::operation::{GroupOp, Work};
use crate::context::GroupParams;
use crate::local_ranks::LocalRank;
use crate::nic::Stream;
use crate::ranges::{Ranges, ahead_of};

/// Member of a group on a node of this executor.
#[derive(Debug)]
pub(super) struct Member {
    /// Group.
    pub group: u32,
    /// Number of this member in the group.
    pub member: u32,
    /// Rank.
    pub of: u32,
    /// Local rank.
    pub rank: LocalRank,
    /// Local node.
    pub node: u32,
    /// Sources that send its packets, one for each of its rails.
    pub lanes: Box<[Lane]>,
    /// Lanes that the group's segments take in turn. Empty if there is one lane.
    turns: Box<[u16]>,
    /// First segment of the next operation that the rank calls.
    pub next: u32,
    /// Operations, in order, that have not ended or that have unfinished segments.
    pub ops: VecDeque<GroupOp>,
    /// Segments that are known to be finished.
    pub finished: Ranges,
    /// Segments for operations that the rank has not called yet.
    pub early: Early,
    /// Segment before which everything has been handed to the interface.
    pub released: u32,
    /// Latest handing over of these segments.
    pub released_at: HandOver,
    /// Streams in which items come to the interface, with their first segments and their lanes. Without a lane, the
    /// bytes of all lanes come in one stream. Empty if items come at once.
    pub streams: VecDeque<(u32, Option<usize>, Stream)>,
    /// Combined operations that are outstanding and not known to be finished: the segment behind the last of each, and
    /// whether it is a stream.
    pub under_way: VecDeque<(u32, bool)>,
    /// Acknowledgements that wait in the interface's queue.
    pub acknowledgements: VecDeque<u32>,
}
units::state!(Member {
    lanes, turns, next, ops, finished, early, released, released_at, streams, under_way, acknowledgements;
    rebuilt group, member, of, rank, node
});

/// Source that sends segments of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Source.
    pub source: u32,
    /// Segment before which the network has taken every segment of the lane.
    pub taken: u32,
    /// Whether a segment waits in the interface's queue. At most one waits, so that the groups and messages of a node
    /// are served round robin.
    pub is_queued: bool,
}
units::record!(Lane { source, taken, is_queued });

/// Time of a handing over of segments to the interface.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandOver {
    /// Time in picoseconds.
    pub now: u64,
    /// Tick of the network.
    pub tick: u64,
}
units::record!(HandOver { now, tick });

/// Next step of a member's sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// An operation, by its place, has nothing left to send.
    Sent(u32),
    /// An operation has to wait for earlier ones. Reported once for each.
    Waits,
    /// Segments of an item of an operation, by its index, are handed to the interface. `begins` says whether the first
    /// segment of the item is among them.
    Segments { op: usize, item: u32, begins: bool },
}

impl Member {
    /// Creates a member of a group that has called nothing yet: a rank with its local rank, on a node, and the source
    /// of the node's first rail, which sends its packets.
    pub fn new((group, member): (u32, u32), (of, rank): (u32, LocalRank), (node, source): (u32, u32)) -> Self {
        Self {
            group,
            member,
            of,
            rank,
            node,
            lanes: Box::new([Lane { source, taken: 0, is_queued: false }]),
            turns: Box::default(),
            next: 0,
            ops: VecDeque::new(),
            finished: Ranges::new(0),
            early: Early::default(),
            released: 0,
            released_at: HandOver::default(),
            streams: VecDeque::new(),
            under_way: VecDeque::new(),
            acknowledgements: VecDeque::new(),
        }
    }

    /// Has the segments of the group leave by some rails in turn. The member's node has the source `first` on its first
    /// rail.
    pub fn take_rails(&mut self, first: u32, rails: &[u32]) {
        let mut distinct = rails.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let lane = |rail: &u32| distinct.partition_point(|other| other < rail) as u16;
        if !distinct.is_empty() {
            let lane = |&rail: &u32| Lane { source: first + rail, taken: 0, is_queued: false };
            self.lanes = distinct.iter().map(lane).collect();
        }
        self.turns = if distinct.len() > 1 { rails.iter().map(lane).collect() } else { Box::default() };
    }

    /// Returns the number of trees that the group's segments take in turn.
    pub fn trees(&self) -> u32 {
        (self.turns.len() as u32).max(1)
    }

    /// Returns the lane of a segment.
    #[inline]
    pub fn lane_of(&self, number: u32) -> usize {
        match self.turns.len() as u32 {
            0 => 0,
            count => self.turns[(number % count) as usize].into(),
        }
    }

    /// Returns the number of segments of a lane among those from `from` up to `to`.
    pub fn count_in_lane(&self, lane: usize, (from, to): (u32, u32)) -> u32 {
        let segments = to.wrapping_sub(from);
        let count = self.turns.len() as u32;
        if count == 0 {
            return segments;
        }
        let of_lane = |left: u32| (0..left).filter(|&at| self.lane_of(from.wrapping_add(at)) == lane).count() as u32;
        segments / count * of_lane(count) + of_lane(segments % count)
    }

    /// Returns the operation of a segment, and the index of the segment in it.
    #[inline]
    pub fn find(&self, number: u32) -> Option<(usize, u32)> {
        self.ops.iter().enumerate().find_map(|(place, op)| Some((place, op.segment(number)?)))
    }

    /// Returns the operation that begins with a segment.
    pub fn begun(&mut self, first: u32) -> Option<&mut GroupOp> {
        self.ops.iter_mut().find(|op| op.first == first)
    }

    /// Admits an operation, by its index, that has been handed over to the outstanding ones, if the limits allow it.
    /// Returns whether it is outstanding. An operation of which the member sends nothing does not wait, and is counted.
    fn let_in(&mut self, place: usize, params: &GroupParams) -> bool {
        let Self { ops, finished, under_way, .. } = self;
        let op = &mut ops[place];
        if !op.is_let_in {
            let front = finished.front();
            while under_way.front().is_some_and(|own| ahead_of(front, own.0) >= 0) {
                under_way.pop_front();
            }
            let is_full = |limit: u32, count: usize| count >= limit.max(1) as usize;
            let streams = || under_way.iter().filter(|own| own.1).count();
            let waits =
                is_full(params.outstanding, under_way.len()) || op.is_stream && is_full(params.streams, streams());
            op.is_let_in = !waits || op.next_sent(0) == op.shape.segments;
            if op.is_let_in && (params.outstanding, params.streams) != (u32::MAX, u32::MAX) {
                under_way.push_back((op.end(), op.is_stream));
            }
        }
        op.is_let_in
    }

    /// Returns the next step of the member's sends, if there is one.
    pub fn release(&mut self, params: &GroupParams) -> Option<Release> {
        let place = self.ops.iter().position(|op| !op.sent)?;
        if !self.ops[place].handed {
            return None;
        }
        if !self.let_in(place, params) {
            let has_waited = std::mem::replace(&mut self.ops[place].has_waited, true);
            return (!has_waited).then_some(Release::Waits);
        }
        let op = &mut self.ops[place];
        let from = op.next_sent(self.released.wrapping_sub(op.first));
        if from == op.shape.segments {
            let is_behind = |ahead| ahead_of(self.finished.front().wrapping_add(ahead), op.end()) < 0;
            if op.shape.work != Work::Copy && op.shape.ahead.is_some_and(is_behind) {
                return None;
            }
            op.sent = true;
            self.released = op.end();
            return Some(Release::Sent(op.place));
        }
        let item = op.shape.items.item_of(from);
        let Range { start: begin, end: mut to } = op.shape.items.range(item);
        if op.shape.work != Work::Copy && op.shape.ahead.is_none() {
            let room = ahead_of(self.finished.front().wrapping_add(params.window.max(1)), op.first.wrapping_add(from));
            to = to.min(from.saturating_add(u32::try_from(room).unwrap_or(0)));
        }
        self.released = op.first.wrapping_add(to.max(from));
        (from < to).then_some(Release::Segments { op: place, item, begins: from == begin })
    }

    /// Returns the next segment of a lane for the interface's queue, if there is one: its operation, and its index in it.
    pub fn next_taken(&mut self, lane: usize) -> Option<(usize, u32)> {
        while ahead_of(self.released, self.lanes[lane].taken) > 0 {
            let (place, segment) = self.find(self.lanes[lane].taken)?;
            let op = &self.ops[place];
            let next = op.next_sent(segment);
            let number = op.first.wrapping_add(next);
            if ahead_of(self.released, number) < i32::from(next < op.shape.segments) {
                return None;
            }
            let is_left = next < op.shape.segments;
            let is_own = is_left && self.lane_of(number) == lane;
            self.lanes[lane].taken = number.wrapping_add(u32::from(is_left && !is_own));
            if is_own {
                return Some((place, next));
            }
        }
        None
    }

    /// Forgets operations that are over for all members.
    pub fn settle(&mut self) {
        let Self { finished, lanes, .. } = self;
        let are_taken = |op: &GroupOp| lanes.iter().all(|lane| ahead_of(lane.taken, op.end()) >= 0);
        let is_over = |op: &GroupOp| op.ended && ahead_of(finished.front(), op.end()) >= 0 && are_taken(op);
        while self.ops.front().is_some_and(&is_over) {
            self.ops.pop_front();
        }
    }
}
