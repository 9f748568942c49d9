//! Machine: a running network, divided into partitions that advance together.

use engine::statistics::Histogram;
use engine::{Alone, Exchange};
use fabric::{Actions, ArrivedMessage, Batch, ChannelUse, MessageKey, Transmission, WaitingPacket};
use topology::ChannelSource;
use units::Time;

use crate::model::DivisionRule;
use crate::reuse::{ReuseCounts, ReuseRecords};
use crate::samples::Sample;
use crate::traffic::NodeTraffic;

/// Wall-clock times of a process in several windows, in seconds, by their use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowTimes {
    /// Number of windows.
    pub windows: u64,
    /// Simulation, until the last thread of the process has finished its window.
    pub work: f64,
    /// Packing and unpacking of mail.
    pub pack: f64,
    /// Sending and receiving.
    pub exchange: f64,
    /// Waiting for mail of other processes.
    pub wait: f64,
    /// Bytes of the mail that this process has sent.
    pub bytes: u64,
}

impl WindowTimes {
    /// Adds the times of other windows.
    pub fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.work += other.work;
        self.pack += other.pack;
        self.exchange += other.exchange;
        self.wait += other.wait;
        self.bytes += other.bytes;
    }
}

/// Running network of any model. Jobs are identified by their index, from 0.
pub trait Machine {
    /// Advances to `until`, in ticks. Writes the counts of each batch, summed over all partitions, to `counts`, which has
    /// a list for each packet class (`JobNumbers`). Batches are `batch` ticks long; the last one may be shorter.
    fn advance(&mut self, until: u64, batch: u64, counts: &mut [Vec<Batch>]);
    /// Advances to `until`. Requires that nothing happens before then, except that credits and the like return until
    /// `settled`. Nothing is counted.
    fn pass(&mut self, settled: u64, until: u64);
    /// Returns the latencies of a job's measured packets, and the sum of the routers that they have traversed.
    fn measured(&mut self, job: usize) -> (Histogram, u64);
    /// Records arrival times of a job's packets from now on.
    fn note_arrivals(&mut self, job: usize);
    /// Returns the time of the last arrival of a job's packets since `note_arrivals`, by node. 0 for a node without
    /// arrivals.
    fn arrivals(&mut self, job: usize) -> Vec<u64>;
    /// Measures messages of a job from now on. Only messages whose packets `measure_from` measures are included.
    fn measure_messages(&mut self, job: usize, key: MessageKey);
    /// Returns the measured messages of a job that have arrived since the last call, in no particular order.
    fn take_messages(&mut self, job: usize) -> Vec<ArrivedMessage>;
    /// Returns the use of each channel by a job, its acknowledgements included, from `measure_from` to `until`, in
    /// ticks.
    fn channel_use(&self, job: usize, until: u64) -> Vec<(ChannelSource, ChannelUse)>;
    /// Visits the traffic of every partition.
    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic));
    /// Changes the traffic of every partition at the present time, and carries out the actions that it then requests.
    fn change_traffic(&mut self, change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions));
    /// Returns the exchange between the processes of the run. Methods that return counts of the whole machine are
    /// collective operations; histograms, messages and channels are complete at process 0 only.
    fn exchange(&self) -> &dyn Exchange {
        &Alone
    }
    /// Returns the times of this process by their use. None if the run has no other process.
    fn window_times(&self) -> Option<WindowTimes> {
        None
    }
    /// Returns the counts of reuse. None if the machine replays nothing.
    fn reuse(&self) -> Option<ReuseCounts> {
        None
    }
    /// Takes the records of episodes out of a machine that has ended. `None`: the machine replays nothing.
    fn take_records(&mut self) -> Option<ReuseRecords> {
        None
    }
    /// Returns the reason why the run has to be repeated without reuse. `ended`: whether the run has ended.
    fn gave_up(&self, _ended: bool) -> Option<String> {
        None
    }
    /// Returns the machine if its state can be saved in checkpoints.
    fn checkpointed(&mut self) -> Option<&mut dyn CheckpointedMachine> {
        None
    }
    /// Returns the part of the machine that carries packets. None if the model has no `Feature::Packets`.
    fn packets(&self) -> Option<&dyn PacketMachine> {
        None
    }
    /// Returns the part of the machine that carries packets, mutable.
    fn packets_mut(&mut self) -> Option<&mut dyn PacketMachine> {
        None
    }
}

/// Machine whose state can be saved between two calls of [`Machine::advance`], and loaded into a machine that is built
/// in the same way. Loading returns `None` if the bytes do not fit the machine.
pub trait CheckpointedMachine {
    /// Returns the rule by which the machine is divided.
    fn division(&self) -> DivisionRule;
    /// Returns the numbers of the workers of this process.
    fn workers(&self) -> Vec<usize>;
    /// Appends the state that is equal in all processes.
    fn save_common(&self, to: &mut Vec<u8>);
    /// Loads the state that is equal in all processes.
    fn load_common(&mut self, from: &mut &[u8]) -> Option<()>;
    /// Appends the state of a worker of this process.
    fn save_worker(&self, worker: usize, to: &mut Vec<u8>);
    /// Loads the state of a worker of this process.
    fn load_worker(&mut self, worker: usize, from: &mut &[u8]) -> Option<()>;
}

