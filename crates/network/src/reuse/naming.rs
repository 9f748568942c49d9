//! Key of an episode: its messages up to a renaming of channels that keeps the order of inputs at each output.
//!
//! Routers are not named: outputs of a router depend on one another only by inputs that they have in common.

use host::HandedOver;

use super::paths::{NONE, Path, Paths};

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

/// Input by which packets of an episode request an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub candidate: u16,
    /// Name of the channel by which they come, and their virtual channel on it.
    from: u32,
    vc: u8,
    /// A message that comes by it, and the step at which it requests the output.
    pub at: (u32, u16),
}

/// Channel or bus of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub channel: u32,
    /// Time at which it may first be requested, in ticks from the begin.
    pub start: u64,
    /// Bytes that cross it.
    pub bytes: u64,
    /// First message that crosses it, and its step.
    pub first: (u32, u16),
    /// Inputs by which its output is requested, in ascending order of candidates. Empty for a source.
    pub inputs: Vec<Input>,
}

impl Named {
    /// Returns whether several inputs request the output, so that the pointer of its arbiter counts.
    pub fn is_contended(&self) -> bool {
        self.inputs.len() > 1
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
            self.key.extend([at, bytes, steps.len() as u64]);
            let mut from = (NONE, 0);
            for (place, step) in (0..).zip(steps) {
                let name = self.name(step.channel);
                let own = self.field(KeyField::Channels, name.into()) << 16
                    | self.field(KeyField::Set, step.set.into()) << 8
                    | self.field(KeyField::VirtualChannel, step.vc.into());
                self.key.push(own);
                let named = &mut self.all[name as usize];
                if named.start == u64::MAX {
                    named.first = (number, place);
                }
                named.start = named.start.min(member.at + step.after);
                named.bytes += u64::from(member.bytes);
                if place > 0
                    && let Err(at) = named.inputs.binary_search_by_key(&step.candidate, |input| input.candidate)
                {
                    let input = Input { candidate: step.candidate, from: from.0, vc: from.1, at: (number, place) };
                    named.inputs.insert(at, input);
                }
                from = (name, step.vc);
            }
            if paths.have_parts() {
                self.describe_interface(number, member, paths);
            }
        }
    }

    /// Names the shared buses of a message, and adds them to the key with the plane and the stream of its bytes. The sets
    /// of channels tell which parts its interfaces have.
    fn describe_interface(&mut self, number: u32, member: &Described, paths: &Paths) {
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
            if named.start == u64::MAX {
                named.first = (number, 0);
            }
            named.start = named.start.min(member.at + after);
        }
    }

    /// Adds the order of the inputs of a contended output to the key: from the first after the candidate that was
    /// served last.
    pub fn add_order(&mut self, name: usize, last: u16) {
        if self.left_out == Some(KeyField::Order) {
            return;
        }
        let inputs = &self.all[name].inputs;
        let first = inputs.partition_point(|input| input.candidate <= last);
        let in_turn = inputs[first..].iter().chain(&inputs[..first]);
        let vc = |vc: u8| if self.left_out == Some(KeyField::VirtualChannel) { 0 } else { vc };
        self.key.extend(in_turn.map(|input| u64::from(input.from) << 8 | u64::from(vc(input.vc))));
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
            named.inputs.clear();
            self.used += 1;
        }
        *name
    }
}
