//! A trace as calls that are written out.

use super::{Trace, TraceError};
use crate::program::calls::{CallError, Calls, CallsBuilder};
use crate::program::{Programs, Step};

/// Why a trace cannot be written out as calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCalls {
    /// What is wrong with the trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// What calls cannot say.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Trace {
    /// What its ranks call, as it is replayed, all of it in memory.
    ///
    /// # Errors
    /// More calls than there can be, or a file that has changed meanwhile.
    pub fn calls(&self) -> Result<Calls, NoCalls> {
        let mut builder = CallsBuilder::new(self.ranks());
        let groups = &self.index.groups;
        let members = |number: usize| (0..groups[number].len()).map(|member| groups[number].rank(member)).collect();
        for number in 1..groups.len() {
            builder.communicator(members(number))?;
        }
        if self.exchanges {
            for number in 0..groups.len() {
                builder.communicator(members(number))?;
            }
        }
        for rank in 0..self.ranks() {
            let mut steps = self.steps(rank);
            while let Some(step) = steps.next_step()? {
                if step != Step::End {
                    builder.push(rank, step)?;
                }
            }
        }
        Ok(builder.build())
    }
}
