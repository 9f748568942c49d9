//! Tags of messages without communicators: those of a schedule, which has none.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{Action, Burst, Context, Step};

/// The lowest tag that calls may not have beside collective operations, whose messages have the tags from there on: a schedule has no
/// communicators that keep them apart.
pub(super) const COLLECTIVE: u32 = 1 << 31;

/// The first tag that messages of communicators get.
const FIRST: u32 = 1 << 30;

/// By communicator and tag, the tag that keeps messages apart in a schedule. Those of the communicator of all ranks keep theirs.
#[derive(Debug, Default)]
pub(super) struct Tags {
    given: BTreeMap<(Context, u32), u32>,
}

impl Tags {
    /// Those of calls, each with its rank.
    ///
    /// # Errors
    /// A receive of any tag beside messages of communicators: it would meet other messages.
    pub fn of<'a>(calls: impl Iterator<Item = (u32, &'a Step)>) -> Result<Self, (u32, &'a Step)> {
        let (mut own, mut world) = (BTreeSet::new(), BTreeSet::new());
        let mut any = None;
        for (rank, step) in calls {
            let Some((context, tag)) = message_of(step) else { continue };
            match (context, tag) {
                (_, None) => any = any.or(Some((rank, step))),
                (Context::WORLD, Some(tag)) => drop(world.insert(tag)),
                (context, Some(tag)) => drop(own.insert((context, tag))),
            }
        }
        if let Some(found) = any.filter(|_| !own.is_empty()) {
            return Err(found);
        }
        let free = (FIRST..COLLECTIVE).filter(|tag| !world.contains(tag));
        Ok(Self { given: own.into_iter().zip(free).collect() })
    }

    /// A message as one of the communicator of all ranks.
    pub fn flat(&self, action: Action) -> Action {
        let given = |context: Context, tag: u32| self.given.get(&(context, tag)).copied().unwrap_or(tag);
        match action {
            Action::Send { to, bytes, tag, context } => Action::send(to, bytes, given(context, tag)),
            Action::Recv { from, bytes, tag, context } => Action::recv(from, bytes, tag.map(|tag| given(context, tag))),
            other => other,
        }
    }
}

/// The communicator and the tag of a message that a call sends or receives.
fn message_of(step: &Step) -> Option<(Context, Option<u32>)> {
    let (Step::Do(first) | Step::Burst(Burst { first, .. })) = *step else { return None };
    match first {
        Action::Send { tag, context, .. } => Some((context, Some(tag))),
        Action::Recv { tag, context, .. } => Some((context, tag)),
        _ => None,
    }
}
