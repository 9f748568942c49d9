//! Scheduler of one rank of a message-driven program.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entries::{EntryKind, EntryOutput, MessageDriven, NONE, POSTED, sizes};
use mpi::program::{Action, Ended, Interval, Notify, Op, ProgramError, RankProgram};

/// Numbers of operations: a receive, a send, a calculation, an in-switch operation with a contribution of the rank, and
/// the first number of in-switch operations with a result for the rank. The latter are numbered by the rank's groups.
const RECEIVE: u32 = 0;
const SEND: u32 = 1;
const COMPUTE: u32 = 2;
const GIVE: u32 = 3;
const RESULT: u32 = 4;

/// Entry of the rank, by its number there, and its iteration.
type Turn = (u32, u32);

/// Scheduler of a rank. Its intervals are iterations, each from the end of the rank's previous iteration to its end.
#[derive(Debug)]
pub(super) struct DrivenRank {
    program: Arc<MessageDriven>,
    rank: u32,
    /// First entry of the rank, and its number of entries.
    first: u32,
    count: u32,
    /// Receives that have not been posted.
    to_post: u64,
    /// Iterations of which the rank has the result, for each group with a result for it.
    results: Vec<u32>,
    gathered: Gathered,
    /// Entries to run without queueing, and the queue of ready entries in order of becoming ready.
    at_once: VecDeque<Turn>,
    ready: VecDeque<Turn>,
    computing: Option<Turn>,
    /// Number of ended entries of each iteration, from the first unfinished iteration.
    ended: VecDeque<u32>,
    /// Start of the rank, in picoseconds.
    begun: u64,
    steps: Vec<Interval>,
}

/// Counters of deliveries to the entries of a rank.
#[derive(Debug)]
struct Gathered {
    /// Iteration that each entry currently collects.
    iteration: Vec<u32>,
    /// Number of iterations of an entry that are counted separately, a power of two.
    depth: u32,
    /// Deliveries, by iteration modulo `depth`, then by entry.
    counts: Vec<u32>,
}

impl Gathered {
    fn new(entries: usize) -> Self {
        Self { iteration: vec![0; entries], depth: 2, counts: vec![0; 2 * entries] }
    }

    fn slot(&self, entry: u32, iteration: u32) -> usize {
        (iteration & (self.depth - 1)) as usize * self.iteration.len() + entry as usize
    }

    /// Counts a delivery to an entry that needs `need` deliveries per iteration. Returns whether its current iteration
    /// is complete, and then moves on to the next. The next one cannot be complete yet: an entry needs a delivery from
    /// an entry of its own rank, which runs once per iteration, in order.
    fn deliver(&mut self, (entry, iteration): Turn, need: u32) -> bool {
        while iteration - self.iteration[entry as usize] >= self.depth {
            self.deepen();
        }
        let slot = self.slot(entry, iteration);
        self.counts[slot] += 1;
        let is_complete = self.counts[slot] == need && iteration == self.iteration[entry as usize];
        if is_complete {
            self.counts[slot] = 0;
            self.iteration[entry as usize] += 1;
        }
        is_complete
    }

    /// Doubles the number of iterations that are counted separately.
    fn deepen(&mut self) {
        let entries = self.iteration.len();
        let mut deeper =
            Self { iteration: self.iteration.clone(), depth: 2 * self.depth, counts: vec![0; 2 * self.counts.len()] };
        for entry in 0..entries as u32 {
            let begin = self.iteration[entry as usize];
            for iteration in begin..begin.saturating_add(self.depth) {
                let slot = deeper.slot(entry, iteration);
                deeper.counts[slot] = self.counts[self.slot(entry, iteration)];
            }
        }
        *self = deeper;
    }
}

impl DrivenRank {
    pub fn new(program: Arc<MessageDriven>, rank: u32) -> Self {
        let entries = program.entries_of(rank);
        Self {
            rank,
            first: entries.start,
            count: entries.len() as u32,
            to_post: program.coming[rank as usize].saturating_mul(u64::from(program.iterations)),
            results: vec![0; program.served.sources.of(rank).len()],
            gathered: Gathered::new(entries.len()),
            at_once: VecDeque::new(),
            ready: VecDeque::new(),
            computing: None,
            ended: VecDeque::new(),
            begun: 0,
            steps: Vec::new(),
            program,
        }
    }

    /// Posts a wildcard receive, if more messages are to come than receives have been posted.
    fn post(&mut self, starts: &mut Vec<Op>) {
        if self.to_post > 0 {
            self.to_post -= 1;
            starts.push(Op::one(RECEIVE, Action::recv(None, self.program.largest, None)));
        }
    }

