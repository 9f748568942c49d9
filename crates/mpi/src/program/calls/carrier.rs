//! Choice of the component that carries out all collective operations of calls: processors, interfaces or switches.

use super::{CallError, Calls};
use crate::collectives::{Carrier, Collective, Selection};
use crate::program::{Programs, Step};

impl Calls {
    /// Assigns all collective operations to `carrier`. Keeps the calls unchanged if it is `None`.
    ///
    /// # Errors
    /// An algorithm that the carrier does not have.
    pub fn carried_by(mut self, carrier: Option<Carrier>) -> Result<Self, CallError> {
        if carrier.is_none() {
            return Ok(self);
        }
        for rank in 0..self.ranks() {
            for place in self.first[rank as usize]..self.first[rank as usize + 1] {
                let (Step::Collective(call) | Step::StartCollective(call)) = self.steps[place] else { continue };
                let members = self.communicator(call.communicator, rank).map_or(0, |own| own.len());
                let carried = call.carried_by(carrier, &Selection::built_in(), members)?;
                let (Step::Collective(own) | Step::StartCollective(own)) = &mut self.steps[place] else { continue };
                *own = Collective { radix: call.radix, ..carried };
            }
        }
        self.operations = self.count();
        Ok(self)
    }
}
