//! How much a rank calls: collective operations by their shape, since each of a shape has the same messages.

use std::collections::BTreeMap;

use crate::collectives::{Algorithm, Collective, Operation};
use crate::communicator::Communicator;
use crate::program::{Messages, Step};

/// What distinguishes collective operations of a trace.
type Shape = (Operation, Algorithm, u64, u32, u32, u64);

/// How much a rank calls.
#[derive(Debug, Default)]
pub struct Totals {
    /// Sends, receives, calculations, probes and polls that it calls itself.
    pub operations: u64,
    shapes: BTreeMap<Shape, (Collective, u64)>,
}

impl Totals {
    /// Adds a call.
    #[inline]
    pub fn add(&mut self, step: &Step) {
        match step {
            Step::Do(_) => self.operations += 1,
            Step::Collective(call) | Step::StartCollective(call) => {
                let Collective { operation, algorithm, segment, communicator, root, bytes, .. } = *call;
                let shape = (operation, algorithm, segment, communicator, root, bytes);
                self.shapes.entry(shape).or_insert((*call, 0)).1 += 1;
            }
            _ => {}
        }
    }

    /// The collective operations by their shapes, and how many there are of each.
    pub fn calls(&self) -> impl Iterator<Item = (Collective, u64)> {
        self.shapes.values().copied()
    }

    /// Visits the messages that the rank sends in collective operations of communicators, which it knows by their numbers.
    pub fn collectives(&self, known: impl Fn(u32) -> Option<Communicator>, from: u32, visit: &mut dyn FnMut(Messages)) {
        for &(call, count) in self.shapes.values() {
            let Some(own) = known(call.communicator) else { continue };
            call.within(&own).each_message(&own, &mut |to, bytes| visit(Messages { from, to, bytes, count }));
        }
    }
}
