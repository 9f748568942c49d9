//! A system in motion: its partitions, and how they are moved on together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::run_windows;
use engine::statistics::Histogram;
use fabric::catalogue::RouterSpec;
use fabric::routers::Routers;
use fabric::routers::output_queued::OutputQueued;
use fabric::routers::switched::Switched;
use fabric::routers::voq::VirtualOutputQueued;
use fabric::{Batch, Fabric, Mail, Partition, PartitionMap, Tally, WaitingPacket};
use host::Executor;
use topology::ChannelSource;

use crate::system::System;
use crate::traffic::NodeTraffic;

/// A running system, whatever its routers are.
pub(crate) trait Machine {
    /// Moves on to a time, in ticks.
    fn advance(&mut self, until: u64);
    /// Packets in the network.
    fn in_flight(&mut self) -> i64;
    /// Counts since the last call, of all partitions.
    fn take_batch(&mut self) -> Batch;
    /// Measures packets born from a time on, and counts bytes by source and by channel from now on.
    fn measure_from(&mut self, start: u64);
    /// Measures no packets born from a time on.
    fn measure_until(&mut self, end: u64);
    /// Measured packets that have not arrived: those in the network, and whether any is still at its source.
    fn outstanding(&mut self, end: u64) -> bool;
    /// Bytes delivered of each source since `measure_from`.
    fn by_source(&mut self) -> Vec<u64>;
    /// How far each source has come in what it has generated: the birth of the packet at the head of its queue, or the
    /// present if it has none that is due.
    fn progress_by_source(&self) -> Vec<u64>;
    /// Latencies of measured packets, and the routers that they have traversed, summed.
    fn measured(&mut self) -> (Histogram, u64);
    /// Notes from now on when packets arrive.
    fn note_arrivals(&mut self);
    /// By node, when the last packet has arrived, since `note_arrivals`; 0 if none has.
    fn arrivals(&mut self) -> Vec<u64>;
    /// Bytes sent on each channel since `measure_from`.
    fn channel_bytes(&self) -> Vec<(ChannelSource, u64)>;
    /// The ranks of each partition, if the traffic is theirs.
    fn executors(&self) -> Vec<&Executor>;
    /// Every packet that waits at the front of a queue.
    fn waiting(&self) -> Vec<WaitingPacket>;
}

/// Builds the machine of a system, divided over threads. `traffic` makes the traffic of some nodes.
pub(crate) fn build(system: &System, threads: usize, traffic: impl Fn(&[u32]) -> NodeTraffic) -> Box<dyn Machine> {
    let map = PartitionMap::new(&*system.topology, threads);
    let traffic = (0..map.parts()).map(|part| traffic(map.nodes(part))).collect();
    let parts = Division { system, map, traffic };
    match &system.spec.router {
        RouterSpec::OutputQueued(spec) => parts.of(|fabric| OutputQueued::new(fabric, spec)),
        RouterSpec::InputQueued(spec) => parts.of(|fabric| Switched::input_queued(fabric, spec)),
        RouterSpec::VirtualOutputQueued(spec) => parts.of(|fabric| VirtualOutputQueued::new(fabric, spec)),
        RouterSpec::InputOutputQueued(spec) => parts.of(|fabric| Switched::input_output_queued(fabric, spec)),
    }
}

/// A system about to be built, part by part.
struct Division<'a> {
    system: &'a System,
    map: PartitionMap,
    traffic: Vec<NodeTraffic>,
}

impl Division<'_> {
    fn of<R: Routers + 'static>(self, routers: impl Fn(&Fabric) -> R) -> Box<dyn Machine> {
        let Self { system, map, traffic } = self;
        let member = |(index, traffic)| Member {
            index,
            partition: Partition::new(&system.plan, &map, index, &routers, traffic),
        };
        let boxes = || (0..map.parts() * map.parts()).map(|_| Mutex::default()).collect();
        Box::new(Parts {
            members: traffic.into_iter().enumerate().map(member).collect(),
            mail: [boxes(), boxes()],
            nodes: system.topology.nodes() as usize,
            window: system.plan.window(),
            snapshots: system.plan.snapshot_period(),
            channels: system.plan.output_channels(),
            now: 0,
            parity: 0,
        })
    }
}

/// A partition and its number.
struct Member<R> {
    index: usize,
    partition: Partition<R, NodeTraffic>,
}

/// The partitions of a run.
struct Parts<R> {
    members: Vec<Member<R>>,
    /// By parity of the window, then by receiver and sender.
    mail: [Vec<Mutex<Mail>>; 2],
    nodes: usize,
    window: u64,
    /// How often the routing has the network's congestion looked at, if it does, and over how many channels.
    snapshots: Option<u64>,
    channels: usize,
    now: u64,
    parity: usize,
}

