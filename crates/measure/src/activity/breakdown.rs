//! State of each rank over time, until its last operation ends.
//!
//! A rank is *computing* while a calculation has its processor. Otherwise it is in *overhead* while the overhead of an
//! operation passes, or while an overhead that occupies the processor interrupts a calculation. Work that noise has
//! lengthened ends with *noise*. In all other time the rank is blocked until some work of it begins. That work was
//! waited for:
//! - a receive, or the request of a message by rendezvous: until the sender begins to send, the sender is late (*late
//!   sender*);
//! - the answer to a request: until the receive is posted, the receiver is late (*late receiver*);
//! - the remaining time is *transfer*: the awaited part is under way.
//!
//! The terms are Scalasca's (Geimer et al., CCPE 22(6), 2010), which compares the times at which the two ranks enter
//! their calls. Here these are the begin of the send's overhead and the start of the receive. A rank that waits for
//! several messages at once waits for the next to arrive. If overheads are latencies that do not occupy the processor,
//! a concurrent calculation hides them.

use host::{Purpose, TracedPart, TracedWork};

use super::Activity;

/// State of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// A calculation has the processor.
    Computing,
    /// The overhead of an operation passes.
    Overhead,
    /// Blocked; the awaited message has not been sent.
    LateSender,
    /// Blocked in a send; the receive of its message has not been posted.
    LateReceiver,
    /// Blocked; the awaited part of a message is under way.
    Transfer,
    /// Another process has the processor.
    Noise,
}

impl State {
    /// All states, in numerical order.
    pub const ALL: [Self; 6] =
        [Self::Computing, Self::Overhead, Self::LateSender, Self::LateReceiver, Self::Transfer, Self::Noise];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Overhead => "overhead",
            Self::LateSender => "late sender",
            Self::LateReceiver => "late receiver",
            Self::Transfer => "transfer",
            Self::Noise => "noise",
        }
    }
}

/// Period that a rank spends in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub state: State,
    /// Begin and end, in picoseconds.
    pub begin: u64,
    pub end: u64,
}

impl Activity {
    /// Returns the states of a rank from the start to the end of its last operation, without gaps.
    pub fn pieces(&self, rank: u32) -> Vec<Piece> {
        let work = self.work_of_rank(rank);
        let mut pieces = Pieces::default();
        let edges = self.edges_of(work, (self.start, self.ends[rank as usize]));
        let mut next = 0;
        let mut active = Active::default();
        let mut before = self.start;
        for (at, changes) in edges {
            if at > before {
                match active.state() {
                    Some(state) => pieces.push(state, before, at),
                    None => {
                        next += work[next..].partition_point(|work| work.begin < at);
                        self.blocked(&work[next..], (before, at), &mut pieces);
                    }
                }
                before = at;
            }
            active.add(&changes);
        }
        pieces.0
    }

    /// Adds the states of a blocked period, which ends when some work of the rank begins.
    fn blocked(&self, work: &[TracedWork], (begin, end): (u64, u64), pieces: &mut Pieces) {
        let at_end = work.iter().take_while(|work| work.begin == end);
        let mut awaited = at_end.filter_map(|work| self.awaited(work));
        let Some((message, part)) = awaited.next() else { return pieces.push(State::Transfer, begin, end) };
        let (late, since) = match part {
            TracedPart::Request | TracedPart::Data => (State::LateSender, self.sent_at(message)),
            TracedPart::Answer | TracedPart::Notice => {
                (State::LateReceiver, self.receive_of(message).map(|receive| self.op(receive).started))
            }
        };
        let since = since.unwrap_or(begin).clamp(begin, end);
        pieces.push(late, begin, since);
        pieces.push(State::Transfer, since, end);
    }
}

/// Counts of a rank's work under way.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    calculations: i64,
    /// Overheads that occupy the processor and interrupt calculations.
    library: i64,
    /// Overheads that do not occupy the processor.
    beside: i64,
    /// Noise.
    noise: i64,
}

impl Active {
    fn add(&mut self, other: &Self) {
        self.calculations += other.calculations;
        self.library += other.library;
        self.beside += other.beside;
        self.noise += other.noise;
    }

    /// Returns the change at the end of this work.
    fn less(self) -> Self {
        let Self { calculations, library, beside, noise } = self;
        Self { calculations: -calculations, library: -library, beside: -beside, noise: -noise }
    }

    /// Returns the state of the rank. None if it is blocked.
    fn state(&self) -> Option<State> {
        match self {
            Self { library: 1.., .. } => Some(State::Overhead),
            Self { noise: 1.., .. } => Some(State::Noise),
            Self { calculations: 1.., .. } => Some(State::Computing),
            Self { beside: 1.., .. } => Some(State::Overhead),
            _ => None,
        }
    }
}

/// Returns the counts of a piece of work while it is under way.
fn active(work: &TracedWork) -> Active {
    match work.purpose {
        Purpose::Calc => Active { calculations: 1, ..Active::default() },
        _ if work.beside => Active { beside: 1, ..Active::default() },
        _ => Active { library: 1, ..Active::default() },
    }
}

impl Activity {
    /// Returns the times within a span at which work begins or ends, in order, each with the change of the counts.
    fn edges_of(&self, work: &[TracedWork], (start, end): (u64, u64)) -> Vec<(u64, Active)> {
        let mut edges = vec![(start, Active::default()), (end, Active::default())];
        for own in work {
            let (active, noise) = (active(own), Active { noise: 1, ..Active::default() });
            let done = self.noise_from(own);
            edges.extend([(own.begin, active), (done, active.less()), (done, noise), (own.end, noise.less())]);
        }
        edges.iter_mut().for_each(|(at, _)| *at = (*at).clamp(start, end));
        edges.sort_by_key(|&(at, _)| at);
        edges
    }
}

/// Sequence of states. Consecutive periods in one state are joined.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn push(&mut self, state: State, begin: u64, end: u64) {
        if begin == end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.state == state && last.end == begin => last.end = end,
            _ => self.0.push(Piece { state, begin, end }),
        }
    }
}
