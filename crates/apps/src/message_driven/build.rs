//! Construction of entries, messages and deliveries from a task graph and the ranks of its tasks.

use super::entries::{EntryKind, EntryMethod, EntryOutput, MessageDriven, NONE};
use super::served::ServedBuilder;
use super::table::Rows;
use super::{DrivenError, DrivenSpec};
use tasks::{Group, GroupKind, Phase, TaskGraph};

/// Largest number of messages and deliveries of an iteration. Their rows are counted in 32 bits.
const MOST: u64 = 1 << 31;

impl MessageDriven {
    /// Builds the program of a task graph.
    ///
    /// # Errors
    /// If the number of messages exceeds the limit, or exceeds what tags can distinguish.
    pub fn new(graph: &TaskGraph, spec: &DrivenSpec<'_>) -> Result<Self, DrivenError> {
        if deliveries(graph) > MOST {
            return Err(DrivenError::TooLarge);
        }
        let mut builder = Builder::new(graph, spec);
        for (phase, number) in graph.phases.iter().zip(0..) {
            builder.arcs(phase, number);
            phase.groups.iter().filter(|group| group.bytes > 0).for_each(|group| builder.group(group, number));
        }
        builder.chain();
        builder.finish()
    }
}

/// Returns an upper bound of the messages and deliveries of an iteration. Entries number at most that plus twice the
/// tasks.
fn deliveries(graph: &TaskGraph) -> u64 {
    let arcs = |phase: &Phase| phase.arcs.messages().iter().map(|&count| u64::from(count)).sum::<u64>();
    let groups = |phase: &Phase| phase.groups.iter().map(|group| group.members.len() as u64).sum::<u64>();
    let sent = graph.phases.iter().map(|phase| arcs(phase) + 2 * groups(phase)).sum::<u64>();
    sent + 2 * u64::from(graph.tasks())
}

/// Returns the phases in which each task receives, in ascending order.
fn receiving_phases(graph: &TaskGraph) -> Rows<u32> {
    let mut last = vec![NONE; graph.tasks() as usize];
    let mut receives = Vec::new();
    for (phase, number) in graph.phases.iter().zip(0..) {
        let mut note = |task: u32| {
            if std::mem::replace(&mut last[task as usize], number) != number {
                receives.push((task, number));
            }
        };
        phase.arcs.targets().iter().copied().for_each(&mut note);
        for group in phase.groups.iter().filter(|group| group.bytes > 0) {
            match group.kind {
                GroupKind::Multicast => group.members.iter().copied().for_each(&mut note),
                GroupKind::Reduction if group.members.is_empty() => {}
                GroupKind::Reduction => note(group.root),
            }
        }
    }
    Rows::new(last.len(), receives)
}

struct Builder<'a> {
    spec: &'a DrivenSpec<'a>,
    /// Phases in which each task receives, and its first entry.
    receives: Rows<u32>,
    base: Vec<u32>,
    /// Entries with their ranks.
    entries: Vec<(u32, EntryMethod)>,
    sent: Vec<(u32, EntryOutput)>,
    local: Vec<(u32, u32)>,
    /// Deliveries: rank, number of the message there, and the entry that it is delivered to.
    delivered: Vec<(u32, u32, u32)>,
    /// Messages to each rank: number of distinct tags, and number of messages.
    numbers: Vec<u32>,
    coming: Vec<u64>,
    served: ServedBuilder<'a>,
}

impl<'a> Builder<'a> {
    /// Creates the entries of all objects.
    fn new(graph: &TaskGraph, spec: &'a DrivenSpec<'a>) -> Self {
        let mut builder = Self {
            spec,
            receives: receiving_phases(graph),
            base: Vec::with_capacity(graph.loads.len()),
            entries: Vec::new(),
            sent: Vec::new(),
            local: Vec::new(),
            delivered: Vec::new(),
            numbers: vec![0; spec.ranks as usize],
            coming: vec![0; spec.ranks as usize],
            served: ServedBuilder::new(spec.interconnect),
        };
        for (task, load) in (0..).zip(&graph.loads) {
            builder.object(task, (load * spec.time_per_load).round() as u64);
        }
        builder
    }

