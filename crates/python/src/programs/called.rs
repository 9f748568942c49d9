//! Programs that are called back: a Python generator for each rank, which resumes when its calls have completed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mpi::collectives::{CalledCollectives, CalledPlace, Collective};
use mpi::communicator::Group;
use mpi::program::calls::CallsBuilder;
use mpi::program::{
    Action, Burst, Communicator, Context, GroupCall, Messages, ProgramGroup, Programs, RankProgram, Request, Script,
    ScriptCall, ScriptedRank, Seen,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::table::{self, Row};
use super::{Program, wrong};

/// Program whose ranks are Python generators.
pub struct CalledBack {
    ranks: u32,
    /// Function that makes the generator of a rank: `begin(rank)` has a method `resume(now, answers)` that returns rows
    /// of calls.
    begin: Arc<Py<PyAny>>,
    run: Arc<Mutex<Run>>,
    /// Collective operations of the program. Present if the program is placed on nodes.
    collectives: Option<CalledCollectives>,
}

/// State of a run that outlives its ranks.
#[derive(Default)]
struct Run {
    /// Exception raised by a rank, with the rank; of several, that of the lowest rank.
    failure: Option<(u32, PyErr)>,
    /// Calls of each rank.
    calls: BTreeMap<u32, Vec<ScriptCall>>,
    /// Ranks of the communicators, which are numbered from 1 on.
    groups: BTreeMap<u32, Vec<u32>>,
}

impl std::fmt::Debug for CalledBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CalledBack").field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

impl CalledBack {
    /// Makes the program of a Python object with attributes `ranks` and `begin`.
    pub fn new(program: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (ranks, begin) = (program.getattr("ranks")?.extract()?, program.getattr("begin")?.unbind());
        Ok(Self { ranks, begin: Arc::new(begin), run: Arc::default(), collectives: None })
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the exception raised by a rank, if any.
    fn failure(&self) -> Option<PyErr> {
        self.run().failure.take().map(|(_, error)| error)
    }

    /// Returns the calls of its ranks in the run as a program.
    fn recorded(&self) -> PyResult<Program> {
        let mut builder = CallsBuilder::new(self.ranks);
        let run = self.run();
        let last = run.groups.keys().next_back().copied().unwrap_or(0);
        for number in 1..=last {
            // A communicator that no collective operation has used has no number here, and needs none.
            let ranks = run.groups.get(&number).cloned().unwrap_or_default();
            builder.communicator(ranks).map_err(|error| wrong(&error.to_string()))?;
        }
        for (&rank, steps) in &run.calls {
            for &step in steps {
                builder.push(rank, step).map_err(|error| wrong(&format!("rank {rank}: {error}")))?;
            }
        }
        Program::of(builder.build())
    }
}

impl Programs for CalledBack {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let ranks = self.ranks;
        self.run().calls.insert(rank, Vec::new());
        let script = CalledRank {
            program: self,
            rank,
            ranks,
            caller: None,
            rows: VecDeque::new(),
            last: None,
            answers: Vec::new(),
            own: Own::default(),
            in_switch: 0,
        };
        Box::new(ScriptedRank::new(script, rank, ranks))
    }

    fn operations(&self) -> u64 {
        0
    }

    fn messages_of(&self, _rank: u32, _visit: &mut dyn FnMut(Messages)) {}

    fn is_called_back(&self) -> bool {
        true
    }

    fn placed(self: Arc<Self>, place: &CalledPlace<'_>) -> Option<Arc<dyn Programs>> {
        let (begin, run) = (Arc::clone(&self.begin), Arc::clone(&self.run));
        let collectives = Some(CalledCollectives::new(self.ranks, place));
        Some(Arc::new(Self { ranks: self.ranks, begin, run, collectives }))
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.collectives.as_ref().map_or_else(Vec::new, CalledCollectives::groups)
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        if let Some(own) = &self.collectives {
            own.each_group_call(visit);
        }
    }
}

/// Result of a call: the request, or -1; source, tag and bytes of a receive; the time in picoseconds.
type Answer = (i64, i64, i64, u64, u64);

/// Rank whose calls are made by a generator.
struct CalledRank {
    program: Arc<CalledBack>,
    rank: u32,
    ranks: u32,
    /// Generator of the rank. Present once it has begun.
    caller: Option<Py<PyAny>>,
    /// Calls that the generator has made and the rank has not carried out.
    rows: VecDeque<Row>,
    /// The previous call, if it returns a result.
    last: Option<ScriptCall>,
    /// Results of the calls since the generator last resumed.
    answers: Vec<Answer>,
    own: Own,
    /// Number of in-switch operations called so far.
    in_switch: usize,
}

/// Record of a rank: its calls and their results.
#[derive(Default)]
struct Own {
    steps: Vec<ScriptCall>,
    /// Index into `steps` by request.
    requests: Vec<usize>,
}

impl std::fmt::Debug for CalledRank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CalledRank").field("rank", &self.rank).finish_non_exhaustive()
    }
}

