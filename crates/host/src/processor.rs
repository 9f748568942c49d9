//! Processor of a rank: a server that computes or executes library code.
//!
//! If overheads are latency, only calculations occupy the processor, one at a time. If overheads occupy the processor,
//! it does one thing at a time, in the order in which things become ready:
//! - *calculations* of the program;
//! - *calls*: sends and receives that start. The processor is inside the library for the work of the call (the send
//!   overhead). Operations that become ready while it computes start when the calculation has ended;
//! - *progress tasks* of arrivals ([`ProgressTask`]): reading requests, receiving data, answering. [`ProgressMode`]
//!   says when they may take place.
//!
//! The speed of a processor applies to calculations. Noise ([`crate::noise`]) applies to calculations and to library
//! work that occupies the processor.
//!
//! The rank is inside the library when it makes a call, and when it neither computes nor has anything to start: then it
//! waits there. Between two calculations without a call in between it is outside.

use std::collections::VecDeque;

use mpi::program::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local_ranks::LocalRank;
use crate::noise::NoiseParams;
use crate::slots::{MessageSlot, SendSlot};

/// When the progress engine of a rank runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ProgressSpec")]
pub enum ProgressMode {
    /// Immediately and in parallel with the processor's calculations: on a separate core, or on the interface.
    #[default]
    Independent,
    /// On the processor, while the rank is inside the library: in calls, and while it waits.
    Calls,
    /// On the processor, immediately: a calculation in progress is interrupted and ends later.
    Interrupt,
}

/// Parameters of the ranks' processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorParams {
    /// Whether overheads occupy the processor. Otherwise they are latency.
    pub host_driven: bool,
    /// Progress mode. `Independent` if overheads are latency.
    pub progress: ProgressMode,
    /// Processor time of an interrupt of a calculation, in picoseconds. Work that follows other library work needs none.
    /// Read with `ProgressMode::Interrupt` only.
    pub interrupt_cost: u64,
    /// Noise of the processors, on the nodes that have it.
    pub noise: Option<NoiseParams>,
}

impl ProcessorParams {
    /// Overheads as latency, and no noise.
    pub const LATENCY: Self =
        Self { host_driven: false, progress: ProgressMode::Independent, interrupt_cost: 0, noise: None };
}

/// Parameters of the processors of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeParams {
    /// Speed: a calculation takes its time divided by this.
    pub speed: f64,
    /// Whether there is noise.
    pub noisy: bool,
}

/// Occasion on which the library works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// Call of the program.
    Call,
    /// Progress on something that has arrived.
    Progress,
}

/// Start of library work in an event that is handled at `now`: from time `from` on, which may be later, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkStart {
    pub from: u64,
    pub now: u64,
}

impl WorkStart {
    /// Start at the time of the event.
    pub fn at(now: u64) -> Self {
        Self { from: now, now }
    }
}

/// Work of the progress engine on something that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressTask {
    /// A message has come in its order: it is to be matched.
    Admit(MessageSlot),
    /// All data of a matched message have arrived.
    Complete(MessageSlot),
    /// The rendezvous request of a message has been matched.
    Answer(MessageSlot),
    /// The rendezvous request of a send has been answered.
    Data(SendSlot),
    /// A message between ranks of a node has been matched: it is to be copied.
    Copy(MessageSlot),
    /// The receiver has fetched a send's data.
    Fetched(SendSlot),
    /// All segments of an operation in the switches have come.
    Group(u32),
    /// An operation that the interface has carried out is over.
    Notified(u32),
    /// The interface has room for the rest of a send's data.
    Write(SendSlot),
}
units::record!(match ProgressTask {
    0 => Admit { 0: place },
    1 => Complete { 0: place },
    2 => Answer { 0: place },
    3 => Data { 0: place },
    4 => Copy { 0: place },
    5 => Fetched { 0: place },
    6 => Group { 0: place },
    7 => Notified { 0: place },
    8 => Write { 0: place },
});

/// Busy times of a rank's processor, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// Time in calculations.
    pub computing: u64,
    /// Time in library work.
    pub library: u64,
    /// Time lost to noise, which has lengthened calculations and library work.
    pub noise: u64,
}

units::record!(BusyTimes { computing, library, noise });

impl BusyTimes {
    /// Adds the times of another processor.
    pub fn add(&mut self, other: Self) {
        self.computing += other.computing;
        self.library += other.library;
        self.noise += other.noise;
    }
}

