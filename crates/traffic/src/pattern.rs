//! Interface of traffic patterns.

use std::fmt::Debug;
use std::ops::Range;

use units::{Draw, NodeId, TaskId};

/// Traffic pattern over tasks. A placement decides where tasks run; `PlacedPattern` is a pattern over nodes. Patterns
/// are pure: a random permutation is drawn when the pattern is built.
pub trait Pattern: Debug + Send + Sync {
    /// Returns the pattern's name in the experiment file.
    fn kind(&self) -> &'static str;
    /// Whether a task sends at all (a fixed point of a permutation does not).
    fn sends(&self, src: TaskId) -> bool;
    /// Draws the destination of the source's next message, from the source's stream. Called only for tasks that send.
    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId;
    /// Returns the exact probabilities of `destination`. They sum to 1, or are empty if the task does not send.
    fn shares(&self, src: TaskId) -> Shares;
    /// Returns each task to which `src` sends and its probability, in ascending order of tasks.
    fn distribution(&self, src: TaskId) -> Vec<(TaskId, f64)> {
        self.shares(src).list()
    }
    /// Returns the omissions of the reader of the pattern's file, and the meaning of a pattern that has several, one
    /// sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Returns a task's load relative to the offered load. 1 for most patterns; a matrix may have other values, at
    /// most 1.
    fn weight(&self, src: TaskId) -> f64 {
        if self.sends(src) { 1.0 } else { 0.0 }
    }
}

/// Probabilities of a source's destinations. Patterns with very many destinations send to most of them equally often.
/// This even part is a range, so that analyses of many tasks need not list pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// Range of equally likely tasks, and the probability of each.
    pub even: Option<(Range<u32>, f64)>,
    /// Task of the range that receives none of the even part: the source, if it does not send to itself.
    pub except: Option<TaskId>,
    /// Further probabilities of single tasks, in ascending order, each task once. They add to the even part.
    pub single: Vec<(TaskId, f64)>,
}

impl Shares {
    /// Creates shares of single tasks, in ascending order.
    pub fn of_single(single: Vec<(TaskId, f64)>) -> Self {
        Self { single, ..Self::default() }
    }

    /// Creates equal shares for every task of a range except `except`.
    pub fn of_even(tasks: Range<u32>, each: f64, except: Option<TaskId>) -> Self {
        Self { even: Some((tasks, each)), except, single: Vec::new() }
    }

    /// Returns each task and its probability, in ascending order.
    pub fn list(self) -> Vec<(TaskId, f64)> {
        let Some((tasks, each)) = self.even else { return self.single };
        let except = self.except;
        let mut list: Vec<(TaskId, f64)> =
            tasks.map(TaskId).filter(|&task| Some(task) != except).map(|task| (task, each)).collect();
        for (task, more) in self.single {
            match list.binary_search_by_key(&task, |own| own.0) {
                Ok(place) => list[place].1 += more,
                Err(place) => list.insert(place, (task, more)),
            }
        }
        list
    }
}

/// Distribution over nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// Probability of every node.
    pub everyone: f64,
    /// Additions to the probability of single nodes. May be negative. Several additions to a node are summed.
    pub besides: Vec<(NodeId, f64)>,
}

impl Spread {
    /// Adds the shares of a task, times `weight`. The pattern has `tasks` tasks, `each` of them on every node.
    pub(crate) fn add(
        &mut self,
        shares: Shares,
        weight: f64,
        (tasks, each): (u32, u32),
        node: impl Fn(TaskId) -> NodeId,
    ) {
        match shares.even {
            Some((ref range, share)) if *range == (0..tasks) => {
                self.everyone += share * weight * f64::from(each);
                self.besides.extend(shares.except.map(|task| (node(task), -share * weight)));
                self.besides.extend(shares.single.into_iter().map(|(task, more)| (node(task), more * weight)));
            }
            _ => self.besides.extend(shares.list().into_iter().map(|(task, share)| (node(task), share * weight))),
        }
    }
}
