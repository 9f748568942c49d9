//! Ranks in motion on a flat network: an executor for each thread, and the messages that they send one another.
//!
//! No partition learns of a message before it has arrived, which takes the delay of the network at least: that is the window of
//! lookahead. What is counted is counted as messages arrive.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Pool;
use engine::statistics::Histogram;
use fabric::{Actions, ArrivedMessage, Batch, MessageKey, Transmission, WaitingPacket};
use host::{Envelope, Executor, Flight, HostContext};
use topology::ChannelSource;
use units::{NodeId, PlaneId, Time};

use crate::machine::Machine;
use crate::network::Network;
use crate::series::Sample;
use crate::traffic::{Division, NodeTraffic};

/// Builds a machine of so many threads at most. `traffic` makes the traffic of a partition, of so many nodes from one on.
pub(crate) fn build(
    network: &Network,
    threads: usize,
    traffic: impl Fn(usize, &[u32], &Division) -> NodeTraffic,
) -> Box<dyn Machine> {
    let nodes = network.topology.nodes();
    let window = network.plan.link_delay(topology::ChannelClass::INJECTION);
    let parts = u32::try_from(threads.max(1)).map_or(nodes, |threads| threads.min(nodes)).min(MOST);
    let first = |part: u32| (u64::from(nodes) * u64::from(part) / u64::from(parts)) as u32;
    let own: Vec<Vec<u32>> = (0..parts).map(|part| (first(part)..first(part + 1)).collect()).collect();
    let division = Division::new(nodes, own.iter().map(Vec::as_slice), window);
    let mail: Arc<[Mutex<Vec<Flight>>]> = own.iter().map(|_| Mutex::default()).collect();
    let worker = |(part, nodes): (usize, &Vec<u32>)| Worker {
        part,
        traffic: traffic(part, nodes, &division),
        nodes: nodes.clone(),
        outbox: own.iter().map(|_| Vec::new()).collect(),
        partition_of: Arc::clone(&division.partition_of),
        inbox: Vec::new(),
        has_begun: false,
    };
    let workers: Vec<Worker> = own.iter().enumerate().map(worker).collect();
    let pool = Pool::new(workers, {
        let mail = Arc::clone(&mail);
        move |worker: &mut Worker, _start, end| worker.run_until(end, &mail)
    });
    // Alone, a partition need not stop before the end.
    let window = if parts == 1 { u64::MAX } else { window };
    Box::new(FlatMachine { pool, window, now: 0, counted: (0, 0) })
}

/// The most partitions: as many as other networks have.
const MOST: u32 = 1 << 10;

/// The ranks that one thread moves on.
struct Worker {
    part: usize,
    traffic: NodeTraffic,
    nodes: Vec<u32>,
    /// By partition, what is on its way there.
    outbox: Vec<Vec<Flight>>,
    partition_of: Arc<[u16]>,
    /// What is about to be taken in, kept for its memory.
    inbox: Vec<Flight>,
    has_begun: bool,
}

/// What an executor asks for that is another partition's matter.
struct Sending<'a> {
    outbox: &'a mut [Vec<Flight>],
    partition_of: &'a [u16],
}

impl HostContext for Sending<'_> {
    /// Nothing is polled: messages leave as they are handed over.
    fn wake(&mut self, _node: u32) {}

    /// The executor is asked to go on in any case.
    fn alarm(&mut self, _at: u64) {}

    /// A message announces itself.
    fn announce(&mut self, _node: u32, _envelope: Envelope) {}

    #[inline]
    fn carry(&mut self, node: u32, flight: Flight) {
        self.outbox[usize::from(self.partition_of[node as usize])].push(flight);
    }
}

impl Worker {
    /// Moves on to a time. `mail` has a box for each partition.
    fn run_until(&mut self, end: u64, mail: &[Mutex<Vec<Flight>>]) {
        std::mem::swap(&mut *lock(&mail[self.part]), &mut self.inbox);
        let Some(executor) = self.traffic.executor_mut() else { return };
        let mut around = Sending { outbox: &mut self.outbox, partition_of: &self.partition_of };
        self.inbox.drain(..).for_each(|flight| executor.take_in(flight));
        if !std::mem::replace(&mut self.has_begun, true) {
            executor.begin(0, &mut around);
        }
        executor.run_until(end, &mut around);
        for (outgoing, there) in self.outbox.iter_mut().zip(mail) {
            if !outgoing.is_empty() {
                lock(there).append(outgoing);
            }
        }
    }
}

