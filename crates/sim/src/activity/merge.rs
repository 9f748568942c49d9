//! The records of all executors as one, in an order that does not depend on how ranks were divided.

use host::{Executor, Kind, TracedOp};

use super::Activity;

/// The records of executors, gathered one after the other.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// By rank, its operations.
    ops: Vec<Vec<TracedOp>>,
    activity: Activity,
    is_cut: bool,
}

impl Gathered {
    /// Nothing yet, of so many ranks that begin at a time.
    pub fn new(ranks: usize, start: u64) -> Self {
        let activity = Activity { start, ..Activity::default() };
        Self { ops: vec![Vec::new(); ranks], activity, is_cut: false }
    }

    /// Adds what an executor has recorded.
    pub fn add(&mut self, executor: &Executor) {
        let Some((ranks, trace)) = executor.traced() else { return };
        self.is_cut |= trace.is_cut;
        for (&rank, ops) in ranks.iter().zip(&trace.ops) {
            self.ops[rank as usize].clone_from(ops);
        }
        self.activity.work.extend_from_slice(&trace.work);
        self.activity.flights.extend_from_slice(&trace.flights);
    }

    /// What all ranks have done; none if an operation has not ended, or there are more of them than `most`.
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
        receives.extend(met.map(|(number, op)| ((op.peer, op.sent_by), (rank, number))));
    }
    receives.sort_unstable();
    activity.receives = receives;
}

/// Where parts begin that lie one after the other, given their lengths; one entry more.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all = vec![0];
    all.extend(lengths.scan(0, |sum, length| {
        *sum += length;
        Some(*sum)
    }));
    all
}
