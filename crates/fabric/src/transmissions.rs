//! Log of packet transmissions, kept if a job requests it: which channel has sent which packet when. The path of a
//! packet and its waiting times on the way are derived from it after the run.

use topology::ChannelSource;
use units::PlaneId;

use crate::packet::Packet;

/// Largest number of logged transmissions, over all partitions. A run with more has no log.
pub const MOST_TRANSMISSIONS: usize = 1 << 23;

/// Packet that leaves on a channel. A node generates no two packets of a message at one time in a plane, so that flow,
/// mark, destination, plane and generation time identify a packet of the node. Relays of a message may each generate
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transmission {
    /// Identifier of the packet, including its job's number.
    pub flow_id: u32,
    /// Mark that the packet's traffic gave it.
    pub mark: u32,
    /// Destination node.
    pub dst: u32,
    /// Plane of the packet. 0 until code that knows the network has filled it in.
    pub plane: PlaneId,
    /// Generation time of the packet.
    pub generated_at: u64,
    /// Time at which the head leaves, in ticks.
    pub at: u64,
    /// Time for which the packet keeps the channel busy, in ticks.
    pub time: u64,
    /// Output or injection channel, by its number in the partition.
    output: u32,
}

units::record!(Transmission { flow_id, mark, dst, plane, generated_at, at, time, output });

/// Log of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transmissions {
    /// By job, whether its packets are logged.
    jobs: Vec<bool>,
    log: Vec<Transmission>,
    /// Number of transmissions, whether logged or not.
    count: usize,
}
units::record!(Transmissions { jobs, log, count });

impl Transmissions {
    /// Logs the packets of a job from now on.
    pub fn add_job(&mut self, job: usize) {
        self.jobs.resize(self.jobs.len().max(job + 1), false);
        self.jobs[job] = true;
    }

    /// Logs a packet of a job that is sent over an output's channel.
    pub fn push(&mut self, job: usize, (output, time): (usize, u64), of: &Transmission) {
        if !self.jobs.get(job).is_some_and(|&logs| logs) {
            return;
        }
        self.count += 1;
        if self.count > MOST_TRANSMISSIONS {
            self.log = Vec::new();
            return;
        }
        self.log.push(Transmission { output: output as u32, time, ..*of });
    }

    /// Returns the logged transmissions, each with the source of its channel, and the number of all transmissions.
    pub fn logged(
        &self,
        source: impl Fn(usize) -> ChannelSource,
    ) -> (impl Iterator<Item = (Transmission, ChannelSource)>, usize) {
        (self.log.iter().map(move |sent| (*sent, source(sent.output as usize))), self.count)
    }
}

impl Transmission {
    /// Creates the record of a packet that leaves at tick `at`.
    pub(crate) fn new(packet: &Packet, mark: u32, at: u64) -> Self {
        let Packet { flow_id, generated_at, .. } = *packet;
        Self { flow_id, mark, dst: packet.dst().0, plane: PlaneId(0), generated_at, at, time: 0, output: 0 }
    }
}
