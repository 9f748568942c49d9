//! Workers of a packet machine: partitions, and the state that they share.

use std::sync::Mutex;

use fabric::routers::Routers;
use fabric::{Mail, Partition, WorkerContext};

use super::lock;
use crate::traffic::NodeTraffic;

/// Partition with its index.
pub(super) struct OwnedPartition<R> {
    pub index: usize,
    pub partition: Partition<R, NodeTraffic>,
}

/// Partitions that count together. A thread advances one worker, or several in a run that goes on with fewer threads.
pub(super) struct Worker<R> {
    /// Number in the division of the network. None for a worker without partitions.
    pub number: Option<usize>,
    pub owned: Vec<OwnedPartition<R>>,
    pub context: WorkerContext,
    /// Mail that a partition is about to receive, kept for its allocation.
    pub inbox: Mail,
}

impl<R: Routers> Worker<R> {
    /// Advances every partition in turn by a window. `mail` has a mailbox for each partition.
    pub fn run_until(&mut self, end: u64, mail: &[Mutex<Mail>]) {
        let many = self.owned.len() > 1;
        for OwnedPartition { index, partition } in &mut self.owned {
            std::mem::swap(&mut *lock(&mail[*index]), &mut self.inbox);
            if many {
                partition.before_window();
            }
            partition.take_in(&mut self.inbox);
            partition.run_until(end, &mut self.context);
            for (outgoing, there) in self.context.outbox.iter_mut().zip(mail) {
                if !outgoing.is_empty() {
                    outgoing.move_to(&mut lock(there));
                }
            }
        }
    }
}

/// Workers of one thread.
pub(super) struct Crew<R>(pub Vec<Worker<R>>);

impl<R: Routers> Crew<R> {
    pub fn partitions(&self) -> impl Iterator<Item = &Partition<R, NodeTraffic>> {
        self.0.iter().flat_map(|worker| &worker.owned).map(|owned| &owned.partition)
    }

    pub fn partitions_mut(&mut self) -> impl Iterator<Item = &mut Partition<R, NodeTraffic>> {
        self.0.iter_mut().flat_map(|worker| &mut worker.owned).map(|owned| &mut owned.partition)
    }
}
