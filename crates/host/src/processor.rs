//! The processor of a rank: a server that computes or is inside the library.
//!
//! Without occupation, overheads are latency: only calculations take the processor, one after the other. With it the processor
//! does one thing at a time, in the order in which things become ready:
//! - *calculations* of the program;
//! - *calls*: sends and receives that start. The processor is inside the library for the work of the call (the send overhead).
//!   Operations that become ready while it computes start when the calculation has ended;
//! - *reactions* to what arrives ([`Reaction`]): reading requests, receiving data, answering. When they may take place is a matter
//!   of [`ProgressMode`].
//!
//! A processor may be faster or slower than another, which is of calculations, and have noise ([`crate::noise`]), which is of
//! calculations and of library work that occupies it.
//!
//! The rank is inside the library when it makes a call and when it does not compute and has nothing to start: then it waits
//! there. From the end of one calculation to the beginning of the next without a call in between it is not.

use std::collections::VecDeque;

use workload::program::Op;

use crate::noise::NoiseParams;

/// When a rank's library reacts to what arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// At once and beside the processor: a core of its own or the interface does the work, one piece after the other.
    #[default]
    Independent,
    /// On the processor, while the rank is inside the library.
    Calls,
    /// On the processor, at once: a calculation that is under way goes on later, by the work and by what the interrupt costs.
    Interrupt {
        /// In picoseconds; none if the processor is inside the library anyway.
        cost: u64,
    },
}

/// What the processors of ranks are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorParams {
    /// Whether overheads occupy the processor; otherwise they are latency.
    pub occupied: bool,
    /// When the library reacts; `Independent` if overheads are latency.
    pub progress: ProgressMode,
    /// What keeps processors from their work, on the nodes that have it.
    pub noise: Option<NoiseParams>,
}

impl ProcessorParams {
    /// Overheads that are latency, and no noise.
    pub const LATENCY: Self = Self { occupied: false, progress: ProgressMode::Independent, noise: None };
}

/// What the processors of a node are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeParams {
    /// How fast they compute: a calculation takes its time divided by this.
    pub speed: f64,
    /// Whether there is noise.
    pub noisy: bool,
}

/// What the library has to do with what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// A message has come in its turn: it is to be matched.
    Admit(u32),
    /// All data of a message that has met its receive have arrived.
    Complete(u32),
    /// A message's request has met a receive.
    Answer(u32),
    /// A send's request has been answered.
    Data(u32),
    /// A message between ranks of a node has met a receive: it is to be copied.
    Copy(u32),
    /// The receiver has fetched a send's data.
    Fetched(u32),
    /// All has come of an operation in the switches.
    Group(u32),
    /// An operation that the interface has carried out is over.
    Notified(u32),
    /// The interface has room for the rest of a send's data.
    Write(u32),
}

/// How long the processor of a rank has been busy, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyTimes {
    /// With calculations.
    pub computing: u64,
    /// With library work.
    pub library: u64,
    /// With neither, since noise has lengthened what it did.
    pub noise: u64,
}

impl BusyTimes {
    /// Adds those of another processor.
    pub fn add(&mut self, other: Self) {
        self.computing += other.computing;
        self.library += other.library;
        self.noise += other.noise;
    }
}

/// The processor of a rank.
#[derive(Clone, Debug, Default)]
struct Processor {
    /// Whether a calculation is under way, or accepted, and when it ends. Without occupation, when the last one ends.
    computing: bool,
    computes_until: u64,
    /// When the library work that has been accepted ends, on the processor and beside it.
    library_until: u64,
    beside_until: u64,
    busy: BusyTimes,
    /// Operations that start when the calculation has ended.
    postponed: VecDeque<Op>,
    /// Reactions that wait until the rank is inside the library.
    deferred: VecDeque<Reaction>,
}

/// What is a processor's own.
#[derive(Clone, Copy, Debug)]
struct Own {
    node: NodeParams,
    /// The rank, and the phase of its noise.
    noise: (u32, u64),
}