    /// Creates the entries of an object with a computation time, in picoseconds.
    fn object(&mut self, task: u32, time: u64) {
        let (rank, base) = (self.spec.rank_of[task as usize], self.entries.len() as u32);
        let methods = self.receives.of(task).len() as u32;
        self.base.push(base);
        // Time passed after `method` entry methods. Rounding to picoseconds keeps the total exact.
        let passed = |method: u32| (u128::from(time) * u128::from(method) / u128::from(methods.max(1))) as u64;
        let again = |is_last: bool| if is_last { base } else { NONE };
        let begins = if methods == 0 { time } else { 0 };
        let begin = EntryMethod { kind: EntryKind::Begin, need: 1, time: begins, again: again(methods == 0) };
        self.entries.push((rank, begin));
        for method in 0..methods {
            let time = passed(method + 1) - passed(method);
            let entry = EntryMethod { kind: EntryKind::Method, need: 1, time, again: again(method + 1 == methods) };
            self.entries.push((rank, entry));
        }
    }

    /// Returns the entry after which an object sends its messages of a phase.
    fn sender(&self, task: u32, phase: u32) -> u32 {
        self.base[task as usize] + self.receives.of(task).partition_point(|&received| received < phase) as u32
    }

    /// Returns the entry method that waits for an object's messages of a phase.
    fn receiver(&self, task: u32, phase: u32) -> u32 {
        self.sender(task, phase) + 1
    }

    fn rank(&self, task: u32) -> u32 {
        self.spec.rank_of[task as usize]
    }

    /// Adds a delivery from an entry to another entry of its rank.
    fn deliver(&mut self, from: u32, to: u32) {
        self.local.push((from, to));
        self.entries[to as usize].1.need += 1;
    }

    /// Adds messages from an entry to a rank, delivered to some entries there.
    fn send(&mut self, from: u32, rank: u32, (count, bytes): (u32, u64), entries: &[u32]) {
        let number = self.numbers[rank as usize];
        self.numbers[rank as usize] += 1;
        self.coming[rank as usize] += u64::from(count);
        self.sent.push((from, EntryOutput::Messages { to: rank, number, count, bytes }));
        for &entry in entries {
            self.delivered.push((rank, number, entry));
            self.entries[entry as usize].1.need += count;
        }
    }

    /// Adds the messages between pairs of tasks in a phase.
    fn arcs(&mut self, phase: &Phase, number: u32) {
        for task in 0..self.base.len() as u32 {
            let range = phase.arcs.range(task);
            let (from, rank, arcs) = (self.sender(task, number), self.rank(task), range.len());
            for arc in (0..arcs).map(|arc| range.start + (arc + task as usize) % arcs) {
                let (target, bytes) = (phase.arcs.targets()[arc], phase.arcs.bytes()[arc]);
                let to = self.receiver(target, number);
                if self.rank(target) == rank {
                    self.deliver(from, to);
                } else {
                    let count = u64::from(phase.arcs.messages()[arc]).min(bytes).max(1) as u32;
                    self.send(from, self.rank(target), (count, bytes), &[to]);
                }
            }
        }
    }

    /// Adds a multicast or a reduction of a phase.
    fn group(&mut self, group: &Group, phase: u32) {
        let mut members: Vec<(u32, u32)> = group.members.iter().map(|&member| (self.rank(member), member)).collect();
        members.sort_unstable();
        let ranks = members.iter().map(|member| member.0);
        let served = self.served.serve(group, ranks, self.rank(group.root));
        if let (Some(served), GroupKind::Multicast) = (served, group.kind) {
            self.sent.push((self.sender(group.root, phase), EntryOutput::Operation(served)));
        }
        if let (Some(served), GroupKind::Reduction) = (served, group.kind) {
            let to = self.receiver(group.root, phase);
            self.add_source(served, self.rank(group.root), &[to]);
        }
        let parts: Vec<&[(u32, u32)]> = members.chunk_by(|one, other| one.0 == other.0).collect();
        for part in (0..parts.len()).map(|part| parts[(part + group.root as usize) % parts.len()]) {
            let tasks: Vec<u32> = part.iter().map(|&(_, member)| member).collect();
            match group.kind {
                GroupKind::Multicast => self.multicast(group, phase, served, &tasks),
                GroupKind::Reduction => self.reduce(group, phase, served, &tasks),
            }
        }
    }

    /// Adds the part of a multicast that reaches the members on one rank.
    fn multicast(&mut self, group: &Group, phase: u32, served: Option<u32>, members: &[u32]) {
        let (from, rank) = (self.sender(group.root, phase), self.rank(members[0]));
        let entries: Vec<u32> = members.iter().map(|&member| self.receiver(member, phase)).collect();
        match served {
            _ if rank == self.rank(group.root) => entries.into_iter().for_each(|to| self.deliver(from, to)),
            Some(served) => self.add_source(served, rank, &entries),
            None => self.send(from, rank, (1, group.bytes), &entries),
        }
    }

