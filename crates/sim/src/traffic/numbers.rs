//! The numbers by which the fabric counts packets: those of the jobs, and behind them one for the acknowledgements of each job
//! that has them, so that these load channels and count as nobody's messages.

use fabric::FLOW_BITS;

/// The flow id of a packet that the traffic of a job, or whoever has a number, knows by `own`.
pub(super) fn flow_of(number: usize, own: u32) -> u32 {
    (number as u32) << FLOW_BITS | own
}

/// The number in a flow id, and what its owner knows the packet by.
pub(super) fn job_of(flow_id: u32) -> (usize, u32) {
    ((flow_id >> FLOW_BITS) as usize, flow_id & ((1 << FLOW_BITS) - 1))
}

/// The jobs of a machine and their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobNumbers {
    /// By job, the number of its acknowledgements, if those are packets.
    acks: Vec<Option<usize>>,
    /// By number behind the jobs', the job.
    owners: Vec<usize>,
}

impl JobNumbers {
    /// Of jobs of which some have acknowledgements that are packets.
    pub fn new(with_acks: impl IntoIterator<Item = bool>) -> Self {
        let with_acks: Vec<bool> = with_acks.into_iter().collect();
        let owners: Vec<usize> = (0..with_acks.len()).filter(|&job| with_acks[job]).collect();
        let number = |job: usize| with_acks.len() + owners.partition_point(|&owner| owner < job);
        let acks = (0..with_acks.len()).map(|job| with_acks[job].then(|| number(job))).collect();
        Self { acks, owners }
    }

    /// The number of jobs.
    pub fn jobs(&self) -> usize {
        self.acks.len()
    }

    /// How many numbers there are.
    pub fn total(&self) -> usize {
        self.acks.len() + self.owners.len()
    }

    /// The number of a job's acknowledgements, if those are packets.
    pub fn acks(&self, job: usize) -> Option<usize> {
        self.acks[job]
    }

    /// All numbers of a job.
    pub fn of(&self, job: usize) -> impl Iterator<Item = usize> {
        std::iter::once(job).chain(self.acks[job])
    }

    /// The job that a number belongs to.
    pub fn job(&self, number: usize) -> usize {
        number.checked_sub(self.acks.len()).map_or(number, |behind| self.owners[behind])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_belongs_to_one_job() {
        // Would catch acknowledgements that are counted as another job's, or as messages.
        let numbers = JobNumbers::new([false, true, false, true]);
        assert_eq!((numbers.jobs(), numbers.total()), (4, 6));
        assert_eq!([0, 1, 2, 3].map(|job| numbers.acks(job)), [None, Some(4), None, Some(5)]);
        let of = |job| numbers.of(job).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(of), [vec![0], vec![1, 4], vec![2], vec![3, 5]]);
        for job in 0..4 {
            assert!(numbers.of(job).all(|number| numbers.job(number) == job));
        }
    }
}
