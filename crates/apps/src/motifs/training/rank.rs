//! Script of a rank in a training step.

use std::collections::VecDeque;
use std::sync::Arc;

use super::plan::{Kind, Plan};
use mpi::collectives::Collective;
use mpi::communicator::Communicator;
use mpi::program::{Action, Interval, Request, Script, ScriptCall, Seen};

/// Tags of messages to the next and to the previous stage.
const FORWARDS: u32 = 0;
const BACKWARDS: u32 = 1;

/// Next action of a rank.
#[derive(Clone, Copy, Debug)]
enum Task {
    Calculate(u64),
    /// Blocking collective operation.
    Call(Collective, Kind),
    /// Nonblocking reduction of a bucket.
    Start(usize),
    /// Blocking reduction of a bucket.
    Finish(usize),
    /// Single nonblocking operation of a bucket.
    Begin(Collective),
    Receive {
        from: u32,
        tag: u32,
    },
    Wait(Request),
    Send {
        to: u32,
        tag: u32,
    },
    /// Wait for all outstanding requests, at the end of a step or of a blocking bucket.
    WaitAll,
    EndStep,
}

/// Rank in training.
#[derive(Debug)]
pub(super) struct TrainingRank {
    plan: Arc<Plan>,
    rank: u32,
    /// Steps begun.
    steps: u32,
    /// Passes begun in the current step. Each micro-batch passes once forwards and once backwards. `None` between
    /// steps.
    passes: Option<u32>,
    tasks: VecDeque<Task>,
    /// Requests made.
    made: Request,
    /// Measured part of the current call, and its start in picoseconds.
    doing: Option<(Kind, u64)>,
    /// Start of the step, and start of the first bucket, in picoseconds.
    begin: u64,
    gradients: Option<u64>,
    /// Time of each measured part in this step, in picoseconds.
    times: [u64; Kind::ALL.len()],
    intervals: Vec<Interval>,
}

impl TrainingRank {
    /// Creates a rank that has not begun.
    pub fn new(plan: Arc<Plan>, rank: u32) -> Self {
        Self {
            plan,
            rank,
            steps: 0,
            passes: None,
            tasks: VecDeque::new(),
            made: 0,
            doing: None,
            begin: 0,
            gradients: None,
            times: Default::default(),
            intervals: Vec::new(),
        }
    }

    /// Appends the actions after `passes` passes: a micro-batch in one direction, or the end of the step.
    fn plan_next(&mut self, passes: u32) {
        let plan = &*Arc::clone(&self.plan);
        let all = 2 * plan.micro_batches;
        self.passes = Some(passes + 1);
        // 1F1B, after one warm-up forward pass per later stage.
        let first = (plan.stages - 1 - plan.stage(self.rank)).min(plan.micro_batches);
        let beyond = passes.saturating_sub(first);
        match passes < first || (beyond < all - 2 * first && beyond.is_multiple_of(2)) {
            _ if passes == all => self.end_step(plan),
            true => self.forward(plan),
            false => self.backward(plan, passes + 1 == all),
        }
    }

    fn forward(&mut self, plan: &Plan) {
        let stage = plan.stage(self.rank);
        if stage > 0 {
            self.tasks.push_back(Task::Receive { from: self.rank - plan.stage_ranks, tag: FORWARDS });
        }
        (0..plan.layers).for_each(|_| self.layer(plan, plan.forward));
        if stage + 1 < plan.stages {
            self.tasks.push_back(Task::Send { to: self.rank + plan.stage_ranks, tag: FORWARDS });
        }
    }

    fn backward(&mut self, plan: &Plan, is_last: bool) {
        let stage = plan.stage(self.rank);
        if stage + 1 < plan.stages {
            self.tasks.push_back(Task::Receive { from: self.rank + plan.stage_ranks, tag: BACKWARDS });
        }
        for layer in 1..=plan.layers {
            self.layer(plan, plan.backward);
            let bucket = plan.buckets.iter().position(|bucket| bucket.layers == layer);
            if is_last && plan.overlap {
                self.tasks.extend(bucket.map(Task::Start));
            }
        }
        if stage > 0 {
            self.tasks.push_back(Task::Send { to: self.rank - plan.stage_ranks, tag: BACKWARDS });
        }
    }

