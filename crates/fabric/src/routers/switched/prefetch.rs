//! Prefetching for routers with FIFOs and a crossbar.

use std::hint::black_box;

use engine::{Bits, read_through};

use super::Switched;
use crate::fabric::{Arrival, Fabric};
use crate::index::InputId;
use crate::prefetch::Prefetch;
use crate::profile::General;

impl Prefetch for Switched {
    fn before_window(&self) {
        read_through(&self.input_sides, |side| side.filled);
        self.requests.before_window();
        read_through(&self.fifos, |fifo| u64::from(fifo.held));
        // While most packets bypass the queues, a window needs hardly any of the output buffers.
        if !self.trial.is_on() {
            read_through(&self.buffers, |buffer| u64::from(buffer.queued));
        }
    }

    #[inline(always)]
    fn before_side(&self, fabric: &Fabric, port: usize) {
        black_box(self.input_sides[port].filled);
        black_box(self.fifos[port << self.vc_shift].held);
        black_box(fabric.outputs[port].free_at);
    }

    #[inline(always)]
    fn before_input(&self, _fabric: &Fabric, arrival: &Arrival) {
        black_box(self.fifos[arrival.input(self.vc_shift).index()].held);
    }

    #[inline(always)]
    fn before_output(&self, fabric: &Fabric, arrival: &Arrival) {
        fabric.before_sending(arrival.output());
    }

    #[inline(always)]
    fn before_serve(&mut self, fabric: &Fabric, first: usize, routers: u64) {
        for router in Bits(routers) {
            self.find_heads(fabric, first + router);
        }
        for input in self.heads.drain(..) {
            black_box(fabric.pool.get(self.fifos[input.index()].queue.head()).map(|packet| packet.generated_at));
        }
    }
}

impl Switched {
    /// Reads the state needed to serve a router's active outputs, and notes inputs whose heads they may serve.
    #[inline(always)]
    fn find_heads(&mut self, fabric: &Fabric, router: usize) {
        let base = fabric.routers[router].base as usize;
        for word in 0..fabric.params.words {
            for bit in Bits(fabric.active::<General>(router, word)) {
                let output = base + word * 64 + bit;
                fabric.before_sending(output);
                // The head of any requesting input. If there is none, an irrelevant input is read instead, to avoid a
                // branch.
                let candidate = self.requests.guess(output);
                let input = InputId::new(base, candidate, self.vc_shift).min(InputId(self.fifos.len() as u32 - 1));
                black_box(self.fifos[input.index()].held);
                black_box(self.input_sides[input.port(self.vc_shift)].filled);
                self.heads.push(input);
            }
        }
    }
}
