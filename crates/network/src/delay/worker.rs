//! Worker of the delay model: advances the nodes of one thread, job by job.
//!
//! Jobs interact only at the links of nodes, which serve them in the order of time. If no two jobs share a node, each
//! advances independently. Otherwise the job with the earliest event advances until another one has an earlier event.
//! At equal times, the first job in the file goes first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::{Envelope, HostContext, MessageInTransit, Passage};

use super::links::{Carried, Links};
use super::volumes::Volumes;
use crate::traffic::{JobTraffic, NodeTraffic, Span};

/// Mailboxes by partition, then by job.
pub(super) type Mail = [Mutex<Vec<MessageInTransit>>];

/// Job of a worker.
pub(super) struct JobState {
    /// Period in which the job sends, in picoseconds.
    pub span: Span,
    has_begun: bool,
    /// Messages under way to each partition.
    outbox: Vec<Vec<MessageInTransit>>,
    /// Volumes of the job. Empty for jobs of ranks.
    pub volumes: Volumes,
    pub carried: Carried,
}

impl JobState {
    /// Creates a job that has not begun, for a worker of the given nodes on a machine with `parts` partitions.
    pub fn new(span: Span, parts: usize, nodes: &[u32]) -> Self {
        let (volumes, carried) = (Volumes::new(nodes), Carried::new(span.end, nodes.len()));
        Self { span, has_begun: false, outbox: (0..parts).map(|_| Vec::new()).collect(), volumes, carried }
    }
}

/// Nodes of one thread.
pub(super) struct Worker {
    pub part: usize,
    pub traffic: NodeTraffic,
    pub jobs: Vec<JobState>,
    pub nodes: Vec<u32>,
    pub links: Links,
    pub partition_of: Arc<[u16]>,
    /// Whether jobs share nodes.
    pub in_turn: bool,
    /// Mail that is about to be received, kept for its allocation.
    pub inbox: Vec<MessageInTransit>,
}

/// Carries the messages of an executor.
struct WorkerContext<'a> {
    links: &'a mut Links,
    carried: &'a mut Carried,
    outbox: &'a mut [Vec<MessageInTransit>],
    partition_of: &'a [u16],
}

impl HostContext for WorkerContext<'_> {
    /// Does nothing: messages leave as they are handed over, without polling.
    fn wake(&mut self, _node: u32) {}

    /// Does nothing: the executor is advanced in any case.
    fn alarm(&mut self, _at: u64) {}

    /// Does nothing: a message announces itself on arrival.
    fn announce(&mut self, _node: u32, _envelope: Envelope) {}

    #[inline]
    fn transmit(&mut self, ends: (usize, u32), bytes: u64, at: Passage) -> Passage {
        self.links.carry(ends, bytes, at, self.carried)
    }

    #[inline]
    fn count_arrival(&mut self, bytes: u64, latency: u64) {
        self.carried.messages += 1;
        self.carried.bytes += bytes;
        self.carried.latency.record(latency);
    }

    #[inline]
    fn carry(&mut self, node: u32, message: MessageInTransit) {
        self.outbox[usize::from(self.partition_of[node as usize])].push(message);
    }
}

impl Worker {
    /// Advances to `end`, exclusive.
    pub fn run_until(&mut self, end: u64, mail: &Mail) {
        let count = self.jobs.len();
        for job in 0..count {
            std::mem::swap(&mut *lock(&mail[self.part * count + job]), &mut self.inbox);
            if let Some(executor) = self.traffic.executor_mut(job) {
                self.inbox.drain(..).for_each(|message| executor.take_in(message));
            }
        }
        match self.in_turn {
            true => self.run_in_turn(end),
            false => (0..count).for_each(|job| self.run_job(job, end)),
        }
        for (job, own) in self.jobs.iter_mut().enumerate() {
            for (part, outgoing) in own.outbox.iter_mut().enumerate().filter(|(_, outgoing)| !outgoing.is_empty()) {
                lock(&mail[part * count + job]).append(outgoing);
            }
        }
    }

    /// Advances jobs that share links.
    fn run_in_turn(&mut self, end: u64) {
        let count = self.jobs.len();
        let earliest = |worker: &Self| (0..count).filter_map(|job| Some((worker.next_at(job)?, job))).min();
        while let Some((_, job)) = earliest(self).filter(|&(at, _)| at < end) {
            let others = (0..count).filter(|&other| other != job);
            let limit = others.filter_map(|other| Some(self.next_at(other)?.saturating_add(u64::from(other > job))));
            let limit = limit.min().unwrap_or(end);
            self.run_job(job, limit.min(end));
        }
    }

    /// Returns the time of a job's next event, in picoseconds. None if there is none.
    fn next_at(&self, job: usize) -> Option<u64> {
        let own = &self.jobs[job];
        let next = match self.traffic.of_job(job)? {
            JobTraffic::Scheduled(_) if !own.has_begun => Some(own.span.start),
            JobTraffic::Scheduled(ranks) => ranks.executor().next_at(),
            JobTraffic::Volume(_) => own.volumes.next_at(),
            JobTraffic::Open(_) => None,
        };
        next.filter(|&at| at < own.span.end)
    }

    /// Advances a job to `end`, exclusive.
    fn run_job(&mut self, job: usize, end: u64) {
        let Self { traffic, jobs, links, partition_of, .. } = self;
        let own = &mut jobs[job];
        let end = end.min(own.span.end);
        match traffic.of_job_mut(job) {
            Some(JobTraffic::Scheduled(ranks)) => {
                let executor = ranks.executor_mut();
                let JobState { outbox, carried, .. } = own;
                let mut around = WorkerContext { links, carried, outbox, partition_of };
                if !own.has_begun && own.span.start < end {
                    own.has_begun = true;
                    executor.begin(own.span.start, &mut around);
                }
                executor.run_until(end, &mut around);
            }
            Some(JobTraffic::Volume(traffic)) => own.volumes.run_until(end, traffic, links, &mut own.carried),
            Some(JobTraffic::Open(_)) | None => {}
        }
    }

    /// Reads the volumes that jobs send next.
    pub fn refresh(&mut self) {
        for (job, own) in self.jobs.iter_mut().enumerate() {
            if let Some(JobTraffic::Volume(traffic)) = self.traffic.of_job(job) {
                own.volumes.begin(traffic);
            }
        }
    }
}

/// Locks a mailbox. A poisoned lock is ignored: if its owner has panicked, the run is lost anyway.
fn lock(mail: &Mutex<Vec<MessageInTransit>>) -> MutexGuard<'_, Vec<MessageInTransit>> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
