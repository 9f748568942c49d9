//! Stations: what ends a channel, has a buffer and returns credits, and is no router.
//!
//! The buffer of a station is always drained at its own pace, whatever happens in the network: it waits for nothing that the
//! network must deliver. So a station is a sink of the channel dependency graph, and the proof of freedom from deadlock holds
//! with it.

pub mod combine;
mod receive_buffer;

pub use receive_buffer::ReceiveBuffer;

use crate::plan::Plan;
use receive_buffer::Drain;

/// The stations of one partition.
#[derive(Debug)]
pub(crate) struct Stations {
    spec: Option<ReceiveBuffer>,
    drains: Vec<Drain>,
}

impl Stations {
    /// No stations yet, of the kind that a plan asks for.
    pub fn new(plan: &Plan) -> Self {
        Self { spec: plan.receive_buffer, drains: Vec::new() }
    }

    /// Adds the station of a node, if nodes have one; returns its number.
    pub fn add(&mut self) -> Option<u32> {
        self.spec?;
        self.drains.push(Drain::default());
        Some((self.drains.len() - 1) as u32)
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.drains.is_empty()
    }

    /// A packet comes whose tail is there at a time, in ticks. Returns when its space falls free.
    #[inline(never)]
    pub fn take(&mut self, station: u32, bytes: u32, tail: u64) -> u64 {
        match (&self.spec, self.drains.get_mut(station as usize)) {
            (Some(spec), Some(drain)) => drain.take(spec, bytes, tail),
            _ => tail,
        }
    }
}
