//! State of a packet machine, for checkpoints: what all processes share, and the state of each worker.
//!
//! A worker is saved with its counters, its partitions and the mail that they have not taken in. Between two windows,
//! there is no other mail.

use std::sync::Arc;

use fabric::routers::Routers;
use units::State;

use super::worker::{OwnedPartition, Worker};
use super::{FabricMachine, lock};
use crate::machine::CheckpointedMachine;
use crate::model::DivisionRule;

impl<R: Routers + 'static> FabricMachine<R> {
    /// Visits the worker with a number. None if it is of another process.
    fn with_worker<T>(&self, number: usize, visit: impl FnOnce(&mut Worker<R>) -> T) -> Option<T> {
        for mut crew in self.pool.workers() {
            if let Some(worker) = crew.0.iter_mut().find(|worker| worker.number == Some(number)) {
                return Some(visit(worker));
            }
        }
        None
    }
}

impl<R: Routers + 'static> CheckpointedMachine for FabricMachine<R> {
    fn division(&self) -> DivisionRule {
        self.division
    }

    fn workers(&self) -> Vec<usize> {
        let numbers = |crew: &[Worker<R>]| crew.iter().filter_map(|worker| worker.number).collect::<Vec<usize>>();
        self.pool.workers().flat_map(|crew| numbers(&crew.0)).collect()
    }

    fn save_common(&self, to: &mut Vec<u8>) {
        let Self { timeline, samples, delivered, congestion, now, advances, .. } = self;
        timeline.save(to);
        samples.save(to);
        delivered.save(to);
        congestion[0].to_vec().save(to);
        (*now, *advances).save(to);
    }

    fn load_common(&mut self, from: &mut &[u8]) -> Option<()> {
        let Self { timeline, samples, delivered, congestion, now, advances, .. } = self;
        timeline.load(from)?;
        samples.load(from)?;
        delivered.load(from)?;
        Arc::make_mut(&mut congestion[0]).load(from)?;
        now.load(from)?;
        advances.load(from)?;
        for mut crew in self.pool.workers() {
            crew.partitions_mut().for_each(|partition| partition.take_snapshot(Arc::clone(&self.congestion[0])));
        }
        Some(())
    }

    fn save_worker(&self, number: usize, to: &mut Vec<u8>) {
        self.with_worker(number, |worker| {
            worker.context.save(to);
            for OwnedPartition { index, partition } in &worker.owned {
                lock(&self.mail[*index]).save(to);
                partition.save(to);
            }
        });
    }

    fn load_worker(&mut self, number: usize, from: &mut &[u8]) -> Option<()> {
        self.with_worker(number, |worker| {
            worker.context.load(from)?;
            for OwnedPartition { index, partition } in &mut worker.owned {
                lock(&self.mail[*index]).load(from)?;
                partition.load(from)?;
            }
            Some(())
        })?
    }
}
