//! Collective operation of a rank in progress.

use super::ProgramError;
use super::posts::Posts;
use super::{Action, NicStep};
use crate::collectives::{Collective, Lanes, Member, Move, Stage, Way, combined, stage, stages};
use crate::communicator::{Communicator, Context, Group};

/// Collective operation of a rank in progress. A few numbers determine its next step.
#[derive(Clone, Debug)]
pub(super) struct Running {
    call: Collective,
    communicator: Communicator,
    /// Operations that the rank had begun in the communicator before this one. It is the tag of the messages.
    tag: u32,
    /// Position in the stage of the chunk that has come furthest, and in the stages of chunks behind it.
    cursor: Cursor,
    behind: Vec<Cursor>,
    /// Number of steps begun. In each step, the stages of consecutive chunks are under way, one stage each.
    begun: u32,
    /// Bytes that have not been combined yet.
    uncombined: u64,
    /// Whether messages of the posted round are combined when they arrive, and not after the round.
    on_arrival: bool,
    /// Messages that have arrived and wait to be combined, and their bytes.
    arrived: (u32, u64),
    /// Bytes in memory that have not been copied yet.
    uncopied: u64,
    /// Time of the launch and of steps that has not passed yet, in picoseconds.
    due: u64,
    /// Number of in-switch calls that have yet to be posted.
    unposted: u32,
    /// Next interaction of the rank with its interface, in an operation that network interfaces carry out.
    on_nic: OnNic,
    /// Whether the operation is held back until its turn to post the in-switch call.
    pub held: bool,
}

/// Position of a rank in a stage.
#[derive(Clone, Debug, Default)]
struct Cursor {
    /// Stage, if the rank takes part in it.
    stage: Option<Stage>,
    /// Current phase of the stage, and its next round.
    phase: usize,
    round: u32,
}

impl Cursor {
    /// Whether the stage is in the switches and has not begun.
    fn posts_to_switches(&self) -> bool {
        self.round == 0 && self.stage.as_ref().is_some_and(|stage| stage.in_switch.is_some())
    }

    /// Advances to the next round, past finished phases. Returns whether there is one.
    fn has_round(&mut self) -> bool {
        if self.posts_to_switches() {
            return true;
        }
        while let Some(stage) = &self.stage
            && let Some(phase) = stage.phases.get(self.phase)
        {
            if self.round < phase.rounds(&stage.at) {
                return true;
            }
            (self.phase, self.round) = (self.phase + 1, 0);
        }
        false
    }
}

/// Progress of an offloaded operation between a rank and its network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnNic {
    /// The rank has not handed the operation over.
    Before,
    /// The rank has handed the operation over, and has not been notified of its end.
    Under,
    /// The rank has been notified of the end, or its own processor carries the operation out.
    Over,
}

impl Running {
    /// Creates operation number `tag`, from 0, of a rank in `communicator`.
    pub fn new(call: Collective, communicator: Communicator, tag: u32) -> Result<Self, ProgramError> {
        call.check(&communicator)?;
        let call = call.within(&communicator);
        let unposted = call.in_switch(&communicator).count() as u32;
        let (cursor, behind, begun) = (Cursor::default(), Vec::new(), 0);
        let (uncombined, uncopied, due) = (0, 0, call.time_to_start(communicator.own(), communicator.len()));
        let on_nic = if call.on_nic { OnNic::Before } else { OnNic::Over };
        Ok(Self {
            call,
            communicator,
            tag,
            cursor,
            behind,
            begun,
            uncombined,
            on_arrival: false,
            arrived: (0, 0),
            uncopied,
            due,
            unposted,
            on_nic,
            held: false,
        })
    }

    /// Returns the communicator and the operation's index in it if in-switch calls have yet to be posted.
    pub fn unposted(&self) -> Option<(Context, u32)> {
        (self.unposted > 0).then(|| (self.communicator.context(), self.tag))
    }

    /// Returns the communicator and the operation's index in it if the next step posts an in-switch call. Requires that
    /// nothing is outstanding.
    pub fn turn(&mut self) -> Option<(Context, u32)> {
        let is_next = self.unposted > 0 && self.local_time() == 0 && self.has_round() && self.posts_to_switches();
        self.unposted().filter(|_| is_next)
    }

