//! The queues at the inputs.

use crate::fabric::Fabric;
use crate::packet::{NONE, Queue};
use crate::routers::Waiting;
use crate::routers::arbiter::Bits;

/// The queues of all inputs of a partition.
#[derive(Debug)]
pub(super) struct Inputs {
    /// Queues of one (input, virtual channel): 1, or the most ports that a router has.
    fan: usize,
    vc_shift: u32,
    /// By input (port, virtual channel), then, if there is one for each, by output.
    queues: Vec<Queue>,
    /// Which queues of an input are not empty: for FIFOs by port a mask of virtual channels, else by input a mask of
    /// outputs.
    filled: Vec<u64>,
    /// Words of such a mask.
    pub words: usize,
    /// By router, which ports have packets.
    ports: Vec<u64>,
    /// Words of that mask.
    pub port_words: usize,
    /// Packets of each port.
    packets: Vec<u32>,
    /// Bytes that each input holds, as its sender must take them to be.
    pub held: Vec<u32>,
}

impl Inputs {
    /// One FIFO for each (input, virtual channel).
    pub fn fifos(fabric: &Fabric) -> Self {
        Self::new(fabric, 1, 1, fabric.ports())
    }

    /// One queue for each (input, virtual channel, output).
    pub fn per_output(fabric: &Fabric) -> Self {
        let outputs = usize::from(fabric.plan.max_ports);
        Self::new(fabric, outputs, outputs.div_ceil(64), fabric.ports() << fabric.plan.vc_shift)
    }

    fn new(fabric: &Fabric, fan: usize, words: usize, masks: usize) -> Self {
        let inputs = fabric.ports() << fabric.plan.vc_shift;
        Self {
            fan,
            vc_shift: fabric.plan.vc_shift,
            queues: vec![Queue::default(); inputs * fan],
            filled: vec![0; masks * words],
            words,
            ports: vec![0; fabric.routers.len() * fabric.words],
            port_words: fabric.words,
            packets: vec![0; fabric.ports()],
            held: vec![0; inputs],
        }
    }

    /// Whether there is a queue for each output.
    fn per_out(&self) -> bool {
        self.fan > 1
    }

    #[inline]
    fn queue(&self, input: usize, out: usize) -> usize {
        if self.per_out() { input * self.fan + out } else { input }
    }

    /// The word and the bit that say whether a queue is filled.
    #[inline]
    fn flag(&self, input: usize, out: usize) -> (usize, u64) {
        if self.per_out() {
            (input * self.words + (out >> 6), 1 << (out & 63))
        } else {
            (input >> self.vc_shift, 1 << (input & ((1 << self.vc_shift) - 1)))
        }
    }

    /// Adds a packet that will leave by an output.
    #[inline]
    pub fn push(&mut self, fabric: &mut Fabric, router: usize, input: usize, out: usize, packet: u32) {
        let queue = self.queue(input, out);
        self.queues[queue].push(&mut fabric.pool, packet);
        let (word, bit) = self.flag(input, out);
        self.filled[word] |= bit;
        let port = input >> self.vc_shift;
        self.packets[port] += 1;
        let local = port - fabric.routers[router].base as usize;
        self.ports[router * self.port_words + (local >> 6)] |= 1 << (local & 63);
    }

    /// Takes out the first packet of an input for an output.
    #[inline]
    pub fn pop(&mut self, fabric: &Fabric, base: usize, input: usize, out: usize) -> u32 {
        let queue = self.queue(input, out);
        let packet = self.queues[queue].pop(&fabric.pool);
        if self.queues[queue].is_empty() {
            let (word, bit) = self.flag(input, out);
            self.filled[word] &= !bit;
        }
        let port = input >> self.vc_shift;
        self.packets[port] -= 1;
        if self.packets[port] == 0 {
            let local = port - base;
            let router = fabric.router_of(port);
            self.ports[router * self.port_words + (local >> 6)] &= !(1 << (local & 63));
        }
        packet
    }

    /// The first packet of an input for an output.
    #[inline]
    pub fn head(&self, input: usize, out: usize) -> u32 {
        self.queues[self.queue(input, out)].head()
    }

    /// Whether a port has packets.
    #[inline]
    pub fn has_packets(&self, port: usize) -> bool {
        self.packets[port] > 0
    }

    /// Whether any input of a router has packets.
    #[inline]
    pub fn any(&self, router: usize) -> bool {
        self.ports[router * self.port_words..(router + 1) * self.port_words].iter().any(|&word| word != 0)
    }

    /// A word of the mask of a router's ports that have packets.
    #[inline]
    pub fn ports(&self, router: usize, word: usize) -> u64 {
        self.ports[router * self.port_words + word]
    }

    /// FIFOs: the virtual channels of a port that have packets.
    #[inline]
    pub fn filled_vcs(&self, port: usize) -> u64 {
        self.filled[port]
    }

    /// Queues for each output: a word of the mask of outputs for which an input has packets.
    #[inline]
    pub fn filled_outputs(&self, input: usize, word: usize) -> u64 {
        self.filled[input * self.words + word]
    }

    /// The packets at the fronts of all queues.
    pub fn heads(&self, fabric: &Fabric) -> Vec<Waiting> {
        let mut all = Vec::new();
        for router in &fabric.routers {
            let first = (router.base as usize) << self.vc_shift;
            for input in first..first + (usize::from(router.ports) << self.vc_shift) {
                for queue in &self.queues[input * self.fan..(input + 1) * self.fan] {
                    let packet = queue.head();
                    if packet != NONE {
                        let sender = router.base + u32::from(fabric.pool[packet].out);
                        all.push(Waiting { packet, input: input as u32, sender });
                    }
                }
            }
        }
        all
    }
}

/// The inputs (ports of a router) of a mask, word by word.
#[inline]
pub(super) fn each_port(inputs: &Inputs, router: usize, mut visit: impl FnMut(usize)) {
    for word in 0..inputs.port_words {
        for bit in Bits(inputs.ports(router, word)) {
            visit(word * 64 + bit);
        }
    }
}
