//! Operations of one shape.

use super::Action;

/// Sends or receives of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The first of them.
    pub first: Action,
    /// How many there are.
    pub count: u32,
    /// How far the rank at the other end of each is from that of the one before, modulo the number of ranks.
    pub stride: u32,
}

impl Burst {
    /// The n-th operation, from 0, among so many ranks.
    pub fn action(&self, number: u32, ranks: u32) -> Action {
        let shift = |rank: u32| match self.stride {
            0 => rank,
            stride => ((u64::from(rank) + u64::from(stride) * u64::from(number)) % u64::from(ranks.max(1))) as u32,
        };
        match self.first {
            Action::Send { to, bytes, tag, context } => Action::Send { to: shift(to), bytes, tag, context },
            Action::Recv { from, bytes, tag, context } => Action::Recv { from: from.map(shift), bytes, tag, context },
            Action::Calc { .. }
            | Action::Kernel { .. }
            | Action::Poll
            | Action::Probe { .. }
            | Action::Group(_)
            | Action::OnNic(_) => self.first,
        }
    }
}
