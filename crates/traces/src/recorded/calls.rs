//! Conversion of a trace to calls that are written out.

use super::{Trace, TraceError};
use mpi::program::calls::{CallError, Calls, CallsBuilder};
use mpi::program::{Programs, ScriptCall};

/// Reason why a trace cannot be converted to calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCalls {
    /// The trace is invalid.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A call has no equivalent.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Trace {
    /// Returns the calls of all ranks as they are replayed. All of them are held in memory.
    ///
    /// # Errors
    /// More calls than the limit, or a file that has changed meanwhile.
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
                if step != ScriptCall::End {
                    builder.push(rank, step)?;
                }
            }
        }
        Ok(builder.build())
    }
}
