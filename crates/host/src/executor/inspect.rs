//! State of an executor's ranks as seen from outside.

use crate::nic::BusParams;
use mpi::program::Interval;

use super::traced::MessageNotes;
use super::{Executor, PendingSend, Rank};
use crate::connections::ConnectionCounts;
use crate::credits::Credits;
use crate::local_ranks::LocalRank;
use crate::match_key::{ANY_SOURCE, MatchKey};
use crate::matching::Searches;
use crate::packet_parts::{HandedOver, PacketParts};
use crate::probes::Probing;
use crate::processor::BusyTimes;
use crate::report::{Completed, HostError, Progress, Released, Wait};

impl Executor {
    /// Returns the progress of the ranks.
    pub fn progress(&self) -> Progress {
        let is_busy = self.progress.is_busy || !self.pending.is_empty() || !self.nics.queues.is_empty();
        Progress { is_busy, ..self.progress }
    }

    /// Returns the time until which nothing happens here unless something arrives, in picoseconds. `u64::MAX`: no event
    /// is pending. `None`: a message waits to be sent, or the programs have not begun.
    pub fn idle_until(&self) -> Option<u64> {
        let is_idle = !self.progress.is_busy && self.nics.queues.is_empty();
        is_idle.then(|| self.pending.first().unwrap_or(u64::MAX))
    }

    /// Returns the times of a byte in the sending and in the receiving parts of an interface, in picoseconds
    /// ([`crate::PartParams::rates`]).
    pub fn part_rates(&self) -> [f64; 2] {
        self.interface.parts.rates(self.interface.packet)
    }

    /// Returns idle queues and interfaces equal to those of the nodes. Must be called before the programs begin.
    pub fn packet_parts(&self) -> PacketParts {
        PacketParts::of(&self.nics.parts, &self.nics.links, self.placed.nodes() * self.nics.rails.count() as usize)
    }

    /// Returns how the bytes of the last message come to the interface that has handed it over, for a network that takes
    /// messages whole and passes their packets through the parts.
    pub fn handed_over(&self) -> HandedOver {
        self.nics.handed
    }

    /// Sets the time at which the next arrival has passed the interface, in picoseconds, as such a network reports it.
    pub fn pass_at(&mut self, at: u64) {
        self.nics.passed_at = at;
    }

    /// Returns the host bus of a node.
    pub fn bus(&self) -> BusParams {
        self.interface.parts.bus
    }

    /// Returns the first error of the lowest rank, if the ranks cannot go on.
    pub fn error(&self) -> Option<&HostError> {
        self.error.as_ref()
    }

