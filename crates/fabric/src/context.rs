//! What the partitions of one thread use in turn: the place where they count, and where they leave what they send.

use crate::counters::Counters;
use crate::packet::Packet;
use crate::tag::GroupTag;
use crate::target::Member;
use crate::traffic::Notice;

/// What the partition has that is being moved on. Shared so that it stays warm, and because some of it is as large as the
/// whole network.
#[derive(Debug, Default)]
pub struct WorkerContext {
    /// What has been counted.
    pub counters: Counters,
    /// What is to be sent to each partition at the end of the window.
    pub outbox: Vec<Mail>,
}

impl WorkerContext {
    /// For the partitions of a division into so many.
    pub fn new(counters: Counters, parts: usize) -> Self {
        Self { counters, outbox: (0..parts).map(|_| Mail::default()).collect() }
    }
}

/// What is sent to one partition.
#[derive(Debug, Default)]
pub struct Mail {
    packets: Vec<Packet>,
    /// For each packet the input that it comes to, (port, virtual channel) in one number,
    inputs: Vec<u32>,
    /// when its head is there, in ticks,
    heads: Vec<u64>,
    /// and how long after it its tail is, if that matters; else empty.
    times: Vec<u64>,
    /// For each packet what the traffic has marked it with, if deliveries are reported; else empty.
    marks: Vec<u32>,
    /// The members of the packets that are for several nodes, one after the other,
    members: Vec<Member>,
    /// and for each of these packets how many they are.
    set_sizes: Vec<u32>,
    /// What the packets of groups' operations carry, one for each.
    tags: Vec<GroupTag>,
    /// Credits: time, counter, bytes.
    credits: Vec<(u64, u32, u32)>,
    /// Notices from traffic to traffic: when they come, in ticks, and what they say.
    notices: Vec<(u64, Notice)>,
}

impl Mail {
    /// Adds a packet that will be at an input: when its head is there, and how long after it its tail, if that matters.
    #[inline]
    pub(crate) fn packet(&mut self, (head, time): (u64, Option<u64>), input: u32, packet: Packet) {
        self.packets.push(packet);
        self.inputs.push(input);
        self.heads.push(head);
        self.times.extend(time);
    }

    /// Adds what the packet added last is marked with.
    #[inline]
    pub(crate) fn mark(&mut self, mark: u32) {
        self.marks.push(mark);
    }

    /// Adds the nodes that the packet added last is for, which are several.
    pub(crate) fn members(&mut self, members: &[Member]) {
        self.members.extend_from_slice(members);
        self.set_sizes.push(members.len() as u32);
    }

    /// Adds what the packet added last carries of a group's operation.
    pub(crate) fn tag(&mut self, tag: GroupTag) {
        self.tags.push(tag);
    }

    /// What each packet of a group's operation carries.
    pub(crate) fn tags(&self) -> impl Iterator<Item = GroupTag> + '_ {
        self.tags.iter().copied()
    }

    /// The nodes of each packet that is for several.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &[Member]> {
        self.set_sizes.iter().scan(&self.members[..], |rest, &size| {
            let (set, others) = rest.split_at(size as usize);
            *rest = others;
            Some(set)
        })
    }

    /// What the packet of a number, from 0, is marked with, if packets are.
    #[inline]
    pub(crate) fn mark_of(&self, packet: usize) -> Option<u32> {
        self.marks.get(packet).copied()
    }

    /// Adds a notice that comes at a time, in ticks.
    pub(crate) fn notice(&mut self, at: u64, notice: Notice) {
        self.notices.push((at, notice));
    }

    /// The notices: time and content.
    pub(crate) fn notices(&self) -> impl Iterator<Item = (u64, Notice)> + '_ {
        self.notices.iter().copied()
    }

    /// Adds a credit.
    #[inline]
    pub(crate) fn credit(&mut self, at: u64, counter: u32, bytes: u32) {
        self.credits.push((at, counter, bytes));
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty() && self.notices.is_empty()
    }

    /// Moves all that there is to another one.
    pub fn move_to(&mut self, other: &mut Self) {
        other.packets.append(&mut self.packets);
        other.inputs.append(&mut self.inputs);
        other.heads.append(&mut self.heads);
        other.credits.append(&mut self.credits);
        // Of all this there is mostly nothing, and there are as many lists as pairs of partitions.
        move_if_any(&mut self.times, &mut other.times);
        move_if_any(&mut self.marks, &mut other.marks);
        move_if_any(&mut self.members, &mut other.members);
        move_if_any(&mut self.set_sizes, &mut other.set_sizes);
        move_if_any(&mut self.tags, &mut other.tags);
        move_if_any(&mut self.notices, &mut other.notices);
    }

    /// The packets: each with the input that it comes to, when its head is there, and how long after it its tail.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Packet, u32, (u64, u64))> + '_ {
        let times = self.times.iter().copied().chain(std::iter::repeat(0));
        let arrivals = self.inputs.iter().copied().zip(self.heads.iter().copied().zip(times));
        self.packets.iter().zip(arrivals).map(|(packet, (input, times))| (packet, input, times))
    }

    /// The credits: time, counter, bytes.
    pub(crate) fn credits(&self) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
        self.credits.iter().copied()
    }

    /// Removes all that there is.
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
