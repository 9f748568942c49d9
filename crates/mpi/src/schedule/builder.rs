//! Builder of schedules: accepts operations in any order of ranks, and matches and sorts them at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Notes;

use super::{ANY, OpId, OpKind, Schedule, ScheduleError};

/// Operation as written.
#[derive(Clone, Copy, Debug)]
struct Written {
    id: OpId,
    kind: OpKind,
    size: u64,
    peer: u32,
    tag: Option<u32>,
}

/// Pairs of a required operation and the operation that waits for it, by numbers in the schedule.
type Edges = Vec<(u32, u32)>;

/// Schedule under construction.
#[derive(Clone, Debug)]
pub struct ScheduleBuilder {
    /// Number of operations of each rank so far.
    counts: Vec<u32>,
    written: Vec<Written>,
    /// Pairs (waiting operation, required operation), for ends and for starts.
    after_end: Vec<(OpId, OpId)>,
    after_start: Vec<(OpId, OpId)>,
    /// Operations on a processor or an interface other than number 0.
    lanes: Vec<(OpId, (u8, u8))>,
    error: Option<ScheduleError>,
}

impl ScheduleBuilder {
    /// Creates a schedule of `ranks` ranks without operations.
    pub fn new(ranks: u32) -> Self {
        Self {
            counts: vec![0; ranks as usize],
            written: Vec::new(),
            after_end: Vec::new(),
            after_start: Vec::new(),
            lanes: Vec::new(),
            error: None,
        }
    }

    /// Adds a send of `bytes` bytes from `rank` to `to` with tag `tag`. It ends when the message has been handed to the
    /// network interface, whose queue is unlimited. With rendezvous by write, that is after the receiver's answer; with
    /// rendezvous by read, it ends when the receiver's notice has been read.
    pub fn send(&mut self, rank: u32, to: u32, bytes: u64, tag: u32) -> OpId {
        self.add(OpKind::Send, rank, (to, bytes, Some(tag)))
    }

    /// Adds a receive of at most `bytes` bytes from `from` with tag `tag`. It ends when the whole message has arrived.
    pub fn recv(&mut self, rank: u32, from: u32, bytes: u64, tag: u32) -> OpId {
        self.add(OpKind::Recv, rank, (from, bytes, Some(tag)))
    }

    /// Adds a receive of at most `bytes` bytes. `from` = `None` accepts any source, `tag` = `None` any tag.
    pub fn recv_any(&mut self, rank: u32, from: Option<u32>, bytes: u64, tag: Option<u32>) -> OpId {
        let kind = if from.is_some() && tag.is_some() { OpKind::Recv } else { OpKind::RecvAny };
        self.add(kind, rank, (from.unwrap_or(ANY), bytes, tag))
    }

    /// Adds a calculation of `time` picoseconds on the rank's processor. Calculations of a rank run in sequence.
    pub fn calc(&mut self, rank: u32, time: u64) -> OpId {
        self.add(OpKind::Calc, rank, (rank, time, Some(0)))
    }

    /// Assigns an operation to a processor and an interface by their numbers. They are stored and have no effect.
    pub fn on(&mut self, op: OpId, cpu: u8, nic: u8) {
        if (cpu, nic) != (0, 0) {
            self.lanes.push((op, (cpu, nic)));
        }
    }

    /// Makes an operation begin only after another operation of its rank has ended.
    pub fn requires(&mut self, op: OpId, before: OpId) {
        self.after_end.push((op, before));
    }

    /// Makes an operation begin only after another operation of its rank has begun.
    pub fn irequires(&mut self, op: OpId, before: OpId) {
        self.after_start.push((op, before));
    }

    fn add(&mut self, kind: OpKind, rank: u32, (peer, size, tag): (u32, u64, Option<u32>)) -> OpId {
        let ranks = self.counts.len() as u32;
        let is_absent = |&rank: &u32| rank >= ranks && !(kind == OpKind::RecvAny && rank == ANY);
        if let Some(rank) = [rank, peer].into_iter().find(is_absent) {
            self.error.get_or_insert(ScheduleError::NoSuchRank { rank, ranks });
            return OpId { rank: 0, index: 0 };
        }
        let index = &mut self.counts[rank as usize];
        let id = OpId { rank, index: *index };
        *index += 1;
        self.written.push(Written { id, kind, size, peer, tag });
        id
    }

