//! Exchange of mail between the processes of a run, after each window.
//!
//! A process exchanges with the processes with which it shares a channel, and with all others only if traffic is
//! notified of events: notices go from any node to any other. It sends one message to each peer, and waits for theirs.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use engine::{Exchange, Peer};
use fabric::{Mail, PartitionMap, Plan};

use super::lock;
use crate::machine::WindowTimes;

/// Returns the process that has the partitions of a worker. Consecutive workers share a process, and the numbers of
/// workers of two processes differ by at most one.
fn process_of(worker: usize, (workers, processes): (usize, usize)) -> usize {
    worker * processes / workers
}

/// Returns the partitions of each process, and of each worker of this one: at least one worker, which may have none.
pub(super) fn shares(map: &PartitionMap, exchange: &dyn Exchange) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let workers = (0..map.parts()).map(|part| map.worker(part)).max().map_or(1, |last| last + 1);
    let process = |part: usize| process_of(map.worker(part), (workers, exchange.size()));
    let first = |rank: usize| (0..map.parts()).find(|&part| process(part) >= rank).unwrap_or(map.parts());
    let of_processes: Vec<Range<usize>> = (0..exchange.size()).map(|rank| first(rank)..first(rank + 1)).collect();
    let own = &of_processes[exchange.rank()];
    let mut of_workers: Vec<Range<usize>> = map.workers().filter(|parts| own.contains(&parts.start)).collect();
    if of_workers.is_empty() {
        of_workers.push(own.clone());
    }
    (of_processes, of_workers)
}

/// Sends and receives the mail of this process.
#[derive(Debug)]
pub(super) struct Courier {
    exchange: Arc<dyn Exchange>,
    /// Mailboxes by partition. Those of other processes hold mail to be sent.
    mail: Arc<[Mutex<Mail>]>,
    peers: Vec<Peer>,
    /// Partitions of each peer.
    parts: Vec<Range<usize>>,
    times: WindowTimes,
    /// End of the last exchange, in seconds.
    since: f64,
}

impl Courier {
    /// Creates the courier of this process. `parts` holds the partitions of each process.
    pub fn new(
        exchange: &Arc<dyn Exchange>,
        mail: &Arc<[Mutex<Mail>]>,
        (plan, map): (&Plan, &PartitionMap),
        (parts, has_notices): (&[Range<usize>], bool),
    ) -> Self {
        let own = exchange.rank();
        let mut reached = vec![has_notices; parts.len()];
        for (from, to) in map.neighbors(plan) {
            if parts[own].contains(&from) {
                (0..parts.len()).filter(|&rank| parts[rank].contains(&to)).for_each(|rank| reached[rank] = true);
            }
        }
        reached[own] = false;
        let ranks = || (0..parts.len()).filter(|&rank| reached[rank]);
        Self {
            exchange: Arc::clone(exchange),
            mail: Arc::clone(mail),
            peers: ranks().map(|rank| Peer { rank, ..Peer::default() }).collect(),
            parts: ranks().map(|rank| parts[rank].clone()).collect(),
            times: WindowTimes::default(),
            since: 0.0,
        }
    }

    /// Returns the times of all windows so far.
    pub fn times(&self) -> WindowTimes {
        self.times
    }

    /// Begins a span of windows.
    pub fn begin(&mut self) {
        self.since = self.exchange.seconds();
    }

    /// Sends the mail of the last window, and takes in that of the peers.
    pub fn exchange(&mut self) {
        let worked = self.exchange.seconds();
        for (peer, parts) in self.peers.iter_mut().zip(&self.parts) {
            peer.outgoing.clear();
            for part in parts.clone() {
                let mut mail = lock(&self.mail[part]);
                if !mail.is_empty() {
                    units::Record::put(&(part as u32), &mut peer.outgoing);
                    mail.pack(&mut peer.outgoing);
                }
            }
        }
        self.times.bytes += self.peers.iter().map(|peer| peer.outgoing.len() as u64).sum::<u64>();
        let packed = self.exchange.seconds();
        let waited = self.exchange.swap(&mut self.peers);
        let swapped = self.exchange.seconds();
        for peer in &self.peers {
            if take_in(&peer.incoming, &self.mail).is_none() {
                self.exchange.fail(&format!("the mail of process {} cannot be read: are all of one build?", peer.rank));
            }
        }
        let ended = self.exchange.seconds();
        self.times.windows += 1;
        self.times.work += worked - self.since;
        self.times.pack += packed - worked + (ended - swapped);
        self.times.wait += waited;
        self.times.exchange += swapped - packed - waited;
        self.since = ended;
    }
}

/// Puts the mail of a message into its mailboxes. Returns `None` if the message is garbled.
fn take_in(mut message: &[u8], mail: &[Mutex<Mail>]) -> Option<()> {
    while !message.is_empty() {
        let part: u32 = units::Record::take(&mut message)?;
        lock(mail.get(part as usize)?).unpack(&mut message)?;
    }
    Some(())
}
