//! The one loop that moves a machine on: from decision to decision of its courses, until none in the foreground runs.
//!
//! It watches for a standstill, reports progress, and ends when it is cancelled. What is counted is handed to the courses
//! by whole batches; all of them decide at the ends of batches, but for those that need a time of their own.

use fabric::Batch;

use super::outcome::RunError;
use crate::last_time::LAST_TIME;
use crate::machine::Machine;
use crate::network::Network;
use crate::progress::{Phase, Progress};
use crate::workloads::{Counts, Course, State};

/// Batches without a packet delivered, with packets in the network, that count as a standstill; more where batches are
/// shorter than paths.
const STANDSTILL: u64 = 16;

/// A course, and whether the run waits for it.
pub(crate) struct Runner {
    pub course: Box<dyn Course>,
    pub foreground: bool,
}

/// A machine under way.
pub(crate) struct Control<'a> {
    network: &'a Network,
    progress: &'a Progress,
    machine: &'a mut dyn Machine,
    /// Length of a batch, in ticks.
    batch: u64,
    now: u64,
    /// The last time that it may reach, in ticks.
    last: u64,
    /// By number (`traffic::JobNumbers`), what has been counted of a batch that has not ended.
    partial: Vec<Batch>,
    /// Likewise packets that routers have sent.
    pub packet_hops: Vec<u64>,
    in_flight: i64,
    /// Ticks without a packet delivered, with packets in the network, and how many batches' of them are a standstill.
    still: u64,
    patience: u64,
}

impl<'a> Control<'a> {
    /// A machine at time 0 whose packets have so many numbers: those of jobs, and of their acknowledgements.
    pub fn new(
        network: &'a Network,
        progress: &'a Progress,
        machine: &'a mut dyn Machine,
        batch: u64,
        numbers: usize,
    ) -> Self {
        Self {
            network,
            progress,
            machine,
            batch,
            now: 0,
            last: LAST_TIME.0 / network.plan.tick().0,
            partial: vec![Batch::default(); numbers],
            packet_hops: vec![0; numbers],
            in_flight: 0,
            still: 0,
            patience: STANDSTILL.max(2 * network.longest_path() / batch.max(1)),
        }
    }

    /// Begins after so many ticks that other machines of the run have taken.
    pub fn after(mut self, before: u64) -> Self {
        self.last = self.last.saturating_sub(before);
        self
    }

    /// Moves on until no course in the foreground runs, and has each take what the machine has counted. Returns the time, in
    /// ticks.
    ///
    /// # Errors
    /// If it is cancelled, packets wait for one another for ever, or the clock does not hold its end.
    pub fn run(&mut self, runners: &mut [Runner]) -> Result<u64, RunError> {
        for runner in &mut *runners {
            runner.course.begin(self.machine);
            // What ends as it begins may do so with an error.
            self.refuse_error(runner)?;
        }
        while runners.iter().any(|runner| runner.foreground && matches!(runner.course.state(), State::Running(_))) {
            self.pass_over(runners);
            let next = |runner: &Runner| match runner.course.state() {
                State::Ended => u64::MAX,
                State::Running(_) | State::Steady => runner.course.next_decision(self.now),
            };
            let until = runners.iter().map(next).min().unwrap_or(u64::MAX);
            if until > self.last {
                // Nothing is decided before, so that nothing can end before.
                return Err(RunError::Clock { last: LAST_TIME });
            }
            let origin = if let [only] = &*runners { only.course.origin() } else { 0 };
            let counts = self.move_to(until, origin)?;
            for (runner, counts) in runners.iter_mut().zip(&counts) {
                runner.course.observe(counts, self.now, self.machine);
                self.refuse_error(runner)?;
            }
            self.report(runners);
        }
        if runners.iter().any(|runner| runner.foreground && runner.course.may_be_stuck()) {
            self.refuse_cycle()?;
        }
        self.machine.check();
        runners.iter_mut().for_each(|runner| runner.course.leave(self.machine, self.now));
        Ok(self.now)
    }

    /// Passes over the decisions of the only course before something happens: they would find what the last one has found. So those that
    /// are taken have the same times as without, and results are the same.
    fn pass_over(&mut self, runners: &[Runner]) {
        let [only] = runners else { return };
        let idle_until = only.course.idle_until().min(self.last);
        let decisions = idle_until.saturating_sub(self.now + 1) / self.batch;
        if decisions < 2 || self.in_flight != 0 {
            return;
        }
        let until = self.now + decisions * self.batch;
        self.machine.pass(self.settled(until), until);
        self.now = until;
    }

