//! Patterns over nodes: a pattern over tasks, and where the tasks run.

use std::sync::Arc;

use units::{Draw, NodeId, TaskId};

use crate::{Pattern, Placement};

/// Which node sends to which. A message's task is drawn from the node's, each for the share of its messages that leave
/// the node.
#[derive(Debug)]
pub struct PlacedPattern {
    pattern: Arc<dyn Pattern>,
    /// The tasks of the nodes; none if task i is on node i, for all nodes.
    tasks: Option<PlacedTasks>,
}

#[derive(Debug)]
struct PlacedTasks {
    placement: Arc<Placement>,
    /// By task, the weight of its messages that leave the node.
    leaving: Vec<f64>,
    /// No node has more than one task.
    alone: bool,
    /// The factor by which the tasks' weights are multiplied.
    scale: f64,
}

impl PlacedPattern {
    /// The pattern of the nodes of a placement. With `full`, weights are scaled so that the node that sends most has
    /// weight 1, whatever its tasks send one another.
    pub fn new(pattern: Arc<dyn Pattern>, placement: &Arc<Placement>, full: bool) -> Self {
        if placement.is_identity() {
            return Self { pattern, tasks: None };
        }
        let mut tasks = PlacedTasks::new(&*pattern, placement);
        let most = (0..placement.nodes()).map(|node| tasks.weight(NodeId(node))).fold(0.0, f64::max);
        if full && most > 0.0 {
            tasks.scale = 1.0 / most;
            tasks.leaving.iter_mut().for_each(|share| *share /= most);
        }
        Self { pattern, tasks: Some(tasks) }
    }

    /// The pattern's name as the experiment file writes it.
    pub fn kind(&self) -> &'static str {
        self.pattern.kind()
    }

    /// What the reader of the pattern's file has left out, one sentence each.
    pub fn notes(&self) -> &[String] {
        self.pattern.notes()
    }

    /// Whether a node sends at all.
    pub fn sends(&self, src: NodeId) -> bool {
        match &self.tasks {
            None => self.pattern.sends(TaskId(src.0)),
            Some(tasks) => tasks.total(src) > 0.0,
        }
    }

    /// The destination of the source's next message, drawn from the source's stream. Called only for nodes that send.
    #[inline(always)]
    pub fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        match &self.tasks {
            None => NodeId(self.pattern.destination(TaskId(src.0), draw).0),
            Some(tasks) => self.destination_of_task(tasks, src, draw),
        }
    }

    /// The same where tasks are placed on nodes.
    #[inline(never)]
    fn destination_of_task(&self, tasks: &PlacedTasks, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        let task = tasks.draw(src, draw);
        loop {
            let node = tasks.placement.node(self.pattern.destination(task, draw));
            if tasks.alone || node != src {
                return node;
            }
        }
    }

    /// The exact distribution of `destination`: each node and its probability. They sum to 1, or there are none if the
    /// node does not send.
    pub fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        match &self.tasks {
            None => {
                self.pattern.distribution(TaskId(src.0)).into_iter().map(|(dst, part)| (NodeId(dst.0), part)).collect()
            }
            Some(tasks) => tasks.distribution(&*self.pattern, src),
        }
    }

    /// A node's share of the offered load, at most 1.
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
        // Messages between tasks of a node do not enter the network. A message of a task to itself, where the pattern
        // has such, does if the task is the only one of its node.
        let leaving = |task: TaskId| {
            let weight = pattern.weight(task);
            if alone || weight == 0.0 {
                return weight;
            }
            let local = placement.tasks(placement.node(task));
            weight * (1.0 - local.iter().map(|&other| pattern.probability(task, other)).sum::<f64>())
        };
        let shares = (0..placement.len()).map(|task| leaving(TaskId(task)));
        let leaving = shares.map(|share| if share < 1e-12 { 0.0 } else { share }).collect();
        Self { placement: Arc::clone(placement), leaving, alone, scale: 1.0 }
    }

    fn total(&self, src: NodeId) -> f64 {
        self.placement.tasks(src).iter().map(|&task| self.leaving[task.index()]).sum()
    }

    fn weight(&self, src: NodeId) -> f64 {
        let tasks = self.placement.tasks(src).len();
        if tasks == 0 { 0.0 } else { self.total(src) / tasks as f64 }
    }

    /// Draws the task of a node's next message.
    fn draw(&self, src: NodeId, draw: &mut dyn Draw) -> TaskId {
        let tasks = self.placement.tasks(src);
        if let [only] = tasks {
            return *only;
        }
        let mut left = draw.unit() * self.total(src);
        let sending = tasks.iter().copied().filter(|&task| self.leaving[task.index()] > 0.0);
        let mut last = tasks[0];
        for task in sending {
            last = task;
            left -= self.leaving[task.index()];
            if left < 0.0 {
                break;
            }
        }
        last
    }

    fn distribution(&self, pattern: &dyn Pattern, src: NodeId) -> Vec<(NodeId, f64)> {
        let total = self.total(src);
        let mut shares: Vec<(NodeId, f64)> = Vec::new();
        for &task in self.placement.tasks(src).iter().filter(|&&task| self.leaving[task.index()] > 0.0) {
            let weight = pattern.weight(task) * self.scale / total;
            let of_task = pattern.distribution(task).into_iter();
            let there = of_task.map(|(dst, share)| (self.placement.node(dst), share * weight));
            shares.extend(there.filter(|&(node, _)| self.alone || node != src));
        }
        shares.sort_by_key(|&(node, _)| node);
        shares.dedup_by(|next, sum| {
            next.0 == sum.0 && {
                sum.1 += next.1;
                true
            }
        });
        shares
    }
}