    /// Appends a layer in one direction: attention, then the rest, each with half of the time.
    fn layer(&mut self, plan: &Plan, time: u64) {
        let combine = plan.combine.map(|call| Task::Call(call, Kind::Tensor));
        let exchange = plan.exchange.map(|call| Task::Call(call, Kind::Expert));
        let calculate = |time: u64| (time > 0).then_some(Task::Calculate(time));
        let parts = [calculate(time / 2), combine, exchange, calculate(time - time / 2), exchange, combine];
        self.tasks.extend(parts.into_iter().flatten());
    }

    fn end_step(&mut self, plan: &Plan) {
        if !plan.overlap {
            self.tasks.extend((0..plan.buckets.len()).map(Task::Finish));
        }
        self.passes = None;
        self.tasks.extend([Task::WaitAll, Task::EndStep]);
    }

    /// Records the times of the step.
    fn record(&mut self, plan: &Plan, now: u64) {
        let first = (self.steps - 1) * plan.kinds().count() as u32;
        for (key, kind) in (first..).zip(plan.kinds()) {
            let start = if kind == Kind::Gradients { self.gradients.unwrap_or(now) } else { self.begin };
            let end = match kind {
                Kind::Step | Kind::Gradients => now,
                _ => start + self.times[kind as usize],
            };
            self.intervals.push(Interval { key, start, end });
        }
        (self.times, self.gradients) = (Default::default(), None);
    }

    /// Returns the call of a task. `None` if the task is replaced by others, or makes no call.
    fn call(&mut self, task: Task, now: u64) -> Option<ScriptCall> {
        let plan = &*Arc::clone(&self.plan);
        match task {
            Task::Calculate(time) => {
                self.doing = Some((Kind::Compute, now));
                Some(ScriptCall::Do(Action::Calc { time }))
            }
            Task::Call(call, kind) => {
                self.doing = Some((kind, now));
                Some(self.request(ScriptCall::Collective(call)))
            }
            Task::Start(bucket) | Task::Finish(bucket) => {
                self.gradients.get_or_insert(now);
                if matches!(task, Task::Finish(_)) {
                    self.tasks.push_front(Task::WaitAll);
                }
                for call in plan.gradients(&plan.buckets[bucket]) {
                    self.tasks.push_front(Task::Begin(call));
                }
                None
            }
            Task::Begin(call) => Some(self.request(ScriptCall::StartCollective(call))),
            Task::Receive { from, tag } => {
                self.tasks.push_front(Task::Wait(self.made));
                Some(self.request(ScriptCall::Do(Action::recv(Some(from), plan.activations, Some(tag)))))
            }
            Task::Wait(request) => {
                self.doing = Some((Kind::Pipeline, now));
                Some(ScriptCall::Wait(request))
            }
            Task::Send { to, tag } => Some(self.request(ScriptCall::Do(Action::send(to, plan.activations, tag)))),
            Task::WaitAll => Some(ScriptCall::WaitAll),
            Task::EndStep => {
                self.record(plan, now);
                None
            }
        }
    }

    fn request(&mut self, step: ScriptCall) -> ScriptCall {
        self.made += 1;
        step
    }
}

impl Script for TrainingRank {
    fn next(&mut self, seen: &Seen) -> ScriptCall {
        if let Some((kind, begin)) = self.doing.take() {
            self.times[kind as usize] += seen.now - begin;
        }
        loop {
            if let Some(task) = self.tasks.pop_front() {
                match self.call(task, seen.now) {
                    Some(step) => return step,
                    None => continue,
                }
            }
            let Some(passes) = self.passes else {
                if self.steps == self.plan.steps {
                    return ScriptCall::End;
                }
                (self.steps, self.passes, self.begin) = (self.steps + 1, Some(0), seen.now);
                continue;
            };
            self.plan_next(passes);
        }
    }

    fn communicator(&self, number: u32) -> Option<Communicator> {
        Some(self.plan.groups(number).communicator(self.rank))
    }

    fn intervals(&self) -> &[Interval] {
        &self.intervals
    }
}
