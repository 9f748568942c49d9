//! The traffic of several jobs: what shares a node takes its injection channel in rotation, packet by packet.
//!
//! Each job has a queue of its own at each node, of which only the head exists, as everywhere. Of the heads that are due
//! the one of the job whose turn it is goes; if none is due, the one that will be first. Should another job get a packet
//! before that one is due, it is taken back.

use std::sync::Arc;

use fabric::{Actions, Demand, FLOW_BITS, Member, Traffic, TrafficEvent, TreePacket};
use units::NodeId;

use super::numbers::{JobNumbers, flow_of, job_of};

/// A job's own alarms have purposes below this, less one: purpose 0 of a job is its start.
const PURPOSES: u32 = 8;

/// The purpose, among all jobs', of a job's alarm.
fn purpose_of(job: usize, own: u32) -> u32 {
    job as u32 * PURPOSES + own + 1
}

/// No job.
const NOBODY: u16 = u16::MAX;

/// The head of a job's queue at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Head {
    /// The job has not been asked since its last packet left.
    Unknown,
    /// The job has nothing to send until it asks to be asked.
    Silent,
    /// What it sends next.
    Ready(Demand),
}

/// The traffic of several jobs at the nodes of one partition, each a `T`. All know all nodes, and send at their own.
#[derive(Debug)]
pub struct SharedTraffic<T> {
    jobs: Vec<T>,
    numbers: Arc<JobNumbers>,
    /// When each job starts, in ticks.
    starts: Vec<u64>,
    /// By node and job.
    heads: Vec<Head>,
    /// By node, the job that was served last.
    turn: Vec<u16>,
    /// By node, the job whose head the fabric has.
    given: Vec<u16>,
    /// What a job asks for, kept for its memory.
    own: Actions,
}

impl<T: Traffic> SharedTraffic<T> {
    /// The traffic of each job, and when it starts, at so many nodes.
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

    /// The traffic of a job.
    pub fn job(&self, job: usize) -> Option<&T> {
        self.jobs.get(job)
    }

    /// The same, to be moved on by a network that carries whole messages.
    pub fn job_mut(&mut self, job: usize) -> Option<&mut T> {
        self.jobs.get_mut(job)
    }

    /// When the head of a job's queue at a node is generated, in ticks, rounded down; none if there is none.
    pub fn next_generation_time(&self, job: usize, node: usize) -> Option<u64> {
        match self.heads[node * self.jobs.len() + job] {
            Head::Ready(demand) => Some(demand.generated_at),
            Head::Unknown | Head::Silent => None,
        }
    }

    /// Calls a function of a job's traffic, and passes on what the job asks for. A head that is due after `now` may give way.
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

    /// Passes on what a job has asked for. A head that is not due gives way if the job takes it back.
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

    /// Asks every job for its next packet that has not been asked since its last one.
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

    /// The job whose packet goes next: of those that are due in turn, else the earliest.
    fn choose(&self, node: usize, now: u64) -> Option<(usize, Demand)> {
        let count = self.jobs.len();
        let heads = &self.heads[node * count..(node + 1) * count];
        let turn = usize::from(self.turn[node]) + 1;
        let in_turn = (0..count).map(|step| (turn + step) % count);
        let ready = in_turn.filter_map(|job| match heads[job] {
            Head::Ready(demand) => Some((job, demand)),
            Head::Unknown | Head::Silent => None,
        });
        // Of equal times the first in turn is taken.
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
        // Acknowledgements have their number already.
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

    fn wants_deliveries(&self) -> bool {
        self.jobs.iter().any(Traffic::wants_deliveries)
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
            TrafficEvent::Arrival { flow_id } => {
                let (job, flow_id) = job_of(flow_id);
                (job, TrafficEvent::Arrival { flow_id })
            }
            TrafficEvent::Delivered { flow_id, .. } => {
                let job = self.numbers.job(job_of(flow_id).0);
                let traffic = &self.jobs[job];
                match traffic.wants_deliveries() {
                    true => (job, what),
                    false if traffic.wants_events() => (job, TrafficEvent::Arrival { flow_id: job_of(flow_id).1 }),
                    false => return,
                }
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