/// Processor of a rank.
#[derive(Clone, Debug, Default)]
struct Processor {
    /// Whether a calculation is in progress, or accepted.
    computing: bool,
    /// End of the calculation. If overheads are latency: end of the last calculation.
    computes_until: u64,
    /// End of the accepted library work on the processor.
    library_until: u64,
    /// End of the accepted library work beside the processor.
    beside_until: u64,
    busy: BusyTimes,
    /// Operations that start when the calculation has ended.
    postponed: VecDeque<Op>,
    /// Progress tasks that wait until the rank is inside the library.
    pending_progress: VecDeque<ProgressTask>,
}
units::record!(Processor { computing, computes_until, library_until, beside_until, busy, postponed, pending_progress });

/// Parameters of an individual processor.
#[derive(Clone, Copy, Debug)]
struct ProcessorParamsOfRank {
    node: NodeParams,
    /// Rank, and phase of its noise.
    noise: (u32, u64),
}

/// Work that a processor has accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepted {
    /// Begin of the work, in picoseconds.
    pub begin: u64,
    /// Duration without noise and interrupts, in picoseconds.
    pub work: u64,
    /// Whether the work is done beside the processor.
    pub beside: bool,
}
units::record!(Accepted { begin, work, beside });

/// Processors of an executor's ranks, by local rank.
#[derive(Debug)]
pub(crate) struct Processors {
    params: ProcessorParams,
    all: Vec<Processor>,
    /// Individual parameters. Empty if all processors are equal.
    own: Vec<ProcessorParamsOfRank>,
    /// Last accepted work.
    accepted: Accepted,
}
units::state!(Processors { all, accepted; rebuilt params, own });

impl Processors {
    /// Creates idle processors.
    pub fn new(params: ProcessorParams, ranks: usize) -> Self {
        Self { params, all: vec![Processor::default(); ranks], own: Vec::new(), accepted: Accepted::default() }
    }

    /// Gives processors individual parameters: for each local rank, the rank and the parameters of its node's
    /// processors.
    pub fn differ(&mut self, nodes: impl Iterator<Item = (u32, NodeParams)>) {
        let noise = self.params.noise;
        let phase = |rank| noise.map_or(0, |noise| noise.phase(rank));
        self.own = nodes.map(|(rank, node)| ProcessorParamsOfRank { node, noise: (rank, phase(rank)) }).collect();
    }

    /// Returns the time at which work of a rank's processor ends that begins at `begin`.
    #[inline]
    fn end(&mut self, rank: LocalRank, begin: u64, work: u64) -> u64 {
        let Some(own) = self.own.get(rank.index()) else { return begin.saturating_add(work) };
        match self.params.noise {
            Some(noise) if own.node.noisy => {
                let end = noise.end(own.noise, begin, work);
                self.all[rank.index()].busy.noise += end - begin - work;
                end
            }
            _ => begin.saturating_add(work),
        }
    }

    /// Returns the time that a calculation takes a rank's processor.
    #[inline]
    pub fn scaled(&self, rank: LocalRank, time: u64) -> u64 {
        match self.own.get(rank.index()) {
            Some(own) if own.node.speed != 1.0 => libm::round(time as f64 / own.node.speed) as u64,
            _ => time,
        }
    }

    /// Returns whether deferred progress tasks of a rank may take place now.
    #[inline]
    pub fn has_pending_progress(&self, rank: LocalRank) -> bool {
        let own = &self.all[rank.index()];
        !own.computing && !own.pending_progress.is_empty()
    }

    /// Returns whether noise may lengthen the work of processors.
    pub fn are_noisy(&self) -> bool {
        self.params.noise.is_some()
    }

    /// Returns whether overheads occupy the processor.
    #[inline]
    pub fn is_host_driven(&self) -> bool {
        self.params.host_driven
    }

    /// Returns whether a ready operation has to wait until the processor has done the work before it.
    #[inline]
    pub fn must_postpone(&self, rank: LocalRank) -> bool {
        let postpones = |own: &Processor| own.computing || !own.postponed.is_empty();
        self.params.host_driven && postpones(&self.all[rank.index()])
    }

    /// Lets an operation wait.
    pub fn postpone(&mut self, rank: LocalRank, op: Op) {
        self.all[rank.index()].postponed.push_back(op);
    }

    /// Returns whether a progress task has to wait until the rank is inside the library.
    #[inline]
    pub fn must_defer_progress(&self, rank: LocalRank) -> bool {
        self.params.progress == ProgressMode::Calls && self.all[rank.index()].computing
    }

    /// Lets a progress task wait.
    pub fn defer_progress(&mut self, rank: LocalRank, task: ProgressTask) {
        self.all[rank.index()].pending_progress.push_back(task);
    }

