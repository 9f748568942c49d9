//! Counters of partitions during a run. They are whole numbers, so that the sum over partitions does not depend on
//! their number or order.

use std::ops::Range;

use engine::statistics::Histogram;
use units::PlaneId;

use crate::messages::{ArrivedMessage, MessageKey, Messages};
use crate::packet::Packet;

/// Bits of a flow id in which the traffic of a job numbers its packets. The bits above are the number of the job.
pub const FLOW_BITS: u32 = 26;

/// Largest number of jobs whose packets are distinguished.
pub const MAX_JOBS: usize = 1 << (32 - FLOW_BITS);

/// Counts of some partitions, by job: for each batch, and for the job's measured interval.
#[derive(Clone, Debug)]
pub struct Counters {
    jobs: Vec<JobCounters>,
    /// Begin of the first batch, in ticks.
    begin: u64,
    /// Length of a batch, in ticks.
    length: u64,
    /// Number of the present batch.
    current: usize,
    /// Parts of a tick in which generation times and latencies are counted: `Plan::units_per_tick`.
    units_per_tick: u64,
    /// Packets that sources have put into the network since the start, and copies of them, less those delivered.
    pub in_flight: i64,
    /// Packets delivered since the start.
    pub total_delivered: u64,
    /// Packets sent by routers since the last `leave_batch`, if there is one job. Several jobs count their packets
    /// separately.
    transmissions: u64,
    nodes: u32,
}
units::state!(Counters {
    jobs, begin, length, current, in_flight, total_delivered, transmissions;
    rebuilt units_per_tick, nodes
});

/// Counts of the packets of one job.
#[derive(Clone, Debug)]
pub struct JobCounters {
    /// Counts since the last `enter_batch`.
    batch: Batch,
    /// Counts of each batch so far.
    batches: Vec<Batch>,
    /// Interval of generation times whose packets are measured, in the unit of generation times.
    measured: Range<u64>,
    /// Latencies of measured packets, from generation to the tail's delivery, in the unit of generation times
    /// (`Plan::generation_unit`).
    pub latency: Histogram,
    /// Routers traversed by measured packets, summed.
    pub hops: u64,
    /// Measured packets that have entered the network and are not delivered.
    pub measured_in_flight: i64,
    /// Bytes delivered since `clear_sources`, by source, counted as the head leaves the last router. Empty if packets
    /// are not identified by their sources.
    pub by_source: Vec<u64>,
    /// By destination, the last arrival of a tail since `note_arrivals`, in ticks. 0: none. Empty if arrivals are not
    /// noted.
    pub arrivals: Vec<u64>,
    /// Arrived parts of measured messages, if messages are measured.
    messages: Option<Box<Messages>>,
}
units::record!(JobCounters {
    batch, batches, measured, latency, hops, measured_in_flight, by_source, arrivals, messages;
});

/// Counts of an interval. A packet counts as delivered when its head leaves the last router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Packets that sources have put into the network.
    pub entered: u64,
    /// Packets that routers have added as copies of multicast packets.
    pub copies: u64,
    /// Packets that have ended in routers: combined into others, or for nobody.
    pub ended: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Latencies of the delivered packets, summed, in the unit of generation times. Two latencies of a slow link may
    /// exceed 64 bits.
    pub latency: u128,
    /// Routers traversed by the delivered packets, summed.
    pub hops: u64,
    /// Packets that routers have sent, delivered or not. A packet counts once for each router that it leaves.
    pub transmissions: u64,
}
units::record!(Batch { entered, copies, ended, packets, bytes, latency, hops, transmissions });

impl Batch {
    /// Number of the parts of a batch.
    pub const PARTS: usize = 11;

    /// Returns numbers whose sums over several batches are those of the sum of the batches: the latency is in parts of
    /// 32 bits.
    pub fn parts(&self) -> [u64; Self::PARTS] {
        let Self { entered, copies, ended, packets, bytes, latency, hops, transmissions } = *self;
        let [low, second, third, high] = [0, 32, 64, 96].map(|shift| u64::from((latency >> shift) as u32));
        [entered, copies, ended, packets, bytes, low, second, third, high, hops, transmissions]
    }

    /// Returns the batch of sums of parts. Missing parts are 0.
    pub fn of_parts(parts: &[u64]) -> Self {
        let part = |number: usize| parts.get(number).copied().unwrap_or(0);
        let latency = |number: usize| u128::from(part(5 + number)) << (32 * number);
        Self {
            entered: part(0),
            copies: part(1),
            ended: part(2),
            packets: part(3),
            bytes: part(4),
            latency: (0..4).map(latency).sum(),
            hops: part(9),
            transmissions: part(10),
        }
    }

    /// Adds other counts: another partition's, job's or batch's.
    pub fn add(&mut self, other: &Self) {
        self.entered += other.entered;
        self.copies += other.copies;
        self.ended += other.ended;
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.latency += other.latency;
        self.hops += other.hops;
        self.transmissions += other.transmissions;
    }
}

