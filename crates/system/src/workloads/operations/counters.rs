//! Counters of collective operations: assembles each operation's end and duration from its members' intervals.

use std::collections::BTreeMap;

use engine::statistics::{Estimate, Histogram};
use mpi::program::Interval;

use super::program::{BEGINS, GroupSet};
use measure::{CollectiveResult, GroupsResult};

/// Measurements of operations.
#[derive(Debug, Default)]
pub(super) struct OperationCounters {
    /// Unfinished operations, by group and begin.
    open: BTreeMap<(u32, u64), Operation>,
    /// Finished operations that began in the measured period.
    kept: MeasuredOperations,
    from: u64,
    until: u64,
    /// Number of finished operations of each group.
    by_group: Vec<u64>,
}
units::state!(OperationCounters { open, kept, from, until, by_group });

/// Operation, with times in picoseconds from its begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operation {
    /// Number of members that have ended, and the latest end.
    members: u32,
    end: u64,
    /// Number of members with results, and the sum of their ends.
    copies: u32,
    completion: u64,
    /// Begin of the last member.
    last_begin: u64,
}
units::record!(Operation { members, end, copies, completion, last_begin });

/// Sums over measured operations, in picoseconds.
#[derive(Debug, Default)]
struct MeasuredOperations {
    times: Histogram,
    time: u64,
    copies: u64,
    completion: u64,
    last_begin: u64,
}
units::record!(MeasuredOperations { times, time, copies, completion, last_begin });

impl MeasuredOperations {
    fn add(&mut self, own: &Operation) {
        self.times.record(own.end);
        self.time += own.end;
        self.copies += u64::from(own.copies);
        self.completion += own.completion;
        self.last_begin += own.last_begin;
    }
}

/// Operations that have ended since the last query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    pub count: u64,
    /// Sum of the operations' times, in picoseconds.
    pub time: u64,
}
units::record!(Ended { count, time });

impl OperationCounters {
    /// Creates the counters of `groups` groups.
    pub fn new(groups: usize) -> Self {
        Self { from: u64::MAX, until: u64::MAX, by_group: vec![0; groups], ..Self::default() }
    }

    /// Returns the number of finished operations of each group.
    pub fn by_group(&self) -> &[u64] {
        &self.by_group
    }

    /// Sets the begin of the measured period: operations that begin from `time` on are kept.
    pub fn keep_from(&mut self, time: u64) {
        self.from = time;
    }

    /// Sets the end of the measured period: operations that begin before `time` are kept. `time` is not later than the
    /// present.
    pub fn keep_until(&mut self, time: u64) {
        self.until = time;
    }

    /// Adds the intervals of a rank since the last call.
    pub fn add(&mut self, set: &GroupSet, (rank, intervals): (u32, &[Interval]), ended: &mut Ended) {
        for &Interval { key, start, end } in intervals {
            let (group, time) = (key & !BEGINS, end.saturating_sub(start));
            let own = self.open.entry((group, start)).or_default();
            if key != group {
                own.last_begin = own.last_begin.max(time);
                continue;
            }
            own.members += 1;
            own.end = own.end.max(time);
            if set.gets(group, rank) {
                own.copies += 1;
                own.completion += time;
            }
            if own.members < set.groups[group as usize].members.len() {
                continue;
            }
            let own = *own;
            self.open.remove(&(group, start));
            self.by_group[group as usize] += 1;
            ended.count += 1;
            ended.time += own.end;
            if (self.from..self.until).contains(&start) {
                self.kept.add(&own);
            }
        }
    }

    /// Returns the number of finished operations in the measured period.
    pub fn kept(&self) -> u64 {
        self.kept.times.count()
    }

    /// Returns the result of the measured operations. `ended` is the mean time of operations that ended in the measured
    /// interval; other times are given only if all measured operations have ended. `is_late` tells whether members may
    /// be late.
    pub fn result(
        &self,
        ended: Estimate,
        (all_ended, is_late): (bool, bool),
        groups: Option<GroupsResult>,
    ) -> CollectiveResult {
        let MeasuredOperations { times, time, copies, completion, last_begin } = &self.kept;
        let (operations, copies) = (self.kept(), *copies);
        let mean = |sum: u64, count: u64| (all_ended && count > 0).then(|| sum as f64 / count as f64 / 1e3);
        let of_ended = (!all_ended && ended.mean.is_finite()).then_some(ended.mean / 1e3);
        CollectiveResult {
            operations,
            operation_time_mean_ns: mean(*time, operations).or(of_ended),
            operation_time_ci_ns: Some(ended.half_width / 1e3),
            operation_time_p99_ns: times.quantile(0.99).filter(|_| all_ended).map(|time| time / 1e3),
            copies,
            fanout_mean: if operations > 0 { copies as f64 / operations as f64 } else { 0.0 },
            completion_mean_ns: mean(*completion, copies),
            last_begin_mean_ns: if is_late { mean(*last_begin, operations) } else { None },
            groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mpi::collectives::{Algorithm, Collective, Operation as Collectives};
    use mpi::communicator::{Group, NodeGroups};
    use units::NodeId;

    use super::super::program::TimedGroup;
    use super::*;

    #[test]
    fn operations_add_up_in_any_portions_and_only_those_of_the_interval() {
        // Would catch an operation that is measured before all members have ended, or twice, and one that began before
        // the interval or after it: three of two members, begun at 10, 20 and 30, reported one by one.
        let members = Group::all(2);
        let nodes = Arc::new(NodeGroups::new(&members, &[0, 1]));
        let group = TimedGroup { sender: NodeId(0), root: 0, members, nodes };
        let call = Collective::new(Collectives::Allreduce, Algorithm::InSwitch, 8);
        let set = GroupSet { call, ranks: 2, groups: vec![group], of_rank: vec![vec![0]; 2] };
        let (mut counters, mut ended) = (OperationCounters::new(1), Ended::default());
        counters.keep_from(15);
        for (number, start) in [10, 20, 30].into_iter().enumerate() {
            for rank in 0..2 {
                let own = Interval { key: 0, start, end: start + 5 + u64::from(rank) };
                counters.add(&set, (rank, &[own]), &mut ended);
                assert_eq!(counters.by_group(), [number as u64 + u64::from(rank)]);
            }
            if start == 20 {
                counters.keep_until(25);
            }
        }
        assert_eq!((ended.count, ended.time, counters.kept()), (3, 18, 1));
        assert_eq!((counters.kept.copies, counters.kept.completion, counters.kept.time), (2, 11, 6));
    }
}
