//! Which operations have ended, and how long they took: put together from what ranks have measured.

use std::collections::BTreeMap;

use engine::statistics::{Estimate, Histogram};
use workload::program::Interval;

use super::program::{BEGINS, GroupSet};
use crate::results::{CollectiveResult, GroupsResult};

/// What has been measured of operations.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By group and begin, those of which not all members have ended.
    open: BTreeMap<(u32, u64), Operation>,
    /// By rank, how many of its intervals have been looked at.
    seen: Vec<usize>,
    /// Operations that have ended, and begun at a time or later, in the order in which they were found.
    ended: Vec<Operation>,
    from: u64,
    /// By group, how many have ended.
    by_group: Vec<u64>,
}

/// An operation: times in picoseconds from its begin on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Operation {
    start: u64,
    /// Members that have ended, and until when.
    members: u32,
    end: u64,
    /// Those that get a result, and when, summed.
    copies: u32,
    completion: u64,
    /// When the last member began.
    last_begin: u64,
}

/// Operations that have ended since one was asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    pub count: u64,
    /// Their times summed, in picoseconds.
    pub time: u64,
}

impl Tally {
    /// Nothing yet, of so many ranks and groups.
    pub fn new(ranks: u32, groups: usize) -> Self {
        Self { seen: vec![0; ranks as usize], from: u64::MAX, by_group: vec![0; groups], ..Self::default() }
    }

    /// By group, how many operations have ended.
    pub fn by_group(&self) -> &[u64] {
        &self.by_group
    }

    /// Keeps operations that begin at a time or later.
    pub fn keep_from(&mut self, time: u64) {
        self.from = time;
    }

    /// Takes in what a rank has measured: all of it so far.
    pub fn add(&mut self, set: &GroupSet, (rank, intervals): (u32, &[Interval]), ended: &mut Ended) {
        let seen = std::mem::replace(&mut self.seen[rank as usize], intervals.len());
        for &Interval { key, start, end } in &intervals[seen.min(intervals.len())..] {
            let (group, time) = (key & !BEGINS, end.saturating_sub(start));
            let own = self.open.entry((group, start)).or_insert(Operation { start, ..Operation::default() });
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
            if start >= self.from {
                self.ended.push(own);
            }
        }
    }

    /// Operations that have ended of those that are kept and began before a time.
    pub fn ended_before(&self, time: u64) -> u64 {
        self.ended.iter().filter(|own| own.start < time).count() as u64
    }

    /// What has been measured of the operations that are kept and began before a time, given the mean time of those that have ended in the
    /// measured interval; other times only if all have ended. `is_late` if members may be late.
    pub fn result(
        &self,
        (time, ended): (u64, Estimate),
        (all_ended, is_late): (bool, bool),
        groups: Option<GroupsResult>,
    ) -> CollectiveResult {
        let measured = || self.ended.iter().filter(|own| own.start < time);
        let mut times = Histogram::default();
        measured().for_each(|own| times.record(own.end));
        let (operations, copies) = (times.count(), measured().map(|own| u64::from(own.copies)).sum::<u64>());
        let mean = |sum: u64, count: u64| (all_ended && count > 0).then(|| sum as f64 / count as f64 / 1e3);
        let sum = |of: fn(&Operation) -> u64| measured().map(of).sum::<u64>();
        let completion = sum(|own| own.completion);
        let of_ended = (!all_ended && ended.mean.is_finite()).then_some(ended.mean / 1e3);
        CollectiveResult {
            operations,
            operation_time_mean_ns: mean(sum(|own| own.end), operations).or(of_ended),
            operation_time_ci_ns: Some(ended.half_width / 1e3),
            operation_time_p99_ns: times.quantile(0.99).filter(|_| all_ended).map(|time| time / 1e3),
            copies,
            fanout_mean: if operations > 0 { copies as f64 / operations as f64 } else { 0.0 },
            completion_mean_ns: mean(completion, copies),
            last_begin_mean_ns: if is_late { mean(sum(|own| own.last_begin), operations) } else { None },
            groups,
        }
    }
}