/// Part of a machine that carries packets over routers. Methods with a body ask for single packets: a machine whose
/// packets are in no queues has none.
pub trait PacketMachine {
    /// Returns the number of packets in the network.
    fn in_flight(&self) -> i64 {
        0
    }
    /// Starts the measurement of a job: of its packets generated from `start` on, and of its bytes by source and
    /// channel from now on.
    fn measure_from(&mut self, job: usize, start: u64);
    /// Ends the measurement of a job: packets generated from `end` on are not measured.
    fn measure_until(&mut self, job: usize, end: u64);
    /// Whether measured packets of a job have not arrived: some are in the network, or a source holds one generated
    /// before `end`.
    fn outstanding(&self, job: usize, end: u64) -> bool;
    /// Returns the bytes delivered from each source of a job since `measure_from`.
    fn by_source(&self, job: usize) -> Vec<u64>;
    /// Returns the progress of each source of a job: the generation time of the packet at the head of its queue, in
    /// ticks, rounded down. The present if no packet is due.
    fn progress_by_source(&self, job: usize) -> Vec<u64>;
    /// Takes a sample for time series at each multiple of `period`, rounded up to a tick.
    fn sample_every(&mut self, _period: Time) {}
    /// Returns the samples so far, followed by one at the present or at `until`, whichever is later. Time is in ticks,
    /// and nothing may be sent until `until`. Empty if no samples are taken.
    fn samples(&self, _until: u64) -> Vec<Sample> {
        Vec::new()
    }
    /// Returns the bytes of a job that are counted as delivered but have not reached their nodes: parts of packets
    /// whose tails are under way.
    fn under_way(&self, job: usize) -> u64;
    /// Logs the transmissions of a job from now on. Requires that the deliveries of the job are reported.
    fn log_transmissions(&mut self, _job: usize) {}
    /// Returns the logged transmissions of all jobs, in no particular order. None if there are more than the log keeps.
    fn transmissions(&self) -> Option<Vec<(Transmission, ChannelSource)>> {
        None
    }
    /// Returns the longest total waiting time at one combine unit, in ticks. 0 without combine units.
    fn longest_wait(&self) -> u64 {
        0
    }
    /// Returns whether a message of a job is under way that numbers of packets do not show. `false` in machines that count
    /// every packet.
    fn is_moving(&self, _job: usize) -> bool {
        false
    }
    /// Returns every packet that waits at the front of a queue.
    fn waiting(&self) -> Vec<WaitingPacket> {
        Vec::new()
    }
    /// Checks over all partitions, in debug builds, that packets and credits are conserved and that no buffer exceeds
    /// its depth. `advance` does so at intervals. Call it once more at the end of a run: a lost packet or credit stays
    /// lost.
    fn check(&self) {}
}

/// Questions to any machine. A machine without packets measures its jobs from their start, and holds nothing.
impl dyn Machine + '_ {
    /// Starts the measurement of a job ([`PacketMachine::measure_from`]).
    pub fn measure_from(&mut self, job: usize, start: u64) {
        if let Some(packets) = self.packets_mut() {
            packets.measure_from(job, start);
        }
    }

    /// Ends the measurement of a job ([`PacketMachine::measure_until`]).
    pub fn measure_until(&mut self, job: usize, end: u64) {
        if let Some(packets) = self.packets_mut() {
            packets.measure_until(job, end);
        }
    }

    /// Returns the samples so far ([`PacketMachine::samples`]).
    pub fn samples(&self, until: u64) -> Vec<Sample> {
        self.packets().map_or_else(Vec::new, |packets| packets.samples(until))
    }

    /// Returns the bytes that have been counted but have not arrived ([`PacketMachine::under_way`]).
    pub fn under_way(&self, job: usize) -> u64 {
        self.packets().map_or(0, |packets| packets.under_way(job))
    }

    /// Returns the longest total waiting time at one combine unit ([`PacketMachine::longest_wait`]).
    pub fn longest_wait(&self) -> u64 {
        self.packets().map_or(0, PacketMachine::longest_wait)
    }

    /// Returns whether a message of a job is under way that numbers of packets do not show
    /// ([`PacketMachine::is_moving`]).
    pub fn is_moving(&self, job: usize) -> bool {
        self.packets().is_some_and(|packets| packets.is_moving(job))
    }

    /// Returns the packets that wait at the front of queues ([`PacketMachine::waiting`]).
    pub fn waiting(&self) -> Vec<WaitingPacket> {
        self.packets().map_or_else(Vec::new, PacketMachine::waiting)
    }
}
