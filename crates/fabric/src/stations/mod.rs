//! Stations: ends of channels that have a buffer and return credits, and are not routers.
//!
//! The buffer of a station is always drained at a fixed pace, whatever happens in the network: it waits for nothing
//! that the network must deliver. So a station is a sink of the channel dependency graph, and the proof of freedom from
//! deadlock holds with stations.

pub mod combine;
mod receive_buffer;

pub use receive_buffer::ReceiveBuffer;

use crate::plan::Plan;
use receive_buffer::Drain;

/// Stations of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Stations {
    spec: Option<ReceiveBuffer>,
    drains: Vec<Drain>,
}
units::state!(Stations { drains; rebuilt spec });

impl Stations {
    /// Creates the stations that a plan requires, none of them added yet.
    pub fn new(plan: &Plan) -> Self {
        Self { spec: plan.receive_buffer, drains: Vec::new() }
    }

    /// Adds the station of a node, if nodes have one. Returns its number.
    pub fn add(&mut self) -> Option<u32> {
        self.spec?;
        self.drains.push(Drain::default());
        Some((self.drains.len() - 1) as u32)
    }

    /// Returns whether there are no stations.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.drains.is_empty()
    }

    /// Takes a packet whose tail arrives at tick `tail`. Returns the tick at which its space is freed.
    #[inline(never)]
    pub fn take(&mut self, station: u32, bytes: u32, tail: u64) -> u64 {
        match (&self.spec, self.drains.get_mut(station as usize)) {
            (Some(spec), Some(drain)) => drain.take(spec, bytes, tail),
            _ => tail,
        }
    }
}
