//! Collective operations carried out by the processors of network interfaces instead of those of ranks.
//!
//! A rank that contributes data hands them over with the operation, which takes the send overhead of a call. A rank
//! that receives data is notified when they are there, which takes the receive overhead of a progress task. In between
//! its interface sends, receives and combines by the operation's algorithm, independently of the rank's processor. Each
//! message that leaves or has come, and each byte that is combined, takes time of the interface's processor, one item
//! at a time. So do the requests and answers of rendezvous messages. Data go from memory to the network like the data
//! of other messages that the processor does not write. Messages between ranks of one node are handled by the
//! processors of these ranks.

use mpi::program::{Action, Context, NicStep, Op};

use super::{Executor, PendingSend};
use crate::context::{ForwardingParams, HostContext};
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::local_ranks::LocalRank;
use crate::processor::{ProgressTask, WorkStart};
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::Purpose;

/// End of an operation that a rank has not been notified of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notified {
    pub op: OpId,
    /// Local rank.
    rank: LocalRank,
    /// Identifier of the step in its program.
    id: u32,
}
units::record!(Notified { op, rank, id });

impl Executor {
    /// Returns whether interfaces handle the messages of a context that leave their node.
    #[inline]
    pub(super) fn forwards(&self, context: Context) -> bool {
        self.interface.protocol.forwarding.is_some() && context.is_collective()
    }

    /// Returns the cost of a send for the processor of its interface, if that handles its message.
    #[inline]
    pub(super) fn forwards_send(&self, send: SendSlot) -> Option<ForwardingParams> {
        let own = self.interface.protocol.forwarding?;
        let PendingSend { op, to, context, .. } = self.sends[send];
        (context.is_collective() && !self.is_within(op.rank, to)).then_some(own)
    }

    /// Returns the cost of an arrived message for the processor of its interface, if that handles it.
    #[inline]
    pub(super) fn forwards_arrival(&self, message: MessageSlot) -> Option<ForwardingParams> {
        let own = self.interface.protocol.forwarding?;
        let Envelope { source, to, context, .. } = self.arrivals[message].envelope;
        (context.is_collective() && !self.is_within(source, to)).then_some(own)
    }

    /// Returns whether an interface handles a progress task instead of a library.
    #[inline]
    pub(super) fn forwards_progress(&self, task: ProgressTask) -> bool {
        match task {
            ProgressTask::Admit(message) | ProgressTask::Complete(message) | ProgressTask::Answer(message) => {
                self.forwards_arrival(message).is_some()
            }
            ProgressTask::Data(send) | ProgressTask::Fetched(send) => self.forwards_send(send).is_some(),
            ProgressTask::Copy(_) | ProgressTask::Group(_) | ProgressTask::Notified(_) | ProgressTask::Write(_) => {
                false
            }
        }
    }

    /// Returns whether a ready operation starts on the interface or on an accelerator, whatever the processor of its
    /// rank does.
    pub(super) fn starts_beside(&self, op: &Op) -> bool {
        match op.action {
            Action::Send { context, .. } | Action::Recv { context, .. } => self.forwards(context),
            Action::OnNic(step) => step != NicStep::Begin,
            Action::Kernel { .. } => true,
            _ => false,
        }
    }

    /// Accepts work of the interface's processor for an operation of a local rank, from time `from` on. Returns the
    /// time at which it ends.
    pub(super) fn nic_work(&mut self, rank: LocalRank, what: (OpId, Purpose), from: u64, time: u64) -> u64 {
        let source = self.source_of(self.rank(rank), 0);
        let end = self.nics.parts.work(source, from, time);
        self.trace_latency(rank, what, (end - time, end));
        end
    }

    /// Starts a step of an operation on the interface of a local rank.
    pub(super) fn start_on_nic(
        &mut self,
        rank: LocalRank,
        (op, id): (OpId, u32),
        step: NicStep,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let what = (op, Purpose::Send);
        let at = match step {
            NicStep::Begin => self.call_work(rank, what, now, self.interface.send_overhead),
            NicStep::Combine { bytes } => {
                let combine = self.interface.protocol.forwarding.map_or(0, |own| own.combine);
                self.nic_work(rank, what, now, combine.saturating_mul(bytes))
            }
            NicStep::End => {
                let place = self.notified.insert(Notified { op, rank, id });
                return self.enter_progress(rank, ProgressTask::Notified(place), WorkStart::at(now), around);
            }
        };
        self.later(at, op, Event::OnNic(id), now, around);
    }

    /// Ends an operation of whose end the rank has been notified.
    pub(super) fn notified(&mut self, place: u32, now: u64) {
        let Notified { op, rank, id } = self.notified.remove(place);
        self.end(rank, (op.number, id), now, None);
    }
}
