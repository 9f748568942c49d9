//! Hotspot: a fraction of the messages goes to a few hot tasks, and the rest to any other task uniformly.
//!
//! With probability `fraction` a message goes to a hot task, drawn uniformly. Otherwise it goes to any task except its
//! source, drawn uniformly; that may be a hot task too. A task never sends to itself: a hot task divides its hot
//! fraction among the other hot tasks. If it is the only hot task, it sends uniformly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use super::uniform::other_task;
use crate::{Pattern, Shares};

/// Name in the experiment file.
pub const KIND: &str = "hotspot";

/// Keys of `hotspot`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotspotSpec {
    /// Hot tasks. Each may occur once.
    #[schemars(length(min = 1))]
    pub nodes: Vec<u64>,
    /// Fraction of the messages that goes to the hot tasks, in addition to their share of the uniform rest.
    #[serde(default = "default_fraction")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
}

fn default_fraction() -> f64 {
    0.2
}

/// Hotspot pattern.
#[derive(Debug)]
pub struct Hotspot {
    tasks: u32,
    /// Hot tasks, in ascending order.
    hot: Vec<u32>,
    fraction: f64,
}

impl Hotspot {
    /// Creates the pattern for `tasks` tasks.
    ///
    /// # Errors
    /// If there are fewer than 2 tasks, if there is no hot task, if a hot task does not exist or is given twice, or if
    /// the fraction is not in 0..=1.
    pub fn new(spec: &HotspotSpec, tasks: u32) -> Result<Self, KeyError> {
        if tasks < 2 {
            let message = format!("`{KIND}` needs 2 tasks or more; the workload has {tasks}");
            return Err(KeyError::new("kind", message));
        }
        if !(0.0..=1.0).contains(&spec.fraction) {
            let message = format!("fraction is {}; it has to be between 0 and 1", spec.fraction);
            return Err(KeyError::new("fraction", message));
        }
        Ok(Self { tasks, hot: hot_tasks(&spec.nodes, tasks)?, fraction: spec.fraction })
    }

    /// Returns the number of hot tasks that `src` may choose, excluding itself, and its index among all hot tasks if it
    /// is hot.
    fn choice(&self, src: TaskId) -> (u32, Option<usize>) {
        let own = self.hot.binary_search(&src.0).ok();
        (self.hot.len() as u32 - u32::from(own.is_some()), own)
    }
}

/// Returns the hot tasks in ascending order.
fn hot_tasks(given: &[u64], tasks: u32) -> Result<Vec<u32>, KeyError> {
    let refuse = |message: String| Err(KeyError::new("nodes", message));
    if given.is_empty() {
        return refuse("nodes is empty; name one hot task or more, such as [0]".to_owned());
    }
    let mut hot: Vec<u32> = given.iter().map(|&task| task as u32).collect();
    hot.sort_unstable();
    if let Some(&absent) = given.iter().find(|&&task| task >= u64::from(tasks)) {
        return refuse(format!("there is no task {absent}; the tasks are 0 to {}", tasks - 1));
    }
    if let Some(pair) = hot.windows(2).find(|pair| pair[0] == pair[1]) {
        return refuse(format!("task {} is given twice", pair[0]));
    }
    Ok(hot)
}

impl Pattern for Hotspot {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, _src: TaskId) -> bool {
        true
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        let (choices, own) = self.choice(src);
        if choices == 0 || draw.unit() >= self.fraction {
            return other_task(src, self.tasks, draw);
        }
        let place = draw.below(choices) as usize;
        TaskId(self.hot[place + usize::from(own.is_some_and(|own| place >= own))])
    }

    fn shares(&self, src: TaskId) -> Shares {
        let (choices, _) = self.choice(src);
        let hot_part = if choices == 0 { 0.0 } else { self.fraction };
        let rest = (1.0 - hot_part) / f64::from(self.tasks - 1);
        let each_hot = hot_part / f64::from(choices.max(1));
        let hot = self.hot.iter().filter(|&&dst| dst != src.0 && each_hot > 0.0);
        Shares {
            even: (rest > 0.0).then_some((0..self.tasks, rest)),
            except: Some(src),
            single: hot.map(|&dst| (TaskId(dst), each_hot)).collect(),
        }
    }
}
