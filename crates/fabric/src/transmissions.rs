//! A log of the transmissions of packets, where a job asks for one: which channel has sent which packet when. It is what the
//! path of a packet, and what it waited for on the way, are read from afterwards.

use topology::ChannelSource;
use units::PlaneId;

use crate::packet::Packet;

/// The most transmissions that are logged, over all partitions: a run with more has no log.
pub const MOST_TRANSMISSIONS: usize = 1 << 23;

/// A packet that leaves on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transmission {
    /// What the packet is known by, its job's number included: this, and
    pub flow_id: u32,
    /// what its traffic has marked it with, and
    pub mark: u32,
    /// the node that it is for, and
    pub dst: u32,
    /// the plane that it is in (0 until somebody who knows the network has filled it in), and
    pub plane: PlaneId,
    /// when it was generated. A node generates no two packets of a message at one time in a plane.
    pub generated_at: u64,
    /// When its head leaves, in ticks.
    pub at: u64,
    /// How long it keeps the channel busy, in ticks.
    pub time: u64,
    /// The output or the injection channel, by its number in the partition.
    output: u32,
}

/// The log of a partition.
#[derive(Debug, Default)]
pub(crate) struct Transmissions {
    /// By job, whether its packets are logged.
    jobs: Vec<bool>,
    log: Vec<Transmission>,
    /// How many there have been.
    count: usize,
}

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

    /// What has been logged, each with where its channel starts; and how many there have been.
    pub fn logged(
        &self,
        source: impl Fn(usize) -> ChannelSource,
    ) -> (impl Iterator<Item = (Transmission, ChannelSource)>, usize) {
        (self.log.iter().map(move |sent| (*sent, source(sent.output as usize))), self.count)
    }
}

impl Transmission {
    /// A packet that leaves at a time.
    pub(crate) fn new(packet: &Packet, mark: u32, at: u64) -> Self {
        let Packet { flow_id, generated_at, .. } = *packet;
        Self { flow_id, mark, dst: packet.dst().0, plane: PlaneId(0), generated_at, at, time: 0, output: 0 }
    }
}