    /// When credits have come back, and nothing is under way from one partition to another, if nothing has left for a packet since now; at the
    /// latest at a time. A receive buffer may take as long as it likes, and so may what units hold.
    fn settled(&self, latest: u64) -> u64 {
        let plan = &self.network.plan;
        if plan.has_receive_buffers() || plan.groups().is_some() {
            return latest;
        }
        self.now.saturating_add(2 * self.network.longest_path())
    }

    fn refuse_error(&self, runner: &Runner) -> Result<(), RunError> {
        runner.course.error(self.machine).map_or(Ok(()), Err)
    }

    /// Moves on to a time; by number, what has been counted since. Batches begin at `origin`.
    fn move_to(&mut self, until: u64, origin: u64) -> Result<Vec<Counts>, RunError> {
        if self.progress.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let mut all = vec![Counts::default(); self.partial.len()];
        while self.now < until {
            let into = (self.now - origin) % self.batch;
            if into == 0 {
                self.partial.fill(Batch::default());
            }
            let to_end = self.batch - into;
            // The rest of a batch, then whole ones, then a part of one.
            let stop = match until - self.now {
                left if into > 0 || left < self.batch => self.now + left.min(to_end),
                left => self.now + left / self.batch * self.batch,
            };
            let counts = self.advance(stop)?;
            let ended = (stop - origin).is_multiple_of(self.batch);
            for ((all, partial), counts) in all.iter_mut().zip(&mut self.partial).zip(counts) {
                counts.iter().for_each(|counts| all.sum.add(counts));
                if into == 0 && ended {
                    all.batches.extend(counts);
                    continue;
                }
                counts.iter().for_each(|counts| partial.add(counts));
                if ended {
                    all.batches.push(*partial);
                }
            }
        }
        Ok(all)
    }

    /// Moves on to a time, and checks whether anything still moves: by number, the counts of each batch.
    fn advance(&mut self, until: u64) -> Result<Vec<Vec<Batch>>, RunError> {
        let (mut begin, counts) = (self.now, self.machine.advance(until, self.batch));
        self.now = until;
        for (hops, counts) in self.packet_hops.iter_mut().zip(&counts) {
            *hops += counts.iter().map(|batch| batch.transmissions).sum::<u64>();
        }
        for batch in 0..counts.iter().map(Vec::len).max().unwrap_or(0) {
            let (mut entered, mut delivered) = (0, 0);
            for counts in counts.iter().filter_map(|counts| counts.get(batch)) {
                entered += counts.entered + counts.copies;
                delivered += counts.packets + counts.ended;
            }
            self.in_flight += entered as i64 - delivered as i64;
            // A stop between two batches cuts one short.
            let end = until.min(begin.saturating_add(self.batch));
            self.still = if delivered == 0 && self.in_flight > 0 { self.still + (end - begin) } else { 0 };
            begin = end;
        }
        if self.still > self.patience.saturating_mul(self.batch) {
            return Err(self.deadlock());
        }
        Ok(counts)
    }

    /// Reports the course that is least far.
    fn report(&self, runners: &[Runner]) {
        let share = |runner: &Runner| match runner.course.state() {
            State::Running(share) => share,
            State::Steady | State::Ended => 1.0,
        };
        let foreground = runners.iter().filter(|runner| runner.foreground);
        if let Some(last) = foreground.min_by(|a, b| share(a).total_cmp(&share(b))) {
            self.progress.set(last.course.doing(), share(last));
        }
    }

    /// Packets that wait for one another in a cycle are stuck even while others still move.
    ///
    /// Waits that look like a cycle dissolve within a batch or two unless they are one, so it has to last.
    fn refuse_cycle(&mut self) -> Result<(), RunError> {
        let mut stuck = fabric::waiting_cycle(&*self.network.topology, self.machine.waiting());
        for _ in 0..self.patience {
            if stuck.is_empty() {
                return Ok(());
            }
            if self.progress.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            self.advance(self.now + self.batch)?;
            let waiting = self.machine.waiting();
            stuck.retain(|packet| waiting.contains(packet));
        }
        if stuck.is_empty() { Ok(()) } else { Err(self.deadlock()) }
    }

    /// Nothing moves any more: who waits for whom.
    fn deadlock(&mut self) -> RunError {
        let cycle = fabric::waiting_cycle(&*self.network.topology, self.machine.waiting());
        let lines: Vec<String> = cycle.iter().map(ToString::to_string).collect();
        RunError::Deadlock {
            at_ns: self.network.picoseconds(self.now) / 1000,
            in_flight: self.machine.in_flight(),
            cycle: if lines.is_empty() {
                "no cycle of packets was found: this is a bug in the simulator".into()
            } else {
                lines.join(";\n") + ";\nthe last waits for a buffer that the first holds"
            },
        }
    }
}

/// Reports that a run is over.
pub(crate) fn report_done(progress: &Progress) {
    progress.set(Phase::Done, 1.0);
}
