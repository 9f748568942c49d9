//! Bursts: several sends or receives in one call.

use super::Action;

/// Several sends or receives that agree in size and tag, with peers at a fixed stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// First operation.
    pub first: Action,
    /// Number of operations.
    pub count: u32,
    /// Difference between the peer ranks of consecutive operations, modulo the number of ranks.
    pub stride: u32,
}

impl Burst {
    /// Returns operation `number`, from 0, in a program of `ranks` ranks.
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
