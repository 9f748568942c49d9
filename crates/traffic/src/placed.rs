//! Patterns over nodes: a pattern over tasks, together with their placement.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use units::{Draw, NodeId, TaskId};

use crate::{Pattern, Placement, Shares, Spread};

/// Traffic pattern over nodes. The sending task of a message is drawn among the node's tasks, in proportion to their
/// messages that leave the node.
#[derive(Debug)]
pub struct PlacedPattern {
    pattern: Arc<dyn Pattern>,
    /// Tasks of the nodes. `None` if task i is on node i, for all nodes.
    tasks: Option<PlacedTasks>,
    nodes: u32,
    notes: Vec<String>,
}

#[derive(Debug)]
struct PlacedTasks {
    placement: Arc<Placement>,
    /// Cumulative weight of the messages that leave a node, over its tasks. Indexed like the placement's list of tasks
    /// by node.
    leaving: Vec<f64>,
    /// Whether no node has more than one task.
    alone: bool,
    /// Number of tasks per node, if equal for all nodes.
    even: Option<u32>,
    /// Factor on the weights of tasks.
    scale: f64,
}

/// Draws of a destination before it is drawn among other nodes only: nearly all messages of the task then stay on its
/// node.
const DRAWS: u32 = 1 << 10;

impl PlacedPattern {
    /// Creates the pattern of the nodes of a placement. With `full`, weights are scaled such that the largest sender
    /// among the nodes has weight 1, even if its tasks exchange messages with one another.
    pub fn new(pattern: Arc<dyn Pattern>, placement: &Arc<Placement>, full: bool) -> Self {
        let (notes, nodes) = (pattern.notes().to_vec(), placement.nodes());
        if placement.is_identity() {
            return Self { pattern, tasks: None, nodes, notes };
        }
        let mut tasks = PlacedTasks::new(&*pattern, placement);
        let most = (0..placement.nodes()).map(|node| tasks.weight(NodeId(node))).fold(0.0, f64::max);
        if full && most > 0.0 {
            tasks.scale = 1.0 / most;
            tasks.leaving.iter_mut().for_each(|up_to| *up_to /= most);
        }
        Self { pattern, tasks: Some(tasks), nodes, notes }
    }

    /// Adds notes of the readers of programs that the pattern is derived from.
    #[must_use]
    pub fn with_notes(mut self, notes: &[String]) -> Self {
        self.notes.extend_from_slice(notes);
        self
    }

    /// Returns the pattern's name in the experiment file.
    pub fn kind(&self) -> &'static str {
        self.pattern.kind()
    }

    /// Returns the omissions and assumptions of the readers of files, and the meaning of a pattern that has several, one
    /// sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether a node sends at all.
    pub fn sends(&self, src: NodeId) -> bool {
        match &self.tasks {
            None => self.pattern.sends(TaskId(src.0)),
            Some(tasks) => tasks.total(src) > 0.0,
        }
    }

    /// Draws the destination of the source's next message, from the source's stream. Called only for nodes that send.
    #[inline(always)]
    pub fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        match &self.tasks {
            None => NodeId(self.pattern.destination(TaskId(src.0), draw).0),
            Some(tasks) => self.destination_of_task(tasks, src, draw),
        }
    }

    /// Draws a destination where tasks are placed on nodes.
    #[inline(never)]
    fn destination_of_task(&self, tasks: &PlacedTasks, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        let task = tasks.draw(src, draw);
        for _ in 0..DRAWS {
            let node = tasks.placement.node(self.pattern.destination(task, draw));
            if tasks.alone || node != src {
                return node;
            }
        }
        tasks.draw_elsewhere(self.pattern.distribution(task), src, draw)
    }

    /// Returns the exact distribution of `destination`: each node and its probability. The probabilities sum to 1, or
    /// are empty if the node does not send.
    pub fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        match &self.tasks {
            None => {
                self.pattern.distribution(TaskId(src.0)).into_iter().map(|(dst, part)| (NodeId(dst.0), part)).collect()
            }
            Some(tasks) => tasks.distribution(&*self.pattern, src),
        }
    }

    /// Returns the exact distribution of `destination` as a probability of every node, including the source, plus
    /// additions for single nodes. It is short if most nodes are equally likely.
    pub fn spread(&self, src: NodeId) -> Spread {
        match &self.tasks {
            None => {
                let shares = self.pattern.shares(TaskId(src.0));
                let mut all = Spread::default();
                all.add(shares, 1.0, (self.nodes, 1), |task| NodeId(task.0));
                all
            }
            Some(tasks) => tasks.spread(&*self.pattern, src),
        }
    }

    /// Returns a node's load relative to the offered load, at most 1.
    pub fn weight(&self, src: NodeId) -> f64 {
        match &self.tasks {
            None => self.pattern.weight(TaskId(src.0)),
            Some(tasks) => tasks.weight(src),
        }
    }
}