    /// Builds the schedule.
    ///
    /// # Errors
    /// Ranks or operations that do not exist, messages without receives and receives without messages, messages larger
    /// than their receives, cycles of dependencies (with all messages taken as eager), and too many operations.
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
        let ends = self.edges(&first, &self.after_end)?;
        let mut starts = self.edges(&first, &self.after_start)?;
        let order = self.order_of_starts(&ends, &starts);
        let (sends, recvs) = (self.labels(OpKind::Send, &order), self.labels(OpKind::Recv, &order));
        for labels in [&sends, &recvs] {
            let pairs = labels.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            starts.extend(pairs.map(|pair| (pair[0].2, pair[1].2)));
        }
        let is_known = self.written.iter().all(|op| op.kind != OpKind::RecvAny);
        let partner = if is_known { partners(&self.written, &sends, &recvs)? } else { Vec::new() };
        let (first_after_end, after_end) = successors(operations, ends);
        let (first_after_start, after_start) = successors(operations, starts);
        let mut waits = vec![0; operations];
        after_end.iter().chain(&after_start).for_each(|&op| waits[op as usize] += 1);
        let mut lanes = vec![(0, 0); if self.lanes.is_empty() { 0 } else { operations }];
        for &(op, own) in &self.lanes {
            lanes[(first[op.rank as usize] + op.index) as usize] = own;
        }
        let any_tag = (0..operations as u32).filter(|&op| self.written[op as usize].tag.is_none());
        let mut notes = Notes::default();
        let others = lanes.iter().filter(|&&own| own != (0, 0)).count() as u64;
        let rest = "on a `cpu` or `nic` other than 0, which ranks do not have in simulations";
        notes.count(others, ["operation", "operations"], ["is", "are"], rest);
        let schedule = Schedule {
            any_tag: any_tag.collect(),
            lanes,
            notes: notes.sentences().to_vec(),
            partner,
            rank: self.written.iter().map(|op| op.id.rank).collect(),
            kind: self.written.iter().map(|op| op.kind).collect(),
            size: self.written.iter().map(|op| op.size).collect(),
            peer: self.written.iter().map(|op| op.peer).collect(),
            tag: self.written.iter().map(|op| op.tag.unwrap_or(0)).collect(),
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

    /// Returns the distinct pairs of a required and a waiting operation, by numbers, in ascending order.
    fn edges(&self, first: &[u32], pairs: &[(OpId, OpId)]) -> Result<Edges, ScheduleError> {
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
        Ok(edges)
    }

    /// Returns the position of each operation in an order that respects all requirements and stays as close to the
    /// order of writing as possible. Operations in a cycle come last.
    fn order_of_starts(&self, ends: &Edges, starts: &Edges) -> Vec<u32> {
        let operations = self.written.len();
        if ends.iter().chain(starts).all(|&(before, op)| before < op) {
            return (0..operations as u32).collect();
        }
        let (first, followers) = successors(operations, ends.iter().chain(starts).copied().collect());
        let mut waits = vec![0_u32; operations];
        followers.iter().for_each(|&op| waits[op as usize] += 1);
        let mut ready: BinaryHeap<_> =
            (0..operations as u32).filter(|&op| waits[op as usize] == 0).map(Reverse).collect();
        let mut order = vec![u32::MAX; operations];
        let mut place = 0;
        while let Some(Reverse(op)) = ready.pop() {
            order[op as usize] = place;
            place += 1;
            for &next in &followers[first[op as usize] as usize..first[op as usize + 1] as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        order
    }

    /// Returns the operations of a kind by sender, receiver and tag. Operations with equal labels follow `order`.
    fn labels(&self, kind: OpKind, order: &[u32]) -> Vec<Labelled> {
        let of_kind = (0..self.written.len() as u32).filter(|&op| self.written[op as usize].kind == kind);
        let label = |op: u32| {
            let Written { id, peer, tag, .. } = self.written[op as usize];
            let (from, to) = if kind == OpKind::Send { (id.rank, peer) } else { (peer, id.rank) };
            ((from, to, tag.unwrap_or(0)), order[op as usize], op)
        };
        let mut labels: Vec<Labelled> = of_kind.map(label).collect();
        labels.sort_unstable();
        labels
    }
}

/// Sender, receiver and tag of an operation; its position in the order of starts; its number.
type Labelled = ((u32, u32, u32), u32, u32);

/// Returns the operations that wait for each operation, in flat arrays. Pairs may occur twice.
fn successors(operations: usize, mut edges: Edges) -> (Vec<u32>, Vec<u32>) {
    edges.sort_unstable();
    edges.dedup();
    let mut starts = vec![0; operations + 1];
    edges.iter().for_each(|&(before, _)| starts[before as usize + 1] += 1);
    for op in 0..operations {
        starts[op + 1] += starts[op];
    }
    (starts, edges.into_iter().map(|(_, op)| op).collect())
}

/// Returns the matching operation of each send and receive. Sends and receives of one pair and tag match in their
/// order.
fn partners(written: &[Written], sends: &[Labelled], recvs: &[Labelled]) -> Result<Vec<u32>, ScheduleError> {
    let odd = sends.iter().zip(recvs).find(|(send, recv)| send.0 != recv.0).map(|(send, recv)| send.0.min(recv.0));
    let longer = if sends.len() > recvs.len() { sends } else { recvs };
    let rest = longer.get(sends.len().min(recvs.len())).map(|end| end.0);
    if let Some((from, to, tag)) = odd.or(rest) {
        let count = |ends: &[Labelled]| ends.iter().filter(|end| end.0 == (from, to, tag)).count();
        return Err(ScheduleError::Unmatched { from, to, tag, sent: count(sends), received: count(recvs) });
    }
    let mut partner: Vec<u32> = (0..written.len() as u32).collect();
    for (&((from, to, tag), _, send), &(_, _, recv)) in sends.iter().zip(recvs) {
        let (sent, received) = (written[send as usize].size, written[recv as usize].size);
        if sent > received {
            return Err(ScheduleError::Sizes { from, to, tag, sent, received });
        }
        partner[send as usize] = recv;
        partner[recv as usize] = send;
    }
    Ok(partner)
}
