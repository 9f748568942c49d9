//! Merges the records of all executors, in an order that does not depend on the assignment of ranks to partitions.

use engine::Exchange;
use host::{Executor, Kind, OpId, Purpose, TracedOp};

use super::Activity;

/// Records gathered from executors.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Operations by rank.
    ops: Vec<Vec<TracedOp>>,
    activity: Activity,
    is_cut: bool,
}

impl Gathered {
    /// Creates an empty record of `ranks` ranks that begin at `start`, in picoseconds.
    pub fn new(ranks: usize, start: u64) -> Self {
        let activity = Activity { start, ..Activity::default() };
        Self { ops: vec![Vec::new(); ranks], activity, is_cut: false }
    }

    /// Adds the records of an executor.
    pub fn add(&mut self, executor: &Executor) {
        let Some((ranks, trace)) = executor.traced() else { return };
        self.is_cut |= trace.is_cut;
        for (&rank, ops) in ranks.iter().zip(&trace.ops) {
            self.ops[rank as usize].clone_from(ops);
        }
        self.activity.work.extend_from_slice(&trace.work);
        self.activity.flights.extend_from_slice(&trace.flights);
    }

    /// Returns the records of all processes, at process 0. Each rank has records in one process.
    pub fn of_processes(self, exchange: &dyn Exchange) -> Self {
        if exchange.is_alone() {
            return self;
        }
        let Self { ops, activity, is_cut } = self;
        let mut all = Self::new(ops.len(), activity.start);
        for (ops, work, flights, is_cut) in exchange.collect(vec![(ops, activity.work, activity.flights, is_cut)]) {
            all.ops.iter_mut().zip(ops).filter(|(_, own)| !own.is_empty()).for_each(|(ops, own)| *ops = own);
            all.activity.work.extend(work);
            all.activity.flights.extend(flights);
            all.is_cut |= is_cut;
        }
        all
    }

    /// Returns the activity of all ranks. None if an operation has not ended, or if there are more than `most`
    /// operations.
    pub fn finish(self, most: usize) -> Option<Activity> {
        let Self { ops, mut activity, is_cut } = self;
        let count: usize = ops.iter().map(Vec::len).sum();
        if is_cut || count > most || ops.iter().flatten().any(|op| op.ended == u64::MAX) {
            return None;
        }
        let start = activity.start;
        let end = |ops: &Vec<TracedOp>| ops.iter().map(|op| op.ended).max().unwrap_or(start).max(start);
        activity.ends = ops.iter().map(end).collect();
        activity.first = starts(ops.iter().map(Vec::len));
        activity.ops = ops.into_iter().flatten().collect();
        activity.work.sort_unstable();
        activity.flights.sort_unstable();
        index(&mut activity);
        Some(activity)
    }
}

/// Fills the tables by which records are found.
fn index(activity: &mut Activity) {
    let mut work_of_rank = vec![0; activity.ends.len()];
    activity.work.iter().for_each(|work| work_of_rank[work.rank as usize] += 1);
    activity.first_work = starts(work_of_rank.into_iter());
    let places = (0..).zip(&activity.work);
    activity.work_of = places.map(|(place, work)| (work.op, work.purpose, place)).collect();
    activity.work_of.sort_unstable();
    let takes_time = (0..).zip(&activity.work).filter(|(_, work)| work.begin < work.end);
    activity.ends_of_work = takes_time.map(|(place, work)| (work.rank, work.end, place)).collect();
    activity.ends_of_work.sort_unstable();
    let mut receives = Vec::new();
    for (rank, bounds) in (0..).zip(activity.first.windows(2)) {
        let ops = (0..).zip(&activity.ops[bounds[0]..bounds[1]]);
        let met = ops.filter(|(_, op)| op.kind == Kind::Recv);
        receives.extend(met.map(|(number, op)| (op.matched(), OpId { rank, number })));
    }
    receives.sort_unstable();
    activity.receives = receives;
    activity.givers = givers(activity);
}

/// Returns, for each operation of a group, the member whose contribution came last. Among several, the member with the
/// highest rank.
fn givers(activity: &Activity) -> Vec<((u32, u32), OpId)> {
    let mut all = Vec::new();
    for rank in 0..activity.ranks() {
        let own = (0..).zip(activity.ops_of(rank)).filter(|(_, op)| op.kind == Kind::Group);
        all.extend(own.filter_map(|(number, op)| {
            let own = OpId { rank, number };
            Some(((op.peer, op.sent_by), activity.work_for(own, Purpose::Send)?.end, own))
        }));
    }
    all.sort_unstable();
    let last = all.chunk_by(|one, other| one.0 == other.0).filter_map(|members| members.last());
    last.map(|&(key, _, op)| (key, op)).collect()
}

/// Returns the start of each of several consecutive parts from their lengths, and finally the end of the last one.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all = vec![0];
    all.extend(lengths.scan(0, |sum, length| {
        *sum += length;
        Some(*sum)
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::breakdown::State;
    use crate::activity::path::StepKind;
    use host::{TracedPart, TracedWork};

    #[test]
    fn members_of_a_group_wait_for_the_last_one() {
        // Would catch a wait for a group that nobody is late for, a path that ends at it or continues at the rank that
        // waited, and a group that is mistaken for a message.
        let op = |kind, (started, ended), (peer, sent_by)| TracedOp {
            kind,
            cause: host::NO_OP,
            started,
            ended,
            peer,
            sent_by,
            bytes: 0,
        };
        let work = |rank, number, purpose, (begin, end)| TracedWork {
            rank,
            begin,
            end,
            purpose,
            op: OpId { rank, number },
            work: end - begin,
            beside: true,
        };
        let mut gathered = Gathered::new(2, 0);
        let in_group = |started| op(Kind::Group, (started, 5014), (0, 7));
        gathered.ops[0] = vec![in_group(0)];
        gathered.ops[1] = vec![op(Kind::Calc, (0, 3000), (0, 0)), TracedOp { cause: 0, ..in_group(3000) }];
        gathered.activity.work = vec![
            work(0, 0, Purpose::Send, (0, 60)),
            work(0, 0, Purpose::Receive, (5000, 5014)),
            TracedWork { beside: false, ..work(1, 0, Purpose::Calc, (0, 3000)) },
            work(1, 1, Purpose::Send, (3000, 3060)),
            work(1, 1, Purpose::Receive, (5000, 5014)),
        ];
        let activity = gathered.finish(100).unwrap();
        let pieces: Vec<_> = activity.pieces(0).iter().map(|own| (own.state, own.begin, own.end)).collect();
        let expected = [
            (State::Overhead, 0, 60),
            (State::LateSender, 60, 3000),
            (State::Transfer, 3000, 5000),
            (State::Overhead, 5000, 5014),
        ];
        assert_eq!(pieces, expected);
        let path: Vec<_> = activity.critical_path().iter().map(|own| (own.kind, own.from, own.rank, own.end)).collect();
        let expected = [
            (StepKind::Computing, 1, 1, 3000),
            (StepKind::Overhead, 1, 1, 3060),
            (StepKind::Message(OpId { rank: 1, number: 1 }, TracedPart::Data), 1, 0, 5000),
            (StepKind::Overhead, 0, 0, 5014),
        ];
        assert_eq!(path, expected);
    }
}