    /// Whether a current stage is in the switches and has not begun.
    fn posts_to_switches(&self) -> bool {
        self.cursor.posts_to_switches() || self.behind.iter().any(Cursor::posts_to_switches)
    }

    /// Posts the next operations. Requires that everything posted before has ended. Posts nothing at the end of the
    /// collective operation.
    pub fn go_on(&mut self, posts: &mut Posts<'_>) {
        if self.on_nic != OnNic::Over {
            return self.go_on_by_nic(posts);
        }
        loop {
            let time = self.local_time();
            (self.uncombined, self.uncopied, self.due) = (0, 0, 0);
            if time > 0 {
                return posts.post(Action::Calc { time }, 1, 0);
            }
            if !self.has_round() || self.post_round(posts) {
                return;
            }
        }
    }

    /// Whether the rank combines messages of the posted round when they arrive.
    pub fn notes_arrivals(&self) -> bool {
        self.on_arrival && (self.call.time_per_byte > 0 || self.on_nic != OnNic::Over)
    }

    /// Notes a message of `bytes` bytes that has arrived and is to be combined.
    pub fn arrive(&mut self, bytes: u64) {
        self.arrived = (self.arrived.0 + 1, self.arrived.1.saturating_add(bytes));
    }

    /// Returns the number of messages that wait to be combined, and the work that combines them. `None` if no message
    /// waits. They no longer wait then.
    pub fn take_arrivals(&mut self) -> Option<(u32, Action)> {
        let (messages, bytes) = std::mem::take(&mut self.arrived);
        let work = match self.on_nic {
            OnNic::Over => Action::Calc { time: bytes.saturating_mul(self.call.time_per_byte) },
            _ => Action::OnNic(NicStep::Combine { bytes }),
        };
        (messages > 0).then_some((messages, work))
    }

    /// Returns the time of outstanding work of the rank, in picoseconds.
    fn local_time(&self) -> u64 {
        let combining = self.uncombined.saturating_mul(self.call.time_per_byte);
        combining.saturating_add(self.uncopied.saturating_mul(self.call.copy_time)).saturating_add(self.due)
    }

