//! A collective operation of a rank that is under way.

use super::ProgramError;
use super::posts::Posts;
use super::{Action, NicStep};
use crate::collectives::{Collective, Member, Move, Stage, Way, combined, stage, stages};
use crate::communicator::{Communicator, Context, Group};

/// A collective operation of a rank: what it does next follows from a few numbers.
#[derive(Clone, Debug)]
pub(super) struct Running {
    call: Collective,
    communicator: Communicator,
    /// How many operations the rank had begun in the communicator before it: the tag of its messages.
    tag: u32,
    /// The present stage, if the rank takes part in it, and how many have begun.
    stage: Option<Stage>,
    begun: u8,
    /// The present phase of the stage, and its next round.
    phase: usize,
    round: u32,
    /// Bytes that have come and are still to be combined.
    uncombined: u64,
    /// It has something for the switches that it has not posted.
    unposted: bool,
    /// Of one that network interfaces carry out: what its rank has handed its interface, or is notified of next.
    on_nic: OnNic,
    /// It waits for its turn to post that.
    pub held: bool,
}

/// How far the rank of an operation is with its interface, if that carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnNic {
    /// It has not handed it over.
    Before,
    /// It has, and has not been notified of its end.
    Under,
    /// It has been notified of its end, or its processor carries the operation out.
    Over,
}

impl Running {
    /// An operation that a rank begins, after so many in the same communicator.
    pub fn new(call: Collective, communicator: Communicator, tag: u32) -> Result<Self, ProgramError> {
        call.check(&communicator)?;
        let call = call.within(&communicator);
        let unposted = call.in_switch(&communicator).is_some();
        let (stage, begun, phase, round, uncombined) = (None, 0, 0, 0, 0);
        let on_nic = if call.on_nic { OnNic::Before } else { OnNic::Over };
        Ok(Self { call, communicator, tag, stage, begun, phase, round, uncombined, unposted, on_nic, held: false })
    }

    /// The communicator, and the place among its operations, of one that has something for the switches that it has not posted.
    pub fn unposted(&self) -> Option<(Context, u32)> {
        self.unposted.then(|| (self.communicator.context(), self.tag))
    }

    /// The same of one that would post it next, when nothing is outstanding.
    pub fn turn(&mut self) -> Option<(Context, u32)> {
        let combines = self.uncombined > 0 && self.call.time_per_byte > 0;
        let is_next = self.unposted && !combines && self.has_round() && self.posts_to_switches();
        self.unposted().filter(|_| is_next)
    }

    /// Whether the present stage is in the switches, and has not begun.
    fn posts_to_switches(&self) -> bool {
        self.round == 0 && self.stage.as_ref().is_some_and(|stage| stage.in_switch.is_some())
    }

    /// Gives what is posted next, when all that was posted before has ended; nothing at the end.
    pub fn go_on(&mut self, posts: &mut Posts<'_>) {
        if self.on_nic != OnNic::Over {
            return self.go_on_by_nic(posts);
        }
        let time = self.uncombined.saturating_mul(self.call.time_per_byte);
        self.uncombined = 0;
        if time > 0 {
            return posts.post(Action::Calc { time }, 1, 0);
        }
        let mut posted = false;
        while !posted && self.has_round() {
            posted = self.post_round(posts);
        }
    }

    /// The same of an operation that interfaces carry out.
    fn go_on_by_nic(&mut self, posts: &mut Posts<'_>) {
        let is_root = self.communicator.own() == self.call.root;
        if self.on_nic == OnNic::Before {
            self.on_nic = OnNic::Under;
            if self.call.operation.gives(is_root) {
                return posts.post(Action::OnNic(NicStep::Begin), 1, 0);
            }
        }
        let bytes = std::mem::take(&mut self.uncombined);
        if bytes > 0 {
            return posts.post(Action::OnNic(NicStep::Combine { bytes }), 1, 0);
        }
        while self.has_round() {
            if self.post_round(posts) {
                return;
            }
        }
        self.on_nic = OnNic::Over;
        if !self.call.operation.gets(is_root) {
            return;
        }
        posts.post(Action::OnNic(NicStep::End), 1, 0);
    }

    /// Goes on to the next round, if there is one: through phases and stages that are over.
    fn has_round(&mut self) -> bool {
        loop {
            if self.posts_to_switches() {
                return true;
            }
            let phase = self.stage.as_ref().and_then(|stage| Some((stage, stage.phases.get(self.phase)?)));
            if let Some((stage, phase)) = phase {
                if self.round < phase.rounds(&stage.at) {
                    return true;
                }
                (self.phase, self.round) = (self.phase + 1, 0);
                continue;
            }
            if self.begun == stages(&self.call) {
                return false;
            }
            self.stage = stage(&self.call, &self.communicator, self.begun);
            (self.begun, self.phase, self.round) = (self.begun + 1, 0, 0);
        }
    }

    /// Posts a round; returns whether there is anything in it.
    fn post_round(&mut self, posts: &mut Posts<'_>) -> bool {
        let Some(Stage { group, at, phases, in_switch }) = &self.stage else { return false };
        if let Some(call) = in_switch {
            self.uncombined = combined(call, at);
            (self.round, self.unposted) = (1, false);
            posts.post(Action::Group(*call), 1, 0);
            return true;
        }
        let shape = Shape {
            group,
            at,
            element: u64::from(self.call.element),
            tag: self.tag,
            context: self.communicator.context().collective(),
        };
        let (mut posted, mut uncombined) = (false, 0);
        phases[self.phase].round(at, self.round, &mut |of_shape| {
            uncombined += shape.post(&of_shape, posts);
            posted = true;
        });
        self.uncombined = uncombined;
        self.round += 1;
        posted
    }
}

/// What the messages of a stage have in common.
struct Shape<'a> {
    group: &'a Group,
    at: &'a Member,
    element: u64,
    tag: u32,
    context: Context,
}

impl Shape<'_> {
    /// Posts messages: those to ranks that are equally far from one another at once. Returns bytes that are to be combined.
    fn post(&self, messages: &Move, posts: &mut Posts<'_>) -> u64 {
        let (all, size) = (self.at.elements, self.at.size);
        let mut bytes = 0;
        if messages.count == 1 || (self.is_world() && messages.data.is_even(all)) {
            let Move { peer, count, stride, data, .. } = *messages;
            let each = data.elements(all) * self.element;
            posts.post(self.action(messages.way, peer, each), count, stride);
            bytes = each * u64::from(count);
        } else {
            for number in 0..messages.count {
                let (peer, data) = messages.message(number, size);
                let own = data.elements(all) * self.element;
                posts.post(self.action(messages.way, peer, own), 1, 0);
                bytes += own;
            }
        }
        match messages.way {
            Way::Send | Way::Store => 0,
            Way::Combine => bytes,
            Way::Prefix { times } => bytes.saturating_mul(u64::from(times)),
        }
    }

    /// Whether members are numbered as ranks.
    #[inline]
    fn is_world(&self) -> bool {
        matches!(self.group, Group::Progression { first: 0, stride: 1, .. })
    }

    #[inline]
    fn action(&self, way: Way, peer: u32, bytes: u64) -> Action {
        let (other, tag, context) = (self.group.rank(peer), self.tag, self.context);
        match way {
            Way::Send => Action::Send { to: other, bytes, tag, context },
            Way::Store | Way::Combine | Way::Prefix { .. } => {
                Action::Recv { from: Some(other), bytes, tag: Some(tag), context }
            }
        }
    }
}
