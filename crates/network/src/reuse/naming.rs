//! Key of an episode: its messages up to a renaming of channels that keeps the order of inputs at each output.
//!
//! Routers are not named: outputs of a router depend on one another only by inputs that they have in common.

use host::HandedOver;

use super::paths::{NONE, Path, Paths};

/// Words of a key for the plane of a message and the stream of its bytes, if they count.
pub(super) const STREAM: usize = 4;

/// Bits of the number of steps in a word of a key, above which stands the number of words on interfaces.
pub(super) const MORE_SHIFT: u32 = 32;

/// Field of the key of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// Release time of each message.
    Time,
    /// Size of each message.
    Bytes,
    /// Names of the channels, which tell which of them messages share.
    Channels,
    /// Set of equal channels to which each channel belongs.
    Set,
    /// Virtual channel on which a message crosses each channel.
    VirtualChannel,
    /// Order in which the arbiter of each shared output would serve its inputs.
    Order,
    /// Plane of each message that crosses shared buses.
    Plane,
    /// Times at which the bytes of each message come to the interface.
    Stream,
    /// Names of the shared buses, which tell which of them messages cross.
    Bus,
}

/// Message of an episode, as its key describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub path: u32,
    pub bytes: u32,
    /// Time of its release, in ticks from that of the first message.
    pub at: u64,
    /// Way in which its bytes come to the interface.
    pub handed: HandedOver,
}

/// Candidate by its first use: a message, its step, and the number of the lane among those of the step.
pub(super) type Use = (u32, u16, u8);

/// Candidate that packets of an episode are at an arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Competitor {
    pub candidate: u16,
    pub first: Use,
}

/// Channel or bus of an episode, or a router that its messages share.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub channel: u32,
    /// Time at which it may first be requested, in ticks from the begin.
    pub start: u64,
    /// Bytes that cross it.
    pub bytes: u64,
    /// Candidates at its arbiters ([`Step::arbiters`](super::paths::Step)), in ascending order.
    pub arbiters: [Vec<Competitor>; 2],
}

impl Named {
    /// Returns whether an arbiter decides between several candidates, so that their order counts.
    pub fn is_contended(&self, arbiter: usize) -> bool {
        self.arbiters[arbiter].len() > 1
    }
}

/// Names of an episode's channels, and its key. Kept to avoid allocation.
#[derive(Debug)]
pub(super) struct Naming {
    /// By channel, its name. `NONE`: it has none.
    name_of: Vec<u32>,
    all: Vec<Named>,
    used: usize,
    pub key: Vec<u64>,
    /// Field that keys leave out, to test that they need it.
    left_out: Option<KeyField>,
}

impl Naming {
    /// Creates names for channels with numbers below `channels`.
    pub fn new(channels: usize, left_out: Option<KeyField>) -> Self {
        Self { name_of: vec![NONE; channels], all: Vec::new(), used: 0, key: Vec::new(), left_out }
    }

    /// Returns the value of a field in the key.
    fn field(&self, field: KeyField, value: u64) -> u64 {
        if self.left_out == Some(field) { 0 } else { value }
    }

    /// Returns the named channels.
    pub fn channels(&self) -> &[Named] {
        &self.all[..self.used]
    }

    /// Returns the name of a channel or a bus. `NONE`: it has none.
    pub fn name_of(&self, resource: u32) -> u32 {
        self.name_of.get(resource as usize).copied().unwrap_or(NONE)
    }

    /// Names the channels of an episode, and begins its key.
    pub fn describe(&mut self, members: &[Described], paths: &Paths) {
        for named in &self.all[..self.used] {
            self.name_of[named.channel as usize] = NONE;
        }
        self.used = 0;
        self.key.clear();
        self.key.push(members.len() as u64);
        for (number, member) in (0..).zip(members) {
            let steps = paths.steps(member.path);
            let (at, bytes) = (self.field(KeyField::Time, member.at), self.field(KeyField::Bytes, member.bytes.into()));
            let more = if paths.have_parts() { STREAM + paths.held(member.path) - steps.len() } else { 0 };
            self.key.extend([at, bytes, steps.len() as u64 | (more as u64) << MORE_SHIFT]);
            for (place, step) in (0..).zip(steps) {
                let name = self.name(step.channel);
                let own = self.field(KeyField::Channels, name.into()) << 16
                    | self.field(KeyField::Set, step.set.into()) << 8
                    | self.field(KeyField::VirtualChannel, step.vc.into());
                self.key.push(own);
                let named = &mut self.all[name as usize];
                named.start = named.start.min(member.at + step.after);
                named.bytes += u64::from(member.bytes);
                for (lanes, competitors) in step.arbiters.iter().zip(&mut named.arbiters) {
                    for lane in 0..lanes.count {
                        let candidate = lanes.first + u16::from(lane);
                        if let Err(at) = competitors.binary_search_by_key(&candidate, |own| own.candidate) {
                            competitors.insert(at, Competitor { candidate, first: (number, place, lane) });
                        }
                    }
                }
            }
            if paths.have_parts() {
                self.describe_interface(member, paths);
            }
        }
    }

    /// Names the shared buses of a message, and adds them to the key with the plane and the stream of its bytes. The sets
    /// of channels tell which parts its interfaces have.
    fn describe_interface(&mut self, member: &Described, paths: &Paths) {
        let Path { bus_plane, buses, .. } = paths.paths[member.path as usize];
        let HandedOver { from, per_byte } = member.handed;
        let [time, bytes] = per_byte.terms();
        self.key.push(self.field(KeyField::Plane, bus_plane.into()));
        self.key.extend([from.cast_unsigned(), time, bytes].map(|value| self.field(KeyField::Stream, value)));
        let last = paths.steps(member.path).last().map_or(0, |step| step.after);
        for (bus, after) in buses.into_iter().zip([0, last]).filter(|own| own.0 != NONE) {
            let name = self.name(bus);
            self.key.push(self.field(KeyField::Bus, name.into()));
            let named = &mut self.all[name as usize];
            named.start = named.start.min(member.at + after);
        }
    }

    /// Adds the order of the candidates of a contended arbiter to the key: from the first after the candidate that was
    /// served last.
    pub fn add_order(&mut self, (name, arbiter): (usize, usize), last: u16) {
        if self.left_out == Some(KeyField::Order) {
            return;
        }
        let all = &self.all[name].arbiters[arbiter];
        let first = all.partition_point(|own| own.candidate <= last);
        let in_turn = all[first..].iter().chain(&all[..first]).map(|own| own.first);
        let as_number = |(message, step, lane): Use| u64::from(message) << 32 | u64::from(step) << 8 | u64::from(lane);
        self.key.extend(in_turn.map(as_number));
    }

    /// Returns whether several candidates meet at an arbiter.
    pub fn is_contended(&self) -> bool {
        self.channels().iter().any(|named| (0..2).any(|arbiter| named.is_contended(arbiter)))
    }

    /// Returns the name of a channel.
    fn name(&mut self, channel: u32) -> u32 {
        let name = &mut self.name_of[channel as usize];
        if *name == NONE {
            *name = self.used as u32;
            if self.used == self.all.len() {
                self.all.push(Named::default());
            }
            let named = &mut self.all[self.used];
            (named.channel, named.start, named.bytes) = (channel, u64::MAX, 0);
            named.arbiters.iter_mut().for_each(Vec::clear);
            self.used += 1;
        }
        *name
    }
}