impl Own {
    /// Records a call as it is made, unless it returns a result.
    fn made(&mut self, step: ScriptCall) {
        match step {
            ScriptCall::WaitAny | ScriptCall::Wait(_) | ScriptCall::End | ScriptCall::Fail => return,
            // A request completed by a test is recorded as waited for. A message found by a probe that does not wait
            // may be received later.
            ScriptCall::Test | ScriptCall::Do(Action::Probe { waits: false, .. }) => {
                return self.steps.push(ScriptCall::Do(Action::Poll));
            }
            ScriptCall::Do(Action::Send { .. } | Action::Recv { .. })
            | ScriptCall::Burst(_)
            | ScriptCall::Collective(_)
            | ScriptCall::StartCollective(_)
            | ScriptCall::StartCalc { .. } => self.requests.push(self.steps.len()),
            ScriptCall::Do(
                Action::Calc { .. }
                | Action::Kernel { .. }
                | Action::Poll
                | Action::Probe { .. }
                | Action::Group(_)
                | Action::OnNic(_),
            )
            | ScriptCall::After(_)
            | ScriptCall::WaitAll => {}
        }
        self.steps.push(step);
    }

    /// Records the result of a call: that the rank has waited for a request, and the message that a receive has
    /// matched.
    fn found(&mut self, request: Request, seen: &Seen) {
        self.steps.push(ScriptCall::Wait(request));
        let receive = self.requests.get(request as usize).map(|&place| &mut self.steps[place]);
        if let (Some(ScriptCall::Do(Action::Recv { from, tag, .. })), Some(met)) = (receive, seen.matched) {
            (*from, *tag) = (Some(met.source), Some(met.tag));
        }
    }

    /// Records the result of a probe that waits.
    fn probed(&mut self, seen: &Seen) {
        if let (Some(ScriptCall::Do(Action::Probe { from, tag, .. })), Some(met)) =
            (self.steps.last_mut(), seen.matched)
        {
            (*from, *tag) = (Some(met.source), Some(met.tag));
        }
    }
}

impl CalledRank {
    /// Keeps the result of the previous call.
    fn keep_answer(&mut self, seen: &Seen) {
        let waited = match self.last.take() {
            Some(ScriptCall::Wait(request)) => Some(request),
            Some(ScriptCall::Do(_)) => {
                self.own.probed(seen);
                None
            }
            Some(_) => seen.request,
            None => return,
        };
        if let Some(request) = waited {
            self.own.found(request, seen);
        }
        self.answers.push(answer(waited, seen));
    }

    /// Resumes the generator until it yields, and takes its calls.
    fn resume(&mut self, now: u64) -> PyResult<()> {
        let answers = std::mem::take(&mut self.answers);
        let bytes = Python::attach(|py| -> PyResult<Vec<u8>> {
            let caller = match &self.caller {
                Some(caller) => caller.clone_ref(py),
                None => self.caller.insert(self.program.begin.call1(py, (self.rank,))?).clone_ref(py),
            };
            let made = caller.call_method1(py, "resume", (now, answers))?;
            Ok(made.bind(py).cast::<PyBytes>()?.as_bytes().to_vec())
        })?;
        self.rows = table::rows(&bytes).map_err(|message| wrong(&format!("rank {}: {message}", self.rank)))?.into();
        Ok(())
    }

    /// Returns a call in the form in which it is carried out.
    fn carried(&mut self, step: ScriptCall) -> PyResult<ScriptCall> {
        match step {
            ScriptCall::Collective(call) => Ok(ScriptCall::Collective(self.collective(&call)?)),
            ScriptCall::StartCollective(call) => Ok(ScriptCall::StartCollective(self.collective(&call)?)),
            other => Ok(other),
        }
    }

    /// Returns a collective operation with the service that carries it out. Fails if the operation cannot be called
    /// here.
    fn collective(&mut self, call: &Collective) -> PyResult<Collective> {
        let communicator = Script::communicator(self, call.communicator);
        let (Some(own), Some(communicator)) = (&self.program.collectives, communicator) else { return Ok(*call) };
        let carried = own.carried(call, &communicator, &mut self.in_switch);
        carried.map_err(|error| wrong(&format!("rank {}: {error}", self.rank)))
    }