/// Work that a processor has accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accepted {
    /// When it begins, in picoseconds.
    pub begin: u64,
    /// What it takes without noise and interrupts.
    pub work: u64,
    /// Whether it is done beside the processor.
    pub beside: bool,
}

/// The processors of an executor's ranks, by their numbers here.
#[derive(Debug)]
pub(crate) struct Processors {
    params: ProcessorParams,
    all: Vec<Processor>,
    /// Empty if none differs.
    own: Vec<Own>,
    /// The work that was accepted last.
    accepted: Accepted,
}

impl Processors {
    /// Processors that have nothing to do.
    pub fn new(params: ProcessorParams, ranks: usize) -> Self {
        Self { params, all: vec![Processor::default(); ranks], own: Vec::new(), accepted: Accepted::default() }
    }

    /// Has processors differ: given, by rank here, the rank and what its node's processors are like.
    pub fn differ(&mut self, nodes: impl Iterator<Item = (u32, NodeParams)>) {
        let noise = self.params.noise;
        let phase = |rank| noise.map_or(0, |noise| noise.phase(rank));
        self.own = nodes.map(|(rank, node)| Own { node, noise: (rank, phase(rank)) }).collect();
    }

    /// When work ends that a rank's processor begins at a time.
    #[inline]
    fn end(&mut self, rank: u32, begin: u64, work: u64) -> u64 {
        let Some(own) = self.own.get(rank as usize) else { return begin.saturating_add(work) };
        match self.params.noise {
            Some(noise) if own.node.noisy => {
                let end = noise.end(own.noise, begin, work);
                self.all[rank as usize].busy.noise += end - begin - work;
                end
            }
            _ => begin.saturating_add(work),
        }
    }

    /// The time that a calculation takes a rank's processor.
    #[inline]
    pub fn scaled(&self, rank: u32, time: u64) -> u64 {
        match self.own.get(rank as usize) {
            Some(own) if own.node.speed != 1.0 => libm::round(time as f64 / own.node.speed) as u64,
            _ => time,
        }
    }

    /// Whether reactions of a rank wait that may take place now.
    #[inline]
    pub fn has_deferred(&self, rank: u32) -> bool {
        let own = &self.all[rank as usize];
        !own.computing && !own.deferred.is_empty()
    }

    /// Whether noise may lengthen what they do.
    pub fn are_noisy(&self) -> bool {
        self.params.noise.is_some()
    }

    /// Whether overheads occupy the processor.
    #[inline]
    pub fn occupied(&self) -> bool {
        self.params.occupied
    }

    /// Whether an operation that is ready has to wait until the processor has done what is before it.
    #[inline]
    pub fn postpones(&self, rank: u32) -> bool {
        let postpones = |own: &Processor| own.computing || !own.postponed.is_empty();
        self.params.occupied && postpones(&self.all[rank as usize])
    }

    /// An operation waits.
    pub fn postpone(&mut self, rank: u32, op: Op) {
        self.all[rank as usize].postponed.push_back(op);
    }

    /// Whether a reaction has to wait until the rank is inside the library.
    #[inline]
    pub fn defers(&self, rank: u32) -> bool {
        self.params.progress == ProgressMode::Calls && self.all[rank as usize].computing
    }

    /// A reaction waits.
    pub fn defer(&mut self, rank: u32, reaction: Reaction) {
        self.all[rank as usize].deferred.push_back(reaction);
    }

    /// The next operation that has waited, if the processor does not compute.
    pub fn next_postponed(&mut self, rank: u32) -> Option<Op> {
        let own = &mut self.all[rank as usize];
        if own.computing { None } else { own.postponed.pop_front() }
    }

    /// The next reaction that has waited, if the processor does not compute.
    #[inline]
    pub fn next_deferred(&mut self, rank: u32) -> Option<Reaction> {
        let own = &mut self.all[rank as usize];
        if own.computing { None } else { own.deferred.pop_front() }
    }

