//! What each rank does at each time until its last operation has ended.
//!
//! A rank *computes* while a calculation has its processor. Otherwise, while the overhead of an operation passes, it is in
//! *overhead*; so it is while an overhead that keeps the processor interrupts a calculation. Work that noise has lengthened ends
//! with the *noise*. Otherwise the rank is blocked, until work of it begins; and that work was waited for:
//! - a receive, or the request of a message by rendezvous: until the sender has begun to send, the sender is late (*late sender*);
//! - the answer to a request: until the receive is posted, the receiver is late (*late receiver*);
//! - what is left is *transfer*: what is waited for is on its way.
//!
//! The terms are Scalasca's (Geimer et al., CCPE 22(6), 2010), which compares the times at which the two ranks enter their calls: here,
//! when the overhead of the send begins, and when the receive starts. A rank that waits for several messages at once waits for the one
//! that comes next. Where overheads are latencies that do not keep the processor, a calculation at the same time hides them.

use host::{Purpose, TracedPart, TracedWork};

use super::Activity;

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// A calculation has the processor.
    Computing,
    /// The overhead of an operation passes.
    Overhead,
    /// Blocked, and what is waited for has not been sent.
    LateSender,
    /// A send is blocked, and its message's receive has not been posted.
    LateReceiver,
    /// Blocked, and what is waited for is on its way.
    Transfer,
    /// Something else has the processor.
    Noise,
}

impl State {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Computing, Self::Overhead, Self::LateSender, Self::LateReceiver, Self::Transfer, Self::Noise];

    /// Its name in results.
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

/// A time for which a rank is in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub state: State,
    /// In picoseconds.
    pub begin: u64,
    pub end: u64,
}

impl Activity {
    /// What a rank does from the start until its last operation has ended, without gaps.
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

    /// A rank is blocked until some work of it begins.
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

/// How much work of a rank is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    calculations: i64,
    /// Overheads that have the processor: a calculation at the same time is interrupted.
    library: i64,
    /// Overheads beside the processor.
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

    /// The same ending.
    fn less(self) -> Self {
        let Self { calculations, library, beside, noise } = self;
        Self { calculations: -calculations, library: -library, beside: -beside, noise: -noise }
    }

    /// What the rank does; none if it is blocked.
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

/// What work is while it is under way.
fn active(work: &TracedWork) -> Active {
    match work.purpose {
        Purpose::Calc => Active { calculations: 1, ..Active::default() },
        _ if work.beside => Active { beside: 1, ..Active::default() },
        _ => Active { library: 1, ..Active::default() },
    }
}

impl Activity {
    /// When work begins and ends within a span, in order, and by how much there is more from then on.
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

/// Pieces one after the other; those of a state that follow one another are one.
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
