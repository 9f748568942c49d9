//! A window of outstanding bytes for each flow: sliding-window flow control between a source and a destination.
//!
//! Bytes are outstanding from the departure of their packet until its acknowledgement arrives. A packet leaves if it
//! fits into the window together with the outstanding bytes. A flow alone therefore carries min(link, k S / R), where k
//! packets of S bytes fit into the window and R is the round trip: from the departure of a packet's head to the arrival
//! of its acknowledgement (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.2).

use super::Pacer;

/// Windows of some flows.
#[derive(Debug)]
pub(super) struct Window {
    /// Number of bytes of a flow that may be outstanding.
    size: u64,
    /// Number of outstanding bytes, by flow.
    outstanding: Vec<u64>,
}
units::state!(Window { outstanding; rebuilt size });

impl Window {
    /// Creates the pacer without flows. `size` is the size of a window in bytes.
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
