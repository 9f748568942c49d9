//! The network interface of a node: parts that serve one packet after the other.
//!
//! A message that a rank's processor has handed over passes the parts of the sending side and is released to the network, packet
//! by packet; a packet that has arrived passes the parts of the receiving side before the library can see it:
//!
//! | part | serves | takes |
//! |---|---|---|
//! | gap, sending ([`gap`]) | packets that leave | a time a byte; after the last packet of a message a time a message |
//! | gap, receiving ([`gap`]) | packets that arrive | the same |
//!
//! A part takes the bytes of a packet as they come (cut-through): it begins with the first byte, and has ended neither before its
//! own time has passed nor before the last byte has come ([`Passage`]). So a part that is as fast as what is before it adds
//! nothing, and of several parts the slowest counts. A packet is released to the network so that its tail leaves the link no sooner
//! than it has passed the parts; of a packet that arrives the head has come the packet's time on the link before the tail.
//!
//! What is left out: the interface has room for all that waits in it, on both sides; the network is pushed back by
//! `node.receive_buffer` alone.

mod gap;
mod server;

pub(crate) use gap::Gap;
pub use gap::GapParams;
pub use server::PerByte;
pub(crate) use server::{Fragment, Passage};

/// The parts of every network interface; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartParams {
    /// Gap per message and per byte of what leaves.
    pub send_gap: GapParams,
    /// The same of what arrives.
    pub receive_gap: GapParams,
}

impl PartParams {
    /// No parts.
    pub const NONE: Self = Self { send_gap: GapParams::NONE, receive_gap: GapParams::NONE };
}

/// The parts of one interface.
#[derive(Clone, Copy, Debug, Default)]
struct Interface {
    send_gap: Gap,
    receive_gap: Gap,
}

/// The interfaces of an executor's nodes, by their numbers here; none where there are no parts.
#[derive(Debug)]
pub(crate) struct Interfaces {
    parts: PartParams,
    all: Vec<Interface>,
    /// Whether what leaves has parts to pass, and what arrives.
    pub sending: bool,
    pub receiving: bool,
}

impl Interfaces {
    /// Interfaces that nothing has passed.
    pub fn new(parts: PartParams, nodes: usize) -> Self {
        let (sending, receiving) = (!parts.send_gap.is_free(), !parts.receive_gap.is_free());
        let nodes = if sending || receiving { nodes } else { 0 };
        Self { parts, all: vec![Interface::default(); nodes], sending, receiving }
    }

    /// A packet leaves: when its head and its tail have passed the parts, in picoseconds.
    pub fn send(&mut self, node: usize, packet: &Fragment, at: Passage) -> Passage {
        self.all[node].send_gap.pass(&self.parts.send_gap, packet, at)
    }

    /// A packet arrives: when it has passed the parts.
    pub fn receive(&mut self, node: usize, packet: &Fragment, at: Passage) -> Passage {
        self.all[node].receive_gap.pass(&self.parts.receive_gap, packet, at)
    }
}
