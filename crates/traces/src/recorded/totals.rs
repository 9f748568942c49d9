//! Totals of the calls of a rank. Collective operations are counted by shape: all operations of a shape have identical
//! messages.

use std::collections::BTreeMap;

use mpi::collectives::{Algorithm, Collective, Operation};
use mpi::communicator::Communicator;
use mpi::program::{Messages, ScriptCall};

/// Shape of a collective operation: operation, algorithm, segment, communicator, root and bytes.
type Shape = (Operation, Algorithm, u64, u32, u32, u64);

/// Totals of the calls of a rank.
#[derive(Debug, Default)]
pub struct Totals {
    /// Number of sends and receives outside collective operations.
    pub operations: u64,
    shapes: BTreeMap<Shape, (Collective, u64)>,
}

impl Totals {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, step: &ScriptCall) {
        match step {
            ScriptCall::Do(action) => self.operations += u64::from(action.communicates()),
            ScriptCall::Collective(call) | ScriptCall::StartCollective(call) => {
                let Collective { operation, algorithm, segment, communicator, root, bytes, .. } = *call;
                let shape = (operation, algorithm, segment, communicator, root, bytes);
                self.shapes.entry(shape).or_insert((*call, 0)).1 += 1;
            }
            _ => {}
        }
    }

    /// Iterates over the distinct collective operations, each with its number of calls.
    pub fn calls(&self) -> impl Iterator<Item = (Collective, u64)> {
        self.shapes.values().copied()
    }

    /// Visits the messages that the rank sends in collective operations. `known` returns a communicator by number, as
    /// seen by the rank.
    pub fn collectives(&self, known: impl Fn(u32) -> Option<Communicator>, from: u32, visit: &mut dyn FnMut(Messages)) {
        for &(call, count) in self.shapes.values() {
            let Some(own) = known(call.communicator) else { continue };
            call.within(&own).each_message(&own, &mut |to, bytes, times| {
                visit(Messages { from, to, bytes, count: count * times });
            });
        }
    }
}