/// The partitions of a run.
struct FlatMachine {
    pool: Pool<Worker>,
    window: u64,
    now: u64,
    /// Messages and bytes that have arrived before.
    counted: (u64, u64),
}

impl FlatMachine {
    /// Visits every executor, and the numbers of its nodes.
    fn each(&self, mut visit: impl FnMut(&mut Executor, &[u32])) {
        for mut worker in self.pool.workers() {
            let Worker { traffic, nodes, .. } = &mut *worker;
            if let Some(executor) = traffic.executor_mut() {
                visit(executor, nodes);
            }
        }
    }
}

impl Machine for FlatMachine {
    /// All is counted in the last batch, as delivered when it enters: nothing waits for credit, so that no standstill has to be
    /// recognised by batches without deliveries.
    fn advance(&mut self, until: u64, batch: u64) -> Vec<Vec<Batch>> {
        let mut counts = vec![Batch::default(); (until - self.now).div_ceil(batch) as usize];
        self.pool.run(self.now..until, self.window);
        self.now = until;
        let mut sum = (0, 0);
        self.each(|executor, _| {
            let Some(carried) = executor.carried() else { return };
            sum = (sum.0 + carried.messages, sum.1 + carried.bytes);
        });
        let before = std::mem::replace(&mut self.counted, sum);
        if let Some(last) = counts.last_mut() {
            let packets = sum.0 - before.0;
            *last = Batch { entered: packets, packets, bytes: sum.1 - before.1, ..Batch::default() };
        }
        vec![counts]
    }

    fn in_flight(&mut self) -> i64 {
        0
    }

    fn measure_from(&mut self, _job: usize, _start: u64) {}

    fn measure_until(&mut self, _job: usize, _end: u64) {}

    fn outstanding(&mut self, _job: usize, _end: u64) -> bool {
        false
    }

    fn by_source(&mut self, _job: usize) -> Vec<u64> {
        Vec::new()
    }

    fn progress_by_source(&mut self, _job: usize) -> Vec<u64> {
        Vec::new()
    }

    fn measured(&mut self, _job: usize) -> (Histogram, u64) {
        let mut all = Histogram::new();
        self.each(|executor, _| executor.carried().into_iter().for_each(|carried| all.merge(&carried.latency)));
        (all, 0)
    }

    fn note_arrivals(&mut self, _job: usize) {}

    fn arrivals(&mut self, _job: usize) -> Vec<u64> {
        Vec::new()
    }

    fn measure_messages(&mut self, _job: usize, _key: MessageKey) {}

    fn take_messages(&mut self, _job: usize) -> Vec<ArrivedMessage> {
        Vec::new()
    }

    /// Refused when the system is built: there are no queues to sample.
    fn sample_every(&mut self, _period: Time) {}

    fn samples(&mut self) -> Vec<Sample> {
        Vec::new()
    }

    fn channel_bytes(&self, _job: usize) -> Vec<(ChannelSource, u64)> {
        let mut bytes = Vec::new();
        self.each(|executor, nodes| {
            let sent = executor.carried().into_iter().flat_map(|carried| &carried.by_node);
            bytes.extend(
                nodes.iter().zip(sent).map(|(&node, &bytes)| (ChannelSource::Node(NodeId(node), PlaneId(0)), bytes)),
            );
        });
        bytes
    }

    /// Refused when the system is built: there are no channels that send packets.
    fn log_transmissions(&mut self, _job: usize) {}

    fn transmissions(&self) -> Option<Vec<(Transmission, ChannelSource)>> {
        None
    }

    fn visit_traffic(&self, visit: &mut dyn FnMut(&NodeTraffic)) {
        self.pool.workers().for_each(|worker| visit(&worker.traffic));
    }

    fn change_traffic(&mut self, _change: &mut dyn FnMut(&mut NodeTraffic, &mut Actions)) {}

    fn waiting(&self) -> Vec<WaitingPacket> {
        Vec::new()
    }

    fn check(&mut self) {}
}

/// A mailbox. Where its owner has died, the run is lost anyway.
fn lock(mail: &Mutex<Vec<Flight>>) -> MutexGuard<'_, Vec<Flight>> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
