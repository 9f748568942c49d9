//! Crosspoint buffers, and the heads of an output's crosspoints as candidates of its arbiter.

use super::arbiter::Candidates;
use crate::fabric::Fabric;
use crate::index::{InputId, PacketSlot};
use crate::packet::Ring;

/// Buffer of an input, a virtual channel and an output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crosspoint {
    pub(super) queue: Ring,
    /// Bytes in the crosspoint, as its router accounts for them. In input-crosspoint-queued routers whose crosspoints
    /// are less deep than others', the bytes that they lack count too.
    pub(super) held: u32,
}
units::record!(Crosspoint { queue, held });

// Crosspoints are most of the memory of a large network.
const _: () = assert!(size_of::<Crosspoint>() == 8);

/// Crosspoints of an output.
pub(super) struct Column<'a> {
    /// All crosspoints, by input (port, virtual channel), then output.
    pub(super) crosspoints: &'a [Crosspoint],
    /// Crosspoints of a row.
    pub(super) row: usize,
    /// First input of the router.
    pub(super) first: InputId,
    pub(super) output: usize,
    /// Number of the output in its router.
    pub(super) out: usize,
}

impl Column<'_> {
    #[inline(always)]
    fn head(&self, fabric: &Fabric, candidate: usize) -> PacketSlot {
        self.crosspoints[self.first.plus(candidate).index() * self.row + self.out].queue.first(&fabric.pool)
    }
}

impl Candidates for Column<'_> {
    #[inline(always)]
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8> {
        let packet = self.head(fabric, candidate);
        let waiting = &fabric.pool[packet];
        fabric.ready_vc(self.output, packet, (waiting.class(), waiting.bytes))
    }

    #[inline(always)]
    fn generated_at(&self, fabric: &Fabric, candidate: usize) -> u64 {
        fabric.pool[self.head(fabric, candidate)].generated_at
    }

    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool {
        fabric.pool[self.head(fabric, candidate)].is_of_group()
    }
}