    /// A calculation is accepted: when it ends.
    pub fn calculate(&mut self, rank: u32, now: u64, time: u64) -> u64 {
        let time = self.scaled(rank, time);
        let Processor { library_until, computes_until, .. } = self.all[rank as usize];
        let free_at = if self.params.occupied { library_until } else { computes_until };
        let end = self.end(rank, free_at.max(now), time);
        self.accepted = Accepted { begin: free_at.max(now), work: time, beside: false };
        let own = &mut self.all[rank as usize];
        own.busy.computing = own.busy.computing.saturating_add(time);
        own.computes_until = end;
        own.computing = self.params.occupied && end > now;
        end
    }

    /// The time has come at which a calculation was to end: when it ends if that has moved since; otherwise it has ended.
    pub fn calculated(&mut self, rank: u32, now: u64) -> Option<u64> {
        let own = &mut self.all[rank as usize];
        if own.computing && own.computes_until > now {
            return Some(own.computes_until);
        }
        own.computing = false;
        None
    }

    /// A rank makes a call: when its work ends.
    #[inline]
    pub fn call(&mut self, rank: u32, now: u64, work: u64) -> u64 {
        if !self.params.occupied {
            return self.latency(now, work);
        }
        self.work(rank, now, work)
    }

    /// Library work beside the processor: when it ends.
    #[inline]
    fn latency(&mut self, begin: u64, work: u64) -> u64 {
        self.accepted = Accepted { begin, work, beside: true };
        begin.saturating_add(work)
    }

    /// The work that was accepted last.
    pub fn accepted(&self) -> Accepted {
        self.accepted
    }

    /// Library work on the processor, after what it has accepted before: when it ends.
    #[inline]
    fn work(&mut self, rank: u32, now: u64, work: u64) -> u64 {
        let begin = self.all[rank as usize].library_until.max(now);
        let end = self.end(rank, begin, work);
        self.accepted = Accepted { begin, work, beside: false };
        let own = &mut self.all[rank as usize];
        own.busy.library += work;
        own.library_until = end;
        end
    }

    /// When the library work that a rank's processor has accepted ends.
    pub fn returns(&self, rank: u32, now: u64) -> u64 {
        if self.params.occupied { self.all[rank as usize].library_until.max(now) } else { now }
    }

    /// A rank's library does the work of a reaction that is not deferred: when that ends.
    #[inline]
    pub fn react(&mut self, rank: u32, now: u64, work: u64) -> u64 {
        if !self.params.occupied {
            return self.latency(now, work);
        }
        match self.params.progress {
            ProgressMode::Independent => {
                let end = self.latency(self.all[rank as usize].beside_until.max(now), work);
                self.all[rank as usize].beside_until = end;
                end
            }
            ProgressMode::Interrupt { cost } if self.all[rank as usize].computing => {
                self.interrupt(rank, now, (work, cost))
            }
            ProgressMode::Calls | ProgressMode::Interrupt { .. } => self.call(rank, now, work),
        }
    }

    /// How long a rank's processor has been busy.
    pub fn busy(&self, rank: u32) -> BusyTimes {
        self.all[rank as usize].busy
    }

    /// Library work comes while a calculation is under way, or is accepted: when the work ends. What follows directly on other
    /// library work needs no interrupt.
    fn interrupt(&mut self, rank: u32, now: u64, (work, cost): (u64, u64)) -> u64 {
        let follows = self.all[rank as usize].library_until >= now;
        let taken = if follows { work } else { work.saturating_add(cost) };
        let end = self.work(rank, now, taken);
        // The calculation goes on later by as much work; the noise of that time is its own.
        let computes_until = self.end(rank, self.all[rank as usize].computes_until, taken);
        self.all[rank as usize].computes_until = computes_until;
        end
    }
}