impl PlacedTasks {
    fn new(pattern: &dyn Pattern, placement: &Arc<Placement>) -> Self {
        let alone = (0..placement.nodes()).all(|node| placement.tasks(NodeId(node)).len() <= 1);
        let counts = || (0..placement.nodes()).map(|node| placement.tasks(NodeId(node)).len());
        let first = counts().next().unwrap_or(0);
        let even = counts().all(|tasks| tasks == first).then_some(first as u32);
        let mut tasks = Self { placement: Arc::clone(placement), leaving: Vec::new(), alone, even, scale: 1.0 };
        for node in (0..placement.nodes()).map(NodeId) {
            let mut sum = 0.0;
            for &task in placement.tasks(node) {
                sum += tasks.leaving_of(pattern, task, node);
                tasks.leaving.push(sum);
            }
        }
        tasks
    }

    /// Returns the weight of a task's messages that leave its node. A message of a task to itself, if the pattern has
    /// any, enters the network if the task is the only one on its node.
    fn leaving_of(&self, pattern: &dyn Pattern, task: TaskId, node: NodeId) -> f64 {
        let weight = pattern.weight(task);
        if self.alone || weight == 0.0 {
            return weight;
        }
        let leaving = weight * (1.0 - self.within(&pattern.shares(task), node));
        if leaving < 1e-12 { 0.0 } else { leaving }
    }

    /// Returns the fraction of a task's messages that go to the tasks of a node.
    fn within(&self, shares: &Shares, node: NodeId) -> f64 {
        let even = shares.even.as_ref().map_or(0.0, |(range, each)| {
            let except = shares.except.filter(|&task| range.contains(&task.0) && self.placement.node(task) == node);
            each * (self.count_within(node, range) - except.map_or(0, |_| 1)) as f64
        });
        let single = shares.single.iter().filter(|(task, _)| self.placement.node(*task) == node);
        even + single.map(|(_, share)| share).sum::<f64>()
    }

    /// Returns the number of a node's tasks in a range.
    fn count_within(&self, node: NodeId, range: &Range<u32>) -> usize {
        let tasks = self.placement.tasks(node);
        tasks.partition_point(|task| task.0 < range.end) - tasks.partition_point(|task| task.0 < range.start)
    }

    fn total(&self, src: NodeId) -> f64 {
        self.leaving[self.placement.places(src)].last().copied().unwrap_or(0.0)
    }

    fn weight(&self, src: NodeId) -> f64 {
        let tasks = self.placement.tasks(src).len();
        if tasks == 0 { 0.0 } else { self.total(src) / tasks as f64 }
    }

    /// Draws the sending task of a node's next message.
    fn draw(&self, src: NodeId, draw: &mut dyn Draw) -> TaskId {
        let tasks = self.placement.tasks(src);
        if let [only] = tasks {
            return *only;
        }
        let up_to = &self.leaving[self.placement.places(src)];
        let drawn = draw.unit() * self.total(src);
        // Rounding may draw the total itself, which selects the last task that sends.
        let last = up_to.partition_point(|&up_to| up_to < self.total(src));
        tasks[up_to.partition_point(|&up_to| up_to <= drawn).min(last)]
    }

