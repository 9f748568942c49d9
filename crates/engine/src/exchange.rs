//! Exchange between the processes of a run.
//!
//! Every process runs the same control flow and takes the same decisions, since it decides from sums over all
//! processes. So all processes make the same calls in the same order: each method is a collective operation.

use std::fmt::Debug;

use units::Record;

/// Communication between the processes of one run.
pub trait Exchange: Debug + Send + Sync {
    /// Returns the number of this process, from 0.
    fn rank(&self) -> usize;
    /// Returns the number of processes.
    fn size(&self) -> usize;
    /// Replaces each value by its sum over all processes, modulo 2^64. Signed numbers are sent in two's complement.
    fn sum(&self, values: &mut [u64]);
    /// Replaces each value by its maximum over all processes.
    fn max(&self, values: &mut [u64]);
    /// Sends the message of every peer, and receives one from each. Returns the seconds spent waiting. Requires that two
    /// processes name each other.
    fn swap(&self, peers: &mut [Peer]) -> f64;
    /// Returns the messages of all processes at process 0, in the order of ranks. Empty at other processes.
    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>>;
    /// Replaces the message by that of process 0.
    fn broadcast(&self, message: &mut Vec<u8>);
    /// Returns the wall-clock time in seconds since any fixed time, for reports only.
    fn seconds(&self) -> f64;
    /// Ends all processes with a message that names this one.
    fn fail(&self, message: &str) -> !;
}

/// Messages to and from a process that has channels to this one.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Rank of the process.
    pub rank: usize,
    /// Message to it.
    pub outgoing: Vec<u8>,
    /// Message from it.
    pub incoming: Vec<u8>,
}

/// Exchange of a run in one process: there is nothing to exchange.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Exchange for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&self, _values: &mut [u64]) {}

    fn max(&self, _values: &mut [u64]) {}

    fn swap(&self, _peers: &mut [Peer]) -> f64 {
        0.0
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        vec![own]
    }

    fn broadcast(&self, _message: &mut Vec<u8>) {}

    fn seconds(&self) -> f64 {
        0.0
    }

    fn fail(&self, message: &str) -> ! {
        std::panic::resume_unwind(Box::new(message.to_owned()))
    }
}

impl dyn Exchange + '_ {
    /// Whether the run has no other process.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Returns the sum of a number over all processes.
    pub fn total(&self, value: u64) -> u64 {
        let mut values = [value];
        self.sum(&mut values);
        values[0]
    }

    /// Returns the maximum of a number over all processes.
    pub fn largest(&self, value: u64) -> u64 {
        let mut values = [value];
        self.max(&mut values);
        values[0]
    }

    /// Replaces each value by its minimum over all processes.
    pub fn min(&self, values: &mut [u64]) {
        if !self.is_alone() {
            values.iter_mut().for_each(|value| *value = !*value);
            self.max(values);
            values.iter_mut().for_each(|value| *value = !*value);
        }
    }

    /// Returns the records of all processes at process 0, in the order of ranks. Empty at other processes.
    pub fn collect<T: Record>(&self, own: Vec<T>) -> Vec<T> {
        if self.is_alone() {
            return own;
        }
        let mut message = Vec::new();
        own.put(&mut message);
        self.gather(message).iter().flat_map(|message| self.read::<Vec<T>>(message)).collect()
    }

    /// Returns the records of all processes at every process, in the order of ranks.
    pub fn share<T: Record>(&self, own: Vec<T>) -> Vec<T> {
        if self.is_alone() {
            return own;
        }
        let all = self.collect(own);
        let mut message = Vec::new();
        all.put(&mut message);
        self.broadcast(&mut message);
        if self.rank() == 0 { all } else { self.read(&message) }
    }

    /// Reads a message of another process.
    pub fn read<T: Record>(&self, mut message: &[u8]) -> T {
        match T::take(&mut message) {
            Some(value) => value,
            None => self.fail("a message of another process cannot be read: are all of one build?"),
        }
    }
}
