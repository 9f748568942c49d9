//! Operations that a rank starts for one of its requests.

use super::script::Request;
use super::{Action, Op};

/// Where a rank posts the operations of a request, in the order in which they start.
pub(super) struct Posts<'a> {
    request: Request,
    ranks: u32,
    starts: &'a mut Vec<Op>,
    count: u32,
}

impl<'a> Posts<'a> {
    /// Operations of a request of a rank among so many, none so far.
    #[inline]
    pub fn new(request: Request, ranks: u32, starts: &'a mut Vec<Op>) -> Self {
        Self { request, ranks, starts, count: 0 }
    }

    /// How many have been posted.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Posts so many operations of one shape, given the first, the rank at the other end of each a stride from that of the one before.
    #[inline]
    pub fn post(&mut self, first: Action, count: u32, stride: u32) {
        self.count += count;
        let (action, stride) = if stride == 0 { (first, 0) } else { self.strided(first, stride) };
        self.starts.push(Op { id: self.request, action, count, stride });
    }

    /// The first operation and the stride with ranks below the number of all.
    fn strided(&self, first: Action, stride: u32) -> (Action, u32) {
        let (ranks, stride) = (self.ranks.max(1), stride % self.ranks.max(1));
        let normal = |rank: u32| if stride == 0 { rank } else { rank % ranks };
        match first {
            Action::Send { to, bytes, tag, context } => (Action::Send { to: normal(to), bytes, tag, context }, stride),
            Action::Recv { from: Some(from), bytes, tag, context } => {
                (Action::Recv { from: Some(normal(from)), bytes, tag, context }, stride)
            }
            // From any rank, or none: there is nothing to stride over.
            _ => (first, 0),
        }
    }
}