impl JobCounters {
    fn new(nodes: u32) -> Self {
        Self {
            batch: Batch::default(),
            batches: Vec::new(),
            measured: u64::MAX..u64::MAX,
            latency: Histogram::new(),
            hops: 0,
            measured_in_flight: 0,
            by_source: vec![0; nodes as usize],
            arrivals: Vec::new(),
            messages: None,
        }
    }

    /// Stops counting by source: packets are not identified by their sources.
    pub fn ignore_sources(&mut self) {
        self.by_source = Vec::new();
    }

    /// Resets the counts by source.
    pub fn clear_sources(&mut self) {
        self.by_source.fill(0);
    }

    #[inline]
    fn is_measured(&self, generated_at: u64) -> bool {
        generated_at >= self.measured.start && generated_at < self.measured.end
    }

    /// Adds the present counts to a batch.
    fn leave_batch(&mut self, number: usize) {
        if self.batches.len() <= number {
            self.batches.resize(number + 1, Batch::default());
        }
        self.batches[number].add(&std::mem::take(&mut self.batch));
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Counters {
    /// Creates the counters of one job. Nothing is measured yet.
    pub fn new(nodes: u32) -> Self {
        Self::of_jobs(nodes, 1, 1)
    }

    /// Creates the counters of `jobs` jobs, at most `MAX_JOBS`. Nothing is measured yet. Generation times are counted
    /// in `units_per_tick` parts of a tick (`Plan::units_per_tick`).
    pub fn of_jobs(nodes: u32, jobs: usize, units_per_tick: u64) -> Self {
        Self {
            jobs: (0..jobs).map(|_| JobCounters::new(nodes)).collect(),
            begin: 0,
            length: u64::MAX,
            current: 0,
            units_per_tick,
            in_flight: 0,
            total_delivered: 0,
            transmissions: 0,
            nodes,
        }
    }

    /// Returns the counts of a job.
    pub fn job(&self, job: usize) -> &JobCounters {
        &self.jobs[job]
    }

    /// Returns the counts of a job, for setting them up.
    pub fn job_mut(&mut self, job: usize) -> &mut JobCounters {
        &mut self.jobs[job]
    }

    /// Measures the packets of a job that are generated from tick `start` on, which may lie in the future.
    pub fn measure_from(&mut self, job: usize, start: u64) {
        self.jobs[job].measured = start.saturating_mul(self.units_per_tick)..u64::MAX;
    }

    /// Stops measuring packets of a job that are generated from tick `end` on.
    pub fn measure_until(&mut self, job: usize, end: u64) {
        self.jobs[job].measured.end = end.saturating_mul(self.units_per_tick);
    }

    /// Notes the arrival times of a job's packets from now on.
    pub fn note_arrivals(&mut self, job: usize) {
        self.jobs[job].arrivals = vec![0; self.nodes as usize];
    }

    /// Measures the messages of a job from now on. `key` is the rule by which their packets are recognised.
    pub fn measure_messages(&mut self, job: usize, key: MessageKey) {
        self.jobs[job].messages = Some(Box::new(Messages::new(key, self.nodes)));
    }

    /// Takes out the measured messages of a job that have arrived since the last call.
    pub fn take_messages(&mut self, job: usize) -> Vec<ArrivedMessage> {
        self.jobs[job].messages.as_mut().map_or_else(Vec::new, |messages| messages.take())
    }

    /// Counts by batches of `length` ticks, from tick `begin` on.
    pub fn count_batches(&mut self, begin: u64, length: u64) {
        (self.begin, self.length, self.current) = (begin, length.max(1), 0);
    }

    /// Enters the batch that contains tick `now`, and returns the tick at which it ends.
    pub(crate) fn enter_batch(&mut self, now: u64) -> u64 {
        self.leave_batch();
        self.current = ((now - self.begin) / self.length) as usize;
        self.begin.saturating_add(self.length.saturating_mul(self.current as u64 + 1))
    }

    /// Adds the present counts to the current batch.
    pub(crate) fn leave_batch(&mut self) {
        if let Some(job) = self.jobs.first_mut() {
            job.batch.transmissions += std::mem::take(&mut self.transmissions);
        }
        self.jobs.iter_mut().for_each(|job| job.leave_batch(self.current));
    }

    /// Returns the bytes of a job delivered since the last call of `take_batches`.
    pub fn bytes_in_batches(&self, job: usize) -> u64 {
        self.jobs[job].batches.iter().map(|batch| batch.bytes).sum()
    }

    /// Takes out the counts of each batch of a job since the last call.
    pub fn take_batches(&mut self, job: usize) -> impl Iterator<Item = Batch> {
        self.jobs[job].batches.drain(..)
    }

    /// Returns the counts of a packet's job.
    #[inline]
    fn job_of(&mut self, packet: &Packet) -> &mut JobCounters {
        &mut self.jobs[(packet.flow_id >> FLOW_BITS) as usize]
    }

    /// Returns the packets that routers have sent since the last batch, if there is one job.
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Counts a packet that a router sends, if there is one job.
    #[inline(always)]
    pub(crate) fn transmitted(&mut self) {
        self.transmissions += 1;
    }

    /// Counts a packet that a router sends for one of several jobs.
    pub(crate) fn transmitted_for_job(&mut self, job: usize) {
        self.jobs[job].batch.transmissions += 1;
    }

    /// Counts a packet that has entered the network.
    #[inline]
    pub(crate) fn injected(&mut self, packet: &Packet) {
        self.in_flight += 1;
        let job = self.job_of(packet);
        job.batch.entered += 1;
        job.measured_in_flight += i64::from(job.is_measured(packet.generated_at));
    }

    /// Counts the copies that a router makes of a multicast packet.
    #[inline(never)]
    pub(crate) fn split(&mut self, packet: &Packet, copies: u64) {
        self.in_flight += copies as i64;
        let job = self.job_of(packet);
        job.batch.copies += copies;
        job.measured_in_flight += copies as i64 * i64::from(job.is_measured(packet.generated_at));
    }

    /// Counts a packet that ends in a router: a combine unit has combined it with others, or it is for nobody.
    #[inline(never)]
    pub(crate) fn combined(&mut self, packet: &Packet) {
        self.in_flight -= 1;
        let job = self.job_of(packet);
        job.batch.ended += 1;
        job.measured_in_flight -= i64::from(job.is_measured(packet.generated_at));
    }

    /// Counts a packet that a combine unit makes.
    #[inline(never)]
    pub(crate) fn made(&mut self, packet: &Packet) {
        self.split(packet, 1);
    }

    /// Counts a packet whose head leaves its last router in `plane`. Its tail arrives at tick `at`. Not inlined, so
    /// that most hops do not spill registers for it.
    #[inline(never)]
    pub(crate) fn delivered(&mut self, packet: &Packet, plane: PlaneId, at: u64) {
        // Only the difference has to fit: wrapping keeps it right even if the time itself exceeds 64 bits of parts.
        let latency = at.wrapping_mul(self.units_per_tick).wrapping_sub(packet.generated_at);
        self.in_flight -= 1;
        self.total_delivered += 1;
        let job = self.job_of(packet);
        job.batch.packets += 1;
        job.batch.bytes += u64::from(packet.bytes);
        job.batch.latency += u128::from(latency);
        job.batch.hops += u64::from(packet.hops);
        let source = (packet.flow_id & ((1 << FLOW_BITS) - 1)) as usize;
        debug_assert!(job.by_source.is_empty() || source < job.by_source.len(), "no such source");
        if let Some(bytes) = job.by_source.get_mut(source) {
            *bytes += u64::from(packet.bytes);
        }
        if let Some(last) = job.arrivals.get_mut(packet.dst().index()) {
            *last = at.max(*last);
        }
        if job.is_measured(packet.generated_at) {
            job.latency.record(latency);
            job.hops += u64::from(packet.hops);
            job.measured_in_flight -= 1;
            if let Some(messages) = &mut job.messages {
                messages.count((source as u32, plane, packet.dst()), packet.bytes, packet.generated_at, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_batches_add_up_to_the_batch_of_all() {
        // Would catch a carry between parts of a latency that is lost, and a count that is left out.
        let latency = u128::from(u64::MAX) * 3 + 5;
        let one = Batch {
            entered: 1,
            copies: 2,
            ended: 3,
            packets: 4,
            bytes: 5,
            latency,
            hops: 7,
            transmissions: u64::MAX / 2,
        };
        let mut sum = one;
        sum.add(&one);
        let parts: Vec<u64> = one.parts().into_iter().zip(one.parts()).map(|(one, other)| one + other).collect();
        assert_eq!(Batch::of_parts(&parts), sum);
    }

    #[test]
    fn batches_are_told_apart_by_time_whoever_counts() {
        // Would catch counting events at a batch's end before it, a short last batch that is lost, and a batch of the
        // previous advance that survives. Two partitions count in sequence.
        let mut counters = Counters::new(1);
        for (begin, want) in [(0, [4, 2, 2]), (25, [4, 2, 2])] {
            counters.count_batches(begin, 10);
            for _ in 0..2 {
                for (offset, end, packets) in [(0, 10, 1), (5, 10, 1), (10, 20, 1), (20, 30, 1)] {
                    assert_eq!(counters.enter_batch(begin + offset), begin + end);
                    counters.jobs[0].batch.packets += packets;
                }
                counters.leave_batch();
            }
            let counts: Vec<u64> = counters.take_batches(0).map(|batch| batch.packets).collect();
            assert_eq!(counts, want);
        }
        counters.count_batches(7, u64::MAX);
        assert_eq!(counters.enter_batch(7), u64::MAX);
    }
}
