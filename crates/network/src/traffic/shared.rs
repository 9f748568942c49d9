//! Traffic of several jobs: jobs that share a node use its injection channel in round-robin order, packet by packet.
//!
//! Each job has a queue at each node, of which only the head exists, as in all traffic. Among the heads that are due,
//! the round-robin order decides. If none is due, the earliest is given to the fabric. It is taken back if a packet of
//! another job becomes due before it.

use std::sync::Arc;

use fabric::{Actions, Demand, FLOW_BITS, Member, Traffic, TrafficEvent, TreePacket};
use units::{NodeId, State};

use super::numbers::{JobNumbers, flow_of, job_of};

/// Number of alarm purposes of a job. Purpose 0 is the job's start; the others are its own purposes plus 1.
const PURPOSES: u32 = 8;

/// Returns the purpose of a job's alarm among those of all jobs.
fn purpose_of(job: usize, own: u32) -> u32 {
    job as u32 * PURPOSES + own + 1
}

/// Stands for no job.
const NOBODY: u16 = u16::MAX;

/// Head of a job's queue at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Head {
    /// Unknown: the job has not been queried since its last packet left.
    Unknown,
    /// Empty: the job has nothing to send until it asks to be queried.
    Silent,
    /// Next packet of the job.
    Ready(Demand),
}
units::record!(match Head {
    0 => Unknown {},
    1 => Silent {},
    2 => Ready { 0: demand },
});

/// Traffic of several jobs, each a `T`, at the nodes of one partition. Each job knows all of these nodes, and sends
/// from its own.
#[derive(Debug)]
pub struct SharedTraffic<T> {
    jobs: Vec<T>,
    numbers: Arc<JobNumbers>,
    /// Start time of each job, in ticks.
    starts: Vec<u64>,
    /// Heads by node, then job.
    heads: Vec<Head>,
    /// Job served last at each node: the round-robin pointer.
    turn: Vec<u16>,
    /// Job whose head the fabric holds, by node.
    given: Vec<u16>,
    /// Actions of one job, kept for its allocation.
    own: Actions,
}
units::state!(generic [T: State] SharedTraffic<T> { heads, turn, given, own; each jobs; rebuilt numbers, starts });

impl<T: Traffic> SharedTraffic<T> {
    /// Creates the traffic of `jobs`, each with its start time in ticks, at `nodes` nodes.
    pub fn new(jobs: Vec<(T, u64)>, numbers: Arc<JobNumbers>, nodes: usize) -> Self {
        let (jobs, starts): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        Self {
            heads: vec![Head::Unknown; nodes * jobs.len()],
            turn: vec![jobs.len() as u16 - 1; nodes],
            given: vec![NOBODY; nodes],
            own: Actions::default(),
            numbers,
            jobs,
            starts,
        }
    }

    /// Returns the traffic of a job.
    pub fn job(&self, job: usize) -> Option<&T> {
        self.jobs.get(job)
    }

    /// Returns the traffic of a job for a network that carries whole messages and advances the traffic itself.
    pub fn job_mut(&mut self, job: usize) -> Option<&mut T> {
        self.jobs.get_mut(job)
    }

    /// Returns the generation time of the head of a job's queue at a node, in ticks, rounded down. None for an empty
    /// queue.
    pub fn next_generation_time(&self, job: usize, node: usize) -> Option<u64> {
        match self.heads[node * self.jobs.len() + job] {
            Head::Ready(demand) => Some(demand.generated_at),
            Head::Unknown | Head::Silent => None,
        }
    }

    /// Calls a function of a job's traffic, and forwards the actions that the job requests. A head that is due after
    /// `now` may be taken back.
    pub fn with_job(
        &mut self,
        job: usize,
        (now, actions): (u64, &mut Actions),
        call: impl FnOnce(&mut T, &mut Actions),
    ) {
        let mut own = std::mem::take(&mut self.own);
        call(&mut self.jobs[job], &mut own);
        self.pass_on(job, &mut own, (now, actions));
        self.own = own;
    }

