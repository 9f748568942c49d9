//! Packet classes for the counters of the fabric: one for each job, followed by one for the acknowledgements of each
//! job that has them. Acknowledgements thus load channels without being counted as messages of a job.

use fabric::FLOW_BITS;

/// Returns the flow id of a packet of class `number`. `own` identifies the packet within the class.
pub(super) fn flow_of(number: usize, own: u32) -> u32 {
    (number as u32) << FLOW_BITS | own
}

/// Splits a flow id into the packet class and the identifier within the class.
pub(super) fn job_of(flow_id: u32) -> (usize, u32) {
    ((flow_id >> FLOW_BITS) as usize, flow_id & ((1 << FLOW_BITS) - 1))
}

/// Packet classes of a machine's jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobNumbers {
    /// Packet class of each job's acknowledgements. None if they are not packets.
    acks: Vec<Option<usize>>,
    /// Job of each class of acknowledgements.
    owners: Vec<usize>,
}

impl JobNumbers {
    /// Creates the classes of jobs. `with_acks` tells for each job whether it has acknowledgements that are packets.
    pub fn new(with_acks: impl IntoIterator<Item = bool>) -> Self {
        let with_acks: Vec<bool> = with_acks.into_iter().collect();
        let owners: Vec<usize> = (0..with_acks.len()).filter(|&job| with_acks[job]).collect();
        let number = |job: usize| with_acks.len() + owners.partition_point(|&owner| owner < job);
        let acks = (0..with_acks.len()).map(|job| with_acks[job].then(|| number(job))).collect();
        Self { acks, owners }
    }

    /// Returns the number of jobs.
    pub fn jobs(&self) -> usize {
        self.acks.len()
    }

    /// Returns the number of packet classes.
    pub fn total(&self) -> usize {
        self.acks.len() + self.owners.len()
    }

    /// Returns the packet class of a job's acknowledgements. None if they are not packets.
    pub fn acks(&self, job: usize) -> Option<usize> {
        self.acks[job]
    }

    /// Returns all packet classes of a job.
    pub fn of(&self, job: usize) -> impl Iterator<Item = usize> {
        std::iter::once(job).chain(self.acks[job])
    }

    /// Returns the job of a packet class.
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
