//! State that the partitions of one thread share in sequence: counters, and outboxes.

use crate::counters::Counters;
use crate::index::{CreditId, InputId};
use crate::packet::Packet;
use crate::tag::GroupTag;
use crate::target::Member;
use crate::traffic::Notice;
use units::{Record, take_all};

/// State of the partition that is being advanced. It is shared so that it stays warm in the cache, and because some of
/// it is as large as the whole network.
#[derive(Clone, Debug, Default)]
pub struct WorkerContext {
    /// Counters.
    pub counters: Counters,
    /// Mail to each partition, exchanged at the end of the window.
    pub outbox: Vec<Mail>,
}
units::state!(WorkerContext { counters; rebuilt outbox });

impl WorkerContext {
    /// Creates the context for a division into `parts` partitions.
    pub fn new(counters: Counters, parts: usize) -> Self {
        Self { counters, outbox: (0..parts).map(|_| Mail::default()).collect() }
    }
}

/// Credit that returns to an output of another partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturningCredit {
    /// Time in ticks.
    pub at: u64,
    pub counter: CreditId,
    pub bytes: u32,
}

impl Record for ReturningCredit {
    fn put(&self, to: &mut Vec<u8>) {
        let (high, low) = (u64::from(self.counter.0), u64::from(self.bytes));
        (u128::from(self.at) << 64 | u128::from(high << 32 | low)).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let all = u128::take(from)?;
        Some(Self { at: (all >> 64) as u64, counter: CreditId((all >> 32) as u32), bytes: all as u32 })
    }
}

/// Mail to one partition.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    packets: Vec<Packet>,
    /// For each packet, the input that it comes to.
    inputs: Vec<InputId>,
    /// For each packet, the time at which its head has left the pipeline of its router, in ticks.
    heads: Vec<u64>,
    /// For each packet, the time from its head to its tail, in ticks. Empty if tails do not matter.
    times: Vec<u64>,
    /// For each packet, the mark that the traffic gave it. Empty unless deliveries are reported.
    marks: Vec<u32>,
    /// Destinations of the multicast packets, concatenated.
    members: Vec<Member>,
    /// For each multicast packet, the number of its destinations.
    set_sizes: Vec<u32>,
    /// Tags of the packets of groups' operations.
    tags: Vec<GroupTag>,
    credits: Vec<ReturningCredit>,
    /// Notices from traffic to traffic, with their arrival times in ticks.
    notices: Vec<(u64, Notice)>,
}
units::state!(Mail { packets, inputs, heads, times, marks, members, set_sizes, tags, credits, notices });

impl Mail {
    /// Adds a packet for an input: the time at which its head has left the pipeline there, and the time from there to its
    /// tail, if that matters.
    #[inline]
    pub(crate) fn packet(&mut self, (head, time): (u64, Option<u64>), input: InputId, packet: Packet) {
        self.packets.push(packet);
        self.inputs.push(input);
        self.heads.push(head);
        self.times.extend(time);
    }

    /// Adds the mark of the last packet.
    #[inline]
    pub(crate) fn mark(&mut self, mark: u32) {
        self.marks.push(mark);
    }

    /// Adds the destinations of the last packet, which is a multicast packet.
    pub(crate) fn members(&mut self, members: &[Member]) {
        self.members.extend_from_slice(members);
        self.set_sizes.push(members.len() as u32);
    }

    /// Adds the tag of the last packet, which belongs to a group's operation.
    pub(crate) fn tag(&mut self, tag: GroupTag) {
        self.tags.push(tag);
    }