    /// Adds a result of an in-switch operation for a rank, delivered to some entries there.
    fn add_source(&mut self, served: u32, rank: u32, entries: &[u32]) {
        self.served.add_source(served, rank, entries);
        entries.iter().for_each(|&entry| self.entries[entry as usize].1.need += 1);
    }

    /// Adds the contributions of a reduction's members on one rank.
    fn reduce(&mut self, group: &Group, phase: u32, served: Option<u32>, members: &[u32]) {
        let (to, rank, root) = (self.receiver(group.root, phase), self.rank(members[0]), self.rank(group.root));
        let contributing: Vec<u32> = members.iter().map(|&member| self.sender(member, phase)).collect();
        if rank == root {
            contributing.into_iter().for_each(|from| self.deliver(from, to));
            return;
        }
        let from = match contributing[..] {
            [only] => only,
            _ => {
                let combine = self.entries.len() as u32;
                self.entries.push((rank, EntryMethod { kind: EntryKind::Combine, need: 0, time: 0, again: NONE }));
                contributing.into_iter().for_each(|from| self.deliver(from, combine));
                combine
            }
        };
        match served {
            Some(served) => self.sent.push((from, EntryOutput::Operation(served))),
            None => self.send(from, root, (1, group.bytes), &[to]),
        }
    }

    /// Makes every entry method wait for the previous one, whose messages have been sent by then. A begin waits for the
    /// previous iteration.
    fn chain(&mut self) {
        for task in 0..self.base.len() as u32 {
            let base = self.base[task as usize];
            (base..base + self.receives.of(task).len() as u32).for_each(|entry| self.local.push((entry, entry + 1)));
        }
    }

    /// Numbers the entries of all ranks consecutively, by rank.
    fn finish(self) -> Result<MessageDriven, DrivenError> {
        let DrivenSpec { ranks, iterations, .. } = *self.spec;
        for (rank, &messages) in (0..).zip(&self.numbers) {
            if u64::from(messages) * u64::from(iterations) > 1 << 32 {
                return Err(DrivenError::Tags { rank, messages, iterations });
            }
        }
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_by_key(|&entry| self.entries[entry as usize].0);
        let mut number = vec![0_u32; order.len()];
        (0..).zip(&order).for_each(|(new, &old)| number[old as usize] = new);
        let new = |entry: u32| if entry == NONE { NONE } else { number[entry as usize] };
        let renumbered = |&old: &u32| {
            let entry = self.entries[old as usize].1;
            EntryMethod { again: new(entry.again), ..entry }
        };
        let entries: Vec<EntryMethod> = order.iter().map(renumbered).collect();
        let mut counts = vec![0_u32; ranks as usize];
        self.entries.iter().for_each(|&(rank, _)| counts[rank as usize] += 1);
        let first_message = firsts(&self.numbers);
        let place = |(rank, message, entry): (u32, u32, u32)| (first_message[rank as usize] + message, new(entry));
        let delivered = self.delivered.into_iter().map(place).collect();
        let messages = self.coming.iter().sum();
        let largest = self.sent.iter().map(|(_, sent)| match *sent {
            EntryOutput::Messages { count, bytes, .. } => bytes.div_ceil(u64::from(count)),
            EntryOutput::Operation(_) => 0,
        });
        let largest = largest.max().unwrap_or(0);
        let served = self.served.finish(ranks as usize, new);
        Ok(MessageDriven {
            iterations,
            first: firsts(&counts),
            sent: Rows::new(entries.len(), self.sent.into_iter().map(|(from, sent)| (new(from), sent)).collect()),
            local: Rows::new(entries.len(), self.local.into_iter().map(|(from, to)| (new(from), new(to))).collect()),
            delivered: Rows::new(first_message.last().map_or(0, |&count| count as usize), delivered),
            entries,
            first_message,
            coming: self.coming,
            largest,
            messages,
            served,
        })
    }
}

/// Returns the start of each of several consecutive ranges, and the end of the last.
fn firsts(counts: &[u32]) -> Vec<u32> {
    let mut firsts = vec![0];
    firsts.extend(counts.iter().scan(0, |sum: &mut u32, &count| {
        *sum += count;
        Some(*sum)
    }));
    firsts
}
