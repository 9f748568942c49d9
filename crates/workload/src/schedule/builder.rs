//! Building schedules: operations in any order of ranks, matched and sorted at the end.

use super::{OpKind, Schedule, ScheduleError};

/// An operation under construction: its rank, and its place among that rank's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId {
    pub(super) rank: u32,
    pub(super) index: u32,
}

/// An operation as it was written.
#[derive(Clone, Copy, Debug)]
struct Written {
    id: OpId,
    kind: OpKind,
    size: u64,
    peer: u32,
    tag: u32,
}

/// A schedule under construction.
#[derive(Clone, Debug)]
pub struct ScheduleBuilder {
    /// Operations of each rank so far.
    counts: Vec<u32>,
    written: Vec<Written>,
    /// (which waits, for which), on ends and on starts.
    after_end: Vec<(OpId, OpId)>,
    after_start: Vec<(OpId, OpId)>,
    error: Option<ScheduleError>,
}

impl ScheduleBuilder {
    /// A schedule of so many ranks that do nothing yet.
    pub fn new(ranks: u32) -> Self {
        Self {
            counts: vec![0; ranks as usize],
            written: Vec::new(),
            after_end: Vec::new(),
            after_start: Vec::new(),
            error: None,
        }
    }

    /// A rank sends another a message of so many bytes under a tag. It ends when the message is handed over to the
    /// network interface, which has room; a message that waits for its receiver (rendezvous), when that has answered.
    pub fn send(&mut self, rank: u32, to: u32, bytes: u64, tag: u32) -> OpId {
        self.add(OpKind::Send, rank, (to, bytes, tag))
    }

    /// A rank receives a message of so many bytes from another under a tag. It ends when all of the message is there.
    pub fn recv(&mut self, rank: u32, from: u32, bytes: u64, tag: u32) -> OpId {
        self.add(OpKind::Recv, rank, (from, bytes, tag))
    }

    /// A rank's processor is busy for a time in picoseconds; one calculation after the other.
    pub fn calc(&mut self, rank: u32, time: u64) -> OpId {
        self.add(OpKind::Calc, rank, (rank, time, 0))
    }

    /// An operation begins only when another of its rank has ended.
    pub fn requires(&mut self, op: OpId, before: OpId) {
        self.after_end.push((op, before));
    }

    /// An operation begins only when another of its rank has begun.
    pub fn irequires(&mut self, op: OpId, before: OpId) {
        self.after_start.push((op, before));
    }

    fn add(&mut self, kind: OpKind, rank: u32, (peer, size, tag): (u32, u64, u32)) -> OpId {
        let ranks = self.counts.len() as u32;
        if let Some(&rank) = [rank, peer].iter().find(|&&rank| rank >= ranks) {
            self.error.get_or_insert(ScheduleError::NoSuchRank { rank, ranks });
            return OpId { rank: 0, index: 0 };
        }
        if kind != OpKind::Calc && rank == peer {
            self.error.get_or_insert(ScheduleError::ToItself { rank });
        }
        let index = &mut self.counts[rank as usize];
        let id = OpId { rank, index: *index };
        *index += 1;
        self.written.push(Written { id, kind, size, peer, tag });
        id
    }

    /// The schedule.
    ///
    /// # Errors
    /// Ranks or operations that do not exist, messages without receives and receives without messages, sizes that differ,
    /// operations that wait in a cycle (messages taken as sent without waiting for their receivers), too many of them.
    pub fn build(mut self) -> Result<Schedule, ScheduleError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let operations = self.written.len();
        if operations > Schedule::MOST {
            return Err(ScheduleError::TooLarge { operations, most: Schedule::MOST });
        }
        let mut first = vec![0; self.counts.len() + 1];
        for (rank, &count) in self.counts.iter().enumerate() {
            first[rank + 1] = first[rank] + count;
        }
        self.written.sort_unstable_by_key(|op| op.id);
        let (first_after_end, after_end) = self.successors(&first, &self.after_end)?;
        let (first_after_start, after_start) = self.successors(&first, &self.after_start)?;
        let mut waits = vec![0; operations];
        after_end.iter().chain(&after_start).for_each(|&op| waits[op as usize] += 1);
        let schedule = Schedule {
            partner: partners(&self.written)?,
            rank: self.written.iter().map(|op| op.id.rank).collect(),
            kind: self.written.iter().map(|op| op.kind).collect(),
            size: self.written.iter().map(|op| op.size).collect(),
            first,
            waits,
            first_after_end,
            after_end,
            first_after_start,
            after_start,
        };
        schedule.check_progress(None)?;
        Ok(schedule)
    }

    /// Who waits for each operation, in flat arrays.
    fn successors(&self, first: &[u32], pairs: &[(OpId, OpId)]) -> Result<(Vec<u32>, Vec<u32>), ScheduleError> {
        let mut edges = Vec::with_capacity(pairs.len());
        for &(op, before) in pairs {
            if op.rank != before.rank {
                return Err(ScheduleError::OtherRank { rank: op.rank, other: before.rank });
            }
            if let Some(absent) = [op, before].iter().find(|id| id.index >= self.counts[id.rank as usize]) {
                return Err(ScheduleError::NoSuchOperation { rank: absent.rank, index: absent.index });
            }
            let number = |id: OpId| first[id.rank as usize] + id.index;
            edges.push((number(before), number(op)));
        }
        edges.sort_unstable();
        edges.dedup();
        let mut starts = vec![0; self.written.len() + 1];
        edges.iter().for_each(|&(before, _)| starts[before as usize + 1] += 1);
        for op in 0..self.written.len() {
            starts[op + 1] += starts[op];
        }
        Ok((starts, edges.into_iter().map(|(_, op)| op).collect()))
    }
}

/// By operation, the other end of its message: sends and receives of a pair and a tag in the order of writing.
fn partners(written: &[Written]) -> Result<Vec<u32>, ScheduleError> {
    let ends = |kind: OpKind| {
        let mut ends: Vec<_> = (0..written.len() as u32)
            .filter(|&op| written[op as usize].kind == kind)
            .map(|op| {
                let Written { id, peer, tag, .. } = written[op as usize];
                let (from, to) = if kind == OpKind::Send { (id.rank, peer) } else { (peer, id.rank) };
                ((from, to, tag), op)
            })
            .collect();
        ends.sort_unstable();
        ends
    };
    let (sends, recvs) = (ends(OpKind::Send), ends(OpKind::Recv));
    let odd = sends.iter().zip(&recvs).find(|(send, recv)| send.0 != recv.0).map(|(send, recv)| send.0.min(recv.0));
    let longer = if sends.len() > recvs.len() { &sends } else { &recvs };
    let rest = longer.get(sends.len().min(recvs.len())).map(|end| end.0);
    if let Some((from, to, tag)) = odd.or(rest) {
        let count = |ends: &[((u32, u32, u32), u32)]| ends.iter().filter(|end| end.0 == (from, to, tag)).count();
        return Err(ScheduleError::Unmatched { from, to, tag, sent: count(&sends), received: count(&recvs) });
    }
    let mut partner: Vec<u32> = (0..written.len() as u32).collect();
    for (&((from, to, tag), send), &(_, recv)) in sends.iter().zip(&recvs) {
        let (sent, received) = (written[send as usize].size, written[recv as usize].size);
        if sent != received {
            return Err(ScheduleError::Sizes { from, to, tag, sent, received });
        }
        partner[send as usize] = recv;
        partner[recv as usize] = send;
    }
    Ok(partner)
}
