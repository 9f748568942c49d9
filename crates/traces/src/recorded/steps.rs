//! Conversion of records to the calls of a script.

use std::collections::VecDeque;

use super::error::TraceError;
use super::rank::RankReader;
use super::record::{Call, End, Part};
use super::replay::Replay;
use mpi::collectives::{Algorithm, Collective, Selection};
use mpi::communicator::Group;
use mpi::program::{Action, Context, ScriptCall};
use mpi::schedule::LONGEST_CALC;

/// Calls of a rank, converted as they are read.
#[derive(Debug)]
pub struct Steps {
    records: RankReader,
    replay: Replay,
    /// Calls of the current record that have not been returned yet.
    pending: VecDeque<ScriptCall>,
    /// Whether an exchange has occurred.
    exchanges: bool,
}

impl Steps {
    /// Creates the calls of a rank.
    pub fn new(records: RankReader, replay: Replay) -> Self {
        Self { records, replay, pending: VecDeque::new(), exchanges: false }
    }

    /// Whether a collective operation with parts of different sizes has occurred.
    pub const fn has_exchanges(&self) -> bool {
        self.exchanges
    }

    /// Returns the next call. `None` at the end.
    #[inline]
    pub fn next_step(&mut self) -> Result<Option<ScriptCall>, TraceError> {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return Ok(Some(step));
            }
            let Some((record, made)) = self.records.next()? else { return Ok(None) };
            self.calculate(record.calc);
            self.add(record.call, made)?;
        }
    }

    /// Appends a calculation that was recorded with `nanoseconds`.
    fn calculate(&mut self, nanoseconds: u64) {
        let mut left = self.replay.time(nanoseconds);
        while left > 0 {
            let time = left.min(LONGEST_CALC);
            self.pending.push_back(ScriptCall::Do(Action::Calc { time }));
            left -= time;
        }
    }

    /// Appends a call. `made` is the number of requests before it.
    fn add(&mut self, call: Call, made: u32) -> Result<(), TraceError> {
        match call {
            Call::Send { end, bytes, blocks } => {
                let (to, context) = self.place(end.comm, end.peer, end.comm)?;
                self.request(Action::Send { to, bytes, tag: end.tag, context }, blocks.then_some(made));
            }
            Call::Recv { end, bytes, blocks } => {
                let (from, tag, context) = self.wanted(&end)?;
                self.request(Action::Recv { from, bytes, tag, context }, blocks.then_some(made));
            }
            Call::Probe { end } => {
                let (from, tag, context) = self.wanted(&end)?;
                self.pending.push_back(ScriptCall::Do(Action::Probe { from, tag, context, waits: true }));
            }
            Call::Wait { age, count, .. } => self.wait(made - age, count),
            Call::Poll => self.pending.push_back(ScriptCall::Do(Action::Poll)),
            Call::Collective { operation, comm, bytes, root, blocks } => {
                let call =
                    Collective { communicator: comm, root, ..Collective::new(operation, Algorithm::Auto, bytes) };
                let call = self.carried(call)?;
                self.pending.push_back(if blocks {
                    ScriptCall::Collective(call)
                } else {
                    ScriptCall::StartCollective(call)
                });
            }
            Call::Exchange { comm, receives, sends, blocks } => {
                self.exchange(comm, &receives, &sends)?;
                if blocks {
                    self.wait(made, (receives.len() + sends.len()) as u32);
                }
            }
            Call::Communicator(_) | Call::End(_) => {}
        }
        Ok(())
    }

    /// Assigns a collective operation to the backend, if one is chosen.
    fn carried(&self, call: Collective) -> Result<Collective, TraceError> {
        if self.replay.backend.is_none() {
            return Ok(call);
        }
        let members = self.records.index().group(call.communicator).map_or(1, Group::len);
        let carried = call.carried_by(self.replay.backend, &Selection::built_in(), members);
        carried.map_err(|error| TraceError::garbled(error.to_string()))
    }

    /// Appends the messages of an exchange, in a separate context.
    fn exchange(&mut self, comm: u32, receives: &[Part], sends: &[Part]) -> Result<(), TraceError> {
        self.exchanges = true;
        let apart = self.records.index().exchanging(comm);
        for &(member, bytes) in receives {
            let (from, context) = self.place(comm, member, apart)?;
            self.request(Action::Recv { from: Some(from), bytes, tag: Some(0), context }, None);
        }
        for &(member, bytes) in sends {
            let (to, context) = self.place(comm, member, apart)?;
            self.request(Action::Send { to, bytes, tag: 0, context }, None);
        }
        Ok(())
    }

    /// Appends a message. If `waited` is its request number, appends a wait for it.
    #[inline]
    fn request(&mut self, action: Action, waited: Option<u32>) {
        self.pending.push_back(ScriptCall::Do(action));
        self.pending.extend(waited.map(ScriptCall::Wait));
    }

    fn wait(&mut self, first: u32, count: u32) {
        self.pending.extend((first..first + count).map(ScriptCall::Wait));
    }

    /// Returns the rank of a member of a communicator, and a context.
    #[inline]
    fn place(&self, comm: u32, member: u32, context: u32) -> Result<(u32, Context), TraceError> {
        let group = self.records.index().group(comm).filter(|group| member < group.len());
        match (group, Context::new(context)) {
            (Some(group), Some(context)) => Ok((group.rank(member), context)),
            _ => Err(TraceError::garbled(format!("there is no member {member} of communicator {comm}"))),
        }
    }

    /// Returns the source, the tag and the context that a receive or a probe accepts.
    #[inline]
    fn wanted(&self, end: &End) -> Result<(Option<u32>, Option<u32>, Context), TraceError> {
        let (from, context) = self.place(end.comm, end.peer, end.comm)?;
        let any = |is_any: bool, met: u32| if is_any && self.replay.wildcards { None } else { Some(met) };
        Ok((any(end.any_source, from), any(end.any_tag, end.tag), context))
    }
}
