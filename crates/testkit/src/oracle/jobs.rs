//! Jobs: the phases that they are in, and what they have sent and received.

use units::NodeId;

use super::{Flow, Job, Outcome};

/// State of a job.
#[derive(Debug)]
struct State<'a> {
    job: &'a Job,
    /// Number of phases that have begun.
    begun: usize,
    /// Begin of the current phase, in picoseconds.
    begin: u64,
    /// Number of packets of the phase that have not been delivered; each copy of a multicast counts.
    missing: u64,
    outcome: Outcome,
}

/// Jobs of a simulation.
#[derive(Debug)]
pub(super) struct Jobs<'a> {
    states: Vec<State<'a>>,
    nodes: usize,
}

impl<'a> Jobs<'a> {
    pub fn new(jobs: &'a [Job], nodes: usize, channels: usize) -> Self {
        let outcome = Outcome { channel_bytes: vec![0; channels], ..Outcome::default() };
        let state = |job: &'a Job| State { job, begun: 0, begin: job.start, missing: 0, outcome: outcome.clone() };
        Self { states: jobs.iter().map(state).collect(), nodes }
    }

    pub fn of(&self, job: usize) -> &'a Job {
        self.states[job].job
    }

    /// Begins the next phase of a job. Returns its begin and its flows by node, or `None` if all phases are over.
    pub fn next_phase(&mut self, job: usize) -> Option<(u64, &'a [Vec<Flow>])> {
        let state = &mut self.states[job];
        let flows = state.job.phases.get(state.begun)?;
        if let Some(arrivals) = state.outcome.arrivals.last() {
            state.begin += arrivals.iter().copied().max().unwrap_or(0);
        }
        state.begun += 1;
        state.outcome.arrivals.push(vec![0; self.nodes]);
        Some((state.begin, flows))
    }

    /// Returns whether the current phase of a job is its first.
    pub fn is_first_phase(&self, job: usize) -> bool {
        self.states[job].begun == 1
    }

    /// Notes that a packet to `copies` nodes is to be delivered in the current phase of a job.
    pub fn expect(&mut self, job: usize, copies: u64) {
        self.states[job].missing += copies;
    }

    /// Notes that a packet arrives at a node at `at`. Returns whether it is the last of its phase.
    pub fn deliver(&mut self, job: usize, node: NodeId, at: u64) -> bool {
        let state = &mut self.states[job];
        state.missing -= 1;
        state.outcome.packets += 1;
        if let Some(arrivals) = state.outcome.arrivals.last_mut() {
            let arrival = &mut arrivals[node.index()];
            *arrival = (*arrival).max(at - state.begin);
        }
        state.missing == 0
    }

    /// Returns whether packets of a job's current phase are missing.
    pub fn is_waiting(&self, job: usize) -> bool {
        self.states[job].missing > 0
    }

    pub fn count_transmission(&mut self, job: usize, channel: usize, bytes: u64, by_router: bool) {
        let outcome = &mut self.states[job].outcome;
        // Channels to combine units have no count.
        outcome.channel_bytes.get_mut(channel).into_iter().for_each(|own| *own += bytes);
        outcome.hops += u64::from(by_router);
    }

    /// Returns the outcome of each job, or `None` if packets are missing.
    pub fn outcomes(self) -> Option<Vec<Outcome>> {
        let is_over = |state: &State<'_>| state.missing == 0 && state.begun == state.job.phases.len();
        self.states.iter().all(is_over).then(|| self.states.into_iter().map(|state| state.outcome).collect())
    }
}
