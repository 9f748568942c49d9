//! Heads of FIFOs as candidates for an output: packets, or runs of copies.

use super::Switched;
use crate::fabric::Fabric;
use crate::index::{InputId, PacketSlot};
use crate::profile::General;
use crate::routers::arbiter::Candidates;

/// Heads that request an output of a router, each of which may request others too.
pub(super) struct Runs<'a> {
    pub routers: &'a Switched,
    pub output: usize,
    /// First input of the router.
    pub first: InputId,
    pub now: u64,
}

impl Candidates for Runs<'_> {
    fn ready(&self, fabric: &mut Fabric, candidate: usize) -> Option<u8> {
        self.routers.ready_copy(fabric, self.output, self.first.plus(candidate), self.now).map(|(_, vc)| vc)
    }

    fn generated_at(&self, _fabric: &Fabric, candidate: usize) -> u64 {
        self.routers.ages[self.first.plus(candidate).index()]
    }

    fn is_of_group(&self, fabric: &Fabric, candidate: usize) -> bool {
        self.routers.leads_group(fabric, self.first.plus(candidate))
    }
}

impl Switched {
    /// Returns the copy at the head of an input that could go to an output now, and its virtual channel. If there are
    /// copies on several classes, it is the first.
    pub(super) fn ready_copy(
        &self,
        fabric: &mut Fabric,
        output: usize,
        input: InputId,
        now: u64,
    ) -> Option<(PacketSlot, u8)> {
        let port = fabric.outputs[output].port;
        let mut packet = self.fifos[input.index()].queue.head();
        for _ in 0..fabric.run(packet).count() {
            let copy = fabric.pool[packet];
            if copy.out == port
                && let Some(vc) = self.ready_for::<General>(fabric, output, (packet, copy.class(), copy.bytes), now)
            {
                return Some((packet, vc));
            }
            packet = copy.next;
        }
        None
    }
}