    /// Iterates over the ranks of this executor with the end of their last operation, in picoseconds. 0: the rank does
    /// nothing. `None`: it has not ended.
    pub fn ends(&self) -> impl Iterator<Item = (u32, Option<u64>)> + '_ {
        let of = |(&rank, state): (&u32, &Rank)| (rank, (state.open == 0).then_some(state.ended_at));
        self.placed.ranks().iter().zip(&self.ranks).map(of)
    }

    /// Returns the end of the last ended operation, in picoseconds. 0: none has ended.
    pub fn last_end(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.ended_at).max().unwrap_or(0)
    }

    /// Iterates over the ranks of this executor with the busy times of their processors. Library work counts only if it
    /// occupies processors.
    pub fn busy(&self) -> impl Iterator<Item = (u32, BusyTimes)> + '_ {
        self.placed.iter().map(|(local, rank)| (rank, self.processors.busy(local)))
    }

    /// Iterates over the ranks of this executor with the intervals that they have measured.
    pub fn intervals(&self) -> impl Iterator<Item = (u32, &[Interval])> + '_ {
        self.placed.ranks().iter().copied().zip(self.programs.intervals())
    }

    /// Passes the intervals that each rank of this executor has measured to `visit`, and clears them.
    pub fn take_intervals(&mut self, visit: &mut dyn FnMut(u32, &[Interval])) {
        for (&rank, intervals) in self.placed.ranks().iter().zip(self.programs.intervals()) {
            visit(rank, intervals);
        }
        (0..self.programs.len()).for_each(|rank| self.programs.forget_intervals(rank));
    }

    /// Returns the searches of the queues of posted receives, and of unexpected messages.
    pub fn searches(&self) -> [Searches; 2] {
        self.matching.searches
    }

    /// Returns the largest number of bytes of unexpected messages that a rank has held at a time.
    pub fn most_unexpected_bytes(&self) -> u64 {
        self.unexpected.most()
    }

    /// Returns the number of bytes copied in the memories of nodes.
    pub fn copied_bytes(&self) -> u64 {
        self.memories.copied()
    }

    /// Returns the sends that have started, less receives. Summed over all executors when all operations have ended:
    /// the messages that nobody has received.
    pub fn unmatched(&self) -> i64 {
        self.unmatched
    }

    /// Returns the number of sends that have waited for a credit.
    pub fn credit_waits(&self) -> u64 {
        self.credits.as_ref().map_or(0, Credits::waited)
    }

    /// Returns the numbers of connections of this executor's ranks and nodes.
    pub fn connections(&self) -> ConnectionCounts {
        self.nics.connections.counts(self.placed.first(), self.placed.node_of.len() as u32)
    }

    /// Returns the number of memory registrations made, and of messages that needed none.
    pub fn registrations(&self) -> (u64, u64) {
        self.nics.registrations.counts()
    }

    /// Returns the number of operations, and messages or progressions, held at present.
    pub fn outstanding(&self) -> usize {
        let compact = self.transit.as_ref().map_or(0, |transit| transit.compact.len() + transit.passing.len());
        let relayed = self.networks.as_ref().map_or(0, |own| own.relays.len());
        self.sends.len()
            + relayed
            + self.receives.len()
            + self.arrivals.len()
            + self.compact.completing.len()
            + self.probes.len()
            + compact
            + self.group_operations().0
    }

    /// Returns the largest number of operations, and messages or progressions, held so far. The maxima of the kinds may
    /// be at different times.
    pub fn places(&self) -> usize {
        let compact = self.transit.as_ref().map_or(0, |transit| transit.compact.places() + transit.passing.places());
        let relayed = self.networks.as_ref().map_or(0, |own| own.relays.places());
        self.sends.places()
            + relayed
            + self.receives.places()
            + self.arrivals.places()
            + self.compact.completing.places()
            + self.probes.places()
            + compact
            + self.group_operations().1
    }

    /// Returns the number of operations in the switches held at present, and the largest number so far.
    fn group_operations(&self) -> (usize, usize) {
        self.groups.as_ref().map_or((0, 0), |own| own.outstanding())
    }

    /// Returns the waiting ranks of this executor with the events that they wait for, in ascending order.
    pub fn waits(&self) -> Vec<(u32, Wait)> {
        let of = |(local, rank): (LocalRank, u32)| {
            let wait = |MatchKey { source, tag, context }| Wait::Message {
                from: (source != ANY_SOURCE).then_some(source),
                tag,
                context,
            };
            self.matching.waiting(local).map(move |key| (rank, wait(key)))
        };
        let probes = self.probes.waiting().map(|&Probing { op, key: MatchKey { source, tag, context }, .. }| {
            (op.rank, Wait::Probe { from: (source != ANY_SOURCE).then_some(source), tag, context })
        });
        let receives = self.placed.iter().flat_map(of);
        let sends = self.sends.iter().filter_map(
            |&PendingSend { op, to, tag, context, rendezvous, waiting_for_credit, .. }| match () {
                () if waiting_for_credit => Some((op.rank, Wait::Credit { to, tag, context })),
                () if rendezvous => Some((op.rank, Wait::Answer { to, tag, context })),
                () => None,
            },
        );
        let groups = self.groups.iter().flat_map(|own| own.waits());
        let mut all: Vec<_> = receives.chain(probes).chain(sends).chain(groups).collect();
        all.sort_unstable();
        all
    }

    /// Notes the times of messages that cross the network from now on.
    pub fn note_messages(&mut self) {
        self.records.notes = Some(MessageNotes::default());
    }

    /// Returns the released messages, and the arrived ones. Empty unless messages are noted.
    pub fn noted(&self) -> (&[Released], &[Completed]) {
        self.records.notes.as_ref().map_or((&[], &[]), |notes| (&notes.released, &notes.completed))
    }
}
