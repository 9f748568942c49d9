//! Input queues, one for each output.

use crate::fabric::Fabric;
use crate::footprint::{NetworkSize, bytes_of};
use crate::index::{InputId, PacketSlot};
use crate::packet::Queue;

/// Queues of all inputs of a partition.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    /// Largest number of ports of a router.
    outputs: usize,
    vc_shift: u32,
    /// Queues, by input (port, virtual channel), then by output.
    queues: Vec<Queue>,
    /// By input, the mask of outputs for which it has packets.
    filled: Vec<u64>,
    /// Words of a mask in `filled`.
    pub words: usize,
    /// By router, the mask of ports that have packets.
    ports: Vec<u64>,
    /// Words of a mask in `ports`.
    pub port_words: usize,
    /// Number of packets of each port.
    packets: Vec<u32>,
    /// By port and output, the virtual channel of the port that was served last for the output.
    last: Vec<u8>,
    /// Bytes that each input holds, as the upstream output accounts for them.
    pub held: Vec<u32>,
}
units::state!(Queues { queues, filled, ports, packets, last, held; rebuilt outputs, vc_shift, words, port_words });

impl Queues {
    /// Creates empty queues.
    pub fn new(fabric: &Fabric) -> Self {
        let outputs = usize::from(fabric.plan.max_ports);
        let inputs = fabric.ports() << fabric.plan.vc_shift;
        let words = outputs.div_ceil(64);
        Self {
            outputs,
            vc_shift: fabric.plan.vc_shift,
            queues: vec![Queue::default(); inputs * outputs],
            filled: vec![0; inputs * words],
            words,
            ports: vec![0; fabric.routers.len() * fabric.params.words],
            port_words: fabric.params.words,
            packets: vec![0; fabric.ports()],
            // The first virtual channel comes behind it.
            last: vec![u8::MAX; fabric.ports() * outputs],
            held: vec![0; inputs],
        }
    }

    /// Adds a packet that will leave by an output.
    #[inline]
    pub fn push(&mut self, fabric: &mut Fabric, input: InputId, out: usize, packet: PacketSlot) {
        self.queues[input.index() * self.outputs + out].push(&mut fabric.pool, packet);
        self.filled[input.index() * self.words + (out >> 6)] |= 1 << (out & 63);
        self.count_in(fabric, input.port(self.vc_shift));
    }

    /// Counts a packet that waits at a port.
    #[inline]
    pub fn count_in(&mut self, fabric: &Fabric, port: usize) {
        self.packets[port] += 1;
        let (router, local) = (fabric.inputs[port].router as usize, port - fabric.base_of(port));
        self.ports[router * self.port_words + (local >> 6)] |= 1 << (local & 63);
    }

    /// Removes a packet that waits at a port from the count.
    #[inline]
    pub fn count_out(&mut self, fabric: &Fabric, port: usize) {
        self.packets[port] -= 1;
        if self.packets[port] == 0 {
            let (router, local) = (fabric.inputs[port].router as usize, port - fabric.base_of(port));
            self.ports[router * self.port_words + (local >> 6)] &= !(1 << (local & 63));
        }
    }

    /// Removes and returns the first packet of an input for an output, and moves the round-robin pointer to the input's
    /// virtual channel.
    #[inline]
    pub fn pop(&mut self, fabric: &Fabric, input: InputId, out: usize) -> PacketSlot {
        let queue = &mut self.queues[input.index() * self.outputs + out];
        let packet = queue.pop(&fabric.pool);
        if queue.is_empty() {
            self.filled[input.index() * self.words + (out >> 6)] &= !(1 << (out & 63));
        }
        let port = input.port(self.vc_shift);
        self.last[port * self.outputs + out] = input.vc(self.vc_shift) as u8;
        self.count_out(fabric, port);
        packet
    }

    /// Iterates over the `vcs` virtual channels of a port in round-robin order for an output.
    #[inline]
    pub fn turns(&self, port: usize, out: usize, vcs: u8) -> impl Iterator<Item = u8> + use<> {
        let first = match self.last[port * self.outputs + out].wrapping_add(1) {
            next if next < vcs => next,
            _ => 0,
        };
        (first..vcs).chain(0..first)
    }

    /// Returns the first packet of an input for an output.
    #[inline]
    pub fn head(&self, input: InputId, out: usize) -> PacketSlot {
        self.queues[input.index() * self.outputs + out].head()
    }

    /// Returns whether a port has packets.
    #[inline]
    pub fn has_packets(&self, port: usize) -> bool {
        self.packets[port] > 0
    }

    /// Returns whether any input of a router has packets.
    #[inline]
    pub fn any(&self, router: usize) -> bool {
        self.ports[router * self.port_words..(router + 1) * self.port_words].iter().any(|&word| word != 0)
    }

    /// Returns a word of the mask of a router's ports that have packets.
    #[inline]
    pub fn ports(&self, router: usize, word: usize) -> u64 {
        self.ports[router * self.port_words + word]
    }

    /// Returns a word of the mask of outputs for which an input has packets.
    #[inline]
    pub fn filled(&self, input: InputId, word: usize) -> u64 {
        self.filled[input.index() * self.words + word]
    }

    /// Iterates over the packets at the fronts of an input's queues.
    pub fn heads(&self, input: InputId) -> impl Iterator<Item = PacketSlot> + '_ {
        self.queues[input.row(self.outputs)].iter().map(Queue::head)
    }
}

impl Queues {
    /// Returns the bytes of the queues of a network, without packets.
    pub fn bytes(size: &NetworkSize) -> u64 {
        let words = size.port_words();
        bytes_of::<Queue>(size.inputs() * size.max_ports)
            + bytes_of::<u64>(size.inputs() * words + size.routers * words)
            + bytes_of::<u8>(size.ports * size.max_ports)
            + bytes_of::<u32>(size.ports + size.inputs())
    }
}
