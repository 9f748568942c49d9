//! Operations of groups that begin at a rate, as data.

use std::sync::Arc;

use host::GroupParams;
use traffic::{Injection, InjectionSpec};

use super::program::{GroupSet, Timing};
use crate::workloads::RunContext;
use crate::workloads::ranks::Ranks;
use ::experiment::LateSpec;
use ::network::{Network, Packets};

/// Number of operations of a group that a rank may begin beyond the window of operations under way.
const AHEAD: u32 = 64;

/// Reductions or barriers of groups, begun at a rate.
#[derive(Clone, Debug)]
pub(crate) struct GroupOperations {
    /// Share of a member's injection channel that its messages of one group take.
    pub load: f64,
    pub injection: InjectionSpec,
    pub late: Option<LateSpec>,
    pub packets: Packets,
    pub set: Arc<GroupSet>,
    /// Ranks. Their program does not know the times of operations.
    pub ranks: Ranks,
}

impl GroupOperations {
    /// Returns the time of a member's message on its injection channel, in picoseconds.
    pub fn slot(&self, network: &Network) -> u64 {
        network.picoseconds(network.slot(self.packets)).max(1)
    }

    /// Returns the times at which the groups begin operations in a run.
    pub fn timing(&self, context: &RunContext) -> Timing {
        let network = &context.network;
        let GroupParams { window, .. } = network.group;
        Timing {
            seed: context.seed,
            injection: Injection::new(self.injection, self.load, self.slot(network)),
            span: (network.picoseconds(context.span.start), network.picoseconds(context.span.end)),
            late: self.late.clone(),
            most: window.saturating_add(AHEAD) as usize,
        }
    }
}
