//! Loads of all channels under a changing mapping.
//!
//! The largest load alone has no slope: few changes of a mapping affect it. The meter therefore keeps the sum of a high
//! power of all loads, which is near its largest term. A change of one task costs O(degree x channels of a path).

use tasks::TaskGraph;

use crate::metrics::{Paths, each_message};

/// Exponent of the loads in the sum.
const POWER: i32 = 8;

/// Message of a task.
#[derive(Clone, Copy)]
struct End {
    /// Task at the other end.
    other: u32,
    /// Whether this task sends it.
    sends: bool,
    bytes: f64,
}

/// Loads of all channels, and the sum of their powers.
pub(crate) struct Meter<'a, P> {
    paths: &'a P,
    /// Number of channels that a channel number stands for, by channel number.
    copies: Vec<f64>,
    /// Start of each task's messages: those of task t are `ends[first[t]..first[t + 1]]`.
    first: Vec<u32>,
    ends: Vec<End>,
    load: Vec<f64>,
    sum: f64,
    /// Number of load changes by all messages, counted at both ends.
    updates: u64,
}

impl<'a, P: Paths> Meter<'a, P> {
    /// Computes the loads of a graph's messages under a mapping.
    pub(crate) fn new(graph: &TaskGraph, paths: &'a P, place_of: &[u32]) -> Self {
        let mut rows: Vec<Vec<End>> = vec![Vec::new(); place_of.len()];
        for phase in &graph.phases {
            each_message(phase, &mut |from, to, bytes| {
                let bytes = phase.weight * bytes as f64;
                rows[from as usize].push(End { other: to, sends: true, bytes });
                rows[to as usize].push(End { other: from, sends: false, bytes });
            });
        }
        let mut first = vec![0];
        rows.iter().for_each(|row| first.push(first[first.len() - 1] + row.len() as u32));
        let copies = paths.copies();
        let load = vec![0.0; copies.len()];
        let mut meter = Self { paths, copies, first, ends: rows.concat(), load, sum: 0.0, updates: 0 };
        for task in 0..place_of.len() as u32 {
            for at in meter.range(task) {
                let End { other, sends, bytes } = meter.ends[at];
                let (from, to) = (place_of[task as usize], place_of[other as usize]);
                if sends && from != to {
                    let load = &mut meter.load;
                    let mut updates = 0;
                    paths.follow(from, to, bytes, &mut |channel, amount| {
                        load[channel] += amount;
                        updates += 2;
                    });
                    meter.updates += updates;
                }
            }
        }
        meter.scale();
        meter
    }

    /// Returns the mean number of load changes that add or remove all messages of a task, in the initial mapping.
    pub(crate) fn updates_per_task(&self) -> f64 {
        self.updates as f64 / (self.first.len() - 1).max(1) as f64
    }

    /// Scales loads to units of their mean, so that powers stay within range.
    fn scale(&mut self) {
        let used = |(&load, &copies): (&f64, &f64)| if load > 0.0 { copies } else { 0.0 };
        let count: f64 = self.load.iter().zip(&self.copies).map(used).sum();
        let mean = self.load.iter().zip(&self.copies).map(|(load, copies)| load * copies).sum::<f64>() / count.max(1.0);
        if mean > 0.0 {
            self.load.iter_mut().for_each(|load| *load /= mean);
            self.ends.iter_mut().for_each(|end| end.bytes /= mean);
        }
        self.add_up();
    }

    /// Recomputes the sum, in which changes leave rounding errors.
    pub(crate) fn add_up(&mut self) {
        self.sum = self.load.iter().zip(&self.copies).map(|(load, copies)| copies * load.powi(POWER)).sum();
    }

    /// Returns the root of the sum: the largest load or slightly more.
    pub(crate) fn norm(&self) -> f64 {
        // POWER is 8.
        self.sum.max(0.0).sqrt().sqrt().sqrt()
    }

    fn range(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }

    /// Adds a flow between places, or removes it.
    #[inline]
    fn flow(&mut self, from: u32, to: u32, bytes: f64) {
        if from == to {
            return;
        }
        let (load, sum, copies) = (&mut self.load, &mut self.sum, &self.copies);
        self.paths.follow(from, to, bytes, &mut |channel, amount| {
            let before = load[channel];
            let after = (before + amount).max(0.0);
            *sum += copies[channel] * (after.powi(POWER) - before.powi(POWER));
            load[channel] = after;
        });
    }

    /// Adds (sign 1) or removes (-1) all messages of a task, except those with task `but`.
    pub(crate) fn task(&mut self, task: u32, but: u32, place: &dyn Fn(u32) -> u32, sign: f64) {
        for at in self.range(task) {
            let End { other, sends, bytes } = self.ends[at];
            if other == but {
                continue;
            }
            let (from, to) = if sends { (task, other) } else { (other, task) };
            self.flow(place(from), place(to), sign * bytes);
        }
    }
}