impl<R: Routers> Parts<R> {
    fn tallies(&mut self) -> impl Iterator<Item = &mut Tally> {
        self.members.iter_mut().map(|member| member.partition.tally())
    }

    /// Lets all partitions see how congested the channels of all are now.
    fn take_snapshot(&mut self) {
        let mut snapshot = vec![0; self.channels];
        for member in &self.members {
            member.partition.fabric().look_at_congestion(&mut snapshot);
        }
        let snapshot = Arc::new(snapshot);
        for member in &mut self.members {
            member.partition.take_snapshot(Arc::clone(&snapshot));
        }
    }

    fn run_until(&mut self, until: u64) {
        let parts = self.members.len();
        let mail = &self.mail;
        let step = |member: &mut Member<R>, _start: u64, end: u64, parity: usize| {
            for other in 0..parts {
                member.partition.take_in(&mut lock(&mail[parity ^ 1][member.index * parts + other]));
            }
            member.partition.run_until(end);
            for other in (0..parts).filter(|&other| other != member.index) {
                // The box is empty: its receiver has taken in what the window before the last one left.
                let mut there = lock(&mail[parity][other * parts + member.index]);
                std::mem::swap(&mut *there, member.partition.outbox(other));
            }
        };
        self.parity = run_windows(&mut self.members, self.now..until, self.window, self.parity, step);
        self.now = until;
    }
}

impl<R: Routers> Machine for Parts<R> {
    fn advance(&mut self, until: u64) {
        let Some(period) = self.snapshots else { return self.run_until(until) };
        while self.now < until {
            if self.now.is_multiple_of(period) {
                self.take_snapshot();
            }
            self.run_until(until.min((self.now / period + 1) * period));
        }
    }

    fn in_flight(&mut self) -> i64 {
        self.tallies().map(|tally| tally.in_flight).sum()
    }

    fn take_batch(&mut self) -> Batch {
        let mut sum = Batch::default();
        for tally in self.tallies() {
            sum.add(&tally.take_batch());
        }
        sum
    }

    fn measure_from(&mut self, start: u64) {
        for member in &mut self.members {
            member.partition.clear_channels();
        }
        for tally in self.tallies() {
            tally.measure(start..u64::MAX);
            tally.clear_sources();
        }
    }

    fn measure_until(&mut self, end: u64) {
        for tally in self.tallies() {
            tally.measure_until(end);
        }
    }

    fn outstanding(&mut self, end: u64) -> bool {
        let in_network: i64 = self.tallies().map(|tally| tally.measured_in_flight).sum();
        in_network > 0 || self.members.iter().any(|m| m.partition.next_births().any(|(_, birth)| birth < end))
    }

    fn by_source(&mut self) -> Vec<u64> {
        let mut tallies = self.tallies();
        let mut sum = tallies.next().map(|tally| tally.by_source.clone()).unwrap_or_default();
        for tally in tallies {
            for (all, part) in sum.iter_mut().zip(&tally.by_source) {
                *all += part;
            }
        }
        sum
    }

    fn progress_by_source(&self) -> Vec<u64> {
        let mut births = vec![self.now; self.nodes];
        for (node, birth) in self.members.iter().flat_map(|member| member.partition.next_births()) {
            births[node.index()] = birth.min(self.now);
        }
        births
    }

    fn measured(&mut self) -> (Histogram, u64) {
        let mut all = Histogram::new();
        let mut hops = 0;
        for tally in self.tallies() {
            all.merge(&tally.latency);
            hops += tally.hops;
        }
        (all, hops)
    }

    fn note_arrivals(&mut self) {
        self.tallies().for_each(Tally::note_arrivals);
    }

    fn arrivals(&mut self) -> Vec<u64> {
        let mut latest = vec![0_u64; self.nodes];
        for tally in self.tallies() {
            for (all, &part) in latest.iter_mut().zip(tally.arrivals()) {
                *all = part.max(*all);
            }
        }
        latest
    }

    fn channel_bytes(&self) -> Vec<(ChannelSource, u64)> {
        self.members.iter().flat_map(|member| member.partition.channel_bytes()).collect()
    }

    fn executors(&self) -> Vec<&Executor> {
        self.members.iter().filter_map(|member| member.partition.traffic().executor()).collect()
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        self.members.iter().flat_map(|member| member.partition.waiting_packets()).collect()
    }
}

/// A mailbox. One whose owner has died is as good as any: the run is lost anyway.
fn lock(mail: &Mutex<Mail>) -> MutexGuard<'_, Mail> {
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}