    /// Posts the next operations of an offloaded collective operation.
    fn go_on_by_nic(&mut self, posts: &mut Posts<'_>) {
        let is_root = self.communicator.own() == self.call.root;
        if self.on_nic == OnNic::Before {
            self.on_nic = OnNic::Under;
            if self.call.operation.gives(is_root) {
                return posts.post(Action::OnNic(NicStep::Begin), 1, 0);
            }
        }
        loop {
            let bytes = std::mem::take(&mut self.uncombined);
            if bytes > 0 {
                return posts.post(Action::OnNic(NicStep::Combine { bytes }), 1, 0);
            }
            if !self.has_round() {
                break;
            }
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

    /// Advances to the next round, past finished phases and stages. Returns whether there is one.
    fn has_round(&mut self) -> bool {
        loop {
            let ahead = self.cursor.has_round();
            if self.behind.iter_mut().fold(ahead, |has_round, own| own.has_round() || has_round) {
                return true;
            }
            let (stages, chunks) = (u32::from(stages(&self.call)), self.call.chunks(&self.communicator));
            let step = self.begun;
            if Lanes::of(&self.call).is_some() {
                if step > 0 {
                    return false;
                }
                self.begin_lanes(chunks);
                continue;
            }
            if step == chunks + stages - 1 {
                return false;
            }
            self.begun += 1;
            // The stage of the earliest chunk comes first.
            let under_way = step.saturating_sub(stages - 1)..=step.min(chunks - 1);
            let mut cursors = under_way.map(|chunk| {
                let stage = stage(&self.call, &self.communicator, ((step - chunk) as u8, chunk));
                Cursor { stage, phase: 0, round: 0 }
            });
            self.cursor = cursors.next().unwrap_or_default();
            self.behind.clear();
            self.behind.extend(cursors);
        }
    }

    /// Begins all lanes of the operation at once.
    fn begin_lanes(&mut self, lanes: u32) {
        self.begun += 1;
        let cursor = |lane| Cursor { stage: stage(&self.call, &self.communicator, (0, lane)), phase: 0, round: 0 };
        let mut cursors = (0..lanes).map(cursor).collect::<Vec<_>>().into_iter();
        self.cursor = cursors.next().unwrap_or_default();
        self.behind = cursors.collect();
    }

    /// Posts a round of each current stage. Returns whether they have any operation.
    fn post_round(&mut self, posts: &mut Posts<'_>) -> bool {
        let mut posted = false;
        self.on_arrival = false;
        for cursor in std::iter::once(&mut self.cursor).chain(&mut self.behind) {
            if !cursor.has_round() {
                continue;
            }
            let Some(Stage { group, at, phases, in_switch }) = &cursor.stage else { continue };
            cursor.round += 1;
            if let Some(call) = in_switch {
                self.uncombined += combined(call, at);
                self.unposted = self.unposted.saturating_sub(1);
                posts.post(Action::Group(*call), 1, 0);
                posted = true;
                continue;
            }
            let shape = Shape { group, at, tag: self.tag, context: self.communicator.context().collective() };
            let (uncombined, uncopied) = (&mut self.uncombined, &mut self.uncopied);
            let on_arrival = phases[cursor.phase].combines_on_arrival(at);
            self.on_arrival |= on_arrival;
            phases[cursor.phase].round(at, cursor.round - 1, &mut |of_shape| match of_shape.way {
                Way::Copy => *uncopied += shape.bytes(&of_shape),
                Way::Reduce => *uncombined += shape.bytes(&of_shape),
                _ => {
                    let bytes = shape.post(&of_shape, posts);
                    *uncombined += if on_arrival { 0 } else { bytes };
                    posted = true;
                }
            });
        }
        if posted {
            self.due = self.due.saturating_add(self.call.step_time);
        }
        posted
    }
}

/// Attributes that the messages of a stage share.
struct Shape<'a> {
    group: &'a Group,
    at: &'a Member,
    tag: u32,
    context: Context,
}

impl Shape<'_> {
    /// Returns the number of bytes of work in memory.
    fn bytes(&self, work: &Move) -> u64 {
        work.data.elements(self.at.elements) * u64::from(self.at.transport.element)
    }

    /// Posts messages. Those with peers at a fixed stride are a single burst. Returns the number of bytes that are to
    /// be combined.
    fn post(&self, messages: &Move, posts: &mut Posts<'_>) -> u64 {
        let (all, size, element) = (self.at.elements, self.at.size, u64::from(self.at.transport.element));
        let mut bytes = 0;
        if messages.count == 1 || (self.is_world(posts.ranks()) && messages.data.is_even(all)) {
            let Move { peer, count, stride, data, .. } = *messages;
            let each = data.elements(all);
            self.at.transport.each(each, &mut |wire, shares| {
                (0..shares).for_each(|_| posts.post(self.action(messages.way, peer, wire), count, stride));
            });
            bytes = each * element * u64::from(count);
        } else {
            for number in 0..messages.count {
                let (peer, data) = messages.message(number, size);
                let own = data.elements(all);
                self.at.transport.each(own, &mut |wire, shares| {
                    (0..shares).for_each(|_| posts.post(self.action(messages.way, peer, wire), 1, 0));
                });
                bytes += own * element;
            }
        }
        match messages.way {
            Way::Send | Way::Store | Way::Copy | Way::Reduce => 0,
            Way::Combine => bytes,
            Way::Prefix { times } => bytes.saturating_mul(u64::from(times)),
        }
    }

    /// Whether members are numbered like the `ranks` ranks of the program, all of which they are: peers of a burst wrap
    /// around modulo all ranks.
    #[inline]
    fn is_world(&self, ranks: u32) -> bool {
        matches!(self.group, Group::Progression { first: 0, stride: 1, count } if *count == ranks)
    }

    #[inline]
    fn action(&self, way: Way, peer: u32, bytes: u64) -> Action {
        let (other, tag, context) = (self.group.rank(peer), self.tag, self.context);
        match way {
            Way::Send => Action::Send { to: other, bytes, tag, context },
            Way::Store | Way::Combine | Way::Prefix { .. } | Way::Copy | Way::Reduce => {
                Action::Recv { from: Some(other), bytes, tag: Some(tag), context }
            }
        }
    }
}
