//! Choice of the component that carries out all collective operations of calls: processors, interfaces or switches.

use super::{CallError, Calls};
use crate::collectives::{Collective, CollectiveBackend, Selection};
use crate::program::{Programs, ScriptCall};

impl Calls {
    /// Assigns all collective operations to `backend`. Keeps the calls unchanged if it is `None`.
    ///
    /// # Errors
    /// An algorithm that the backend does not have.
    pub fn carried_by(mut self, backend: Option<CollectiveBackend>) -> Result<Self, CallError> {
        if backend.is_none() {
            return Ok(self);
        }
        for rank in 0..self.ranks() {
            for place in self.first[rank as usize]..self.first[rank as usize + 1] {
                let (ScriptCall::Collective(call) | ScriptCall::StartCollective(call)) = self.steps[place] else {
                    continue;
                };
                let members = self.communicator(call.communicator, rank).map_or(0, |own| own.len());
                let carried = call.carried_by(backend, &Selection::built_in(), members)?;
                let (ScriptCall::Collective(own) | ScriptCall::StartCollective(own)) = &mut self.steps[place] else {
                    continue;
                };
                *own = Collective { radix: call.radix, ..carried };
            }
        }
        self.operations = self.count();
        Ok(self)
    }
}
