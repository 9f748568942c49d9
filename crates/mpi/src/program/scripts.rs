//! Programs whose ranks are scripts, each created by a function of its rank.

use std::fmt::Debug;
use std::sync::Arc;

use super::script::Script;
use super::scripted::ScriptedRank;
use super::{Messages, Programs, RankProgram};

/// Program whose ranks are scripts, each created by a function of its rank.
pub struct Scripts<F> {
    ranks: u32,
    operations: u64,
    messages: Vec<Messages>,
    may_probe: bool,
    make: F,
}

impl<F> Debug for Scripts<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripts").field("ranks", &self.ranks).field("operations", &self.operations).finish()
    }
}

impl<S: Script + 'static, F: Fn(u32) -> S + Send + Sync> Scripts<F> {
    /// Creates a program of `ranks` ranks.
    pub fn new(ranks: u32, make: F) -> Self {
        Self { ranks, operations: 0, messages: Vec::new(), may_probe: true, make }
    }

    /// Declares that no rank probes.
    #[must_use]
    pub fn without_probes(mut self) -> Self {
        self.may_probe = false;
        self
    }

    /// Declares the messages that ranks send.
    #[must_use]
    pub fn with_messages(mut self, mut messages: Vec<Messages>) -> Self {
        messages.sort_by_key(|messages| messages.from);
        // A message is a send and a receive.
        self.operations = messages.iter().map(|messages| 2 * messages.count).sum();
        self.messages = messages;
        self
    }
}

impl<S: Script + 'static, F: Fn(u32) -> S + Send + Sync> Programs for Scripts<F> {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(ScriptedRank::new((self.make)(rank), rank, self.ranks))
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn may_probe(&self) -> bool {
        self.may_probe
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        let first = self.messages.partition_point(|messages| messages.from < rank);
        let own = self.messages[first..].iter().take_while(|messages| messages.from == rank);
        own.for_each(|&messages| visit(messages));
    }
}