    /// Notes the communicator of a message for the record of the run.
    fn note_communicator(&self, step: &ScriptCall) {
        let (ScriptCall::Do(action) | ScriptCall::Burst(Burst { first: action, .. })) = step else { return };
        let number = action.context().map_or(0, Context::number);
        if number > 0 && !self.program.run().groups.contains_key(&number) {
            // A caller is a member of the communicator.
            let _ = self.communicator(number);
        }
    }

    fn step(&mut self, seen: &Seen) -> PyResult<ScriptCall> {
        loop {
            match self.rows.pop_front() {
                None => self.resume(seen.now)?,
                Some(Row::Time) => self.answers.push(answer(None, seen)),
                Some(Row::Step(step)) => {
                    self.note_communicator(&step);
                    // The record leaves open which service carries it out.
                    self.own.made(step);
                    let step = self.carried(step)?;
                    self.last = Some(step).filter(|step| {
                        matches!(
                            step,
                            ScriptCall::Wait(_)
                                | ScriptCall::WaitAny
                                | ScriptCall::Test
                                | ScriptCall::Do(Action::Probe { .. })
                        )
                    });
                    return Ok(step);
                }
            }
        }
    }
}

fn answer(request: Option<Request>, seen: &Seen) -> Answer {
    let request = request.map_or(-1, i64::from);
    let (source, tag, bytes) = seen.matched.map_or((-1, -1, 0), |met| (met.source.into(), met.tag.into(), met.bytes));
    (request, source, tag, bytes, seen.now)
}

impl Script for CalledRank {
    fn communicator(&self, number: u32) -> Option<Communicator> {
        let placed = |communicator: Communicator| match &self.program.collectives {
            Some(own) => own.on_nodes(communicator),
            None => communicator,
        };
        if number == 0 {
            return Some(placed(Communicator::world(self.rank, self.ranks)));
        }
        let caller = self.caller.as_ref()?;
        let ranks: Vec<u32> = Python::attach(|py| caller.call_method1(py, "group", (number,))?.extract(py)).ok()?;
        self.program.run().groups.insert(number, ranks.clone());
        Communicator::new(Context::new(number)?, Group::list(ranks), self.rank).map(placed)
    }

    fn next(&mut self, seen: &Seen) -> ScriptCall {
        self.keep_answer(seen);
        match self.step(seen) {
            Ok(step) => step,
            Err(error) => {
                let mut run = self.program.run();
                if run.failure.as_ref().is_none_or(|(rank, _)| self.rank < *rank) {
                    run.failure = Some((self.rank, error));
                }
                ScriptCall::Fail
            }
        }
    }
}

impl Drop for CalledRank {
    /// Leaves the record of the rank for `CalledBack::recorded`.
    fn drop(&mut self) {
        let steps = std::mem::take(&mut self.own.steps);
        self.program.run().calls.insert(self.rank, steps);
    }
}

/// Programs of an experiment that are called back: Python objects by name.
#[derive(Default)]
pub struct Runs(Vec<(String, Py<PyAny>)>);

/// Programs of one run.
pub struct OneRun(Vec<(String, Arc<CalledBack>)>);

impl Runs {
    /// Finds the programs of this process with these names. An unknown name is skipped here; its use is an error.
    pub fn of(py: Python<'_>, names: impl IntoIterator<Item = String>) -> PyResult<Self> {
        let mut found = Vec::new();
        for name in names {
            let program = py.import("cutthrough.programs.living")?.call_method1("find", (&name,))?;
            if !program.is_none() {
                found.push((name, program.unbind()));
            }
        }
        Ok(Self(found))
    }

    /// Returns whether there are no programs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes programs for one run.
    pub fn begin(&self, py: Python<'_>) -> PyResult<OneRun> {
        let made =
            self.0.iter().map(|(name, program)| Ok((name.clone(), Arc::new(CalledBack::new(program.bind(py))?))));
        Ok(OneRun(made.collect::<PyResult<_>>()?))
    }

    /// Ends a run: raises the exception of a rank, if any, and passes the calls of each program to its Python object if
    /// the run has succeeded (`ended`).
    pub fn end(&self, py: Python<'_>, run: &OneRun, ended: bool) -> PyResult<()> {
        if let Some(failure) = run.0.iter().find_map(|(_, program)| program.failure()) {
            return Err(failure);
        }
        for ((_, object), (_, program)) in self.0.iter().zip(&run.0).filter(|_| ended) {
            object.call_method1(py, "take", (program.recorded()?,))?;
        }
        Ok(())
    }
}

impl OneRun {
    /// Returns the programs in the form that the simulator accepts.
    pub fn given(&self) -> sim::GivenPrograms {
        self.0.iter().map(|(name, program)| (name.clone(), Arc::clone(program) as Arc<dyn Programs>)).collect()
    }
}
