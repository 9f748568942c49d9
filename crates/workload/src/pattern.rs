//! The interface of traffic patterns.

use std::fmt::Debug;
use std::ops::Range;

use units::{Draw, NodeId, TaskId};

/// Which task sends to which. A placement decides where tasks run; `PlacedPattern` is the same over nodes. Pure: a
/// random permutation is drawn when the pattern is built.
pub trait Pattern: Debug + Send + Sync {
    /// The pattern's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// Whether a task sends at all (a fixed point of a permutation does not).
    fn sends(&self, src: TaskId) -> bool;
    /// The destination of the source's next message, drawn from the source's stream. Called only for tasks that send.
    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId;
    /// The exact probabilities of `destination`. They sum to 1, or there are none if the task does not send.
    fn shares(&self, src: TaskId) -> Shares;
    /// Each task to which `src` sends, in ascending order, and its probability.
    fn distribution(&self, src: TaskId) -> Vec<(TaskId, f64)> {
        self.shares(src).list()
    }
    /// What the reader of its file has left out, one sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// A task's share of the offered load, 1 for most patterns; a matrix may give others (at most 1).
    fn weight(&self, src: TaskId) -> f64 {
        if self.sends(src) { 1.0 } else { 0.0 }
    }
}

/// Probabilities of a source's destinations. Patterns that send to very many tasks send to most of them alike: what is even is a range,
/// so that analyses of many tasks need not list pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// Tasks that are equally likely, and the probability of each.
    pub even: Option<(Range<u32>, f64)>,
    /// Task of the range that receives none of the even part: the source, where it does not send to itself.
    pub except: Option<TaskId>,
    /// Further probabilities of single tasks, in ascending order, each task once. They add to the even part.
    pub single: Vec<(TaskId, f64)>,
}

impl Shares {
    /// Shares of single tasks in ascending order.
    pub fn of_single(single: Vec<(TaskId, f64)>) -> Self {
        Self { single, ..Self::default() }
    }

    /// Shares that are equal for every task of a range but `except`.
    pub fn of_even(tasks: Range<u32>, each: f64, except: Option<TaskId>) -> Self {
        Self { even: Some((tasks, each)), except, single: Vec::new() }
    }

    /// Each task and its probability, in ascending order.
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

/// A distribution over nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// The probability of each.
    pub everyone: f64,
    /// Additions to it, which may be negative; several of one are added up.
    pub besides: Vec<(NodeId, f64)>,
}

impl Spread {
    /// Adds the shares of a task, times a weight. There are `tasks` of the pattern, `each` on every node.
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

/// Why a pattern cannot be built. `key` is the key under `[workload.pattern]` that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The key under `[workload.pattern]`.
    pub key: &'static str,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl PatternError {
    /// An error at a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}
