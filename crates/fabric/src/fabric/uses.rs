//! Use of the channels by each job. The bytes of a single job are those of all packets (`OutputPort::sent`).

use super::Fabric;
use crate::channel_use::ChannelUse;
use crate::counters::FLOW_BITS;
use crate::index::PacketSlot;
use crate::port::{FarEnd, OutputPort};

/// Use of the channels by job, since the counts of the job were cleared.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelUses {
    jobs: usize,
    /// By output and job, bytes sent. Empty if there is only one job.
    sent: Vec<u64>,
    /// By output, the job of the packet that was sent last. Empty if there is only one job.
    last: Vec<u8>,
    /// By output and job, remaining ticks of the packet that was being sent when the counts were cleared. Empty if there
    /// was none.
    begun: Vec<u64>,
}
units::state!(ChannelUses { jobs, sent, last, begun });

impl ChannelUses {
    /// Creates the counts of a single job.
    pub fn new() -> Self {
        Self { jobs: 1, ..Self::default() }
    }

    /// Returns whether there are several jobs.
    #[inline(always)]
    pub fn are_by_job(&self) -> bool {
        !self.sent.is_empty()
    }
}

impl Fabric {
    /// Counts bytes on channels by job from now on, if there is more than one.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.uses.jobs = jobs;
        self.uses.sent = if jobs > 1 { vec![0; jobs * self.outputs.len()] } else { Vec::new() };
        self.uses.last = if jobs > 1 { vec![0; self.outputs.len()] } else { Vec::new() };
    }

    /// Counts a packet of a job that is sent over an output's channel.
    #[inline(never)]
    pub(super) fn count_for_job(&mut self, output: usize, packet: PacketSlot, bytes: u32) {
        let job = (self.pool[packet].flow_id >> FLOW_BITS) as usize;
        self.uses.sent[output * self.uses.jobs + job] += u64::from(bytes);
        self.uses.last[output] = job as u8;
        if self.outputs[output].flags & OutputPort::INJECTION == 0 {
            self.context.counters.transmitted_for_job(job);
        }
    }

    /// Returns the use of an output's channel by a job, from the last reset of the counts to tick `until`.
    pub(crate) fn channel_use(&self, output: usize, job: usize, until: u64) -> ChannelUse {
        let place = output * self.uses.jobs + job;
        ChannelUse {
            bytes: if self.uses.are_by_job() { self.uses.sent[place] } else { self.outputs[output].sent },
            before: self.uses.begun.get(place).copied().unwrap_or(0),
            after: self.under_way(output, job, until),
        }
    }

    /// Returns the ticks from `at` on for which an output's channel is busy with the packet sent last, if this belongs
    /// to `job`. A channel that waits for the tail of a packet counts as busy for at most the time of a packet.
    fn under_way(&self, output: usize, job: usize, at: u64) -> u64 {
        let port = &self.outputs[output];
        let is_of_job = self.uses.last.get(output).is_none_or(|&last| usize::from(last) == job);
        let left = if is_of_job { port.free_at.saturating_sub(at) } else { 0 };
        left.min(self.classes[port.class.0 as usize].full)
    }

    /// Adds, by job, the bytes that have been counted as delivered but have not reached their nodes at tick `at`.
    pub fn read_under_way(&self, at: u64, bytes: &mut [u64]) {
        let leaves = |output: &&OutputPort| matches!(output.far_end, FarEnd::Node | FarEnd::Station(_));
        let last = |number: usize| self.uses.last.get(number).map_or(0, |&job| usize::from(job));
        let outputs = self.outputs[..self.ports()].iter().enumerate().filter(|(_, output)| leaves(output));
        for (number, output) in outputs {
            // Acknowledgements belong to no job.
            let Some(own) = bytes.get_mut(last(number)) else { continue };
            let full = self.classes[output.class.0 as usize].full.max(1);
            *own += self.under_way(number, last(number), at) * u64::from(self.params.full_bytes) / full;
        }
    }

    /// Resets the counts of a job's bytes on each channel at tick `at`.
    pub(crate) fn clear_sent(&mut self, job: usize, at: u64) {
        for output in 0..self.outputs.len() {
            let left = self.under_way(output, job, at);
            if self.uses.begun.is_empty() && left > 0 {
                self.uses.begun = vec![0; self.uses.jobs * self.outputs.len()];
            }
            if let Some(begun) = self.uses.begun.get_mut(output * self.uses.jobs + job) {
                *begun = left;
            }
        }
        if self.uses.are_by_job() {
            return self.uses.sent.iter_mut().skip(job).step_by(self.uses.jobs).for_each(|sent| *sent = 0);
        }
        for output in &mut self.outputs {
            output.sent = 0;
        }
    }
}