    /// Draws a destination on another node from the shares of a task. Returns `src` if there is none.
    fn draw_elsewhere(&self, shares: Vec<(TaskId, f64)>, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        let nodes = shares.into_iter().map(|(task, share)| (self.placement.node(task), share));
        let elsewhere: Vec<_> = nodes.filter(|&(node, share)| node != src && share > 0.0).collect();
        let mut left = draw.unit() * elsewhere.iter().map(|(_, share)| share).sum::<f64>();
        let found = elsewhere.iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        found.or(elsewhere.last()).map_or(src, |&(node, _)| node)
    }

    /// Returns the distribution as a probability of every node, if all have equally many tasks, plus additions for
    /// single nodes.
    fn spread(&self, pattern: &dyn Pattern, src: NodeId) -> Spread {
        let Some(each) = self.even else {
            return Spread { everyone: 0.0, besides: self.distribution(pattern, src) };
        };
        let total = self.total(src);
        let (mut all, mut before) = (Spread::default(), 0.0);
        for (&task, &up_to) in self.placement.tasks(src).iter().zip(&self.leaving[self.placement.places(src)]) {
            if up_to > std::mem::replace(&mut before, up_to) {
                let weight = pattern.weight(task) * self.scale / total;
                all.add(pattern.shares(task), weight, (self.placement.len(), each), |task| self.placement.node(task));
            }
        }
        if !self.alone {
            // Messages within the node do not enter the network.
            all.besides.retain(|&(node, _)| node != src);
            all.besides.push((src, -all.everyone));
        }
        all
    }

    fn distribution(&self, pattern: &dyn Pattern, src: NodeId) -> Vec<(NodeId, f64)> {
        let total = self.total(src);
        let mut shares: Vec<(NodeId, f64)> = Vec::new();
        // Tasks of a node mostly send evenly to one range, which is divided among nodes once.
        let mut even: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let mut before = 0.0;
        for (&task, &up_to) in self.placement.tasks(src).iter().zip(&self.leaving[self.placement.places(src)]) {
            let sends = up_to > std::mem::replace(&mut before, up_to);
            if !sends {
                continue;
            }
            let weight = pattern.weight(task) * self.scale / total;
            let of_task = pattern.shares(task);
            let there = of_task.single.into_iter().map(|(dst, share)| (self.placement.node(dst), share * weight));
            shares.extend(there.filter(|&(node, _)| self.alone || node != src));
            if let Some((range, each)) = of_task.even {
                // The excluded task of a range is on this node. It matters only if it is the node's only task.
                let own = of_task.except.filter(|task| self.alone && range.contains(&task.0));
                shares.extend(own.map(|task| (self.placement.node(task), -each * weight)));
                *even.entry((range.start, range.end)).or_default() += each * weight;
            }
        }
        for ((start, end), each) in even {
            self.add_range(start..end, each, &mut shares);
        }
        shares.retain(|&(node, _)| self.alone || node != src);
        shares.sort_by_key(|&(node, _)| node);
        shares.dedup_by(|next, sum| {
            next.0 == sum.0 && {
                sum.1 += next.1;
                true
            }
        });
        shares.retain(|&(_, share)| share > 0.0);
        shares
    }

    /// Adds `each` for every task of a range, at its node.
    fn add_range(&self, range: Range<u32>, each: f64, shares: &mut Vec<(NodeId, f64)>) {
        if range.len() < self.placement.nodes() as usize {
            shares.extend(range.map(|task| (self.placement.node(TaskId(task)), each)));
            return;
        }
        for node in (0..self.placement.nodes()).map(NodeId) {
            let tasks = self.count_within(node, &range);
            shares.extend((tasks > 0).then_some((node, each * tasks as f64)));
        }
    }
}
