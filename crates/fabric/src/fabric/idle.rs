//! Channels of a partition between two instants: what they are, and whether packets have left anything behind.

use topology::ChannelSource;
use units::PortId;

use super::Fabric;

/// Constants of a channel. Times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelFacts {
    /// Near end of the channel.
    pub source: ChannelSource,
    /// Set of equal channels: of one class, between equal routers. Equal channels have equal delays, rates, buffers and
    /// router delays.
    pub set: u8,
    /// Delay of the channel, which a credit takes too.
    pub delay: u64,
    /// Delay of the channel and of the pipeline of the router behind it.
    pub delay_with_router: u64,
    /// Serialization time of the largest packet.
    pub full: u64,
    /// Bits of the virtual channel in a candidate number.
    vc_shift: u32,
}

impl ChannelFacts {
    /// Returns the candidate number, at the outputs of a router, of packets that come by a port on a virtual channel.
    pub fn candidate(&self, port: PortId, vc: u8) -> u16 {
        port.0 << self.vc_shift | u16::from(vc)
    }
}

impl Fabric {
    /// Iterates over all channels: those of the outputs of routers, and then the injection channels of sources. The
    /// position is the number of the channel's output in this partition.
    pub fn channel_facts(&self) -> impl Iterator<Item = ChannelFacts> + '_ {
        self.outputs.iter().enumerate().map(|(output, port)| {
            let class = &self.classes[usize::from(port.class.0)];
            ChannelFacts {
                source: self.source(output),
                set: port.class.0,
                delay: class.delay,
                delay_with_router: class.delay_with_router,
                full: class.full,
                vc_shift: self.params.vc_shift,
            }
        })
    }

    /// Returns the number of the first injection channel. The channels of sources follow in their order.
    pub fn first_injection(&self) -> usize {
        self.ports()
    }

    /// Returns the bytes that an output has sent since its counts were last cleared.
    pub fn sent(&self, output: usize) -> u64 {
        self.outputs[output].sent
    }

    /// Appends how full the buffers around an output's channel are: the packets that wait for it, and its credits.
    pub fn append_backlog(&self, output: usize, to: &mut Vec<i64>) {
        to.push(self.outputs[output].queued.cast_signed());
        if self.has_credits(output) {
            to.extend(self.counters_of(output).map(|(_, credit)| i64::from(credit)));
        }
    }

    /// Returns the time from which an output's channel is idle if no more packets request it, in ticks: it is free then,
    /// and all its credits are at home, so that the buffer at its far end is empty. `None`: a packet waits for it, or
    /// credits are away.
    pub fn idle_from(&self, output: usize) -> Option<u64> {
        let port = &self.outputs[output];
        let depth = self.plan.depth_beyond(port, &self.classes);
        let is_away = |(_, credit)| credit != depth;
        let is_busy = port.queued > 0 || (self.has_credits(output) && self.counters_of(output).any(is_away));
        (!is_busy).then(|| port.free_at.max(self.now()))
    }
}
