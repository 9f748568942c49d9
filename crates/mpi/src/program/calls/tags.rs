//! Tags of a schedule. Schedules have no communicators, so that tags alone keep messages apart.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{Action, Burst, Context, ScriptCall};

/// First tag of the messages of collective operations in a schedule. Calls together with collective operations may not
/// use tags from here on.
pub(super) const COLLECTIVE: u32 = 1 << 31;

/// First tag assigned to messages of communicators.
const FIRST: u32 = 1 << 30;

/// Map from communicator and tag to the tag in the schedule. Messages of the communicator of all ranks keep their tags.
#[derive(Debug, Default)]
pub(super) struct Tags {
    given: BTreeMap<(Context, u32), u32>,
}

impl Tags {
    /// Assigns tags to the messages of calls, given with their ranks.
    ///
    /// # Errors
    /// A receive of any tag together with messages of communicators. It would match messages of other communicators.
    pub fn of<'a>(calls: impl Iterator<Item = (u32, &'a ScriptCall)>) -> Result<Self, (u32, &'a ScriptCall)> {
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

    /// Converts a message to one of the communicator of all ranks.
    pub fn flat(&self, action: Action) -> Action {
        let given = |context: Context, tag: u32| self.given.get(&(context, tag)).copied().unwrap_or(tag);
        match action {
            Action::Send { to, bytes, tag, context } => Action::send(to, bytes, given(context, tag)),
            Action::Recv { from, bytes, tag, context } => Action::recv(from, bytes, tag.map(|tag| given(context, tag))),
            other => other,
        }
    }
}

/// Returns the communicator and the tag of a sent or received message.
fn message_of(step: &ScriptCall) -> Option<(Context, Option<u32>)> {
    let (ScriptCall::Do(first) | ScriptCall::Burst(Burst { first, .. })) = *step else { return None };
    match first {
        Action::Send { tag, context, .. } => Some((context, Some(tag))),
        Action::Recv { tag, context, .. } => Some((context, tag)),
        _ => None,
    }
}
