//! Main loop of a simulation: advances a machine from decision to decision of its workload runs, until those in the
//! foreground have ended.
//!
//! The loop detects deadlock, reports progress, and ends when it is cancelled. Workload runs get their counts in whole
//! batches. All of them decide at the ends of batches, except workload runs that need other times.

use fabric::Batch;
use units::State;

use super::checkpoints::Checkpoints;
use super::outcome::RunError;
use crate::last_time::LAST_TIME;
use crate::progress::{Phase, Progress};
use crate::workloads::{JobCounts, RunState, WorkloadRun};
use ::network::Machine;
use ::network::Network;

/// Consecutive batches with packets in the network and no delivery that count as deadlock. The number is larger if
/// batches are shorter than paths.
const STANDSTILL: u64 = 16;

/// A workload run, and whether it is in the foreground. The simulation ends when those in the foreground have ended.
pub(crate) struct Runner {
    pub run: Box<dyn WorkloadRun>,
    pub foreground: bool,
}

/// Controller of a running machine.
pub(crate) struct Control<'a> {
    network: &'a Network,
    progress: &'a Progress,
    machine: &'a mut dyn Machine,
    /// Length of a batch, in ticks.
    batch: u64,
    now: u64,
    /// Last time that the machine may reach, in ticks.
    last: u64,
    /// Counts of the current, unfinished batch, by packet class (`traffic::JobNumbers`).
    partial: Vec<Batch>,
    /// Counts of the last call of the machine, and those since the last decision, by packet class. Kept to avoid
    /// allocation.
    batches: Vec<Vec<Batch>>,
    counts: Vec<JobCounts>,
    /// Transmissions by routers (packet-hops), by packet class.
    pub packet_hops: Vec<u64>,
    in_flight: i64,
    /// Ticks without a delivery while packets are in the network, and the number of batches of this that count as
    /// deadlock.
    still: u64,
    patience: u64,
}
units::state!(generic ['a] Control<'a> {
    now, partial, packet_hops, in_flight, still;
    rebuilt network, progress, machine, batch, last, batches, counts, patience
});

impl<'a> Control<'a> {
    /// Creates the controller of a machine at time 0. `numbers` is the number of packet classes: one for each job, and
    /// one for the acknowledgements of each job that has them.
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
            batches: vec![Vec::new(); numbers],
            counts: vec![JobCounts::default(); numbers],
            packet_hops: vec![0; numbers],
            in_flight: 0,
            still: 0,
            patience: STANDSTILL.max((2 * network.longest_path() + network.longest_combining()) / batch.max(1)),
        }
    }

    /// Sets the start after `before` ticks of other machines of the run.
    pub fn after(mut self, before: u64) -> Self {
        self.last = self.last.saturating_sub(before);
        self
    }

    /// Advances until the workload runs in the foreground have ended, and hands each of them the machine's counts.
    /// Returns the time in ticks.
    ///
    /// # Errors
    /// If the run is cancelled, if a checkpoint cannot be written, if packets wait for one another for ever, or if the
    /// clock does not hold the end.
    pub fn run(&mut self, runners: &mut [Runner], kept: &mut Checkpoints<'_>) -> Result<u64, RunError> {
        if !kept.resume(|from| self.load(from))? {
            for runner in &mut *runners {
                runner.run.begin(self.machine);
                // A run that ends as it begins may end with an error.
                self.refuse_error(runner)?;
            }
        }
        kept.resumed();
        while runners.iter().any(|runner| runner.foreground && matches!(runner.run.state(), RunState::Running(_))) {
            self.pass_over(runners);
            let next = |runner: &Runner| match runner.run.state() {
                RunState::Ended => u64::MAX,
                RunState::Running(_) | RunState::Steady => runner.run.next_decision(self.now),
            };
            let until = runners.iter().map(next).min().unwrap_or(u64::MAX);
            if until > self.last {
                // Nothing is decided before `until`, so nothing can end before.
                return Err(RunError::Clock { last: LAST_TIME });
            }
            let origin = if let [only] = &*runners { only.run.origin() } else { 0 };
            self.move_to(until, origin)?;
            for (runner, counts) in runners.iter_mut().zip(&self.counts) {
                runner.run.observe(counts, self.now, self.machine);
                self.refuse_error(runner)?;
            }
            self.refuse_reuse(false)?;
            self.report(runners);
            if kept.is_due() {
                self.keep(runners, kept)?;
            }
        }
        if runners.iter().any(|runner| runner.foreground && runner.run.may_be_stuck()) {
            self.refuse_cycle()?;
        }
        if let Some(packets) = self.machine.packets() {
            packets.check();
        }
        runners.iter_mut().for_each(|runner| runner.run.leave(self.machine, self.now));
        self.refuse_reuse(true)?;
        Ok(self.now)
    }

    /// Writes a checkpoint.
    fn keep(&mut self, runners: &[Runner], kept: &mut Checkpoints<'_>) -> Result<(), RunError> {
        let mut run = Vec::new();
        runners.iter().for_each(|runner| runner.run.save(&mut run));
        self.save(&mut run);
        kept.write(self.machine, &run)
    }

    /// Ends a run that has to be repeated without reuse.
    fn refuse_reuse(&self, ended: bool) -> Result<(), RunError> {
        let Some(reason) = self.machine.gave_up(ended) else { return Ok(()) };
        Err(RunError::GaveUp { reason, counts: Box::new(self.machine.reuse().unwrap_or_default()) })
    }

    /// Skips decision points of the only run before the next event; nothing can have changed at them. The remaining
    /// decisions keep their times, so results are unchanged.
    fn pass_over(&mut self, runners: &[Runner]) {
        let [only] = runners else { return };
        let idle_until = only.run.idle_until().min(self.last);
        let decisions = idle_until.saturating_sub(self.now + 1) / self.batch;
        if decisions < 2 || self.in_flight != 0 {
            return;
        }
        let until = self.now + decisions * self.batch;
        self.machine.pass(self.settled(until), until);
        self.now = until;
    }

    /// Returns the time in ticks by which all credits have returned and no mail is under way between partitions, if no
    /// packet is sent from now on. At most `latest`. Receive buffers and combine units hold credits for any time; with
    /// them the result is `latest`.
    fn settled(&self, latest: u64) -> u64 {
        let plan = &self.network.plan;
        if plan.has_receive_buffers() || plan.groups().is_some() {
            return latest;
        }
        self.now.saturating_add(2 * self.network.longest_path())
    }

    /// Ends the run if it is cancelled in any process.
    fn refuse_cancelled(&self) -> Result<(), RunError> {
        match self.machine.exchange().largest(self.progress.is_cancelled().into()) {
            0 => Ok(()),
            _ => Err(RunError::Cancelled),
        }
    }

    fn refuse_error(&self, runner: &Runner) -> Result<(), RunError> {
        runner.run.error(self.machine).map_or(Ok(()), Err)
    }

    /// Advances to `until`, and counts. Batches begin at `origin`.
    fn move_to(&mut self, until: u64, origin: u64) -> Result<(), RunError> {
        self.refuse_cancelled()?;
        for counts in &mut self.counts {
            counts.batches.clear();
            counts.sum = Batch::default();
        }
        while self.now < until {
            let into = (self.now - origin) % self.batch;
            if into == 0 {
                self.partial.fill(Batch::default());
            }
            let to_end = self.batch - into;
            // First the rest of a batch, then whole batches, then the beginning of one.
            let stop = match until - self.now {
                left if into > 0 || left < self.batch => self.now + left.min(to_end),
                left => self.now + left / self.batch * self.batch,
            };
            self.advance(stop)?;
            let ended = (stop - origin).is_multiple_of(self.batch);
            for ((all, partial), counts) in self.counts.iter_mut().zip(&mut self.partial).zip(&self.batches) {
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
        Ok(())
    }

    /// Advances to `until`, and checks that packets still move.
    fn advance(&mut self, until: u64) -> Result<(), RunError> {
        let mut begin = self.now;
        self.machine.advance(until, self.batch, &mut self.batches);
        self.now = until;
        for (hops, counts) in self.packet_hops.iter_mut().zip(&self.batches) {
            *hops += counts.iter().map(|batch| batch.transmissions).sum::<u64>();
        }
        for batch in 0..self.batches.iter().map(Vec::len).max().unwrap_or(0) {
            let (mut entered, mut delivered) = (0, 0);
            for counts in self.batches.iter().filter_map(|counts| counts.get(batch)) {
                entered += counts.entered + counts.copies;
                delivered += counts.packets + counts.ended;
            }
            self.in_flight += entered as i64 - delivered as i64;
            // A stop inside a batch cuts it short.
            let end = until.min(begin.saturating_add(self.batch));
            self.still = if delivered == 0 && self.in_flight > 0 { self.still + (end - begin) } else { 0 };
            begin = end;
        }
        if self.still > self.patience.saturating_mul(self.batch) {
            return Err(self.deadlock());
        }
        Ok(())
    }

    /// Reports the progress of the slowest foreground run.
    fn report(&self, runners: &[Runner]) {
        let share = |runner: &Runner| match runner.run.state() {
            RunState::Running(share) => share,
            RunState::Steady | RunState::Ended => 1.0,
        };
        let foreground = runners.iter().filter(|runner| runner.foreground);
        if let Some(last) = foreground.min_by(|a, b| share(a).total_cmp(&share(b))) {
            self.progress.set(last.run.doing(), share(last));
        }
    }

    /// Refuses packets that wait for one another in a cycle: they are stuck even while others move.
    ///
    /// An apparent cycle of waits dissolves within a batch or two unless it is a deadlock, so it has to persist.
    fn refuse_cycle(&mut self) -> Result<(), RunError> {
        let mut stuck = fabric::waiting_cycle(&*self.network.topology, self.machine.waiting());
        for _ in 0..self.patience {
            if stuck.is_empty() {
                return Ok(());
            }
            self.refuse_cancelled()?;
            self.advance(self.now + self.batch)?;
            let waiting = self.machine.waiting();
            stuck.retain(|packet| waiting.contains(packet));
        }
        if stuck.is_empty() { Ok(()) } else { Err(self.deadlock()) }
    }

    /// Returns the error of a deadlock, with the packets that wait for one another.
    fn deadlock(&mut self) -> RunError {
        let cycle = fabric::waiting_cycle(&*self.network.topology, self.machine.waiting());
        let lines: Vec<String> = cycle.iter().map(ToString::to_string).collect();
        RunError::Deadlock {
            at_ns: self.network.picoseconds(self.now) / 1000,
            in_flight: self.machine.packets().map_or(self.in_flight, |packets| packets.in_flight()),
            cycle: if lines.is_empty() {
                "no cycle of packets was found: this is a bug in the simulator".into()
            } else {
                lines.join(";\n") + ";\nthe last waits for a buffer that the first holds"
            },
        }
    }
}

/// Reports the end of a run.
pub(crate) fn report_done(progress: &Progress) {
    progress.set(Phase::Done, 1.0);
}
