//! Operations that a rank starts for one request.

use super::script::Request;
use super::{Action, Op};

/// Collector of the operations of one request, in their starting order.
pub(super) struct Posts<'a> {
    request: Request,
    ranks: u32,
    starts: &'a mut Vec<Op>,
    count: u32,
}

impl<'a> Posts<'a> {
    /// Creates an empty collector for a request of a rank in a program of `ranks` ranks.
    #[inline]
    pub fn new(request: Request, ranks: u32, starts: &'a mut Vec<Op>) -> Self {
        Self { request, ranks, starts, count: 0 }
    }

    /// Returns the number of ranks of the program.
    #[inline]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the number of operations posted.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Posts `count` operations that begin with `first`. The peer ranks of consecutive operations are `stride` apart.
    #[inline]
    pub fn post(&mut self, first: Action, count: u32, stride: u32) {
        self.count += count;
        let (action, stride) = if stride == 0 { (first, 0) } else { self.strided(first, stride) };
        self.starts.push(Op { id: self.request, action, count, stride });
    }

    /// Returns the first operation and the stride, both reduced modulo the number of ranks.
    fn strided(&self, first: Action, stride: u32) -> (Action, u32) {
        let (ranks, stride) = (self.ranks.max(1), stride % self.ranks.max(1));
        let normal = |rank: u32| if stride == 0 { rank } else { rank % ranks };
        match first {
            Action::Send { to, bytes, tag, context } => (Action::Send { to: normal(to), bytes, tag, context }, stride),
            Action::Recv { from: Some(from), bytes, tag, context } => {
                (Action::Recv { from: Some(normal(from)), bytes, tag, context }, stride)
            }
            // An action without a peer, or a receive from any source: there is no stride.
            _ => (first, 0),
        }
    }
}