    /// Removes and returns the next postponed operation, if the processor does not compute.
    pub fn next_postponed(&mut self, rank: LocalRank) -> Option<Op> {
        let own = &mut self.all[rank.index()];
        if own.computing { None } else { own.postponed.pop_front() }
    }

    /// Removes and returns the next deferred progress task, if the processor does not compute.
    #[inline]
    pub fn next_pending_progress(&mut self, rank: LocalRank) -> Option<ProgressTask> {
        let own = &mut self.all[rank.index()];
        if own.computing { None } else { own.pending_progress.pop_front() }
    }

    /// Accepts a calculation. Returns the time at which it ends.
    pub fn calculate(&mut self, rank: LocalRank, now: u64, time: u64) -> u64 {
        let time = self.scaled(rank, time);
        let Processor { library_until, computes_until, .. } = self.all[rank.index()];
        let free_at = if self.params.host_driven { library_until } else { computes_until };
        let end = self.end(rank, free_at.max(now), time);
        self.accepted = Accepted { begin: free_at.max(now), work: time, beside: false };
        let own = &mut self.all[rank.index()];
        own.busy.computing = own.busy.computing.saturating_add(time);
        own.computes_until = end;
        own.computing = self.params.host_driven && end > now;
        end
    }

    /// Handles the expected end of a calculation. Returns the new end if it has moved since; otherwise the calculation
    /// has ended.
    pub fn calculated(&mut self, rank: LocalRank, now: u64) -> Option<u64> {
        let own = &mut self.all[rank.index()];
        if own.computing && own.computes_until > now {
            return Some(own.computes_until);
        }
        own.computing = false;
        None
    }

    /// Accepts the work of a rank's call. Returns the time at which it ends.
    #[inline]
    pub fn call(&mut self, rank: LocalRank, now: u64, work: u64) -> u64 {
        if !self.params.host_driven {
            return self.latency(now, work);
        }
        self.work(rank, now, work)
    }

    /// Accepts library work beside the processor. Returns the time at which it ends.
    #[inline]
    fn latency(&mut self, begin: u64, work: u64) -> u64 {
        self.accepted = Accepted { begin, work, beside: true };
        begin.saturating_add(work)
    }

    /// Returns the last accepted work.
    pub fn accepted(&self) -> Accepted {
        self.accepted
    }

    /// Accepts library work on the processor, after all work accepted before. Returns the time at which it ends.
    #[inline]
    fn work(&mut self, rank: LocalRank, now: u64, work: u64) -> u64 {
        let begin = self.all[rank.index()].library_until.max(now);
        let end = self.end(rank, begin, work);
        self.accepted = Accepted { begin, work, beside: false };
        let own = &mut self.all[rank.index()];
        own.busy.library += work;
        own.library_until = end;
        end
    }

    /// Returns the time at which the accepted library work of a rank's processor ends.
    pub fn returns(&self, rank: LocalRank, now: u64) -> u64 {
        if self.params.host_driven { self.all[rank.index()].library_until.max(now) } else { now }
    }

    /// Accepts the work of a progress task that is not deferred. Returns the time at which it ends.
    #[inline]
    pub fn progress(&mut self, rank: LocalRank, now: u64, work: u64) -> u64 {
        if !self.params.host_driven {
            return self.latency(now, work);
        }
        match self.params.progress {
            ProgressMode::Independent => {
                let end = self.latency(self.all[rank.index()].beside_until.max(now), work);
                self.all[rank.index()].beside_until = end;
                end
            }
            ProgressMode::Interrupt if self.all[rank.index()].computing => self.interrupt(rank, now, work),
            ProgressMode::Calls | ProgressMode::Interrupt => self.call(rank, now, work),
        }
    }

    /// Returns the busy times of a rank's processor.
    pub fn busy(&self, rank: LocalRank) -> BusyTimes {
        self.all[rank.index()].busy
    }

    /// Accepts library work while a calculation is in progress or accepted. Returns the time at which the work ends.
    /// Work that directly follows other library work needs no interrupt.
    fn interrupt(&mut self, rank: LocalRank, now: u64, work: u64) -> u64 {
        let follows = self.all[rank.index()].library_until >= now;
        let taken = if follows { work } else { work.saturating_add(self.params.interrupt_cost) };
        let end = self.work(rank, now, taken);
        // The calculation is delayed by the work; the noise in the delay is added too.
        let computes_until = self.end(rank, self.all[rank.index()].computes_until, taken);
        self.all[rank.index()].computes_until = computes_until;
        end
    }
}
