//! Dispatch from a router specification to the routers of its architecture, and to their memory.

use crate::catalogue::RouterSpec;
use crate::fabric::Fabric;
use crate::footprint::NetworkSize;
use crate::partition_map::PartitionMap;
use crate::routers::Routers;
use crate::routers::input_crosspoint::InputCrosspointQueued;
use crate::routers::output_queued::OutputQueued;
use crate::routers::shared_buffer::SharedBuffer;
use crate::routers::switched::Switched;
use crate::routers::voq::VirtualOutputQueued;

/// Generic code to run with routers of an architecture that is known only at run time.
pub trait WithRouters {
    /// Result of the code.
    type Output;
    /// Runs the code. `routers` makes the empty routers of a partition.
    fn with<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R + Send + 'static) -> Self::Output;
}

impl RouterSpec {
    /// Runs generic code with the routers that this describes.
    pub fn with_routers<W: WithRouters>(&self, user: W) -> W::Output {
        match self.clone() {
            Self::OutputQueued(spec) => user.with(move |fabric| OutputQueued::new(fabric, &spec)),
            Self::InputQueued(spec) => user.with(move |fabric| Switched::input_queued(fabric, &spec)),
            Self::VirtualOutputQueued(spec) => user.with(move |fabric| VirtualOutputQueued::new(fabric, &spec)),
            Self::InputOutputQueued(spec) => user.with(move |fabric| Switched::input_output_queued(fabric, &spec)),
            Self::InputCrosspointQueued(spec) => user.with(move |fabric| InputCrosspointQueued::new(fabric, &spec)),
            Self::SharedBuffer(spec) => user.with(move |fabric| SharedBuffer::new(fabric, &spec)),
        }
    }
}

impl NetworkSize {
    /// Returns the bytes of the state of all partitions of one worker, without packets and events.
    pub fn state_bytes(&self, router: &RouterSpec) -> u64 {
        let queues = match router {
            RouterSpec::OutputQueued(_) => OutputQueued::bytes(self),
            RouterSpec::InputQueued(spec) => Switched::input_queued_bytes(self, spec),
            RouterSpec::VirtualOutputQueued(spec) => VirtualOutputQueued::bytes(self, spec),
            RouterSpec::InputOutputQueued(spec) => Switched::input_output_queued_bytes(self, spec),
            RouterSpec::InputCrosspointQueued(spec) => InputCrosspointQueued::bytes(self, spec),
            RouterSpec::SharedBuffer(_) => SharedBuffer::bytes(self),
        };
        Fabric::bytes(self, router) + PartitionMap::bytes(self) + queues
    }
}
