//! Permutation patterns: every task has a fixed destination.

use units::{Draw, KeyError, TaskId, counted};

use crate::{Pattern, Shares};

/// Permutation of the tasks, as a table of 4 bytes per task. A fixed point does not send.
#[derive(Debug)]
pub struct Permutation {
    kind: &'static str,
    to: Vec<u32>,
    notes: Vec<String>,
}

impl Permutation {
    /// Tabulates a permutation of the tasks. `to` must be a bijection of `0..tasks`.
    ///
    /// # Errors
    /// If no task would send.
    pub(crate) fn new(kind: &'static str, tasks: u32, to: impl Fn(u32) -> u32) -> Result<Self, KeyError> {
        let to: Vec<u32> = (0..tasks).map(to).collect();
        if to.iter().zip(0..).all(|(&dst, src)| dst == src) {
            let tasks = counted(tasks.into(), ["task", "tasks"]);
            let message = format!("`{kind}` on {tasks} makes every task its own destination, so that none sends");
            return Err(KeyError::new("kind", message));
        }
        Ok(Self { kind, to, notes: Vec::new() })
    }

    /// Adds a note on the meaning of the pattern.
    pub(crate) fn with_note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// Returns the destination of a task.
    pub(crate) fn target(&self, src: TaskId) -> TaskId {
        TaskId(self.to[src.index()])
    }
}

impl Pattern for Permutation {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn sends(&self, src: TaskId) -> bool {
        self.to[src.index()] != src.0
    }

    fn destination(&self, src: TaskId, _draw: &mut dyn Draw) -> TaskId {
        self.target(src)
    }

    fn shares(&self, src: TaskId) -> Shares {
        let to = self.sends(src).then(|| (self.target(src), 1.0));
        Shares::of_single(to.into_iter().collect())
    }
}