    /// Delivers an input to an entry, by its number on this rank.
    fn deliver(&mut self, entry: u32, iteration: u32) {
        let of = self.program.entries[(self.first + entry) as usize];
        if self.gathered.deliver((entry, iteration), of.need) {
            let queue = if of.is_at_once() { &mut self.at_once } else { &mut self.ready };
            queue.push_back((entry, iteration));
        }
    }

    /// Handles a received message. The tag tells its number among the rank's messages and its iteration.
    fn take(&mut self, tag: u32) {
        let program = Arc::clone(&self.program);
        let messages = program.messages_of(self.rank);
        let (iteration, number) = (tag / messages, tag % messages);
        for &entry in program.delivered.of(program.first_message[self.rank as usize] + number) {
            self.deliver(entry - self.first, iteration);
        }
    }

    /// Posts the rank's part in the next operation of a group with a result for it, if any is left. `place` is the
    /// index of the group.
    fn post_result(&mut self, place: u32, starts: &mut Vec<Op>) {
        if self.results[place as usize] < self.program.iterations {
            let served = &self.program.served;
            let group = served.sources.of(self.rank)[place as usize];
            starts.push(Op::one(RESULT + place, Action::Group(served.calls[group as usize])));
        }
    }

    /// Handles the result of a group's operation. `place` is the index of the group.
    fn take_result(&mut self, place: u32, starts: &mut Vec<Op>) {
        let program = Arc::clone(&self.program);
        let iteration = self.results[place as usize];
        self.results[place as usize] += 1;
        self.post_result(place, starts);
        let first = program.served.sources.range(self.rank).start as u32;
        for &entry in program.served.delivered.of(first + place) {
            self.deliver(entry - self.first, iteration);
        }
    }

    /// Runs ready entries until the processor computes.
    fn go_on(&mut self, now: u64, starts: &mut Vec<Op>) {
        loop {
            if let Some(turn) = self.at_once.pop_front() {
                self.end(turn, now, starts);
            } else if self.computing.is_some() {
                return;
            } else if let Some(turn) = self.ready.pop_front() {
                match self.program.entries[(self.first + turn.0) as usize].time {
                    0 => self.end(turn, now, starts),
                    time => {
                        self.computing = Some(turn);
                        starts.push(Op::one(COMPUTE, Action::Calc { time }));
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Handles the end of an entry's computation: sends its outputs.
    fn end(&mut self, (entry, iteration): Turn, now: u64, starts: &mut Vec<Op>) {
        let program = Arc::clone(&self.program);
        let at = self.first + entry;
        for sent in program.sent.of(at) {
            match *sent {
                EntryOutput::Messages { to, number, count, bytes } => {
                    let tag = iteration * program.messages_of(to) + number;
                    for (bytes, count) in sizes(count, bytes) {
                        let send = Op::one(SEND, Action::send(to, bytes, tag));
                        starts.extend((0..count).map(|_| send));
                    }
                }
                EntryOutput::Operation(group) => {
                    starts.push(Op::one(GIVE, Action::Group(program.served.calls[group as usize])));
                }
            }
        }
        for &other in program.local.of(at) {
            self.deliver(other - self.first, iteration);
        }
        let again = program.entries[at as usize].again;
        if again != NONE && iteration + 1 < program.iterations {
            self.deliver(again - self.first, iteration + 1);
        }
        self.count_end(iteration, now);
    }

    /// Counts the end of an entry, and records an interval when an iteration is complete.
    fn count_end(&mut self, iteration: u32, now: u64) {
        let place = iteration as usize - self.steps.len();
        if self.ended.len() <= place {
            self.ended.resize(place + 1, 0);
        }
        self.ended[place] += 1;
        while self.ended.front() == Some(&self.count) {
            self.ended.pop_front();
            let (key, start) = (self.steps.len() as u32, self.steps.last().map_or(self.begun, |step| step.end));
            self.steps.push(Interval { key, start, end: now });
        }
    }
}

impl RankProgram for DrivenRank {
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        self.begun = now;
        (0..self.to_post.min(POSTED)).for_each(|_| self.post(starts));
        (0..self.results.len() as u32).for_each(|place| self.post_result(place, starts));
        for entry in 0..self.count {
            if self.program.entries[(self.first + entry) as usize].kind == EntryKind::Begin {
                self.deliver(entry, 0);
            }
        }
        self.go_on(now, starts);
        Ok(Notify::Each)
    }

    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        match (ended.id, ended.matched) {
            (RECEIVE, Some(matched)) => {
                self.post(starts);
                self.take(matched.tag);
            }
            (COMPUTE, _) => {
                if let Some(turn) = self.computing.take() {
                    self.end(turn, ended.at, starts);
                }
            }
            (RESULT.., _) => self.take_result(ended.id - RESULT, starts),
            _ => return Ok(Notify::Each),
        }
        self.go_on(ended.at, starts);
        Ok(Notify::Each)
    }

    fn intervals(&self) -> &[Interval] {
        &self.steps
    }
}