    /// Forwards the actions that a job has requested. A head that is not due is dropped if the job takes it back.
    fn pass_on(&mut self, job: usize, own: &mut Actions, (now, actions): (u64, &mut Actions)) {
        for &node in own.wakes() {
            let head = &mut self.heads[node as usize * self.jobs.len() + job];
            let gives_way = match *head {
                Head::Silent => true,
                Head::Ready(demand) => demand.release > now && self.jobs[job].take_back(node as usize),
                Head::Unknown => false,
            };
            if gives_way {
                *head = Head::Unknown;
            }
        }
        actions.take_over(own, |purpose| purpose_of(job, purpose));
    }

    /// Queries every job whose head at the node is unknown.
    fn ask(&mut self, node: usize, now: u64, actions: &mut Actions) {
        let first = node * self.jobs.len();
        for (job, traffic) in self.jobs.iter_mut().enumerate() {
            let head = &mut self.heads[first + job];
            if *head == Head::Unknown {
                *head = traffic.next(node, now, &mut self.own).map_or(Head::Silent, Head::Ready);
                actions.take_over(&mut self.own, |purpose| purpose_of(job, purpose));
            }
        }
    }

    /// Returns the job whose packet goes next: the first job in turn with a packet that is due, or else the earliest.
    fn choose(&self, node: usize, now: u64) -> Option<(usize, Demand)> {
        let count = self.jobs.len();
        let heads = &self.heads[node * count..(node + 1) * count];
        let turn = usize::from(self.turn[node]) + 1;
        let in_turn = (0..count).map(|step| (turn + step) % count);
        let ready = in_turn.filter_map(|job| match heads[job] {
            Head::Ready(demand) => Some((job, demand)),
            Head::Unknown | Head::Silent => None,
        });
        // At equal times the first in turn is taken.
        ready.min_by_key(|(_, demand)| demand.release.max(now))
    }
}

impl<T: Traffic> Traffic for SharedTraffic<T> {
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        let sent = std::mem::replace(&mut self.given[node], NOBODY);
        if sent != NOBODY {
            self.heads[node * self.jobs.len() + usize::from(sent)] = Head::Unknown;
            self.turn[node] = sent;
        }
        self.ask(node, now, actions);
        let (job, demand) = self.choose(node, now)?;
        self.given[node] = job as u16;
        // Acknowledgements already have their packet class.
        let flow_id = if demand.flow_id >> FLOW_BITS == 0 { flow_of(job, demand.flow_id) } else { demand.flow_id };
        Some(Demand { flow_id, ..demand })
    }

    fn members(&self, node: usize) -> &[Member] {
        match self.given[node] {
            NOBODY => &[],
            job => self.jobs[usize::from(job)].members(node),
        }
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        match self.given[node] {
            NOBODY => None,
            job => self.jobs[usize::from(job)].tree_packet(node),
        }
    }

    fn wants_events(&self) -> bool {
        self.jobs.iter().any(Traffic::wants_events)
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        for job in (0..self.jobs.len()).filter(|&job| self.jobs[job].wants_events()).collect::<Vec<_>>() {
            if self.starts[job] > now {
                actions.alarm(self.starts[job], 0, job as u32 * PURPOSES);
            } else {
                self.with_job(job, (now, actions), |traffic, own| traffic.begin(now, own));
            }
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        let (job, what) = match what {
            TrafficEvent::Delivered { flow_id, .. } => {
                let job = self.numbers.job(job_of(flow_id).0);
                if !self.jobs[job].wants_events() {
                    return;
                }
                (job, what)
            }
            TrafficEvent::Collected { flow_id, .. } => (self.numbers.job(job_of(flow_id).0), what),
            TrafficEvent::Notice(notice) => (job_of(notice.flow_id).0, what),
            TrafficEvent::Alarm { target, purpose } => {
                let job = (purpose / PURPOSES) as usize;
                match (purpose % PURPOSES).checked_sub(1) {
                    Some(purpose) => (job, TrafficEvent::Alarm { target, purpose }),
                    None => return self.with_job(job, (now, actions), |traffic, own| traffic.begin(now, own)),
                }
            }
        };
        self.with_job(job, (now, actions), |traffic, own| traffic.on_event(what, now, own));
    }

    fn take_back(&mut self, node: usize) -> bool {
        self.given[node] = NOBODY;
        true
    }

    fn source(&self, flow_id: u32) -> NodeId {
        let (number, own) = job_of(flow_id);
        let job = self.numbers.job(number);
        self.jobs[job].source(if number == job { own } else { flow_id })
    }
}
