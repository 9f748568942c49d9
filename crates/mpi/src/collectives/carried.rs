//! Choice of algorithm and backend for a call.

use super::backend::CollectiveBackend;
use super::call::{Collective, CollectiveError};
use super::selection::Selection;
use super::table::{Algorithm, is_in_switches};

impl Collective {
    /// Returns the call with a backend and, if its algorithm is `Auto`, with the algorithm that `selection` chooses for
    /// `members` members. Without `backend` the algorithm determines the backend.
    ///
    /// # Errors
    /// [`CollectiveError::Carrier`] if the algorithm does not belong to the backend; [`CollectiveError::CombinedOnNic`]
    /// or [`CollectiveError::WorkOnNic`] if ranks would calculate or copy in an operation of network interfaces.
    pub fn carried_by(
        &self,
        backend: Option<CollectiveBackend>,
        selection: &Selection,
        members: u32,
    ) -> Result<Self, CollectiveError> {
        let Some(backend) = backend else { return Ok(self.chosen_by(selection, members)) };
        let served = is_in_switches(self.operation);
        let by_switches = backend == CollectiveBackend::Hardware && served;
        let call = match self.algorithm {
            Algorithm::Auto if by_switches => Self { algorithm: Algorithm::InSwitch, segment: 0, ..*self },
            _ => self.chosen_by(selection, members),
        };
        if call.algorithm.is_of_switches() != by_switches {
            return Err(CollectiveError::Carrier { backend, algorithm: call.algorithm, operation: call.operation });
        }
        let on_nic = backend == CollectiveBackend::Nic;
        if on_nic && call.time_per_byte > 0 {
            return Err(CollectiveError::CombinedOnNic);
        }
        let own = [
            ("copy_time", call.copy_time),
            ("buffer_time", call.buffer_time),
            ("start_time", call.launch_time),
            ("step_time", call.step_time),
        ];
        match own.into_iter().find(|&(_, time)| on_nic && time > 0) {
            Some((key, _)) => Err(CollectiveError::WorkOnNic { key }),
            None => Ok(Self { on_nic, ..call }),
        }
    }
}
