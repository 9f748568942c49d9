//! A window of outstanding bytes for each flow: sliding-window flow control between a source and a destination.
//!
//! Bytes are outstanding from when their packet leaves the source until its acknowledgement has come back. A packet leaves if it
//! and what is outstanding fit into the window, so that a flow alone carries
//! min(link, k S / R), where k packets of S bytes fit into the window and R is the round trip: from the head of a packet
//! leaving the source to its acknowledgement being there (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.2).

use super::Pacer;

/// The windows of some flows.
#[derive(Debug)]
pub(super) struct Window {
    /// Bytes of a flow that may be outstanding.
    size: u64,
    /// By flow, the bytes that are.
    outstanding: Vec<u64>,
}

impl Window {
    /// No flows yet, with windows of a size in bytes.
    pub fn new(size: u64) -> Self {
        Self { size, outstanding: Vec::new() }
    }
}

impl Pacer for Window {
    fn add_flow(&mut self) -> u32 {
        self.outstanding.push(0);
        (self.outstanding.len() - 1) as u32
    }

    fn may_send(&self, flow: Option<u32>, bytes: u32) -> bool {
        let outstanding = flow.map_or(0, |flow| self.outstanding[flow as usize]);
        self.size - outstanding >= u64::from(bytes)
    }

    fn sent(&mut self, flow: u32, bytes: u32) {
        let outstanding = &mut self.outstanding[flow as usize];
        *outstanding += u64::from(bytes);
        debug_assert!(*outstanding <= self.size, "more is outstanding than the window holds");
    }

    fn taken_back(&mut self, flow: u32, bytes: u32) {
        self.outstanding[flow as usize] -= u64::from(bytes);
    }

    fn acknowledged(&mut self, flow: u32, bytes: u32) {
        self.outstanding[flow as usize] -= u64::from(bytes);
    }
}