    /// Iterates over the tags of the packets of groups' operations.
    pub(crate) fn tags(&self) -> impl Iterator<Item = GroupTag> + '_ {
        self.tags.iter().copied()
    }

    /// Iterates over the destinations of each multicast packet.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &[Member]> {
        self.set_sizes.iter().scan(&self.members[..], |rest, &size| {
            let (set, others) = rest.split_at(size as usize);
            *rest = others;
            Some(set)
        })
    }

    /// Returns the mark of a packet, by its number from 0, if packets are marked.
    #[inline]
    pub(crate) fn mark_of(&self, packet: usize) -> Option<u32> {
        self.marks.get(packet).copied()
    }

    /// Adds a notice that arrives at tick `at`.
    pub(crate) fn notice(&mut self, at: u64, notice: Notice) {
        self.notices.push((at, notice));
    }

    /// Iterates over the notices: time and content.
    pub(crate) fn notices(&self) -> impl Iterator<Item = (u64, Notice)> + '_ {
        self.notices.iter().copied()
    }

    /// Adds a credit.
    #[inline]
    pub(crate) fn credit(&mut self, at: u64, counter: CreditId, bytes: u32) {
        self.credits.push(ReturningCredit { at, counter, bytes });
    }

    /// Returns whether the mail is empty.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty() && self.notices.is_empty()
    }

    /// Moves all contents to `other`.
    pub fn move_to(&mut self, other: &mut Self) {
        other.packets.append(&mut self.packets);
        other.inputs.append(&mut self.inputs);
        other.heads.append(&mut self.heads);
        other.credits.append(&mut self.credits);
        // These lists are mostly empty, and there is one of each for every pair of partitions.
        move_if_any(&mut self.times, &mut other.times);
        move_if_any(&mut self.marks, &mut other.marks);
        move_if_any(&mut self.members, &mut other.members);
        move_if_any(&mut self.set_sizes, &mut other.set_sizes);
        move_if_any(&mut self.tags, &mut other.tags);
        move_if_any(&mut self.notices, &mut other.notices);
    }

    /// Appends all contents to a message for another process, and removes them.
    pub fn pack(&mut self, message: &mut Vec<u8>) {
        message.reserve(48 * self.packets.len() + 16 * self.credits.len());
        self.packets.put(message);
        self.inputs.put(message);
        self.heads.put(message);
        self.times.put(message);
        self.marks.put(message);
        self.members.put(message);
        self.set_sizes.put(message);
        self.tags.put(message);
        self.credits.put(message);
        self.notices.put(message);
        self.clear();
    }

    /// Adds the mail that `pack` has appended to a message, and removes it there. Returns `None` if it is garbled.
    pub fn unpack(&mut self, message: &mut &[u8]) -> Option<()> {
        take_all(message, &mut self.packets)?;
        take_all(message, &mut self.inputs)?;
        take_all(message, &mut self.heads)?;
        take_all(message, &mut self.times)?;
        take_all(message, &mut self.marks)?;
        take_all(message, &mut self.members)?;
        take_all(message, &mut self.set_sizes)?;
        take_all(message, &mut self.tags)?;
        take_all(message, &mut self.credits)?;
        take_all(message, &mut self.notices)
    }

    /// Iterates over the packets: each with its input, and the times of its head and from there to its tail.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Packet, InputId, (u64, u64))> + '_ {
        let times = self.times.iter().copied().chain(std::iter::repeat(0));
        let arrivals = self.inputs.iter().copied().zip(self.heads.iter().copied().zip(times));
        self.packets.iter().zip(arrivals).map(|(packet, (input, times))| (packet, input, times))
    }

    /// Iterates over the credits.
    pub(crate) fn credits(&self) -> impl Iterator<Item = ReturningCredit> + '_ {
        self.credits.iter().copied()
    }

    /// Removes all contents.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.inputs.clear();
        self.heads.clear();
        self.times.clear();
        self.marks.clear();
        self.members.clear();
        self.set_sizes.clear();
        self.tags.clear();
        self.credits.clear();
        self.notices.clear();
    }
}

/// Moves a list to the end of another.
#[inline(always)]
fn move_if_any<T>(from: &mut Vec<T>, to: &mut Vec<T>) {
    if !from.is_empty() {
        to.append(from);
    }
}

#[cfg(test)]
mod tests {
    use routing::RouteState;
    use units::NodeId;

    use super::*;
    use crate::tag::TreeStage;
    use crate::target::{TreePacket, TreeWork};
    use crate::traffic::NoticeContent;

    #[test]
    fn mail_to_another_process_arrives_as_it_was_sent() {
        // Would catch a list or a field that is left out, and mail that is mixed up with the next.
        let mut mail = Mail::default();
        let mut packet = Packet::new(7, 9, NodeId(11), (RouteState(13), 256));
        (packet.hops, packet.out) = (3, 5);
        packet.leave_by(4, 2);
        mail.packet((100, Some(20)), InputId(17), packet);
        mail.mark(23);
        packet.set_destinations(6);
        mail.packet((101, Some(21)), InputId(18), packet);
        mail.mark(24);
        mail.members(&[
            Member { node: NodeId(1), state: RouteState(2) },
            Member { node: NodeId(3), state: RouteState(4) },
        ]);
        let work = TreeWork::CombineFor(NodeId(8));
        let of = TreePacket { tree: 1, segment: 2, work, owners: true, contributions: 3, value: 4, element: 5 };
        mail.tag(GroupTag { of, from: NodeId(6), stage: TreeStage::Combining, unit: 7, port: 8 });
        mail.credit(30, CreditId(31), 32);
        for content in [NoticeContent::Acknowledged(40), NoticeContent::Announced([1, 2, 3, 4, 5, 6, 7, 8, 9])] {
            mail.notice(41, Notice { to: NodeId(42), from: NodeId(43), flow_id: 44, content });
        }
        let sent = format!("{mail:?}");
        let mut message = Vec::new();
        mail.pack(&mut message);
        assert!(mail.is_empty());
        mail.credit(1, CreditId(2), 3);
        mail.pack(&mut message);
        let (mut arrived, mut rest) = (Mail::default(), &message[..]);
        arrived.unpack(&mut rest).unwrap();
        assert_eq!(format!("{arrived:?}"), sent);
        arrived.unpack(&mut rest).unwrap();
        assert_eq!((arrived.credits().count(), rest.len()), (2, 0));
        assert!(arrived.unpack(&mut &message[..message.len() / 2]).is_none());
    }
}
