//! A call by who carries it out.

use super::call::{Collective, CollectiveError};
use super::carrier::Carrier;
use super::selection::Selection;
use super::table::{Algorithm, is_in_switches};

impl Collective {
    /// The same by a carrier, if one is chosen, with an algorithm that a table chooses, if none has been, for so many members.
    ///
    /// # Errors
    /// An algorithm that is not the carrier's.
    pub fn carried_by(
        &self,
        carrier: Option<Carrier>,
        selection: &Selection,
        members: u32,
    ) -> Result<Self, CollectiveError> {
        let Some(carrier) = carrier else { return Ok(self.chosen_by(selection, members)) };
        let served = is_in_switches(self.operation);
        let by_switches = carrier == Carrier::Hardware && served;
        let call = match self.algorithm {
            Algorithm::Auto if by_switches => Self { algorithm: Algorithm::InSwitch, segment: 0, ..*self },
            _ => self.chosen_by(selection, members),
        };
        if (call.algorithm == Algorithm::InSwitch) != by_switches {
            return Err(CollectiveError::Carrier { carrier, algorithm: call.algorithm, operation: call.operation });
        }
        let on_nic = carrier == Carrier::Nic;
        if on_nic && call.time_per_byte > 0 {
            return Err(CollectiveError::CombinedOnNic);
        }
        Ok(Self { on_nic, ..call })
    }
}
